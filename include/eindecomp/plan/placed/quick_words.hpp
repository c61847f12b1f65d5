// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The words that every rank receives, tensor by tensor, without a walk: for searches that evaluate
/// thousands of placements. A test holds them equal to those of the task graph.
///
/// What a rank receives of a tensor does not depend on the order of the statements. It is the union
/// of the boxes that its workers' calls of all readers need, less the boxes they store; and of a
/// result, the accumulators that it combines in the rounds of a reduction, and those that come to
/// be stored from a group of calls it is not in. So the words of a program are a sum over tensors,
/// and a change of one statement's calls touches its own tensors only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/placed/aligned_words.hpp"
#include "eindecomp/plan/placed/axis_cuts.hpp"
#include "eindecomp/plan/placed/boxed_words.hpp"
#include "eindecomp/plan/placed/tensor_regions.hpp"
#include "eindecomp/plan/words.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"

namespace eindecomp::plan {

[[nodiscard]] inline WordSum sum_of(std::span<const Extent> words) {
  WordSum sum;
  for (Extent w : words) {
    sum.busiest = std::max(sum.busiest, w);
    sum.total = add_words(sum.total, w);
  }
  return sum;
}

/// Counts the words of one tensor after another on one mesh.
class WordCounter {
 public:
  /// \param mesh   of at most max_mesh_axes axes
  /// \param ranks  that share the workers; 0, or more than those: each worker has its own
  explicit WordCounter(const Mesh& mesh, int ranks = 0)
      : m_workers(mesh),
        m_ranks(ranks > 0 ? std::min(ranks, mesh.workers()) : mesh.workers()),
        m_aligned(m_workers),
        m_boxed(m_workers, m_ranks) {}
  WordCounter(const WordCounter&) = delete;
  WordCounter& operator=(const WordCounter&) = delete;

  [[nodiscard]] const Mesh& mesh() const { return m_workers.mesh(); }
  [[nodiscard]] std::size_t workers() const { return m_workers.workers(); }
  /// Whom words are counted for: the ranks that host workers.
  [[nodiscard]] std::size_t receivers() const { return to_index(m_ranks); }
  /// Whether some ranks host several workers.
  [[nodiscard]] bool shared() const { return receivers() < workers(); }
  [[nodiscard]] std::uint32_t all_axes() const {
    return (std::uint32_t{1} << mesh().axes.size()) - 1;
  }

  /// The region of a tensor whose dimensions carry these labels of a statement with these calls.
  [[nodiscard]] CutRegion region(const AxisCuts& calls, std::span<const int> labels) const {
    CutRegion region;
    region.idle = all_axes() & ~calls.used();
    for (std::size_t i = 0; i < calls.size; ++i) {
      for (std::size_t k = 0; k < labels.size(); ++k) {
        if (labels[k] == calls.entry[i]) region.cut(k, calls.axis[i]);
      }
    }
    return region;
  }

  /// What these calls of a statement read of an operand.
  /// \param labels    of the operand, per dimension
  /// \param computed  of the operand; outlives what is counted with the need
  [[nodiscard]] Need need(const AxisCuts& calls, std::span<const int> labels,
                          const ComputedRead& computed) const {
    if (computed.indices.empty()) return {nullptr, region(calls, labels)};
    return {&computed, region(calls, computed.labels)};
  }

  /// The calls that compute parts of one block of a statement's result.
  [[nodiscard]] Extent contributions(const Vertex& statement, const AxisCuts& calls) const {
    Extent n = 1;
    for (int l : statement.aggregated) n *= calls.parts(mesh(), to_index(l));
    return n;
  }

