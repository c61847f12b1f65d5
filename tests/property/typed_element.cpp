// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "property/typed_run.hpp"

TEST_CASE("typed programs on all ranks: element") { property::element_cases(property::RunCase{}); }
