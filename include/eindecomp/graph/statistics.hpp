// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Means, deviations and norms along labels, and the layers that divide by them: macros, as those
/// of macros.hpp.
#pragma once

#include <boost/hana/unpack.hpp>
#include <cstddef>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/functions.hpp"
#include "eindecomp/graph/macros.hpp"

namespace eindecomp {

namespace graph {

/// How many elements of an expression are summed along some labels: their extents' product, as the
/// statement that sums them has it.
template <class... Along, Expression E>
[[nodiscard]] constexpr Extent count_along(const E& e, const std::source_location& where) {
  auto* const state = e.program();
  const Transaction taken_back(*state);  // the statements inside of e are written again by the sum
  LoweringScope scope{state, "mean", where};
  const auto flat = materialise(scope, e);
  return boost::hana::unpack(expr::accesses_of(flat), [&](const auto&... accesses) {
    using Flat = std::remove_const_t<decltype(flat)>;
    constexpr bool in_parts = expr::is_separable_sum<Sum, LabelList<Along...>, Flat> ||
                              expr::is_separable_product<Sum, Flat>;
    using Join = std::conditional_t<in_parts, Identity,
                                    std::remove_cvref_t<decltype(expr::functor_of<true>(flat))>>;
    expr::LabelNames names;
    const std::vector<Extent> extents =
        resolved_as_written(state->graph,
                            statement_spec<LabelList<>, Join, Sum>(scope, "mean", {}, accesses...),
                            names)
            .extents;
    Extent count = 1;
    const auto take = [&](std::string_view label) {
      const int position = expr::find_name(names, label);
      if (position >= 0) count *= extents[static_cast<std::size_t>(position)];
    };
    (take(Along::name), ...);
    return count;
  });
}

/// Whether an expression is where(...) under an aggregation, and not a tensor read at index
/// tensors.
template <class E>
inline constexpr bool is_where = false;
template <class Body, class... Conditions>
inline constexpr bool is_where<expr::Selection<false, Body, Conditions...>> = true;

template <class... Along>
struct Mean : RefusesTensors {
  using RefusesTensors::operator();
  template <Expression E>
  [[nodiscard]] constexpr auto operator()(
      const E& e, std::source_location where = std::source_location::current()) const {
    if constexpr (std::is_null_pointer_v<decltype(e.program())>) {
      static_assert(expr::never<E>,
                    "EinDecomp: a mean is of no tensor, which would say how many elements it has; "
                    "write one under its labels");
      return expr::Refused{};
    } else if constexpr (is_where<E>) {
      static_assert(expr::never<E>,
                    "EinDecomp: a mean is of where(...), of which the labels do not say how many "
                    "elements it has; divide sum(e)(where(c, x)) by sum(e)(where(c, 1.0))");
      return expr::Refused{};
    } else {
      const auto count = static_cast<double>(count_along<Along...>(e, where));
      if constexpr (std::is_integral_v<expr::Elements<E>>) {
        return sum(Along{}...)(cast<double>(e)) / count;
      } else {
        return sum(Along{}...)(e) / count;
      }
    }
  }
};

/// |e|², as floating-point numbers.
template <class E>
[[nodiscard]] constexpr auto squared_size(const E& e) {
  if constexpr (expr::is_complex<expr::Elements<E>>) {
    return square(abs(e));
  } else if constexpr (std::is_integral_v<expr::Elements<E>>) {
    return square(cast<double>(e));
  } else {
    return square(e);
  }
}

template <class... Along>
struct Var : RefusesTensors {
  using RefusesTensors::operator();
  template <Expression E>
  [[nodiscard]] constexpr auto operator()(
      const E& e, std::source_location where = std::source_location::current()) const {
    const auto x = as_access("var.of", e, where);
    using Rest = RemainingLabels<typename E::LabelTypes, LabelList<Along...>>;
    const auto mean = let_under("var.mean", Rest{}, where) = Mean<Along...>{}(x, where);
    if constexpr (expr::is_complex<expr::Elements<E>>) {
      return Mean<Along...>{}(squared_size(x - access_under(mean, Rest{})), where);
    } else {
      return Mean<Along...>{}(sq_diff(x, access_under(mean, Rest{})), where);
    }
  }
};

template <class... Along>
struct Stddev : RefusesTensors {
  using RefusesTensors::operator();
  template <Expression E>
  [[nodiscard]] constexpr auto operator()(
      const E& e, std::source_location where = std::source_location::current()) const {
    return sqrt(Var<Along...>{}(e, where));
  }
};

template <class... Along>
struct Norm : RefusesTensors {
  using RefusesTensors::operator();
  template <Expression E>
  [[nodiscard]] constexpr auto operator()(const E& e) const {
    return sqrt(sum(Along{}...)(squared_size(e)));
  }
};

/// Refuses an ε that is no number of at least 0.
constexpr void check_epsilon(std::string_view norm, double epsilon,
                             const std::source_location& where) {
  if (epsilon >= 0) return;
  core::fail(ErrorKind::statement, where, "the epsilon of ", norm,
             " is negative or no number (it is added to squares, whose root is taken); give 0 or "
             "more");
}

template <class... Along>
struct RmsNorm : RefusesTensors {
  using RefusesTensors::operator();
  template <Expression E>
  [[nodiscard]] constexpr auto operator()(
      const E& e, double epsilon,
      std::source_location where = std::source_location::current()) const {
    check_epsilon("rms_norm", epsilon, where);
    const auto x = as_access("rms_norm.of", e, where);
    using Rest = RemainingLabels<typename E::LabelTypes, LabelList<Along...>>;
    const auto rms = let_under("rms_norm.rms", Rest{}, where) =
        sqrt(Mean<Along...>{}(squared_size(x), where) + epsilon);
    return x / access_under(rms, Rest{});
  }
};

template <class... Along>
struct LayerNorm : RefusesTensors {
  using RefusesTensors::operator();
  template <Expression E>
  [[nodiscard]] constexpr auto operator()(
      const E& e, double epsilon,
      std::source_location where = std::source_location::current()) const {
    check_epsilon("layer_norm", epsilon, where);
    const auto x = as_access("layer_norm.of", e, where);
    using All = typename E::LabelTypes;
    using Rest = RemainingLabels<All, LabelList<Along...>>;
    const auto mean = let_under("layer_norm.mean", Rest{}, where) = Mean<Along...>{}(x, where);
    const auto centred = let_under("layer_norm.centred", All{}, where) =
        x - access_under(mean, Rest{});
    const auto y = access_under(centred, All{});
    const auto deviation = let_under("layer_norm.deviation", Rest{}, where) =
        sqrt(Mean<Along...>{}(squared_size(y), where) + epsilon);
    return y / access_under(deviation, Rest{});
  }
};

}  // namespace graph

/// The mean over labels: `let<"M">(i) = mean(j)(X(i, j))`. Of integers it is a double. An
/// expression of two statements, the sum and its division by the labels' extents.
template <AnyLabel... Along>
  requires(sizeof...(Along) > 0)
[[nodiscard]] constexpr auto mean(Along...) { return graph::Mean<Along...>{}; }

/// The variance over labels, the mean of squared distances from the mean (NumPy's, `ddof=0`), for
/// which the elements are read twice.
template <AnyLabel... Along>
  requires(sizeof...(Along) > 0)
[[nodiscard]] constexpr auto var(Along...) { return graph::Var<Along...>{}; }

/// The standard deviation over labels, √var; NumPy's `std`.
template <AnyLabel... Along>
  requires(sizeof...(Along) > 0)
[[nodiscard]] constexpr auto stddev(Along...) { return graph::Stddev<Along...>{}; }

/// The Euclidean norm over labels, √Σ|x|²; over the two of a matrix, Frobenius's. Squares may
/// overflow where the norm would not.
template <AnyLabel... Along>
  requires(sizeof...(Along) > 0)
[[nodiscard]] constexpr auto norm(Along...) { return graph::Norm<Along...>{}; }

/// x / √(mean x² + ε) along labels: `let<"Y">(s, a) = rms_norm(a)(X(s, a), 1e-6)`.
template <AnyLabel... Along>
  requires(sizeof...(Along) > 0)
[[nodiscard]] constexpr auto rms_norm(Along...) { return graph::RmsNorm<Along...>{}; }

/// (x - mean x) / √(var x + ε) along labels: `let<"Y">(s, a) = layer_norm(a)(X(s, a), 1e-5)`. A
/// scale and a bias are the caller's: `gain(a) * … + bias(a)`.
template <AnyLabel... Along>
  requires(sizeof...(Along) > 0)
[[nodiscard]] constexpr auto layer_norm(Along...) { return graph::LayerNorm<Along...>{}; }

}  // namespace eindecomp
