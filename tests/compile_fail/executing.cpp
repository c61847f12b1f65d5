// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans that cannot be executed, one per EINDECOMP_CASE; in case 0, one that can.

#include "eindecomp/eindecomp.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::let;

using Host = Kokkos::DefaultHostExecutionSpace;
#if EINDECOMP_CASE == 1
using Program = ein::PlanProgram;
#else
using Program = ein::ProgramOn<Host>;
#endif
#if EINDECOMP_CASE == 2
/// As good as an execution space, and another one than the program's.
struct Space : Host {
  using execution_space = Space;
};
#else
using Space = Host;
#endif

void run() {
  Program g;
  const auto X = g.input<double>("X", {4, 5});
  let<"H">(i) = sum(j)(X(i, j));
  const auto plan = ein::decompose(g, {.workers = 1});
  auto result = ein::execute(plan, Space(), ein::bind_generator(X, [](auto, auto) { return 1.0; }));
#if EINDECOMP_CASE == 3
  ein::bind_generator(X, [](auto) { return 1.0; });
#elif EINDECOMP_CASE == 4
  ein::bind_global(X, Kokkos::View<float**, Kokkos::HostSpace>());
#elif EINDECOMP_CASE == 5
  ein::bind_global(X, Kokkos::View<double*, Kokkos::HostSpace>());
#endif
}

void views() {
  Kokkos::View<double**, Kokkos::HostSpace> A("A", 3, 4);
  Kokkos::View<double*, Kokkos::HostSpace> y("y", 3);
#if EINDECOMP_CASE == 6
  ein::einsum<"ijk->i">(Host(), A, y);
#elif EINDECOMP_CASE == 7
  ein::einsum<"ij->i">(Host(), A, A);
#elif EINDECOMP_CASE == 8
  ein::einsum<"i?->i">(Host(), A, y);
#else
  ein::einsum<"ij->i">(Host(), A, y);
#endif
}
