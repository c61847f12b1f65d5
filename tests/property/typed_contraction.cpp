// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "property/typed_run.hpp"

TEST_CASE("typed programs on all ranks: contraction") {
  property::contraction_cases(property::RunCase{});
}
TEST_CASE("typed programs on all ranks: products and sums that are taken apart") {
  property::separable_cases(property::RunCase{});
}
