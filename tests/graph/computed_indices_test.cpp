// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indices computed from labels: the extents that follow, what is refused, and what two statements
// share.

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/graph/builder.hpp"
#include "eindecomp/graph/einsum.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/print.hpp"
#include "support/messages.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::at;
using ein::extent;
using ein::Extent;
using ein::let;
using ein::periodic;
using ein::whole;
using ein::zero;
using eindecomp_tests::message_of;

namespace {

/// The output length of a convolution layer, as the frameworks have it.
constexpr Extent layer_length(Extent n, Extent width, Extent stride, Extent pad, Extent dilation) {
  return (n + 2 * pad - dilation * (width - 1) - 1) / stride + 1;
}

constexpr bool plans_in_constant_expressions() {
  ein::PlanProgram g;
  const auto X = g.input<float>("X", {9});
  const auto W = g.input<float>("W", {3});
  const auto Y = let<"Y">(i) = sum(k)(X(2 * i + k - 1) * W(k));
  return g.graph()[Y.vertex()].bound[0] == 5 &&
         g.graph()[Y.vertex()].operands[0].outside == ein::OutsideValue::zero;
}
static_assert(plans_in_constant_expressions());

}  // namespace

TEST_CASE("the extent of an output label is that of a layer with equal padding on both sides") {
  for (const Extent n : {5, 8, 13, 224}) {
    for (const Extent width : {1, 2, 3, 7}) {
      for (const Extent stride : {1, 2, 4}) {
        for (const Extent pad : {0, 1, 3}) {
          for (const Extent dilation : {1, 2}) {
            if (dilation * (width - 1) + 1 > n + 2 * pad) continue;
            ein::PlanProgram g;
            const auto X = g.input<float>("X", {n});
            const auto W = g.input<float>("W", {width});
            const auto Y = let<"Y">(i) = sum(k)(X(stride * i + dilation * k - pad) * W(k));
            CAPTURE(n);
            CAPTURE(width);
            CAPTURE(stride);
            CAPTURE(pad);
            CAPTURE(dilation);
            CHECK(g.graph()[Y.vertex()].bound[0] == layer_length(n, width, stride, pad, dilation));
          }
        }
      }
    }
  }
}

TEST_CASE("extents that follow from shifts, strides, reversals and other operands") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {10, 7});
  const auto V = g.input<double>("V", {4});
  const auto bound = [&](const auto& symbol) { return g.graph()[symbol.vertex()].bound; };
  CHECK(bound(let<"A">(i, j) = 1.0 * X(3 * i, j)) == std::vector<Extent>{4, 7});
  CHECK(bound(let<"B">(i, j) = 1.0 * X(i + 2, j)) == std::vector<Extent>{8, 7});
  CHECK(bound(let<"C">(i, j) = 1.0 * X(9 - i, j)) == std::vector<Extent>{10, 7});
  CHECK(bound(let<"D">(i) = X(2 * i, 0) * V(i)) == std::vector<Extent>{4});
  CHECK(bound(let<"E">(j) = 1.0 * X(at(9), j)) == std::vector<Extent>{7});
  CHECK(bound(let<"F">(extent(i, 12), j) = 1.0 * X(zero(i), j)) == std::vector<Extent>{12, 7});
  CHECK(bound(let<"H">(i) = max(k)(X(2 * i + extent(k, 3), 0))) == std::vector<Extent>{4});
  // j is known from the second index, i then from the first.
  CHECK(bound(let<"G">(i) = sum(j)(1.0 * X(i + j, j))) == std::vector<Extent>{4});
}

TEST_CASE("the extent under a divided index is that of a convolution transposed") {
  for (const Extent n : {1, 4, 9}) {
    for (const Extent width : {1, 2, 3, 5}) {
      for (const Extent stride : {1, 2, 3}) {
        for (const Extent pad : {0, 1}) {
          ein::PlanProgram g;
          const auto Z = g.input<float>("Z", {n});
          const auto W = g.input<float>("W", {width});
          const Extent length = stride * (n - 1) + width - 2 * pad;  // PyTorch's conv_transpose1d
          if (length < 1 || pad >= width) continue;
          const auto X = let<"X">(i) = sum(r)(Z(whole(i + pad - r, stride)) * W(r));
          CAPTURE(n);
          CAPTURE(width);
          CAPTURE(stride);
          CAPTURE(pad);
          CHECK(g.graph()[X.vertex()].bound[0] == length);
        }
      }
    }
  }
}

