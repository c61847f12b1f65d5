// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Waiting for other ranks, but not for ever: a wait ends the program where it is for a rank that
/// left, or takes longer than the user allows.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/channel.hpp"
#include "eindecomp/comm/mpi.hpp"
#include "eindecomp/comm/same_text.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/hash.hpp"

namespace eindecomp::comm::detail {

/// Ends the program on all ranks, with a message. By MPI_COMM_WORLD: of any other communicator,
/// MPICH waits until its ranks take notice, which those that stand still never do.
[[noreturn]] inline void abort_all(const std::string& message) {
  std::cout.flush();
  std::fprintf(stderr, "%s\n", message.c_str());
  std::fflush(nullptr);
  // MPICH's launcher may end before it has passed on what was just said.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  std::_Exit(EXIT_FAILURE);
}

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
/// limit there is nothing to watch for, and the caller may let MPI wait.
class Watch {
 public:
  /// \param members whose ranks are waited for. \param limit seconds; 0: none.
  Watch(MPI_Comm members, double limit) : m_limit(limit) {
    check(MPI_Comm_rank(members, &m_rank), "MPI_Comm_rank");
    check(MPI_Comm_size(members, &m_size), "MPI_Comm_size");
    if (m_size == 1) return;
    if (job_channel() != nullptr) {
      m_channel = job_channel();
      find_members(members);
    } else if (limit > 0) {
      use(members);
    }
  }

  /// From now on ranks are waited for in this duplicate of the group's communicator, and asked over
  /// the job's channel if there is one now.
  void move_to(MPI_Comm comm) {
    if (m_size == 1 || (m_channel != nullptr && m_own == nullptr)) return;
    if (job_channel() != nullptr) {
      m_channel = job_channel();
      find_members(comm);
      if (m_channel == job_channel()) m_own.reset();
    } else if (m_own != nullptr) {
      use(comm);
    }
  }

  /// What the ranks of a group do together, none being done before all have come.
  enum class Collective : std::uint8_t { duplicate, maximum, all_gather };

  /// This rank begins a collective operation: of the communicator that it was made for a duplicate,
  /// of that duplicate all others.
  void come(Collective what) {
    if (m_channel == nullptr || m_own != nullptr) return;
    const std::uint64_t group = what == Collective::duplicate ? 0 : m_group;
    m_here = m_channel->come(m_members, 4 * group + static_cast<std::uint64_t>(what));
    if (what == Collective::duplicate) m_group = m_here.number;
  }

  /// The call that this rank is in from now on.
  void begin(const Call& call) { m_call = call.text(); }
  [[nodiscard]] const std::string& call() const { return m_call; }
  /// All ranks of the group are in this call.
  void all_came() { m_last = m_call; }

