// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The strategies that plans are compared with: `square`, and those that go by labels' roles.
#pragma once

#include <algorithm>
#include <cstddef>
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
#include "eindecomp/plan/labeling.hpp"
#include "eindecomp/plan/listed_strategy.hpp"
#include "eindecomp/plan/partition.hpp"

namespace eindecomp {
namespace plan {

/// Multiplies the parts by the largest divisor of `wish` that the limit allows.
/// \returns the rest of `wish`.
constexpr Extent cut_further(Extent& parts, Extent limit, Extent wish) {
  for (Extent factor : divisors(wish)) {
    if (factor > limit / parts) continue;
    parts *= factor;
    return wish / factor;
  }
  return wish;  // not reached: the factor 1 always fits
}

/// The largest divisor of p that is at most √p.
[[nodiscard]] constexpr Extent smaller_half(int p) {
  Extent half = 1;
  for (Extent d : divisors(p)) {
    if (d <= p / d) half = std::max(half, d);
  }
  return half;
}

/// Whether p workers can be divided into so many groups of one size. 0 lets the strategy choose.
[[nodiscard]] constexpr bool groups_fit(int p, int groups) {
  return groups == 0 || (groups > 0 && p % groups == 0);
}

/// The given label positions by extent, the largest first; of equal ones the first.
[[nodiscard]] constexpr std::vector<int> by_extent(const Vertex& v, std::vector<int> positions) {
  std::ranges::sort(positions, [&v](int a, int b) {
    const Extent x = v.extents[to_index(a)];
    const Extent y = v.extents[to_index(b)];
    return x > y || (x == y && a < b);
  });
  return positions;
}

/// The vector of a statement that costs least, given its producers' partitions: its own cost and
/// the repartition of its operands. \param partitions  scratch for the statement's own vector.
[[nodiscard]] constexpr PartitionVector cheapest_vector(const EinGraph& graph, VertexId v, int p,
                                                        Partitions& partitions) {
  const VectorList vectors = partition_vectors(graph, v, p);
  PartitionVector& d = partitions[to_index(v)];
  PartitionVector best;
  Extent min_cost = unaffordable;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    d.assign(vectors[i].begin(), vectors[i].end());
    const Extent cost = statement_cost(graph, v, partitions).total();
    if (best.empty() || cost < min_cost) {
      best = d;
      min_cost = cost;
    }
  }
  return best;
}

}  // namespace plan

/// The paper's SQRT. Factors p into two divisors as close to √p as possible (2^⌈k/2⌉ and 2^⌊k/2⌋
/// for p = 2^k). The larger cuts the largest label of the output, the smaller the second largest;
/// an output of rank 1 is cut by both. Factors that a label cannot take, because of its extent or
/// because it is kept whole, go to the output's next labels by extent, then to the first two again,
/// and last to the aggregated labels, so that as many kernel calls are made as possible.
[[nodiscard]] constexpr Partitions square(const EinGraph& graph, int p) {
  const Extent smaller = plan::smaller_half(p);
  Partitions partitions(graph.vertices.size());
  for (VertexId v : statements_of(graph)) {
    const Vertex& vertex = graph[v];
    const std::vector<Extent> limits = part_limits(graph, v);
    PartitionVector d(vertex.labels.size(), 1);
    const auto cut = [&](int position, Extent wish) {
      const auto l = to_index(position);
      return plan::cut_further(d[l], limits[l], wish);
    };
    const std::vector<int> output = plan::by_extent(vertex, vertex.output);
    Extent left = p;
    if (output.size() >= 2) {
      left = cut(output[0], p / smaller);
      left *= cut(output[1], smaller);
      for (std::size_t n = 2; n < output.size(); ++n) left = cut(output[n], left);
    }
    for (int position : output) left = cut(position, left);
    for (int position : plan::by_extent(vertex, vertex.aggregated)) left = cut(position, left);
    partitions[to_index(v)] = with_max_calls(std::move(d), limits, p, &vertex);
  }
  return partitions;
}

