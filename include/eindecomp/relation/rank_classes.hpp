// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which ranks do alike for a few statements, from what a walk tells of each, without their
/// programs: those cost many times as much as the walk.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/masks.hpp"
#include "eindecomp/relation/block_map.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/reducer.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/step_rules.hpp"
#include "eindecomp/relation/tensor_relation.hpp"
#include "eindecomp/relation/unit_key.hpp"

namespace eindecomp::relation {

/// Takes a walk of a unit and tells the ranks apart by it.
///
/// A rank's key is all that the walk tells of it: boxes by their extents, buffers by number, peers
/// by what they exchange with the rank; copies, calls and combinations in order, messages in none.
/// Ranks of equal keys have programs that differ in where boxes begin, in who the peers are, and in
/// the order of messages within an exchange and of regions within a message. Neither bytes, lives,
/// words nor works depend on those:
/// - RankBuilder asks boxes for their extents alone (is_contiguous, the parts of a step group), and
///   compares buffers and peers for equality;
/// - copies and combinations are stages in the order in which they are told, the messages of an
///   exchange are one stage, and a message of several regions is packed, in whatever order;
/// - tiles compare where the domains of a rank's calls begin, which the key then says.
/// Whose messages may be so long that they go in parts, which follow the order of pieces, is a
/// class of its own. Kernels that look at positions, calls whose indices are computed, which may be
/// split by where blocks lie (InteriorSplitter), and panels, whose parts lie at fixed places of
/// their label, are left out (are_comparable).
class RankClasses final : public WalkSink {
 public:
  /// \param made  the ranks of interest: from the first to before the last
  RankClasses(const EinGraph& graph, const Unit& unit, std::int64_t longest_message, int workers,
              int ranks, int first, int last)
      : m_graph(graph),
        m_unit(unit),
        m_longest(longest_message),
        m_shared(ranks < workers),
        m_all(last - first == ranks),
        m_first(first),
        m_told(static_cast<std::size_t>(last - first)) {}

  /// Whether extents tell all of a unit's work.
  [[nodiscard]] static bool are_comparable(const EinGraph& graph, const graph::Masks& masks,
                                           const Unit& unit) {
    if (unit.group != nullptr && is_streamed(graph, *unit.group)) return false;
    return std::ranges::all_of(unit.statements, [&](VertexId s) {
      const Vertex& v = graph[s];
      return !v.op.blocks && v.periods.empty() && masks.of(s).empty() &&
             std::ranges::none_of(v.operands, [](const Operand& o) { return o.is_computed(); });
    });
  }

  // --- A walk's sink ---

