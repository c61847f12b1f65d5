// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What statements become, to the letter; what is refused at run time, in words; graphs as values
// and in constant expressions.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/graph/builder.hpp"
#include "eindecomp/graph/einsum.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/macros.hpp"
#include "eindecomp/graph/print.hpp"
#include "eindecomp/graph/statistics.hpp"
#include "support/messages.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::extent;
using ein::Extent;
using ein::let;
using Builder = ein::Builder<ein::NoBackend>;

namespace {

constexpr ein::LoweringOptions as_written{false, false, false};

std::string text(const ein::PlanProgram& program) { return ein::to_text(program.graph()).str(); }

/// The sentence of an Error, without the place.
const auto message = [](const auto& work) { return eindecomp_tests::message_here(work); };

}  // namespace

TEST_CASE("a graph as text") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {512, 1024});
  const auto W = g.input<float>("W", {1024, 256});
  const auto H = let<"H">(i, k) = sum(j)(X(i, j) * W(j, k));
  const auto R = let<"R">(i, k) = max(H(i, k), 0.5);
  g.keep(H);
  let<"N">(i) = ein::argmin(k)(R(i, k));
  let<"B">(k, extent(l, 3)) = ein::any(i)(R(i, k) == 1.0);
  CHECK(text(g) ==
        "X(512,1024) : double, input\n"
        "W(1024,256) : float, input\n"
        "H.1(j,k) = to_double(W(j,k)) : double, j=1024 k=256\n"
        "H(i,k) = sum[j] mul(X(i,j), H.1(j,k)) : double, i=512 j=1024 k=256, kept\n"
        "R(i,k) = max(H(i,k),0.5) : double, i=512 k=256\n"
        "N(i) = argmin[k] R(i,k) : int64, i=512 k=256\n"
        "B(k,l) = or[i] equal(R(i,k),1) : int32, i=512 k=256 l=3\n");
}

TEST_CASE("the same program prints the same, and so does its copy") {
  const auto build = [] {
    ein::PlanProgram g;
    const auto X = g.input<double>("X", {4, 5});
    let<"S">(i, k) = ein::softmax(k)(X(i, k));
    return g;
  };
  const ein::PlanProgram a = build();
  const ein::PlanProgram b = build();
  const ein::PlanProgram copy = a;
  CHECK(text(a) == text(b));
  CHECK(text(a) == text(copy));
  CHECK(text(a) ==
        "X(4,5) : double, input\n"
        "softmax.max(i) = max[k] X(i,k) : double, i=4 k=5\n"
        "softmax.exp(i,k) = exp(sub(X(i,k),softmax.max(i))) : double, i=4 k=5\n"
        "softmax.sum(i) = sum[k] softmax.exp(i,k) : double, i=4 k=5\n"
        "S(i,k) = div(softmax.exp(i,k), softmax.sum(i)) : double, i=4 k=5\n");
  // A copy is the same graph to symbols; another build is not.
  CHECK(a.graph().same_tensors(copy.graph()));
  CHECK_FALSE(a.graph().same_tensors(b.graph()));
}

TEST_CASE("a copy is written independently") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {4, 5});
  const ein::PlanProgram before = g;
  let<"H">(i) = sum(j)(X(i, j));
  CHECK(before.graph().size() == 1);
  CHECK(g.graph().size() == 2);
  ein::PlanProgram moved = std::move(g);
  CHECK(moved.graph().size() == 2);
  // Symbols point to the program's state, which moved along.
  let<"G">(j) = sum(i)(X(i, j));
  CHECK(moved.graph().size() == 3);
}

// --- three ways to write one graph
// ----------------------------------------------------------------

