// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Words of tensors whose parts nest, in closed form.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/plan/placed/axis_cuts.hpp"
#include "eindecomp/plan/placed/tensor_regions.hpp"
#include "eindecomp/plan/tuning.hpp"

namespace eindecomp::plan {

/// Counts words in closed form where parts nest and are of one size, by inclusion and exclusion
/// over what the readers need.
class AlignedWords {
 public:
  explicit AlignedWords(const WorkerCoordinates& workers) : m_workers(workers) {}

  /// Whether at every depth all regions cut a dimension by axes of one size, evenly: then two boxes
  /// meet if their coordinates agree depth by depth, in a box of the finer one's size.
  [[nodiscard]] bool apply(const TensorRegions& t) const {
    if (t.needs.size() > tuning::max_aligned_needs) return false;
    if (std::ranges::any_of(t.needs, [](const Need& n) { return n.computed != nullptr; })) {
      return false;
    }
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
          !std::ranges::all_of(t.needs, agrees, &Need::region) || t.bound[k] % parts != 0) {
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
        if ((set >> i & 1U) != 0) chosen[n++] = &t.needs[i].region;
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

}  // namespace eindecomp::plan
