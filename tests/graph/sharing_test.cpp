// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements that compute the same share a vertex, and each stays a result to who wrote it.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <complex>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/graph/builder.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/macros.hpp"
#include "eindecomp/graph/print.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::let;
using Matrix = ein::Symbol<double, 2, ein::NoBackend>;

namespace {

bool is_result(const ein::EinGraph& graph, ein::VertexId v) {
  const std::vector<ein::VertexId> results = graph.results();
  return std::find(results.begin(), results.end(), v) != results.end();
}

}  // namespace

TEST_CASE("what the user named is a result though a macro computes and reads the same") {
  for (const bool before : {true, false}) {
    CAPTURE(before);
    ein::PlanProgram g;
    const Matrix X = g.input<double>("X", {4, 5});
    if (!before) let<"S">(i, j) = ein::softmax(j)(X(i, j));
    const auto M = let<"M">(i) = max(j)(X(i, j));
    const Matrix E = let<"E">(i, j) = exp(X(i, j) - M(i));
    if (before) let<"S">(i, j) = ein::softmax(j)(X(i, j));
    CHECK(g.graph().size() == 5);
    CHECK(is_result(g.graph(), E.vertex()));
    CHECK_FALSE(is_result(g.graph(), M.vertex()));
    CHECK(g.graph().find("E") == E.vertex());
    CHECK(g.graph().find("softmax.exp") == E.vertex());
    const std::string text = ein::to_text(g.graph()).str();
    CHECK(text.find("double, i=4 j=5, kept") != std::string::npos);
    // Read by the user it is none, as any tensor.
    let<"F">(i) = sum(j)(E(i, j) * X(i, j));
    CHECK_FALSE(is_result(g.graph(), E.vertex()));
  }
}

TEST_CASE("a layer that is written twice and read twice leaves no more results than once") {
  ein::PlanProgram g;
  const Matrix X = g.input<double>("X", {4, 5});
  for (int time = 0; time < 2; ++time) {
    const Matrix H = let<"H">(i, k) = sum(j)(X(i, j) * X(k, j));
    const Matrix R = let<"R">(i, k) = relu(H(i, k));
    let<"L">() = sum(i, k)(R(i, k) * R(i, k) * H(i, k));
  }
  CHECK(g.graph().results().size() == 1);
}

TEST_CASE("a name that is free goes to the statement that shares, a taken one to none") {
  ein::PlanProgram g;
  const Matrix X = g.input<double>("X", {4, 5});
  const auto A = let<"A">(i) = sum(j)(X(i, j));
  const auto B = let<"B">(i) = sum(j)(X(i, j));
  CHECK(A.vertex() == B.vertex());
  CHECK(g.graph().find("B") == A.vertex());
  CHECK(B.name() == "A");
  const auto C = let<"B">(i) = max(j)(X(i, j));
  CHECK(C.name() == "B#2");
  CHECK_THROWS_AS((void)g.input<double>("B", {3}), ein::Error);
  let<"A">(i) = max(j)(X(i, j));
  CHECK(g.graph().find("A") == A.vertex());
  CHECK(g.graph().find("A#2") == -1);
}