TEST_CASE("let, a string and labels as data make the same graph") {
  ein::PlanProgram by_let;
  {
    const auto X = by_let.input<double>("X", {4, 5});
    const auto W = by_let.input<double>("W", {5, 6});
    const auto V = by_let.input<double>("V", {6});
    const auto H = let<"H">(i, k) = sum(j)(X(i, j) * W(j, k));
    let<"D">(i) = min(k)(H(i, k) + V(k));
  }
  ein::PlanProgram by_string;
  {
    const auto X = by_string.input<double>("X", {4, 5});
    const auto W = by_string.input<double>("W", {5, 6});
    const auto V = by_string.input<double>("V", {6});
    const auto H = ein::einsum<"ij,jk">("H", X, W);
    (void)ein::einsum<"ik,k->i", ein::MinPlus>("D", H, V);
  }
  ein::PlanProgram by_data;
  {
    Builder builder(by_data);
    const auto X = builder.input<double>("X", {4, 5});
    const auto W = builder.input<double>("W", {5, 6});
    const auto V = builder.input<double>("V", {6});
    const auto H = builder.einsum<ein::Mul, ein::Sum, double, double>("H", "ij,jk->ik", {X, W});
    builder.statement<ein::Add, ein::Min, double, double>(
        "D", {{H, ein::letters("ik")}, {V, ein::letters("k")}}, ein::letters("i"));
  }
  CHECK(text(by_let) == text(by_string));
  CHECK(text(by_let) == text(by_data));
  for (ein::VertexId v = 3; v < 5; ++v) {
    CHECK(by_let.graph()[v].op.same_function(by_string.graph()[v].op));
    CHECK(by_let.graph()[v].op.same_function(by_data.graph()[v].op));
    CHECK(by_let.graph()[v].op.distributive);
  }
}

TEST_CASE("a nested expression is its statements written one by one") {
  ein::PlanProgram nested;
  {
    const auto X = nested.input<double>("X", {4, 5});
    let<"Z">(i, j) = (X(i, j) - max(j)(X(i, j))) / sum(i)(X(i, j));
  }
  ein::PlanProgram one_by_one;
  {
    const auto X = one_by_one.input<double>("X", {4, 5});
    const auto M = let<"Z.1">(i) = max(j)(X(i, j));
    const auto S = let<"Z.2">(j) = sum(i)(X(i, j));
    let<"Z">(i, j) = (X(i, j) - M(i)) / S(j);
  }
  CHECK(text(nested) == text(one_by_one));
}

TEST_CASE("min and max of two operands are joins, also of one type and beside those of std") {
  using std::max;
  using std::min;
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {4, 4});
  const auto Y = g.input<double>("Y", {4, 4});
  let<"A">(i, j) = min(X(i, j), Y(i, j));
  let<"B">(i, j) = max(X(i, j) + Y(i, j), X(i, j) + Y(i, j));
  CHECK(text(g).find("A(i,j) = min(X(i,j), Y(i,j))") != std::string::npos);
  CHECK(text(g).find("B(i,j) = max(add(X(i,j),Y(i,j)),add(X(i,j),Y(i,j)))") != std::string::npos);
}

TEST_CASE("names: made up, numbered when taken, known at run time") {
  ein::PlanProgram g(as_written);
  auto X = g.input<double>("X", {4, 4});
  for (int layer = 0; layer < 3; ++layer) X = let<"X">(i, k) = sum(j)(X(i, j) * X(j, k));
  (void)ein::einsum<"ij->ji">(X);
  const std::string suffix = "_7";
  let("Q" + suffix)(i) = sum(j)(X(i, j));
  std::vector<std::string> names;
  for (const ein::Vertex& v : g.graph().vertices) names.push_back(v.name.str());
  CHECK(names == std::vector<std::string>{"X", "X#2", "X#3", "X#4", "t4", "Q_7"});
}

