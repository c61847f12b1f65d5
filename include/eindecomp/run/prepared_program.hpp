// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A rank's program made ready to run again and again on memory of one geometry: kernels chosen,
/// strides and offsets worked out. Running it needs the buffers' addresses and nothing else.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/kernel/copy/box_kernel.hpp"
#include "eindecomp/kernel/copy/fill.hpp"
#include "eindecomp/kernel/kernel_sequence.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/fused_tiles.hpp"
#include "eindecomp/run/open_calls.hpp"
#include "eindecomp/run/prepare_tiles.hpp"
#include "eindecomp/run/residue_calls.hpp"
#include "eindecomp/run/tuning.hpp"

namespace eindecomp::run {

/// The most bytes of messages, in and out together, of any exchange of a program.
[[nodiscard]] inline std::int64_t most_message_bytes(const RankProgram& program) {
  std::int64_t most = 0;
  for_each_stage(program, [&](std::size_t first, std::size_t last) {
    std::int64_t bytes = 0;
    for (std::size_t i = first; i <= last; ++i) {
      const Message* const message = program.instructions[i].message();
      if (message != nullptr) bytes += relation::message_bytes(program, *message);
    }
    most = std::max(most, bytes);
  });
  return most;
}

/// Where something begins, whatever the addresses of a run.
struct Place {
  int buffer = -1;          ///< of the program; -1: the arena
  std::int64_t offset = 0;  ///< in bytes
};

/// The addresses of a run.
struct Addresses {
  const std::vector<BlockMemory>& buffers;
  char* arena;

  [[nodiscard]] char* operator[](const Place& place) const {
    return (place.buffer < 0 ? arena : buffers[to_index(place.buffer)].data) + place.offset;
  }
};

/// A box of elements that one block has and another gets: by a copy, by ⊕ or finished.
template <class Space>
struct PreparedPass {
  std::unique_ptr<const kernel::PreparedBox<Space>> pass;
  Place into;
  Place from;
};

/// A message, and the copies between its staging area and the buffers; none where the one region it
/// consists of lies without gaps, and is sent or received where it lies.
template <class Space>
struct PreparedMessage {
  int peer = -1;
  Extent words = 0;
  int bytes = 0;  ///< of an element
  Place packed;
  std::vector<PreparedPass<Space>> copies;
};

/// Messages that are under way together.
template <class Space>
struct PreparedExchange {
  std::vector<PreparedMessage<Space>> receives;
  std::vector<PreparedMessage<Space>> sends;
  int tag = 0;
};

/// Messages that are posted, under way until they are awaited.
template <class Space>
struct PreparedPost {
  PreparedExchange<Space> exchange;
};

/// The end of what was posted last.
template <class Space>
struct PreparedAwait {
  std::size_t post = 0;  ///< the stage that posted it
};

/// A kernel call.
template <class Space>
struct PreparedCall {
  const kernel::PreparedKernel<Space>* kernel = nullptr;
  int operands = 0;
  Place operand[kernel::max_operands];
  Place output;
};

/// Accumulators combined into the first of them, and finished if they are those of all calls.
template <class Space>
struct PreparedCombine {
  std::vector<PreparedPass<Space>> parts;
  PreparedPass<Space> finish;  ///< null if they are not
};

/// What runs before the next thing begins.
template <class Space>
struct Stage {
  VertexId first = -1;  ///< statement
  VertexId last = -1;   ///< the same but for statements that run tile by tile
  bool once = false;    ///< of constants: for the first run alone
  std::variant<PreparedExchange<Space>, PreparedPass<Space>, PreparedCall<Space>,
               PreparedCombine<Space>, FusedTiles, PreparedPost<Space>, PreparedAwait<Space>>
      work;
};

/// A rank's program, ready to run.
template <class Space>
struct PreparedProgram {
  std::vector<Stage<Space>> stages;  ///< in order
  /// Of the stages' calls; those of one statement on blocks of one shape share one.
  std::vector<std::unique_ptr<const kernel::PreparedKernel<Space>>> kernels;
  std::vector<std::unique_ptr<const kernel::TileKernel>> tile_kernels;
  std::int64_t workspace_bytes = 0;  ///< the most that any stage takes for itself
  int threads = 1;                   ///< that share out tiles
};

/// How the kernel calls of a prepared program are computed: a line for those of one statement that
/// are computed alike.
template <class Space>
[[nodiscard]] std::string explain_calls(const EinGraph& graph,
                                        const PreparedProgram<Space>& program,
                                        const Addresses& addresses) {
  std::vector<std::string> lines;  // in the order of their first calls
  std::unordered_map<std::string, int> calls;
  const auto add = [&](const std::string& line) {
    if (++calls[line] == 1) lines.push_back(line);
  };
  for (const Stage<Space>& stage : program.stages) {
    if (const auto* call = std::get_if<PreparedCall<Space>>(&stage.work)) {
      const void* operands[kernel::max_operands];
      for (int o = 0; o < call->operands; ++o) operands[o] = addresses[call->operand[o]];
      add(graph[stage.first].name.str() + ": " +
          call->kernel->explain(operands, addresses[call->output]));
    } else if (const auto* tiles = std::get_if<FusedTiles>(&stage.work)) {
      add(graph[stage.first].name.str() + " to " + graph[stage.last].name.str() +
          ": tile by tile, " + std::to_string(tiles->tiles()) + " tiles");
    }
  }
  std::string text;
  for (const std::string& line : lines) {
    const int count = calls[line];
    text += line + (count > 1 ? " (" + std::to_string(count) + " calls)\n" : "\n");
  }
  return text;
}

/// Prepares a program.
template <class Space>
class ProgramPreparer {
 public:
  /// \param buffers  memory of the geometry that runs will have; addresses may be others.
  ProgramPreparer(const Space& space, const EinGraph& graph, const RankProgram& program,
                  const Launchers<Space>& launchers, const std::vector<BlockMemory>& buffers)
      : m_space(space),
        m_graph(graph),
        m_program(program),
        m_launchers(launchers),
        m_buffers(buffers) {}

