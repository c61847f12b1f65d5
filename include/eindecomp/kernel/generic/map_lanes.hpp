// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Element-wise joins over runs of neighbouring outputs, vector by vector from operands to output,
/// with nothing in between that the vectoriser would have to understand.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"
#include "eindecomp/kernel/simd/streaming_store.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

template <class Join, class T, class... Ts>
concept JoinsLanes = takes_vectors<Join> && computes_in_lanes<T> &&(std::is_same_v<Ts, T>&&...) &&
                     requires(const Join& join, const Lanes<T, static_cast<int>(16 / sizeof(T))>& v,
                              const Ts*... operands) {
  { join((static_cast<void>(operands), v)...) } -> std::same_as<std::remove_cvref_t<decltype(v)>>;
};

/// Whether a signature's outputs of one term are computed by vectors: all of one type that vectors
/// hold, by functors that promise to take them.
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool has_lane_terms() {
  using Sig = Signature<Join, Monoid, Ts...>;
  using Value = typename Sig::Value;
  using Traits = typename Sig::Traits;
  if constexpr (Sig::elementwise) {
    return JoinsLanes<Join, Value, Ts...>;
  } else if constexpr (std::is_same_v<typename Sig::State, Value> && !Traits::lifts &&
                       !Traits::finishes) {
    return JoinsLanes<Join, Value, Ts...> && WorksOnLanes<Monoid, Value>;
  } else {
    return false;
  }
}

/// Whether MapRun computes them.
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool maps_lanes() {
  return sizeof...(Ts) <= 2 && has_lane_terms<Join, Monoid, Ts...>();
}

/// Whether map_many() computes a signature's outputs: the same of more operands than MapRun takes.
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool maps_many() {
  return sizeof...(Ts) > 2 && has_lane_terms<Join, Monoid, Ts...>();
}

/// A join whose result is all that its output aggregates.
template <class Join, class Monoid, class T>
struct OneTerm {
  Join join;
  Monoid monoid;
  T identity;

  template <class V, class... Vs>
  [[nodiscard]] V operator()(const V& first, const Vs&... others) const {
    const V none = repeat<T, static_cast<int>(sizeof(V) / sizeof(T))>(identity);
    return expr::aggregated(monoid, none, join(first, others...));
  }
};

/// The same, aggregated to what is in the output, which is the first operand.
template <class Term>
struct AddedTerm {
  Term term;

  template <class V, class... Vs>
  [[nodiscard]] V operator()(const V& output, const Vs&... operands) const {
    return expr::aggregated(term.monoid, output, term(operands...));
  }
};

/// Rows of outputs that follow one another without a gap, and so form one run: where an operand is
/// the same all along a row, how far it goes on from row to row. By default one row.
struct RunRows {
  static constexpr int most_operands = 3;  ///< of maps by vectors, what is added to among them
  Extent length = std::numeric_limits<Extent>::max();
  Extent step[most_operands]{};
};

/// output[i] = join(operands[i]…), range after range of i; of the operands bit t of Contiguous
/// tells whether operand t is contiguous or the same all along a row.
template <unsigned Contiguous, class Join, class T, std::size_t... I>
class MapRun {
 public:
  static constexpr int width = vector_bytes / static_cast<int>(sizeof(T));
  using V = Lanes<T, width>;

  /// \param join  outlives this.
  /// \param begin  where the first range begins.
  MapRun(const Join& join, const T* const* first, T* output, const RunRows& rows, Extent begin)
      : m_join(&join), m_first{first[I]...}, m_output(output), m_length(rows.length) {
    if constexpr (has_repeated) {
      const Extent row = begin < m_length ? 0 : begin / m_length;
      m_row_end = (row + 1) * m_length;
      ((m_step[I] = rows.step[I], go_on<I>(row)), ...);
    }
  }

