// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The words that every worker or rank receives, tensor by tensor, without a walk: for searches
/// that weigh thousands of placements.
///
/// What a rank receives of a tensor does not depend on the order of the statements: it is the union
/// of the boxes that its workers' calls of all readers need, less the boxes they store; and of a
/// result, the accumulators of their stored boxes from every other rank that has calls of the
/// group. So the words of a program are a sum over tensors, and a change of one statement's calls
/// touches its own tensors only.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/aligned_words.hpp"
#include "eindecomp/relation/boxed_words.hpp"
#include "eindecomp/relation/cut_region.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/shared_words.hpp"

namespace eindecomp {
namespace detail {

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

/// Counts the words of one tensor after another on one mesh.
class WordCounter {
 public:
  /// \param mesh   of at most max_mesh_axes axes
  /// \param ranks  that share the workers; 0, or no fewer than those: each worker has its own
  explicit WordCounter(const Mesh& mesh, int ranks = 0)
      : m_digits(mesh), m_aligned(m_digits), m_boxed(m_digits) {
    if (ranks > 0 && ranks < mesh.workers()) m_shared.emplace(m_digits, ranks);
  }
  WordCounter(const WordCounter&) = delete;
  WordCounter& operator=(const WordCounter&) = delete;

  [[nodiscard]] const Mesh& mesh() const { return m_digits.mesh(); }
  [[nodiscard]] std::size_t workers() const { return m_digits.workers(); }
  /// Whether some ranks host several workers.
  [[nodiscard]] bool shared() const { return m_shared.has_value(); }
  /// Whom words are counted for: the ranks that host workers.
  [[nodiscard]] std::size_t receivers() const { return shared() ? m_shared->ranks() : workers(); }

  /// The region of a stored tensor.
  [[nodiscard]] CutRegion stored(const AxisLists& lists) const {
    CutRegion region;
    region.idle = all_axes() & ~used(lists);
    for (std::size_t k = 0; k < lists.size(); ++k) {
      for (int axis : lists[k]) region.cut(k, axis);
    }
    return region;
  }

  /// The region of a tensor whose dimensions carry these labels of a statement with these calls.
  [[nodiscard]] CutRegion projected(const AxisLists& calls, std::span<const int> positions) const {
    CutRegion region;
    region.idle = all_axes() & ~used(calls);
    for (std::size_t k = 0; k < positions.size(); ++k) {
      for (int axis : calls[static_cast<std::size_t>(positions[k])]) region.cut(k, axis);
    }
    return region;
  }

  /// The words that each receiver gets on account of one tensor.
  ///
  /// \param bound          the tensor's extents
  /// \param store          where it is stored
  /// \param needs          what the calls of its readers take
  /// \param produced       what the calls of its own statement compute; null for an input
  /// \param contributions  the calls that compute parts of one block: the product of the parts of
  ///   the aggregated labels
  /// \param words [out]    per receiver; sized by the function
  /// \returns whether all receive the same; then only words[0] is written, see spread()
  bool count(std::span<const Extent> bound, const CutRegion& store,
             std::span<const CutRegion> needs, const CutRegion* produced, Extent contributions,
             std::vector<Extent>& words) {
    words.resize(receivers());
    if (receivers() == 1) {
      words[0] = 0;
      return true;
    }
    m_needs.clear();
    for (const CutRegion& need : needs) {
      if (std::find(m_needs.begin(), m_needs.end(), need) == m_needs.end()) m_needs.push_back(need);
    }
    const TensorRegions tensor{bound, store, m_needs, produced, contributions};
    if (shared()) {
      m_spent += 10 + m_shared->count(tensor, words) +
                 2 * static_cast<std::int64_t>(workers() * (needs.size() + 2));
      return false;
    }
    const auto each = static_cast<std::int64_t>(words.size());
    const auto regions = static_cast<std::int64_t>(m_needs.size() + 2);
    if (m_aligned.apply(tensor)) {
      const bool same = m_aligned.count(tensor, words);
      m_spent += 10 * regions + static_cast<std::int64_t>(m_aligned.terms()) * each / 4;
      return same;
    }
    m_boxed.count(tensor, words);
    m_spent += each * regions * static_cast<std::int64_t>(bound.size() + 1) / 2;
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
  [[nodiscard]] static std::uint32_t used(const AxisLists& lists) {
    std::uint32_t axes = 0;
    for (const std::vector<int>& list : lists) {
      for (int axis : list) axes |= std::uint32_t{1} << axis;
    }
    return axes;
  }

  [[nodiscard]] std::uint32_t all_axes() const { return (std::uint32_t{1} << m_digits.axes()) - 1; }

  WorkerDigits m_digits;
  AlignedWords m_aligned;
  BoxedWords m_boxed;
  std::optional<SharedWords> m_shared;
  std::vector<CutRegion> m_needs;  ///< kept between uses to spare allocations
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

/// The words that each rank of a placed program receives: those of
/// make_task_graph(graph, placement, ranks).received, in a small part of its time. What one worker
/// of a rank has, the rank's other workers need not receive.
/// \throws Error if the placement does not suit the graph, there is no rank, or the mesh has more
///   than 16 axes.
[[nodiscard]] inline std::vector<Extent> words_by_rank(
    const EinGraph& graph, const Placement& placement, int ranks,
    const std::source_location& where = std::source_location::current()) {
  detail::check_ranks(ranks, where);
  check_placement(graph, placement, where);
  if (placement.mesh.axes.size() > detail::max_mesh_axes) {
    detail::fail(ErrorKind::plan,
                 "a mesh of " +
                     detail::to_text(static_cast<long long>(placement.mesh.axes.size())) +
                     " axes (words are counted so for at most 16); use count_words()",
                 where);
  }
  detail::WordCounter counter(placement.mesh, ranks);
  std::vector<std::vector<detail::CutRegion>> needs(graph.vertices.size());
  for (std::size_t i = 0; i < graph.vertices.size(); ++i) {
    for (const Operand& o : graph.vertices[i].operands) {
      needs[static_cast<std::size_t>(o.vertex)].push_back(
          counter.projected(placement.calls[i], o.labels));
    }
  }
  std::vector<Extent> received(static_cast<std::size_t>(ranks), 0);
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
    for (std::size_t w = 0; w < words.size(); ++w) received[w] += words[w];
  }
  return received;
}

/// The words that each worker of a placed program receives if every worker is a rank of its own.
/// \throws Error as words_by_rank().
[[nodiscard]] inline std::vector<Extent> words_by_worker(
    const EinGraph& graph, const Placement& placement,
    const std::source_location& where = std::source_location::current()) {
  return words_by_rank(graph, placement, placement.mesh.workers(), where);
}

}  // namespace eindecomp
