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

/// The values of a label of a tensor.
template <class Along, class S, class... Ls>
[[nodiscard]] constexpr Extent extent_along(const S& x, LabelList<Ls...>) {
  const auto& bound = x.state()->graph[x.vertex()].bound;
  Extent n = 1;
  std::size_t d = 0;
  ((n = std::is_same_v<Ls, Along> ? bound[d] : n, ++d), ...);
  return n;
}

/// ⊕ of all elements up to each: of a window that reaches back to the first element, and beyond it
/// the identity of ⊕ is read (Vertex::scanned).
template <class Monoid, class Along>
struct ScanAlong {
  template <class S, class... Ls>
  [[nodiscard]] static constexpr auto of(const S& x, LabelList<Ls...> labels) {
    const Extent n = extent_along<Along>(x, labels);
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
};

/// Whether no label comes twice.
template <class... Ls>
inline constexpr bool each_once = true;
template <class L, class... Ls>
inline constexpr bool each_once<L, Ls...> = !expr::is_one_of<L, Ls...> && each_once<Ls...>;

/// How ⊕ combines two elements, as a join; void of a monoid whose accumulators say more than an
/// element.
template <class Monoid>
struct JoinOfElements {
  using type = Monoid;
};
template <>
struct JoinOfElements<Sum> {
  using type = Add;
};
template <>
struct JoinOfElements<Prod> {
  using type = Mul;
};
template <>
struct JoinOfElements<CompensatedSum> {
  using type = void;
};
template <>
struct JoinOfElements<LogSumExp> {
  using type = void;
};

/// A scan along labels, the last one fastest.
template <class Monoid, class... Along>
struct Scan : RefusesTensors {
  using RefusesTensors::operator();

  template <Expression E>
  [[nodiscard]] constexpr auto operator()(
      const E& e, std::source_location where = std::source_location::current()) const {
    if constexpr (!expr::has_labels<E, LabelList<Along...>>) {
      static_assert(
          expr::never<E>,
          "EinDecomp: a scan goes along a label that the expression lacks; scan along one "
          "that it has");
      return expr::Refused{};
    } else if constexpr (!each_once<Along...>) {
      static_assert(expr::never<E>, "EinDecomp: a scan goes along a label twice; name each once");
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
    } else if constexpr (sizeof...(Along) > 1 &&
                         std::is_void_v<typename JoinOfElements<Monoid>::type>) {
      static_assert(expr::never<E>,
                    "EinDecomp: a scan by LogSumExp or CompensatedSum goes along several labels "
                    "(rows would be rounded before they are put together); scan along one");
      return expr::Refused{};
    } else {
      return scanned(tensor_of("scan.of", e, where), typename E::LabelTypes{}, where,
                     LabelList<Along...>{});
    }
  }

 private:
  /// The symbol of a tensor of E's labels, each once.
  template <class E>
  [[nodiscard]] static constexpr auto tensor_of(std::string_view name, const E& e,
                                                const std::source_location& where) {
    if constexpr (expr::is_operand<E> && !expr::is_computed<E>) {
      if constexpr (std::remove_cvref_t<decltype(e.symbol)>::rank == E::LabelTypes::size) {
        return e.symbol;
      } else {
        return let_under(name, typename E::LabelTypes{}, where) = e;
      }
    } else {
      return let_under(name, typename E::LabelTypes{}, where) = e;
    }
  }

