// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which elements of a tensor lie on which rank, and in which of its arrays: the layouts that users
/// have, beside those of a plan.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/hash.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/index_blocks.hpp"

namespace eindecomp {

/// What one array in a rank's memory holds of a tensor: the elements whose every index is in the
/// set of its dimension. The array has as many elements along a dimension as the set has indices.
struct LocalArray {
  std::vector<IndexBlocks> indices;  ///< per dimension; none is empty

  constexpr bool operator==(const LocalArray&) const = default;

  /// One box of the tensor.
  [[nodiscard]] static constexpr LocalArray of(const Box& box) {
    LocalArray array;
    for (std::size_t k = 0; k < box.lo.size(); ++k) {
      array.indices.push_back(IndexBlocks::interval(box.lo[k], box.hi[k]));
    }
    return array;
  }
  /// The array's extents.
  [[nodiscard]] constexpr std::vector<Extent> extents() const {
    std::vector<Extent> extents;
    for (const IndexBlocks& set : indices) extents.push_back(set.size());
    return extents;
  }
  /// The number of elements; 1 of a scalar.
  [[nodiscard]] constexpr Extent size() const {
    Extent n = 1;
    for (const IndexBlocks& set : indices) n *= set.size();
    return n;
  }
  /// The smallest box that has all its elements.
  [[nodiscard]] constexpr Box bounds() const {
    Box box;
    for (const IndexBlocks& set : indices) {
      box.lo.push_back(set.first);
      box.hi.push_back(set.end);
    }
    return box;
  }
  /// Whether it holds all of a box, as one block.
  [[nodiscard]] constexpr bool contains(const Box& box) const {
    for (std::size_t k = 0; k < indices.size(); ++k) {
      const IndexBlocks& set = indices[k];
      if (box.lo[k] < set.first || box.hi[k] > set.end || set.next(box.lo[k]) != box.lo[k] ||
          set.block_end(box.lo[k]) < box.hi[k]) {
        return false;
      }
    }
    return true;
  }
};

/// The lengths of the parts when n indices are shared out among p ranks.
enum class Split : std::uint8_t {
  longer_first,  ///< n/p + 1 for the first n mod p ranks, n/p for the others (PETSc)
  floor,    ///< rank r has those from r·n/p to (r+1)·n/p, rounded down (this library's plans)
  ceiling,  ///< n/p rounded up as long as there are any (FFTW, ScaLAPACK)
};

/// How the processes of a grid are numbered.
enum class GridOrder : std::uint8_t {
  row_major,     ///< the last coordinate fastest (BLACS: 'R')
  column_major,  ///< the first coordinate fastest ('C')
};

/// A grid of processes: the first rows·columns ranks.
struct ProcessGrid {
  int rows = 1;                            ///< processes that share out the first dimension
  int columns = 1;                         ///< those that share out the second
  GridOrder order = GridOrder::row_major;  ///< of their ranks
};

/// One dimension of a block-cyclic distribution.
struct CyclicDimension {
  Extent block = 1;   ///< indices in a block; blocks are dealt out in turn
  int processes = 1;  ///< of the grid, along this dimension
  int source = 0;     ///< the process that has the first block
};

/// The nine integers that describe a matrix of ScaLAPACK's: DTYPE_, CTXT_, M_, N_, MB_, NB_, RSRC_,
/// CSRC_, LLD_.
using ScalapackDescriptor = std::array<int, 9>;

/// Which elements of a tensor lie on which rank, and how they are put together to arrays. Every
/// element lies on at least one rank; where it lies on several, their arrays are equal (replicas).
/// A plain value, the same on every rank; takes memory for the arrays, not for their blocks.
class Distribution {
 public:
  /// Of nothing on no rank.
  constexpr Distribution() = default;

  /// Boxes of the user's own: by_rank[r] lists those of rank r, in the order of its views. A rank
  /// may have none; several ranks may have the same box.
  /// \throws Error naming ranks and boxes if a box is empty, leaves the tensor, overlaps another
  ///   without being equal to it, stands twice on one rank, or if elements are left over.
  ///   O(n log² n) for n boxes.
  [[nodiscard]] static Distribution boxes(
      std::vector<Extent> bound, const std::vector<std::vector<Box>>& by_rank,
      const std::source_location& where = std::source_location::current());

  /// A dimension shared out among all ranks, the others whole. \throws Error if there is no such
  /// dimension or no rank.
  [[nodiscard]] static Distribution split(
      std::vector<Extent> bound, int dimension, int ranks, Split lengths = Split::longer_first,
      const std::source_location& where = std::source_location::current());
  /// The first dimension shared out.
  [[nodiscard]] static Distribution rows(
      std::vector<Extent> bound, int ranks, Split lengths = Split::longer_first,
      const std::source_location& where = std::source_location::current()) {
    return split(std::move(bound), 0, ranks, lengths, where);
  }
  /// The second dimension shared out.
  [[nodiscard]] static Distribution columns(
      std::vector<Extent> bound, int ranks, Split lengths = Split::longer_first,
      const std::source_location& where = std::source_location::current()) {
    return split(std::move(bound), 1, ranks, lengths, where);
  }

