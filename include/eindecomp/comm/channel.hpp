// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Short messages beside the data, by which ranks learn what the others are doing.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/comm/mpi.hpp"

namespace eindecomp::comm::detail {

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
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  static constexpr int tag = 32001;

  [[nodiscard]] MPI_Comm get() const { return m_comm; }
  [[nodiscard]] int rank() const { return m_rank; }
  [[nodiscard]] int size() const { return m_size; }

  /// Asks a rank what it is doing, and forgets what it said before.
  void ask(int rank) {
    const std::lock_guard lock(m_mutex);
    std::string& heard = m_heard[static_cast<std::size_t>(rank)];
    if (!heard.empty() && heard.front() == left_mark) return;
    heard.clear();
    send(rank, std::string(1, question));
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
  /// not wait.
  void serve(const std::string& doing) {
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
      if (text.front() != question) {
        m_heard[static_cast<std::size_t>(status.MPI_SOURCE)] = std::move(text);
      } else {
        send(status.MPI_SOURCE, m_left.empty() ? waits_mark + doing : left_mark + m_left);
      }
    }
    retire();
  }

  /// What a rank said since it was asked; empty if nothing.
  [[nodiscard]] std::string heard(int rank) const {
    const std::string& text = m_heard[static_cast<std::size_t>(rank)];
    return text.empty() ? text : text.substr(1);
  }
  /// Whether a rank said that it left.
  [[nodiscard]] bool has_left(int rank) const {
    const std::string& text = m_heard[static_cast<std::size_t>(rank)];
    return !text.empty() && text.front() == left_mark;
  }

  /// Whether every message of this rank has been received.
  [[nodiscard]] bool is_quiet() const { return m_sent.empty(); }

 private:
  static constexpr char question = '?';
  static constexpr char waits_mark = 'w';
  static constexpr char left_mark = 'l';

  struct Sent {
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void send(int rank, std::string text) {
    Sent& sent = m_sent.emplace_back(Sent{std::move(text), MPI_REQUEST_NULL});
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

  MPI_Comm m_comm;
  int m_rank = 0;
  int m_size = 1;
  std::string m_left;                ///< how this rank left; empty while it has not
  std::vector<std::string> m_heard;  ///< by rank, after a mark of what it means
  std::list<Sent> m_sent;            ///< not received yet, as far as is known
  std::mutex m_mutex;
};

/// The channel between all processes of the job, while a ScopedRuntime lives; null otherwise.
inline Channel*& job_channel() {
  static Channel* channel = nullptr;
  return channel;
}

}  // namespace eindecomp::comm::detail
