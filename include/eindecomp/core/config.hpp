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

/// Before the definition of a function that EINDECOMP_SEPARATE_PLANNER lets be compiled once.
#ifdef EINDECOMP_SEPARATE_PLANNER
#define EINDECOMP_PLANNER_INLINE
#else
#define EINDECOMP_PLANNER_INLINE inline
#endif

/// Before the definition of a function that EINDECOMP_SEPARATE_EXECUTOR lets be compiled once.
#ifdef EINDECOMP_SEPARATE_EXECUTOR
#define EINDECOMP_EXECUTOR_INLINE
#else
#define EINDECOMP_EXECUTOR_INLINE inline
#endif

/// The bytes of a vector register that host code may use through portable vector types; not defined
/// where the compiler has no shuffles of them, or compiles the same code for a device.
#if defined(__has_builtin) && !defined(__CUDACC__) && !defined(__HIPCC__) && \
    !defined(SYCL_LANGUAGE_VERSION)
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

/// Whether code compiled here multiplies and adds in one instruction on the machine's vectors, as a
/// BLAS does that chooses its instructions when the program runs.
#if (defined(__FMA__) || defined(__aarch64__)) && defined(EINDECOMP_REGISTER_BYTES)
#define EINDECOMP_FUSED_MULTIPLY_ADD 1
#else
#define EINDECOMP_FUSED_MULTIPLY_ADD 0
#endif

/// The bytes of a store that bypasses the caches; not defined where there is none.
#if defined(__SSE2__) && defined(__GNUC__) && defined(EINDECOMP_REGISTER_BYTES)
#define EINDECOMP_STREAMING_BYTES EINDECOMP_REGISTER_BYTES
#endif

/// Whether the machine converts numbers of 16 bits, those of float16, to floats and back.
#if defined(__F16C__) && defined(__AVX__) && defined(EINDECOMP_STREAMING_BYTES)
#define EINDECOMP_CONVERTS_HALVES 1
#else
#define EINDECOMP_CONVERTS_HALVES 0
#endif

/// Whether exponential(), logarithm(), hyperbolic_tangent() and the error function are computed by
/// vectors. With SSE2, which cannot compare integers of 64 bits, and without vectors the C
/// library's functions are faster.
#if defined(__AVX2__) && defined(EINDECOMP_STREAMING_BYTES)
#define EINDECOMP_VECTOR_ELEMENTARY 1
#else
#define EINDECOMP_VECTOR_ELEMENTARY 0
#endif

/// Whether core::square_root() computes square roots by vectors.
#if !defined(EINDECOMP_REGISTER_BYTES)
#define EINDECOMP_VECTOR_ROOT 0
#elif defined(__clang__)
#define EINDECOMP_VECTOR_ROOT __has_builtin(__builtin_elementwise_sqrt)
#elif defined(EINDECOMP_STREAMING_BYTES)
#define EINDECOMP_VECTOR_ROOT 1
#else
#define EINDECOMP_VECTOR_ROOT 0
#endif

/// The inline namespace of all code that depends on the instruction set, through the figures above
/// or through what it calls. It lets translation units that were compiled for different machines be
/// linked into one program: the linker keeps one of several functions of one name, whichever
/// machine it was compiled for, and one may pass a vector in registers where another expects it in
/// memory.
#if !defined(EINDECOMP_REGISTER_BYTES)
#define EINDECOMP_INSTRUCTION_SET no_vectors
#elif defined(__AVX512F__)
#define EINDECOMP_INSTRUCTION_SET EINDECOMP_SET_OF(avx512)
#elif EINDECOMP_VECTOR_ELEMENTARY
#define EINDECOMP_INSTRUCTION_SET EINDECOMP_SET_OF(avx2)
#elif defined(__AVX__)
#define EINDECOMP_INSTRUCTION_SET EINDECOMP_SET_OF(avx)
#else
#define EINDECOMP_INSTRUCTION_SET baseline
#endif
/// With AVX, its name says what else the machine does: -mavx2 is not -mavx2 -mfma.
#if EINDECOMP_FUSED_MULTIPLY_ADD && EINDECOMP_CONVERTS_HALVES
#define EINDECOMP_SET_OF(vectors) vectors##_fma_f16c
#elif EINDECOMP_FUSED_MULTIPLY_ADD
#define EINDECOMP_SET_OF(vectors) vectors##_fma
#elif EINDECOMP_CONVERTS_HALVES
#define EINDECOMP_SET_OF(vectors) vectors##_f16c
#else
#define EINDECOMP_SET_OF(vectors) vectors
#endif

/// At the beginning of a function: its products may be fused with sums, also those of a caller,
/// into one instruction, as g++ and nvcc do by default.
#if defined(__clang__) && !defined(__CUDACC__) && !defined(__HIPCC__)
#define EINDECOMP_CONTRACT _Pragma("clang fp contract(fast)")
#else
#define EINDECOMP_CONTRACT
#endif

/// A function that must be inlined, so that loops around it can be vectorised.
#if defined(__GNUC__)
#define EINDECOMP_ALWAYS_INLINE [[gnu::always_inline]] inline
#else
#define EINDECOMP_ALWAYS_INLINE inline
#endif

/// A function into which everything it calls is inlined, the user's functors too.
#if defined(__GNUC__)
#define EINDECOMP_FLATTEN [[gnu::flatten]]
#else
#define EINDECOMP_FLATTEN
#endif

/// A function that is called once before work that takes far longer, for example to choose an
/// algorithm. It is compiled for size instead of speed, which compiles several times as fast.
#if defined(__GNUC__)
#define EINDECOMP_COMPACT [[gnu::cold]]
#else
#define EINDECOMP_COMPACT
#endif

/// A function that is compiled once instead of being inlined into each of several callers.
#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(__HIPCC__)
#define EINDECOMP_NEVER_INLINE [[gnu::noinline]]
#else
#define EINDECOMP_NEVER_INLINE
#endif

/// Before a loop that host code unrolls so many times.
#if defined(__GNUC__) && !defined(__CUDACC__)
#define EINDECOMP_PRAGMA(text) _Pragma(#text)
#define EINDECOMP_UNROLLED(turns) EINDECOMP_PRAGMA(GCC unroll turns)
#else
#define EINDECOMP_UNROLLED(turns)
#endif

/// Before a loop over the elements of a vector: keeps g++ from unrolling it into scalar code before
/// the vectoriser sees it.
#if defined(__GNUC__) && !defined(__clang__)
#define EINDECOMP_VECTOR_LOOP EINDECOMP_UNROLLED(1)
#else
#define EINDECOMP_VECTOR_LOOP
#endif

/// Defined while device code is compiled, which leaves out what only hosts call.
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || defined(__SYCL_DEVICE_ONLY__)
#define EINDECOMP_DEVICE_PASS 1
#endif

/// Before a loop that a device must unroll, so that the arrays it indexes stay in registers.
#if defined(EINDECOMP_DEVICE_PASS)
#define EINDECOMP_UNROLL _Pragma("unroll")
#else
#define EINDECOMP_UNROLL
#endif
