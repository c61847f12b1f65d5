// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two threads of the host at once, each with an executor of its own, in one process without MPI: on
// Kokkos::Serial, because other host spaces take their kernels from one thread at a time.

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/macros.hpp"
#include "eindecomp/kernel/backend.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/run/executor.hpp"

#ifdef KOKKOS_ENABLE_SERIAL

namespace ein = eindecomp;
using namespace ein::labels;
using ein::let;

namespace {

using Space = Kokkos::Serial;
using Program = ein::BasicProgram<ein::KokkosBackend<Space>>;
using Plan = ein::BasicPlan<ein::KokkosBackend<Space>>;

/// Products over two algebras and a softmax: BLAS, packed and element-wise kernels and their
/// workspaces.
struct Network {
  static constexpr ein::Extent n = 96;
  Program program;
  ein::Symbol<double, 2, Program::Backend> X = program.input<double>("X", {n, n});
  ein::Symbol<double, 2, Program::Backend> W = program.input<double>("W", {n, n});
  ein::Symbol<double, 2, Program::Backend> S = written(X, W);

  static ein::Symbol<double, 2, Program::Backend> written(
      const ein::Symbol<double, 2, Program::Backend>& x,
      const ein::Symbol<double, 2, Program::Backend>& w) {
    const auto product = let<"product">(i, k) = sum(j)(x(i, j) * w(j, k));
    const auto paths = let<"paths">(i, k) = min(j)(product(i, j) + w(j, k));
    return let<"S">(i, k) = softmax(k)(paths(i, k));
  }

  /// The elements of S for inputs that depend on `seed`; empty if a run failed.
  template <class Executor>
  [[nodiscard]] std::vector<double> run(Executor& executor, int seed) const {
    const auto element = [seed](ein::Extent row, ein::Extent column) {
      return static_cast<double>((seed + 7 * row + 3 * column) % 11) / 8;
    };
    const auto run = executor.run(ein::bind_generator(X, element), ein::bind_generator(W, element));
    const auto s = run.gather(S);
    std::vector<double> elements;
    for (ein::Extent row = 0; row < n; ++row) {
      for (ein::Extent column = 0; column < n; ++column) elements.push_back(s(row, column));
    }
    return elements;
  }
};

}  // namespace

TEST_CASE("executors of two threads at once give what each gives alone") {
  constexpr int seeds = 3;
  constexpr int runs = 30;
  const Network network;
  const Plan plan = ein::decompose(network.program, {.workers = 4, .ranks = 1});
  std::vector<std::vector<double>> expected;
  ein::Executor alone(plan, Space());
  for (int seed = 0; seed < seeds; ++seed) expected.push_back(network.run(alone, seed));

  std::atomic<int> wrong{0};
  std::atomic<int> ready{0};
  const auto work = [&](int first) {
    ++ready;
    while (ready < 2) std::this_thread::yield();  // so that they do run at once
    for (int made = 0; made < 3; ++made) {
      ein::Executor executor(plan, Space());
      for (int n = 0; n < runs; ++n) {
        const int seed = (first + n) % seeds;
        if (network.run(executor, seed) != expected[static_cast<std::size_t>(seed)]) ++wrong;
      }
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  CHECK(wrong == 0);
}

TEST_CASE("an error on one of two threads is its own") {
  const Network network;
  const Plan plan = ein::decompose(network.program, {.workers = 1});
  std::string message;
  std::thread other([&] {
    ein::Executor executor(plan, Space());
    try {
      (void)executor.run(ein::bind_generator(network.X, [](auto, auto) { return 1.0; }));
    } catch (const ein::Error& error) {
      message = error.what();
    }
  });
  ein::Executor executor(plan, Space());
  CHECK(network.run(executor, 1).size() == Network::n * Network::n);
  other.join();
  CHECK(message.find("input W is not bound") != std::string::npos);
}

#endif
