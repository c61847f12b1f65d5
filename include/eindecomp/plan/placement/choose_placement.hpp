// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which of many placements is best: by words, by predicted time or by the paper's cost, among
/// those that fit into memory.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/in_turn_seconds.hpp"
#include "eindecomp/plan/machine.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/placed/fold.hpp"
#include "eindecomp/plan/placed/quick_words.hpp"
#include "eindecomp/plan/placed/words_by_layout.hpp"
#include "eindecomp/plan/placement/choose_steps.hpp"
#include "eindecomp/plan/placement/outside_words.hpp"
#include "eindecomp/plan/placement/placer.hpp"
#include "eindecomp/plan/tuning.hpp"
#include "eindecomp/plan/words.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/make_profile.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/program_profile.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/step_rules.hpp"

namespace eindecomp::plan {

/// What placements are compared by, in this order; less is better. Figures that are not asked for
/// are 0.
struct Score {
  std::int64_t excess = 0;  ///< bytes above the limit, on the rank that holds most
  /// The same summed over all ranks and steps: of two placements that exceed the limit by as much,
  /// the one that does so less often is nearer to one that fits.
  double overflow = 0;
  double seconds = 0;
  Extent cost = 0;
  WordSum words;

  auto operator<=>(const Score&) const = default;
};

/// The partition vectors that a placement makes, one per vertex.
[[nodiscard]] inline Partitions partitions_of(const Placement& placement) {
  Partitions partitions;
  for (const AxisLists& calls : placement.calls) {
    partitions.push_back(parts_of(placement.mesh, calls));
  }
  return partitions;
}

/// Steps of a placed program, and what its ranks then hold.
struct SteppedProgram {
  std::vector<StepGroup> steps;
  relation::ProgramMemory memory;
};

/// What is to be known of what ranks hold.
enum class Excess : std::uint8_t {
  exact,    ///< of all ranks
  bounded,  ///< where all would take long, what the first and the last rank tell
};

/// What the ranks of placed programs hold and move.
class MemoryProbe {
 public:
  /// \param with_phases  as Profiler's
  MemoryProbe(const EinGraph& graph, const DecomposeOptions& options, bool with_phases = false)
      : m_graph(graph),
        m_limit(memory_limit(options)),
        m_ranks(ranks_of(options)),
        m_all(graph, m_ranks, facts(options, with_phases), with_phases),
        m_first(graph, m_ranks, {0, 1}, facts(options)),
        m_last(graph, m_ranks, {m_ranks - 1, m_ranks}, facts(options)) {}

  /// The bytes that they hold in these steps; of those that are not looked at 0.
  [[nodiscard]] relation::ProgramMemory held(const Placement& placement,
                                             const std::vector<StepGroup>& steps, Excess excess) {
    const bool long_programs =
        m_ranks > tuning::max_profiled_ranks ||
        std::ranges::any_of(steps, [&](const auto& group) { return is_streamed(m_graph, group); });
    if (excess == Excess::exact || !long_programs || m_ranks == 1) {
      return all(placement, steps).memory(m_limit);
    }
    relation::ProgramMemory found = m_first.profile(placement, steps).memory(m_limit);
    const relation::ProgramMemory last = m_last.profile(placement, steps).memory(m_limit);
    if (last.peak.bytes > found.peak.bytes) found.peak = last.peak;
    found.overflow = (found.overflow + last.overflow) / 2 * m_ranks;
    return found;
  }
  /// The profile of all ranks.
  [[nodiscard]] relation::ProgramProfile all(const Placement& placement,
                                             const std::vector<StepGroup>& steps) {
    return m_all.profile(placement, steps);
  }
  /// As Profiler's.
  [[nodiscard]] double spent() const { return m_all.spent() + m_first.spent() + m_last.spent(); }

 private:
  /// Calls are interrupted for messages where they are told of.
  [[nodiscard]] static SpaceFacts facts(const DecomposeOptions& options, bool with_phases = false) {
    const SpaceFacts facts{.threads = options.threads};
    return with_phases ? facts : facts.uninterrupted();
  }

