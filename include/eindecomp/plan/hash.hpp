// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A number that ranks compare to see that they hold the same plan.
#pragma once

#include <cstdint>
#include <vector>

#include "eindecomp/core/hash.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace eindecomp::plan {

constexpr void add_to_hash(core::Hasher& hasher, const ElementType& element) {
  hasher.add(static_cast<std::uint64_t>(element.kind));
  hasher.add(static_cast<std::uint64_t>(element.bytes));
}

/// Everything of a graph that decides what a run computes and moves. Not its identity, its source
/// lines and its operators' addresses, which differ between processes of one program.
constexpr void add_to_hash(core::Hasher& hasher, const EinGraph& graph) {
  hasher.add(static_cast<std::uint64_t>(graph.labels.size()));
  for (const LabelInfo& label : graph.labels) {
    hasher.add(label.name);
    hasher.add(label.role);
    hasher.add(static_cast<std::uint64_t>(label.uncut));
  }
  hasher.add(static_cast<std::uint64_t>(graph.vertices.size()));
  for (const Vertex& v : graph.vertices) {
    hasher.add(v.name);
    hasher.add(v.bound);
    add_to_hash(hasher, v.element);
    add_to_hash(hasher, v.partial);
    hasher.add(v.labels);
    hasher.add(v.extents);
    hasher.add(static_cast<std::uint64_t>(v.operands.size()));
    for (const Operand& operand : v.operands) {
      hasher.add(static_cast<std::uint64_t>(operand.vertex));
      hasher.add(operand.labels);
    }
    hasher.add(v.output);
    hasher.add(v.op.join);
    hasher.add(v.op.aggregate);
    hasher.add(v.op.state);
    hasher.add(static_cast<std::uint64_t>(v.is_result()));
  }
}

constexpr void add_to_hash(core::Hasher& hasher, const Placement& placement) {
  hasher.add(placement.mesh.axes);
  for (const AxisLists& lists : placement.calls) hasher.add(lists);
  for (const AxisLists& lists : placement.stored) hasher.add(lists);
}

constexpr void add_to_hash(core::Hasher& hasher, const std::vector<StepGroup>& groups) {
  for (const StepGroup& group : groups) {
    hasher.add(static_cast<std::uint64_t>(group.first));
    hasher.add(static_cast<std::uint64_t>(group.last));
    for (const StepAxis& axis : group.axes) {
      hasher.add(axis.positions);
      hasher.add(static_cast<std::uint64_t>(axis.parts));
    }
  }
}

}  // namespace eindecomp::plan