TEST_CASE("names are found and numbered as by a search of all of them") {
  std::mt19937 random(9);
  ein::PlanProgram g(as_written);
  auto X = g.input<double>("X", {3, 3});
  const ein::EinGraph& graph = g.graph();
  const auto is_taken = [&graph](const std::string& name) {
    return std::any_of(graph.vertices.begin(), graph.vertices.end(),
                       [&name](const ein::Vertex& v) { return v.name.str() == name; });
  };
  const auto unused = [&](const std::string& wanted) {
    if (!is_taken(wanted)) return wanted;
    int n = 2;
    while (is_taken(wanted + "#" + std::to_string(n))) ++n;
    return wanted + "#" + std::to_string(n);
  };
  const std::vector<std::string> wanted{"H", "X", "R", "H#2", "R#4", "H#2#2", "S"};
  for (int s = 0; s < 400; ++s) {
    CAPTURE(s);
    const std::string& name = wanted[random() % wanted.size()];
    const std::string expected = unused(name);
    if (random() % 4 == 0) {
      // Two statements of their own are written, then refused and taken back.
      const auto Y = g.input<double>("Y" + std::to_string(s), {3, 4});
      const int before = graph.size();
      CHECK_THROWS_AS(let(name)(i, k) = sum(j)(max(k)(X(i, j) + Y(j, k)) * Y(k, i)), ein::Error);
      CHECK(graph.size() == before);
      CHECK(graph.find(expected) == -1);
    }
    X = let(name)(i, k) = sum(j)(X(i, j) * X(j, k));
    CHECK(X.name().str() == expected);
  }
  for (int v = 0; v < graph.size(); ++v) CHECK(graph.find(graph[v].name) == v);
  CHECK(graph.find("T") == -1);
}

// --- rewrites
// --------------------------------------------------------------------------------------

TEST_CASE("equal statements are one vertex, unless that is switched off") {
  const auto count = [](ein::LoweringOptions options) {
    ein::PlanProgram g(options);
    const auto X = g.input<double>("X", {4, 5});
    const auto A = let<"A">(i) = sum(j)(2.0 * X(i, j));
    const auto B = let<"B">(i) = sum(j)(2.0 * X(i, j));
    CHECK((A.vertex() == B.vertex()) == options.share_subexpressions);
    const auto C = let<"C">(i, j) = ein::cast<float>(X(i, j));
    const auto D = let<"D">(i, j) = ein::cast<float>(X(i, j));
    CHECK((C.vertex() == D.vertex()) == options.share_subexpressions);
    return g.graph().size();
  };
  CHECK(count({}) == 3);
  CHECK(count(as_written) == 5);
}

TEST_CASE("what only looks equal is not shared") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {4, 4});
  const auto Y = g.input<double>("Y", {4, 4});
  int captured = 3;
  const auto add = [captured](double value) { return value + captured; };
  const std::vector<ein::VertexId> different{
      (let<"A">(i) = sum(j)(2.0 * X(i, j))).vertex(),
      (let<"B">(i) = sum(j)(2.5 * X(i, j))).vertex(),      // another scalar
      (let<"C">(j) = sum(i)(2.0 * X(i, j))).vertex(),      // another label
      (let<"D">(i) = sum(j)(2.0 * Y(i, j))).vertex(),      // another tensor
      (let<"E">(i) = max(j)(2.0 * X(i, j))).vertex(),      // another aggregation
      (let<"F">(i) = sum(j)(X(i, j) * X(i, j))).vertex(),  // another join
      (let<"G">(i, j) = 2.0 * X(i, j)).vertex(),           // no aggregation
      (let<"H">(j, i) = 2.0 * X(i, j)).vertex(),           // another order of dimensions
      (let<"I">(i, extent(k, 2)) = sum(j)(2.0 * X(i, j))).vertex(),
      (let<"J">(i, extent(k, 3)) = sum(j)(2.0 * X(i, j))).vertex(),
      (let<"K">(i, j) = ein::map(add, X(i, j))).vertex(),  // a state that cannot be compared
      (let<"L">(i, j) = ein::map(add, X(i, j))).vertex(),
  };
  for (std::size_t a = 0; a < different.size(); ++a) {
    CHECK(different[a] == static_cast<ein::VertexId>(a) + 2);
  }
}

