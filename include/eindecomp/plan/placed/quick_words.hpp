// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The words that every rank receives, tensor by tensor, without a walk: for searches that evaluate
/// thousands of placements. A test holds them equal to those of the task graph.
///
/// What a rank receives of a tensor does not depend on the order of the statements. It is the union
/// of the boxes that its workers' calls of all readers need, less the boxes they store; and of a
/// result, the accumulators that it combines in the rounds of a reduction, and those that come to
/// be stored from a group of calls it is not in. So the words of a program are a sum over tensors,
/// and a change of one statement's calls touches its own tensors only.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/placed/axis_cuts.hpp"
#include "eindecomp/plan/tuning.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/relay_rounds.hpp"

namespace eindecomp::plan {

/// A sum over the receivers' words.
struct WordSum {
  Extent busiest = 0;
  Extent total = 0;

  constexpr bool operator==(const WordSum&) const = default;
  /// The better of two placements has fewer words on the busiest receiver; then fewer in all.
  constexpr auto operator<=>(const WordSum&) const = default;
};

[[nodiscard]] inline WordSum sum_of(std::span<const Extent> words) {
  WordSum sum;
  for (Extent w : words) {
    sum.busiest = std::max(sum.busiest, w);
    sum.total += w;
  }
  return sum;
}

/// The regions of one tensor that decide which words of it move.
struct TensorRegions {
  std::span<const Extent> bound;        ///< the tensor's extents
  CutRegion store;                      ///< where it is stored
  std::span<const CutRegion> needs;     ///< what the calls of its readers take
  const CutRegion* produced = nullptr;  ///< what the calls of its statement compute; null: an input
  std::uint32_t aggregated = 0;  ///< axes along which the calls differ that compute one block
};

/// Counts words in closed form where parts nest and are of one size, by inclusion and exclusion
/// over what the readers need.
class AlignedWords {
 public:
  explicit AlignedWords(const WorkerCoordinates& workers) : m_workers(workers) {}

  /// Whether at every depth all regions cut a dimension by axes of one size, evenly: then two boxes
  /// meet if their coordinates agree depth by depth, in a box of the finer one's size.
  [[nodiscard]] bool apply(const TensorRegions& t) const {
    if (t.needs.size() > tuning::max_aligned_needs) return false;
    for (std::size_t k = 0; k < t.bound.size(); ++k) {
      std::array<Extent, max_mesh_axes> size{};  // at each depth
      std::size_t depths = 0;
      Extent parts = 1;
      const auto agrees = [&](const CutRegion& region) {
        for (std::size_t j = 0; j < region.length[k]; ++j) {
          const Extent own = m_workers.size(region.axis[k][j]);
          if (j == depths) {
            size[depths++] = own;
            parts *= own;
          } else if (size[j] != own) {
            return false;
          }
        }
        return true;
      };
      if (!agrees(t.store) || (t.produced != nullptr && !agrees(*t.produced)) ||
          !std::all_of(t.needs.begin(), t.needs.end(), agrees) || t.bound[k] % parts != 0) {
        return false;
      }
    }
    return true;
  }

  /// The words of a tensor for which apply() holds. Returns whether all workers receive the same;
  /// then only words[0] is written.
  bool count(const TensorRegions& t, std::vector<Extent>& words) {
    m_terms.clear();
    m_everywhere = 0;
    std::array<const CutRegion*, tuning::max_aligned_needs + 1> chosen{};
    for (std::uint32_t set = 1; set < std::uint32_t{1} << t.needs.size(); ++set) {
      std::size_t n = 0;
      for (std::size_t i = 0; i < t.needs.size(); ++i) {
        if ((set >> i & 1U) != 0) chosen[n++] = &t.needs[i];
      }
      const Extent sign = n % 2 == 1 ? 1 : -1;
      add_term(t.bound, {chosen.data(), n}, sign);
      chosen[n++] = &t.store;
      add_term(t.bound, {chosen.data(), n}, -sign);
    }
    if (t.produced != nullptr) {
      chosen = {t.produced, &t.store};
      add_term(t.bound, {chosen.data() + 1, 1}, 1);
      add_term(t.bound, {chosen.data(), 2}, -1);
      add_reduction(t);
    }
    std::erase_if(m_terms, [](const Term& term) { return term.words == 0; });
    words[0] = m_everywhere;
    if (m_terms.empty()) return true;
    std::fill(words.begin(), words.end(), words[0]);
    for (const Term& term : m_terms) add_where(term, words);
    return false;
  }

