// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// From a placed program to what each rank does: its buffers and their places, messages, calls.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/arena.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/run_in_steps.hpp"
#include "eindecomp/relation/schedule.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/tensor_relation.hpp"
#include "eindecomp/relation/walk.hpp"

namespace eindecomp {
namespace detail {

/// Builds the schedule of one rank from what a walk tells of it.
class RankBuilder {
 public:
  RankBuilder(const EinGraph& graph, const Flags& results, const std::vector<StepGroup>& groups,
              int ranks, int rank)
      : m_graph(&graph), m_results(&results), m_groups(&groups), m_ranks(ranks) {
    m_schedule.rank = rank;
    for (const Vertex& v : graph.vertices) m_steps += v.is_input() ? 0 : 1;
  }

  int add_stored(VertexId tensor, const Box& box) {
    const bool input = (*m_graph)[tensor].is_input();
    const bool result = (*m_results)[static_cast<std::size_t>(tensor)];
    const int buffer = add(tensor, box, false,
                           input    ? Buffer::Role::input
                           : result ? Buffer::Role::result
                                    : Buffer::Role::scratch);
    Buffer& b = m_schedule.buffers.back();
    if (b.role == Buffer::Role::input) m_schedule.input_bytes += b.bytes;
    if (b.role == Buffer::Role::result) m_schedule.result_bytes += b.bytes;
    if (b.role != Buffer::Role::scratch) b.last = std::max(m_steps - 1, 0);
    return buffer;
  }
  int add_assembled(VertexId tensor, const Box& box) {
    return add(tensor, box, false, Buffer::Role::scratch);
  }
  int add_partial(VertexId statement, const Box& box) {
    return add(statement, box, true, Buffer::Role::scratch);
  }

  void begin(VertexId statement, const BlockMap& calls, const std::vector<JoinedBlocks>& joined) {
    m_calls = &calls;
    m_joined = &joined;
    m_schedule.steps.emplace_back();
    m_schedule.steps.back().statement = statement;
  }
  void use(int buffer) {
    Buffer& b = m_schedule.buffers[static_cast<std::size_t>(buffer)];
    b.last = std::max(b.last, now());
  }
  void copy(int from, int to, const Box& box) {
    use(from);
    step().copies.push_back({from, to, box});
  }
  void send(VertexId tensor, int from, int peer, const Box& box) {
    use(from);
    m_sends.push_back({tensor, peer, {from, box}});
  }
  void receive(VertexId tensor, int to, int peer, const Box& box) {
    m_receives.push_back({tensor, peer, {to, box}});
  }
  void send_partial(VertexId statement, int from, int peer, const Box& box) {
    m_partial_sends.push_back({statement, peer, {from, box}});
  }
  void receive_partial(VertexId statement, int to, int peer, const Box& box) {
    m_partial_receives.push_back({statement, peer, {to, box}});
  }
  void call(const WalkedCall& walked) {
    step().calls.push_back({m_calls->relation().block((*m_joined)[walked.index].key),
                            walked.operands, walked.output, walked.accumulate, walked.finish});
  }
  void aggregate_into(int target, const Box& box, const std::vector<int>& parts) {
    BlockAggregation aggregation{{target, box}, {}};
    for (int part : parts) aggregation.parts.push_back({part, box});
    step().aggregations.push_back(std::move(aggregation));
  }
  void end() {
    step().receives = messages(m_receives, -1);
    step().sends = messages(m_sends, 1);
    step().partial_receives = messages(m_partial_receives, -1);
    step().partial_sends = messages(m_partial_sends, 1);
  }

  /// Runs groups in steps, and gives every scratch buffer and every message its place.
  [[nodiscard]] RankSchedule finish() {
    if (!m_groups->empty()) StepSplitter(*m_graph, *m_groups, m_schedule).run();
    // What lives longest lies lowest, so that what goes soon leaves one gap.
    std::vector<std::vector<std::pair<int, int>>> born(m_schedule.steps.size());
    std::vector<std::vector<int>> dying(m_schedule.steps.size());
    for (std::size_t i = 0; i < m_schedule.buffers.size(); ++i) {
      const Buffer& b = m_schedule.buffers[i];
      if (b.role != Buffer::Role::scratch) continue;
      born[static_cast<std::size_t>(b.first)].emplace_back(-b.last, static_cast<int>(i));
      dying[static_cast<std::size_t>(b.last)].push_back(static_cast<int>(i));
    }
    Arena arena;
    for (std::size_t s = 0; s < m_schedule.steps.size(); ++s) {
      std::sort(born[s].begin(), born[s].end());
      for (const auto& [last, b] : born[s]) buffer(b).offset = arena.allocate(buffer(b).bytes);
      Step& step = m_schedule.steps[s];
      const auto messages = {&step.receives, &step.sends, &step.partial_receives,
                             &step.partial_sends};
      for (auto* list : messages) {
        for (Message& m : *list) m.staging = arena.allocate(bytes_of(m));
      }
      for (auto* list : messages) {
        for (Message& m : *list) arena.release(m.staging, bytes_of(m));
      }
      for (int b : dying[s]) arena.release(buffer(b).offset, buffer(b).bytes);
    }
    m_schedule.arena_bytes = arena.peak();
    return std::move(m_schedule);
  }

