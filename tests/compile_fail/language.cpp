// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements that must not compile, one per EINDECOMP_CASE, and beside each the one that must: all
// of these in case 0.

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
#define IN_CASE(n) (EINDECOMP_CASE == 0 || EINDECOMP_CASE == n)

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
  [[maybe_unused]] const auto C = g.input<std::complex<double>>("C", {4, 5});
#if IN_CASE(1)
  EITHER((let<"H">(i, k) = sum(j)(X(i) * W(j, k))), (let<"H">(i, k) = sum(j)(X(i, j) * W(j, k))));
#endif
#if IN_CASE(2)
  EITHER((let<"H">(i, k) = sum(j)(X(i, j))), (let<"H">(i, ein::extent(k, 3)) = sum(j)(X(i, j))));
#endif
#if IN_CASE(3)
  EITHER((let<"H">(i, i) = X(i, j)), (let<"H">(i, j) = X(i, j)));
#endif
#if IN_CASE(4)
  EITHER((let<"H">(i, j) = sum(j)(X(i, j))), (let<"H">(i) = sum(j)(X(i, j))));
#endif
#if IN_CASE(5)
  EITHER((let<"H">(i) = X(i, j)), (let<"H">(i) = sum(j)(X(i, j))));
#endif
#if IN_CASE(6)
  EITHER((let<"H">(i) = sum(j, k)(X(i, j))), (let<"H">(i) = sum(j)(X(i, j))));
#endif
#if IN_CASE(7)
  EITHER((let<"H">(i) = sum(j, j)(X(i, j))), (let<"H">(i) = sum(j)(X(i, j))));
#endif
#if IN_CASE(8)
  EITHER((let<"H">(i, j) = ein::map(OnText{}, X(i, j))),
         (let<"H">(i, j) = ein::map(ein::Exp{}, X(i, j))));
#endif
#if IN_CASE(9)
  EITHER((let<"H">(i, j) = ein::map(ReturnsNoElement{}, X(i, j))),
         (let<"H">(i, j) = ein::map(ein::Exp{}, X(i, j))));
#endif
#if IN_CASE(10)
  EITHER((let<"H">(i) = ein::aggregate<Average>(j)(X(i, j))),
         (let<"H">(i) = ein::aggregate<ein::Sum>(j)(X(i, j))));
#endif
#if IN_CASE(11)
  EITHER((let<"H">(i) = ein::aggregate<NoIdentity>(j)(X(i, j))),
         (let<"H">(i) = ein::aggregate<ein::Sum>(j)(X(i, j))));
#endif
#if IN_CASE(12)
  EITHER((let<"H">(i) = ein::aggregate<CannotCombine>(j)(X(i, j))),
         (let<"H">(i) = ein::aggregate<ein::Sum>(j)(X(i, j))));
#endif
#if IN_CASE(13)
  EITHER((let<"H">(i) = min(j)(C(i, j))), (let<"H">(i) = sum(j)(C(i, j))));
#endif
#if IN_CASE(14)
  EITHER((let<"H">(i) = ein::aggregate<Subtraction>(j)(X(i, j))),
         (let<"H">(i) = ein::aggregate<ein::Sum>(j)(X(i, j))));
#endif
#if IN_CASE(15)
  EITHER(((void)ein::einsum<"i%j,jk->ik">(X, W)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
#endif
#if IN_CASE(16)
  EITHER(((void)ein::einsum<"...ij,jk->ik">(X, W)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
#endif
#if IN_CASE(17)
  EITHER(((void)ein::einsum<"ij,jk->ik">(X)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
#endif
#if IN_CASE(18)
  EITHER(((void)ein::einsum<"ij,jk->ik">(X, V)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
#endif
#if IN_CASE(19)
  EITHER(((void)ein::einsum<"ij,jk->il">(X, W)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
#endif
#if IN_CASE(20)
  EITHER(((void)ein::einsum<"ij,jk->ii">(X, W)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
#endif
#if IN_CASE(21)
  EITHER(((void)ein::einsum<"ij,jk->ik->i">(X, W)), ((void)ein::einsum<"ij,jk->ik">(X, W)));
#endif
#if IN_CASE(22)
  EITHER((let<"H">(i, j) = X(i, j) * sum(k)(sum(l)(W(j, k)))),
         (let<"H">(i, j) = X(i, j) * sum(k)(sum(l)(W(j, k) * X(i, l)))));
#endif
#if IN_CASE(23)
  EITHER((let<"H">(i, j) = join(ein::Select{}, X(i, j), X(i, j))),
         (let<"H">(i, j) = join(ein::Sub{}, X(i, j), X(i, j))));
#endif
#if IN_CASE(24)
  EITHER((let<"H">() = ein::aggregate<ein::ArgMin>(i, j)(X(i, j))),
         (let<"H">(i) = ein::aggregate<ein::ArgMin>(j)(X(i, j))));
#endif
#if IN_CASE(25)
  EITHER((let<"H">(i, j) = X(i, j) * value(k)), (let<"H">(i, j) = X(i, j) * value(j)));
#endif
}