  /// Terms of the last count.
  [[nodiscard]] std::size_t terms() const { return m_terms.size(); }

 private:
  /// A number of words for the workers whose coordinates are equal along axes of one class, and 0
  /// along some.
  struct Term {
    Extent words = 0;
    std::array<std::uint8_t, max_mesh_axes> like{};  ///< an earlier axis of the class, or itself
    std::uint32_t zero = 0;
  };

  /// Adds the accumulators that a worker receives as one of a group. Along every axis of the group
  /// it receives, from each of the others, what is stored where the coordinates along that axis and
  /// the faster ones are its own.
  void add_reduction(const TensorRegions& t) {
    if (t.aggregated == 0) return;
    const std::array<const CutRegion*, 2> regions{t.produced, &t.store};
    if (is_spread_over_group(t)) {  // the terms of all axes add up
      Extent members = 1;
      for (std::size_t a = 0; a < m_workers.axes(); ++a) {
        if ((t.aggregated >> a & 1U) != 0) members *= m_workers.size(a);
      }
      add_term(t.bound, regions, members - 1, t.aggregated);
      return;
    }
    std::uint32_t fixed = 0;
    for (std::size_t a = m_workers.axes(); a-- > 0;) {
      if ((t.aggregated >> a & 1U) == 0) continue;
      fixed |= std::uint32_t{1} << a;
      add_term(t.bound, regions, m_workers.size(a) - 1, fixed);
    }
  }
  /// Whether all axes of a group cut what is stored, each where no axis cuts what the group
  /// computes.
  [[nodiscard]] static bool is_spread_over_group(const TensorRegions& t) {
    std::uint32_t left = t.aggregated;
    for (std::size_t k = 0; k < t.bound.size(); ++k) {
      for (std::size_t j = t.produced->length[k]; j < t.store.length[k]; ++j) {
        left &= ~(std::uint32_t{1} << t.store.axis[k][j]);
      }
    }
    return left == 0;
  }

  /// Adds the elements that all of the regions share on a worker.
  /// \param axes_of_second  by which the second region is cut: along others it is everywhere.
  void add_term(std::span<const Extent> bound, std::span<const CutRegion* const> regions,
                Extent factor, std::uint32_t axes_of_second = ~std::uint32_t{0}) {
    Term term{factor};
    for (std::size_t a = 0; a < m_workers.axes(); ++a) term.like[a] = static_cast<std::uint8_t>(a);
    const auto root = [&](std::uint8_t a) {
      while (term.like[a] != a) a = term.like[a];
      return a;
    };
    for (std::size_t r = 0; r < regions.size(); ++r) {
      term.zero |= regions[r]->idle & (r == 1 ? axes_of_second : ~std::uint32_t{0});
    }
    for (std::size_t k = 0; k < bound.size(); ++k) {
      Extent length = bound[k];
      for (std::size_t j = 0;; ++j) {
        int first = -1;
        bool deeper = false;
        for (std::size_t r = 0; r < regions.size(); ++r) {
          if (regions[r]->length[k] <= j) continue;
          deeper = true;
          const std::uint8_t axis = regions[r]->axis[k][j];
          if (r == 1 && (axes_of_second >> axis & 1U) == 0) continue;
          const std::uint8_t a = root(axis);
          if (first < 0) {
            first = a;
            length /= m_workers.size(a);
          } else if (a != first) {
            const int low = std::min<int>(a, first);
            term.like[to_index(std::max<int>(a, first))] = static_cast<std::uint8_t>(low);
            first = low;
          }
        }
        if (!deeper) break;
      }
      term.words *= length;
    }
    bool everywhere = term.zero == 0;
    const auto axes = static_cast<std::uint8_t>(m_workers.axes());
    for (std::uint8_t a = 0; a < axes; ++a) {
      term.like[a] = root(a);
      everywhere = everywhere && term.like[a] == a;
    }
    if (everywhere) {
      m_everywhere += term.words;
      return;
    }
    const auto known = std::find_if(m_terms.begin(), m_terms.end(), [&](const Term& other) {
      return other.like == term.like && other.zero == term.zero;
    });
    if (known == m_terms.end()) {
      m_terms.push_back(term);
    } else {
      known->words += term.words;
    }
  }

