// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The words a placed program moves, without the list of what moves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/tensor_relation.hpp"
#include "eindecomp/relation/walk.hpp"

namespace eindecomp {

/// The words of one statement.
struct StatementWords {
  VertexId statement = -1;  ///< the one they are moved for
  Extent repartition = 0;   ///< of operands, before the calls
  Extent aggregation = 0;   ///< accumulators, after them

  /// Both together.
  [[nodiscard]] constexpr Extent total() const { return repartition + aggregation; }
  constexpr bool operator==(const StatementWords&) const = default;
};

/// The words of a program: elements received from another rank, as TaskGraph counts them.
struct Words {
  std::vector<StatementWords> statements;  ///< in the order of the graph
  std::vector<Extent> received;            ///< per rank
  std::vector<Extent> sent;                ///< per rank

  /// Words moved in all.
  [[nodiscard]] constexpr Extent total() const {
    Extent n = 0;
    for (Extent w : received) n += w;
    return n;
  }
  /// Words received by the rank that receives most.
  [[nodiscard]] constexpr Extent busiest() const {
    Extent most = 0;
    for (Extent w : received) most = std::max(most, w);
    return most;
  }
};

namespace detail {

/// Counts a walk's words.
class WordSink {
 public:
  explicit WordSink(int ranks)
      : m_words{{},
                std::vector<Extent>(static_cast<std::size_t>(ranks), 0),
                std::vector<Extent>(static_cast<std::size_t>(ranks), 0)} {}

  [[nodiscard]] static bool wants_all() { return true; }
  [[nodiscard]] static bool wants(int) { return true; }
  static int stored(VertexId, const Box&, int, int) { return 0; }
  void begin(VertexId statement, const BlockMap&, const std::vector<JoinedBlocks>&) {
    m_words.statements.push_back({statement, 0, 0});
  }
  static int assembled(VertexId, const Box&, int) { return 0; }
  static void used(int, int) {}
  static void copied(int, int, int, const Box&) {}
  void moved(VertexId, int from_rank, int, int to_rank, int, const Box& box) {
    m_words.statements.back().repartition += count(from_rank, to_rank, box);
  }
  static int partial(VertexId, const Box&, int) { return 0; }
  static void called(VertexId, const WalkedCall&) {}
  void moved_partial(VertexId, int from_rank, int, int to_rank, int, const Box& box) {
    m_words.statements.back().aggregation += count(from_rank, to_rank, box);
  }
  static void aggregated(VertexId, int, int, const Box&, const std::vector<int>&) {}
  static void end(VertexId) {}

  [[nodiscard]] Words finish() { return std::move(m_words); }

 private:
  Extent count(int from, int to, const Box& box) {
    const Extent words = box.size();
    m_words.sent[static_cast<std::size_t>(from)] += words;
    m_words.received[static_cast<std::size_t>(to)] += words;
    return words;
  }

  Words m_words;
};

}  // namespace detail

/// The words that make_task_graph's tasks move, in a fraction of its time and none of its memory.
/// \throws Error if the placement does not suit the graph, or there is no rank.
[[nodiscard]] inline Words count_words(
    const EinGraph& graph, const Placement& placement, int ranks,
    const std::source_location& where = std::source_location::current()) {
  detail::check_ranks(ranks, where);
  check_placement(graph, placement, where);
  detail::WordSink sink(ranks);
  detail::Walk<detail::WordSink>(graph, placement, ranks, sink).run();
  return sink.finish();
}

}  // namespace eindecomp