// A model beside the graph: which of the statements were read.
TEST_CASE("of random statements, refused ones among them, those not read are the results") {
  std::mt19937 random(7);
  const auto draw = [&random](std::size_t n) { return random() % n; };
  for (int program = 0; program < 60; ++program) {
    ein::PlanProgram g;
    struct Written {
      Matrix symbol;
      bool read;
    };
    std::vector<Written> written;
    const Matrix X = g.input<double>("X", {4, 4});
    const Matrix Odd = g.input<double>("Odd", {3, 4});
    const auto pick = [&]() -> std::size_t { return draw(written.size() + 1); };
    const auto symbol = [&](std::size_t n) { return n == 0 ? X : written[n - 1].symbol; };
    const auto mark = [&](std::size_t n) {
      if (n > 0) written[n - 1].read = true;
    };
    for (int s = 0; s < 25; ++s) {
      const std::size_t a = pick();
      const std::size_t b = pick();
      const Matrix A = symbol(a);
      const Matrix B = symbol(b);
      switch (draw(5)) {
        case 0:
          written.push_back({let<"S">(i, k) = sum(j)(A(i, j) * B(j, k)), false});
          break;
        case 1:
          written.push_back({let<"T">(i, j) = A(i, j) + max(k)(B(i, k) - A(k, k)), false});
          break;
        case 2:
          written.push_back({let<"U">(i, k) = sum(j)(A(i, j) * B(k, k) * A(j, k)), false});
          break;
        case 3:
          written.push_back({let<"V">(i, j) = ein::softmax(j)(A(i, j)), false});
          mark(a);
          continue;
        default:
          // Inner statements are written before the extents are found to disagree.
          CHECK_THROWS_AS(let<"W">(i, j) = Odd(i, j) + max(k)(A(i, k)) * exp(sum(k)(B(k, j))),
                          ein::Error);
          continue;
      }
      mark(a);
      mark(b);
    }
    const ein::EinGraph& graph = g.graph();
    for (const Written& one : written) {
      bool unread = false;
      for (const Written& other : written) {
        unread = unread || (other.symbol.vertex() == one.symbol.vertex() && !other.read);
      }
      CHECK(is_result(graph, one.symbol.vertex()) == unread);
    }
    // Of what rewrites and macros wrote, all is read.
    std::vector<ein::VertexId> named;
    for (const Written& one : written) named.push_back(one.symbol.vertex());
    for (ein::VertexId v : graph.results()) {
      CHECK(std::find(named.begin(), named.end(), v) != named.end());
    }
  }
}

TEST_CASE("statements with a scalar are the same if the scalar is, a complex one in both parts") {
  using Complex = std::complex<double>;
  ein::PlanProgram g;
  const auto X = g.input<Complex>("X", {4, 4});
  const auto of = [&](Complex a) {
    const auto Y = let<"Y">(i, k) = sum(j)(a * X(i, j) * X(j, k));
    const auto Z = let<"Z">(i, j) = X(i, j) + a;
    return std::pair(Y.vertex(), Z.vertex());
  };
  const auto [product, sum] = of({1, 2});
  CHECK(of({1, 2}) == std::pair(product, sum));
  CHECK(of({1, 3}).first != product);
  CHECK(of({1, 4}).second != sum);
  CHECK(of({2, 2}).first != product);
  const std::vector<std::uint64_t> parts{std::bit_cast<std::uint64_t>(1.0),
                                         std::bit_cast<std::uint64_t>(2.0)};
  CHECK(g.graph()[product].op.state == parts);
  CHECK(g.graph()[sum].op.state == parts);
}

TEST_CASE("windows of several widths are several statements") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {9});
  const auto three = let<"T">(ein::extent(i, 9)) = sum(k)(X(ein::zero(i + ein::extent(k, 3))));
  const auto five = let<"F">(ein::extent(i, 9)) = sum(k)(X(ein::zero(i + ein::extent(k, 5))));
  const auto again = let<"A">(ein::extent(i, 9)) = sum(k)(X(ein::zero(i + ein::extent(k, 3))));
  CHECK(three.vertex() != five.vertex());
  CHECK(three.vertex() == again.vertex());
  CHECK(g.graph()[five.vertex()].extents.back() == 5);
}

TEST_CASE("labels as data share likewise") {
  ein::PlanProgram g;
  ein::Builder<ein::NoBackend> builder(g);
  const ein::AnySymbol X = builder.input<double>("X", {4, 5});
  const auto row_sums = [&](const char* name) {
    return builder.einsum<ein::Identity, ein::Sum, double>(name, "ij->i", {X});
  };
  const ein::AnySymbol A = row_sums("A");
  const ein::AnySymbol B = row_sums("B");
  REQUIRE(A.vertex() == B.vertex());
  builder.einsum<ein::Identity, ein::Sum, double>("C", "i->", {A});
  CHECK(is_result(g.graph(), B.vertex()));
  builder.einsum<ein::Identity, ein::Max, double>("D", "i->", {B});
  CHECK_FALSE(is_result(g.graph(), B.vertex()));
}

