// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Writes one statement of known operators into a program, after the rewrites its algebra allows.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/functor_record.hpp"
#include "eindecomp/expr/joined.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/graph/rewrite.hpp"

namespace eindecomp::graph {

using expr::JoinedValue;

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
  requires(distributes_over<Join, Monoid>&& expr::is_reorderable<Join, T> &&
           (std::is_same_v<T, Rest> && ...))
struct Rewritable<Join, Monoid, T, Rest...>
    : std::bool_constant<std::is_same_v<JoinedValue<Join, Monoid, T, T>, T> &&
                         std::is_same_v<typename MonoidTraits<Monoid, T>::State, T>> {};

/// What is known of a statement's operators by their types.
struct OperatorFacts {
  bool distributive;  ///< Operator::distributive
  bool finishes;      ///< Operator::finishes
  bool gives_index;   ///< the result is the value of a label, of the only one that is aggregated
  int index_tensors;  ///< Operator::index_tensors
  unsigned skipped_indices;    ///< Operator::skipped_indices
  bool annihilates;            ///< Operator::annihilates
  bool passes_zeros;           ///< ⊕ passes over 0, or nothing is aggregated
  bool adds;                   ///< Operator::adds
  bool passes;                 ///< Operator::passes
  bool is_sum;                 ///< ⊕ is +
  bool has_state;              ///< ⊕ has state, so that two of its type may differ
  std::string_view aggregate;  ///< the name of ⊕
  ElementType element;         ///< of the result
  ElementType partial;         ///< of an accumulator
  const void* type;            ///< one address per type of operators
};

/// Those of ⊗ = Join of elements Ts and ⊕ = Monoid.
template <class Join, class Monoid, class... Ts>
inline constexpr OperatorFacts operator_facts = [] {
  using Joined = JoinedValue<Join, Monoid, Ts...>;
  using Traits = MonoidTraits<Monoid, Joined>;
  using Unscaled = typename UnscaledJoin<Join>::type;
  return OperatorFacts{
      .distributive =
          distributes_over<Unscaled, Monoid> && (expr::is_reorderable<Unscaled, Ts> && ...),
      .finishes = Traits::finishes || !std::is_same_v<typename Traits::State, Joined> ||
                  !std::is_same_v<typename Traits::State, typename Traits::Result>,
      .gives_index = Traits::uses_index,
      .index_tensors = expr::index_tensors<Join>,
      .skipped_indices = expr::skipped_indices<Join>,
      .annihilates = expr::annihilates<Join, Monoid>,
      .passes_zeros = expr::passes_over_zero<Monoid>,
      // Read once each: one that stands twice in the sum is one operand.
      .adds =
          std::is_same_v<Monoid, NoAggregation> && (std::is_same_v<Ts, Joined> && ...) &&
          (std::is_same_v<Join, Add> || added_operands<Join> == static_cast<int>(sizeof...(Ts))),
      .passes = std::is_same_v<Join, Identity>,
      .is_sum = std::is_same_v<Monoid, Sum>,
      .has_state = !std::is_empty_v<Monoid>,
      .aggregate = expr::functor_name<Monoid>(),
      .element = element_type<typename Traits::Result>(),
      .partial = element_type<typename Traits::State>(),
      .type = &expr::type_tag<Signature<Join, Monoid, Ts...>>};
}();

/// Adds a statement of known operators, or finds an earlier one that computes the same if those are
/// shared. \throws Error if it gives the value of a label and does not aggregate one.
[[nodiscard]] constexpr VertexId add_operators(EinGraph& graph, StatementSpec spec,
                                               const expr::FunctorRecord& join,
                                               const OperatorFacts& facts, bool share) {
  Operator& op = spec.op;
  op.join = join.text;
  op.state = join.state;
  op.aggregate = facts.aggregate;
  op.distributive = facts.distributive;
  op.finishes = facts.finishes;
  op.index_tensors = facts.index_tensors;
  op.skipped_indices = facts.skipped_indices;
  op.annihilates = (op.annihilates && facts.passes_zeros) || facts.annihilates;
  if (!facts.passes_zeros) spec.mask.clear();
  op.adds = facts.adds;
  op.passes = facts.passes;
  op.sums = facts.is_sum && !facts.finishes && facts.index_tensors == 0;
  op.type = join.is_whole && !facts.has_state ? facts.type : nullptr;
  spec.element = facts.element;
  spec.partial = facts.partial;
  if (facts.gives_index) {
    if (const int labels = aggregated_label_count(spec); labels != 1) {
      core::fail(ErrorKind::statement,
                 Text("statement ") + spec.name + " aggregates " + labels + " labels by " +
                     op.aggregate + " (it gives an index along one label); aggregate one label",
                 spec.where);
    }
  }
  return share ? graph.add_or_share_statement(spec) : graph.add_statement(spec);
}

/// The same of programs that run; with EINDECOMP_SEPARATE_PLANNER, the caller's translation unit
/// does not compile it.
VertexId add_statement_at_run_time(EinGraph& graph, const StatementSpec& spec,
                                   const expr::FunctorRecord& join, const OperatorFacts& facts,
                                   bool share);
#ifndef EINDECOMP_SEPARATE_PLANNER
inline VertexId add_statement_at_run_time(EinGraph& graph, const StatementSpec& spec,
                                          const expr::FunctorRecord& join,
                                          const OperatorFacts& facts, bool share) {
  return add_operators(graph, spec, join, facts, share);
}
#endif

/// The same of any program.
[[nodiscard]] constexpr VertexId add_statement(EinGraph& graph, const StatementSpec& spec,
                                               const expr::FunctorRecord& join,
                                               const OperatorFacts& facts, bool share) {
  return std::is_constant_evaluated() ? add_operators(graph, spec, join, facts, share)
                                      : add_statement_at_run_time(graph, spec, join, facts, share);
}

/// Writes statements with join Join and monoid Monoid over operands of elements Ts.
template <class Backend, class Join, class Monoid, class... Ts>
class StatementWriter {
  using BareJoin = typename UnscaledJoin<Join>::type;

