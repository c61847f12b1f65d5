// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Runs the programs of all ranks in memory, watching every access, and evaluates programs
/// directly to compare with.
///
/// Elements are residues modulo a prime, so that results are exact whatever the order. A call
/// computes x = 3 + sum_o (o+2) X_o + prod_o (X_o + o), that of a statement that adds sum_o X_o.
/// Accumulators are: the sum of x; or the same, finished by a scaling, so that an accumulator is no
/// final element; or the pair of the sums of x and of its square, so that it even has another size.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "support.hpp"

namespace relation_test {

using eindecomp::Box;
using eindecomp::Buffer;
using eindecomp::Message;
using eindecomp::RankProgram;
using eindecomp::Region;

using Value = std::int64_t;
using Accumulator = std::array<Value, 2>;
inline constexpr Value prime = 10007;

inline Value join(const std::vector<Value>& x) {
  Value sum = 3;
  Value product = 1;
  for (std::size_t o = 0; o < x.size(); ++o) {
    sum += static_cast<Value>(o + 2) * x[o];
    product = product * (x[o] + static_cast<Value>(o)) % prime;
  }
  return (sum + product) % prime;
}
/// ⊗ of a statement, which may be the sum.
inline Value join_of(const Vertex& v, const std::vector<Value>& x) {
  if (!v.op.adds) return join(x);
  Value sum = 0;
  for (const Value term : x) sum += term;
  return sum % prime;
}
inline Accumulator lift(Value x) { return {x, x * x % prime}; }
inline Accumulator combine(const Accumulator& a, const Accumulator& b) {
  return {(a[0] + b[0]) % prime, (a[1] + b[1]) % prime};
}
inline Value finish(Aggregation algebra, const Accumulator& a) {
  if (algebra == Aggregation::sum) return a[0];
  if (algebra == Aggregation::sum_then_scale) return (7 * a[0] + 1) % prime;
  return (a[0] + 5 * a[1]) % prime;
}

/// Visits the indices of a box in row-major order.
template <class Visit>
void for_each_index(const Box& box, Visit&& visit) {
  if (box.empty()) return;
  std::vector<Extent> index = box.lo;
  while (true) {
    visit(index);
    std::size_t k = index.size();
    while (k > 0 && ++index[k - 1] == box.hi[k - 1]) {
      --k;
      index[k] = box.lo[k];
    }
    if (k == 0) return;
  }
}

/// The position of an index in a box stored densely, last dimension fastest.
inline std::size_t position(const Box& box, const std::vector<Extent>& index) {
  Extent n = 0;
  for (std::size_t k = 0; k < index.size(); ++k) {
    n = n * (box.hi[k] - box.lo[k]) + (index[k] - box.lo[k]);
  }
  return static_cast<std::size_t>(n);
}

inline std::vector<Extent> pick(const std::vector<Extent>& index, const std::vector<int>& labels) {
  std::vector<Extent> picked;
  for (int l : labels) picked.push_back(index[at(l)]);
  return picked;
}

/// All tensors of the program, whole, evaluated as written.
inline std::vector<std::vector<Value>> evaluate(const RandomProgram& program) {
  const EinGraph& graph = program.graph;
  std::vector<std::vector<Value>> tensors;
  for (VertexId i = 0; i < graph.size(); ++i) {
    const Vertex& v = graph[i];
    const auto size = static_cast<std::size_t>(v.size());
    std::vector<Value> values(size);
    if (v.is_input()) {
      for (std::size_t e = 0; e < size; ++e) {
        values[e] = static_cast<Value>((e * e * 31 + e * 17 + at(i) * 101 + 5) % 997);
      }
    } else {
      std::vector<Accumulator> sums(size, Accumulator{0, 0});
      for_each_index(Box::whole(v.extents), [&](const std::vector<Extent>& index) {
        std::vector<Value> x;
        for (const auto& o : v.operands) {
          const Box whole = Box::whole(graph[o.vertex].bound);
          x.push_back(tensors[at(o.vertex)][position(whole, pick(index, o.labels))]);
        }
        Accumulator& sum = sums[position(Box::whole(v.bound), pick(index, v.output))];
        sum = combine(sum, lift(join_of(v, x)));
      });
      for (std::size_t e = 0; e < size; ++e) values[e] = finish(program.algebra[at(i)], sums[e]);
    }
    tensors.push_back(std::move(values));
  }
  return tensors;
}

/// One rank's memory. Every 8-byte word of the arena knows who owns it and whether it was written.
class SimulatedRank {
 public:
  SimulatedRank(const RandomProgram& program, const RankProgram& compiled,
                const std::vector<std::vector<Value>>& tensors)
      : m_program(program),
        m_compiled(compiled),
        m_arena(static_cast<std::size_t>(compiled.arena_bytes / 8)) {
    std::int64_t results = 0;
    std::int64_t inputs = 0;
    for (const Buffer& b : compiled.buffers) {
      const std::int64_t element = b.partial && words_per(b) == 2 ? 16 : 8;
      if (b.role != Buffer::Role::tile) CHECK(b.bytes == b.box.size() * element);
      CHECK(b.first <= b.last);
      std::vector<Word> own;
      if (b.role == Buffer::Role::input) {
        inputs += b.bytes;
        const Box whole = Box::whole(program.graph[b.tensor].bound);
        for_each_index(b.box, [&](const std::vector<Extent>& index) {
          own.push_back({tensors[at(b.tensor)][position(whole, index)], 0, true});
        });
      } else if (b.role == Buffer::Role::result) {
        results += b.bytes;
        own.resize(static_cast<std::size_t>(b.bytes / 8));
      } else if (b.role == Buffer::Role::tile) {
        own.resize(static_cast<std::size_t>(b.box.size()));
      }
      m_own.push_back(std::move(own));
    }
    CHECK(results == compiled.result_bytes);
    CHECK(inputs == compiled.input_bytes);
    CHECK(compiled.peak_bytes() == compiled.arena_bytes + results + inputs);
  }

