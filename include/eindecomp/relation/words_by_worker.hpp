// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The words that every worker receives, tensor by tensor, without a walk: for searches that weigh
/// thousands of placements.
///
/// With one rank per worker, what a worker receives of a tensor does not depend on the order of the
/// statements: it is the union of the boxes that its calls of all readers need, less the box it
/// stores; and of a result, the accumulators of its stored box from every call of its group that is
/// not its own. So the words of a program are a sum over tensors, and a change of one statement's
/// calls touches its own tensors only.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"

namespace eindecomp {
namespace detail {

/// The most axes of a mesh whose words are counted so: every p up to 2^16 has no more prime
/// factors.
inline constexpr std::size_t max_mesh_axes = 16;

/// The box of a tensor that each worker stores, needs or computes: per dimension the axes that cut
/// it, outermost first. On the idle axes only coordinate 0 has a box. An axis may cut two
/// dimensions (a diagonal).
struct CutRegion {
  std::array<std::uint8_t, max_rank> length{};
  std::array<std::array<std::uint8_t, max_mesh_axes>, max_rank> axis{};
  std::uint32_t idle = 0;

  constexpr bool operator==(const CutRegion&) const = default;

  constexpr void cut(std::size_t dimension, int by) {
    axis[dimension][length[dimension]++] = static_cast<std::uint8_t>(by);
  }
};

/// A sum over the workers' words.
struct WordSum {
  Extent busiest = 0;
  Extent total = 0;

  constexpr bool operator==(const WordSum&) const = default;
  /// The better of two placements has fewer words on the busiest worker; then fewer in all.
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

/// Counts the words of one tensor after another on one mesh.
class WordCounter {
 public:
  /// The mesh has at most max_mesh_axes axes.
  explicit WordCounter(const Mesh& mesh)
      : m_mesh(mesh),
        m_axes(mesh.axes.size()),
        m_workers(static_cast<std::size_t>(mesh.workers())),
        m_all((std::uint32_t{1} << mesh.axes.size()) - 1),
        m_digits(m_axes * m_workers) {
    const std::vector<int> strides = axis_strides(mesh);
    for (std::size_t a = 0; a < m_axes; ++a) {
      for (std::size_t w = 0; w < m_workers; ++w) {
        m_digits[a * m_workers + w] = static_cast<int>(w) / strides[a] % mesh.axes[a];
      }
    }
  }

  [[nodiscard]] const Mesh& mesh() const { return m_mesh; }
  [[nodiscard]] std::size_t workers() const { return m_workers; }

  /// The region of a stored tensor.
  [[nodiscard]] CutRegion stored(const AxisLists& lists) const {
    CutRegion region;
    region.idle = m_all & ~used(lists);
    for (std::size_t k = 0; k < lists.size(); ++k) {
      for (int axis : lists[k]) region.cut(k, axis);
    }
    return region;
  }

  /// The region of a tensor whose dimensions carry these labels of a statement with these calls.
  [[nodiscard]] CutRegion projected(const AxisLists& calls, std::span<const int> positions) const {
    CutRegion region;
    region.idle = m_all & ~used(calls);
    for (std::size_t k = 0; k < positions.size(); ++k) {
      for (int axis : calls[static_cast<std::size_t>(positions[k])]) region.cut(k, axis);
    }
    return region;
  }

  /// The words that each worker receives on account of one tensor.
  ///
  /// \param bound          the tensor's extents
  /// \param store          where it is stored
  /// \param needs          what the calls of its readers take
  /// \param produced       what the calls of its own statement compute; null for an input
  /// \param contributions  the calls that compute parts of one block: the product of the parts of
  ///   the aggregated labels
  /// \param words [out]    per worker; sized by the function
  /// \returns whether all workers receive the same; then only words[0] is written, see spread()
  bool count(std::span<const Extent> bound, const CutRegion& store,
             std::span<const CutRegion> needs, const CutRegion* produced, Extent contributions,
             std::vector<Extent>& words) {
    words.resize(m_workers);
    m_needs.clear();
    for (const CutRegion& need : needs) {
      if (std::find(m_needs.begin(), m_needs.end(), need) == m_needs.end()) m_needs.push_back(need);
    }
    const auto workers = static_cast<std::int64_t>(m_workers);
    const auto regions = static_cast<std::int64_t>(m_needs.size() + 2);
    if (aligned(bound, store, produced)) {
      const bool same = count_aligned(bound, store, produced, contributions, words);
      m_spent += 10 * regions + static_cast<std::int64_t>(m_terms.size()) * workers / 4;
      return same;
    }
    count_boxes(bound, store, produced, contributions, words);
    m_spent += workers * regions * static_cast<std::int64_t>(bound.size() + 1) / 2;
    return false;
  }

