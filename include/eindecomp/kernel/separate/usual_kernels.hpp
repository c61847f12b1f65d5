// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a program of many translation units may compile once (separate_kernels.hpp): the kernels of
/// the usual signatures on the host, and what those of other signatures share.
#pragma once

#include "eindecomp/expr/compose.hpp"
#include "eindecomp/expr/differentiate.hpp"
#include "eindecomp/expr/functions.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/expr/operator.hpp"
#include "eindecomp/kernel/compiled_kernels.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/workspace.hpp"

namespace eindecomp::kernel {

/// max(x, c).
template <class T>
using UsualMaximum = Composed<Max, Arg<0>, Value<T>>;
/// exp(x - y).
using UsualExponential = Composed<Exp, Composed<Sub, Arg<0>, Arg<1>>>;
/// The derivative of max(x, c), times g.
template <class T>
using UsualMaximumSlope = Composed<Mul, Arg<0>, Composed<expr::GreaterShare, Arg<1>, Value<T>>>;
/// w - c·g, a step of gradient descent.
template <class T>
using UsualDescent = Composed<Sub, Arg<0>, Composed<Mul, Value<T>, Arg<1>>>;

}  // namespace eindecomp::kernel

/// The kernels of one signature: declared with EXTERN = extern, compiled with none.
#define EINDECOMP_KERNELS_OF(EXTERN, JOIN, MONOID, ...)                                   \
  EXTERN template struct CompiledKernels<Kokkos::DefaultHostExecutionSpace, JOIN, MONOID, \
                                         __VA_ARGS__>;

/// Says that they are compiled elsewhere.
#define EINDECOMP_NO_KERNELS_OF(EXTERN, JOIN, MONOID, ...) \
  template <>                                              \
  inline constexpr bool                                    \
      is_compiled<Kokkos::DefaultHostExecutionSpace, JOIN, MONOID, __VA_ARGS__> = true;

/// The signatures of one element type: products and sums, scaled and not, copies, min-plus and
/// max-plus; max(x, c) and the statements of a softmax; a sum of squares; their derivatives, and a
/// step of gradient descent.
#define EINDECOMP_USUAL_SIGNATURES_OF(EACH, EXTERN, T)    \
  EACH(EXTERN, Mul, Sum, T, T)                            \
  EACH(EXTERN, Mul, Sum, T)                               \
  EACH(EXTERN, Mul, NoAggregation, T, T)                  \
  EACH(EXTERN, ScaledMul<T>, Sum, T, T)                   \
  EACH(EXTERN, ScaledMul<T>, NoAggregation, T)            \
  EACH(EXTERN, Identity, Sum, T)                          \
  EACH(EXTERN, Identity, NoAggregation, T)                \
  EACH(EXTERN, Add, Min, T, T)                            \
  EACH(EXTERN, Add, Max, T, T)                            \
  EACH(EXTERN, UsualMaximum<T>, NoAggregation, T)         \
  EACH(EXTERN, Identity, Max, T)                          \
  EACH(EXTERN, UsualExponential, NoAggregation, T, T)     \
  EACH(EXTERN, Div, NoAggregation, T, T)                  \
  EACH(EXTERN, Square, Sum, T)                            \
  EACH(EXTERN, Add, NoAggregation, T, T)                  \
  EACH(EXTERN, ScaledMul<T>, NoAggregation, T, T)         \
  EACH(EXTERN, expr::WhereEqual, Sum, T, T, T)            \
  EACH(EXTERN, expr::WhereEqual, NoAggregation, T, T, T)  \
  EACH(EXTERN, expr::CountEqual<T>, Sum, T, T)            \
  EACH(EXTERN, UsualMaximumSlope<T>, NoAggregation, T, T) \
  EACH(EXTERN, UsualDescent<T>, NoAggregation, T, T)      \
  EACH(EXTERN, expr::ConstantOf<T>, NoAggregation, T)

/// What depends on no signature, nor on the instructions that may be used.
#define EINDECOMP_SHARED_KERNELS(EXTERN)                                                      \
  EXTERN template void detail::launch_erased(const Kokkos::DefaultHostExecutionSpace&,        \
                                             const char*, Extent, const detail::ErasedBody&); \
  EXTERN template unsigned char* detail::take_workspace(                                      \
      const Kokkos::DefaultHostExecutionSpace&, const char*, std::size_t,                     \
      Scratch<Kokkos::DefaultHostExecutionSpace>&);

#define EINDECOMP_USUAL_KERNELS(EXTERN)                              \
  EINDECOMP_SHARED_KERNELS(EXTERN)                                   \
  EINDECOMP_USUAL_SIGNATURES_OF(EINDECOMP_KERNELS_OF, EXTERN, float) \
  EINDECOMP_USUAL_SIGNATURES_OF(EINDECOMP_KERNELS_OF, EXTERN, double)

#ifdef EINDECOMP_SEPARATE_KERNELS
namespace eindecomp::kernel {

// Compiled in the one translation unit that includes separate_kernels.hpp.
EINDECOMP_USUAL_SIGNATURES_OF(EINDECOMP_NO_KERNELS_OF, , float)
EINDECOMP_USUAL_SIGNATURES_OF(EINDECOMP_NO_KERNELS_OF, , double)
EINDECOMP_USUAL_KERNELS(extern)

}  // namespace eindecomp::kernel
#endif
