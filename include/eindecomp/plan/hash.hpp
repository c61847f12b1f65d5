// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A number that ranks compare to see that they hold the same plan.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "eindecomp/core/hash.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/kernel_traits.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace eindecomp::plan {

constexpr void add_to_hash(core::Hasher& hasher, const ElementType& element) {
  hasher.add(static_cast<std::uint64_t>(element.kind));
  hasher.add(static_cast<std::uint64_t>(element.bytes));
}

/// Adds conditions, if there are any.
constexpr void add_mask(core::Hasher& hasher, const std::vector<OperandIndex>& mask) {
  if (mask.empty()) return;
  hasher.add("mask");
  hasher.add(static_cast<std::uint64_t>(mask.size()));
  for (const OperandIndex& condition : mask) graph::add_index(hasher, condition);
}

/// Everything of a graph that decides what a run computes and moves. Not its identity, its source
/// lines and its operators' addresses, which differ between processes of one program. What most
/// statements lack is added with its name where it is there.
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
      graph::add_indices(hasher, operand);
      add_mask(hasher, operand.mask);
      if (operand.absorbing) hasher.add("absorbing");
      if (!operand.block.empty()) {
        hasher.add("block");
        hasher.add(operand.block);
      }
    }
    hasher.add(v.output);
    hasher.add(v.op.join);
    hasher.add(v.op.aggregate);
    hasher.add(v.op.state);
    if (v.op.blocks) hasher.add(std::uint64_t{1});
    if (!v.periods.empty()) hasher.add(v.periods);
    if (!v.values.empty()) {
      hasher.add("values");
      hasher.add(v.values);
      hasher.add(static_cast<std::uint64_t>(v.op.index_tensors));
      hasher.add(std::uint64_t{v.op.skipped_indices});
    }
    add_mask(hasher, v.mask);
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
      hasher.add(static_cast<std::uint64_t>(axis.size));
      if (axis.stripes > 1) hasher.add(static_cast<std::uint64_t>(axis.stripes));
    }
    hasher.add(static_cast<std::uint64_t>(group.interleaved));
    if (group.accumulates) hasher.add(std::uint64_t{1});
    add_to_hash(hasher, group.tiles);
  }
}

/// A number that two graphs have in common only if a run of either computes and moves the same, but
/// for what the state of a user's functors does: it is not known.
[[nodiscard]] constexpr std::uint64_t graph_hash(const EinGraph& graph) {
  core::Hasher hasher;
  add_to_hash(hasher, graph);
  return hasher.value();
}

/// What tiles are chosen by.
constexpr void add_to_hash(core::Hasher& hasher, const KernelTraits& kernel) {
  const auto& [tiles, copies, multiplies, maps, computes_long] = kernel;
  for (bool known : {tiles, copies, multiplies, maps, computes_long}) {
    hasher.add(static_cast<std::uint64_t>(known));
  }
}

/// Everything that may be asked of decompose(). A member that is added there is missed here: the
/// names below have to be as many.
constexpr void add_to_hash(core::Hasher& hasher, const DecomposeOptions& options) {
  const auto& [workers, ranks, strategy, by_hand, layouts, carry, max_idle, groups, steps, tiles,
               cache_bytes, objective, machine, memory, threads, effort] = options;
  const auto add = [&hasher](auto number) {
    if constexpr (std::is_floating_point_v<decltype(number)>) {
      hasher.add(std::bit_cast<std::uint64_t>(static_cast<double>(number)));
    } else {
      hasher.add(static_cast<std::uint64_t>(number));
    }
  };
  const auto add_parts = [&](const std::vector<LabelParts>& list) {
    add(list.size());
    for (const LabelParts& parts : list) {
      hasher.add(parts.label);
      add(parts.parts);
    }
  };
  add(workers);
  add(ranks);
  hasher.add(strategy);
  add(by_hand.size());
  for (const StatementParts& statement : by_hand) {
    hasher.add(statement.statement);
    add_parts(statement.parts);
  }
  add(layouts.size());
  for (const TensorLayout& layout : layouts) {
    hasher.add(layout.tensor);
    hasher.add(layout.parts);
    hasher.add(layout.distribution.hash());
  }
  add(carry.size());
  for (const CarriedTensor& pair : carry) {
    hasher.add(pair.next);
    hasher.add(pair.input);
  }
  add(max_idle);
  add(groups);
  add(steps.size());
  for (const StatementSteps& group : steps) {
    hasher.add(group.first);
    hasher.add(group.last);
    add_parts(group.parts);
  }
  add(tiles.size());
  for (const StatementTiles& group : tiles) {
    hasher.add(group.first);
    hasher.add(group.last);
    add(group.sizes.size());
    for (const LabelSize& label : group.sizes) {
      hasher.add(label.label);
      add(label.size);
    }
  }
  add(cache_bytes);
  add(static_cast<int>(objective));
  const auto& [rate, machine_memory, memory_bandwidth, axes] = machine;
  add(rate);
  add(machine_memory);
  add(memory_bandwidth);
  add(axes.size());
  for (const auto& [size, latency, bandwidth] : axes) {
    add(size);
    add(latency);
    add(bandwidth);
  }
  add(memory);
  add(threads);
  const auto& [placed, programs, exact] = effort;
  add(placed);
  add(programs);
  add(exact.max_states);
  add(exact.max_work);
}

}  // namespace eindecomp::plan
