// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a rank does for a statement that is streamed: panels of its operands on their way while
/// others are computed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/masks.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/instruction_work.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mask_splitter.hpp"
#include "eindecomp/relation/panels.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/rounds.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace eindecomp::relation {

/// Emits the instructions of one streamed statement on one rank.
///
/// In step s messages are posted that bring panel n in round r of its gather, for every n + r = s:
/// what a round passes on has arrived by then. A panel is computed in the step after its last
/// messages were posted, when they have arrived and those of the next are under way. All ranks
/// number steps alike, so messages between two of them are posted in one order.
class PanelBuilder {
 public:
  /// \param readers  EinGraph::reader_counts()
  /// \param flights  of the program so far
  PanelBuilder(const EinGraph& graph, const graph::Masks& masks, const std::vector<int>& readers,
               RankProgram& program, const StepGroup& group, const SpaceFacts& space, int ranks,
               int& flights)
      : m_graph(graph),
        m_masks(masks),
        m_program(program),
        m_statement(group.first),
        m_label(group.axes.front().positions.front()),
        m_panels(static_cast<int>(group.axes.front().parts)),
        m_ranks(ranks),
        m_flights(flights),
        m_between_polls(space.operations_between_polls * space.threads),
        m_streamed(streamed_operands(graph, group, readers, space.constants)),
        m_parts(panel_parts(graph[group.first].extents[to_index(m_label)], group.axes.front())),
        m_parts_of(static_cast<std::size_t>(m_panels)),
        m_pieces_of(static_cast<std::size_t>(m_panels)) {
    for (std::size_t part = 0; part < m_parts.size(); ++part) {
      m_parts_of[to_index(m_parts[part].panel)].push_back(part);
    }
  }

  /// Takes what comes panel by panel out of what is gathered.
  void take(Rounds& gathers) {
    std::erase_if(gathers.copies, [&](const auto& copied) {
      const Copy& copy = copied.second;
      return split(copy.to, copy.box, [&](std::size_t part, Box&& box) {
        m_pieces[{copy.to, part}].copies.push_back({copy.from, copy.to, std::move(box)});
      });
    });
    std::erase_if(gathers.receives, [&](const MessagePiece& piece) {
      return split(piece.region.buffer, piece.region.box, [&](std::size_t part, Box&& box) {
        m_pieces[{piece.region.buffer, part}].received = true;
        m_receives.push_back(posted(piece, part, std::move(box)));
        m_lag = std::max(m_lag, piece.round + 1);
      });
    });
    std::erase_if(gathers.sends, [&](const MessagePiece& piece) {
      return split(piece.region.buffer, piece.region.box, [&](std::size_t part, Box&& box) {
        m_sends.push_back(posted(piece, part, std::move(box)));
      });
    });
  }

  /// Emits everything else of the gather, and the calls.
  void emit(const std::vector<KernelCall>& calls) {
    int steps = m_panels + m_lag;
    for (const Posted& p : m_receives) steps = std::max(steps, p.step + 1);
    for (const Posted& p : m_sends) steps = std::max(steps, p.step + 1);
    for (const KernelCall& call : calls) note_output(call);
    for (auto& piece : m_pieces) {
      m_pieces_of[to_index(m_parts[piece.first.second].panel)].push_back(&piece);
    }
    by_step(m_receives, -1);
    by_step(m_sends, 1);
    reserve(steps, calls.size());
    for (int s = 0; s < steps; ++s) {
      await();
      post(s);
      if (s >= m_lag && s - m_lag < m_panels) compute(calls, s - m_lag);
    }
    await();
    for (const auto& [key, sum] : m_sums) {
      if (sum.buffer >= 0) emit(Combine{{key.first, sum.box}, {{sum.buffer, sum.box}}});
    }
  }

