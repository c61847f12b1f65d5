// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mixed_work.hpp"

int MIXED_UNIT() { return mixed::check_all(); }