  /// Whether wait() can do more than MPI's own waiting.
  /// \param all_must_come whether no rank is done before every rank has come: of other waits, one
  ///   that left may have done its part.
  [[nodiscard]] bool is_on(bool all_must_come) const {
    return m_channel != nullptr && (all_must_come || m_limit > 0);
  }

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
      if (m_channel == nullptr) continue;
      const double now = waited.seconds();
      if (now < next_look) continue;
      next_look = now + between_looks;
      m_channel->serve(m_call, here, m_channel_ranks);
      if (here.members != 0) look_for_deadlock(search, now);
      if (all_must_come) {
        // A rank may leave having done its part, of which we hear with a delay.
        if (gone_since < 0 && first_gone() >= 0) gone_since = now;
        if (gone_since >= 0 && now - gone_since > grace + my_turn()) abort_all(who_left());
      }
      if (m_limit > 0 && now >= m_limit) {
        if (asked < 0) {
          asked = now;
          ask_all();
        } else if (now - asked > grace + my_turn()) {
          abort_all(who_is_absent());
        }
      }
    }
  }

 private:
  static constexpr double between_looks = 1e-3;  ///< seconds, as all here
  static constexpr double grace = 1;             ///< for a rank that left to say why; for answers
  static constexpr double between_questions = 1;

  /// What one wait has found out.
  struct DeadlockSearch {
    double next_question = between_questions;
    int distance = 1;       ///< of the rank that is asked next
    double found = -1;      ///< when
    double asked_all = -1;  ///< when
  };

  /// Ends the program if another rank waits elsewhere for this one. In a wait that has become long
  /// each rank asks the next of its group: where some wait here and others there, two neighbours
  /// differ. If that one does not answer, it asks ranks farther away.
  void look_for_deadlock(DeadlockSearch& search, double now) {
    if (search.asked_all >= 0) {
      if (now - search.asked_all > 0.3) abort_all(who_waits_where());
      return;
    }
    if (search.found >= 0) {
      if (now - search.found < my_turn()) return;
      search.asked_all = now;
      return ask_all();
    }
    for (int distance = 1; distance < m_size; distance *= 2) {
      const int peer = channel_rank((m_rank + distance) % m_size);
      if (m_channel->is_deadlocked_with(peer)) search.found = now;
    }
    if (now < search.next_question) return;
    m_channel->ask(channel_rank((m_rank + search.distance) % m_size), m_here);
    search.next_question = now + between_questions;
    search.distance = 2 * search.distance < m_size ? 2 * search.distance : 1;
  }

  void ask_all() {
    for (int r = 0; r < m_size; ++r) {
      if (r != m_rank) m_channel->ask(channel_rank(r), m_here);
    }
  }

  void use(MPI_Comm comm) {
    m_own = std::make_unique<Channel>(comm);
    m_channel = m_own.get();
  }

  void find_members(MPI_Comm members) {
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    check(MPI_Comm_group(m_channel->get(), &all), "MPI_Comm_group");
    check(MPI_Comm_group(members, &some), "MPI_Comm_group");
    std::vector<int> ranks(static_cast<std::size_t>(m_size));
    for (int r = 0; r < m_size; ++r) ranks[static_cast<std::size_t>(r)] = r;
    m_channel_ranks.resize(ranks.size());
    const int code =
        MPI_Group_translate_ranks(some, m_size, ranks.data(), all, m_channel_ranks.data());
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    check(code, "MPI_Group_translate_ranks");
    core::Hasher hasher;
    std::ranges::sort(ranks = m_channel_ranks);
    hasher.add(ranks);
    m_members = hasher.value();
    // Processes that the job started later are in no channel.
    if (std::ranges::find(m_channel_ranks, MPI_UNDEFINED) == m_channel_ranks.end()) return;
    m_channel = nullptr;
    m_channel_ranks.clear();
    if (m_limit > 0) use(members);
  }

  [[nodiscard]] int channel_rank(int member) const {
    return m_channel_ranks.empty() ? member : m_channel_ranks[static_cast<std::size_t>(member)];
  }

  /// The first rank that left; -1 if none did.
  [[nodiscard]] int first_gone() const {
    for (int r = 0; r < m_size; ++r) {
      if (r != m_rank && m_channel->has_left(channel_rank(r))) return r;
    }
    return -1;
  }

  /// Seconds that this rank leaves to the ranks before it, so that one of them speaks for all.
  [[nodiscard]] double my_turn() const {
    double turn = 0;
    for (int r = 0; r < m_rank; ++r) {
      if (!m_channel->has_left(channel_rank(r))) turn += 0.2;
    }
    return std::min(turn, 2.0);
  }

  [[nodiscard]] static std::string decimal(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%g", value);
    return text;
  }

  [[nodiscard]] std::string name(int rank) const { return Text("rank ") + rank + " of " + m_size; }

  [[nodiscard]] std::string who_left() const {
    const int gone = first_gone();
    return Text("EinDecomp: ") + name(m_rank) + " waits in " + m_call + " for rank " + gone +
           ", which " + m_channel->heard(channel_rank(gone)) + "; the program ends on all ranks";
  }

  [[nodiscard]] std::string who_is_absent() const {
    Text text;
    text << "EinDecomp: " << name(m_rank) << " has waited longer than the time limit of "
         << decimal(m_limit) << " s in " << m_call;
    bool others = false;
    for (int r = 0; r < m_size; ++r) {
      if (r == m_rank) continue;
      const std::string heard = m_channel->heard(channel_rank(r));
      text << (others ? "; " : ": ") << "rank " << r << ' ';
      others = true;
      if (!heard.empty()) {
        text << (m_channel->has_left(channel_rank(r)) ? "" : "waits in ") << heard;
      } else if (m_last.empty()) {
        text << "does not answer and was in no call of this executor before";
      } else {
        text << "does not answer and was last seen in " << m_last;
      }
    }
    text << "; the program ends on all ranks";
    return text.str();
  }

  [[nodiscard]] std::string who_waits_where() const {
    std::vector<std::string> texts(static_cast<std::size_t>(m_channel->size()));
    for (int r = 0; r < m_size; ++r) {
      const std::string& heard = m_channel->heard(channel_rank(r));
      texts[static_cast<std::size_t>(channel_rank(r))] = r == m_rank     ? m_call
                                                         : heard.empty() ? "does not answer"
                                                                         : heard;
    }
    Text who(m_size == m_channel->size() ? "" : "in MPI_COMM_WORLD ");
    bool others = false;
    for (const SameText& group : group_by_text(texts)) {
      who << (others ? "; " : "") << name_ranks(group.ranks) << ": " << group.text;
      others = true;
    }
    return Text("EinDecomp: ranks are in different calls, where they wait for each other (") + who +
           "); make the same calls in the same order on every rank; the program ends on all ranks";
  }

  int m_rank = 0;
  int m_size = 1;
  double m_limit;
  Channel* m_channel = nullptr;
  std::unique_ptr<Channel> m_own;    ///< where the job has none
  std::vector<int> m_channel_ranks;  ///< by rank of the group; empty: the same
  std::uint64_t m_members = 0;       ///< a hash of them, in whatever order
  std::uint64_t m_group = 0;         ///< the number of the rendezvous that made it
  Rendezvous m_here;                 ///< where this rank waits, or waited last
  std::string m_call = "a call";
  std::string m_last;  ///< the last call in which all ranks were
};

}  // namespace eindecomp::comm::detail