  /// The effort of all counts so far, in units of some tens of nanoseconds: the same on every
  /// machine, so that a search that ends by it finds the same everywhere.
  [[nodiscard]] std::int64_t spent() const { return m_spent; }

  /// Writes down for every worker what count() wrote for the first.
  static void spread(std::vector<Extent>& words) {
    std::fill(words.begin(), words.end(), words[0]);
  }

 private:
  /// A number of words for the workers whose coordinates are equal along axes of one class, and 0
  /// along some.
  struct Term {
    Extent words = 0;
    std::array<std::uint8_t, max_mesh_axes> like{};  ///< an earlier axis of the class, or itself
    std::uint32_t zero = 0;
    bool operator==(const Term&) const = default;
  };
  static constexpr std::size_t most_aligned = 4;  // readers: terms grow as 2 to their number

  [[nodiscard]] static std::uint32_t used(const AxisLists& lists) {
    std::uint32_t axes = 0;
    for (const std::vector<int>& list : lists) {
      for (int axis : list) axes |= std::uint32_t{1} << axis;
    }
    return axes;
  }

  [[nodiscard]] Extent size(std::size_t axis) const { return m_mesh.axes[axis]; }

  // --- Parts that nest and are of one size ---

  /// Whether at every depth all regions cut a dimension by axes of one size, evenly: then two boxes
  /// meet if their coordinates agree depth by depth, in a box of the finer one's size.
  bool aligned(std::span<const Extent> bound, const CutRegion& store, const CutRegion* produced) {
    if (m_needs.size() > most_aligned) return false;
    for (std::size_t k = 0; k < bound.size(); ++k) {
      const CutRegion* longest = &store;
      for (const CutRegion& need : m_needs) {
        if (need.length[k] > longest->length[k]) longest = &need;
      }
      if (produced != nullptr && produced->length[k] > longest->length[k]) longest = produced;
      const auto agrees = [&](const CutRegion& region) {
        for (std::size_t j = 0; j < region.length[k]; ++j) {
          if (size(region.axis[k][j]) != size(longest->axis[k][j])) return false;
        }
        return true;
      };
      Extent parts = 1;
      for (std::size_t j = 0; j < longest->length[k]; ++j) parts *= size(longest->axis[k][j]);
      if (bound[k] % parts != 0 || !agrees(store)) return false;
      if (produced != nullptr && !agrees(*produced)) return false;
      if (!std::all_of(m_needs.begin(), m_needs.end(), agrees)) return false;
    }
    return true;
  }

  bool count_aligned(std::span<const Extent> bound, const CutRegion& store,
                     const CutRegion* produced, Extent contributions, std::vector<Extent>& words) {
    m_terms.clear();
    m_everywhere = 0;
    std::array<const CutRegion*, most_aligned + 1> chosen{};
    for (std::uint32_t set = 1; set < std::uint32_t{1} << m_needs.size(); ++set) {
      std::size_t n = 0;
      for (std::size_t i = 0; i < m_needs.size(); ++i) {
        if ((set >> i & 1U) != 0) chosen[n++] = &m_needs[i];
      }
      const Extent sign = n % 2 == 1 ? 1 : -1;
      add_term(bound, {chosen.data(), n}, sign);
      chosen[n++] = &store;
      add_term(bound, {chosen.data(), n}, -sign);
    }
    if (produced != nullptr) {
      chosen[0] = &store;
      chosen[1] = produced;
      add_term(bound, {chosen.data(), 1}, contributions);
      add_term(bound, {chosen.data(), 2}, -1);
    }
    std::erase_if(m_terms, [](const Term& term) { return term.words == 0; });
    words[0] = m_everywhere;
    if (m_terms.empty()) return true;
    spread(words);
    for (const Term& term : m_terms) add_where(term, words);
    return false;
  }

  /// Adds the elements that all of the regions share on a worker.
  void add_term(std::span<const Extent> bound, std::span<const CutRegion* const> regions,
                Extent factor) {
    Term term;
    for (std::size_t a = 0; a < m_axes; ++a) term.like[a] = static_cast<std::uint8_t>(a);
    const auto root = [&](std::uint8_t a) {
      while (term.like[a] != a) a = term.like[a];
      return a;
    };
    term.words = factor;
    for (const CutRegion* region : regions) term.zero |= region->idle;
    for (std::size_t k = 0; k < bound.size(); ++k) {
      Extent length = bound[k];
      for (std::size_t j = 0;; ++j) {
        int first = -1;
        for (const CutRegion* region : regions) {
          if (region->length[k] <= j) continue;
          const std::uint8_t a = root(region->axis[k][j]);
          if (first < 0) {
            first = a;
            length /= size(a);
          } else if (a != first) {
            const int low = std::min<int>(a, first);
            const int high = std::max<int>(a, first);
            term.like[static_cast<std::size_t>(high)] = static_cast<std::uint8_t>(low);
            first = low;
          }
        }
        if (first < 0) break;
      }
      term.words *= length;
    }
    bool trivial = term.zero == 0;
    for (std::uint8_t a = 0; a < m_axes; ++a) {
      term.like[a] = root(a);
      trivial = trivial && term.like[a] == a;
    }
    if (trivial) {
      m_everywhere += term.words;
      return;
    }
    for (Term& known : m_terms) {
      if (known.like != term.like || known.zero != term.zero) continue;
      known.words += term.words;
      return;
    }
    m_terms.push_back(term);
  }