  void add_where(const Term& term, std::vector<Extent>& words) {
    m_differs.assign(words.size(), 0);  // 0 where the term holds
    for (std::size_t a = 0; a < m_workers.axes(); ++a) {
      const std::span<const int> own = m_workers.along(a);
      if ((term.zero >> a & 1U) != 0) {
        for (std::size_t w = 0; w < words.size(); ++w) m_differs[w] |= own[w];
      }
      if (term.like[a] != a) {
        const std::span<const int> other = m_workers.along(term.like[a]);
        for (std::size_t w = 0; w < words.size(); ++w) m_differs[w] |= own[w] ^ other[w];
      }
    }
    for (std::size_t w = 0; w < words.size(); ++w) words[w] += m_differs[w] == 0 ? term.words : 0;
  }

  const WorkerCoordinates& m_workers;

  // Kept between uses to spare allocations.
  std::vector<Term> m_terms;
  std::vector<int> m_differs;
  Extent m_everywhere = 0;
};

/// A box of few dimensions that needs no allocation. Entries past its dimensions are 0.
struct Bounds {
  std::array<Extent, max_rank> lo{};
  std::array<Extent, max_rank> hi{};

  constexpr auto operator<=>(const Bounds&) const = default;
};

/// The box that each worker has of a tensor cut by the axes of a mesh.
class RegionBoxes {
 public:
  RegionBoxes(const WorkerCoordinates& workers, std::span<const Extent> bound,
              const CutRegion& region)
      : m_workers(&workers), m_region(region), m_begin(bound.size()) {
    for (std::size_t k = 0; k < bound.size(); ++k) {
      Extent parts = 1;
      for (std::size_t j = 0; j < region.length[k]; ++j) parts *= workers.size(region.axis[k][j]);
      for (Extent i = 0; i <= parts; ++i) m_begin[k].push_back(part_begin(bound[k], parts, i));
    }
  }
  /// Whether the worker has a box.
  [[nodiscard]] bool get(std::size_t worker, Bounds& box) const {
    const auto coordinate = [&](std::size_t axis) {
      return to_index(m_workers->along(axis)[worker]);
    };
    for (std::uint32_t left = m_region.idle; left != 0; left &= left - 1) {
      if (coordinate(to_index(std::countr_zero(left))) != 0) return false;
    }
    for (std::size_t k = 0; k < m_begin.size(); ++k) {
      std::size_t part = 0;
      for (std::size_t j = 0; j < m_region.length[k]; ++j) {
        const std::size_t axis = m_region.axis[k][j];
        part = part * to_index(m_workers->size(axis)) + coordinate(axis);
      }
      box.lo[k] = m_begin[k][part];
      box.hi[k] = m_begin[k][part + 1];
    }
    return true;
  }

  /// A dimension's parts that meet lo <= index < hi, as sums of the indices in them, by the last of
  /// some axes along which the worker that has the part differs from another: sums[0] if along
  /// none, sums[a + 1] if along axis a.
  void sum_differing(std::size_t k, Extent lo, Extent hi, std::size_t worker, std::uint32_t axes,
                     std::array<Extent, max_mesh_axes + 1>& sums) const {
    sums.fill(0);
    const std::vector<Extent>& begin = m_begin[k];
    auto part = to_index(std::upper_bound(begin.begin(), begin.end(), lo) - begin.begin() - 1);
    for (; part + 1 < begin.size() && begin[part] < hi; ++part) {
      std::size_t last = 0;
      std::size_t digits = part;
      for (std::size_t j = m_region.length[k]; j-- > 0;) {
        const std::size_t axis = m_region.axis[k][j];
        const std::size_t size = to_index(m_workers->size(axis));
        const bool differs = digits % size != to_index(m_workers->along(axis)[worker]);
        if (differs && (axes >> axis & 1U) != 0) last = std::max(last, axis + 1);
        digits /= size;
      }
      sums[last] += std::min(hi, begin[part + 1]) - std::max(lo, begin[part]);
    }
  }
  /// One more than the last of some axes that cut nothing and along which a worker's coordinate is
  /// not 0, where the tensor lies; 0 if there is none.
  [[nodiscard]] std::size_t last_idle(std::size_t worker, std::uint32_t axes) const {
    std::size_t last = 0;
    for (std::uint32_t left = m_region.idle & axes; left != 0; left &= left - 1) {
      const std::size_t axis = to_index(std::countr_zero(left));
      if (m_workers->along(axis)[worker] != 0) last = axis + 1;
    }
    return last;
  }

