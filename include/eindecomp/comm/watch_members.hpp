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

EINDECOMP_EXECUTOR_INLINE Watch::Watch(MPI_Comm members, double limit) : m_limit(limit) {
  check(MPI_Comm_rank(members, &m_rank), "MPI_Comm_rank");
  check(MPI_Comm_size(members, &m_size), "MPI_Comm_size");
  if (m_size == 1) return;
  if (job_channel() != nullptr) find_members(members);
}

EINDECOMP_EXECUTOR_INLINE void Watch::move_to(MPI_Comm comm) {
  if (m_size == 1 || (m_channel != nullptr && m_own == nullptr)) return;
  if (job_channel() != nullptr) {
    find_members(comm);
    if (m_channel != nullptr) m_own.reset();
  }
  if (m_channel != nullptr || m_limit <= 0) return;
  m_own = std::make_unique<Channel>(comm);
  m_channel = m_own.get();
}

EINDECOMP_EXECUTOR_INLINE void Watch::come(Collective what) {
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
  search.next_question = now + between_questions;
  search.distance = 2 * search.distance < m_size ? 2 * search.distance : 1;
}

EINDECOMP_EXECUTOR_INLINE void Watch::ask_all() {
  if (m_channel == nullptr) return;
  for (int r = 0; r < m_size; ++r) {
    if (r != m_rank) m_channel->ask(channel_rank(r), m_here);
  }
}

EINDECOMP_EXECUTOR_INLINE void Watch::find_members(MPI_Comm members) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  m_channel = job_channel();
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
    if (!has_left(r)) turn += 0.5;  // s: the launcher may take as long to end the others
  }
  return std::min(turn, 2.0);
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
         ", which " + m_channel->heard(channel_rank(gone)) + "; the program ends on all ranks";
}

EINDECOMP_EXECUTOR_INLINE std::string Watch::who_is_absent() const {
  Text text;
  text << "EinDecomp: " << name(m_rank) << " has waited longer than the time limit of "
       << decimal(m_limit) << " s in " << m_call;
  std::vector<std::string> said(static_cast<std::size_t>(m_size));
  for (int r = 0; r < m_size; ++r) {
    if (r == m_rank) continue;
    const std::string heard = m_channel == nullptr ? "" : m_channel->heard(channel_rank(r));
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
  std::vector<std::string> texts(static_cast<std::size_t>(m_channel->size()));
  for (int r = 0; r < m_size; ++r) {
    const std::string& heard = m_channel->heard(channel_rank(r));
    texts[static_cast<std::size_t>(channel_rank(r))] = r == m_rank     ? m_call
                                                       : heard.empty() ? "does not answer"
                                                                       : heard;
  }
  const std::vector<SameText> groups = group_by_text(texts);
  if (groups.size() == 1) {
    return Text("EinDecomp: ranks wait for each other in the same call of different executors (") +
           groups.front().text +
           "); make the same calls in the same order on every rank; the program ends on all ranks";
  }
  Text who(m_size == m_channel->size() ? "" : "in MPI_COMM_WORLD ");
  bool others = false;
  for (const SameText& group : groups) {
    who << (others ? "; " : "") << name_ranks(group.ranks) << ": " << group.text;
    others = true;
  }
  return Text("EinDecomp: ranks are in different calls, where they wait for each other (") + who +
         "); make the same calls in the same order on every rank; the program ends on all ranks";
}

}  // namespace eindecomp::comm::detail
