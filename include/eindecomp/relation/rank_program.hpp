// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What one rank does to run a plan, as a list of instructions: plain data, the single source of
/// the words and bytes that are predicted and of those that the executor moves and allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/tuning.hpp"

namespace eindecomp {

/// Storage for one box of one tensor on one rank, dense, last dimension fastest.
struct Buffer {
  /// What a buffer is for, which decides whose memory it is.
  enum class Role : std::uint8_t {
    input,    ///< a stored block of an input: the user's own memory, or filled for them
    result,   ///< a stored block of a result: outlives the run
    scratch,  ///< lives in the rank's arena from instruction `first` to instruction `last`
    tile,     ///< within TiledCalls: every thread holds one tile of it, and nobody all of it
  };
  VertexId tensor = -1;       ///< whose elements it holds
  Box box;                    ///< which of them
  bool partial = false;       ///< holds accumulators of ⊕ (Vertex::partial), not final elements
  bool counts = false;        ///< holds the values of a label, for calls of the statement `tensor`
  Role role = Role::scratch;  ///< what it is for
  std::int64_t bytes = 0;     ///< of all elements of the box; of a tile, of the longest
  std::int64_t offset = 0;    ///< of scratch, within the arena; of a tile, within a thread's memory
  int first = 0;              ///< instruction before which its memory is taken
  int last = 0;               ///< instruction after which its memory may be reused
  constexpr bool operator==(const Buffer&) const = default;
};

/// A box of a buffer, in the tensor's coordinates.
struct Region {
  int buffer = -1;  ///< index into RankProgram::buffers
  Box box;          ///< which elements
  constexpr bool operator==(const Region&) const = default;
};

/// Elements exchanged with one other rank: the regions one after another, each dense in row-major
/// order. Sender and receiver list them in the same order.
struct Message {
  int peer = -1;                ///< the other rank
  std::vector<Region> regions;  ///< in the order in which they are packed
  Extent words = 0;             ///< elements
  int round = 0;                ///< of its statement: those of one are under way together
  /// Offset in the arena of the packed message; -1 of one that is sent or received where it lies.
  std::int64_t staging = -1;
  /// Of one that is posted: it is under way until the Await of that number, one region that lies
  /// without gaps. -1: it is complete when its exchange is.
  int flight = -1;
  constexpr bool operator==(const Message&) const = default;
};

/// A message from another rank.
struct Receive : Message {
  constexpr bool operator==(const Receive&) const = default;
};

/// A message to another rank.
struct Send : Message {
  constexpr bool operator==(const Send&) const = default;
};

/// The end of messages that were posted before: what they bring is there from now on, and what they
/// took may change.
struct Await {
  int flight = -1;               ///< Message::flight of those messages
  std::vector<Region> received;  ///< of its receives
  std::vector<Region> sent;      ///< of its sends
  constexpr bool operator==(const Await&) const = default;
};

/// Elements copied between two buffers of the rank.
struct Copy {
  int from = -1;  ///< the buffer that is read
  int to = -1;    ///< the buffer that is written
  Box box;        ///< which elements, of the same tensor in both
  constexpr bool operator==(const Copy&) const = default;
};

/// Elements outside of a tensor, in a buffer that kernels read beyond its ends, set to a value; or
/// those of a result that none of its blocks has.
struct Fill {
  Region target;                            ///< which elements
  OutsideValue value = OutsideValue::none;  ///< what they become
  constexpr bool operator==(const Fill&) const = default;
};

/// A buffer of a label's values, set to them.
struct Count {
  Region target;  ///< all of the buffer; the box is that of the values
  constexpr bool operator==(const Count&) const = default;
};

/// Elements of a tensor copied to where calls read them at indices that are divided or taken back
/// into the tensor: some indices apart, backwards, or one at many indices. Or a block copied to
/// where it belongs in a result.
struct Spread {
  int from = -1;              ///< the buffer that is read
  int to = -1;                ///< the buffer that is written, in indices; of a block, the result's
  Box read;                   ///< which elements
  Box written;                ///< from the first index to the last
  std::vector<Extent> steps;  ///< per dimension, from one element's index to the next one's; or 0
  /// The number of elements that are written.
  [[nodiscard]] constexpr Extent size() const {
    Extent n = 1;
    for (int k = 0; k < read.rank(); ++k) n *= count(k);
    return n;
  }
  /// The same along dimension k.
  [[nodiscard]] constexpr Extent count(int k) const {
    return steps[static_cast<std::size_t>(k)] == 0 ? written.extent(k) : read.extent(k);
  }
  constexpr bool operator==(const Spread&) const = default;
};

/// One kernel call: the domain's box of labels, operands by buffer.
struct KernelCall {
  Box domain;  ///< lo and hi per label of L
  /// A buffer that contains the box the call reads, per operand, then per label of Vertex::values
  /// that is not looked up in an index tensor.
  std::vector<int> operands;
  int output = -1;          ///< a buffer that contains the box the call writes
  bool accumulate = false;  ///< combine with what an earlier call left in the output
  /// Write final elements, not accumulators. Both where the two are the same (Operator::finishes).
  bool finish = false;
  /// Of calls in tiles: the output is a result that the step group does not read.
  bool unread = false;
  /// Operands may be read beyond the ends of their tensors, which their buffers have to both: there
  /// they are 0 or, of a periodic index, what is at the other end.
  bool open = false;
  constexpr bool operator==(const KernelCall&) const = default;
};

/// Accumulators combined in the order of `parts` into the first of them, and finished if they then
/// are those of all calls.
struct Combine {
  Region target;              ///< in a buffer of final elements; or the first part: not finished
  std::vector<Region> parts;  ///< of buffers of accumulators; the same box each
  /// Whether final elements are written.
  [[nodiscard]] constexpr bool finishes() const { return target.buffer != parts.front().buffer; }
  constexpr bool operator==(const Combine&) const = default;
};

/// One thing that a rank does.
struct Instruction {
  /// The statement it is done for.
  VertexId statement = -1;
  /// The turn of the statement, or of a block of it where it runs in steps (StepGroup). All ranks
  /// have the same turns, though not in every turn something to do.
  int turn = 0;
  /// What is done.
  std::variant<Receive, Send, Copy, KernelCall, Combine, Fill, Spread, Count, Await> work;

