// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Views of a rank's arrays, held against the distribution that says what they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/share_memory.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/result_memory.hpp"

namespace eindecomp::run {

/// \throws Error unless the distribution is for so many ranks.
inline void check_ranks_of(const Distribution& distribution, int ranks,
                           const std::source_location& where) {
  if (distribution.ranks() == ranks) return;
  throw Error(ErrorKind::shape,
              "the distribution is for " + std::to_string(distribution.ranks()) +
                  " ranks and the communicator has " + std::to_string(ranks) +
                  " (each holds a part or nothing); describe it for all of them",
              where);
}

/// The views of a rank's arrays: those given, but for the one empty view that a rank without arrays
/// may give. \param what  "the new distribution" or "input X", for messages.
/// \throws Error if they are not as many, not of the arrays' extents, or null.
[[nodiscard]] inline std::vector<kernel::StridedTensor> check_views(
    const Distribution& distribution, int rank, const std::vector<kernel::StridedTensor>& views,
    const std::string& what, const std::source_location& where) {
  const std::vector<LocalArray>& arrays = distribution.arrays(rank);
  if (arrays.empty() && views.size() == 1 && (views[0].is_empty() || views[0].rank == 0)) return {};
  if (arrays.size() != views.size()) {
    throw Error(ErrorKind::binding,
                what + " is given " + std::to_string(views.size()) + " views on rank " +
                    std::to_string(rank) + ", which has " + std::to_string(arrays.size()) +
                    " arrays of it (one view each); give them in the distribution's order",
                where);
  }
  for (std::size_t n = 0; n < views.size(); ++n) {
    const std::vector<Extent> extents = arrays[n].extents();
    if (views[n].extents() != extents) {
      throw Error(ErrorKind::binding,
                  what + " is given a view of " + extents_text(views[n].extents()) + " on rank " +
                      std::to_string(rank) + ", whose array number " + std::to_string(n) + " is " +
                      extents_text(extents) +
                      " (the distribution says so); give a view of its extents",
                  where);
    }
    if (!views[n].is_null()) continue;
    throw Error(ErrorKind::binding,
                what + " is given a null view of " + extents_text(extents) + " on rank " +
                    std::to_string(rank) + " (there is no memory); allocate it first",
                where);
  }
  return views;
}

[[nodiscard]] inline AddressRange range_of(const kernel::StridedTensor& view) {
  return {reinterpret_cast<const char*>(view.begin()), reinterpret_cast<const char*>(view.end())};
}

/// \throws Error if memory that is written overlaps other memory of the call, or elements of a view
///   that is written share a place.
inline void check_apart(const std::vector<kernel::StridedTensor>& written,
                        const std::vector<kernel::StridedTensor>& read,
                        const std::source_location& where) {
  struct Placed {
    AddressRange range;
    const kernel::StridedTensor* view;
    bool is_written;
  };
  std::vector<Placed> all;
  for (const kernel::StridedTensor& view : written) all.push_back({range_of(view), &view, true});
  for (const kernel::StridedTensor& view : read) all.push_back({range_of(view), &view, false});
  for (const kernel::StridedTensor& view : written) {
    if (!kernel::overlaps_itself(view)) continue;
    throw Error(ErrorKind::binding,
                "a view of " + extents_text(view.extents()) +
                    " that is written has elements that share a place in memory (its strides say "
                    "so); give a view whose elements have places of their own",
                where);
  }
  // By where they begin, so that only neighbours are looked at.
  std::sort(all.begin(), all.end(), [](const Placed& a, const Placed& b) {
    return std::less<>{}(a.range.begin, b.range.begin);
  });
  for (auto a = all.begin(); a != all.end(); ++a) {
    for (auto b = a + 1; b != all.end() && std::less<>{}(b->range.begin, a->range.end); ++b) {
      if (!a->is_written && !b->is_written) continue;
      if (!a->range.overlaps(b->range) || !kernel::share_memory(*a->view, *b->view)) continue;
      throw Error(ErrorKind::binding,
                  std::string("a view that is written shares memory with ") +
                      (a->is_written && b->is_written ? "another" : "one that is read") +
                      " (elements would be lost before they are sent); give memory of its own",
                  where);
    }
  }
}

}  // namespace eindecomp::run