  template <class S, class All, class Last>
  [[nodiscard]] static constexpr auto scanned(const S& x, All labels, const std::source_location&,
                                              LabelList<Last>) {
    return ScanAlong<Monoid, Last>::of(x, labels);
  }
  /// Each value of the first label has a scan of its own, and from the second on what all before it
  /// have aggregated is added: one element each, so that ranks among which the label is cut scan
  /// what they have.
  template <class S, class All, class First, class... Rest>
  [[nodiscard]] static constexpr auto scanned(const S& x, All labels,
                                              const std::source_location& where,
                                              LabelList<First, Rest...>) {
    const auto own = let_under("scan.own", All{}, where) =
        scanned(x, labels, where, LabelList<Rest...>{});
    using Outer = RemainingLabels<All, LabelList<Rest...>>;
    const auto total = let_under("scan.total", Outer{}, where) =
        last_of(own, labels, LabelList<Rest...>{});
    const auto sums = let_under("scan.totals", Outer{}, where) =
        ScanAlong<Monoid, First>::of(total, Outer{});
    const auto access = access_under(own, All{});
    using Join = typename JoinOfElements<Monoid>::type;
    return select(First{} > 0, join(Join{}, access, before<First>(sums, Outer{})), access);
  }
  /// The last element along some labels.
  template <class S, class... Ls, class... Rest>
  [[nodiscard]] static constexpr auto last_of(const S& x, LabelList<Ls...> labels,
                                              LabelList<Rest...>) {
    const auto index = [&]<class L>(L label) {
      if constexpr ((std::is_same_v<L, Rest> || ...)) {
        return extent_along<L>(x, labels) - 1;
      } else {
        return label;
      }
    };
    return x(index(Ls{})...);
  }
  /// The element before, or the first.
  template <class First, class S, class... Ls>
  [[nodiscard]] static constexpr auto before(const S& x, LabelList<Ls...>) {
    const auto index = []<class L>(L label) {
      if constexpr (std::is_same_v<L, First>) {
        return clamp(label - 1);
      } else {
        return label;
      }
    };
    return x(index(Ls{})...);
  }
};

}  // namespace graph

/// The aggregation of all elements up to each, along a label: `scan<Max>(j)(X(i, j))` is the
/// largest of X(i, 0) … X(i, j). ⊕ is Sum, CompensatedSum, Prod, Min, Max, And, Or or LogSumExp;
/// others, those of users too, are refused. It is one statement and takes linear time; along a
/// label that is cut a rank gathers all elements before its own. Sums round as those of pieces of
/// 64 to 256 elements do. Its derivatives by other ⊕ than sums are those of ⌈log₄ n⌉ statements,
/// each of which aggregates four (Hillis and Steele 1986, by twos).
///
/// Along several labels elements come in row-major order, the last label fastest, as in an array
/// that NumPy has flattened: `scan<Max>(i, j)(X(i, j))` is the largest of all rows before i and of
/// X(i, 0) … X(i, j). Each label more takes four statements: the scans of the rows, their last
/// elements, the scan of these, and what joins both. Where the first label is cut, ranks scan rows
/// of their own, and gather one element of each row before. By LogSumExp and
/// CompensatedSum refused.
template <class Monoid, AnyLabel... Along>
  requires(sizeof...(Along) > 0)
[[nodiscard]] constexpr auto scan(Along...) { return graph::Scan<Monoid, Along...>{}; }
/// Running sums, NumPy's `cumsum`, along a label, `let<"C">(i, j) = cumsum(j)(X(i, j))`, or along
/// several, as scan().
template <AnyLabel... Along>
  requires(sizeof...(Along) > 0)
[[nodiscard]] constexpr auto cumsum(Along...) { return graph::Scan<Sum, Along...>{}; }
/// Running products, NumPy's `cumprod`, as cumsum().
template <AnyLabel... Along>
  requires(sizeof...(Along) > 0)
[[nodiscard]] constexpr auto cumprod(Along...) { return graph::Scan<Prod, Along...>{}; }

// clang-format off
/// Refused with what to write: scans of an expression without a label, or by no aggregation.
/// @{
#define EINDECOMP_REFUSED_SCAN(function, written)                                               \
  template <class First, class... Rest>                                                         \
    requires(expr::OfTheLanguage<First> && !(AnyLabel<First> && (AnyLabel<Rest> && ...)))       \
  constexpr auto function(const First&, const Rest&...) {                                       \
    static_assert(expr::never<First>,                                                           \
        "EinDecomp: a scan is given an expression before its label; write "                     \
        written "(j)(X(i, j)), with the label that it goes along in front");                    \
    return expr::Refused{};                                                                     \
  }
EINDECOMP_REFUSED_SCAN(cumsum, "cumsum")
EINDECOMP_REFUSED_SCAN(cumprod, "cumprod")
#undef EINDECOMP_REFUSED_SCAN
template <expr::OfTheLanguage First, class... Rest>
constexpr auto scan(const First&, const Rest&...) {
  static_assert(expr::never<First>,
      "EinDecomp: a scan does not say by which aggregation, or not along which label; write "
      "scan<Max>(j)(X(i, j)), or cumsum(j)(X(i, j))");
  return expr::Refused{};
}
/// @}
// clang-format on

}  // namespace eindecomp
