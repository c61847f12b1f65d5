// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Reductions of a batch of small matrices or vectors, as `bij,bj->bi` of 4 x 4: some matrices at a
/// time are interleaved, the same element of all of them side by side, so that vectors go across
/// the batch where rows of a matrix would be shorter than they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/copy/kernel.hpp"
#include "eindecomp/kernel/generic/join_kernel.hpp"
#include "eindecomp/kernel/generic/join_schedule.hpp"
#include "eindecomp/kernel/generic/map_lanes.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/loop_nest.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Whether PreparedInterleaved computes reductions of a signature: of terms that vectors compute.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool has_interleaved() {
  return compat::is_synchronous<Space> && !Signature<Join, Monoid, Ts...>::elementwise &&
         has_lane_terms<Join, Monoid, Ts...>();
}

/// A reduction as a batch of small ones, of which each tensor has a contiguous piece, or none of
/// its own. The tensors are the operands and, last, the output.
template <int Operands>
struct InterleavedBatch {
  static constexpr int tensors = Operands + 1;
  LoopNest<tensors> outer;     ///< over labels outside the batch
  Extent count = 0;            ///< members of the batch: 0 where the shape is none
  Extent step[tensors]{};      ///< from member to member
  Extent elements[tensors]{};  ///< of a member, where they are interleaved: else 0
  Extent joins = 1;            ///< of a member
  Extent width = 0;            ///< members that are interleaved at a time

  InterleavedBatch(const LocalEinsum& shape, int element_bytes) {
    if (shape.values > 0 || shape.ends.label >= 0 || shape.scan.along >= 0) return;
    const SplitNest<Operands> nest(shape);
    if (nest.inner.loops == 0 || nest.inner.size() == 0 || nest.outer.size() == 0) return;
    if (has_long_rows(nest.inner, element_bytes)) return;
    for (int l = 0; l < nest.outer.loops; ++l) {
      if (take(nest, l, element_bytes)) return;
    }
  }

  /// Whether a label may be the batch. Small shapes have none, and take longer to be looked at
  /// further than to compute.
  [[nodiscard]] static bool has_long_label(const LocalEinsum& shape) {
    for (int l = 0; l < shape.labels; ++l) {
      if (!shape.aggregated[l] && shape.extent[l] >= tuning::min_batch_block) return true;
    }
    return false;
  }
  [[nodiscard]] bool applies() const { return count > 0; }
  [[nodiscard]] Extent blocks() const { return ceil_div(count, width); }
  /// Of the interleaved elements of all tensors.
  [[nodiscard]] Extent buffer_elements() const {
    Extent sum = 0;
    for (int t = 0; t < tensors; ++t) sum += elements[t] * width;
    return sum;
  }
  /// The reductions of `members` that are interleaved: the batch is label 0.
  [[nodiscard]] LocalEinsum block(Extent members) const {
    LocalEinsum shape = m_member;
    shape.extent[0] = members;
    for (int t = 0; t < tensors; ++t) {
      Extent* const stride = t < Operands ? shape.operand_stride[t] : shape.output_stride;
      for (int l = 1; elements[t] > 0 && l < shape.labels; ++l) stride[l] *= width;
      stride[0] = elements[t] > 0 ? 1 : step[t];
    }
    return shape;
  }

 private:
  LocalEinsum m_member;  ///< labels of a member are from 1 on

