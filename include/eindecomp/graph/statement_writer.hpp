// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Writes one statement of known operators into a program, after the rewrites its algebra allows.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/graph/contraction_order.hpp"
#include "eindecomp/graph/program.hpp"

namespace eindecomp::graph {

/// The element type a join of elements Ts has, as stored.
template <class Join, class... Ts>
using JoinResult = Stored<std::decay_t<std::invoke_result_t<const Join&, const Ts&...>>>;

/// Takes back what was written to a program since it was made, unless commit() is called.
template <class Backend>
class Transaction {
 public:
  constexpr explicit Transaction(ProgramState<Backend>& state)
      : m_state(state),
        m_vertices(state.graph.vertices.size()),
        m_labels(state.graph.labels.size()),
        m_writing(state.graph.last_writing()) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  constexpr ~Transaction() {
    if (m_committed) return;
    m_state.graph.take_back(m_vertices, m_labels, m_writing);
    m_state.resize(m_vertices);
  }
  constexpr void commit() { m_committed = true; }

 private:
  ProgramState<Backend>& m_state;
  std::size_t m_vertices;
  std::size_t m_labels;
  int m_writing;
  bool m_committed = false;
};

/// A statement as the user wrote it, all rules checked, so that no message speaks of tensors that
/// rewriting made up. `names` becomes those of Vertex::labels.
constexpr Vertex checked(EinGraph& graph, const StatementSpec& spec, expr::LabelNames& names) {
  check_labels(graph, spec, spec.name);
  const std::size_t labels_before = graph.labels.size();
  Vertex v;
  v.name = spec.name;
  resolve_operands(graph, spec, v, names);
  resolve_output(graph, spec, v, names);
  graph.labels.resize(labels_before);
  return v;
}

/// Names one operator signature, for type_tag.
template <class Join, class Monoid, class... Ts>
struct Signature;

/// ⊗ without the scalar that only the last of several joins applies.
template <class Join>
struct UnscaledJoin {
  using type = Join;
};
template <class Factor>
struct UnscaledJoin<ScaledMul<Factor>> {
  using type = Mul;
};

/// How many operands a join of nothing but additions adds; 0 if it is none.
template <class Join>
inline constexpr int added_operands = 0;
template <>
inline constexpr int added_operands<Add> = 2;
template <class T>
inline constexpr int added_terms = added_operands<T>;
template <int I>
inline constexpr int added_terms<Arg<I>> = 1;
template <class... Children>
inline constexpr int added_operands<Composed<Add, Children...>> =
    ((added_terms<Children> > 0) && ...) ? (added_terms<Children> + ...) : 0;

/// Whether operands Ts may be joined in any order and aggregated early. Operands of one type only:
/// promoting early would change what an integer product holds.
template <class Join, class Monoid, class... Ts>
struct Rewritable : std::false_type {};
template <class Join, class Monoid, class T, class... Rest>
  requires(distributes_over<Join, Monoid>&& is_associative_commutative<Join> &&
           (std::is_same_v<T, Rest> && ...))
struct Rewritable<Join, Monoid, T, Rest...>
    : std::bool_constant<std::is_same_v<JoinResult<Join, T, T>, T> &&
                         std::is_same_v<typename MonoidTraits<Monoid, T>::State, T>> {};

/// Writes statements with join Join and monoid Monoid over operands of elements Ts.
template <class Backend, class Join, class Monoid, class... Ts>
class StatementWriter {
  using BareJoin = typename UnscaledJoin<Join>::type;

 public:
  /// The type of the statement's final elements.
  using Result = typename MonoidTraits<Monoid, JoinResult<Join, Ts...>>::Result;

  using State = typename StateOf<Backend>::type;

  constexpr StatementWriter(State& state, const Join& join, const Monoid& monoid)
      : m_state(state), m_join(join), m_monoid(monoid) {}

