// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions of more operands than a kernel has: which parts of them become statements, and that
// what is refused of them is said of the statement as it was written.

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/print.hpp"
#include "support/messages.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::extent;
using ein::let;
using ein::zero;
using eindecomp_tests::message_of;

namespace {

/// V(i - First) + V(i - First - 1) + …, Count of them.
template <int Count, class V>
constexpr auto neighbours(const V& v, int first) {
  if constexpr (Count == 1) {
    return v(zero(i - first));
  } else {
    return neighbours<Count - 1>(v, first) + v(zero(i - first - (Count - 1)));
  }
}

constexpr bool splits_in_constant_expressions() {
  ein::PlanProgram g;
  const auto V = g.input<double>("V", {30});
  const auto W = let<"W">(extent(i, 30)) = neighbours<9>(V, -4);
  return g.graph().size() == 3 && g.graph()[W.vertex()].operands.size() == 2;
}
static_assert(splits_in_constant_expressions());

std::string formula(const ein::PlanProgram& g, std::string_view name) {
  return ein::formula(g.graph(), g.graph().find(name)).str();
}

}  // namespace

TEST_CASE("a stencil with a coefficient is a part with most of its operands, and the rest") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {6, 7, 8});
  const auto K = g.input<double>("K", {6, 7, 8});
  const auto Z = let<"Z">(i, j, k) =
      X(i, j, k) + K(i, j, k) * (X(zero(i + 1), j, k) + X(zero(i - 1), j, k) +
                                 X(i, zero(j + 1), k) + X(i, zero(j - 1), k) +
                                 X(i, j, zero(k + 1)) + X(i, j, zero(k - 1)) - 6 * X(i, j, k));
  CHECK(g.graph().size() == 4);
  CHECK(formula(g, "Z") == "Z(i,j,k) = add(X(i,j,k), Z.1(i,j,k))");
  CHECK(g.graph()[g.graph().find("Z.1")].operands.size() == 8);
  CHECK(g.graph().results() == std::vector<ein::VertexId>{Z.vertex()});
  // The same again computes nothing anew.
  const auto Y = let<"Y">(i, j, k) =
      X(i, j, k) + K(i, j, k) * (X(zero(i + 1), j, k) + X(zero(i - 1), j, k) +
                                 X(i, zero(j + 1), k) + X(i, zero(j - 1), k) +
                                 X(i, j, zero(k + 1)) + X(i, j, zero(k - 1)) - 6 * X(i, j, k));
  CHECK(g.graph().size() == 4);
  CHECK(Y.vertex() == Z.vertex());
}

TEST_CASE("a long sum has as few parts as can be, and is added in the order it is written in") {
  ein::PlanProgram g;
  const auto V = g.input<double>("V", {40});
  const auto sums = [&](const auto& sum, ein::Extent parts) {
    const int before = g.graph().size();
    (void)(let("W")(extent(i, 40)) = sum);
    CHECK(g.graph().size() == before + 1 + parts);
    const ein::Vertex& last = g.graph()[g.graph().size() - 1];
    if (parts > 0) CHECK(last.operands[0].vertex == g.graph().size() - 2);
    CHECK(last.bound == std::vector<ein::Extent>{40});
  };
  sums(neighbours<8>(V, 1), 0);
  sums(neighbours<9>(V, 2), 1);
  sums(neighbours<15>(V, 3), 1);
  sums(neighbours<16>(V, 4), 2);
  sums(neighbours<22>(V, -5), 2);
  sums(neighbours<23>(V, -6), 3);
}

TEST_CASE("values of labels count, and go where they are taken") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {6, 6});
  const auto Y = g.input<double>("Y", {6, 6});
  (void)(let<"S">(i, j) = select(i < j, X(i, j) + X(j, i) * Y(i, j) + Y(j, i),
                                 X(i, j) - X(j, i) * Y(i, j) - ein::value(i) * Y(j, i)));
  CHECK(formula(g, "S.1") ==
        "S.1(i,j) = "
        "sub(sub(X(i,j),mul(X(j,i),Y(i,j))),mul(i,Y(j,i)))");
  CHECK(formula(g, "S") ==
        "S(i,j) = select(less(i,j),add(add(X(i,j),mul(X(j,i),Y(i,j))),Y(j,i)),S.1(i,j))");
}

TEST_CASE("of what is aggregated, parts are no larger than a tensor that is read") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {6, 7});
  const auto Y = g.input<double>("Y", {6, 7});
  const auto V = g.input<double>("V", {7});
  (void)(let<"M">(i) = max(j)(X(i, j) * Y(i, j) - X(i, j) * V(j) + abs_diff(X(i, j), Y(i, j)) +
                              Y(i, j) * V(j) - X(i, j) / Y(i, j)));
  CHECK(formula(g, "M") == "M(i) = max[j] sub(M.1(i,j),div(X(i,j),Y(i,j)))");
  // A product by rows and columns, the whole of which is larger than both.
  const auto W = g.input<double>("W", {7, 5});
  (void)(let<"N">(i, k) =
             max(j)(min(X(i, j) + Y(i, j) + X(i, j) * Y(i, j) + X(i, j) * X(i, j), W(j, k) * V(j)) -
                    W(j, k)));
  CHECK(formula(g, "N") == "N(i,k) = max[j] sub(min(N.1(i,j),mul(W(j,k),V(j))),W(j,k))");
}

TEST_CASE("what is wrong is said of the statement as it was written, and leaves nothing") {
  ein::PlanProgram g;
  const auto V = g.input<double>("V", {30});
  const auto U = g.input<double>("U", {29});
  const int before = g.graph().size();
  const std::string unnamed =
      message_of([&] { (void)(let<"W">(extent(i, 30)) = neighbours<8>(V, 0) + V(i + 1)); });
  CHECK(unnamed.find("index i + 1 of V(i + 1) goes from 1 to 30") != std::string::npos);
  CHECK(unnamed.find("split_operands_test.cpp") != std::string::npos);
  const std::string extents =
      message_of([&] { (void)(let<"W">(i) = neighbours<8>(V, 1) + V(i) * U(i)); });
  CHECK(extents.find("label 'i' is 30 in V(i) and 29 in U(i)") != std::string::npos);
  CHECK(g.graph().size() == before);
}
