// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Where the buffers of a rank's program lie: in one arena, whose memory is used again from
/// instruction to instruction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/arena.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"

namespace eindecomp::relation {

/// Makes tiles of the scratch buffers that only calls use which run tile by tile, and gives them
/// places in the memory of a thread.
inline void place_tiles(const EinGraph& graph, RankProgram& program, TiledCalls& tiled) {
  const auto call = [&](int i) -> const KernelCall& {
    return *program.instructions[static_cast<std::size_t>(i)].as<KernelCall>();
  };
  const auto buffer = [&](int b) -> Buffer& {
    return program.buffers[static_cast<std::size_t>(b)];
  };
  Arena arena;
  std::vector<int> live;
  for (int i = tiled.first; i <= tiled.last; ++i) {
    Buffer& made = buffer(call(i).output);
    if (made.role != Buffer::Role::scratch || made.first < tiled.first || made.last > tiled.last) {
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

/// Gives every scratch buffer, every message and every thread's tiles their place in the arena.
inline void place_buffers(const EinGraph& graph, RankProgram& program) {
  std::vector<Buffer>& buffers = program.buffers;
  const auto buffer = [&](int b) -> Buffer& { return buffers[static_cast<std::size_t>(b)]; };
  const std::size_t count = program.instructions.size();
  for (Buffer& b : buffers) {
    const bool scratch = b.role == Buffer::Role::scratch && !is_kept(program, b);
    if (is_kept(program, b)) program.kept_bytes += b.bytes;
    b.first = scratch ? static_cast<int>(count) : 0;
    b.last = scratch ? -1 : std::max(static_cast<int>(count) - 1, 0);
  }
  for_each_stage(program, [&](std::size_t first, std::size_t last) {
    const auto live = [&](int b) {
      if (buffer(b).role != Buffer::Role::scratch || is_kept(program, buffer(b))) return;
      buffer(b).first = std::min(buffer(b).first, static_cast<int>(first));
      buffer(b).last = static_cast<int>(last);
    };
    for (std::size_t i = first; i <= last; ++i) {
      for_each_access(program.instructions[i], live, live);
    }
  });
  for (TiledCalls& tiled : program.tiled) place_tiles(graph, program, tiled);
  // Of what is born together, that which lives longest lies lowest, so that what goes soon leaves
  // one gap.
  std::vector<std::vector<std::pair<int, int>>> born(count);
  std::vector<std::vector<int>> dying(count);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].role != Buffer::Role::scratch) continue;
    born[static_cast<std::size_t>(buffers[i].first)].emplace_back(-buffers[i].last,
                                                                  static_cast<int>(i));
    dying[static_cast<std::size_t>(buffers[i].last)].push_back(static_cast<int>(i));
  }
  Arena arena;
  auto tiled = program.tiled.begin();
  for_each_stage(program, [&](std::size_t first, std::size_t last) {
    std::sort(born[first].begin(), born[first].end());
    for (const auto& [until, b] : born[first]) buffer(b).offset = arena.allocate(buffer(b).bytes);
    const auto for_each_message = [&](const auto& visit) {
      for (std::size_t i = first; i <= last; ++i) {
        if (auto* receive = std::get_if<Receive>(&program.instructions[i].work)) visit(*receive);
        if (auto* send = std::get_if<Send>(&program.instructions[i].work)) visit(*send);
      }
    };
    const auto is_staged = [&](const Message& m) {
      const Region& front = m.regions.front();
      const Buffer& b = buffer(front.buffer);
      // Inputs lie in the user's memory, with or without gaps.
      return m.regions.size() > 1 || b.role == Buffer::Role::input ||
             !is_contiguous(front.box, b.box);
    };
    for_each_message([&](Message& m) {
      if (is_staged(m)) m.staging = arena.allocate(message_bytes(program, m));
    });
    for_each_message([&](Message& m) {
      if (is_staged(m)) arena.release(m.staging, message_bytes(program, m));
    });
    if (tiled != program.tiled.end() && static_cast<std::size_t>(tiled->first) == first) {
      const std::int64_t bytes = program.threads * tiled->thread_bytes;
      tiled->offset = arena.allocate(bytes);
      arena.release(tiled->offset, bytes);
      ++tiled;
    }
    for (int b : dying[last]) arena.release(buffer(b).offset, buffer(b).bytes);
  });
  program.arena_bytes = arena.peak();
}

}  // namespace eindecomp::relation
