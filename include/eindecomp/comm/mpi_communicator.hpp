// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The user's MPI communicator, duplicated, with transfers counted in elements.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <source_location>
#include <string>
#include <vector>

#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/comm/job.hpp"
#include "eindecomp/comm/mpi.hpp"
#include "eindecomp/comm/watch.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"

namespace eindecomp::comm {

/// A duplicate of a user's communicator: our messages never meet theirs, and errors come back as
/// Errors whatever handler they set. Every function runs on the calling thread; MPI must have been
/// initialised so that this thread may call it (MPI_THREAD_FUNNELED is enough on the main thread).
/// Waits end the program, with a message, where they cannot end by themselves (Watch). Where MPI
/// reports a failure, functions throw an Error of the kind `communication` on that rank alone;
/// transfers may then be under way, and the communicator can only be destroyed.
class MpiCommunicator {
 public:
  /// Collective over `user`. \param name the duplicate's name, which MPI tools show.
  /// \param chunk the most elements of one message; longer transfers are cut into several.
  /// \param time_limit the most seconds to wait for other ranks in one call; 0: no limit.
  /// \param call the call that needs it, for the messages of those who wait.
  /// \throws Error if MPI is not running, or `user` is null or an inter-communicator; on all ranks
  ///   alike, if the time limit of one is negative or not a number.
  explicit MpiCommunicator(MPI_Comm user, const char* name, Extent chunk = default_chunk,
                           double time_limit = 0,
                           const Call& call = {"the construction of a communicator",
                                               std::source_location::current()});

  /// Destruction is collective, unless MPI was finalised before.
  MpiCommunicator(MpiCommunicator&& other) noexcept;
  ~MpiCommunicator();

  /// This process's rank in the group.
  [[nodiscard]] int rank() const noexcept { return m_rank; }
  [[nodiscard]] int size() const noexcept { return m_size; }
  /// Whether the MPI library says that it takes pointers to a GPU's memory.
  [[nodiscard]] bool gpu_aware() const { return detail::gpu_aware(); }
  /// The duplicate that its messages go by.
  [[nodiscard]] MPI_Comm get() const noexcept { return m_comm; }
  /// What this rank has sent and received so far.
  [[nodiscard]] Traffic traffic() const noexcept { return m_traffic; }

  /// The call that this rank is in from now on, for the messages of those who wait for it.
  void begin(const Call& call) { m_watch.begin(call); }

  /// Replaces each value by the largest of all ranks. Collective, and the first of every call.
  void maximum(std::vector<std::uint64_t>& values);

  /// Every rank's text, by rank. Collective.
  /// \param most  the most characters of all ranks together in one step, the same on every rank
  [[nodiscard]] std::vector<std::string> all_gather(const std::string& text,
                                                    int most = std::numeric_limits<int>::max());

  /// Starts receiving `elements` of `bytes` each. Messages of one peer and tag arrive in the order
  /// they were sent. `into` may not be touched before wait().
  /// \param most  the most elements of one message, the same at both ends; 0: the chunk.
  void receive(int peer, void* into, Extent elements, int bytes, int tag, Extent most = 0);

  /// Starts sending `elements` of `bytes` each. `from` may not be changed before wait().
  /// \param most  as receive() has it.
  void send(int peer, const void* from, Extent elements, int bytes, int tag, Extent most = 0);

  /// Moves on what was started, as far as that goes without waiting. MPI need not move anything
  /// while nobody calls it.
  void progress();

  /// Completes every transfer started. Not by MPI_Waitall: MPICH's never gives another process its
  /// turn, and whom the rank waits for may need the core.
  void wait();

  /// Copies root's elements to every rank. Collective.
  void broadcast(void* data, Extent elements, int bytes, int root);

  /// Ends the program on every rank of MPI_COMM_WORLD, with a message. Not collective.
  [[noreturn]] void abort(const std::string& message) { detail::abort_all(message); }

 private:
  static constexpr int agreement_tag = first_reserved_tag;

  /// Returns `user` if it can be duplicated.
  [[nodiscard]] static MPI_Comm checked(MPI_Comm user, const std::source_location& where);

  /// Whether a communicator has the processes of MPI_COMM_WORLD, more than one.
  [[nodiscard]] static bool has_all_processes(MPI_Comm comm);

  /// Makes the job if there is none. Collective. \throws Error on all ranks if the time limit of
  /// one is none.
  void agree_to_begin(double time_limit, const std::source_location& where);
  /// A duplicate of `comm`. Collective.
  [[nodiscard]] MPI_Comm duplicate(MPI_Comm comm, const std::source_location& where);

  /// Completes a request. \param all_must_come whether no rank's is complete before all have come.
  void wait_for(MPI_Request request, bool all_must_come);

  MPI_Datatype datatype(int bytes);

  detail::Owned<MPI_Comm> m_comm{MPI_COMM_NULL, MPI_COMM_NULL, MPI_Comm_free};
  int m_rank = 0;
  int m_size = 1;
  Extent m_chunk;
  detail::Watch m_watch;
  std::map<int, detail::Owned<MPI_Datatype>> m_datatypes;  ///< by the bytes of an element
  std::vector<MPI_Request> m_requests;
  std::vector<int> m_completed;  ///< of requests, in one look at them
  Traffic m_traffic;
};

static_assert(Communicator<MpiCommunicator>);

}  // namespace eindecomp::comm

#ifndef EINDECOMP_SEPARATE_EXECUTOR
#include "eindecomp/comm/mpi_communicator_members.hpp"
#endif
