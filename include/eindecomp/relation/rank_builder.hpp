// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The program of one rank, put together from what a walk tells of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/masks.hpp"
#include "eindecomp/relation/accumulate.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/gather_once.hpp"
#include "eindecomp/relation/interior.hpp"
#include "eindecomp/relation/mask_splitter.hpp"
#include "eindecomp/relation/panel_builder.hpp"
#include "eindecomp/relation/place_buffers.hpp"
#include "eindecomp/relation/put_blocks.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/rounds.hpp"
#include "eindecomp/relation/split_rounds.hpp"
#include "eindecomp/relation/step_builder.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/step_rules.hpp"
#include "eindecomp/relation/tensor_relation.hpp"
#include "eindecomp/relation/tuning.hpp"
#include "eindecomp/relation/walk.hpp"

namespace eindecomp::relation {

/// Builds the program of one rank from what a walk tells of it.
class RankBuilder {
 public:
  /// \param masks    of the graph
  /// \param results  which tensors are results
  /// \param readers  EinGraph::reader_counts()
  RankBuilder(const EinGraph& graph, const graph::Masks& masks, const Flags& results,
              const std::vector<int>& readers, const std::vector<StepGroup>& groups,
              const TensorNames& names, const SpaceFacts& space, int ranks, int rank)
      : m_graph(&graph),
        m_masks(&masks),
        m_results(&results),
        m_readers(&readers),
        m_group(groups.begin()),
        m_end(groups.end()),
        m_ranks(ranks),
        m_space(space) {
    m_program.rank = rank;
    m_program.threads = space.threads;
    m_program.names = names;
  }

  int add_stored(VertexId tensor, const Box& box) {
    const bool input = (*m_graph)[tensor].is_input();
    const bool result = (*m_results)[static_cast<std::size_t>(tensor)];
    const int buffer = add(tensor, box, false,
                           input    ? Buffer::Role::input
                           : result ? Buffer::Role::result
                                    : Buffer::Role::scratch);
    const Buffer& b = m_program.buffers.back();
    if (b.role == Buffer::Role::input) m_program.input_bytes += b.bytes;
    if (b.role == Buffer::Role::result) m_program.result_bytes += b.bytes;
    return buffer;
  }
  int add_assembled(VertexId tensor, const Box& box) {
    return add(tensor, box, false, Buffer::Role::scratch);
  }
  int add_partial(VertexId statement, const Box& box) {
    return add(statement, box, true, Buffer::Role::scratch);
  }

  int add_values(VertexId statement, const Box& values) {
    Buffer b;
    b.tensor = statement;
    b.box = values;
    b.counts = true;
    b.bytes = element_bytes(*m_graph, b) * values.size();
    m_program.buffers.push_back(std::move(b));
    const int buffer = static_cast<int>(m_program.buffers.size()) - 1;
    m_counts.push_back({{buffer, values}});
    return buffer;
  }

