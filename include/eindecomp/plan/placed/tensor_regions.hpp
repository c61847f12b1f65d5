// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Where a tensor lies and who needs it, as regions cut by the axes of a mesh.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/bounded_index.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/masks.hpp"
#include "eindecomp/graph/operand_index.hpp"
#include "eindecomp/plan/placed/axis_cuts.hpp"
#include "eindecomp/relation/box.hpp"

namespace eindecomp::plan {

/// An operand, without its statement, whose indices are computed from labels, or of which calls
/// need less than their blocks, as masks leave joins out.
struct ComputedRead {
  std::vector<int> labels;            ///< positions in the statement, graph::read_labels; then
                                      ///< others that conditions have
  std::vector<Extent> extents;        ///< theirs
  std::vector<OperandIndex> indices;  ///< per dimension of the tensor; labels by place in `labels`
  int piece = 0;                      ///< of those that graph::piece_count counts
  std::size_t read = 0;               ///< how many of the labels are the operand's
  std::vector<graph::Condition> conditions;  ///< for joins that count (relation::counting_joins)
  std::uint32_t aggregated = 0;              ///< a bit for each label that is
  bool operator==(const ComputedRead&) const = default;

  /// The place of a label of the statement.
  [[nodiscard]] int place_of(int label) const {
    return static_cast<int>(std::ranges::find(labels, label) - labels.begin());
  }
  /// Adds conditions as long as all have at most max_rank labels together. Without one more words
  /// are counted than move.
  void add(const std::vector<graph::Condition>& masks) {
    for (const graph::Condition& mask : masks) {
      std::vector<int> all = labels;
      for (const graph::Condition::Term& term : mask.terms) {
        if (std::ranges::find(all, term.label) == all.end()) all.push_back(term.label);
      }
      if (all.size() > to_index(max_rank)) continue;
      labels = std::move(all);
      conditions.push_back(mask);
      for (graph::Condition::Term& term : conditions.back().terms) {
        term.label = place_of(term.label);
      }
    }
  }
  /// Takes over what the statement has of the labels.
  void finish(const Vertex& statement) {
    for (std::size_t l = 0; l < labels.size(); ++l) {
      extents.push_back(statement.extents[to_index(labels[l])]);
      if (std::ranges::find(statement.aggregated, labels[l]) != statement.aggregated.end()) {
        aggregated |= std::uint32_t{1} << l;
      }
    }
  }
};
/// Indices that are labels.
[[nodiscard]] inline std::vector<OperandIndex> plain_indices(const ComputedRead& read,
                                                             const std::vector<int>& labels) {
  std::vector<OperandIndex> indices(labels.size());
  for (std::size_t k = 0; k < labels.size(); ++k) {
    indices[k].terms.push_back({read.place_of(labels[k]), 1});
  }
  return indices;
}
/// A piece of an operand; empty where every index is a label and every join counts.
/// \param masks  of the statement (graph::Masks::of)
[[nodiscard]] inline ComputedRead computed_read(const Vertex& statement, const Operand& operand,
                                                int piece,
                                                const std::vector<graph::Condition>& masks) {
  ComputedRead read;
  if (!operand.is_computed() && masks.empty()) return read;
  read.piece = piece;
  for (const int label : graph::read_labels(operand)) {  // a diagonal's once
    if (std::ranges::find(read.labels, label) == read.labels.end()) read.labels.push_back(label);
  }
  read.read = read.labels.size();
  read.indices = operand.is_computed()
                     ? graph::read_indices(operand, [&](int label) { return read.place_of(label); })
                     : plain_indices(read, operand.labels);
  if (!operand.is_bounded()) read.add(masks);
  read.finish(statement);
  return read;
}
/// What calls compute of a result; empty where every join counts.
[[nodiscard]] inline ComputedRead masked_result(const Vertex& statement,
                                                const std::vector<graph::Condition>& masks) {
  ComputedRead result;
  if (masks.empty()) return result;
  result.labels = statement.output;
  result.read = result.labels.size();
  result.indices = plain_indices(result, statement.output);
  result.add(masks);
  result.finish(statement);
  return result;
}

/// What the calls of a reader take of a tensor.
struct Need {
  const ComputedRead* computed = nullptr;  ///< null where every index is a label; compared first
  CutRegion region;                        ///< of the tensor, or of the labels of a computed read
  bool operator==(const Need&) const = default;
};

/// The regions of one tensor that decide which words of it move.
struct TensorRegions {
  std::span<const Extent> bound;        ///< the tensor's extents
  CutRegion store;                      ///< where it is stored
  std::span<const Need> needs;          ///< what the calls of its readers take
  const CutRegion* produced = nullptr;  ///< what the calls of its statement compute; null: an input
  std::uint32_t aggregated = 0;       ///< axes along which the calls differ that compute one block
  std::optional<Need> counting = {};  ///< those of calls with joins that count, if some have none
};

/// A box of few dimensions that needs no allocation. Entries past its dimensions are 0.
struct Bounds {
  std::array<Extent, max_rank> lo{};
  std::array<Extent, max_rank> hi{};

