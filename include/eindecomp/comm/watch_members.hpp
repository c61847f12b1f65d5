// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What ranks do that wait for long, and how they end the program. With
/// EINDECOMP_SEPARATE_EXECUTOR, one translation unit compiles it.
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
#include <vector>

#include "eindecomp/comm/channel.hpp"
#include "eindecomp/comm/mpi.hpp"
#include "eindecomp/comm/same_text.hpp"
#include "eindecomp/comm/tuning.hpp"
#include "eindecomp/comm/watch.hpp"
#include "eindecomp/core/config.hpp"
#include "eindecomp/core/hash.hpp"
#include "eindecomp/core/text.hpp"

namespace eindecomp::comm::detail {

EINDECOMP_EXECUTOR_INLINE void abort_all(const std::string& message) {
  std::cout.flush();
  std::fprintf(stderr, "%s\n", message.c_str());
  std::fflush(nullptr);
  // MPICH's launcher may end before it has passed on what was just said.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  std::_Exit(EXIT_FAILURE);
}

EINDECOMP_EXECUTOR_INLINE Watch::Watch(MPI_Comm members, double limit)
    : m_comm(members), m_limit(limit) {
  check(MPI_Comm_rank(members, &m_rank), "MPI_Comm_rank");
  check(MPI_Comm_size(members, &m_size), "MPI_Comm_size");
  if (m_size > 1) find_members();
}

EINDECOMP_EXECUTOR_INLINE void Watch::move_to(MPI_Comm comm, bool is_limited) {
  m_comm = comm;
  if (m_size == 1 || (m_channel != nullptr && m_own == nullptr)) return;
  find_members();
  if (m_channel != nullptr || !is_limited) return;
  m_own = std::make_unique<Channel>(comm);
  m_channel = m_own.get();
}

EINDECOMP_EXECUTOR_INLINE void Watch::come(Collective what) {
  // An executor on other processes may have begun the job since.
  if (m_channel == nullptr && m_size > 1) find_members();
  if (m_channel == nullptr || m_own != nullptr) return;
  const std::uint64_t group = what == Collective::duplicate ? 0 : m_group;
  m_here = m_channel->come(m_members, 4 * group + static_cast<std::uint64_t>(what));
  if (what == Collective::duplicate) m_group = m_here.number;
}

EINDECOMP_EXECUTOR_INLINE void Watch::look_for_deadlock(DeadlockSearch& search, double now) {
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
  search.next_question = now + tuning::between_questions;
  search.distance = 2 * search.distance < m_size ? 2 * search.distance : 1;
}

EINDECOMP_EXECUTOR_INLINE void Watch::ask_all() {
  if (m_channel == nullptr) return;
  m_asked = m_channel->messages();
  for (int r = 0; r < m_size; ++r) {
    if (r != m_rank) m_channel->ask(channel_rank(r), m_here);
  }
}

EINDECOMP_EXECUTOR_INLINE void Watch::find_members() {
  Channel* const channel = job_channel();
  if (channel == m_sought) return;
  m_sought = channel;
  if (channel == nullptr) return;
  std::vector<int> ranks(static_cast<std::size_t>(m_size));
  std::ranges::generate(ranks, [r = 0]() mutable { return r++; });
  m_channel_ranks = translated(ranks, m_comm, channel->get());
  core::Hasher hasher;
  std::ranges::sort(ranks = m_channel_ranks);
  hasher.add(ranks);
  m_members = hasher.value();
  // Processes that the job started later are in no channel.
  if (std::ranges::find(m_channel_ranks, MPI_UNDEFINED) != m_channel_ranks.end()) {
    m_channel_ranks.clear();
    return;
  }
  m_channel = channel;
  m_own.reset();
}

EINDECOMP_EXECUTOR_INLINE std::vector<int> Watch::translated(const std::vector<int>& ranks,
                                                             MPI_Comm from, MPI_Comm to) {
  MPI_Group group_from = MPI_GROUP_NULL;
  MPI_Group group_to = MPI_GROUP_NULL;
  check(MPI_Comm_group(from, &group_from), "MPI_Comm_group");
  check(MPI_Comm_group(to, &group_to), "MPI_Comm_group");
  std::vector<int> found(ranks.size());
  const int code = MPI_Group_translate_ranks(group_from, static_cast<int>(ranks.size()),
                                             ranks.data(), group_to, found.data());
  MPI_Group_free(&group_from);
  MPI_Group_free(&group_to);
  check(code, "MPI_Group_translate_ranks");
  return found;
}

EINDECOMP_EXECUTOR_INLINE int Watch::first_gone() const {
  for (int r = 0; r < m_size; ++r) {
    if (r != m_rank && has_left(r)) return r;
  }
  return -1;
}

EINDECOMP_EXECUTOR_INLINE double Watch::my_turn() const {
  double turn = 0;
  for (int r = 0; r < m_rank; ++r) {
    if (!has_left(r)) turn += tuning::seconds_per_turn;
  }
  return std::min(turn, tuning::max_turn);
}

EINDECOMP_EXECUTOR_INLINE std::string Watch::decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

EINDECOMP_EXECUTOR_INLINE std::string Watch::name(int rank) const {
  return Text("rank ") + rank + " of " + m_size;
}

EINDECOMP_EXECUTOR_INLINE std::string Watch::who_left() const {
  const int gone = first_gone();
  return Text("EinDecomp: ") + name(m_rank) + " waits in " + m_call + " for rank " + gone +
         ", which " + m_channel->heard(channel_rank(gone), m_asked) +
         "; the program ends on all ranks";
}

EINDECOMP_EXECUTOR_INLINE std::string Watch::who_is_absent() const {
  Text text;
  text << "EinDecomp: " << name(m_rank) << " has waited longer than the time limit of "
       << decimal(m_limit) << " s in " << m_call;
  std::vector<std::string> said(static_cast<std::size_t>(m_size));
  for (int r = 0; r < m_size; ++r) {
    if (r == m_rank) continue;
    const std::string heard =
        m_channel == nullptr ? "" : m_channel->heard(channel_rank(r), m_asked);
    Text one;
    if (!heard.empty()) {
      one << (has_left(r) ? "" : "waits in ") << heard;
    } else if (m_last.empty()) {
      one << "does not answer and was in no call of this executor before";
    } else {
      one << "does not answer and was last seen in " << m_last;
    }
    said[static_cast<std::size_t>(r)] = one.str();
  }
  text << ": " << detail::tell_groups(detail::group_by_text(said), [](const auto& g) {
    return (g.ranks.size() == 1 ? "" : "each of ") + detail::name_ranks(g.ranks) + ' ' + g.text;
  }) << "; the program ends on all ranks";
  return text.str();
}

EINDECOMP_EXECUTOR_INLINE std::string Watch::who_waits_where() const {
  const std::vector<int> in_world = translated(m_channel_ranks, m_channel->get(), MPI_COMM_WORLD);
  std::vector<std::string> texts(static_cast<std::size_t>(m_channel->size()));
  bool same_ranks = m_size == m_channel->size();
  for (int r = 0; r < m_size; ++r) {
    const std::string heard = m_channel->heard(channel_rank(r), m_asked);
    const int named = in_world[static_cast<std::size_t>(r)];
    if (named != r) same_ranks = false;
    texts[static_cast<std::size_t>(named)] = r == m_rank     ? m_call
                                             : heard.empty() ? "does not answer"
                                                             : heard;
  }
  const std::vector<SameText> groups = group_by_text(texts);
  if (groups.size() == 1) {
    return Text("EinDecomp: ranks wait for each other in the same call of different executors (") +
           groups.front().text +
           "); make the same calls in the same order on every rank; the program ends on all ranks";
  }
  Text who(same_ranks ? "" : "in MPI_COMM_WORLD ");
  bool others = false;
  for (const SameText& group : groups) {
    who << (others ? "; " : "") << name_ranks(group.ranks) << ": " << group.text;
    others = true;
  }
  return Text("EinDecomp: ranks are in different calls, where they wait for each other (") + who +
         "); make the same calls in the same order on every rank; the program ends on all ranks";
}

}  // namespace eindecomp::comm::detail
