// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// An expression under exchanged labels, and its symmetric and antisymmetric sums: macros, as those
/// of macros.hpp.
#pragma once

#include <boost/hana/unpack.hpp>
#include <source_location>
#include <string_view>
#include <type_traits>

#include "eindecomp/graph/macros.hpp"

namespace eindecomp {

namespace graph {

/// L, or the other one of A and B.
template <class A, class B, class L>
using Exchanged =
    std::conditional_t<std::is_same_v<L, A>, B, std::conditional_t<std::is_same_v<L, B>, A, L>>;

/// A tensor read with A and B in each other's place.
template <class A, class B, class S, class... Ls>
[[nodiscard]] constexpr auto exchanged(const Access<S, Ls...>& access) {
  return access.symbol(Exchanged<A, B, Ls>{}...);
}

template <class A, class B, class Op, class... Es>
[[nodiscard]] constexpr auto exchanged(const Apply<Op, Es...>& e) {
  return boost::hana::unpack(e.operands, [&](const auto&... es) {
    return Apply<Op, decltype(exchanged<A, B>(es))...>{e.op, exchanged<A, B>(es)...};
  });
}

template <class A, class B>
[[nodiscard]] constexpr auto exchanged(const expr::Refused& e) {
  return e;
}

/// How many tensors E adds up; more than a statement's operands if it does more.
template <class E>
inline constexpr int tensors_added = max_operands + 1;
template <class S, class... Ls>
inline constexpr int tensors_added<Access<S, Ls...>> = 1;
template <class Op, class... Es>
inline constexpr int tensors_added<Apply<Op, Es...>> = expr::is_one_of<Op, Add, Sub>
                                                           ? (tensors_added<Es> + ...)
                                                           : max_operands + 1;

/// An expression whose labels can be exchanged Times times in one statement: a tensor, a sum of
/// few, or else a statement of its own.
template <int Times, class... Labels, class E>
[[nodiscard]] constexpr auto permutable(std::string_view name, const E& e,
                                        const std::source_location& where) {
  static_assert(
      (expr::has_labels<E, LabelList<Labels>> && ...),
      "EinDecomp: a label is exchanged that the expression lacks; exchange labels that it "
      "has");
  if constexpr (!(expr::has_labels<E, LabelList<Labels>> && ...)) {
    return expr::Refused{};
  } else if constexpr (Times * tensors_added<E> <= max_operands && !expr::is_computed<E>) {
    return e;
  } else if constexpr (expr::is_computed<E>) {
    using All = typename E::LabelTypes;
    return access_under(let_under(name, All{}, where) = e, All{});
  } else {
    return as_access(name, e, where);
  }
}

/// sum ± Σ x with the last label and one of the others in each other's place.
template <class Combine, class Last, class Other, class... Others, class X, class Sum>
[[nodiscard]] constexpr auto add_exchanges(const X& x, const Sum& sum) {
  if constexpr (std::is_same_v<X, expr::Refused>) {
    return x;
  } else {
    const auto next = expr::apply(Combine{}, sum, exchanged<Last, Other>(x));
    if constexpr (sizeof...(Others) == 0) {
      return next;
    } else {
      return add_exchanges<Combine, Last, Others...>(x, next);
    }
  }
}

/// The sum over all permutations of some labels, by Combine = Add, or Sub with their signs. Those
/// of n labels are those of n - 1 and their exchanges with the last: n - 1 statements of 2 … n
/// operands stand for one of n!.
template <class Combine, class Done, class... Labels>
struct SumOfPermutations;
template <class Combine, class... Done, class Next, class... Rest>
struct SumOfPermutations<Combine, LabelList<Done...>, Next, Rest...> : RefusesTensors {
  using RefusesTensors::operator();
  template <Expression E>
  [[nodiscard]] constexpr auto operator()(
      const E& e, std::source_location where = std::source_location::current()) const {
    const auto x = permutable<1 + sizeof...(Done), Done..., Next>(name, e, where);
    const auto sum = add_exchanges<Combine, Next, Done...>(x, x);
    if constexpr (sizeof...(Rest) == 0 || std::is_same_v<decltype(sum), const expr::Refused>) {
      return sum;
    } else {
      return SumOfPermutations<Combine, LabelList<Done..., Next>, Rest...>{}(sum, where);
    }
  }
  static constexpr std::string_view name =
      std::is_same_v<Combine, Add> ? "symmetrize.of" : "antisymmetrize.of";
};

/// An expression that is symmetric in two labels, or whose sign changes with them, by its half.
template <class Sign, class A, class B>
struct ByHalf : RefusesTensors {
  using RefusesTensors::operator();
  template <Expression E>
  [[nodiscard]] constexpr auto operator()(
      const E& e, std::source_location where = std::source_location::current()) const {
    static_assert(
        expr::has_labels<E, LabelList<A, B>>,
        "EinDecomp: an expression is symmetric in a label that it lacks; name two that it has");
    if constexpr (!expr::has_labels<E, LabelList<A, B>>) {
      return expr::Refused{};
    } else {
      const auto x = as_access("symmetric.of", e, where);
      const auto other = exchanged<A, B>(x);
      if constexpr (std::is_same_v<Sign, Negate>) {
        return select(A{} <= B{}, x, -other);
      } else {
        return select(A{} <= B{}, x, other);
      }
    }
  }
};

template <class A, class B>
struct Exchange : RefusesTensors {
  using RefusesTensors::operator();
  template <Expression E>
  [[nodiscard]] constexpr auto operator()(
      const E& e, std::source_location where = std::source_location::current()) const {
    return exchanged<A, B>(permutable<1, A, B>("exchange.of", e, where));
  }
};

}  // namespace graph

/// An expression with two labels in each other's place: `exchange(i, j)(X(i, j, k))` is
/// `X(j, i, k)`. An expression that is more than a tensor is computed once, as a statement of its
/// own.
template <AnyLabel A, AnyLabel B>
[[nodiscard]] constexpr auto exchange(A, B) {
  static_assert(!std::is_same_v<A, B>, "EinDecomp: a label is exchanged with itself; name two");
  return graph::Exchange<A, B>{};
}

/// The sum of an expression over all orders of some labels, odd ones negative, not divided by their
/// number: `antisymmetrize(i, j)(X(i, j, a))` is `X(i, j, a) - X(j, i, a)`, the permutation
/// operator P(ij) of coupled-cluster theory; `antisymmetrize(i, j)(antisymmetrize(a, b)(…))` is
/// P(ij)P(ab). The expression is computed once, as a statement of its own unless it is a tensor.
/// Labels that are exchanged have one extent.
template <AnyLabel First, AnyLabel Second, AnyLabel... Rest>
[[nodiscard]] constexpr auto antisymmetrize(First, Second, Rest...) {
  static_assert(UnitedLabels<LabelList<First, Second, Rest...>>::size == 2 + sizeof...(Rest),
                "EinDecomp: a label is exchanged with itself; name each once");
  return graph::SumOfPermutations<Sub, LabelList<First>, Second, Rest...>{};
}

/// The sum of an expression over all orders of some labels, not divided by their number:
/// `symmetrize(i, j)(X(i, j))` is `X(i, j) + X(j, i)`.
template <AnyLabel First, AnyLabel Second, AnyLabel... Rest>
[[nodiscard]] constexpr auto symmetrize(First, Second, Rest...) {
  static_assert(UnitedLabels<LabelList<First, Second, Rest...>>::size == 2 + sizeof...(Rest),
                "EinDecomp: a label is exchanged with itself; name each once");
  return graph::SumOfPermutations<Add, LabelList<First>, Second, Rest...>{};
}

/// An expression that its author knows to be symmetric in two labels, of which the half is computed
/// where the first is not greater than the second: `symmetric(i, j)(sum(k)(X(i, k) * X(j, k)))`
/// costs half of the product, as BLAS's syrk. The other half is read from it.
/// Both labels have one extent.
template <AnyLabel A, AnyLabel B>
[[nodiscard]] constexpr auto symmetric(A, B) {
  static_assert(!std::is_same_v<A, B>, "EinDecomp: a label is exchanged with itself; name two");
  return graph::ByHalf<Identity, A, B>{};
}

/// The same of an expression whose sign changes with the exchange.
template <AnyLabel A, AnyLabel B>
[[nodiscard]] constexpr auto antisymmetric(A, B) {
  static_assert(!std::is_same_v<A, B>, "EinDecomp: a label is exchanged with itself; name two");
  return graph::ByHalf<Negate, A, B>{};
}

}  // namespace eindecomp
