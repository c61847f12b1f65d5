// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// From the programs of all ranks to what each does when, on a described machine. With
/// EINDECOMP_SEPARATE_PLANNER, one translation unit compiles it.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/machine.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/plan/simulate.hpp"
#include "eindecomp/plan/timeline.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/instruction_work.hpp"
#include "eindecomp/relation/rank_program.hpp"

namespace eindecomp {

namespace plan {

/// Times the programs of all ranks, turn by turn.
class Simulator {
 public:
  Simulator(const EinGraph& graph, const std::vector<RankProgram>& programs, const Machine& machine,
            Overlap overlap, const std::source_location& where)
      : m_graph(graph),
        m_programs(programs),
        m_machine(machine),
        m_overlap(overlap),
        m_where(where) {
    for (const RankProgram& program : programs) {
      m_workers.push_back({0, 0, 0, 0, std::vector<double>(program.buffers.size(), 0.0)});
      m_statement_of.resize(
          std::max(m_statement_of.size(), static_cast<std::size_t>(program.turns)), -1);
      for (const Instruction& instruction : program.instructions) {
        m_statement_of[static_cast<std::size_t>(instruction.turn)] = instruction.statement;
      }
    }
    m_timeline.events.resize(programs.size());
    m_time_of.assign(graph.vertices.size(), 0);
    for (VertexId v = 0; v < graph.size(); ++v) {
      if (graph[v].is_input()) continue;
      m_time_of[static_cast<std::size_t>(v)] = m_timeline.statements.size();
      m_timeline.statements.push_back({v, -1, 0, 0, 0, 0});
      m_loads.emplace_back(programs.size());
    }
  }

  [[nodiscard]] Timeline run() {
    for (int turn = 0; turn < static_cast<int>(m_statement_of.size()); ++turn) {
      const VertexId statement = m_statement_of[static_cast<std::size_t>(turn)];
      if (statement < 0) continue;
      m_now = m_time_of[static_cast<std::size_t>(statement)];
      const double before = m_timeline.seconds;
      compute_all(turn);
      for (Round round{}; next_round(turn, round);) {
        transfer(turn, round);
        compute_all(turn);
      }
      time().adds += m_timeline.seconds - before;
    }
    for (m_now = 0; m_now < m_loads.size(); ++m_now) {
      time().begin = std::max(time().begin, 0.0);
      for (const Load& load : m_loads[m_now]) {
        time().transfers = std::max({time().transfers, load.sends, load.receives});
        time().kernels = std::max(time().kernels, load.kernels);
      }
    }
    return std::move(m_timeline);
  }

 private:
  /// What a worker is busy with for one statement, in seconds.
  struct Load {
    double sends = 0;
    double receives = 0;
    double kernels = 0;
  };
  struct Worker {
    std::size_t next = 0;     ///< the first instruction that has not run
    double kernels_free = 0;  ///< when the processor is free
    double sends_free = 0;    ///< when the link is free, outwards
    double receives_free = 0;
    std::vector<double> ready;  ///< per buffer, when all that was put into it is there
    double posted = 0;          ///< when all messages are over that are under way
  };
  /// Messages that are under way together: with operands, then with accumulators, round by round.
  struct Round {
    bool partial = false;
    int number = 0;
    constexpr auto operator<=>(const Round&) const = default;
  };
  /// A message on its way.
  struct Transit {
    std::size_t from = 0;
    std::size_t to = 0;
    VertexId tensor = -1;
    const Message* sent = nullptr;
    const Message* received = nullptr;
  };

  [[nodiscard]] const Buffer& buffer(std::size_t rank, int b) const {
    return m_programs[rank].buffers[static_cast<std::size_t>(b)];
  }
  [[nodiscard]] double& ready(std::size_t rank, int b) {
    return m_workers[rank].ready[static_cast<std::size_t>(b)];
  }
  [[nodiscard]] std::int64_t element_bytes(const Buffer& b) const {
    return relation::element_bytes(m_graph, b);
  }

  /// The time, and a worker's load, of the statement at hand.
  [[nodiscard]] StatementTime& time() { return m_timeline.statements[m_now]; }
  [[nodiscard]] Load& load(std::size_t rank) { return m_loads[m_now][rank]; }

  void record(std::size_t rank, Event event) {
    event.statement = time().statement;
    time().begin = time().begin < 0 ? event.begin : std::min(time().begin, event.begin);
    time().end = std::max(time().end, event.end);
    m_timeline.seconds = std::max(m_timeline.seconds, event.end);
    m_timeline.events[rank].push_back(event);
  }

  [[nodiscard]] Round round_of(std::size_t rank, const Message& message) const {
    return {buffer(rank, message.regions.front().buffer).partial, message.round};
  }
  /// Finds the first round of a turn in which any rank has messages left. \returns whether there is
  /// one.
  [[nodiscard]] bool next_round(int turn, Round& first) const {
    bool found = false;
    for (std::size_t r = 0; r < m_workers.size(); ++r) {
      const std::vector<Instruction>& list = m_programs[r].instructions;
      const std::size_t i = m_workers[r].next;
      if (i >= list.size() || list[i].turn != turn) continue;
      const Round round = round_of(r, *list[i].message());
      if (!found || round < first) first = round;
      found = true;
    }
    return found;
  }