 private:
  struct Piece {
    VertexId tensor = -1;
    int peer = -1;
    Region region;
  };

  [[nodiscard]] Buffer& buffer(int b) { return m_schedule.buffers[static_cast<std::size_t>(b)]; }
  [[nodiscard]] Step& step() { return m_schedule.steps.back(); }
  [[nodiscard]] int now() const {
    return std::max(static_cast<int>(m_schedule.steps.size()) - 1, 0);
  }

  int add(VertexId tensor, const Box& box, bool partial, Buffer::Role role) {
    Buffer b;
    b.tensor = tensor;
    b.box = box;
    b.partial = partial;
    b.role = role;
    const Vertex& v = (*m_graph)[tensor];
    b.bytes = box.size() * (partial ? v.partial.bytes : v.element.bytes);
    b.first = b.last = now();
    m_schedule.buffers.push_back(std::move(b));
    return static_cast<int>(m_schedule.buffers.size()) - 1;
  }

  [[nodiscard]] std::int64_t bytes_of(const Message& m) {
    const Buffer& b = buffer(m.regions.front().buffer);
    const Vertex& v = (*m_graph)[b.tensor];
    return m.words * (b.partial ? v.partial.bytes : v.element.bytes);
  }

  /// One message per peer and tensor, in the order that Step states. \param direction of a peer
  /// from this rank: 1 of sends, -1 of receives.
  [[nodiscard]] std::vector<Message> messages(std::vector<Piece>& pieces, int direction) const {
    std::vector<std::array<int, 3>> order;
    for (const Piece& piece : pieces) {
      const int distance = direction * (piece.peer - m_schedule.rank);
      order.push_back({distance < 0 ? distance + m_ranks : distance, piece.tensor,
                       static_cast<int>(order.size())});
    }
    std::sort(order.begin(), order.end());
    std::vector<Message> list;
    VertexId tensor = -1;
    for (const std::array<int, 3>& entry : order) {
      Piece& piece = pieces[static_cast<std::size_t>(entry[2])];
      if (list.empty() || tensor != piece.tensor || list.back().peer != piece.peer) {
        list.emplace_back();
        list.back().peer = piece.peer;
        tensor = piece.tensor;
      }
      list.back().words += piece.region.box.size();
      list.back().regions.push_back(std::move(piece.region));
    }
    pieces.clear();
    return list;
  }

  const EinGraph* m_graph;
  const Flags* m_results;
  const std::vector<StepGroup>* m_groups;
  int m_ranks;
  int m_steps = 0;  ///< before groups run in steps
  RankSchedule m_schedule;
  const BlockMap* m_calls = nullptr;
  const std::vector<JoinedBlocks>* m_joined = nullptr;
  std::vector<Piece> m_receives, m_sends, m_partial_receives, m_partial_sends;
};

/// Hands a walk to the builders of some ranks.
class ScheduleSink {
 public:
  /// For the ranks from `first` to before `last`.
  ScheduleSink(const EinGraph& graph, const std::vector<StepGroup>& groups, int ranks, int first,
               int last)
      : m_ranks(ranks), m_first(first), m_results(graph.vertices.size(), false) {
    for (VertexId v : graph.results()) m_results[static_cast<std::size_t>(v)] = true;
    for (int r = first; r < last; ++r) {
      m_builders.emplace_back(graph, m_results, groups, ranks, r);
    }
  }
  ScheduleSink(const ScheduleSink&) = delete;  // the builders point into it
  ScheduleSink& operator=(const ScheduleSink&) = delete;

  [[nodiscard]] bool wants_all() const { return static_cast<int>(m_builders.size()) == m_ranks; }
  [[nodiscard]] bool wants(int rank) const {
    return rank >= m_first && rank < m_first + static_cast<int>(m_builders.size());
  }

  int stored(VertexId tensor, const Box& box, int, int rank) {
    RankBuilder* b = of(rank);
    return b != nullptr ? b->add_stored(tensor, box) : -1;
  }
  void begin(VertexId statement, const BlockMap& calls, const std::vector<JoinedBlocks>& joined) {
    for (RankBuilder& b : m_builders) b.begin(statement, calls, joined);
  }
  int assembled(VertexId tensor, const Box& box, int rank) {
    RankBuilder* b = of(rank);
    return b != nullptr ? b->add_assembled(tensor, box) : -1;
  }
  void used(int rank, int buffer) {
    if (RankBuilder* b = of(rank)) b->use(buffer);
  }
  void copied(int rank, int from, int to, const Box& box) {
    if (RankBuilder* b = of(rank)) b->copy(from, to, box);
  }
  void moved(VertexId tensor, int from_rank, int from, int to_rank, int to, const Box& box) {
    if (RankBuilder* b = of(from_rank)) b->send(tensor, from, to_rank, box);
    if (RankBuilder* b = of(to_rank)) b->receive(tensor, to, from_rank, box);
  }
  int partial(VertexId statement, const Box& box, int rank) {
    RankBuilder* b = of(rank);
    return b != nullptr ? b->add_partial(statement, box) : -1;
  }
  void called(VertexId, const WalkedCall& call) {
    if (RankBuilder* b = of(call.rank)) b->call(call);
  }
  void moved_partial(VertexId statement, int from_rank, int from, int to_rank, int to,
                     const Box& box) {
    if (RankBuilder* b = of(from_rank)) b->send_partial(statement, from, to_rank, box);
    if (RankBuilder* b = of(to_rank)) b->receive_partial(statement, to, from_rank, box);
  }
  void aggregated(VertexId, int rank, int target, const Box& box, const std::vector<int>& parts) {
    if (RankBuilder* b = of(rank)) b->aggregate_into(target, box, parts);
  }
  void end(VertexId) {
    for (RankBuilder& b : m_builders) b.end();
  }

