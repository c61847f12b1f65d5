// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The paper's cost of a decomposition (its section 7): words moved if nothing were local.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/words.hpp"
#include "eindecomp/relation/box.hpp"

namespace eindecomp {

/// Elements of the largest block of a tensor: n_T(d), the product of ⌈b/d⌉.
[[nodiscard]] constexpr Extent block_words(std::span<const Extent> bound,
                                           std::span<const Extent> parts) {
  Extent n = 1;
  for (std::size_t k = 0; k < bound.size(); ++k) {
    n = plan::multiply_words(n, ceil_div(bound[k], parts[k]));
  }
  return n;
}

namespace plan {

/// Elements of the largest block of a statement's operand or result, which has these labels.
[[nodiscard]] constexpr Extent operand_words(const Vertex& v, std::span<const int> labels,
                                             std::span<const Extent> d) {
  Extent n = 1;
  for (int position : labels) {
    const auto l = to_index(position);
    n = multiply_words(n, ceil_div(v.extents[l], d[l]));
  }
  return n;
}

/// Elements of the largest block that calls read of an operand, beyond the ends of its tensor, too,
/// but not beyond those of a block of the result, nor where they scan.
[[nodiscard]] constexpr Extent operand_words(const Vertex& v, const Operand& operand,
                                             std::span<const Extent> d) {
  if (!operand.is_computed()) return operand_words(v, operand.labels, d);
  Extent n = 1;
  for (std::size_t k = 0; k < operand.indices.size(); ++k) {
    const OperandIndex& index = operand.indices[k];
    const graph::IndexRange range = graph::index_range(
        index, [](int) { return Extent{0}; },
        [&](int l) { return ceil_div(v.extents[to_index(l)], d[to_index(l)]); });
    Extent read = (range.hi - range.lo - 1) / index.divisor + 1;
    if (!operand.block.empty()) read = std::min(read, operand.block[k]);
    if (v.scanned >= 0 && index.terms.size() == 2) {
      read = std::min(read, v.extents[to_index(v.scanned)]);
    }
    n = multiply_words(n, read);
  }
  return n;
}

}  // namespace plan

/// Words sent into the join under partition vector d: N · Σ n_operand(d) (paper, section 7). A
/// label repeated within an operand counts at every position.
[[nodiscard]] constexpr Extent join_cost(const Vertex& v, std::span<const Extent> d) {
  Extent words = 0;
  for (const Operand& operand : v.operands) {
    words = plan::add_words(words, plan::operand_words(v, operand, d));
  }
  return plan::multiply_words(kernel_calls(d), words);
}

/// Words sent into the aggregation under partition vector d: (N/n_agg) · (n_agg − 1) · n_Z(d),
/// n_agg being the parts of the aggregated labels (paper, section 7).
[[nodiscard]] constexpr Extent aggregate_cost(const Vertex& v, std::span<const Extent> d) {
  Extent group = 1;
  for (int position : v.aggregated) group *= d[to_index(position)];
  if (group == 1) return 0;
  return plan::multiply_words(kernel_calls(d) / group * (group - 1),
                              plan::operand_words(v, v.output, d));
}

namespace plan {

/// How the parts of one dimension under two numbers of parts meet.
struct Meeting {
  Extent pairs = 0;   ///< pairs of a producer's and a consumer's part that share an index
  Extent inside = 0;  ///< producer's parts that meet exactly one consumer's part
};

[[nodiscard]] constexpr Meeting meet(Extent bound, Extent produced, Extent consumed) {
  // Parts nest when one number divides the other; always so for powers of two.
  if (produced % consumed == 0) return {produced, produced};
  if (consumed % produced == 0) return {consumed, 0};
  Meeting met;
  Extent j = 0;
  for (Extent i = 0; i < produced; ++i) {
    const Extent end = relation::part_begin(bound, produced, i + 1);
    Extent partners = 1;
    while (relation::part_begin(bound, consumed, j + 1) < end) {
      ++j;
      ++partners;
    }
    met.pairs += partners;
    if (partners == 1) ++met.inside;
    // A consumer's part that ends where this one does is done with.
    if (relation::part_begin(bound, consumed, j + 1) == end) ++j;
  }
  return met;
}

}  // namespace plan

/// Words to bring a tensor from a producer's partition to a consumer's (paper, section 7).
///
/// With I the pairs of producer's and consumer's blocks that intersect and s the producer's blocks
/// that meet one consumer's block only: (I − ∏d_c) · n(d_c) + (I − s) · n(d_p). Where parts nest,
/// which powers of two always do, I is ∏ max(d_p, d_c) and s is ∏d_p or 0, and this is the paper's
/// formula ∏d_c·(m_c − 1)·n(d_c) + [m_p ≠ 1]·∏d_p·m_p·n(d_p). Every entry must be at most its
/// extent.
[[nodiscard]] constexpr Extent repartition_cost(std::span<const Extent> bound,
                                                std::span<const Extent> produced,
                                                std::span<const Extent> consumed) {
  if (std::ranges::equal(produced, consumed)) return 0;
  Extent pairs = 1;
  Extent inside = 1;
  for (std::size_t k = 0; k < bound.size(); ++k) {
    const plan::Meeting met = plan::meet(bound[k], produced[k], consumed[k]);
    pairs = plan::multiply_words(pairs, met.pairs);
    inside = plan::multiply_words(inside, met.inside);
  }
  return plan::add_words(
      plan::multiply_words(pairs - kernel_calls(consumed), block_words(bound, consumed)),
      plan::multiply_words(pairs - inside, block_words(bound, produced)));
}

namespace plan {

/// The entries of d at the given positions: a tensor's partition as a statement sees it.
constexpr void select(std::span<const Extent> d, std::span<const int> positions,
                      std::vector<Extent>& selected) {
  selected.clear();
  for (int position : positions) selected.push_back(d[to_index(position)]);
}

}  // namespace plan

/// What statement v costs within a partitioned graph: its join, its aggregation, and bringing its
/// operands from their producers' partition. Inputs cost nothing to bring: they are placed offline.
[[nodiscard]] constexpr Cost statement_cost(const EinGraph& graph, VertexId v,
                                            const Partitions& partitions) {
  const Vertex& vertex = graph[v];
  if (vertex.is_input()) return {};
  const PartitionVector& d = partitions[to_index(v)];
  Cost cost{join_cost(vertex, d), aggregate_cost(vertex, d), 0};
  std::vector<Extent> produced;
  std::vector<Extent> consumed;
  for (const Operand& operand : vertex.operands) {
    const Vertex& producer = graph[operand.vertex];
    if (producer.is_input()) continue;
    plan::select(partitions[to_index(operand.vertex)], producer.output, produced);
    plan::select(d, operand.labels, consumed);
    cost.repartition =
        plan::add_words(cost.repartition, repartition_cost(producer.bound, produced, consumed));
  }
  return cost;
}

/// The cost of a partitioned graph: the sum of its statements' costs.
[[nodiscard]] constexpr Cost graph_cost(const EinGraph& graph, const Partitions& partitions) {
  Cost sum;
  for (VertexId v = 0; v < graph.size(); ++v) sum += statement_cost(graph, v, partitions);
  return sum;
}

}  // namespace eindecomp
