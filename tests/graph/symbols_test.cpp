// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long symbols may be used and with what: after their program was assigned over, moved,
// destroyed or copied; at run time and in constant expressions.

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "eindecomp/graph/builder.hpp"
#include "eindecomp/graph/einsum.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/print.hpp"
#include "support/messages.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::let;
using Matrix = ein::Symbol<double, 2, ein::NoBackend>;

namespace {

/// The sentence of an Error of a statement, without the place.
const auto symbol_message = [](const auto& work) {
  return eindecomp_tests::message_here(work, ein::ErrorKind::statement);
};

}  // namespace

TEST_CASE("a symbol whose program was assigned over writes nothing, and says so") {
  ein::PlanProgram g;
  const Matrix X = g.input<double>("X", {4, 5});
  const auto H = let<"H">(i) = sum(j)(X(i, j));
  ein::PlanProgram other;
  const Matrix Y = other.input<double>("Y", {4, 5});
  g = other;
  CHECK(symbol_message([&] { let<"Z">(i) = sum(j)(X(i, j)); }) ==
        "EinDecomp: statement Z reads tensor X, whose program was assigned over (its symbols serve "
        "plans and runs of it, and no new statements); use the symbols of a program that is there");
  CHECK(symbol_message([&] { (void)ein::einsum<"i->">("Z", H); }) ==
        "EinDecomp: statement Z reads tensor H, whose program was assigned over (its symbols "
        "serve plans and runs of it, and no new statements); use the symbols of a program "
        "that is there");
  // Where it is not the first tensor, and inside an expression.
  CHECK(symbol_message([&] {
          let<"Z">(i) = sum(j)(Y(i, j) * X(i, j));
        }).starts_with("EinDecomp: statement Z reads tensor X, whose program was assigned over"));
  CHECK(symbol_message([&] {
          let<"Z">(i, j) = Y(i, j) / max(j)(X(i, j));
        }).starts_with("EinDecomp: statement Z.1 reads tensor X, whose program was assigned"));
  CHECK(symbol_message([&] {
          g.keep(H);
        }).starts_with("EinDecomp: tensor H belongs to another graph"));
  CHECK(X.name() == "X");
  CHECK(g.graph().size() == 1);
  CHECK(other.graph().size() == 1);
}

TEST_CASE("a symbol whose program was destroyed writes nothing, and says so") {
  auto g = std::make_unique<ein::PlanProgram>();
  const Matrix X = g->input<double>("X", {4, 5});
  const ein::EinGraph graph = g->graph();
  g.reset();
  CHECK(symbol_message([&] {
          let<"Z">(i) = sum(j)(X(i, j));
        }).starts_with("EinDecomp: statement Z reads tensor X, whose program was destroyed ("));
  CHECK(X.name() == "X");
  CHECK(graph.has(X.vertex(), X.program_id()));
}

TEST_CASE("symbols go where their program is moved, and what it was moved from says so") {
  ein::PlanProgram g;
  const Matrix X = g.input<double>("X", {4, 5});
  ein::PlanProgram moved = std::move(g);
  let<"H">(i) = sum(j)(X(i, j));
  CHECK(moved.graph().size() == 2);
  const std::string expected =
      "EinDecomp: the program was moved from (its statements are in the program it was moved to, "
      "and so are its symbols'); use that one, or assign a program to this first";
  // NOLINTBEGIN(bugprone-use-after-move): it is what is tested.
  CHECK(symbol_message([&] { (void)g.graph(); }) == expected);
  CHECK(symbol_message([&] { (void)g.launchers(); }) == expected);
  CHECK(symbol_message([&] { (void)g.input<double>("Y", {4}); }) == expected);
  CHECK(symbol_message([&] { g.keep(X); }) == expected);
  CHECK_THROWS_WITH_AS(g.uncut(i), doctest::Contains("was moved from"), ein::Error);
  CHECK_THROWS_WITH_AS(ein::PlanProgram(std::as_const(g)), doctest::Contains("was moved from"),
                       ein::Error);
  g = std::move(moved);
  // NOLINTEND(bugprone-use-after-move)
  let<"K">(j) = sum(i)(X(i, j));
  CHECK(g.graph().size() == 3);
}

