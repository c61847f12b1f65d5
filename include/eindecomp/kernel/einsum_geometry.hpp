// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// From views and label positions to a LocalEinsum, and what may be wrong with them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/einsum_string.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/share_memory.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"

namespace eindecomp::kernel::detail {

/// "operand 2 (j,k)" or "the output (i,k)"; position `operands` is the output.
[[nodiscard, gnu::cold]] inline Text tensor_text(const EinsumShape& spec, int tensor) {
  const bool output = tensor == spec.operands;
  Text text;
  if (output) {
    text << "the output (";
  } else {
    text << "operand " << tensor + 1 << " (";
  }
  const int rank = output ? spec.output_rank : spec.rank[tensor];
  const int* const labels = output ? spec.output : spec.operand[tensor];
  for (int k = 0; k < rank; ++k) {
    if (k > 0) text << ',';
    text << spec.name[labels[k]];
  }
  text << ')';
  return text;
}

/// The extents of a spec's labels, checked, of views that have memory.
struct LabelExtents {
  Extent extent[EinsumShape::max_labels];
  int given_by[EinsumShape::max_labels];  ///< the first tensor that has the label, -1 if none has

  explicit LabelExtents(const EinsumShape& spec) {
    for (int l = 0; l < spec.labels; ++l) given_by[l] = -1;
  }

