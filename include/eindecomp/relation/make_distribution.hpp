// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How distributions are made, and refused. With EINDECOMP_SEPARATE_PLANNER, one translation unit
/// compiles it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <source_location>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/box_tree.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/relation/index_blocks.hpp"

namespace eindecomp {
namespace relation {

/// An array that some ranks have.
struct PlacedArray {
  const LocalArray* array = nullptr;
  std::vector<int> owners;   ///< ascending
  std::vector<int> numbers;  ///< per owner, which of its arrays it is

  /// Which of an owner's arrays it is.
  [[nodiscard]] int number_of(int owner) const {
    const auto at = std::lower_bound(owners.begin(), owners.end(), owner);
    return numbers[static_cast<std::size_t>(at - owners.begin())];
  }
};

/// The different arrays of a distribution, in the order of their first owner.
[[nodiscard]] inline std::vector<PlacedArray> distinct_arrays(const Distribution& distribution) {
  struct Named {
    const LocalArray* array;
    int rank;
    int number;
  };
  std::vector<Named> all;
  for (int r = 0; r < distribution.ranks(); ++r) {
    int number = 0;
    for (const LocalArray& array : distribution.arrays(r)) all.push_back({&array, r, number++});
  }
  const auto key = [](const IndexBlocks& s) {
    return std::array<Extent, 4>{s.first, s.end, s.block, s.period};
  };
  const auto before = [&key](const Named& a, const Named& b) {
    const auto& x = a.array->indices;
    const auto& y = b.array->indices;
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (x[k] != y[k]) return key(x[k]) < key(y[k]);
    }
    return a.rank < b.rank;
  };
  std::sort(all.begin(), all.end(), before);
  std::vector<PlacedArray> distinct;
  for (const Named& named : all) {
    if (distinct.empty() || !(*distinct.back().array == *named.array)) {
      distinct.push_back({named.array, {}, {}});
    }
    distinct.back().owners.push_back(named.rank);
    distinct.back().numbers.push_back(named.number);
  }
  std::stable_sort(distinct.begin(), distinct.end(),
                   [](const PlacedArray& a, const PlacedArray& b) {
                     return a.owners.front() < b.owners.front();
                   });
  return distinct;
}

/// \throws Error unless the boxes are in the tensor and have elements.
inline void check_each_box(const std::vector<Extent>& bound,
                           const std::vector<std::vector<Box>>& by_rank,
                           const std::source_location& where) {
  for (std::size_t r = 0; r < by_rank.size(); ++r) {
    for (const Box& box : by_rank[r]) {
      if (box.lo.size() != bound.size() || box.hi.size() != bound.size()) {
        core::fail(ErrorKind::shape, where, "the distribution's box ", box_text(box), " on rank ",
                   r, " has another rank than the tensor of ", core::extents_text(bound),
                   " (one index per dimension); give boxes of the tensor's rank");
      }
      if (!Box::whole(bound).contains(box)) {
        core::fail(ErrorKind::shape, where, "the distribution's box ", box_text(box), " on rank ",
                   r, " leaves the tensor of ", core::extents_text(bound),
                   " (indices begin at 0 and end before the extent); cut it off there");
      }
      if (box.empty()) {
        core::fail(ErrorKind::shape, where, "the distribution's box ", box_text(box), " on rank ",
                   r, " is empty (a box has elements); leave it out");
      }
    }
  }
}

/// A box of the tensor that none of some disjoint boxes has, which do not fill it.
/// \param tree  of the boxes
[[nodiscard]] inline Box first_hole(const std::vector<Extent>& bound, const std::vector<Box>& boxes,
                                    const BoxTree& tree) {
  constexpr std::size_t few = 8;
  Box part = Box::whole(bound);
  std::vector<std::size_t> meeting;
  const auto is_full = [&](const Box& box) {
    meeting.clear();
    Extent held = 0;
    tree.for_each_meeting(box, [&](std::size_t n) {
      meeting.push_back(n);
      held += intersect(boxes[n], box).size();
    });
    return held == box.size();
  };
  (void)is_full(part);
  while (meeting.size() > few) {  // a half that is not full, then
    std::size_t longest = 0;
    for (std::size_t k = 1; k < bound.size(); ++k) {
      if (part.extent(static_cast<int>(k)) > part.extent(static_cast<int>(longest))) longest = k;
    }
    Box half = part;
    half.hi[longest] = part.lo[longest] + part.extent(static_cast<int>(longest)) / 2;
    if (is_full(half)) {
      half.lo[longest] = half.hi[longest];
      half.hi[longest] = part.hi[longest];
      (void)is_full(half);
    }
    part = std::move(half);
  }
  std::sort(meeting.begin(), meeting.end());
  std::vector<Box> left{part};
  for (const std::size_t n : meeting) {
    std::vector<Box> rest;
    for (const Box& box : left) subtract(box, boxes[n], rest);
    left = std::move(rest);
  }
  return left.front();
}

/// \throws Error unless the different arrays of a distribution, which are boxes in the tensor, are
/// disjoint and leave nothing over.
inline void check_partition(const Distribution& distribution, const std::source_location& where) {
  const std::vector<PlacedArray> arrays = distinct_arrays(distribution);
  std::vector<Box> boxes;
  Extent held = 0;
  for (const PlacedArray& placed : arrays) {
    boxes.push_back(placed.array->bounds());
    held += boxes.back().size();
    const auto twice = std::adjacent_find(placed.owners.begin(), placed.owners.end());
    if (twice == placed.owners.end()) continue;
    core::fail(ErrorKind::shape, where, "the distribution's box ", box_text(boxes.back()),
               " stands twice on rank ", *twice,
               " (replicas lie on different ranks); leave one out");
  }
  const BoxTree tree(boxes);
  for (std::size_t n = 0; n < boxes.size(); ++n) {
    tree.for_each_meeting(boxes[n], [&](std::size_t other) {
      if (other == n) return;
      core::fail(
          ErrorKind::shape, where, "the distribution's boxes ", box_text(boxes[n]), " on rank ",
          arrays[n].owners.front(), " and ", box_text(boxes[other]), " on rank ",
          arrays[other].owners.front(),
          " overlap (an element that lies on several ranks lies in equal boxes there); make them "
          "equal, or disjoint");
    });
  }
  const Extent all = Box::whole(distribution.bound()).size();
  if (held == all) return;
  core::fail(ErrorKind::shape, where, "the distribution of ",
             core::extents_text(distribution.bound()), " leaves ", all - held, " of ", all,
             " elements on no rank, those ",
             box_text(first_hole(distribution.bound(), boxes, tree)),
             " among them (every element lies somewhere); give a rank a box for them");
}

/// The part of n indices that rank r of p gets.
[[nodiscard]] constexpr IndexBlocks split_part(Extent n, int p, int r, Split lengths) {
  if (lengths == Split::floor) {
    return IndexBlocks::interval(part_begin(n, p, r), part_begin(n, p, r + 1));
  }
  const Extent longer = n % p;
  const Extent length = lengths == Split::ceiling ? ceil_div(n, p) : n / p;
  const Extent before = r * length + (lengths == Split::ceiling ? 0 : std::min<Extent>(r, longer));
  const Extent own = length + (lengths == Split::longer_first && r < longer ? 1 : 0);
  return IndexBlocks::interval(std::min(before, n), std::min(before + own, n));
}

/// The blocks of a dimension that the process at coordinate c gets.
[[nodiscard]] constexpr IndexBlocks cyclic_part(Extent extent, const CyclicDimension& dealt,
                                                int c) {
  const Extent turn = (c - dealt.source + dealt.processes) % dealt.processes;
  const Extent block = std::min(dealt.block, extent);  // larger ones deal it out alike
  if (turn > (extent - 1) / block) return {};
  if (block > extent / dealt.processes) {  // one block each, at most
    return IndexBlocks::interval(turn * block, std::min(turn * block + block, extent));
  }
  return IndexBlocks::cyclic(turn * block, block, block * dealt.processes, extent);
}

/// \throws Error unless a field of a descriptor is at least `least`.
constexpr void check_field(std::string_view who, std::string_view field, Extent value, Extent least,
                           Extent most, const std::source_location& where) {
  if (value >= least && value <= most) return;
  core::fail(ErrorKind::shape, where, who, " has ", field, " = ", value, " (it is from ", least,
             " to ", most, "); mend that field");
}

/// The most that a field of a ScaLAPACK descriptor can be.
inline constexpr Extent any_extent = std::numeric_limits<int>::max();

/// The dimensions of a descriptor. \param who  "the ScaLAPACK descriptor", for messages.
[[nodiscard]] constexpr std::array<CyclicDimension, 2> dimensions_of(
    const ScalapackDescriptor& d, const ProcessGrid& grid, std::string_view who,
    const std::source_location& where) {
  check_field(who, "DTYPE_", d[0], 1, 1, where);
  check_field(who, "M_", d[2], 1, any_extent, where);
  check_field(who, "N_", d[3], 1, any_extent, where);
  check_field(who, "MB_", d[4], 1, any_extent, where);
  check_field(who, "NB_", d[5], 1, any_extent, where);
  check_field(who, "a grid whose number of rows", grid.rows, 1, any_extent, where);
  check_field(who, "a grid whose number of columns", grid.columns, 1, any_extent, where);
  check_field(who, "RSRC_", d[6], 0, grid.rows - 1, where);
  check_field(who, "CSRC_", d[7], 0, grid.columns - 1, where);
  return {CyclicDimension{d[4], grid.rows, d[6]}, CyclicDimension{d[5], grid.columns, d[7]}};
}

}  // namespace relation

