// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Rewrites of what is aggregated: its factors and its terms become statements of their own where
/// that leaves products of tensors, which have fast kernels.
///
/// Labels decide, not extents: the kernel of what is not chosen would have to be compiled as well.
#pragma once

#include <boost/hana/flatten.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/factors.hpp"
#include "eindecomp/expr/mask.hpp"
#include "eindecomp/graph/known_extents.hpp"

namespace eindecomp::graph {

template <class Backend>
struct LoweringScope;
template <class Output, class Aggregated, class Backend, class Monoid, class Body>
[[nodiscard]] constexpr auto lower_statement(LoweringScope<Backend>& scope, std::string_view name,
                                             const Monoid& monoid,
                                             const std::vector<Extent>& extents, const Body& body);

/// Lowers ⊕ of a part of the scope's statement as one of that name, under output labels.
template <class Output, class Aggregated, class Backend, class Monoid, class E>
[[nodiscard]] constexpr auto lower_part(LoweringScope<Backend>& scope, std::string_view name,
                                        const Monoid& monoid, const E& e) {
  using Sized = typename SizedLabels<typename expr::ReadLabels<E>::type, Output>::type;
  // Labels that are aggregated here are others than those of the same names outside.
  KnownExtents inside = scope.extents;
  inside.forget(Aggregated::names());
  if constexpr (!is_plain<E>) inside.add(*scope.state, e);
  const std::vector<Extent> extents = inside.of(Output::names());
  const OtherExtents own(scope.extents, std::move(inside));
  return lower_statement<Sized, Aggregated>(scope, name, monoid, extents, e);
}

/// An expression as an access to a statement of its own.
template <class Aggregated, class Backend, class Monoid, class E>
[[nodiscard]] constexpr auto statement_of(LoweringScope<Backend>& scope, const Monoid& monoid,
                                          const E& e) {
  using Output = RemainingLabels<expr::StoredLabels<E>, Aggregated>;
  const Text name = scope.name + "." + ++scope.inner;
  return expr::access_under(lower_part<Output, Aggregated>(scope, name, monoid, e), Output{});
}

template <class F, class T, class Backend, class... Es>
[[nodiscard]] constexpr auto separate_factors(LoweringScope<Backend>& scope,
                                              const Apply<F, Es...>& product);

/// \tparam T  the elements of the product: those of a factor of Mul become T before.
template <class F, class T, class Backend, class E>
[[nodiscard]] constexpr auto separate_factor(LoweringScope<Backend>& scope, const E& e) {
  if constexpr (expr::is_operand<E>) {
    return e;
  } else if constexpr (expr::joins_on<F, E>) {
    return separate_factors<F, T>(scope, e);
  } else if constexpr (expr::is_sign<F, E>) {
    return separate_factor<F, T>(scope, e.operands[boost::hana::size_c<0>]);
  } else if constexpr (std::is_same_v<F, Mul> && !std::is_same_v<expr::Elements<E>, T> &&
                       expr::is_inexact_type<T> && expr::is_number<expr::Elements<E>>) {
    return statement_of<LabelList<>>(scope, NoAggregation{}, cast<T>(e));
  } else {
    return statement_of<LabelList<>>(scope, NoAggregation{}, e);
  }
}
/// The factors of a product without their signs, those that are no tensors as statements.
template <class F, class T, class Backend, class... Es>
[[nodiscard]] constexpr auto separate_factors(LoweringScope<Backend>& scope,
                                              const Apply<F, Es...>& product) {
  return boost::hana::unpack(product.operands, [&](const auto&... es) {
    // Braces, for left-to-right order.
    return Apply<F, decltype(separate_factor<F, T>(scope, es))...>{
        product.op, separate_factor<F, T>(scope, es)...};
  });
}

/// What is aggregated as an operator of tensors, where SeparatedJoin says that it can be.
template <class Backend, class E>
[[nodiscard]] constexpr auto separated(LoweringScope<Backend>& scope, const E& body) {
  using Join = expr::SeparatedJoin<E>;
  using T = expr::Elements<E>;
  const auto product = [&] {
    if constexpr (expr::applies<typename Join::type, E>) {
      return separate_factors<typename Join::type, T>(scope, body);
    } else {
      return separate_factor<typename Join::type, T>(scope, body);  // the negative of a product
    }
  }();
  if constexpr (Join::signs % 2 == 0) {
    return product;
  } else {
    return expr::apply(Mul{}, Constant<T>(T(-1)), product);
  }
}

template <class First>
[[nodiscard]] constexpr auto multiplied(const First& first) {
  return first;
}
template <class First, class Second, class... Rest>
[[nodiscard]] constexpr auto multiplied(const First& first, const Second& second,
                                        const Rest&... rest) {
  return multiplied(expr::apply(Mul{}, first, second), rest...);
}

/// Factor number At of a product of labels All, times those of all factors that are its masks, as
/// a statement of its own if there are any; of a mask nothing.
template <std::size_t At, class All, class Backend, class... Factors>
[[nodiscard]] constexpr auto masked_factor(LoweringScope<Backend>& scope,
                                           const Factors&... factors) {
  const auto all = boost::hana::make_tuple(factors...);
  const auto& factor = all[boost::hana::size_c<At>];
  using F = std::decay_t<decltype(factor)>;
  const auto own = [&](const auto& e) {
    using E = std::decay_t<decltype(e)>;
    if constexpr (expr::is_mask<E> && expr::holder_of<E, All, Factors...> == static_cast<int>(At)) {
      return boost::hana::tuple<E>(e);
    } else {
      return boost::hana::tuple<>();
    }
  };
  if constexpr (expr::is_mask<F>) {
    return boost::hana::tuple<>();
  } else {
    return boost::hana::unpack(
        boost::hana::flatten(boost::hana::make_tuple(own(factors)...)), [&](const auto&... masks) {
          if constexpr (sizeof...(masks) == 0) {
            return boost::hana::make_tuple(factor);
          } else {
            return boost::hana::make_tuple(
                statement_of<LabelList<>>(scope, NoAggregation{}, multiplied(masks..., factor)));
          }
        });
  }
}

/// A product whose masks are those of tensors in it (is_masked_product) as one of masked tensors.
template <class Backend, class E>
[[nodiscard]] constexpr auto separate_masks(LoweringScope<Backend>& scope, const E& product) {
  return boost::hana::unpack(expr::factors_of(product), [&](const auto&... factors) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      // Braces, for left-to-right order.
      const boost::hana::tuple parts{
          masked_factor<I, typename E::LabelTypes>(scope, factors...)...};
      return boost::hana::unpack(boost::hana::flatten(parts),
                                 [](const auto&... es) { return multiplied(es...); });
    }
    (std::index_sequence_for<decltype(factors)...>{});
  });
}

/// A sum with ⊕ of each of its terms in the place of the term.
template <class Aggregated, class Backend, class Monoid, class E>
[[nodiscard]] constexpr auto separate_terms(LoweringScope<Backend>& scope, const Monoid& monoid,
                                            const E& e) {
  if constexpr (expr::is_sum<Monoid, E>) {
    return boost::hana::unpack(e.operands, [&](const auto&... es) {
      return Apply<decltype(e.op), decltype(separate_terms<Aggregated>(scope, monoid, es))...>{
          e.op, separate_terms<Aggregated>(scope, monoid, es)...};
    });
  } else {
    return statement_of<Aggregated>(scope, monoid, e);
  }
}

}  // namespace eindecomp::graph