 private:
  const WorkerCoordinates* m_workers;
  CutRegion m_region;
  std::vector<std::vector<Extent>> m_begin;  ///< per dimension: the first index of every part
};

/// Counts words box by box, whatever the parts. What one worker of a rank has, the rank's other
/// workers need not receive.
class BoxedWords {
 public:
  /// \param ranks  that share the workers, at most as many as there are workers
  BoxedWords(const WorkerCoordinates& workers, int ranks) : m_workers(workers), m_ranks(ranks) {}

  /// The words that each rank receives on account of one tensor.
  /// \param words [out]  per rank; all are written
  /// \returns the boxes that were compared, a measure of the effort
  std::int64_t count(const TensorRegions& t, std::vector<Extent>& words) {
    m_rank = t.bound.size();
    m_compared = 0;
    const bool few = !shared() && t.needs.size() <= 2;
    const bool known = !few && has_unions_of(t);
    const RegionBoxes stored(m_workers, t.bound, t.store);
    std::vector<RegionBoxes> needs;
    if (!known) {
      for (const CutRegion& need : t.needs) needs.emplace_back(m_workers, t.bound, need);
    }
    std::vector<RegionBoxes> produced;
    if (t.produced != nullptr) produced.emplace_back(m_workers, t.bound, *t.produced);
    for (int r = 0; r < m_ranks; ++r) {
      Extent& received = words[to_index(r)];
      if (few) {
        received = few_boxes(t, stored, needs, produced, to_index(r));
        continue;
      }
      list_boxes(stored, r, m_held);
      received = 0;
      for (const Bounds& needed : known ? known_union(r) : make_union(needs, r)) {
        received += volume(needed);
        for (const Bounds& held : m_held) received -= overlap(needed, held);
        m_compared += static_cast<std::int64_t>(m_held.size());
      }
      if (t.produced == nullptr || shared()) continue;
      // Every call of a group is on a rank of its own.
      list_boxes(produced.front(), r, m_boxes);
      for (const Bounds& held : m_held) {
        received += volume(held);
        for (const Bounds& own : m_boxes) received -= overlap(own, held);
      }
      if (!m_boxes.empty()) received += reduced(t, stored, m_boxes.front(), to_index(r));
    }
    if (t.produced != nullptr && shared()) add_reductions(t, stored, produced.front(), words);
    return m_compared;
  }

 private:
  [[nodiscard]] Extent volume(const Bounds& box) const {
    Extent n = 1;
    for (std::size_t k = 0; k < m_rank; ++k) n *= box.hi[k] - box.lo[k];
    return n;
  }
  /// The elements that two boxes share.
  [[nodiscard]] Extent overlap(const Bounds& a, const Bounds& b) const {
    Extent n = 1;
    for (std::size_t k = 0; k < m_rank; ++k) {
      n *= std::max<Extent>(std::min(a.hi[k], b.hi[k]) - std::max(a.lo[k], b.lo[k]), 0);
    }
    return n;
  }

  [[nodiscard]] Bounds intersection(const Bounds& a, const Bounds& b) const {
    Bounds both;
    for (std::size_t k = 0; k < m_rank; ++k) {
      both.lo[k] = std::max(a.lo[k], b.lo[k]);
      both.hi[k] = std::min(a.hi[k], b.hi[k]);
    }
    return both;
  }
  [[nodiscard]] bool shared() const { return m_ranks < static_cast<int>(m_workers.workers()); }

  /// The words of a worker that is a rank by itself and has at most two needs, by far the most
  /// frequent case: by inclusion and exclusion, without lists.
  [[nodiscard]] Extent few_boxes(const TensorRegions& t, const RegionBoxes& stored,
                                 const std::vector<RegionBoxes>& needs,
                                 const std::vector<RegionBoxes>& produced, std::size_t worker) {
    const bool holds = stored.get(worker, m_few[0]);
    const Bounds& held = m_few[0];
    Extent words = 0;
    std::size_t known = 0;
    for (const RegionBoxes& need : needs) {
      Bounds& box = m_few[1 + known];
      if (!need.get(worker, box)) continue;
      words += volume(box) - (holds ? overlap(box, held) : 0);
      ++known;
    }
    if (known == 2) {
      words -= overlap(m_few[1], m_few[2]);
      if (holds) words += overlap(intersection(m_few[1], m_few[2]), held);
    }
    if (t.produced != nullptr) {
      const bool computes = produced.front().get(worker, m_few[1]);
      if (holds) words += volume(held);
      if (holds && computes) words -= overlap(m_few[1], held);
      if (computes) words += reduced(t, stored, m_few[1], worker);
    }
    return words;
  }