  constexpr auto operator<=>(const Bounds&) const = default;
};

/// The box that each worker has of a tensor cut by the axes of a mesh.
class RegionBoxes {
 public:
  RegionBoxes(const WorkerCoordinates& workers, std::span<const Extent> bound,
              const CutRegion& region)
      : m_workers(&workers), m_region(region), m_begin(bound.size()) {
    list_parts(bound);
  }
  RegionBoxes(const WorkerCoordinates& workers, std::span<const Extent> bound, const Need& need)
      : m_workers(&workers), m_region(need.region), m_computed(need.computed) {
    if (m_computed != nullptr) {
      m_bound = bound;
      m_begin.resize(m_computed->extents.size());
      list_parts(m_computed->extents);
    } else {
      m_begin.resize(bound.size());
      list_parts(bound);
    }
  }
  /// Whether indices are computed: boxes of several blocks may then overlap.
  [[nodiscard]] bool is_computed() const { return m_computed != nullptr; }
  /// Whether calls may need less than their blocks: workers then need parts of one block that
  /// differ.
  [[nodiscard]] bool is_masked() const {
    return m_computed != nullptr && !m_computed->conditions.empty();
  }
  /// The number of a worker's block: of two that have the same, both have the same box, or parts of
  /// it.
  [[nodiscard]] std::size_t block_of(std::size_t worker) const {
    std::size_t block = 0;
    const std::size_t labels = m_computed == nullptr ? m_begin.size() : m_computed->read;
    for (std::size_t k = 0; k < labels; ++k) {
      for (std::size_t j = 0; j < m_region.length[k]; ++j) {
        const std::size_t axis = m_region.axis[k][j];
        block = block * to_index(m_workers->size(axis)) + to_index(m_workers->along(axis)[worker]);
      }
    }
    return block;
  }
  /// Whether the worker has a box.
  [[nodiscard]] bool get(std::size_t worker, Bounds& box) const {
    const auto coordinate = [&](std::size_t axis) {
      return to_index(m_workers->along(axis)[worker]);
    };
    for (std::uint32_t left = m_region.idle; left != 0; left &= left - 1) {
      if (coordinate(to_index(std::countr_zero(left))) != 0) return false;
    }
    for (std::size_t k = 0; k < m_begin.size(); ++k) {
      std::size_t part = 0;
      for (std::size_t j = 0; j < m_region.length[k]; ++j) {
        const std::size_t axis = m_region.axis[k][j];
        part = part * to_index(m_workers->size(axis)) + coordinate(axis);
      }
      box.lo[k] = m_begin[k][part];
      box.hi[k] = m_begin[k][part + 1];
    }
    return m_computed == nullptr || take_indices(box);
  }

