// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Kernel calls that read operands beyond the ends of their tensors (KernelCall::open), as kernels
/// that do not: the values of a label at which an operand has no element are calls of their own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/call_part.hpp"

namespace eindecomp::run {

/// An operand that ends before a label does, as LocalEinsum::Ends has it.
struct OperandEnds {
  int operand = -1;
  int label = -1;
  Extent first = 0;
  Extent last = 0;
  Extent period = 0;
};

/// The ends that operands of a call have.
[[nodiscard]] inline std::vector<OperandEnds> operand_ends(
    const Vertex& statement, const KernelCall& call, const std::vector<BlockMemory>& buffers) {
  std::vector<OperandEnds> ends;
  if (!call.open) return ends;
  for (std::size_t o = 0; o < statement.operands.size(); ++o) {
    const Operand& operand = statement.operands[o];
    const Box& block = buffers[to_index(call.operands[o])].box;
    for (std::size_t k = 0; k < operand.indices.size(); ++k) {
      const OperandIndex& index = operand.indices[k];
      if (index.terms.size() != 1) continue;  // stays inside, as what has another coefficient
      const int label = index.terms[0].label;
      const Extent extent = call.domain.extent(label);
      const Extent begin = index.offset + call.domain.lo[to_index(label)];
      const Extent first = std::clamp<Extent>(block.lo[k] - begin, 0, extent);
      const Extent last = std::clamp<Extent>(block.hi[k] - begin, 0, extent);
      if (index.terms[0].coefficient != 1 || (first == 0 && last == extent)) continue;
      const bool periodic = index.boundary == Boundary::periodic;
      ends.push_back({static_cast<int>(o), label, first, last,
                      periodic ? block.extent(static_cast<int>(k)) : 0});
    }
  }
  return ends;
}

/// A part of a kernel call in which some operands may have no elements.
struct OpenPart : CallPart {
  unsigned zeros = 0;  ///< KernelSequence::Part::zeros
};

/// Cuts a call whose operands have ends into parts.
/// \tparam Take  takes an OpenPart and returns whether there is a kernel for it, as there is where
///   its shape has no ends.
template <class Take>
class OpenCallCutter {
 public:
  /// \param bytes  of an element of each operand and, last, of the output
  OpenCallCutter(std::vector<std::int64_t> bytes, const Take& take)
      : m_bytes(std::move(bytes)), m_take(take) {}

  void cut(OpenPart part, std::vector<OperandEnds> ends) {
    if (ends.empty()) {
      (void)m_take(part);
      return;
    }
    // Outer labels first: kernels know of rows.
    const kernel::LocalEinsum& shape = part.shape;
    const auto outer =
        std::max_element(ends.begin(), ends.end(), [&](const OperandEnds& a, const OperandEnds& b) {
          return shape.output_stride[a.label] < shape.output_stride[b.label];
        });
    const int label = outer->label;
    const auto of_it = std::partition(ends.begin(), ends.end(),
                                      [label](const OperandEnds& e) { return e.label != label; });
    const std::vector<OperandEnds> cut(of_it, ends.end());
    ends.erase(of_it, ends.end());
    if (ends.empty() && m_take(with_ends(part, cut))) return;

    Extent first = 0;
    Extent last = shape.extent[label];
    for (const OperandEnds& e : cut) {
      first = std::max(first, e.first);
      last = std::min(last, e.last);
    }
    if (first < last) this->cut(piece(part, label, first, last), ends);
    for (Extent v = 0; v < shape.extent[label]; ++v) {
      if (first <= v && v < last) continue;
      std::vector<OperandEnds> others = ends;
      this->cut(beyond(piece(part, label, v, v + 1), v, cut, others), others);
    }
  }

 private:
  [[nodiscard]] static OpenPart with_ends(OpenPart part, const std::vector<OperandEnds>& list) {
    kernel::LocalEinsum::Ends& ends = part.shape.ends;
    ends.label = list.front().label;
    std::fill(ends.last, ends.last + part.shape.operands, part.shape.extent[ends.label]);
    for (const OperandEnds& e : list) {
      ends.first[e.operand] = e.first;
      ends.last[e.operand] = e.last;
      ends.period[e.operand] = e.period;
    }
    return part;
  }

  /// The part with first <= v < last of a label.
  [[nodiscard]] OpenPart piece(OpenPart part, int label, Extent first, Extent last) const {
    part.narrow(label, first, last - first, m_bytes);
    part.shape.begin[label] += first;
    return part;
  }

  /// The part at one value of a label, where some operands have no element.
  /// \param others  ends along other labels; those of an operand that is 0 are taken out
  [[nodiscard]] OpenPart beyond(OpenPart part, Extent value, const std::vector<OperandEnds>& cut,
                                std::vector<OperandEnds>& others) const {
    for (const OperandEnds& e : cut) {
      if (e.first <= value && value < e.last) continue;
      Extent* const stride = part.shape.operand_stride[e.operand];
      if (e.period > 0) {
        const Extent step = value < e.first ? e.period : -e.period;
        part.operands[e.operand] += step * stride[e.label] * m_bytes[to_index(e.operand)];
        continue;
      }
      part.zeros |= 1U << e.operand;
      std::fill(stride, stride + kernel::max_labels, Extent{0});
      std::erase_if(others, [&](const OperandEnds& o) { return o.operand == e.operand; });
    }
    return part;
  }

  std::vector<std::int64_t> m_bytes;
  const Take& m_take;
};

}  // namespace eindecomp::run
