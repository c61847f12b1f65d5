// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Scans: every output aggregates one element more than the one before it, in linear time.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/half.hpp"
#include "eindecomp/expr/operator.hpp"
#include "eindecomp/kernel/copy/kernel.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
#include "eindecomp/kernel/scan/schedule.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/simd/streaming_store.hpp"
#include "eindecomp/kernel/tile_kernel.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Whether statements of a signature may be scans (Operator::passes).
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool has_scan() {
  return std::is_same_v<Join, Identity> && sizeof...(Ts) == 1 &&
         expr::identity_value<Monoid> != OutsideValue::none;
}

/// What an item of a launch is, and what it does.
enum class ScanPhase {
  whole,      ///< a strip from its first element to its last output
  aggregate,  ///< a group of pieces of a strip: what each aggregates is kept
  carry,      ///< a strip: of every piece, what those before it aggregate takes its place
  outputs,    ///< a group of pieces of a strip: its outputs
};

/// \tparam Host  outputs of a group of pieces are computed in turns, so that no addition waits for
///   the one before it. Threads of devices have no room for that, and others to wait with.
template <bool Host, class Monoid, class T>
struct ScanKernel {
  using Sig = Signature<Identity, Monoid, T>;
  using Value = typename Sig::Value;
  using Traits = typename Sig::Traits;
  using State = typename Sig::State;
  static constexpr int group = Host ? tuning::scan_group : 1;  ///< pieces of an item
  /// States of the pieces of an item that there is room for, scan by scan.
  static constexpr int room = static_cast<int>(
      std::max<std::size_t>(1, std::size_t{tuning::states_bytes} / (group * sizeof(State))));
  static constexpr int strip = Host ? std::min(tuning::scan_strip, room) : 1;  ///< scans, at most
  /// Elements of a piece: of a host at most, of a device at least.
  static constexpr int most = Host ? std::min(tuning::scan_piece, room) : tuning::device_scan_piece;

  ScanSchedule schedule;
  const T* operand = nullptr;
  Store<Monoid, Value> store;
  State* aggregates = nullptr;  ///< but in phase whole: [strip][piece][scan]
  ScanPhase phase = ScanPhase::whole;
  bool streamed = false;  ///< outputs are written by non-temporal stores

  /// Whether they may be: they are stored as they are, one after another.
  [[nodiscard]] static bool may_stream(const ScanSchedule& schedule, const void* operand,
                                       const void* output, Write write) {
    const bool neighbours = schedule.width > 1 || schedule.step[1] == 1 || schedule.step[1] == -1;
    return std::is_same_v<State, typename Sig::Result> && !Traits::finishes &&
           write == Write::finished && neighbours && operand != output;
  }

  [[nodiscard]] static ScanSchedule make_schedule(const LocalEinsum& shape) {
    return ScanSchedule(shape, strip, group, most, Host ? 0 : tuning::device_scans);
  }
  [[nodiscard]] static Extent groups_of(const ScanSchedule& schedule) {
    return ceil_div(schedule.pieces, group);
  }

  EINDECOMP_FUNCTION void operator()(const Extent item) const {
    const bool by_strip = phase == ScanPhase::whole || phase == ScanPhase::carry;
    const Extent groups = by_strip ? 1 : (schedule.pieces + group - 1) / group;
    // Neighbouring threads of a device have neighbouring scans.
    const Extent number = Host ? item / groups : item % schedule.strips;
    const Extent begin = (Host ? item % groups : item / schedule.strips) * group;
    const bool to_end = by_strip || begin + group > schedule.pieces;
    const Extent end = to_end ? schedule.pieces : begin + group;
    Cursor<2> at;
    at.seek(schedule.outer, number);
    const Strip here{at.offset[0] + schedule.first[0] + schedule.before * schedule.step[0],
                     at.offset[1] + schedule.first[1], schedule.width_at(at),
                     number * schedule.pieces * schedule.width};
    State total[strip];
    for (int j = 0; j < here.width; ++j) total[j] = Traits::identity(store.monoid);
    switch (phase) {
      case ScanPhase::aggregate:
        aggregate_each(here, begin, end, kept_of(here, begin));
        return;
      case ScanPhase::carry:
        carry(here, total);
        return;
      case ScanPhase::outputs: {
        const Extent first = begin < schedule.pieces_before ? schedule.pieces_before : begin;
        if (first >= end) return;
        for (int j = 0; j < here.width; ++j) total[j] = kept_of(here, first)[j];
        write_outputs(here, first, end, total);
        return;
      }
      case ScanPhase::whole:
        aggregate_before(here, total);
        write_outputs(here, schedule.pieces_before, end, total);
        return;
    }
  }

