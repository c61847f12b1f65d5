// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans that cannot be executed: in case 1 the compiler's errors are the sentences that the
// comments begin.

#include <vector>

#include "eindecomp/eindecomp.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::let;

using Host = Kokkos::DefaultHostExecutionSpace;
using Matrix = Kokkos::View<double**, Kokkos::HostSpace>;
using Vector = Kokkos::View<double*, Kokkos::HostSpace>;

/// As good as an execution space, and another one than the programs'.
struct Elsewhere : Host {
  using execution_space = Elsewhere;
};

template <class Program, class Space>
void run() {
  Program g;
  const auto X = g.template input<double>("X", {4, 5});
  let<"H">(i) = sum(j)(X(i, j));
  const auto plan = ein::decompose(g, {.workers = 1});
  ein::execute(plan, Space(), ein::bind_generator(X, [](auto, auto) { return 1.0; }));
}

void runs() {
  run<ein::ProgramOn<Host>, Host>();
#if EINDECOMP_CASE == 1
  // refused: this plan cannot be executed
  run<ein::PlanProgram, Host>();
  // refused: the plan's program is for another execution space
  run<ein::ProgramOn<Host>, Elsewhere>();
#endif
}

void bindings() {
  ein::ProgramOn<Host> g;
  const auto X = g.input<double>("X", {4, 5});
  ein::bind_global(X, Matrix());
#if EINDECOMP_CASE == 1
  // refused: the generator cannot be called with one index per dimension
  ein::bind_generator(X, [](auto) { return 1.0; });
  // refused: the view's value type is not the tensor's
  ein::bind_global(X, Kokkos::View<float**, Kokkos::HostSpace>());
  // refused: the view's rank is not the tensor's
  ein::bind_global(X, Vector());
  // refused: bind and bind_global take Kokkos views
  ein::bind_global(X, std::vector<double>(20));
  // refused: bind and bind_global take Kokkos views
  ein::bind(X, std::vector<double>(20));
#endif
}

void results(const ein::Run<Host, ein::comm::SelfCommunicator>& run) {
  (void)run.gather_as<double, 1>("H");
  (void)run.local_as<double, 1>("H");
#if EINDECOMP_CASE == 1
  // refused: a result is gathered by a name (which does not say its value type and rank)
  run.gather("H");
  // refused: a result is asked for by a name (which does not say its value type and rank)
  run.local("H");
#endif
}

void others_than_are_compiled_apart() {
#if EINDECOMP_CASE == 1
  // refused: executors of this execution space or communicator are not among those
  (void)sizeof(ein::Executor<Elsewhere, ein::comm::SelfCommunicator>);
  // refused: redistributors of this execution space or communicator are not among those
  (void)sizeof(ein::Redistributor<Elsewhere, ein::comm::SelfCommunicator>);
#endif
}
