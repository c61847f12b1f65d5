// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The tensor-relational view of a program (paper, section 4): a tensor is a relation from keys to
/// blocks, a statement is a join and an aggregation of relations, and repartitions stand between
/// them. All of it on keys and boxes, without data: programs are made of the blocks that
/// call_relation() cuts statements into and repartition_into() finds (walk.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/layout.hpp"

namespace eindecomp {

namespace relation {

/// The part of a dimension of extent b in d parts that holds index i: the inverse of part_begin.
[[nodiscard]] constexpr Extent part_holding(Extent b, Extent d, Extent i) {
  if (b <= std::numeric_limits<Extent>::max() / d) return ((i + 1) * d - 1) / b;
  Extent part = 0;
  Extent end = d;
  while (end - part > 1) {
    const Extent middle = part + (end - part) / 2;
    (part_begin(b, d, middle) <= i ? part : end) = middle;
  }
  return part;
}

}  // namespace relation

/// A tensor cut into blocks: dimension k into parts[k] parts, one block per key. Blocks are
/// numbered in the lexicographic order of their keys.
struct TensorRelation {
  std::vector<Extent> bound;  ///< the tensor's extents
  PartitionVector parts;      ///< per dimension

  constexpr bool operator==(const TensorRelation&) const = default;

  /// The number of dimensions.
  [[nodiscard]] constexpr int rank() const { return static_cast<int>(bound.size()); }

  /// The number of blocks.
  [[nodiscard]] constexpr Extent blocks() const {
    Extent n = 1;
    for (Extent d : parts) n *= d;
    return n;
  }

  /// The indices of the block with that key.
  [[nodiscard]] constexpr Box block(const BlockKey& key) const {
    Box box{key, key};
    for (std::size_t k = 0; k < bound.size(); ++k) {
      box.lo[k] = relation::part_begin(bound[k], parts[k], key[k]);
      box.hi[k] = relation::part_begin(bound[k], parts[k], key[k] + 1);
    }
    return box;
  }
  /// The indices of the block of that number, 0 <= number < blocks().
  [[nodiscard]] constexpr Box block(Extent number) const { return block(key(number)); }

  /// The key of a block by its number, 0 <= number < blocks().
  [[nodiscard]] constexpr BlockKey key(Extent number) const {
    BlockKey key(parts.size());
    for (std::size_t k = parts.size(); k-- > 0;) {
      key[k] = number % parts[k];
      number /= parts[k];
    }
    return key;
  }

  /// The number of the block with that key.
  [[nodiscard]] constexpr Extent number(const BlockKey& key) const {
    Extent n = 0;
    for (std::size_t k = 0; k < parts.size(); ++k) n = n * parts[k] + key[k];
    return n;
  }

  /// The keys lo <= key < hi of the blocks that meet a box, which must not be empty.
  [[nodiscard]] constexpr Box meeting(const Box& box) const {
    Box keys = box;
    for (std::size_t k = 0; k < bound.size(); ++k) {
      keys.lo[k] = relation::part_holding(bound[k], parts[k], box.lo[k]);
      keys.hi[k] = relation::part_holding(bound[k], parts[k], box.hi[k] - 1) + 1;
    }
    return keys;
  }