  /// A scratch buffer takes its place, and leaves it.
  void take(int b) {
    const Buffer& buffer = m_compiled.buffers[at(b)];
    if (buffer.role == Buffer::Role::scratch) claim(buffer.offset, buffer.bytes, b);
  }
  void leave(int b) {
    const Buffer& buffer = m_compiled.buffers[at(b)];
    if (buffer.role == Buffer::Role::scratch) release(buffer.offset, buffer.bytes);
  }
  /// A message, likewise.
  void take(const Message& m) {
    if (m.staging >= 0) claim(m.staging, staging_bytes(m), -2);
  }
  void leave(const Message& m) {
    if (m.staging >= 0) release(m.staging, staging_bytes(m));
  }

  /// What lives from this stage on takes its place.
  void begin(std::size_t first, std::size_t last) {
    for (std::size_t b = 0; b < m_compiled.buffers.size(); ++b) {
      if (at(m_compiled.buffers[b].first) == first) take(static_cast<int>(b));
    }
    for_each_message(first, last, [&](const Message& m) { take(m); });
  }
  void end(std::size_t first, std::size_t last) {
    for (std::size_t b = 0; b < m_compiled.buffers.size(); ++b) {
      if (at(m_compiled.buffers[b].last) == last) leave(static_cast<int>(b));
    }
    for_each_message(first, last, [&](const Message& m) { leave(m); });
  }

  /// Calls tile by tile. What a tile passes on is forgotten with it, fits the place that each
  /// thread has for it, and shares that place with nothing that lives as long.
  void compute(const eindecomp::TiledCalls& tiled) {
    claim(tiled.offset, m_compiled.threads * tiled.thread_bytes, -3);
    const auto call = [&](int i) -> const eindecomp::KernelCall& {
      return *m_compiled.instructions[at(i)].as<eindecomp::KernelCall>();
    };
    std::vector<int> held;
    for (int i = tiled.first; i <= tiled.last; ++i) {
      const int b = call(i).output;
      if (buffer(b).role != Buffer::Role::tile) continue;
      const std::int64_t end = buffer(b).offset + buffer(b).bytes;
      CHECK(end * (tiled.interleaved >= 0 ? 2 : 1) <= tiled.thread_bytes);
      for (int other : held) {
        const bool apart = end <= buffer(other).offset ||
                           buffer(other).offset + buffer(other).bytes <= buffer(b).offset;
        CHECK((apart || buffer(other).last < buffer(b).first));
      }
      held.push_back(b);
    }
    const Extent tiles = eindecomp::relation::tile_count(tiled, call(tiled.first).domain);
    CHECK(tiles > 1);
    for (Extent n = 0; n < tiles; ++n) {
      for (int b : held) m_own[at(b)].assign(m_own[at(b)].size(), Word{});
      for (int i = tiled.first; i <= tiled.last; ++i) {
        eindecomp::Instruction one = m_compiled.instructions[at(i)];
        auto& part = std::get<eindecomp::KernelCall>(one.work);
        eindecomp::relation::restrict_domain(part.domain, tiled.axes, at(i - tiled.first), n);
        REQUIRE(!part.domain.empty());
        Extent outputs = 1;
        for (int l : m_program.graph[one.statement].output) outputs *= part.domain.extent(l);
        CHECK(outputs * 8 <= buffer(part.output).bytes);
        compute(one);
      }
    }
    release(tiled.offset, m_compiled.threads * tiled.thread_bytes);
  }