  void add_where(const Term& term, std::vector<Extent>& words) {
    m_differs.assign(m_workers, 0);  // 0 where the term holds
    for (std::size_t a = 0; a < m_axes; ++a) {
      const int* digit = m_digits.data() + a * m_workers;
      if ((term.zero >> a & 1U) != 0) {
        for (std::size_t w = 0; w < m_workers; ++w) m_differs[w] |= digit[w];
      }
      if (term.like[a] != a) {
        const int* other = m_digits.data() + term.like[a] * m_workers;
        for (std::size_t w = 0; w < m_workers; ++w) m_differs[w] |= digit[w] ^ other[w];
      }
    }
    for (std::size_t w = 0; w < m_workers; ++w) words[w] += m_differs[w] == 0 ? term.words : 0;
  }

  // --- Any parts ---

  struct Bounds {
    std::array<Extent, max_rank> lo{};
    std::array<Extent, max_rank> hi{};
  };

  [[nodiscard]] static Extent volume(const Bounds& box, std::size_t rank) {
    Extent n = 1;
    for (std::size_t k = 0; k < rank; ++k) n *= std::max<Extent>(box.hi[k] - box.lo[k], 0);
    return n;
  }
  [[nodiscard]] static Bounds both(const Bounds& a, const Bounds& b, std::size_t rank) {
    Bounds common;
    for (std::size_t k = 0; k < rank; ++k) {
      common.lo[k] = std::max(a.lo[k], b.lo[k]);
      common.hi[k] = std::min(a.hi[k], b.hi[k]);
    }
    return common;
  }
  [[nodiscard]] static bool within(const Bounds& a, const Bounds& b, std::size_t rank) {
    for (std::size_t k = 0; k < rank; ++k) {
      if (a.lo[k] < b.lo[k] || a.hi[k] > b.hi[k]) return false;
    }
    return true;
  }

  /// The elements in any of the boxes: the first, and of the others what it has not.
  [[nodiscard]] static Extent united(std::vector<Bounds>& boxes, std::size_t from,
                                     std::size_t rank) {
    const std::size_t last = boxes.size();
    Extent elements = 0;
    for (std::size_t i = from; i < last; ++i) {
      const Bounds box = boxes[i];
      const Extent all = volume(box, rank);
      if (all == 0) continue;
      // What the later boxes have of this one is counted with them.
      bool covered = false;
      for (std::size_t j = i + 1; j < last && !covered; ++j) {
        covered = within(box, boxes[j], rank);
        const Bounds common = both(box, boxes[j], rank);
        if (volume(common, rank) != 0) boxes.push_back(common);
      }
      if (!covered) elements += all - united(boxes, last, rank);
      boxes.resize(last);
    }
    return elements;
  }

  /// The parts' first indices along every dimension of a region, and each worker's boxes from them.
  class RegionBoxes {
   public:
    RegionBoxes(const WordCounter& counter, std::span<const Extent> bound, const CutRegion& region)
        : m_counter(&counter), m_region(region), m_begin(bound.size()) {
      for (std::size_t k = 0; k < bound.size(); ++k) {
        Extent parts = 1;
        for (std::size_t j = 0; j < region.length[k]; ++j) {
          parts *= counter.size(region.axis[k][j]);
        }
        for (Extent i = 0; i <= parts; ++i) m_begin[k].push_back(part_begin(bound[k], parts, i));
      }
    }
    /// Whether the worker has a box.
    [[nodiscard]] bool get(std::size_t worker, Bounds& box) const {
      const auto digit = [&](std::size_t axis) {
        return m_counter->m_digits[axis * m_counter->m_workers + worker];
      };
      for (std::uint32_t left = m_region.idle; left != 0; left &= left - 1) {
        if (digit(static_cast<std::size_t>(std::countr_zero(left))) != 0) return false;
      }
      for (std::size_t k = 0; k < m_begin.size(); ++k) {
        std::size_t part = 0;
        for (std::size_t j = 0; j < m_region.length[k]; ++j) {
          const std::size_t axis = m_region.axis[k][j];
          part = part * static_cast<std::size_t>(m_counter->size(axis)) +
                 static_cast<std::size_t>(digit(axis));
        }
        box.lo[k] = m_begin[k][part];
        box.hi[k] = m_begin[k][part + 1];
      }
      return true;
    }

