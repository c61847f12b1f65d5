// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A box of a tensor in memory, its elements' type forgotten, and the geometry of copies and kernel
/// calls on such boxes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/scanned_label.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"

namespace eindecomp::run {

/// "512 x 1024"; "a scalar" of rank 0.
inline std::string extents_text(const std::vector<Extent>& extents) {
  return core::extents_text(extents);
}

/// "0, 512".
inline std::string index_text(const std::vector<Extent>& index) {
  std::string text;
  for (Extent i : index) text += (text.empty() ? "" : ", ") + std::to_string(i);
  return text;
}

/// Elements of a tensor's `box`, at `data`, `stride` elements apart per dimension.
struct BlockMemory {
  char* data = nullptr;
  Box box;
  Extent stride[max_rank]{};
  int bytes = 0;  ///< of one element

  /// Row-major without gaps.
  [[nodiscard]] static BlockMemory dense(void* data, const Box& box, int bytes) {
    BlockMemory block{static_cast<char*>(data), box, {}, bytes};
    Extent step = 1;
    for (int k = box.rank() - 1; k >= 0; --k) {
      block.stride[k] = step;
      step *= box.extent(k);
    }
    return block;
  }

  /// The box of a tensor that `view` shows, of the same extents.
  [[nodiscard]] static BlockMemory of(const kernel::StridedTensor& view, const Box& box) {
    BlockMemory block{static_cast<char*>(const_cast<void*>(view.data)),
                      box,
                      {},
                      static_cast<int>(view.element_bytes)};
    std::copy(view.stride, view.stride + view.rank, block.stride);
    return block;
  }

  /// Whether boxes, strides and elements' sizes are the same, wherever the blocks lie.
  [[nodiscard]] bool has_geometry_of(const BlockMemory& other) const {
    return bytes == other.bytes && box == other.box &&
           std::equal(stride, stride + box.rank(), other.stride);
  }

  /// The element of index `lo`.
  [[nodiscard]] char* at(const std::vector<Extent>& lo) const {
    Extent offset = 0;
    for (std::size_t k = 0; k < lo.size(); ++k) offset += (lo[k] - box.lo[k]) * stride[k];
    return data + offset * bytes;
  }