  /// A dimension's parts that meet lo <= index < hi, as sums of the indices in them, by the last of
  /// some axes along which the worker that has the part differs from another: sums[0] if along
  /// none, sums[a + 1] if along axis a.
  void sum_differing(std::size_t k, Extent lo, Extent hi, std::size_t worker, std::uint32_t axes,
                     std::array<Extent, max_mesh_axes + 1>& sums) const {
    sums.fill(0);
    const std::vector<Extent>& begin = m_begin[k];
    const std::size_t length = m_region.length[k];
    const auto is_one = [&](std::size_t j) { return (axes >> m_region.axis[k][j] & 1U) != 0; };
    std::size_t relevant = 0;  // of the axes that cut the dimension, those up to the last of `axes`
    for (std::size_t j = 0; j < length; ++j) relevant = is_one(j) ? j + 1 : relevant;
    if (relevant == 0) {
      sums[0] = std::max<Extent>(std::min(hi, begin.back()) - std::max(lo, begin.front()), 0);
      return;
    }
    Extent run = 1;  // parts that differ along irrelevant axes alone follow one another
    for (std::size_t j = relevant; j < length; ++j) run *= m_workers->size(m_region.axis[k][j]);

    const auto first = std::upper_bound(begin.begin(), begin.end(), lo) - begin.begin() - 1;
    std::array<Extent, max_mesh_axes> digits{};  // of the part
    std::array<Extent, max_mesh_axes> own{};
    Extent rest = first / run;
    auto part = to_index(rest * run);
    for (std::size_t j = relevant; j-- > 0; rest /= m_workers->size(m_region.axis[k][j])) {
      digits[j] = rest % m_workers->size(m_region.axis[k][j]);
      own[j] = m_workers->along(m_region.axis[k][j])[worker];
    }
    for (; part + 1 < begin.size() && begin[part] < hi; part += to_index(run)) {
      std::size_t last = 0;
      for (std::size_t j = 0; j < relevant; ++j) {
        const std::size_t axis = m_region.axis[k][j];
        if (digits[j] != own[j] && is_one(j)) last = std::max(last, axis + 1);
      }
      sums[last] += std::min(hi, begin[part + to_index(run)]) - std::max(lo, begin[part]);
      for (std::size_t j = relevant; j-- > 0;) {
        if (++digits[j] < m_workers->size(m_region.axis[k][j])) break;
        digits[j] = 0;
      }
    }
  }
  /// One more than the last of some axes that cut nothing and along which a worker's coordinate is
  /// not 0, where the tensor lies; 0 if there is none.
  [[nodiscard]] std::size_t last_idle(std::size_t worker, std::uint32_t axes) const {
    std::size_t last = 0;
    for (std::uint32_t left = m_region.idle & axes; left != 0; left &= left - 1) {
      const std::size_t axis = to_index(std::countr_zero(left));
      if (m_workers->along(axis)[worker] != 0) last = axis + 1;
    }
    return last;
  }

 private:
  void list_parts(std::span<const Extent> bound) {
    for (std::size_t k = 0; k < bound.size(); ++k) {
      Extent parts = 1;
      for (std::size_t j = 0; j < m_region.length[k]; ++j) {
        parts *= m_workers->size(m_region.axis[k][j]);
      }
      for (Extent i = 0; i <= parts; ++i) {
        m_begin[k].push_back(relation::part_begin(bound[k], parts, i));
      }
    }
  }

  /// From the box of labels to that of the indices inside of the tensor. \returns whether there are
  /// any.
  [[nodiscard]] bool take_indices(Bounds& box) const {
    Bounds labels = std::exchange(box, {});
    for (const graph::Condition& condition : m_computed->conditions) {
      const bool may_hold = graph::tighten(condition, labels, [&](int label) {
        return (m_computed->aggregated >> label & 1U) != 0;
      });
      if (!may_hold) return false;
    }
    int piece = m_computed->piece;
    for (std::size_t k = 0; k < m_bound.size(); ++k) {
      const OperandIndex& index = m_computed->indices[k];
      const graph::IndexRange range = graph::index_range(
          index, [&](int l) { return labels.lo[to_index(l)]; },
          [&](int l) { return labels.hi[to_index(l)]; });
      const graph::IndexRange read =
          graph::read_range(index, range, m_bound[k], graph::take_interval(index, piece));
      box.lo[k] = read.lo;
      box.hi[k] = read.hi;
      if (box.hi[k] <= box.lo[k]) return false;
    }
    return true;
  }

  const WorkerCoordinates* m_workers;
  CutRegion m_region;
  std::vector<std::vector<Extent>> m_begin;  ///< per dimension: the first index of every part
  const ComputedRead* m_computed = nullptr;
  std::span<const Extent> m_bound;  ///< of the tensor, where its indices are computed
};

}  // namespace eindecomp::plan
