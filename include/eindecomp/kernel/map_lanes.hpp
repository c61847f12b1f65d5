// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Element-wise joins over runs of neighbouring outputs, vector by vector from operands to output,
/// with nothing in between that the vectoriser would have to understand.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/kernel/lanes.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/streaming_store.hpp"

namespace eindecomp::kernel::detail {

template <class Join, class T, class... Ts>
concept JoinsLanes = takes_vectors<Join> && computes_in_lanes<T> &&(std::is_same_v<Ts, T>&&...) &&
                     requires(const Join& join, const Lanes<T, static_cast<int>(16 / sizeof(T))>& v,
                              const Ts*... operands) {
  { join((static_cast<void>(operands), v)...) } -> std::same_as<std::remove_cvref_t<decltype(v)>>;
};

/// Whether MapRun computes a signature's outputs of one term: all of one type that vectors hold, by
/// functors that promise to take them.
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool maps_lanes() {
  using Sig = Signature<Join, Monoid, Ts...>;
  using Value = typename Sig::Value;
  using Traits = typename Sig::Traits;
  if constexpr (sizeof...(Ts) > 2) {
    return false;
  } else if constexpr (Sig::elementwise) {
    return JoinsLanes<Join, Value, Ts...>;
  } else if constexpr (std::is_same_v<typename Sig::State, Value> && !Traits::lifts &&
                       !Traits::finishes) {
    return JoinsLanes<Join, Value, Ts...> && WorksOnLanes<Monoid, Value>;
  } else {
    return false;
  }
}

/// A join whose result is all that its output aggregates.
template <class Join, class Monoid, class T>
struct OneTerm {
  Join join;
  Monoid monoid;
  T identity;

  template <class V, class... Vs>
  [[nodiscard]] V operator()(const V& first, const Vs&... others) const {
    return monoid(repeat<T, static_cast<int>(sizeof(V) / sizeof(T))>(identity),
                  join(first, others...));
  }
};

/// The same, aggregated to what is in the output, which is the first operand.
template <class Term>
struct AddedTerm {
  Term term;

  template <class V, class... Vs>
  [[nodiscard]] V operator()(const V& output, const Vs&... operands) const {
    return term.monoid(output, term(operands...));
  }
};

/// output[i] = join(operands[i]…) for 0 <= i < length; of the operands bit t of Contiguous tells
/// whether operand t is contiguous or the same all along.
template <unsigned Contiguous, class Join, class T, std::size_t... I>
class MapRun {
 public:
  static constexpr int width = vector_bytes / static_cast<int>(sizeof(T));
  using V = Lanes<T, width>;

  MapRun(const Join& join, const T* const* first, T* output)
      : m_join(join),
        m_first{first[I]...},
        m_repeated{repeat<T, width>(*first[I])...},
        m_output(output) {}

  /// \param ahead called with every i that a vector begins with, before it is stored.
  template <class Ahead>
  EINDECOMP_FLATTEN void run(Extent length, const Ahead& ahead) const {
    const MapRun local = *this;  // in registers, whatever is stored
    Extent i = 0;
    for (; i + width <= length; i += width) {
      const V result = local.joined(i);
      ahead(i);
      std::memcpy(local.m_output + i, &result, sizeof result);
    }
    if (i < length) part(i, length - i);
  }

#if defined(EINDECOMP_STREAMING_BYTES)
  /// The same past the caches, but for the ends.
  template <class Ahead>
  EINDECOMP_FLATTEN void stream_run(Extent length, const Ahead& ahead) const {
    const MapRun local = *this;
    constexpr auto line = std::uintptr_t{sizeof(V)};
    const std::uintptr_t beyond = reinterpret_cast<std::uintptr_t>(m_output) % line;
    Extent i = std::min<Extent>(length, static_cast<Extent>((line - beyond) % line / sizeof(T)));
    if (i > 0) part(0, i);
    for (; i + width <= length; i += width) {
      ahead(i);
      translate_next_page(local.m_output + i);
      stream(local.m_output + i, reinterpret_cast<StreamLine>(local.joined(i)));
    }
    if (i < length) part(i, length - i);
  }
#endif

 private:
  template <std::size_t O>
  static constexpr bool contiguous = (Contiguous >> O & 1U) != 0;

  template <std::size_t O>
  [[nodiscard]] V load(Extent i) const {
    if constexpr (contiguous<O>) {
      return load_lanes<T, width>(m_first[O] + i);
    } else {
      return m_repeated[O];
    }
  }
  [[nodiscard]] V joined(Extent i) const { return m_join(load<I>(i)...); }

