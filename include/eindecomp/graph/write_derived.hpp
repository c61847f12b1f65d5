// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Writes statements of derivatives, and sums of cotangents.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/statement_writer.hpp"

namespace eindecomp::graph {

/// A statement's vertex and which of those that share it, as written.
struct Written {
  VertexId vertex;
  int writing;
};

/// Writes a statement that can be differentiated Order times more.
template <class B, int Order, class Join, class Monoid, class... Ts>
[[nodiscard]] Written write_at(const GradientScope<B>& scope, StatementSpec spec, const Join& join,
                               const Monoid& monoid) {
  const Text named = scope.state.graph.unused_name(spec.name);
  spec.name = named;
  const StatementWriter<AtOrder<B, Order>, Join, Monoid, Ts...> writer(scope.state, join, monoid);
  const VertexId v = writer.write(std::move(spec));
  return {v, scope.state.graph.last_writing()};
}

/// Writes the sum of two cotangents of elements X, that can be differentiated Order times more.
template <class B, int Order, class X>
[[nodiscard]] Cotangent add_cotangents(const GradientScope<B>& scope, const Cotangent& a,
                                       const Cotangent& b, std::string_view name) {
  if (a.is_number() && b.is_number()) {
    Cotangent sum = a;
    sum.value += b.value;
    return sum;
  }
  const auto tensor = [&](const Cotangent& c) {
    return c.is_number() ? scope.constant(c.value) : c;
  };
  const Cotangent one = tensor(a);
  const Cotangent two = tensor(b);
  Cotangent sum{0, -1, -1, {}, a.labels};
  StatementSpec spec;
  spec.name = name;
  spec.where = scope.where;
  std::vector<int> seen;
  for (const Cotangent* c : {&one, &two}) {
    StatementSpec::OperandSpec operand;
    operand.vertex = c->vertex;
    operand.writing = c->writing;
    for (const int d : c->dims) {
      operand.labels.push_back(sum.labels[static_cast<std::size_t>(d)]);
      if (std::find(seen.begin(), seen.end(), d) == seen.end()) seen.push_back(d);
    }
    spec.operands.push_back(operand);
  }
  for (int d = 0; d < static_cast<int>(sum.labels.size()); ++d) {
    if (std::find(seen.begin(), seen.end(), d) == seen.end()) continue;
    spec.output.push_back({sum.labels[static_cast<std::size_t>(d)], 0});
    sum.dims.push_back(d);
  }
  const Written written =
      write_at<B, Order, Add, NoAggregation, X, X>(scope, spec, Add{}, NoAggregation{});
  sum.vertex = written.vertex;
  sum.writing = written.writing;
  return sum;
}

}  // namespace eindecomp::graph
