// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What moves where when a tensor changes from one distribution to another: the least there is, the
/// elements that are not yet where they belong.
#pragma once

#include <source_location>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/relation/index_blocks.hpp"

namespace eindecomp {
namespace relation {

/// Elements that an array of the old distribution and one of the new have in common: of every
/// dimension the runs that both have, `a` in the old array and `b` in the new.
struct SharedElements {
  int from = 0;                               ///< the old array's number on its rank
  int to = 0;                                 ///< the new one's on its rank
  std::vector<std::vector<SharedRuns>> runs;  ///< per dimension

  /// The number of elements.
  [[nodiscard]] Extent size() const {
    Extent n = 1;
    for (const std::vector<SharedRuns>& dimension : runs) {
      Extent extent = 0;
      for (const SharedRuns& run : dimension) extent += run.size();
      n *= extent;
    }
    return n;
  }
};

/// All that one rank sends to another, or gets from it, as one message.
struct RedistributionMessage {
  int peer = -1;                         ///< the other rank
  Extent words = 0;                      ///< elements
  std::vector<SharedElements> elements;  ///< by new array, then by old; the same at both ends
};

/// One rank's part in a redistribution.
struct RankRedistribution {
  std::vector<RedistributionMessage> receives;  ///< the peer before this rank first, then backwards
  std::vector<RedistributionMessage> sends;     ///< the peer after this rank first
  std::vector<SharedElements> copies;           ///< of what stays on the rank

  /// The elements that the rank gets from others.
  [[nodiscard]] Extent words_received() const { return words_of(receives); }
  /// The elements that the rank sends to others.
  [[nodiscard]] Extent words_sent() const { return words_of(sends); }

 private:
  [[nodiscard]] static Extent words_of(const std::vector<RedistributionMessage>& messages) {
    Extent words = 0;
    for (const RedistributionMessage& message : messages) words += message.words;
    return words;
  }
};

/// \throws Error unless both are of one tensor and for as many ranks.
void check_same_tensor(const Distribution& from, const Distribution& to,
                       const std::source_location& where);

/// One rank's messages and copies when a tensor changes from one distribution to another. Every
/// rank makes its own, without communication: an element moves once to each rank whose new arrays
/// have it and whose old ones do not, from the rank itself if it has it, else from one of those
/// that do. O(arrays that meet), however many blocks the arrays have, and O(n log² n) for n arrays
/// in all. \throws Error if the two are not of one tensor and one number of ranks, or there is no
/// such rank.
[[nodiscard]] RankRedistribution make_redistribution(
    const Distribution& from, const Distribution& to, int rank,
    const std::source_location& where = std::source_location::current());

}  // namespace relation

/// The words that each rank receives when a tensor changes from one distribution to another: the
/// least there is, its elements that are not yet on the rank.
/// \throws Error if the two are not of one tensor and one number of ranks.
[[nodiscard]] std::vector<Extent> redistributed_words(
    const Distribution& from, const Distribution& to,
    const std::source_location& where = std::source_location::current());

}  // namespace eindecomp

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/relation/make_redistribution.hpp"
#endif