TEST_CASE("the builder takes computed indices as data") {
  ein::PlanProgram g;
  const auto Z = g.input<float>("Z", {4, 5});
  const auto W = g.input<float>("W", {3});
  const auto X = let<"X">(i, j) = sum(r)(Z(whole(i + 1 - r, 2), periodic(j - 1)) * W(r));
  ein::Builder builder(g);
  const auto any = [&](const auto& symbol) { return ein::AnySymbol(g.graph(), symbol.vertex()); };
  using ein::IndexSpec;
  const auto B = builder.statement<ein::Mul, ein::Sum, float, float>(
      "B",
      {{any(Z),
        {},
        {IndexSpec::of({{"i", 1}, {"r", -1}}, 1, 2),
         IndexSpec::of({{"j", 1}}, -1, 1, ein::Boundary::periodic)}},
       {any(W), {"r"}}},
      ein::LabelStrings{"i", "j"});
  CHECK(ein::formula(g.graph(), B.vertex()).view() ==
        "X(i,j) = sum[r] mul(Z(whole(i - r + 1, 2),periodic(j - 1)), W(r))");
  CHECK(B.vertex() == X.vertex());
  CHECK(
      message_of([&] {
        builder.statement<ein::Mul, ein::Sum, float, float>(
            "C", {{any(Z), {}, {IndexSpec::of({}, 3), IndexSpec::of({}, 2)}}, {any(W), {"r"}}},
            ein::LabelStrings{"r"});
      })
          .find("operand Z(3,2) has no label (a computed index takes one at least); write 0 * i + "
                "3 for index 3") != std::string::npos);
  const auto V = g.input<float>("V", {9, 9, 9});
  const auto three = [](std::string_view x, std::string_view y, std::string_view z) {
    return IndexSpec::of({{x, 1, 2}, {y, 1, 2}, {z, 1, 2}});
  };
  CHECK(message_of([&] {
          builder.statement<ein::Identity, ein::Sum, float>(
              "D",
              {{any(V), {}, {three("a", "b", "c"), three("d", "e", "f"), three("g", "h", "i")}}},
              ein::LabelStrings{"a"});
        }).find("has 9 labels (the limit is 8); write a part of it") != std::string::npos);
}

TEST_CASE("strings have computed indices in parentheses") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {2, 3, 11, 13});
  const auto W = g.input<double>("W", {4, 3, 3, 5});
  const auto V = g.input<double>("V", {5, 6});
  const auto Y = let<"Y">(b, o, y, x) =
      sum(c, r, s)(X(b, c, 2 * y + r - 1, x + 2 * s - 4) * W(o, c, r, s));
  const auto T = ein::einsum<"bc(2y+r-1)(x+2s-4),ocrs->boyx">("T", X, W);
  CHECK(T.vertex() == Y.vertex());
  ein::Builder builder(g);
  const auto any = [&](const auto& symbol) { return ein::AnySymbol(g.graph(), symbol.vertex()); };
  const auto B = builder.einsum<ein::Mul, ein::Sum, double, double>(
      "B", "b c ( 2y + r - 1 ) (x - 4 + 2s), ocrs -> boyx", {any(X), any(W)});
  CHECK(B.vertex() == Y.vertex());
  const auto formula_of = [&](const auto& symbol) {
    return ein::formula(g.graph(), symbol.vertex()).str();
  };
  CHECK(formula_of(ein::einsum<"i(3)->i">("A", V)) == "A(i) = mul(V(i,3))");
  CHECK(formula_of(ein::einsum<"(4-i)j">("R", V)) == "R(i,j) = mul(V(-i + 4,j))");
  const auto M = ein::einsum<"(y+r),r->y", ein::MaxPlus>("M", ein::einsum<"ij->j">("C", V),
                                                         ein::einsum<"ij->i">("D", V));
  CHECK(formula_of(M) == "M(y) = max[r] add(C(y + r), D(r))");
  // A label in parentheses alone is one without.
  CHECK(ein::einsum<"(i)(j),ij->j">("P", V, V).vertex() ==
        ein::einsum<"ij,ij->j">("Q", V, V).vertex());
  CHECK_THROWS_WITH_AS(
      (builder.einsum<ein::Identity, ein::Sum, double>("E", "(2i+)j->j", {any(V)})),
      doctest::Contains("index \"(2i+)\" in \"(2i+)j->j\" is no sum"), ein::Error);
  CHECK_THROWS_WITH_AS(((void)ein::einsum<"(i+j)k->ijk">("F", V)),
                       doctest::Contains("label 'i' of statement F has no extent"), ein::Error);
}

