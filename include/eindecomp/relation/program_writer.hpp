// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Writes a rank's program as text and hashes it, for write_program.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string_view>
#include <variant>
#include <vector>

#include "eindecomp/core/hash.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/dependencies.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/write_program.hpp"

namespace eindecomp {
namespace relation {

/// Writes a rank's program, a line for each buffer and each instruction.
class ProgramWriter {
 public:
  ProgramWriter(std::ostream& out, const RankProgram& program) : m_out(out), m_program(program) {}

  void write() {
    m_out << "rank " << m_program.rank << ": " << m_program.instructions.size()
          << " instructions on " << m_program.buffers.size() << " buffers, "
          << m_program.arena_bytes << " bytes of arena, " << m_program.result_bytes
          << " of results, " << m_program.input_bytes << " of inputs\n";
    for (std::size_t b = 0; b < m_program.buffers.size(); ++b) write(b, m_program.buffers[b]);
    const std::vector<std::vector<int>> waits = dependencies(m_program);
    auto tiled = m_program.tiled.begin();
    for (std::size_t i = 0; i < m_program.instructions.size(); ++i) {
      const Instruction& instruction = m_program.instructions[i];
      if (tiled != m_program.tiled.end() && static_cast<std::size_t>(tiled->first) == i) {
        write(*tiled++, instruction);
      }
      m_out << "  " << i << "  " << name(instruction.statement) << ": ";
      if (is_done_once(m_program, instruction)) m_out << "once, ";
      std::visit([this](const auto& work) { write(work); }, instruction.work);
      write_waits(waits[i]);
      m_out << '\n';
    }
  }

 private:
  [[nodiscard]] std::string_view name(VertexId v) const {
    return (*m_program.names.texts)[static_cast<std::size_t>(v)].view();
  }

  void write(const Box& box) {
    m_out << '[';
    for (std::size_t k = 0; k < box.lo.size(); ++k) {
      m_out << (k > 0 ? ", " : "") << box.lo[k] << ':' << box.hi[k];
    }
    m_out << ']';
  }
  void write(const Region& region) {
    m_out << 'b' << region.buffer << ' ';
    write(region.box);
  }

  void write(std::size_t number, const Buffer& b) {
    m_out << "  b" << number << "  " << name(b.tensor) << ' ';
    write(b.box);
    m_out << (b.partial  ? " accumulators, "
              : b.counts ? " values of a label, "
                         : ", ")
          << b.bytes << " bytes, ";
    if (b.role == Buffer::Role::input) m_out << "input";
    if (b.role == Buffer::Role::result) m_out << "result";
    if (is_kept(m_program, b)) {
      m_out << "at " << b.offset << ", kept";
    } else if (b.role == Buffer::Role::scratch) {
      m_out << "at " << b.offset << " from " << b.first << " to " << b.last;
    }
    if (b.role == Buffer::Role::tile) m_out << "in each thread at " << b.offset;
    m_out << '\n';
  }

  void write(const TiledCalls& tiled, const Instruction& front) {
    Box domain = front.as<KernelCall>()->domain;
    m_out << "  " << tiled.first << '-' << tiled.last << "  in " << tile_count(tiled, domain)
          << " tiles like ";
    restrict_domain(domain, tiled.axes, 0, 0);
    write(domain);
    m_out << " of " << name(front.statement);
    if (tiled.interleaved >= 0) {
      m_out << ", " << tiled.interleaved << " interleaved with " << tiled.last
            << " of the tile before";
    }
    m_out << "; at " << tiled.offset << ' ' << tiled.thread_bytes << " bytes for each thread of "
          << m_program.threads << '\n';
  }

