// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The members of Redistributor. With EINDECOMP_SEPARATE_EXECUTOR, one translation unit compiles
/// those of the default execution space.
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/comm/or_abort.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/relation/redistribution.hpp"
#include "eindecomp/run/check_views.hpp"
#include "eindecomp/run/options.hpp"
#include "eindecomp/run/redistribute.hpp"
#include "eindecomp/run/staged_exchange.hpp"

namespace eindecomp {

template <class Space, comm::Communicator Group>
Redistributor<Space, Group>::Redistributor(Group&& group, const ExecuteOptions& options,
                                           const Space& space, Distribution from, Distribution to,
                                           const std::source_location& where)
    : m_group(std::move(group)),
      m_space(space),
      m_from(std::move(from)),
      m_to(std::move(to)),
      m_exchange(std::make_unique<run::StagedExchange<Space>>()) {
  comm::agree_on(
      m_group, comm::Call("the construction of a Redistributor", where),
      [&] {
        relation::check_same_tensor(m_from, m_to, where);
        run::check_ranks_of(m_from, m_group.size(), where);
        run::check_messages(options, where);
      },
      {{"distributions", "describe the same distributions on every rank",
        m_from.hash() ^ (m_to.hash() * 31)},
       {"chunk limits of messages", "give the redistributor the same options on every rank",
        static_cast<std::uint64_t>(options.chunk)}});
}

template <class Space, comm::Communicator Group>
Redistributor<Space, Group>::Redistributor(Redistributor&& other) noexcept = default;

template <class Space, comm::Communicator Group>
Redistributor<Space, Group>::~Redistributor() = default;

template <class Space, comm::Communicator Group>
RedistributionStatistics Redistributor<Space, Group>::move(
    const std::vector<kernel::StridedTensor>& from, const std::vector<kernel::StridedTensor>& to,
    int bytes, const std::source_location& where) {
  if (m_exchange == nullptr) {
    throw Error(ErrorKind::binding,
                "the redistributor was moved from (its arrays are those of the one it was moved "
                "to); use that one",
                where);
  }
  const comm::Call call("redistribute", where);
  std::vector<kernel::StridedTensor> old_arrays;
  std::vector<kernel::StridedTensor> new_arrays;
  comm::agree_on(m_group, call,
                 [&] {
                   const int rank = m_group.rank();
                   old_arrays = run::check_views(m_from, rank, from, "the old distribution", where);
                   new_arrays = run::check_views(m_to, rank, to, "the new distribution", where);
                   if (old_arrays != m_old_arrays || new_arrays != m_new_arrays) {
                     run::check_apart(new_arrays, old_arrays, where);
                     m_old_arrays = old_arrays;
                     m_new_arrays = new_arrays;
                   }
                   m_exchange->prepare(m_from, m_to, rank, bytes, old_arrays, new_arrays, {},
                                       where);
                   m_exchange->allocate(where);
                 },
                 {{"element sizes", "give views of one value type on every rank",
                   static_cast<std::uint64_t>(bytes)}});
  RedistributionStatistics moved;
  comm::or_abort(
      m_group, call, [] { return ""; },
      [&] { moved = m_exchange->run(m_space, m_group, old_arrays, new_arrays); });
  return moved;
}

}  // namespace eindecomp