 private:
  /// Where a strip's scans have their first outputs, how many they are, and where what their first
  /// piece aggregates is kept.
  struct Strip {
    Extent operand, output;
    int width;
    Extent kept;
  };
  /// What a piece aggregates, scan by scan.
  [[nodiscard]] EINDECOMP_FUNCTION State* kept_of(const Strip& here, Extent number) const {
    return aggregates + (here.kept + number * schedule.width);
  }

  [[nodiscard]] EINDECOMP_FUNCTION State lifted(const T& element) const {
    return Traits::lift(store.monoid, static_cast<Value>(expr::widened(element)), 0);
  }
  [[nodiscard]] EINDECOMP_FUNCTION const T* element(const Strip& strip_at, Extent number) const {
    return operand + (strip_at.operand + number * schedule.step[0]);
  }

  /// What each piece aggregates gives way to what those before it do. \param total  nothing yet
  EINDECOMP_FUNCTION void carry(const Strip& here, State* total) const {
    for (Extent p = 0; p < schedule.pieces; ++p) {
      State* const kept = kept_of(here, p);
      for (int j = 0; j < here.width; ++j) {
        const State next = Traits::combine(store.monoid, total[j], kept[j]);
        kept[j] = total[j];
        total[j] = next;
      }
    }
  }
  /// Adds up what comes before the first outputs.
  EINDECOMP_FUNCTION void aggregate_before(const Strip& here, State* total) const {
    State sums[group * strip];
    for (Extent begin = 0; begin < schedule.pieces_before; begin += group) {
      Extent end = begin + group;
      if (end > schedule.pieces_before) end = schedule.pieces_before;
      aggregate_each(here, begin, end, sums);
      for (Extent p = 0; p < end - begin; ++p) {
        for (int j = 0; j < here.width; ++j) {
          total[j] = Traits::combine(store.monoid, total[j], sums[p * schedule.width + j]);
        }
      }
    }
  }
  /// The outputs of some pieces. \param total  of what comes before them
  EINDECOMP_FUNCTION void write_outputs(const Strip& here, Extent begin, Extent end,
                                        State* total) const {
    for (; begin < end; begin += group) {
      const Extent last = begin + group < end ? begin + group : end;
      if (schedule.width == 1) {
        scan_one(here, begin, last, total[0]);
      } else {
        for (Extent p = begin; p < last; ++p) scan_strip(here, p, total);
      }
    }
#if defined(EINDECOMP_STREAMING_BYTES) && !defined(EINDECOMP_DEVICE_PASS)
    if (streamed) end_streaming();
#endif
  }

  /// What each of some pieces aggregates: kept[piece][scan].
  EINDECOMP_FUNCTION void aggregate_each(const Strip& here, Extent begin, Extent end,
                                         State* kept) const {
    if (schedule.width == 1 && are_full(begin, end)) {
      const T* from[group];
      State sum[group];
      for (int c = 0; c < group; ++c) {
        from[c] = element(here, schedule.piece_at(begin + c).begin);
        sum[c] = Traits::identity(store.monoid);
      }
      for (Extent i = 0; i < schedule.piece; ++i) {
        for (int c = 0; c < group; ++c) {
          sum[c] = Traits::combine(store.monoid, sum[c], lifted(from[c][i * schedule.step[0]]));
        }
      }
      for (int c = 0; c < group; ++c) kept[c] = sum[c];
      return;
    }
    for (Extent p = begin; p < end; ++p) {
      const ScanSchedule::Piece own = schedule.piece_at(p);
      State* const sum = kept + (p - begin) * schedule.width;
      for (int j = 0; j < here.width; ++j) sum[j] = Traits::identity(store.monoid);
      for (Extent i = 0; i < own.size; ++i) {
        const T* const from = element(here, own.begin + i);
        for (int j = 0; j < here.width; ++j) {
          sum[j] = Traits::combine(store.monoid, sum[j], lifted(from[j]));
        }
      }
    }
  }
  /// Whether they are a whole group of pieces of `piece` elements.
  [[nodiscard]] EINDECOMP_FUNCTION bool are_full(Extent begin, Extent end) const {
    bool full = Host && end - begin == group;
    for (Extent p = begin; full && p < end; ++p) full = schedule.piece_at(p).size == schedule.piece;
    return full;
  }

