// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs with their gradients run on ranks: equal to plain loops under every plan, and the words
// that move are those predicted.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "eindecomp/graph/gradient.hpp"
#include "eindecomp/graph/packed_tensor.hpp"
#include "eindecomp/graph/statistics.hpp"
#include "eindecomp/train/fit.hpp"
#include "gradient/networks.hpp"
#include "gradient/random_gradients.hpp"
#include "gradient/trained.hpp"
#include "run/programs.hpp"
#include "support/cases.hpp"
#include "support/pmpi_counter.hpp"

using namespace run_test;
using namespace eindecomp::labels;
using ein::extent;
using ein::let;
using eindecomp_tests::LoopRun;
using eindecomp_tests::numbers;
using networks::Trained;

namespace {

using Loops = ein::BasicProgram<ein::Differentiable<eindecomp_tests::LoopBackend>>;

/// Two layers, the cross entropy of a softmax, and a step of gradient descent.
template <class Program>
auto perceptron(Program& g) {
  const auto X = g.template input<double>("X", {12, 9});
  const auto T = g.template input<double>("T", {12, 5});
  const auto W1 = g.template input<double>("W1", {9, 8});
  const auto b1 = g.template input<double>("b1", {8});
  const auto W2 = g.template input<double>("W2", {8, 5});
  const auto H = let<"H">(b, j) = relu(sum(i)(X(b, i) * W1(i, j)) + b1(j));
  const auto P = let<"P">(b, k) = ein::softmax(k)(sum(j)(H(b, j) * W2(j, k)));
  const auto loss = let<"loss">() = ein::mean(b)(sum(k)(T(b, k) * log(P(b, k)))) * -1.0;
  const auto [dW1, db1, dW2] = ein::gradient(loss, W1, b1, W2);
  const auto N1 = let<"N1">(i, j) = W1(i, j) - 0.1 * dW1(i, j);
  const auto N2 = let<"N2">(j, k) = W2(j, k) - 0.1 * dW2(j, k);
  return std::tuple(loss, db1, N1, N2);
}

/// A convolution, a pool, a product without the usual algebra.
template <class Program>
auto network(Program& g) {
  const auto X = g.template input<double>("X", {2, 2, 8, 8});
  const auto F = g.template input<double>("F", {3, 2, 3, 3});
  const auto V = g.template input<double>("V", {3, 4});
  const auto Y = let<"Y">(b, o, y, x) =
      sum(c, r, s)(X(b, c, 2 * y + r - 1, 2 * x + s - 1) * F(o, c, r, s));
  const auto P = let<"P">(b, o, y, x) =
      max(r, s)(Y(b, o, 2 * y + extent(r, 2), 2 * x + extent(s, 2)));
  const auto S = let<"S">(b, o) = sum(y, x)(square(P(b, o, y, x)));
  const auto D = let<"D">(b, k) = min(o)(S(b, o) + V(o, k));
  const auto loss = let<"loss">() = sum(b, k)(D(b, k));
  const auto [dX, dF, dV] = ein::gradient(loss, X, F, V);
  return std::tuple(loss, dX, dF, dV);
}

/// Runs a program under every strategy, and compares with plain loops and predicted words.
template <class Write>
void check(const Write& write, const std::vector<std::string>& strategies) {
  const World world;
  Loops loops;
  const auto expected_symbols = write(loops);
  std::map<std::string, std::vector<double>> values;
  networks::OnRanks g;
  const auto symbols = write(g);
  g.role(b, "batch");
  g.role(j, "hidden");
  int seed = 1;
  for (const ein::Vertex& v : g.graph().vertices) {
    if (v.is_input()) values[v.name.str()] = numbers(v.size(), seed++, 0.05, 1);
  }
  const LoopRun expected(loops, values);
  std::vector<ein::Binding<Space>> bindings;
  const auto bind = [&](const auto& symbol) {
    const auto& all = values.at(symbol.name().str());
    bindings.push_back(ein::bind_generator(
        symbol, networks::element_of<double>(g.graph()[symbol.vertex()].bound, all)));
  };
  const auto bind_as = [&](ein::VertexId v) {
    using Backend = networks::OnRanks::Backend;
    switch (g.graph()[v].rank()) {
      case 1:
        return bind(ein::Symbol<double, 1, Backend>(g.state(), v));
      case 2:
        return bind(ein::Symbol<double, 2, Backend>(g.state(), v));
      default:
        return bind(ein::Symbol<double, 4, Backend>(g.state(), v));
    }
  };
  for (ein::VertexId v = 0; v < g.graph().size(); ++v) {
    if (g.graph()[v].is_input()) bind_as(v);
  }
  for (const std::string& strategy : strategies) {
    CAPTURE(strategy);
    const auto plan =
        ein::decompose(g, {.workers = world.size, .ranks = world.size, .strategy = strategy});
    const ein::TaskGraph tasks = plan.tasks();
    pmpi::reset();
    ein::Executor executor(plan, MPI_COMM_WORLD, Space());
    auto run = executor.run(bindings);
    const pmpi::Counts moved = pmpi::counts("EinDecomp transfers");
    const auto r = static_cast<std::size_t>(world.rank);
    CHECK(moved.received == tasks.received[r]);
    CHECK(moved.sent == tasks.sent[r]);
    const auto compare = [&](const auto& symbol, const auto& loop_symbol) {
      CAPTURE(symbol.name().str());
      const auto got = on_host(run.gather(symbol));
      const std::vector<double>& right = expected.of(loop_symbol);
      REQUIRE(got.size() == right.size());
      double worst = 0;
      for (std::size_t n = 0; n < right.size(); ++n) {
        const double off = std::abs(got.data()[n] - right[n]) / std::max(1.0, std::abs(right[n]));
        if (!(off <= worst)) worst = off;
      }
      CHECK(worst < 1e-12);
    };
    std::apply(
        [&](const auto&... symbol) {
          std::apply([&](const auto&... loop) { (compare(symbol, loop), ...); }, expected_symbols);
        },
        symbols);
  }
}

}  // namespace

