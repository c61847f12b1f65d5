// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Repartition costs between all vectors of a producer and all of a consumer, computed on demand
/// instead of from a table.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/ein_decomp/statement_shapes.hpp"
#include "eindecomp/plan/partition.hpp"

namespace eindecomp::plan {

/// How the parts of a dimension under any two divisors of p intersect, per extent.
class Meetings {
 public:
  constexpr explicit Meetings(int p) : m_divisors(divisors(p)) {}

  /// The meetings for one extent: a matrix by the index() of the consumer's and of the producer's
  /// divisor.
  [[nodiscard]] constexpr const std::vector<Meeting>& of(Extent bound) {
    for (const auto& [known, table] : m_tables) {
      if (known == bound) return table;
    }
    std::vector<Meeting> table(count() * count());
    for (std::size_t c = 0; c < count(); ++c) {
      for (std::size_t d = 0; d < count(); ++d) {
        // A consumer's label may be longer than the dimension that it is part of an index of.
        if (m_divisors[d] > bound) continue;
        table[c * count() + d] = meet(bound, m_divisors[d], m_divisors[c]);
      }
    }
    m_tables.emplace_back(bound, std::move(table));
    return m_tables.back().second;
  }

  [[nodiscard]] constexpr std::size_t count() const { return m_divisors.size(); }
  /// The index of a divisor of p; that of p is 0.
  [[nodiscard]] constexpr std::size_t index(Extent parts) const {
    return to_index(std::ranges::lower_bound(m_divisors, parts, std::ranges::greater{}) -
                    m_divisors.begin());
  }

 private:
  std::vector<Extent> m_divisors;
  std::vector<std::pair<Extent, std::vector<Meeting>>> m_tables;
};

/// What repartition_cost() needs of every vector of a list, computed once.
struct EdgeFactors {
  std::vector<std::uint16_t> divisor;  ///< per vector and dimension, as Meetings numbers them
  std::vector<Extent> blocks;          ///< per vector: N
  std::vector<Extent> words;           ///< per vector: n
  /// Per vector: how many leading entries it has in common with the one before.
  std::vector<std::uint8_t> common;
};

/// repartition_cost() from any vector of one list to any of another: one by one, or a row or column
/// at a time.
class EdgeCosts {
 public:
  /// \param consumed  the partitions asked for; those of several slots one after another in one
  ///   vector.
  constexpr EdgeCosts(Meetings& meetings, std::span<const Extent> bound, const VectorList& produced,
                      const VectorList& consumed)
      : m_rank(bound.size()),
        m_slots(bound.empty() ? 0 : consumed.width() / bound.size()),
        m_count(meetings.count()),
        m_produced(factors_of(meetings, bound, produced)),
        m_consumed(factors_of(meetings, bound, consumed)),
        m_produced_size(produced.size()),
        m_consumed_size(consumed.size()) {
    for (Extent b : bound) m_meetings.push_back(meetings.of(b));
    // Neither term of a slot's cost exceeds p·2^rank·n. If that is far below 2^63, sums and
    // products need no checks.
    Extent max_words = Extent{1} << (bound.size() + 6);
    for (Extent b : bound) max_words = multiply_words(max_words, b);
    Extent blocks = 1;
    for (Extent n : m_produced.blocks) blocks = std::max(blocks, n);
    for (Extent n : m_consumed.blocks) blocks = std::max(blocks, n);
    m_safe = multiply_words(max_words, blocks) != unaffordable;
  }

  [[nodiscard]] constexpr std::size_t produced() const { return m_produced_size; }
  [[nodiscard]] constexpr std::size_t consumed() const { return m_consumed_size; }

  /// The cost from a producer's vector to a consumer's, all slots together.
  [[nodiscard]] constexpr Extent cost(std::size_t producer, std::size_t consumer) const {
    Extent sum = 0;
    for (std::size_t slot = 0; slot < m_slots; ++slot) {
      const std::size_t c = consumer * m_slots + slot;
      Extent pairs = 1;
      Extent inside = 1;
      for (std::size_t k = 0; k < m_rank; ++k) {
        const std::size_t from = m_produced.divisor[producer * m_rank + k];
        const Meeting& met = m_meetings[k][m_consumed.divisor[c * m_rank + k] * m_count + from];
        pairs *= met.pairs;
        inside *= met.inside;
      }
      sum = add_words(sum, words(pairs, inside, producer, c));
    }
    return sum;
  }

  /// The costs from every producer's vector to one of the consumer's, all slots together.
  constexpr void column(std::size_t consumer, std::span<Extent> costs) const;
  /// The costs from one producer's vector to every one of the consumer's.
  constexpr void row(std::size_t producer, std::span<Extent> costs) const;

 private:
  [[nodiscard]] static constexpr EdgeFactors factors_of(const Meetings& meetings,
                                                        std::span<const Extent> bound,
                                                        const VectorList& list) {
    EdgeFactors made;
    if (bound.empty()) return made;
    for (std::size_t i = 0; i < list.size(); ++i) {
      for (std::size_t at = 0; at < list.width(); at += bound.size()) {
        const std::span<const Extent> d = list[i].subspan(at, bound.size());
        for (Extent parts : d) {
          made.divisor.push_back(static_cast<std::uint16_t>(meetings.index(parts)));
        }
        made.blocks.push_back(kernel_calls(d));
        made.words.push_back(block_words(bound, d));
        std::uint8_t common = 0;
        if (i > 0) {
          const std::span<const Extent> before = list[i - 1].subspan(at, bound.size());
          while (common < bound.size() && d[common] == before[common]) ++common;
        }
        made.common.push_back(common);
      }
    }
    return made;
  }