  /// The outputs of some pieces of one scan. \param total  of what is before them, and is with them
  EINDECOMP_FUNCTION void scan_one(const Strip& here, Extent begin, Extent end,
                                   State& total) const {
    if constexpr (!Host) {
      const ScanSchedule::Piece own = schedule.piece_at(begin);
      State sum = Traits::identity(store.monoid);
      for (Extent i = 0; i < own.size; ++i) {
        sum = Traits::combine(store.monoid, sum, lifted(*element(here, own.begin + i)));
        store(here.output + (own.begin + i) * schedule.step[1],
              Traits::combine(store.monoid, total, sum));
      }
      total = Traits::combine(store.monoid, total, sum);
    } else {
      alignas(64) State states[group * most];
      const Extent piece = schedule.piece;
      // In the order of memory, which is not that of a scan that goes backwards.
      const Extent next = schedule.backwards ? -1 : 1;
      if (are_full(begin, end)) {
        constexpr Extent line = std::max<Extent>(1, tuning::line_bytes / sizeof(T));
        const T* from[group];
        State sum[group];
        State* to = states + (schedule.backwards ? piece - 1 : 0);
        for (int c = 0; c < group; ++c) {
          from[c] = element(here, schedule.piece_at(begin + c).begin);
          sum[c] = Traits::identity(store.monoid);
        }
        for (Extent i = 0; i < piece; ++i, to += next) {
          // Each stream is so short that the processor would not run ahead of it by itself.
          if (i % line == 0) {
            for (int c = 0; c < group; ++c) {
              prefetch_to_read(from[c] + (group * piece + i) * schedule.step[0]);
            }
          }
          for (int c = 0; c < group; ++c) {
            sum[c] = Traits::combine(store.monoid, sum[c], lifted(from[c][i * schedule.step[0]]));
            to[c * piece] = sum[c];
          }
        }
      } else {
        for (Extent p = begin; p < end; ++p) {
          const ScanSchedule::Piece own = schedule.piece_at(p);
          State sum = Traits::identity(store.monoid);
          State* to = states + (p - begin) * piece + (schedule.backwards ? own.size - 1 : 0);
          for (Extent i = 0; i < own.size; ++i, to += next) {
            sum = Traits::combine(store.monoid, sum, lifted(*element(here, own.begin + i)));
            *to = sum;
          }
        }
      }
      for (Extent p = begin; p < end; ++p) {
        const ScanSchedule::Piece own = schedule.piece_at(p);
        State* const state = states + (p - begin) * piece;
        const Extent least = schedule.backwards ? own.begin + own.size - 1 : own.begin;
        const Extent offset = here.output + least * schedule.step[1];
        const Extent stride = next * schedule.step[1];
        const State before = total;
        const State own_total = state[schedule.backwards ? 0 : own.size - 1];
        total = p > 0 ? Traits::combine(store.monoid, before, own_total) : own_total;
        if (p > 0 && stride == 1 && store.write == Write::finished && !streamed) {
          auto* const to = static_cast<typename Sig::Result*>(store.output) + offset;
          for (Extent i = 0; i < own.size; ++i) {
            to[i] = Traits::finish(store.monoid, Traits::combine(store.monoid, before, state[i]));
          }
          continue;
        }
        for (Extent i = 0; p > 0 && i < own.size; ++i) {
          state[i] = Traits::combine(store.monoid, before, state[i]);
        }
        put(offset, stride, state, static_cast<int>(own.size));
      }
    }
  }

  /// Writes neighbouring outputs.
  EINDECOMP_FUNCTION void put(Extent offset, Extent stride, const State* states, int count) const {
#if defined(EINDECOMP_STREAMING_BYTES) && !defined(EINDECOMP_DEVICE_PASS)
    if constexpr (Host && sizeof(State) % sizeof(std::uint32_t) == 0) {
      if (streamed) {
        using Bits = Word<std::uint32_t>;
        constexpr Extent words = sizeof(State) / sizeof(Bits);
        stream_row(static_cast<Bits*>(store.output) + offset * words,
                   reinterpret_cast<const Bits*>(states), count * words);
        return;
      }
    }
#endif
    store.row(offset, stride, states, count);
  }

  /// The outputs of a piece of neighbouring scans.
  EINDECOMP_FUNCTION void scan_strip(const Strip& here, Extent p, State* total) const {
    const ScanSchedule::Piece own = schedule.piece_at(p);
    State sum[strip];
    State state[strip];
    for (int j = 0; j < here.width; ++j) sum[j] = Traits::identity(store.monoid);
    for (Extent i = own.begin; i < own.begin + own.size; ++i) {
      const T* const from = element(here, i);
      for (int j = 0; j < here.width; ++j) {
        sum[j] = Traits::combine(store.monoid, sum[j], lifted(from[j]));
        state[j] = Traits::combine(store.monoid, total[j], sum[j]);
      }
      put(here.output + i * schedule.step[1], 1, state, here.width);
    }
    for (int j = 0; j < here.width; ++j) total[j] = state[j];
  }
};