  /// The number of the one block that contains a box, or -1 if it takes several.
  [[nodiscard]] constexpr Extent containing(const Box& box) const {
    Extent n = 0;
    for (std::size_t k = 0; k < bound.size(); ++k) {
      const Extent part = relation::part_holding(bound[k], parts[k], box.lo[k]);
      if (box.hi[k] > relation::part_begin(bound[k], parts[k], part + 1)) return -1;
      n = n * parts[k] + part;
    }
    return n;
  }
};

// --- Repartition -------------------------------------------------------------------------------

namespace relation {

/// Visits the blocks of a relation that meet a box, which must not be empty, in the order of their
/// numbers: visit(number, indices in both). The work is that of the blocks visited.
template <class Visit>
constexpr void repartition_into(const TensorRelation& from, const Box& box, Visit&& visit) {
  const Box keys = from.meeting(box);
  const std::size_t rank = from.bound.size();
  BlockKey key = keys.lo;
  Extent number = from.number(key);
  // How far a step along a dimension moves the number.
  std::vector<Extent> strides(rank, 1);
  for (std::size_t k = rank; k-- > 1;) strides[k - 1] = strides[k] * from.parts[k];

  Box both = box;
  const auto clip = [&](std::size_t k) {
    both.lo[k] = std::max(box.lo[k], part_begin(from.bound[k], from.parts[k], key[k]));
    both.hi[k] = std::min(box.hi[k], part_begin(from.bound[k], from.parts[k], key[k] + 1));
  };
  for (std::size_t k = 0; k < rank; ++k) clip(k);

  while (true) {
    visit(number, std::as_const(both));
    std::size_t k = rank;
    while (k > 0) {
      --k;
      if (++key[k] < keys.hi[k]) {
        number += strides[k];
        clip(k);
        break;
      }
      number -= strides[k] * (key[k] - 1 - keys.lo[k]);
      key[k] = keys.lo[k];
      clip(k);
      if (k == 0) return;
    }
    if (rank == 0) return;
  }
}

}  // namespace relation

// --- Join and aggregation ----------------------------------------------------------------------

/// The relation of a statement's kernel calls: the domain of its labels under d.
/// \throws Error if d does not suit the statement, naming it and the label.
[[nodiscard]] constexpr TensorRelation call_relation(
    const EinGraph& graph, VertexId statement, const PartitionVector& d,
    const std::source_location& where = std::source_location::current()) {
  const Vertex& v = graph[statement];
  if (d.size() != v.labels.size()) {
    core::fail(
        ErrorKind::plan,
        "statement " + v.name + " has " + core::to_text(static_cast<Extent>(v.labels.size())) +
            " labels but its partition vector " + core::to_text(static_cast<Extent>(d.size())) +
            " entries (it takes one per label, in the order of Vertex::labels); give one for every "
            "label",
        where);
  }
  for (std::size_t l = 0; l < d.size(); ++l) {
    if (d[l] >= 1 && d[l] <= v.extents[l]) continue;
    core::fail(ErrorKind::plan, where, "label '",
               graph.labels[static_cast<std::size_t>(v.labels[l])].name, "' of statement ", v.name,
               " has extent ", v.extents[l], " and is cut into ", d[l],
               " parts (every part needs an index); cut it into 1 to ", v.extents[l], " parts");
  }
  return {v.extents, d};
}

/// Entries of a vector with one entry per label, for the labels at these positions: of d, the
/// partition vector of an operand; of a call's key, the key of the block it reads.
[[nodiscard]] constexpr std::vector<Extent> project(const std::vector<Extent>& per_label,
                                                    const std::vector<int>& positions) {
  std::vector<Extent> entries;
  entries.reserve(positions.size());
  for (int l : positions) entries.push_back(per_label[static_cast<std::size_t>(l)]);
  return entries;
}

/// The box of a tensor whose dimensions carry these labels that a domain of labels covers.
[[nodiscard]] constexpr Box project(const Box& domain, const std::vector<int>& positions) {
  return {project(domain.lo, positions), project(domain.hi, positions)};
}

/// An operand of a statement, as the statement's kernel calls want it cut.
[[nodiscard]] constexpr TensorRelation operand_relation(const EinGraph& graph,
                                                        const Operand& operand,
                                                        const PartitionVector& d) {
  return {graph[operand.vertex].bound, project(d, operand.labels)};
}

/// The result of a statement as its kernel calls produce it.
[[nodiscard]] constexpr TensorRelation output_relation(const Vertex& statement,
                                                       const PartitionVector& d) {
  return {statement.bound, project(d, statement.output)};
}

/// A tuple of the join: one kernel call, and the blocks whose keys agree with its key.
struct JoinedBlocks {
  BlockKey key;                  ///< of the call: a part number per label
  std::vector<Extent> operands;  ///< the block each operand gives
  Extent output = 0;             ///< the block of the result it is part of
};

}  // namespace eindecomp
