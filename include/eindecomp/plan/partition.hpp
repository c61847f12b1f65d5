// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Partition vectors: every way to cut a statement into p kernel calls (paper, section 8.1).
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <source_location>
#include <span>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/partitions.hpp"
#include "eindecomp/relation/layout.hpp"

namespace eindecomp {

/// A list of vectors of one length, stored one after another: thousands of partition vectors cost
/// one allocation.
class VectorList {
 public:
  constexpr VectorList() = default;
  /// No vectors yet, of `width` entries each.
  constexpr explicit VectorList(std::size_t width) : m_width(width) {}

  [[nodiscard]] constexpr std::size_t size() const { return m_size; }
  [[nodiscard]] constexpr bool empty() const { return m_size == 0; }
  /// The length of each vector.
  [[nodiscard]] constexpr std::size_t width() const { return m_width; }

  [[nodiscard]] constexpr std::span<const Extent> operator[](std::size_t i) const {
    return std::span<const Extent>(m_entries).subspan(i * m_width, m_width);
  }

  constexpr void push_back(std::span<const Extent> vector) {
    m_entries.insert(m_entries.end(), vector.begin(), vector.end());
    ++m_size;
  }

 private:
  std::size_t m_width = 0;
  std::size_t m_size = 0;  // a list of scalars' vectors has width 0 and still a size
  std::vector<Extent> m_entries;
};

/// The most partition vectors that are listed for one statement.
inline constexpr std::size_t max_partition_vectors = std::size_t{1} << 20;

/// The divisors of n >= 1, the largest first.
[[nodiscard]] constexpr std::vector<Extent> divisors(Extent n) {
  std::vector<Extent> small;
  std::vector<Extent> large;
  for (Extent d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    large.push_back(n / d);
    if (d != n / d) small.push_back(d);
  }
  large.insert(large.end(), small.rbegin(), small.rend());
  return large;
}

/// The number of kernel calls N of a partition vector: the product of its entries.
[[nodiscard]] constexpr Extent kernel_calls(std::span<const Extent> d) {
  Extent n = 1;
  for (Extent parts : d) n *= parts;
  return n;
}

namespace plan {

/// Lists the vectors whose product is a given number, entry by entry.
class VectorSearch {
 public:
  /// \param statement  for the message, or null
  constexpr VectorSearch(std::span<const Extent> limits, Extent product, const Vertex* statement)
      : m_statement(statement),
        m_divisors(divisors(product)),
        m_limits(limits.begin(), limits.end()),
        m_reach(limits.size() + 1, 1),
        m_vector(limits.size(), 1),
        m_found(limits.size()) {
    for (std::size_t l = limits.size(); l-- > 0;) {
      Extent widest = 1;
      for (Extent d : m_divisors) widest = d <= limits[l] ? std::max(widest, d) : widest;
      // Nothing beyond the product is of interest, and so the reach cannot overflow.
      m_reach[l] = m_reach[l + 1] >= product ? product : m_reach[l + 1] * widest;
    }
    extend(0, product);
  }

  [[nodiscard]] constexpr VectorList take() { return std::move(m_found); }

 private:
  constexpr void extend(std::size_t l, Extent left) {
    if (left > m_reach[l]) return;
    if (l == m_vector.size()) {
      if (left != 1) return;
      if (m_found.size() == max_partition_vectors) {
        core::fail(
            ErrorKind::plan, m_statement == nullptr ? std::source_location{} : m_statement->where,
            (m_statement == nullptr ? Text("a statement") : "statement " + m_statement->name),
            " has more than ", max_partition_vectors,
            " partition vectors (too many labels for so many workers); mark labels uncut, use "
            "fewer workers, or choose a strategy that does not list them, such as square");
      }
      m_found.push_back(m_vector);
      return;
    }
    for (Extent d : m_divisors) {
      if (d > m_limits[l] || left % d != 0) continue;
      m_vector[l] = d;
      extend(l + 1, left / d);
    }
  }