  /// The words that each receiver gets on account of one tensor.
  ///
  /// \param stored       the axes that cut it where it is stored
  /// \param needs        what the calls of its readers take
  /// \param calls        of the statement that computes it; of an input they do not matter
  /// \param masked       what of it these compute: masked_result
  /// \param words [out]  per receiver; sized by the function
  /// \returns whether all receive the same; then only words[0] is written, see spread()
  bool count(const Vertex& tensor, const AxisCuts& stored, std::span<const Need> needs,
             const AxisCuts& calls, const ComputedRead& masked, std::vector<Extent>& words) {
    words.resize(receivers());
    if (receivers() == 1) {
      words[0] = 0;
      return true;
    }
    m_needs.clear();
    if (needs.size() > tuning::max_needs_for_free) {
      m_spent += 10 * static_cast<std::int64_t>(needs.size());
    }
    for (const Need& need : needs) {
      if (std::find(m_needs.begin(), m_needs.end(), need) == m_needs.end()) m_needs.push_back(need);
    }
    TensorRegions regions{tensor.bound, {}, m_needs};
    regions.store.idle = all_axes() & ~stored.used();
    for (std::size_t i = 0; i < stored.size; ++i) {
      regions.store.cut(stored.entry[i], stored.axis[i]);
    }
    CutRegion produced;
    if (!tensor.is_input()) {
      produced = region(calls, tensor.output);
      regions.produced = &produced;
      for (std::size_t i = 0; i < calls.size; ++i) {
        const auto& labels = tensor.aggregated;
        if (std::find(labels.begin(), labels.end(), calls.entry[i]) != labels.end()) {
          regions.aggregated |= std::uint32_t{1} << calls.axis[i];
        }
      }
      if (!masked.conditions.empty() && regions.aggregated != 0) {
        regions.counting = Need{&masked, region(calls, masked.labels)};
      }
    }
    if (shared()) {
      m_spent += 10 + m_boxed.count(regions, words) +
                 2 * static_cast<std::int64_t>(workers() * (needs.size() + 2));
      return false;
    }
    const auto each = static_cast<std::int64_t>(words.size());
    const auto distinct = static_cast<std::int64_t>(m_needs.size() + 2);
    if (!regions.counting && m_aligned.apply(regions)) {
      const bool same = m_aligned.count(regions, words);
      m_spent += 10 * distinct + static_cast<std::int64_t>(m_aligned.terms()) * each / 4;
      return same;
    }
    m_boxed.count(regions, words);
    m_spent += each * distinct * static_cast<std::int64_t>(tensor.bound.size() + 1) / 2;
    return false;
  }

  /// The effort of all counts so far, in units of some tens of nanoseconds: the same on every
  /// machine, so that a search that ends by it finds the same everywhere.
  [[nodiscard]] std::int64_t spent() const { return m_spent; }

  /// Writes down for every receiver what count() wrote for the first.
  static void spread(std::vector<Extent>& words) {
    std::fill(words.begin(), words.end(), words[0]);
  }

 private:
  WorkerCoordinates m_workers;
  int m_ranks;
  AlignedWords m_aligned;
  BoxedWords m_boxed;
  std::vector<Need> m_needs;  ///< kept between uses to spare allocations
  std::int64_t m_spent = 0;
};

/// A piece of an operand of some statement.
struct PieceRead {
  VertexId reader = -1;              ///< the statement
  const Operand* operand = nullptr;  ///< in the graph
  ComputedRead computed;
};

/// What the readers' calls need of a tensor.
/// \param reads  of the tensor; outlives what is counted with the needs
inline void assign_needs(std::span<const PieceRead> reads, const Placement& placement,
                         const WordCounter& counter, std::vector<Need>& needs) {
  needs.clear();
  for (const PieceRead& read : reads) {
    const AxisCuts calls = cuts_of(placement.calls[to_index(read.reader)]);
    needs.push_back(counter.need(calls, read.operand->labels, read.computed));
  }
}

/// Counts the words of placements of one graph, one after another: of a tensor that is stored,
/// computed and read as in the placement before, they are those of before.
class ProgramWords {
 public:
  /// The graph must outlive it. \param ranks  that share the workers
  ProgramWords(const EinGraph& graph, int ranks)
      : m_graph(graph), m_ranks(ranks), m_tensors(graph.vertices.size()) {
    const graph::Masks masks(graph);
    for (VertexId v = 0; v < graph.size(); ++v) {
      m_tensors[to_index(v)].masked = masked_result(graph[v], masks.of(v));
      for (const Operand& o : graph[v].operands) {
        for (int piece = 0; piece < graph::piece_count(o); ++piece) {
          m_tensors[to_index(o.vertex)].reads.push_back(
              {v, &o, computed_read(graph[v], o, piece, masks.of(v))});
        }
      }
    }
  }

