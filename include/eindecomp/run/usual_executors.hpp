// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a program of many translation units may compile once (separate_executor.hpp): executors,
/// runs and redistributors on Kokkos' default execution space, in one process and on the ranks of
/// MPI.
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>

#include "eindecomp/comm/communicator.hpp"
#ifdef EINDECOMP_ENABLE_MPI
#include "eindecomp/comm/mpi_communicator.hpp"
#endif

/// One of these classes: declared with EXTERN = extern, compiled with none.
#ifdef EINDECOMP_ENABLE_MPI
#define EINDECOMP_USUAL_SPACE_OF(EXTERN, CLASS)                                       \
  EXTERN template class CLASS<Kokkos::DefaultExecutionSpace, comm::SelfCommunicator>; \
  EXTERN template class CLASS<Kokkos::DefaultExecutionSpace, comm::MpiCommunicator>;
#else
#define EINDECOMP_USUAL_SPACE_OF(EXTERN, CLASS) \
  EXTERN template class CLASS<Kokkos::DefaultExecutionSpace, comm::SelfCommunicator>;
#endif

namespace eindecomp::run {

/// Whether those on a space and on such ranks are compiled apart where EINDECOMP_SEPARATE_EXECUTOR
/// is defined.
template <class Space, class Group>
inline constexpr bool is_usual = std::is_same_v<Space, Kokkos::DefaultExecutionSpace> &&
                                 (std::is_same_v<Group, comm::SelfCommunicator>
#ifdef EINDECOMP_ENABLE_MPI
                                  || std::is_same_v<Group, comm::MpiCommunicator>
#endif
                                 );

}  // namespace eindecomp::run