TEST_CASE("aggregations inside expressions are shared across statements") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {4, 5});
  let<"A">(i, j) = X(i, j) - max(j)(X(i, j));
  let<"B">(i, j) = X(i, j) / max(j)(X(i, j));
  CHECK(g.graph().size() == 4);
}

TEST_CASE("a private label is aggregated first where that is the same, and only there") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {4, 5});
  const auto Y = g.input<double>("Y", {4, 3});
  let<"P">(i, k) = sum(j)(X(i, j) * Y(i, k));
  let<"A">(i, k) = sum(j)(ein::abs_diff(X(i, j), Y(i, k)));
  let<"M">(i, k) = min(j)(X(i, j) + Y(i, k));
  let<"S">(i, k) = sum(j)(X(i, j) + Y(i, k));
  CHECK(text(g) ==
        "X(4,5) : double, input\n"
        "Y(4,3) : double, input\n"
        "P.private0(i) = sum[j] X(i,j) : double, i=4 j=5\n"
        "P(i,k) = mul(P.private0(i), Y(i,k)) : double, i=4 k=3\n"
        "A(i,k) = sum[j] abs_diff(X(i,j), Y(i,k)) : double, i=4 j=5 k=3\n"
        "M.private0(i) = min[j] X(i,j) : double, i=4 j=5\n"
        "M(i,k) = add(M.private0(i), Y(i,k)) : double, i=4 k=3\n"
        "S(i,k) = sum[j] add(X(i,j), Y(i,k)) : double, i=4 j=5 k=3\n");
}

TEST_CASE("a product of three is joined in the cheaper order") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {100, 2});
  const auto Y = g.input<double>("Y", {2, 100});
  const auto Z = g.input<double>("Z", {100, 3});
  let<"H">(i, l) = sum(j, k)(X(i, j) * Y(j, k) * Z(k, l));
  CHECK(text(g) ==
        "X(100,2) : double, input\n"
        "Y(2,100) : double, input\n"
        "Z(100,3) : double, input\n"
        "H.join0(j,l) = sum[k] mul(Y(j,k), Z(k,l)) : double, j=2 k=100 l=3\n"
        "H(i,l) = sum[j] mul(X(i,j), H.join0(j,l)) : double, i=100 j=2 l=3\n");
}

TEST_CASE("three operands stay as written where order matters or is switched off") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {4});
  const auto N = g.input<std::int32_t>("N", {4});
  let<"S">() = sum(i)(X(i) - X(i) - X(i));
  let<"M">() = sum(i)(N(i) * X(i) * X(i));  // promoting early would change an integer product
  let<"T">() = max(i)(X(i) * X(i) * X(i));
  CHECK(g.graph().size() == 5);
  ein::PlanProgram h(as_written);
  const auto Y = h.input<double>("Y", {4, 4});
  let<"H">(i, l) = sum(j, k)(Y(i, j) * Y(j, k) * Y(k, l));
  CHECK(h.graph().size() == 2);
}

// --- refusals at run time ----------------------------------------------------------------------

