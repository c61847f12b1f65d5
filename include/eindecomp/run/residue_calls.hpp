// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Kernel calls of statements whose operands are read at divided indices: as many products as there
/// are residue classes, or fewer, since classes that differ in where they begin alone are one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/residue_classes.hpp"
#include "eindecomp/kernel/contraction.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/shared_taps.hpp"

namespace eindecomp::run {

/// Makes calls one that follow one another along an output label: a further label goes from one to
/// the next. A convolution transposed of few channels thus becomes one of many.
class ResidueCallMerger {
 public:
  /// \param labels  of the output that are cut into classes
  /// \param bytes  of an element of each operand and, last, of the output
  ResidueCallMerger(std::vector<ResidueCall>& calls, std::vector<int> labels,
                    std::vector<std::int64_t> bytes)
      : m_calls(calls), m_labels(std::move(labels)), m_bytes(std::move(bytes)) {}

  void merge() {
    for (std::size_t k = 0; k < m_labels.size(); ++k) merge_along(k);
  }

 private:
  /// The first values of the labels that are cut.
  [[nodiscard]] std::vector<Extent> first(const ResidueCall& call) const {
    std::vector<Extent> first;
    for (const int l : m_labels) first.push_back(call.lo[to_index(l)]);
    return first;
  }

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
    const auto others_first = [this, k](const ResidueCall& call) {
      std::vector<Extent> key = first(call);
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

  [[nodiscard]] bool follows(const ResidueCall& a, const ResidueCall& b, std::size_t k) const {
    std::vector<Extent> next = first(a);
    ++next[k];
    return first(b) == next && a.shape == b.shape && a.shape.labels < kernel::max_labels;
  }

  static void add_label(kernel::LocalEinsum& shape, Extent extent,
                        const std::vector<Extent>& step) {
    const int l = shape.labels++;
    shape.extent[l] = extent;
    for (int o = 0; o < shape.operands; ++o) shape.operand_stride[o][l] = step[to_index(o)];
    shape.output_stride[l] = step.back();
  }

  std::vector<ResidueCall>& m_calls;
  std::vector<int> m_labels;
  std::vector<std::int64_t> m_bytes;
};

/// Makes the products of a call of a statement with periods (Vertex::periods).
class ResidueCallMaker {
 public:
  /// \param whole  where the call's domain begins
  ResidueCallMaker(const Vertex& statement, const KernelCall& call, const CallMemory& whole,
                   const std::vector<BlockMemory>& buffers)
      : m_statement(statement), m_call(call), m_whole(whole), m_buffers(buffers) {
    for (const int operand : call.operands) m_bytes.push_back(buffers[to_index(operand)].bytes);
    m_bytes.push_back(buffers[to_index(call.output)].bytes);
    for (const int l : statement.output) {
      if (statement.periods[to_index(l)] > 1) m_cut.push_back(l);
    }
  }

  /// A product per class, or fewer.
  [[nodiscard]] std::vector<ResidueCall> class_by_class() const {
    return merged(classes(m_call.domain));
  }

  /// Products of what all classes read, and of what some read besides.
  /// \returns nothing where classes do not share what they read
  [[nodiscard]] std::vector<ResidueCall> sharing_taps() const {
    std::optional<std::vector<TapLabel>> labels = tap_labels(m_statement);
    if (!labels) return {};
    const SharedTaps taps(*std::move(labels), m_bytes);
    std::vector<ResidueCall> calls;
    for (const Box& box : whole_periods(m_statement, m_call.domain)) {
      const auto groups = taps.cut(classes(box));
      if (groups.empty()) return {};
      for (const std::vector<ResidueCall>& group : groups) {
        for (ResidueCall& made : merged(group)) calls.push_back(std::move(made));
      }
    }
    return calls;
  }

