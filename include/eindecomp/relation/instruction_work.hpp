// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What an instruction computes and moves in memory, by which its time is predicted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/residue_classes.hpp"
#include "eindecomp/graph/scanned_label.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"

namespace eindecomp::relation {

/// The work of a copy, a kernel call or a combination. That of a message is none.
struct Work {
  double operations = 0;  ///< a multiplication with its addition is one
  double bytes = 0;       ///< that main memory moves: tiles stay in the caches of their threads
  bool operator==(const Work&) const = default;

  /// How long it takes: what takes longer of the two. \param bandwidth  0: never waited for.
  [[nodiscard]] double seconds(double operations_per_second, double bandwidth) const {
    return std::max(operations / operations_per_second, bandwidth > 0 ? bytes / bandwidth : 0.0);
  }
};

/// The elements of a tensor whose dimensions carry these labels; of a diagonal those on it.
[[nodiscard]] inline Extent elements_of(const Box& domain, const std::vector<int>& labels) {
  Extent n = 1;
  for (std::size_t k = 0; k < labels.size(); ++k) {
    const auto before = labels.begin() + static_cast<std::ptrdiff_t>(k);
    if (std::find(labels.begin(), before, labels[k]) == before) n *= domain.extent(labels[k]);
  }
  return n;
}

/// How many joins a kernel call computes: labels that are looked up in index tensors have one value
/// at a time, and where indices are divided those are computed for which they are whole.
[[nodiscard]] inline Extent joins_of(const Vertex& v, const Box& domain) {
  if (!v.periods.empty()) {
    Extent joins = 0;
    graph::for_each_residue_class(v, domain.lo, domain.hi, [&](const auto& lo, const auto& hi) {
      joins += Box{lo, hi}.size();
    });
    return joins;
  }
  if (domain.empty()) return 0;
  // With labels that are looked up the product may be no Extent.
  const bool scans = graph::is_scan(v, domain);
  Extent n = 1;
  for (int l = 0; l < domain.rank(); ++l) {
    if (!v.is_looked_up(l) && !(scans && l == v.scanned)) n *= domain.extent(l);
  }
  return n;
}

/// Whether joins_of can count those of the whole statement.
[[nodiscard]] constexpr bool has_countable_joins(const Vertex& v) {
  Extent joins = 1;
  for (std::size_t l = 0; l < v.extents.size(); ++l) {
    const auto label = static_cast<int>(l);
    if (v.is_looked_up(label) || label == v.scanned) continue;
    if (joins > std::numeric_limits<Extent>::max() / v.extents[l]) return false;
    joins *= v.extents[l];
  }
  return true;
}

/// The work of an instruction of a program whose tiles are placed.
[[nodiscard]] inline Work work_of(const EinGraph& graph, const RankProgram& program,
                                  const Instruction& instruction) {
  const auto buffer = [&](int b) -> const Buffer& {
    return program.buffers[static_cast<std::size_t>(b)];
  };
  const auto bytes_of = [&](Extent elements, const Buffer& b) {
    return b.role == Buffer::Role::tile ? 0.0
                                        : static_cast<double>(elements * element_bytes(graph, b));
  };
  if (const auto* copy = instruction.as<Copy>()) {
    return {0, 2 * bytes_of(copy->box.size(), buffer(copy->to))};
  }
  if (const auto* fill = instruction.as<Fill>()) {
    return {0, bytes_of(fill->target.box.size(), buffer(fill->target.buffer))};
  }
  if (const auto* spread = instruction.as<Spread>()) {
    return {0, 2 * bytes_of(spread->size(), buffer(spread->to))};
  }
  if (const auto* count = instruction.as<Count>()) {
    return {0, bytes_of(count->target.box.size(), buffer(count->target.buffer))};
  }
  if (const auto* call = instruction.as<KernelCall>()) {
    const Vertex& v = graph[instruction.statement];
    const Extent joins = joins_of(v, call->domain);
    Work work{static_cast<double>(joins),
              bytes_of(elements_of(call->domain, v.output), buffer(call->output))};
    for (std::size_t o = 0; o < v.operands.size(); ++o) {
      const Extent read = elements_of(call->domain, v.operands[o].labels);
      work.bytes += bytes_of(std::min(read, joins), buffer(call->operands[o]));
    }
    return work;
  }
  if (const auto* combine = instruction.as<Combine>(); combine && !combine->parts.empty()) {
    const Extent words = combine->target.box.size();
    const auto parts = static_cast<Extent>(combine->parts.size());
    return {static_cast<double>(words * (parts - 1)),
            static_cast<double>(
                words * (parts * element_bytes(graph, buffer(combine->parts.front().buffer)) +
                         element_bytes(graph, buffer(combine->target.buffer))))};
  }
  return {};
}

}  // namespace eindecomp::relation
