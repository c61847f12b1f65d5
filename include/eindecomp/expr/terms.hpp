// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Sums of contractions and tensors, in which signs and factors of a contraction are its own: what
/// is then added can accumulate in one result.
#pragma once

#include <boost/hana/tuple.hpp>
#include <type_traits>

#include "eindecomp/expr/expression.hpp"
#include "eindecomp/expr/factors.hpp"

namespace eindecomp::expr {

/// Whether a product of E and a number is one operator of tensors if E's factors are: of what is
/// read as it is stored, and computed from it.
template <class E>
inline constexpr bool is_scalable = false;
template <class S, class... Ls>
inline constexpr bool is_scalable<Access<S, Ls...>> = !is_computed<Access<S, Ls...>>;
template <class T>
inline constexpr bool is_scalable<Constant<T>> = true;
template <class Op, class... Es>
inline constexpr bool is_scalable<Apply<Op, Es...>> = (is_scalable<Es> && ...);
template <class Monoid, class Labels, class Body>
inline constexpr bool is_scalable<Aggregation<Monoid, Labels, Body>> = true;

/// How many tensors and contractions E adds, subtracts, negates or multiplies by numbers.
struct TermCount {
  int tensors = 0;
  int contractions = 0;
  int others = 0;  ///< of which neither is known
  friend constexpr TermCount operator+(const TermCount& a, const TermCount& b) {
    return {a.tensors + b.tensors, a.contractions + b.contractions, a.others + b.others};
  }
};
template <class E>
inline constexpr TermCount term_count{0, 0, 1};
template <class S, class... Ls>
inline constexpr TermCount term_count<Access<S, Ls...>>{1, 0, 0};
template <class Monoid, class Labels, class Body>
inline constexpr TermCount term_count<Aggregation<Monoid, Labels, Body>>{0, 1, 0};
template <class Op, class... Es>
  requires is_one_of<Op, Add, Sub, Negate>
inline constexpr TermCount term_count<Apply<Op, Es...>> = (term_count<Es> + ...);
template <class T, class E>
inline constexpr TermCount term_count<Apply<Mul, Constant<T>, E>> = term_count<E>;
template <class T, class E>
inline constexpr TermCount term_count<Apply<Mul, E, Constant<T>>> = term_count<E>;

/// Whether a sum of elements T may have E as a term. \tparam Scaled  whether E is subtracted, or
/// multiplied by a number: a contraction then is, not what it gives
template <class T, bool Scaled, class E>
inline constexpr bool is_term = !Scaled && std::is_same_v<Elements<E>, T>;
template <class T, class Labels, class Body>
inline constexpr bool is_term<T, true, Aggregation<Sum, Labels, Body>> =
    applies<Mul, Body>&& is_scalable<Body>&& std::is_same_v<Elements<Body>, T>;
template <class T, bool Scaled, class... Es>
inline constexpr bool is_term<T, Scaled, Apply<Add, Es...>> = (is_term<T, Scaled, Es> && ...);
template <class T, bool Scaled, class A, class B>
inline constexpr bool is_term<T, Scaled, Apply<Sub, A, B>> =
    is_term<T, Scaled, A>&& is_term<T, true, B>;
template <class T, bool Scaled, class E>
inline constexpr bool is_term<T, Scaled, Apply<Negate, E>> = is_term<T, true, E>;
template <class T, bool Scaled, class F, class E>
inline constexpr bool is_term<T, Scaled, Apply<Mul, Constant<F>, E>> =
    std::is_same_v<F, T>&& is_term<T, true, E>;
template <class T, bool Scaled, class F, class E>
inline constexpr bool is_term<T, Scaled, Apply<Mul, E, Constant<F>>> =
    std::is_same_v<F, T>&& is_term<T, true, E>;

/// Whether E is a sum, or one term with a sign or a factor, of contractions and tensors, in which
/// signs and factors may be those of contractions.
template <class E>
inline constexpr bool is_sum_of_contractions = [] {
  if constexpr (term_count<E>.others == 0 && term_count<E>.contractions > 0) {
    return is_number<Elements<E>> && is_term<Elements<E>, false, E>;
  } else {
    return false;
  }
}();

/// A factor of nothing.
struct Unscaled {};

/// One factor times another one.
template <class T>
[[nodiscard]] constexpr Constant<T> scaled_by(const Constant<T>& factor, Unscaled) {
  return factor;
}
template <class T>
[[nodiscard]] constexpr Constant<T> scaled_by(const Constant<T>& a, const Constant<T>& b) {
  Constant<T> product(static_cast<T>(a.value * b.value));
  product.held = a.held && b.held;
  return product;
}

}  // namespace eindecomp::expr
