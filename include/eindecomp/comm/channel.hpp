// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Short messages beside the data, by which ranks learn what the others are doing.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

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
  explicit Channel(MPI_Comm comm) : m_comm(comm) {
    check(MPI_Comm_rank(comm, &m_rank), "MPI_Comm_rank");
    check(MPI_Comm_size(comm, &m_size), "MPI_Comm_size");
    m_heard.resize(static_cast<std::size_t>(m_size));
    int threads = MPI_THREAD_SINGLE;
    check(MPI_Query_thread(&threads), "MPI_Query_thread");
    m_one_thread = threads < MPI_THREAD_MULTIPLE;
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  static constexpr int tag = 32001;

  [[nodiscard]] MPI_Comm get() const { return m_comm; }
  [[nodiscard]] int rank() const { return m_rank; }
  [[nodiscard]] int size() const { return m_size; }

  /// This rank comes to its next rendezvous with these processes. \returns which; none where
  /// several threads may wait, of which one may yet come to what another waits for.
  Rendezvous come(std::uint64_t members, std::uint64_t call) {
    if (!m_one_thread) return {};
    Rendezvous& last = m_last[members];
    last = {members, last.number + 1, call};
    return last;
  }

  /// Asks a rank what it is doing, from where this one is, and forgets what it said before. A
  /// question that it has not seen yet serves as well.
  void ask(int rank, const Rendezvous& here) {
    const std::lock_guard lock(m_mutex);
    Heard& heard = m_heard[static_cast<std::size_t>(rank)];
    if (heard.mark == left_mark) return;
    heard = {};
    retire();
    if (std::ranges::any_of(
            m_sent, [rank](const Sent& s) { return s.to == rank && s.text[0] == question; })) {
      return;
    }
    send(rank, question + packed(std::array{here}));
  }

  /// Tells every other rank that this one has left, and how.
  void tell_left(const std::string& how) {
    const std::lock_guard lock(m_mutex);
    m_left = how;
    for (int r = 0; r < m_size; ++r) {
      if (r != m_rank) send(r, left_mark + how);
    }
  }

  /// Takes in what has come, and answers questions: this rank is `doing` that, unless it left. Does
  /// not wait. \param here where it waits. \param members the ranks that have to come there.
  void serve(const std::string& doing, const Rendezvous& here = {},
             const std::vector<int>& members = {}) {
    const std::unique_lock lock(m_mutex, std::try_to_lock);
    if (!lock.owns_lock()) return;  // another thread does
    for (;;) {
      int there = 0;
      MPI_Status status;
      check(MPI_Iprobe(MPI_ANY_SOURCE, tag, m_comm, &there, &status), "MPI_Iprobe");
      if (there == 0) break;
      int length = 0;
      check(MPI_Get_count(&status, MPI_CHAR, &length), "MPI_Get_count");
      std::string text(static_cast<std::size_t>(length), '\0');
      check(MPI_Recv(text.data(), length, MPI_CHAR, status.MPI_SOURCE, tag, m_comm,
                     MPI_STATUS_IGNORE),
            "MPI_Recv");
      const int peer = status.MPI_SOURCE;
      if (text.front() == question) {
        const auto [asked] = unpacked<1>(text);
        Rendezvous answer = here;
        // It is nobody's affair where this rank waits if the other is there, or need not come.
        if (has_come(asked) || std::ranges::find(members, peer) == members.end()) answer = {};
        send(peer, m_left.empty() ? waits_mark + packed(std::array{asked, answer}) + doing
                                  : left_mark + m_left);
      } else {
        m_heard[static_cast<std::size_t>(peer)] = taken_in(text, here);
      }
    }
    retire();
  }

  /// What a rank said since it was asked; empty if nothing.
  [[nodiscard]] const std::string& heard(int rank) const {
    return m_heard[static_cast<std::size_t>(rank)].text;
  }
  /// Whether a rank said that it left.
  [[nodiscard]] bool has_left(int rank) const {
    return m_heard[static_cast<std::size_t>(rank)].mark == left_mark;
  }
  /// Whether a rank and this one each wait where the other has not come and cannot come any more.
  [[nodiscard]] bool is_deadlocked_with(int rank) const {
    return m_heard[static_cast<std::size_t>(rank)].deadlock;
  }

  /// Whether every message of this rank has been received.
  [[nodiscard]] bool is_quiet() const { return m_sent.empty(); }

 private:
  static constexpr char question = '?';
  static constexpr char waits_mark = 'w';
  static constexpr char left_mark = 'l';

  struct Heard {
    char mark = 0;
    std::string text;
    bool deadlock = false;
  };
  struct Sent {
    int to = 0;
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void send(int rank, std::string text) {
    Sent& sent = m_sent.emplace_back(Sent{rank, std::move(text), MPI_REQUEST_NULL});
    check(MPI_Issend(sent.text.data(), static_cast<int>(sent.text.size()), MPI_CHAR, rank, tag,
                     m_comm, &sent.request),
          "MPI_Issend");
  }

  void retire() {
    for (auto sent = m_sent.begin(); sent != m_sent.end();) {
      int done = 0;
      check(MPI_Test(&sent->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      sent = done != 0 ? m_sent.erase(sent) : std::next(sent);
    }
  }

  [[nodiscard]] bool has_come(const Rendezvous& to) const {
    const auto last = m_last.find(to.members);
    return last != m_last.end() && (last->second.number > to.number || last->second == to);
  }

  /// What a message says to a rank that is `here`.
  [[nodiscard]] Heard taken_in(const std::string& text, const Rendezvous& here) const {
    Heard heard{text.front(), {}, false};
    std::size_t begin = 1;
    if (heard.mark == waits_mark) {
      // The other had not come to what we asked from. If we still wait there, it waits where it
      // did, for us among others, as long as we have not come there either.
      const auto [asked, there] = unpacked<2>(text);
      heard.deadlock = here.members != 0 && asked == here && there.members != 0 && !has_come(there);
      begin += sizeof asked + sizeof there;
    }
    heard.text = text.substr(begin);
    return heard;
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
  std::list<Sent> m_sent;      ///< not received yet, as far as is known
  std::map<std::uint64_t, Rendezvous> m_last;  ///< by members
  std::mutex m_mutex;
};

/// The channel between all processes of the job, while a ScopedRuntime lives; null otherwise.
inline Channel*& job_channel() {
  static Channel* channel = nullptr;
  return channel;
}

}  // namespace eindecomp::comm::detail
