// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "eindecomp/relation/dependencies.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <sstream>
#include <tuple>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/graph/blocks.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/write_program.hpp"
#include "simulation.hpp"
#include "support.hpp"

using namespace relation_test;

namespace {

/// Runs the programs of all ranks in a random order that their dependencies allow, a receive after
/// its send; buffers and messages hold their places from the first use to the last.
class AnyOrder {
 public:
  AnyOrder(const RandomProgram& program, const std::vector<RankProgram>& compiled)
      : m_program(program), m_compiled(compiled), m_tensors(evaluate(program)) {
    for (const RankProgram& p : compiled) {
      m_ranks.emplace_back(program, p, m_tensors);
      m_waits.push_back(eindecomp::dependencies(p));
      m_done.emplace_back(p.instructions.size(), false);
      m_uses.emplace_back(p.buffers.size(), 0);
      m_taken.emplace_back(p.buffers.size(), false);
      m_wire.emplace_back();
      std::map<std::pair<bool, int>, int> messages;
      for (const eindecomp::Instruction& i : p.instructions) {
        for_each_buffer(i, [&](int b) { ++m_uses.back()[at(b)]; });
        const Message* const m = i.message();
        const bool sent = i.as<eindecomp::Send>() != nullptr;
        m_wire.back().push_back(m != nullptr ? wire(p.rank, *m, sent, messages) : Wire{});
      }
    }
  }

  /// \returns how often something ran before an instruction of its rank that is listed before it.
  int run(Random& random) {
    int out_of_order = 0;
    while (true) {
      std::vector<std::pair<std::size_t, std::size_t>> ready;
      for (std::size_t r = 0; r < m_ranks.size(); ++r) {
        for (std::size_t i = 0; i < m_done[r].size(); ++i) {
          if (!m_done[r][i] && is_ready(r, i)) ready.emplace_back(r, i);
        }
      }
      if (ready.empty()) break;
      const auto [r, i] = ready[at(random.number(0, static_cast<int>(ready.size()) - 1))];
      for (std::size_t before = 0; before < i; ++before) {
        if (!m_done[r][before]) {
          ++out_of_order;
          break;
        }
      }
      execute(r, i);
    }
    for (const auto& done : m_done) {
      for (const bool one : done) CHECK(one);
    }
    check_stored(m_program.graph, m_compiled, m_ranks, m_tensors);
    return out_of_order;
  }

 private:
  using Wire = std::tuple<int, int, int>;  ///< sender, receiver, number

  template <class Visit>
  static void for_each_buffer(const eindecomp::Instruction& instruction, const Visit& visit) {
    std::set<int> buffers;
    const auto use = [&](int b) { buffers.insert(b); };
    eindecomp::relation::for_each_access(instruction, use, use);
    for (const int b : buffers) visit(b);
  }

  /// Messages of one rank to another arrive in the order of their programs.
  [[nodiscard]] static Wire wire(int own, const Message& m, bool sent,
                                 std::map<std::pair<bool, int>, int>& messages) {
    const int number = messages[{sent, m.peer}]++;
    return {sent ? own : m.peer, sent ? m.peer : own, number};
  }

  [[nodiscard]] bool is_ready(std::size_t r, std::size_t i) const {
    for (const int before : m_waits[r][i]) {
      if (!m_done[r][at(before)]) return false;
    }
    const auto& list = m_compiled[r].instructions;
    if (const auto* const await = list[i].as<eindecomp::Await>()) {
      for (std::size_t n = 0; n < i; ++n) {
        const auto* const m = list[n].as<eindecomp::Receive>();
        if (m != nullptr && m->flight == await->flight && m_wires.count(m_wire[r][n]) == 0) {
          return false;
        }
      }
      return true;
    }
    const auto* const m = list[i].as<eindecomp::Receive>();
    return m == nullptr || m->flight >= 0 || m_wires.count(m_wire[r][i]) != 0;
  }

  /// What was posted before arrives.
  void arrive(std::size_t r, std::size_t i, const eindecomp::Await& await) {
    for (std::size_t n = 0; n < i; ++n) {
      const auto* const m = m_compiled[r].instructions[n].as<eindecomp::Receive>();
      if (m == nullptr || m->flight != await.flight) continue;
      CHECK(m_done[r][n]);
      m_ranks[r].post_receive(*m, m_wires.at(m_wire[r][n]));
    }
  }

