// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views that do not suit: in case 1 the compiler's errors are the sentences that the comments
// begin; case 2 is an einsum string that cannot be read.

#include "eindecomp/kernel/einsum.hpp"

namespace ein = eindecomp;

using Host = Kokkos::DefaultHostExecutionSpace;
using Matrix = Kokkos::View<double**, Kokkos::HostSpace>;
using Vector = Kokkos::View<double*, Kokkos::HostSpace>;

void views() {
  const Matrix A("A", 3, 4);
  const Vector y("y", 3);
  ein::einsum<"ij->i">(Host(), A, y);
#if EINDECOMP_CASE == 1
  // refused: a view's rank is not the number of its labels in the einsum string
  ein::einsum<"ijk->i">(Host(), A, y);
  // refused: a view's rank is not the number of its labels in the einsum string
  ein::einsum<"ij->i">(Host(), A, A);
#elif EINDECOMP_CASE == 2
  ein::einsum<"i?->i">(Host(), A, y);
#endif
}
