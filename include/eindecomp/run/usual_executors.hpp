// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a program of many translation units may compile once (separate_executor.hpp): executors and
/// runs on Kokkos' default execution space, in one process and on the ranks of MPI.
#pragma once

/// Those of one kind of ranks: declared with EXTERN = extern, compiled with none.
#define EINDECOMP_EXECUTORS_OF(EXTERN, GROUP)                            \
  EXTERN template class Run<Kokkos::DefaultExecutionSpace, comm::GROUP>; \
  EXTERN template class Executor<Kokkos::DefaultExecutionSpace, comm::GROUP>;

#ifdef EINDECOMP_ENABLE_MPI
#define EINDECOMP_USUAL_EXECUTORS(EXTERN)          \
  EINDECOMP_EXECUTORS_OF(EXTERN, SelfCommunicator) \
  EINDECOMP_EXECUTORS_OF(EXTERN, MpiCommunicator)
#else
#define EINDECOMP_USUAL_EXECUTORS(EXTERN) EINDECOMP_EXECUTORS_OF(EXTERN, SelfCommunicator)
#endif
