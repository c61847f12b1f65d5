// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements that break a rule of the language, in case 1; the comment above each begins the
// sentence that the compiler says of it. In case 0, the statements that must compile instead.

#include <complex>

#include "eindecomp/graph/einsum.hpp"
#include "eindecomp/graph/let.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::let;

#if EINDECOMP_CASE == 0
#define EITHER(wrong, right) right
#else
#define EITHER(wrong, right) wrong
#endif

struct OnText {
  const char* operator()(const char* a) const { return a; }
};
struct ReturnsNoElement {
  template <class A>
  auto operator()(const A& a) const {
    struct Owner {
      Owner(const A&) {}
      Owner(const Owner&) {}
    };
    return Owner(a);
  }
};
struct Average {
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class T>
  constexpr T operator()(const T& a, const T& b) const {
    return (a + b) / 2;
  }
};
struct NoIdentity {
  static constexpr bool commutative_monoid = true;
  template <class T>
  constexpr T operator()(const T& a, const T& b) const {
    return a + b;
  }
};
struct CannotCombine {
  static constexpr bool commutative_monoid = true;
  static constexpr double identity() { return 0; }
  constexpr double operator()(const char*, const char*) const { return 0; }
};
struct Ordered {
  double number;
  auto operator<=>(const Ordered&) const = default;
};
struct Subtraction {
  static constexpr bool commutative_monoid = false;
  static constexpr double identity() { return 0; }
  constexpr double operator()(double a, double b) const { return a - b; }
};