  /// The same calls for one slice after another of the larger operand, along a label that the other
  /// one lacks: all of them read a slice while it is in cache.
  /// \param slice_bytes  the least of the operand that a slice has
  [[nodiscard]] std::vector<ResidueCall> in_slices(std::vector<ResidueCall> calls,
                                                   std::int64_t slice_bytes) const {
    const auto bytes = [this](std::size_t o) {
      return m_buffers[to_index(m_call.operands[o])].box.size() * m_bytes[o];
    };
    const std::size_t larger = bytes(0) < bytes(1) ? 1 : 0;
    const kernel::LocalEinsum& shape = calls.front().shape;
    int along = -1;
    for (const int l : m_statement.output) {
      const Extent stride = shape.operand_stride[larger][l];
      if (m_statement.periods[to_index(l)] > 1 || shape.operand_stride[1 - larger][l] != 0)
        continue;
      if (stride > (along < 0 ? 0 : shape.operand_stride[larger][along])) along = l;
    }
    const Extent slices =
        along < 0 ? 1 : std::min(shape.extent[along], bytes(larger) / slice_bytes);
    if (slices <= 1) return calls;
    std::vector<ResidueCall> cut;
    for (Extent slice = 0; slice < slices; ++slice) {
      const Extent extent = shape.extent[along];
      const Extent first = extent * slice / slices;
      for (ResidueCall part : calls) {
        part.narrow(along, first, extent * (slice + 1) / slices - first, m_bytes);
        cut.push_back(std::move(part));
      }
    }
    return cut;
  }

 private:
  [[nodiscard]] std::vector<ResidueCall> classes(const Box& domain) const {
    const auto bytes_between = [](const void* begin, const void* end) {
      return static_cast<const char*>(end) - static_cast<const char*>(begin);
    };
    std::vector<ResidueCall> calls;
    graph::for_each_residue_class(
        m_statement, domain.lo, domain.hi,
        [&](const std::vector<Extent>& lo, const std::vector<Extent>& hi) {
          const CallMemory part = call_memory(m_statement, m_call, {lo, hi}, m_buffers);
          ResidueCall& made = calls.emplace_back();
          made.shape = part.shape;
          // No aggregation whose identity is read asks for the index.
          std::fill(made.shape.begin, made.shape.begin + kernel::max_labels, Extent{0});
          for (int o = 0; o < part.shape.operands; ++o) {
            made.operands[o] = bytes_between(m_whole.operands[o], part.operands[o]);
          }
          made.output = bytes_between(m_whole.output, part.output);
          made.lo = lo;
        });
    return calls;
  }

  [[nodiscard]] std::vector<ResidueCall> merged(std::vector<ResidueCall> calls) const {
    ResidueCallMerger(calls, m_cut, m_bytes).merge();
    return calls;
  }

  const Vertex& m_statement;
  const KernelCall& m_call;
  const CallMemory& m_whole;
  const std::vector<BlockMemory>& m_buffers;
  std::vector<std::int64_t> m_bytes;  ///< of an element of each operand and, last, of the output
  std::vector<int> m_cut;             ///< labels of the output that have a period
};

/// The products of a call of a statement with periods (Vertex::periods).
/// \param whole  where the call's domain begins
/// \param threads  of the space, if its kernels pack what they read, so that it pays to read it
///   once; else 0
[[nodiscard]] inline std::vector<ResidueCall> residue_calls(const Vertex& statement,
                                                            const KernelCall& call,
                                                            const CallMemory& whole,
                                                            const std::vector<BlockMemory>& buffers,
                                                            int threads) {
  const ResidueCallMaker maker(statement, call, whole, buffers);
  std::vector<ResidueCall> calls = maker.class_by_class();
  if (threads == 0 || calls.size() == 1 || call.operands.size() != 2) return calls;
  if (!statement.op.finishes) {
    std::vector<ResidueCall> sharing = maker.sharing_taps();
    if (!sharing.empty() && moved_elements(sharing) < moved_elements(calls)) {
      const bool windows = std::any_of(calls.begin(), calls.end(), [](const ResidueCall& one) {
        return kernel::detail::reads_windows(one.shape);
      });
      for (ResidueCall& one : sharing) one.shape.from_windows = windows;
      calls = std::move(sharing);
    }
  }
  return maker.in_slices(std::move(calls), threads * tuning::shared_slice_bytes);
}

}  // namespace eindecomp::run
