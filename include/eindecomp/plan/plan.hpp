// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The plan: a program, how it is cut, where its blocks lie, and what that costs.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/hash.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/tensor_symbol.hpp"
#include "eindecomp/plan/carried_result.hpp"
#include "eindecomp/plan/hash.hpp"
#include "eindecomp/plan/partitions.hpp"
#include "eindecomp/plan/words.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/redistribution.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "eindecomp/relation/write_program.hpp"

namespace eindecomp {
/// A program decomposed for p workers that R ranks share. A plain value, made by decompose(),
/// executed as often as one likes; every rank makes or holds the same one.
///
/// Tensors are named by vertex, by symbol or by name.
struct Plan {
  EinGraph graph;           ///< a copy of the program's
  Text strategy;            ///< the name of the strategy that chose the partition vectors
  int workers = 1;          ///< p, as asked for; placed may use fewer, see workers_in_use()
  int ranks = 1;            ///< R; worker w of p' in use lives on rank w·R/p', or w if R > p'
  Partitions partitions;    ///< per vertex; empty for inputs
  std::vector<Cost> costs;  ///< per vertex, in the paper's words; zero for inputs
  Cost cost;                ///< their sum
  /// How far the cost may be above the least there is, in words; absent if nothing is proven.
  std::optional<Extent> gap;
  Placement placement;                ///< empty in a constant expression
  std::vector<StepGroup> steps = {};  ///< the statements that run block by block, in order
  /// The results that the next run takes for inputs, as they were asked for.
  std::vector<CarriedResult> carry = {};
  /// Of a plan by k_cut: δ, the words converted, of every cut, the first cut first.
  std::vector<Extent> cuts = {};
  /// Of a plan by placed that goes by words: how many more the busiest rank receives, and all
  /// together, than in the placement of fewest words that was found, which exceeds the limit of
  /// memory. For reports: not in the hash, and 0 in a plan that was read or shared.
  plan::WordSum words_for_memory = {};

  /// Whether the cost is proven to be the least there is.
  [[nodiscard]] constexpr bool optimal() const { return gap == Extent{0}; }

  /// p': the workers that compute and store, p but for a plan by placed that leaves some idle.
  [[nodiscard]] constexpr int workers_in_use() const {
    return placement.stored.empty() ? workers : placement.mesh.workers();
  }

  /// The vertex of a tensor of this plan.
  /// \throws Error if it is not one of this plan's graph.
  [[nodiscard]] constexpr VertexId vertex(
      VertexId v, const std::source_location& where = std::source_location::current()) const {
    if (v < 0 || v >= graph.size()) {
      core::fail(ErrorKind::plan, where, "the plan has no tensor number ", v, " (its graph has ",
                 graph.size(), "); use a symbol of the planned program");
    }
    return v;
  }
  /// The same of a tensor's name.
  [[nodiscard]] constexpr VertexId vertex(
      std::string_view name,
      const std::source_location& where = std::source_location::current()) const {
    const VertexId v = graph.find(name);
    if (v < 0) {
      const Text names =
          core::joined(graph.vertices, ", ", [](const Vertex& known) { return known.name; });
      core::fail(ErrorKind::plan, where, "the plan has no tensor '", name, "' (its tensors are ",
                 names, "); name one of them");
    }
    return v;
  }
  /// The same of a symbol, which must be of the planned program.
  template <TensorSymbol Symbol>
  [[nodiscard]] constexpr VertexId vertex(
      const Symbol& symbol,
      const std::source_location& where = std::source_location::current()) const {
    const VertexId v = symbol.vertex();
    if (!graph.has(v, symbol.program_id())) {
      core::fail(ErrorKind::plan, where, graph::foreign_symbol_text(graph::name_of(symbol), v));
    }
    return v;
  }

  /// The partition vector of a statement, in the order of Vertex::labels. \throws Error as
  /// vertex().
  template <class Tensor>
  [[nodiscard]] constexpr const PartitionVector& partition(
      const Tensor& tensor,
      const std::source_location& where = std::source_location::current()) const {
    return partitions[to_index(vertex(tensor, where))];
  }

  /// The parts that a statement cuts a label into. \throws Error as vertex(), or if the statement
  /// has no such label.
  template <class Tensor>
  [[nodiscard]] constexpr Extent parts(
      const Tensor& tensor, std::string_view label,
      const std::source_location& where = std::source_location::current()) const {
    const Vertex& v = graph[vertex(tensor, where)];
    const int position = plan::label_position(graph, v, label);
    if (position >= 0) return partition(tensor, where)[to_index(position)];
    core::fail(ErrorKind::plan, where, "tensor '", v.name, "' has no label '", label,
               "' (only a statement's own labels are cut); name one of its labels");
  }

  /// What a statement costs, its operands' repartition included. \throws Error as vertex().
  template <class Tensor>
  [[nodiscard]] constexpr const Cost& cost_of(
      const Tensor& tensor,
      const std::source_location& where = std::source_location::current()) const {
    return costs[to_index(vertex(tensor, where))];
  }

  /// The boxes of a tensor that are stored on a rank, one per worker of the rank that stores one,
  /// in the order of the workers: what bind() takes for an input and what local() gives of a
  /// result. \throws Error as vertex(), or if there is no such rank.
  template <class Tensor>
  [[nodiscard]] std::vector<Box> local(
      const Tensor& tensor, int rank,
      const std::source_location& where = std::source_location::current()) const {
    return stored_boxes(vertex(tensor, where), rank, where);
  }