  /// The work if it is of that type, or null.
  template <class Work>
  [[nodiscard]] const Work* as() const {
    return std::get_if<Work>(&work);
  }
  /// The message it sends or receives, or null.
  [[nodiscard]] const Message* message() const {
    if (const auto* receive = as<Receive>()) return receive;
    return as<Send>();
  }
  constexpr bool operator==(const Instruction&) const = default;
};

/// Kernel calls, each of one turn, that run tile by tile: a thread takes a tile from the first call
/// to the last before it takes another. So what the calls pass on stays in its own caches, and
/// threads are started once.
struct TiledCalls {
  int first = 0;                  ///< instruction
  int last = 0;                   ///< instruction
  std::vector<StepAxis> axes;     ///< one or two with sizes, their positions by call
  int interleaved = -1;           ///< the instruction of StepGroup::interleaved; -1: none
  std::int64_t thread_bytes = 0;  ///< held by each thread: tiles of buffers
  std::int64_t offset = 0;        ///< in the arena, of the first thread's; the others' follow
  bool operator==(const TiledCalls&) const = default;
};

/// What a program is to know of where and how it runs.
struct SpaceFacts {
  int threads = 1;  ///< that share out the tiles of a rank; 0: a device, which has none
  /// Inputs that do not change from run to run, ascending (RankProgram::constants).
  std::vector<VertexId> constants = {};
  /// Operations, each a join with its aggregation, after which each thread of a rank whose messages
  /// are under way is interrupted to call MPI; devices never are.
  std::int64_t operations_between_polls = relation::tuning::operations_between_polls;
  /// Bytes of which a message has no more: longer ones are sent in parts, one after another. There
  /// are at most 1,024 of them, which are longer if they have to be.
  std::int64_t longest_message = relation::tuning::longest_message;