  std::vector<Value> pack(const Message& m) {
    std::vector<Value> packed;
    check_in_place(m);
    Extent words = 0;
    for (const Region& r : m.regions) {
      words += r.box.size();
      for_each_index(r.box, [&](const std::vector<Extent>& index) {
        for (int c = 0; c < words_per(buffer(r.buffer)); ++c) {
          packed.push_back(read(r.buffer, index, c));
        }
      });
    }
    CHECK(words == m.words);
    CHECK(m.words > 0);
    return packed;
  }

  void unpack(const Message& m, const std::vector<Value>& packed) {
    check_in_place(m);
    std::size_t next = 0;
    for (const Region& r : m.regions) {
      for_each_index(r.box, [&](const std::vector<Extent>& index) {
        for (int c = 0; c < words_per(buffer(r.buffer)); ++c) {
          write(r.buffer, index, c, packed.at(next++));
        }
      });
    }
    CHECK(next == packed.size());
  }

  /// Messages that are posted: a receive writes, and a send may still read, until they are awaited.
  void post_receive(const Message& m, const std::vector<Value>& packed) {
    m_flights[m.flight].received.emplace_back(&m, packed);
  }
  void post_send(const Message& m, const std::vector<Value>& packed) {
    m_flights[m.flight].sent.emplace_back(&m, packed);
  }
  void await(const eindecomp::Await& await) {
    const Flight flight = std::move(m_flights.at(await.flight));
    m_flights.erase(await.flight);
    CHECK(flight.received.size() == await.received.size());
    CHECK(flight.sent.size() == await.sent.size());
    for (const auto& [m, packed] : flight.received) {
      CHECK(std::ranges::count(await.received, m->regions.at(0)) == 1);
      unpack(*m, packed);
    }
    for (const auto& [m, packed] : flight.sent) {
      CHECK(std::ranges::count(await.sent, m->regions.at(0)) >= 1);
      CHECK(pack(*m) == packed);
    }
  }
  [[nodiscard]] std::size_t flights() const { return m_flights.size(); }

  /// What is not staged lies without gaps, in memory of the library's own.
  void check_in_place(const Message& m) {
    if (m.staging >= 0) return;
    REQUIRE(m.regions.size() == 1);
    const Buffer& b = buffer(m.regions[0].buffer);
    CHECK(b.role != Buffer::Role::input);
    std::size_t first = 0;
    std::size_t n = 0;
    for_each_index(m.regions[0].box, [&](const std::vector<Extent>& index) {
      if (n == 0) first = position(b.box, index);
      CHECK(position(b.box, index) == first + n++);
    });
  }

  void copy(const eindecomp::Copy& copy) {
    for_each_index(copy.box, [&](const std::vector<Extent>& index) {
      write(copy.to, index, 0, read(copy.from, index, 0));
    });
  }

  void call(VertexId statement, const eindecomp::KernelCall& call) {
    const Vertex& v = m_program.graph[statement];
    const Aggregation algebra = m_program.algebra[at(statement)];
    REQUIRE(call.operands.size() == v.operands.size());
    const bool in_place = call.finish && call.accumulate;
    CHECK(!(in_place && v.op.finishes));
    std::map<std::vector<Extent>, Accumulator> sums;
    for_each_index(call.domain, [&](const std::vector<Extent>& index) {
      std::vector<Value> x;
      for (std::size_t o = 0; o < v.operands.size(); ++o) {
        CHECK(buffer(call.operands[o]).tensor == v.operands[o].vertex);
        CHECK(!buffer(call.operands[o]).partial);
        x.push_back(read(call.operands[o], pick(index, v.operands[o].labels), 0));
      }
      const auto [sum, fresh] = sums.try_emplace(pick(index, v.output), Accumulator{0, 0});
      sum->second = ::relation_test::combine(sum->second, lift(join_of(v, x)));
    });
    const VertexId tensor = buffer(call.output).tensor;
    CHECK((tensor == statement || m_program.graph[tensor].op.adds));
    CHECK(buffer(call.output).partial == !call.finish);
    for (const auto& [index, sum] : sums) {
      if (in_place) {
        write(call.output, index, 0, (read(call.output, index, 0) + sum[0]) % prime);
      } else if (call.finish) {
        write(call.output, index, 0, relation_test::finish(algebra, sum));
      } else if (call.accumulate) {
        write(call.output, index,
              ::relation_test::combine(read_accumulator(call.output, index), sum));
      } else {
        write(call.output, index, sum);
      }
    }
  }