  /// The words that each rank receives. \param placement  see quick_words()
  [[nodiscard]] const std::vector<Extent>& count(const Placement& placement) {
    if (!m_counter || placement.mesh != m_counter->mesh()) {
      m_counter.emplace(placement.mesh, m_ranks);
      for (Tensor& t : m_tensors) t.words.clear();
      m_received.assign(to_index(m_ranks), 0);
    }
    for (VertexId v = 0; v < m_graph.size(); ++v) {
      Tensor& tensor = m_tensors[to_index(v)];
      if (!tensor.words.empty() && same(tensor, placement, v)) continue;
      for (std::size_t r = 0; r < tensor.words.size(); ++r) m_received[r] -= tensor.words[r];
      count(tensor, placement, v);
      for (std::size_t r = 0; r < tensor.words.size(); ++r) m_received[r] += tensor.words[r];
    }
    return m_received;
  }

  /// Who reads a tensor.
  [[nodiscard]] std::span<const PieceRead> reads(VertexId v) const {
    return m_tensors[to_index(v)].reads;
  }

  /// What of a tensor its masked calls compute: masked_result.
  [[nodiscard]] const ComputedRead& masked(VertexId v) const {
    return m_tensors[to_index(v)].masked;
  }

  /// What the last count has on account of one tensor, by rank that has workers.
  [[nodiscard]] const std::vector<Extent>& of(VertexId v) const {
    return m_tensors[to_index(v)].words;
  }

 private:
  struct Tensor {
    std::vector<PieceRead> reads;
    ComputedRead masked;                  ///< of a result: masked_result
    AxisLists stored, calls;              ///< of what was counted
    std::vector<AxisLists> reader_calls;  ///< likewise, per read
    std::vector<Extent> words;
  };

  [[nodiscard]] static bool same(const Tensor& tensor, const Placement& placement, VertexId v) {
    if (tensor.stored != placement.stored[to_index(v)]) return false;
    if (tensor.calls != placement.calls[to_index(v)]) return false;
    for (std::size_t i = 0; i < tensor.reads.size(); ++i) {
      if (tensor.reader_calls[i] != placement.calls[to_index(tensor.reads[i].reader)]) return false;
    }
    return true;
  }

  void count(Tensor& tensor, const Placement& placement, VertexId v) {
    assign_needs(tensor.reads, placement, *m_counter, m_needs);
    tensor.stored = placement.stored[to_index(v)];
    tensor.calls = placement.calls[to_index(v)];
    tensor.reader_calls.clear();
    for (const PieceRead& read : tensor.reads) {
      tensor.reader_calls.push_back(placement.calls[to_index(read.reader)]);
    }
    if (m_counter->count(m_graph[v], cuts_of(tensor.stored), m_needs, cuts_of(tensor.calls),
                         tensor.masked, tensor.words)) {
      WordCounter::spread(tensor.words);
    }
  }

  const EinGraph& m_graph;
  int m_ranks;
  std::vector<Tensor> m_tensors;
  std::optional<WordCounter> m_counter;
  std::vector<Extent> m_received;  ///< on account of all tensors
  std::vector<Need> m_needs;       ///< of the tensor that is counted
};

/// The words that each rank of a placed program receives: those of
/// make_task_graph(graph, placement, ranks).received, in a small part of its time.
/// \param placement  suits the graph; its mesh has at most max_mesh_axes axes
[[nodiscard]] inline std::vector<Extent> quick_words(const EinGraph& graph,
                                                     const Placement& placement, int ranks) {
  return ProgramWords(graph, ranks).count(placement);
}

}  // namespace eindecomp::plan