  /// The same, but that no call is interrupted: a kernel that is cut holds what it would hold
  /// whole, and large products are cut into millions.
  [[nodiscard]] SpaceFacts uninterrupted() const {
    SpaceFacts facts = *this;
    facts.operations_between_polls = 0;
    return facts;
  }
};

/// The names of a program's tensors, by vertex.
struct TensorNames {
  std::shared_ptr<const std::vector<Text>> texts;  ///< shared by the programs of all ranks
  bool operator==(const TensorNames& other) const {
    return texts == other.texts || (texts && other.texts && *texts == *other.texts);
  }
};

/// Everything one rank holds and does. Prints as a list of buffers and instructions.
///
/// The instructions of a turn are in the order: what is filled, copies and messages with operands,
/// round by round, what is spread or counted, calls, messages with accumulators and combinations,
/// round by round. Messages of one round are one exchange: they are under way together, each with a
/// staging area of its own, and what comes after them waits for all. An exchange lists its receives
/// first, from the previous rank, then from the one before that, and so round; then its sends, to
/// the next rank, and so round; those of one peer by tensor, small ones of several tensors as one.
/// So the messages between two ranks come in one order on both, and ranks that send alike each send
/// to another one. Messages of constants are an exchange of their own, before the others of their
/// round.
///
/// A statement that is streamed (StepGroup) computes panel by panel: what is needed of the first is
/// exchanged, then in every step messages of a later panel are posted, one panel is computed, and
/// what was posted is awaited. Posted messages have rounds of their own, which follow all others
/// with operands. At most one exchange is under way at a time, and no other meanwhile.
struct RankProgram {
  int rank = 0;                           ///< whose program it is
  int turns = 0;                          ///< of all ranks
  std::vector<Buffer> buffers;            ///< all that the instructions read and write
  std::vector<Instruction> instructions;  ///< one after another, but for exchanges and tiles
  std::vector<TiledCalls> tiled;          ///< in order, apart from each other
  int threads = 1;                        ///< that share out tiles
  /// Inputs that do not change from run to run, ascending. What is assembled of them lives in the
  /// arena for good, and what brings it there (is_done_once) belongs to the first run alone.
  std::vector<VertexId> constants;
  std::int64_t arena_bytes = 0;   ///< of all scratch buffers, staging areas and tiles
  std::int64_t kept_bytes = 0;    ///< of those, the ones that hold parts of constants
  std::int64_t result_bytes = 0;  ///< of the stored results
  std::int64_t input_bytes = 0;   ///< of the stored inputs, which the user may hand over
  TensorNames names;              ///< for texts