  void begin(VertexId statement, const BlockMap& calls, const std::vector<JoinedBlocks>& joined) {
    m_statement = statement;
    m_calls = &calls;
    m_joined = &joined;
    while (m_group != m_end && m_group->last < statement) ++m_group;
  }
  void fill(int buffer, const Box& box, OutsideValue value) {
    m_fills.push_back({{buffer, box}, value});
  }
  void spread(Spread&& spread) { m_spreads.push_back(std::move(spread)); }
  void copy(int from, int to, const Box& box, int round) {
    m_gathers.copies.emplace_back(round, Copy{from, to, box});
  }
  void send(VertexId tensor, int from, int peer, const Box& box, int round) {
    m_gathers.sends.push_back({round, tensor, peer, {from, box}});
  }
  void receive(VertexId tensor, int to, int peer, const Box& box, int round) {
    m_gathers.receives.push_back({round, tensor, peer, {to, box}});
  }
  void send_partial(VertexId statement, int from, int peer, const Box& box, int round) {
    m_aggregations.sends.push_back({round, statement, peer, {from, box}});
  }
  void receive_partial(VertexId statement, int to, int peer, const Box& box, int round) {
    m_aggregations.receives.push_back({round, statement, peer, {to, box}});
  }
  void call(const WalkedCall& walked) {
    if ((*m_graph)[m_statement].op.blocks) {
      put_blocks(*m_graph, m_statement, m_calls->relation().block((*m_joined)[walked.index].key),
                 walked, m_fills, m_spreads);
      return;
    }
    m_statement_calls.push_back({m_calls->relation().block((*m_joined)[walked.index].key),
                                 walked.operands, walked.output, walked.accumulate, walked.finish});
  }
  void combine(int target, const Box& box, const std::vector<int>& parts, int round) {
    Combine combine{{target, box}, {}};
    for (int part : parts) combine.parts.push_back({part, box});
    m_aggregations.combines.emplace_back(round, std::move(combine));
  }
  void end() {
    if (m_group != m_end && m_group->contains(m_statement) && is_streamed(*m_graph, *m_group)) {
      PanelBuilder panels(*m_graph, *m_masks, *m_readers, m_program, *m_group, m_space, m_ranks,
                          m_flights);
      panels.take(m_gathers);
      emit_gathers();
      panels.emit(m_statement_calls);
      m_statement_calls.clear();
      emit_rounds(m_aggregations);
      ++m_program.turns;
      return;
    }
    const bool grouped = m_group != m_end && m_group->contains(m_statement);
    const bool sums = grouped && m_group->accumulates;
    if (!grouped) {
      split_interior();
      leave_out_masked();
    }
    if (sums && m_statement == m_group->first) m_sum_begin = m_program.instructions.size();
    emit_gathers();
    if (grouped && !sums) {
      // What runs in steps is stored where it is computed: nothing but calls is left, and what the
      // last statement has added up.
      m_waiting.push_back({m_statement, std::move(m_statement_calls)});
      m_statement_calls.clear();
      ++m_program.turns;
      if (m_statement != m_group->last) return;
      StepBuilder(*m_graph, *m_masks, *m_results, m_program, *m_group, last_reader())
          .emit(m_waiting);
      m_waiting.clear();
      if (!adds_blocks(*m_graph, *m_group)) return;
      emit_rounds(m_aggregations);
      ++m_program.turns;
      return;
    }
    for (KernelCall& call : m_statement_calls) emit(std::move(call));
    m_statement_calls.clear();
    emit_rounds(m_aggregations);
    ++m_program.turns;
    if (sums && m_statement == m_group->last) {
      accumulate(*m_graph, *m_masks, m_program, *m_group, m_sum_begin);
    }
  }

  /// What there is of it so far, nothing placed.
  [[nodiscard]] RankProgram& program() { return m_program; }

  [[nodiscard]] RankProgram finish() {
    remove_whole_buffers();
    gather_once(m_program, m_space.constants);
    place_buffers(*m_graph, m_program);
    return std::move(m_program);
  }

 private:
  using Work = decltype(Instruction::work);
  [[nodiscard]] Buffer& buffer(int b) { return m_program.buffers[static_cast<std::size_t>(b)]; }

  int add(VertexId tensor, const Box& box, bool partial, Buffer::Role role) {
    return add_buffer(*m_graph, m_program, tensor, box, partial, role);
  }

