// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Writes statements of derivatives, and sums of cotangents.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
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

/// Writes a cotangent or tangent of elements X with all dimensions of its tensor, under `labels`.
template <class B, int Order, class X>
[[nodiscard]] Cotangent write_whole(const GradientScope<B>& scope, const Cotangent& c,
                                    const std::vector<Text>& labels,
                                    const std::vector<Extent>& bound, std::string_view name) {
  StatementSpec spec;
  spec.name = name;
  spec.where = scope.where;
  StatementSpec::OperandSpec operand;
  operand.vertex = c.vertex;
  operand.writing = c.writing;
  for (const int d : c.dims) operand.labels.push_back(labels[static_cast<std::size_t>(d)]);
  spec.operands.push_back(operand);
  Cotangent whole{0, -1, -1, {}, labels};
  for (std::size_t k = 0; k < labels.size(); ++k) {
    spec.output.push_back({labels[k], bound[k]});
    whole.dims.push_back(static_cast<int>(k));
  }
  const Written written =
      write_at<B, Order, Identity, NoAggregation, X>(scope, spec, Identity{}, NoAggregation{});
  whole.vertex = written.vertex;
  whole.writing = written.writing;
  return whole;
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

/// Writes the sum of the tangents of a statement of elements X.
/// \param push  from an operand's number, its tangent and a name to what it contributes
template <class B, int Order, class X, class Push>
[[nodiscard]] Cotangent push_all(const GradientScope<B>& scope, const Tangents& tangents,
                                 std::string_view name, const Push& push) {
  const int count = tangents.count();
  int number = 0;
  std::optional<Cotangent> sum = tangents.own;
  if (sum.has_value()) ++number;
  for (std::size_t o = 0; o < tangents.of_operands.size(); ++o) {
    if (!tangents.of_operands[o].has_value()) continue;
    ++number;
    Cotangent one =
        push(o, *tangents.of_operands[o], count == 1 ? Text(name) : Text(name) + "." + number);
    if constexpr (std::is_floating_point_v<X>) {  // else push refuses
      if (sum.has_value()) {
        one = add_cotangents<B, Order, X>(
            scope, *sum, one, number == count ? Text(name) : Text(name) + ".to" + number);
      }
    }
    sum = std::move(one);
  }
  return *sum;
}

}  // namespace eindecomp::graph
