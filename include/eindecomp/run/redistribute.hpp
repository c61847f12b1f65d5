// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Moving a tensor from one distribution to another, without a program.
#pragma once

#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/run/distributed_views.hpp"
#include "eindecomp/run/options.hpp"
#include "eindecomp/run/usual_executors.hpp"
#ifdef EINDECOMP_ENABLE_MPI
#include "eindecomp/comm/mpi_communicator.hpp"
#endif

namespace eindecomp {

namespace run {
template <class Space>
class StagedExchange;
}  // namespace run

/// Moves tensors from one distribution to another, as often as there are data: what moves, packing
/// and messages are worked out once. Must be destroyed on all ranks, and before Kokkos is
/// finalised.
template <class Space, comm::Communicator Group>
class Redistributor {
 public:
#ifdef EINDECOMP_SEPARATE_EXECUTOR
  static_assert(
      run::is_usual<Space, Group> || requires { sizeof(run::StagedExchange<Space>); },
      "EinDecomp: redistributors of this execution space or communicator are not among those "
      "that are compiled apart; include eindecomp/run/redistribute_members.hpp where you use one");
#endif

#ifdef EINDECOMP_ENABLE_MPI
  /// For the ranks of `user`, which is duplicated. Collective; does not fence.
  /// \param options  of which `chunk` and `time_limit` hold; the others are an Executor's
  /// \throws Error, on all ranks alike, if the distributions are of different tensors, for another
  ///   number of ranks, or not the same on all ranks, as the chunk of the options must be.
  Redistributor(
      MPI_Comm user, const Space& space, Distribution from, Distribution to,
      const ExecuteOptions& options = {},
      const std::source_location& where =
          std::source_location::current()) requires(std::is_same_v<Group, comm::MpiCommunicator>)
      : Redistributor(Group(user, "EinDecomp redistribution", options.chunk, options.time_limit,
                            comm::Call("the construction of a Redistributor", where)),
                      options, space, std::move(from), std::move(to), where) {}
#endif
  /// For a group of ranks of its own.
  Redistributor(Group&& group, const Space& space, Distribution from, Distribution to,
                const std::source_location& where = std::source_location::current())
      : Redistributor(std::move(group), ExecuteOptions{}, space, std::move(from), std::move(to),
                      where) {}

  /// A Redistributor may be moved, not copied: its communicator is its own.
  Redistributor(Redistributor&& other) noexcept;
  ~Redistributor();

  /// Moves the elements of this rank's old arrays, and of the other ranks', to the new arrays of
  /// all ranks. Views may have any layout; where a rank has one array the view alone will do, where
  /// it has none an empty one. New arrays overlap neither each other nor the old ones. Collective;
  /// fences the space's instance.
  /// \param from  views of this rank's arrays in the old distribution, in their order.
  /// \param to    views of its arrays in the new one, which are written.
  /// \returns what moved; the words received are those of redistributed_words().
  /// \throws Error, on all ranks alike and before anything moves, if views do not fit the
  ///   distributions, are null or overlap, or memory is short.
  template <class From, class To>
  RedistributionStatistics run(
      const From& from, const To& to,
      const std::source_location& where = std::source_location::current()) {
    using Element = typename run::ViewOf<From>::non_const_value_type;
    static_assert(std::is_same_v<Element, typename run::ViewOf<To>::value_type>,
                  "EinDecomp: the new arrays' elements are of another type than the old ones', or "
                  "const; give views of one value type");
    static_assert(compat::accessible<Space, typename run::ViewOf<From>::memory_space> &&
                      compat::accessible<Space, typename run::ViewOf<To>::memory_space>,
                  "EinDecomp: a view lies in memory that the execution space cannot reach; copy it "
                  "there first (Kokkos::create_mirror_view_and_copy)");
    return move(run::strided_views(from), run::strided_views(to), static_cast<int>(sizeof(Element)),
                where);
  }

 private:
  Redistributor(Group&& group, const ExecuteOptions& options, const Space& space, Distribution from,
                Distribution to, const std::source_location& where);

  RedistributionStatistics move(const std::vector<kernel::StridedTensor>& from,
                                const std::vector<kernel::StridedTensor>& to, int bytes,
                                const std::source_location& where);

  Group m_group;
  Space m_space;
  Distribution m_from;
  Distribution m_to;
  std::unique_ptr<run::StagedExchange<Space>> m_exchange;
  std::vector<kernel::StridedTensor> m_old_arrays;  ///< that were found to be apart from
  std::vector<kernel::StridedTensor> m_new_arrays;  ///< these
};

#ifdef EINDECOMP_ENABLE_MPI
/// With a communicator, the ranks are its processes.
template <class Space>
Redistributor(MPI_Comm, const Space&, Distribution, Distribution, const ExecuteOptions& = {},
              std::source_location = {}) -> Redistributor<Space, comm::MpiCommunicator>;

/// Moves a tensor from one distribution to another once: a Redistributor and one run of it.
/// Collective over `user`, which is duplicated; fences `space`.
/// \returns what moved on this rank: the least there is, elements that were not yet where they
///   belong.
/// \throws Error, on all ranks alike, what the constructor and Redistributor::run throw.
template <compat::ExecutionSpace Space, class From, class To>
RedistributionStatistics redistribute(
    MPI_Comm user, const Space& space, const Distribution& from, const From& from_views,
    const Distribution& to, const To& to_views,
    const std::source_location& where = std::source_location::current()) {
  return Redistributor<Space, comm::MpiCommunicator>(user, space, from, to, {}, where)
      .run(from_views, to_views, where);
}
#endif

}  // namespace eindecomp

#ifdef EINDECOMP_SEPARATE_EXECUTOR
namespace eindecomp {
EINDECOMP_USUAL_SPACE_OF(extern, Redistributor)
}
#else
#include "eindecomp/run/redistribute_members.hpp"
#endif
