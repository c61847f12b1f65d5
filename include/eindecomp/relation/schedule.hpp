// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What one rank does to run a plan: plain data, the single source of the words and bytes that are
/// predicted and of those that the executor moves and allocates.
#pragma once

#include <cstdint>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/box.hpp"

namespace eindecomp {

/// Storage for one box of one tensor on one rank, dense, last dimension fastest.
struct Buffer {
  /// What a buffer is for, which decides whose memory it is.
  enum class Role : std::uint8_t {
    input,    ///< a stored block of an input: the user's own memory, or filled for them
    result,   ///< a stored block of a result: outlives the run
    scratch,  ///< lives in the rank's arena from step `first` to step `last`
  };
  VertexId tensor = -1;       ///< whose elements it holds
  Box box;                    ///< which of them
  bool partial = false;       ///< holds accumulators of ⊕ (Vertex::partial), not final elements
  Role role = Role::scratch;  ///< what it is for
  std::int64_t bytes = 0;     ///< of all elements of the box
  std::int64_t offset = 0;    ///< of scratch, within the arena
  int first = 0;              ///< step before which it is first written
  int last = 0;               ///< step after which its memory may be reused
  constexpr bool operator==(const Buffer&) const = default;
};

/// A box of a buffer, in the tensor's coordinates.
struct Region {
  int buffer = -1;  ///< index into RankSchedule::buffers
  Box box;          ///< which elements
  constexpr bool operator==(const Region&) const = default;
};

/// Elements copied between two buffers of the rank.
struct Copy {
  int from = -1;  ///< the buffer that is read
  int to = -1;    ///< the buffer that is written
  Box box;        ///< which elements, of the same tensor in both
  constexpr bool operator==(const Copy&) const = default;
};

/// Elements exchanged with one other rank: the regions one after another, each dense in row-major
/// order. Sender and receiver list them in the same order.
struct Message {
  int peer = -1;                ///< the other rank
  std::vector<Region> regions;  ///< in the order in which they are packed
  Extent words = 0;             ///< elements
  std::int64_t staging = -1;    ///< offset in the arena of the packed message
  constexpr bool operator==(const Message&) const = default;
};

/// One kernel call: the domain's box of labels, operands by buffer.
struct KernelCall {
  Box domain;                 ///< lo and hi per label of L
  std::vector<int> operands;  ///< a buffer that contains the box the call reads, per operand
  int output = -1;            ///< a buffer that contains the box the call writes
  bool accumulate = false;    ///< combine with what an earlier call left in the output
  bool finish = false;        ///< write final elements, not accumulators
  constexpr bool operator==(const KernelCall&) const = default;
};

/// Accumulators that become final elements of a stored block: combined in the order of `parts`,
/// which is that of the kernel calls' keys, then finished.
struct BlockAggregation {
  Region target;              ///< in a buffer of final elements
  std::vector<Region> parts;  ///< of buffers of accumulators; the same box each
  constexpr bool operator==(const BlockAggregation&) const = default;
};

/// One statement on one rank, or one block of it (StepGroup), in this order.
///
/// Messages are posted in the order of their lists, one for each peer and tensor: sends to the next
/// rank first, then to the one after that, and so round to the previous rank; receives from the
/// previous rank first, and so round to the next; those of one peer by tensor. So the messages
/// between two ranks come in one order on both, and ranks that send alike each send to another one.
/// All of a step's messages have places of their own. Copies run one after another, after the
/// receives: they may read what the step received or copied before.
struct Step {
  VertexId statement = -1;                     ///< the statement that it computes, or a block of
  std::vector<Message> receives;               ///< operands from other ranks
  std::vector<Message> sends;                  ///< operands to other ranks
  std::vector<Copy> copies;                    ///< local pieces into assembled operands
  std::vector<KernelCall> calls;               ///< one after another
  std::vector<Message> partial_receives;       ///< accumulators from other ranks
  std::vector<Message> partial_sends;          ///< accumulators to other ranks
  std::vector<BlockAggregation> aggregations;  ///< of the blocks that this rank stores
  constexpr bool operator==(const Step&) const = default;
};

/// Everything one rank holds and does.
struct RankSchedule {
  int rank = 0;                   ///< whose schedule it is
  std::vector<Buffer> buffers;    ///< all that the steps read and write
  std::vector<Step> steps;        ///< of the statements in order, as many on every rank
  std::int64_t arena_bytes = 0;   ///< of all scratch buffers and staging
  std::int64_t result_bytes = 0;  ///< of the stored results
  std::int64_t input_bytes = 0;   ///< of the stored inputs, which the user may hand over

  /// The most bytes of tensors the rank holds at any time.
  [[nodiscard]] std::int64_t peak_bytes() const { return arena_bytes + result_bytes + input_bytes; }
  constexpr bool operator==(const RankSchedule&) const = default;
};

}  // namespace eindecomp
