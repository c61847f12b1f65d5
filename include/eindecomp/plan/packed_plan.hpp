// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A plan as numbers, for ranks that hold its program already: what the planner decided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace eindecomp::plan {

/// Gives a plan that is placed its partition vectors and its costs, which follow from the
/// placement.
inline void complete_from_placement(Plan& plan) {
  plan.partitions.clear();
  plan.costs.clear();
  plan.cost = {};
  for (const AxisLists& calls : plan.placement.calls) {
    plan.partitions.push_back(parts_of(plan.placement.mesh, calls));
  }
  for (VertexId v = 0; v < plan.graph.size(); ++v) {
    plan.costs.push_back(statement_cost(plan.graph, v, plan.partitions));
    plan.cost += plan.costs.back();
  }
}

using Packed = std::vector<std::int64_t>;

/// Writes numbers and lists of them one after another, a list after its length.
class Packer {
 public:
  void add(std::int64_t number) { m_packed.push_back(number); }
  template <class Element>
  void add(const std::vector<Element>& list) {
    add(static_cast<std::int64_t>(list.size()));
    for (const Element& element : list) add(element);
  }
  [[nodiscard]] Packed take() { return std::move(m_packed); }

 private:
  Packed m_packed;
};

/// Reads them back in that order.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::int64_t> packed) : m_rest(packed) {}

  void get(std::int64_t& number) {
    number = m_rest.front();
    m_rest = m_rest.subspan(1);
  }
  void get(int& number) {
    std::int64_t wide = 0;
    get(wide);
    number = static_cast<int>(wide);
  }
  template <class Element>
  void get(std::vector<Element>& list) {
    std::int64_t size = 0;
    get(size);
    list.resize(to_index(size));
    for (Element& element : list) get(element);
  }

 private:
  std::span<const std::int64_t> m_rest;
};

/// What decompose() decided of a plan that is placed. A few numbers a tensor.
[[nodiscard]] inline Packed pack(const Plan& plan) {
  Packer packer;
  packer.add(plan.workers);
  packer.add(plan.ranks);
  packer.add(std::vector<std::int64_t>(plan.strategy.view().begin(), plan.strategy.view().end()));
  packer.add(plan.gap ? std::vector<std::int64_t>{*plan.gap} : std::vector<std::int64_t>{});
  packer.add(plan.cuts);
  packer.add(plan.placement.mesh.axes);
  packer.add(plan.placement.calls);
  packer.add(plan.placement.stored);
  packer.add(static_cast<std::int64_t>(plan.steps.size()));
  for (const StepGroup& group : plan.steps) {
    packer.add(group.first);
    packer.add(group.last);
    packer.add(static_cast<std::int64_t>(group.axes.size()));
    for (const StepAxis& axis : group.axes) {
      packer.add(axis.positions);
      packer.add(axis.parts);
    }
  }
  return packer.take();
}

/// The plan that pack() was given, of the same program.
[[nodiscard]] inline Plan unpack(const EinGraph& graph, std::span<const std::int64_t> packed) {
  Unpacker unpacker(packed);
  Plan plan;
  plan.graph = graph;
  unpacker.get(plan.workers);
  unpacker.get(plan.ranks);
  std::vector<std::int64_t> list;
  unpacker.get(list);
  plan.strategy.assign(std::string(list.begin(), list.end()));
  unpacker.get(list);
  if (!list.empty()) plan.gap = list.front();
  unpacker.get(plan.cuts);
  unpacker.get(plan.placement.mesh.axes);
  unpacker.get(plan.placement.calls);
  unpacker.get(plan.placement.stored);
  std::int64_t groups = 0;
  unpacker.get(groups);
  plan.steps.resize(to_index(groups));
  for (StepGroup& group : plan.steps) {
    unpacker.get(group.first);
    unpacker.get(group.last);
    std::int64_t axes = 0;
    unpacker.get(axes);
    group.axes.resize(to_index(axes));
    for (StepAxis& axis : group.axes) {
      unpacker.get(axis.positions);
      unpacker.get(axis.parts);
    }
  }
  complete_from_placement(plan);
  return plan;
}

}  // namespace eindecomp::plan
