// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What all ranks do for a few statements: a part of a ProgramProfile.
#pragma once

#include <cstdint>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/instruction_work.hpp"

namespace eindecomp::relation {

/// What all ranks do for a unit (Unit), and for every other unit of the same key. Statements and
/// tensors are numbered within the unit.
struct UnitProfile {
  /// Memory of an arena that instructions of the unit use.
  struct Life {
    int tensor = 0;
    /// Which of the rank's buffers of the tensor it is, if statements before or after may use it,
    /// too; -1 of one that only the unit uses.
    int copy = -1;
    int first = 0;  ///< stage of the unit
    int last = 0;   ///< stage of the unit
    std::int64_t bytes = 0;
    bool kept = false;  ///< of a constant: from the program's first stage to its last
    bool operator==(const Life&) const = default;
  };
  /// Instructions that run together (for_each_stage).
  struct Stage {
    std::int64_t area = 0;  ///< bytes that it takes of the arena for itself
    std::int64_t held = 0;  ///< those of them that are not rounding
    int first_statement = 0;
    int last_statement = 0;
    bool operator==(const Stage&) const = default;
  };
  /// What a rank holds while it does the unit's instructions.
  struct Shape {
    std::vector<Life> lives;
    std::vector<Stage> stages;
    bool operator==(const Shape&) const = default;
  };
  /// What one of the statements moves.
  struct Statement {
    Extent calls = 0;                   ///< kernel calls on all ranks
    int computing = 0;                  ///< ranks that make any
    std::vector<Extent> received;       ///< words, per rank
    std::vector<Extent> operand_words;  ///< received by all ranks, per tensor of the unit
    Extent partial_words = 0;           ///< received by all ranks to be aggregated
    /// Whether a call reads something that its rank has received for an earlier statement.
    bool rereads = false;
  };
  /// A message.
  struct Transit {
    int from = 0;
    int to = 0;
    double bytes = 0;
  };
  /// What ranks compute, one after another, before they exchange messages; none at the end.
  struct Phase {
    std::vector<int> works_of;  ///< per rank, an index
    /// Each after those that its sender sends and its receiver receives before.
    std::vector<Transit> transits;
  };
  std::vector<std::vector<Work>> works;  ///< different lists of a rank's
  std::vector<Phase> phases;             ///< empty unless they are asked for (Profiler)
  std::vector<Shape> shapes;             ///< different ones
  std::vector<int> shape_of;             ///< per rank, an index; -1 where it is not known
  std::vector<Statement> statements;
};

}  // namespace eindecomp::relation