  [[nodiscard]] PreparedProgram<Space> prepare() {
    TilePreparer<Space> tiles(m_graph, m_program, m_launchers, m_buffers, m_made.tile_kernels);
    m_made.threads = m_program.threads;
    auto tiled = m_program.tiled.begin();
    for_each_stage(m_program, [&](std::size_t first, std::size_t last) {
      if (tiled != m_program.tiled.end() && to_index(tiled->first) == first) {
        add(first, last, tiles.prepare(*tiled++));
        return;
      }
      const Instruction& instruction = m_program.instructions[first];
      if (const Message* const front = instruction.message()) {
        if (front->flight >= 0) {
          m_posted = m_made.stages.size();
          add(first, last, PreparedPost<Space>{exchange(first, last)});
        } else {
          add(first, last, exchange(first, last));
        }
      } else if (instruction.as<Await>() != nullptr) {
        add(first, last, PreparedAwait<Space>{m_posted});
      } else if (const auto* copy = instruction.as<Copy>()) {
        if (!copy->box.empty()) add(first, last, copy_of(copy->box, copy->to, copy->from));
      } else if (const auto* fill = instruction.as<Fill>()) {
        if (!fill->target.box.empty()) add(first, last, prepare(instruction.statement, *fill));
      } else if (const auto* spread = instruction.as<Spread>()) {
        add(first, last, prepare(*spread));
      } else if (const auto* count = instruction.as<Count>()) {
        add(first, last, prepare(*count));
      } else if (const auto* call = instruction.as<KernelCall>()) {
        add(first, last, prepare(instruction.statement, *call));
      } else if (const auto* combine = instruction.as<Combine>()) {
        if (!combine->parts.empty() && !combine->target.box.empty()) {
          add(first, last, prepare(instruction.statement, *combine));
        }
      }
    });
    return std::move(m_made);
  }

 private:
  using Kernel = kernel::PreparedKernel<Space>;

  template <class Work>
  void add(std::size_t first, std::size_t last, Work&& work) {
    const Instruction& front = m_program.instructions[first];
    m_made.stages.push_back({front.statement, m_program.instructions[last].statement,
                             relation::is_done_once(m_program, front), std::forward<Work>(work)});
  }

  void use_workspace(std::int64_t bytes) {
    m_made.workspace_bytes = std::max(m_made.workspace_bytes, bytes);
  }

  [[nodiscard]] const BlockMemory& memory(int buffer) const { return m_buffers[to_index(buffer)]; }

  /// The place of an element of a buffer.
  [[nodiscard]] Place place(int buffer, const std::vector<Extent>& lo) const {
    return {buffer, memory(buffer).at(lo) - memory(buffer).data};
  }

  [[nodiscard]] kernel::StridedBox strided(const Box& box, int into, int from) const {
    return strided_box(box, memory(into), memory(from));
  }
  /// A copy of a box that both buffers have.
  [[nodiscard]] PreparedPass<Space> copy_of(const Box& box, int into, int from) const {
    return {kernel::prepare_copy<Space>(memory(into).bytes, strided(box, into, from)),
            place(into, box.lo), place(from, box.lo)};
  }

