// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The rewrites of products: what one operand alone has is aggregated first, and more than two
/// operands are joined two at a time. Knows no operators.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/label_rules.hpp"
#include "eindecomp/graph/contraction_order.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/program.hpp"

namespace eindecomp::graph {

/// A statement as the user wrote it, all rules checked, so that no message speaks of tensors that
/// rewriting made up. `names` becomes those of Vertex::labels.
constexpr Vertex resolved_as_written(EinGraph& graph, const StatementSpec& spec,
                                     expr::LabelNames& names) {
  check_labels(graph, spec, spec.name);
  const std::size_t labels_before = graph.labels.size();
  Vertex v;
  v.name = spec.name;
  resolve_operands(graph, spec, v, names);
  resolve_output(graph, spec, v, names);
  graph.labels.resize(labels_before);
  return v;
}

/// Writes the statements that one of ⊕ and ⊗ is rewritten to.
class RewriteTarget {
 public:
  /// Whether there are more operands than a kernel has: they are joined two at a time, whatever the
  /// options.
  [[nodiscard]] constexpr virtual bool is_split() const = 0;
  /// ⊕ ⊗ of all operands.
  constexpr virtual VertexId write(const StatementSpec& spec) const = 0;
  /// ⊕ of one operand.
  constexpr virtual VertexId write_aggregate(const StatementSpec& spec) const = 0;
  /// ⊗ of two operands, and ⊕ if `aggregates`. \param last  of all: what scales the product does so
  ///   there
  constexpr virtual VertexId write_pair(const StatementSpec& spec, bool last,
                                        bool aggregates) const = 0;

 protected:
  constexpr ~RewriteTarget() = default;
};

/// How many labels of the operands the output lacks.
[[nodiscard]] constexpr int aggregated_label_count(const StatementSpec& spec) {
  return static_cast<int>(expr::aggregated_names(operand_labels(spec), output_labels(spec)).size());
}

/// Replaces every operand that alone has an aggregated label by its own aggregation.
constexpr void aggregate_private_labels(EinGraph& graph, StatementSpec& spec,
                                        const RewriteTarget& target) {
  if (spec.operands.size() < 2) return;
  expr::LabelNames names;
  (void)resolved_as_written(graph, spec, names);
  const expr::LabelNames output = output_labels(spec);
  for (std::size_t o = 0; o < spec.operands.size(); ++o) {
    StatementSpec::OperandSpec& operand = spec.operands[o];
    if (!operand.indices.empty()) continue;  // others may size its labels
    StatementSpec inner;
    bool has_private = false;
    for (std::string_view name : operand.labels) {
      bool is_private = expr::find_name(output, name) < 0;
      for (std::size_t p = 0; p < spec.operands.size() && is_private; ++p) {
        is_private = p == o || expr::find_name(spec.operands[p].labels, name) < 0;
      }
      has_private = has_private || is_private;
      bool named = is_private;
      for (const auto& out : inner.output) named = named || out.label == name;
      if (!named) inner.output.push_back({name, 0});
    }
    if (!has_private) continue;
    inner.name = spec.name + ".private" + o;
    inner.operands.push_back(operand);
    inner.where = spec.where;
    operand.vertex = target.write_aggregate(inner);
    operand.writing = graph.last_writing();
    operand.labels.clear();
    for (const auto& out : inner.output) operand.labels.push_back(out.label);
  }
}

/// Joins the operands two at a time.
constexpr VertexId write_in_order(EinGraph& graph, const StatementSpec& spec,
                                  const RewriteTarget& target) {
  expr::LabelNames names;
  const Vertex v = resolved_as_written(graph, spec, names);
  if (v.labels.size() > static_cast<std::size_t>(max_ordered_labels)) return target.write(spec);
  std::vector<LabelSet> sets;
  for (const Operand& operand : v.operands) {
    LabelSet set = 0;
    for (int l : operand.labels) set |= LabelSet{1} << l;
    sets.push_back(set);
  }
  LabelSet output = 0;
  for (int l : v.output) output |= LabelSet{1} << l;
  const ContractionOrder order = contraction_order(sets, output, v.extents);
  if (order.pairs.empty()) return target.write(spec);

  std::vector<StatementSpec::OperandSpec> open = spec.operands;
  for (std::size_t k = 0; k < order.pairs.size(); ++k) {
    const auto [a, b] = order.pairs[k];
    const auto at_a = static_cast<std::size_t>(a);
    const auto at_b = static_cast<std::size_t>(b);
    StatementSpec pair;
    pair.operands.push_back(open[at_a]);
    pair.operands.push_back(open[at_b]);
    pair.where = spec.where;
    const bool last = k + 1 == order.pairs.size();
    if (last) {
      pair.name = spec.name;
      pair.output = spec.output;
    } else {
      pair.name = spec.name + ".join" + k;
      LabelSet needed = output;
      for (std::size_t o = 0; o < sets.size(); ++o) {
        if (o != at_a && o != at_b) needed |= sets[o];
      }
      const LabelSet kept = (sets[at_a] | sets[at_b]) & needed;
      for (std::size_t l = 0; l < v.labels.size(); ++l) {
        if ((kept >> l & 1U) != 0) pair.output.push_back({names[l], 0});
      }
      sets.push_back(kept);
    }
    // An operand that was joined is needed no more.
    const LabelSet joined = sets[at_a] | sets[at_b];
    const bool aggregates = last ? (joined & ~output) != 0 : (joined & ~sets.back()) != 0;
    sets[at_a] = sets[at_b] = 0;
    const VertexId result = target.write_pair(pair, last, aggregates);
    if (last) return result;
    StatementSpec::OperandSpec operand;
    operand.vertex = result;
    operand.writing = graph.last_writing();
    for (const auto& out : pair.output) operand.labels.push_back(out.label);
    open.push_back(operand);
  }
  return -1;  // not reached: there are at least two operands
}

/// Writes a statement after the rewrites.
constexpr VertexId rewrite(EinGraph& graph, const LoweringOptions& options, StatementSpec spec,
                           const RewriteTarget& target) {
  if (options.aggregate_private_labels) aggregate_private_labels(graph, spec, target);
  bool is_computed = false;
  for (const auto& operand : spec.operands) is_computed |= !operand.indices.empty();
  if (target.is_split() ||
      (spec.operands.size() > 2 && options.order_contractions && !is_computed)) {
    return write_in_order(graph, spec, target);
  }
  // All aggregated labels were private, and are gone.
  if (spec.operands.size() == 2 && aggregated_label_count(spec) == 0) {
    return target.write_pair(spec, true, false);
  }
  return target.write(spec);
}

/// The same of programs that run; with EINDECOMP_SEPARATE_PLANNER, the caller's translation unit
/// does not compile it.
VertexId rewrite_at_run_time(EinGraph& graph, const LoweringOptions& options,
                             const StatementSpec& spec, const RewriteTarget& target);
#ifndef EINDECOMP_SEPARATE_PLANNER
inline VertexId rewrite_at_run_time(EinGraph& graph, const LoweringOptions& options,
                                    const StatementSpec& spec, const RewriteTarget& target) {
  return rewrite(graph, options, spec, target);
}
#endif

/// Writes a statement after the rewrites.
constexpr VertexId write_rewritten(EinGraph& graph, const LoweringOptions& options,
                                   const StatementSpec& spec, const RewriteTarget& target) {
  if (std::is_constant_evaluated()) return rewrite(graph, options, spec, target);
  return rewrite_at_run_time(graph, options, spec, target);
}

}  // namespace eindecomp::graph