  /// The messages of a round by rank, which then have run.
  template <class Kind>
  [[nodiscard]] std::vector<std::vector<const Message*>> take_messages(int turn, Round round) {
    std::vector<std::vector<const Message*>> lists(m_workers.size());
    for (std::size_t r = 0; r < m_workers.size(); ++r) {
      const std::vector<Instruction>& list = m_programs[r].instructions;
      for (std::size_t& i = m_workers[r].next; i < list.size() && list[i].turn == turn; ++i) {
        const Message* const message = list[i].template as<Kind>();
        if (message == nullptr || round_of(r, *message) != round) break;
        lists[r].push_back(message);
      }
    }
    return lists;
  }

  /// What is under way together: every rank sends in the order of its program, and receives in that
  /// order.
  [[nodiscard]] std::vector<Transit> take_transits(int turn, Round round) {
    const auto receives = take_messages<Receive>(turn, round);
    const auto sends = take_messages<Send>(turn, round);
    std::vector<Transit> found;
    std::vector<std::size_t> sent(m_workers.size(), 0);
    std::vector<std::size_t> received(m_workers.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < m_workers.size(); ++r) {
        if (sent[r] == sends[r].size()) continue;
        const Message& out = *sends[r][sent[r]];
        const auto to = static_cast<std::size_t>(out.peer);
        if (received[to] == receives[to].size()) continue;
        const Message& in = *receives[to][received[to]];
        if (static_cast<std::size_t>(in.peer) != r) continue;  // another rank's comes first there
        found.push_back({r, to, tensor(r, out), &out, &in});
        ++sent[r];
        ++received[to];
        moved = true;
      }
    }
    for (std::size_t r = 0; r < m_workers.size(); ++r) {
      if (sent[r] == sends[r].size() && received[r] == receives[r].size()) continue;
      core::fail(
          ErrorKind::plan,
          "the messages of rank " + core::to_text(static_cast<int>(r)) + " for statement '" +
              m_graph[time().statement].name +
              "' are not those of the other ranks (their programs belong to different plans); "
              "simulate the programs that compile_ranks gives for one plan",
          m_where);
    }
    return found;
  }
  [[nodiscard]] VertexId tensor(std::size_t rank, const Message& m) const {
    return buffer(rank, m.regions.front().buffer).tensor;
  }

  void transfer(int turn, Round round) {
    const std::vector<Transit> list = take_transits(turn, round);
    std::vector<double> done(m_workers.size(), 0.0);
    // A message carries what was there before its round, though others arrive in the same buffer.
    std::vector<std::pair<double*, double>> arrivals;
    for (const Transit& t : list) {
      Worker& sender = m_workers[t.from];
      Worker& receiver = m_workers[t.to];
      double start = std::max(sender.sends_free, receiver.receives_free);
      for (const Region& region : t.sent->regions) {
        start = std::max(start, ready(t.from, region.buffer));
      }
      if (m_overlap != Overlap::all) {
        start = std::max({start, sender.kernels_free, receiver.kernels_free});
      }
      const MachineAxis& link = m_machine.between(static_cast<int>(t.from), static_cast<int>(t.to));
      const auto bytes = static_cast<double>(
          t.sent->words * element_bytes(buffer(t.from, t.sent->regions.front().buffer)));
      const double stop = start + link.latency + bytes / link.bandwidth;
      sender.sends_free = stop;
      receiver.receives_free = stop;
      load(t.from).sends += stop - start;
      load(t.to).receives += stop - start;
      for (const Region& region : t.received->regions) {
        arrivals.emplace_back(&ready(t.to, region.buffer), stop);
      }
      done[t.from] = std::max(done[t.from], stop);
      done[t.to] = std::max(done[t.to], stop);
      const Extent words = t.sent->words;
      record(t.from, {Event::Kind::send, -1, t.tensor, static_cast<int>(t.to), words, start, stop});
      record(t.to,
             {Event::Kind::receive, -1, t.tensor, static_cast<int>(t.from), words, start, stop});
    }
    for (const auto& [arrived, stop] : arrivals) *arrived = std::max(*arrived, stop);
    if (m_overlap == Overlap::all) return;
    const bool posted =
        m_overlap == Overlap::as_run && round.number >= relation::first_posted_round;
    for (std::size_t r = 0; r < m_workers.size(); ++r) {
      double& free = posted ? m_workers[r].posted : m_workers[r].kernels_free;
      free = std::max(free, done[r]);
    }
  }

  /// Keeps the processor of a worker busy once what it reads is there; what it writes is then.
  void compute(std::size_t rank, Event::Kind kind, double start, double seconds, Extent words,
               int output) {
    Worker& worker = m_workers[rank];
    start = std::max(start, worker.kernels_free);
    const double stop = start + seconds;
    worker.kernels_free = stop;
    load(rank).kernels += seconds;
    double& written = ready(rank, output);
    written = std::max(written, stop);
    record(rank, {kind, -1, buffer(rank, output).tensor, -1, words, start, stop});
  }

