// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The way back from a tensor to others, on which gradient() and vjp() write cotangents.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/tangent_writer.hpp"

namespace eindecomp::graph {

/// Walks back from a tensor to others, statement by statement, and writes the cotangents.
class CotangentWriter {
 public:
  CotangentWriter(const DerivativeScope& scope, VertexId from, const std::vector<VertexId>& to)
      : m_scope(scope), m_from(from), m_count(static_cast<std::size_t>(from) + 1) {
    m_leads.assign(m_count, false);
    for (const VertexId v : to) {
      if (v <= from) m_leads[to_index(v)] = true;
    }
    for (VertexId v = 0; v <= from; ++v) {
      const std::size_t operands = graph()[v].operands.size();
      for (std::size_t o = 0; o < operands && !m_leads[to_index(v)]; ++o) {
        m_leads[to_index(v)] = leads_through(v, o);
      }
    }
    m_readers.assign(m_count, 0);
    std::vector<bool> reached(m_count, false);
    reached[to_index(from)] = true;
    for (VertexId v = from; v >= 0; --v) {
      if (!reached[to_index(v)]) continue;
      for (std::size_t o = 0; o < graph()[v].operands.size(); ++o) {
        if (!leads_through(v, o)) continue;
        const VertexId x = graph()[v].operands[o].vertex;
        reached[to_index(x)] = true;
        ++m_readers[to_index(x)];
      }
    }
    m_cotangents.resize(m_count);
  }

  [[nodiscard]] std::vector<std::optional<Cotangent>> run(Cotangent seed) {
    m_cotangents[to_index(m_from)] = std::move(seed);
    for (VertexId v = m_from; v >= 0; --v) {
      if (!m_cotangents[to_index(v)].has_value()) continue;
      const std::size_t operands = graph()[v].operands.size();
      for (std::size_t o = 0; o < operands; ++o) {
        if (leads_through(v, o)) contribute(v, o);
      }
    }
    return std::move(m_cotangents);
  }

 private:
  [[nodiscard]] const EinGraph& graph() const { return m_scope.graph; }

  [[nodiscard]] bool leads_through(VertexId v, std::size_t o) const {
    const Operand& operand = graph()[v].operands[o];
    if (operand.constant || !m_leads[to_index(operand.vertex)]) return false;
    const auto& derivative = m_scope.derivatives[to_index(v)];
    return derivative == nullptr || derivative->depends_on(o);
  }

  void contribute(VertexId v, std::size_t o) {
    const VertexId x = graph()[v].operands[o].vertex;
    const auto derivative = derivative_of_statement(m_scope, v);
    const Text name = Text("d") + graph()[x].name;
    std::optional<Cotangent>& sum = m_cotangents[to_index(x)];
    const int readers = m_readers[to_index(x)];
    const int number = ++m_contributions[static_cast<std::size_t>(x)];
    Cotangent one = derivative->pull(m_scope, v, o, *m_cotangents[to_index(v)],
                                     readers == 1 ? name : name + "." + number);
    if (sum.has_value()) {
      one =
          derivative->add(m_scope, o, *sum, one, number == readers ? name : name + ".to" + number);
    }
    sum = std::move(one);
  }

  const DerivativeScope& m_scope;
  VertexId m_from;
  std::size_t m_count;
  std::vector<bool> m_leads;  // to one of the tensors asked for
  std::vector<int> m_readers;
  std::vector<std::optional<Cotangent>> m_cotangents;
  std::vector<int> m_contributions = std::vector<int>(m_count, 0);
};

}  // namespace eindecomp::graph
