// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What an executor and the runs it made share: the graph, this rank's program, the communicator
/// beside the plan's.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/carried_result.hpp"
#include "eindecomp/relation/block_map.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/stored_distribution.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/run/block_memory.hpp"

namespace eindecomp::run {

/// A block that some rank stores.
struct RankBlock {
  int rank = 0;
  Box box;
};

/// By which ranks that read different runs of one executor are told from each other.
[[nodiscard]] inline comm::Fingerprint same_run(std::uint64_t number) {
  return {"runs", "read the same run on every rank", number, [number] {
            return std::vector<std::string>{"run " + std::to_string(number) + " of the executor"};
          }};
}

template <comm::Communicator Group>
struct Session {
  EinGraph graph;
  Placement placement;
  std::vector<CarriedResult> carry;
  RankProgram program;
  Group control;  ///< agreements, scattered inputs, gathered results: not the plan's words

  Session(EinGraph g, Placement p, std::vector<CarriedResult> pairs, Group&& c)
      : graph(std::move(g)),
        placement(std::move(p)),
        carry(std::move(pairs)),
        control(std::move(c)) {}

  /// Every rank's stored blocks of a tensor, in the order of the workers: on each rank, that of
  /// Plan::local.
  [[nodiscard]] std::vector<RankBlock> stored_everywhere(VertexId v) const {
    const BlockMap blocks(placement.mesh, graph[v].bound, placement.stored[to_index(v)]);
    const int workers = placement.mesh.workers();
    std::vector<RankBlock> stored;
    for (int worker = 0; worker < workers; ++worker) {
      const Extent block = blocks.block(worker);
      if (block < 0) continue;
      stored.push_back({rank_of(worker, workers, control.size()), blocks.relation().block(block)});
    }
    return stored;
  }

  /// Where a tensor's stored blocks lie, by rank.
  [[nodiscard]] Distribution distribution(VertexId v) const {
    return relation::stored_distribution(placement.mesh, graph[v].bound,
                                         placement.stored[to_index(v)], control.size());
  }

  /// Takes this rank's program.
  void set_program(RankProgram p) {
    program = std::move(p);
    m_stored.assign(graph.vertices.size(), {});
    m_result_buffers.clear();
    m_result_numbers.assign(program.buffers.size(), 0);
    for (VertexId v = 0; v < graph.size(); ++v) {
      if (!graph[v].is_input() && !graph[v].is_result()) continue;
      for (const RankBlock& block : stored_everywhere(v)) {
        if (block.rank != control.rank()) continue;
        const int b = stored_buffer(v, block.box);
        m_stored[to_index(v)].push_back(b);
        if (graph[v].is_input()) continue;
        m_result_numbers[to_index(b)] = m_result_buffers.size();
        m_result_buffers.push_back(b);
      }
    }
  }

  /// The buffers of an input's or a result's stored blocks on this rank, in the order of
  /// Plan::local.
  [[nodiscard]] const std::vector<int>& stored_buffers(VertexId v) const {
    return m_stored[to_index(v)];
  }

  /// The buffers of all results' stored blocks on this rank. Their order is that of results and
  /// blocks, the same for every program of the plan: what is constant changes buffers' numbers.
  [[nodiscard]] const std::vector<int>& result_buffers() const { return m_result_buffers; }
  /// Where among them a buffer is.
  [[nodiscard]] std::size_t result_number(int buffer) const {
    return m_result_numbers[to_index(buffer)];
  }

  /// The tensor that a symbol or a name refers to.
  /// \throws Error if the symbol is another graph's, or no tensor has the name.
  [[nodiscard]] VertexId vertex_of(const TensorReference& tensor,
                                   const std::source_location& where) const {
    if (tensor.vertex < 0) {
      const VertexId found = graph.find(tensor.name);
      if (found >= 0) return found;
      std::string names;
      for (const Vertex& v : graph.vertices) names += (names.empty() ? "" : ", ") + v.name.str();
      throw Error(ErrorKind::binding,
                  "the program has no tensor '" + tensor.name + "' (its tensors are " + names +
                      "); name one of them",
                  where);
    }
    if (!graph.has(tensor.vertex, tensor.program_id)) {
      core::fail(ErrorKind::binding, graph::foreign_symbol_text(tensor.name, tensor.vertex), where);
    }
    return tensor.vertex;
  }

 private:
  [[nodiscard]] int stored_buffer(VertexId v, const Box& box) const {
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer& buffer = program.buffers[b];
      if (buffer.tensor == v && buffer.box == box &&
          (buffer.role == Buffer::Role::input || buffer.role == Buffer::Role::result)) {
        return static_cast<int>(b);
      }
    }
    throw Error(
        ErrorKind::binding,
        "the program of rank " + std::to_string(control.rank()) + " stores no block of tensor " +
            graph[v].name.str() + " at (" + index_text(box.lo) +
            ") where its placement does (an error of this library); please report the program");
  }

  std::vector<std::vector<int>> m_stored;     ///< by vertex
  std::vector<int> m_result_buffers;          ///< of all results, by vertex and block
  std::vector<std::size_t> m_result_numbers;  ///< by buffer
};

}  // namespace eindecomp::run
