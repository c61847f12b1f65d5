// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What ranks tell each other beside the data. With EINDECOMP_SEPARATE_EXECUTOR, one translation
/// unit compiles it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/comm/channel.hpp"
#include "eindecomp/comm/mpi.hpp"
#include "eindecomp/core/config.hpp"

namespace eindecomp::comm::detail {

EINDECOMP_EXECUTOR_INLINE Channel::Channel(MPI_Comm comm) : m_comm(comm) {
  check(MPI_Comm_rank(comm, &m_rank), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &m_size), "MPI_Comm_size");
  m_heard.resize(static_cast<std::size_t>(m_size));
  int threads = MPI_THREAD_SINGLE;
  check(MPI_Query_thread(&threads), "MPI_Query_thread");
  m_one_thread = threads < MPI_THREAD_MULTIPLE;
}

EINDECOMP_EXECUTOR_INLINE Channel::~Channel() {
  // MPI may still read a message that nobody has received: its memory is left to it.
  if (!m_sent.empty()) {
    static_cast<void>(std::make_unique<decltype(m_sent)>(std::move(m_sent)).release());
  }
}

EINDECOMP_EXECUTOR_INLINE Rendezvous Channel::come(std::uint64_t members, std::uint64_t call) {
  if (!m_one_thread) return {};
  Rendezvous& last = m_last[members];
  last = {members, last.number + 1, call};
  return last;
}

EINDECOMP_EXECUTOR_INLINE void Channel::ask(int rank, const Rendezvous& here) {
  const std::lock_guard lock(m_mutex);
  Heard& heard = m_heard[static_cast<std::size_t>(rank)];
  if (heard.mark == left_mark) return;
  heard.deadlock = false;
  retire();
  if (std::ranges::any_of(
          m_sent, [rank](const Sent& s) { return s.to == rank && s.text[0] == question; })) {
    return;
  }
  send(rank, question + packed(std::array{here}));
}

EINDECOMP_EXECUTOR_INLINE void Channel::tell_left(const std::string& how) {
  const std::lock_guard lock(m_mutex);
  m_left = how;
  for (int r = 0; r < m_size; ++r) {
    if (r != m_rank) send(r, left_mark + how);
  }
}

EINDECOMP_EXECUTOR_INLINE void Channel::serve(const std::string& doing, const Rendezvous& here,
                                              const std::vector<int>& members) {
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
    check(
        MPI_Recv(text.data(), length, MPI_CHAR, status.MPI_SOURCE, tag, m_comm, MPI_STATUS_IGNORE),
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
      Heard& heard = m_heard[static_cast<std::size_t>(peer)];
      heard = taken_in(text, here);
      heard.number = ++m_messages;
    }
  }
  retire();
}

EINDECOMP_EXECUTOR_INLINE void Channel::send(int rank, std::string text) {
  Sent& sent = m_sent.emplace_back(Sent{rank, std::move(text), MPI_REQUEST_NULL});
  check(MPI_Issend(sent.text.data(), static_cast<int>(sent.text.size()), MPI_CHAR, rank, tag,
                   m_comm, &sent.request),
        "MPI_Issend");
}

EINDECOMP_EXECUTOR_INLINE void Channel::retire() {
  for (auto sent = m_sent.begin(); sent != m_sent.end();) {
    int done = 0;
    check(MPI_Test(&sent->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    sent = done != 0 ? m_sent.erase(sent) : std::next(sent);
  }
}

EINDECOMP_EXECUTOR_INLINE bool Channel::has_come(const Rendezvous& to) const {
  const auto last = m_last.find(to.members);
  return last != m_last.end() && (last->second.number > to.number || last->second == to);
}

EINDECOMP_EXECUTOR_INLINE Channel::Heard Channel::taken_in(const std::string& text,
                                                           const Rendezvous& here) const {
  Heard heard{text.front(), {}, false, 0};
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

}  // namespace eindecomp::comm::detail