  void combine(VertexId statement, const eindecomp::Combine& a) {
    REQUIRE(!a.parts.empty());
    for_each_index(a.target.box, [&](const std::vector<Extent>& index) {
      Accumulator sum{0, 0};
      for (const Region& part : a.parts) {
        CHECK(part.box == a.target.box);
        sum = ::relation_test::combine(sum, read_accumulator(part.buffer, index));
      }
      CHECK(buffer(a.target.buffer).partial == !a.finishes());
      if (!a.finishes()) {
        write(a.target.buffer, index, sum);
        return;
      }
      write(a.target.buffer, index, 0,
            relation_test::finish(m_program.algebra[at(statement)], sum));
    });
  }

  /// Whatever is no message.
  void compute(const eindecomp::Instruction& instruction) {
    const VertexId statement = instruction.statement;
    if (const auto* work = instruction.as<eindecomp::Copy>()) copy(*work);
    if (const auto* work = instruction.as<eindecomp::KernelCall>()) call(statement, *work);
    if (const auto* work = instruction.as<eindecomp::Combine>()) combine(statement, *work);
    if (const auto* work = instruction.as<eindecomp::Await>()) await(*work);
  }

  [[nodiscard]] const Buffer& buffer(int b) const { return m_compiled.buffers.at(at(b)); }
  [[nodiscard]] std::int64_t highest() const { return m_highest; }

  Value read(int b, const std::vector<Extent>& index, int component) {
    Word& w = word(b, index, component);
    CHECK(w.written);
    return w.value;
  }

 private:
  struct Word {
    Value value = 0;
    int owner = -1;
    bool written = false;
  };

  [[nodiscard]] int words_per(const Buffer& b) const {
    return b.partial && m_program.algebra[at(b.tensor)] == Aggregation::pair ? 2 : 1;
  }
  [[nodiscard]] std::int64_t staging_bytes(const Message& m) const {
    return m.words * 8 * words_per(buffer(m.regions.front().buffer));
  }

  template <class Visit>
  void for_each_message(std::size_t first, std::size_t last, Visit&& visit) {
    for (std::size_t i = first; i <= last; ++i) {
      const Message* const message = m_compiled.instructions[i].message();
      if (message != nullptr) visit(*message);
    }
  }

  void claim(std::int64_t offset, std::int64_t bytes, int owner) {
    CHECK(offset % 64 == 0);
    REQUIRE(offset >= 0);
    REQUIRE(offset + bytes <= m_compiled.arena_bytes);
    m_highest = std::max(m_highest, (offset + bytes + 63) / 64 * 64);
    for (std::int64_t w = offset / 8; w < (offset + bytes) / 8; ++w) {
      Word& word = m_arena[static_cast<std::size_t>(w)];
      CHECK(word.owner == -1);  // else two live buffers overlap
      word = {0, owner, false};
    }
  }
  void release(std::int64_t offset, std::int64_t bytes) {
    for (std::int64_t w = offset / 8; w < (offset + bytes) / 8; ++w) {
      m_arena[static_cast<std::size_t>(w)] = Word{};
    }
  }

  Word& word(int b, const std::vector<Extent>& index, int component) {
    const Buffer& buf = buffer(b);
    REQUIRE(buf.box.contains({index, plus_one(index)}));
    const std::size_t w = position(buf.box, index) * at(words_per(buf)) + at(component);
    if (buf.role != Buffer::Role::scratch) return m_own[at(b)].at(w);
    Word& found = m_arena.at(static_cast<std::size_t>(buf.offset / 8) + w);
    CHECK(found.owner == b);  // else it is not alive in this step
    return found;
  }
  static std::vector<Extent> plus_one(std::vector<Extent> index) {
    for (Extent& i : index) ++i;
    return index;
  }