  /// Adds the costs between vector `fixed` of one list and vectors first, first + step, … of
  /// another. The products over leading dimensions are kept from one vector to the next, because
  /// neighbours have most entries in common.
  template <bool ListIsProducer>
  constexpr void add(const EdgeFactors& list, std::size_t first, std::size_t step,
                     const EdgeFactors& one, std::size_t fixed, std::span<Extent> costs) const {
    std::array<const Meeting*, max_rank> meetings{};
    std::array<Extent, max_rank + 1> pairs{};
    std::array<Extent, max_rank + 1> inside{};
    pairs[0] = 1;
    inside[0] = 1;
    for (std::size_t k = 0; k < m_rank; ++k) {
      const std::size_t at = one.divisor[fixed * m_rank + k];
      meetings[k] = m_meetings[k].data() + (ListIsProducer ? at * m_count : at);
    }
    for (std::size_t n = 0; n < costs.size(); ++n) {
      const std::size_t i = first + n * step;
      const std::uint16_t* const divisor = list.divisor.data() + i * m_rank;
      for (std::size_t k = list.common[i]; k < m_rank; ++k) {
        const Meeting& met = meetings[k][ListIsProducer ? divisor[k] : divisor[k] * m_count];
        pairs[k + 1] = pairs[k] * met.pairs;
        inside[k + 1] = inside[k] * met.inside;
      }
      const std::size_t u = ListIsProducer ? i : fixed;
      const std::size_t c = ListIsProducer ? fixed : i;
      costs[n] = add_safely(costs[n], words(pairs[m_rank], inside[m_rank], u, c));
    }
  }

  /// The words between two vectors. \param pairs  of blocks that intersect. \param inside  the
  /// producer's blocks that intersect one block only.
  [[nodiscard]] constexpr Extent words(Extent pairs, Extent inside, std::size_t producer,
                                       std::size_t consumer) const {
    // Between equal vectors both are 0.
    const Extent gathered = pairs - m_consumed.blocks[consumer];
    const Extent sent = pairs - inside;
    const Extent received_words = m_consumed.words[consumer];
    const Extent sent_words = m_produced.words[producer];
    if (m_safe) return gathered * received_words + sent * sent_words;
    return add_words(multiply_words(gathered, received_words), multiply_words(sent, sent_words));
  }
  [[nodiscard]] constexpr Extent add_safely(Extent a, Extent b) const {
    return m_safe ? a + b : add_words(a, b);
  }

  std::size_t m_rank;
  std::size_t m_slots;
  std::size_t m_count;                           // of divisors
  std::vector<std::vector<Meeting>> m_meetings;  // per dimension
  EdgeFactors m_produced;
  EdgeFactors m_consumed;
  std::size_t m_produced_size;
  std::size_t m_consumed_size;
  bool m_safe = false;
};

// Defined after the class: clang needs the body of a member template before its first use in a
// constexpr function.
constexpr void EdgeCosts::column(std::size_t consumer, std::span<Extent> costs) const {
  std::ranges::fill(costs, 0);
  for (std::size_t slot = 0; slot < m_slots; ++slot) {
    const std::size_t fixed = consumer * m_slots + slot;
    add<true>(m_produced, 0, 1, m_consumed, fixed, costs);
  }
}
constexpr void EdgeCosts::row(std::size_t producer, std::span<Extent> costs) const {
  std::ranges::fill(costs, 0);
  for (std::size_t slot = 0; slot < m_slots; ++slot) {
    add<false>(m_consumed, slot, m_slots, m_produced, producer, costs);
  }
}

/// The repartition costs between statements. Edges between equal lists of vectors, for tensors of
/// equal extents, share theirs, as in the layers of a network.
class SharedEdges {
 public:
  constexpr explicit SharedEdges(int p) : m_meetings(p) {}

  /// The number of an edge's costs. \param produced, consumed  lists of `shapes`, by number.
  constexpr int number_of(const Shapes& shapes, std::span<const Extent> bound, int produced,
                          int consumed) {
    std::vector<Extent> key(bound.begin(), bound.end());
    key.push_back(produced);
    key.push_back(consumed);
    const Numbering::Number number = m_numbers(key);
    if (number.fresh) {
      m_edges.emplace_back(m_meetings, bound, shapes.list(produced), shapes.list(consumed));
    }
    return number.value;
  }

  [[nodiscard]] constexpr int size() const { return static_cast<int>(m_edges.size()); }
  /// The costs by number; the reference is valid until number_of() is called.
  [[nodiscard]] constexpr const EdgeCosts& operator[](int number) const {
    return m_edges[to_index(number)];
  }

 private:
  Meetings m_meetings;
  Numbering m_numbers;
  std::vector<EdgeCosts> m_edges;
};

}  // namespace eindecomp::plan
