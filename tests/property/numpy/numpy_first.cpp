// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "property/numpy/expected.hpp"
#include "property/numpy/numpy_check.hpp"

TEST_CASE("einsum forms of NumPy and opt_einsum: first half") {
  first_half(property::numpy::Check{});
}
