// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The scalar functions of the language: joins ⊗ of several operands and maps of one.
///
/// A user's own is any functor that the compiler (and, on a GPU, the device) can call with the
/// operands' elements; it may have state. Ours are constexpr, and call exp and its kin unqualified
/// so that Kokkos::complex finds its own.
#pragma once

#include <cmath>
#include <string_view>
#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/instructions.hpp"
#include "eindecomp/expr/elementary.hpp"
#include "eindecomp/expr/error_function.hpp"
#include "eindecomp/expr/exponential.hpp"
#include "eindecomp/expr/half.hpp"
#include "eindecomp/expr/vector.hpp"

namespace eindecomp {

/// Marks a compute-bound functor, whose results take longer to compute than to write, so that
/// kernels interleave it with others that are bound by memory: `static constexpr bool
/// is_compute_bound = true`, or specialise.
template <class F>
inline constexpr bool is_compute_bound = requires {
  requires static_cast<bool>(F::is_compute_bound);
};

namespace expr {
/// How many of a join's operands are index tensors, where.hpp: the first.
template <class Join>
inline constexpr int index_tensors = 0;
/// Of which of them elements that are no index are passed over, bit by bit.
template <class Join>
inline constexpr unsigned skipped_indices = 0;

// Inside this namespace the names below are functions of <cmath> for arithmetic types and, by
// argument-dependent lookup, those of the complex types.
using std::abs;
using std::erf;
using std::erfc;
using std::exp;
using std::log;
using std::sqrt;
using std::tanh;
template <class A>
EINDECOMP_FUNCTION constexpr auto call_abs(const A& a) {
  if constexpr (Vector<A> || std::is_arithmetic_v<A>) {
    return A{} < a ? a : A(A{} - a);  // 0 of -0, too
  } else {
    return abs(a);
  }
}
inline namespace EINDECOMP_INSTRUCTION_SET {
inline constexpr bool vector_elementary = EINDECOMP_VECTOR_ELEMENTARY != 0;
inline constexpr bool vector_root = EINDECOMP_VECTOR_ROOT != 0;

// With vectors, numbers too are computed by the functions that take vectors, so that a result does
// not depend on where an element lies.
#if EINDECOMP_VECTOR_ELEMENTARY
#define EINDECOMP_CALL(by_vectors, library)  \
  if constexpr (requires { by_vectors(a); }) \
    return by_vectors(a);                    \
  else                                       \
    return library;
#else
#define EINDECOMP_CALL(by_vectors, library) return library;
#endif
template <class A>
EINDECOMP_FUNCTION constexpr auto call_exp(const A& a) {
  EINDECOMP_CALL(exponential, exp(a))
}
template <class A>
EINDECOMP_FUNCTION constexpr auto call_log(const A& a) {
  EINDECOMP_CALL(logarithm, log(a))
}
template <class A>
EINDECOMP_FUNCTION constexpr auto call_tanh(const A& a) {
  EINDECOMP_CALL(hyperbolic_tangent, tanh(a))
}
template <class A>
EINDECOMP_FUNCTION constexpr auto call_erf(const A& a) {
  EINDECOMP_CALL(error_function, erf(a))
}
template <class A>
EINDECOMP_FUNCTION constexpr auto call_erfc(const A& a) {
  EINDECOMP_CALL(error_function_complement, erfc(a))
}
/// a/2·erfc(-a/√2): 1 + erf would cancel where a is negative.
template <class A>
EINDECOMP_FUNCTION constexpr auto call_gelu(const A& a) {
  EINDECOMP_CALL(gaussian_error_linear_unit, A(0.5) * a * erfc(A(-0.70710678118654752440) * a))
}
#undef EINDECOMP_CALL
template <class A>
EINDECOMP_FUNCTION constexpr auto call_sqrt(const A& a) {
#if EINDECOMP_VECTOR_ROOT
  if constexpr (Vector<A>)
    return core::square_root(a);
  else
    return sqrt(a);
#else
  return sqrt(a);
#endif
}
}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace expr

// The names follow std::plus and the Kokkos reducers; one body each, hence the two macros.
// clang-format off
#define EINDECOMP_BINARY(Name, text, expression)                                        \
  struct Name {                                                                         \
    static constexpr std::string_view name = text;                                      \
    template <class A, class B>                                                         \
    EINDECOMP_FUNCTION constexpr auto operator()(const A& a, const B& b) const          \
        -> std::decay_t<decltype(expression)> { EINDECOMP_CONTRACT return expression; } \
  };
#define EINDECOMP_UNARY(Name, text, expression)                                         \
  struct Name {                                                                         \
    static constexpr std::string_view name = text;                                      \
    template <class A>                                                                  \
    EINDECOMP_FUNCTION constexpr auto operator()(const A& a) const                      \
        -> std::decay_t<decltype(expression)> { return expression; }                    \
  };

/// a - b.
EINDECOMP_BINARY(Sub, "sub", a - b)
/// a / b; of integers the whole part, and 0 where b is.
struct Div {
  static constexpr std::string_view name = "div";
  // No machine divides vectors of integers, and their division would not look for 0.
  template <class A, class B>
    requires(!expr::VectorOfIntegers<A> && !expr::VectorOfIntegers<B>)
  EINDECOMP_FUNCTION constexpr auto operator()(const A& a, const B& b) const
      -> std::decay_t<decltype(a / b)> {
    using Quotient = std::decay_t<decltype(a / b)>;
    if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
      if (b == 0) return 0;
      // The least integer has no quotient by -1: it stays what it is.
      if constexpr (std::is_signed_v<B> && std::is_signed_v<Quotient>) {
        using Unsigned = std::make_unsigned_t<Quotient>;
        if (b == -1) return static_cast<Quotient>(Unsigned(0) - static_cast<Unsigned>(a));
      }
    }
    return a / b;
  }
};
/// (a - b)².
EINDECOMP_BINARY(SqDiff, "sq_diff", (a - b) * (a - b))
/// a < b.
EINDECOMP_BINARY(Less, "less", expr::compared(a < b))
/// a <= b.
EINDECOMP_BINARY(LessEqual, "less_equal", expr::compared(a <= b))
/// a > b.
EINDECOMP_BINARY(Greater, "greater", expr::compared(a > b))
/// a >= b.
EINDECOMP_BINARY(GreaterEqual, "greater_equal", expr::compared(a >= b))
/// a == b.
EINDECOMP_BINARY(Equal, "equal", expr::compared(a == b))
/// a != b.
EINDECOMP_BINARY(NotEqual, "not_equal", expr::compared(a != b))

/// a.
EINDECOMP_UNARY(Identity, "identity", a)
/// -a.
EINDECOMP_UNARY(Negate, "negate", -a)
/// a, or 0 if a is less.
EINDECOMP_UNARY(Relu, "relu", a < A{} ? A{} : a)
/// !a.
EINDECOMP_UNARY(Not, "not", !a)
/// |a|, of complex numbers the modulus.
EINDECOMP_UNARY(Abs, "abs", expr::call_abs(a))
/// e to the power a.
EINDECOMP_UNARY(Exp, "exp", expr::call_exp(a))
/// The natural logarithm of a.
EINDECOMP_UNARY(Log, "log", expr::call_log(a))
/// √a.
EINDECOMP_UNARY(Sqrt, "sqrt", expr::call_sqrt(a))
/// The hyperbolic tangent of a.
EINDECOMP_UNARY(Tanh, "tanh", expr::call_tanh(a))
// clang-format on
#undef EINDECOMP_BINARY
#undef EINDECOMP_UNARY

/// F of operands that are converted to T first; F is the identity unless told. `Cast<double, Mul>`
/// multiplies floats in double, and a sum of such products is in double.
template <class T, class F = Identity>
struct Cast {
  F f{};  ///< what is called
  template <class... As>
  EINDECOMP_FUNCTION constexpr auto operator()(const As&... as) const
      -> std::decay_t<std::invoke_result_t<
          const F&, const std::enable_if_t<std::is_convertible_v<As, Widened<T>>, T>&...>> {
    return f(static_cast<T>(as)...);
  }
};

/// |a - b|.
struct AbsDiff {
  static constexpr std::string_view name = "abs_diff";
  template <class A, class B>
  EINDECOMP_FUNCTION constexpr auto operator()(const A& a, const B& b) const
      -> std::decay_t<decltype(a < b ? b - a : a - b)> {
    if constexpr (std::is_floating_point_v<A> && std::is_floating_point_v<B>) {
      // Where fabs may be called it clears a bit instead of comparing. The builtin is asked, since
      // nvcc takes std::is_constant_evaluated for a function of the host.
      if (!__builtin_is_constant_evaluated()) return std::fabs(a - b);
    }
    return a < b ? b - a : a - b;
  }
};

/// a·b·…, of any number of operands from the left.
struct Mul {
  static constexpr std::string_view name = "mul";
  template <class A>
  EINDECOMP_FUNCTION constexpr A operator()(const A& a) const {
    return a;
  }
  template <class A, class B, class... Rest>
  EINDECOMP_FUNCTION constexpr auto operator()(const A& a, const B& b, const Rest&... rest) const
      -> std::decay_t<decltype(((a * b) * ... * rest))> {
    EINDECOMP_CONTRACT
    return ((a * b) * ... * rest);
  }
};

/// a + b + …, of any number of operands from the left.
struct Add {
  static constexpr std::string_view name = "add";
  template <class A>
  EINDECOMP_FUNCTION constexpr A operator()(const A& a) const {
    return a;
  }
  template <class A, class B, class... Rest>
  EINDECOMP_FUNCTION constexpr auto operator()(const A& a, const B& b, const Rest&... rest) const
      -> std::decay_t<decltype(((a + b) + ... + rest))> {
    EINDECOMP_CONTRACT
    return ((a + b) + ... + rest);
  }
};

/// condition ? a : b
struct Select {
  static constexpr std::string_view name = "select";
  template <class C, class A, class B>
    requires(!expr::Vector<C>)
  EINDECOMP_FUNCTION constexpr auto operator()(const C& condition, const A& a, const B& b) const
      -> std::common_type_t<A, B> {
    return condition ? a : b;
  }
  /// Of vectors element by element; a number is the same for all.
  template <expr::Vector C, class A, class B>
    requires(expr::Vector<A> || expr::Vector<B>)
  EINDECOMP_ALWAYS_INLINE constexpr auto operator()(const C& condition, const A& a,
                                                    const B& b) const
      -> std::decay_t<decltype(condition != C{} ? a : b)> {
    return condition != C{} ? a : b;
  }
  /// Where a comparison of vectors holds.
  template <class C, class A, class B>
    requires(expr::Vector<A> || expr::Vector<B>)
  EINDECOMP_ALWAYS_INLINE constexpr auto operator()(const expr::LaneMask<C>& condition, const A& a,
                                                    const B& b) const
      -> std::decay_t<decltype(condition.lanes != C{} ? a : b)> {
    return condition.lanes != C{} ? a : b;
  }
};

/// factor·(a·b·…): what a product with run-time scalars is gathered into, so that kernels find the
/// alpha of a BLAS call.
template <class Factor>
struct ScaledMul {
  static constexpr std::string_view name = "scaled_mul";
  Factor factor{1};  ///< the scalars, multiplied
  template <class... A>
  EINDECOMP_FUNCTION constexpr auto operator()(const A&... a) const
      -> std::decay_t<decltype(factor * Mul{}(a...))> {
    return factor * Mul{}(a...);
  }
};

namespace expr {
template <class T, class... Ts>
inline constexpr bool is_one_of = (std::is_same_v<T, Ts> || ...);
}  // namespace expr

/// Promises that a functor, where it can be called with the compiler's vectors of an element type,
/// computes each element as it computes a number (comparisons give a LaneMask then, which Select
/// alone takes): `static constexpr bool takes_vectors = true`, or
/// specialise. A template of arithmetic and `?:` does so as it stands; a functor may also be
/// overloaded for vectors (see Min). Without the promise it is called element by element.
template <class F>
inline constexpr bool takes_vectors =
    expr::is_one_of<F, Add, Sub, Mul, SqDiff, Div, Identity, Negate, Relu, Abs, Select, Less,
                    LessEqual, Greater, GreaterEqual, Equal, NotEqual> ||
    requires {
  requires static_cast<bool>(F::takes_vectors);
};
template <class Factor>
inline constexpr bool takes_vectors<ScaledMul<Factor>> = true;
template <>
inline constexpr bool takes_vectors<Exp> = expr::vector_elementary;
template <>
inline constexpr bool takes_vectors<Log> = expr::vector_elementary;
template <>
inline constexpr bool takes_vectors<Tanh> = expr::vector_elementary;
template <>
inline constexpr bool takes_vectors<Sqrt> = expr::vector_root;

template <>
inline constexpr bool is_compute_bound<Exp> = true;

}  // namespace eindecomp
