// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "property/typed_macros.hpp"
#include "property/typed_run.hpp"

TEST_CASE("typed programs on all ranks: program") { property::program_cases(property::RunCase{}); }
TEST_CASE("typed programs on all ranks: macros") {
  property::macro_cases(property::RunCase{});
  property::scan_cases(property::RunCase{});
}
