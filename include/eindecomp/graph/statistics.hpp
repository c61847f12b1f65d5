// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Means, deviations and norms along labels, and the layers that divide by them: macros, as those
/// of macros.hpp.
#pragma once

#include <algorithm>
#include <boost/hana/unpack.hpp>
#include <cstddef>
#include <source_location>
#include <type_traits>

#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/functions.hpp"
#include "eindecomp/graph/macros.hpp"

namespace eindecomp {

namespace graph {

/// The extent that a label has in an expression; 0 if no tensor there has it.
template <class L>
struct ExtentIn {
  template <class S, class... Ls>
  constexpr Extent operator()(const Access<S, Ls...>& access) const {
    const auto& extents = access.symbol.state()->graph[access.symbol.vertex()].bound;
    Extent found = 0;
    std::size_t d = 0;
    ((std::is_same_v<L, Ls> ? void(found = extents[d++]) : void(++d)), ...);
    return found;
  }
  template <class T>
  constexpr Extent operator()(const Constant<T>&) const {
    return 0;
  }
  template <class Op, class... Es>
  constexpr Extent operator()(const Apply<Op, Es...>& e) const {
    return boost::hana::unpack(
        e.operands, [this](const auto&... operands) { return std::max({(*this)(operands)...}); });
  }
  template <class Monoid, class Labels, class Body>
  constexpr Extent operator()(const Aggregation<Monoid, Labels, Body>& e) const {
    return (*this)(e.body);
  }
};

template <class... Along>
struct Mean : RefusesTensors {
  using RefusesTensors::operator();
  template <Expression E>
  [[nodiscard]] constexpr auto operator()(const E& e) const {
    using T = expr::Elements<E>;
    const Extent count = (ExtentIn<Along>{}(e) * ... * Extent{1});
    if constexpr (std::is_integral_v<T>) {
      return sum(Along{}...)(cast<double>(e)) / static_cast<double>(count);
    } else {
      return sum(Along{}...)(e) / static_cast<double>(count);
    }
  }
};

template <class... Along>
struct Var : RefusesTensors {
  using RefusesTensors::operator();
  template <Expression E>
  [[nodiscard]] constexpr auto operator()(
      const E& e, std::source_location where = std::source_location::current()) const {
    const auto x = as_access("var.of", e, where);
    using Rest = RemainingLabels<typename E::LabelTypes, LabelList<Along...>>;
    const auto mean = let_under("var.mean", Rest{}, where) = Mean<Along...>{}(x);
    return Mean<Along...>{}(sq_diff(x, access_under(mean, Rest{})));
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
    if constexpr (expr::is_complex<expr::Elements<E>>) {
      return sqrt(sum(Along{}...)(square(abs(e))));
    } else {
      return sqrt(sum(Along{}...)(square(e)));
    }
  }
};

template <class... Along>
struct RmsNorm : RefusesTensors {
  using RefusesTensors::operator();
  template <Expression E>
  [[nodiscard]] constexpr auto operator()(
      const E& e, double epsilon,
      std::source_location where = std::source_location::current()) const {
    const auto x = as_access("rms_norm.of", e, where);
    using Rest = RemainingLabels<typename E::LabelTypes, LabelList<Along...>>;
    const auto rms = let_under("rms_norm.rms", Rest{}, where) =
        sqrt(Mean<Along...>{}(square(x)) + epsilon);
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
    const auto x = as_access("layer_norm.of", e, where);
    using All = typename E::LabelTypes;
    using Rest = RemainingLabels<All, LabelList<Along...>>;
    const auto mean = let_under("layer_norm.mean", Rest{}, where) = Mean<Along...>{}(x);
    const auto centred = let_under("layer_norm.centred", All{}, where) =
        x - access_under(mean, Rest{});
    const auto y = access_under(centred, All{});
    const auto deviation = let_under("layer_norm.deviation", Rest{}, where) =
        sqrt(Mean<Along...>{}(square(y)) + epsilon);
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