  /// Where a tensor is stored, on all ranks: local() as a distribution, for redistribute() and for
  /// the layouts of other plans. \throws Error as vertex().
  template <class Tensor>
  [[nodiscard]] Distribution distribution(
      const Tensor& tensor,
      const std::source_location& where = std::source_location::current()) const {
    return stored_distribution(vertex(tensor, where));
  }

  /// The words that each rank receives, before the plan's first instruction, to bring an input from
  /// the distribution that it is bound in to that of the plan: exactly those that the run counts.
  /// They are not among the plan's words. O(n log n) for n arrays of the distribution.
  /// \throws Error as vertex(), or if the distribution is of another tensor or number of ranks.
  template <class Tensor>
  [[nodiscard]] std::vector<Extent> input_words(
      const Tensor& tensor, const Distribution& bound_in,
      const std::source_location& where = std::source_location::current()) const {
    return redistributed_words(bound_in, distribution(tensor, where), where);
  }

  /// The words that each rank receives when run.redistribute() brings a result from the plan's
  /// distribution to another one. \throws Error as input_words().
  template <class Tensor>
  [[nodiscard]] std::vector<Extent> result_words(
      const Tensor& tensor, const Distribution& wanted,
      const std::source_location& where = std::source_location::current()) const {
    return redistributed_words(distribution(tensor, where), wanted, where);
  }

  /// The words that each rank receives between two runs when results are carried over: none of
  /// those that are stored as the inputs they become.
  [[nodiscard]] std::vector<Extent> carried_words() const;

  /// The words that each rank receives in every run of an executor but the first where these inputs
  /// are bound constant(): what is gathered of them is kept. Exactly those that the runs count.
  /// Walks the whole program. \throws Error as vertex(), or if one of them is not an input.
  [[nodiscard]] std::vector<Extent> repeated_words(
      const std::vector<Text>& constants,
      const std::source_location& where = std::source_location::current()) const;

  /// What a rank does to run the plan, instruction by instruction: `std::cout << plan.program(0)`.
  /// As compile() gives it.
  [[nodiscard]] RankProgram program(
      int rank, const SpaceFacts& space = {},
      const std::source_location& where = std::source_location::current()) const;

  /// Every kernel call and every transfer of a run, with the words that it moves: exactly those
  /// that the run will count. Walks the whole program at every call.
  [[nodiscard]] TaskGraph tasks() const;

  /// The bytes of tensors that each rank holds at most: stored inputs and results, received blocks,
  /// partial results, messages, threads' tiles, and what is kept of constants. A run by so many
  /// threads allocates no more for tensors, on a device by none: `peak_bytes({.threads = 0})`, for
  /// it copies what a stencil reads. Exactly what compile() says of every rank, from one of
  /// all statements and one of all ranks that do alike: a LLaMA of 32 layers on 1,024 ranks takes
  /// seconds.
  /// \throws Error if the placement or the steps, made elsewhere, do not suit the graph.
  [[nodiscard]] std::vector<std::int64_t> peak_bytes(
      const SpaceFacts& space = {},
      const std::source_location& where = std::source_location::current()) const;

  /// A number that is equal for equal plans, and in all likelihood for no others: graph, partition
  /// vectors, placement, steps and ranks. The same in every process, so that ranks can compare
  /// plans.
  [[nodiscard]] constexpr std::uint64_t hash() const {
    core::Hasher hasher;
    plan::add_to_hash(hasher, graph);
    hasher.add(static_cast<std::uint64_t>(workers));
    hasher.add(static_cast<std::uint64_t>(ranks));
    for (const PartitionVector& d : partitions) hasher.add(d);
    plan::add_to_hash(hasher, placement);
    plan::add_to_hash(hasher, steps);
    for (const CarriedResult& pair : carry) {
      hasher.add(static_cast<std::uint64_t>(pair.next));
      hasher.add(static_cast<std::uint64_t>(pair.input));
    }
    return hasher.value();
  }

  /// \throws Error if there is no such rank.
  constexpr void check_rank(int rank, const std::source_location& where) const {
    if (rank >= 0 && rank < ranks) return;
    core::fail(ErrorKind::plan,
               "the plan has no rank " + core::to_text(rank) + " (it is for " +
                   core::to_text(ranks) + " ranks); give 0 <= rank < " + core::to_text(ranks),
               where);
  }

 private:
  [[nodiscard]] std::vector<Box> stored_boxes(VertexId v, int rank,
                                              const std::source_location& where) const;
  [[nodiscard]] Distribution stored_distribution(VertexId v) const;
};

/// Lowers a plan, once: what a rank does to run it on a space, instruction by instruction, every
/// buffer with its place. Plan::program() and Executor have it from here. Walks the whole program;
/// not collective: the sends and receives of all ranks match in number, order and regions.
///
/// \param plan   placed, as decompose() gives it at run time.
/// \param rank   whose program.
/// \param space  what it is to know of where it runs; may differ from rank to rank.
/// \returns the program: plain data that prints, has a hash, and can be run again and again.
/// \throws Error if there is no such rank.
[[nodiscard]] RankProgram compile(
    const Plan& plan, int rank, const SpaceFacts& space = {},
    const std::source_location& where = std::source_location::current());

/// A plan that can be executed: with the launchers of its program's backend, one per vertex.
template <class Backend>
struct BasicPlan : Plan {
  std::vector<typename Backend::Launcher> launchers;  ///< per vertex; inputs have none
};

}  // namespace eindecomp

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/plan/plan_members.hpp"
#endif