  [[nodiscard]] PreparedPass<Space> prepare(VertexId statement, const Fill& fill) const {
    const auto& [buffer, box] = fill.target;
    const BlockMemory one{nullptr, box, {}, memory(buffer).bytes};
    const ElementType element = m_graph[m_program.buffers[to_index(buffer)].tensor].element;
    const Place into = place(buffer, box.lo);
    kernel::ElementBytes value = kernel::bytes_of(fill.value, element);
    if (fill.value == OutsideValue::stated) {
      value.resize(to_index(one.bytes));
      std::memcpy(value.data(), m_graph[statement].op.state.data(), value.size());
    }
    const kernel::StridedBox filled = strided_box(box, memory(buffer), one);
    return {kernel::prepare_fill(m_space, one.bytes, filled, value), into, into};
  }

  [[nodiscard]] PreparedPass<Space> prepare(const Count& count) const {
    const auto& [buffer, values] = count.target;
    const Place into = place(buffer, values.lo);
    return {kernel::prepare_count<Space>(values.lo[0], values.extent(0)), into, into};
  }

  [[nodiscard]] PreparedPass<Space> prepare(const Spread& spread) const {
    std::vector<Extent> first = spread.read.lo;
    for (std::size_t k = 0; k < first.size(); ++k) {
      if (spread.steps[k] < 0) first[k] = spread.read.hi[k] - 1;
    }
    return {
        kernel::prepare_copy<Space>(memory(spread.to).bytes,
                                    strided_box(spread, memory(spread.to), memory(spread.from))),
        place(spread.to, spread.written.lo), place(spread.from, first)};
  }

  /// \param sent  whether the message leaves, and is packed, or arrives, and is unpacked.
  [[nodiscard]] PreparedMessage<Space> message(const Message& m, bool sent) const {
    const Region& front = m.regions.front();
    PreparedMessage<Space> prepared{
        m.peer, m.words, memory(front.buffer).bytes, {-1, m.staging}, {}};
    if (m.regions.size() == 1 && memory(front.buffer).contiguous(front.box)) {
      prepared.packed = place(front.buffer, front.box.lo);
      return prepared;
    }
    std::int64_t next = m.staging;
    for (const Region& region : m.regions) {
      const BlockMemory& buffer = memory(region.buffer);
      const BlockMemory staged = BlockMemory::dense(nullptr, region.box, buffer.bytes);
      const Place in_message{-1, next};
      next += region.box.size() * buffer.bytes;
      if (region.box.empty()) continue;
      const Place in_buffer = place(region.buffer, region.box.lo);
      const kernel::StridedBox box =
          sent ? strided_box(region.box, staged, buffer) : strided_box(region.box, buffer, staged);
      prepared.copies.push_back({kernel::prepare_copy<Space>(buffer.bytes, box),
                                 sent ? in_message : in_buffer, sent ? in_buffer : in_message});
    }
    return prepared;
  }

  [[nodiscard]] PreparedExchange<Space> exchange(std::size_t first, std::size_t last) const {
    // Messages of a pair stay in order where tags wrap.
    PreparedExchange<Space> prepared;
    prepared.tag = m_program.instructions[first].turn % comm::first_reserved_tag;
    for (std::size_t i = first; i <= last; ++i) {
      const Instruction& instruction = m_program.instructions[i];
      const Message& m = *instruction.message();
      if (m.words == 0) continue;
      const bool sent = instruction.as<Send>() != nullptr;
      (sent ? prepared.sends : prepared.receives).push_back(message(m, sent));
    }
    return prepared;
  }

  [[nodiscard]] PreparedCall<Space> prepare(VertexId statement, const KernelCall& call) {
    const Vertex& v = m_graph[statement];
    const CallMemory addressed = call_memory(v, call, call.domain, m_buffers);
    const kernel::Write write = call.accumulate ? kernel::Write::accumulate
                                : call.finish   ? kernel::Write::finished
                                                : kernel::Write::partial;
    PreparedCall<Space> prepared;
    prepared.kernel = call.open           ? kernel_of_open(statement, call, addressed, write)
                      : v.periods.empty() ? kernel_for(statement, addressed.shape, write)
                                          : kernel_of_classes(statement, call, addressed, write);
    prepared.operands = static_cast<int>(call.operands.size());
    const auto in_buffer = [&](int buffer, const void* address) {
      return Place{buffer, static_cast<const char*>(address) - memory(buffer).data};
    };
    for (std::size_t o = 0; o < call.operands.size(); ++o) {
      prepared.operand[o] = in_buffer(call.operands[o], addressed.operands[o]);
    }
    prepared.output = in_buffer(call.output, addressed.output);
    return prepared;
  }