TEST_CASE("several indices give a label one extent, in whatever order they stand") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {11});
  const auto Y = g.input<double>("Y", {9});
  const auto W = g.input<double>("W", {3});
  const auto extent_of = [&](const auto& statement) {
    return g.graph()[statement.vertex()].bound.front();
  };
  // What stays inside of all.
  CHECK(extent_of(let<"a">(i) = X(i + 1) - Y(i + 2)) == 7);
  CHECK(extent_of(let<"b">(i) = Y(i + 2) - X(i + 1)) == 7);
  CHECK(extent_of(let<"c">(i) = X(zero(i - 1)) - Y(i + 2)) == 7);
  CHECK(extent_of(let<"d">(i) = X(9 - i) - Y(i + 2)) == 7);
  // A label that does not move an index has no extent by it.
  CHECK(extent_of(let<"l">(i) = X(i + 1) * Y(0 * i + 3)) == 10);
  CHECK(extent_of(let<"m">(i) = Y(0 * i + 3) * X(i + 1)) == 10);
  CHECK(extent_of(let<"n">(i) = sum(j)(Y(i + j - j) * X(i + j) * W(j))) == 9);
  // What may leave, alike.
  CHECK(extent_of(let<"e">(i) = X(zero(i - 1)) - X(periodic(i - 1))) == 13);
  CHECK(extent_of(let<"f">(ein::extent(i, 11)) = X(periodic(i - 1)) - X(periodic(i + 1))) == 11);
  CHECK(
      message_of([&] { let<"g">(i) = X(periodic(i - 1)) - X(periodic(i + 1)); })
          .find("label 'i' of statement g has no extent of its own: by X(periodic(i - 1)) it would "
                "be 13 and by X(periodic(i + 1)) 10 (both may be read outside); write extent(i, "
                "n)") != std::string::npos);
  CHECK(message_of([&] {
          let<"h">() = sum(i)(square(X(clamp(i + 1)) - X(clamp(i - 1))));
        }).find("by X(clamp(i + 1)) it would be 10 and by X(clamp(i - 1)) 13") !=
        std::string::npos);
  CHECK(message_of([&] {
          let<"k">(i) = sum(j)(X(i + j) * Y(i + 2 * j) * W(j));
        }).find("label 'i' of statement k has no extent of its own") != std::string::npos);
}

TEST_CASE("statements are printed with their indices, and shared if these are the same") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {10, 7});
  const auto A = let<"A">(i, j) = 2.0 * X(9 - i, 2 * j + 1);
  const auto B = let<"B">(i, j) = 2.0 * X(9 - i, 2 * j + 1);
  const auto C = let<"C">(i, j) = 2.0 * X(8 - i, 2 * j + 1);
  CHECK(A.vertex() == B.vertex());
  CHECK(A.vertex() != C.vertex());
  CHECK(ein::formula(g.graph(), A.vertex()).view().find("X(-i + 9,2*j + 1)") !=
        std::string_view::npos);
  const auto P = let<"P">(i, j) = 2.0 * X(periodic(extent(i, 10) - 1), periodic(extent(j, 7) + 1));
  CHECK(ein::formula(g.graph(), P.vertex()).view().find("X(periodic(i - 1),periodic(j + 1))") !=
        std::string_view::npos);
}