 private:
  using Work = decltype(Instruction::work);
  /// A message of a step.
  struct Posted {
    int step = 0;
    VertexId tensor = -1;
    std::size_t part = 0;
    int peer = -1;
    int buffer = -1;  ///< a stored one, or a whole operand that exists piece by piece
    Box box;
  };
  /// The part of an operand that calls of one part of the label read.
  struct Piece {
    std::vector<Copy> copies;  ///< from what is stored here, to the whole operand
    bool received = false;     ///< some of it comes from other ranks
    int buffer = -1;           ///< once it is known
  };
  /// A box of a buffer, which others are compared with by what they have.
  struct BoxOfBuffer {
    int buffer = -1;
    const Box* box = nullptr;

    bool operator<(const BoxOfBuffer& other) const {
      return std::tie(buffer, box->lo, box->hi) <
             std::tie(other.buffer, other.box->lo, other.box->hi);
    }
  };
  /// A box of results, which calls add to.
  struct Sum {
    Box box;
    int buffer = -1;     ///< of accumulators, where final elements are not
    bool begun = false;  ///< whether there is something to add to
  };
  using PieceKey = std::pair<int, std::size_t>;        ///< whole operand, part
  using SumKey = std::pair<int, std::vector<Extent>>;  ///< buffer, where the box begins

  /// Makes room for about what is emitted: a program of many panels is long.
  void reserve(int steps, std::size_t calls) {
    const std::size_t messages = m_receives.size() + m_sends.size();
    reserve_more(m_program.instructions,
                 messages + m_pieces.size() + to_index(steps) + calls * m_parts.size());
    reserve_more(m_program.buffers, m_receives.size() + m_pieces.size());
  }
  template <class Item>
  static void reserve_more(std::vector<Item>& list, std::size_t more) {
    const std::size_t size = list.size() + more;
    if (size > list.capacity()) list.reserve(std::max(size, 2 * list.capacity()));
  }

  [[nodiscard]] const Buffer& buffer(int b) const { return m_program.buffers[to_index(b)]; }
  void emit(Work&& work) {
    m_program.instructions.push_back({m_statement, m_program.turns, std::move(work)});
  }
  int add(VertexId tensor, const Box& box, bool partial = false) {
    return add_buffer(m_graph, m_program, tensor, box, partial, Buffer::Role::scratch);
  }

  /// The dimension of a tensor along which it is streamed; -1 if it is not.
  [[nodiscard]] int dimension_of(VertexId tensor) const {
    const std::vector<Operand>& operands = m_graph[m_statement].operands;
    for (std::size_t o = 0; o < operands.size(); ++o) {
      if (operands[o].vertex != tensor || !m_streamed[o]) continue;
      const std::vector<int>& labels = operands[o].labels;
      return static_cast<int>(std::find(labels.begin(), labels.end(), m_label) - labels.begin());
    }
    return -1;
  }
  [[nodiscard]] Box part_of(Box box, int dimension, std::size_t part) const {
    const auto k = to_index(dimension);
    box.lo[k] = std::max(box.lo[k], m_parts[part].lo);
    box.hi[k] = std::min(box.hi[k], m_parts[part].hi);
    return box;
  }
  /// Visits the parts of a box of a buffer, if its tensor is streamed. \returns whether it is.
  template <class Visit>
  bool split(int of_buffer, const Box& box, const Visit& visit) {
    const int dimension = dimension_of(buffer(of_buffer).tensor);
    if (dimension < 0) return false;
    if (box.empty()) return true;
    const auto k = to_index(dimension);
    const auto first = std::upper_bound(m_parts.begin(), m_parts.end(), box.lo[k],
                                        [](Extent lo, const PanelPart& p) { return lo < p.hi; });
    for (auto part = first; part != m_parts.end() && part->lo < box.hi[k]; ++part) {
      const auto n = to_index(part - m_parts.begin());
      visit(n, part_of(box, dimension, n));
    }
    return true;
  }
  [[nodiscard]] Posted posted(const MessagePiece& piece, std::size_t part, Box&& box) const {
    return {static_cast<int>(m_parts[part].panel) + piece.round,
            piece.tensor,
            part,
            piece.peer,
            piece.region.buffer,
            std::move(box)};
  }

