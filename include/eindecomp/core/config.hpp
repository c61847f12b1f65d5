// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the compiler in use must be told; nothing else in the library tests for compilers.
#pragma once

/// Marks a function that device kernels call. Our operators and monoids carry it, and so must a
/// user's functor if it is to run on a GPU.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define EINDECOMP_FUNCTION __host__ __device__
#else
#define EINDECOMP_FUNCTION
#endif

/// The bytes of a vector register that host code may use through portable vector types; not defined
/// where the compiler has no shuffles of them.
#if defined(__has_builtin) && !defined(__CUDACC__) && !defined(__HIPCC__)
#if __has_builtin(__builtin_shufflevector)
#if defined(__AVX512F__)
#define EINDECOMP_REGISTER_BYTES 64
#elif defined(__AVX__)
#define EINDECOMP_REGISTER_BYTES 32
#else
#define EINDECOMP_REGISTER_BYTES 16
#endif
#endif
#endif

/// How many such registers there are.
#if (defined(__AVX512F__) && defined(EINDECOMP_REGISTER_BYTES)) || defined(__aarch64__)
#define EINDECOMP_REGISTERS 32
#else
#define EINDECOMP_REGISTERS 16
#endif

/// The bytes of a store that bypasses the caches; not defined where there is none.
#if defined(__SSE2__) && defined(__GNUC__) && defined(EINDECOMP_REGISTER_BYTES)
#define EINDECOMP_STREAMING_BYTES EINDECOMP_REGISTER_BYTES
#endif

/// Whether exponential() is computed by vectors; where it is not, the C library's function is
/// faster, as it is than vectors of SSE2, which does not compare integers of 64 bits.
#if defined(__AVX2__) && defined(EINDECOMP_STREAMING_BYTES)
#define EINDECOMP_VECTOR_EXPONENTIAL 1
#else
#define EINDECOMP_VECTOR_EXPONENTIAL 0
#endif

/// The inline namespace of all code that depends on the instructions that the compiler may use, by
/// the figures above or by what it calls. So a program may be linked of translation units that are
/// compiled for different machines: to the linker the same name is the same function, of which it
/// keeps any one, and a vector passed in registers by one may be expected in memory by another.
#if !defined(EINDECOMP_REGISTER_BYTES)
#define EINDECOMP_INSTRUCTION_SET no_vectors
#elif defined(__AVX512F__)
#define EINDECOMP_INSTRUCTION_SET avx512
#elif EINDECOMP_VECTOR_EXPONENTIAL
#define EINDECOMP_INSTRUCTION_SET avx2
#elif defined(__AVX__)
#define EINDECOMP_INSTRUCTION_SET avx
#else
#define EINDECOMP_INSTRUCTION_SET baseline
#endif

/// At the begin of a function: a product in it and a sum with it, in whichever function, may be one
/// instruction, as they may be to g++ and nvcc.
#if defined(__clang__) && !defined(__CUDACC__) && !defined(__HIPCC__)
#define EINDECOMP_CONTRACT _Pragma("clang fp contract(fast)")
#else
#define EINDECOMP_CONTRACT
#endif

/// A function that loops must not call but contain, to be vectorised.
#if defined(__GNUC__)
#define EINDECOMP_ALWAYS_INLINE [[gnu::always_inline]] inline
#else
#define EINDECOMP_ALWAYS_INLINE inline
#endif

/// A function that contains whatever it calls, functors of the user among them.
#if defined(__GNUC__)
#define EINDECOMP_FLATTEN [[gnu::flatten]]
#else
#define EINDECOMP_FLATTEN
#endif

/// A function that is called once for something that takes far longer: how a product is computed,
/// what a block is. It is compiled to be small, not to be fast, which takes a fraction of the time.
#if defined(__GNUC__)
#define EINDECOMP_COMPACT [[gnu::cold]]
#else
#define EINDECOMP_COMPACT
#endif

/// A function that is called in several places and worth its call in each: compiled once.
#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(__HIPCC__)
#define EINDECOMP_NEVER_INLINE [[gnu::noinline]]
#else
#define EINDECOMP_NEVER_INLINE
#endif

/// Before a loop of which host code is to have so many turns in one.
#if defined(__GNUC__) && !defined(__CUDACC__)
#define EINDECOMP_PRAGMA(text) _Pragma(#text)
#define EINDECOMP_UNROLLED(turns) EINDECOMP_PRAGMA(GCC unroll turns)
#else
#define EINDECOMP_UNROLLED(turns)
#endif

/// Before a loop over the elements of a vector: leaves it to the vectoriser, which g++ would
/// otherwise find unrolled into scalar code.
#if defined(__GNUC__) && !defined(__clang__)
#define EINDECOMP_VECTOR_LOOP EINDECOMP_UNROLLED(1)
#else
#define EINDECOMP_VECTOR_LOOP
#endif

/// Defined while device code is made, which has no use for what only hosts call.
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define EINDECOMP_DEVICE_PASS 1
#endif

/// Before a loop that a device must unroll, for arrays indexed in it to be in registers.
#if defined(EINDECOMP_DEVICE_PASS)
#define EINDECOMP_UNROLL _Pragma("unroll")
#else
#define EINDECOMP_UNROLL
#endif
