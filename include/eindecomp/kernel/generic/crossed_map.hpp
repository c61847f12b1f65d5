// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Maps with operands that lie across the output, as X(j, i) does in X(i, j) + X(j, i): block by
/// block, in which these are put in the output's order first, so that all operands are rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/copy/kernel.hpp"
#include "eindecomp/kernel/generic/join_kernel.hpp"
#include "eindecomp/kernel/generic/map_row.hpp"
#include "eindecomp/kernel/generic/masked_signature.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/loop_nest.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/simd/streaming_store.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Whether PreparedCrossed computes maps of a signature. Of those that can aggregate, as einsum's
/// do, only those that go by vectors: to compile it for others would cost more than it is worth.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool has_crossed() {
  return compat::is_synchronous<Space> &&
         (Signature<Join, Monoid, Ts...>::elementwise || has_lane_terms<Join, Monoid, Ts...>()) &&
         !maps_masked<Join, Monoid, Ts...>() && ((sizeof(WordOf<Ts>) == sizeof(Ts)) && ...);
}

/// A map whose blocks are rows along one label of the output, as many as there are positions of
/// another, along which operands that lie across are contiguous. The tensors are the operands and,
/// last, the output.
template <int Operands>
struct CrossedMap {
  static constexpr int tensors = Operands + 1;
  LoopNest<tensors> outer;   ///< over all other labels
  Extent length = 0;         ///< of a row: 0 where the map is none of these
  Extent rows = 0;           ///< positions of the other label
  Extent along[tensors]{};   ///< strides within a row
  Extent across[tensors]{};  ///< from row to row
  unsigned crossed = 0;      ///< bit t: operand t lies across, and is put in order

  explicit CrossedMap(const LocalEinsum& shape) {
    if (shape.values > 0 || shape.ends.label >= 0 || shape.scan.along >= 0) return;
    int row = -1;
    int other = -1;
    for (int l = 0; l < shape.labels; ++l) {
      if (shape.aggregated[l]) return;
      if (shape.output_stride[l] == 1 && shape.extent[l] >= tuning::min_crossed_length) row = l;
    }
    if (row < 0) return;
    for (int t = 0; t < Operands; ++t) {
      for (int l = 0; l < shape.labels && other < 0; ++l) {
        if (lies_across(shape, t, row, l)) other = l;
      }
    }
    if (other < 0) return;
    for (int t = 0; t < Operands; ++t) {
      if (lies_across(shape, t, row, other)) crossed |= 1U << t;
    }
    for (int l = 0; l < shape.labels; ++l) {
      Extent stride[tensors];
      for (int t = 0; t < Operands; ++t) stride[t] = shape.operand_stride[t][l];
      stride[Operands] = shape.output_stride[l];
      if (l == row || l == other) {
        std::copy(stride, stride + tensors, l == row ? along : across);
        continue;
      }
      outer.push(shape.extent[l], stride);
    }
    outer.sort_by(Operands);
    outer.merge();
    length = shape.extent[row];
    rows = shape.extent[other];
  }

  [[nodiscard]] bool applies() const { return length > 0 && outer.size() > 0; }
  /// Blocks of rows, and of what lies along a row.
  [[nodiscard]] Extent strips() const { return ceil_div(rows, tuning::crossed_rows); }
  [[nodiscard]] Extent groups() const { return ceil_div(length, tuning::crossed_length); }
  /// Pieces that the strips of a group are cut into, if there are few groups.
  [[nodiscard]] Extent pieces() const {
    return std::clamp<Extent>(tuning::crossed_items / (outer.size() * groups()), 1, strips());
  }
  [[nodiscard]] int buffers() const {
    int count = 0;
    for (int t = 0; t < Operands; ++t) count += is_crossed(t) ? 1 : 0;
    return count;
  }
  /// Operands that are contiguous along a row once they are in order; none where one is neither
  /// that nor the same all along (JoinSchedule::contiguous_operands).
  [[nodiscard]] unsigned contiguous() const {
    unsigned found = 0;
    for (int t = 0; t < Operands; ++t) {
      if (is_crossed(t) || along[t] == 1) {
        found |= 1U << t;
      } else if (along[t] != 0) {
        return 0;
      }
    }
    return found;
  }
  [[nodiscard]] bool is_crossed(int t) const { return (crossed >> t & 1U) != 0; }

 private:
  [[nodiscard]] static bool lies_across(const LocalEinsum& shape, int t, int row, int other) {
    const Extent* const stride = shape.operand_stride[t];
    return other != row && stride[other] == 1 && stride[row] != 1 && stride[row] != 0 &&
           shape.extent[other] >= tuning::min_crossed_rows;
  }
};

/// Such a map, on a host space.
template <class Space, class Join, class Monoid, class... Ts>
class PreparedCrossed final : public PreparedKernel<Space> {
  using Sig = Signature<Join, Monoid, Ts...>;
  using Value = typename Sig::Value;
  using State = typename Sig::State;
  using Row = MapRow<Join, Monoid, Ts...>;
  static constexpr int operands = Sig::operands;
  static constexpr int tensors = operands + 1;

 public:
  PreparedCrossed(const Space& space, const CrossedMap<operands>& map, const Join& join,
                  const Monoid& monoid, Write write)
      : m_map(map),
        m_join(join),
        m_monoid(monoid),
        m_write(write),
        m_workers(compat::host_threads(space)),
        m_streamed(write == Write::finished &&
                   store_policy(map.outer.size() * map.rows * map.length *
                                static_cast<std::int64_t>(sizeof(State))) ==
                       StorePolicy::non_temporal) {}