EINDECOMP_PLANNER_INLINE Distribution
Distribution::boxes(std::vector<Extent> bound, const std::vector<std::vector<Box>>& by_rank,
                    const std::source_location& where) {
  relation::check_distributed(bound, static_cast<Extent>(by_rank.size()), where);
  relation::check_each_box(bound, by_rank, where);
  std::vector<std::vector<LocalArray>> arrays(by_rank.size());
  for (std::size_t r = 0; r < by_rank.size(); ++r) {
    for (const Box& box : by_rank[r]) arrays[r].push_back(LocalArray::of(box));
  }
  Distribution made = unchecked(std::move(bound), std::move(arrays));
  relation::check_partition(made, where);
  return made;
}

EINDECOMP_PLANNER_INLINE Distribution Distribution::split(std::vector<Extent> bound, int dimension,
                                                          int ranks, Split lengths,
                                                          const std::source_location& where) {
  relation::check_distributed(bound, ranks, where);
  if (bound.empty()) {
    core::fail(ErrorKind::shape, where, "dimension ", dimension,
               " of a scalar is to be shared out (it has no dimensions); use replicated()");
  }
  if (dimension < 0 || to_index(dimension) >= bound.size()) {
    core::fail(ErrorKind::shape, where, "dimension ", dimension, " of a tensor of ",
               core::extents_text(bound), " is to be shared out (its dimensions are 0 to ",
               static_cast<Extent>(bound.size()) - 1, "); name one of them");
  }
  std::vector<std::vector<LocalArray>> arrays(to_index(ranks));
  for (int r = 0; r < ranks; ++r) {
    const IndexBlocks own = relation::split_part(bound[to_index(dimension)], ranks, r, lengths);
    if (own.size() == 0) continue;
    LocalArray array = LocalArray::of(Box::whole(bound));
    array.indices[to_index(dimension)] = own;
    arrays[to_index(r)].push_back(std::move(array));
  }
  return unchecked(std::move(bound), std::move(arrays));
}