  void add(const EinsumShape& spec, int tensor, const StridedTensor& view,
           const std::source_location& where) {
    const bool output = tensor == spec.operands;
    const int rank = output ? spec.output_rank : spec.rank[tensor];
    const int* const labels = output ? spec.output : spec.operand[tensor];
    if (view.rank != rank) {
      throw Error(ErrorKind::binding,
                  tensor_text(spec, tensor)
                      << " has " << rank << " labels but its view has rank " << view.rank
                      << " (each dimension has one label); correct the string or the view",
                  where);
    }
    if (view.is_null()) {
      Text extents;
      for (int k = 0; k < rank; ++k) extents << (k > 0 ? " x " : "") << view.extent[k];
      throw Error(ErrorKind::binding,
                  tensor_text(spec, tensor)
                      << " is a null view of " << (rank > 0 ? extents : Text() << "one element")
                      << " (it has no memory); allocate it first",
                  where);
    }
    for (int k = 0; k < rank; ++k) {
      const int l = labels[k];
      if (given_by[l] < 0) {
        given_by[l] = tensor;
        extent[l] = view.extent[k];
      } else if (extent[l] != view.extent[k]) {
        throw Error(ErrorKind::shape,
                    Text() << "label '" << spec.name[l] << "' is " << extent[l] << " in "
                           << tensor_text(spec, given_by[l]) << " and " << view.extent[k] << " in "
                           << tensor_text(spec, tensor)
                           << " (a label has one extent, and 1 is not stretched); make them "
                              "equal",
                    where);
      }
    }
  }
};

/// \throws Error that a result of these extents could not be allocated.
[[noreturn, gnu::cold]] inline void throw_no_memory(const EinsumShape& spec,
                                                    const LabelExtents& extents, const char* cause,
                                                    const std::source_location& where) {
  Text sizes;
  for (int k = 0; k < spec.output_rank; ++k) {
    sizes << (k > 0 ? " x " : "") << extents.extent[spec.output[k]];
  }
  throw Error(ErrorKind::memory,
              tensor_text(spec, spec.operands)
                  << " of " << (spec.output_rank > 0 ? sizes : Text() << "one element")
                  << " could not be allocated (" << cause << "); nothing was computed",
              where);
}

/// \throws Error if a result has so many elements that their number is no Extent.
inline void check_result_extents(const EinsumShape& spec, const LabelExtents& extents,
                                 const std::source_location& where) {
  const auto extent_of = [&](int k) { return extents.extent[spec.output[k]]; };
  for (int k = 0; k < spec.output_rank; ++k) {
    if (extent_of(k) == 0) return;
  }
  Extent elements = 1;
  for (int k = 0; k < spec.output_rank; ++k) {
    const Extent extent = extent_of(k);
    if (elements > max_elements / extent) {
      throw_no_memory(spec, extents, "it has more than 2^57 elements", where);
    }
    elements *= extent;
  }
}

/// The geometry of a local EinSum of views; the last of `views` is the output.
/// \throws Error if ranks or extents disagree, there are too many labels, a view is null, an
///   element of the output has no place of its own, or writing the output would change an operand
///   before it is read.
template <std::size_t Tensors>
[[nodiscard]] LocalEinsum local_einsum(const EinsumShape& spec,
                                       const std::array<StridedTensor, Tensors>& views,
                                       const std::source_location& where) {
  const int operands = static_cast<int>(Tensors) - 1;
  if (spec.operands != operands) {
    throw Error(ErrorKind::statement,
                Text() << "the string has " << spec.operands << " operands but " << operands
                       << " views were given; give one view per operand",
                where);
  }
  if (spec.labels > max_labels) {
    throw Error(ErrorKind::statement,
                Text() << "the string has " << spec.labels << " labels (a kernel has at most "
                       << max_labels << "); write it in several statements",
                where);
  }
  LabelExtents extents(spec);
  for (int t = 0; t <= operands; ++t) {
    extents.add(spec, t, views[static_cast<std::size_t>(t)], where);
  }

  LocalEinsum shape;
  shape.labels = spec.labels;
  shape.operands = operands;
  bool empty = false;
  for (int l = 0; l < spec.labels; ++l) {
    shape.extent[l] = extents.extent[l];
    shape.aggregated[l] = spec.aggregated[l];
    empty = empty || shape.extent[l] == 0;
  }
  for (int t = 0; t < operands; ++t) {
    for (int k = 0; k < spec.rank[t]; ++k) {
      shape.operand_stride[t][spec.operand[t][k]] += views[static_cast<std::size_t>(t)].stride[k];
    }
  }
  const StridedTensor& output = views[Tensors - 1];
  const bool has_output = !output.is_empty();
  for (int k = 0; k < spec.output_rank; ++k) {
    const int l = spec.output[k];
    shape.output_stride[l] = output.stride[k];
    if (has_output && output.stride[k] == 0 && shape.extent[l] > 1) {
      throw Error(ErrorKind::binding,
                  Text() << "the elements of the output along label '" << spec.name[l]
                         << "' share one place (its view has stride 0 there); write into a "
                            "view of its own memory",
                  where);
    }
  }
  if (has_output && overlaps_itself(output)) {
    Text strides;
    for (int k = 0; k < spec.output_rank; ++k) strides << (k > 0 ? ", " : "") << output.stride[k];
    throw Error(ErrorKind::binding,
                tensor_text(spec, operands)
                    << " has elements that share a place in memory (its strides are " << strides
                    << "); write into a view whose elements have places of their own",
                where);
  }
  if (empty) return shape;  // nothing is read

  for (int t = 0; t < operands; ++t) {
    const StridedTensor& operand = views[static_cast<std::size_t>(t)];
    if (operand.end() <= output.begin() || output.end() <= operand.begin()) continue;
    // In place is right where every element is read by the one join that overwrites it.
    bool same = operand.data == output.data && operand.element_bytes == output.element_bytes;
    for (int l = 0; l < spec.labels; ++l) {
      if (shape.extent[l] == 1) continue;
      same = same && !shape.aggregated[l] && shape.operand_stride[t][l] == shape.output_stride[l];
    }
    if (!same && share_memory(operand, output)) {
      throw Error(ErrorKind::binding,
                  tensor_text(spec, operands)
                      << " overlaps " << tensor_text(spec, t)
                      << " in memory (elements would be overwritten before they are read); write "
                         "into memory of its own",
                  where);
    }
  }
  return shape;
}

/// How many labels the output lacks.
[[nodiscard]] constexpr int aggregated_labels(const EinsumShape& spec) {
  int count = 0;
  for (int l = 0; l < spec.labels; ++l) count += spec.aggregated[l] ? 1 : 0;
  return count;
}

/// \throws Error if there are several, along which no index can be given.
inline void check_one_aggregated(const EinsumShape& spec, const std::source_location& where) {
  if (aggregated_labels(spec) <= 1) return;
  throw Error(ErrorKind::statement,
              Text("an aggregation that gives an index along one label is given ") +
                  aggregated_labels(spec) + " of them; aggregate one label",
              where);
}

/// \throws Error if the output, the last of these views, is an operand: beta would multiply it
///   before it is read.
inline void check_read_before_scaled(const EinsumShape& spec, std::span<const StridedTensor> views,
                                     const std::source_location& where) {
  const int operands = static_cast<int>(views.size()) - 1;
  for (int t = 0; t < operands; ++t) {
    const StridedTensor& operand = views[static_cast<std::size_t>(t)];
    if (operand.data != views.back().data || operand.is_empty() || views.back().is_empty())
      continue;
    throw Error(ErrorKind::binding,
                tensor_text(spec, operands)
                    << " is " << tensor_text(spec, t)
                    << " (beta multiplies it before it is read); give a beta of 0 or 1, or write "
                       "into memory of its own",
                where);
  }
}

}  // namespace eindecomp::kernel::detail
