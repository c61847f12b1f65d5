// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// SoyBean's tilings: one cut of a program into two halves, or into any number of groups, and what
/// it costs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"

namespace eindecomp {

/// A tensor that every group holds whole, SoyBean's r.
inline constexpr int replicated = -1;
/// A statement that a cut does not divide, because it divides none of its labels evenly.
inline constexpr int undivided = -1;

/// One cut of a program among groups of workers, SoyBean's among two.
struct Cut {
  int parts = 2;             ///< the groups
  std::vector<int> tilings;  ///< per tensor: the dimension that is cut, or `replicated`
  /// Per statement: the position in L of the label that is cut, or `undivided`, as of inputs.
  std::vector<int> labels;
  Extent words = 0;  ///< δ: words converted, over all groups
};

/// What a worker is left with after some cuts: the extents of its tiles and of its kernel calls.
struct Tiles {
  std::vector<std::vector<Extent>> tensors;  ///< per vertex, per dimension
  std::vector<std::vector<Extent>> calls;    ///< per vertex, per label of L; empty for inputs
  constexpr bool operator==(const Tiles&) const = default;
};

/// The tiles before any cut.
[[nodiscard]] constexpr Tiles whole_tiles(const EinGraph& graph) {
  Tiles tiles;
  for (const Vertex& v : graph.vertices) {
    tiles.tensors.push_back(v.bound);
    tiles.calls.push_back(v.extents);
  }
  return tiles;
}

/// The tiles after one more cut, which only divides extents into parts of one size.
[[nodiscard]] constexpr Tiles cut_tiles(Tiles tiles, const Cut& cut) {
  for (std::size_t v = 0; v < tiles.tensors.size(); ++v) {
    if (cut.tilings[v] != replicated) {
      tiles.tensors[v][to_index(cut.tilings[v])] /= cut.parts;
    }
    if (cut.labels[v] != undivided) {
      tiles.calls[v][to_index(cut.labels[v])] /= cut.parts;
    }
  }
  return tiles;
}

/// A result that takes the place of an input, as a weight's next value does: both have one tiling.
struct InPlace {
  VertexId input = -1;   ///< the tensor that is replaced
  VertexId result = -1;  ///< what replaces it in the next run
};

namespace plan {

/// Words, over all groups, to bring a tensor of n words from one tiling to another. A group has one
/// part of the tensor. It needs all other parts, or its part along another dimension, of which it
/// already has one share.
[[nodiscard]] constexpr Extent conversion(Extent n, int from, int to, int parts) {
  if (from == to || from == replicated) return 0;
  return to == replicated ? multiply_words(n, parts - 1) : n - n / parts;
}

/// Words, over all groups, to add up their partial results of a tensor of n words into a tiling.
[[nodiscard]] constexpr Extent reduction(Extent n, int to, int parts) {
  return multiply_words(n, to == replicated ? 2 * (parts - 1) : parts - 1);
}

/// The choices that a program allows for one cut, and their costs.
class CutRules {
 public:
  constexpr CutRules(const EinGraph& graph, const Tiles& tiles, int parts)
      : m_graph(&graph), m_tiles(&tiles), m_parts(parts) {
    // A dimension is not tiled if a statement has a label on it that is kept whole.
    for (const Vertex& v : graph.vertices) {
      m_tiled.emplace_back(v.bound.size(), true);
      m_words.push_back(
          block_words(tiles.tensors[m_words.size()], std::vector<Extent>(v.bound.size(), 1)));
    }
    for (VertexId v = 0; v < graph.size(); ++v) {
      const Vertex& vertex = graph[v];
      for (const Operand& operand : vertex.operands) {
        forbid(vertex, operand.vertex, operand.labels);
        for (std::size_t k = 0; k < operand.indices.size(); ++k) {
          if (!graph::is_label(operand.indices[k])) m_tiled[to_index(operand.vertex)][k] = false;
        }
      }
      if (!vertex.is_input()) forbid(vertex, v, vertex.output);
    }
  }

  /// The tilings of a tensor: every dimension that may be cut into parts of one size, and
  /// `replicated`.
  [[nodiscard]] constexpr std::vector<int> tilings(VertexId v) const {
    const auto at = to_index(v);
    std::vector<int> found;
    for (std::size_t k = 0; k < m_tiled[at].size(); ++k) {
      if (m_tiled[at][k] && m_tiles->tensors[at][k] % m_parts == 0) {
        found.push_back(static_cast<int>(k));
      }
    }
    found.push_back(replicated);
    return found;
  }