TEST_CASE("a scan reads nothing but its own label beyond the ends") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {5, 9});
  const auto within = let<"within">(extent(j, 5), extent(i, 9)) = sum(k)(X(j, i - extent(k, 9)));
  const auto beyond = let<"beyond">(extent(j, 7), extent(i, 9)) =
      sum(k)(X(ein::range(j, 0, 7), i - extent(k, 9)));
  CHECK(g.graph()[within.vertex()].scanned >= 0);
  CHECK(g.graph()[beyond.vertex()].scanned == -1);
}

TEST_CASE("what the operators ignore is read outside, or 0 where it is named") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {8});
  const auto I = g.input<std::int32_t>("I", {8});
  const auto W = g.input<double>("W", {3});
  const auto outside = [&](const auto& symbol) {
    return g.graph()[symbol.vertex()].operands[0].outside;
  };
  using ein::OutsideValue;
  CHECK(outside(let<"A">(i) = sum(k)(X(i + k - 1) * W(k))) == OutsideValue::zero);
  CHECK(outside(let<"B">(i) = max(k)(X(i + k - 1) + W(k))) == OutsideValue::lowest);
  CHECK(outside(let<"C">(i) = min(k)(X(i + k - 1) + W(k))) == OutsideValue::highest);
  CHECK(outside(let<"D">(i) = max(k)(X(zero(i + k - 1)) * W(k))) == OutsideValue::zero);
  CHECK(outside(let<"E">(extent(i, 6)) = 1.0 * X(i + 2)) == OutsideValue::none);
}

TEST_CASE("operands that differ in their offsets alone are read together") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {16, 16});
  const auto Y = let<"Y">(i, j) = X(i, j) + X(zero(i - 1), j) + X(i, zero(j + 2)) + X(15 - i, j);
  const std::vector<ein::Operand>& read = g.graph()[Y.vertex()].operands;
  REQUIRE(read.size() == 4);
  for (std::size_t o = 0; o < 3; ++o) {
    CAPTURE(o);
    const auto first = [&](std::size_t k) {
      return read[o].indices[k].offset - read[o].indices[k].before;
    };
    const auto last = [&](std::size_t k) {
      return read[o].indices[k].offset + read[o].indices[k].after;
    };
    CHECK(first(0) == -1);
    CHECK(last(0) == 0);
    CHECK(first(1) == 0);
    CHECK(last(1) == 2);
    CHECK(read[o].outside == ein::OutsideValue::zero);
  }
  CHECK(read[3].indices[0].before == 0);
  // Far apart, what lies between is not read.
  const auto Z = let<"Z">(extent(i, 4), j) = X(zero(i), j) - X(i + 12, j);
  CHECK(g.graph()[Z.vertex()].operands[1].indices[0].before == 0);
}

