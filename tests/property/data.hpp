// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between the reference's tensors and a run's, for value types and ranks known at run time.
#pragma once

#include <vector>

#include "eindecomp/run/executor.hpp"
#include "support/reference.hpp"

namespace property {

using Space = Kokkos::DefaultExecutionSpace;
using Executor = eindecomp::Executor<Space, eindecomp::comm::MpiCommunicator>;
using Run = Executor::RunType;
using Binding = eindecomp::Binding<Space>;

/// How an input is handed over.
enum class Way { whole_left, whole_right, from_root, blocks_left, blocks_right };
inline constexpr int ways = 5;

/// An input's values for a run on `rank`. `root`: of Way::from_root.
Binding bind_tensor(const eindecomp::Plan& plan, eindecomp::VertexId v,
                    const reference::Tensor& tensor, Way way, int rank, int root);

/// A result's values on every rank. Collective.
std::vector<reference::Wide> gather_tensor(const Run& run, const eindecomp::EinGraph& graph,
                                           eindecomp::VertexId v);

}  // namespace property