  const EinGraph& m_graph;
  std::int64_t m_limit;
  int m_ranks;
  relation::Profiler m_all;
  relation::Profiler m_first;
  relation::Profiler m_last;
};

/// Runs a placed program in steps that keep it within a limit of memory: in those that
/// choose_steps() takes, if they do; else in the coarsest steps for memory's sake that do; else in
/// those with the lowest peak.
/// \throws Error if steps given by hand are not possible.
[[nodiscard]] inline SteppedProgram step_within(const EinGraph& graph, const Placement& placement,
                                                const DecomposeOptions& options, MemoryProbe& probe,
                                                Excess excess, const std::source_location& where) {
  const std::int64_t limit = memory_limit(options);
  const auto stepped = [&](std::vector<StepGroup> steps) {
    SteppedProgram made{std::move(steps), {}};
    made.memory = probe.held(placement, made.steps, excess);
    return made;
  };
  SteppedProgram best = stepped(choose_steps(graph, placement, options, where));
  if (!options.steps.empty() || options.cache_bytes <= 0) return best;  // the user has decided
  std::vector<StepGroup> before = best.steps;
  for (std::int64_t divisor : tuning::memory_divisors) {
    const std::int64_t passed = limit / divisor;
    if (best.memory.peak.bytes <= limit || passed == 0) break;
    std::vector<StepGroup> steps =
        with_tiles(StepChooser(graph, placement, passed, StepAim::memory).choose(), graph,
                   placement, options, where);
    PanelChooser(graph, placement, options).add_to(steps, passed);
    add_accumulations(graph, placement, steps);
    if (steps == before) continue;
    before = steps;
    SteppedProgram other = stepped(std::move(steps));
    if (other.memory.peak.bytes < best.memory.peak.bytes) best = std::move(other);
  }
  return best;
}

/// As step_within of all ranks, which are looked at where the first and the last do not exceed the
/// limit. Where one of the two does in all steps that are tried, the peak is that rank's.
/// \throws Error if steps given by hand are not possible.
[[nodiscard]] inline SteppedProgram step_all_within(const EinGraph& graph,
                                                    const Placement& placement,
                                                    const DecomposeOptions& options,
                                                    MemoryProbe& probe,
                                                    const std::source_location& where) {
  const std::int64_t limit = memory_limit(options);
  SteppedProgram made = step_within(graph, placement, options, probe, Excess::bounded, where);
  if (made.memory.peak.bytes > limit) return made;
  made.memory = probe.held(placement, made.steps, Excess::exact);
  if (made.memory.peak.bytes <= limit) return made;
  return step_within(graph, placement, options, probe, Excess::exact, where);
}

/// Chooses the best of the placements that it is asked to consider and of those that it finds
/// itself.
class PlacementChooser {
 public:
  PlacementChooser(const EinGraph& graph, const DecomposeOptions& options,
                   const PlaceOptions& layouts, Excess excess, const std::source_location& where)
      : m_graph(graph),
        m_options(options),
        m_excess(excess),
        m_where(where),
        m_mesh(make_mesh(options.workers, ranks_of(options), where)),
        m_placer(graph, m_mesh, layouts, where),
        m_ranks(ranks_of(options)),
        m_limit(memory_limit(options)),
        m_probe(graph, options, options.objective == Objective::time),
        m_words(graph, m_ranks),
        m_layouts(graph, m_words, m_ranks),
        m_outside(graph, options, where) {
    if (options.objective == Objective::time) check_machine_for(options.machine, m_ranks, where);
  }

  /// Whether more counts than the words of the statements, or what has been considered cannot run
  /// in the steps that are given.
  [[nodiscard]] bool beyond_words() const {
    return m_limit > 0 || m_options.objective != Objective::words || m_outside.any() ||
           m_score.excess > 0;
  }

  /// Keeps the placement if it is better than all before. If it is for all workers (placed() may
  /// have left some idle), search() also starts from it.
  void consider(const Placement& placement) {
    const bool for_all = placement.mesh == m_mesh;
    Partitions partitions = partitions_of(placement);
    const Score score = keep_better(placement);
    if (!for_all) return;
    const auto after = std::upper_bound(m_starts.begin(), m_starts.end(), score,
                                        [](const Score& x, const Start& s) { return x < s.score; });
    m_starts.insert(after, {score, std::move(partitions)});
  }
  void consider(const Partitions& partitions) { consider(m_placer.place(partitions)); }

