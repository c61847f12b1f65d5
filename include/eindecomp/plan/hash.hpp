// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A number that ranks compare to see that they hold the same plan.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace eindecomp::detail {

/// FNV-1a over numbers and texts, the same on every machine and in every process.
class Hasher {
 public:
  constexpr void add(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) add_byte(value >> (8 * byte) & 0xff);
  }
  constexpr void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    for (char c : text) add_byte(static_cast<unsigned char>(c));
  }
  template <class Number>
  constexpr void add(const std::vector<Number>& numbers) {
    add(static_cast<std::uint64_t>(numbers.size()));
    for (Number n : numbers) add(static_cast<std::uint64_t>(n));
  }
  constexpr void add(const AxisLists& lists) {
    add(static_cast<std::uint64_t>(lists.size()));
    for (const std::vector<int>& list : lists) add(list);
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return m_hash; }

 private:
  constexpr void add_byte(std::uint64_t byte) { m_hash = (m_hash ^ byte) * 0x100000001b3ULL; }
  std::uint64_t m_hash = 0xcbf29ce484222325ULL;
};

constexpr void add_to_hash(Hasher& hasher, const ElementType& element) {
  hasher.add(static_cast<std::uint64_t>(element.kind));
  hasher.add(static_cast<std::uint64_t>(element.bytes));
}

/// Everything of a graph that decides what a run computes and moves. Not its identity, its source
/// lines and its operators' addresses, which differ between processes of one program.
constexpr void add_to_hash(Hasher& hasher, const EinGraph& graph) {
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
    hasher.add(static_cast<std::uint64_t>(v.kept));
  }
}

constexpr void add_to_hash(Hasher& hasher, const Placement& placement) {
  hasher.add(placement.mesh.axes);
  for (const AxisLists& lists : placement.calls) hasher.add(lists);
  for (const AxisLists& lists : placement.stored) hasher.add(lists);
}

constexpr void add_to_hash(Hasher& hasher, const std::vector<StepGroup>& groups) {
  for (const StepGroup& group : groups) {
    hasher.add(static_cast<std::uint64_t>(group.first));
    hasher.add(static_cast<std::uint64_t>(group.last));
    for (const StepAxis& axis : group.axes) {
      hasher.add(axis.positions);
      hasher.add(static_cast<std::uint64_t>(axis.parts));
    }
  }
}

}  // namespace eindecomp::detail
