// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// When ranks compute and when they exchange messages, from their programs.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/instruction_work.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/rounds.hpp"
#include "eindecomp/relation/unit_profile.hpp"

namespace eindecomp::relation {

/// Collects the phases of a unit, rank by rank.
class PhaseBuilder {
 public:
  explicit PhaseBuilder(int ranks)
      : m_ranks(static_cast<std::size_t>(ranks), std::vector<Segment>(1)) {}

  /// Takes the instructions of a rank, its tiles placed.
  void take(const EinGraph& graph, const RankProgram& program) {
    std::vector<Segment> segments(1);
    for (const Instruction& instruction : program.instructions) {
      const Message* const message = instruction.message();
      if (message == nullptr) {
        if (segments.back().exchanges()) segments.emplace_back();
        segments.back().works.push_back(work_of(graph, program, instruction));
        continue;
      }
      const auto front = static_cast<std::size_t>(message->regions.front().buffer);
      const When when{instruction.turn, program.buffers[front].partial, message->round};
      if (segments.back().exchanges() && segments.back().when != when) segments.emplace_back();
      Segment& segment = segments.back();
      segment.when = when;
      if (instruction.as<Send>() != nullptr) {
        const auto bytes =
            static_cast<double>(message->words * element_bytes(graph, program.buffers[front]));
        segment.sends.emplace_back(message->peer, bytes);
      } else {
        segment.receives.push_back(message->peer);
      }
    }
    if (segments.back().exchanges()) segments.emplace_back();
    m_ranks[to_index(program.rank)] = std::move(segments);
  }
  /// The same of a rank that does what another one does, which was taken, but with other peers.
  /// \param peer_of  says with whom, for a peer of the other
  template <class PeerOf>
  void take_alike(int rank, int other, const PeerOf& peer_of) {
    const auto ranks = static_cast<int>(m_ranks.size());
    std::vector<Segment> segments = m_ranks[to_index(other)];
    for (Segment& segment : segments) {
      for (auto& [peer, bytes] : segment.sends) peer = peer_of(peer);
      for (int& peer : segment.receives) peer = peer_of(peer);
      std::ranges::stable_sort(segment.sends, {}, [&](const auto& send) {
        return peer_distance(send.first, rank, 1, ranks);
      });
      std::ranges::stable_sort(segment.receives, {},
                               [&](int peer) { return peer_distance(peer, rank, -1, ranks); });
    }
    m_ranks[to_index(rank)] = std::move(segments);
  }

  /// Writes the phases of all ranks, each taken, into a profile.
  void finish(UnitProfile& profile) {
    std::set<When> times;
    for (const auto& segments : m_ranks) {
      for (const Segment& s : segments) {
        if (s.exchanges()) times.insert(s.when);
      }
    }
    profile.works = {{}};
    m_known = {{{}, 0}};
    std::vector<std::size_t> next(m_ranks.size(), 0);
    for (const When& when : times) {
      const auto takes_part = [&](std::size_t r) {
        return m_ranks[r][next[r]].exchanges() && m_ranks[r][next[r]].when == when;
      };
      add_phase(profile, next, takes_part);
      for (std::size_t r = 0; r < next.size(); ++r) next[r] += takes_part(r) ? 1U : 0U;
    }
    add_phase(profile, next, [](std::size_t) { return true; });
  }

 private:
  /// When messages are under way together: a turn's with operands, then those with accumulators,
  /// round by round.
  struct When {
    int turn = 0;
    bool partial = false;
    int round = 0;
    auto operator<=>(const When&) const = default;
  };
  /// What a rank computes, and the messages that it then exchanges; at its end none.
  struct Segment {
    std::vector<Work> works;
    When when;
    std::vector<std::pair<int, double>> sends;  ///< to whom, how many bytes
    std::vector<int> receives;                  ///< from whom
    [[nodiscard]] bool exchanges() const { return !sends.empty() || !receives.empty(); }
  };

  template <class TakesPart>
  void add_phase(UnitProfile& profile, const std::vector<std::size_t>& next,
                 const TakesPart& takes_part) {
    UnitProfile::Phase phase;
    phase.works_of.assign(m_ranks.size(), 0);
    std::vector<std::size_t> taking_part;
    for (std::size_t r = 0; r < m_ranks.size(); ++r) {
      if (!takes_part(r)) continue;
      taking_part.push_back(r);
      phase.works_of[r] = number_of(profile, m_ranks[r][next[r]].works);
    }
    // Every rank sends in its order and receives in its order.
    std::vector<std::size_t> sent(m_ranks.size(), 0);
    std::vector<std::size_t> received(m_ranks.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (const std::size_t r : taking_part) {
        const Segment& sender = m_ranks[r][next[r]];
        if (sent[r] == sender.sends.size()) continue;
        const auto [peer, bytes] = sender.sends[sent[r]];
        const auto to = static_cast<std::size_t>(peer);
        const std::vector<int>& receives = m_ranks[to][next[to]].receives;
        if (received[to] == receives.size()) continue;
        if (static_cast<std::size_t>(receives[received[to]]) != r) continue;
        phase.transits.push_back({static_cast<int>(r), peer, bytes});
        ++sent[r];
        ++received[to];
        moved = true;
      }
    }
    profile.phases.push_back(std::move(phase));
  }

  int number_of(UnitProfile& profile, const std::vector<Work>& works) {
    std::vector<std::pair<double, double>> key;
    for (const Work& work : works) key.emplace_back(work.operations, work.bytes);
    const auto [known, fresh] =
        m_known.try_emplace(std::move(key), static_cast<int>(profile.works.size()));
    if (fresh) profile.works.push_back(works);
    return known->second;
  }

  std::vector<std::vector<Segment>> m_ranks;
  std::map<std::vector<std::pair<double, double>>, int> m_known;  ///< lists of works
};

}  // namespace eindecomp::relation