  [[nodiscard]] bool wants_all() const override { return m_all; }
  [[nodiscard]] bool wants(int rank) const override {
    return rank >= m_first && to_index(rank - m_first) < m_told.size();
  }
  int stored(VertexId tensor, const Box& box, int, int rank) override {
    return buffer(Event::stored, tensor, box, rank);
  }
  void begin(VertexId statement, const BlockMap& calls,
             const std::vector<JoinedBlocks>& joined) override {
    m_statement = statement;
    m_calls = &calls;
    m_joined = &joined;
    for (Told& told : m_told) {
      put(told.key, Event::begin, statement);
      told.bytes = {};
    }
  }
  int assembled(VertexId tensor, const Box& box, int rank) override {
    return buffer(Event::assembled, tensor, box, rank);
  }
  int arranged(VertexId tensor, const Box& box, int rank) override {
    return assembled(tensor, box, rank);
  }
  int counted(VertexId statement, const Box& values, int rank) override {
    return buffer(Event::counted, statement, values, rank);
  }
  /// Numbered when it is used: those of messages come in the order of messages.
  int partial(VertexId statement, const Box& box, int rank) override {
    Told* const told = of(rank);
    if (told == nullptr) return -1;
    told->buffers.push_back({-1, kind_of(Event::partial, statement, 0, box)});
    return static_cast<int>(told->buffers.size()) - 1;
  }
  // Of computed indices alone.
  void filled(int, int, const Box&, OutsideValue) override {}
  void spread(int, Spread&&) override {}
  void copied(int rank, int from, int to, const Box& box, int round) override {
    Told* const told = of(rank);
    if (told == nullptr) return;
    put(told->key, Event::copied, round);
    put_buffer(*told, from);
    put_buffer(*told, to);
    put_extents(told->key, box);
  }
  void moved(VertexId tensor, int from_rank, int from, int to_rank, int to, const Box& box,
             int round) override {
    const std::int64_t bytes = box.size() * m_graph[tensor].element.bytes;
    message(Event::sent, tensor, from_rank, from, to_rank, box, round, bytes);
    message(Event::received, tensor, to_rank, to, from_rank, box, round, bytes);
  }
  void moved_partial(VertexId statement, int from_rank, int from, int to_rank, int to,
                     const Box& box, int round) override {
    const std::int64_t bytes = box.size() * m_graph[statement].partial.bytes;
    message(Event::sent_partial, statement, from_rank, from, to_rank, box, round, bytes);
    message(Event::received_partial, statement, to_rank, to, from_rank, box, round, bytes);
  }
  void called(VertexId statement, const WalkedCall& call) override {
    Told* const told = of(call.rank);
    if (told == nullptr) return;
    put(told->key, Event::called, call.accumulate, call.finish);
    put_buffer(*told, call.output);
    for (const int operand : call.operands) put_buffer(*told, operand);
    const Box domain = m_calls->relation().block((*m_joined)[call.index].key);
    put_extents(told->key, domain);
    if (m_unit.group != nullptr) put_begins(*told, statement, domain);
  }
  void aggregated(int rank, int target, const Box& box, const std::vector<int>& parts,
                  int round) override {
    Told* const told = of(rank);
    if (told == nullptr) return;
    put(told->key, Event::aggregated, round, parts.size());
    put_buffer(*told, target);
    for (const int part : parts) put_buffer(*told, part);
    put_extents(told->key, box);
  }
  void end(VertexId) override {}
  [[nodiscard]] bool wants_rereads() const override { return true; }
  void reread(VertexId statement) override { m_rereads.push_back(statement); }

  // --- What it was told ---

