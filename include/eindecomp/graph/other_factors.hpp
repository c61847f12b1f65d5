// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The product of all elements but each, as statements that can be differentiated again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/scanned_label.hpp"
#include "eindecomp/graph/tuning.hpp"
#include "eindecomp/graph/write_derived.hpp"

namespace eindecomp::graph {

/// From the cotangent of products of elements T to that of the elements, in statements that can be
/// differentiated Order times more.
///
/// The product of all elements but one is that of those before it times that of those behind it,
/// along one dimension after another. Both are scans: products, with derivatives that are right
/// where elements are 0. (The product divided by the element would be cheaper, and has none there.)
template <class B, int Order, class T>
class ProductPull {
 public:
  /// \param elements  the tensor whose elements were multiplied along its last dimensions
  /// \param kept  how many dimensions the products have
  ProductPull(const DerivativeScope& scope, VertexId elements, std::size_t kept)
      : m_scope(scope), m_name(scope.graph[elements].name), m_kept(kept) {
    const Vertex& v = scope.graph[elements];
    m_bound = v.bound;
    for (const int l : v.output) {
      const int label = v.labels[static_cast<std::size_t>(l)];
      m_labels.push_back(scope.graph.labels[static_cast<std::size_t>(label)].name);
    }
    m_window = "window";
    while (std::find(m_labels.begin(), m_labels.end(), m_window) != m_labels.end()) {
      m_window += '\'';
    }
    m_products.push_back(elements);
    for (std::size_t rank = m_labels.size(); rank > kept + 1; --rank) {
      StatementSpec spec = begin(".product", rank - 1);
      spec.operands.push_back(read(m_products.back(), rank));
      m_products.push_back(write<Identity, Prod, T>(spec).vertex);
    }
  }

  /// The cotangent of the elements. \param cotangent  of the products; a number stands for 1
  [[nodiscard]] Cotangent operator()(Cotangent cotangent) const {
    cotangent.labels.assign(m_labels.begin(),
                            m_labels.begin() + static_cast<std::ptrdiff_t>(m_kept));
    for (std::size_t rank = m_kept + 1; rank <= m_labels.size(); ++rank) {
      cotangent.labels.push_back(m_labels[rank - 1]);
      // Of one factor there is no other.
      if (m_bound[rank - 1] > 1) multiply(cotangent, m_products[m_labels.size() - rank], rank);
    }
    return cotangent;
  }

 private:
  void multiply(Cotangent& cotangent, VertexId x, std::size_t rank) const {
    const VertexId before = others(x, rank, -1);
    const VertexId behind = others(x, rank, 1);
    StatementSpec spec = begin(".others", rank);
    spec.operands = {read(before, rank), read(behind, rank)};
    Written written{};
    if (cotangent.is_number()) {
      written = write<Mul, NoAggregation, T, T>(spec);
    } else {
      StatementSpec::OperandSpec of_products;
      of_products.vertex = cotangent.vertex;
      of_products.writing = cotangent.writing;
      for (const int d : cotangent.dims) {
        of_products.labels.push_back(m_labels[static_cast<std::size_t>(d)]);
      }
      spec.operands.insert(spec.operands.begin(), of_products);
      written = write<Mul, NoAggregation, T, T, T>(spec);
    }
    cotangent.vertex = written.vertex;
    cotangent.writing = written.writing;
    cotangent.dims.clear();
    for (std::size_t k = 0; k < rank; ++k) cotangent.dims.push_back(static_cast<int>(k));
  }
  /// The product of all elements before each, or behind each, along the last dimension.
  [[nodiscard]] VertexId others(VertexId x, std::size_t rank, Extent direction) const {
    const Extent n = m_bound[rank - 1] - 1;
    Extent width = 1;
    for (; width * tuning::scan_radix < n; width *= tuning::scan_radix) {
      x = wider(x, rank, direction * width, n, 0);
    }
    return wider(x, rank, direction * width, n, direction);
  }
  /// As a scan's step: of elements that were multiplied over |step| neighbours.
  [[nodiscard]] VertexId wider(VertexId x, std::size_t rank, Extent step, Extent n,
                               Extent offset) const {
    StatementSpec spec = begin(offset == 0 ? ".scan" : step < 0 ? ".before" : ".behind", rank);
    StatementSpec::OperandSpec operand = read(x, rank);
    for (std::size_t k = 0; k < rank; ++k) {
      IndexSpec index;
      index.terms.push_back({m_labels[k], 1, m_bound[k]});
      operand.indices.push_back(index);
    }
    const Extent width = std::max(step, -step);
    const Extent windows = std::min(tuning::scan_radix, ceil_div(n, width));
    operand.indices.back().terms.push_back({m_window, step, windows});
    operand.indices.back().offset = offset;
    operand.labels.push_back(m_window);
    operand.ignored = OutsideValue::one;
    spec.operands.push_back(operand);
    return write<Identity, Prod, T>(spec).vertex;
  }

  [[nodiscard]] StatementSpec begin(const char* suffix, std::size_t rank) const {
    StatementSpec spec;
    spec.name = m_name + suffix;
    spec.where = m_scope.where;
    for (std::size_t k = 0; k < rank; ++k) spec.output.push_back({m_labels[k], m_bound[k]});
    return spec;
  }
  [[nodiscard]] StatementSpec::OperandSpec read(VertexId x, std::size_t rank) const {
    StatementSpec::OperandSpec operand;
    operand.vertex = x;
    for (std::size_t k = 0; k < rank; ++k) operand.labels.push_back(m_labels[k]);
    return operand;
  }
  template <class Join, class Monoid, class... Ts>
  [[nodiscard]] Written write(const StatementSpec& spec) const {
    return stateless_writer<B, Order, Join, Monoid, Ts...>(m_scope, spec);
  }

  const DerivativeScope& m_scope;
  Text m_name;
  std::size_t m_kept;
  std::vector<Text> m_labels;  // of the elements' dimensions
  std::vector<Extent> m_bound;
  Text m_window;
  std::vector<VertexId> m_products;  // over no dimension, the last, the last two, …
};

}  // namespace eindecomp::graph