  [[nodiscard]] std::vector<RankSchedule> finish() {
    std::vector<RankSchedule> schedules;
    schedules.reserve(m_builders.size());
    for (RankBuilder& b : m_builders) schedules.push_back(b.finish());
    return schedules;
  }

 private:
  [[nodiscard]] RankBuilder* of(int rank) {
    return wants(rank) ? &m_builders[static_cast<std::size_t>(rank - m_first)] : nullptr;
  }

  int m_ranks;
  int m_first;
  Flags m_results;
  std::vector<RankBuilder> m_builders;
};

/// Walks a program for the schedules of the ranks from `first` to before `last`.
[[nodiscard]] inline std::vector<RankSchedule> walk_schedules(
    const EinGraph& graph, const Placement& placement, int ranks, int first, int last,
    const std::vector<StepGroup>& groups) {
  ScheduleSink sink(graph, groups, ranks, first, last);
  Walk<ScheduleSink>(graph, placement, ranks, sink).run();
  return sink.finish();
}

/// walk_schedules; with EINDECOMP_SEPARATE_PLANNER, the caller's translation unit does not compile
/// it.
[[nodiscard]] std::vector<RankSchedule> schedules_of(const EinGraph& graph,
                                                     const Placement& placement, int ranks,
                                                     int first, int last,
                                                     const std::vector<StepGroup>& groups);
#ifndef EINDECOMP_SEPARATE_PLANNER
inline std::vector<RankSchedule> schedules_of(const EinGraph& graph, const Placement& placement,
                                              int ranks, int first, int last,
                                              const std::vector<StepGroup>& groups) {
  return walk_schedules(graph, placement, ranks, first, last, groups);
}
#endif

}  // namespace detail

/// What one rank does to run a placed program on so many ranks, the groups among its statements in
/// steps. Every rank makes its own, without communication; sends and receives of all ranks match in
/// number, order and regions.
/// \throws Error if the placement does not suit the graph, a group cannot run in steps, or there is
///   no such rank.
[[nodiscard]] inline RankSchedule make_schedule(
    const EinGraph& graph, const Placement& placement, int ranks, int rank,
    const std::vector<StepGroup>& groups = {},
    const std::source_location& where = std::source_location::current()) {
  detail::check_ranks(ranks, where);
  if (rank < 0 || rank >= ranks) {
    detail::fail(ErrorKind::plan,
                 "a schedule for rank " + detail::to_text(rank) + " of " + detail::to_text(ranks) +
                     " (ranks count from 0); give a rank of the communicator",
                 where);
  }
  check_placement(graph, placement, where);
  check_step_groups(graph, placement, groups, where);
  return std::move(detail::schedules_of(graph, placement, ranks, rank, rank + 1, groups).front());
}

/// The schedules of all ranks, as make_schedule gives them one by one, at the cost of one walk.
/// \throws Error if the placement does not suit the graph, a group cannot run in steps, or there is
///   no rank.
[[nodiscard]] inline std::vector<RankSchedule> make_schedules(
    const EinGraph& graph, const Placement& placement, int ranks,
    const std::vector<StepGroup>& groups = {},
    const std::source_location& where = std::source_location::current()) {
  detail::check_ranks(ranks, where);
  check_placement(graph, placement, where);
  check_step_groups(graph, placement, groups, where);
  return detail::schedules_of(graph, placement, ranks, 0, ranks, groups);
}

/// Calls `use` with the schedule of every rank, in the order of ranks, as make_schedules gives
/// them: for many ranks, whose schedules together would take gigabytes. Holds 64 at a time, at the
/// cost of a walk for every 64 ranks. \throws Error as make_schedules, before the first call; and
/// what `use` throws.
template <class Use>
void for_each_schedule(const EinGraph& graph, const Placement& placement, int ranks,
                       const std::vector<StepGroup>& groups, Use&& use,
                       const std::source_location& where = std::source_location::current()) {
  detail::check_ranks(ranks, where);
  check_placement(graph, placement, where);
  check_step_groups(graph, placement, groups, where);
  constexpr int at_once = 64;
  for (int first = 0; first < ranks; first += at_once) {
    const int last = std::min(first + at_once, ranks);
    for (const RankSchedule& schedule :
         detail::schedules_of(graph, placement, ranks, first, last, groups)) {
      use(schedule);
    }
  }
}

}  // namespace eindecomp
