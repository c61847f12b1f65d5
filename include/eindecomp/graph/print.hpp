// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Graphs as text, the same for the same graph on every machine.
#pragma once

#include <algorithm>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/operand_index.hpp"

namespace eindecomp {

namespace graph {

[[nodiscard]] constexpr std::string_view label_text(const EinGraph& graph, const Vertex& v,
                                                    int position) {
  const LabelId label = v.labels[static_cast<std::size_t>(position)];
  return graph.labels[static_cast<std::size_t>(label)].name;
}

[[nodiscard]] constexpr Text labels_text(const EinGraph& graph, const Vertex& v,
                                         const std::vector<int>& positions) {
  return core::joined(positions, ",", [&](int position) { return label_text(graph, v, position); });
}

/// An operand under its labels: `X(i,j)`.
[[nodiscard]] constexpr Text operand_text(const EinGraph& graph, const Vertex& v,
                                          const Operand& operand) {
  if (operand.is_computed()) {
    const auto name_of = [&](const OperandIndex::Term& term) {
      return label_text(graph, v, term.label);
    };
    const Vertex& tensor = graph[operand.vertex];
    std::size_t k = 0;
    const auto text_of = [&](const OperandIndex& index) {
      OperandIndex own = index;  // the boundary may be that of others, which are read with it
      own.before = own.after = 0;
      const IndexRange range = index_range(own, v.extents);
      const Extent bound = tensor.bound[k++];
      const bool leaves = range.lo < 0 || range.hi > bound;
      return expr::index_text(expr::index_text(index.terms, index.offset, name_of), index.divisor,
                              leaves ? index.boundary : Boundary::ignored);
    };
    return tensor.name + "(" + core::joined(operand.indices, ",", text_of) + ")";
  }
  return graph[operand.vertex].name + "(" + labels_text(graph, v, operand.labels) + ")";
}

/// The join applied to the operands: `mul(X(i,j), W(j,k))`; of a composed functor, which names its
/// operands #0, #1, …, the whole expression: `exp(sub(T(i,k),m(i)))`.
[[nodiscard]] constexpr Text join_text(const EinGraph& graph, const Vertex& v) {
  if (v.op.index_tensors > 0) {
    Vertex inner = v;
    inner.op.index_tensors = 0;
    inner.op.join = std::string_view(v.op.join).substr(std::string_view("where ").size());
    inner.operands.erase(inner.operands.begin(), inner.operands.begin() + v.op.index_tensors);
    inner.values.clear();
    Text text = "where(";
    for (int k = 0; k < v.op.index_tensors; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const Text index = operand_text(graph, v, v.operands[at]);
      text += (k > 0 ? Text(" && ") : Text()) +
              ((v.op.skipped_indices >> k & 1U) != 0 ? "skip(" + index + ")" : index) +
              " == " + label_text(graph, v, v.values[at]);
    }
    return text + ", " + join_text(graph, inner) + ")";
  }
  const std::string_view join = v.op.join;
  const auto text_of = [&](const Operand& operand) { return operand_text(graph, v, operand); };
  const std::size_t tensors = v.operands.size();
  if (v.op.blocks) {  // "blocks", or "blocks else 0.5"
    const std::size_t end = std::min(join.find(' '), join.size());
    return Text(join.substr(0, end)) + "(" + core::joined(v.operands, ", ", text_of) +
           (end < join.size() ? Text(",") : Text()) + join.substr(end) + ")";
  }
  if (join == "identity" && v.operands.size() == 1) return text_of(v.operands[0]);
  if (join.find('#') == std::string_view::npos) {
    Text text = v.op.join + "(" + core::joined(v.operands, ", ", text_of);
    for (const int label : v.values) text += Text(", ") + label_text(graph, v, label);
    return text + ")";
  }
  Text text;
  for (std::size_t i = 0; i < join.size(); ++i) {
    if (join[i] != '#') {
      text += join[i];
      continue;
    }
    std::size_t o = 0;
    while (i + 1 < join.size() && join[i + 1] >= '0' && join[i + 1] <= '9') {
      o = 10 * o + static_cast<std::size_t>(join[++i] - '0');
    }
    // A user's functor may have a # in its name that counts nothing.
    if (o < v.operands.size()) {
      text += text_of(v.operands[o]);
    } else if (o - tensors < v.values.size()) {
      text += label_text(graph, v, v.values[o - tensors]);
    } else {
      text += '#';
    }
  }
  return text;
}

}  // namespace graph

/// A statement as one line: `H(i,k) = sum[j] mul(X(i,j), W(j,k))`; an input with its extents:
/// `X(512,1024)`.
[[nodiscard]] constexpr Text formula(const EinGraph& graph, VertexId vertex) {
  const Vertex& v = graph[vertex];
  if (v.is_input()) return v.name + "(" + core::joined(v.bound, ",", core::to_text) + ")";
  Text text = v.name + "(" + graph::labels_text(graph, v, v.output) + ") = ";
  if (!v.op.aggregate.empty()) {
    text += v.op.aggregate + "[" + graph::labels_text(graph, v, v.aggregated) + "] ";
  }
  return text + graph::join_text(graph, v);
}

/// The whole graph, a line per tensor: its formula, its elements, the extents of its labels.
[[nodiscard]] constexpr Text to_text(const EinGraph& graph) {
  Text text;
  const std::vector<int> readers = graph.reader_counts();
  for (VertexId i = 0; i < graph.size(); ++i) {
    const Vertex& v = graph[i];
    text += formula(graph, i) + " : " + expr::element_text(v.element);
    if (v.is_input()) text += ", input";
    for (std::size_t l = 0; l < v.labels.size(); ++l) {
      text << (l == 0 ? ", " : " ") << graph::label_text(graph, v, static_cast<int>(l)) << '='
           << v.extents[l];
    }
    const bool read = readers[static_cast<std::size_t>(i)] > 0;
    if (v.kept || (read && v.is_result())) text += ", kept";
    text += '\n';
  }
  return text;
}

/// Prints to_text(graph).
template <class Stream>
auto operator<<(Stream& stream, const EinGraph& graph) -> decltype(stream << std::string_view{}) {
  return stream << to_text(graph).view();
}

}  // namespace eindecomp
