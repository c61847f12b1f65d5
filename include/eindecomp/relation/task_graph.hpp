// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The task graph of a placed program: every kernel call, every repartition and every aggregation,
/// with the ranks they join and the words they move.
#pragma once

#include <algorithm>
#include <functional>
#include <source_location>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/layout.hpp"

namespace eindecomp {

/// One kernel call: a tuple of a statement's join.
struct CallTask {
  BlockKey key;    ///< a part number per label
  Box domain;      ///< the indices of the labels
  int worker = 0;  ///< that makes the call
  int rank = 0;    ///< that hosts the worker
};

/// A box of a tensor that one rank sends to another: final elements of an operand, or accumulators
/// of a result.
struct Transfer {
  VertexId tensor = -1;  ///< whose elements are sent
  Box box;               ///< which of them
  int from = 0;          ///< rank
  int to = 0;            ///< rank

  /// The elements moved.
  [[nodiscard]] constexpr Extent words() const { return box.size(); }
};

/// A block of a tensor where it is stored for good.
struct StoredBlock {
  Box box;         ///< its place in the tensor
  int worker = 0;  ///< that stores it
  int rank = 0;    ///< that hosts the worker
};

/// The tasks of one statement.
struct StatementTasks {
  VertexId statement = -1;             ///< whose tasks they are
  std::vector<CallTask> calls;         ///< in the order of keys
  std::vector<Transfer> repartitions;  ///< of operands, before the calls
  std::vector<Transfer> aggregations;  ///< of accumulators, after them
  Extent repartition_words = 0;        ///< elements of `repartitions`
  Extent aggregation_words = 0;        ///< elements of `aggregations`
  std::vector<Extent> received;        ///< words per rank

  /// Words moved for the statement.
  [[nodiscard]] constexpr Extent words() const { return repartition_words + aggregation_words; }
};

/// Words that one rank sends to another over the whole program.
struct PairWords {
  int from = 0;      ///< rank
  int to = 0;        ///< rank
  Extent words = 0;  ///< elements
  constexpr bool operator==(const PairWords&) const = default;
};

/// Everything that all ranks together do to run a placed program. Words are elements received from
/// another rank; an element a rank has received is kept as long as its tensor has readers, so it is
/// counted once.
struct TaskGraph {
  int workers = 0;                               ///< p
  int ranks = 0;                                 ///< R
  std::vector<StatementTasks> statements;        ///< in the order of the graph
  std::vector<std::vector<StoredBlock>> stored;  ///< per tensor, in the order of blocks
  std::vector<Extent> received;                  ///< words per rank
  std::vector<Extent> sent;                      ///< words per rank
  std::vector<PairWords> pairs;                  ///< pairs that exchange any, by sender, receiver

  /// Words moved in all.
  [[nodiscard]] constexpr Extent total_words() const {
    Extent n = 0;
    for (Extent w : received) n += w;
    return n;
  }
  /// Words received by the rank that receives most.
  [[nodiscard]] constexpr Extent busiest_words() const {
    Extent most = 0;
    for (Extent w : received) most = std::max(most, w);
    return most;
  }
};

/// The tasks of a placed program on so many ranks, which host its workers as rank_of says. The work
/// is that of the blocks that meet: no block is compared with one it does not touch.
/// \throws Error if the placement does not suit the graph, or there is no rank.
[[nodiscard]] TaskGraph make_task_graph(
    const EinGraph& graph, const Placement& placement, int ranks,
    const std::source_location& where = std::source_location::current());

/// Calls `use` with the tasks of every statement, in the order of the graph, as make_task_graph
/// gives them: for many ranks, whose transfers together would take gigabytes.
/// \throws Error as make_task_graph, before the first call; and what `use` throws.
void for_each_statement_tasks(const EinGraph& graph, const Placement& placement, int ranks,
                              const std::function<void(const StatementTasks&)>& use,
                              const std::source_location& where = std::source_location::current());

}  // namespace eindecomp

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/relation/walk_tasks.hpp"
#endif
