// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between the reference's tensors and a run's, for value types and ranks known at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "eindecomp/graph/program.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/run/execute.hpp"
#include "eindecomp/run/executor.hpp"
#include "eindecomp/run/share_plan.hpp"
#include "support/reference.hpp"

namespace property {

using Space = Kokkos::DefaultExecutionSpace;
using Executor = eindecomp::Executor<Space, eindecomp::comm::MpiCommunicator>;
using Run = Executor::RunType;
using Binding = eindecomp::Binding<Space>;

/// A plan of the program, made by rank 0: ranks that share a core would plan one after another.
template <class Backend>
[[nodiscard]] auto shared_plan(const eindecomp::BasicProgram<Backend>& program,
                               const eindecomp::DecomposeOptions& options) {
  return eindecomp::share_plan(program, MPI_COMM_WORLD,
                               [&] { return eindecomp::decompose(program, options); });
}

/// How an input is handed over: whole, from one rank or as this rank's blocks; in views of either
/// layout, or const and unmanaged ones of parts of wider tensors; as a function of the index; or in
/// a distribution drawn at random.
enum class Way {
  whole_left,
  whole_right,
  whole_within,
  from_root,
  blocks_left,
  blocks_right,
  blocks_within,
  generated,
  distributed
};
inline constexpr int ways = 9;

/// Keeps what unmanaged views look at.
using Memory = std::vector<std::shared_ptr<const void>>;

/// An input's values for a run on `rank`. `root`: of Way::from_root. What is not kept alive by the
/// binding is put into `memory`.
Binding bind_tensor(const eindecomp::Plan& plan, eindecomp::VertexId v,
                    const reference::Tensor& tensor, Way way, int rank, int root, Memory& memory);

/// This rank's blocks of a result as an input of another plan: with their places, or, of doubles,
/// as mere views.
enum class Handover { blocks, views };
Binding bind_result(const eindecomp::Plan& plan, eindecomp::VertexId input, const Run& run,
                    const eindecomp::EinGraph& graph, eindecomp::VertexId result, Handover how);

/// A result's values on every rank. Collective.
std::vector<reference::Wide> gather_tensor(const Run& run, const eindecomp::EinGraph& graph,
                                           eindecomp::VertexId v);

/// How many elements of this rank's blocks of a result are further than `tolerance` from a whole
/// tensor's. Not collective.
std::size_t count_wrong(const Run& run, const eindecomp::EinGraph& graph, eindecomp::VertexId v,
                        const reference::Tensor& expected, long double tolerance);

/// The same of a result brought to a distribution that is drawn from `seed`, the same on all ranks;
/// words that are not those predicted count as wrong elements. Collective.
std::size_t count_wrong_distributed(const Run& run, const eindecomp::Plan& plan,
                                    eindecomp::VertexId v, const reference::Tensor& expected,
                                    long double tolerance, int rank, std::uint64_t seed);

}  // namespace property
