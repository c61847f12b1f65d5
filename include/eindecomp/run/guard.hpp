// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// MPI and Kokkos started and ended in the right order, for programs that do nothing else with
/// them.
#pragma once

#include <Kokkos_Core.hpp>
#include <exception>
#include <source_location>

#ifdef EINDECOMP_ENABLE_MPI
#include "eindecomp/comm/job.hpp"
#endif

namespace eindecomp {

// With and without MPI it is another class, which a program may have both of: a translation unit
// without MPI starts Kokkos alone.
#ifdef EINDECOMP_ENABLE_MPI
/// With MPI.
inline namespace with_mpi {
#else
inline namespace without_mpi {
#endif

/// Initialises MPI (where enabled) and Kokkos unless the program has done so, and finalises in its
/// destructor what it initialised, Kokkos first. Every View and every Run must be gone by then: let
/// it be the first thing in main. Nothing else in the library initialises either.
///
/// While it lives no process of the job leaves the others waiting. The destructor waits for all of
/// them. One that leaves earlier (it returned, it called exit, an exception took it out of the
/// scope, caught or not) ends the program on all ranks, with a message that names it, as soon as
/// another waits for it in a call of this library; after an exception or exit also if none does,
/// when the process ends.
class ScopedRuntime {
 public:
  /// Collective over all processes of the job. Takes out of argv what MPI and Kokkos understand.
  /// \throws Error if MPI was finalised before.
  ScopedRuntime(int& argc, char**& argv,
                [[maybe_unused]] std::source_location where = std::source_location::current())
      : m_exceptions(std::uncaught_exceptions()) {
#ifdef EINDECOMP_ENABLE_MPI
    m_has_job = comm::detail::Job::start(argc, argv, where);
#endif
    if (Kokkos::is_initialized()) return;
    try {
      Kokkos::initialize(argc, argv);
    } catch (...) {
      leave(true);
      throw;
    }
    m_ends_kokkos = true;
  }
  ScopedRuntime(const ScopedRuntime&) = delete;
  ScopedRuntime& operator=(const ScopedRuntime&) = delete;
  ~ScopedRuntime() { leave(std::uncaught_exceptions() > m_exceptions); }

 private:
  void leave([[maybe_unused]] bool by_exception) {
#ifdef EINDECOMP_ENABLE_MPI
    if (m_has_job && !comm::detail::Job::leave(by_exception)) return;
#endif
    if (m_ends_kokkos) Kokkos::finalize();
#ifdef EINDECOMP_ENABLE_MPI
    if (m_has_job) comm::detail::Job::end();
#endif
  }

  int m_exceptions;
  bool m_has_job = false;
  bool m_ends_kokkos = false;
};

}  // namespace with_mpi, or without_mpi
}  // namespace eindecomp