TEST_CASE("a step of training a perceptron") {
  check([](auto& g) { return perceptron(g); },
        {"placed", "exact", "linearized", "data_parallel", "model_parallel", "square"});
}

TEST_CASE("the gradients of a convolution, a pool and a min-plus product") {
  check([](auto& g) { return network(g); }, {"placed", "exact", "data_parallel"});
}

TEST_CASE("the gradients by a packed tensor, and by what one is computed from") {
  check(
      [](auto& g) {
        const auto S = ein::packed_symmetric<double>(g, "S", {9, 9}, {.block_rows = 3});
        const auto W = g.template input<double>("W", {9, 4});
        const auto G = ein::packed_symmetric("G", {.block_rows = 3})(i, j) =
            S(i, j) + sum(k)(W(i, k) * W(j, k));
        const auto Y = let<"Y">(i, k) = sum(j)(G(i, j) * W(j, k));
        const auto loss = let<"loss">() = sum(i, k)(square(Y(i, k)));
        const auto dW = ein::gradient(loss, W);
        const auto dS = ein::gradient(loss, S.block_rows());
        return std::tuple(loss, dW, dS[0], dS[1], dS[2]);
      },
      {"placed", "exact", "square"});
}

namespace {

/// A random program with its gradients and its derivatives along its inputs, by a strategy that the
/// seed chooses, against plain loops.
void check_random(std::uint64_t seed) {
  namespace random = random_gradients;
  const random::Drawing<Loops> drawn(seed, random::few_signatures<Loops::Backend>());
  const auto differentiated = [&](auto& program) {
    using Backend = typename std::decay_t<decltype(program)>::Backend;
    random::write(program, random::few_signatures<Backend>(), drawn.recipe);
    random::add_checkpoints(program, seed);
    const ein::Symbol<double, 0, Backend> loss(program.state(),
                                               program.graph().find(drawn.recipe.loss));
    std::vector<ein::VertexId> gradients;
    std::vector<ein::VertexId> derivatives;
    for (const random::Input& input : drawn.recipe.inputs) {
      random::with_symbol(program, program.graph().find(input.name), [&](const auto& tensor) {
        gradients.push_back(ein::gradient(loss, tensor).vertex());
        derivatives.push_back(ein::jvp(loss, tensor, tensor).vertex());
      });
    }
    gradients.insert(gradients.end(), derivatives.begin(), derivatives.end());
    return gradients;
  };
  Loops loops;
  const std::vector<ein::VertexId> expected = differentiated(loops);
  networks::OnRanks g;
  const std::vector<ein::VertexId> gradients = differentiated(g);
  const std::string text = "seed " + std::to_string(seed) + "\n" + ein::to_text(g.graph()).str();
  INFO(text);
  const LoopRun run(loops, drawn.values);

  const World world;
  const char* const strategies[] = {"placed", "exact", "square", "linearized"};
  const auto plan = ein::decompose(g, {.workers = world.size * (1 + static_cast<int>(seed % 2)),
                                       .ranks = world.size,
                                       .strategy = strategies[seed / 2 % 4]});
  std::vector<ein::Binding<Space>> bindings;
  for (const random::Input& input : drawn.recipe.inputs) {
    random::with_symbol(g, g.graph().find(input.name), [&](const auto& tensor) {
      bindings.push_back(ein::bind_generator(
          tensor, networks::element_of<double>(input.bound, drawn.values.at(input.name))));
    });
  }
  const ein::TaskGraph tasks = plan.tasks();
  pmpi::reset();
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  auto result = executor.run(bindings);
  const pmpi::Counts moved = pmpi::counts("EinDecomp transfers");
  CHECK(moved.received == of_this_rank(tasks.received));
  CHECK(moved.sent == of_this_rank(tasks.sent));
  for (std::size_t n = 0; n < gradients.size(); ++n) {
    const std::vector<double>& right = run.of_vertex(expected[n]);
    random::with_symbol(g, gradients[n], [&](const auto& gradient) {
      const auto got = on_host(result.gather(gradient));
      REQUIRE(got.size() == right.size());
      double worst = 0;
      for (std::size_t i = 0; i < right.size(); ++i) {
        const double off = std::abs(got.data()[i] - right[i]) / std::max(1.0, std::abs(right[i]));
        if (!(off <= worst)) worst = off;
      }
      CAPTURE(g.graph()[gradients[n]].name.str());
      CHECK(worst < 1e-10);
    });
  }
}

}  // namespace