TEST_CASE("extents that disagree") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {4, 512});
  const auto W = g.input<double>("W", {500, 6});
  const std::string before = text(g);
  CHECK(message([&] { let<"H">(i, k) = sum(j)(X(i, j) * W(j, k)); }) ==
        "EinDecomp: label 'j' is 512 in X(i,j) and 500 in W(j,k) (a label has one extent in a "
        "statement; size 1 is not stretched)");
  CHECK(message([&] { (void)ein::einsum<"ij,jk->ik">("H", X, W); }) ==
        "EinDecomp: label 'j' is 512 in X(i,j) and 500 in W(j,k) (a label has one extent in a "
        "statement; size 1 is not stretched)");
  CHECK(message([&] {
          (void)ein::einsum<"ij,jk->ik">(X, W);
        }).starts_with("EinDecomp: label 'j' is 512"));
  CHECK(message([&] { let<"D">(i) = X(i, i); }) ==
        "EinDecomp: label 'i' is 4 in X(i,i) and 512 in X(i,i) (a label has one extent in a "
        "statement; size 1 is not stretched)");
  // Inside, after statements of its own were written: all of them are taken back.
  CHECK(message([&] {
          let<"H">(i, k) = sum(j)(max(k)(X(i, j) + W(k, i)) * W(j, k));
        }).starts_with("EinDecomp: label 'i' is 4 in X(i,j) and 6 in W(k,i)"));
  CHECK(message([&] {
          let<"H">(i, k) = sum(j)(X(i, j)) * W(k, i);
        }).starts_with("EinDecomp: label 'i' is 4 in H.1(i) and 6 in W(k,i)"));
  CHECK(message([&] {
          let<"H">(i, k) = sum(j, l)(X(i, j) * X(i, l) * X(j, k));
        }).starts_with("EinDecomp: label 'j' is 512"));
  CHECK(text(g) == before);
  CHECK(g.graph().labels.empty());
  CHECK(g.launchers().size() == 2);
  // And the program is still of use.
  let<"H">(i) = sum(j)(X(i, j));
  CHECK(g.graph().size() == 3);
}

TEST_CASE("size 1 is not stretched") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {4, 1});
  const auto W = g.input<double>("W", {4, 6});
  CHECK(message([&] {
          let<"H">(i, j) = X(i, j) + W(i, j);
        }).starts_with("EinDecomp: label 'j' is 1 in X(i,j) and 6 in W(i,j)"));
}

TEST_CASE("zero and negative extents") {
  ein::PlanProgram g;
  CHECK(message([&] {
          g.input<double>("X", {4, 0});
        }) == "EinDecomp: dimension 1 of tensor X has extent 0 (extents are positive)");
  CHECK(message([&] { g.input<double>("X", {-3}); }) ==
        "EinDecomp: dimension 0 of tensor X has extent -3 (extents are positive)");
  const auto X = g.input<double>("X", {4});
  CHECK(message([&] { let<"H">(i, extent(k, 0)) = X(i); }) ==
        "EinDecomp: label 'k' of the output of H has extent 0 (extents are positive)");
  CHECK(message([&] { let<"H">(i, extent(k, -2)) = X(i); }) ==
        "EinDecomp: label 'k' of the output of H has extent -2 (extents are positive)");
  CHECK(message([&] { let<"H">(extent(i, 5)) = X(i); }) ==
        "EinDecomp: label 'i' is 4 in the operands and 5 in the output of H");
  CHECK(g.graph().size() == 1);
}

TEST_CASE("more elements than can be counted") {
  ein::PlanProgram g;
  const Extent half = Extent{1} << 32;
  CHECK(message([&] {
          g.input<double>("X", {half, half});
        }) ==
        "EinDecomp: tensor X of 4294967296 x 4294967296 has more elements than are counted (up to "
        "2^57, so that their bytes can be)");
  const auto X = g.input<double>("X", {half});
  CHECK(message([&] {
          let<"H">(i, j) = X(i) * X(j);
        }).starts_with("EinDecomp: tensor H of 4294967296 x 4294967296 has more elements"));
  CHECK(g.graph().size() == 1);
  g.input<double>("Y", {Extent{1} << 56, 2});
}

TEST_CASE("norms with an epsilon that is none") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {3, 4});
  const std::string why =
      " is negative or no number (it is added to squares, whose root is taken); give 0 or more";
  CHECK(message([&] { (void)(let<"Z">(i, j) = ein::rms_norm(j)(X(i, j), -1e-5)); }) ==
        "EinDecomp: the epsilon of rms_norm" + why);
  CHECK(message([&] { (void)(let<"Z">(i, j) = ein::layer_norm(j)(X(i, j), std::nan(""))); }) ==
        "EinDecomp: the epsilon of layer_norm" + why);
  CHECK(g.graph().size() == 1);
}

