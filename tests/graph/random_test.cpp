// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random bits are those that their authors publish (Random123, examples/kat_vectors), and the
// numbers made of them are distributed as they should be.

#include "eindecomp/graph/random.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/print.hpp"
#include "support/messages.hpp"

namespace ein = eindecomp;

namespace {

using Words = std::array<std::uint32_t, 4>;

// Random123's known answers (tests/kat_vectors, philox4x32 10).
static_assert(ein::philox({0, 0, 0, 0}, {0, 0}) ==
              Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(ein::philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                          {0xffffffff, 0xffffffff}) ==
              Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(ein::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                          {0xa4093822, 0x299f31d0}) ==
              Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

/// The first four moments of a tensor of 300 by 400 numbers.
template <class Numbers>
std::array<double, 4> moments(const Numbers& numbers) {
  std::array<double, 4> sums{};
  for (ein::Extent i = 0; i < 300; ++i) {
    for (ein::Extent j = 0; j < 400; ++j) {
      double power = 1;
      for (double& sum : sums) sum += power *= numbers(i, j);
    }
  }
  for (double& sum : sums) sum /= 300 * 400;
  return sums;
}

}  // namespace

TEST_CASE("random numbers have the moments of their distributions") {
  ein::PlanProgram program;
  const auto X = program.input<double>("X", {300, 400});
  const auto Y = program.input<float>("Y", {300, 400});
  for (const auto& [mean, square, cube, fourth] :
       {moments(normal_numbers(X, 1)), moments(normal_numbers(Y, 2))}) {
    CHECK(std::abs(mean) < 0.01);
    CHECK(std::abs(square - 1) < 0.02);
    CHECK(std::abs(cube) < 0.05);
    CHECK(std::abs(fourth - 3) < 0.1);
  }
  for (const auto& [mean, square, cube, fourth] :
       {moments(uniform_numbers(X, 1)), moments(uniform_numbers(Y, 2))}) {
    CHECK(std::abs(mean - 1.0 / 2) < 0.005);
    CHECK(std::abs(square - 1.0 / 3) < 0.005);
    CHECK(std::abs(cube - 1.0 / 4) < 0.005);
    CHECK(std::abs(fourth - 1.0 / 5) < 0.005);
  }
}

TEST_CASE("a rate of dropout is a share") {
  using namespace ein::labels;
  ein::PlanProgram program;
  const auto X = program.input<double>("X", {3, 5});
  const auto U = program.input<double>("U", {3, 5});
  const auto formula = [&](const auto& symbol) {
    return ein::to_text(program.graph()).str().find(symbol.name().str()) != std::string::npos;
  };
  CHECK(formula(ein::let<"D">(i, j) = dropout(X(i, j), U(i, j), 0.0)));
  for (const double rate : {-0.1, 1.0, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK(eindecomp_tests::message_of([&] {
            (void)dropout(X(i, j), U(i, j), rate);
          }).find("a rate of dropout is negative, 1 or more, or no number") != std::string::npos);
  }
}

TEST_CASE("random numbers are functions of seed, name and index") {
  ein::PlanProgram program;
  const auto X = program.input<double>("X", {3, 5});
  const auto Y = program.input<double>("Y", {3, 5});
  ein::PlanProgram other;
  const auto again = other.input<double>("X", {3, 5});
  CHECK(uniform_numbers(X, 7)(2, 4) == uniform_numbers(again, 7)(2, 4));
  CHECK(uniform_numbers(X, 7)(2, 4) != uniform_numbers(X, 8)(2, 4));
  CHECK(uniform_numbers(X, 7)(2, 4) != uniform_numbers(Y, 7)(2, 4));
  CHECK(uniform_numbers(X, 7)(1, 0) != uniform_numbers(X, 7)(0, 1));
  CHECK(uniform_numbers(X, 7)(1, 0) != uniform_numbers(X, 7)(0, 4));
  // All 64 bits of a seed and of an element's number count.
  CHECK(uniform_numbers(X, 7)(2, 4) != uniform_numbers(X, 7 + (1ULL << 32))(2, 4));
  const auto L = program.input<double>("L", {1 << 17, 1 << 17});
  CHECK(uniform_numbers(L, 7)(0, 0) != uniform_numbers(L, 7)(1 << 15, 0));
}