  void emit(Work&& work) {
    m_program.instructions.push_back({m_statement, m_program.turns, std::move(work)});
  }
  /// Lets calls whose operands have borders read the stored blocks where they need nothing else. A
  /// device would take longer to begin the calls than to copy the blocks, and could not access the
  /// 0 that stands for what is beyond their ends (kernel::zero_element).
  void split_interior() {
    if (m_space.threads == 0 || !InteriorSplitter::may_split((*m_graph)[m_statement])) return;
    InteriorSplitter(*m_graph, m_program.buffers, m_statement, m_gathers, m_fills, m_spreads,
                     m_statement_calls)
        .split([&](VertexId tensor) {
          return last_reader()[static_cast<std::size_t>(tensor)] == m_statement &&
                 !std::binary_search(m_space.constants.begin(), m_space.constants.end(), tensor);
        });
  }
  /// As last_readers() says.
  [[nodiscard]] const std::vector<VertexId>& last_reader() {
    if (m_last_reader.empty()) m_last_reader = last_readers(*m_graph);
    return m_last_reader;
  }
  /// Cuts calls so that they compute little of what a mask makes 0.
  void leave_out_masked() {
    const std::vector<graph::Condition>& conditions = m_masks->of(m_statement);
    if (conditions.empty()) return;
    MaskSplitter((*m_graph)[m_statement], conditions).split(m_statement_calls);
  }
  /// Copies and messages with operands, round by round. Copies to buffers that no message touches
  /// come last: those buffers are not held any earlier.
  void emit_gathers() {
    std::vector<std::pair<int, Copy>>& copies = m_gathers.copies;
    const auto is_later = [](const auto& copy) { return copy.first > 0; };
    std::vector<std::pair<int, Copy>> last;
    // Copies of later rounds may read what those of earlier ones write.
    if (std::none_of(copies.begin(), copies.end(), is_later)) {
      const auto waits = std::stable_partition(copies.begin(), copies.end(), [&](const auto& copy) {
        return touches(m_gathers.receives, copy.second.to) ||
               touches(m_gathers.sends, copy.second.to);
      });
      last.assign(std::make_move_iterator(waits), std::make_move_iterator(copies.end()));
      copies.erase(waits, copies.end());
    }
    for (Fill& fill : m_fills) emit(std::move(fill));
    m_fills.clear();
    emit_rounds(m_gathers);
    for (auto& [round, late] : last) emit(std::move(late));
    for (Spread& spread : m_spreads) emit(std::move(spread));
    m_spreads.clear();
    for (Count& count : m_counts) emit(std::move(count));
    m_counts.clear();
  }
  [[nodiscard]] static bool touches(const std::vector<MessagePiece>& pieces, int buffer) {
    return std::any_of(pieces.begin(), pieces.end(), [buffer](const MessagePiece& piece) {
      return piece.region.buffer == buffer;
    });
  }
  /// Round by round copies, messages, combinations. Empties the lists.
  void emit_rounds(Rounds& rounds) {
    RoundSplitter(*m_graph, m_program, m_space.longest_message).split(rounds);
    auto& [copies, received, sent, combines] = rounds;
    const auto by_round = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(copies.begin(), copies.end(), by_round);
    std::stable_sort(combines.begin(), combines.end(), by_round);
    std::vector<Message> receives = messages(received, -1);
    std::vector<Message> sends = messages(sent, 1);
    auto copy = copies.begin();
    auto receive = receives.begin();
    auto send = sends.begin();
    auto combine = combines.begin();
    constexpr int none = std::numeric_limits<int>::max();
    while (true) {
      const int round = std::min({copy != copies.end() ? copy->first : none,
                                  receive != receives.end() ? receive->round : none,
                                  send != sends.end() ? send->round : none,
                                  combine != combines.end() ? combine->first : none});
      if (round == none) break;
      for (; copy != copies.end() && copy->first == round; ++copy) emit(std::move(copy->second));
      for (; receive != receives.end() && receive->round == round; ++receive) {
        emit(Receive{std::move(*receive)});
      }
      for (; send != sends.end() && send->round == round; ++send) emit(Send{std::move(*send)});
      for (; combine != combines.end() && combine->first == round; ++combine) {
        emit(std::move(combine->second));
      }
    }
    copies.clear();
    combines.clear();
  }