TEST_CASE("gradients and jvps of random programs on ranks are those of plain loops") {
  const int cases = eindecomp_tests::random_cases(World().size <= 4 ? 120 : 20);
  for (int n = 0; n < cases; ++n) check_random(static_cast<std::uint64_t>(n));
}

TEST_CASE("training that is resumed equals training that was not interrupted, bit for bit") {
  Trained<networks::Perceptron, double> t;
  const auto updates =
      ein::minimise(t.net.loss, networks::weights_of(t.net), ein::Adam{.decay = 0.03});
  const auto plan = t.plan(updates);
  ein::Trainer whole(plan, MPI_COMM_WORLD, Space(), updates);
  whole.start(t.first());
  ein::Checkpoint middle;
  ein::Checkpoint end;
  ein::FitOptions options{.steps = 9, .rate = [](Extent n) { return 0.02 / (1.0 + 0.1 * n); }};
  options.checkpoint_every = 4;
  options.checkpoint = [&](const ein::Checkpoint& made) {
    if (made.steps == 4) middle = made;
    end = made;
  };
  std::vector<Extent> reports;
  options.report_every = 4;
  options.report = [&](const ein::FitProgress& p) { reports.push_back(p.step); };
  const auto batch = [&](Extent) { return t.data(); };
  CHECK(ein::fit(whole, options, batch));
  CHECK(whole.steps() == 9);
  CHECK(reports == std::vector<Extent>{4, 8, 9});
  if (t.world.rank == 0) {
    CHECK(end.steps == 9);
    CHECK(end.tensors.size() == 3 + 2 * 3 + 1);
    CHECK(end.tensors[0].name == "W1");
  }

  ein::Trainer resumed(plan, MPI_COMM_WORLD, Space(), updates);
  resumed.resume(middle);
  CHECK(resumed.steps() == 4);
  ein::Checkpoint again;
  options.checkpoint = [&](const ein::Checkpoint& made) { again = made; };
  CHECK(ein::fit(resumed, options, batch));
  CHECK(again == end);
  CHECK(resumed.loss() == whole.loss());
  const auto w = on_host(resumed.gather(t.net.W1));
  const auto v = on_host(whole.gather(t.net.W1));
  for (std::size_t n = 0; n < v.size(); ++n) CHECK(w.data()[n] == v.data()[n]);

  // From the beginning, by a program and a plan that were made again.
  Trained<networks::Perceptron, double> second;
  const auto same =
      ein::minimise(second.net.loss, networks::weights_of(second.net), ein::Adam{.decay = 0.03});
  const auto same_plan = second.plan(same);
  ein::Trainer repeated(same_plan, MPI_COMM_WORLD, Space(), same);
  repeated.start(second.first());
  CHECK(ein::fit(repeated, options, [&](Extent) { return second.data(); }));
  CHECK(again == end);
  CHECK(repeated.loss() == whole.loss());

  // By another plan the bits may be others, the numbers are not.
  const auto other = t.plan(updates, "data_parallel", 2 * t.world.size);
  ein::Trainer elsewhere(other, MPI_COMM_WORLD, Space(), updates);
  elsewhere.resume(middle);
  CHECK(ein::fit(elsewhere, options, batch));
  CHECK(elsewhere.loss() == doctest::Approx(whole.loss()).epsilon(1e-10));
}

