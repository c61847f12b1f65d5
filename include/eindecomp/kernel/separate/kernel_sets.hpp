// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The usual kernels compiled for several instruction sets, of which a program uses the one for its
/// processor. What cmake/separate.cmake makes where EINDECOMP_KERNEL_SETS asks for it:
/// separate_kernels.hpp is compiled once for each set, as number EINDECOMP_KERNEL_SET, and once for
/// the choice, with EINDECOMP_KERNEL_SETS their names, the plainest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <source_location>
#include <string_view>

#include "eindecomp/core/error.hpp"
#include "eindecomp/kernel/compiled_kernels.hpp"

namespace eindecomp::kernel::detail {

/// Those of the set of a number. Defined in its object file, of which all else is hidden: functions
/// that others have, too, must not serve a processor without these instructions.
template <int Set, class Space, class Join, class Monoid, class... Ts>
struct KernelsOfSet {
  [[nodiscard]] static const CompiledKernels<Space, Join, Monoid, Ts...>& get();
};
template <int Set>
struct SharedOfSet {
  /// Runs what the object file would have run before main(). Once, before all else.
  static void start();
  /// copy_nest_compiled()
  static void copy(const Kokkos::DefaultHostExecutionSpace& space, const char* label,
                   const CopyNest& nest, std::int64_t element_bytes, StorePolicy policy, void* into,
                   const void* from);
};

/// Whether this processor runs what is compiled with -march=`name`.
[[nodiscard]] inline bool runs_here([[maybe_unused]] std::string_view name) {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  if (name == "x86-64-v2") return __builtin_cpu_supports("sse4.2") != 0;
  if (name == "x86-64-v3") {
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi2") != 0 &&
           __builtin_cpu_supports("fma") != 0;
  }
  if (name == "x86-64-v4") {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
           __builtin_cpu_supports("avx512vl") != 0;
  }
#endif
  return name == "x86-64";
}

/// The number of the set that a program uses: the last one that its processor runs, or what the
/// environment's EINDECOMP_KERNEL_SET names.
/// \throws Error, without a place, if that is not there or does not run here.
template <std::size_t Sets>
[[nodiscard]] int choose_set(const std::string_view (&names)[Sets]) {
  const char* const wanted = std::getenv("EINDECOMP_KERNEL_SET");
  int chosen = -1;
  Text offered;
  for (std::size_t set = 0; set < Sets; ++set) {
    if (!runs_here(names[set])) continue;
    offered << (chosen < 0 ? "" : ", ") << names[set];
    chosen = static_cast<int>(set);
    if (wanted != nullptr && names[set] == wanted) return chosen;
  }
  if (chosen < 0) {
    throw Error(ErrorKind::plan,
                Text() << "the kernels are compiled for other processors (" << names[0]
                       << " at least); compile them for this one",
                std::source_location());
  }
  if (wanted != nullptr && *wanted != '\0') {
    throw Error(ErrorKind::plan,
                Text() << "the environment's EINDECOMP_KERNEL_SET is " << wanted
                       << " (the kernels are compiled for, and run here: " << offered
                       << "); name one of these, or none",
                std::source_location());
  }
  return chosen;
}

}  // namespace eindecomp::kernel::detail
