// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a program of many translation units may compile once (separate_kernels.hpp): the kernels of
/// the usual signatures on the host, and what those of other signatures share.
#pragma once

/// The kernels of one signature: declared with EXTERN = extern, compiled with none.
#define EINDECOMP_KERNELS_OF(EXTERN, JOIN, MONOID, ...)                                          \
  EXTERN template Path path_of<Kokkos::DefaultHostExecutionSpace, JOIN, MONOID, __VA_ARGS__>(    \
      const LocalEinsum&);                                                                       \
  EXTERN template std::int64_t                                                                   \
  workspace_of<Kokkos::DefaultHostExecutionSpace, JOIN, MONOID, __VA_ARGS__>(                    \
      const Kokkos::DefaultHostExecutionSpace&, const LocalEinsum&);                             \
  EXTERN template void run_join<Kokkos::DefaultHostExecutionSpace, JOIN, MONOID, __VA_ARGS__>(   \
      const Kokkos::DefaultHostExecutionSpace&, const LocalEinsum&, JOIN, MONOID,                \
      const void* const*, void*, Write);                                                         \
  EXTERN template std::unique_ptr<const PreparedJoin>                                            \
  prepare_join<Kokkos::DefaultHostExecutionSpace, JOIN, MONOID, __VA_ARGS__>(const LocalEinsum&, \
                                                                             JOIN, MONOID);

/// Products and sums, scaled and not, copies, min-plus and max-plus of one element type.
#define EINDECOMP_USUAL_KERNELS_OF(EXTERN, T)                  \
  EINDECOMP_KERNELS_OF(EXTERN, Mul, Sum, T, T)                 \
  EINDECOMP_KERNELS_OF(EXTERN, Mul, Sum, T)                    \
  EINDECOMP_KERNELS_OF(EXTERN, ScaledMul<T>, Sum, T, T)        \
  EINDECOMP_KERNELS_OF(EXTERN, ScaledMul<T>, NoAggregation, T) \
  EINDECOMP_KERNELS_OF(EXTERN, Identity, Sum, T)               \
  EINDECOMP_KERNELS_OF(EXTERN, Identity, NoAggregation, T)     \
  EINDECOMP_KERNELS_OF(EXTERN, Add, Min, T, T)                 \
  EINDECOMP_KERNELS_OF(EXTERN, Add, Max, T, T)

/// What depends on no signature.
#define EINDECOMP_SHARED_KERNELS(EXTERN)                                                        \
  EXTERN template void detail::launch_erased(const Kokkos::DefaultHostExecutionSpace&,          \
                                             const char*, Extent, const detail::ErasedBody&);   \
  EXTERN template unsigned char* detail::take_workspace(                                        \
      const Kokkos::DefaultHostExecutionSpace&, const char*, std::size_t,                       \
      compat::Scratch<Kokkos::DefaultHostExecutionSpace>&);                                     \
  EXTERN template void detail::copy_nest(const Kokkos::DefaultHostExecutionSpace&, const char*, \
                                         const detail::CopyNest&, std::int64_t, detail::Target, \
                                         void*, const void*);                                   \
  EXTERN template void detail::run_packed_blocks(const Kokkos::DefaultHostExecutionSpace&,      \
                                                 detail::PackedRun&);

#define EINDECOMP_USUAL_KERNELS(EXTERN)     \
  EINDECOMP_SHARED_KERNELS(EXTERN)          \
  EINDECOMP_USUAL_KERNELS_OF(EXTERN, float) \
  EINDECOMP_USUAL_KERNELS_OF(EXTERN, double)