  /// The most bytes of tensors the rank holds at any time.
  [[nodiscard]] std::int64_t peak_bytes() const { return arena_bytes + result_bytes + input_bytes; }
  bool operator==(const RankProgram&) const = default;
};

namespace relation {

/// Whether a buffer holds an assembled part of a constant, kept from run to run.
[[nodiscard]] inline bool is_kept(const RankProgram& program, const Buffer& buffer) {
  return buffer.role == Buffer::Role::scratch &&
         std::binary_search(program.constants.begin(), program.constants.end(), buffer.tensor);
}

/// The round of the first messages that a statement posts.
inline constexpr int first_posted_round = 1 << 28;

/// Whether an instruction belongs to the first run alone: what is filled or spread, a copy or
/// message of constants.
[[nodiscard]] inline bool is_done_once(const RankProgram& program, const Instruction& instruction) {
  int buffer = -1;
  if (const Message* const message = instruction.message()) {
    buffer = message->regions.front().buffer;
  } else if (const auto* copy = instruction.as<Copy>()) {
    buffer = copy->to;
  } else if (const auto* fill = instruction.as<Fill>()) {
    buffer = fill->target.buffer;
  } else if (const auto* spread = instruction.as<Spread>()) {
    buffer = spread->to;
  }
  return buffer >= 0 &&
         std::binary_search(program.constants.begin(), program.constants.end(),
                            program.buffers[static_cast<std::size_t>(buffer)].tensor);
}

/// The box of results that a call on a domain writes.
[[nodiscard]] inline Box results_of(const Vertex& v, const Box& domain) {
  Box box;
  for (const int l : v.output) {
    box.lo.push_back(domain.lo[static_cast<std::size_t>(l)]);
    box.hi.push_back(domain.hi[static_cast<std::size_t>(l)]);
  }
  return box;
}

/// How many tiles there are of calls. \param domain  of the first call.
[[nodiscard]] inline Extent tile_count(const TiledCalls& tiled, const Box& domain) {
  Extent count = 1;
  for (const StepAxis& axis : tiled.axes) {
    count *= axis.pieces(domain.extent(axis.positions.front()));
  }
  return count;
}

/// The size of the elements a buffer holds.
[[nodiscard]] constexpr int element_bytes(const EinGraph& graph, const Buffer& buffer) {
  if (buffer.counts) return sizeof(std::int64_t);
  const Vertex& v = graph[buffer.tensor];
  return static_cast<int>(buffer.partial ? v.partial.bytes : v.element.bytes);
}

/// The size of a message.
[[nodiscard]] inline std::int64_t message_bytes(const RankProgram& program,
                                                const Message& message) {
  const auto at = static_cast<std::size_t>(message.regions.front().buffer);
  const Buffer& buffer = program.buffers[at];
  return message.words == 0 ? 0 : message.words * (buffer.bytes / buffer.box.size());
}

/// Calls `read(buffer, box)` for every buffer that an instruction reads, and `write(buffer, box)`
/// for every one that it writes; both for accumulators that it adds to. The box is that of a region
/// copied, sent, received or combined, and null where a kernel call touches what its domain says.
/// \param instruction  const or not, and so are the buffers.
template <class AnyInstruction, class Read, class Write>
void for_each_region(AnyInstruction& instruction, const Read& read, const Write& write) {
  constexpr const Box* all = nullptr;
  if (auto* receive = std::get_if<Receive>(&instruction.work)) {
    for (auto& region : receive->regions) write(region.buffer, &region.box);
  } else if (auto* send = std::get_if<Send>(&instruction.work)) {
    for (auto& region : send->regions) read(region.buffer, &region.box);
  } else if (auto* copy = std::get_if<Copy>(&instruction.work)) {
    read(copy->from, &copy->box);
    write(copy->to, &copy->box);
  } else if (auto* call = std::get_if<KernelCall>(&instruction.work)) {
    for (auto& operand : call->operands) read(operand, all);
    if (call->accumulate) read(call->output, all);
    write(call->output, all);
  } else if (auto* combine = std::get_if<Combine>(&instruction.work)) {
    for (auto& part : combine->parts) read(part.buffer, &part.box);
    if (combine->parts.size() > 1) {
      auto& total = combine->parts.front();
      write(total.buffer, &total.box);
    }
    write(combine->target.buffer, &combine->target.box);
  } else if (auto* fill = std::get_if<Fill>(&instruction.work)) {
    write(fill->target.buffer, &fill->target.box);
  } else if (auto* spread = std::get_if<Spread>(&instruction.work)) {
    read(spread->from, &spread->read);
    write(spread->to, &spread->written);
  } else if (auto* count = std::get_if<Count>(&instruction.work)) {
    write(count->target.buffer, &count->target.box);
  } else if (auto* await = std::get_if<Await>(&instruction.work)) {
    for (auto& region : await->sent) read(region.buffer, &region.box);
    for (auto& region : await->received) {
      read(region.buffer, &region.box);
      write(region.buffer, &region.box);
    }
  }
}

/// for_each_region without the boxes: `read(buffer)` and `write(buffer)`.
template <class AnyInstruction, class Read, class Write>
void for_each_access(AnyInstruction& instruction, const Read& read, const Write& write) {
  for_each_region(
      instruction, [&](auto& buffer, const Box*) { read(buffer); },
      [&](auto& buffer, const Box*) { write(buffer); });
}

/// One past the last message of the exchange that instruction `first` begins; `first` itself if it
/// is no message.
[[nodiscard]] inline std::size_t exchange_end(const RankProgram& program, std::size_t first) {
  const std::vector<Instruction>& list = program.instructions;
  std::size_t end = first;
  const auto partial = [&](std::size_t i) {
    const int buffer = list[i].message()->regions.front().buffer;
    return program.buffers[static_cast<std::size_t>(buffer)].partial;
  };
  while (end < list.size() && list[end].message() != nullptr &&
         list[end].turn == list[first].turn &&
         list[end].message()->round == list[first].message()->round &&
         list[end].message()->flight == list[first].message()->flight &&
         partial(end) == partial(first) &&
         is_done_once(program, list[end]) == is_done_once(program, list[first])) {
    ++end;
  }
  return end;
}

}  // namespace relation

/// Calls visit(first, last) for every exchange, for calls that run tile by tile, and for every
/// other instruction with first == last: what runs one after another.
template <class Visit>
void for_each_stage(const RankProgram& program, const Visit& visit) {
  auto tiled = program.tiled.begin();
  for (std::size_t i = 0; i < program.instructions.size();) {
    std::size_t last = std::max(relation::exchange_end(program, i), i + 1) - 1;
    if (tiled != program.tiled.end() && static_cast<std::size_t>(tiled->first) == i) {
      last = static_cast<std::size_t>((tiled++)->last);
    }
    visit(i, last);
    i = last + 1;
  }
}

}  // namespace eindecomp