namespace {

/// The share of samples whose largest output is the largest target, a result of the program.
template <class T>
auto accuracy(const networks::Perceptron<T, networks::OnRanks>& net) {
  const auto H = let<"H.shown">(b, j) = relu(sum(i)(net.X(b, i) * net.W1(i, j)) + net.B1(j));
  const auto A = let<"A">(b) = argmax(k)(sum(j)(H(b, j) * net.W2(j, k)));
  const auto R = let<"R">(b) = argmax(k)(net.D(b, k));
  return let<"accuracy">() = ein::mean(b)(ein::cast<T>(A(b) == R(b)));
}

/// Cross entropy and accuracy of the perceptron's samples in plain loops.
std::pair<double, double> cross_entropy_and_accuracy(networks::Values& values) {
  const auto& X = values["X"];
  const auto& D = values["D"];
  const auto& W1 = values["W1"];
  const auto& B1 = values["B1"];
  const auto& W2 = values["W2"];
  double loss = 0;
  double right = 0;
  for (std::size_t sample = 0; sample < 12; ++sample) {
    std::vector<double> z(5, 0.0);
    for (std::size_t n = 0; n < 8; ++n) {
      double h = B1[n];
      for (std::size_t m = 0; m < 9; ++m) h += X[9 * sample + m] * W1[8 * m + n];
      for (std::size_t m = 0; m < 5; ++m) z[m] += std::max(h, 0.0) * W2[5 * n + m];
    }
    double all = 0;
    for (const double e : z) all += std::exp(e);
    const double* d = &D[5 * sample];
    for (std::size_t m = 0; m < 5; ++m) loss -= d[m] * (z[m] - std::log(all)) / 12;
    const auto shown = std::max_element(z.begin(), z.end()) - z.begin();
    right += shown == std::max_element(d, d + 5) - d ? 1 : 0;
  }
  return {loss, right / 12};
}

}  // namespace