  /// Computes begin <= i < end, which follows what was computed before. To be contained in what
  /// calls it: that is called often, for little more than these outputs.
  /// \tparam Streamed  by non-temporal stores, but for the ends.
  /// \param before  called with every i that a vector begins with, before it is stored.
  template <bool Streamed, class Before>
  EINDECOMP_ALWAYS_INLINE void run(Extent begin, Extent end, const Before& before) {
    if constexpr (Streamed) {
      const Extent line = begin + std::min(end - begin, to_line(m_output + begin));
      if (line > begin) part(begin, line);
      begin = line;
    }
    begin = vectors<Streamed>(begin, end, before);
    if (begin < end) part(begin, end);
  }

 private:
  template <std::size_t O>
  static constexpr bool contiguous = (Contiguous >> O & 1U) != 0;
  static constexpr bool has_repeated = !(contiguous<I> && ...);
  /// Of every operand that is not contiguous, a vector of what it is along the row.
  struct Repeated {
    V of[sizeof...(I)];
  };

  [[nodiscard]] Repeated repeat_operands() const {
    return {{(contiguous<I> ? V{} : repeat<T, width>(*m_first[I]))...}};
  }

  /// Elements up to the next line of memory that begins with one.
  [[nodiscard]] static Extent to_line(const T* output) {
    constexpr auto line = std::uintptr_t{sizeof(V)};
    const std::uintptr_t beyond = reinterpret_cast<std::uintptr_t>(output) % line;
    return static_cast<Extent>((line - beyond) % line / sizeof(T));
  }

  template <bool Streamed>
  static void put(T* output, const V& result) {
#if defined(EINDECOMP_STREAMING_BYTES)
    if constexpr (Streamed) {
      translate_next_page(output);
      stream(output, reinterpret_cast<StreamLine>(result));
      return;
    }
#endif
    std::memcpy(output, &result, sizeof result);
  }

  template <std::size_t O>
  [[nodiscard]] V load(Extent i, const Repeated& repeated) const {
    if constexpr (contiguous<O>) {
      return load_lanes<T, width>(m_first[O] + i);
    } else {
      return repeated.of[O];
    }
  }

  /// Computes whole vectors of outputs. \returns where what is left begins.
  template <bool Streamed, class Before>
  [[nodiscard]] Extent vectors(Extent i, Extent end, const Before& before) {
    MapRun local = *this;  // in registers, whatever is stored
    const Join join = *m_join;
    Repeated repeated = local.repeat_operands();
    const auto put_at = [&](const V& result) {
      before(i);
      put<Streamed>(local.m_output + i, result);
    };
    if constexpr (has_repeated) {
      for (;;) {
        const Extent last = std::min(local.m_row_end, end) - width;
        for (; i <= last; i += width) put_at(join(local.template load<I>(i, repeated)...));
        if (i + width > end) break;
        const Repeated mixed = local.go_on(i, i + width, repeated);
        put_at(join(local.template load<I>(i, mixed)...));
        i += width;
      }
      if (m_row_end != local.m_row_end) keep_row(local);
    } else {
      for (; i + width <= end; i += width) put_at(join(local.template load<I>(i, repeated)...));
    }
    return i;
  }

  /// Takes over the row that another has gone on to.
  void keep_row(const MapRun& other) {
    ((m_first[I] = other.m_first[I]), ...);
    m_row_end = other.m_row_end;
  }

  template <std::size_t O>
  void go_on(Extent rows) {
    if constexpr (!contiguous<O>) m_first[O] += rows * m_step[O];
  }

  /// Goes on to the row of output `end` - 1, at most a vector away. \returns what operands are at
  /// outputs i to end - 1, where they are not contiguous.
  [[nodiscard]] Repeated go_on(Extent i, Extent end, Repeated& repeated) {
    Repeated mixed = repeated;
    while (m_row_end < end) {
      const V row_begin = repeat<T, width>(static_cast<T>(m_row_end - i));
      (go_on<I>(1), ...);
      m_row_end += m_length;
      repeated = repeat_operands();
      ((mixed.of[I] = lane_numbers<T, width>() < row_begin ? mixed.of[I] : repeated.of[I]), ...);
    }
    return mixed;
  }

