// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that must not compile, and why; without EINDECOMP_EXPECT_REJECTION, their neighbours
// that must.

#include "eindecomp/graph/let.hpp"
#include "eindecomp/kernel/backend.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/run/executor.hpp"

namespace ein = eindecomp;
using ein::Extent;
using Space = Kokkos::DefaultHostExecutionSpace;
using Program = ein::BasicProgram<ein::KokkosBackend<Space>>;

#ifdef EINDECOMP_EXPECT_REJECTION
constexpr bool rejected = true;
#else
constexpr bool rejected = false;
#endif

template <bool Condition, class Yes, class No>
using If = std::conditional_t<Condition, Yes, No>;

#if EINDECOMP_CASE == 1
void a_plan_only_program() {
  If<rejected, ein::PlanProgram, Program> program;
  const auto A = program.template input<double>("A", {4});
  const auto plan = ein::decompose(program, {.workers = 1});
  (void)ein::execute(plan, Space(), ein::bind_generator(A, [](Extent) { return 1.0; }));
}
#elif EINDECOMP_CASE == 2
void a_view_of_another_value_type() {
  Program program;
  const auto A = program.input<double>("A", {4});
  (void)ein::bind(A, Kokkos::View<If<rejected, float, const double>*, Space>());
}
#elif EINDECOMP_CASE == 3
void a_view_of_another_rank() {
  Program program;
  const auto A = program.input<double>("A", {4, 4});
  (void)ein::bind_global(A, Kokkos::View<If<rejected, double*, double**>, Space>());
}
#elif EINDECOMP_CASE == 4
void a_generator_of_too_few_indices() {
  Program program;
  const auto A = program.input<double>("A", {4, 4});
#ifdef EINDECOMP_EXPECT_REJECTION
  (void)ein::bind_generator(A, [](Extent) { return 1.0; });
#else
  (void)ein::bind_generator(A, [](Extent, Extent) { return 1.0; });
#endif
}
#elif EINDECOMP_CASE == 5
/// As good as an execution space, and another one than the program's.
struct OtherSpace : Space {
  using execution_space = OtherSpace;
};
void an_instance_of_another_space() {
  Program program;
  const auto A = program.input<double>("A", {4});
  const auto plan = ein::decompose(program, {.workers = 1});
  using Given = If<rejected, OtherSpace, Space>;
  (void)ein::execute(plan, Given(), ein::bind_generator(A, [](Extent) { return 1.0; }));
}
#endif