/// A scan made ready. Few long ones are shared out piece by piece among the threads, each element
/// read twice for it.
template <class Space, class Monoid, class T>
class PreparedScan final : public PreparedKernel<Space> {
 public:
  PreparedScan(const Space& space, const LocalEinsum& shape, const Monoid& monoid, Write write)
      : m_schedule(Kernel::make_schedule(shape)), m_monoid(monoid), m_write(write) {
    const Extent threads =
        compat::is_device<Space> ? tuning::device_scans : Extent{compat::host_threads(space)};
    m_shared = threads > 1 && m_schedule.strips < 2 * threads &&
               Kernel::groups_of(m_schedule) >= tuning::min_scan_groups;
  }

  [[nodiscard]] Algorithm algorithm() const override {
    return m_schedule.strips == 0 ? Algorithm::none : Algorithm::scan;
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    if (!m_shared) return 0;
    return m_schedule.strips * m_schedule.pieces * m_schedule.width *
           static_cast<std::int64_t>(sizeof(typename Kernel::State));
  }
  [[nodiscard]] std::string explain(const void* const* operands,
                                    const void* output) const override {
    std::string text = "algorithm " + std::string(to_string(algorithm()));
    if (m_schedule.width > 1) text += ", " + std::to_string(m_schedule.width) + " at a time";
    if (m_shared) text += ", in pieces that threads share";
    if (streams(operands, output)) text += ", non-temporal stores";
    return text;
  }
  void run(const Space& space, const void* const* operands, void* output,
           unsigned char* workspace) const override {
    Kernel kernel{m_schedule,
                  static_cast<const T*>(operands[0]),
                  {m_monoid, output, m_write},
                  reinterpret_cast<typename Kernel::State*>(workspace)};
    const Extent groups = m_schedule.strips * Kernel::groups_of(m_schedule);
    kernel.streamed = streams(operands, output);
    const auto launch_phase = [&](ScanPhase phase, const char* name, Extent items) {
      kernel.phase = phase;
      launch(space, name, items, kernel);
    };
    if (!m_shared) {
      launch_phase(ScanPhase::whole, "EinDecomp::scan", m_schedule.strips);
      return;
    }
    launch_phase(ScanPhase::aggregate, "EinDecomp::scan pieces", groups);
    launch_phase(ScanPhase::carry, "EinDecomp::scan carry", m_schedule.strips);
    launch_phase(ScanPhase::outputs, "EinDecomp::scan outputs", groups);
  }

 private:
  using Kernel = ScanKernel<!compat::is_device<Space>, Monoid, T>;

  [[nodiscard]] bool streams(const void* const* operands, const void* output) const {
    const Extent outputs = m_schedule.strips * m_schedule.width * m_schedule.length;
    return store_policy(outputs * static_cast<Extent>(sizeof(typename Kernel::State))) ==
               StorePolicy::non_temporal &&
           Kernel::may_stream(m_schedule, operands[0], output, m_write);
  }

  ScanSchedule m_schedule;
  Monoid m_monoid;
  Write m_write;
  bool m_shared = false;
};

/// A scan by one thread.
template <class Monoid, class T>
class ScanOfTile final : public TileKernel {
 public:
  ScanOfTile(const LocalEinsum& shape, const Monoid& monoid)
      : m_schedule(Kernel::make_schedule(shape)), m_monoid(monoid) {}

  void run(const void* const* operands, void* output, const MemoryHints& hints) const override {
    Kernel kernel{
        m_schedule, static_cast<const T*>(operands[0]), {m_monoid, output, Write::finished}};
    kernel.streamed =
        hints.streamed && Kernel::may_stream(m_schedule, operands[0], output, Write::finished);
    for (Extent strip = 0; strip < m_schedule.strips; ++strip) kernel(strip);
  }
  [[nodiscard]] Extent resumable_outputs() const override { return 0; }
  [[nodiscard]] ResumableMap resumable(const void* const*, void*,
                                       const MemoryHints&) const override {
    return {};
  }

 private:
  using Kernel = ScanKernel<true, Monoid, T>;

  ScanSchedule m_schedule;
  Monoid m_monoid;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