  /// Outputs i to end - 1, fewer than a vector has, by the same instructions.
  EINDECOMP_FLATTEN EINDECOMP_NEVER_INLINE void part(Extent i, Extent end) {
    const int count = static_cast<int>(end - i);
    Repeated repeated = repeat_operands();
    Repeated mixed = repeated;
    if constexpr (has_repeated) mixed = go_on(i, end, repeated);
    store_part<T, width>(m_output + i, (*m_join)(load_rest<I>(i, count, mixed)...), count);
  }
  template <std::size_t O>
  [[nodiscard]] V load_rest(Extent i, int count, const Repeated& repeated) const {
    if constexpr (contiguous<O>) {
      return load_part<T, width>(m_first[O] + i, count);
    } else {
      return repeated.of[O];
    }
  }

  const Join* m_join;
  const T* m_first[sizeof...(I)];
  T* m_output;
  Extent m_length;       ///< of a row
  Extent m_row_end = 0;  ///< one past the last output of the row, where operands are repeated
  Extent m_step[sizeof...(I)]{};
};

/// A map's functor takes its operands in either order.
template <class Join>
inline constexpr bool maps_commute = is_commutative<Join>;
template <class Join, class Monoid, class T>
inline constexpr bool maps_commute<OneTerm<Join, Monoid, T>> = is_commutative<Join>;

/// Calls function<Contiguous>(order), which is to take operand order[t] as its operand t: bit t of
/// Contiguous tells whether that one is contiguous. Operands are exchanged where the functor takes
/// them in either order: one instance less.
/// \param contiguous  not 0; bit t: operand t is contiguous, before any exchange
template <int Operands, class Join, class Function>
decltype(auto) with_contiguous(unsigned contiguous, const Function& function) {
  using Order = std::array<int, 2>;
  if constexpr (Operands == 2) {
    if (contiguous == 3) return function.template operator()<3>(Order{0, 1});
    if (contiguous == 2) {
      if constexpr (maps_commute<Join>) {
        return function.template operator()<1>(Order{1, 0});
      } else {
        return function.template operator()<2>(Order{0, 1});
      }
    }
  }
  return function.template operator()<1>(Order{0, 1});
}

template <class Run, class T, bool Streamed, bool Asks>
EINDECOMP_FLATTEN void compute_map(ResumableMap& call, Extent begin, Extent end) {
  Run& run = *std::launder(reinterpret_cast<Run*>(call.run));
  if constexpr (Asks) {
    run.template run<Streamed>(
        begin, end, [from = call.hints.prefetch, shift = call.hints.prefetch_shift](Extent i) {
          prefetch_to_read_later(from + (i * static_cast<Extent>(sizeof(T)) >> shift));
        });
  } else {
    run.template run<Streamed>(begin, end, [](Extent) {});
  }
}

template <unsigned Contiguous, bool MayAsk, class Join, class T, std::size_t... I>
[[nodiscard]] ResumableMap map_call_by(std::index_sequence<I...>, const Join& join,
                                       const T* const* first, T* output, const RunRows& rows,
                                       Extent begin, const MemoryHints& hints) {
  using Run = MapRun<Contiguous, Join, T, I...>;
  static_assert(sizeof(Run) <= sizeof(ResumableMap::run) && std::is_trivially_copyable_v<Run>);
  ResumableMap call;
  call.hints = hints;
  ::new (static_cast<void*>(call.run)) Run(join, first, output, rows, begin);
  call.compute = compute_map<Run, T, false, false>;
  if constexpr (MayAsk) {
    if (hints.prefetch != nullptr) call.compute = compute_map<Run, T, false, true>;
  }
#if defined(EINDECOMP_STREAMING_BYTES)
  if (hints.streamed) {
    call.compute = compute_map<Run, T, true, false>;
    if constexpr (MayAsk) {
      if (hints.prefetch != nullptr) call.compute = compute_map<Run, T, true, true>;
    }
  }
#endif
  return call;
}