  void execute(std::size_t r, std::size_t i) {
    const eindecomp::Instruction& instruction = m_compiled[r].instructions[i];
    for_each_buffer(instruction, [&](int b) {
      if (!m_taken[r][at(b)]) m_ranks[r].take(b);
      m_taken[r][at(b)] = true;
    });
    if (const Message* const m = instruction.message()) {
      m_ranks[r].take(*m);
      if (instruction.as<eindecomp::Send>() != nullptr) {
        const auto sent = m_wires.emplace(m_wire[r][i], m_ranks[r].pack(*m));
        CHECK(sent.second);
        if (m->flight >= 0) m_ranks[r].post_send(*m, sent.first->second);
      } else if (m->flight < 0) {
        m_ranks[r].unpack(*m, m_wires.at(m_wire[r][i]));
      }
      m_ranks[r].leave(*m);
    } else {
      if (const auto* const await = instruction.as<eindecomp::Await>()) arrive(r, i, *await);
      m_ranks[r].compute(instruction);
    }
    m_done[r][i] = true;
    for_each_buffer(instruction, [&](int b) {
      if (--m_uses[r][at(b)] == 0) m_ranks[r].leave(b);
    });
  }

  const RandomProgram& m_program;
  const std::vector<RankProgram>& m_compiled;
  std::vector<std::vector<relation_test::Value>> m_tensors;
  std::vector<SimulatedRank> m_ranks;
  std::vector<std::vector<std::vector<int>>> m_waits;
  std::vector<std::vector<Wire>> m_wire;  ///< by rank and instruction
  std::vector<std::vector<bool>> m_done;
  std::vector<std::vector<int>> m_uses;  ///< by rank and buffer, still to come
  std::vector<std::vector<bool>> m_taken;
  std::map<Wire, std::vector<relation_test::Value>> m_wires;
};

}  // namespace

TEST_CASE("programs run in any order that their dependencies allow") {
  const unsigned first_seed = 31001;
  int out_of_order = 0;
  for (unsigned n = 0; n < 250; ++n) {
    const unsigned seed = first_seed + n;
    CAPTURE(seed);
    Random random(seed);
    const RandomProgram program = random_program(random);
    const Mesh mesh = eindecomp::make_mesh(random.pick({1, 2, 4, 8, 6}));
    const Placement placement = random_placement(random, program.graph, mesh);
    const int ranks = random.pick({1, 2, 3, 4, 8});
    const eindecomp::SpaceFacts facts{1, random_constants(random, program.graph), 20};
    const auto groups =
        n % 2 == 0 ? std::vector<eindecomp::StepGroup>{} : random_streams(random, program.graph);
    const auto compiled = eindecomp::compile_ranks(program.graph, placement, ranks, groups, facts);
    out_of_order += AnyOrder(program, compiled).run(random);
  }
  CHECK(out_of_order > 1000);
}

TEST_CASE("what is spread waits for what fills the gaps between its elements") {
  using namespace eindecomp::labels;
  eindecomp::PlanProgram g;
  const auto X = g.input<double>("X", {7, 3});
  auto Z = eindecomp::blocks<double>(g, "Z", {15, 3}, 0.5);
  Z(2 * i + 1, j) = X(i, j);
  (void)(eindecomp::let<"Y">(extent(i, 40), j) =
             1.0 * Z.tensor()(eindecomp::zero(eindecomp::whole(i, 3)), j));
  int pairs = 0;
  for (const int workers : {1, 2, 4}) {
    const Mesh mesh = eindecomp::make_mesh(workers);
    const Placement placement = place(g.graph(), {{}, {workers, 1}, {workers, 1}}, mesh);
    for (const RankProgram& program : eindecomp::compile_ranks(g.graph(), placement, workers)) {
      const auto waits = eindecomp::dependencies(program);
      for (std::size_t n = 0; n < program.instructions.size(); ++n) {
        const auto* const spread = program.instructions[n].as<eindecomp::Spread>();
        if (spread == nullptr) continue;
        for (std::size_t before = 0; before < n; ++before) {
          const auto* const fill = program.instructions[before].as<eindecomp::Fill>();
          if (fill == nullptr || fill->target.buffer != spread->to) continue;
          if (intersect(fill->target.box, spread->written).empty()) continue;
          ++pairs;
          CAPTURE(n);
          CHECK(std::ranges::count(waits[n], static_cast<int>(before)) == 1);
        }
      }
    }
  }
  CHECK(pairs >= 10);
}

