// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Kernel calls of statements whose operands are read at divided indices: as many products as there
/// are residue classes, or fewer, since classes that differ in where they begin alone are one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/residue_classes.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/run/block_memory.hpp"

namespace eindecomp::run {

/// A part of a kernel call, and by how many bytes its tensors begin behind those of the whole.
struct ResidueCall {
  kernel::LocalEinsum shape;
  std::int64_t operands[kernel::max_operands]{};
  std::int64_t output = 0;
  std::vector<Extent> first;  ///< per output label that is cut into classes, its first value
};

/// Makes calls one that follow one another along an output label: a further label goes from one to
/// the next. A convolution transposed of few channels thus becomes one of many.
class ResidueCallMerger {
 public:
  /// \param bytes  of an element of each operand and, last, of the output
  ResidueCallMerger(std::vector<ResidueCall>& calls, std::vector<std::int64_t> bytes)
      : m_calls(calls), m_bytes(std::move(bytes)) {}

  void merge() {
    for (std::size_t k = 0; k < m_calls.front().first.size(); ++k) merge_along(k);
  }

 private:
  /// By how many elements a call's tensors begin behind those of another.
  [[nodiscard]] std::vector<Extent> steps(const ResidueCall& from, const ResidueCall& to) const {
    std::vector<Extent> steps;
    const std::size_t operands = m_bytes.size() - 1;
    for (std::size_t o = 0; o < operands; ++o) {
      steps.push_back((to.operands[o] - from.operands[o]) / m_bytes[o]);
    }
    steps.push_back((to.output - from.output) / m_bytes[operands]);
    return steps;
  }

  void merge_along(std::size_t k) {
    const auto others_first = [k](const ResidueCall& call) {
      std::vector<Extent> key = call.first;
      std::swap(key[k], key.back());
      return key;
    };
    std::stable_sort(m_calls.begin(), m_calls.end(),
                     [&](const ResidueCall& a, const ResidueCall& b) {
                       return others_first(a) < others_first(b);
                     });
    std::vector<ResidueCall> made;
    for (std::size_t i = 0; i < m_calls.size();) {
      std::size_t end = i + 1;
      std::vector<Extent> step;
      for (; end < m_calls.size() && follows(m_calls[end - 1], m_calls[end], k); ++end) {
        std::vector<Extent> own = steps(m_calls[end - 1], m_calls[end]);
        if (!step.empty() && own != step) break;
        step = std::move(own);
      }
      made.push_back(m_calls[i]);
      if (end - i > 1) add_label(made.back().shape, static_cast<Extent>(end - i), step);
      i = end;
    }
    m_calls = std::move(made);
  }

  [[nodiscard]] static bool follows(const ResidueCall& a, const ResidueCall& b, std::size_t k) {
    std::vector<Extent> next = a.first;
    ++next[k];
    return b.first == next && a.shape == b.shape && a.shape.labels < kernel::max_labels;
  }

  static void add_label(kernel::LocalEinsum& shape, Extent extent,
                        const std::vector<Extent>& step) {
    const int l = shape.labels++;
    shape.extent[l] = extent;
    for (int o = 0; o < shape.operands; ++o) shape.operand_stride[o][l] = step[at(o)];
    shape.output_stride[l] = step.back();
  }

  std::vector<ResidueCall>& m_calls;
  std::vector<std::int64_t> m_bytes;
};

/// The products of a call of a statement with periods (Vertex::periods).
/// \param whole  where the call's domain begins
[[nodiscard]] inline std::vector<ResidueCall> residue_calls(
    const Vertex& statement, const KernelCall& call, const CallMemory& whole,
    const std::vector<BlockMemory>& buffers) {
  const auto bytes_between = [](const void* begin, const void* end) {
    return static_cast<const char*>(end) - static_cast<const char*>(begin);
  };
  std::vector<ResidueCall> calls;
  graph::for_each_residue_class(
      statement, call.domain.lo, call.domain.hi,
      [&](const std::vector<Extent>& lo, const std::vector<Extent>& hi) {
        const CallMemory part = call_memory(statement, call, {lo, hi}, buffers);
        ResidueCall& made = calls.emplace_back();
        made.shape = part.shape;
        // No aggregation whose identity is read asks for the index.
        std::fill(made.shape.begin, made.shape.begin + kernel::max_labels, Extent{0});
        for (int o = 0; o < part.shape.operands; ++o) {
          made.operands[o] = bytes_between(whole.operands[o], part.operands[o]);
        }
        made.output = bytes_between(whole.output, part.output);
        for (const int l : statement.output) {
          if (statement.periods[at(l)] > 1) made.first.push_back(lo[at(l)]);
        }
      });
  std::vector<std::int64_t> bytes;
  for (const int operand : call.operands) bytes.push_back(buffers[at(operand)].bytes);
  bytes.push_back(buffers[at(call.output)].bytes);
  ResidueCallMerger(calls, std::move(bytes)).merge();
  return calls;
}

}  // namespace eindecomp::run