  void write(int b, const std::vector<Extent>& index, int component, Value value) {
    Word& w = word(b, index, component);
    w.value = value;
    w.written = true;
  }
  void write(int b, const std::vector<Extent>& index, const Accumulator& a) {
    for (int c = 0; c < words_per(buffer(b)); ++c) write(b, index, c, a[at(c)]);
  }
  Accumulator read_accumulator(int b, const std::vector<Extent>& index) {
    CHECK(buffer(b).partial);
    Accumulator a{0, 0};
    for (int c = 0; c < words_per(buffer(b)); ++c) a[at(c)] = read(b, index, c);
    return a;
  }

  const RandomProgram& m_program;
  const RankProgram& m_compiled;
  std::vector<Word> m_arena;
  struct Flight {
    std::vector<std::pair<const Message*, std::vector<Value>>> received, sent;
  };
  std::vector<std::vector<Word>> m_own;  ///< of inputs and results
  std::map<int, Flight> m_flights;       ///< under way
  std::int64_t m_highest = 0;
};

/// Checks that every element of every input and result is stored exactly once, and right.
inline void check_stored(const EinGraph& graph, const std::vector<RankProgram>& compiled,
                         std::vector<SimulatedRank>& ranks,
                         const std::vector<std::vector<Value>>& tensors) {
  std::vector<std::vector<int>> seen;
  for (const auto& t : tensors) seen.emplace_back(t.size(), 0);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t b = 0; b < compiled[r].buffers.size(); ++b) {
      const Buffer& buffer = compiled[r].buffers[b];
      if (buffer.role != Buffer::Role::input && buffer.role != Buffer::Role::result) continue;
      const Box whole = Box::whole(graph[buffer.tensor].bound);
      for_each_index(buffer.box, [&](const std::vector<Extent>& index) {
        const std::size_t e = position(whole, index);
        ++seen[at(buffer.tensor)][e];
        CHECK(ranks[r].read(static_cast<int>(b), index, 0) == tensors[at(buffer.tensor)][e]);
      });
    }
  }
  const std::vector<VertexId> results = graph.results();
  const std::set<VertexId> kept(results.begin(), results.end());
  for (VertexId v = 0; v < graph.size(); ++v) {
    const int times = graph[v].is_input() || kept.count(v) != 0 ? 1 : 0;
    CHECK(seen[at(v)] == std::vector<int>(seen[at(v)].size(), times));
  }
}

