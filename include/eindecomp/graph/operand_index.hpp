// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Operands whose indices are computed from labels: which labels they have, and which indices are
/// read where labels run over a box.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eindecomp/core/hash.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/vertex.hpp"

namespace eindecomp::graph {

/// The labels of an operand. Of a computed one each once, by first appearance.
[[nodiscard]] constexpr std::vector<int> read_labels(const Operand& operand) {
  if (!operand.is_computed()) return operand.labels;
  std::vector<int> labels;
  for (const OperandIndex& index : operand.indices) {
    for (const OperandIndex::Term& term : index.terms) {
      if (std::find(labels.begin(), labels.end(), term.label) == labels.end()) {
        labels.push_back(term.label);
      }
    }
  }
  return labels;
}

/// The indices with other positions for labels, and as one operand of all that differ in their
/// offsets alone. \param position_of  from a label to its position
template <class Position>
[[nodiscard]] constexpr std::vector<OperandIndex> read_indices(const Operand& operand,
                                                               const Position& position_of) {
  std::vector<OperandIndex> indices = operand.indices;
  for (OperandIndex& index : indices) {
    for (OperandIndex::Term& term : index.terms) term.label = position_of(term.label);
    index.offset -= index.before;
    index.after += index.before;
    index.before = 0;
  }
  return indices;
}

/// Adds an index to a hash.
constexpr void add_index(core::Hasher& hasher, const OperandIndex& index) {
  hasher.add(static_cast<std::uint64_t>(index.offset));
  hasher.add(static_cast<std::uint64_t>(index.before));
  hasher.add(static_cast<std::uint64_t>(index.after));
  hasher.add(static_cast<std::uint64_t>(index.divisor));
  hasher.add(static_cast<std::uint64_t>(index.boundary));
  hasher.add(static_cast<std::uint64_t>(index.terms.size()));
  for (const OperandIndex::Term& term : index.terms) {
    hasher.add(static_cast<std::uint64_t>(term.label));
    hasher.add(static_cast<std::uint64_t>(term.coefficient));
  }
}

/// Adds to a hash what tells computed indices apart; nothing where every index is a label.
constexpr void add_indices(core::Hasher& hasher, const Operand& operand) {
  if (!operand.is_computed()) return;
  hasher.add(static_cast<std::uint64_t>(operand.outside));
  for (const OperandIndex& index : operand.indices) add_index(hasher, index);
}

/// Whether an index is a label and nothing else.
[[nodiscard]] constexpr bool is_label(const OperandIndex& index) {
  return index.terms.size() == 1 && index.terms[0].coefficient == 1 && index.offset == 0 &&
         index.divisor == 1;
}

/// Indices lo <= i < hi.
struct IndexRange {
  Extent lo = 0;
  Extent hi = 0;
};

/// From the least to the greatest index before it is divided, those of like operands included,
/// where labels run over first(label) <= value < end(label).
template <class First, class End>
[[nodiscard]] constexpr IndexRange index_range(const OperandIndex& index, const First& first,
                                               const End& end) {
  IndexRange range{index.offset - index.before, index.offset + 1 + index.after};
  for (const OperandIndex::Term& term : index.terms) {
    const Extent a = term.coefficient * first(term.label);
    const Extent b = term.coefficient * (end(term.label) - 1);
    range.lo += std::min(a, b);
    range.hi += std::max(a, b);
  }
  return range;
}

/// All indices of a statement's labels.
[[nodiscard]] constexpr IndexRange index_range(const OperandIndex& index,
                                               const std::vector<Extent>& extents) {
  return index_range(
      index, [](int) { return Extent{0}; },
      [&](int label) { return extents[static_cast<std::size_t>(label)]; });
}

/// The extent of the only label of an index that has none yet (0): as long as the index stays
/// inside of a dimension or, where it may leave, as far beyond its end as it begins before it.
/// Less than 1 if there is no room for one. Of an index that is divided, the extent that a
/// convolution transposed has.
/// \param bound   of the dimension
/// \param leaves  whether the index may leave the tensor
[[nodiscard]] constexpr Extent inferred_extent(const OperandIndex& index, int label,
                                               const std::vector<Extent>& extents, Extent bound,
                                               bool leaves) {
  Extent coefficient = 0;
  OperandIndex others{{}, index.offset};
  for (const OperandIndex::Term& term : index.terms) {
    if (term.label == label) {
      coefficient = term.coefficient;
    } else {
      others.terms.push_back(term);
    }
  }
  bound = (bound - 1) * index.divisor + 1;
  const IndexRange rest = index_range(others, extents);
  if (coefficient == 0) return 0;
  // How far it may go from where the label is 0, in its direction.
  Extent room = 0;
  if (coefficient > 0) {
    room = bound - rest.hi + (leaves ? std::max<Extent>(-rest.lo, 0) : 0);
  } else {
    room = rest.lo + (leaves ? std::max<Extent>(rest.hi - bound, 0) : 0);
  }
  return room < 0 ? 0 : room / (coefficient > 0 ? coefficient : -coefficient) + 1;
}

}  // namespace eindecomp::graph
