// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalars in expressions take the type of the tensors they meet.

#include <doctest/doctest.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/print.hpp"
#include "support/messages.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::let;

namespace {

using I4 = std::int32_t;
using I8 = std::int64_t;
using F4 = float;
using F8 = double;
using C4 = std::complex<float>;
using C8 = std::complex<double>;

template <class... Ts>
struct Row {};

/// What NumPy 2 says of `(numpy.ones(1, tensor) * scalar).dtype`, with a Python int, float or
/// complex for the scalar. Rows: tensors. Columns: whole numbers, floating-point, complex.
template <class Tensor>
struct Promoted;
template <>
struct Promoted<I4> : Row<I4, F8, C8> {};
template <>
struct Promoted<I8> : Row<I8, F8, C8> {};
template <>
struct Promoted<F4> : Row<F4, F4, C4> {};
template <>
struct Promoted<F8> : Row<F8, F8, C8> {};
template <>
struct Promoted<C4> : Row<C4, C4, C4> {};
template <>
struct Promoted<C8> : Row<C8, C8, C8> {};

template <class Whole, class Floating, class Complex, class Visit>
void each_scalar(const Row<Whole, Floating, Complex>&, const Visit& visit) {
  const Whole whole{};
  const Floating floating{};
  const Complex complex{};
  visit(true, whole);
  visit(2, whole);
  visit(2U, whole);
  visit(2L, whole);
  visit(2ULL, whole);
  visit(static_cast<short>(2), whole);
  visit(0.5F, floating);
  visit(0.5, floating);
  visit(0.5L, floating);
  visit(C4(0.5F, 2), complex);
  visit(C8(0.5, 2), complex);
}

template <class Tensor, class Visit>
void all_pairs(ein::PlanProgram& program, const Visit& visit) {
  const auto X = program.input<Tensor>("X" + std::to_string(program.graph().size()), {3});
  each_scalar(Promoted<Tensor>{}, [&](auto scalar, auto expected) { visit(X, scalar, expected); });
}
template <class Visit>
void all_pairs(const Visit& visit) {
  ein::PlanProgram program;
  all_pairs<I4>(program, visit);
  all_pairs<I8>(program, visit);
  all_pairs<F4>(program, visit);
  all_pairs<F8>(program, visit);
  all_pairs<C4>(program, visit);
  all_pairs<C8>(program, visit);
}

template <class E>
using Elements = ein::expr::Elements<E>;

/// The sentence of an Error of a statement, without the place.
const auto scalar_message = [](const auto& work) {
  return eindecomp_tests::message_here(work, ein::ErrorKind::statement);
};

}  // namespace

TEST_CASE("a scalar and a tensor give what NumPy's weak scalars give, for every pair") {
  int pairs = 0;
  all_pairs([&](const auto& X, auto scalar, auto expected) {
    using Tensor = typename std::decay_t<decltype(X)>::value_type;
    using Expected = decltype(expected);
    ++pairs;
    // C++ has no product of whole and std::complex numbers, whose statement is refused.
    if constexpr (!(std::is_integral_v<Tensor> && !std::is_arithmetic_v<decltype(scalar)>)) {
      static_assert(std::is_same_v<Elements<decltype(scalar * X(i))>, Expected>);
      static_assert(std::is_same_v<Elements<decltype(X(i) * scalar)>, Expected>);
      static_assert(std::is_same_v<Elements<decltype(X(i) - scalar)>, Expected>);
      static_assert(std::is_same_v<Elements<decltype(scalar * X(i) + X(i) / scalar)>, Expected>);
      static_assert(std::is_same_v<Elements<decltype(scalar * sum(j)(X(i) * X(j)))>, Expected>);
    }
    if constexpr (std::is_arithmetic_v<Tensor> && std::is_arithmetic_v<decltype(scalar)>) {
      static_assert(std::is_same_v<Elements<decltype(max(X(i), scalar))>, Expected>);
      static_assert(std::is_same_v<Elements<decltype(min(scalar, X(i)))>, Expected>);
      static_assert(
          std::is_same_v<Elements<decltype(ein::select(X(i) > X(i), X(i), scalar))>, Expected>);
    }
  });
  CHECK(pairs == 6 * 11);
}