  /// What all ranks do in a turn until they exchange messages.
  void compute_all(int turn) {
    for (std::size_t r = 0; r < m_workers.size(); ++r) compute_all(r, turn);
  }
  /// What a rank does in a turn until it exchanges messages.
  void compute_all(std::size_t rank, int turn) {
    const std::vector<Instruction>& list = m_programs[rank].instructions;
    for (std::size_t& i = m_workers[rank].next; i < list.size() && list[i].turn == turn; ++i) {
      if (const auto* copy = list[i].as<Copy>()) {
        run_copy(rank, *copy, seconds(rank, list[i]));
      } else if (const auto* fill = list[i].as<Fill>()) {
        compute(rank, Event::Kind::copy, 0, seconds(rank, list[i]), fill->target.box.size(),
                fill->target.buffer);
      } else if (const auto* spread = list[i].as<Spread>()) {
        compute(rank, Event::Kind::copy, ready(rank, spread->from), seconds(rank, list[i]),
                spread->size(), spread->to);
      } else if (const auto* count = list[i].as<Count>()) {
        compute(rank, Event::Kind::copy, 0, seconds(rank, list[i]), count->target.box.size(),
                count->target.buffer);
      } else if (const auto* call = list[i].as<KernelCall>()) {
        run_call(rank, *call, seconds(rank, list[i]));
      } else if (const auto* combine = list[i].as<Combine>()) {
        run_combine(rank, *combine, seconds(rank, list[i]));
      } else if (list[i].as<Await>() != nullptr) {
        Worker& worker = m_workers[rank];
        worker.kernels_free = std::max(worker.kernels_free, worker.posted);
      } else {
        return;
      }
    }
  }

  [[nodiscard]] double seconds(std::size_t rank, const Instruction& instruction) const {
    return relation::work_of(m_graph, m_programs[rank], instruction)
        .seconds(m_machine.operations_per_second, m_machine.memory_bandwidth);
  }

  void run_copy(std::size_t rank, const Copy& copy, double seconds) {
    compute(rank, Event::Kind::copy, ready(rank, copy.from), seconds, copy.box.size(), copy.to);
  }

  void run_call(std::size_t rank, const KernelCall& call, double seconds) {
    double start = 0;
    for (const int operand : call.operands) start = std::max(start, ready(rank, operand));
    const Extent words = relation::elements_of(call.domain, m_graph[time().statement].output);
    compute(rank, Event::Kind::call, start, seconds, words, call.output);
  }

  void run_combine(std::size_t rank, const Combine& combine, double seconds) {
    if (combine.parts.empty()) return;
    double start = 0;
    for (const Region& part : combine.parts) start = std::max(start, ready(rank, part.buffer));
    compute(rank, Event::Kind::aggregate, start, seconds, combine.target.box.size(),
            combine.target.buffer);
  }

  const EinGraph& m_graph;
  const std::vector<RankProgram>& m_programs;
  const Machine& m_machine;
  Overlap m_overlap;
  std::source_location m_where;
  std::vector<Worker> m_workers;
  Timeline m_timeline;
  std::vector<VertexId> m_statement_of;    ///< per turn; -1 where no rank does anything
  std::vector<std::size_t> m_time_of;      ///< per vertex: its place in Timeline::statements
  std::size_t m_now = 0;                   ///< that of the statement at hand
  std::vector<std::vector<Load>> m_loads;  ///< per statement, per rank
};

}  // namespace plan

EINDECOMP_PLANNER_INLINE Timeline make_timeline(const EinGraph& graph,
                                                const std::vector<RankProgram>& programs,
                                                const Machine& machine, Overlap overlap,
                                                const std::source_location& where) {
  plan::check_machine_for(machine, static_cast<int>(programs.size()), where);
  return plan::Simulator(graph, programs, machine, overlap, where).run();
}

EINDECOMP_PLANNER_INLINE Simulation simulate(const Plan& plan, const Machine& machine,
                                             const std::source_location& where) {
  const std::vector<RankProgram> programs =
      compile_ranks(plan.graph, plan.placement, plan.ranks, plan.steps, {}, where);
  Simulation simulation;
  simulation.in_turn = make_timeline(plan.graph, programs, machine, Overlap::none, where);
  simulation.as_run = make_timeline(plan.graph, programs, machine, Overlap::as_run, where);
  simulation.overlapped = make_timeline(plan.graph, programs, machine, Overlap::all, where);
  std::map<std::pair<int, int>, Extent> words;
  for (const RankProgram& program : programs) {
    simulation.peak_bytes.push_back(program.peak_bytes());
    for (const Event& e : simulation.in_turn.events[simulation.peak_bytes.size() - 1]) {
      if (e.kind == Event::Kind::send) words[{program.rank, e.peer}] += e.words;
    }
  }
  for (const auto& [pair, sum] : words) simulation.pairs.push_back({pair.first, pair.second, sum});
  return simulation;
}

}  // namespace eindecomp