TEST_CASE("of diverged copies, each has its own tensors and those from before") {
  ein::PlanProgram g;
  const Matrix X = g.input<double>("X", {4, 5});
  ein::PlanProgram h = g;
  const auto Y = let<"Y">(i) = sum(j)(X(i, j));
  const auto hX = h.symbol(X);
  const auto Z = let<"Z">(i) = max(j)(hX(i, j));
  CHECK(Y.vertex() == Z.vertex());
  for (ein::PlanProgram* program : {&g, &h}) {
    CHECK(program->graph().has(X.vertex(), X.program_id()));
    CHECK(program->graph().has(hX.vertex(), hX.program_id()));
    CHECK(program->graph().has(Y.vertex(), Y.program_id()) == (program == &g));
    CHECK(program->graph().has(Z.vertex(), Z.program_id()) == (program == &h));
  }
  const std::string reason =
      " belongs to another graph (it was written into another program, or into one of two copies "
      "after they were made); use the symbols of this one";
  CHECK(symbol_message([&] { g.keep(Z); }) == "EinDecomp: tensor Z" + reason);
  CHECK(symbol_message([&] { h.keep(Y); }) == "EinDecomp: tensor Y" + reason);
  CHECK(symbol_message([&] { (void)h.symbol(Y); }) == "EinDecomp: tensor Y" + reason);
  CHECK(symbol_message([&] {
          let<"W">(i) = Y(i) + Z(i);
        }).starts_with("EinDecomp: statement W reads tensor Z, which belongs to another graph"));
  CHECK_FALSE(g.graph().same_tensors(h.graph()));
  const ein::PlanProgram copy = h;
  CHECK(copy.graph().same_tensors(h.graph()));
}

TEST_CASE("a copy of a copy, an assigned copy and a graph that was moved from diverge as well") {
  ein::PlanProgram g;
  const Matrix X = g.input<double>("X", {4, 5});
  const ein::PlanProgram before = g;
  std::vector<ein::Symbol<double, 1, ein::NoBackend>> written;
  std::vector<ein::EinGraph> graphs;
  for (int time = 0; time < 3; ++time) {
    g = before;
    const auto here = g.symbol(X);
    written.push_back(let<"Y">(i) = sum(j)(here(i, j)));
    graphs.push_back(g.graph());
  }
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < 3; ++b) {
      CHECK(graphs[a].has(written[b].vertex(), written[b].program_id()) == (a == b));
    }
  }
  ein::EinGraph from;
  from.add_input("A", {4}, ein::element_type<double>());
  const ein::EinGraph to = std::move(from);
  from.add_input("B", {4}, ein::element_type<double>());  // NOLINT(bugprone-use-after-move)
  CHECK_FALSE(to.has(0, from[0].program_id));
}

TEST_CASE("labels as data heed copies too") {
  ein::PlanProgram g;
  ein::Builder<ein::NoBackend> in_g(g);
  const ein::AnySymbol X = in_g.input<double>("X", {4, 5});
  ein::PlanProgram h = g;
  ein::Builder<ein::NoBackend> in_h(h);
  const ein::AnySymbol Y = in_g.einsum<ein::Identity, ein::Sum, double>("Y", "ij->i", {X});
  const ein::AnySymbol Z = in_h.einsum<ein::Identity, ein::Max, double>("Z", "ij->i", {X});
  CHECK(Y.vertex() == Z.vertex());
  CHECK(symbol_message([&] {
          in_g.keep(Z);
        }).starts_with("EinDecomp: tensor number 1 belongs to another graph"));
  in_h.keep(Z);
}

TEST_CASE("threads copy and drop symbols of one program") {
  std::optional<ein::PlanProgram> g(std::in_place);
  std::optional<Matrix> X = g->input<double>("X", {4, 5});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([symbol = *X] {
      for (int n = 0; n < 20000; ++n) {
        Matrix copy = symbol;
        const Matrix another = copy;
        copy = another;
      }
    });
  }
  g.reset();
  for (std::thread& thread : threads) thread.join();
  CHECK(X->state()->owners.remove());  // the one that is left
  X->state()->owners.add();
}

// --- in constant expressions
// ------------------------------------------------------------------------

namespace {

/// Symbols that are copied, assigned and outlive their program.
constexpr bool symbols_work() {
  std::optional<Matrix> kept;
  ein::Extent elements = 0;
  {
    ein::PlanProgram g;
    Matrix square = g.input<double>("A", {8, 8});
    const Matrix first = square;
    for (int step = 0; step < 3; ++step) {
      square = let<"step">(i, k) = min(j)(square(i, j) + square(j, k));
    }
    ein::PlanProgram h = std::move(g);
    square = let<"last">(i, k) = square(i, k) + first(i, k);
    elements = h.graph()[square.vertex()].size();
    g = h;
    h = ein::PlanProgram();
    kept = square;
    elements += g.graph().size();
  }
  return elements == 64 + 5 && kept->name() == "last" && kept->vertex() == 4 &&
         kept->state()->fate == ein::graph::ProgramFate::assigned_over;
}
static_assert(symbols_work());
static_assert(std::is_nothrow_move_constructible_v<ein::PlanProgram>);

}  // namespace