TEST_CASE("a program prints its buffers, its instructions and what they wait for") {
  EinGraph graph = matmul(4, 8, 4);
  add(graph, "R", {{"ik", 2}}, "ik");
  const Placement placement = place(graph, {{}, {}, {1, 2, 1}, {2, 1}}, eindecomp::make_mesh(2));
  std::ostringstream text;
  text << eindecomp::compile_rank(graph, placement, 2, 1);
  CHECK(text.str() ==
        R"(rank 1: 8 instructions on 7 buffers, 512 bytes of arena, 128 of results, 192 of inputs
  b0  X [0:4, 2:4], 64 bytes, input
  b1  Y [2:4, 0:8], 128 bytes, input
  b2  Z [0:4, 4:8], 128 bytes, at 384 from 3 to 6
  b3  Z [0:4, 0:8] accumulators, 256 bytes, at 0 from 0 to 3
  b4  Z [0:4, 4:8] accumulators, 128 bytes, at 256 from 1 to 3
  b5  Z [2:4, 0:8], 128 bytes, at 0 from 4 to 7
  b6  R [2:4, 0:8], 128 bytes, result
  0  Z: call b0, b1 to b3 over [0:4, 2:4, 0:8]
  1  Z: receive b4 [0:4, 4:8] from rank 0, 16 words, round 0
  2  Z: send b3 [0:4, 0:4] to rank 0, 16 words, round 0 by way of 384  after 0
  3  Z: combine b3, b4 to b2 [0:4, 4:8]  after 0-2
  4  R: copy b2 to b5 [2:4, 4:8]  after 0, 2-3
  5  R: receive b5 [2:4, 0:4] from rank 0, 8 words, round 0 by way of 128  after 0, 2-3
  6  R: send b2 [0:2, 4:8] to rank 0, 8 words, round 0  after 2-3
  7  R: call b5 to b6 over [2:4, 0:8], finished  after 0, 2-5
)");
}

TEST_CASE("it prints the steps by which elements are spread, and messages that are posted") {
  RankProgram program;
  program.names.texts =
      std::make_shared<const std::vector<eindecomp::Text>>(std::vector<eindecomp::Text>{"X"});
  for (const Extent n : {4, 7}) {
    eindecomp::Buffer buffer;
    buffer.tensor = 0;
    buffer.box = eindecomp::Box{{0}, {n}};
    buffer.role = eindecomp::Buffer::Role::result;
    program.buffers.push_back(buffer);
  }
  const eindecomp::Spread spread{0, 1, eindecomp::Box{{0}, {4}}, eindecomp::Box{{0}, {7}}, {2}};
  eindecomp::Send send;
  send.peer = 3;
  send.regions = {{1, eindecomp::Box{{0}, {7}}}};
  send.words = 7;
  send.flight = 5;
  program.instructions = {{0, 0, spread}, {0, 0, send}};
  std::ostringstream text;
  text << program;
  CHECK(text.str().find("X: spread b0 [0:4] to b1 [0:7] in steps of 2\n") != std::string::npos);
  CHECK(text.str().find("X: post send b1 [0:7] to rank 3, 7 words, flight 5  after 0\n") !=
        std::string::npos);
}

TEST_CASE("programs that differ have different hashes") {
  std::set<std::uint64_t> hashes;
  std::size_t programs = 0;
  for (const int workers : {1, 2, 4}) {
    for (const Extent extent : {8, 12}) {
      const EinGraph graph = matmul(8, 8, extent);
      const Placement placement =
          place(graph, {{}, {}, {workers, 1, 1}}, eindecomp::make_mesh(workers));
      for (const RankProgram& p : eindecomp::compile_ranks(graph, placement, workers)) {
        hashes.insert(eindecomp::hash_of(p));
        ++programs;
        CHECK(eindecomp::hash_of(p) ==
              eindecomp::hash_of(eindecomp::compile_rank(graph, placement, workers, p.rank)));
        RankProgram other = p;
        other.instructions.back().turn += 1;
        CHECK(eindecomp::hash_of(other) != eindecomp::hash_of(p));
      }
    }
  }
  CHECK(hashes.size() == programs);
}