  /// The buffer with a part of an operand, or of what is stored: itself.
  [[nodiscard]] int buffer_of(int whole, std::size_t part) {
    const auto found = m_pieces.find({whole, part});
    if (found == m_pieces.end()) return whole;
    Piece& piece = found->second;
    if (piece.buffer >= 0) return piece.buffer;
    const Box box = part_of(buffer(whole).box, dimension_of(buffer(whole).tensor), part);
    const bool lies_here =
        !piece.received && piece.copies.size() == 1 && piece.copies.front().box == box;
    if (lies_here) {
      piece.buffer = piece.copies.front().from;
      piece.copies.clear();
    } else {
      piece.buffer = add(buffer(whole).tensor, box);
    }
    return piece.buffer;
  }

  /// Sorts messages by their steps, those of one by peer, then by tensor and part.
  void by_step(std::vector<Posted>& messages, int direction) const {
    std::vector<std::array<int, 5>> order;
    order.reserve(messages.size());
    for (const Posted& p : messages) {
      order.push_back({p.step, peer_distance(p.peer, m_program.rank, direction, m_ranks), p.tensor,
                       static_cast<int>(p.part), static_cast<int>(order.size())});
    }
    std::sort(order.begin(), order.end());
    std::vector<Posted> sorted;
    sorted.reserve(messages.size());
    for (const auto& place : order) sorted.push_back(std::move(messages[to_index(place.back())]));
    messages = std::move(sorted);
  }
  /// The messages of a step.
  [[nodiscard]] static std::span<Posted> messages_of(int step, std::vector<Posted>& all) {
    const auto first = std::partition_point(all.begin(), all.end(),
                                            [&](const Posted& p) { return p.step < step; });
    const auto last =
        std::partition_point(first, all.end(), [&](const Posted& p) { return p.step == step; });
    return {first, last};
  }
  /// The message itself, which takes the box.
  template <class SendOrReceive>
  [[nodiscard]] SendOrReceive message(Posted& p, int from_or_to) const {
    SendOrReceive message;
    message.peer = p.peer;
    message.words = p.box.size();
    message.regions.push_back({from_or_to, std::move(p.box)});
    message.round = first_posted_round + p.step;
    message.flight = m_flights;
    return message;
  }

  void post(int step) {
    const std::span<Posted> receives = messages_of(step, m_receives);
    const std::span<Posted> sends = messages_of(step, m_sends);
    if (receives.empty() && sends.empty()) return;
    m_await.flight = m_flights;
    m_await.received.reserve(receives.size());
    m_await.sent.reserve(sends.size());
    // What several peers get is packed once.
    std::map<BoxOfBuffer, int> packed;
    std::vector<int> from;
    from.reserve(sends.size());
    for (const Posted& p : sends) {
      int source = buffer_of(p.buffer, p.part);
      const Buffer& b = buffer(source);
      if (b.role == Buffer::Role::input || !is_contiguous(p.box, b.box)) {
        const auto [known, fresh] = packed.try_emplace({source, &p.box}, -1);
        if (fresh) {
          known->second = add(p.tensor, p.box);
          emit(Copy{source, known->second, p.box});
        }
        source = known->second;
      }
      from.push_back(source);
      m_await.sent.push_back({source, p.box});
    }
    for (Posted& p : receives) {
      const int target = buffer_of(p.buffer, p.part);
      int landing = target;
      if (!is_contiguous(p.box, buffer(target).box)) {
        landing = add(p.tensor, p.box);
        m_unpacked.push_back({landing, target, p.box});
      }
      m_await.received.push_back({landing, p.box});
      emit(message<Receive>(p, landing));
    }
    for (std::size_t n = 0; n < sends.size(); ++n) emit(message<Send>(sends[n], from[n]));
    ++m_flights;
  }

  /// Ends what is under way, if anything is.
  void await() {
    if (m_await.flight < 0) return;
    emit(std::move(m_await));
    m_await = {};
    for (Copy& copy : m_unpacked) emit(std::move(copy));
    m_unpacked.clear();
  }