EINDECOMP_PLANNER_INLINE Distribution Distribution::replicated(std::vector<Extent> bound, int ranks,
                                                               const std::vector<int>& holders,
                                                               const std::source_location& where) {
  relation::check_distributed(bound, ranks, where);
  std::vector<std::vector<LocalArray>> arrays(to_index(ranks));
  const LocalArray whole = LocalArray::of(Box::whole(bound));
  for (int holder : holders) {
    if (holder < 0 || holder >= ranks) {
      core::fail(ErrorKind::shape, where, "a tensor is to lie on rank ", holder, " of ", ranks,
                 " (ranks count from 0); name ranks of the communicator");
    }
    if (!arrays[to_index(holder)].empty()) {
      core::fail(ErrorKind::shape, where, "a tensor is to lie twice on rank ", holder,
                 " (replicas lie on different ranks); name each once");
    }
    arrays[to_index(holder)].push_back(whole);
  }
  if (holders.empty()) {
    for (std::vector<LocalArray>& own : arrays) own.push_back(whole);
  }
  return unchecked(std::move(bound), std::move(arrays));
}

EINDECOMP_PLANNER_INLINE Distribution Distribution::block_cyclic(
    std::vector<Extent> bound, const std::vector<CyclicDimension>& dimensions, int ranks,
    GridOrder order, const std::source_location& where) {
  relation::check_distributed(bound, ranks, where);
  if (dimensions.size() != bound.size()) {
    core::fail(ErrorKind::shape, where, "a block-cyclic distribution of ", dimensions.size(),
               " dimensions for a tensor of ", core::extents_text(bound),
               " (each dimension is dealt out by itself); give one entry per dimension");
  }
  Extent processes = 1;
  for (std::size_t k = 0; k < dimensions.size(); ++k) {
    const CyclicDimension& dealt = dimensions[k];
    Text who = "dimension ";
    who << k << " of a block-cyclic distribution";
    relation::check_field(who, "block", dealt.block, 1, std::numeric_limits<Extent>::max(), where);
    relation::check_field(who, "processes", dealt.processes, 1, ranks, where);
    relation::check_field(who, "source", dealt.source, 0, dealt.processes - 1, where);
    processes *= dealt.processes;
    if (processes <= ranks) continue;
    core::fail(ErrorKind::shape, where, "a grid of at least ", processes, " processes on ", ranks,
               " ranks (each is a rank of its own); give a smaller grid, or more ranks");
  }
  std::vector<std::vector<LocalArray>> arrays(to_index(ranks));
  for (int r = 0; r < static_cast<int>(processes); ++r) {
    LocalArray array;
    array.indices.resize(bound.size());
    int rest = r;
    bool empty = false;
    for (std::size_t n = 0; n < bound.size(); ++n) {
      const std::size_t k = order == GridOrder::row_major ? bound.size() - 1 - n : n;
      array.indices[k] =
          relation::cyclic_part(bound[k], dimensions[k], rest % dimensions[k].processes);
      empty = empty || array.indices[k].size() == 0;
      rest /= dimensions[k].processes;
    }
    if (!empty) arrays[to_index(r)].push_back(std::move(array));
  }
  return unchecked(std::move(bound), std::move(arrays));
}