  /// \returns the vertex that holds the statement's result, an earlier one if it computes the same.
  constexpr VertexId write(StatementSpec spec) const {
    if constexpr (Rewritable<BareJoin, Monoid, Ts...>::value) {
      if (!spec.values.empty()) return write_as_it_is(spec);
      if (m_state.options.aggregate_private_labels) aggregate_private_labels(spec);
      const auto is_computed = [](const auto& operand) { return !operand.indices.empty(); };
      if (is_split || (spec.operands.size() > 2 && m_state.options.order_contractions &&
                       std::none_of(spec.operands.begin(), spec.operands.end(), is_computed))) {
        return write_in_order(spec);
      }
      if constexpr (sizeof...(Ts) == 2) {
        // All aggregated labels were private, and are gone.
        if (aggregated_labels(spec) == 0) {
          return emit<Join, NoAggregation, Ts...>(spec, m_join, NoAggregation{});
        }
      }
    }
    return write_as_it_is(spec);
  }

  /// The same without rewrites.
  /// \throws Error if it has more operands than a kernel.
  constexpr VertexId write_as_it_is(const StatementSpec& spec) const {
    if constexpr (is_split) {
      core::fail(ErrorKind::statement,
                 Text("statement ") + spec.name + " of " + spec.operands.size() +
                     " operands cannot be written two operands at a time (an intermediate would "
                     "have more than " +
                     max_rank + " dimensions, or the statement has more than " +
                     max_ordered_labels + " labels); write a part of it as a statement of its own",
                 spec.where);
    } else {
      return emit<Join, Monoid, Ts...>(spec, m_join, m_monoid);
    }
  }

 private:
  /// No kernel has so many operands: the statement is joined two at a time, whatever the options.
  static constexpr bool is_split = sizeof...(Ts) > static_cast<std::size_t>(max_operands);

  template <class J, class M, class... Us>
  constexpr VertexId emit(StatementSpec spec, const J& join, const M& monoid) const {
    using Joined = JoinResult<J, Us...>;
    using Traits = MonoidTraits<M, Joined>;
    spec.op.join = expr::describe(join);
    spec.op.aggregate = expr::describe(monoid);
    spec.op.distributive = is_associative_commutative<typename UnscaledJoin<J>::type> &&
                           distributes_over<typename UnscaledJoin<J>::type, M>;
    const bool comparable = expr::append_state(join, spec.op.state) && std::is_empty_v<M>;
    spec.op.type = comparable ? &expr::type_tag<Signature<J, M, Us...>> : nullptr;
    spec.op.finishes = Traits::finishes || !std::is_same_v<typename Traits::State, Joined> ||
                       !std::is_same_v<typename Traits::State, typename Traits::Result>;
    spec.op.index_tensors = expr::index_tensors<J>;
    // Read once each: one that stands twice in the sum is one operand.
    spec.op.adds = std::is_same_v<M, NoAggregation> && (std::is_same_v<Us, Joined> && ...) &&
                   (std::is_same_v<J, Add> || added_operands<J> == static_cast<int>(sizeof...(Us)));
    spec.op.sums = std::is_same_v<M, Sum> && !spec.op.finishes && spec.op.index_tensors == 0;
    spec.element = element_type<typename Traits::Result>();
    spec.partial = element_type<typename Traits::State>();

    EinGraph& graph = m_state.graph;
    if constexpr (Traits::uses_index) {
      if (const int labels = aggregated_labels(spec); labels != 1) {
        core::fail(ErrorKind::statement,
                   Text("statement ") + spec.name + " aggregates " + labels + " labels by " +
                       spec.op.aggregate +
                       " (it gives an index along one label); aggregate one label",
                   spec.where);
      }
    }
    const int before = graph.size();
    VertexId v = -1;
    if (m_state.options.share_subexpressions) {
      v = graph.add_or_share_statement(spec);
      if (v < before) return v;
    } else {
      v = graph.add_statement(spec);
    }
    m_state.resize(static_cast<std::size_t>(graph.size()));
    auto& launcher = m_state.launchers.back();
    launcher = Backend::template make<J, M, Us...>(join, monoid);
    constexpr bool has_kernels = requires { launcher->traits(); };
    if constexpr (has_kernels) graph.vertices.back().kernel = launcher->traits();
    if constexpr (requires { Backend::order; }) {
      record_derivative<Backend, J, M, Us...>(m_state, join, monoid);
    }
    return v;
  }