 public:
  /// The type of the statement's final elements.
  using Result = typename MonoidTraits<Monoid, JoinedValue<Join, Monoid, Ts...>>::Result;

  using State = typename StateOf<Backend>::type;

  constexpr StatementWriter(State& state, const Join& join, const Monoid& monoid)
      : m_state(state), m_join(join), m_monoid(monoid) {}

  /// \returns the vertex that holds the statement's result, an earlier one if it computes the same.
  constexpr VertexId write(const StatementSpec& spec) const {
    if constexpr (Rewritable<BareJoin, Monoid, Ts...>::value) {
      if (spec.values.empty()) {
        return write_rewritten(m_state.graph, m_state.options, spec, Rewritten(*this));
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
  constexpr VertexId emit(const StatementSpec& spec, const J& join, const M& monoid) const {
    expr::FunctorRecord joins;
    expr::record(join, joins);
    const int before = m_state.graph.size();
    const VertexId v = add_statement(m_state.graph, spec, joins, operator_facts<J, M, Us...>,
                                     m_state.options.share_subexpressions);
    if (v < before) return v;
    m_state.add_launcher(Backend::template make<J, M, Us...>(join, monoid));
    if constexpr (requires { Backend::order; }) {
      record_derivative<Backend, J, M, Us...>(m_state, join, monoid);
    }
    return v;
  }

  template <class J, class T>
  constexpr VertexId emit_pair(const StatementSpec& pair, const J& join, bool aggregates) const {
    return aggregates ? emit<J, Monoid, T, T>(pair, join, m_monoid)
                      : emit<J, NoAggregation, T, T>(pair, join, NoAggregation{});
  }

  /// What a statement is rewritten to.
  class Rewritten final : public RewriteTarget {
   public:
    constexpr explicit Rewritten(const StatementWriter& writer) : m_writer(writer) {}

    [[nodiscard]] constexpr bool is_split() const override { return StatementWriter::is_split; }
    constexpr VertexId write(const StatementSpec& spec) const override {
      return m_writer.write_as_it_is(spec);
    }
    constexpr VertexId write_aggregate(const StatementSpec& spec) const override {
      return m_writer.template emit<Identity, Monoid, T>(spec, Identity{}, m_writer.m_monoid);
    }
    constexpr VertexId write_pair(const StatementSpec& spec, bool last,
                                  bool aggregates) const override {
      if constexpr (sizeof...(Ts) == 1) {
        return write(spec);  // is not asked for
      } else {
        return last ? m_writer.template emit_pair<Join, T>(spec, m_writer.m_join, aggregates)
                    : m_writer.template emit_pair<BareJoin, T>(spec, BareJoin{}, aggregates);
      }
    }

   private:
    using T = std::tuple_element_t<0, std::tuple<Ts...>>;
    const StatementWriter& m_writer;
  };

  State& m_state;
  const Join& m_join;
  const Monoid& m_monoid;
};

}  // namespace eindecomp::graph