  /// Evaluates all labelings of a small program. Of others it descends from the best so far: it
  /// changes the vector of one statement, and of those that are cut like it, while that improves
  /// the score.
  void search() {
    for (std::vector<VertexId>& members : fold(m_graph)) {
      VectorList vectors = partition_vectors(m_graph, members.front(), m_options.workers);
      m_classes.push_back({std::move(members), std::move(vectors)});
    }
    m_spent = 0;
    if (enumerate()) return;
    const auto known =
        std::unique(m_starts.begin(), m_starts.end(),
                    [](const Start& a, const Start& b) { return a.partitions == b.partitions; });
    m_starts.erase(known, m_starts.end());
    const std::size_t starts = std::min(m_starts.size(), tuning::max_labeling_starts);
    const double effort = m_options.effort.programs;
    for (std::size_t i = 0; i < starts; ++i) {
      descend(m_starts[i], m_spent + (effort - m_spent) / static_cast<double>(starts - i));
    }
  }

  /// Chooses the steps in which the best placement keeps all ranks within the limit of memory.
  /// \returns false if it does not, though no more than a bound was asked for and it does.
  [[nodiscard]] bool choose_best_steps() {
    if (m_limit == 0 || m_score.excess > 0) return true;  // nothing to keep, or no way to keep it
    SteppedProgram made = step_all_within(m_graph, *m_best, m_options, m_probe, m_where);
    if (made.memory.peak.bytes > m_limit) return m_excess == Excess::exact;
    m_steps = std::move(made.steps);
    return true;
  }

  /// See Plan::words_for_memory.
  [[nodiscard]] WordSum words_for_memory() const {
    if (m_limit == 0 || m_options.objective != Objective::words || m_score.excess > 0) return {};
    return {m_score.words.busiest - m_fewest.busiest, m_score.words.total - m_fewest.total};
  }
  [[nodiscard]] Placement take() { return std::move(*m_best); }
  /// Of choose_best_steps(); empty if it has not chosen any.
  [[nodiscard]] std::vector<StepGroup> take_steps() { return std::move(m_steps); }

 private:
  /// The excess of a placement that cannot run in the steps that are given.
  static constexpr std::int64_t cannot_run = std::numeric_limits<std::int64_t>::max();

  /// Where a search begins.
  struct Start {
    Score score;
    Partitions partitions;
  };
  /// Statements that are cut alike, and their partition vectors.
  struct Class {
    std::vector<VertexId> members;
    VectorList vectors;
  };

  Score keep_better(const Placement& placement) { return *keep_below(placement, nullptr); }

  /// Keeps the placement if it is better than all before.
  /// \returns its score; nothing if that is found to be no better than `limit` before it is known.
  std::optional<Score> keep_below(const Placement& placement, const Score* limit) {
    if (!m_outside.any()) return keep(placement, sum_of(m_words.count(placement)));
    m_spent += static_cast<double>(m_graph.size()) * m_ranks;
    const bool by_words = limit != nullptr && *limit == Score{.words = limit->words};
    const std::optional<OutsideWords::Settled> settled =
        m_outside.settle_below(placement, m_words, m_layouts, by_words ? &limit->words : nullptr);
    if (!settled) return std::nullopt;
    return keep(settled->placement, sum_of(settled->words));
  }
  /// \param words  in all
  Score keep(const Placement& placement, const WordSum& words) {
    const Score score = evaluate(placement, words);
    if (score.excess != cannot_run) m_fewest = std::min(m_fewest, words);
    if (!m_best || score < m_score) {
      m_score = score;
      m_best = placement;
    }
    return score;
  }

  /// \param words  in all
  [[nodiscard]] Score evaluate(const Placement& placement, const WordSum& words) {
    Score score{.words = words};
    if (m_options.objective == Objective::paper) {
      score.cost = graph_cost(m_graph, partitions_of(placement)).total();
    }
    if (!can_run_in_given_steps(m_graph, placement, m_options, m_where)) {
      score.excess = cannot_run;
      return score;
    }
    const bool timed = m_options.objective == Objective::time;
    if (m_limit == 0 && !timed) return score;
    m_spent += static_cast<double>(m_graph.size());
    // What remains to be found out can only make it worse.
    if (timed) score.seconds = least_seconds(sum_of(m_words.count(placement)).busiest);
    if (m_best && !(score < m_score)) return score;
    const double before = m_probe.spent();
    if (timed) score.seconds = in_turn_seconds(m_probe.all(placement, {}), m_options.machine);
    if (m_limit > 0) add_excess(score, placement);
    m_spent += m_probe.spent() - before;
    return score;
  }

