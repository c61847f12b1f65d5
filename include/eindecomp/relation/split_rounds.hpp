// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Long messages in several, one after another, so that little is packed or waits to be combined at
/// a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/rounds.hpp"

namespace eindecomp::relation {

/// Every round becomes so many: part n of a long message goes in the nth of them. Of a message of
/// more parts several that follow each other go together.
inline constexpr int parts_of_round = 1 << 10;

/// Cuts messages that are longer than a number of bytes, into as many parts as a round has. Both
/// ends cut alike, by the boxes and their order. Accumulators that are received are combined as
/// soon as all that belongs to them is there, those of one long piece part by part.
class RoundSplitter {
 public:
  RoundSplitter(const EinGraph& graph, RankProgram& program, std::int64_t longest)
      : m_graph(graph), m_program(program), m_longest(longest) {}

  void split(Rounds& rounds) {
    for (auto& [round, copy] : rounds.copies) round *= parts_of_round;
    split_pieces(rounds.receives, true);
    split_pieces(rounds.sends, false);
    split_combines(rounds.combines);
  }

 private:
  /// A part of a received buffer of accumulators.
  struct Part {
    Box box;
    int buffer = -1;
    int number = 0;  ///< in its round
  };
  /// How much of a message has been handed out to parts.
  struct Filled {
    int number = 0;          ///< of the part at hand
    std::int64_t bytes = 0;  ///< of it

    /// In which part of its round a part goes. What is left beyond the last would be one message.
    [[nodiscard]] int in_round(int part) const {
      const int parts = number + (bytes > 0 ? 1 : 0);
      if (parts <= parts_of_round) return part;
      return static_cast<int>(std::int64_t{part} * parts_of_round / parts);
    }
  };
  /// A piece of a message, cut.
  struct CutPiece {
    std::vector<Box> boxes;
    int first = 0;  ///< the part of its message in which it begins
  };

  [[nodiscard]] std::int64_t bytes_of(const Region& region) const {
    const Buffer& buffer = m_program.buffers[to_index(region.buffer)];
    return region.box.size() * element_bytes(m_graph, buffer);
  }

  /// The boxes that one piece goes in.
  [[nodiscard]] std::vector<Box> parts_of(const Region& region) const {
    const Box& box = region.box;
    const Extent wanted =
        std::clamp<Extent>(ceil_div(bytes_of(region), m_longest), 1, parts_of_round);
    if (wanted <= 1) return {box};
    // The slowest dimension that is long enough: parts lie together where the whole does. If none
    // is, several from the slowest on.
    std::vector<Extent> counts(to_index(box.rank()), 1);
    for (int k = 0; k < box.rank(); ++k) {
      if (box.extent(k) < wanted) continue;
      counts[to_index(k)] = wanted;
      return parts_of_box(box, counts);
    }
    Extent rest = wanted;
    for (int k = 0; k < box.rank() && rest > 1; ++k) {
      counts[to_index(k)] = std::min(rest, box.extent(k));
      rest = ceil_div(rest, counts[to_index(k)]);
    }
    return parts_of_box(box, counts);
  }

  /// The part of its message in which a piece begins.
  [[nodiscard]] int first_part(const MessagePiece& piece, int boxes) {
    Filled& filled = m_filled[{piece.round, piece.peer, piece.tensor}];
    const std::int64_t bytes = bytes_of(piece.region);
    if (filled.bytes > 0 && filled.bytes + bytes > m_longest) filled = {filled.number + 1, 0};
    const int first = filled.number;
    filled.bytes += bytes;
    if (boxes > 1) filled = {first + boxes, 0};
    return first;
  }

  void split_pieces(std::vector<MessagePiece>& pieces, bool received) {
    std::int64_t all = 0;
    for (const MessagePiece& piece : pieces) all += bytes_of(piece.region);
    if (all <= m_longest) {
      for (MessagePiece& piece : pieces) piece.round *= parts_of_round;
      return;
    }
    m_filled.clear();
    std::vector<CutPiece> cut;
    cut.reserve(pieces.size());
    for (const MessagePiece& piece : pieces) {
      cut.push_back({parts_of(piece.region)});
      cut.back().first = first_part(piece, static_cast<int>(cut.back().boxes.size()));
    }
    std::vector<MessagePiece> split;
    split.reserve(pieces.size());
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      const MessagePiece& piece = pieces[p];
      const std::vector<Box>& boxes = cut[p].boxes;
      const Filled& message = m_filled[{piece.round, piece.peer, piece.tensor}];
      const bool combined = received && m_program.buffers[to_index(piece.region.buffer)].partial;
      for (std::size_t n = 0; n < boxes.size(); ++n) {
        const int number = message.in_round(cut[p].first + static_cast<int>(n));
        int target = piece.region.buffer;
        if (combined) {
          if (boxes.size() > 1) {
            target =
                add_buffer(m_graph, m_program, piece.tensor, boxes[n], true, Buffer::Role::scratch);
          }
          m_parts[piece.region.buffer].push_back({boxes[n], target, number});
        }
        split.push_back(
            {piece.round * parts_of_round + number, piece.tensor, piece.peer, {target, boxes[n]}});
      }
    }
    pieces = std::move(split);
  }

  void split_combines(std::vector<std::pair<int, Combine>>& combines) const {
    std::vector<std::pair<int, Combine>> split;
    split.reserve(combines.size());
    for (auto& [round, combine] : combines) {
      // What is combined is one box in all parts, and so received in as many pieces from everybody.
      std::vector<Part> pieces = {{combine.target.box}};
      for (const Region& part : combine.parts) {
        const auto found = m_parts.find(part.buffer);
        if (found == m_parts.end()) continue;
        pieces.resize(found->second.size());
        for (std::size_t n = 0; n < pieces.size(); ++n) {
          pieces[n].box = found->second[n].box;
          pieces[n].number = std::max(pieces[n].number, found->second[n].number);
        }
      }
      for (std::size_t n = 0; n < pieces.size(); ++n) {
        const Box& box = pieces[n].box;
        Combine part{{combine.target.buffer, box}, {}};
        for (const Region& region : combine.parts) {
          const auto found = m_parts.find(region.buffer);
          part.parts.push_back(
              {found == m_parts.end() ? region.buffer : found->second[n].buffer, box});
        }
        split.emplace_back(round * parts_of_round + pieces[n].number, std::move(part));
      }
    }
    combines = std::move(split);
  }

  const EinGraph& m_graph;
  RankProgram& m_program;
  std::int64_t m_longest;  ///< bytes of a message
  /// By round, peer and tensor.
  std::map<std::tuple<int, int, VertexId>, Filled> m_filled;
  std::map<int, std::vector<Part>> m_parts;  ///< of received accumulators, by whole buffer
};

}  // namespace eindecomp::relation
