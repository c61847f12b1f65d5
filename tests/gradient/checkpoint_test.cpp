// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checkpoints: which statements a gradient writes again, what of the forward pass it leaves alone,
// and how much less memory a step takes. Their values are in random_test.cpp's and run_test.cpp's.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "eindecomp/graph/gradient.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/macros.hpp"
#include "eindecomp/graph/with_checkpoints.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "gradient/jax.hpp"
#include "support/messages.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::let;
using eindecomp_tests::contains;
using eindecomp_tests::message_here;
using Program = ein::DifferentiablePlanProgram;

namespace {

/// A product and a map per layer, checkpoints after every `every` layers if that is positive, and
/// gradients unless it is negative.
struct Chain {
  explicit Chain(int layers, int every, ein::Extent batch = 64, ein::Extent width = 8)
      : loss(write(layers, every, batch, width)), forward(g.graph().size()) {
    if (every >= 0) gradients = ein::gradient(loss, weights);
  }
  ein::Symbol<double, 0, Program::Backend> write(int layers, int every, ein::Extent batch,
                                                 ein::Extent width) {
    auto x = g.input<double>("X", {batch, width});
    for (int layer = 0; layer < layers; ++layer) {
      const auto w = g.input<double>("W" + std::to_string(layer), {width, width});
      const auto z = let("Z" + std::to_string(layer))(i, k) = sum(j)(x(i, j) * w(j, k));
      x = let("X" + std::to_string(layer))(i, k) = ein::tanh(z(i, k));
      if (every > 0 && (layer + 1) % every == 0) x = ein::checkpoint(x);
      weights.push_back(w);
    }
    return let<"loss">() = sum(i, j)(square(x(i, j)));
  }
  [[nodiscard]] std::vector<std::string> copies() const {
    std::vector<std::string> names;
    for (const ein::Vertex& v : g.graph().vertices) {
      if (v.name.str().ends_with(".again")) names.push_back(v.name.str());
    }
    return names;
  }
  /// The tensors of the forward pass' statements that gradients read, but for the loss.
  [[nodiscard]] std::set<std::string> kept() const {
    std::set<std::string> names;
    for (ein::VertexId v = forward; v < g.graph().size(); ++v) {
      for (const ein::Operand& o : g.graph()[v].operands) {
        const ein::Vertex& read = g.graph()[o.vertex];
        if (o.vertex < forward - 1 && !read.is_input()) names.insert(read.name.str());
      }
    }
    return names;
  }
  [[nodiscard]] std::int64_t peak(int workers) const {
    const auto peaks = ein::decompose(g, {.workers = workers}).peak_bytes();
    return *std::max_element(peaks.begin(), peaks.end());
  }

  Program g;
  std::vector<ein::Symbol<double, 2, Program::Backend>> weights;
  std::vector<ein::Symbol<double, 2, Program::Backend>> gradients;
  ein::Symbol<double, 0, Program::Backend> loss;
  ein::VertexId forward;  ///< how many tensors the forward pass has
};

}  // namespace

TEST_CASE(
    "a gradient keeps checkpoints and writes again what lies between them, where it is read") {
  const Chain all(6, 0);
  CHECK(all.copies().empty());
  CHECK(all.kept() == std::set<std::string>{"X0", "X1", "X2", "X3", "X4", "X5"});

  const Chain some(6, 2);
  CHECK(some.kept() == std::set<std::string>{"X1", "X3", "X5"});
  // The backward pass reads no Z: of each pair of layers the first is computed twice.
  CHECK(some.copies() == std::vector<std::string>{"Z4.again", "X4.again", "Z2.again", "X2.again",
                                                  "Z0.again", "X0.again"});
  CHECK(some.g.graph().size() == all.g.graph().size() + 6);

  // Nothing is written again that no checkpoint is computed from.
  const Chain first(6, 4);
  CHECK(first.kept() == std::set<std::string>{"X3", "X4", "X5"});
  CHECK(first.copies().size() == 6);
}

TEST_CASE("a copy is what it is a copy of, but for its operands") {
  const Chain some(4, 2);
  const ein::EinGraph& graph = some.g.graph();
  const ein::Vertex& z = graph[graph.find("Z0")];
  const ein::Vertex& copy = graph[graph.find("Z0.again")];
  CHECK(copy.operands == z.operands);  // inputs
  CHECK(copy.bound == z.bound);
  CHECK(copy.op.same_function(z.op));
  CHECK_FALSE(copy.is_result());
  const ein::Vertex& x = graph[graph.find("X0.again")];
  CHECK(x.operands[0].vertex == graph.find("Z0.again"));
  for (const auto& gradient : some.gradients) CHECK(graph[gradient.vertex()].is_result());
}

TEST_CASE("checkpoints lower the peak of memory") {
  for (const int workers : {1, 4}) {
    CAPTURE(workers);
    const std::int64_t all = Chain(16, 0, 1024, 8).peak(workers);
    const std::int64_t some = Chain(16, 4, 1024, 8).peak(workers);
    CAPTURE(all);
    CAPTURE(some);
    // 16 tensors are kept, or 4 and what 4 layers have between them.
    CHECK(some * 3 < all * 2);
  }
}

TEST_CASE("results stay where they are, whatever is a checkpoint") {
  Program g;
  const auto X = g.input<double>("X", {4});
  const auto A = let<"A">(i) = exp(X(i));
  const auto B = let<"B">(i) = tanh(A(i));
  const auto C = ein::checkpoint(let<"C">(i) = exp(B(i)));
  g.keep(B);
  const auto loss = let<"loss">() = sum(i)(C(i));
  (void)ein::gradient(loss, X);
  CHECK(g.graph().find("B.again") < 0);
  CHECK(g.graph().find("A.again") >= 0);  // which the derivative of exp reads
  CHECK(g.graph().find("C.again") < 0);
}

