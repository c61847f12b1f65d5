// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Waiting for other ranks, but not for ever: a wait ends the program where it is for a rank that
/// left, or takes longer than the user allows.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/channel.hpp"
#include "eindecomp/comm/mpi.hpp"
#include "eindecomp/comm/tuning.hpp"

namespace eindecomp::comm::detail {

/// Ends the program on all ranks, with a message. By MPI_COMM_WORLD: of any other communicator,
/// MPICH waits until its ranks take notice, which those that stand still never do.
[[noreturn]] void abort_all(const std::string& message);

/// Seconds since it was made.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_begin).count();
  }

 private:
  std::chrono::steady_clock::time_point m_begin = std::chrono::steady_clock::now();
};

/// Waits of one rank for the others of its group. Where the job has no channel and the user set no
/// limit, a wait is not watched, and may last for ever.
class Watch {
 public:
  /// \param members the user's communicator, by which nothing is sent: where the job has no channel
  ///   nobody is asked before move_to(). \param limit seconds; 0: none.
  Watch(MPI_Comm members, double limit);

  /// From now on ranks are asked over the job's channel if there is one now, else over this
  /// duplicate of the group's communicator, if a rank of it has a limit.
  void move_to(MPI_Comm comm, bool is_limited);

  /// What the ranks of a group do together, none being done before all have come.
  enum class Collective : std::uint8_t { duplicate, maximum, all_gather };

  /// This rank begins a collective operation: of the communicator that it was made for a duplicate,
  /// of that duplicate all others.
  void come(Collective what);

  /// The call that this rank is in from now on.
  void begin(const Call& call) { m_call = call.text(); }
  [[nodiscard]] const std::string& call() const { return m_call; }
  /// All ranks of the group are in this call.
  void all_came() { m_last = m_call; }

  /// Returns when done() is true.
  template <class Done>
  void wait(bool all_must_come, const Done& done) {
    // A wait is short as a rule: the clock is read rarely, and other threads get their turn.
    for (int n = 0; n < 256; ++n) {
      if (done()) return;
      if (n > 64) std::this_thread::yield();
    }
    const Stopwatch waited;
    double next_look = 0;
    double gone_since = -1;
    double asked = -1;
    const Rendezvous here = all_must_come ? m_here : Rendezvous{};
    DeadlockSearch search;
    while (!done()) {
      std::this_thread::yield();
      if (m_channel == nullptr && m_limit <= 0) continue;
      const double now = waited.seconds();
      if (now < next_look) continue;
      next_look = now + tuning::between_looks;
      if (m_channel != nullptr) m_channel->serve(m_call, here, m_channel_ranks);
      if (here.members != 0) look_for_deadlock(search, now);
      if (all_must_come) {
        // A rank may leave having done its part, of which we hear with a delay.
        if (gone_since < 0 && first_gone() >= 0) gone_since = now;
        if (gone_since >= 0 && now - gone_since > tuning::grace + my_turn()) abort_all(who_left());
      }
      if (m_limit > 0 && now >= m_limit) {
        if (asked < 0) {
          asked = now;
          ask_all();
        } else if (now - asked > tuning::grace + my_turn()) {
          abort_all(who_is_absent());
        }
      }
    }
  }

 private:
  /// What one wait has found out.
  struct DeadlockSearch {
    double next_question = tuning::between_questions;
    int distance = 1;       ///< of the rank that is asked next
    double found = -1;      ///< when
    double asked_all = -1;  ///< when
  };

  /// Ends the program if another rank waits elsewhere for this one. In a wait that has become long
  /// each rank asks the next of its group: where some wait here and others there, two neighbours
  /// differ. If that one does not answer, it asks ranks farther away.
  void look_for_deadlock(DeadlockSearch& search, double now);

  void ask_all();
  /// Finds the ranks in the job's channel, and watches by it if they are all there.
  void find_members();
  /// Ranks of one communicator in another.
  [[nodiscard]] static std::vector<int> translated(const std::vector<int>& ranks, MPI_Comm from,
                                                   MPI_Comm to);

  [[nodiscard]] bool has_left(int member) const {
    return m_channel != nullptr && m_channel->has_left(channel_rank(member));
  }

  [[nodiscard]] int channel_rank(int member) const {
    return m_channel_ranks.empty() ? member : m_channel_ranks[static_cast<std::size_t>(member)];
  }

  /// The first rank that left; -1 if none did.
  [[nodiscard]] int first_gone() const;

  /// Seconds that this rank leaves to the ranks before it, so that one of them speaks for all.
  [[nodiscard]] double my_turn() const;

  [[nodiscard]] static std::string decimal(double value);
  [[nodiscard]] std::string name(int rank) const;
  [[nodiscard]] std::string who_left() const;
  [[nodiscard]] std::string who_is_absent() const;
  [[nodiscard]] std::string who_waits_where() const;

  MPI_Comm m_comm;  ///< of the members
  int m_rank = 0;
  int m_size = 1;
  double m_limit;
  Channel* m_channel = nullptr;
  const Channel* m_sought = nullptr;  ///< the job's channel when members were last looked for in it
  std::uint64_t m_asked = 0;          ///< how many messages had come when all ranks were asked
  std::unique_ptr<Channel> m_own;     ///< where the job has none
  std::vector<int> m_channel_ranks;   ///< by rank of the group; empty: the same
  std::uint64_t m_members = 0;        ///< a hash of them, in whatever order
  std::uint64_t m_group = 0;          ///< the number of the rendezvous that made it
  Rendezvous m_here;                  ///< where this rank waits, or waited last
  std::string m_call = "a call";
  std::string m_last;  ///< the last call in which all ranks were
};

}  // namespace eindecomp::comm::detail

#ifndef EINDECOMP_SEPARATE_EXECUTOR
#include "eindecomp/comm/watch_members.hpp"
#endif