  const Vertex* m_statement;
  std::vector<Extent> m_divisors;
  std::vector<Extent> m_limits;
  std::vector<Extent> m_reach;  // the largest product that entries l, l+1, … might have
  std::vector<Extent> m_vector;
  VectorList m_found;
};

}  // namespace plan

/// The statements of a graph, in order.
[[nodiscard]] constexpr std::vector<VertexId> statements_of(const EinGraph& graph) {
  std::vector<VertexId> statements;
  for (VertexId v = 0; v < graph.size(); ++v) {
    if (!graph[v].is_input()) statements.push_back(v);
  }
  return statements;
}

/// All vectors with product p whose entries divide p and are at most limits[l] each; if there is
/// none, all those with the largest product that can be reached by disjoint products of p's prime
/// factors. In descending lexicographic order: of two equally good vectors the first cuts the
/// outer dimensions, whose blocks are contiguous.
///
/// \param statement  whose vectors they are, for the error's name and place; may be null
/// \throws Error if there are more than max_partition_vectors.
[[nodiscard]] constexpr VectorList partition_vectors(std::span<const Extent> limits, int p,
                                                     const Vertex* statement = nullptr) {
  for (Extent product : divisors(p)) {
    VectorList found = plan::VectorSearch(limits, product, statement).take();
    if (!found.empty()) return found;
  }
  return VectorList(limits.size());  // not reached: the product 1 always is
}

/// The most parts each label of a statement may have: its extent, or 1 if it must not be cut.
[[nodiscard]] constexpr std::vector<Extent> part_limits(const EinGraph& graph, VertexId v) {
  std::vector<Extent> limits = graph[v].extents;
  for (std::size_t l = 0; l < limits.size(); ++l) {
    if (graph.labels[to_index(graph[v].labels[l])].uncut) limits[l] = 1;
  }
  return limits;
}

/// The kernel calls that each of partition_vectors(limits, p) makes: p where the limits allow it.
[[nodiscard]] constexpr Extent max_kernel_calls(std::span<const Extent> limits, int p) {
  // The products that the parts of some labels can have, one label more at a time.
  std::vector<Extent> products{1};
  const std::vector<Extent> parts = divisors(p);
  for (const Extent limit : limits) {
    if (limit >= p) return p;
    const std::size_t before = products.size();
    for (std::size_t n = 0; n < before; ++n) {
      for (const Extent d : parts) {
        const Extent product = d <= limit ? products[n] * d : p + 1;
        const bool is_new = std::ranges::find(products, product) == products.end();
        if (product <= p && p % product == 0 && is_new) products.push_back(product);
      }
    }
  }
  return std::ranges::max(products);
}

/// A vector as it is if it makes as many kernel calls as any of partition_vectors(limits, p); else
/// the one of these that leaves most of its factors where they are, of equal ones the first listed.
/// (Taking label by label what it can have of p is enough for powers of two. But of 12 parts, a
/// label that can have 6 must not take 4 if the only other label can have 2.)
/// \param d          entries that divide p, at most limits[l] each.
/// \param statement  as partition_vectors()
[[nodiscard]] constexpr PartitionVector with_max_calls(PartitionVector d,
                                                       std::span<const Extent> limits, int p,
                                                       const Vertex* statement = nullptr) {
  const Extent calls = kernel_calls(d);
  if (calls == p || calls == max_kernel_calls(limits, p)) return d;
  const VectorList vectors = partition_vectors(limits, p, statement);
  PartitionVector best;
  Extent max_kept = 0;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    Extent kept = 1;
    for (std::size_t l = 0; l < d.size(); ++l) kept *= std::gcd(d[l], vectors[i][l]);
    if (kept <= max_kept) continue;
    max_kept = kept;
    best.assign(vectors[i].begin(), vectors[i].end());
  }
  return best;
}

/// All partition vectors of a statement for p workers, as above.
[[nodiscard]] constexpr VectorList partition_vectors(const EinGraph& graph, VertexId v, int p) {
  return partition_vectors(part_limits(graph, v), p, &graph[v]);
}

}  // namespace eindecomp