void statements() {
  ein::PlanProgram g;
  [[maybe_unused]] const auto X = g.input<double>("X", {4, 5});
  [[maybe_unused]] const auto W = g.input<double>("W", {5, 6});
  [[maybe_unused]] const auto V = g.input<double>("V", {5});
  [[maybe_unused]] const auto O = g.input<Ordered>("O", {4, 5});
  [[maybe_unused]] const auto C = g.input<std::complex<double>>("C", {4, 5});
  // refused: a tensor of rank 2 is given 1 labels, (i)
  EITHER((let<"H">(i, k) = sum(j)(X(i) * W(j, k))), (let<"H">(i, k) = sum(j)(X(i, j) * W(j, k))));
  // refused: label 'k' is in the output but in no operand (nothing gives its extent)
  EITHER((let<"H">(i, k) = sum(j)(X(i, j))), (let<"H">(i, ein::extent(k, 3)) = sum(j)(X(i, j))));
  // refused: label 'i' is repeated in the output
  EITHER((let<"H">(i, i) = X(i, j)), (let<"H">(i, j) = X(i, j)));
  // refused: label 'j' is aggregated and in the output
  EITHER((let<"H">(i, j) = sum(j)(X(i, j))), (let<"H">(i) = sum(j)(X(i, j))));
  // refused: label 'j' is in an operand but neither in the output nor aggregated
  EITHER((let<"H">(i) = X(i, j)), (let<"H">(i) = sum(j)(X(i, j))));
  // refused: label 'k' is aggregated but in no operand
  EITHER((let<"H">(i) = sum(j, k)(X(i, j))), (let<"H">(i) = sum(j)(X(i, j))));
  // refused: label 'j' is aggregated twice
  EITHER((let<"H">(i) = sum(j, j)(X(i, j))), (let<"H">(i) = sum(j)(X(i, j))));
  // refused: the join OnText cannot take elements of type (double)
  EITHER((let<"H">(i, j) = ein::map(OnText{}, X(i, j))),
         (let<"H">(i, j) = ein::map(ein::Exp{}, X(i, j))));
  // refused: the join ReturnsNoElement returns ReturnsNoElement::operator()
  EITHER((let<"H">(i, j) = ein::map(ReturnsNoElement{}, X(i, j))),
         (let<"H">(i, j) = ein::map(ein::Exp{}, X(i, j))));
  // refused: the aggregation Average is not a commutative monoid (it does not promise so)
  EITHER((let<"H">(i) = ein::aggregate<Average>(j)(X(i, j))),
         (let<"H">(i) = ein::aggregate<ein::Sum>(j)(X(i, j))));
  // refused: the aggregation NoIdentity is not a commutative monoid on double (it has no
  EITHER((let<"H">(i) = ein::aggregate<NoIdentity>(j)(X(i, j))),
         (let<"H">(i) = ein::aggregate<ein::Sum>(j)(X(i, j))));
  // refused: the aggregation CannotCombine is not a commutative monoid on double (it cannot
  EITHER((let<"H">(i) = ein::aggregate<CannotCombine>(j)(X(i, j))),
         (let<"H">(i) = ein::aggregate<ein::Sum>(j)(X(i, j))));
  // refused: the aggregation eindecomp::Min is not a commutative monoid on std::complex<double>
  EITHER((let<"H">(i) = min(j)(C(i, j))), (let<"H">(i) = sum(j)(C(i, j))));
  // refused: the aggregation eindecomp::Min is not a commutative monoid on Ordered (it has no
  EITHER((let<"H">(i) = min(j)(O(i, j))), (let<"H">(i, j) = O(i, j)));
  // refused: the aggregation eindecomp::expr::ArgExtremum<false> is not a commutative monoid on
  EITHER((let<"H">(i) = argmax(j)(O(i, j))), (let<"H">(i, j) = O(i, j)));
  // refused: the aggregation Subtraction is not a commutative monoid (it does not promise so)
  EITHER((let<"H">(i) = ein::aggregate<Subtraction>(j)(X(i, j))),
         (let<"H">(i) = ein::aggregate<ein::Sum>(j)(X(i, j))));
  // refused: character '%' at position 1 in "i%j,jk->ik" is unknown
  EITHER(((void)ein::einsum<"i%j,jk->ik">(X, W)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
  // refused: ellipsis in "...ij,jk->ik" is not supported
  EITHER(((void)ein::einsum<"...ij,jk->ik">(X, W)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
  // refused: index "(i+)" in "(i+)j,jk->ik" is no sum of up to 4 labels and integers
  EITHER(((void)ein::einsum<"(i+)j,jk->ik">(X, W)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
  // refused: "periodic(" in "periodic(i-1)j->ij" is no part of a string (strings have no
  EITHER(((void)ein::einsum<"periodic(i-1)j->ij">(X)), ((void)ein::einsum<"(i-1)j->ij">(X)));
  // refused: index "(k+1)" in "ij,jk->i(k+1)" is of the output
  EITHER(((void)ein::einsum<"ij,jk->i(k+1)">(X, W)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
  // refused: "ij,jk->ik" has 2 operands and is given 1
  EITHER(((void)ein::einsum<"ij,jk->ik">(X)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
  // refused: operand 2 of "ij,jk->ik" has 2 labels and its tensor is of rank 1
  EITHER(((void)ein::einsum<"ij,jk->ik">(X, V)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
  // refused: label 'l' is in the output but in no operand
  EITHER(((void)ein::einsum<"ij,jk->il">(X, W)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
  // refused: label 'j' is repeated in the output
  EITHER(((void)ein::einsum<"ij,jk->jj">(X, W)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
  // refused: character '-' at position 9 in "ij,jk->ik->i" is unknown
  EITHER(((void)ein::einsum<"ij,jk->ik->i">(X, W)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
  // refused: label 'l' is aggregated but in no operand
  EITHER((let<"H">(i, j) = X(i, j) * sum(k)(sum(l)(W(j, k)))),
         (let<"H">(i, j) = X(i, j) * sum(k)(sum(l)(W(j, k) * X(i, l)))));
  // refused: the join eindecomp::Select cannot take elements of type (double, double)
  EITHER((let<"H">(i, j) = join(ein::Select{}, X(i, j), X(i, j))),
         (let<"H">(i, j) = join(ein::Sub{}, X(i, j), X(i, j))));
  // refused: an aggregation that gives an index along one label is given several
  EITHER((let<"H">() = ein::aggregate<ein::ArgMin>(i, j)(X(i, j))),
         (let<"H">(i) = ein::aggregate<ein::ArgMin>(j)(X(i, j))));
  // refused: label 'k' has its value taken and is in no operand and not in the output
  EITHER((let<"H">(i, j) = X(i, j) * value(k)), (let<"H">(i, j) = X(i, j) * value(j)));
}
