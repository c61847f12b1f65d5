// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which statements of a placed program run in steps, in how many, and by which tiles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/partitions.hpp"
#include "eindecomp/plan/placement/choose_panels.hpp"
#include "eindecomp/plan/placement/choose_tiles.hpp"
#include "eindecomp/plan/tuning.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/step_rules.hpp"

namespace eindecomp {
namespace plan {

/// What steps are for: to save traffic of main memory, or to hold less memory at any cost.
enum class StepAim : std::uint8_t { speed, memory };

/// Finds groups of statements that are worth running in steps. What one statement passes on to the
/// next is then read from a cache, but operands that all blocks need are read again for every
/// block. Gain and cost are bytes of main memory that one worker reads and writes.
class StepChooser {
 public:
  /// \param passed  bytes that a group may pass on at a time.
  StepChooser(const EinGraph& graph, const Placement& placement, std::int64_t passed, StepAim aim)
      : m_graph(graph),
        m_placement(placement),
        m_passed(passed),
        m_aim(aim),
        m_last_reader(relation::last_readers(graph)) {}

  [[nodiscard]] std::vector<StepGroup> choose() const {
    std::vector<StepGroup> groups;
    for (VertexId v = 0; v < m_graph.size(); ++v) {
      if (m_graph[v].is_input()) continue;
      std::optional<StepGroup> group = best_from(v);
      if (!group) continue;
      v = group->last;
      groups.push_back(std::move(*group));
    }
    return groups;
  }

 private:
  /// The group from that statement on that saves most.
  [[nodiscard]] std::optional<StepGroup> best_from(VertexId first) const {
    StepGroup group{first, first, {}};
    for (int position : m_graph[first].output) group.axes.push_back({{position}, 1});
    std::vector<VertexId> statements{first};
    drop_faulty(group);
    std::optional<StepGroup> best;
    double max_saved = 0;
    for (VertexId v = first + 1; v < m_graph.size(); ++v) {
      if (m_graph[v].is_input()) continue;
      if (statements.size() == tuning::max_group_statements) break;
      group.last = v;
      statements.push_back(v);
      for (StepAxis& axis : group.axes) {
        const std::size_t known = is_known(axis) ? axis.positions.size() : 0;
        axis.positions.push_back(-1);
        relation::follow_reads(m_graph, statements, axis, known);
      }
      drop_faulty(group);
      if (group.axes.empty()) break;
      StepGroup cut = group;
      std::erase_if(cut.axes, [&](const StepAxis& axis) { return !may_cut(v, axis); });
      const double saved = cut_to_fit(cut, statements);
      if (saved <= max_saved) continue;
      max_saved = saved;
      best = std::move(cut);
    }
    return best;
  }

  /// Whether all statements of a group are known to have an axis.
  [[nodiscard]] static bool is_known(const StepAxis& axis) {
    return std::ranges::find(axis.positions, -1) == axis.positions.end();
  }

  /// Whether an axis may cut a group whose last statement is v. What is added up block by block is
  /// read and written with every block, so that is for memory's sake alone.
  [[nodiscard]] bool may_cut(VertexId v, const StepAxis& axis) const {
    if (!is_known(axis)) return false;
    return m_aim == StepAim::memory ||
           std::ranges::find(m_graph[v].aggregated, axis.positions.back()) ==
               m_graph[v].aggregated.end();
  }

  /// Removes the axes along which the group cannot be cut; all axes if it cannot be cut at all. For
  /// memory's sake an axis stays that some statements may have: a later one may read both their
  /// results and those of statements that have it.
  void drop_faulty(StepGroup& group) const {
    std::erase_if(group.axes, [&](const StepAxis& axis) {
      if (is_known(axis)) {
        return !step_fault(m_graph, m_placement, {group.first, group.last, {axis}}, m_last_reader)
                    .empty();
      }
      return m_aim == StepAim::speed ||
             !step_fault(m_graph, m_placement, {group.first, group.last}, m_last_reader).empty();
    });
  }

  /// Bytes of the block of a tensor that one worker computes or reads under some axis lists.
  [[nodiscard]] std::int64_t block_bytes(VertexId tensor, const AxisLists& calls,
                                         const std::vector<int>& positions) const {
    const Vertex& v = m_graph[tensor];
    const std::vector<Extent> parts = parts_of(m_placement.mesh, calls);
    std::int64_t bytes = v.element.bytes;
    for (std::size_t k = 0; k < positions.size(); ++k) {
      bytes *= ceil_div(v.bound[k], parts[to_index(positions[k])]);
    }
    return bytes;
  }