   private:
    const WordCounter* m_counter;
    CutRegion m_region;
    std::vector<std::vector<Extent>> m_begin;
  };

  void count_boxes(std::span<const Extent> bound, const CutRegion& store, const CutRegion* produced,
                   Extent contributions, std::vector<Extent>& words) const {
    const std::size_t rank = bound.size();
    const RegionBoxes stored_boxes(*this, bound, store);
    std::vector<RegionBoxes> need_boxes;
    for (const CutRegion& need : m_needs) need_boxes.emplace_back(*this, bound, need);
    std::vector<RegionBoxes> result_boxes;
    if (produced != nullptr) result_boxes.emplace_back(*this, bound, *produced);

    std::vector<Bounds> needed;
    Bounds held;
    Bounds box;
    for (std::size_t w = 0; w < m_workers; ++w) {
      const bool holds = stored_boxes.get(w, held);
      needed.clear();
      for (const RegionBoxes& need : need_boxes) {
        if (need.get(w, box)) needed.push_back(box);
      }
      words[w] = needed.size() == 1 ? volume(needed[0], rank) : united(needed, 0, rank);
      if (!holds) continue;
      for (Bounds& need : needed) need = both(need, held, rank);
      words[w] -= needed.size() == 1 ? volume(needed[0], rank) : united(needed, 0, rank);
      if (produced == nullptr) continue;
      words[w] += contributions * volume(held, rank);
      if (result_boxes[0].get(w, box)) words[w] -= volume(both(box, held, rank), rank);
    }
  }

  Mesh m_mesh;
  std::size_t m_axes;
  std::size_t m_workers;
  std::uint32_t m_all;
  std::vector<int> m_digits;  ///< per axis, per worker

  // Kept between uses to spare allocations.
  std::vector<CutRegion> m_needs;
  std::vector<Term> m_terms;
  std::vector<int> m_differs;
  Extent m_everywhere = 0;
  std::int64_t m_spent = 0;
};

/// The product of the parts that calls cut the aggregated labels into.
[[nodiscard]] inline Extent contributions(const Mesh& mesh, const Vertex& statement,
                                          const AxisLists& calls) {
  Extent n = 1;
  for (int l : statement.aggregated) {
    for (int axis : calls[static_cast<std::size_t>(l)]) {
      n *= mesh.axes[static_cast<std::size_t>(axis)];
    }
  }
  return n;
}

}  // namespace detail

/// The words that each worker of a placed program receives if every worker is a rank of its own:
/// those of make_task_graph(graph, placement, workers).received, in a small part of its time.
/// \throws Error if the placement does not suit the graph or the mesh has more than 16 axes.
[[nodiscard]] inline std::vector<Extent> words_by_worker(
    const EinGraph& graph, const Placement& placement,
    const std::source_location& where = std::source_location::current()) {
  check_placement(graph, placement, where);
  if (placement.mesh.axes.size() > detail::max_mesh_axes) {
    detail::fail("a mesh of " +
                     detail::to_text(static_cast<long long>(placement.mesh.axes.size())) +
                     " axes (words by worker are counted for at most 16); use count_words()",
                 where);
  }
  detail::WordCounter counter(placement.mesh);
  std::vector<std::vector<detail::CutRegion>> needs(graph.vertices.size());
  for (std::size_t i = 0; i < graph.vertices.size(); ++i) {
    for (const Operand& o : graph.vertices[i].operands) {
      needs[static_cast<std::size_t>(o.vertex)].push_back(
          counter.projected(placement.calls[i], o.labels));
    }
  }
  std::vector<Extent> received(counter.workers(), 0);
  std::vector<Extent> words;
  for (std::size_t i = 0; i < graph.vertices.size(); ++i) {
    const Vertex& v = graph.vertices[i];
    const detail::CutRegion store = counter.stored(placement.stored[i]);
    bool same = false;
    if (v.is_input()) {
      same = counter.count(v.bound, store, needs[i], nullptr, 1, words);
    } else {
      const detail::CutRegion produced = counter.projected(placement.calls[i], v.output);
      same = counter.count(v.bound, store, needs[i], &produced,
                           detail::contributions(placement.mesh, v, placement.calls[i]), words);
    }
    if (same) detail::WordCounter::spread(words);
    for (std::size_t w = 0; w < received.size(); ++w) received[w] += words[w];
  }
  return received;
}

}  // namespace eindecomp
