// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "property/typed_run.hpp"

TEST_CASE("typed programs on all ranks: contraction") {
  property::contraction_cases(property::RunCase{});
}