  /// Cuts a group, outermost labels first, so that it passes on no more than it may at a time; for
  /// memory's sake as near to that as its labels allow.
  /// \returns the bytes that this saves; none or less if it is not worthwhile. No integer: what is
  ///   read again with every step may exceed 2^63.
  [[nodiscard]] double cut_to_fit(StepGroup& group, const std::vector<VertexId>& statements) const {
    const bool for_memory = m_aim == StepAim::memory;
    const auto inside = [&](VertexId v) {
      return relation::is_passed_on(m_graph, group, v, m_last_reader[to_index(v)]);
    };
    std::int64_t passed = 0;
    double saved = 0;
    for (VertexId v : statements) {
      if (!inside(v)) continue;
      const std::int64_t bytes = block_bytes(v, m_placement.calls[to_index(v)], m_graph[v].output);
      passed += bytes;
      saved += static_cast<double>(bytes);  // written; what is read is added below
    }
    std::int64_t needed = ceil_div(passed, m_passed);
    needed = std::min(needed, for_memory ? tuning::max_steps_for_memory : tuning::max_steps);
    if (needed <= 1) return 0;
    for (StepAxis& axis : group.axes) {
      axis.parts = std::min(needed, min_extent(statements.front(), axis));
      needed = ceil_div(needed, axis.parts);
    }
    if (needed > 1 && !for_memory) return 0;
    if (group.steps() == 1) return 0;
    std::erase_if(group.axes, [](const StepAxis& axis) { return axis.parts == 1; });
    auto lost = static_cast<double>(group.steps() * static_cast<std::int64_t>(statements.size()) *
                                    tuning::step_bytes);
    for (std::size_t s = 0; s < statements.size(); ++s) {
      const VertexId v = statements[s];
      for (const Operand& o : m_graph[v].operands) {
        const auto bytes =
            static_cast<double>(block_bytes(o.vertex, m_placement.calls[to_index(v)], o.labels));
        if (inside(o.vertex)) {
          saved += bytes;
          continue;
        }
        std::int64_t times = 1;
        for (const StepAxis& axis : group.axes) {
          const bool has =
              std::find(o.labels.begin(), o.labels.end(), axis.positions[s]) != o.labels.end();
          if (!has) times *= axis.parts;
        }
        lost += static_cast<double>(times - 1) * bytes;
      }
    }
    return for_memory ? saved : saved - lost;
  }

  /// The extent of the smallest part of an axis that a call of the group's first statement has.
  [[nodiscard]] Extent min_extent(VertexId first, const StepAxis& axis) const {
    const auto l = to_index(axis.positions.front());
    return m_graph[first].extents[l] /
           parts_of(m_placement.mesh, m_placement.calls[to_index(first)])[l];
  }

