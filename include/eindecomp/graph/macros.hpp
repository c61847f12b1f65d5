// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Macros: what the language does not need to know because it can say it. Each is written with
/// let and the operators of expression.hpp alone; read them as examples.
#pragma once

#include <limits>
#include <source_location>
#include <string_view>
#include <type_traits>

#include "eindecomp/expr/factors.hpp"
#include "eindecomp/expr/mask.hpp"
#include "eindecomp/graph/let.hpp"

namespace eindecomp {

namespace graph {

/// A left side whose labels come as a list: what a macro over any rank writes.
template <class... Labels>
[[nodiscard]] constexpr auto let_under(std::string_view name, LabelList<Labels...>,
                                       const std::source_location& where) {
  return NamedLet{name, where}(Labels{}...);
}

/// The argument of a macro as a tensor, a statement of its own unless it is one already: all that
/// reads it then has its labels' extents.
template <class S, class... Ls>
  requires(!expr::is_computed<Access<S, Ls...>>)
[[nodiscard]] constexpr auto as_access(std::string_view, const Access<S, Ls...>& access,
                                       const std::source_location&) {
  return access;
}
template <Expression E>
[[nodiscard]] constexpr auto as_access(std::string_view name, const E& expression,
                                       const std::source_location& where) {
  using Labels = expr::StoredLabels<E>;
  return access_under(let_under(name, Labels{}, where) = expression, Labels{});
}

/// What a macro does with a tensor that stands without its labels.
struct RefusesTensors {
  template <TensorWithoutLabels Tensor, class... Rest>
  constexpr auto operator()(const Tensor&, const Rest&...) const {
    return expr::refuse_without_labels<Tensor>();
  }
};

template <class Along>
struct Softmax : RefusesTensors {
  using RefusesTensors::operator();
  template <Expression E>
  [[nodiscard]] constexpr auto operator()(
      const E& expression, std::source_location where = std::source_location::current()) const {
    const auto x = as_access("softmax.of", expression, where);
    using All = typename decltype(x)::LabelTypes;
    using Rest = RemainingLabels<All, LabelList<Along>>;
    // Whatever is subtracted, the quotient is the same: gradients need not look at it.
    const auto mx = let_under("softmax.max", Rest{}, where) = max(Along{})(x);
    const auto ex = let_under("softmax.exp", All{}, where) =
        exp(x - access_under(mx.as_constant(), Rest{}));
    const auto sm = let_under("softmax.sum", Rest{}, where) = sum(Along{})(access_under(ex, All{}));
    return access_under(ex, All{}) / access_under(sm, Rest{});
  }
};

template <class Along, class Mask>
struct MaskedSoftmax : RefusesTensors {
  using RefusesTensors::operator();
  Mask mask;
  constexpr explicit MaskedSoftmax(const Mask& m) : mask(m) {}
  template <Expression E>
  [[nodiscard]] constexpr auto operator()(
      const E& expression, std::source_location where = std::source_location::current()) const {
    static_assert(expr::has_labels<E, typename Mask::LabelTypes>,
                  "EinDecomp: the mask of a softmax has a label that the expression lacks; compare "
                  "labels that it has");
    if constexpr (!expr::has_labels<E, typename Mask::LabelTypes>) {
      return expr::Refused{};
    } else {
      const auto x = as_access("softmax.of", expression, where);
      using All = typename decltype(x)::LabelTypes;
      using Rest = RemainingLabels<All, LabelList<Along>>;
      // In place of the -∞ of rows of which nothing is left, so that they are 0.
      constexpr bool in_float = std::is_same_v<Widened<expr::Elements<E>>, float>;
      constexpr double least =
          std::numeric_limits<std::conditional_t<in_float, float, double>>::lowest();
      const auto left = let_under("softmax.masked", All{}, where) =
          select(mask, x, -std::numeric_limits<double>::infinity());
      const auto mx = let_under("softmax.max", Rest{}, where) =
          max(Along{})(access_under(left, All{}));
      const auto shift = let_under("softmax.shift", Rest{}, where) =
          max(access_under(mx, Rest{}), least);
      const auto ex = let_under("softmax.exp", All{}, where) =
          exp(access_under(left, All{}) - access_under(shift.as_constant(), Rest{}));
      ex.state()->graph.add_mask(ex.vertex(), expr::masked(mask).by_factors);
      const auto sm = let_under("softmax.sum", Rest{}, where) =
          sum(Along{})(access_under(ex, All{}));
      // A sum is 1 at least, or 0.
      const auto factor = let_under("softmax.factor", Rest{}, where) =
          1.0 / max(access_under(sm, Rest{}), 0.5);
      return access_under(ex, All{}) * access_under(factor, Rest{});
    }
  }
};

template <class Along>
struct LogSoftmax : RefusesTensors {
  using RefusesTensors::operator();
  template <Expression E>
  [[nodiscard]] constexpr auto operator()(
      const E& expression, std::source_location where = std::source_location::current()) const {
    const auto x = as_access("log_softmax.of", expression, where);
    using All = typename decltype(x)::LabelTypes;
    using Rest = RemainingLabels<All, LabelList<Along>>;
    const auto lse = let_under("log_softmax.lse", Rest{}, where) = log_sum_exp(Along{})(x);
    return x - access_under(lse, Rest{});
  }
};

}  // namespace graph

/// exp(x - max x) / Σ exp(x - max x) along one label of a tensor of any rank (paper, section 3):
/// `let<"S">(i, k) = softmax(k)(X(i, k))` is four statements.
template <AnyLabel Along>
[[nodiscard]] constexpr auto softmax(Along) {
  return graph::Softmax<Along>{};
}

/// The same where a comparison of labels holds, or several joined by &&, elsewhere 0, as JAX's
/// softmax with `where`: `softmax(k, k <= i)(X(i, k))` is that of causal attention. Of X nothing is
/// looked at elsewhere, so that a product that X is, or that reads the result, is computed where
/// the mask holds alone (docs/language.md, Labels as values).
template <AnyLabel Along, Expression Mask>
[[nodiscard]] constexpr auto softmax(Along, const Mask& mask) {
  static_assert(
      expr::TreeTraits<Mask>::reads == 0,
      "EinDecomp: a softmax is masked by a tensor, and not by a comparison of labels; write "
      "one, such as softmax(j, j <= i)(X(i, j)), or softmax(j)(select(M(j), X(i, j), -1e30))");
  return graph::MaskedSoftmax<Along, Mask>(mask);
}

/// x - log Σ exp x along one label: `let<"S">(i, k) = log_softmax(k)(X(i, k))`.
template <AnyLabel Along>
[[nodiscard]] constexpr auto log_softmax(Along) {
  return graph::LogSoftmax<Along>{};
}

/// softmax(scale·Q·Kᵀ)·V for matrices Q(s,d), K(t,d), V(t,e); scale is 1/√d as a rule.
/// \returns the symbol of O(s,e).
template <class T, class Backend>
constexpr auto attention(Symbol<T, 2, Backend> query, Symbol<T, 2, Backend> key,
                         Symbol<T, 2, Backend> value, Widened<T> scale,
                         std::source_location where = std::source_location::current()) {
  using namespace labels;
  const auto scores = let("attention.scores", where)(s, t) =
      sum(d)(scale * query(s, d) * key(t, d));
  const auto weights = let("attention.weights", where)(s, t) = softmax(t)(scores(s, t), where);
  return let("attention", where)(s, e) = sum(t)(weights(s, t) * value(t, e));
}

/// Multi-head attention (paper, section 3; h head, s and t sequence, a attribute, d per head):
/// Q(s,a), K(s,a), V(s,a) projected by WQ(a,h,d), WK, WV, attended head by head with scores scaled
/// by `scale` (1/√d as a rule; the paper leaves it out), joined by WO(a,h,d).
/// \returns the symbol of Y(s,a).
template <class T, class Backend>
constexpr auto multi_head_attention(Symbol<T, 2, Backend> query, Symbol<T, 2, Backend> key,
                                    Symbol<T, 2, Backend> value, Symbol<T, 3, Backend> wq,
                                    Symbol<T, 3, Backend> wk, Symbol<T, 3, Backend> wv,
                                    Symbol<T, 3, Backend> wo, Widened<T> scale,
                                    std::source_location where = std::source_location::current()) {
  using namespace labels;
  const auto qh = let("Qh", where)(s, h, d) = sum(a)(query(s, a) * wq(a, h, d));
  const auto kh = let("Kh", where)(t, h, d) = sum(a)(key(t, a) * wk(a, h, d));
  const auto vh = let("Vh", where)(t, h, d) = sum(a)(value(t, a) * wv(a, h, d));
  const auto scores = let("T", where)(h, s, t) = sum(d)(scale * qh(s, h, d) * kh(t, h, d));
  const auto weights = let("P", where)(h, s, t) = softmax(t)(scores(h, s, t), where);
  const auto heads = let("O", where)(s, h, d) = sum(t)(weights(h, s, t) * vh(t, h, d));
  return let("Y", where)(s, a) = sum(h, d)(heads(s, h, d) * wo(a, h, d));
}

}  // namespace eindecomp