namespace plan {

/// Cut the labels of a role into so many parts.
struct RoleParts {
  std::string_view role;
  Extent parts = 1;
};

/// \throws Error, naming the labels there are, if no label of the graph has a role.
constexpr void require_role(const EinGraph& graph, std::string_view strategy, std::string_view role,
                            const std::source_location& where) {
  if (has_role(graph, role)) return;
  const Text names =
      core::joined(graph.labels, ", ", [](const LabelInfo& label) { return label.name; });
  core::fail(ErrorKind::plan, where, "the strategy ", strategy,
             " has nothing to cut (no label of the program has the role '", role,
             "'; its labels are ", names,
             "); give one of them that role, or choose another strategy");
}

/// The positions of a statement's labels of a role, those of the output before those that are
/// aggregated.
[[nodiscard]] constexpr std::vector<int> labels_of_role(const EinGraph& graph, VertexId v,
                                                        std::string_view role) {
  const Vertex& vertex = graph[v];
  std::vector<int> found;
  for (const bool aggregated : {false, true}) {
    for (int l = 0; l < static_cast<int>(vertex.labels.size()); ++l) {
      const bool is_aggregated = std::ranges::find(vertex.aggregated, l) != vertex.aggregated.end();
      const LabelId label = vertex.labels[to_index(l)];
      if (is_aggregated != aggregated) continue;
      if (graph.labels[to_index(label)].role == role) found.push_back(l);
    }
  }
  return found;
}

/// Cuts some labels of a statement, one after another as finely as their limits allow, into as many
/// parts as possible, at most `parts`. \returns the factor of `parts` that is left over.
constexpr Extent cut_labels(std::span<const Extent> limits, const std::vector<int>& positions,
                            Extent parts, PartitionVector& d) {
  std::vector<Extent> own_limits(d.size(), 1);
  PartitionVector own(d.size(), 1);
  Extent left = parts;
  for (int position : positions) {
    const auto l = to_index(position);
    own_limits[l] = limits[l];
    left = cut_further(own[l], limits[l], left);
  }
  own = with_max_calls(std::move(own), own_limits, static_cast<int>(parts));
  for (std::size_t l = 0; l < d.size(); ++l) d[l] *= own[l];
  return parts / kernel_calls(own);
}

/// Cuts every statement along its labels of some roles, those of the output before those that are
/// aggregated. If `overflow`, factors that the labels of one role cannot take go to the next role;
/// factors that no label takes leave workers idle. A statement without any of the roles gets its
/// cheapest vector, given its producers'.
constexpr Partitions cut_by_role(const EinGraph& graph, int p, std::span<const RoleParts> roles,
                                 bool overflow) {
  Partitions partitions(graph.vertices.size());
  for (VertexId v : statements_of(graph)) {
    const std::vector<Extent> limits = part_limits(graph, v);
    PartitionVector d(limits.size(), 1);
    bool has_role = false;
    Extent left = 1;
    for (const RoleParts& wanted : roles) {
      const std::vector<int> labels = labels_of_role(graph, v, wanted.role);
      has_role = has_role || !labels.empty();
      left = cut_labels(limits, labels, wanted.parts * (overflow ? left : 1), d);
    }
    if (!has_role) d = cheapest_vector(graph, v, p, partitions);
    partitions[to_index(v)] = std::move(d);
  }
  return partitions;
}

/// The same for one role, which must be there.
constexpr Partitions cut_one_role(const EinGraph& graph, int p, std::string_view strategy,
                                  std::string_view role, const std::source_location& where) {
  require_role(graph, strategy, role, where);
  return cut_by_role(graph, p, std::vector<RoleParts>{{role, p}}, false);
}

}  // namespace plan

// All strategies by role cut a statement's labels of the role as finely as their extents allow,
// those of the output first, even if that leaves workers idle. A statement without such a label
// gets its cheapest vector, given its producers'.

/// Data parallelism: labels of the role "batch" are cut.
/// \throws Error if no label of the graph has the role.
[[nodiscard]] constexpr Partitions data_parallel(
    const EinGraph& graph, int p,
    const std::source_location& where = std::source_location::current()) {
  return plan::cut_one_role(graph, p, "data_parallel", "batch", where);
}

/// Model parallelism: labels of the role "hidden" are cut, the dimensions of the weights.
/// \throws Error if no label of the graph has the role.
[[nodiscard]] constexpr Partitions model_parallel(
    const EinGraph& graph, int p,
    const std::source_location& where = std::source_location::current()) {
  return plan::cut_one_role(graph, p, "model_parallel", "hidden", where);
}

/// Hybrid parallelism (SoyBean, section 2.2): data parallelism among groups of workers, model
/// parallelism within a group. \param groups  divides p; 0: the largest divisor up to √p.
/// \throws Error if no label has the role "batch", or none "hidden", or groups does not divide p.
[[nodiscard]] constexpr Partitions hybrid(
    const EinGraph& graph, int p, int groups = 0,
    const std::source_location& where = std::source_location::current()) {
  if (!plan::groups_fit(p, groups)) {
    core::fail(ErrorKind::plan, where, "the strategy hybrid with ", groups, " groups of ", p,
               " workers (groups are of one size); give a number that divides the workers, or 0");
  }
  if (groups == 0) groups = static_cast<int>(plan::smaller_half(p));
  plan::require_role(graph, "hybrid", "batch", where);
  plan::require_role(graph, "hybrid", "hidden", where);
  const std::vector<plan::RoleParts> roles{{"batch", groups}, {"hidden", p / groups}};
  return plan::cut_by_role(graph, p, roles, false);
}

/// Megatron's tensor parallelism for transformers: attention is cut by its labels of the role
/// "head"; the network after it, and what heads leave, by those of the role "hidden".
/// \throws Error if no label has the role "head", or none "hidden".
[[nodiscard]] constexpr Partitions megatron(
    const EinGraph& graph, int p,
    const std::source_location& where = std::source_location::current()) {
  plan::require_role(graph, "megatron", "head", where);
  plan::require_role(graph, "megatron", "hidden", where);
  const std::vector<plan::RoleParts> roles{{"head", p}, {"hidden", 1}};
  return plan::cut_by_role(graph, p, roles, true);
}

/// Sequence parallelism: labels of the role "sequence" are cut; of a statement that has queries and
/// keys the output's first, in the order of its labels.
/// \throws Error if no label of the graph has the role.
[[nodiscard]] constexpr Partitions sequence_parallel(
    const EinGraph& graph, int p,
    const std::source_location& where = std::source_location::current()) {
  return plan::cut_one_role(graph, p, "sequence", "sequence", where);
}

/// Attention heads side by side: labels of the role "head" are cut, other statements as is
/// cheapest. \throws Error if no label of the graph has the role.
[[nodiscard]] constexpr Partitions attention_parallel(
    const EinGraph& graph, int p,
    const std::source_location& where = std::source_location::current()) {
  return plan::cut_one_role(graph, p, "attention", "head", where);
}

}  // namespace eindecomp