TEST_CASE("errors name the index, its range, the tensor and the line") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {8, 5});
  const auto W = g.input<double>("W", {3});
  const auto I = g.input<std::int32_t>("I", {8});
  const auto before = g.graph().size();
  const auto labels_before = g.graph().labels.size();
  const std::string leaves = message_of([&] { let<"A">(i, j) = X(i + 1, j) - X(i, j); });
  CHECK(leaves.find("index i + 1 of X(i + 1,j) goes from 1 to 8, and dimension 0 of X has extent "
                    "8") != std::string::npos);
  CHECK(leaves.find("write zero(i + 1)") != std::string::npos);
  CHECK(leaves.find("computed_indices_test.cpp:") != std::string::npos);
  CHECK(message_of([&] { let<"A">(j) = exp(X(-1, j)); })
            .find("index -1 of X(-1,j) is outside of dimension 0 of X, of extent 8 (indices are "
                  "from 0 to "
                  "7); write one of these, or zero(-1) to read 0") != std::string::npos);
  // Nor where a sum of products would ignore it.
  CHECK(message_of([&] {
          let<"A">(k) = sum(j)(X(8, j) * W(k));
        }).find("index 8 of X(8,j) is outside of dimension 0 of X") != std::string::npos);
  // Sums of integers and -∞ would overflow.
  CHECK(message_of([&] {
          let<"B">(i) = max(k)(I(i + k - 1) + I(k));
        }).find("no value that both ignore") != std::string::npos);
  CHECK(message_of([&] {
          let<"D">(i) = sum(k)(X(i + k, 0));
        }).find("label 'i' of statement D has no extent") != std::string::npos);
  CHECK(message_of([&] {
          let<"E">(i) = 1.0 * X(i + 8, 0);
        }).find("index i + 8 of X(i + 8,0) has no room for label 'i' in dimension 0 of extent 8") !=
        std::string::npos);
  CHECK(message_of([&] {
          let<"F">(i, j) = max(k)(X(zero(i + k - 1), j + k - 1) + W(k));
        }).find("name one boundary") != std::string::npos);
  CHECK(message_of([&] {
          let<"G">(i) = sum(k)(X(i + extent(k, 4), 0) * W(k));
        }).find("label 'k' is 4 in") != std::string::npos);
  CHECK(message_of([&] {
          let<"G">(i) = sum(k)(W(k) * X(i + extent(k, 4), 0));
        }).find("label 'k' is given the extent 4 in index i + k, and it is 3 elsewhere") !=
        std::string::npos);
  CHECK(
      message_of([&] { let<"H">(i) = X(whole(i, 2), 0) - X(i, 0); })
          .find(
              "index whole(i, 2) of X(whole(i, 2),0) is not whole everywhere (the operators of the "
              "statement have no value that both ignore); write zero(whole(i, 2))") !=
      std::string::npos);
  CHECK(message_of([&] {
          let<"K">(i) = 1.0 * X(periodic(whole(i, 2)), 0);
        }).find("is divided and has a boundary other than zero") != std::string::npos);
  CHECK(message_of([&] {
          let<"L">(i) = 1.0 * X(whole(i, 0), 0);
        }).find("index whole(i, 0) of statement L is divided by a number that is not positive") !=
        std::string::npos);
  constexpr ein::Extent most = std::numeric_limits<ein::Extent>::max();
  CHECK(message_of([&] {
          let<"N">(ein::extent(i, 2)) = 1.0 * X(zero(i + most), 0);
        }).find("of statement N has larger numbers than indices are computed with") !=
        std::string::npos);
  CHECK(message_of([&] {
          let<"N">(ein::extent(i, 2)) = 1.0 * X(zero(4000000000 * i), 0);
        }).find("of statement N has larger numbers than indices are computed with") !=
        std::string::npos);
  CHECK(message_of([&] {
          (void)zero(ein::clamp(i + 1));
        }).find("an index is given a second boundary") != std::string::npos);
  CHECK(message_of([&] { (void)zero(zero(i + 1)); }) == message_of([] {}));
  CHECK(message_of([&] { (void)ein::range(j, 3, 9, -1); })
            .find("range(j, 3, 9, -1) does not go forwards; give a step of 1 or more, and write "
                  "3 - j to go backwards") != std::string::npos);
  CHECK(g.graph().size() == before);
  CHECK(g.graph().labels.size() == labels_before);
}

TEST_CASE("labels as values take no operand, and tell statements apart") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {6, 6});
  const auto A = let<"A">(i, j) = ein::value(i) - X(i, j);
  const auto B = let<"B">(i, j) = ein::value(j) - X(i, j);
  const auto C = let<"C">(i, j) = ein::value(i) - X(i, j);
  const auto D = let<"D">(i, j) = (2 * i - j < 3) * X(i, j);
  const auto E = let<"E">(i, j) = (2 * i - j < 4) * X(i, j);
  CHECK(A.vertex() == C.vertex());
  CHECK(A.vertex() != B.vertex());
  CHECK(D.vertex() != E.vertex());
  CHECK(g.graph()[A.vertex()].operands.size() == 1);
  CHECK(ein::formula(g.graph(), A.vertex()).view() == "A(i,j) = sub(i,X(i,j))");
  CHECK(ein::formula(g.graph(), D.vertex()).view() == "D(i,j) = mul(less(affine(i,j),3),X(i,j))");
}

