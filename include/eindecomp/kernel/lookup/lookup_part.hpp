// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The loops of a join whose labels are looked up in index tensors, cut into parts for threads.
#pragma once

#include <algorithm>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/loop_nest.hpp"

namespace eindecomp::kernel::detail {

/// The work of one thread: all terms of some outputs. Tensors are the operands (index tensors
/// first) and last the output, where accumulators are.
template <int Tensors>
struct LookupPart {
  LoopNest<Tensors> indices;     ///< over the labels of index tensors
  LoopNest<Tensors> rows;        ///< over all others that are not looked up, but for the fastest
  Extent row_length = 1;         ///< of that one
  Extent row_stride[Tensors]{};  ///< what its next value adds
  LoopNest<2> outputs;           ///< over the outputs: of accumulators, of final elements
  Extent offset[Tensors]{};      ///< the first element of each tensor
  Extent final_offset = 0;       ///< of the final elements
  /// The values of each looked-up label that the part has, from `first` on, so many.
  Extent first[max_index_tensors]{};
  Extent count[max_index_tensors]{};            ///< see `first`
  Extent stride[max_index_tensors][Tensors]{};  ///< what the next value of each adds
  bool one_term = true;                         ///< no output has more than one term
};

/// The label by which work is cut: one of the output, so that no two threads write one element. If
/// it can be one of an index tensor, which is then read once; else one that is looked up, so that
/// each thread passes over what is another's. -1 if there is none.
[[nodiscard]] inline int label_to_cut(const LocalEinsum& shape) {
  int best = -1;
  int best_rank = -1;
  for (int l = 0; l < shape.labels; ++l) {
    if (shape.aggregated[l] || shape.extent[l] < 2) continue;
    bool looked_up = false;
    bool of_index = false;
    for (int k = 0; k < shape.lookups; ++k) {
      looked_up = looked_up || shape.lookup[k].label == l;
      of_index = of_index || shape.operand_stride[k][l] != 0;
    }
    const int rank = of_index ? 2 : looked_up ? 1 : 0;
    const bool better =
        best < 0 || rank > best_rank || (rank == best_rank && shape.extent[l] > shape.extent[best]);
    if (!better) continue;
    best = l;
    best_rank = rank;
  }
  return best;
}

/// The part with lo <= l < hi of a label, or of everything if that is -1.
/// \param accumulators  strides per label: of the outputs, or of dense memory of their own
template <int Tensors>
[[nodiscard]] LookupPart<Tensors> lookup_part(const LocalEinsum& shape, const Extent* accumulators,
                                              int label, Extent lo, Extent hi) {
  constexpr int operands = Tensors - 1;
  LookupPart<Tensors> part;
  const auto strides_of = [&](int l, auto&& use) {
    for (int t = 0; t < operands; ++t) use(t, shape.operand_stride[t][l]);
    use(operands, shape.aggregated[l] ? 0 : accumulators[l]);
  };
  for (int l = 0; l < shape.labels; ++l) {
    const Extent begin = l == label ? lo : 0;
    const Extent extent = l == label ? hi - lo : shape.extent[l];
    if (!shape.aggregated[l]) {
      part.final_offset += begin * shape.output_stride[l];
      if (extent != 1) {
        part.outputs.push(extent, {accumulators[l], shape.output_stride[l]});
      }
    }
    bool looked_up = false;
    for (int k = 0; k < shape.lookups; ++k) {
      if (shape.lookup[k].label != l) continue;
      looked_up = true;
      part.first[k] = shape.begin[l] + begin;
      part.count[k] = extent;
      strides_of(l, [&](int t, Extent stride) {
        part.stride[k][t] = stride;
        part.offset[t] += begin * stride;
      });
    }
    if (looked_up) {
      part.one_term = part.one_term && shape.aggregated[l];
      continue;
    }
    strides_of(l, [&](int t, Extent stride) { part.offset[t] += begin * stride; });
    if (extent == 1) continue;
    part.one_term = part.one_term && !shape.aggregated[l];
    bool of_index = false;
    for (int k = 0; k < shape.lookups; ++k) {
      of_index = of_index || shape.operand_stride[k][l] != 0;
    }
    Extent strides[Tensors];
    strides_of(l, [&](int t, Extent stride) { strides[t] = stride; });
    (of_index ? part.indices : part.rows).push(extent, strides);
  }
  part.outputs.sort_by(0);
  part.outputs.merge();
  part.indices.sort_by(operands);
  part.indices.merge();
  part.rows.sort_by(operands);
  part.rows.merge();
  if (part.rows.loops > 0) {
    part.row_length = part.rows.extent[0];
    for (int t = 0; t < Tensors; ++t) part.row_stride[t] = part.rows.stride[t][0];
    part.rows.erase(0);
  }
  return part;
}

/// All parts, for so many threads.
template <int Tensors>
[[nodiscard]] std::vector<LookupPart<Tensors>> lookup_parts(const LocalEinsum& shape,
                                                            const Extent* accumulators,
                                                            Extent threads) {
  // Fewer joins than these are over before another thread has begun.
  constexpr Extent worth_a_thread = 1 << 14;
  // With labels that are looked up the product may be no Extent.
  Extent joins = 1;
  for (int l = 0; l < shape.labels; ++l) {
    const auto looks_up = [l](const LocalEinsum::Lookup& lookup) { return lookup.label == l; };
    if (std::none_of(shape.lookup, shape.lookup + shape.lookups, looks_up))
      joins *= shape.extent[l];
  }
  const int label = label_to_cut(shape);
  const Extent extent = label < 0 ? 1 : shape.extent[label];
  const Extent parts =
      std::clamp<Extent>(std::min({threads, extent, joins / worth_a_thread}), 1, extent);
  std::vector<LookupPart<Tensors>> made;
  made.reserve(static_cast<std::size_t>(parts));
  for (Extent p = 0; p < parts; ++p) {
    made.push_back(lookup_part<Tensors>(shape, accumulators, label, p * extent / parts,
                                        (p + 1) * extent / parts));
  }
  return made;
}

}  // namespace eindecomp::kernel::detail
