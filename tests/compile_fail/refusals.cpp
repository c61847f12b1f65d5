// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What reads like the language and is not in it, in case 1; the compiler's errors are the sentences
// that the comments begin, and no others. In case 0, what the sentences say to write instead.

#include <algorithm>
#include <cmath>
#include <vector>

#include "eindecomp/graph/blocks.hpp"
#include "eindecomp/graph/concat.hpp"
#include "eindecomp/graph/gradient.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/packed_tensor.hpp"
#include "eindecomp/graph/permutations.hpp"
#include "eindecomp/graph/random.hpp"
#include "eindecomp/graph/scan.hpp"
#include "eindecomp/graph/statistics.hpp"
#include "eindecomp/train/minimise.hpp"
#include "eindecomp/train/optimisers.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::let;
using ein::sum;

#if EINDECOMP_CASE == 0
#define EITHER(wrong, right) right
#else
#define EITHER(wrong, right) wrong
#endif

namespace user {
/// Of any number of operands.
struct Any {
  template <class... Ts>
  constexpr double operator()(const Ts&... xs) const {
    return static_cast<double>((xs + ...));
  }
};
/// A sum of one's own, whose identity nobody else knows.
struct OwnSum {
  static constexpr bool commutative_monoid = true;
  static constexpr double identity() { return 0; }
  constexpr double operator()(double a, double b) const { return a + b; }
};
struct LogGamma {
  double operator()(double x) const { return std::lgamma(x); }
};
/// As good a name for a function of expressions as any.
template <ein::Expression E>
constexpr auto lgamma(const E& e) {
  return ein::map(LogGamma{}, e);
}
}  // namespace user

void statements() {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {5, 5});
  [[maybe_unused]] const auto X3 = g.input<double>("X3", {5});
  [[maybe_unused]] const auto I = g.input<std::int32_t>("I", {7});
  [[maybe_unused]] const auto N = g.input<std::int32_t>("N", {5});

  // refused: tensors of 16-bit floating-point numbers of the compiler or of another library are
#if defined(__FLT16_MAX__)
  EITHER((void)g.input<_Float16>("H", {4}), (void)g.input<ein::float16>("H", {4}));