/// A map of one or two operands made ready to compute outputs from `begin` on, with what is known
/// of its memory.
/// \param contiguous  not 0; bit t: operand t is contiguous, or else the same all along a row.
/// \param join  outlives the result.
/// \param first, output  of output 0.
/// \tparam MayAsk  hints.prefetch may be other than null.
template <int Operands, bool MayAsk, class Join, class T>
[[nodiscard]] ResumableMap map_call(unsigned contiguous, const Join& join, const T* const* first,
                                    T* output, const RunRows& rows, Extent begin,
                                    const MemoryHints& hints) {
  return with_contiguous<Operands, Join>(contiguous, [&]<unsigned Contiguous>(const auto& order) {
    const T* from[Operands];
    RunRows its{rows.length};
    for (int t = 0; t < Operands; ++t) {
      from[t] = first[order[t]];
      its.step[t] = rows.step[order[t]];
    }
    return map_call_by<Contiguous, MayAsk>(
        std::make_index_sequence<static_cast<std::size_t>(Operands)>(), join, from, output, its,
        begin, hints);
  });
}

template <unsigned Contiguous, bool Streamed, bool Asks, class Join, class T, std::size_t... I>
EINDECOMP_FLATTEN EINDECOMP_NEVER_INLINE void map_now_by(std::index_sequence<I...>,
                                                         const Join& join, const T* const* first,
                                                         T* output, Extent count,
                                                         [[maybe_unused]] const char* prefetch,
                                                         [[maybe_unused]] int shift) {
  MapRun<Contiguous, Join, T, I...>(join, first, output, {}, 0)
      .template run<Streamed>(0, count, [=](Extent i) {
        if constexpr (Asks) {
          prefetch_to_read_later(prefetch + (i * static_cast<Extent>(sizeof(T)) >> shift));
        }
      });
}
/// output[i] = join(operands[i]…) for i < count at once, by nothing but scalars between stores and
/// loads: what is stored in parts and copied whole waits for all stores before it, results on their
/// way to memory among them. \param contiguous  as map_call has it
/// \param prefetch, shift  as MemoryHints has them
template <int Operands, bool Streamed, class Join, class T>
void map_now(unsigned contiguous, const Join& join, const T* const* first, T* output, Extent count,
             const char* prefetch, int shift) {
  with_contiguous<Operands, Join>(contiguous, [&]<unsigned Contiguous>(const auto& order) {
    constexpr std::make_index_sequence<static_cast<std::size_t>(Operands)> all;
    const T* from[Operands];
    for (int t = 0; t < Operands; ++t) from[t] = first[order[t]];
    if (!Streamed && prefetch != nullptr) {
      map_now_by<Contiguous, Streamed, !Streamed>(all, join, from, output, count, prefetch, shift);
    } else {
      map_now_by<Contiguous, Streamed, false>(all, join, from, output, count, prefetch, shift);
    }
  });
}

/// \tparam Contiguous  bit 0 is the output's, bit t + 1 operand t's.
template <unsigned Contiguous, class Added, class T, std::size_t... I>
EINDECOMP_FLATTEN void add_run_by(std::index_sequence<I...>, const Added& added,
                                  const T* const* first, T* output, Extent length) {
  MapRun<Contiguous, Added, T, I...>(added, first, output, {}, 0)
      .template run<false>(0, length, [](Extent) {});
}

/// Aggregates a run of terms of one or two operands to what is in the output; as map_call.
template <int Operands, class Term, class T>
void add_run(unsigned contiguous, const Term& term, const T* const* first, T* output,
             Extent length) {
  const AddedTerm<Term> added{term};
  with_contiguous<Operands, Term>(contiguous, [&]<unsigned Contiguous>(const auto& order) {
    const T* operand[Operands + 1] = {output};
    for (int t = 0; t < Operands; ++t) operand[t + 1] = first[order[t]];
    add_run_by<(Contiguous << 1 | 1)>(
        std::make_index_sequence<static_cast<std::size_t>(Operands + 1)>(), added, operand, output,
        length);
  });
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
