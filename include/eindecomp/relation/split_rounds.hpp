// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Long messages in several, one after another, so that little is packed or waits to be combined at
/// a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/rounds.hpp"

namespace eindecomp::relation {

/// Every round becomes so many: part n of a long message goes in the nth of them.
inline constexpr int parts_of_round = 1 << 10;

/// Cuts messages that are longer than a number of bytes. Both ends cut alike, by the box alone.
/// Accumulators that are received in parts are combined part by part.
class RoundSplitter {
 public:
  RoundSplitter(const EinGraph& graph, RankProgram& program, std::int64_t longest)
      : m_graph(graph), m_program(program), m_longest(longest) {}

  void split(Rounds& rounds) {
    for (auto& [round, copy] : rounds.copies) round *= parts_of_round;
    const auto is_long = [&](const MessagePiece& piece) { return bytes_of(piece.region) > m_longest; };
    if (std::ranges::none_of(rounds.receives, is_long) &&
        std::ranges::none_of(rounds.sends, is_long)) {
      for (MessagePiece& piece : rounds.receives) piece.round *= parts_of_round;
      for (MessagePiece& piece : rounds.sends) piece.round *= parts_of_round;
      for (auto& [round, combine] : rounds.combines) round *= parts_of_round;
      return;
    }
    split_combined(rounds);
    split_pieces(rounds.receives, true);
    split_pieces(rounds.sends, false);
    split_combines(rounds.combines);
  }

 private:
  /// A part of a received buffer of accumulators, in a buffer of its own.
  struct Part {
    Box box;
    int buffer = -1;
  };

  [[nodiscard]] const Buffer& buffer(int b) const { return m_program.buffers[to_index(b)]; }

  [[nodiscard]] std::int64_t bytes_of(const Region& region) const {
    return region.box.size() * element_bytes(m_graph, buffer(region.buffer));
  }

  /// The parts that a message of a box comes in.
  [[nodiscard]] std::vector<Box> parts_of(const Region& region) const {
    const Box& box = region.box;
    const Extent wanted =
        std::clamp<Extent>(ceil_div(bytes_of(region), m_longest), 1, parts_of_round);
    if (wanted <= 1) return {box};
    // The slowest dimension that is long enough: parts lie together where the whole does.
    int along = 0;
    for (int k = 0; k < box.rank() && box.extent(along) < wanted; ++k) {
      if (box.extent(k) > box.extent(along)) along = k;
    }
    const Extent count = std::min(wanted, box.extent(along));
    std::vector<Box> parts(static_cast<std::size_t>(count), box);
    for (Extent n = 0; n < count; ++n) {
      Box& part = parts[static_cast<std::size_t>(n)];
      part.lo[to_index(along)] = box.lo[to_index(along)] + part_begin(box.extent(along), count, n);
      part.hi[to_index(along)] =
          box.lo[to_index(along)] + part_begin(box.extent(along), count, n + 1);
    }
    return parts;
  }

  /// Finds the buffers that are received in parts to be combined, and gives each part its own.
  void split_combined(const Rounds& rounds) {
    for (const MessagePiece& piece : rounds.receives) {
      const bool combined = buffer(piece.region.buffer).partial;
      if (!combined) continue;
      const std::vector<Box> boxes = parts_of(piece.region);
      if (boxes.size() == 1) continue;
      std::vector<Part>& parts = m_parts[piece.region.buffer];
      for (const Box& box : boxes) {
        parts.push_back(
            {box, add_buffer(m_graph, m_program, piece.tensor, box, true, Buffer::Role::scratch)});
      }
    }
  }

  void split_pieces(std::vector<MessagePiece>& pieces, bool received) const {
    std::vector<MessagePiece> split;
    split.reserve(pieces.size());
    for (MessagePiece& piece : pieces) {
      const std::vector<Box> boxes = parts_of(piece.region);
      const auto own = received ? m_parts.find(piece.region.buffer) : m_parts.end();
      for (std::size_t n = 0; n < boxes.size(); ++n) {
        const int target = own == m_parts.end() ? piece.region.buffer : own->second[n].buffer;
        split.push_back({piece.round * parts_of_round + static_cast<int>(n), piece.tensor,
                         piece.peer, {target, boxes[n]}});
      }
    }
    pieces = std::move(split);
  }

  void split_combines(std::vector<std::pair<int, Combine>>& combines) const {
    std::vector<std::pair<int, Combine>> split;
    split.reserve(combines.size());
    for (auto& [round, combine] : combines) {
      // What is combined is one box in all parts, and so received in as many pieces from everybody.
      const std::vector<Part>* pieces = nullptr;
      for (const Region& part : combine.parts) {
        if (const auto found = m_parts.find(part.buffer); found != m_parts.end()) {
          pieces = &found->second;
        }
      }
      if (pieces == nullptr) {
        split.emplace_back(round * parts_of_round, std::move(combine));
        continue;
      }
      for (std::size_t n = 0; n < pieces->size(); ++n) {
        const Box& box = (*pieces)[n].box;
        Combine part{{combine.target.buffer, box}, {}};
        for (const Region& region : combine.parts) {
          const auto found = m_parts.find(region.buffer);
          part.parts.push_back(
              {found == m_parts.end() ? region.buffer : found->second[n].buffer, box});
        }
        split.emplace_back(round * parts_of_round + static_cast<int>(n), std::move(part));
      }
    }
    combines = std::move(split);
  }

  const EinGraph& m_graph;
  RankProgram& m_program;
  std::int64_t m_longest;                   ///< bytes of a message
  std::map<int, std::vector<Part>> m_parts;  ///< of received accumulators, by whole buffer
};

}  // namespace eindecomp::relation