#endif
  // refused: tensors of bool are not supported (truth values are stored as 32-bit integers)
  EITHER((void)g.input<bool>("B", {4}), (void)g.input<std::int32_t>("B", {4}));
  // refused: a number that is no integer stands where a label belongs; write
  EITHER((let<"A1">(i) = X(i, 3.0)), (let<"A1">(i) = X(i, 3)));
  // refused: a label is computed with (it names a dimension; indices are
  EITHER((let<"A2">(i, j) = X(i, j + 1.0)), (let<"A2">(i, j) = X(i, ein::zero(j + 1))));
  // refused: a label is computed with (it names a dimension; indices are
  EITHER((let<"A3">(i, j) = X(i * j, j)), (let<"A3">(j) = sum(i)(X(2 * j + i, j))));
  // refused: a tensor is given more or fewer indices than it has dimensions
  EITHER((let<"A31">(j) = X(j + 1)), (let<"A31">(j) = X(ein::at(1), j)));
  // refused: none of a tensor's indices has a label
  EITHER((let<"A32">() = X(1, 2)), (let<"A32">() = sum(k)(N(k))));
  // refused: an index is computed from more than 4 labels
  EITHER((let<"A33">() = sum(a, b, c, d, e)(N(a + b + c + d + e))), (let<"A33">() = sum(k)(N(k))));
  // refused: an index that has a boundary or is divided is computed with; compute
  EITHER((let<"A34">(i, j) = X(ein::zero(i) + 1, j)), (let<"A34">(i, j) = X(ein::zero(i + 1), j)));
  // refused: an index tensor is not of integers (its elements are indices); read
  EITHER((let<"A4">(b, j) = X(X3(b), j)), (let<"A4">(b, j) = X(I(b), j)));
  // refused: a tensor is given more or fewer indices than it has dimensions
  EITHER((let<"A41">(b) = X(I(b))), (let<"A41">(b, j) = X(I(b), j)));
  // refused: a tensor stands where a label belongs (index tensors are read, X(I(b), j)); write
  EITHER((let("A42")(I(b)) = sum(b)(X3(b))),
         (let("A42")(extent(v, 7)) = sum(b)(where(N(b) == v, X3(b)))));
  // refused: an index tensor is not of integers (its elements are indices); read
  EITHER((let<"A43">(extent(v, 7)) = sum(b)(where(X3(b) == v, X3(b)))),
         (let<"A43">(extent(v, 7)) = sum(b)(where(cast<std::int64_t>(X3(b)) == v, X3(b)))));
  // refused: where is given a condition that is no comparison of an index tensor with a label
  EITHER((let<"A44">(extent(v, 7)) = sum(b)(where(N(b) <= v, X3(b)))),
         (let<"A44">(extent(v, 7)) = sum(b)(select(N(b) <= v, X3(b), 0.0))));
  // refused: a label that an index tensor is compared with is compared with another, or is one of
  EITHER((let<"A45">(b) = sum(v)(where(N(v) == v, X(b, v)))),
         (let<"A45">(b) = sum(v)(where(N(b) == v, X(b, v)))));
  // refused: where(...) is not what an aggregation aggregates (only that has a value to pass over)
  EITHER((let<"A46">(b, extent(v, 7)) = where(N(b) == v, X3(b))),
         (let<"A46">(b, extent(v, 7)) = select(N(b) == v, X3(b), 0.0)));
  // refused: an aggregation of where(...) has no element that it passes over, as sum has 0
  EITHER((let<"A47">(extent(v, 7)) = argmax(b)(where(N(b) == v, X3(b)))),
         (let<"A47">(extent(v, 7)) = max(b)(where(N(b) == v, X3(b)))));
  // refused: skip(...) stands elsewhere than as an index or beside == in where; write T(skip
  EITHER((let<"A4a">(b, j) = X(ein::skip(I(b)) + 1, j)),
         (let<"A4a">(b, j) = X(ein::skip(I(b) + 1), j)));
  // refused: an index tensor is not of integers (its elements are indices); read
  EITHER((let<"A4b">(b, j) = X(ein::skip(X3(b)), j)), (let<"A4b">(b, j) = X(ein::skip(I(b)), j)));
  // refused: where is given two values (it selects what an aggregation aggregates); write select
  EITHER((let<"A48">(i, j) = where(X(i, j) > 0.0, X(i, j), 0.0)),
         (let<"A48">(i, j) = select(X(i, j) > 0.0, X(i, j), 0.0)));
  // refused: the extents of an input do not stand in braces; write g.input<double>("X", {rows
  EITHER((void)g.input<double>("E", 4, 5), (void)g.input<double>("E", {4, 5}));
  // refused: an aggregation is given several expressions (nothing says how they are joined); write
  EITHER((let<"A49">(i, k) = sum(j)(X(i, j), X(j, k))),
         (let<"A49">(i, k) = sum(j)(X(i, j) * X(j, k))));
  // refused: a tensor that is there is assigned to (a statement makes a tensor of its own); write
  EITHER((X(i, k) = sum(j)(X(i, j) * X(j, k))), (let<"A49b">(i, k) = sum(j)(X(i, j) * X(j, k))));
  // refused: a tensor that is there is assigned to (a statement makes a tensor of its own); write
  EITHER((X(i, j) = X(i, j)), (let<"A49d">(i, j) = X(i, j)));
  // refused: ^ is no power in C++; write pow(X(i, j), 2)
  EITHER((let<"A49c">(i, j) = X(i, j) ^ 2), (let<"A49c">(i, j) = pow(X(i, j), 2)));
  // refused: expressions have no function lgamma; write map(f, X(i, j)) or join
  EITHER((let<"A5">(i, j) = lgamma(X(i, j))), (let<"A5">(i, j) = map(user::LogGamma{}, X(i, j))));
  // refused: expressions have no function fmod; write
  EITHER((let<"A6">(i, j) = fmod(X(i, j), 2)), (let<"A6">(i, j) = X(i, j) * X(i, j)));
  // refused: a tensor stands in an expression without its labels; write one for each dimension
  EITHER((let<"A7">(i, j) = exp(X)), (let<"A7">(i, j) = exp(X(i, j))));
  // refused: a tensor stands in an expression without its labels; write one for each dimension
  EITHER((let<"A8">(i, j) = 2.0 * X), (let<"A8">(i, j) = 2.0 * X(i, j)));
  // refused: an aggregation is given an expression before its labels; write sum(j)(X(i, j))
  EITHER((let<"A9">(i) = sum(X(i, j))), (let<"A9">(i) = sum(j)(X(i, j))));
  // refused: an aggregation is given an expression before its labels; write mean(j)(X(i, j))
  EITHER((let<"M1">(i) = mean(X(i, j))), (let<"M1">(i) = mean(j)(X(i, j))));
  // refused: a mean is of where(...), of which the labels do not say how many elements it has
  EITHER((let<"M3">(extent(v, 7)) = mean(b)(where(N(b) == v, X3(b)))),
         (let<"M3">(extent(v, 7)) = sum(b)(where(N(b) == v, X3(b)))));
  // refused: a tensor stands in an expression without its labels; write one for each dimension
  EITHER((let<"M2">(i) = layer_norm(i)(X3, 1e-5)), (let<"M2">(i) = layer_norm(i)(X3(i), 1e-5)));
  // refused: a label is exchanged that the expression lacks; exchange labels that it has
  EITHER((let<"P1">(i, j) = antisymmetrize(i, k)(X(i, j))),
         (let<"P1">(i, j) = antisymmetrize(i, j)(X(i, j))));
  // refused: a label is exchanged with itself; name two
  EITHER((let<"P2">(i, j) = exchange(i, i)(X(i, j))), (let<"P2">(i, j) = exchange(i, j)(X(i, j))));
  // refused: a label is exchanged with itself; name each once
  EITHER((let<"P3">(i, j) = symmetrize(i, j, i)(X(i, j))),
         (let<"P3">(i, j) = symmetrize(i, j)(X(i, j))));
  // refused: an expression is symmetric in a label that it lacks; name two that it has
  EITHER((let<"P6">(i, j) = symmetric(i, k)(X(i, j))),
         (let<"P6">(i, j) = symmetric(i, j)(X(i, j))));
  // refused: a label is exchanged with itself; name two
  EITHER((let<"P7">(i, j) = antisymmetric(i, i)(X(i, j))),
         (let<"P7">(i, j) = antisymmetric(i, j)(X(i, j))));
  // refused: a softmax is masked by a tensor, and not by a comparison of labels; write one
  EITHER((let<"P8">(i, j) = softmax(j, X(i, j))(X(i, j))),
         (let<"P8">(i, j) = softmax(j, j <= i)(X(i, j))));
  // refused: the mask of a softmax has a label that the expression lacks
  EITHER((let<"P9">(i, j) = softmax(j, k <= i)(X(i, j))),
         (let<"P9">(i, j) = softmax(j, j <= i)(X(i, j))));
  // refused: a scan goes along a label that the expression lacks; scan along one that it has
  EITHER((let<"P4">(i, j) = cumsum(k)(X(i, j))), (let<"P4">(i, j) = cumsum(j)(X(i, j))));
  // refused: a scan by another aggregation than Sum, CompensatedSum, Prod, Min, Max, And, Or and
  EITHER((let<"P5">(i) = ein::scan<ein::ArgMax>(i)(X3(i))),
         (let<"P5">(i) = ein::scan<ein::Max>(i)(X3(i))));
  // refused: a scan by another aggregation than Sum, CompensatedSum, Prod, Min, Max, And, Or and
  EITHER((let<"P5a">(i) = ein::scan<user::OwnSum>(i)(X3(i))),
         (let<"P5a">(i) = ein::scan<ein::CompensatedSum>(i)(X3(i))));
  // refused: a scan by what is no aggregation; name one, as in scan<Sum>(j), scan<Prod>(j)
  EITHER((let<"P6">(i) = ein::scan<ein::Mul>(i)(X3(i))),
         (let<"P6">(i) = ein::scan<ein::Prod>(i)(X3(i))));
  // refused: a scan is given an expression before its label; write cumsum(j)(X(i, j)), with the
  EITHER((let<"P7">(i, j) = cumsum(X(i, j))), (let<"P7">(i, j) = cumsum(j)(X(i, j))));
  // refused: a scan goes along a label twice; name each once
  EITHER((let<"P8">(i, j) = ein::cumprod(j, j)(X(i, j))),
         (let<"P8">(i, j) = ein::cumprod(i, j)(X(i, j))));
  // refused: a scan by LogSumExp or CompensatedSum goes along several labels (rows would be rounded
  EITHER((let<"P8a">(i, j) = ein::scan<ein::LogSumExp>(i, j)(X(i, j))),
         (let<"P8a">(i, j) = ein::scan<ein::LogSumExp>(j)(X(i, j))));
  // refused: a scan does not say by which aggregation, or not along which label; write scan<Max>(j)
  EITHER((let<"P9">(i) = ein::scan(i)(X3(i))), (let<"P9">(i) = ein::scan<ein::Max>(i)(X3(i))));
  // refused: comparisons are chained (a < b < c compares the truth value of a < b with c in C++)
  EITHER((let<"Q1">(i, j) = (0 < i < j) * X(i, j)), (let<"Q1">(i, j) = (0 < i && i < j) * X(i, j)));
  // refused: comparisons are chained (a < b < c compares the truth value of a < b with c in C++)
  EITHER((let<"Q2">(i) = 0.0 <= X3(i) <= 1.0), (let<"Q2">(i) = 0.0 <= X3(i) && X3(i) <= 1.0));
  // refused: what stands where a label belongs is none; write a label, as i or
  EITHER((let<"Q3">(i) = X(i, "j")), (let<"Q3">(i) = sum(j)(X(i, j))));
  // refused: labels stand in brackets; write them in parentheses
  EITHER((let<"A10">(i) = X3[i]), (let<"A10">(i) = X3(i)));
  // refused: the statement reads no tensor; write
  EITHER((let<"A11">(i) = 1.0), (let<"A11">(i) = 0.0 * X3(i) + 1.0));
  // refused: a statement adds to its result (every tensor is written once); write
  EITHER((let<"A12">(i) += X3(i)), (let<"A12">(i) = X3(i) + X3(i)));
  // refused: a tensor has at most 8 dimensions
  EITHER((let<"A13">(a, b, c, d, e, f, h, i, j) = X(i, j)), (let<"A13">(i, j) = X(i, j)));
  // refused: an integer stands where a label of the output belongs
  EITHER((let("A14")(i, 3L) = X3(i)), (let("A14")(i, extent(k, 3)) = X3(i)));
  // refused: a label with its extent stands where a label alone belongs; write extent(r, 3) on
  EITHER((let<"A15">(i, j) = X(i, extent(j, 5))), (let<"A15">(i, j) = X(i, j)));
  // refused: a label with its extent stands where a label alone belongs; write extent(r, 3) on
  EITHER((let<"A16">(i) = max(extent(k, 5))(X(i, k))), (let<"A16">(i) = max(k)(X(i, k))));
  // refused: a label with its extent stands where a label alone belongs; write extent(r, 3) on
  EITHER((let<"A17">() = sum(i, extent(h, 5))(X(i, h))), (let<"A17">() = sum(i, h)(X(i, h))));
  // refused: a label with its extent stands where a label alone belongs; write extent(r, 3) on
  EITHER((let<"A18">(i) = norm(extent(d, 5))(X(i, d))), (let<"A18">(i) = norm(d)(X(i, d))));
  // refused: a label with its extent stands where a label alone belongs; write extent(r, 3) on
  EITHER((let<"A19">(i, h) = X(i, h) * ein::value(extent(h, 5))),
         (let<"A19">(i, h) = X(i, h) * ein::value(h)));
  // refused: a statement has more than 8 operands, and no parts of it can be computed before
  EITHER((let<"B">() = max(i, j, k)(X(i, j) * X(j, k) * X(i, k) * X(k, i) * X(j, i) * X(k, j) *
                                    X(i, i) * X(j, j) * X(k, k))),
         (let<"B">() = sum(i, j, k)(X(i, j) * X(j, k) * X(i, k) * X(k, i) * X(j, i) * X(k, j) *
                                    X(i, i) * X(j, j) * X(k, k))));
  // refused: a statement has more than 8 operands, and no parts of it can be computed before
  EITHER((let<"B2">(i, j) = ein::join(user::Any{}, X(i, j), X(j, i), X(i, i), X(j, j), X(i, j),
                                      X(j, i), X(i, i), X(j, j), X(i, j))),
         (let<"B2">(i, j) = ein::join(user::Any{}, X(i, j), X(j, i), X(i, i), X(j, j), X(i, j))));