TEST_CASE("metrics are of the weights before the step, reported and returned") {
  Trained<networks::Perceptron, double> t;
  const auto share = accuracy(t.net);
  const auto size = let<"size">() = sum(j)(square(t.net.B1(j)));
  const auto updates =
      ein::minimise(t.net.loss, networks::weights_of(t.net), ein::Sgd{}, {share, size});
  const auto plan = t.plan(updates);
  ein::Trainer trainer(plan, MPI_COMM_WORLD, Space(), updates);
  trainer.start(t.first());
  CHECK(contains(message_of([&] { (void)trainer.metrics(); }),
                 "a trainer is asked for what a step leaves before it took one"));
  std::ostringstream line;
  const auto print = ein::progress_line(line);
  ein::FitOptions options{.steps = 4, .rate = [](Extent) { return 2.0; }, .report_every = 1};
  std::vector<double> shares;
  networks::Values values = t.values;
  options.report = [&](const ein::FitProgress& p) {
    const auto [loss, expected] = cross_entropy_and_accuracy(values);
    CHECK(p.loss == doctest::Approx(loss).epsilon(1e-12));
    REQUIRE(p.metrics.size() == 2);
    CHECK(p.metrics[0].name == "accuracy");
    CHECK(p.metrics[0].value == doctest::Approx(expected).epsilon(1e-12));
    shares.push_back(expected);
    double squares = 0;
    for (const double w : values["B1"]) squares += w * w;
    CHECK(p.metrics[1].value == doctest::Approx(squares).epsilon(1e-12));
    t.net.each_weight([&](const auto& weight) {
      const auto whole = on_host(trainer.gather(weight));
      values[weight.name().str()].assign(whole.data(), whole.data() + whole.size());
    });
    print(p);
  };
  const ein::FitResult result = ein::fit(trainer, options, [&](Extent) { return t.data(); });
  CHECK(result.finished);
  CHECK(result.progress.step == 4);
  CHECK(result.progress.metrics == trainer.metrics());
  CHECK(result.progress.loss == trainer.loss());
  CHECK(shares.front() < shares.back());  // else it may be anything
  if (t.world.rank == 0) {
    char expected[80];
    std::snprintf(expected, sizeof expected, "\rstep 4 of 4, loss %.4g, accuracy %.4g, size %.4g, ",
                  result.progress.loss, shares.back(), result.progress.metrics[1].value);
    CHECK(contains(line.str(), expected));
    CHECK(contains(line.str(), " steps/s"));
    CHECK(line.str().ends_with("\n"));
  } else {
    CHECK(line.str().empty());
  }
  CHECK(ein::fit(trainer, options, [&](Extent) { return t.data(); }).progress.step == 4);
}

TEST_CASE("a trainer's weights are another program's inputs, however its plan stores them") {
  Trained<networks::Perceptron, double> t;
  const auto updates = ein::minimise(t.net.loss, networks::weights_of(t.net), ein::Adam{});
  const auto plan = t.plan(updates);
  ein::Trainer trainer(plan, MPI_COMM_WORLD, Space(), updates);
  trainer.start(t.first());
  CHECK(contains(message_of([&] { (void)trainer.weights(); }),
                 "a trainer is asked for what a step leaves before it took one"));
  for (int n = 0; n < 3; ++n) trainer.step(0.02, t.data());
  const auto kept = trainer.weights();
  const ein::Checkpoint made = trainer.checkpoint();

  Trained<networks::Perceptron, double> other;
  const auto with_data = [&](std::vector<ein::Binding<Space>> bindings) {
    for (const auto& one : other.data()) bindings.push_back(one);
    return bindings;
  };
  std::vector<double> losses;
  for (const char* strategy : {"placed", "data_parallel", "model_parallel"}) {
    const auto other_plan = ein::decompose(
        other.g, {.workers = 2 * t.world.size, .ranks = t.world.size, .strategy = strategy});
    ein::Executor executor(other_plan, MPI_COMM_WORLD, Space());
    losses.push_back(on_host(executor.run(with_data(trainer.weights())).gather(other.net.loss))());
  }
  ein::Trainer resumed(plan, MPI_COMM_WORLD, Space(), updates);
  resumed.resume(made);
  const auto same_plan = ein::decompose(other.g, {.workers = t.world.size});
  ein::Executor executor(same_plan, MPI_COMM_WORLD, Space());
  losses.push_back(on_host(executor.run(with_data(resumed.weights())).gather(other.net.loss))());
  trainer.step(0.02, t.data());  // which finds the loss that the steps before it led to
  const double expected = trainer.loss();
  // They are as they were, whatever the trainer does.
  for (int n = 0; n < 3; ++n) trainer.step(0.02, t.data());
  losses.push_back(on_host(executor.run(with_data(kept)).gather(other.net.loss))());
  for (const double loss : losses) CHECK(loss == doctest::Approx(expected).epsilon(1e-12));
}

TEST_CASE("a line of progress covers a longer one before it") {
  std::ostringstream out;
  const auto print = ein::progress_line(out);
  ein::FitProgress progress{.step = 1, .steps = 1000, .loss = 1.234e-10, .seconds = 1};
  print(progress);
  const std::size_t longer = out.str().size();
  progress.loss = 1;
  print(progress);
  CHECK(out.str().size() == 2 * longer);
  CHECK(out.str().ends_with("loss 1, 0.0 steps/s        "));
}