EINDECOMP_PLANNER_INLINE Distribution Distribution::scalapack(const ScalapackDescriptor& descriptor,
                                                              const ProcessGrid& grid, int ranks,
                                                              const std::source_location& where) {
  const auto dealt = relation::dimensions_of(descriptor, grid, "the ScaLAPACK descriptor", where);
  if (Extent{grid.rows} * grid.columns > ranks) {
    core::fail(ErrorKind::shape, where, "a ScaLAPACK grid of ", grid.rows, " x ", grid.columns,
               " processes on ", ranks,
               " ranks (each is a rank of its own); give a smaller grid, or more ranks");
  }
  return block_cyclic({descriptor[2], descriptor[3]}, {dealt[0], dealt[1]}, ranks, grid.order,
                      where)
      .column_major();
}

EINDECOMP_PLANNER_INLINE std::array<Extent, 2> check_descriptor(
    const ScalapackDescriptor& descriptor, const ProcessGrid& grid, int rank,
    const std::source_location& where) {
  Text who = "the ScaLAPACK descriptor of rank ";
  who << rank;
  if (rank < 0) core::fail(ErrorKind::shape, where, who, " (ranks count from 0); give a rank");
  constexpr int no_context = -1;
  if (descriptor[1] == no_context && rank >= Extent{grid.rows} * grid.columns) return {0, 0};
  const auto dealt = relation::dimensions_of(descriptor, grid, who, where);
  if (rank >= Extent{grid.rows} * grid.columns) return {0, 0};
  relation::check_field(who, "CTXT_", descriptor[1], 0, relation::any_extent, where);
  const bool row_major = grid.order == GridOrder::row_major;
  const int row = row_major ? rank / grid.columns : rank % grid.rows;
  const int column = row_major ? rank % grid.columns : rank / grid.rows;
  const Extent rows = relation::cyclic_part(descriptor[2], dealt[0], row).size();
  const Extent columns = relation::cyclic_part(descriptor[3], dealt[1], column).size();
  relation::check_field(who, "LLD_", descriptor[8], std::max<Extent>(rows, 1), relation::any_extent,
                        where);
  return {rows, columns};
}

}  // namespace eindecomp