TEST_CASE("the value of a label is one operand, however often it is taken") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {6, 7});
  const auto K = g.input<double>("K", {6, 7});
  // Six reads of tensors and two values.
  const auto A = let<"A">(i, j) = select(
      i == 0 || j == 0 || i == 5 || j == 6, X(i, j),
      K(i, j) * (X(zero(i + 1), j) + X(zero(i - 1), j) + X(i, zero(j + 1)) + X(i, zero(j - 1))));
  CHECK(g.graph()[A.vertex()].operands.size() == 6);
  CHECK(g.graph()[A.vertex()].values.size() == 2);
  // A chain of one operator, which would be that operator of as many operands.
  const auto B = let<"B">(i, j) = ein::value(j) * X(i, j) * ein::value(j);
  CHECK(g.graph()[B.vertex()].values.size() == 1);
  CHECK(ein::formula(g.graph(), B.vertex()).view() == "B(i,j) = mul(mul(j,X(i,j)),j)");
  const auto C = let<"C">(i, j) = 2.0 * ein::value(j) * X(i, j) * ein::value(j);
  CHECK(ein::formula(g.graph(), C.vertex()).view() == "C(i,j) = mul(mul(mul(2,j),X(i,j)),j)");
}

TEST_CASE("the builder takes labels as values") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {6, 6});
  const auto N = g.input<std::int64_t>("N", {6, 6});
  ein::Builder builder(g);
  const auto any = [&](const auto& symbol) { return ein::AnySymbol(g.graph(), symbol.vertex()); };
  using Label = std::int64_t;
  using ein::Mul;
  using ein::Sum;
  const auto A = let<"A">(i) = sum(j)(X(i, j) * ein::value(j));
  const auto B =
      builder.statement<Mul, Sum, double, Label>("B", {{any(X), {"i", "j"}}}, {{"i", 0}}, {"j"});
  CHECK(A.vertex() == B.vertex());
  // Products of integers, which are rewritten where no value is taken.
  const auto C =
      builder.statement<Mul, Sum, Label, Label>("C", {{any(N), {"i", "j"}}}, {{"i", 0}}, {"i"});
  CHECK(ein::formula(g.graph(), C.vertex()).view() == "C(i) = sum[j] mul(N(i,j), i)");
  CHECK(
      message_of([&] {
        builder.statement<Mul, Sum, double, double>("D", {{any(X), {"i", "j"}}}, {{"i", 0}}, {"j"});
      }).find("takes the value of a label as elements that are no 64-bit integers") !=
      std::string::npos);
  CHECK(
      message_of([&] {
        builder.statement<Mul, Sum, double, Label>("E", {{any(X), {"i", "j"}}}, {{"i", 0}}, {"k"});
      }).find("label 'k' has its value taken and is in no operand") != std::string::npos);
  CHECK(message_of([&] {
          builder.statement<Mul, Sum, double>("F", {{any(X), {"i", "j"}}}, {{"i", 0}}, {"j"});
        }).find("names 1 element types for 1 operands and 1 values of labels") !=
        std::string::npos);
}

