// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Writes the cotangent of a tensor from that of the tensor with the borders that `periodic`,
/// `clamp` or `reflect` reads around it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <source_location>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/graph/border.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/signature_writer.hpp"

namespace eindecomp::graph {

/// The statements that take one dimension's borders back. Knows no operators.
class BorderReads {
 public:
  BorderReads(const EinGraph& graph, const Cotangent& wide, const Border& border,
              std::source_location where)
      : m_wide(wide), m_border(border), m_where(where) {
    for (std::size_t k = 0; k < wide.dims.size(); ++k) {
      const auto d = static_cast<std::size_t>(wide.dims[k]);
      m_labels.push_back(wide.labels[d]);
      m_bound.push_back(d == border.dimension ? border.bound : graph[wide.vertex].bound[k]);
      if (d == border.dimension) m_axis = k;
    }
    while (std::find(m_labels.begin(), m_labels.end(), m_turn) != m_labels.end()) m_turn += '\'';
  }

  /// Whether what a piece says can be read under the labels of the tensor itself.
  [[nodiscard]] bool is_read_directly(const FoldPiece& piece) const {
    return piece.length == m_border.bound && piece.turns == 1 && piece.step == 1;
  }
  /// A piece, as a tensor of its length.
  [[nodiscard]] StatementSpec piece_of(std::string_view name, const FoldPiece& piece) const {
    StatementSpec spec = begin(name, piece.length);
    IndexSpec index;
    if (piece.step != 0) index.terms.push_back({m_labels[m_axis], piece.step, piece.length});
    if (piece.turns > 1) index.terms.push_back({m_turn, piece.period, piece.turns});
    // A computed index takes one label at least.
    if (index.terms.empty()) index.terms.push_back({m_labels[m_axis], 0, piece.length});
    index.offset = piece.first;
    spec.operands.push_back(read(m_wide.vertex, m_wide.writing, index));
    return spec;
  }
  /// The tensor itself, as the sum of what is read: a tensor of elements `index.offset` from its
  /// own on.
  struct Term {
    VertexId vertex;
    int writing;
    Extent offset;
  };
  [[nodiscard]] StatementSpec sum_of(std::string_view name, const std::vector<Term>& terms) const {
    StatementSpec spec = begin(name, m_border.bound);
    for (const Term& term : terms) {
      const IndexSpec index =
          IndexSpec::of({{m_labels[m_axis], 1, m_border.bound}}, term.offset, 1);
      spec.operands.push_back(read(term.vertex, term.writing, index));
    }
    return spec;
  }

 private:
  [[nodiscard]] StatementSpec begin(std::string_view name, Extent length) const {
    StatementSpec spec;
    spec.name = name;
    spec.where = m_where;
    for (std::size_t k = 0; k < m_labels.size(); ++k) {
      spec.output.push_back({m_labels[k], k == m_axis ? length : m_bound[k]});
    }
    return spec;
  }
  /// A tensor at an index of the dimension and at the labels of all others.
  [[nodiscard]] StatementSpec::OperandSpec read(VertexId vertex, int writing,
                                                const IndexSpec& index) const {
    StatementSpec::OperandSpec operand;
    operand.vertex = vertex;
    operand.writing = writing;
    operand.ignored = OutsideValue::zero;
    for (std::size_t k = 0; k < m_labels.size(); ++k) {
      operand.indices.push_back(k == m_axis ? index
                                            : IndexSpec::of({{m_labels[k], 1, m_bound[k]}}));
      for (const auto& term : operand.indices.back().terms) operand.labels.push_back(term.label);
    }
    return operand;
  }

  Cotangent m_wide;
  Border m_border;
  std::source_location m_where;
  std::size_t m_axis = 0;
  std::vector<Text> m_labels;   // of the dimensions that the cotangent has
  std::vector<Extent> m_bound;  // without borders
  Text m_turn = "turn";
};

/// The cotangent without the borders of one dimension, which it has.
[[nodiscard]] inline Cotangent fold_border(const DerivativeScope& scope, const Border& border,
                                           const Cotangent& wide, std::string_view name,
                                           const ElementWriters& elements) {
  const BorderReads reads(scope.graph, wide, border, scope.where);
  const std::vector<FoldPiece> pieces = fold_pieces(border);
  std::vector<BorderReads::Term> terms;
  for (const FoldPiece& piece : pieces) {
    if (reads.is_read_directly(piece)) {
      terms.push_back({wide.vertex, wide.writing, piece.first});
      continue;
    }
    const bool is_all = pieces.size() == 1 && piece.length == border.bound;
    const Text own =
        is_all ? Text(name) : Text(name) + ".border" + (static_cast<int>(terms.size()) + 1);
    const StatementSpec spec = reads.piece_of(own, piece);
    const Written written =
        piece.turns > 1 ? elements.sum(scope, spec) : elements.copy(scope, spec);
    if (is_all) return {0, written.vertex, written.writing, wide.dims, wide.labels};
    terms.push_back({written.vertex, written.writing, -piece.to});
  }
  Written sum{-1, -1};
  if (terms.size() == 1) sum = elements.copy(scope, reads.sum_of(name, terms));
  for (std::size_t n = 1; n < terms.size(); ++n) {
    const bool is_last = n + 1 == terms.size();
    const BorderReads::Term before =
        n == 1 ? terms[0] : BorderReads::Term{sum.vertex, sum.writing, 0};
    const Text own = is_last ? Text(name) : Text(name) + ".to" + (static_cast<int>(n) + 1);
    sum = elements.add(scope, reads.sum_of(own, {before, terms[n]}));
  }
  return {0, sum.vertex, sum.writing, wide.dims, wide.labels};
}

}  // namespace eindecomp::graph