TEST_CASE("a gradient of another tensor and a jvp know the checkpoints too, or need none") {
  Program g;
  const auto X = g.input<double>("X", {4, 4});
  const auto A = let<"A">(i, k) = tanh(X(i, k));
  const auto B = ein::checkpoint(let<"B">(i, k) = tanh(A(i, k)));
  const auto loss = let<"loss">() = sum(i, k)(B(i, k));
  const auto dA = ein::gradient(loss, A);
  CHECK(g.graph()[dA.vertex()].is_result());
  CHECK(g.graph().find("A.again") < 0);  // B's derivative reads B
  const auto V = g.input<double>("V", {4, 4});
  (void)ein::jvp(loss, X, V);
  CHECK(g.graph().find("A.again") < 0);
  (void)ein::vjp(B, V, X);
  CHECK(g.graph().find("A.again") >= 0);
}

TEST_CASE("a checkpoint of a program that is no more is refused") {
  const auto lost = [] {
    Program g;
    return g.input<double>("X", {4});
  }();
  CHECK(message_here([&] { (void)ein::checkpoint(lost); }) ==
        "EinDecomp: tensor X, which is to be a checkpoint, belongs to a program that is no more; "
        "use symbols of one that is");
}

TEST_CASE("checkpoints are chosen as a limit of memory asks for") {
  const auto attempt_within = [](std::int64_t limit, const Chain& chain) {
    return [&chain, limit](auto& h) {
      std::vector<ein::Symbol<double, 2, Program::Backend>> weights;
      for (const auto& w : chain.weights) weights.push_back(h.symbol(w));
      (void)ein::gradient(h.symbol(chain.loss), weights);
      return ein::decompose(h, {.workers = 1, .cache_bytes = 0, .memory = limit});
    };
  };
  const auto peak_of = [](const ein::Plan& plan) { return plan.peak_bytes()[0]; };
  const auto copies_of = [](const ein::Plan& plan) {
    return std::count_if(plan.graph.vertices.begin(), plan.graph.vertices.end(),
                         [](const auto& v) { return v.name.str().ends_with(".again"); });
  };
  constexpr std::int64_t enough = std::int64_t{1} << 40;
  Chain whole(16, -1, 1024, 8);
  const auto plan = ein::with_checkpoints(whole.g, whole.loss, attempt_within(enough, whole));
  CHECK(copies_of(plan) == 0);
  const std::int64_t peak = peak_of(plan);

  std::int64_t least = peak;
  long copies = 0;
  for (int percent = 90; percent >= 60; percent -= 10) {
    CAPTURE(percent);
    Chain chain(16, -1, 1024, 8);
    const std::int64_t limit = peak * percent / 100;
    const auto smaller = ein::with_checkpoints(chain.g, chain.loss, attempt_within(limit, chain));
    CHECK(smaller.graph.size() == chain.g.graph().size());
    CHECK(peak_of(smaller) <= limit);
    CHECK(copies_of(smaller) >= copies);  // what is computed twice grows as memory shrinks
    copies = copies_of(smaller);
    least = peak_of(smaller);
  }
  CHECK(copies > 0);
  CHECK(3 * least <= 2 * peak);

  Chain chain(16, -1, 1024, 8);
  const int before = chain.g.graph().size();
  const std::string message = message_here(
      [&] { (void)ein::with_checkpoints(chain.g, chain.loss, attempt_within(peak / 50, chain)); });
  CHECK(contains(message,
                 "EinDecomp: checkpoints do not save enough memory (of loss, whose forward pass "
                 "was cut into up to 8 segments); the smallest plan that is found holds "));
  CHECK(chain.g.graph().size() == before);

  // What is no matter of memory is not tried again.
  int calls = 0;
  CHECK(contains(message_here([&] {
                   (void)ein::with_checkpoints(chain.g, chain.loss, [&](auto& h) {
                     ++calls;
                     return ein::decompose(h, {.workers = 0});
                   });
                 }),
                 "a plan for 0 workers"));
  CHECK(calls == 1);
}

TEST_CASE("what several segments read, and what is kept across skips, are checkpoints") {
  Program g;
  const auto M = g.input<double>("M", {64, 64});
  const auto X = g.input<double>("X", {64, 64});
  auto x = let("Y")(i, k) = tanh(X(i, k));
  const auto w = g.input<double>("W", {64, 64});
  const auto mask = let<"mask">(i, k) = exp(M(i, k));
  for (int layer = 0; layer < 8; ++layer) {
    const auto a = let("A" + std::to_string(layer))(i, k) = sum(j)(x(i, j) * w(j, k));
    const auto b = let("B" + std::to_string(layer))(i, k) = tanh(a(i, k)) * mask(i, k);
    x = let("Y" + std::to_string(layer))(i, k) = x(i, k) + b(i, k);
  }
  const auto loss = let<"loss">() = sum(i, k)(x(i, k));
  const ein::graph::ForwardPass forward(g.graph(), loss.vertex());
  for (const int segments : {2, 4, 8}) {
    CAPTURE(segments);
    std::set<std::string> names;
    for (const ein::VertexId v : forward.checkpoints(segments)) {
      names.insert(g.graph()[v].name.str());
    }
    CHECK(names.size() == static_cast<std::size_t>(segments));
    CHECK(names.erase("mask") == 1);
    for (const std::string& name : names) CHECK(name[0] == 'Y');
  }
}