  /// The accumulators that a worker receives as one of a group that computes a block: along every
  /// axis of the group, from each of the others, what is stored where the coordinates along that
  /// axis and the faster ones are its own.
  [[nodiscard]] Extent reduced(const TensorRegions& t, const RegionBoxes& stored,
                               const Bounds& block, std::size_t worker) {
    if (t.aggregated == 0) return 0;
    m_shares.fill(1);
    std::array<Extent, max_mesh_axes + 1> sums{};
    for (std::size_t k = 0; k < m_rank; ++k) {
      stored.sum_differing(k, block.lo[k], block.hi[k], worker, t.aggregated, sums);
      Extent agreeing = 0;
      for (std::size_t a = 0; a < m_workers.axes(); ++a) {
        agreeing += sums[a];
        m_shares[a] *= agreeing;
      }
    }
    Extent words = 0;
    for (std::size_t a = stored.last_idle(worker, t.aggregated); a < m_workers.axes(); ++a) {
      if ((t.aggregated >> a & 1U) != 0) words += (m_workers.size(a) - 1) * m_shares[a];
    }
    return words;
  }

  /// The disjoint boxes that the workers of a rank have of a region. Boxes that touch are merged
  /// where they make a box together.
  void list_boxes(const RegionBoxes& region, int rank, std::vector<Bounds>& boxes) const {
    boxes.clear();
    Bounds box;
    if (!shared()) {
      if (region.get(static_cast<std::size_t>(rank), box)) boxes.push_back(box);
      return;
    }
    const WorkerRange hosted = workers_of(rank, static_cast<int>(m_workers.workers()), m_ranks);
    for (int w = hosted.first; w < hosted.last; ++w) {
      if (region.get(to_index(w), box)) boxes.push_back(box);
    }
    if (boxes.size() < 2) return;
    std::sort(boxes.begin(), boxes.end());
    boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
    for (std::size_t k = 0; k < m_rank && boxes.size() > 1; ++k) merge_along(k, boxes);
  }

  /// Merges boxes that differ in dimension k only and touch there.
  static void merge_along(std::size_t k, std::vector<Bounds>& boxes) {
    const auto place = [k](Bounds box) {  // across k, then along it
      const Extent along = std::exchange(box.lo[k], 0);
      box.hi[k] = 0;
      return std::pair(box, along);
    };
    std::ranges::sort(boxes, {}, place);
    std::size_t last = 0;
    for (std::size_t i = 1; i < boxes.size(); ++i) {
      if (boxes[i].lo[k] == boxes[last].hi[k] &&
          place(boxes[i]).first == place(boxes[last]).first) {
        boxes[last].hi[k] = boxes[i].hi[k];
      } else {
        boxes[++last] = boxes[i];
      }
    }
    boxes.resize(last + 1);
  }

  // --- What the calls of a rank need of a tensor, as disjoint boxes: whatever way it is stored. A
  // --- search tries many ways for one set of calls, so that of the last count is kept.

  /// Whether the unions are known, of the same needs of a like tensor; else forgets them.
  [[nodiscard]] bool has_unions_of(const TensorRegions& t) {
    const bool keep = m_ranks <= tuning::max_receivers_kept;
    if (keep && m_union_ends.size() == to_index(m_ranks) &&
        std::ranges::equal(m_union_bound, t.bound) && std::ranges::equal(m_union_needs, t.needs)) {
      return true;
    }
    m_unions.clear();
    m_union_ends.clear();
    m_union_bound.assign(t.bound.begin(), t.bound.end());
    m_union_needs.assign(t.needs.begin(), t.needs.end());
    return false;
  }
  [[nodiscard]] std::span<const Bounds> known_union(int rank) const {
    const std::size_t begin = rank > 0 ? m_union_ends[to_index(rank) - 1] : 0;
    return std::span(m_unions).subspan(begin, m_union_ends[to_index(rank)] - begin);
  }
  /// Of the next rank.
  [[nodiscard]] std::span<const Bounds> make_union(const std::vector<RegionBoxes>& needs,
                                                   int rank) {
    if (m_ranks > tuning::max_receivers_kept) m_unions.clear();
    const std::size_t begin = m_unions.size();
    m_known.clear();
    for (const RegionBoxes& need : needs) {
      list_boxes(need, rank, m_boxes);
      const std::size_t before = m_known.size();  // boxes of one need are disjoint
      for (const Bounds& box : m_boxes) {
        add_new_pieces(box, std::span(m_known).first(before));
        m_known.push_back(box);
      }
    }
    m_union_ends.push_back(m_unions.size());
    return std::span(m_unions).subspan(begin);
  }