  void write(const Message& m, const char* verb, const char* preposition) {
    m_out << verb;
    for (std::size_t r = 0; r < m.regions.size(); ++r) {
      m_out << (r > 0 ? ", " : " ");
      write(m.regions[r]);
    }
    m_out << preposition << m.peer << ", " << m.words << " words, ";
    m_out << (m.flight >= 0 ? "flight " : "round ") << (m.flight >= 0 ? m.flight : m.round);
    if (m.staging >= 0) m_out << " by way of " << m.staging;
  }
  void write(const Receive& m) {
    write(m, m.flight >= 0 ? "post receive" : "receive", " from rank ");
  }
  void write(const Send& m) { write(m, m.flight >= 0 ? "post send" : "send", " to rank "); }
  void write(const Await& a) { m_out << "await flight " << a.flight; }
  void write(const Copy& c) {
    m_out << "copy b" << c.from << " to b" << c.to << ' ';
    write(c.box);
  }
  void write(const Fill& f) {
    constexpr const char* values[] = {
        "nothing", "0", "1", "the lowest value", "the highest value", "the value stated"};
    m_out << "fill ";
    write(f.target);
    m_out << " with " << values[static_cast<std::size_t>(f.value)];
  }
  void write(const Spread& s) {
    m_out << "spread b" << s.from << ' ';
    write(s.read);
    m_out << " to b" << s.to << ' ';
    write(s.written);
    m_out << " in steps of";
    for (const Extent step : s.steps) m_out << ' ' << step;
  }
  void write(const Count& c) {
    m_out << "count ";
    write(c.target);
  }
  void write(const KernelCall& c) {
    m_out << "call";
    for (std::size_t o = 0; o < c.operands.size(); ++o) {
      m_out << (o > 0 ? ", b" : " b") << c.operands[o];
    }
    m_out << (c.accumulate ? ", added to b" : " to b") << c.output << " over ";
    write(c.domain);
    if (c.finish) m_out << ", finished";
    if (c.unread) m_out << ", unread by its tiles";
    if (c.open) m_out << ", beyond the ends of its operands";
  }
  void write(const Combine& c) {
    m_out << "combine";
    for (std::size_t p = 0; p < c.parts.size(); ++p) {
      m_out << (p > 0 ? ", b" : " b") << c.parts[p].buffer;
    }
    m_out << " to ";
    write(c.target);
  }

  /// "  after 1-3, 5"
  void write_waits(const std::vector<int>& waits) {
    for (std::size_t n = 0; n < waits.size();) {
      std::size_t last = n;
      while (last + 1 < waits.size() && waits[last + 1] == waits[last] + 1) ++last;
      m_out << (n == 0 ? "  after " : ", ") << waits[n];
      if (last > n) m_out << '-' << waits[last];
      n = last + 1;
    }
  }

  std::ostream& m_out;
  const RankProgram& m_program;
};

/// Everything of a program that decides what it does.
class ProgramHasher {
 public:
  [[nodiscard]] std::uint64_t hash(const RankProgram& program) {
    add(program.rank, program.turns, program.arena_bytes, program.threads);
    m_hasher.add(program.constants);
    for (const Buffer& b : program.buffers) {
      if (b.counts) add(1);
      add(b.tensor, b.partial, static_cast<int>(b.role), b.bytes, b.offset, b.first, b.last);
      add_box(b.box);
    }
    for (const Instruction& i : program.instructions) {
      add(i.statement, i.turn, i.work.index());
      std::visit([this](const auto& work) { add_work(work); }, i.work);
    }
    for (const TiledCalls& t : program.tiled) {
      add(t.first, t.last, t.interleaved, t.thread_bytes, t.offset);
      for (const StepAxis& axis : t.axes) {
        m_hasher.add(axis.positions);
        add(axis.size);
      }
    }
    return m_hasher.value();
  }

 private:
  template <class... Numbers>
  void add(Numbers... numbers) {
    (m_hasher.add(static_cast<std::uint64_t>(numbers)), ...);
  }
  void add_box(const Box& box) {
    m_hasher.add(box.lo);
    m_hasher.add(box.hi);
  }
  void add_regions(const std::vector<Region>& regions) {
    add(regions.size());
    for (const Region& region : regions) {
      add(region.buffer);
      add_box(region.box);
    }
  }
  void add_work(const Message& m) {
    add(m.peer, m.words, m.round, m.staging, m.flight);
    add_regions(m.regions);
  }
  void add_work(const Copy& c) {
    add(c.from, c.to);
    add_box(c.box);
  }
  void add_work(const Await& a) {
    add(a.flight);
    add_regions(a.received);
    add_regions(a.sent);
  }
  void add_work(const Fill& f) {
    add_regions({f.target});
    add(static_cast<int>(f.value));
  }
  void add_work(const Spread& s) {
    add(s.from, s.to);
    add_box(s.read);
    add_box(s.written);
    m_hasher.add(s.steps);
  }
  void add_work(const Count& c) { add_regions({c.target}); }
  void add_work(const KernelCall& c) {
    add_box(c.domain);
    m_hasher.add(c.operands);
    add(c.output, c.accumulate, c.finish);
    if (c.unread || c.open) add(c.unread, c.open);
  }
  void add_work(const Combine& c) {
    add_regions({c.target});
    add_regions(c.parts);
  }

  core::Hasher m_hasher;
};

}  // namespace relation

#ifndef EINDECOMP_SEPARATE_PLANNER
inline std::ostream& operator<<(std::ostream& out, const RankProgram& program) {
  relation::ProgramWriter(out, program).write();
  return out;
}

inline std::uint64_t hash_of(const RankProgram& program) {
  return relation::ProgramHasher().hash(program);
}
#endif

}  // namespace eindecomp
