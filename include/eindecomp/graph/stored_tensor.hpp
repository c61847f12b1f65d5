// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Whole tensors on the host with their names: what is written to files and read from them.
#pragma once

#include <algorithm>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/element.hpp"

namespace eindecomp {

/// A tensor's elements, apart from any program.
struct StoredTensor {
  Text name;                  ///< of the tensor
  ElementType element;        ///< of its elements
  std::vector<Extent> bound;  ///< its extents
  std::string bytes;          ///< the elements, row-major, in the machine's order of bytes

  /// The elements, row-major, for as long as `bytes` stays as it is.
  /// \throws Error if they are not of type T: nothing is converted.
  template <Element T>
  [[nodiscard]] std::span<const T> elements(
      std::source_location where = std::source_location::current()) const& {
    if (element != element_type<T>()) {
      core::fail(ErrorKind::io,
                 Text("tensor ") + name + " is of " + expr::element_text(element) +
                     " and is read as " + expr::element_text(element_type<T>()) +
                     " (elements are not converted); read it as what it is, or store it otherwise",
                 where);
    }
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// Deleted for temporaries: the span would dangle.
  template <Element T>
  void elements() && = delete;
  /// \throws Error if `bytes` has other than the elements that the extents say, or these are not
  ///   those of a tensor.
  void check(std::source_location where = std::source_location::current()) const {
    const bool is_positive =
        std::all_of(bound.begin(), bound.end(), [](Extent extent) { return extent > 0; });
    if (!is_positive || bound.size() > std::size_t{max_rank} || !has_countable_elements(bound)) {
      core::fail(ErrorKind::io, where, "tensor ", name, " has extents ", core::extents_text(bound),
                 " (up to ", max_rank,
                 " positive ones, of no more than 2^57 elements); give it "
                 "those of a tensor");
    }
    std::int64_t wanted = element.bytes;
    for (const Extent extent : bound) wanted *= extent;
    if (wanted == static_cast<std::int64_t>(bytes.size())) return;
    core::fail(ErrorKind::io, where, "tensor ", name, " of extents ", core::extents_text(bound),
               " has ", static_cast<Extent>(bytes.size()), " bytes of elements (", wanted,
               " are wanted, ", element.bytes, " each); give it all its elements");
  }
  /// Whether all of it is equal, bit for bit.
  bool operator==(const StoredTensor&) const = default;
};

/// Where training has come to: what a Trainer needs to go on as if it had not stopped.
struct Checkpoint {
  Extent steps = 0;                   ///< that were taken
  std::vector<StoredTensor> tensors;  ///< weights, then the optimiser's states
  /// Whether all of it is equal, bit for bit.
  bool operator==(const Checkpoint&) const = default;
};

}  // namespace eindecomp
