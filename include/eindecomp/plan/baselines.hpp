// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The strategies that plans are compared with: `square` and `data_parallel`.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <source_location>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/dynamic_program.hpp"
#include "eindecomp/plan/partition.hpp"

namespace eindecomp {
namespace detail {

/// Multiplies d[l] by as large a power of two as the limit and the wish allow, and says how much
/// of the wish is left over.
constexpr Extent cut_further(Extent& parts, Extent limit, Extent wish) {
  Extent factor = 1;
  while (factor < wish && parts * factor * 2 <= limit) factor *= 2;
  parts *= factor;
  return wish / factor;
}

/// The given label positions by extent, the largest first; of equal ones the first.
[[nodiscard]] constexpr std::vector<int> by_extent(const Vertex& v, std::vector<int> positions) {
  std::ranges::sort(positions, [&v](int a, int b) {
    const Extent x = v.extents[static_cast<std::size_t>(a)];
    const Extent y = v.extents[static_cast<std::size_t>(b)];
    return x > y || (x == y && a < b);
  });
  return positions;
}

/// The vector of a statement that costs least, given its producers' partitions: own costs and the
/// repartition of its operands.
[[nodiscard]] constexpr PartitionVector cheapest_vector(const EinGraph& graph, VertexId v, int p,
                                                        const Partitions& partitions) {
  const VectorList vectors = partition_vectors(graph, v, p);
  Partitions trial = partitions;
  PartitionVector& d = trial[static_cast<std::size_t>(v)];
  PartitionVector best;
  Extent least = unaffordable;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    d.assign(vectors[i].begin(), vectors[i].end());
    const Extent cost = statement_cost(graph, v, trial).total();
    if (best.empty() || cost < least) {
      best = d;
      least = cost;
    }
  }
  return best;
}

}  // namespace detail

/// The paper's SQRT: with p = 2^k, ⌈k/2⌉ factors of two cut the largest label of the output and
/// ⌊k/2⌋ the second; an output of rank 1 takes all. What an extent or an uncut label cannot take
/// goes to the output's next labels by extent, then to the first two again, and at last to the
/// aggregated labels, so that as many kernel calls are made as can be.
[[nodiscard]] constexpr Partitions square(const EinGraph& graph, int p) {
  Partitions partitions(graph.vertices.size());
  for (VertexId v = 0; v < graph.size(); ++v) {
    const Vertex& vertex = graph[v];
    if (vertex.is_input()) continue;
    const std::vector<Extent> limits = part_limits(graph, v);
    PartitionVector& d = partitions[static_cast<std::size_t>(v)];
    d.assign(vertex.labels.size(), 1);
    const auto cut = [&](int position, Extent wish) {
      const auto l = static_cast<std::size_t>(position);
      return detail::cut_further(d[l], limits[l], wish);
    };
    const std::vector<int> output = detail::by_extent(vertex, vertex.output);
    const int k = std::countr_zero(static_cast<unsigned>(p));
    Extent left = 1;
    if (output.size() >= 2) {
      left = cut(output[0], Extent{1} << (k - k / 2));
      left *= cut(output[1], Extent{1} << (k / 2));
      for (std::size_t n = 2; n < output.size(); ++n) left = cut(output[n], left);
    } else {
      left = p;
    }
    for (int position : output) left = cut(position, left);
    for (int position : detail::by_extent(vertex, vertex.aggregated)) left = cut(position, left);
  }
  return partitions;
}

/// Data parallelism: every statement is cut along its labels whose role is "batch", as finely as
/// their extents allow, also where that leaves workers idle. A statement without such a label
/// takes the vector that costs it least, given its producers'.
///
/// \throws Error if no label of the graph has the role.
[[nodiscard]] constexpr Partitions data_parallel(
    const EinGraph& graph, int p,
    const std::source_location& where = std::source_location::current()) {
  constexpr std::string_view role = "batch";
  if (std::ranges::none_of(graph.labels, [=](const LabelInfo& l) { return l.role == role; })) {
    Text names;
    for (const LabelInfo& label : graph.labels) names += (names.empty() ? "" : ", ") + label.name;
    detail::fail(
        "the strategy data_parallel has nothing to cut (no label of the program has the "
        "role 'batch'; its labels are " +
            names + "); give one of them that role, or choose another strategy",
        where);
  }
  Partitions partitions(graph.vertices.size());
  for (VertexId v = 0; v < graph.size(); ++v) {
    const Vertex& vertex = graph[v];
    if (vertex.is_input()) continue;
    const std::vector<Extent> limits = part_limits(graph, v);
    PartitionVector d(vertex.labels.size(), 1);
    bool has_role = false;
    Extent left = p;
    for (std::size_t l = 0; l < d.size(); ++l) {
      if (graph.labels[static_cast<std::size_t>(vertex.labels[l])].role != role) continue;
      has_role = true;
      left = detail::cut_further(d[l], limits[l], left);
    }
    if (!has_role) d = detail::cheapest_vector(graph, v, p, partitions);
    partitions[static_cast<std::size_t>(v)] = std::move(d);
  }
  return partitions;
}

}  // namespace eindecomp