#if EINDECOMP_CASE == 0
  let<"mine">(i, j) = user::lgamma(X(i, j));
  using user::lgamma;
  let<"too">(i, j) = lgamma(X(i, j));
  using std::exp;
  using std::max;
  let<"std">(i, j) = exp(max(max(X(i, j), 0.0), max(X(i, j), X(i, j))));
#endif
  {
    // Of different types, for the compiler says a thing once.
    [[maybe_unused]] int i = 0;
    [[maybe_unused]] long k = 0;
    // refused: a variable stands where a label belongs (one of the label's name hides it); rename
    EITHER((let<"C1">(j) = X(i, j)), (let<"C1">(j) = X(ein::labels::j, j)));
    // refused: a variable stands where a label belongs
    EITHER((let<"C2">(k) = X3(j)), (let<"C2">(ein::labels::k) = X3(ein::labels::k)));
    // refused: a variable stands where a label belongs
    EITHER((let<"C3">(j) = sum(i)(X(j, j))),
           (let<"C3">(j) = sum(ein::labels::i)(X(ein::labels::i, j))));
  }
}

void blocks() {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {5, 6});
  const auto x = g.input<double>("x", {6});
  const auto F = g.input<float>("F", {5, 6});
  const auto I = g.input<std::int32_t>("I", {5});
  auto Z = ein::blocks<double>(g, "Z", {40, 6}, 0.0);
  // refused: an index of a block is divided or has a boundary (blocks lie inside of their tensor)
  EITHER(Z(ein::zero(i + 4), j) = X(i, j), Z(i + 4, j) = X(i, j));
  // refused: an index of a block is computed from more than one label; write one
  EITHER(Z(i + j, j) = X(i, j), Z(2 * i + 10, j) = X(i, j));
  // refused: a block is given more or fewer indices than its tensor has dimensions; give each
  EITHER(Z(j) += x(j), Z(3, j) += x(j));
  // refused: a number that is no integer stands where a label belongs; write
  EITHER(Z(1.5F, j) = x(j), Z(1, j) = x(j));
  // refused: a tensor stands where a label belongs (index tensors are read, X(I(b), j)); write
  EITHER(Z(I(i), j) = X(i, j), Z(i + 20, j) = X(I(i), j));
  // refused: a tensor stands in an expression without its labels; write one for each dimension
  EITHER(Z(i + 25, j) = F, Z(i + 25, j) = X(i, j));
  // refused: a block reads no tensor; give its tensor a value for what no block has, or write
  EITHER(Z(30, j) = 1.0, Z(30, j) = 0.0 * x(j) + 1.0);
  // refused: a block has elements of another type than its tensor; convert it, as in
  EITHER(Z(i + 31, j) = F(i, j), Z(i + 31, j) = cast<double>(F(i, j)));
  auto Q = ein::blocks<ein::bfloat16>(g, "Q", {5, 6});
  // refused: a block has elements of another type than its tensor; convert it, as in
  EITHER(Q(i, j) = 2.0 * F(i, j), Q(i, j) = cast<ein::bfloat16>(2.0 * F(i, j)));
  // refused: blocks of 16-bit numbers are added (their sum is float); declare the tensor of float
  EITHER(Q(i, j) += cast<ein::bfloat16>(F(i, j)), Z(i + 35, j) += cast<double>(F(i, j)));
  // refused: the value between blocks is none of the tensor's type (elements are not converted
  EITHER((void)ein::blocks<std::int32_t>(g, "N", {5}, 0.5),
         (void)ein::blocks<std::int32_t>(g, "N", {5}, 1));
  // refused: a tensor that is written block by block is read by B(i, j) (which stands
  EITHER((let<"R1">(i) = sum(j)(Z(i, j))), (let<"R1">(i) = sum(j)(Z.tensor()(i, j))));
  // refused: a tensor that is written block by block is read by B(i, j) (which stands
  EITHER((let<"R2">(i, j) = 2.0 * Z(i, j)), (let<"R2">(i, j) = 2.0 * Z.tensor()(i, j)));
  // refused: what is concatenated has not the same labels, or lacks the one that it is
  EITHER((let<"C1">(i, j) = ein::concat(i)(X(i, j), x(j))),
         (let<"C1">(i, j) = ein::concat(i)(X(i, j), X(i, j))));
  // refused: what is concatenated has elements of several types; convert it, as in
  EITHER((let<"C2">(i, j) = ein::concat(i)(X(i, j), F(i, j))),
         (let<"C2">(i, j) = ein::concat(i)(X(i, j), cast<double>(F(i, j)))));
  // refused: what is padded lacks a label that it is padded along; pad along labels that it has
  EITHER((let<"C3">(j) = ein::pad(i)(x(j), {{1, 1}})),
         (let<"C3">(j) = ein::pad(j)(x(j), {{1, 1}})));
  // refused: what is padded is padded twice along a label; give each label one pair of widths
  EITHER((let<"C5">(i) = ein::pad(i, i)(I(i), {{1, 0}, {0, 1}})),
         (let<"C5">(i) = ein::pad(i)(I(i), {{1, 1}})));
  // refused: an index on the left of a statement is computed (a statement writes all of its tensor)
  EITHER((let<"C4">(i + 4, j) = X(i, j)), (Z(i + 36, j) = X(range(i, 0, 4), j)));
}