  /// All of the tensor on each of the ranks `holders`, or on every rank if none is named.
  /// \throws Error if a holder is no rank or is named twice.
  [[nodiscard]] static Distribution replicated(
      std::vector<Extent> bound, int ranks, const std::vector<int>& holders = {},
      const std::source_location& where = std::source_location::current());

  /// Blocks dealt out to a grid of processes, one entry per dimension. A rank has one array, with
  /// its blocks in the order of their indices, or none if it gets no block.
  /// \throws Error naming dimension and field.
  [[nodiscard]] static Distribution block_cyclic(
      std::vector<Extent> bound, const std::vector<CyclicDimension>& dimensions, int ranks,
      GridOrder order = GridOrder::row_major,
      const std::source_location& where = std::source_location::current());

  /// A matrix of ScaLAPACK's, its local arrays column-major. The fields CTXT_ and LLD_ are not
  /// looked at here: the grid stands for the one, check_descriptor() reads the other.
  /// \throws Error naming the field.
  [[nodiscard]] static Distribution scalapack(
      const ScalapackDescriptor& descriptor, const ProcessGrid& grid, int ranks,
      const std::source_location& where = std::source_location::current());

  /// Arrays that are known to be right, as those of a plan are.
  [[nodiscard]] static constexpr Distribution unchecked(
      std::vector<Extent> bound, std::vector<std::vector<LocalArray>> by_rank) {
    Distribution made;
    made.m_bound = std::move(bound);
    made.m_arrays = std::move(by_rank);
    return made;
  }

  /// The same, of arrays whose first dimension is the fastest in memory: messages are then packed
  /// in that order. Any strides are right without it, and slower.
  [[nodiscard]] constexpr Distribution column_major() const {
    Distribution made = *this;
    made.m_column_major = true;
    return made;
  }

  /// The tensor's extents.
  [[nodiscard]] constexpr const std::vector<Extent>& bound() const { return m_bound; }
  /// The number of ranks.
  [[nodiscard]] constexpr int ranks() const { return static_cast<int>(m_arrays.size()); }
  /// The arrays of a rank, 0 <= rank < ranks(), in the order of its views.
  [[nodiscard]] constexpr const std::vector<LocalArray>& arrays(int rank) const {
    return m_arrays[to_index(rank)];
  }
  /// Whether arrays are said to have their first dimension fastest.
  [[nodiscard]] constexpr bool is_column_major() const { return m_column_major; }

  constexpr bool operator==(const Distribution&) const = default;

  /// A number that is equal for equal distributions, and in all likelihood for no others.
  [[nodiscard]] constexpr std::uint64_t hash() const {
    core::Hasher hasher;
    hasher.add(m_bound);
    hasher.add(static_cast<std::uint64_t>(m_column_major));
    for (const std::vector<LocalArray>& arrays : m_arrays) {
      hasher.add(static_cast<std::uint64_t>(arrays.size()));
      for (const LocalArray& array : arrays) {
        for (const IndexBlocks& set : array.indices) {
          for (Extent value : {set.first, set.block, set.period, set.end}) {
            hasher.add(static_cast<std::uint64_t>(value));
          }
        }
      }
    }
    return hasher.value();
  }

 private:
  std::vector<Extent> m_bound;
  std::vector<std::vector<LocalArray>> m_arrays;  ///< by rank
  bool m_column_major = false;
};

/// Checks what a rank's own descriptor says of its array: that LLD_ is at least its rows, that
/// CTXT_ is a context, and the other fields as Distribution::scalapack; of a rank outside of the
/// grid whose CTXT_ is -1, nothing.
/// \returns the extents of the rank's array, one of which is 0 if it has none.
/// \throws Error naming rank and field.
std::array<Extent, 2> check_descriptor(
    const ScalapackDescriptor& descriptor, const ProcessGrid& grid, int rank,
    const std::source_location& where = std::source_location::current());

namespace relation {

/// "from (0, 4) to (8, 6)".
[[nodiscard]] constexpr Text box_text(const Box& box) {
  const auto index = [](const std::vector<Extent>& at) {
    return core::joined(at, ", ", [](Extent i) { return core::to_text(i); });
  };
  return "from (" + index(box.lo) + Text(") to (") + index(box.hi) + Text(")");
}

/// \throws Error unless there is a rank, every extent is at least 1, and the elements can be
///   counted.
constexpr void check_distributed(const std::vector<Extent>& bound, Extent ranks,
                                 const std::source_location& where) {
  if (ranks < 1) {
    core::fail(ErrorKind::plan, where, "a distribution over ", ranks,
               " ranks (an element lies on one at least); give the size of the communicator");
  }
  for (std::size_t k = 0; k < bound.size(); ++k) {
    if (bound[k] >= 1) continue;
    core::fail(ErrorKind::shape, where, "a distribution of a tensor whose dimension ", k,
               " has extent ", bound[k], " (a tensor has elements); give positive extents");
  }
  if (!has_countable_elements(bound)) {
    core::fail(ErrorKind::shape, where, "a distribution of a tensor of ", core::extents_text(bound),
               " elements (up to 2^57 are counted, so that their bytes can be); give smaller "
               "extents");
  }
}

}  // namespace relation
}  // namespace eindecomp

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/relation/make_distribution.hpp"
#endif
