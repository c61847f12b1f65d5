// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The program most users write: its statements run on Kokkos' default execution space.
#pragma once

#include <Kokkos_Core.hpp>

#include "eindecomp/graph/program.hpp"
#include "eindecomp/kernel/backend.hpp"

namespace eindecomp {

/// A program whose statements run on the execution space Space.
template <class Space>
using ProgramOn = BasicProgram<KokkosBackend<Space>>;

/// A program for Kokkos' default execution space.
using Program = ProgramOn<Kokkos::DefaultExecutionSpace>;

}  // namespace eindecomp
