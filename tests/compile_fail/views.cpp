// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views that do not suit: in case 1 the compiler's errors are the sentences that the comments
// begin; case 2 is an einsum string that cannot be read, case 3 an output that cannot be written.

#include <cstdint>

#include "eindecomp/kernel/einsum.hpp"

namespace ein = eindecomp;

using Host = Kokkos::DefaultHostExecutionSpace;
using Matrix = Kokkos::View<double**, Kokkos::HostSpace>;
using Vector = Kokkos::View<double*, Kokkos::HostSpace>;
using Halves = Kokkos::View<ein::bfloat16**, Kokkos::HostSpace>;
using Bytes = Kokkos::View<std::int8_t**, Kokkos::HostSpace>;
using Floats = Kokkos::View<float**, Kokkos::HostSpace>;

void views() {
  const Matrix A("A", 3, 4);
  const Vector y("y", 3);
  ein::einsum<"ij->i">(A, y);
  ein::einsum<"ij,kj->ik">(Host(), Halves("H", 3, 4), Halves("H", 3, 4), Floats("C", 3, 3));
#if EINDECOMP_CASE == 1
  // refused: a view's rank is not the number of its labels in the einsum string
  ein::einsum<"ijk->i">(Host(), A, y);
  // refused: a view's rank is not the number of its labels in the einsum string
  ein::einsum<"ij->i">(Host(), A, A);
  // refused: the output's element type is not what the algebra makes of the operands'
  ein::einsum<"ij->ji">(Host(), A, Floats("F", 4, 3));
  // refused: the output of einsum is of 16-bit numbers (what is computed from them is float)
  ein::einsum<"ij,kj->ik">(Host(), Halves("H", 3, 4), Halves("H", 3, 4), Halves("C", 3, 3));
  // refused: with alpha and beta all views have one element type
  ein::einsum<"ij,kj->ik">(Host(), {.alpha = 2}, A, Floats("F", 3, 4), Matrix("C", 3, 3));
  // refused: alpha and beta are for elements whose products are of their own type
  ein::einsum<"ij,kj->ik">(Host(), {.alpha = 2}, Bytes("B", 3, 4), Bytes("B", 3, 4),
                           Bytes("C", 3, 3));
  // refused: einsum is given another number of views than its string says
  ein::einsum<"ij,kj->ik">(A);
  // refused: einsum is given another number of views than its string says
  [[maybe_unused]] const auto trace = ein::einsum<"ii">(Host(), A, A, A);
  // refused: einsum of views takes an execution space, or none, then alpha and beta, if any
  ein::einsum<"ij,kj->ik">(A, Host(), A);
  // refused: einsum of views takes an execution space, or none, then alpha and beta, if any
  ein::einsum<"ij->i">(3, A, y);
  // refused: alpha and beta are for sums of products of one or two operands; einsum_scaled takes
  ein::einsum<"ij,kj,k->i">(Host(), ein::Scaling<double>{2, 1}, A, A, y, y);
  // refused: alpha and beta are for sums of products of one or two operands; einsum_scaled takes
  ein::einsum<"ij,kj,kl,l->i">(ein::Scaling<double>{2, 1}, A, A, A, y, y);
  // refused: einsum of views has up to four operands; einsum_views has up to eight
  ein::einsum<"ij,ij,ij,ij,ij->i">(A, A, A, A, A, y);
#elif EINDECOMP_CASE == 2
  ein::einsum<"i?->i">(Host(), A, y);
#elif EINDECOMP_CASE == 3
  ein::einsum<"ij->i">(Host(), A, Kokkos::View<const double*, Kokkos::HostSpace>(y));
#endif
}