TEST_CASE("statements with divided indices are computed class by class, every join once") {
  for (const Extent stride : {1, 2, 3, 4}) {
    for (const Extent dilation : {-2, 1, 2, 3}) {
      ein::PlanProgram g;
      const auto Z = g.input<float>("Z", {5, 4});
      const auto W = g.input<float>("W", {4, 3});
      const auto X = let<"X">(extent(i, 11), extent(j, 9)) =
          sum(r, s)(Z(whole(i - dilation * r + 1, 2), whole(j + s - 2, stride)) * W(r, s));
      const ein::Vertex& v = g.graph()[X.vertex()];
      REQUIRE(v.periods.size() == 4);
      CAPTURE(stride);
      CAPTURE(dilation);
      const std::vector<Extent> domain_lo{3, 1, 1, 0};  // of i, j, r and s
      const std::vector<Extent> domain_hi{10, 8, 4, 3};
      std::vector<Extent> lo;
      std::vector<Extent> hi;
      const auto of = [&](const char* name) {
        for (std::size_t l = 0; l < v.labels.size(); ++l) {
          if (g.graph().labels[static_cast<std::size_t>(v.labels[l])].name == name) return l;
        }
        return v.labels.size();
      };
      const std::size_t at[] = {of("i"), of("j"), of("r"), of("s")};
      lo.resize(4);
      hi.resize(4);
      for (std::size_t k = 0; k < 4; ++k) {
        lo[at[k]] = domain_lo[k];
        hi[at[k]] = domain_hi[k];
      }
      std::vector<int> joins(11 * 9 * 4 * 3, 0);
      std::vector<int> outputs(11 * 9, 0);
      const auto for_each = [&](const std::vector<Extent>& first, const std::vector<Extent>& end,
                                std::size_t k, const auto& visit) {
        for (Extent n = first[at[k]]; n < end[at[k]]; ++n) {
          visit(static_cast<std::size_t>(first[at[k]] + (n - first[at[k]]) * v.periods[at[k]]));
        }
      };
      ein::graph::for_each_residue_class(
          v, lo, hi, [&](const std::vector<Extent>& first, const std::vector<Extent>& end) {
            for_each(first, end, 0, [&](std::size_t I) {
              for_each(first, end, 1, [&](std::size_t J) {
                ++outputs[I * 9 + J];
                for_each(first, end, 2, [&](std::size_t R) {
                  for_each(first, end, 3,
                           [&](std::size_t S) { ++joins[((I * 9 + J) * 4 + R) * 3 + S]; });
                });
              });
            });
          });
      for (Extent I = 0; I < 11; ++I) {
        for (Extent J = 0; J < 9; ++J) {
          const bool inside = I >= 3 && I < 10 && J >= 1 && J < 8;
          CHECK(outputs[static_cast<std::size_t>(I * 9 + J)] == (inside ? 1 : 0));
          for (Extent R = 0; R < 4; ++R) {
            for (Extent S = 0; S < 3; ++S) {
              const bool counts =
                  inside && R >= 1 && (I - dilation * R + 1) % 2 == 0 && (J + S - 2) % stride == 0;
              CHECK(joins[static_cast<std::size_t>(((I * 9 + J) * 4 + R) * 3 + S)] ==
                    (counts ? 1 : 0));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("no classes where joins count whose indices are not whole") {
  ein::PlanProgram g;
  const auto Z = g.input<float>("Z", {5});
  const auto W = g.input<float>("W", {4});
  const auto periods = [&](const auto& symbol) { return g.graph()[symbol.vertex()].periods; };
  using Periods = std::vector<Extent>;
  CHECK(periods(let<"A">(extent(i, 9)) = sum(r)(Z(whole(i - 2 * r, 6)) * W(r))) == Periods{6, 3});
  CHECK(periods(let<"B">(extent(i, 9)) = max(r)(Z(whole(i - r, 2)) + W(r))) == Periods{2, 2});
  CHECK(periods(let<"C">(extent(i, 9)) = max(r)(Z(zero(whole(i - r, 2))) + W(r))).empty());
  CHECK(periods(let<"D">(extent(i, 9)) = 1.0F * Z(zero(whole(i, 2)))).empty());
  CHECK(periods(let<"E">(i) = sum(r)(Z(i) * W(r))).empty());
  // Of three labels an element has joins of several classes.
  CHECK(periods(let<"F">(extent(i, 9)) = sum(r, s)(Z(whole(i - r - extent(s, 3), 2)) * W(r)))
            .empty());
  CHECK(periods(let<"G">(extent(i, 9)) = sum(r)(Z(whole(i - r, 1000)) * W(r))).empty());
}