  /// The positions of the labels that may be cut: a statement's aligned forms.
  [[nodiscard]] constexpr std::vector<int> forms(VertexId v) const {
    const Vertex& vertex = (*m_graph)[v];
    std::vector<int> found;
    for (std::size_t l = 0; l < vertex.labels.size(); ++l) {
      if (is_whole(vertex, static_cast<int>(l))) continue;
      if (m_tiles->calls[to_index(v)][l] % m_parts == 0) {
        found.push_back(static_cast<int>(l));
      }
    }
    return found;
  }

  /// Words to bring the operands into an aligned form, and the output out of it. Operands that have
  /// the label are tiled along it, others are replicated. The output is tiled along the label too,
  /// or reduced if the label is aggregated. \param tilings  of all tensors
  [[nodiscard]] constexpr Extent words(VertexId v, int label, std::span<const int> tilings) const {
    const Vertex& vertex = (*m_graph)[v];
    Extent sum = 0;
    for (const Operand& operand : vertex.operands) {
      const auto u = to_index(operand.vertex);
      sum = add_words(sum, to_form(m_words[u], tilings[u], label, operand.labels));
    }
    const auto at = to_index(v);
    const auto kept = std::ranges::find(vertex.output, label);
    if (kept != vertex.output.end()) {
      const int dimension = static_cast<int>(kept - vertex.output.begin());
      return add_words(sum, conversion(m_words[at], dimension, tilings[at], m_parts));
    }
    return add_words(sum, reduction(m_words[at], tilings[at], m_parts));
  }

  /// The cheapest aligned form of a statement under some tilings; of several that of the longest
  /// label, which leaves later cuts the most choice. A statement that cannot be divided is computed
  /// by all groups.
  struct Form {
    int label = undivided;
    Extent words = 0;
  };
  [[nodiscard]] constexpr Form form(VertexId v, std::span<const int> tilings,
                                    std::span<const int> forms) const {
    Form best;
    if (forms.empty()) {
      for (const Operand& operand : (*m_graph)[v].operands) {
        const auto u = to_index(operand.vertex);
        best.words = add_words(best.words, conversion(m_words[u], tilings[u], replicated, m_parts));
      }
      return best;
    }
    const std::vector<Extent>& extents = m_tiles->calls[to_index(v)];
    for (int label : forms) {
      const Extent cost = words(v, label, tilings);
      if (best.label == undivided || cost < best.words ||
          (cost == best.words && extents[to_index(label)] > extents[to_index(best.label)])) {
        best = {label, cost};
      }
    }
    return best;
  }

  /// The cut with these tilings, every statement in its cheapest form.
  [[nodiscard]] constexpr Cut cut(std::vector<int> tilings) const {
    Cut made{m_parts, std::move(tilings), std::vector<int>(m_tiled.size(), undivided), 0};
    for (VertexId v : statements_of(*m_graph)) {
      const Form chosen = form(v, made.tilings, forms(v));
      made.labels[to_index(v)] = chosen.label;
      made.words = add_words(made.words, chosen.words);
    }
    return made;
  }

 private:
  /// Whether a label of a statement is not cut: its user says so, or an index is computed from it
  /// (SoyBean's rule for images).
  [[nodiscard]] constexpr bool is_whole(const Vertex& v, int position) const {
    if (m_graph->labels[to_index(v.labels[to_index(position)])].uncut) return true;
    return std::ranges::any_of(v.operands, [&](const Operand& operand) {
      return std::ranges::any_of(operand.indices, [&](const OperandIndex& index) {
        return !graph::is_label(index) &&
               std::ranges::find(index.terms, position, &OperandIndex::Term::label) !=
                   index.terms.end();
      });
    });
  }
  constexpr void forbid(const Vertex& reader, VertexId tensor, const std::vector<int>& positions) {
    for (std::size_t k = 0; k < positions.size(); ++k) {
      if (is_whole(reader, positions[k])) m_tiled[to_index(tensor)][k] = false;
    }
  }
  /// A diagonal may be tiled along either dimension.
  [[nodiscard]] constexpr Extent to_form(Extent n, int tiling, int label,
                                         std::span<const int> positions) const {
    bool has = false;
    bool tiled = false;
    for (std::size_t k = 0; k < positions.size(); ++k) {
      has = has || positions[k] == label;
      tiled = tiled || (positions[k] == label && tiling == static_cast<int>(k));
    }
    if (!has) return conversion(n, tiling, replicated, m_parts);
    return tiled || tiling == replicated ? 0 : n - n / m_parts;
  }

  const EinGraph* m_graph;
  const Tiles* m_tiles;
  int m_parts;
  std::vector<Flags> m_tiled;
  std::vector<Extent> m_words;  // of a tile
};

}  // namespace plan
}  // namespace eindecomp
