// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <eindecomp/eindecomp.hpp>

int version_seen_by_the_other_unit() { return EINDECOMP_VERSION; }
