// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which ranks do alike for a few statements, from what a walk tells of each, without their
/// programs: a program costs fifty times as much as the walk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/block_map.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/reducer.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/tensor_relation.hpp"
#include "eindecomp/relation/unit_key.hpp"

namespace eindecomp::relation {

/// Takes a walk of a unit and tells the ranks apart by it.
///
/// A rank's key is all that the walk tells of the rank, in order: buffers by number, boxes by
/// their extents, peers by first appearance. Ranks of equal keys have programs that differ only in
/// where boxes begin, in who the peers are, and in the order of an exchange's messages with
/// different peers. Neither bytes, lives, words nor works depend on those:
/// - RankBuilder compares boxes by extents (whether a region is contiguous, where a long message or
///   a call of a step group is cut), buffers by number, and peers for equality and for that order;
/// - the messages of an exchange are one stage, whatever their order;
/// - tiles compare where the domains of a rank's calls begin, which the key then says.
/// Kernels that look at positions, and panels, whose parts lie at fixed places of their label, are
/// left out (are_comparable).
class RankClasses {
 public:
  /// \param made  the ranks of interest: from the first to before the last
  RankClasses(const EinGraph& graph, const Unit& unit, int workers, int ranks, int first, int last)
      : m_graph(graph),
        m_unit(unit),
        m_shared(ranks < workers),
        m_first(first),
        m_wanted(static_cast<std::size_t>(last - first)),
        m_ranks(ranks),
        m_told(m_wanted) {}

  /// Whether extents tell all of a unit's work.
  [[nodiscard]] static bool are_comparable(const EinGraph& graph, const Unit& unit) {
    if (unit.group != nullptr && is_streamed(graph, *unit.group)) return false;
    return std::ranges::all_of(unit.statements, [&](VertexId s) {
      const Vertex& v = graph[s];
      return !v.op.blocks && v.periods.empty() &&
             std::ranges::none_of(v.operands, [](const Operand& o) { return o.is_computed(); });
    });
  }

  // --- A walk's sink ---

  [[nodiscard]] bool wants_all() const { return m_wanted == to_index(m_ranks); }
  [[nodiscard]] bool wants(int rank) const {
    return rank >= m_first && to_index(rank - m_first) < m_wanted;
  }
  int stored(VertexId tensor, const Box& box, int, int rank) {
    return buffer(Event::stored, tensor, box, rank);
  }
  void begin(VertexId statement, const BlockMap& calls, const std::vector<JoinedBlocks>& joined) {
    m_calls = &calls;
    m_joined = &joined;
    for (Told& told : m_told) put(told.key, Event::begin, statement);
  }
  int assembled(VertexId tensor, const Box& box, int rank) {
    return buffer(Event::assembled, tensor, box, rank);
  }
  int arranged(VertexId tensor, const Box& box, int rank) {
    return buffer(Event::assembled, tensor, box, rank);
  }
  int counted(VertexId statement, const Box& values, int rank) {
    return buffer(Event::counted, statement, values, rank);
  }
  int partial(VertexId statement, const Box& box, int rank) {
    return buffer(Event::partial, statement, box, rank);
  }
  // Of computed indices alone.
  static void filled(int, int, const Box&, OutsideValue) {}
  static void spread(int, const Spread&) {}
  void copied(int rank, int from, int to, const Box& box, int round) {
    if (Told* const told = of(rank)) {
      put(told->key, Event::copied, from, to, round);
      put_extents(told->key, box);
    }
  }
  void moved(VertexId tensor, int from_rank, int from, int to_rank, int to, const Box& box,
             int round) {
    message(Event::sent, tensor, from_rank, from, to_rank, box, round);
    message(Event::received, tensor, to_rank, to, from_rank, box, round);
  }
  void moved_partial(VertexId statement, int from_rank, int from, int to_rank, int to,
                     const Box& box, int round) {
    message(Event::sent_partial, statement, from_rank, from, to_rank, box, round);
    message(Event::received_partial, statement, to_rank, to, from_rank, box, round);
  }
  void called(VertexId statement, const WalkedCall& call) {
    Told* const told = of(call.rank);
    if (told == nullptr) return;
    put(told->key, Event::called, call.output, call.accumulate, call.finish);
    for (const int operand : call.operands) put(told->key, operand);
    const Box domain = m_calls->relation().block((*m_joined)[call.index].key);
    put_extents(told->key, domain);
    if (m_unit.group != nullptr) put_begins(*told, statement, domain);
  }
  void aggregated(int rank, int target, const Box& box, const std::vector<int>& parts, int round) {
    if (Told* const told = of(rank)) {
      put(told->key, Event::aggregated, target, round, parts.size());
      for (const int part : parts) put(told->key, part);
      put_extents(told->key, box);
    }
  }
  static void end(VertexId) {}
  void reread(VertexId statement) { m_rereads.push_back(statement); }

