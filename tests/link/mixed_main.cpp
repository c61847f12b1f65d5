// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One program of translation units that are compiled for different machines, and with and without
// optimisation, over parts that are compiled for a third: MIXED_UNITS lists them as UNIT(function,
// machine).

#include <Kokkos_Core.hpp>
#include <cstdio>
#include <cstring>
#include <eindecomp/kernel/compiled_kernels.hpp>
#include <string_view>

#define UNIT(function, machine) int function();
MIXED_UNITS
#undef UNIT

namespace {

bool runs_here([[maybe_unused]] const char* machine) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (std::strcmp(machine, "x86-64-v2") == 0) return __builtin_cpu_supports("sse4.2");
  if (std::strcmp(machine, "x86-64-v3") == 0) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
  }
  if (std::strcmp(machine, "x86-64-v4") == 0) {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
#endif
  return true;
}

constexpr int skipped = 77;

}  // namespace

// The arguments are sets of kernels that the program must be run with.
int main(int arguments, char** argument) {
  for (int a = 1; a < arguments; ++a) {
    if (runs_here(argument[a])) continue;
    std::printf("skipped: linked, but this CPU does not run %s\n", argument[a]);
    return skipped;
  }
  const struct {
    int (*check)();
    const char* name;
    const char* machine;
  } units[] = {
#define UNIT(function, machine) {function, #function, machine},
      MIXED_UNITS
#undef UNIT
  };
  for (const auto& unit : units) {
    if (runs_here(unit.machine)) continue;
    std::printf("skipped: linked, but this CPU does not run %s\n", unit.machine);
    return skipped;
  }
  const Kokkos::ScopeGuard kokkos;
  int wrong = 0;
  const std::string_view kernels = eindecomp::kernel::detail::kernels_in_use();
  std::printf("kernels for %.*s\n", static_cast<int>(kernels.size()), kernels.data());
  for (int a = 1; a < arguments; ++a) {
    if (kernels != argument[a]) ++wrong;
  }
  for (const auto& unit : units) {
    std::printf("%s\n", unit.name);
    wrong += unit.check();
  }
  return wrong == 0 ? 0 : 1;
}
