// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// MPI and Kokkos started and ended in the right order, for programs that do nothing else with
/// them.
#pragma once

#include <Kokkos_Core.hpp>

#ifdef EINDECOMP_ENABLE_MPI
#include "eindecomp/comm/mpi.hpp"
#endif

namespace eindecomp {

/// Initialises MPI (where enabled) and Kokkos unless the program has done so, and finalises in its
/// destructor what it initialised, Kokkos first. Every View and every Run must be gone by then: let
/// it be the first thing in main. The library itself never initialises either.
class ScopedRuntime {
 public:
  /// Collective over all processes of the job. Takes out of argv what MPI and Kokkos understand.
  ScopedRuntime(int& argc, char**& argv) {
#ifdef EINDECOMP_ENABLE_MPI
    int running = 0;
    comm::detail::check(MPI_Initialized(&running), "MPI_Initialized");
    if (running == 0) {
      int provided = 0;
      comm::detail::check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided),
                          "MPI_Init_thread");
      m_ends_mpi = true;
    }
#endif
    if (!Kokkos::is_initialized()) {
      Kokkos::initialize(argc, argv);
      m_ends_kokkos = true;
    }
  }
  ScopedRuntime(const ScopedRuntime&) = delete;
  ScopedRuntime& operator=(const ScopedRuntime&) = delete;
  ~ScopedRuntime() {
    if (m_ends_kokkos) Kokkos::finalize();
#ifdef EINDECOMP_ENABLE_MPI
    if (m_ends_mpi) MPI_Finalize();
#endif
  }

 private:
  bool m_ends_kokkos = false;
#ifdef EINDECOMP_ENABLE_MPI
  bool m_ends_mpi = false;
#endif
};

}  // namespace eindecomp
