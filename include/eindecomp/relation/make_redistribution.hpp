// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How redistributions are made. With EINDECOMP_SEPARATE_PLANNER, one translation unit compiles it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/box_tree.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/relation/index_blocks.hpp"
#include "eindecomp/relation/make_distribution.hpp"
#include "eindecomp/relation/redistribution.hpp"
#include "eindecomp/relation/rounds.hpp"

namespace eindecomp {
namespace relation {

EINDECOMP_PLANNER_INLINE void check_same_tensor(const Distribution& from, const Distribution& to,
                                                const std::source_location& where) {
  if (from.bound() != to.bound()) {
    core::fail(
        ErrorKind::shape, where, "a tensor of ", core::extents_text(from.bound()),
        " is to be distributed as one of ", core::extents_text(to.bound()),
        " (a redistribution moves elements and changes no extents); give both the same extents");
  }
  if (from.ranks() != to.ranks()) {
    core::fail(ErrorKind::shape, where, "a tensor on ", from.ranks(),
               " ranks is to be distributed over ", to.ranks(),
               " (both are ranks of one communicator); leave ranks without boxes where there "
               "is nothing on them");
  }
}

/// The arrays of one distribution that an array of another meets, found by where they are.
class SharedArrays {
 public:
  /// `distribution` must outlive it.
  explicit SharedArrays(const Distribution& distribution)
      : m_arrays(distinct_arrays(distribution)), m_tree(bounds_of(m_arrays)) {}

  /// The rank that an array's elements are taken from, for a rank that needs them: the rank itself
  /// if it has them; replicas take turns.
  [[nodiscard]] static int source(const PlacedArray& placed, int rank) {
    const std::vector<int>& owners = placed.owners;
    const auto place = std::lower_bound(owners.begin(), owners.end(), rank);
    if (place != owners.end() && *place == rank) return rank;
    const auto others_before = to_index(rank) - to_index(place - owners.begin());
    return owners[others_before % owners.size()];
  }

  /// Calls visit(placed array, shared size) for each that shares elements with `array`.
  template <class Visit>
  void for_each_sharing(const LocalArray& array, const Visit& visit) const {
    m_tree.for_each_meeting(array.bounds(), [&](std::size_t n) {
      Extent size = 1;
      for (std::size_t k = 0; size > 0 && k < array.indices.size(); ++k) {
        size *= shared_size(m_arrays[n].array->indices[k], array.indices[k]);
      }
      if (size > 0) visit(m_arrays[n], size);
    });
  }

 private:
  [[nodiscard]] static std::vector<Box> bounds_of(const std::vector<PlacedArray>& arrays) {
    std::vector<Box> boxes;
    for (const PlacedArray& placed : arrays) boxes.push_back(placed.array->bounds());
    return boxes;
  }

  std::vector<PlacedArray> m_arrays;
  BoxTree m_tree;
};

[[nodiscard]] inline SharedElements shared_elements(const LocalArray& from, int from_number,
                                                    const LocalArray& to, int to_number) {
  SharedElements shared{from_number, to_number, {}};
  for (std::size_t k = 0; k < from.indices.size(); ++k) {
    shared.runs.push_back(shared_runs(from.indices[k], to.indices[k]));
  }
  return shared;
}

/// One message per peer from what moves to or from each. \param direction  of a peer: 1 of sends.
[[nodiscard]] inline std::vector<RedistributionMessage> messages_to_peers(
    std::vector<std::pair<int, SharedElements>> moved, int rank, int ranks, int direction) {
  const auto distance = [=](int peer) { return peer_distance(peer, rank, direction, ranks); };
  std::sort(moved.begin(), moved.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return distance(a.first) < distance(b.first);
    if (a.second.to != b.second.to) return a.second.to < b.second.to;
    return a.second.from < b.second.from;
  });
  std::vector<RedistributionMessage> messages;
  for (auto& [peer, elements] : moved) {
    if (messages.empty() || messages.back().peer != peer) messages.push_back({peer, 0, {}});
    messages.back().words += elements.size();
    messages.back().elements.push_back(std::move(elements));
  }
  return messages;
}

EINDECOMP_PLANNER_INLINE RankRedistribution make_redistribution(const Distribution& from,
                                                                const Distribution& to, int rank,
                                                                const std::source_location& where) {
  relation::check_same_tensor(from, to, where);
  if (rank < 0 || rank >= from.ranks()) {
    core::fail(ErrorKind::plan, where, "the messages of rank ", rank, " of ", from.ranks(),
               " (ranks count from 0); give a rank of the distributions");
  }
  RankRedistribution made;
  std::vector<std::pair<int, SharedElements>> received;
  std::vector<std::pair<int, SharedElements>> sent;
  const relation::SharedArrays sources(from);
  for (std::size_t n = 0; n < to.arrays(rank).size(); ++n) {
    const LocalArray& array = to.arrays(rank)[n];
    sources.for_each_sharing(array, [&](const relation::PlacedArray& placed, Extent) {
      const int source = relation::SharedArrays::source(placed, rank);
      SharedElements shared = relation::shared_elements(*placed.array, placed.number_of(source),
                                                        array, static_cast<int>(n));
      if (source == rank) {
        made.copies.push_back(std::move(shared));
      } else {
        received.emplace_back(source, std::move(shared));
      }
    });
  }
  const relation::SharedArrays targets(to);
  const std::vector<relation::PlacedArray> held = relation::distinct_arrays(from);
  for (const relation::PlacedArray& own : held) {
    if (!std::binary_search(own.owners.begin(), own.owners.end(), rank)) continue;
    const int number = own.number_of(rank);
    targets.for_each_sharing(*own.array, [&](const relation::PlacedArray& placed, Extent) {
      for (int target : placed.owners) {
        if (target == rank || relation::SharedArrays::source(own, target) != rank) continue;
        sent.emplace_back(target, relation::shared_elements(*own.array, number, *placed.array,
                                                            placed.number_of(target)));
      }
    });
  }
  made.receives = relation::messages_to_peers(std::move(received), rank, from.ranks(), -1);
  made.sends = relation::messages_to_peers(std::move(sent), rank, from.ranks(), 1);
  return made;
}

}  // namespace relation

EINDECOMP_PLANNER_INLINE std::vector<Extent> redistributed_words(
    const Distribution& from, const Distribution& to, const std::source_location& where) {
  relation::check_same_tensor(from, to, where);
  std::vector<Extent> words(to_index(to.ranks()), 0);
  const relation::SharedArrays sources(from);
  for (int rank = 0; rank < to.ranks(); ++rank) {
    for (const LocalArray& array : to.arrays(rank)) {
      sources.for_each_sharing(array, [&](const relation::PlacedArray& placed, Extent shared) {
        if (relation::SharedArrays::source(placed, rank) != rank) words[to_index(rank)] += shared;
      });
    }
  }
  return words;
}

}  // namespace eindecomp