  [[nodiscard]] Sum& sum_of(const KernelCall& call) {
    return m_sums[{call.output, results_of(m_graph[m_statement], call.domain).lo}];
  }
  void note_output(const KernelCall& call) {
    Sum& sum = sum_of(call);
    sum.box = results_of(m_graph[m_statement], call.domain);
    const bool adds_elsewhere = call.finish && m_graph[m_statement].op.finishes;
    if (adds_elsewhere && sum.buffer < 0) sum.buffer = add(m_statement, sum.box, true);
  }

  /// The calls of a panel.
  void compute(const std::vector<KernelCall>& calls, int panel) {
    for (auto* const keyed : m_pieces_of[to_index(panel)]) {
      auto& [key, piece] = *keyed;
      const int to = buffer_of(key.first, key.second);
      for (Copy& copy : piece.copies) emit(Copy{copy.from, to, std::move(copy.box)});
    }
    for (const KernelCall& whole : calls) {
      Sum& sum = sum_of(whole);
      for (const std::size_t part : m_parts_of[to_index(panel)]) {
        KernelCall call = whole;
        call.domain = part_of(std::move(call.domain), m_label, part);
        if (call.domain.empty()) continue;
        const bool counts = keep_counting(m_graph[m_statement], m_masks.of(m_statement), call);
        if (!counts && sum.begun) continue;
        for (int& operand : call.operands) operand = buffer_of(operand, part);
        if (sum.buffer >= 0) {
          call.output = sum.buffer;
          call.finish = false;
        }
        call.accumulate = std::exchange(sum.begun, true);
        emit_interrupted(std::move(call));
      }
    }
  }

  /// A call, while messages are under way in pieces that are over soon.
  void emit_interrupted(KernelCall&& call) {
    const bool polls = m_await.flight >= 0 && m_between_polls > 0;
    const Extent wanted =
        polls ? ceil_div(joins_of(m_graph[m_statement], call.domain), m_between_polls) : 1;
    if (wanted <= 1) {  // 0: it writes what ⊕ begins with
      emit(std::move(call));
      return;
    }
    for (Box& domain : parts_of_box(call.domain, piece_counts(call.domain, wanted))) {
      KernelCall piece = call;
      piece.domain = std::move(domain);
      emit(std::move(piece));
    }
  }

  /// How often each label is cut, of the output's, for at least `wanted` pieces if there can be so
  /// many. Sides of pieces are about equal: those of thin ones read an operand over and over.
  [[nodiscard]] std::vector<Extent> piece_counts(const Box& domain, Extent wanted) const {
    std::vector<Extent> counts(to_index(domain.rank()), 1);
    for (Extent pieces = 1; pieces < wanted;) {
      Extent longest = 1;
      int cut = -1;
      for (const int l : m_graph[m_statement].output) {
        const Extent side = ceil_div(domain.extent(l), counts[to_index(l)]);
        if (side <= longest) continue;
        longest = side;
        cut = l;
      }
      if (cut < 0) break;
      Extent& count = counts[to_index(cut)];
      pieces = pieces / count * (count + 1);
      ++count;
    }
    return counts;
  }

  const EinGraph& m_graph;
  const graph::Masks& m_masks;
  RankProgram& m_program;
  VertexId m_statement;
  int m_label;
  int m_panels;
  int m_ranks;
  int& m_flights;
  Extent m_between_polls;  ///< operations
  Flags m_streamed;
  std::vector<PanelPart> m_parts;                    ///< in order
  std::vector<std::vector<std::size_t>> m_parts_of;  ///< by panel
  std::map<PieceKey, Piece> m_pieces;
  std::vector<std::vector<std::pair<const PieceKey, Piece>*>> m_pieces_of;  ///< by panel
  std::vector<Posted> m_receives;
  std::vector<Posted> m_sends;
  int m_lag = 0;  ///< steps from the first messages of a panel to its calls
  std::map<SumKey, Sum> m_sums;
  Await m_await;                 ///< of what is under way; of no flight if nothing is
  std::vector<Copy> m_unpacked;  ///< when that has arrived
};

}  // namespace eindecomp::relation
