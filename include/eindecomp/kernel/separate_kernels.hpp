// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The kernels of the usual signatures (separate/usual_kernels.hpp), compiled once for a program of
/// many translation units. The program defines EINDECOMP_SEPARATE_KERNELS in all of them, and one
/// of them includes this header, which no other may. Other signatures are compiled where they are
/// used, as ever. (separate/kernel_sets.hpp says what it is for several instruction sets.)
#pragma once

#ifndef EINDECOMP_SEPARATE_KERNELS
#define EINDECOMP_SEPARATE_KERNELS
#endif

#include "eindecomp/kernel/separate/usual_kernels.hpp"
#if defined(EINDECOMP_KERNEL_SET) || defined(EINDECOMP_KERNEL_SETS)
#include "eindecomp/kernel/separate/kernel_sets.hpp"
#endif
#ifndef EINDECOMP_KERNEL_SETS
#include "eindecomp/kernel/separate/list_kernels.hpp"
#endif

#if defined(EINDECOMP_KERNEL_SET)

// One of several sets.
#define EINDECOMP_PASTED(a, b) a##b
#define EINDECOMP_PASTE(a, b) EINDECOMP_PASTED(a, b)
#define EINDECOMP_FIRST EINDECOMP_PASTE(__start_eindecomp_start_, EINDECOMP_KERNEL_SET)
#define EINDECOMP_LAST EINDECOMP_PASTE(__stop_eindecomp_start_, EINDECOMP_KERNEL_SET)
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern void (*const EINDECOMP_FIRST[])();
[[gnu::weak, gnu::visibility("hidden")]] extern void (*const EINDECOMP_LAST[])();
}

namespace eindecomp::kernel::detail {

template <int Set, class Space, class Join, class Monoid, class... Ts>
const CompiledKernels<Space, Join, Monoid, Ts...>&
KernelsOfSet<Set, Space, Join, Monoid, Ts...>::get() {
  static constexpr auto kernels = list_kernels<Space, Join, Monoid, Ts...>();
  return kernels;
}

template <int Set>
void SharedOfSet<Set>::start() {
  for (auto* function = EINDECOMP_FIRST; function != EINDECOMP_LAST; ++function) (*function)();
}

template <int Set>
void SharedOfSet<Set>::copy(const Kokkos::DefaultHostExecutionSpace& space, const char* label,
                            const CopyNest& nest, std::int64_t element_bytes, StorePolicy policy,
                            void* into, const void* from) {
  copy_nest_here(space, label, nest, element_bytes, policy, into, from);
}

#define EINDECOMP_KERNELS_OF_SET(EXTERN, JOIN, MONOID, ...)                                   \
  template struct KernelsOfSet<EINDECOMP_KERNEL_SET, Kokkos::DefaultHostExecutionSpace, JOIN, \
                               MONOID, __VA_ARGS__>;
EINDECOMP_USUAL_SIGNATURES_OF(EINDECOMP_KERNELS_OF_SET, , float)
EINDECOMP_USUAL_SIGNATURES_OF(EINDECOMP_KERNELS_OF_SET, , double)
template struct SharedOfSet<EINDECOMP_KERNEL_SET>;

}  // namespace eindecomp::kernel::detail

#else

namespace eindecomp::kernel {
namespace detail {

#if defined(EINDECOMP_KERNEL_SETS)

// The choice.
inline constexpr std::string_view set_names[] = {EINDECOMP_KERNEL_SETS};
inline constexpr int sets = static_cast<int>(std::size(set_names));

/// Calls visit with the number of the chosen set as a constant.
template <int Set = 0, class Visit>
auto with_set(int chosen, const Visit& visit) {
  if constexpr (Set + 1 < sets) {
    if (chosen != Set) return with_set<Set + 1>(chosen, visit);
  }
  return visit(std::integral_constant<int, Set>{});
}

/// The number of the set in use, started.
inline int chosen_set() {
  static const int chosen = [] {
    const int set = choose_set(set_names);
    with_set(set, [](auto number) { SharedOfSet<number>::start(); });
    return set;
  }();
  return chosen;
}

std::string_view kernels_in_use() { return set_names[chosen_set()]; }

template <class Space, class Join, class Monoid, class... Ts>
const CompiledKernels<Space, Join, Monoid, Ts...>& compiled_kernels() {
  static const auto* const kernels = with_set(chosen_set(), [](auto number) {
    return &KernelsOfSet<number, Space, Join, Monoid, Ts...>::get();
  });
  return *kernels;
}

void copy_nest_compiled(const Kokkos::DefaultHostExecutionSpace& space, const char* label,
                        const CopyNest& nest, std::int64_t element_bytes, StorePolicy policy,
                        void* into, const void* from) {
  with_set(chosen_set(), [&](auto number) {
    SharedOfSet<number>::copy(space, label, nest, element_bytes, policy, into, from);
  });
}

#else

// The flags of the compiler.
#define EINDECOMP_QUOTED(text) #text
#define EINDECOMP_QUOTE(text) EINDECOMP_QUOTED(text)
std::string_view kernels_in_use() { return EINDECOMP_QUOTE(EINDECOMP_INSTRUCTION_SET); }

template <class Space, class Join, class Monoid, class... Ts>
const CompiledKernels<Space, Join, Monoid, Ts...>& compiled_kernels() {
  static constexpr auto kernels = list_kernels<Space, Join, Monoid, Ts...>();
  return kernels;
}

void copy_nest_compiled(const Kokkos::DefaultHostExecutionSpace& space, const char* label,
                        const CopyNest& nest, std::int64_t element_bytes, StorePolicy policy,
                        void* into, const void* from) {
  copy_nest_here(space, label, nest, element_bytes, policy, into, from);
}

#endif

}  // namespace detail

template <class Space, class Join, class Monoid, class... Ts>
const CompiledKernels<Space, Join, Monoid, Ts...>&
CompiledKernels<Space, Join, Monoid, Ts...>::get() {
  return detail::compiled_kernels<Space, Join, Monoid, Ts...>();
}

EINDECOMP_USUAL_KERNELS()

}  // namespace eindecomp::kernel

#endif