void packed() {
  ein::PlanProgram g;
  const auto S = ein::packed_symmetric<double>(g, "S", {5, 5});
  const auto X = g.input<double>("X", {5, 5});
  [[maybe_unused]] const auto I = g.input<std::int32_t>("I", {3});
  // refused: a packed tensor has two dimensions that are exchanged, and at most 8
  EITHER((void)ein::packed_symmetric<double>(g, "V", {5}),
         (void)ein::packed_symmetric<double>(g, "V", {5, 5, 4}));
  // refused: a packed tensor is read under a label twice, or under more or fewer than it has
  EITHER((let<"Y">(i) = 2.0 * S(i, i)), (let<"Y">(i, j) = 2.0 * S(i, j)));
  // refused: a packed tensor is read at a computed index; write it as a whole one first,
  EITHER((let<"Z">(i, j) = X(i, j) * S(i + 1, j)), (let<"F">(i, j) = S(i, j)));
  // refused: a packed tensor is read at a computed index; write it as a whole one first,
  EITHER((let<"Z1">(b, j) = 1.0 * S(I(b), j)), (let<"F1">(i, j) = S(i, j)));
  // refused: a packed tensor that is there is assigned to (a statement makes a tensor of its own)
  EITHER(S(i, j) = X(i, j), (ein::packed_symmetric("T")(i, j) = S(i, j)));
  // refused: a tensor is symmetric in one label; name two
  EITHER((ein::packed_symmetric("G")(i, i) = sum(k)(X(i, k) * X(i, k))),
         (ein::packed_symmetric("G")(i, j) = sum(k)(X(i, k) * X(j, k))));
  // refused: a tensor stands in an expression without its labels; write one for each dimension
  EITHER((let<"D">(i, j) = X(i, j) + S), (let<"D">(i, j) = X(i, j) + S(i, j)));
}

