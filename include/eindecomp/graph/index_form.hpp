// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Arithmetic on indices that are computed from labels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "eindecomp/graph/operand_index.hpp"

namespace eindecomp::graph {

/// (offset + Σ coefficient · label) / divisor.
struct IndexForm {
  std::vector<std::pair<int, Extent>> terms;
  Extent offset = 0;
  Extent divisor = 1;
  Boundary boundary = Boundary::ignored;
  bool operator==(const IndexForm&) const = default;
};

[[nodiscard]] inline IndexForm form_of(int l) {
  IndexForm form;
  form.terms.emplace_back(l, 1);
  return form;
}
/// Adds factor · form; each of both takes the other's divisor besides its own.
inline void add(IndexForm& sum, const IndexForm& form, Extent factor) {
  const Extent common = std::lcm(sum.divisor, form.divisor);
  const Extent more = common / sum.divisor;
  for (auto& term : sum.terms) term.second *= more;
  sum.offset *= more;
  sum.divisor = common;
  factor *= common / form.divisor;
  for (const auto& term : form.terms) {
    const auto at = std::find_if(sum.terms.begin(), sum.terms.end(),
                                 [&](const auto& other) { return other.first == term.first; });
    if (at == sum.terms.end()) {
      sum.terms.emplace_back(term.first, factor * term.second);
    } else {
      at->second += factor * term.second;
    }
  }
  std::erase_if(sum.terms, [](const auto& term) { return term.second == 0; });
  sum.offset += factor * form.offset;
}
[[nodiscard]] inline IndexForm index_of(const Operand& operand, std::size_t k) {
  if (!operand.is_computed()) return form_of(operand.labels[k]);
  const OperandIndex& index = operand.indices[k];
  IndexForm form;
  for (const auto& term : index.terms) add(form, form_of(term.label), term.coefficient);
  form.offset = index.offset;
  form.divisor = index.divisor;
  form.boundary = index.boundary;
  return form;
}

}  // namespace eindecomp::graph
