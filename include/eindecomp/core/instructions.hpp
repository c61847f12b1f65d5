// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Machine instructions that the compiler's vector types do not express. No other file names one.
#pragma once

#include "eindecomp/core/config.hpp"

namespace eindecomp::core {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Keeps a vector in a register, where g++ would load it anew for every instruction that reads it.
template <class V>
EINDECOMP_ALWAYS_INLINE void hold([[maybe_unused]] V& vector) {
#if defined(EINDECOMP_STREAMING_BYTES)
  asm("" : "+v"(vector));
#endif
}

#if defined(EINDECOMP_STREAMING_BYTES)

/// As many bytes as one non-temporal store writes.
using StreamLine [[gnu::vector_size(EINDECOMP_STREAMING_BYTES)]] = long long;

/// Writes a whole vector to an aligned address, past the caches.
EINDECOMP_ALWAYS_INLINE void stream(void* to, StreamLine bytes) {
#if defined(__clang__)
  __builtin_nontemporal_store(bytes, static_cast<StreamLine*>(to));
#elif EINDECOMP_STREAMING_BYTES == 64
  __builtin_ia32_movntdq512(static_cast<StreamLine*>(to), bytes);
#elif EINDECOMP_STREAMING_BYTES == 32
  __builtin_ia32_movntdq256(static_cast<StreamLine*>(to), bytes);
#else
  __builtin_ia32_movntdq(static_cast<StreamLine*>(to), bytes);
#endif
}

/// Makes non-temporal stores visible to other threads before what follows.
inline void end_streaming() { __builtin_ia32_sfence(); }

/// Looks up one element per lane in a table of two vectors, `first` before `second`; indices are
/// taken modulo the size of the table. All are vectors of integers of 32 or 64 bits. (The result is
/// a reference because g++ without AVX-512 warns of vectors of 64 bytes that are returned.)
template <class V>
EINDECOMP_ALWAYS_INLINE void look_up(const V& first, const V& second, const V& index, V& found) {
#if !defined(__clang__)
  found = __builtin_shuffle(first, second, index);
#elif defined(__AVX512F__)
  static_assert(sizeof(V) == sizeof(StreamLine));
  if constexpr (sizeof(first[0]) == 4) {
    using Ints [[gnu::vector_size(64)]] = int;
    found = reinterpret_cast<V>(__builtin_ia32_vpermi2vard512(reinterpret_cast<Ints>(first),
                                                              reinterpret_cast<Ints>(index),
                                                              reinterpret_cast<Ints>(second)));
  } else {
    found = reinterpret_cast<V>(__builtin_ia32_vpermi2varq512(
        reinterpret_cast<StreamLine>(first), reinterpret_cast<StreamLine>(index),
        reinterpret_cast<StreamLine>(second)));
  }
#else
  constexpr int lanes = sizeof(V) / sizeof(first[0]);
  for (int l = 0; l < lanes; ++l) {
    const auto at = index[l] % (2 * lanes);
    found[l] = at < lanes ? first[at] : second[at - lanes];
  }
#endif
}

#endif

#if EINDECOMP_CONVERTS_HALVES

/// to[0], …, to[7] = from[0], …, from[7], which are numbers of 16 bits (IEEE 754's binary16).
EINDECOMP_ALWAYS_INLINE void widen_halves(float* to, const void* from) {
  using Halves [[gnu::vector_size(16)]] = short;
  Halves halves;
  __builtin_memcpy(&halves, from, sizeof halves);
  const auto floats = __builtin_ia32_vcvtph2ps256(halves);
  __builtin_memcpy(to, &floats, sizeof floats);
}
/// The other way, to the nearest, of two as near the even one.
EINDECOMP_ALWAYS_INLINE void narrow_to_halves(void* to, const float* from) {
  using Floats [[gnu::vector_size(32)]] = float;
  Floats floats;
  __builtin_memcpy(&floats, from, sizeof floats);
  const auto halves = __builtin_ia32_vcvtps2ph256(floats, 0);
  __builtin_memcpy(to, &halves, sizeof halves);
}

#endif

#if EINDECOMP_VECTOR_ROOT

/// √v element by element, rounded as std::sqrt does. \tparam V  a vector of floats or doubles that
///   fills a register.
template <class V>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE V square_root(const V& v) {
#if defined(__clang__)
  return __builtin_elementwise_sqrt(v);
#else
  constexpr bool single = sizeof(v[0]) == sizeof(float);
  if constexpr (sizeof(V) == 16) {
    if constexpr (single) {
      return __builtin_ia32_sqrtps(v);
    } else {
      return __builtin_ia32_sqrtpd(v);
    }
#if defined(__AVX__)
  } else if constexpr (sizeof(V) == 32) {
    if constexpr (single) {
      return __builtin_ia32_sqrtps256(v);
    } else {
      return __builtin_ia32_sqrtpd256(v);
    }
#endif
#if defined(__AVX512F__)
  } else if constexpr (sizeof(V) == 64) {
    if constexpr (single) {
      return __builtin_ia32_sqrtps512_mask(v, v, -1, 4);
    } else {
      return __builtin_ia32_sqrtpd512_mask(v, v, -1, 4);
    }
#endif
  }
#endif
}

#endif

#if defined(__AVX512F__) && defined(EINDECOMP_STREAMING_BYTES)

using Floats16 [[gnu::vector_size(64)]] = float;
using Doubles8 [[gnu::vector_size(64)]] = double;

/// A mask of the first `count` lanes, of at most 16.
[[nodiscard]] EINDECOMP_ALWAYS_INLINE unsigned short first_bits(int count) {
  return static_cast<unsigned short>((1U << count) - 1);
}

/// a < b ? a : b element by element, hence b where either is NaN.
EINDECOMP_ALWAYS_INLINE Floats16 lesser(Floats16 a, Floats16 b) {
#if defined(__clang__)
  return __builtin_ia32_minps512(a, b, 4);
#else
  return __builtin_ia32_minps512_mask(a, b, a, -1, 4);
#endif
}
EINDECOMP_ALWAYS_INLINE Doubles8 lesser(Doubles8 a, Doubles8 b) {
#if defined(__clang__)
  return __builtin_ia32_minpd512(a, b, 4);
#else
  return __builtin_ia32_minpd512_mask(a, b, a, -1, 4);
#endif
}

/// a > b ? a : b element by element, hence b where either is NaN.
EINDECOMP_ALWAYS_INLINE Floats16 greater(Floats16 a, Floats16 b) {
#if defined(__clang__)
  return __builtin_ia32_maxps512(a, b, 4);
#else
  return __builtin_ia32_maxps512_mask(a, b, a, -1, 4);
#endif
}
EINDECOMP_ALWAYS_INLINE Doubles8 greater(Doubles8 a, Doubles8 b) {
#if defined(__clang__)
  return __builtin_ia32_maxpd512(a, b, 4);
#else
  return __builtin_ia32_maxpd512_mask(a, b, a, -1, 4);
#endif
}

/// p·2^k element by element, k rounded down; subnormal results are rounded once.
EINDECOMP_ALWAYS_INLINE Floats16 scaled_by_power(Floats16 p, Floats16 k) {
  return __builtin_ia32_scalefps512_mask(p, k, p, -1, 4);
}
EINDECOMP_ALWAYS_INLINE Doubles8 scaled_by_power(Doubles8 p, Doubles8 k) {
  return __builtin_ia32_scalefpd512_mask(p, k, p, -1, 4);
}

/// table[index[l] modulo 8] in every lane l.
/// \tparam Index a vector of eight integers of 64 bits.
template <class Index>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE Doubles8 look_up(Doubles8 table, Index index) {
#if defined(__clang__)
  return __builtin_ia32_permvardf512(table, reinterpret_cast<StreamLine>(index));
#else
  return __builtin_shuffle(table, index);
#endif
}

#endif

#if defined(__AVX__) && defined(EINDECOMP_STREAMING_BYTES)

/// Whether load_first() knows vectors of a type: they fill a register, with elements of 4 or 8
/// bytes.
template <class V>
inline constexpr bool loads_first = sizeof(V) == EINDECOMP_STREAMING_BYTES &&
                                    (sizeof(V{}[0]) == 4 || sizeof(V{}[0]) == 8);

/// Replaces the first `count` elements of a vector, 0 < count < all, by what lies at `from`.
/// Touches no other memory.
template <class V>
EINDECOMP_ALWAYS_INLINE void load_first(V& vector, const void* from, int count) {
  static_assert(loads_first<V>);
  using Floats [[gnu::vector_size(EINDECOMP_STREAMING_BYTES)]] = float;
  using Doubles [[gnu::vector_size(EINDECOMP_STREAMING_BYTES)]] = double;
#if defined(__AVX512F__)
  if constexpr (sizeof(vector[0]) == 4) {
    vector = reinterpret_cast<V>(__builtin_ia32_loadups512_mask(
        static_cast<const float*>(from), reinterpret_cast<Floats>(vector), first_bits(count)));
  } else {
    vector = reinterpret_cast<V>(__builtin_ia32_loadupd512_mask(
        static_cast<const double*>(from), reinterpret_cast<Doubles>(vector), first_bits(count)));
  }
#else
  if constexpr (sizeof(vector[0]) == 4) {
    using Ints [[gnu::vector_size(EINDECOMP_STREAMING_BYTES)]] = int;
    const Ints chosen = Ints{0, 1, 2, 3, 4, 5, 6, 7} < count;
    const auto loaded = __builtin_ia32_maskloadps256(static_cast<const Floats*>(from), chosen);
    vector = chosen ? reinterpret_cast<V>(loaded) : vector;
  } else {
    using Longs [[gnu::vector_size(EINDECOMP_STREAMING_BYTES)]] = long long;
    const Longs chosen = Longs{0, 1, 2, 3} < count;
    const auto loaded = __builtin_ia32_maskloadpd256(static_cast<const Doubles*>(from), chosen);
    vector = chosen ? reinterpret_cast<V>(loaded) : vector;
  }
#endif
}

#if defined(__AVX512F__)
/// The other way: stores the first `count` elements. (With AVX alone some machines take twenty
/// times as long for it as for a whole vector.)
template <class V>
EINDECOMP_ALWAYS_INLINE void store_first(void* to, const V& vector, int count) {
  static_assert(loads_first<V>);
  if constexpr (sizeof(vector[0]) == 4) {
    __builtin_ia32_storeups512_mask(static_cast<float*>(to), reinterpret_cast<Floats16>(vector),
                                    first_bits(count));
  } else {
    __builtin_ia32_storeupd512_mask(static_cast<double*>(to), reinterpret_cast<Doubles8>(vector),
                                    first_bits(count));
  }
}
#endif

#endif

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::core