  [[nodiscard]] PreparedCombine<Space> prepare(VertexId statement, const Combine& combine) const {
    PreparedCombine<Space> prepared;
    const kernel::Launcher<Space>& launcher = *m_launchers[to_index(statement)];
    const Box& box = combine.target.box;
    const int total = combine.parts.front().buffer;
    const Place into = place(total, box.lo);
    for (std::size_t i = 1; i < combine.parts.size(); ++i) {
      const int part = combine.parts[i].buffer;
      prepared.parts.push_back(
          {launcher.prepare_combine(strided(box, total, part)), into, place(part, box.lo)});
    }
    if (!combine.finishes()) return prepared;
    const int target = combine.target.buffer;
    prepared.finish = {launcher.prepare_finish(strided(box, target, total)), place(target, box.lo),
                       into};
    return prepared;
  }

  /// A kernel of the kernels of a call's residue classes. \param whole  the call
  [[nodiscard]] const Kernel* kernel_of_classes(VertexId statement, const KernelCall& call,
                                                const CallMemory& whole, kernel::Write write) {
    auto all = std::make_unique<kernel::KernelSequence<Space>>(whole.shape.operands);
    for (const ResidueCall& part :
         residue_calls(m_graph[statement], call, whole, m_buffers, compat::host_threads(m_space))) {
      typename kernel::KernelSequence<Space>::Part made;
      made.kernel =
          kernel_for(statement, part.shape, part.accumulate ? kernel::Write::accumulate : write);
      std::copy(part.operands, part.operands + whole.shape.operands, made.operands);
      made.output = part.output;
      all->add(made);
    }
    m_made.kernels.push_back(std::move(all));
    return m_made.kernels.back().get();
  }

  /// A kernel of the kernels of a call's parts whose operands have no ends, or have them along
  /// rows.
  [[nodiscard]] const Kernel* kernel_of_open(VertexId statement, const KernelCall& call,
                                             const CallMemory& whole, kernel::Write write) {
    // Programs for other spaces have no such calls: see RankBuilder::split_interior.
    assert((compat::accessible<Space, Kokkos::HostSpace>));
    auto all = std::make_unique<kernel::KernelSequence<Space>>(whole.shape.operands);
    const auto take = [&](const OpenPart& part) {
      typename kernel::KernelSequence<Space>::Part made;
      made.kernel = kernel_for(statement, part.shape, write);
      if (made.kernel == nullptr) return false;
      std::copy(part.operands, part.operands + whole.shape.operands, made.operands);
      made.output = part.output;
      made.zeros = part.zeros;
      all->add(made);
      return true;
    };
    std::vector<std::int64_t> bytes;
    for (const int operand : call.operands) bytes.push_back(memory(operand).bytes);
    bytes.push_back(memory(call.output).bytes);
    OpenCallCutter(std::move(bytes), take)
        .cut({whole.shape}, operand_ends(m_graph[statement], call, m_buffers));
    m_made.kernels.push_back(std::move(all));
    return m_made.kernels.back().get();
  }

  /// \returns null if operands have ends and there is no kernel for them.
  [[nodiscard]] const Kernel* kernel_for(VertexId statement, kernel::LocalEinsum shape,
                                         kernel::Write write) {
    shape.forget_begins();
    for (const Known& known : m_known) {
      if (known.statement == statement && known.write == write && known.shape == shape) {
        return known.kernel;
      }
    }
    auto prepared = m_launchers[to_index(statement)]->prepare(m_space, shape, write);
    if (prepared == nullptr) return nullptr;
    m_made.kernels.push_back(std::move(prepared));
    const Kernel* const made = m_made.kernels.back().get();
    // Statements come one after another, or those of a group again and again.
    if (m_known.size() == tuning::remembered_kernels) m_known.erase(m_known.begin());
    m_known.push_back({statement, write, shape, made});
    use_workspace(made->workspace_bytes());
    return made;
  }

  struct Known {
    VertexId statement = -1;
    kernel::Write write = kernel::Write::finished;
    kernel::LocalEinsum shape;
    const Kernel* kernel = nullptr;
  };

  const Space& m_space;
  const EinGraph& m_graph;
  const RankProgram& m_program;
  const Launchers<Space>& m_launchers;
  const std::vector<BlockMemory>& m_buffers;
  std::vector<Known> m_known;
  std::size_t m_posted = 0;  ///< the last stage that posted messages
  PreparedProgram<Space> m_made;
};

}  // namespace eindecomp::run
