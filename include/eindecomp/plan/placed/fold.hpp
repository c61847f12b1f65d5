// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Repeated blocks of a program (layers), which are cut alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/hash.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/tuning.hpp"

namespace eindecomp::plan {

/// The statements of a program, those together that are cut alike: in a program of repeated blocks
/// those at one place of the blocks; else each by itself. In the order of the first of them. Blocks
/// are stretches of statements that equal those `period` earlier in labels, extents and in what
/// they read relative to themselves.
[[nodiscard]] inline std::vector<std::vector<VertexId>> fold(const EinGraph& graph) {
  const std::vector<VertexId> statements = statements_of(graph);
  const std::size_t n = statements.size();
  std::vector<std::size_t> ordinal(graph.vertices.size(), 0);
  for (std::size_t i = 0; i < n; ++i) ordinal[to_index(statements[i])] = i;
  std::vector<std::uint64_t> signature;
  for (std::size_t i = 0; i < n; ++i) {
    const Vertex& v = graph[statements[i]];
    core::Hasher hasher;
    hasher.add(v.extents);
    for (Extent limit : part_limits(graph, statements[i])) {
      hasher.add(static_cast<std::uint64_t>(limit));
    }
    for (int l : v.output) hasher.add(static_cast<std::uint64_t>(l));
    for (const Operand& o : v.operands) {
      const bool input = graph[o.vertex].is_input();
      hasher.add(input ? 0 : i - ordinal[to_index(o.vertex)]);
      for (int l : o.labels) hasher.add(static_cast<std::uint64_t>(l) + 100);
      graph::add_indices(hasher, o);
    }
    signature.push_back(hasher.value());
  }
  // Visits the stretches [begin, end) that equal those a period earlier.
  const auto for_each_repeat = [&](std::size_t period, const auto& visit) {
    for (std::size_t begin = period; begin < n;) {
      std::size_t end = begin;
      while (end < n && signature[end] == signature[end - period]) ++end;
      if (end - begin >= period) visit(begin, end);
      begin = end + 1;
    }
  };
  std::size_t best_period = 0;
  std::size_t max_spared = 0;
  for (std::size_t period = 2; n >= tuning::min_statements_to_fold && period <= n / 2; ++period) {
    std::size_t spared = 0;
    for_each_repeat(period, [&](std::size_t begin, std::size_t end) { spared += end - begin; });
    if (spared > max_spared) {
      max_spared = spared;
      best_period = period;
    }
  }
  std::vector<std::size_t> like(n);  // the first statement that is cut so
  std::iota(like.begin(), like.end(), std::size_t{0});
  if (max_spared > 0) {
    for_each_repeat(best_period, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) like[i] = like[i - best_period];
    });
  }
  std::vector<std::vector<VertexId>> classes;
  std::vector<std::size_t> class_of(n);
  for (std::size_t i = 0; i < n; ++i) {
    class_of[i] = like[i] == i ? classes.size() : class_of[like[i]];
    if (like[i] == i) classes.emplace_back();
    classes[class_of[i]].push_back(statements[i]);
  }
  return classes;
}

}  // namespace eindecomp::plan
