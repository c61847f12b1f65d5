// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The public classes as a translation unit sees them.
#pragma once

#include <cstddef>
#include <eindecomp/eindecomp.hpp>
#include <string>
#include <vector>

struct Layout {
  std::string name;
  std::size_t size = 0;
  std::size_t alignment = 0;
  bool operator==(const Layout&) const = default;
};

// Each unit its own: what a linker takes for one function must not differ.
namespace {

template <class T>
Layout layout_of(const char* name) {
  return {name, sizeof(T), alignof(T)};
}

#define LAYOUT(...) layout_of<__VA_ARGS__>(#__VA_ARGS__)

/// Those of the core, which need neither Kokkos nor MPI.
[[maybe_unused]] std::vector<Layout> core_layouts() {
  namespace ein = eindecomp;
  using ein::NoBackend;
  return {LAYOUT(ein::Error),
          LAYOUT(ein::EinGraph),
          LAYOUT(ein::Vertex),
          LAYOUT(ein::BasicProgram<NoBackend>),
          LAYOUT(ein::Symbol<double, 2, NoBackend>),
          LAYOUT(ein::AnySymbol),
          LAYOUT(ein::DecomposeOptions),
          LAYOUT(ein::Machine),
          LAYOUT(ein::Placement),
          LAYOUT(ein::Plan),
          LAYOUT(ein::BasicPlan<NoBackend>),
          LAYOUT(ein::TaskGraph),
          LAYOUT(ein::RankProgram),
          LAYOUT(ein::Instruction),
          LAYOUT(ein::Timeline)};
}

#ifdef EINDECOMP_ENABLE_KOKKOS
/// Those of runs, by processes of their own and by this one alone.
[[maybe_unused]] std::vector<Layout> run_layouts() {
  namespace ein = eindecomp;
  using Space = Kokkos::DefaultHostExecutionSpace;
  using Backend = ein::KokkosBackend<Space>;
  using Memory = Space::memory_space;
  using Self = ein::comm::SelfCommunicator;
  return {LAYOUT(Self),
          LAYOUT(ein::BasicProgram<Backend>),
          LAYOUT(ein::Symbol<double, 2, Backend>),
          LAYOUT(ein::BasicPlan<Backend>),
          LAYOUT(ein::Binding<Space>),
          LAYOUT(ein::ViewBinding<Memory>),
          LAYOUT(ein::ExecuteOptions),
          LAYOUT(ein::RunStatistics),
          LAYOUT(ein::LocalBlock<double, 2, Memory>),
          LAYOUT(ein::LocalTensor<double, 2, Memory>),
          LAYOUT(ein::ScopedWorkspace<Space>),
          LAYOUT(ein::Scaling<double>),
          LAYOUT(ein::Executor<Space, Self>),
          LAYOUT(ein::Run<Space, Self>)};
}
#endif

#undef LAYOUT

}  // namespace
