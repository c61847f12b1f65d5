// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/plan/machine.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace eindecomp;

namespace {

/// Three nodes of two boards of four devices.
constexpr Machine cluster() {
  return {.operations_per_second = 1e12,
          .memory = 1'000'000,
          .axes = {{.size = 3, .latency = 3e-6, .bandwidth = 1e9},
                   {.size = 2, .latency = 2e-6, .bandwidth = 2e9},
                   {.size = 4, .latency = 1e-6, .bandwidth = 3e9}}};
}

}  // namespace

TEST_CASE("two workers are joined by the link of the first level in which they differ") {
  const Machine machine = cluster();
  REQUIRE(machine.workers() == 24);
  const auto node = [](int w) { return w / 8; };
  const auto board = [](int w) { return w / 4; };
  for (int a = 0; a < 24; ++a) {
    for (int b = 0; b < 24; ++b) {
      if (a == b) continue;
      const double expected = node(a) != node(b) ? 1e9 : board(a) != board(b) ? 2e9 : 3e9;
      REQUIRE(machine.between(a, b).bandwidth == expected);
    }
  }
}

TEST_CASE("a machine is a constant expression's value") {
  static_assert(cluster().workers() == 24);
  static_assert(cluster().described());
  static_assert(!Machine{}.described());
  static_assert(Machine{}.workers() == 1);
  static_assert((check_machine(cluster()), true));
}

TEST_CASE("what cannot be a machine is refused") {
  const auto refuses = [](auto change, const char* sentence) {
    Machine machine = cluster();
    change(machine);
    CHECK_THROWS_WITH_AS(check_machine(machine), doctest::Contains(sentence), Error);
  };
  constexpr double infinite = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (double rate : {0.0, -1.0, infinite, nan}) {
    CAPTURE(rate);
    refuses([=](Machine& m) { m.operations_per_second = rate; }, "do no operations");
    refuses([=](Machine& m) { m.axes[1].bandwidth = rate; },
            "axis 1 of a machine has no bandwidth");
  }
  for (double amount : {-1.0, infinite, nan}) {
    CAPTURE(amount);
    refuses([=](Machine& m) { m.memory_bandwidth = amount; }, "memory has no bandwidth");
    refuses([=](Machine& m) { m.axes[2].latency = amount; }, "axis 2 of a machine has no latency");
  }
  refuses([](Machine& m) { m.memory = -5; }, "a worker of a machine that may hold -5 bytes");
  refuses([](Machine& m) { m.axes[0].size = 0; }, "axis 0 of a machine has size 0");
  refuses([](Machine& m) { m.axes[2].size = std::numeric_limits<int>::max(); },
          "axis 2 of a machine makes it a machine of too many workers");
}
