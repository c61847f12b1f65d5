// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The strategy `k_cut`: SoyBean's tilings, one cut after another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/k_cut/search.hpp"
#include "eindecomp/plan/k_cut/tiles.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"

namespace eindecomp {

/// Settings of k_cuts() and one_cut().
struct KCutOptions {
  /// Results that take an input's place: the pair has one tiling.
  std::vector<InPlace> in_place = {};
  /// The search's budget: one-cuts solved times statements of the program. More than one solution
  /// per cut lets the search choose, among equally good cuts, the one after which later cuts are
  /// best. Every cut is solved once whatever the budget.
  std::size_t budget = 4096;
  /// The entries of one table of a one-cut; if more were needed, the cut may not be optimal.
  std::size_t max_states = std::size_t{1} << 20;
};

/// Cuts in the order in which they are made: the first divides all workers, on the slowest link.
struct KCutResult {
  std::vector<Cut> cuts;  ///< of the tiles that the cuts before have left
  bool optimal = true;    ///< every cut moves the fewest words that a cut of its tiles can

  /// c_k: the words of all cuts. Each cut is made in every group that the cuts before it have made;
  /// for halves this is Σ 2^{k−i} δ_i with δ_k the first.
  [[nodiscard]] constexpr Extent words() const {
    Extent sum = 0;
    for (std::size_t n = cuts.size(); n-- > 0;) {
      sum = plan::add_words(cuts[n].words, plan::multiply_words(cuts[n].parts, sum));
    }
    return sum;
  }
};

/// The cut of a program's tiles among `parts` groups (SoyBean has 2) that converts the fewest words
/// (SoyBean, section 4.2), by variable elimination.
[[nodiscard]] constexpr Cut one_cut(const EinGraph& graph, const Tiles& tiles,
                                    const KCutOptions& options = {}, int parts = 2) {
  return plan::OneCutSearch(graph, tiles, parts, options.in_place, options.max_states)
      .cuts(1)
      .front();
}

namespace plan {

/// Chooses one cut after another; among equally good cuts the one after which later cuts convert
/// least.
/// \param parts    the groups into which each cut divides a group.
/// \param allowed  how many one-cuts may be solved; at least one per cut are.
[[nodiscard]] constexpr KCutResult search_cuts(const EinGraph& graph, const KCutOptions& options,
                                               const Tiles& tiles, std::span<const int> parts,
                                               std::size_t allowed) {
  KCutResult best;
  if (parts.empty()) return best;
  OneCutSearch search(graph, tiles, parts.front(), options.in_place, options.max_states);
  const std::span<const int> rest = parts.subspan(1);
  const std::size_t left = allowed > 0 ? allowed - 1 : 0;
  const std::size_t tries = rest.empty() ? 1 : std::max<std::size_t>(1, left / rest.size());
  const std::vector<Cut> found = search.cuts(tries);
  for (const Cut& cut : found) {
    KCutResult later =
        search_cuts(graph, options, cut_tiles(tiles, cut), rest, left / found.size());
    later.cuts.insert(later.cuts.begin(), cut);
    later.optimal = later.optimal && cut.words == search.lower_bound();
    if (best.cuts.empty() || later.words() < best.words()) best = std::move(later);
    // Later cuts convert nothing: no other cut is better.
    if (best.words() == best.cuts.front().words) break;
  }
  return best;
}

}  // namespace plan

/// Cuts a program among groups of workers, these among smaller groups, and so on, each cut at the
/// least cost (SoyBean, section 4.3). A cut only divides extents that it divides evenly, and no
/// labels that are kept whole. \param parts  the groups into which each cut divides a group, the
/// first cut first. \throws Error if one of them is less than two.
[[nodiscard]] constexpr KCutResult k_cuts(
    const EinGraph& graph, std::span<const int> parts, const KCutOptions& options = {},
    const std::source_location& where = std::source_location::current()) {
  for (int groups : parts) {
    if (groups >= 2) continue;
    core::fail(ErrorKind::plan, where, "a program is to be cut among ", groups,
               " groups (a cut makes several); give two or more");
  }
  const std::size_t solves = options.budget / (statements_of(graph).size() + 1);
  return plan::search_cuts(graph, options, whole_tiles(graph), parts,
                           std::max<std::size_t>(1, solves));
}

/// SoyBean's k cuts in half, for 2^k workers. \throws Error if k is negative.
[[nodiscard]] constexpr KCutResult k_cuts(
    const EinGraph& graph, int k, const KCutOptions& options = {},
    const std::source_location& where = std::source_location::current()) {
  if (k < 0) {
    core::fail(ErrorKind::plan, where, "a program is to be cut ", k,
               " times (2^k workers are at least one); give k >= 0");
  }
  return k_cuts(graph, std::vector<int>(to_index(k), 2), options, where);
}

namespace plan {

/// The mesh of some cuts: cut n is axis n.
[[nodiscard]] constexpr Mesh mesh_of(std::span<const Cut> cuts) {
  Mesh mesh;
  for (const Cut& cut : cuts) mesh.axes.push_back(cut.parts);
  return mesh;
}

/// Gives a statement's labels the axes for these parts and leaves as many axes as possible where
/// they are. \param parts  products of mesh axes.
[[nodiscard]] constexpr AxisLists share_out(const Mesh& mesh, const AxisLists& before,
                                            PartitionVector parts) {
  AxisLists lists(parts.size());
  std::vector<int> moved;
  const auto take = [&](std::size_t label, int axis) {
    const int factor = mesh.axes[to_index(axis)];
    if (parts[label] % factor != 0) return false;
    parts[label] /= factor;
    lists[label].push_back(axis);
    return true;
  };
  for (int axis = 0; axis < static_cast<int>(mesh.axes.size()); ++axis) {
    bool stays = false;
    for (std::size_t l = 0; l < lists.size() && !stays; ++l) {
      stays = std::ranges::find(before[l], axis) != before[l].end() && take(l, axis);
    }
    if (!stays) moved.push_back(axis);
  }
  for (int axis : moved) {
    for (std::size_t l = 0; l < lists.size() && !take(l, axis);) ++l;
  }
  for (std::vector<int>& list : lists) std::ranges::sort(list);
  return lists;
}

}  // namespace plan

/// For each label of each statement the cuts that divide it, outermost first, as axes of the mesh
/// of the cuts' workers. If a cut leaves a statement undivided although parts of different sizes
/// are possible, it divides the label that costs least under the paper's model, because no strategy
/// leaves workers idle that could work.
[[nodiscard]] constexpr std::vector<AxisLists> axes_of_cuts(const EinGraph& graph,
                                                            std::span<const Cut> cuts) {
  const Mesh mesh = plan::mesh_of(cuts);
  std::vector<AxisLists> calls(graph.vertices.size());
  Partitions partitions(graph.vertices.size());
  for (VertexId v : statements_of(graph)) {
    const auto at = to_index(v);
    PartitionVector& d = partitions[at];
    d.assign(graph[v].labels.size(), 1);
    calls[at].resize(d.size());
    std::vector<std::size_t> idle;
    const auto divide = [&](std::size_t label, std::size_t cut) {
      d[label] *= cuts[cut].parts;
      calls[at][label].push_back(static_cast<int>(cut));
    };
    for (std::size_t n = 0; n < cuts.size(); ++n) {
      const int label = cuts[n].labels[at];
      if (label == undivided) {
        idle.push_back(n);
      } else {
        divide(to_index(label), n);
      }
    }
    const std::vector<Extent> limits = part_limits(graph, v);
    for (std::size_t cut : idle) {
      const int parts = cuts[cut].parts;
      std::size_t best = d.size();
      Extent min_cost = unaffordable;
      for (std::size_t l = 0; l < d.size(); ++l) {
        if (parts * d[l] > limits[l]) continue;
        d[l] *= parts;
        const Extent cost = statement_cost(graph, v, partitions).total();
        d[l] /= parts;
        if (best < d.size() && cost >= min_cost) continue;
        best = l;
        min_cost = cost;
      }
      if (best < d.size()) divide(best, cut);
    }
    PartitionVector full = with_max_calls(d, limits, mesh.workers(), &graph[v]);
    if (full == d) continue;
    calls[at] = plan::share_out(mesh, calls[at], full);
    d = std::move(full);
  }
  return calls;
}

/// The partition vectors that result from some cuts in any order (SoyBean's flattening).
[[nodiscard]] constexpr Partitions flatten(const EinGraph& graph, std::span<const Cut> cuts) {
  const Mesh mesh = plan::mesh_of(cuts);
  Partitions partitions;
  for (const AxisLists& lists : axes_of_cuts(graph, cuts)) {
    partitions.push_back(parts_of(mesh, lists));
  }
  return partitions;
}

/// Where calls and tensors lie after some cuts: cut n is axis n of the mesh, the first one the
/// slowest link. Every tensor is stored once, as place() stores it: results as their calls leave
/// them, inputs as given, else as their first reader wants them.
/// \throws Error if a layout does not suit its input.
[[nodiscard]] constexpr Placement place_cuts(
    const EinGraph& graph, std::span<const Cut> cuts, const PlaceOptions& options = {},
    const std::source_location& where = std::source_location::current()) {
  const Mesh mesh = plan::mesh_of(cuts);
  Placement placement = place(graph, flatten(graph, cuts), mesh, options, where);
  placement.calls = axes_of_cuts(graph, cuts);
  Flags decided(graph.vertices.size(), false);
  for (const InputLayout& given : options.inputs) {
    decided[to_index(given.input)] = true;
  }
  for (VertexId v = 0; v < graph.size(); ++v) {
    if (!graph[v].is_input()) relation::store_around(graph, v, placement, decided);
  }
  return placement;
}

/// The strategy `k_cut` for p workers: one cut per prime factor of p, the axes of make_mesh(p).
/// \throws Error if p is not positive.
[[nodiscard]] constexpr Partitions k_cut(
    const EinGraph& graph, int p, const KCutOptions& options = {},
    const std::source_location& where = std::source_location::current()) {
  return flatten(graph, k_cuts(graph, make_mesh(p, where).axes, options, where).cuts);
}

/// What one step of training a network of fully connected layers moves by SoyBean's closed form
/// (section 2.2), in the unit that its sizes are given in: words or bytes.
struct ClosedForm {
  std::int64_t data = 0;    ///< data parallelism on all workers
  std::int64_t model = 0;   ///< model parallelism on all workers
  std::int64_t hybrid = 0;  ///< data parallelism among the groups, model parallelism within
};

/// SoyBean's closed form for data, model and hybrid parallelism.
/// \param parameters   size of all weights
/// \param activations  size of all layers' activations for the whole batch
/// \param groups       divides workers
/// \throws Error if a number is not positive or groups does not divide workers.
[[nodiscard]] constexpr ClosedForm soybean_closed_form(
    std::int64_t parameters, std::int64_t activations, int workers, int groups,
    const std::source_location& where = std::source_location::current()) {
  if (parameters < 1 || activations < 1 || workers < 1 || groups < 1 || workers % groups != 0) {
    core::fail(ErrorKind::plan, where, "the closed form for ", workers, " workers in ", groups,
               " groups, with parameters of ", parameters, " and activations of ", activations,
               " (all are positive, and groups of one size share the workers); give groups that "
               "divide the workers");
  }
  using plan::add_words;
  using plan::multiply_words;
  // Gradients are collected and new parameters sent back, or activations and their gradients.
  return {multiply_words(parameters, 2 * static_cast<std::int64_t>(workers)),
          multiply_words(activations, 2 * static_cast<std::int64_t>(workers)),
          // Every group has its share of the batch: groups · (activations/groups) · size · 2.
          add_words(multiply_words(parameters, 2 * static_cast<std::int64_t>(groups)),
                    multiply_words(activations, 2 * static_cast<std::int64_t>(workers / groups)))};
}

}  // namespace eindecomp
