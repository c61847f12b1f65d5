// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Plans whose statements are streamed wherever they can be, however little there is to gain.
#pragma once

#include <algorithm>
#include <utility>

#include "eindecomp/plan/placement/choose_panels.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace test_support {

/// The plan with every statement streamed that aggregates and is in no group of steps, in so many
/// panels where its label has them, along its last label or its first.
template <class AnyPlan>
AnyPlan streamed(AnyPlan plan, eindecomp::Extent panels, bool along_first) {
  using eindecomp::to_index;
  const eindecomp::EinGraph& graph = plan.graph;
  for (eindecomp::VertexId v = 0; v < graph.size(); ++v) {
    const std::vector<int>& aggregated = graph[v].aggregated;
    const bool in_steps = std::any_of(plan.steps.begin(), plan.steps.end(),
                                      [v](const auto& group) { return group.contains(v); });
    if (graph[v].is_input() || aggregated.empty() || in_steps) continue;
    const int label = along_first ? aggregated.front() : aggregated.back();
    if (graph.labels[to_index(graph[v].labels[to_index(label)])].uncut) continue;
    eindecomp::StepAxis axis{{label}, std::min(panels, graph[v].extents[to_index(label)])};
    eindecomp::StepGroup group{v, v, {std::move(axis)}};
    eindecomp::plan::set_stripes(graph, graph.reader_counts(), plan.placement, group);
    plan.steps.push_back(std::move(group));
  }
  std::sort(plan.steps.begin(), plan.steps.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return plan;
}

}  // namespace test_support