TEST_CASE("a signal to one rank ends training on all of them, after a checkpoint") {
  Trained<networks::Perceptron, double> t;
  const auto updates = ein::minimise(t.net.loss, networks::weights_of(t.net));
  const auto plan = t.plan(updates);
  ein::Trainer trainer(plan, MPI_COMM_WORLD, Space(), updates);
  trainer.start(t.first());
  Extent saved = 0;
  ein::FitOptions options{.steps = 9};
  options.checkpoint = [&](const ein::Checkpoint& made) { saved = made.steps; };
  const auto batch = [&](Extent n) {
    if (n == 2 && t.world.rank == t.world.size - 1) (void)std::raise(SIGTERM);
    return t.data();
  };
  CHECK_FALSE(ein::fit(trainer, options, batch));
  CHECK(trainer.steps() == 3);
  if (t.world.rank == 0) CHECK(saved == 3);

  // One that comes after the last step is not lost.
  options.steps = 4;
  options.checkpoint = [](const ein::Checkpoint&) { (void)std::raise(SIGTERM); };
  CHECK_FALSE(ein::fit(trainer, options, [&](Extent) { return t.data(); }));
  CHECK(trainer.steps() == 4);
}

TEST_CASE("a trainer says what is wrong, on all ranks alike") {
  Trained<networks::Perceptron, double> t;
  const auto updates = ein::minimise(t.net.loss, networks::weights_of(t.net), ein::Momentum{});
  const auto forgotten = ein::decompose(t.g, {.workers = t.world.size});
  CHECK(contains(
      message_of([&] { ein::Trainer(forgotten, MPI_COMM_WORLD, Space(), updates); }),
      "the plan does not carry W1' to W1 (a step's weights are the next one's); decompose with "
      ".carry = updates.carry()"));
  const auto plan = t.plan(updates);
  ein::Trainer trainer(plan, MPI_COMM_WORLD, Space(), updates);
  CHECK(contains(
      message_of([&] { ein::fit(trainer, {.rate = nullptr}, [&](Extent) { return t.data(); }); }),
      "fit is given no rate of learning (a step has one); give a function of the step's number"));
  CHECK(contains(message_of([&] { trainer.step(0.1, t.data()); }),
                 "a trainer takes a step before it has weights; call start() or resume() first"));
  CHECK(contains(message_of([&] { (void)trainer.loss(); }),
                 "a trainer is asked for what a step leaves before it took one"));
  trainer.start(t.first());
  CHECK(contains(message_of([&] { trainer.step(0.1, t.bound(t.net.X)); }), "input D is not bound"));
  CHECK(
      contains(message_of([&] { trainer.step(std::nan(""), t.bound(t.net.X), t.bound(t.net.D)); }),
               "the rate of a step is nan"));
  CHECK(trainer.steps() == 0);
  trainer.step(0.1, t.bound(t.net.X), t.bound(t.net.D));
  CHECK(contains(message_of([&] { (void)trainer.gather(t.net.X); }), "tensor X is not trained"));
  ein::Checkpoint made = trainer.checkpoint();
  CHECK(made.tensors.size() == (t.world.rank == 0 ? 6U : 0U));
  ein::Checkpoint backwards = made;
  backwards.steps = -1;
  CHECK(contains(message_of([&] { trainer.resume(backwards); }),
                 "a checkpoint of -1 steps is to be resumed (none was taken backwards); resume one "
                 "that a trainer made"));
  if (t.world.rank == 0) made.tensors[1].bound = {4, 2};
  CHECK(contains(message_of([&] { trainer.resume(made); }),
                 "rank 0 of " + std::to_string(t.world.size) +
                     ": the checkpoint has tensor B1 as 4 x 2 of double and the program as 8 of "
                     "double"));
  if (t.world.rank == 0) made.tensors.erase(made.tensors.begin() + 1);
  CHECK(contains(message_of([&] { trainer.resume(made); }), "the checkpoint has no tensor B1"));
  CHECK(contains(message_of([&] {
                   trainer.on_first_rank([] { throw std::runtime_error("the disk is full"); });
                 }),
                 "the disk is full"));
  CHECK(trainer.steps() == 1);
}
