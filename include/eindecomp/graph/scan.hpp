// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Running sums, products, maxima, …: scans along a label, as macros.
#pragma once

#include <cstddef>
#include <source_location>
#include <type_traits>

#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/affine_index.hpp"
#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/factors.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/graph/macros.hpp"

namespace eindecomp {

namespace graph {

/// ⊕ of all elements up to each: of a window that reaches back to the first element, and beyond it
/// the identity of ⊕ is read (Vertex::scanned).
template <class Monoid, class Along>
struct Scan : RefusesTensors {
  using RefusesTensors::operator();

  template <Expression E>
  [[nodiscard]] constexpr auto operator()(
      const E& e, std::source_location where = std::source_location::current()) const {
    if constexpr (!expr::has_labels<E, LabelList<Along>>) {
      static_assert(
          expr::never<E>,
          "EinDecomp: a scan goes along a label that the expression lacks; scan along one "
          "that it has");
      return expr::Refused{};
    } else if constexpr (!CommutativeMonoid<Monoid, Widened<expr::Elements<E>>>) {
      static_assert(expr::never<E>,
                    "EinDecomp: a scan by what is no aggregation; name one, as in scan<Sum>(j), "
                    "scan<Prod>(j), scan<Max>(j)");
      return expr::Refused{};
    } else if constexpr (ignored_value<Identity, Monoid, Stored<expr::Elements<E>>, true> ==
                         OutsideValue::none) {
      static_assert(expr::never<E>,
                    "EinDecomp: a scan by another aggregation than Sum, CompensatedSum, Prod, Min, "
                    "Max, And, Or and LogSumExp (of no other is it known what to read before the "
                    "first element); scan by one of these");
      return expr::Refused{};
    } else {
      return scanned(tensor_of(e, where), typename E::LabelTypes{});
    }
  }

 private:
  /// The symbol of a tensor of E's labels, each once.
  template <class E>
  [[nodiscard]] static constexpr auto tensor_of(const E& e, const std::source_location& where) {
    if constexpr (expr::is_operand<E> && !expr::is_computed<E>) {
      if constexpr (std::remove_cvref_t<decltype(e.symbol)>::rank == E::LabelTypes::size) {
        return e.symbol;
      } else {
        return let_under("scan.of", typename E::LabelTypes{}, where) = e;
      }
    } else {
      return let_under("scan.of", typename E::LabelTypes{}, where) = e;
    }
  }

  template <class S, class... Ls>
  [[nodiscard]] static constexpr auto scanned(const S& x, LabelList<Ls...> labels) {
    const Extent n = extent_along(x, labels);
    const Label<"scan.label"> window{};
    const auto index = [&]<class L>(L label) {
      if constexpr (std::is_same_v<L, Along>) {
        return extent(label, n) - extent(window, n);
      } else {
        return label;
      }
    };
    return aggregate<Monoid>(window)(x(index(Ls{})...));
  }

  template <class S, class... Ls>
  [[nodiscard]] static constexpr Extent extent_along(const S& x, LabelList<Ls...>) {
    const auto& bound = x.state()->graph[x.vertex()].bound;
    Extent n = 1;
    std::size_t d = 0;
    ((n = std::is_same_v<Ls, Along> ? bound[d] : n, ++d), ...);
    return n;
  }
};

}  // namespace graph

/// The aggregation of all elements up to each, along one label: `scan<Max>(j)(X(i, j))` is the
/// largest of X(i, 0) … X(i, j). ⊕ is Sum, CompensatedSum, Prod, Min, Max, And, Or or LogSumExp;
/// others, those of users too, are refused. It is one statement and takes linear time; along a
/// label that is cut a rank gathers all elements before its own. Sums round as those of pieces of
/// 64 to 256 elements do. Its derivatives by other ⊕ than sums are those of ⌈log₄ n⌉ statements,
/// each of which aggregates four (Hillis and Steele 1986, by twos).
template <class Monoid, AnyLabel Along>
[[nodiscard]] constexpr auto scan(Along) {
  return graph::Scan<Monoid, Along>{};
}
/// Running sums along a label, NumPy's `cumsum`: `let<"C">(i, j) = cumsum(j)(X(i, j))`.
template <AnyLabel Along>
[[nodiscard]] constexpr auto cumsum(Along) {
  return graph::Scan<Sum, Along>{};
}
/// Running products along a label, NumPy's `cumprod`.
template <AnyLabel Along>
[[nodiscard]] constexpr auto cumprod(Along) {
  return graph::Scan<Prod, Along>{};
}

// clang-format off
/// Refused with what to write: scans of an expression without a label, along several labels or by
/// no aggregation.
/// @{
#define EINDECOMP_REFUSED_SCAN(function, written)                                               \
  template <class First, class... Rest>                                                         \
    requires(expr::OfTheLanguage<First> && !(AnyLabel<First> && sizeof...(Rest) == 0))          \
  constexpr auto function(const First&, const Rest&...) {                                       \
    if constexpr (AnyLabel<First>) {                                                            \
      static_assert(expr::never<First>,                                                         \
          "EinDecomp: a scan goes along one label; write one scan after the other, "            \
          written "(i)(" written "(j)(X(i, j)))");                                              \
    } else {                                                                                    \
      static_assert(expr::never<First>,                                                         \
          "EinDecomp: a scan is given an expression before its label; write "                   \
          written "(j)(X(i, j)), with the label that it goes along in front");                  \
    }                                                                                           \
    return expr::Refused{};                                                                     \
  }
EINDECOMP_REFUSED_SCAN(cumsum, "cumsum")
EINDECOMP_REFUSED_SCAN(cumprod, "cumprod")
#undef EINDECOMP_REFUSED_SCAN
template <expr::OfTheLanguage First, class... Rest>
constexpr auto scan(const First&, const Rest&...) {
  static_assert(expr::never<First>,
      "EinDecomp: a scan does not say by which aggregation, or not along one label; write "
      "scan<Max>(j)(X(i, j)), or cumsum(j)(X(i, j))");
  return expr::Refused{};
}
/// @}
// clang-format on

}  // namespace eindecomp