  /// Fewer elements than a vector has, by the same instructions.
  void part(Extent i, Extent count) const {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    const V result = m_join(load_part<I>(i, bytes)...);
    std::memcpy(m_output + i, &result, bytes);
  }
  template <std::size_t O>
  [[nodiscard]] V load_part(Extent i, std::size_t bytes) const {
    if constexpr (contiguous<O>) {
      V lanes = repeat<T, width>(m_first[O][i]);
      std::memcpy(&lanes, m_first[O] + i, bytes);
      return lanes;
    } else {
      return m_repeated[O];
    }
  }

  Join m_join;
  const T* m_first[sizeof...(I)];
  V m_repeated[sizeof...(I)];
  T* m_output;
};

/// A map's functor takes its operands in either order.
template <class Join>
inline constexpr bool maps_commute = is_commutative<Join>;
template <class Join, class Monoid, class T>
inline constexpr bool maps_commute<OneTerm<Join, Monoid, T>> = is_commutative<Join>;

template <unsigned Contiguous, bool MayAsk, class Join, class T, std::size_t... I>
void map_run_by(std::index_sequence<I...>, const Join& join, const T* const* first, T* output,
                Extent length, Extent begin, const MemoryHints& hints) {
  const MapRun<Contiguous, Join, T, I...> run(join, first, output);
  const auto compute = [&](const auto& ahead) {
#if defined(EINDECOMP_STREAMING_BYTES)
    if (hints.streamed) return run.stream_run(length, ahead);
#endif
    run.run(length, ahead);
  };
  if constexpr (MayAsk) {
    if (hints.ahead != nullptr) {
      return compute([begin, from = hints.ahead, shift = hints.ahead_shift](Extent i) {
        prefetch_to_read_later(from + ((begin + i) * static_cast<Extent>(sizeof(T)) >> shift));
      });
    }
  }
  compute([](Extent) {});
}

/// Computes a run of a map of one or two operands, with what is known of its memory.
/// \param contiguous  not 0; bit t says whether operand t is contiguous or the same all along.
/// \param begin  number of the run's first output, from which on hints.ahead counts.
/// \tparam MayAsk  hints.ahead may be other than null.
template <int Operands, bool MayAsk, class Join, class T>
void map_run(unsigned contiguous, const Join& join, const T* const* first, T* output, Extent length,
             Extent begin, const MemoryHints& hints) {
  constexpr std::make_index_sequence<static_cast<std::size_t>(Operands)> all;
  if (contiguous == 1) {
    return map_run_by<1, MayAsk>(all, join, first, output, length, begin, hints);
  }
  if constexpr (Operands == 2) {
    if (contiguous == 3) {
      map_run_by<3, MayAsk>(all, join, first, output, length, begin, hints);
    } else if constexpr (maps_commute<Join>) {
      const T* const exchanged[] = {first[1], first[0]};
      map_run_by<1, MayAsk>(all, join, exchanged, output, length, begin, hints);
    } else {
      map_run_by<2, MayAsk>(all, join, first, output, length, begin, hints);
    }
  }
}

/// \tparam Contiguous  bit 0 is the output's, bit t + 1 operand t's.
template <unsigned Contiguous, class Added, class T, std::size_t... I>
void add_run_by(std::index_sequence<I...>, const Added& added, const T* const* first, T* output,
                Extent length) {
  MapRun<Contiguous, Added, T, I...>(added, first, output).run(length, [](Extent) {});
}

/// Aggregates a run of terms of one or two operands to what is in the output; as map_run.
template <int Operands, class Term, class T>
void add_run(unsigned contiguous, const Term& term, const T* const* first, T* output,
             Extent length) {
  constexpr std::make_index_sequence<static_cast<std::size_t>(Operands + 1)> all;
  const AddedTerm<Term> added{term};
  const T* operand[Operands + 1] = {output, first[0]};
  if constexpr (Operands == 2) {
    operand[2] = first[1];
    if (contiguous == 3) return add_run_by<7>(all, added, operand, output, length);
    if (contiguous == 2) {
      if constexpr (!maps_commute<Term>) {
        return add_run_by<5>(all, added, operand, output, length);
      }
      std::swap(operand[1], operand[2]);
    }
  }
  add_run_by<3>(all, added, operand, output, length);
}

}  // namespace eindecomp::kernel::detail