  const EinGraph& m_graph;
  const Placement& m_placement;
  std::int64_t m_passed;
  StepAim m_aim;
  std::vector<VertexId> m_last_reader;
};

/// Adds to groups of steps those of statements that accumulate in one result, of statements that
/// are in none.
inline void add_accumulations(const EinGraph& graph, const Placement& placement,
                              std::vector<StepGroup>& groups) {
  const std::vector<VertexId> last_reader = relation::last_readers(graph);
  std::vector<StepGroup> found;
  std::vector<VertexId> open;  // the statements since the last one that is in a group
  auto group = groups.begin();
  for (VertexId v = 0; v < graph.size(); ++v) {
    while (group != groups.end() && group->last < v) ++group;
    if (graph[v].is_input()) continue;
    if (group != groups.end() && group->contains(v)) {
      open.clear();
      continue;
    }
    const auto terms = static_cast<std::ptrdiff_t>(
        std::min(graph[v].op.adds ? graph[v].operands.size() : 0, open.size()));
    open.push_back(v);
    for (std::ptrdiff_t n = terms; n > 0; --n) {
      StepGroup sum{open.end()[-n - 1], v};
      sum.accumulates = true;
      if (!step_fault(graph, placement, sum, last_reader).empty()) continue;
      found.push_back(std::move(sum));
      open.clear();
      break;
    }
  }
  if (found.empty()) return;
  groups.insert(groups.end(), found.begin(), found.end());
  std::ranges::sort(groups, {}, &StepGroup::first);
}

/// The statement of that name. \param what  is given for it, as `steps`.
/// \throws Error if there is none.
[[nodiscard]] inline VertexId statement_by_hand(const EinGraph& graph, const Text& name,
                                                const char* what,
                                                const std::source_location& where) {
  const VertexId v = graph.find(name);
  if (v < 0 || graph[v].is_input()) {
    core::fail(ErrorKind::plan, where, what, " are given for '", name, "' (",
               (v < 0 ? "there is no such statement" : "it is an input, not a statement"),
               "); name the first and the last statement of the group");
  }
  return v;
}

/// A group as the user describes it, of steps or of tiles. \throws Error as choose_steps.
template <class Given>
[[nodiscard]] StepGroup group_by_hand(const EinGraph& graph, const Given& given,
                                      const std::source_location& where) {
  constexpr bool tiles = std::is_same_v<Given, StatementTiles>;
  const char* const what = tiles ? "tiles" : "steps";
  StepGroup group{statement_by_hand(graph, given.first, what, where),
                  statement_by_hand(graph, given.last, what, where)};
  const Vertex& first = graph[group.first];
  const std::vector<VertexId> statements = statements_of(graph, group);
  const auto add = [&](const Text& label, Extent parts, Extent size) {
    const int position = label_position(graph, first, label);
    if (position < 0) {
      core::fail(ErrorKind::plan, where, what, " are given along label '", label,
                 "' of statement '", first.name,
                 "' (the statement has no such label); its labels are ", label_names(graph, first));
    }
    StepAxis axis = relation::axis_through(graph, statements, position);
    axis.parts = parts;
    axis.size = size;
    for (std::size_t s = 0; s < statements.size(); ++s) {
      if (axis.positions[s] >= 0) continue;
      core::fail(ErrorKind::plan, where, "statement '", graph[statements[s]].name,
                 "' cannot run in ", what, " along label '", label, "' of '", first.name,
                 "' (within the group nothing is passed on between them along it); end the group "
                 "before it");
    }
    group.axes.push_back(std::move(axis));
  };
  if constexpr (tiles) {
    for (const LabelSize& cut : given.sizes) add(cut.label, 1, cut.size);
  } else {
    for (const LabelParts& cut : given.parts) add(cut.label, cut.parts, 0);
  }
  return group;
}

/// Whether the steps and tiles given by hand, if any, are possible under a placement.
/// \throws Error if they name what is not there.
[[nodiscard]] inline bool can_run_in_given_steps(const EinGraph& graph, const Placement& placement,
                                                 const DecomposeOptions& options,
                                                 const std::source_location& where) {
  if (options.steps.empty() && options.tiles.empty()) return true;
  const std::vector<VertexId> last_reader = relation::last_readers(graph);
  const auto possible = [&](const auto& given) {
    return step_fault(graph, placement, group_by_hand(graph, given, where), last_reader).empty();
  };
  return std::ranges::all_of(options.steps, possible) &&
         std::ranges::all_of(options.tiles, possible);
}

/// Cuts the blocks of groups on into tiles: those given by hand; if there are none, those that stay
/// in a thread's own caches. Statements outside all groups that are given tiles become a group of
/// one block. \throws Error as choose_steps.
[[nodiscard]] inline std::vector<StepGroup> with_tiles(std::vector<StepGroup> groups,
                                                       const EinGraph& graph,
                                                       const Placement& placement,
                                                       const DecomposeOptions& options,
                                                       const std::source_location& where) {
  const auto in_order = [](const StepGroup& a, const StepGroup& b) { return a.first < b.first; };
  if (options.tiles.empty()) {
    const std::vector<VertexId> last_reader = relation::last_readers(graph);
    for (StepGroup& group : groups) {
      if (is_streamed(graph, group)) continue;
      group.tiles = TileChooser(graph, placement, group, last_reader).choose();
    }
  }
  for (const StatementTiles& given : options.tiles) {
    StepGroup tiles = group_by_hand(graph, given, where);
    auto group = std::ranges::find_if(
        groups, [&](const StepGroup& any) { return any.contains(tiles.first); });
    if (group == groups.end()) group = groups.insert(group, {tiles.first, tiles.last});
    group->tiles.push_back(std::move(tiles));
    std::ranges::sort(group->tiles, in_order);
  }
  std::ranges::sort(groups, in_order);
  if (!options.tiles.empty()) check_step_groups(graph, placement, groups, where);
  return groups;
}

}  // namespace plan

/// The groups of a placed program's statements that run in steps: those given by hand; if there are
/// none, those for which steps save traffic of main memory, and those statements that are faster
/// streamed on the machine. And their tiles, likewise.
///
/// \throws Error if a group given by hand names what is not there, or cannot run in steps
///   (step_fault).
[[nodiscard]] inline std::vector<StepGroup> choose_steps(
    const EinGraph& graph, const Placement& placement, const DecomposeOptions& options,
    const std::source_location& where = std::source_location::current()) {
  std::vector<StepGroup> groups;
  for (const StatementSteps& given : options.steps) {
    groups.push_back(plan::group_by_hand(graph, given, where));
    plan::set_stripes(graph, graph.reader_counts(), placement, groups.back());
  }
  std::ranges::sort(groups, {}, &StepGroup::first);
  check_step_groups(graph, placement, groups, where);  // before their blocks are cut into tiles
  const bool chooses = groups.empty() && options.cache_bytes > 0;
  if (chooses) {
    groups =
        plan::StepChooser(graph, placement, options.cache_bytes, plan::StepAim::speed).choose();
  }
  groups = plan::with_tiles(std::move(groups), graph, placement, options, where);
  if (chooses) {
    plan::PanelChooser(graph, placement, options).add_to(groups, 0);
    plan::add_accumulations(graph, placement, groups);
  }
  return groups;
}

}  // namespace eindecomp
