// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Costs in words, as the paper counts them (its section 7).
#pragma once

#include <compare>
#include <limits>

#include "eindecomp/core/types.hpp"

namespace eindecomp {

/// The value of a cost too large for 64 bits: such a partition vector is never worth taking.
inline constexpr Extent unaffordable = std::numeric_limits<Extent>::max();

namespace plan {

/// a + b of non-negative numbers, at most `unaffordable`.
[[nodiscard]] constexpr Extent add_words(Extent a, Extent b) {
  return a > unaffordable - b ? unaffordable : a + b;
}

/// a · b of non-negative numbers, at most `unaffordable`.
[[nodiscard]] constexpr Extent multiply_words(Extent a, Extent b) {
  return b != 0 && a > unaffordable / b ? unaffordable : a * b;
}

/// A sum over the receivers' words.
struct WordSum {
  Extent busiest = 0;
  Extent total = 0;

  constexpr bool operator==(const WordSum&) const = default;
  /// The better of two placements has fewer words on the busiest receiver; then fewer in all.
  constexpr auto operator<=>(const WordSum&) const = default;
};

}  // namespace plan

/// What a statement, or a whole graph, costs in words (elements moved).
struct Cost {
  Extent join = 0;         ///< operand blocks sent to the kernel calls
  Extent aggregate = 0;    ///< partial results sent to be combined
  Extent repartition = 0;  ///< operands brought from their producers' partition

  /// All three together.
  [[nodiscard]] constexpr Extent total() const {
    return plan::add_words(join, plan::add_words(aggregate, repartition));
  }
  constexpr Cost& operator+=(const Cost& other) {
    join = plan::add_words(join, other.join);
    aggregate = plan::add_words(aggregate, other.aggregate);
    repartition = plan::add_words(repartition, other.repartition);
    return *this;
  }
  constexpr bool operator==(const Cost&) const = default;
};

}  // namespace eindecomp
