// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A plan as numbers, for ranks that hold its program already: what the planner decided.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/carried_result.hpp"
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

template <class Archive, class Value>
void pass(Archive& archive, Value& value);

/// Writes numbers, and lists of what it can write after their lengths.
class Packer {
 public:
  void operator()(std::int64_t number) { m_packed.push_back(number); }
  void operator()(const Text& text) {
    (*this)(static_cast<std::int64_t>(text.size()));
    for (const char c : text.view()) (*this)(static_cast<std::int64_t>(c));
  }
  template <class Element>
  void operator()(const std::vector<Element>& list) {
    (*this)(static_cast<std::int64_t>(list.size()));
    for (const Element& element : list) pass(*this, element);
  }
  void operator()(const std::optional<Extent>& number) {
    (*this)(static_cast<std::int64_t>(number.has_value()));
    if (number) (*this)(*number);
  }
  [[nodiscard]] Packed take() { return std::move(m_packed); }

 private:
  Packed m_packed;
};

/// Reads them back in that order.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::int64_t> packed) : m_rest(packed) {}

  template <std::integral Number>
  void operator()(Number& number) {
    number = static_cast<Number>(m_rest.front());
    m_rest = m_rest.subspan(1);
  }
  void operator()(Text& text) {
    std::vector<char> characters;
    (*this)(characters);
    text.assign({characters.data(), characters.size()});
  }
  template <class Element>
  void operator()(std::vector<Element>& list) {
    std::int64_t size = 0;
    (*this)(size);
    list.resize(to_index(size));
    for (Element& element : list) pass(*this, element);
  }
  void operator()(std::optional<Extent>& number) {
    std::int64_t known = 0;
    (*this)(known);
    if (known == 0) return number.reset();
    (*this)(number.emplace());
  }

 private:
  std::span<const std::int64_t> m_rest;
};

/// Hands an archive, a Packer or an Unpacker, what a value consists of. One description for both
/// directions, so that what is written is what is read.
template <class Archive, class Value>
void pass(Archive& archive, Value& value) {
  using Type = std::remove_const_t<Value>;
  if constexpr (std::is_same_v<Type, StepGroup>) {
    archive(value.first);
    archive(value.last);
    archive(value.axes);
    archive(value.tiles);
    archive(value.interleaved);
    archive(value.accumulates);
  } else if constexpr (std::is_same_v<Type, StepAxis>) {
    archive(value.positions);
    archive(value.parts);
    archive(value.size);
    archive(value.stripes);
  } else if constexpr (std::is_same_v<Type, CarriedResult>) {
    archive(value.next);
    archive(value.input);
  } else if constexpr (std::is_same_v<Type, Plan>) {
    archive(value.workers);
    archive(value.ranks);
    archive(value.strategy);
    archive(value.gap);
    archive(value.cuts);
    archive(value.placement.mesh.axes);
    archive(value.placement.calls);
    archive(value.placement.stored);
    archive(value.steps);
    archive(value.carry);
  } else {
    archive(value);
  }
}

/// What decompose() decided of a plan that is placed. A few numbers a tensor.
[[nodiscard]] inline Packed pack(const Plan& plan) {
  Packer packer;
  pass(packer, plan);
  return packer.take();
}

/// The plan that pack() was given, of the same program.
[[nodiscard]] inline Plan unpack(const EinGraph& graph, std::span<const std::int64_t> packed) {
  Unpacker unpacker(packed);
  Plan plan;
  plan.graph = graph;
  pass(unpacker, plan);
  complete_from_placement(plan);
  return plan;
}

}  // namespace eindecomp::plan
