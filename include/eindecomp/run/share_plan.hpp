// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Planning once for all ranks; empty without MPI.
#pragma once

#ifdef EINDECOMP_ENABLE_MPI

#include <cstdint>
#include <optional>
#include <source_location>
#include <utility>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/comm/mpi_communicator.hpp"
#include "eindecomp/comm/or_abort.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/hash.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/plan/hash.hpp"
#include "eindecomp/plan/lines.hpp"
#include "eindecomp/plan/packed_plan.hpp"
#include "eindecomp/plan/plan.hpp"

namespace eindecomp {

/// A plan that rank 0 makes and all ranks of `user` get: for searches that take long, for files
/// that not every rank shall read.
///
///     auto plan = ein::share_plan(g, MPI_COMM_WORLD, [&] { return decompose(g, options); });
///     auto plan = ein::share_plan(g, MPI_COMM_WORLD, [&] { return cache.decompose(g, options); });
///
/// Collective over `user`, which is duplicated meanwhile.
/// \param program  the same on every rank.
/// \param make     called on rank 0 alone, not collectively; returns a Plan of `program`.
/// \returns the plan with this rank's launchers; its hash is the same on every rank.
/// \throws Error, on all ranks alike: what `make` throws, or if ranks have different programs, or
///   the plan is of another program or not placed.
template <class Backend, class Make>
[[nodiscard]] BasicPlan<typename PlanBackendOf<Backend>::type> share_plan(
    const BasicProgram<Backend>& program, MPI_Comm user, const Make& make,
    std::source_location where = std::source_location::current()) {
  const comm::Call call("share_plan", where);
  comm::MpiCommunicator group(user, "EinDecomp plan", comm::default_chunk, 0, call);
  const auto hash_of = [](const EinGraph& graph) {
    core::Hasher hasher;
    plan::add_to_hash(hasher, graph);
    return hasher.value();
  };
  const std::uint64_t hash = hash_of(program.graph());
  plan::Packed packed;
  comm::agree_on(
      group, call,
      [&] {
        if (group.rank() != 0) return;
        const Plan made = make();
        if (hash_of(made.graph) != hash || made.placement.stored.empty()) {
          throw Error(ErrorKind::plan,
                      "the plan that is to be shared is of another program, or not placed (the "
                      "ranks would not know what it speaks of); return decompose() of this program",
                      where);
        }
        packed = plan::pack(made);
      },
      {{"programs", "build the same program, with the same extents and constants, on every rank",
        hash, [&] { return plan::lines_of(program.graph()); }}});
  const auto nowhere = [] { return ""; };
  comm::or_abort(group, call, nowhere, [&] {
    auto size = static_cast<std::int64_t>(packed.size());
    group.broadcast(&size, 1, sizeof size, 0);
    packed.resize(to_index(size));
    group.broadcast(packed.data(), size, sizeof(std::int64_t), 0);
  });
  return {plan::unpack(program.graph(), packed), program.launchers()};
}

}  // namespace eindecomp
#endif