TEST_CASE("a name that is taken") {
  ein::PlanProgram g;
  g.input<double>("X", {4});
  CHECK(message([&] {
          g.input<float>("X", {4});
        }).starts_with("EinDecomp: there is a tensor X already"));
  CHECK(message([&] {
          (void)g.input<double>("", {2});
        }).starts_with("EinDecomp: an input has no name"));
}

TEST_CASE("a symbol of another graph") {
  ein::PlanProgram g;
  ein::PlanProgram other;
  const auto X = g.input<double>("X", {4});
  const auto Y = other.input<double>("Y", {4});
  CHECK(message([&] { let<"H">(i) = X(i) + Y(i); }) ==
        "EinDecomp: statement H reads tensor Y, which belongs to another graph; write both into "
        "one program");
  CHECK(message([&] { g.keep(Y); }) ==
        "EinDecomp: tensor Y belongs to another graph (it was written into another program, or "
        "into one of two copies after they were made); use the symbols of this one");
  CHECK(message([&] { g.keep(X); }) ==
        "EinDecomp: input X is kept (it is the same after the run, where it is bound, and no "
        "result); keep a copy, let<\"last\">(i, j) = X(i, j)");
  CHECK(g.graph().size() == 1);
  CHECK(other.graph().size() == 1);
  Builder builder(g);
  CHECK(message([&] {
          builder.keep({g.graph(), X.vertex()});
        }).starts_with("EinDecomp: input X is kept"));
  Builder foreign(other);
  const auto Z = foreign.input<double>("Z", {4});
  CHECK(message([&] {
          builder.statement<ein::Exp, ein::NoAggregation, double>("H", {{Z, {"i"}}},
                                                                  ein::LabelStrings{"i"});
        }).find("belongs to another graph") != std::string::npos);
}

TEST_CASE("what the compiler cannot check of labels as data") {
  ein::PlanProgram g;
  Builder builder(g);
  const auto X = builder.input<double>("X", {4, 5});
  const auto say = [&](const std::vector<Builder::Read>& reads, const ein::LabelStrings& output) {
    return message([&] { builder.statement<ein::Identity, ein::Sum, double>("H", reads, output); });
  };
  CHECK(say({{X, {"i"}}}, {"i"}) ==
        "EinDecomp: tensor X has rank 2 and 1 labels in X(i); give each dimension one label");
  CHECK(say({{X, {"i", "j"}}}, {"k"})
            .starts_with("EinDecomp: label 'k' is in the output but in no operand"));
  CHECK(say({{X, {"i", "j"}}}, {"i", "i"})
            .starts_with("EinDecomp: label 'i' is repeated in the output"));
  CHECK(say({}, {}).starts_with("EinDecomp: statement H names 1 element types for 0 operands"));
  CHECK(message([&] {
          builder.statement<ein::Exp, ein::NoAggregation, double>("H", {{X, {"i", "j"}}},
                                                                  ein::LabelStrings{"i"});
        })
            .starts_with(
                "EinDecomp: label 'j' is in an operand but neither in the output nor aggregated"));
  CHECK(message([&] {
          builder.statement<ein::Exp, ein::NoAggregation, float>("H", {{X, {"i", "j"}}},
                                                                 ein::letters("ij"));
        }) ==
        "EinDecomp: statement H reads tensor X, which is of double, as elements of float (elements "
        "are not converted); name the type that it has");
  CHECK(message([&] { builder.einsum<ein::Identity, ein::Sum, double>("H", "ij,jk->ik", {X}); }) ==
        "EinDecomp: \"ij,jk->ik\" has 2 operands and is given 1; give each its tensor");
  CHECK(message([&] {
          builder.einsum<ein::Identity, ein::Sum, double>("H", "i?->i", {X});
        }).starts_with("EinDecomp: character '?' at position 1"));
  ein::EinGraph graph = g.graph();
  ein::StatementSpec spec;
  spec.name = "H";
  spec.where = std::source_location::current();
  CHECK(message([&] { graph.add_statement(spec); }) == "EinDecomp: statement H has no operand");
  spec.operands = {{99, {}}};
  CHECK(message([&] { graph.add_statement(spec); }) ==
        "EinDecomp: statement H reads tensor number 99, which is not in the graph");
  // The index of the best element along two labels at once has no meaning.
  CHECK(message([&] {
          builder.statement<ein::Identity, ein::ArgMin, double>("H", {{X, {"i", "j"}}},
                                                                ein::LabelStrings{});
        }).find("argmin") != std::string::npos);
  CHECK(g.graph().size() == 1);
  CHECK(g.graph().labels.empty());
}