/// Runs the programs of all ranks, and compares every stored element of every result with the
/// direct evaluation, and the words received with those of the task graph.
inline void check_run(const RandomProgram& program, const std::vector<RankProgram>& compiled,
                      const eindecomp::TaskGraph& tasks) {
  const EinGraph& graph = program.graph;
  const std::vector<std::vector<Value>> tensors = evaluate(program);
  std::vector<SimulatedRank> ranks;
  ranks.reserve(compiled.size());
  for (const RankProgram& p : compiled) ranks.emplace_back(program, p, tensors);

  std::map<std::pair<int, int>, std::vector<std::vector<Value>>> wires;
  std::vector<Extent> received(compiled.size(), 0);
  std::map<std::pair<int, int>, Extent> pairs;
  std::vector<std::size_t> next(compiled.size(), 0);

  // Messages under way together: with operands, then with accumulators, round by round, those of
  // constants first.
  using Round = std::tuple<bool, int, bool>;
  const auto round_of = [&](std::size_t r, const Message& m) {
    const Buffer& buffer = ranks[r].buffer(m.regions.at(0).buffer);
    const std::vector<VertexId>& constants = compiled[r].constants;
    return Round{buffer.partial, m.round, std::ranges::count(constants, buffer.tensor) == 0};
  };
  const auto exchange = [&](int turn, Round round) {
    std::vector<std::size_t> end = next;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const std::vector<eindecomp::Instruction>& list = compiled[r].instructions;
      while (end[r] < list.size() && list[end[r]].turn == turn &&
             list[end[r]].message() != nullptr && round_of(r, *list[end[r]].message()) == round) {
        ++end[r];
      }
      if (end[r] == next[r]) continue;
      CHECK(end[r] == eindecomp::relation::exchange_end(compiled[r], next[r]));
      ranks[r].begin(next[r], end[r] - 1);
      for (std::size_t i = next[r]; i < end[r]; ++i) {
        const auto* const m = list[i].as<eindecomp::Send>();
        if (m == nullptr) continue;
        REQUIRE(m->peer != static_cast<int>(r));
        auto& wire = wires[{static_cast<int>(r), m->peer}];
        wire.push_back(ranks[r].pack(*m));
        if (m->flight >= 0) ranks[r].post_send(*m, wire.back());
      }
    }
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      for (std::size_t i = next[r]; i < end[r]; ++i) {
        const auto* const m = compiled[r].instructions[i].as<eindecomp::Receive>();
        if (m == nullptr) continue;
        auto& wire = wires[{m->peer, static_cast<int>(r)}];
        REQUIRE(!wire.empty());
        if (m->flight >= 0) {
          ranks[r].post_receive(*m, wire.front());
        } else {
          CHECK(ranks[r].flights() == 0);
          ranks[r].unpack(*m, wire.front());
        }
        wire.erase(wire.begin());
        received[r] += m->words;
        pairs[{m->peer, static_cast<int>(r)}] += m->words;
      }
      if (end[r] > next[r]) ranks[r].end(next[r], end[r] - 1);
    }
    for (const auto& [ends, wire] : wires) CHECK(wire.empty());
    next = end;
  };

  const int turns = compiled.front().turns;
  CHECK(at(turns) >= tasks.statements.size());
  for (const RankProgram& p : compiled) REQUIRE(p.turns == turns);
  for (int turn = 0; turn < turns; ++turn) {
    while (true) {
      std::optional<Round> round;
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        const std::vector<eindecomp::Instruction>& list = compiled[r].instructions;
        for (std::size_t& i = next[r]; i < list.size() && list[i].turn == turn; ++i) {
          if (const Message* const m = list[i].message()) {
            round = std::min(round.value_or(round_of(r, *m)), round_of(r, *m));
            break;
          }
          const auto& tiled = compiled[r].tiled;
          const auto here =
              std::ranges::find(tiled, static_cast<int>(i), &eindecomp::TiledCalls::first);
          if (here != tiled.end()) {
            ranks[r].begin(i, at(here->last));
            ranks[r].compute(*here);
            ranks[r].end(i, at(here->last));
            i = at(here->last);
            continue;
          }
          ranks[r].begin(i, i);
          ranks[r].compute(list[i]);
          ranks[r].end(i, i);
        }
      }
      if (!round) break;
      exchange(turn, *round);
    }
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) CHECK(next[r] == compiled[r].instructions.size());

  CHECK(received == tasks.received);
  std::map<std::pair<int, int>, Extent> predicted;
  for (const auto& p : tasks.pairs) predicted[{p.from, p.to}] = p.words;
  CHECK(pairs == predicted);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    CHECK(ranks[r].highest() == compiled[r].arena_bytes);
  }
  check_stored(graph, compiled, ranks, tensors);
}