  /// Takes that loop over outputs for the batch, if it is one.
  bool take(const SplitNest<Operands>& nest, int batch, int element_bytes) {
    if (nest.outer.extent[batch] < tuning::min_batch_block) return false;
    LoopNest<tensors> member = nest.inner;
    for (int l = 0; l < batch; ++l) push_loop(member, nest.outer, l);
    joins = member.size();
    if (joins > tuning::max_member_joins) return false;
    if (has_long_rows(member, element_bytes)) return false;
    Extent all = 0;
    bool in_squares = true;
    for (int t = 0; t < tensors; ++t) {
      step[t] = nest.outer.stride[t][batch];
      elements[t] = 0;
      // A product with one matrix is one of larger matrices.
      if (step[t] == 0 && Operands == 2) return false;
      if (step[t] == 0 || step[t] == 1) continue;
      elements[t] = contiguous_elements(member, t);
      if (elements[t] == 0) return false;
      all += elements[t];
      in_squares = in_squares && elements[t] % 4 == 0;
    }
    // Few terms of one output are gathered as fast as interleaved, unless squares are transposed.
    if (elements[Operands] == 0 && joins < tuning::min_row_joins && !in_squares) return false;
    const Extent most = tuning::max_batch_block_bytes / std::max<Extent>(1, all * element_bytes);
    if (all == 0 || most < tuning::min_batch_block) return false;
    count = nest.outer.extent[batch];
    width = std::clamp(tuning::batch_block_bytes / (all * element_bytes), tuning::min_batch_block,
                       std::min(tuning::max_batch_block, count + tuning::min_batch_block - 1));
    width -= width % tuning::min_batch_block;
    for (int l = batch + 1; l < nest.outer.loops; ++l) push_loop(outer, nest.outer, l);
    m_member.operands = Operands;
    m_member.labels = 1 + member.loops;
    for (int l = 0; l < member.loops; ++l) {
      m_member.extent[l + 1] = member.extent[l];
      m_member.aggregated[l + 1] = l < nest.inner.loops;
      for (int t = 0; t < Operands; ++t) m_member.operand_stride[t][l + 1] = member.stride[t][l];
      m_member.output_stride[l + 1] = member.stride[Operands][l];
    }
    return true;
  }

  /// Whether a loop makes rows that take longer to compute than to begin.
  static bool has_long_rows(const LoopNest<tensors>& nest, int element_bytes) {
    const std::int64_t least = Operands <= 2 ? tuning::min_long_row : tuning::min_long_row_of_many;
    // Rows of terms that vectors go along have the same sums in tiles, bit for bit.
    const Extent lanes = std::min<Extent>(vector_bytes / element_bytes, 16);
    for (int l = 0; l < nest.loops; ++l) {
      bool contiguous = nest.stride[Operands][l] == 0 || nest.stride[Operands][l] == 1;
      for (int t = 0; t < Operands; ++t) {
        contiguous = contiguous && (nest.stride[t][l] == 0 || nest.stride[t][l] == 1);
      }
      if (contiguous && nest.extent[l] * element_bytes >= least) return true;
      const bool is_of_terms = nest.stride[Operands][l] == 0;
      if (Operands <= 2 && contiguous && is_of_terms && nest.extent[l] >= lanes) return true;
    }
    return false;
  }
  static void push_loop(LoopNest<tensors>& to, const LoopNest<tensors>& from, int loop) {
    Extent strides[tensors];
    for (int t = 0; t < tensors; ++t) strides[t] = from.stride[t][loop];
    to.push(from.extent[loop], strides);
  }
  /// Elements of a member in a tensor that follow one another: 0 where there are gaps.
  static Extent contiguous_elements(LoopNest<tensors> member, int tensor) {
    member.sort_by(tensor);
    Extent found = 1;
    for (int l = 0; l < member.loops; ++l) {
      if (member.stride[tensor][l] == 0) continue;
      if (member.stride[tensor][l] != found) return 0;
      found *= member.extent[l];
    }
    return found;
  }
};

/// Such a reduction, on a host space.
template <class Space, class Join, class Monoid, class... Ts>
class PreparedInterleaved final : public PreparedKernel<Space> {
  using Sig = Signature<Join, Monoid, Ts...>;
  using Value = typename Sig::Value;
  using Bits = WordOf<Value>;
  static constexpr int operands = Sig::operands;
  static constexpr int tensors = operands + 1;
  static_assert(sizeof(Bits) == sizeof(Value));

 public:
  PreparedInterleaved(const Space& space, const InterleavedBatch<operands>& batch, const Join& join,
                      const Monoid& monoid, Write write, const char* refusal)
      : m_batch(batch),
        m_whole(batch.block(batch.width), schedule_tuning),
        m_rest(batch.block(batch.count % batch.width), schedule_tuning),
        m_join(join),
        m_monoid(monoid),
        m_write(write),
        m_refusal(refusal),
        m_workers(std::min<Extent>(compat::host_threads(space), items())) {}

