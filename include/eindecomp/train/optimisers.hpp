// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How gradients change weights: gradient descent, momentum, Adam, each as statements.
///
/// An optimiser is a struct of settings with a function `check(where)` that refuses those that
/// cannot be, or a template of it, `check<T>(where)`, that refuses those that cannot be once they
/// are rounded to the weights' elements T, and a template `write(writer)` that is called once per
/// weight and writes the statements from the weight and its gradient to the weight's next value
/// (train::UpdateWriter).
#pragma once

#include <charconv>
#include <source_location>
#include <string_view>
#include <type_traits>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/differentiate.hpp"
#include "eindecomp/expr/element.hpp"

namespace eindecomp {
namespace train {

/// Refuses a setting unless it fits, as it is and rounded to a T; `bounds` says what it must be.
template <class T = double, class Fits>
void check_setting(std::string_view what, double value, const Fits& fits, std::string_view bounds,
                   const std::source_location& where) {
  using Real = std::conditional_t<std::is_floating_point_v<T>, T, double>;
  const auto rounded = static_cast<double>(static_cast<Real>(value));
  if (fits(value) && fits(rounded)) return;
  const auto number = [](double x) {
    char text[32];
    *std::to_chars(text, text + sizeof text - 1, x).ptr = '\0';
    return Text(text);
  };
  Text text = Text(what) + " is " + number(value);
  if (fits(value)) {
    text = text + ", as " + expr::element_text(element_type<Real>()) + " " + number(rounded);
  }
  core::fail(ErrorKind::statement, text + " (it must be " + bounds + "); give another", where);
}
/// Refuses one that is not at least 0 and less than 1.
template <class T = double>
void check_share(std::string_view what, double value, const std::source_location& where) {
  check_setting<T>(
      what, value, [](double x) { return x >= 0 && x < 1; }, "at least 0 and less than 1", where);
}
/// Refuses one that is not more than 0.
template <class T = double>
void check_positive(std::string_view what, double value, const std::source_location& where) {
  check_setting<T>(
      what, value, [](double x) { return x > 0; }, "more than 0", where);
}
/// Lets an optimiser of weights of elements T check its settings.
template <class T, class Optimiser>
void check_optimiser(const Optimiser& optimiser, const std::source_location& where) {
  if constexpr (requires { optimiser.template check<T>(where); }) {
    optimiser.template check<T>(where);
  } else {
    optimiser.check(where);
  }
}

/// Whether an optimiser is Accumulated.
template <class Optimiser>
inline constexpr bool is_accumulated = false;
/// Whether it is ClippedByNorm.
template <class Optimiser>
inline constexpr bool is_clipped = false;

}  // namespace train

/// Gradient descent: the next W is W - rate · dW.
struct Sgd {
  /// Accepts everything.
  void check(const std::source_location&) const {}
  /// Writes a weight's next value.
  template <class Writer>
  [[nodiscard]] auto write(Writer& to) const {
    const auto step = expr::node(Mul{}, Arg<1>{}, Arg<2>{});
    return to.next(expr::node(Sub{}, Arg<0>{}, step), to.weight(), to.rate(), to.gradient());
  }
};

/// Gradient descent along a velocity: the next V is factor · V + dW, the next W is W - rate · V,
/// with the next V. One state per weight W, "W.velocity".
struct Momentum {
  double factor = 0.9;  ///< what remains of the velocity, in [0, 1)

  /// \throws Error if the factor is out of its bounds.
  template <class T = double>
  void check(const std::source_location& where) const {
    train::check_share<T>("the factor of Momentum", factor, where);
  }
  /// Writes a weight's next value, and its velocity's.
  template <class Writer>
  [[nodiscard]] auto write(Writer& to) const {
    const auto velocity = to.state(
        ".velocity", expr::node(Add{}, expr::node(Mul{}, to.number(factor), Arg<0>{}), Arg<1>{}),
        to.gradient());
    const auto step = expr::node(Mul{}, Arg<1>{}, Arg<2>{});
    return to.next(expr::node(Sub{}, Arg<0>{}, step), to.weight(), to.rate(), velocity);
  }
};

/// Adam (Kingma and Ba 2015), with weights that decay apart from their gradients (AdamW, Loshchilov
/// and Hutter 2019): M and V are running means of dW and dW², divided by 1 - beta^t in step t, and
/// the next W is W - rate · (M / (√V + epsilon) + decay · W). Two states per weight W, "W.mean" and
/// "W.square", and "steps", how many were taken.
struct Adam {
  double beta1 = 0.9;     ///< what remains of the mean of gradients, in [0, 1)
  double beta2 = 0.999;   ///< what remains of the mean of their squares, in [0, 1)
  double epsilon = 1e-8;  ///< keeps the quotient finite where gradients are 0; more than 0
  double decay = 0;       ///< of weights; at least 0

