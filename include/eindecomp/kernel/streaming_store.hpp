// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Stores that go to memory without reading the line they write to first: for targets that are
/// larger than the caches and will not be read soon.
#pragma once

#include <cstdint>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"

namespace eindecomp::kernel::detail {

#if defined(EINDECOMP_STREAMING_BYTES)

/// As many bytes as one streaming store writes.
typedef long long StreamLine __attribute__((vector_size(EINDECOMP_STREAMING_BYTES)));
/// The same wherever it lies and whatever its type.
typedef long long StreamSource
    __attribute__((vector_size(EINDECOMP_STREAMING_BYTES), aligned(1), may_alias));

/// Writes a whole vector to an aligned address.
inline void stream(void* to, StreamLine bytes) {
#if EINDECOMP_STREAMING_BYTES == 64
  __builtin_ia32_movntdq512(static_cast<StreamLine*>(to), bytes);
#elif EINDECOMP_STREAMING_BYTES == 32
  __builtin_ia32_movntdq256(static_cast<StreamLine*>(to), bytes);
#else
  __builtin_ia32_movntdq(static_cast<StreamLine*>(to), bytes);
#endif
}

/// Makes streaming stores visible to other threads before what follows.
inline void end_streaming() { __builtin_ia32_sfence(); }

/// to[i] = from[i], past the caches but for the ends.
template <class Word>
void stream_row(Word* to, const Word* from, Extent n) {
  constexpr Extent words = EINDECOMP_STREAMING_BYTES / static_cast<Extent>(sizeof(Word));
  const auto misaligned = [](const Word* at) {
    return reinterpret_cast<std::uintptr_t>(at) % EINDECOMP_STREAMING_BYTES != 0;
  };
  Extent i = 0;
  for (; i < n && misaligned(to + i); ++i) to[i] = from[i];
  for (; i + words <= n; i += words) {
    stream(to + i, *reinterpret_cast<const StreamSource*>(from + i));
  }
  for (; i < n; ++i) to[i] = from[i];
}

#endif

}  // namespace eindecomp::kernel::detail