/// Words per rank counted element by element, from the definition: of the operands, the elements of
/// the boxes its calls need that it neither stores nor received before; of the results, per stored
/// element, the accumulators of the calls' ranks, which go along one axis of their group after
/// another, the fastest first, to where the element is stored.
inline std::vector<Extent> words_by_definition(const EinGraph& graph, const Placement& placement,
                                               int ranks) {
  const int workers = placement.mesh.workers();
  const auto part_of = [&](const std::vector<int>& list, int worker) {
    const std::vector<int> c = eindecomp::coordinates(placement.mesh, worker);
    Extent part = 0;
    for (int axis : list) part = part * placement.mesh.axes[at(axis)] + c[at(axis)];
    return part;
  };
  // The worker's box under axis lists; empty if it is not at coordinate 0 of an idle axis.
  const auto box_of = [&](const AxisLists& lists, const std::vector<Extent>& extents, int worker) {
    std::vector<int> idle = eindecomp::coordinates(placement.mesh, worker);
    Box box{extents, extents};
    for (std::size_t l = 0; l < lists.size(); ++l) {
      Extent d = 1;
      for (int axis : lists[l]) {
        idle[at(axis)] = 0;
        d *= placement.mesh.axes[at(axis)];
      }
      box.lo[l] = part_of(lists[l], worker) * extents[l] / d;
      box.hi[l] = (part_of(lists[l], worker) + 1) * extents[l] / d;
    }
    const bool has = std::all_of(idle.begin(), idle.end(), [](int c) { return c == 0; });
    return std::pair{has, box};
  };
  const auto rank_of_worker = [&](int w) { return ranks >= workers ? w : w * ranks / workers; };

  std::vector<std::vector<std::set<std::size_t>>> held(
      at(ranks), std::vector<std::set<std::size_t>>(graph.vertices.size()));
  const auto store = [&](VertexId v) {
    for (int w = 0; w < workers; ++w) {
      const auto [has, box] = box_of(placement.stored[at(v)], graph[v].bound, w);
      if (!has) continue;
      for_each_index(box, [&](const std::vector<Extent>& index) {
        held[at(rank_of_worker(w))][at(v)].insert(position(Box::whole(graph[v].bound), index));
      });
    }
  };
  std::vector<Extent> words(at(ranks), 0);
  // One element that these workers have a part of, and another stores.
  const auto reduce = [&](const std::vector<int>& group, const std::vector<int>& axes, int store) {
    std::set<int> unique;
    for (int w : group) unique.insert(rank_of_worker(w));
    const std::vector<int> members(unique.begin(), unique.end());
    const auto place_of = [&](int rank) {
      return static_cast<std::size_t>(std::ranges::find(members, rank) - members.begin());
    };
    const int owner = rank_of_worker(store);
    std::size_t exit = place_of(owner);
    if (exit == members.size()) {
      const auto there = eindecomp::coordinates(placement.mesh, store);
      const auto beside = std::ranges::find_if(group, [&](int w) {
        const auto here = eindecomp::coordinates(placement.mesh, w);
        return std::ranges::all_of(axes, [&](int a) { return here[at(a)] == there[at(a)]; });
      });
      REQUIRE(beside != group.end());
      exit = place_of(rank_of_worker(*beside));
      ++words[at(owner)];
    }
    std::vector<std::size_t> lengths;
    if (ranks >= workers) {
      for (int a : axes) lengths.push_back(at(placement.mesh.axes[at(a)]));
    } else {
      for (int a : eindecomp::make_mesh(static_cast<int>(members.size())).axes) {
        lengths.push_back(at(a));
      }
    }
    std::size_t stride = 1;
    for (std::size_t a = lengths.size(); a-- > 0; stride *= lengths[a]) {
      const auto digit = [&](std::size_t m) { return m / stride % lengths[a]; };
      for (std::size_t m = 0; m < members.size(); ++m) {
        // Those that have sent nothing yet agree with the exit along the faster axes.
        if (m % stride != exit % stride || digit(m) == digit(exit)) continue;
        ++words[at(members[m + digit(exit) * stride - digit(m) * stride])];
      }
    }
  };
  for (VertexId i = 0; i < graph.size(); ++i) {
    const Vertex& v = graph[i];
    if (!v.is_input()) {
      std::vector<std::vector<int>> contributors(static_cast<std::size_t>(v.size()));  // workers
      std::vector<int> group_axes;
      for (int l : v.aggregated) {
        for (int axis : placement.calls[at(i)][at(l)]) group_axes.push_back(axis);
      }
      std::sort(group_axes.begin(), group_axes.end());
      for (int w = 0; w < workers; ++w) {
        const auto [has, box] = box_of(placement.calls[at(i)], v.extents, w);
        if (!has) continue;
        const int rank = rank_of_worker(w);
        for (const auto& o : v.operands) {
          const Box need{pick(box.lo, o.labels), pick(box.hi, o.labels)};
          for_each_index(need, [&](const std::vector<Extent>& index) {
            const auto e = position(Box::whole(graph[o.vertex].bound), index);
            if (held[at(rank)][at(o.vertex)].insert(e).second) ++words[at(rank)];
          });
        }
        for_each_index({pick(box.lo, v.output), pick(box.hi, v.output)},
                       [&](const std::vector<Extent>& index) {
                         contributors[position(Box::whole(v.bound), index)].push_back(w);
                       });
      }
      store(i);
      for (int w = 0; w < workers; ++w) {
        const auto [has, box] = box_of(placement.stored[at(i)], v.bound, w);
        if (!has) continue;
        for_each_index(box, [&](const std::vector<Extent>& index) {
          reduce(contributors[position(Box::whole(v.bound), index)], group_axes, w);
        });
      }
    } else {
      store(i);
    }
  }
  return words;
}

}  // namespace relation_test