  /// Appends to m_unions what a box has that is in none of the others.
  void add_new_pieces(const Bounds& box, std::span<const Bounds> others) {
    m_compared += static_cast<std::int64_t>(others.size());
    if (std::ranges::any_of(others, [&](const Bounds& other) { return contains(other, box); })) {
      return;
    }
    m_pieces.assign(1, box);
    for (const Bounds& other : others) {
      if (overlap(box, other) == 0) continue;
      m_compared += static_cast<std::int64_t>(m_pieces.size());
      m_rest.clear();
      for (const Bounds& piece : m_pieces) subtract(piece, other);
      m_pieces.swap(m_rest);
    }
    m_unions.insert(m_unions.end(), m_pieces.begin(), m_pieces.end());
  }
  [[nodiscard]] bool contains(const Bounds& outer, const Bounds& inner) const {
    for (std::size_t k = 0; k < m_rank; ++k) {
      if (inner.lo[k] < outer.lo[k] || outer.hi[k] < inner.hi[k]) return false;
    }
    return true;
  }

  /// Appends to m_rest what `hole` leaves of a box.
  void subtract(Bounds box, const Bounds& hole) {
    if (overlap(box, hole) == 0) {
      m_rest.push_back(box);
      return;
    }
    for (std::size_t k = 0; k < m_rank; ++k) {
      if (box.lo[k] < hole.lo[k]) {
        m_rest.push_back(box);
        m_rest.back().hi[k] = hole.lo[k];
        box.lo[k] = hole.lo[k];
      }
      if (hole.hi[k] < box.hi[k]) {
        m_rest.push_back(box);
        m_rest.back().lo[k] = hole.hi[k];
        box.hi[k] = hole.hi[k];
      }
    }
  }

  /// A worker with calls for a block of a result.
  struct Caller {
    Bounds block;
    int rank = 0;
    int worker = 0;
  };
  /// Lists the first worker of every rank with calls for a block, block by block.
  void list_callers(const RegionBoxes& produced) {
    m_callers.clear();
    const auto workers = static_cast<int>(m_workers.workers());
    Bounds box;
    for (int w = 0; w < workers; ++w) {
      if (produced.get(to_index(w), box)) {
        m_callers.push_back({box, host(w), w});
      }
    }
    const auto key = [](const Caller& caller) { return std::tie(caller.block, caller.rank); };
    std::stable_sort(m_callers.begin(), m_callers.end(),
                     [&](const Caller& a, const Caller& b) { return key(a) < key(b); });
    const auto same = [&](const Caller& a, const Caller& b) { return key(a) == key(b); };
    m_callers.erase(std::unique(m_callers.begin(), m_callers.end(), same), m_callers.end());
  }

