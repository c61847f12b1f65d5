// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The statements of derivatives, whatever the operators: what write_derived.hpp declares.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/graph/cotangent_writer.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/derived_reads.hpp"
#include "eindecomp/graph/derived_statement.hpp"
#include "eindecomp/graph/fold_border.hpp"
#include "eindecomp/graph/forward_statement.hpp"
#include "eindecomp/graph/scanned_label.hpp"
#include "eindecomp/graph/tangent_writer.hpp"
#include "eindecomp/graph/tuning.hpp"
#include "eindecomp/graph/write_derived.hpp"

namespace eindecomp::graph {

EINDECOMP_PLANNER_INLINE Written SignatureWriter::operator()(const DerivativeScope& scope,
                                                             StatementSpec spec) const {
  spec.name = scope.graph.unused_name(spec.name);
  const VertexId v = m_write(scope, spec, m_join, m_monoid);
  return {v, scope.graph.last_writing()};
}

EINDECOMP_PLANNER_INLINE Written write_number(const DerivativeScope& scope, StatementSpec spec,
                                              double number, NumberWriter* write) {
  spec.name = scope.graph.unused_name(spec.name);
  const VertexId v = write(scope, spec, number);
  return {v, scope.graph.last_writing()};
}

/// What is read itself, with its dimensions as those of what it is passed on to.
template <class Statement>
[[nodiscard]] Cotangent passed_on(const Statement& here, const StatementSpec& spec) {
  Cotangent same = here.cotangent();
  same.labels = here.dimension_names();
  same.dims.clear();
  for (const std::string_view label : spec.operands[0].labels) {
    const auto at = std::find(same.labels.begin(), same.labels.end(), label);
    same.dims.push_back(static_cast<int>(at - same.labels.begin()));
  }
  return same;
}

template <class Statement>
[[nodiscard]] Written write_sum(const DerivativeScope& scope, Statement& here,
                                const StatementSpec& spec, const DerivedSum& sum) {
  if (sum.selects || !here.aggregates()) return sum.plain(scope, spec);
  if (sum.way == DerivedSum::Way::direct) return sum.summed(scope, spec);
  if (sum.way == DerivedSum::Way::multiple_of_sum) {
    StatementSpec inner = spec;
    inner.name = spec.name + ".sum";
    const Written written = sum.summed(scope, inner);
    return sum.multiple(scope, here.after(spec.name, written.vertex, written.writing, spec));
  }
  const Text name = spec.name + ".elements";
  const StatementSpec whole = here.statement(name, sum.leaves, true);
  const Written elements = sum.plain(scope, whole);
  return sum.elements->sum(scope, here.after(spec.name, elements.vertex, elements.writing, whole));
}

template <class Statement>
[[nodiscard]] Cotangent write_derived_by(const DerivativeRequest& request,
                                         const std::vector<VertexId>& others,
                                         const DerivedSum& sum) {
  const auto& [scope, v, operand, from, name] = request;
  Statement here(scope, v, operand, from, others);
  if (sum.may_have_pole) here.read_ones_outside();
  if (sum.is_exponential) here.read_infinite_result();
  here.note_bare_values(sum.leaves);
  if (here.is_to_be_widened()) {
    const Written wide = sum.widen(scope, here.widened(Text(name) + ".wide"));
    here.set_widened(wide.vertex, wide.writing);
  }
  const Text own = here.borders().empty() ? Text(name) : Text(name) + ".bordered";
  const auto statement = [&] {
    StatementSpec spec = here.statement(own, sum.leaves, false, sum.selects);
    if (!sum.selects) return spec;
    for (const int label : request.statement().values) {
      spec.values.push_back(here.label_name(label));
    }
    return spec;
  };
  const StatementSpec spec = statement();
  const double repeated = here.repetitions(sum.leaves);
  if (sum.passes_on && repeated == 1 && spec.operands[0].indices.empty() && !here.aggregates()) {
    return fold_borders(scope, here.borders(), passed_on(here, spec), name, *sum.elements);
  }
  Written written = write_sum(scope, here, spec, sum);
  if (repeated != 1) {
    const StatementSpec same = statement();  // which write_sum() may have replaced
    written = write_number(scope, here.after(own, written.vertex, written.writing, same), repeated,
                           sum.elements->scale);
  }
  return fold_borders(scope, here.borders(), here.result(written.vertex, written.writing), name,
                      *sum.elements);
}

/// Whether the derivative would look at elements that v does not read, and multiply their
/// cotangent, 0, by a slope that may be infinite, which makes NaN. Where write_by_reads() takes no
/// more memory than the operand, slopes count that are infinite only where elements are.
[[nodiscard]] inline bool meets_unread(const DerivativeRequest& request,
                                       const std::vector<VertexId>& others, const DerivedSum& sum) {
  if (sum.selects || (!sum.may_be_infinite && !sum.may_be_nan)) return false;
  const Vertex& statement = request.statement();
  if (static_cast<int>(statement.labels.size()) > max_rank) return false;
  const DerivedStatement here(request.scope, request.v, request.operand, request.from, others);
  if (here.is_plain() || !here.looks_at_unread(sum.leaves)) return false;
  double reads = 1;
  for (const Extent extent : statement.extents) reads *= static_cast<double>(extent);
  const VertexId x = statement.operands[request.operand].vertex;
  const Extent elements = request.scope.graph[x].size();
  return sum.may_be_infinite || reads <= static_cast<double>(elements);
}

/// The cotangent of an operand by way of its reads: writes that of each read, under v's labels, and
/// for each element the sum of those of its reads.
[[nodiscard]] inline Cotangent write_by_reads(const DerivativeRequest& request,
                                              const std::vector<VertexId>& others,
                                              const DerivedSum& sum) {
  DerivedReads here(request.scope, request.v, request.from, others);
  here.read_as_result();
  Cotangent reads;
  const Text own = Text(request.name) + ".reads";
  const Written written =
      sum.plain(request.scope, here.forward(own, sum.leaves, true, &reads.dims));
  reads.vertex = written.vertex;
  reads.writing = written.writing;
  const ElementWriters& elements = *sum.elements;
  const int cotangent = here.number_of_cotangent();
  const DerivedSum sum_of_reads{.leaves = {&cotangent, 1},
                                .plain = elements.copy,
                                .summed = elements.sum,
                                .multiple = elements.copy,
                                .widen = elements.copy,
                                .elements = sum.elements};
  return write_derived_by<DerivedStatement>(request.with(reads), {}, sum_of_reads);
}

EINDECOMP_PLANNER_INLINE DerivedSum DerivedSum::with_join(const void* join) const {
  DerivedSum joined = *this;
  joined.plain = plain.with_join(join);
  joined.summed = summed.with_join(join);
  joined.multiple = multiple.with_join(join);
  return joined;
}

EINDECOMP_PLANNER_INLINE Cotangent as_tensor(const DerivativeScope& scope, const Cotangent& c) {
  return c.is_number() ? scope.constant(c.value) : c;
}

EINDECOMP_PLANNER_INLINE Cotangent write_derived(const DerivativeRequest& request,
                                                 Direction direction, const DerivedSum& sum,
                                                 std::span<const VertexId> others) {
  const std::vector<VertexId> more(others.begin(), others.end());
  const Cotangent tensor = as_tensor(request.scope, request.from);
  const DerivativeRequest of_tensor = request.with(tensor);
  if (direction == Direction::to_result) {
    return write_derived_by<ForwardStatement>(of_tensor, more, sum);
  }
  return meets_unread(of_tensor, more, sum)
             ? write_by_reads(of_tensor, more, sum)
             : write_derived_by<DerivedStatement>(of_tensor, more, sum);
}

EINDECOMP_PLANNER_INLINE VertexId write_elements(const DerivativeScope& scope, VertexId v,
                                                 int operands, const SignatureWriter& join) {
  std::vector<int> all;
  for (int o = 0; o < operands; ++o) all.push_back(o);
  const DerivedReads here(scope, v, {}, {});
  const Text name = scope.graph[v].name + ".elements";
  return join(scope, here.forward(name, all, true)).vertex;
}

EINDECOMP_PLANNER_INLINE VertexId write_again(const DerivativeScope& scope, VertexId v,
                                              VertexId elements, const SignatureWriter& aggregate) {
  const EinGraph& graph = scope.graph;
  const DerivedReads here(scope, v, {}, {});
  StatementSpec again = here.forward(graph[v].name + ".again", {}, false);
  StatementSpec::OperandSpec operand;
  operand.vertex = elements;
  std::vector<Text> names;
  for (const int l : graph[elements].output) {
    names.push_back(
        graph.labels[static_cast<std::size_t>(graph[elements].labels[static_cast<std::size_t>(l)])]
            .name);
  }
  for (const Text& label : names) operand.labels.push_back(label);
  again.operands.push_back(operand);
  return aggregate(scope, again).vertex;
}

EINDECOMP_PLANNER_INLINE std::vector<VertexId> write_scan(const DerivativeScope& scope, VertexId v,
                                                          const SignatureWriter& first,
                                                          const SignatureWriter& next) {
  const Vertex z = scope.graph[v];  // a copy: the graph grows
  const Operand& operand = z.operands.front();
  std::vector<Text> names;
  for (const LabelId l : z.labels) {
    names.push_back(scope.graph.labels[static_cast<std::size_t>(l)].name);
  }
  const auto name = [&](int label) -> const Text& {
    return names[static_cast<std::size_t>(label)];
  };
  const auto extent = [&](int label) { return z.extents[static_cast<std::size_t>(label)]; };
  const int along = scan_along(z);
  const Extent n = extent(along);
  std::vector<int> dimensions;  // the result's labels on the operand's dimensions
  for (const int label : operand.labels) dimensions.push_back(label == z.scanned ? along : label);

  std::vector<VertexId> passes;
  VertexId x = scope.read(operand.vertex);
  for (Extent width = 1; width < n; width *= tuning::scan_radix) {
    StatementSpec spec;
    spec.name = z.name + ".pass";
    spec.where = scope.where;
    StatementSpec::OperandSpec read;
    read.vertex = x;
    read.ignored = operand.outside;
    for (const int label : dimensions) {
      IndexSpec index;
      index.terms.push_back({name(label), 1, extent(label)});
      read.labels.push_back(name(label));
      if (label == along) {
        const Extent windows = std::min(tuning::scan_radix, ceil_div(n, width));
        index.terms.push_back({name(z.scanned), scans_backwards(z) ? width : -width, windows});
        read.labels.push_back(name(z.scanned));
      }
      read.indices.push_back(index);
    }
    spec.operands.push_back(read);
    const bool last = width * tuning::scan_radix >= n;
    for (const int label : last ? z.output : dimensions) {
      spec.output.push_back({name(label), extent(label)});
    }
    x = (passes.empty() ? first : next)(scope, spec).vertex;
    passes.push_back(x);
  }
  return passes;
}

EINDECOMP_PLANNER_INLINE VertexId write_aggregate(const DerivativeScope& scope, VertexId v,
                                                  const Text& suffix, std::span<const int> leaves,
                                                  const SignatureWriter& aggregate) {
  const DerivedReads here(scope, v, {}, {});
  return aggregate(scope, here.forward(scope.graph[v].name + "." + suffix, leaves, false)).vertex;
}

EINDECOMP_PLANNER_INLINE Cotangent write_under_result(const DerivativeRequest& request,
                                                      std::span<const int> leaves,
                                                      std::span<const VertexId> others,
                                                      const SignatureWriter& join) {
  Cotangent made = as_tensor(request.scope, request.from);
  DerivedReads here(request.scope, request.v, made, {others.begin(), others.end()});
  here.read_as_result();
  made.dims.clear();
  const Written written =
      join(request.scope, here.forward(request.name, leaves, false, &made.dims));
  made.vertex = written.vertex;
  made.writing = written.writing;
  return made;
}

EINDECOMP_PLANNER_INLINE Cotangent write_tangent_quotient(const DerivativeRequest& request,
                                                          std::span<const int> leaves,
                                                          const SignatureWriter& divide) {
  const Text name = Text(request.name) + ".quotient";
  ForwardStatement here(request.scope, request.v, request.operand, request.from, {});
  const Written written = divide(request.scope, here.statement(name, leaves));
  return here.result(written.vertex, written.writing);
}

EINDECOMP_PLANNER_INLINE std::optional<Cotangent> pull_number(const DerivativeRequest& request,
                                                              double slope) {
  const DerivedStatement statement(request.scope, request.v, request.operand, request.from, {});
  if (!statement.is_plain()) return std::nullopt;
  Cotangent scaled = request.from;
  scaled.value *= statement.repetitions({}) * slope;
  scaled.labels = statement.dimension_names();
  return scaled;
}

EINDECOMP_PLANNER_INLINE Cotangent write_whole(const DerivativeScope& scope, const Cotangent& c,
                                               const std::vector<Text>& labels,
                                               const std::vector<Extent>& bound,
                                               std::string_view name, const SignatureWriter& copy) {
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
  const Written written = copy(scope, spec);
  whole.vertex = written.vertex;
  whole.writing = written.writing;
  return whole;
}

EINDECOMP_PLANNER_INLINE Cotangent write_whole_result(const DerivativeScope& scope, VertexId v,
                                                      Cotangent of_result, std::string_view name,
                                                      const SignatureWriter& copy) {
  if (of_result.is_number()) of_result = scope.constant(of_result.value);
  const EinGraph& graph = scope.graph;
  const Vertex z = graph[v];  // a copy: the graph grows
  if (of_result.dims.size() == z.output.size()) return of_result;
  std::vector<Text> labels;
  for (const int l : z.output) {
    labels.push_back(
        graph.labels[static_cast<std::size_t>(z.labels[static_cast<std::size_t>(l)])].name);
  }
  return write_whole(scope, of_result, labels, z.bound, name, copy);
}

EINDECOMP_PLANNER_INLINE Cotangent write_whole_tangent(const DerivativeScope& scope, VertexId v,
                                                       std::size_t operand,
                                                       const Cotangent& tangent,
                                                       std::string_view name,
                                                       const SignatureWriter& copy) {
  const std::vector<Extent> bound = scope.graph[scope.graph[v].operands[operand].vertex].bound;
  if (tangent.dims.size() == bound.size()) return tangent;
  return write_whole(scope, tangent, tangent.labels, bound, name, copy);
}

EINDECOMP_PLANNER_INLINE Cotangent add_cotangents(const DerivativeScope& scope, const Cotangent& a,
                                                  const Cotangent& b, std::string_view name,
                                                  const SignatureWriter& add) {
  if (a.is_number() && b.is_number()) {
    Cotangent sum = a;
    sum.value += b.value;
    return sum;
  }
  const Cotangent one = as_tensor(scope, a);
  const Cotangent two = as_tensor(scope, b);
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
  const Written written = add(scope, spec);
  sum.vertex = written.vertex;
  sum.writing = written.writing;
  return sum;
}

EINDECOMP_PLANNER_INLINE Cotangent fold_borders(const DerivativeScope& scope,
                                                const std::vector<Border>& borders,
                                                Cotangent cotangent, std::string_view name,
                                                const ElementWriters& elements) {
  for (std::size_t n = 0; n < borders.size(); ++n) {
    const Text own =
        n + 1 == borders.size() ? Text(name) : Text(name) + ".folded" + (static_cast<int>(n) + 1);
    cotangent = fold_border(scope, borders[n], cotangent, own, elements);
  }
  return cotangent;
}

EINDECOMP_PLANNER_INLINE Cotangent JoinDerivative::add(const DerivativeScope& scope,
                                                       std::size_t operand, const Cotangent& a,
                                                       const Cotangent& b,
                                                       std::string_view name) const {
  const ElementWriters* const writers = elements(static_cast<int>(operand));
  return writers != nullptr ? add_cotangents(scope, a, b, name, writers->add) : Cotangent{};
}

EINDECOMP_PLANNER_INLINE Cotangent JoinDerivative::pull(const DerivativeScope& scope, VertexId v,
                                                        std::size_t operand, Cotangent of_result,
                                                        std::string_view name) const {
  return pull_to({scope, v, operand, of_result, name});
}

EINDECOMP_PLANNER_INLINE Cotangent
JoinDerivative::push_one(const DerivativeRequest& request) const {
  const ElementWriters* const writers = elements(static_cast<int>(request.operand));
  if (writers == nullptr || !request.statement().operands[request.operand].is_computed()) {
    return push_from(request);
  }
  // Where an index leaves the tensor a tangent is 0, along what it lacks too.
  const Cotangent whole =
      write_whole_tangent(request.scope, request.v, request.operand, request.from,
                          Text(request.name) + ".whole", writers->copy);
  return push_from(request.with(whole));
}

EINDECOMP_PLANNER_INLINE Cotangent JoinDerivative::push(const DerivativeScope& scope, VertexId v,
                                                        const Tangents& tangents,
                                                        std::string_view name) const {
  const ElementWriters* const writers = elements(-1);
  const int count = tangents.count();
  int number = 0;
  std::optional<Cotangent> sum = tangents.own;
  if (sum.has_value()) ++number;
  for (std::size_t o = 0; o < tangents.of_operands.size(); ++o) {
    if (!tangents.of_operands[o].has_value()) continue;
    ++number;
    const Text own = count == 1 ? Text(name) : Text(name) + "." + number;
    Cotangent one = push_one({scope, v, o, *tangents.of_operands[o], own});
    if (sum.has_value() && writers != nullptr) {  // else push_one() refuses
      one =
          add_cotangents(scope, *sum, one,
                         number == count ? Text(name) : Text(name) + ".to" + number, writers->add);
    }
    sum = std::move(one);
  }
  return *sum;
}

EINDECOMP_PLANNER_INLINE Cotangent pull_scan(const DerivativeRequest& request,
                                             const std::vector<VertexId>& passes,
                                             const JoinDerivative& first,
                                             const JoinDerivative& next) {
  Cotangent cotangent = request.from;
  for (std::size_t p = passes.size(); --p > 0;) {
    cotangent = next.pull(request.scope, passes[p], 0, std::move(cotangent),
                          Text("d") + request.scope.graph[passes[p - 1]].name);
  }
  return first.pull(request.scope, passes.front(), 0, std::move(cotangent), request.name);
}

EINDECOMP_PLANNER_INLINE Cotangent push_scan(const DerivativeRequest& request,
                                             const std::vector<VertexId>& passes,
                                             const JoinDerivative& first,
                                             const JoinDerivative& next) {
  Cotangent made = request.from;
  for (std::size_t p = 0; p < passes.size(); ++p) {
    const bool last = p + 1 == passes.size();
    const Text own = last ? Text(request.name) : Text(request.name) + ".pass";
    made = (p == 0 ? first : next).push_one({request.scope, passes[p], 0, made, own});
  }
  return made;
}

EINDECOMP_PLANNER_INLINE Cotangent pull_block(const DerivativeScope& scope, VertexId v,
                                              std::size_t operand, Cotangent of_result,
                                              std::string_view name, const SignatureWriter& copy) {
  DerivedStatement here(scope, v, operand, of_result, {});
  if (of_result.is_number()) {
    of_result.labels = here.dimension_names();
    return of_result;
  }
  if (here.is_to_be_widened()) {
    const Written wide = copy(scope, here.widened(Text(name) + ".wide"));
    here.set_widened(wide.vertex, wide.writing);
  }
  const auto cotangent = static_cast<int>(scope.graph[v].operands.size());
  const Written written = copy(scope, here.statement(name, {&cotangent, 1}));
  return here.result(written.vertex, written.writing);
}

EINDECOMP_PLANNER_INLINE TangentsOfBlocks tangents_of_blocks(const DerivativeScope& scope,
                                                             VertexId v, const Tangents& tangents,
                                                             std::string_view name,
                                                             const SignatureWriter& copy) {
  const Vertex of = scope.graph[v];  // a copy: the graph grows
  TangentsOfBlocks made;
  std::vector<Text>& labels = made.labels;
  for (const int l : of.output) {
    labels.push_back(
        scope.graph.labels[static_cast<std::size_t>(of.labels[static_cast<std::size_t>(l)])].name);
  }
  StatementSpec& spec = made.spec;
  spec.where = scope.where;
  for (std::size_t k = 0; k < labels.size(); ++k) spec.output.push_back({labels[k], of.bound[k]});
  // Of labels that are here to stay.
  const auto same_name = [&labels](std::string_view label) -> std::string_view {
    return *std::find(labels.begin(), labels.end(), label);
  };
  for (std::size_t o = 0; o < of.operands.size(); ++o) {
    if (!tangents.of_operands[o].has_value()) continue;
    const Cotangent tangent =
        write_whole_tangent(scope, v, o, *tangents.of_operands[o], Text(name) + ".whole", copy);
    const ForwardStatement here(scope, v, o, tangent, {});
    StatementSpec::OperandSpec& operand = spec.operands.emplace_back(here.read_tangent());
    for (std::string_view& label : operand.labels) label = same_name(label);
    for (IndexSpec& index : operand.indices) {
      for (auto& term : index.terms) term.label = same_name(term.label);
    }
  }
  made.is_full = of.op.state.empty() && spec.operands.size() == of.operands.size();
  const bool adds = tangents.own.has_value();
  spec.name = scope.graph.unused_name(adds ? Text(name) + ".blocks" : Text(name));
  return made;
}

EINDECOMP_PLANNER_INLINE void refuse_elements(const DerivativeScope& scope, VertexId v) {
  core::fail(ErrorKind::statement,
             Text("the ") + scope.what + " leads through statement " + scope.graph[v].name +
                 ", which has elements of a type of its own (derivatives are of floating-point and "
                 "complex numbers); convert them by cast, or read it by stop_gradient",
             scope.where);
}
EINDECOMP_PLANNER_INLINE void refuse_complex(const DerivativeScope& scope, VertexId v,
                                             const Text& monoid) {
  core::fail(ErrorKind::statement,
             Text("the aggregation ") + monoid + " of statement " + scope.graph[v].name +
                 " has no derivative by complex numbers (sums of them have one); write it as sums, "
                 "or read its operands by stop_gradient",
             scope.where);
}
EINDECOMP_PLANNER_INLINE void refuse_join(const DerivativeScope& scope, VertexId v,
                                          const Text& join, std::size_t operand) {
  core::fail(ErrorKind::statement,
             Text("the join ") + join + " of statement " + scope.graph[v].name +
                 " has no derivative by its operand " + (static_cast<Extent>(operand) + 1) +
                 "; give it `template <int Operand> auto derivative(operands...) const`, or read "
                 "the operand by stop_gradient",
             scope.where);
}
EINDECOMP_PLANNER_INLINE void refuse_aggregation(const DerivativeScope& scope, VertexId v,
                                                 const Text& monoid) {
  core::fail(ErrorKind::statement,
             Text("the aggregation ") + monoid + " of statement " + scope.graph[v].name +
                 " has no derivative; give it `T derivative(T element, T aggregate) const`, or "
                 "read its operands by stop_gradient",
             scope.where);
}
EINDECOMP_PLANNER_INLINE void refuse_count(const DerivativeScope& scope, VertexId v, int tensors) {
  core::fail(ErrorKind::statement,
             Text("the derivative of statement ") + scope.graph[v].name + " reads " + tensors +
                 " tensors (the limit is 8); write a part of it as a statement of its own",
             scope.where);
}

EINDECOMP_PLANNER_INLINE std::vector<std::optional<Cotangent>> write_cotangents(
    const DerivativeScope& scope, VertexId from, Cotangent seed, const std::vector<VertexId>& to) {
  return CotangentWriter(scope, from, to).run(std::move(seed));
}

EINDECOMP_PLANNER_INLINE std::shared_ptr<const Derivative> derivative_of_statement(
    const DerivativeScope& scope, VertexId v) {
  auto derivative = scope.derivatives[static_cast<std::size_t>(v)];
  if (derivative == nullptr) {
    core::fail(ErrorKind::statement,
               Text("the ") + scope.what + " leads through statement " + scope.graph[v].name +
                   ", which a derivative wrote (the program can be differentiated " + scope.order +
                   (scope.order == 1 ? Text(" time") : Text(" times")) +
                   "); make it a BasicProgram<Differentiable<…, " + (scope.order + 1) + ">>",
               scope.where);
  }
  return derivative;
}

EINDECOMP_PLANNER_INLINE TangentWriter::TangentWriter(const DerivativeScope& scope, VertexId to)
    : m_scope(scope), m_leads(to_index(to) + 1, false), m_tangents(to_index(to) + 1) {
  m_leads[to_index(to)] = true;
  for (VertexId v = to; v >= 0; --v) {
    for (std::size_t o = 0; m_leads[to_index(v)] && o < graph()[v].operands.size(); ++o) {
      if (passes(v, o)) m_leads[to_index(graph()[v].operands[o].vertex)] = true;
    }
  }
}

EINDECOMP_PLANNER_INLINE bool TangentWriter::leads_from(VertexId v) const {
  return to_index(v) < m_leads.size() && m_leads[to_index(v)];
}

EINDECOMP_PLANNER_INLINE bool TangentWriter::give(VertexId v, VertexId tangent, int writing) {
  if (m_tangents[to_index(v)].has_value()) return false;
  m_tangents[to_index(v)] = Cotangent::of_shape(graph(), v, tangent, writing);
  return true;
}

EINDECOMP_PLANNER_INLINE Cotangent TangentWriter::run() {
  for (VertexId v = 0; to_index(v) < m_leads.size(); ++v) {
    if (m_leads[to_index(v)]) push(v);
  }
  return *m_tangents.back();
}

EINDECOMP_PLANNER_INLINE bool TangentWriter::passes(VertexId v, std::size_t o) const {
  if (graph()[v].operands[o].constant) return false;
  const auto& derivative = m_scope.derivatives[to_index(v)];
  return derivative == nullptr || derivative->depends_on(o);
}

EINDECOMP_PLANNER_INLINE void TangentWriter::push(VertexId v) {
  Tangents tangents{{}, m_tangents[to_index(v)]};
  bool has_any = false;
  for (std::size_t o = 0; o < graph()[v].operands.size(); ++o) {
    std::optional<Cotangent> tangent;
    if (passes(v, o)) tangent = m_tangents[to_index(graph()[v].operands[o].vertex)];
    has_any = has_any || tangent.has_value();
    tangents.of_operands.push_back(std::move(tangent));
  }
  if (!has_any) return;
  const Text name = graph()[v].name + ".tangent";
  m_tangents[to_index(v)] = derivative_of_statement(m_scope, v)->push(m_scope, v, tangents, name);
}

}  // namespace eindecomp::graph