  /// The ranks by class, each ascending, the classes in the order of their first.
  [[nodiscard]] std::vector<std::vector<int>> classes() {
    std::vector<std::vector<int>> found;
    std::unordered_map<std::string, std::size_t> known;
    for (std::size_t r = 0; r < m_told.size(); ++r) {
      const int rank = m_first + static_cast<int>(r);
      Told& told = m_told[r];
      if (told.alone) {
        put(told.key, Event::alone, rank);
      } else {
        put_messages(told);
      }
      const auto [at, fresh] = known.try_emplace(std::move(told.key), found.size());
      if (fresh) found.emplace_back();
      found[at->second].push_back(rank);
    }
    return found;
  }
  /// The peer of a rank that another one of its class has in place of one of the rank's own.
  [[nodiscard]] int peer_alike(int rank, int peer, int other) const {
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
    messages,
    alone,
  };
  struct NumberedBuffer {
    int number = -1;
    int kind = -1;  ///< of one that is not numbered yet
  };
  struct ToldMessage {
    int peer = -1;
    int buffer = -1;
    int kind = -1;
  };
  /// What is told of a rank.
  struct Told {
    std::string key;
    std::vector<NumberedBuffer> buffers;
    int numbers = 0;  ///< given so far
    std::vector<ToldMessage> messages;
    std::vector<int> peers;      ///< in the order of the key
    std::vector<Extent> begins;  ///< of the first domain in tiles, by axis
    /// Of the statement's messages, by event.
    std::array<std::int64_t, 4> bytes = {};
    bool alone = false;  ///< does as no other one, for what is known
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
  /// Appends a buffer by its number and, with the first use, by what it is.
  static void put_buffer(Told& told, int buffer) {
    if (buffer < 0) return put(told.key, -1);
    NumberedBuffer& b = told.buffers[to_index(buffer)];
    const bool fresh = b.number < 0;
    if (fresh) b.number = told.numbers++;
    put(told.key, b.number);
    if (fresh) put(told.key, b.kind);
  }
  /// Where a domain in tiles begins along their axes, if that is not where the rank's first one
  /// does. Ranks of several calls, some of them empty in some blocks, are told apart by it.
  void put_begins(Told& told, VertexId statement, const Box& domain) {
    for (const StepGroup& tiles : m_unit.group->tiles) {
      if (!tiles.contains(statement)) continue;
      const std::vector<VertexId> statements = statements_of(m_graph, tiles);
      const auto s =
          to_index(std::find(statements.begin(), statements.end(), statement) - statements.begin());
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

  /// The number of what is told, the same of all ranks.
  [[nodiscard]] int kind_of(Event event, VertexId tensor, int round, const Box& box) {
    m_kind.clear();
    put(m_kind, event, m_statement, tensor, round);
    put_extents(m_kind, box);
    return number_of(m_kind);
  }
  [[nodiscard]] int number_of(const std::string& kind) {
    return m_kinds.try_emplace(kind, static_cast<int>(m_kinds.size())).first->second;
  }

  int buffer(Event event, VertexId tensor, const Box& box, int rank) {
    Told* const told = of(rank);
    if (told == nullptr) return -1;
    put(told->key, event, tensor);
    put_extents(told->key, box);
    told->buffers.push_back({told->numbers++, -1});
    return static_cast<int>(told->buffers.size()) - 1;
  }
  void message(Event event, VertexId tensor, int rank, int own, int peer, const Box& box, int round,
               std::int64_t bytes) {
    Told* const told = of(rank);
    if (told == nullptr) return;
    told->messages.push_back({peer, own, kind_of(event, tensor, round, box)});
    std::int64_t& all =
        told->bytes[to_index(static_cast<int>(event)) - to_index(static_cast<int>(Event::sent))];
    all += bytes;
    told->alone = told->alone || all > m_longest;
  }

  /// Appends what each peer sends and receives, peers that do alike one after another.
  void put_messages(Told& told) {
    put(told.key, Event::messages);
    for (const ToldMessage& m : told.messages) {
      if (told.buffers[to_index(m.buffer)].number < 0) put_buffer(told, m.buffer);
    }
    m_pieces.clear();
    for (const ToldMessage& m : told.messages) {
      m_pieces.push_back({m.peer, told.buffers[to_index(m.buffer)].number, m.kind});
    }
    std::ranges::sort(m_pieces);
    m_peers.clear();
    for (std::size_t i = 0; i < m_pieces.size();) {
      const int peer = m_pieces[i][0];
      m_kind.clear();
      put(m_kind, Event::messages);
      for (; i < m_pieces.size() && m_pieces[i][0] == peer; ++i) {
        put(m_kind, m_pieces[i][1], m_pieces[i][2]);
      }
      m_peers.emplace_back(number_of(m_kind), peer);
    }
    std::ranges::sort(m_peers);
    for (const auto& [kind, peer] : m_peers) {
      put(told.key, kind);
      told.peers.push_back(peer);
    }
    told.messages = {};
  }

  const EinGraph& m_graph;
  const Unit& m_unit;
  std::int64_t m_longest;
  bool m_shared;  ///< whether ranks host several workers
  bool m_all;
  int m_first;
  std::vector<Told> m_told;  ///< by rank from the first
  std::vector<VertexId> m_rereads;
  std::unordered_map<std::string, int> m_kinds;
  // Of the statement at hand.
  VertexId m_statement = -1;
  const BlockMap* m_calls = nullptr;
  const std::vector<JoinedBlocks>* m_joined = nullptr;
  // Kept to spare allocations.
  std::string m_kind;
  std::vector<std::array<int, 3>> m_pieces;  ///< peer, buffer, kind
  std::vector<std::pair<int, int>> m_peers;  ///< kind of all its messages, peer
};

}  // namespace eindecomp::relation
