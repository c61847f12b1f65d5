// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The words that a tensor makes workers receive, where parts nest and are of one size: in closed
/// form, by inclusion and exclusion over what its readers need.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/cut_region.hpp"

namespace eindecomp::detail {

/// Counts them tensor by tensor; keeps its memory between counts.
class AlignedWords {
 public:
  explicit AlignedWords(const WorkerDigits& workers) : m_workers(workers) {}

  /// Whether at every depth all regions cut a dimension by axes of one size, evenly: then two boxes
  /// meet if their coordinates agree depth by depth, in a box of the finer one's size.
  [[nodiscard]] bool apply(const TensorRegions& t) const {
    if (t.needs.size() > most_needs) return false;
    for (std::size_t k = 0; k < t.bound.size(); ++k) {
      const CutRegion* longest = &t.store;
      for (const CutRegion& need : t.needs) {
        if (need.length[k] > longest->length[k]) longest = &need;
      }
      if (t.produced != nullptr && t.produced->length[k] > longest->length[k]) longest = t.produced;
      const auto agrees = [&](const CutRegion& region) {
        for (std::size_t j = 0; j < region.length[k]; ++j) {
          if (size(region.axis[k][j]) != size(longest->axis[k][j])) return false;
        }
        return true;
      };
      Extent parts = 1;
      for (std::size_t j = 0; j < longest->length[k]; ++j) parts *= size(longest->axis[k][j]);
      if (t.bound[k] % parts != 0 || !agrees(t.store)) return false;
      if (t.produced != nullptr && !agrees(*t.produced)) return false;
      if (!std::all_of(t.needs.begin(), t.needs.end(), agrees)) return false;
    }
    return true;
  }

  /// The words of a tensor that they apply to. Returns whether all workers receive the same; then
  /// only words[0] is written.
  bool count(const TensorRegions& t, std::vector<Extent>& words) {
    m_terms.clear();
    m_everywhere = 0;
    std::array<const CutRegion*, most_needs + 1> chosen{};
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
      chosen[0] = &t.store;
      chosen[1] = t.produced;
      add_term(t.bound, {chosen.data(), 1}, t.contributions);
      add_term(t.bound, {chosen.data(), 2}, -1);
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
    bool operator==(const Term&) const = default;
  };
  static constexpr std::size_t most_needs = 4;  // terms grow as 2 to their number

  [[nodiscard]] Extent size(std::size_t axis) const { return m_workers.size(axis); }

  /// Adds the elements that all of the regions share on a worker.
  void add_term(std::span<const Extent> bound, std::span<const CutRegion* const> regions,
                Extent factor) {
    Term term;
    for (std::size_t a = 0; a < m_workers.axes(); ++a) term.like[a] = static_cast<std::uint8_t>(a);
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
    const auto axes = static_cast<std::uint8_t>(m_workers.axes());
    for (std::uint8_t a = 0; a < axes; ++a) {
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
    m_differs.assign(words.size(), 0);  // 0 where the term holds
    for (std::size_t a = 0; a < m_workers.axes(); ++a) {
      const std::span<const int> digit = m_workers.along(a);
      if ((term.zero >> a & 1U) != 0) {
        for (std::size_t w = 0; w < words.size(); ++w) m_differs[w] |= digit[w];
      }
      if (term.like[a] != a) {
        const std::span<const int> other = m_workers.along(term.like[a]);
        for (std::size_t w = 0; w < words.size(); ++w) m_differs[w] |= digit[w] ^ other[w];
      }
    }
    for (std::size_t w = 0; w < words.size(); ++w) words[w] += m_differs[w] == 0 ? term.words : 0;
  }

  const WorkerDigits& m_workers;

  // Kept between uses to spare allocations.
  std::vector<Term> m_terms;
  std::vector<int> m_differs;
  Extent m_everywhere = 0;
};

}  // namespace eindecomp::detail
