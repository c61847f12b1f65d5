// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <cstdio>
#include <eindecomp/eindecomp.hpp>

int main() { std::printf("EinDecomp %d\n", EINDECOMP_VERSION); }
