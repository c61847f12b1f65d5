// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of one process, compiled without MPI.

#include <doctest/doctest.h>

#include <string>

#include "run/programs.hpp"

#ifdef EINDECOMP_ENABLE_MPI
#error "this test is about the library without MPI"
#endif

using namespace run_test;
using namespace eindecomp::labels;

TEST_CASE("a plan of many workers for this process alone needs no communicator") {
  Program program;
  const auto A = program.input<double>("A", {13, 9});
  const auto B = program.input<double>("B", {9, 11});
  const auto C = let<"C">(i, k) = sum(j)(A(i, j) * B(j, k));
  const auto R = let<"R">(i) = max(k)(C(i, k));
  program.role(i, "batch");
  const Formula<> fa{1};
  const Formula<> fb{2};
  for_each_plan(program, 1, [&](const Plan& plan) {
    CAPTURE(plan.strategy);
    CAPTURE(plan.workers);
    using View = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;
    const View whole = filled<View>(ein::Box{{0, 0}, {13, 9}}, fa);
    const auto run =
        ein::execute(plan, Space(), ein::bind_global(A, whole), ein::bind_generator(B, fb));
    const auto got = on_host(run.gather(R));
    bool right = true;
    for (Extent r = 0; r < 13; ++r) {
      double largest = -1e9;
      for (Extent c = 0; c < 11; ++c) {
        double x = 0;
        for (Extent n = 0; n < 9; ++n) x += fa(r, n) * fb(n, c);
        largest = std::max(largest, x);
      }
      right = right && got(r) == largest;
    }
    CHECK(right);
    CHECK(run.statistics().words_received == 0);
  });
}

TEST_CASE("a plan for several ranks is refused, with what to do") {
  Program program;
  const auto A = program.input<double>("A", {8});
  const auto B = let<"B">(i) = exp(A(i));
  const Plan plan = ein::decompose(program, {.workers = 4});
  std::string message;
  try {
    (void)ein::execute(plan, Space(), ein::bind_generator(A, Formula<>{}));
  } catch (const ein::Error& e) {
    message = e.what();
  }
  CHECK(message.find("the plan is for 4 ranks and is executed by 1") != std::string::npos);
  CHECK(message.find(".ranks = 1") != std::string::npos);
  (void)B;
}