  /// One message per round, peer and tensor, in the order that RankProgram states. Tensors of small
  /// messages share one. \param direction of a peer from this rank: 1 of sends, -1 of receives.
  [[nodiscard]] std::vector<Message> messages(std::vector<MessagePiece>& pieces,
                                              int direction) const {
    std::vector<std::array<int, 4>> order;
    order.reserve(pieces.size());
    for (const MessagePiece& piece : pieces) {
      order.push_back({piece.round, peer_distance(piece.peer, m_program.rank, direction, m_ranks),
                       piece.tensor, static_cast<int>(order.size())});
    }
    std::sort(order.begin(), order.end());
    std::vector<Message> list;
    for (std::size_t i = 0; i < order.size();) {
      std::size_t end = i;
      Extent words = 0;
      const auto piece = [&](std::size_t n) -> MessagePiece& {
        return pieces[static_cast<std::size_t>(order[n][3])];
      };
      const auto same = [&](std::size_t n) {
        return std::equal(order[n].begin(), order[n].end() - 1, order[i].begin());
      };
      for (; end < order.size() && same(end); ++end) words += piece(end).region.box.size();
      const MessagePiece& front = piece(i);
      if (list.empty() || list.back().peer != front.peer || list.back().round != front.round ||
          !may_share(list.back(), front.region, words)) {
        list.emplace_back();
        list.back().peer = front.peer;
        list.back().round = front.round;
      }
      list.back().words += words;
      for (; i < end; ++i) list.back().regions.push_back(std::move(piece(i).region));
    }
    pieces.clear();
    return list;
  }

  /// Whether words of another tensor go along with a message: elements of one size, and so few that
  /// one more message would take longer than copying them.
  [[nodiscard]] bool may_share(const Message& message, const Region& other, Extent words) const {
    const auto bytes_each = [&](const Region& region) {
      const Buffer& b = m_program.buffers[static_cast<std::size_t>(region.buffer)];
      return element_bytes(*m_graph, b);
    };
    const int bytes = bytes_each(message.regions.front());
    return bytes == bytes_each(other) && (message.words + words) * bytes <= tuning::shared_message;
  }

  /// Takes out the buffers that exist block by block instead, which nothing uses, and renumbers the
  /// others.
  void remove_whole_buffers() {
    std::vector<int> number(m_program.buffers.size(), -1);
    for (const Instruction& instruction : m_program.instructions) {
      const auto use = [&](int b) { number[static_cast<std::size_t>(b)] = 0; };
      for_each_access(instruction, use, use);
    }
    int kept = 0;
    for (std::size_t b = 0; b < number.size(); ++b) {
      if (number[b] < 0 && m_program.buffers[b].role == Buffer::Role::scratch) continue;
      number[b] = kept++;
      if (number[b] != static_cast<int>(b)) buffer(number[b]) = std::move(m_program.buffers[b]);
    }
    if (kept == static_cast<int>(number.size())) return;
    m_program.buffers.resize(static_cast<std::size_t>(kept));
    std::vector<int*> used;  // some are read and written
    for (Instruction& instruction : m_program.instructions) {
      const auto use = [&](int& b) { used.push_back(&b); };
      for_each_access(instruction, use, use);
    }
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (int* b : used) *b = number[static_cast<std::size_t>(*b)];
  }

  const EinGraph* m_graph;
  const graph::Masks* m_masks;
  const Flags* m_results;
  const std::vector<int>* m_readers;
  std::vector<StepGroup>::const_iterator m_group;  ///< the one at hand, or the next
  std::vector<StepGroup>::const_iterator m_end;
  int m_ranks;
  SpaceFacts m_space;
  RankProgram m_program;
  int m_flights = 0;  ///< so far
  // Of the statement at hand.
  VertexId m_statement = -1;
  const BlockMap* m_calls = nullptr;
  const std::vector<JoinedBlocks>* m_joined = nullptr;
  std::vector<Fill> m_fills;
  std::vector<Spread> m_spreads;
  std::vector<Count> m_counts;
  std::vector<VertexId> m_last_reader;  ///< per tensor; empty until it is asked for
  Rounds m_gathers;                     ///< of operands
  Rounds m_aggregations;                ///< of accumulators
  std::vector<KernelCall> m_statement_calls;
  // Of the group at hand.
  std::vector<StepBuilder::Statement> m_waiting;  ///< until all are known
  std::size_t m_sum_begin = 0;  ///< the first instruction, where the group accumulates
};

}  // namespace eindecomp::relation