  /// \throws Error if a setting is out of its bounds.
  template <class T = double>
  void check(const std::source_location& where) const {
    train::check_share<T>("beta1 of Adam", beta1, where);
    train::check_share<T>("beta2 of Adam", beta2, where);
    train::check_positive<T>("epsilon of Adam", epsilon, where);
    train::check_setting<T>(
        "decay of Adam", decay, [](double x) { return x >= 0; }, "at least 0", where);
  }
  /// Writes a weight's next value, and those of its two means.
  template <class Writer>
  [[nodiscard]] auto write(Writer& to) const {
    // beta · mean + (1 - beta) · element
    const auto mean = [&](double beta, const auto& element) {
      return expr::node(Add{}, expr::node(Mul{}, to.number(beta), Arg<0>{}),
                        expr::node(Mul{}, to.number(1 - beta), element));
    };
    const auto first = to.state(".mean", mean(beta1, Arg<1>{}), to.gradient());
    const auto second =
        to.state(".square", mean(beta2, expr::node(Square{}, Arg<1>{})), to.gradient());
    const auto steps = to.scalar_state("steps", expr::node(Add{}, Arg<0>{}, to.number(1)));
    const auto correction = [&](double beta) {
      return expr::node(Sub{}, to.number(1), expr::node(Pow{}, to.number(beta), Arg<0>{}));
    };
    const auto of_first = to.scalar("steps.mean", correction(beta1), steps);
    const auto of_second = to.scalar("steps.square", correction(beta2), steps);

    const auto root = expr::node(Sqrt{}, expr::node(Div{}, Arg<4>{}, Arg<5>{}));
    const auto direction = expr::node(Div{}, expr::node(Div{}, Arg<2>{}, Arg<3>{}),
                                      expr::node(Add{}, root, to.number(epsilon)));
    const auto decayed =
        expr::node(Add{}, direction, expr::node(Mul{}, to.number(decay), Arg<0>{}));
    const auto next = expr::node(Sub{}, Arg<0>{}, expr::node(Mul{}, Arg<1>{}, decayed));
    return to.next(next, to.weight(), to.rate(), first, of_first, second, of_second);
  }
};

/// Another optimiser, of gradients that are scaled down together to a norm of at most `max_norm`
/// where √Σ dW² over all weights is larger: `ClippedByNorm{Adam{}, 1.0}`.
template <class Optimiser>
struct ClippedByNorm {
  static_assert(!train::is_accumulated<Optimiser>,
                "EinDecomp: ClippedByNorm is given an Accumulated optimiser (the gradient of one "
                "microbatch is not what is to be clipped, their mean is); write "
                "Accumulated{ClippedByNorm{optimiser, max_norm}, microbatches}");
  static_assert(!train::is_clipped<Optimiser>,
                "EinDecomp: ClippedByNorm is given a ClippedByNorm optimiser; give one the smaller "
                "of both norms");
  Optimiser optimiser;  ///< what clipped gradients go to
  double max_norm = 1;  ///< the largest norm, more than 0

  /// \throws Error if the norm is not positive, or as the optimiser says.
  template <class T = double>
  void check(const std::source_location& where) const {
    train::check_positive<T>("max_norm of ClippedByNorm", max_norm, where);
    train::check_optimiser<T>(optimiser, where);
  }
  /// Writes what the optimiser writes, of the clipped gradient.
  template <class Writer>
  [[nodiscard]] auto write(Writer& to) const {
    to.clip(max_norm);
    return optimiser.write(to);
  }
};
/// Of any optimiser.
template <class Optimiser>
ClippedByNorm(Optimiser, double) -> ClippedByNorm<Optimiser>;

/// Another optimiser, of the mean of the gradients of so many microbatches: `Accumulated{Adam{},
/// 4}`. The program is of one microbatch. A step runs it for each and adds up the gradients, one
/// state per weight W, "W.gradient", which is 0 before every step; then the optimiser's statements
/// run, once. Where the loss is a mean over samples and microbatches are equally large, the step is
/// that of all samples in one batch, but for rounding, with the memory for a microbatch's.
template <class Optimiser>
struct Accumulated {
  static_assert(!train::is_accumulated<Optimiser>,
                "EinDecomp: Accumulated is given an Accumulated optimiser; give one the product of "
                "both numbers of microbatches");
  Optimiser optimiser;      ///< what the mean goes to
  Extent microbatches = 1;  ///< of a step, at least 1

  /// \throws Error if there is no microbatch, or as the optimiser says.
  template <class T = double>
  void check(const std::source_location& where) const {
    train::check_setting(
        "microbatches of Accumulated", static_cast<double>(microbatches),
        [](double x) { return x >= 1; }, "at least 1", where);
    train::check_optimiser<T>(optimiser, where);
  }
  /// Writes what the optimiser writes, of the mean gradient.
  template <class Writer>
  [[nodiscard]] auto write(Writer& to) const {
    return optimiser.write(to);
  }
};
/// Of any optimiser.
template <class Optimiser>
Accumulated(Optimiser, Extent) -> Accumulated<Optimiser>;

namespace train {

template <class Optimiser>
inline constexpr bool is_accumulated<Accumulated<Optimiser>> = true;
template <class Optimiser>
inline constexpr bool is_clipped<ClippedByNorm<Optimiser>> = true;

/// The microbatches of a step.
template <class Optimiser>
[[nodiscard]] Extent microbatches_of(const Optimiser& optimiser) {
  if constexpr (is_accumulated<Optimiser>) {
    return optimiser.microbatches;
  } else {
    return 1;
  }
}

}  // namespace train
}  // namespace eindecomp