  /// Whether `part` lies here in row-major order without gaps.
  [[nodiscard]] bool contiguous(const Box& part) const {
    Extent step = 1;
    for (int k = part.rank() - 1; k >= 0; --k) {
      if (part.extent(k) == 1) continue;
      if (stride[k] != step) return false;
      step *= part.extent(k);
    }
    return true;
  }
};

/// A block as a strided tensor of its extents.
[[nodiscard]] inline kernel::StridedTensor strided_tensor(const BlockMemory& block) {
  kernel::StridedTensor tensor;
  tensor.data = block.data;
  tensor.element_bytes = block.bytes;
  tensor.rank = block.box.rank();
  for (int k = 0; k < tensor.rank; ++k) tensor.extent[k] = block.box.extent(k);
  std::copy(block.stride, block.stride + tensor.rank, tensor.stride);
  return tensor;
}

/// The strides of a copy of `part` between two blocks that contain it. Neighbouring dimensions that
/// both blocks walk as one are merged, dimensions of extent 1 dropped.
inline kernel::StridedBox strided_box(const Box& part, const BlockMemory& into,
                                      const BlockMemory& from) {
  kernel::StridedBox shape;
  for (int k = 0; k < part.rank(); ++k) {
    const Extent extent = part.extent(k);
    if (extent == 1) continue;
    const int last = shape.rank - 1;
    if (last >= 0 && shape.into_stride[last] == extent * into.stride[k] &&
        shape.from_stride[last] == extent * from.stride[k]) {
      shape.extent[last] *= extent;
      shape.into_stride[last] = into.stride[k];
      shape.from_stride[last] = from.stride[k];
      continue;
    }
    shape.extent[shape.rank] = extent;
    shape.into_stride[shape.rank] = into.stride[k];
    shape.from_stride[shape.rank] = from.stride[k];
    ++shape.rank;
  }
  return shape;
}

/// The strides of what is spread from one block to another.
inline kernel::StridedBox strided_box(const Spread& spread, const BlockMemory& into,
                                      const BlockMemory& from) {
  kernel::StridedBox shape;
  shape.rank = spread.read.rank();
  for (int k = 0; k < shape.rank; ++k) {
    const Extent step = spread.steps[to_index(k)];
    shape.extent[k] = spread.count(k);
    shape.into_stride[k] = into.stride[k] * std::max<Extent>(step, 1);
    shape.from_stride[k] = from.stride[k] * std::min<Extent>(step, 1);
  }
  return shape;
}

/// The element that a call reads first of an operand whose indices are computed, and what each
/// label's next value adds: windows that overlap are strides that do.
/// \param periods  Vertex::periods, how far apart the values of each label are; empty: by one
inline char* computed_address(const Operand& operand, const Box& domain,
                              const std::vector<Extent>& periods, const BlockMemory& block,
                              Extent* strides) {
  Extent offset = 0;
  for (std::size_t k = 0; k < operand.indices.size(); ++k) {
    const OperandIndex& index = operand.indices[k];
    const Extent divisor = periods.empty() ? 1 : index.divisor;
    Extent first = index.offset;
    for (const OperandIndex::Term& term : index.terms) {
      const Extent step = periods.empty() ? 1 : periods[to_index(term.label)];
      first += term.coefficient * domain.lo[to_index(term.label)];
      strides[term.label] += term.coefficient * step / divisor * block.stride[k];
    }
    offset += (first / divisor - block.box.lo[k]) * block.stride[k];
  }
  return block.data + offset * block.bytes;
}

/// What a kernel call reads and writes.
struct CallMemory {
  kernel::LocalEinsum shape;
  const void* operands[kernel::max_operands]{};
  void* output = nullptr;
};

/// The loop nest of a statement over the labels in `domain`, on blocks that contain what it reads
/// and writes (paper, section 4: one kernel call). Where the statement has periods, a label's
/// values are a period apart: `domain` is one of its residue classes.
inline CallMemory call_memory(const Vertex& statement, const Box& domain,
                              std::span<const BlockMemory* const> operands,
                              const BlockMemory& output) {
  CallMemory call;
  kernel::LocalEinsum& shape = call.shape;
  shape.labels = static_cast<int>(statement.labels.size());
  const auto tensors = static_cast<int>(statement.operands.size());
  shape.lookups = statement.op.index_tensors;
  shape.values = static_cast<int>(statement.values.size()) - shape.lookups;
  shape.operands = tensors + shape.values;
  for (int l = 0; l < shape.labels; ++l) {
    shape.extent[l] = domain.extent(l);
    shape.begin[l] = domain.lo[to_index(l)];
  }
  for (int l : statement.aggregated) shape.aggregated[l] = true;
  if (graph::is_scan(statement, domain)) {
    shape.scan = {graph::scan_along(statement), statement.scanned,
                  graph::scans_backwards(statement)};
  }
  for (int k = 0; k < shape.lookups; ++k) {
    const int label = statement.values[to_index(k)];
    shape.lookup[k] = {label, statement.extents[to_index(label)]};
  }

  const std::vector<Extent>& periods = statement.periods;
  const auto address = [&](const BlockMemory& block, const std::vector<int>& labels,
                           Extent* strides) {
    Extent offset = 0;
    for (std::size_t k = 0; k < labels.size(); ++k) {
      const Extent step = periods.empty() ? 1 : periods[to_index(labels[k])];
      offset += (domain.lo[to_index(labels[k])] - block.box.lo[k]) * block.stride[k];
      strides[labels[k]] += step * block.stride[k];
    }
    return block.data + offset * block.bytes;
  };
  for (int o = tensors; o < shape.operands; ++o) {
    const int label = statement.values[to_index(o - tensors)];
    call.operands[o] = address(*operands[to_index(o)], {label}, shape.operand_stride[o]);
  }
  for (int o = 0; o < tensors; ++o) {
    const Operand& operand = statement.operands[to_index(o)];
    call.operands[o] =
        operand.is_computed()
            ? computed_address(operand, domain, periods, *operands[to_index(o)],
                               shape.operand_stride[o])
            : address(*operands[to_index(o)], operand.labels, shape.operand_stride[o]);
  }
  call.output = address(output, statement.output, shape.output_stride);
  return call;
}

/// What a call of a rank's program reads and writes. \param domain  of it, or a part of that
[[nodiscard]] inline CallMemory call_memory(const Vertex& statement, const KernelCall& call,
                                            const Box& domain,
                                            const std::vector<BlockMemory>& buffers) {
  const BlockMemory* operands[kernel::max_operands]{};
  for (std::size_t o = 0; o < call.operands.size(); ++o) {
    operands[o] = &buffers[to_index(call.operands[o])];
  }
  return call_memory(statement, domain, {operands, call.operands.size()},
                     buffers[to_index(call.output)]);
}

/// Cuts a box into parts of at most `limit` elements (at least one) that follow one another in
/// row-major order, and calls visit(part, index of its first element) for each.
template <class Visit>
void for_each_slab(const Box& box, Extent limit, const Visit& visit) {
  if (box.empty()) return;
  // Dimensions from `cut` + 1 on fit whole; `cut` itself is taken in runs, those before one by one.
  int cut = box.rank() - 1;
  Extent inner = 1;
  while (cut >= 0 && inner * box.extent(cut) <= limit) inner *= box.extent(cut--);
  if (cut < 0) {
    visit(box, Extent{0});
    return;
  }
  const Extent run = std::max<Extent>(limit / inner, 1);
  Extent first = 0;
  Box part = box;
  for (int k = 0; k < cut; ++k) part.hi[to_index(k)] = part.lo[to_index(k)] + 1;
  while (true) {
    for (Extent i = box.lo[to_index(cut)]; i < box.hi[to_index(cut)]; i += run) {
      part.lo[to_index(cut)] = i;
      part.hi[to_index(cut)] = std::min(i + run, box.hi[to_index(cut)]);
      visit(part, first);
      first += part.size();
    }
    int k = cut - 1;
    for (; k >= 0; --k) {
      ++part.lo[to_index(k)];
      if (part.lo[to_index(k)] < box.hi[to_index(k)]) break;
      part.lo[to_index(k)] = box.lo[to_index(k)];
      part.hi[to_index(k)] = part.lo[to_index(k)] + 1;
    }
    if (k < 0) return;
    part.hi[to_index(k)] = part.lo[to_index(k)] + 1;
  }
}

}  // namespace eindecomp::run
