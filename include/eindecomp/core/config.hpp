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
