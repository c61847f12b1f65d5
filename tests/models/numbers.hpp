// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program comes to with random inputs, by the slow evaluator, and how much work it is.
#pragma once

#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"
#include "support/reference.hpp"

namespace eindecomp_tests {

/// The scalar operations of a statement, or of all.
inline eindecomp::Extent points(const eindecomp::Vertex& v) {
  eindecomp::Extent n = v.is_input() ? 0 : 1;
  for (eindecomp::Extent extent : v.extents) n *= extent;
  return n;
}
inline eindecomp::Extent points(const eindecomp::EinGraph& graph) {
  eindecomp::Extent n = 0;
  for (const eindecomp::Vertex& v : graph.vertices) n += points(v);
  return n;
}

/// A matrix of numbers.
struct Matrix {
  eindecomp::Extent columns = 1;
  std::vector<double> values;
  double& operator()(eindecomp::Extent i, eindecomp::Extent j) {
    return values.at(static_cast<std::size_t>(i * columns + j));
  }
  double operator()(eindecomp::Extent i, eindecomp::Extent j) const {
    return values.at(static_cast<std::size_t>(i * columns + j));
  }
};

/// Random inputs from -1 to 1 for a program of matrices, and every result.
class Numbers {
 public:
  Numbers(const eindecomp::EinGraph& graph, unsigned seed) : m_graph(graph) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> draw(-1, 1);
    for (const eindecomp::Vertex& v : graph.vertices) {
      if (!v.is_input()) continue;
      Matrix matrix{v.bound.back(), std::vector<double>(static_cast<std::size_t>(v.size()))};
      for (double& value : matrix.values) value = draw(random);
      m_inputs[v.name.str()] = std::move(matrix);
    }
  }

  [[nodiscard]] const Matrix& operator[](const std::string& input) const {
    return m_inputs.at(input);
  }
  [[nodiscard]] Matrix& operator[](const std::string& input) { return m_inputs.at(input); }

  /// A result as the program has it.
  [[nodiscard]] Matrix of(eindecomp::VertexId v) const {
    std::vector<reference::Tensor> tensors(m_graph.vertices.size());
    for (std::size_t u = 0; u < tensors.size(); ++u) {
      const eindecomp::Vertex& vertex = m_graph.vertices[u];
      if (!vertex.is_input()) continue;
      tensors[u].bound = vertex.bound;
      for (double value : m_inputs.at(vertex.name.str()).values) {
        tensors[u].values.emplace_back(value);
      }
    }
    const auto all = reference::evaluate(m_graph, tensors);
    Matrix matrix{m_graph[v].bound.back(), {}};
    for (const auto& value : all[static_cast<std::size_t>(v)].values) {
      matrix.values.push_back(static_cast<double>(value.real()));
    }
    return matrix;
  }

 private:
  const eindecomp::EinGraph& m_graph;
  std::map<std::string, Matrix> m_inputs;
};

}  // namespace eindecomp_tests