  // --- What it was told ---

  /// The ranks by class, each ascending, the classes in the order of their first.
  [[nodiscard]] std::vector<std::vector<int>> classes() {
    std::vector<std::vector<int>> found;
    std::unordered_map<std::string, std::size_t> known;
    for (std::size_t r = 0; r < m_wanted; ++r) {
      const auto [at, fresh] = known.try_emplace(std::move(m_told[r].key), found.size());
      if (fresh) found.emplace_back();
      found[at->second].push_back(m_first + static_cast<int>(r));
    }
    return found;
  }
  /// The peer of a rank that another one of its class has in place of one of the rank's own.
  [[nodiscard]] int peer_alike(int rank, int peer, int other) {
    const std::vector<int>& own = m_told[to_index(rank - m_first)].peers;
    const auto at = to_index(std::find(own.begin(), own.end(), peer) - own.begin());
    return m_told[to_index(other - m_first)].peers[at];
  }
  /// The statements of which a call on a rank reads what the rank has received before.
  [[nodiscard]] const std::vector<VertexId>& rereads() const { return m_rereads; }

 private:
  enum class Event : std::uint8_t {
    stored,
    begin,
    assembled,
    counted,
    partial,
    copied,
    sent,
    received,
    sent_partial,
    received_partial,
    called,
    aggregated,
  };
  /// What is told of a rank.
  struct Told {
    std::string key;
    int buffers = 0;             ///< so far
    std::vector<int> peers;      ///< by first appearance
    std::vector<Extent> begins;  ///< of the first domain in tiles, by axis
  };

  [[nodiscard]] Told* of(int rank) {
    return wants(rank) ? &m_told[to_index(rank - m_first)] : nullptr;
  }

  /// Appends a number, at least -1, seven bits a byte: no list of numbers begins with another.
  static void put_number(std::string& key, Extent number) {
    auto rest = static_cast<std::uint64_t>(number + 1);
    for (; rest >= 0x80; rest >>= 7) key.push_back(static_cast<char>(rest | 0x80));
    key.push_back(static_cast<char>(rest));
  }
  template <class... Numbers>
  static void put(std::string& key, Numbers... numbers) {
    (put_number(key, static_cast<Extent>(numbers)), ...);
  }
  static void put_extents(std::string& key, const Box& box) {
    for (int k = 0; k < box.rank(); ++k) put_number(key, std::max<Extent>(box.extent(k), 0));
  }
  /// Where a domain in tiles begins along their axes, if that is not where the rank's first one
  /// does. Ranks of several calls, some of them empty in some blocks, are told apart by it.
  void put_begins(Told& told, VertexId statement, const Box& domain) {
    for (const StepGroup& tiles : m_unit.group->tiles) {
      if (!tiles.contains(statement)) continue;
      const std::vector<VertexId> statements = statements_of(m_graph, tiles);
      const auto s = to_index(std::find(statements.begin(), statements.end(), statement) -
                              statements.begin());
      if (s == 0) told.begins.clear();
      for (std::size_t a = 0; a < tiles.axes.size(); ++a) {
        const Extent lo = domain.lo[to_index(tiles.axes[a].positions[s])];
        if (s == 0) told.begins.push_back(lo);
        const Extent first = a < told.begins.size() ? told.begins[a] : -1;
        const bool told_apart = m_shared || lo != first;
        put(told.key, told_apart);
        if (told_apart) put(told.key, first, lo);
      }
    }
  }
  /// The number of a peer among a rank's.
  static std::size_t number_of(std::vector<int>& peers, int peer) {
    const auto at = std::find(peers.begin(), peers.end(), peer);
    const auto n = to_index(at - peers.begin());
    if (at == peers.end()) peers.push_back(peer);
    return n;
  }

  int buffer(Event event, VertexId tensor, const Box& box, int rank) {
    Told* const told = of(rank);
    if (told == nullptr) return -1;
    put(told->key, event, tensor);
    put_extents(told->key, box);
    return told->buffers++;
  }
  void message(Event event, VertexId tensor, int rank, int own, int peer, const Box& box,
               int round) {
    Told* const told = of(rank);
    if (told == nullptr) return;
    put(told->key, event, tensor, own, number_of(told->peers, peer), round);
    put_extents(told->key, box);
  }

  const EinGraph& m_graph;
  const Unit& m_unit;
  bool m_shared;  ///< whether ranks host several workers
  int m_first;
  std::size_t m_wanted;
  int m_ranks;
  const BlockMap* m_calls = nullptr;
  const std::vector<JoinedBlocks>* m_joined = nullptr;
  std::vector<Told> m_told;  ///< by rank from the first
  std::vector<VertexId> m_rereads;
};

}  // namespace eindecomp::relation
