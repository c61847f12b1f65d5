// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Short messages beside the data, by which ranks learn what the others are doing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/comm/mpi.hpp"

namespace eindecomp::comm::detail {

/// Where a rank waits until all of a set of processes have come. They come to one rendezvous after
/// another, on whatever communicators, and none leaves one before all are there: so ranks that make
/// the same calls have the same ones with the same numbers.
struct Rendezvous {
  std::uint64_t members = 0;  ///< a hash of the processes; 0: this is none
  std::uint64_t number = 0;   ///< of theirs so far, from 1
  std::uint64_t call = 0;     ///< tells what they do in which group
  friend bool operator==(const Rendezvous&, const Rendezvous&) = default;
};

/// What ranks tell each other: that they wait in a call, or that they left and come to none.
///
/// A rank answers only while it waits itself. Messages are synchronous sends, so that a rank knows
/// when none of its own is under way any more.
class Channel {
 public:
  /// On a communicator that stays the caller's, on which nothing else uses `tag`.
  explicit Channel(MPI_Comm comm);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  static constexpr int tag = first_reserved_tag + 1;

  [[nodiscard]] MPI_Comm get() const { return m_comm; }
  [[nodiscard]] int rank() const { return m_rank; }
  [[nodiscard]] int size() const { return m_size; }

  /// This rank comes to its next rendezvous with these processes. \returns which; none where
  /// several threads may wait, of which one may yet come to what another waits for.
  Rendezvous come(std::uint64_t members, std::uint64_t call);

  /// Asks a rank what it is doing, from where this one is. A question that it has not seen yet
  /// serves as well.
  void ask(int rank, const Rendezvous& here);

  /// Tells every other rank that this one has left, and how.
  void tell_left(const std::string& how);

  /// Takes in what has come, and answers questions: this rank is `doing` that, unless it left. Does
  /// not wait. \param here where it waits. \param members the ranks that have to come there.
  void serve(const std::string& doing, const Rendezvous& here = {},
             const std::vector<int>& members = {});

  /// How many messages have come: what is asked for now is answered by later ones.
  [[nodiscard]] std::uint64_t messages() const {
    const std::lock_guard lock(m_mutex);
    return m_messages;
  }
  /// What a rank said after so many messages had come, or when it left; empty if nothing.
  [[nodiscard]] std::string heard(int rank, std::uint64_t messages) const {
    const Heard last = last_of(rank);
    return last.mark == left_mark || last.number > messages ? last.text : "";
  }
  /// Whether a rank said that it left.
  [[nodiscard]] bool has_left(int rank) const {
    const std::lock_guard lock(m_mutex);
    return m_heard[static_cast<std::size_t>(rank)].mark == left_mark;
  }
  /// Whether a rank and this one each wait where the other has not come and cannot come any more.
  [[nodiscard]] bool is_deadlocked_with(int rank) const { return last_of(rank).deadlock; }

  /// Whether every message of this rank has been received.
  [[nodiscard]] bool is_quiet() const {
    const std::lock_guard lock(m_mutex);
    return m_sent.empty();
  }

 private:
  static constexpr char question = '?';
  static constexpr char waits_mark = 'w';
  static constexpr char left_mark = 'l';

  struct Heard {
    char mark = 0;
    std::string text;
    bool deadlock = false;
    std::uint64_t number = 0;  ///< of this message, from 1
  };
  struct Sent {
    int to = 0;
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void send(int rank, std::string text);
  void retire();
  [[nodiscard]] bool has_come(const Rendezvous& to) const;
  /// What a message says to a rank that is `here`.
  [[nodiscard]] Heard taken_in(const std::string& text, const Rendezvous& here) const;
  /// The last message of a rank.
  [[nodiscard]] Heard last_of(int rank) const {
    const std::lock_guard lock(m_mutex);
    return m_heard[static_cast<std::size_t>(rank)];
  }

  template <std::size_t N>
  [[nodiscard]] static std::string packed(const std::array<Rendezvous, N>& all) {
    return {reinterpret_cast<const char*>(all.data()), sizeof all};
  }
  /// From behind the mark.
  template <std::size_t N>
  [[nodiscard]] static std::array<Rendezvous, N> unpacked(const std::string& text) {
    std::array<Rendezvous, N> all{};
    std::memcpy(all.data(), text.data() + 1, sizeof all);
    return all;
  }

  MPI_Comm m_comm;
  int m_rank = 0;
  int m_size = 1;
  std::string m_left;          ///< how this rank left; empty while it has not
  bool m_one_thread = true;    ///< at most one at a time is in a call of this library
  std::vector<Heard> m_heard;  ///< by rank
  std::uint64_t m_messages = 0;
  std::list<Sent> m_sent;                      ///< not received yet, as far as is known
  std::map<std::uint64_t, Rendezvous> m_last;  ///< by members
  mutable std::mutex m_mutex;                  ///< of what one thread hears and another asks for
};

/// The channel between all processes of the job, while a ScopedRuntime lives; null otherwise.
inline std::atomic<Channel*>& job_channel() {
  static std::atomic<Channel*> channel = nullptr;
  return channel;
}

}  // namespace eindecomp::comm::detail

#ifndef EINDECOMP_SEPARATE_EXECUTOR
#include "eindecomp/comm/channel_members.hpp"
#endif