  [[nodiscard]] Algorithm algorithm() const override { return Algorithm::direct; }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return m_workers * worker_bytes() + line_bytes;
  }
  [[nodiscard]] std::string explain(const void* const*, const void*) const override {
    return "algorithm " + std::string(to_string(algorithm())) +
           ", block by block for operands that lie across";
  }
  void run(const Space& space, const void* const* from, void* output,
           unsigned char* workspace) const override {
    const Extent pieces = m_map.pieces();
    const Extent groups = m_map.groups();
    const Extent strips = m_map.strips();
    const Store<Monoid, Value> store{m_monoid, output, m_write};
    workspace +=
        (line_bytes - reinterpret_cast<std::uintptr_t>(workspace) % line_bytes) % line_bytes;
    launch_in_turn(space, "EinDecomp::crossed map", m_map.outer.size() * groups * pieces,
                   [&](Extent item, Extent worker) {
                     Cursor<tensors> at;
                     at.seek(m_map.outer, item / pieces / groups);
                     const Extent first = item / pieces % groups * tuning::crossed_length;
                     const Extent piece = item % pieces;
                     for (Extent s = strips * piece / pieces; s < strips * (piece + 1) / pieces;
                          ++s) {
                       compute_block(from, at, s * tuning::crossed_rows, first, store,
                                     workspace + worker * worker_bytes());
                     }
#if defined(EINDECOMP_STREAMING_BYTES)
                     if (m_streamed) end_streaming();
#endif
                   });
  }

 private:
  /// Bytes of a block of an operand in order, and of those of a worker.
  static constexpr std::int64_t block_bytes = tuning::crossed_rows * tuning::crossed_length *
                                              static_cast<std::int64_t>(std::max({sizeof(Ts)...}));
  [[nodiscard]] std::int64_t worker_bytes() const { return m_map.buffers() * block_bytes; }

  void compute_block(const void* const* from, const Cursor<tensors>& at, Extent first_row,
                     Extent first, const Store<Monoid, Value>& store, unsigned char* buffer) const {
    const Extent rows = std::min(tuning::crossed_rows, m_map.rows - first_row);
    const Extent length = std::min(tuning::crossed_length, m_map.length - first);
    const void* operand[operands];
    Extent offset[tensors];
    Extent along[operands];
    Extent across[operands];
    for (int t = 0; t < tensors; ++t) {
      offset[t] = at.offset[t] + first_row * m_map.across[t] + first * m_map.along[t];
    }
    const auto put_in_order = [&]<class T>(int t, const T* tensor) {
      operand[t] = tensor;
      along[t] = m_map.along[t];
      across[t] = m_map.across[t];
      if (!m_map.is_crossed(t)) return;
      using Bits = WordOf<T>;
      static_assert(sizeof(Bits) == sizeof(T));
      auto* const to = reinterpret_cast<Bits*>(buffer);
      buffer += block_bytes;
      transpose_plane(to, tuning::crossed_length, reinterpret_cast<const Bits*>(tensor + offset[t]),
                      along[t], length, rows);
      operand[t] = to;
      along[t] = 1;
      across[t] = tuning::crossed_length;
      offset[t] = 0;
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (put_in_order(static_cast<int>(I), static_cast<const Ts*>(from[I])), ...);
    }
    (std::index_sequence_for<Ts...>{});
    const Row map{m_join, m_monoid, operand, along, m_map.contiguous()};
    for (Extent r = 0; r < rows; ++r) {
      compute_row(map, offset, along, length, store);
      for (int t = 0; t < operands; ++t) offset[t] += across[t];
      offset[operands] += m_map.across[operands];
    }
  }

  void compute_row(const Row& map, const Extent* begin, const Extent* along, Extent length,
                   const Store<Monoid, Value>& store) const {
    auto* const output = static_cast<State*>(store.output) + begin[operands];
    if (is_direct && m_write != Write::accumulate &&
        map.template direct<true>(begin, {length}, output, m_write, hints_at(output))) {
      return;
    }
    constexpr Extent piece = map_piece<State>;
    alignas(64) State states[piece];
    for (Extent done = 0; done < length; done += piece) {
      const auto width = static_cast<int>(std::min<Extent>(piece, length - done));
      Extent offset[tensors];
      for (int t = 0; t < operands; ++t) offset[t] = begin[t] + done * along[t];
      map.into(offset, width, states);
      store.row(begin[operands] + done, 1, states, width);
    }
  }

  /// Large outputs are streamed where rows begin on lines.
  [[nodiscard]] MemoryHints hints_at(const State* output) const {
    MemoryHints hints;
    hints.streamed =
        m_streamed && reinterpret_cast<std::uintptr_t>(output) % std::uintptr_t{line_bytes} == 0;
    return hints;
  }

  /// Whether results are stored as they are computed.
  static constexpr bool is_direct =
      std::is_same_v<State, typename Sig::Result> && !Sig::Traits::finishes;
  CrossedMap<operands> m_map;
  Join m_join;
  Monoid m_monoid;
  Write m_write;
  int m_workers;
  bool m_streamed;  ///< the output is larger than the caches
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