  /// The least time in which a rank receives so many words within statements.
  [[nodiscard]] double least_seconds(Extent words) const {
    double bandwidth = 1;
    for (const MachineAxis& link : m_options.machine.axes) {
      bandwidth = std::max(bandwidth, link.bandwidth);
    }
    std::int64_t bytes = std::numeric_limits<int>::max();
    for (const Vertex& v : m_graph.vertices) {
      bytes = std::min<std::int64_t>(bytes, v.element.bytes);
      if (!v.is_input()) bytes = std::min<std::int64_t>(bytes, v.partial.bytes);
    }
    // Rounding may make what is added up in turn less by a hair.
    return static_cast<double>(words) * static_cast<double>(bytes) / bandwidth * (1 - 1e-9);
  }

  /// By how much ranks exceed the limit of memory.
  void add_excess(Score& score, const Placement& placement) {
    // Steps change neither what moves nor what is computed, they only save memory. They are tried
    // where memory is short, because they make long programs.
    if (m_probe.held(placement, {}, m_excess).peak.bytes <= m_limit) return;
    const relation::ProgramMemory memory =
        step_within(m_graph, placement, m_options, m_probe, m_excess, m_where).memory;
    score.excess = std::max<std::int64_t>(memory.peak.bytes - m_limit, 0);
    if (score.excess > 0) score.overflow = memory.overflow;
  }

  /// Gives the statements of a class their i-th vector.
  static void cut(Partitions& partitions, const Class& c, std::size_t i) {
    for (VertexId v : c.members) {
      partitions[to_index(v)].assign(c.vectors[i].begin(), c.vectors[i].end());
    }
  }

  /// Evaluates all labelings. \returns false, and evaluates none, if there are too many.
  bool enumerate() {
    double labelings = 1;
    for (const Class& c : m_classes) {
      if (c.members.size() > 1) return false;  // like statements may be cut differently
      labelings *= static_cast<double>(c.vectors.size());
    }
    const double items = tuning::items_per_statement * m_graph.size() * m_ranks;
    if (labelings * items > m_options.effort.programs) return false;
    Partitions partitions(m_graph.vertices.size());
    for (const Class& c : m_classes) cut(partitions, c, 0);
    std::vector<std::size_t> chosen(m_classes.size(), 0);
    const bool by_words = m_limit > 0 && m_options.objective == Objective::words;
    std::vector<std::pair<WordSum, Placement>> all;
    for (std::size_t n = 0; n < chosen.size();) {
      const Placement& placement = m_placer.place(partitions);
      if (by_words) {
        all.emplace_back(sum_of(m_words.count(placement)), placement);
      } else {
        keep_better(placement);
      }
      for (n = 0; n < chosen.size(); ++n) {
        chosen[n] = (chosen[n] + 1) % m_classes[n].vectors.size();
        cut(partitions, m_classes[n], chosen[n]);
        if (chosen[n] != 0) break;
      }
    }
    // Of the first that fits none that comes later is better, whatever it holds.
    std::ranges::stable_sort(all, {}, [](const auto& one) { return one.first; });
    for (const auto& [words, placement] : all) keep_better(placement);
    return true;
  }

  /// \param limit  what m_spent may grow to
  void descend(Start at, double limit) {
    std::size_t unchanged = 0;
    for (std::size_t n = 0; unchanged < m_classes.size(); n = (n + 1) % m_classes.size()) {
      Partitions partitions = at.partitions;
      ++unchanged;
      for (std::size_t i = 0; i < m_classes[n].vectors.size(); ++i) {
        if (m_spent > limit) return;
        cut(partitions, m_classes[n], i);
        if (partitions == at.partitions) continue;
        const std::optional<Score> score = keep_below(m_placer.place(partitions), &at.score);
        if (!score || !(*score < at.score)) continue;
        at = {*score, partitions};
        unchanged = 0;
      }
    }
  }

  const EinGraph& m_graph;
  const DecomposeOptions& m_options;
  Excess m_excess;
  std::source_location m_where;
  Mesh m_mesh;
  Placer m_placer;
  int m_ranks;
  std::int64_t m_limit;
  MemoryProbe m_probe;
  ProgramWords m_words;
  WordsByLayout m_layouts;
  OutsideWords m_outside;
  std::optional<Placement> m_best;
  std::vector<StepGroup> m_steps;
  Score m_score;
  WordSum m_fewest{unaffordable, unaffordable};  ///< of what can run, however much it holds
  std::vector<Start> m_starts;                   ///< the best first
  std::vector<Class> m_classes;
  double m_spent = 0;  ///< see SearchEffort::programs
};

}  // namespace eindecomp::plan