  /// Adds the accumulators that ranks with several workers receive: as relation::Walk has it, for
  /// the calls of one rank add to one accumulator, and groups may be of any size.
  void add_reductions(const TensorRegions& t, const RegionBoxes& stored,
                      const RegionBoxes& produced, std::vector<Extent>& words) {
    list_callers(produced);
    for (std::size_t i = 0; i < m_callers.size();) {
      std::size_t end = i;
      while (end < m_callers.size() && m_callers[end].block == m_callers[i].block) ++end;
      add_reduction(t, stored, std::span(m_callers).subspan(i, end - i), words);
      i = end;
    }
  }
  /// \param members  the group that computes a block
  void add_reduction(const TensorRegions& t, const RegionBoxes& stored,
                     std::span<const Caller> members, std::vector<Extent>& words) {
    const relation::RelayRounds relay(static_cast<int>(members.size()));
    const auto place_of = [&](int rank) {
      return to_index(std::ranges::lower_bound(members, rank, {}, &Caller::rank) - members.begin());
    };
    Bounds box;
    for (std::size_t w = 0; w < m_workers.workers(); ++w) {
      ++m_compared;
      if (!stored.get(w, box)) continue;
      const Extent both = overlap(members.front().block, box);
      if (both == 0) continue;
      const int owner = host(static_cast<int>(w));
      std::size_t exit = place_of(owner);
      if (exit == members.size() || members[exit].rank != owner) {
        exit = place_of(host(beside(members.front().worker, w, t.aggregated)));
        words[to_index(owner)] += both;
      }
      for (std::size_t m = 0; m < members.size(); ++m) {
        relay.for_each_sender(static_cast<int>(exit), static_cast<int>(m),
                              [&](int, int) { words[to_index(members[m].rank)] += both; });
      }
      m_compared += std::ssize(members);
    }
  }
  /// The worker with another's coordinates along some axes, and those of `worker` along the rest.
  [[nodiscard]] int beside(int worker, std::size_t other, std::uint32_t axes) const {
    const std::vector<int> strides = axis_strides(m_workers.mesh());
    int found = worker;
    for (std::uint32_t left = axes; left != 0; left &= left - 1) {
      const std::size_t axis = to_index(std::countr_zero(left));
      const std::span<const int> at = m_workers.along(axis);
      found += (at[other] - at[to_index(worker)]) * strides[axis];
    }
    return found;
  }
  [[nodiscard]] int host(int worker) const {
    return rank_of(worker, static_cast<int>(m_workers.workers()), m_ranks);
  }

  const WorkerCoordinates& m_workers;
  int m_ranks;
  std::size_t m_rank = 0;  ///< of the tensor
  std::int64_t m_compared = 0;

  // Kept between uses to spare allocations.
  std::array<Bounds, 3> m_few;
  std::vector<Bounds> m_held, m_boxes, m_known, m_pieces, m_rest;
  std::vector<Caller> m_callers;
  std::array<Extent, max_mesh_axes> m_shares{};  ///< of a block, by the first axis that is fixed

  std::vector<Bounds> m_unions;           ///< of the ranks, one after another
  std::vector<std::size_t> m_union_ends;  ///< where each ends
  std::vector<Extent> m_union_bound;      ///< of what tensor
  std::vector<CutRegion> m_union_needs;   ///< and which needs
};

/// Counts the words of one tensor after another on one mesh.
class WordCounter {
 public:
  /// \param mesh   of at most max_mesh_axes axes
  /// \param ranks  that share the workers; 0, or more than those: each worker has its own
  explicit WordCounter(const Mesh& mesh, int ranks = 0)
      : m_workers(mesh),
        m_ranks(ranks > 0 ? std::min(ranks, mesh.workers()) : mesh.workers()),
        m_aligned(m_workers),
        m_boxed(m_workers, m_ranks) {}
  WordCounter(const WordCounter&) = delete;
  WordCounter& operator=(const WordCounter&) = delete;

  [[nodiscard]] const Mesh& mesh() const { return m_workers.mesh(); }
  [[nodiscard]] std::size_t workers() const { return m_workers.workers(); }
  /// Whom words are counted for: the ranks that host workers.
  [[nodiscard]] std::size_t receivers() const { return to_index(m_ranks); }
  /// Whether some ranks host several workers.
  [[nodiscard]] bool shared() const { return receivers() < workers(); }
  [[nodiscard]] std::uint32_t all_axes() const {
    return (std::uint32_t{1} << mesh().axes.size()) - 1;
  }

  /// The region of a tensor whose dimensions carry these labels of a statement with these calls.
  [[nodiscard]] CutRegion region(const AxisCuts& calls, std::span<const int> labels) const {
    CutRegion region;
    region.idle = all_axes() & ~calls.used();
    for (std::size_t i = 0; i < calls.size; ++i) {
      for (std::size_t k = 0; k < labels.size(); ++k) {
        if (labels[k] == calls.entry[i]) region.cut(k, calls.axis[i]);
      }
    }
    return region;
  }

  /// The calls that compute parts of one block of a statement's result.
  [[nodiscard]] Extent contributions(const Vertex& statement, const AxisCuts& calls) const {
    Extent n = 1;
    for (int l : statement.aggregated) n *= calls.parts(mesh(), to_index(l));
    return n;
  }

