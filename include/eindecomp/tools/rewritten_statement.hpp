// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The lowering's rewrites for statements whose operators are known by name only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/einsum_string.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/expr/operator.hpp"
#include "eindecomp/graph/builder.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/program.hpp"

namespace eindecomp::tools {

/// Writes a statement of as many operands as there are numbers O, all of elements float.
template <class Join, class Monoid, std::size_t... O>
[[nodiscard]] VertexId write_by_type(PlanProgram& program, const StatementSpec& spec,
                                     std::index_sequence<O...>) {
  std::vector<Builder<NoBackend>::Read> operands;
  for (const StatementSpec::OperandSpec& operand : spec.operands) {
    operands.push_back({AnySymbol(program.graph(), operand.vertex),
                        LabelStrings(operand.labels.begin(), operand.labels.end())});
  }
  LabelStrings output;
  for (const StatementSpec::OutputLabel& out : spec.output) output.emplace_back(out.label);
  return Builder<NoBackend>(program)
      .statement<Join, Monoid, std::conditional_t<O != 0, float, float>...>(
          spec.name, operands, output, Join{}, Monoid{}, spec.where)
      .vertex();
}

/// Writes a statement if its operators are those and it has 2 to Most operands.
template <class Join, class Monoid, std::size_t Most>
[[nodiscard]] std::optional<VertexId> write_if(PlanProgram& program, const StatementSpec& spec) {
  static_assert(is_associative_commutative<Join> && distributes_over<Join, Monoid>);
  const bool sums = spec.op.aggregate.empty() || spec.op.aggregate == Monoid::name;
  if (spec.op.join != Join::name || !sums) return std::nullopt;
  if constexpr (Most > 2) {
    if (spec.operands.size() < Most) return write_if<Join, Monoid, Most - 1>(program, spec);
  }
  if (spec.operands.size() != Most) return std::nullopt;
  return write_by_type<Join, Monoid>(program, spec, std::make_index_sequence<Most>{});
}

/// Writes a statement by the passes of the lowering if its ⊗ distributes over its ⊕ and all its
/// operands are of elements float. \throws Error as Builder::statement.
[[nodiscard]] inline std::optional<VertexId> write_rewritten(PlanProgram& program,
                                                             const StatementSpec& spec) {
  constexpr auto most = static_cast<std::size_t>(EinsumShape::max_operands);
  const auto is_float = [&](const StatementSpec::OperandSpec& operand) {
    return program.graph()[operand.vertex].element == element_type<float>();
  };
  if (!std::ranges::all_of(spec.operands, is_float)) return std::nullopt;
  if (const auto v = write_if<Mul, Sum, most>(program, spec)) return v;
  if (const auto v = write_if<Add, Min, most>(program, spec)) return v;
  if (const auto v = write_if<Add, Max, most>(program, spec)) return v;
  if (const auto v = write_if<Min, Max, 2>(program, spec)) return v;
  return write_if<Max, Min, 2>(program, spec);
}

}  // namespace eindecomp::tools