// --- results, roles
// ---------------------------------------------------------------------------------

TEST_CASE("results are what nothing reads, and what is kept") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {4, 5});
  const auto H = let<"H">(i) = sum(j)(X(i, j));
  const auto R = let<"R">(i) = exp(H(i));
  CHECK(g.graph().results() == std::vector<ein::VertexId>{R.vertex()});
  g.keep(H);
  CHECK(g.graph().results() == std::vector<ein::VertexId>{H.vertex(), R.vertex()});
  CHECK(g.graph().reader_counts() == std::vector<int>{1, 1, 0});
}

TEST_CASE("labels have roles and may be forbidden to cut") {
  ein::PlanProgram g;
  g.role(b, "batch");
  g.uncut(ein::label<"head">);
  const auto X = g.input<double>("X", {4, 5});
  let<"H">(b) = sum(ein::label<"head">)(X(b, ein::label<"head">));
  const ein::EinGraph& graph = g.graph();
  CHECK(graph.labels.size() == 2);
  CHECK(graph.labels[static_cast<std::size_t>(graph.find_label("b"))].role == "batch");
  CHECK(graph.labels[static_cast<std::size_t>(graph.find_label("head"))].uncut);
}

// --- in constant expressions
// ------------------------------------------------------------------------

namespace {

constexpr ein::EinGraph chain() {
  ein::PlanProgram g;
  const auto A = g.input<double>("A", {8, 8});
  const auto B = g.input<double>("B", {8, 16});
  const auto C = g.input<double>("C", {16, 2});
  const auto D = let<"D">(i, l) = sum(j, k)(A(i, j) * B(j, k) * C(k, l));
  const auto E = let<"E">(i, l) = ein::softmax(l)(D(i, l));
  g.keep(D);
  let<"F">() = max(i, l)(E(i, l) * 2.0);
  return g.graph();
}

}  // namespace

static_assert(chain().size() == 10);
static_assert(chain().find("D") == 4 && chain()[4].rank() == 2 && chain()[4].size() == 16);
static_assert(chain()[4].kept && chain()[4].op.distributive && chain()[4].op.aggregate == "sum");
static_assert(ein::formula(chain(), 3) == "D.join0(j,l) = sum[k] mul(B(j,k), C(k,l))");
static_assert(ein::formula(chain(), 4) == "D(i,l) = sum[j] mul(A(i,j), D.join0(j,l))");
static_assert(chain().results().size() == 2);

constexpr std::size_t chain_size = ein::to_text(chain()).size();
constexpr std::array<char, chain_size> chain_text = [] {
  std::array<char, chain_size> characters{};
  const ein::Text all = ein::to_text(chain());
  std::copy(all.view().begin(), all.view().end(), characters.begin());
  return characters;
}();

TEST_CASE("a graph made by the compiler is the one made at run time") {
  const std::string expected = ein::to_text(chain()).str();
  CHECK(std::string(chain_text.data(), chain_text.size()) == expected);
}
