// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How a plan gets to all ranks. With EINDECOMP_SEPARATE_EXECUTOR, one translation unit compiles
/// it.
#pragma once

#include <cstdint>
#include <functional>
#include <source_location>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/comm/mpi_communicator.hpp"
#include "eindecomp/comm/or_abort.hpp"
#include "eindecomp/core/config.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/hash.hpp"
#include "eindecomp/plan/lines.hpp"
#include "eindecomp/plan/packed_plan.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/run/share_plan.hpp"

namespace eindecomp::run {

EINDECOMP_EXECUTOR_INLINE Plan shared_plan(const EinGraph& graph, MPI_Comm user,
                                           const std::function<Plan()>& make,
                                           const std::source_location& where) {
  const comm::Call call("share_plan", where);
  comm::MpiCommunicator group(user, "EinDecomp plan", comm::default_chunk, 0, call);
  const std::uint64_t hash = plan::graph_hash(graph);
  plan::Packed packed;
  comm::agree_on(
      group, call,
      [&] {
        if (group.rank() != 0) return;
        const Plan made = make();
        if (plan::graph_hash(made.graph) != hash || made.placement.stored.empty()) {
          throw Error(ErrorKind::plan,
                      "the plan that is to be shared is of another program, or not placed (the "
                      "ranks would not know what it speaks of); return decompose() of this program",
                      where);
        }
        packed = plan::pack(made);
      },
      {{"programs", "build the same program, with the same extents and constants, on every rank",
        hash, [&] { return plan::lines_of(graph); }}});
  const auto nowhere = [] { return ""; };
  comm::or_abort(group, call, nowhere, [&] {
    auto size = static_cast<std::int64_t>(packed.size());
    group.broadcast(&size, 1, sizeof size, 0);
    packed.resize(to_index(size));
    group.broadcast(packed.data(), size, sizeof(std::int64_t), 0);
  });
  return plan::unpack(graph, packed);
}

}  // namespace eindecomp::run