TEST_CASE("the statement's tensor is of that type and its operator keeps the scalar in it") {
  ein::PlanProgram g;
  const auto X = g.input<float>("X", {3, 4});
  const auto N = g.input<std::int32_t>("N", {3, 4});
  const auto Z = g.input<C4>("Z", {3, 4});
  const auto D = g.input<double>("D", {3, 4});
  const auto type = [](const auto& symbol) {
    return ein::expr::element_text(
               ein::element_type<typename std::decay_t<decltype(symbol)>::value_type>())
        .str();
  };
  CHECK(type(let<"a">(i, j) = 0.1 * X(i, j)) == "float");
  CHECK(type(let<"b">(i) = sum(j)(0.1 * X(i, j) * X(i, j))) == "float");
  CHECK(type(let<"c">(i, j) = exp(X(i, j) - 1) * 0.5) == "float");
  CHECK(type(let<"d">(i, j) = 3 * N(i, j)) == "int32");
  CHECK(type(let<"e">(i, j) = 3LL * N(i, j)) == "int32");
  CHECK(type(let<"f">(i, j) = 0.5F * N(i, j)) == "double");
  CHECK(type(let<"g">(i, j) = 0.5 * Z(i, j)) == "complex<float>");
  CHECK(type(let<"h">(i, j) = C8(0, 1) * X(i, j)) == "complex<float>");
  CHECK(type(let<"k">(i, j) = C8(0, 1) * Z(i, j) * 2.0) == "complex<float>");
  CHECK(type(let<"l">(i, j) = 0.1 * X(i, j) + max(j)(0.5 * X(i, j))) == "float");
  // Tensors promote each other as before, and cast widens.
  CHECK(type(let<"m">(i, j) = 0.1 * X(i, j) * D(i, j)) == "double");
  CHECK(type(let<"n">(i, j) = 0.1 * ein::cast<double>(X(i, j))) == "double");
  CHECK(type(let<"o">(i, j) = ein::cast<double>(0.1 * X(i, j))) == "double");
  CHECK(type(let<"p">(i, j) = X(i, j) < 0.1) == "int32");
  // Truth values are no numbers that a scalar could take the type of; nor is a condition's.
  CHECK(type(let<"q">(i, j) = (X(i, j) < 0.1) * 0.5) == "double");
  CHECK(type(let<"r">(i, j) = ein::select(D(i, j), X(i, j), 0.5)) == "float");
  CHECK(type(let<"s">(i, j) = ein::select(D(i, j), 0.5, 0.0)) == "double");
}

TEST_CASE("scalars of different types that are the same to a tensor make the same statement") {
  ein::PlanProgram g;
  const auto X = g.input<float>("X", {3});
  const auto A = let<"A">(i) = 2 * X(i);
  CHECK((let<"B">(i) = 2.0 * X(i)).vertex() == A.vertex());
  CHECK((let<"C">(i) = 2.0F * X(i)).vertex() == A.vertex());
  CHECK((let<"D">(i) = 2.5 * X(i)).vertex() != A.vertex());
  // 0.1 is that of floats, whatever was written.
  const auto E = let<"E">(i) = X(i) + 0.1;
  CHECK((let<"F">(i) = X(i) + 0.1F).vertex() == E.vertex());
}

TEST_CASE("a scalar that the tensors' type cannot hold is refused") {
  ein::PlanProgram g;
  const auto X = g.input<float>("X", {3});
  const auto N = g.input<std::int32_t>("N", {3});
  const auto M = g.input<std::int64_t>("M", {3});
  CHECK(scalar_message([&] { let<"S">(i) = N(i) * 5000000000; }) ==
        "EinDecomp: statement S has a scalar that int32 cannot hold (scalars take the type of the "
        "tensors they meet); convert the tensor before, as in cast<std::int64_t>(X(i))");
  CHECK(scalar_message([&] { let<"S">(i) = sum(j)(X(i) * N(j) * 1e300); }) ==
        "EinDecomp: statement S has a scalar that float cannot hold (scalars take the type of the "
        "tensors they meet); convert the tensor before, as in cast<double>(X(i))");
  CHECK(scalar_message([&] {
          let<"S">(i) = X(i) * C8(1, -1e39);
        }).find("complex<float> cannot hold") != std::string::npos);
  CHECK(scalar_message([&] { let<"S">(i) = N(i) + 2147483648U; }).find("int32 cannot") !=
        std::string::npos);
  CHECK(scalar_message([&] { let<"S">(i) = N(i) + (-2147483649LL); }).find("int32 cannot") !=
        std::string::npos);
  CHECK(scalar_message([&] { let<"S">(i) = M(i) + (1ULL << 63U); }).find("int64 cannot") !=
        std::string::npos);
  CHECK(g.graph().size() == 3);
  // The bounds, infinities and what is not a number are held; what is too small is 0.
  let<"a">(i) = N(i) + 2147483647LL;
  let<"b">(i) = N(i) + (-2147483648LL);
  let<"c">(i) = X(i) + std::numeric_limits<double>::infinity();
  let<"d">(i) = X(i) + -std::numeric_limits<double>::infinity();
  let<"e">(i) = X(i) + std::numeric_limits<double>::quiet_NaN();
  let<"f">(i) = X(i) + 1e-300;
  CHECK(g.graph().size() == 9);
}

static_assert([] {
  ein::PlanProgram g;
  const auto X = g.input<float>("X", {3});
  const auto Y = let<"Y">(i) = 0.1 * X(i);
  return std::is_same_v<decltype(Y)::value_type, float> && g.graph()[Y.vertex()].element.bytes == 4;
}());