  /// How many labels of the operands the output lacks.
  [[nodiscard]] static constexpr int aggregated_labels(const StatementSpec& spec) {
    return static_cast<int>(
        expr::aggregated_names(operand_labels(spec), graph::output_labels(spec)).size());
  }

  /// Replaces every operand that alone has an aggregated label by its own aggregation.
  constexpr void aggregate_private_labels(StatementSpec& spec) const {
    if (spec.operands.size() < 2) return;
    expr::LabelNames names;
    (void)checked(m_state.graph, spec, names);
    const expr::LabelNames output = output_labels(spec);
    for (std::size_t o = 0; o < spec.operands.size(); ++o) {
      if (!spec.operands[o].indices.empty()) continue;  // others may size its labels
      StatementSpec inner;
      bool has_private = false;
      for (std::string_view name : spec.operands[o].labels) {
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
      inner.operands.push_back(spec.operands[o]);
      inner.where = spec.where;
      write_aggregated(spec.operands[o], inner);
    }
  }

  constexpr void write_aggregated(StatementSpec::OperandSpec& operand,
                                  const StatementSpec& inner) const {
    using T = std::tuple_element_t<0, std::tuple<Ts...>>;
    operand.vertex = emit<Identity, Monoid, T>(inner, Identity{}, m_monoid);
    operand.writing = m_state.graph.last_writing();
    operand.labels.clear();
    for (const auto& out : inner.output) operand.labels.push_back(out.label);
  }

  /// Joins the operands two at a time.
  constexpr VertexId write_in_order(const StatementSpec& spec) const {
    using T = std::tuple_element_t<0, std::tuple<Ts...>>;
    expr::LabelNames names;
    const Vertex v = checked(m_state.graph, spec, names);
    if (v.labels.size() > static_cast<std::size_t>(max_ordered_labels)) {
      return write_as_it_is(spec);
    }
    std::vector<LabelSet> sets;
    for (const Operand& operand : v.operands) {
      LabelSet set = 0;
      for (int l : operand.labels) set |= LabelSet{1} << l;
      sets.push_back(set);
    }
    LabelSet output = 0;
    for (int l : v.output) output |= LabelSet{1} << l;
    const ContractionOrder order = contraction_order(sets, output, v.extents);
    if (order.pairs.empty()) return write_as_it_is(spec);

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
          if ((kept >> l & 1U) != 0) {
            pair.output.push_back({names[l], 0});
          }
        }
        sets.push_back(kept);
      }
      // An operand that was joined is needed no more.
      const LabelSet joined = sets[at_a] | sets[at_b];
      const bool aggregates = last ? (joined & ~output) != 0 : (joined & ~sets.back()) != 0;
      sets[at_a] = sets[at_b] = 0;
      const VertexId result = last ? emit_pair<Join, T>(pair, m_join, aggregates)
                                   : emit_pair<BareJoin, T>(pair, BareJoin{}, aggregates);
      if (last) return result;
      StatementSpec::OperandSpec operand;
      operand.vertex = result;
      operand.writing = m_state.graph.last_writing();
      for (const auto& out : pair.output) operand.labels.push_back(out.label);
      open.push_back(operand);
    }
    return -1;  // not reached: there are at least two operands
  }

  template <class J, class T>
  constexpr VertexId emit_pair(const StatementSpec& pair, const J& join, bool aggregates) const {
    return aggregates ? emit<J, Monoid, T, T>(pair, join, m_monoid)
                      : emit<J, NoAggregation, T, T>(pair, join, NoAggregation{});
  }

  State& m_state;
  const Join& m_join;
  const Monoid& m_monoid;
};

}  // namespace eindecomp::graph
