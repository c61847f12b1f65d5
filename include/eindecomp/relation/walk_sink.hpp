// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Who is told of a walk through a placed program.
#pragma once

#include <cstddef>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/block_map.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/tensor_relation.hpp"

namespace eindecomp::relation {

/// A kernel call as the walk tells it. Buffers are the sink's own numbers.
struct WalkedCall {
  std::size_t index = 0;  ///< in the join that the sink was given
  int worker = 0;
  int rank = 0;
  std::vector<int> operands;
  int output = -1;
  bool accumulate = false;
  bool finish = false;
};

/// Is told of all that is stored, moved, computed and aggregated, in one order. Numbers of buffers
/// mean something to the sink only; -1 where it does not care. A class with virtual functions, so
/// that the walk is compiled once for all sinks.
class WalkSink {
 public:
  WalkSink() = default;
  WalkSink(const WalkSink&) = delete;
  WalkSink& operator=(const WalkSink&) = delete;

  /// Whether it wants to hear of every rank.
  [[nodiscard]] virtual bool wants_all() const = 0;
  [[nodiscard]] virtual bool wants(int rank) const = 0;
  /// Whether it wants to hear that a call reads what its rank received before.
  [[nodiscard]] virtual bool wants_rereads() const { return false; }

  /// A block stored for good. \returns its buffer
  virtual int stored(VertexId tensor, const Box& box, int worker, int rank) = 0;
  /// \param joined  of the calls of its ranks
  virtual void begin(VertexId statement, const BlockMap& calls,
                     const std::vector<JoinedBlocks>& joined) = 0;
  /// \returns a buffer for a box that a call needs
  virtual int assembled(VertexId tensor, const Box& box, int rank) = 0;
  /// \returns a buffer that the statement at hand alone reads
  virtual int arranged(VertexId tensor, const Box& indices, int rank) = 0;
  /// Of what was just assembled, what is outside the tensor.
  virtual void filled(int rank, int buffer, const Box& box, OutsideValue value) = 0;
  /// \returns a buffer of a label's values, for calls of the statement
  virtual int counted(VertexId statement, const Box& values, int rank) = 0;
  /// To what was just assembled, after the messages.
  virtual void spread(int rank, Spread&& spread) = 0;
  /// Before the messages of that round.
  virtual void copied(int rank, int from, int to, const Box& box, int round) = 0;
  virtual void moved(VertexId tensor, int from_rank, int from, int to_rank, int to, const Box& box,
                     int round) = 0;
  /// \returns a buffer for accumulators
  virtual int partial(VertexId statement, const Box& box, int rank) = 0;
  /// A call of one of its ranks.
  virtual void called(VertexId statement, const WalkedCall& call) = 0;
  virtual void moved_partial(VertexId statement, int from_rank, int from, int to_rank, int to,
                             const Box& box, int round) = 0;
  /// After the messages of that round. \param target  a stored buffer, or the first part itself
  virtual void aggregated(int rank, int target, const Box& box, const std::vector<int>& parts,
                          int round) = 0;
  virtual void reread(VertexId /*statement*/) {}
  virtual void end(VertexId statement) = 0;

 protected:
  ~WalkSink() = default;
};

}  // namespace eindecomp::relation