  /// The words that each receiver gets on account of one tensor.
  ///
  /// \param stored       the axes that cut it where it is stored
  /// \param needs        what the calls of its readers take
  /// \param calls        of the statement that computes it; of an input they do not matter
  /// \param words [out]  per receiver; sized by the function
  /// \returns whether all receive the same; then only words[0] is written, see spread()
  bool count(const Vertex& tensor, const AxisCuts& stored, std::span<const CutRegion> needs,
             const AxisCuts& calls, std::vector<Extent>& words) {
    words.resize(receivers());
    if (receivers() == 1) {
      words[0] = 0;
      return true;
    }
    m_needs.clear();
    for (const CutRegion& need : needs) {
      if (std::find(m_needs.begin(), m_needs.end(), need) == m_needs.end()) m_needs.push_back(need);
    }
    TensorRegions regions{tensor.bound, {}, m_needs};
    regions.store.idle = all_axes() & ~stored.used();
    for (std::size_t i = 0; i < stored.size; ++i) {
      regions.store.cut(stored.entry[i], stored.axis[i]);
    }
    CutRegion produced;
    if (!tensor.is_input()) {
      produced = region(calls, tensor.output);
      regions.produced = &produced;
      for (std::size_t i = 0; i < calls.size; ++i) {
        const auto& labels = tensor.aggregated;
        if (std::find(labels.begin(), labels.end(), calls.entry[i]) != labels.end()) {
          regions.aggregated |= std::uint32_t{1} << calls.axis[i];
        }
      }
    }
    if (shared()) {
      m_spent += 10 + m_boxed.count(regions, words) +
                 2 * static_cast<std::int64_t>(workers() * (needs.size() + 2));
      return false;
    }
    const auto each = static_cast<std::int64_t>(words.size());
    const auto distinct = static_cast<std::int64_t>(m_needs.size() + 2);
    if (m_aligned.apply(regions)) {
      const bool same = m_aligned.count(regions, words);
      m_spent += 10 * distinct + static_cast<std::int64_t>(m_aligned.terms()) * each / 4;
      return same;
    }
    m_boxed.count(regions, words);
    m_spent += each * distinct * static_cast<std::int64_t>(tensor.bound.size() + 1) / 2;
    return false;
  }

  /// The effort of all counts so far, in units of some tens of nanoseconds: the same on every
  /// machine, so that a search that ends by it finds the same everywhere.
  [[nodiscard]] std::int64_t spent() const { return m_spent; }

  /// Writes down for every receiver what count() wrote for the first.
  static void spread(std::vector<Extent>& words) {
    std::fill(words.begin(), words.end(), words[0]);
  }

 private:
  WorkerCoordinates m_workers;
  int m_ranks;
  AlignedWords m_aligned;
  BoxedWords m_boxed;
  std::vector<CutRegion> m_needs;  ///< kept between uses to spare allocations
  std::int64_t m_spent = 0;
};

/// The words that each rank of a placed program receives: those of
/// make_task_graph(graph, placement, ranks).received, in a small part of its time.
/// \param placement  suits the graph; its mesh has at most max_mesh_axes axes
[[nodiscard]] inline std::vector<Extent> quick_words(const EinGraph& graph,
                                                     const Placement& placement, int ranks) {
  WordCounter counter(placement.mesh, ranks);
  std::vector<AxisCuts> calls;
  std::vector<std::vector<CutRegion>> needs(graph.vertices.size());
  for (std::size_t i = 0; i < graph.vertices.size(); ++i) {
    calls.push_back(cuts_of(placement.calls[i]));
    for (const Operand& o : graph.vertices[i].operands) {
      needs[to_index(o.vertex)].push_back(counter.region(calls[i], o.labels));
    }
  }
  std::vector<Extent> received(to_index(ranks), 0);
  std::vector<Extent> words;
  for (std::size_t i = 0; i < graph.vertices.size(); ++i) {
    const AxisCuts stored = cuts_of(placement.stored[i]);
    if (counter.count(graph.vertices[i], stored, needs[i], calls[i], words)) {
      WordCounter::spread(words);
    }
    for (std::size_t w = 0; w < words.size(); ++w) received[w] += words[w];
  }
  return received;
}

}  // namespace eindecomp::plan
