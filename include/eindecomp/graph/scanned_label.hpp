// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Statements that are scans: every element of the result aggregates one more than the one before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/operand_index.hpp"
#include "eindecomp/graph/vertex.hpp"

namespace eindecomp::graph {

/// What Vertex::scanned is of a statement whose labels, operands and operators are known.
/// \param read     the first operand's tensor
/// \param ignored  the value of that operand that is the identity of ⊕ (OperandSpec::ignored)
[[nodiscard]] constexpr int scanned_label(const Vertex& v, const Vertex& read,
                                          OutsideValue ignored) {
  if (!v.op.passes || v.operands.size() != 1 || v.aggregated.size() != 1) return -1;
  const Operand& operand = v.operands.front();
  if (!operand.is_computed() || operand.is_bounded() || !v.values.empty()) return -1;
  if (operand.outside == OutsideValue::none || operand.outside != ignored) return -1;
  const int over = v.aggregated.front();
  std::vector<int> seen;
  for (std::size_t k = 0; k < operand.indices.size(); ++k) {
    const OperandIndex& index = operand.indices[k];
    if (index.offset != 0 || index.terms.empty() || index.terms.size() > 2) return -1;
    for (const OperandIndex::Term& term : index.terms) {
      if (std::find(seen.begin(), seen.end(), term.label) != seen.end()) return -1;
      seen.push_back(term.label);
      if (term.label == over
              ? index.terms.size() != 2 || (term.coefficient != 1 && term.coefficient != -1)
              : term.coefficient != 1) {
        return -1;
      }
    }
    const auto a = static_cast<std::size_t>(index.terms[0].label);
    if (index.terms.size() != 2) {
      if (v.extents[a] != read.bound[k]) return -1;
      continue;
    }
    const auto b = static_cast<std::size_t>(index.terms[1].label);
    if (static_cast<int>(a) != over && static_cast<int>(b) != over) return -1;
    if (v.extents[a] != read.bound[k] || v.extents[b] != read.bound[k]) return -1;
  }
  return over;
}

/// The label of a scan's result along which it runs. \pre v.scanned >= 0
[[nodiscard]] constexpr int scan_along(const Vertex& v) {
  for (const OperandIndex& index : v.operands.front().indices) {
    if (index.terms.size() != 2) continue;
    return index.terms[index.terms[0].label == v.scanned ? 1 : 0].label;
  }
  return -1;
}

/// Whether a scan begins at the last element. \pre v.scanned >= 0
[[nodiscard]] constexpr bool scans_backwards(const Vertex& v) {
  for (const OperandIndex& index : v.operands.front().indices) {
    for (const OperandIndex::Term& term : index.terms) {
      if (term.label == v.scanned) return term.coefficient > 0;
    }
  }
  return false;
}

/// Whether the calls of a domain are scans: the scanned label is whole.
template <class Box>
[[nodiscard]] constexpr bool is_scan(const Vertex& v, const Box& domain) {
  return v.scanned >= 0 &&
         domain.extent(v.scanned) == v.extents[static_cast<std::size_t>(v.scanned)];
}

}  // namespace eindecomp::graph