  [[nodiscard]] Algorithm algorithm() const override { return Algorithm::direct; }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return m_workers * worker_bytes() + line_bytes;
  }
  [[nodiscard]] std::string explain(const void* const*, const void*) const override {
    std::string text = "algorithm " + std::string(to_string(algorithm())) + ", " +
                       std::to_string(m_batch.width) +
                       " of a batch interleaved, vectors of outputs";
    if (m_refusal != nullptr) text += std::string("; ") + m_refusal;
    return text;
  }
  void run(const Space& space, const void* const* from, void* output,
           unsigned char* workspace) const override {
    workspace +=
        (line_bytes - reinterpret_cast<std::uintptr_t>(workspace) % line_bytes) % line_bytes;
    launch_in_turn(space, "EinDecomp::interleaved batch", items(), [&](Extent item, Extent worker) {
      Cursor<tensors> at;
      at.seek(m_batch.outer, item / groups());
      const Extent first = item % groups() * blocks_per_item();
      const Extent last = std::min(first + blocks_per_item(), m_batch.blocks());
      for (Extent block = first; block < last; ++block) {
        compute_block(from, output, at, block * m_batch.width,
                      reinterpret_cast<Value*>(workspace + worker * worker_bytes()));
      }
    });
  }

 private:
  using Schedule = JoinSchedule<operands>;
  static constexpr JoinTuning cut_by_outputs() {
    JoinTuning tuning = join_tuning<Space, Join, Monoid, Ts...>();
    tuning.split_outputs = 0;
    return tuning;
  }
  static constexpr JoinTuning schedule_tuning = cut_by_outputs();

  [[nodiscard]] Extent blocks_per_item() const {
    return std::max<Extent>(1, schedule_tuning.item_joins / (m_batch.width * m_batch.joins));
  }
  /// Items of the batch, and of all batches.
  [[nodiscard]] Extent groups() const { return ceil_div(m_batch.blocks(), blocks_per_item()); }
  [[nodiscard]] Extent items() const { return m_batch.outer.size() * groups(); }
  [[nodiscard]] std::int64_t worker_bytes() const {
    const std::int64_t bytes = m_batch.buffer_elements() * static_cast<std::int64_t>(sizeof(Value));
    return ceil_div(bytes, line_bytes) * line_bytes;
  }

  void compute_block(const void* const* from, void* output, const Cursor<tensors>& at, Extent first,
                     Value* buffer) const {
    const Extent members = std::min(m_batch.width, m_batch.count - first);
    JoinMemory<Monoid, Value, operands> memory{{m_monoid, nullptr, m_write}, {}, nullptr, {}};
    for (int t = 0; t < operands; ++t) {
      const Value* const own =
          static_cast<const Value*>(from[t]) + at.offset[t] + first * m_batch.step[t];
      memory.operand[t] = own;
      if (m_batch.elements[t] == 0) continue;
      interleave(buffer, own, t, members);
      memory.operand[t] = buffer;
      buffer += m_batch.elements[t] * m_batch.width;
    }
    Value* const own =
        static_cast<Value*>(output) + at.offset[operands] + first * m_batch.step[operands];
    const bool interleaved = m_batch.elements[operands] > 0;
    memory.store.output = interleaved ? buffer : own;
    if (interleaved && m_write == Write::accumulate) interleave(buffer, own, operands, members);
    const JoinItems<schedule_tuning.tile, Join, Monoid, Ts...> items{
        members == m_batch.width ? m_whole : m_rest, m_join, memory};
    for (Extent item = 0; item < items.schedule.items(); ++item) items.compute(item);
    if (interleaved) {
      transpose_plane(reinterpret_cast<Bits*>(own), m_batch.step[operands],
                      reinterpret_cast<const Bits*>(buffer), m_batch.width,
                      m_batch.elements[operands], members);
    }
  }
  void interleave(Value* to, const Value* from, int tensor, Extent members) const {
    transpose_plane(reinterpret_cast<Bits*>(to), m_batch.width, reinterpret_cast<const Bits*>(from),
                    m_batch.step[tensor], members, m_batch.elements[tensor]);
  }

  InterleavedBatch<operands> m_batch;
  Schedule m_whole;
  Schedule m_rest;  ///< of the last block, if it is smaller
  Join m_join;
  Monoid m_monoid;
  Write m_write;
  const char* m_refusal;
  Extent m_workers;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