TEST_CASE("signs and factors of a contraction are its own, and its terms lie as the sum does") {
  ein::PlanProgram g;
  const auto A = g.input<double>("A", {4, 5});
  const auto B = g.input<double>("B", {5, 6});
  const auto C = g.input<double>("C", {4, 6});
  const auto n = g.input<int>("n", {4, 5});
  const auto op = [&](const auto& symbol) -> const ein::Vertex& {
    return g.graph()[symbol.vertex()];
  };
  const auto of = [&](const char* name) -> const ein::Vertex& {
    REQUIRE(g.graph().find(name) >= 0);
    return g.graph()[g.graph().find(name)];
  };
  const auto Z = let<"Z">(k, i) =
      C(i, k) - 0.5 * sum(j)(A(i, j) * B(j, k)) - 2.0 * (sum(j)(B(j, k) * A(i, j)) - C(i, k));
  CHECK_FALSE(op(Z).op.adds);  // what is subtracted is a tensor, of which nothing is known
  const auto Y = let<"Y">(k, i) =
      1.0 * sum(j)(A(i, j) * B(j, k)) - 2.0 * (sum(j)(B(j, k) * A(i, j)) - C(i, k) * 1);
  CHECK_FALSE(op(Y).op.adds);
  const auto X = let<"X">(k, i) = C(i, k) - 0.5 * sum(j)(A(i, j) * B(j, k)) -
                                  2.0 * (sum(j)(B(j, k) * A(i, j)) - sum(j)(A(i, j) * B(j, k)));
  CHECK(op(X).op.adds);
  CHECK(op(X).op.join == "add");
  CHECK(op(X).operands.size() == 4);
  for (const char* term : {"X.1", "X.2", "X.3"}) {
    CAPTURE(term);
    CHECK(of(term).op.sums);
    CHECK(of(term).op.join == "scaled_mul");
    CHECK(of(term).bound == std::vector<ein::Extent>{6, 4});
    CHECK(op(X).operands.back().labels == op(X).output);
  }
  // One contraction with a factor is one statement, in any order of labels.
  const int before = g.graph().size();
  const auto W = let<"W">(k, i) = -0.5 * sum(j)(A(i, j) * B(j, k));
  CHECK(g.graph().size() == before);  // it is X.1
  CHECK(W.vertex() == g.graph().find("X.1"));
  // Factors of other types are converted by themselves where they lack a label of the product.
  const auto F = g.input<float>("F", {4, 5});
  const auto f = g.input<float>("f", {5});
  const auto says = [&](const auto& symbol) { return ein::formula(g.graph(), symbol.vertex()); };
  CHECK(says(let<"FB">(i, k) = sum(j)(F(i, j) * B(j, k))) ==
        "FB(i,k) = sum[j] mul(FB.1(i,j), B(j,k))");
  CHECK(says(let<"Af">(i) = sum(j)(A(i, j) * f(j))) == "Af(i) = sum[j] mul(A(i,j), Af.1(j))");
  const auto b = g.input<double>("b", {5});
  CHECK(says(let<"Fb">(i) = sum(j)(F(i, j) * b(j))) == "Fb(i) = sum[j] mul(F(i,j), b(j))");
  CHECK(op(let<"N">(i, k) = sum(j)(ein::as_written(F(i, j) * B(j, k)))).operands.size() == 2);
  CHECK(g.graph().find("N.1") < 0);
  // Elements of other types are converted after they are summed, and what is as written stays.
  CHECK_FALSE(op(let<"V">(i) = 0.5 * sum(j)(n(i, j) * n(i, j))).op.sums);
  const auto U = let<"U">(i, k) = C(i, k) - sum(j)(ein::as_written(A(i, j) * B(j, k)));
  CHECK(op(U).op.join == "sub");
}
