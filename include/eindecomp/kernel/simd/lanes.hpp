// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Vector registers as types, and scalar functors on them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/instructions.hpp"
#include "eindecomp/expr/operator.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// The registers of the machine compiled for.
#if defined(EINDECOMP_REGISTER_BYTES)
inline constexpr bool has_vectors = true;
inline constexpr int vector_bytes = EINDECOMP_REGISTER_BYTES;
#else
inline constexpr bool has_vectors = false;
inline constexpr int vector_bytes = 16;
#endif
inline constexpr int vector_registers = EINDECOMP_REGISTERS;

/// What a vector may consist of.
template <class T>
inline constexpr bool is_lane =
    has_vectors&& std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8;

/// Whether vectors of T compute as T does. Signed integers shorter than int are computed as int and
/// cut off, which wraps around; in vectors of them the same overflows.
template <class T>
inline constexpr bool computes_in_lanes =
    is_lane<T> && !(std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) < sizeof(int));

#if defined(EINDECOMP_REGISTER_BYTES)
template <class T, int Width>
struct LanesOf {
  using type [[gnu::vector_size(Width * sizeof(T))]] = T;
};
#else
// Never run: it lets what is written for vectors compile.
template <class T, int Width>
struct LanesOf {
  struct type {
    T lane[Width];
    T& operator[](int l) { return lane[l]; }
    const T& operator[](int l) const { return lane[l]; }
  };
};
#endif

/// A vector of `Width` elements T; Width is a power of two.
template <class T, int Width>
using Lanes = typename LanesOf<T, Width>::type;

/// All lanes the same.
template <class T, int Width>
[[nodiscard]] inline Lanes<T, Width> repeat(T value) {
  return [&]<std::size_t... L>(std::index_sequence<L...>) {
    return Lanes<T, Width>{(static_cast<void>(L), value)...};
  }
  (std::make_index_sequence<std::size_t{Width}>());
}

/// 0, 1, …, Width - 1: a constant, which needs no place on the stack.
template <class T, int Width>
[[nodiscard]] inline Lanes<T, Width> lane_numbers() {
  return []<std::size_t... L>(std::index_sequence<L...>) {
    return Lanes<T, Width>{static_cast<T>(L)...};
  }
  (std::make_index_sequence<std::size_t{Width}>());
}

template <class T, int Width>
[[nodiscard]] inline Lanes<T, Width> load_lanes(const T* from) {
  Lanes<T, Width> lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

/// As many elements as there are, 0 < count < Width, and the first one in the other lanes.
template <class T, int Width>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE Lanes<T, Width> load_part(const T* from, int count) {
#if defined(__AVX__) && defined(EINDECOMP_STREAMING_BYTES)
  if constexpr (core::loads_first<Lanes<T, Width>>) {
    Lanes<T, Width> lanes = repeat<T, Width>(*from);
    core::load_first(lanes, from, count);
    return lanes;
  }
#endif
  if constexpr (Width <= 4) {  // in registers: what is stored in parts is not loaded whole at once
    return [&]<std::size_t... L>(std::index_sequence<L...>) {
      return Lanes<T, Width>{from[static_cast<int>(L) < count ? L : 0]...};
    }
    (std::make_index_sequence<std::size_t{Width}>());
  } else {
    T lane[Width];
    for (int l = 0; l < Width; ++l) lane[l] = from[l < count ? l : 0];
    return load_lanes<T, Width>(lane);
  }
}

/// Copies the bits of `bytes` that are multiples of Least and less than 2·Piece, largest first.
template <int Piece, int Least>
EINDECOMP_ALWAYS_INLINE void copy_pieces(char* to, const char* from, int bytes) {
  if ((bytes & Piece) != 0) {
    std::memcpy(to, from, Piece);
    to += Piece;
    from += Piece;
  }
  if constexpr (Piece > Least) copy_pieces<Piece / 2, Least>(to, from, bytes);
}
/// Stores the first `count` lanes, 0 < count < Width.
template <class T, int Width>
EINDECOMP_ALWAYS_INLINE void store_part(T* to, const Lanes<T, Width>& lanes, int count) {
#if defined(__AVX512F__) && defined(EINDECOMP_STREAMING_BYTES)
  if constexpr (core::loads_first<Lanes<T, Width>>) {
    return core::store_first(to, lanes, count);
  }
#endif
  constexpr int size = static_cast<int>(sizeof(T));
  if constexpr (Width > 1) {
    copy_pieces<Width / 2 * size, size>(reinterpret_cast<char*>(to),
                                        reinterpret_cast<const char*>(&lanes), count * size);
  }
}

/// Every lane in the place of the one `Distance` away, a power of two.
template <int Distance, class T, int Width>
[[nodiscard]] inline Lanes<T, Width> exchange_lanes(const Lanes<T, Width>& lanes) {
#if defined(EINDECOMP_REGISTER_BYTES)
  return [&]<std::size_t... L>(std::index_sequence<L...>) {
    return __builtin_shufflevector(lanes, lanes, (static_cast<int>(L) ^ Distance)...);
  }
  (std::make_index_sequence<std::size_t{Width}>());
#else
  return lanes;
#endif
}

using tuning::line_bytes;

/// Asks for the cache line of an address, which may lie beyond the end of what is allocated. What
/// calls this from a function that does nothing else must contain that function: g++ 12 drops calls
/// whose only effect is a prefetch.
EINDECOMP_ALWAYS_INLINE void prefetch_to_read([[maybe_unused]] const void* address) {
#if defined(EINDECOMP_REGISTER_BYTES)
  __builtin_prefetch(address, 0);
#endif
}
/// The same into the second cache only.
EINDECOMP_ALWAYS_INLINE void prefetch_to_read_later([[maybe_unused]] const void* address) {
#if defined(EINDECOMP_REGISTER_BYTES)
  __builtin_prefetch(address, 0, 2);
#endif
}
EINDECOMP_ALWAYS_INLINE void prefetch_to_write([[maybe_unused]] const void* address) {
#if defined(EINDECOMP_REGISTER_BYTES)
  __builtin_prefetch(address, 1);
#endif
}

/// The vector of function(0), …, function(Width - 1).
template <class T, int Width, class Function>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE Lanes<T, Width> lane_by_lane(const Function& function) {
  // In memory, where the vectoriser finds what it knows; it ends in registers.
  T lane[Width];
  EINDECOMP_VECTOR_LOOP
  for (int l = 0; l < Width; ++l) lane[l] = function(l);
  return load_lanes<T, Width>(lane);
}

/// The elements of a vector, as lane_by_lane reads them.
template <class T, int Width>
struct LaneArray {
  T lane[Width];
  EINDECOMP_ALWAYS_INLINE explicit LaneArray(const Lanes<T, Width>& lanes) {
    std::memcpy(lane, &lanes, sizeof lane);
  }
  const T& operator[](int l) const { return lane[l]; }
};

/// A functor of two arguments that promises to work on vectors of T, and gives them. A concept, for
/// without the promise it must not even be asked.
template <class F, class T>
concept WorksOnLanes = takes_vectors<F> && computes_in_lanes<T> &&
    requires(const F& f, const Lanes<T, static_cast<int>(16 / sizeof(T))>& v) {
  { f(v, v) } -> std::same_as<std::remove_cvref_t<decltype(v)>>;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
