// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Where the buffers of a rank's program lie: in one arena, whose memory is used again from
/// instruction to instruction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/arena.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_rules.hpp"

namespace eindecomp::relation {

/// Sets from which instruction to which each scratch buffer is held: over whole stages; what is
/// kept of constants over all. Of one that no instruction touches, first > last.
inline void find_lives(RankProgram& program) {
  const auto count = static_cast<int>(program.instructions.size());
  const auto comes_and_goes = [&](const Buffer& b) {
    return b.role == Buffer::Role::scratch && !is_kept(program, b);
  };
  for (Buffer& b : program.buffers) {
    const bool scratch = comes_and_goes(b);
    b.first = scratch ? count : 0;
    b.last = scratch ? -1 : std::max(count - 1, 0);
  }
  for_each_stage(program, [&](std::size_t first, std::size_t last) {
    const auto live = [&](int buffer) {
      Buffer& b = program.buffers[static_cast<std::size_t>(buffer)];
      if (!comes_and_goes(b)) return;
      b.first = std::min(b.first, static_cast<int>(first));
      b.last = static_cast<int>(last);
    };
    for (std::size_t i = first; i <= last; ++i) {
      for_each_access(program.instructions[i], live, live);
    }
  });
}

/// Makes tiles of the scratch buffers that calls pass on which run tile by tile, and gives them
/// places in the memory of a thread. \param last_reader  as last_readers() says.
inline void place_tiles(const EinGraph& graph, const std::vector<VertexId>& last_reader,
                        RankProgram& program, TiledCalls& tiled) {
  const auto call = [&](int i) -> const KernelCall& {
    return *program.instructions[static_cast<std::size_t>(i)].as<KernelCall>();
  };
  const auto buffer = [&](int b) -> Buffer& {
    return program.buffers[static_cast<std::size_t>(b)];
  };
  const VertexId last = program.instructions[static_cast<std::size_t>(tiled.last)].statement;
  Arena arena;
  std::vector<int> live;
  for (int i = tiled.first; i <= tiled.last; ++i) {
    Buffer& made = buffer(call(i).output);
    if (made.role != Buffer::Role::scratch || made.first < tiled.first || made.last > tiled.last ||
        last_reader[static_cast<std::size_t>(made.tensor)] > last) {
      continue;
    }
    made.role = Buffer::Role::tile;
    made.first = i;
    for (int reader = i; reader <= tiled.last; ++reader) {
      const std::vector<int>& read = call(reader).operands;
      if (reader == i || std::find(read.begin(), read.end(), call(i).output) != read.end()) {
        made.last = reader;
      }
    }
    Box domain = call(i).domain;
    restrict_domain(domain, tiled.axes, static_cast<std::size_t>(i - tiled.first), 0);
    made.bytes = graph[made.tensor].element.bytes;
    for (int l : graph[made.tensor].output) made.bytes *= domain.extent(l);
    std::erase_if(live, [&](int b) {
      if (buffer(b).last >= i) return false;
      arena.release(buffer(b).offset, buffer(b).bytes);
      return true;
    });
    made.offset = arena.allocate(made.bytes);
    live.push_back(call(i).output);
  }
  tiled.thread_bytes = arena.peak() * (tiled.interleaved >= 0 ? 2 : 1);
}

/// Whether a message is packed in the arena: unless it is one region that can be sent or received
/// where it lies, as those that are posted always are. Inputs lie in the user's memory, with or
/// without gaps.
[[nodiscard]] inline bool is_staged(const RankProgram& program, const Message& m) {
  if (m.flight >= 0) return false;
  const Region& front = m.regions.front();
  const Buffer& b = program.buffers[static_cast<std::size_t>(front.buffer)];
  return m.regions.size() > 1 || b.role == Buffer::Role::input || !is_contiguous(front.box, b.box);
}

/// Calls visit(stage's first instruction, its last, bytes of the arena that it takes for itself,
/// and those of them that are not rounding) for every stage: messages that are packed, threads'
/// tiles.
template <class Visit>
void for_each_area(const RankProgram& program, const Visit& visit) {
  auto tiled = program.tiled.begin();
  for_each_stage(program, [&](std::size_t first, std::size_t last) {
    std::int64_t area = 0;
    std::int64_t held = 0;
    for (std::size_t i = first; i <= last; ++i) {
      const Message* const message = program.instructions[i].message();
      if (message == nullptr || !is_staged(program, *message)) continue;
      const std::int64_t bytes = message_bytes(program, *message);
      held += bytes;
      area += Arena::round_up(bytes);
    }
    if (tiled != program.tiled.end() && static_cast<std::size_t>(tiled->first) == first) {
      held = area = program.threads * (tiled++)->thread_bytes;
    }
    visit(first, last, area, held);
  });
}

/// Gives every scratch buffer, every message and every thread's tiles their place in the arena.
inline void place_buffers(const EinGraph& graph, RankProgram& program) {
  for (const Buffer& b : program.buffers) {
    if (is_kept(program, b)) program.kept_bytes += b.bytes;
  }
  find_lives(program);
  const std::vector<VertexId> readers =
      program.tiled.empty() ? std::vector<VertexId>{} : last_readers(graph);
  for (TiledCalls& tiled : program.tiled) place_tiles(graph, readers, program, tiled);
  ArenaPlan plan;
  std::vector<int> stage_of(program.instructions.size(), 0);
  for_each_area(program, [&](std::size_t first, std::size_t last, std::int64_t area, std::int64_t) {
    for (std::size_t i = first; i <= last; ++i) {
      stage_of[i] = static_cast<int>(plan.areas.size());
    }
    plan.areas.push_back({area, 0});
  });
  for (const Buffer& b : program.buffers) {
    if (b.role != Buffer::Role::scratch || b.first > b.last) continue;
    plan.lives.push_back({stage_of[static_cast<std::size_t>(b.first)],
                          stage_of[static_cast<std::size_t>(b.last)], b.bytes, 0});
  }
  program.arena_bytes = plan.place();
  auto life = plan.lives.begin();
  for (Buffer& b : program.buffers) {
    if (b.role == Buffer::Role::scratch && b.first <= b.last) b.offset = (life++)->offset;
  }
  // Within a stage's area one after another.
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    ArenaPlan::Area& area = plan.areas[static_cast<std::size_t>(stage_of[i])];
    const auto stage = [&](Message& m) {
      if (!is_staged(program, m)) return;
      m.staging = area.offset;
      area.offset += Arena::round_up(message_bytes(program, m));
    };
    if (auto* receive = std::get_if<Receive>(&program.instructions[i].work)) stage(*receive);
    if (auto* send = std::get_if<Send>(&program.instructions[i].work)) stage(*send);
  }
  for (TiledCalls& tiled : program.tiled) {
    const int stage = stage_of[static_cast<std::size_t>(tiled.first)];
    tiled.offset = plan.areas[static_cast<std::size_t>(stage)].offset;
  }
}

}  // namespace eindecomp::relation
