// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The words of single tensors in one layout after another: for searches that try where to store a
/// tensor while the calls stay as they are.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/placed/axis_cuts.hpp"
#include "eindecomp/plan/placed/quick_words.hpp"
#include "eindecomp/plan/placed/tensor_regions.hpp"
#include "eindecomp/relation/layout.hpp"

namespace eindecomp::plan {

/// The words of the statements on account of single tensors, wherever these are stored. While a
/// tensor is computed and read by the same calls, the words of a layout are counted once.
class WordsByLayout {
 public:
  /// \param program  counts the words of a graph's placements; both outlive it.
  WordsByLayout(const EinGraph& graph, const ProgramWords& program, int ranks)
      : m_graph(graph), m_program(program), m_ranks(ranks), m_tensors(graph.vertices.size()) {}

  /// Speaks of a tensor under a placement's calls from now on.
  void set_calls(const Placement& placement, VertexId v) {
    if (!m_counter || placement.mesh != m_counter->mesh()) {
      m_counter.emplace(placement.mesh, m_ranks);
      for (Tensor& tensor : m_tensors) tensor.layouts.clear();
    }
    Tensor& tensor = m_tensors[to_index(v)];
    const AxisCuts calls = cuts_of(placement.calls[to_index(v)]);
    assign_needs(m_program.reads(v), placement, *m_counter, m_needs);
    if (calls == tensor.calls && m_needs == tensor.needs) return;
    tensor.calls = calls;
    tensor.needs = m_needs;
    tensor.layouts.clear();
  }

  /// By rank that has workers, cut by these axes where it is stored.
  [[nodiscard]] const std::vector<Extent>& of(VertexId v, const AxisLists& stored) {
    Tensor& tensor = m_tensors[to_index(v)];
    const auto known = std::find_if(tensor.layouts.begin(), tensor.layouts.end(),
                                    [&](const Layout& layout) { return layout.stored == stored; });
    if (known != tensor.layouts.end()) return known->words;
    Layout& layout = tensor.layouts.emplace_back();
    layout.stored = stored;
    if (m_counter->count(m_graph[v], cuts_of(stored), tensor.needs, tensor.calls,
                         m_program.masked(v), layout.words)) {
      WordCounter::spread(layout.words);
    }
    return layout.words;
  }

 private:
  struct Layout {
    AxisLists stored;
    std::vector<Extent> words;
  };
  struct Tensor {
    AxisCuts calls;
    std::vector<Need> needs;
    std::vector<Layout> layouts;
  };

  const EinGraph& m_graph;
  const ProgramWords& m_program;
  int m_ranks;
  std::vector<Tensor> m_tensors;
  std::optional<WordCounter> m_counter;
  std::vector<Need> m_needs;  ///< kept between uses to spare allocations
};

}  // namespace eindecomp::plan