void gradients() {
  EITHER(ein::PlanProgram, ein::DifferentiablePlanProgram) g;
  ein::DifferentiablePlanProgram h;
  const auto X = g.input<double>("X", {5});
  const auto Y = h.input<double>("Y", {5});
  const auto C = h.input<double>("C", {5, 5});
  const auto loss = let<"loss">() = sum(i)(X(i) * X(i));
  // refused: a gradient is asked of a program that keeps no derivatives; declare it as a
  (void)ein::gradient(loss, X);
  // refused: a statement reads tensors of programs of two kinds (as a Program and a
  EITHER((let<"mixed">(i) = X(i) + Y(i)), (let<"mixed">(i) = Y(i) + Y(i)));
  // refused: a gradient is asked of a tensor that is no scalar; write a loss that sums it
  (void)EITHER((ein::gradient(Y, Y)), (ein::gradient(let<"total">() = sum(i)(Y(i)), Y)));
  // refused: the cotangent of a tensor has other elements or another rank; give one of the
  (void)EITHER((ein::vjp(Y, C, Y)), (ein::vjp(Y, Y, Y)));
  // refused: a vjp is asked by more than four tensors one by one; give those of one type and
  (void)EITHER((ein::vjp(Y, Y, Y, Y, Y, Y, Y)), (ein::vjp(Y, Y, std::vector{Y, Y, Y, Y, Y})));
  // refused: the tangent of a tensor has other elements or another rank; give one of the tensor's
  (void)EITHER((ein::jvp(Y, Y, C)), (ein::jvp(Y, Y, Y)));
  // refused: a jvp is asked along a tensor without a tangent; give each tensor and its tangent
  (void)EITHER((ein::jvp(Y, Y, Y, C)), (ein::jvp(Y, Y, Y)));
  // refused: a jvp is asked along more than four tensors one by one; give those of one type and
  (void)EITHER((ein::jvp(Y, Y, Y, Y, Y, Y, Y, Y, Y, Y, Y)),
               (ein::jvp(Y, std::vector(5, Y), std::vector(5, Y))));
  const auto W = h.input<double>("W", {5});
  const auto error = let<"error">() = sum(i)(square(Y(i) - W(i)));
  // refused: a gradient is asked by more than eight tensors one by one; give those of one type
  (void)EITHER((ein::gradient(error, W, W, W, W, W, W, W, W, W)),
               (ein::gradient(error, std::vector(9, W))));
  // refused: minimise takes a loss, weights and an optimiser; several weights are
  (void)EITHER((ein::minimise(error, W, Y)), (ein::minimise(error, {W, Y})));
  const auto F = h.input<float>("F", {5});
  // refused: a weight has other elements than the loss; declare both of one type
  (void)EITHER((ein::minimise(error, {W, F})), (ein::minimise(error, {W, Y})));
  const auto rounded = let<"rounded">() = cast<ein::bfloat16>(sum(i)(F(i) * F(i)));
  // refused: a loss of 16-bit numbers is minimised (what is trained is rounded in every step); keep
  (void)EITHER((ein::minimise(rounded, {rounded})), (ein::minimise(error, {W})));
  // refused: Accumulated is given an Accumulated optimiser; give one the product of both
  (void)EITHER((ein::Accumulated{ein::Accumulated{ein::Sgd{}, 2}, 3}),
               (ein::Accumulated{ein::Sgd{}, 6}));
  // refused: ClippedByNorm is given an Accumulated optimiser (the gradient of one microbatch
  (void)EITHER((ein::ClippedByNorm{ein::Accumulated{ein::Sgd{}, 2}, 1.0}),
               (ein::Accumulated{ein::ClippedByNorm{ein::Sgd{}, 1.0}, 2}));
  // refused: ClippedByNorm is given a ClippedByNorm optimiser; give one the smaller of both norms
  (void)EITHER((ein::ClippedByNorm{ein::ClippedByNorm{ein::Sgd{}, 2.0}, 1.0}),
               (ein::ClippedByNorm{ein::Sgd{}, 1.0}));
  const auto K = h.input<std::int32_t>("K", {5});
  // refused: random numbers of a type that is no floating-point number; declare the tensor of
  (void)EITHER((ein::uniform_numbers(K, 1)), (ein::uniform_numbers(F, 1)));
}
