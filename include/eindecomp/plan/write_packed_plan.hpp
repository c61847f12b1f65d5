// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How a plan becomes numbers, and numbers a plan.
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
#include "eindecomp/plan/packed_plan.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace eindecomp::plan {

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

[[nodiscard]] inline Packed write_packed(const Plan& plan) {
  Packer packer;
  pass(packer, plan);
  return packer.take();
}

[[nodiscard]] inline Plan read_packed(const EinGraph& graph, std::span<const std::int64_t> packed) {
  Unpacker unpacker(packed);
  Plan plan;
  plan.graph = graph;
  pass(unpacker, plan);
  complete_from_placement(plan);
  return plan;
}

#ifndef EINDECOMP_SEPARATE_PLANNER
inline Packed pack(const Plan& plan) { return write_packed(plan); }

inline Plan unpack(const EinGraph& graph, std::span<const std::int64_t> packed) {
  return read_packed(graph, packed);
}
#endif

}  // namespace eindecomp::plan
