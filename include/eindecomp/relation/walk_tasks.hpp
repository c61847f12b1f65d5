// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The walk of a placed program that tells its tasks, and the task graph of them. With
/// EINDECOMP_SEPARATE_PLANNER, one translation unit compiles it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/block_map.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "eindecomp/relation/tensor_relation.hpp"
#include "eindecomp/relation/walk.hpp"

namespace eindecomp {
namespace relation {

/// Who is told of a program's tasks.
class TaskReceiver {
 public:
  virtual void store(VertexId tensor, StoredBlock block) = 0;
  /// One statement after another.
  virtual void take(StatementTasks&& tasks) = 0;

 protected:
  ~TaskReceiver() = default;
};

/// Hands statements' tasks to a callable, and forgets them.
class TaskStream final : public TaskReceiver {
 public:
  explicit TaskStream(const std::function<void(const StatementTasks&)>& use) : m_use(use) {}
  void store(VertexId, StoredBlock) override {}
  void take(StatementTasks&& tasks) override { m_use(tasks); }

 private:
  const std::function<void(const StatementTasks&)>& m_use;
};

/// Writes down a walk as the tasks of one statement after another.
class TaskSink final : public WalkSink {
 public:
  TaskSink(int workers, int ranks, TaskReceiver& receiver)
      : m_workers(workers), m_ranks(ranks), m_receiver(receiver) {}

  [[nodiscard]] bool wants_all() const override { return true; }
  [[nodiscard]] bool wants(int) const override { return true; }
  int stored(VertexId tensor, const Box& box, int worker, int rank) override {
    m_receiver.store(tensor, {box, worker, rank});
    return 0;
  }
  void begin(VertexId statement, const BlockMap& calls,
             const std::vector<JoinedBlocks>& joined) override {
    m_tasks = {};
    m_tasks.statement = statement;
    m_tasks.calls.reserve(joined.size());
    for (std::size_t i = 0; i < joined.size(); ++i) {
      const int worker = calls.worker(static_cast<Extent>(i));
      m_tasks.calls.push_back({joined[i].key, calls.relation().block(joined[i].key), worker,
                               rank_of(worker, m_workers, m_ranks)});
    }
    m_made.assign(joined.size(), 0);
    m_tasks.received.assign(static_cast<std::size_t>(m_ranks), 0);
  }
  int assembled(VertexId, const Box&, int) override { return 0; }
  int arranged(VertexId, const Box&, int) override { return 0; }
  void filled(int, int, const Box&, OutsideValue) override {}
  void spread(int, Spread&&) override {}
  int counted(VertexId, const Box&, int) override { return -1; }
  void copied(int, int, int, const Box&, int) override {}
  void moved(VertexId tensor, int from_rank, int, int to_rank, int, const Box& box, int) override {
    m_tasks.repartitions.push_back({tensor, box, from_rank, to_rank});
    m_tasks.repartition_words += box.size();
    m_tasks.received[static_cast<std::size_t>(to_rank)] += box.size();
  }
  int partial(VertexId, const Box&, int) override { return 0; }
  void called(VertexId, const WalkedCall& call) override { m_made[call.index] = 1; }
  void moved_partial(VertexId statement, int from_rank, int, int to_rank, int, const Box& box,
                     int) override {
    m_tasks.aggregations.push_back({statement, box, from_rank, to_rank});
    m_tasks.aggregation_words += box.size();
    m_tasks.received[static_cast<std::size_t>(to_rank)] += box.size();
  }
  void aggregated(int, int, const Box&, const std::vector<int>&, int) override {}
  void end(VertexId) override {
    std::size_t n = 0;  // masks leave nothing of some
    std::erase_if(m_tasks.calls, [&](const CallTask&) { return !m_made[n++]; });
    m_receiver.take(std::move(m_tasks));
  }

 private:
  int m_workers;
  int m_ranks;
  TaskReceiver& m_receiver;
  StatementTasks m_tasks;
  Flags m_made;  ///< whether a call is one of the program's
};

/// Keeps all tasks, and sums up what pairs of ranks exchange.
class TaskGraphBuilder final : public TaskReceiver {
 public:
  TaskGraphBuilder(const EinGraph& graph, int workers, int ranks) {
    m_graph.workers = workers;
    m_graph.ranks = ranks;
    m_graph.stored.resize(graph.vertices.size());
    m_graph.received.assign(static_cast<std::size_t>(ranks), 0);
    m_graph.sent.assign(static_cast<std::size_t>(ranks), 0);
  }

  void store(VertexId tensor, StoredBlock block) override {
    m_graph.stored[static_cast<std::size_t>(tensor)].push_back(std::move(block));
  }
  void take(StatementTasks&& tasks) override { m_graph.statements.push_back(std::move(tasks)); }

  [[nodiscard]] TaskGraph finish() {
    std::vector<PairWords> moved;
    for (const StatementTasks& tasks : m_graph.statements) {
      for (const auto* transfers : {&tasks.repartitions, &tasks.aggregations}) {
        for (const Transfer& t : *transfers) moved.push_back({t.from, t.to, t.words()});
      }
    }
    std::sort(moved.begin(), moved.end(), [](const PairWords& a, const PairWords& b) {
      return a.from != b.from ? a.from < b.from : a.to < b.to;
    });
    for (const PairWords& m : moved) {
      m_graph.sent[static_cast<std::size_t>(m.from)] += m.words;
      m_graph.received[static_cast<std::size_t>(m.to)] += m.words;
      std::vector<PairWords>& pairs = m_graph.pairs;
      if (!pairs.empty() && pairs.back().from == m.from && pairs.back().to == m.to) {
        pairs.back().words += m.words;
      } else {
        pairs.push_back(m);
      }
    }
    return std::move(m_graph);
  }

 private:
  TaskGraph m_graph;
};

/// Tells of all tasks, by a walk of the whole program.
inline void tell_tasks(const EinGraph& graph, const Placement& placement, int ranks,
                       TaskReceiver& receiver) {
  TaskSink sink(placement.mesh.workers(), ranks, receiver);
  const graph::Masks masks(graph);
  Walk(graph, masks, placement, ranks, sink).run();
}

}  // namespace relation

EINDECOMP_PLANNER_INLINE TaskGraph make_task_graph(const EinGraph& graph,
                                                   const Placement& placement, int ranks,
                                                   const std::source_location& where) {
  relation::check_ranks(ranks, where);
  check_placement(graph, placement, where);
  relation::TaskGraphBuilder builder(graph, placement.mesh.workers(), ranks);
  relation::tell_tasks(graph, placement, ranks, builder);
  return builder.finish();
}

EINDECOMP_PLANNER_INLINE void for_each_statement_tasks(
    const EinGraph& graph, const Placement& placement, int ranks,
    const std::function<void(const StatementTasks&)>& use, const std::source_location& where) {
  relation::check_ranks(ranks, where);
  check_placement(graph, placement, where);
  relation::TaskStream stream(use);
  relation::tell_tasks(graph, placement, ranks, stream);
}

}  // namespace eindecomp
