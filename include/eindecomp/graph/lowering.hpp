// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// From an expression to statements of the graph: types and labels are checked here, where both
/// are known; what follows in the planner has neither.
#pragma once

#include <boost/hana/unpack.hpp>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/flatten.hpp"
#include "eindecomp/expr/mask.hpp"
#include "eindecomp/graph/known_extents.hpp"
#include "eindecomp/graph/lower_selection.hpp"
#include "eindecomp/graph/packed_access.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/graph/separate.hpp"
#include "eindecomp/graph/split_operands.hpp"
#include "eindecomp/graph/statement_writer.hpp"
#include "eindecomp/graph/tuning.hpp"
#include "eindecomp/graph/write_terms.hpp"

namespace eindecomp::graph {

using expr::access_under;

template <class... Ts>
[[nodiscard]] constexpr Text type_list_text() {
  Text text;
  ((text += (text.empty() ? "" : ", "), text += core::type_name<Ts>()), ...);
  return text;
}

/// The sentence that refuses a ⊗ or ⊕ for elements Ts; empty if both fit.
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr Text operator_fault() {
  if constexpr (!expr::is_joinable<Join, Ts...>) {
    return Text("the join ") + core::type_name<Join>() + " cannot take elements of type (" +
           type_list_text<Ts...>() + "); give it a const call operator for them";
  } else {
    using T = expr::JoinedValue<Join, Monoid, Ts...>;
    if constexpr (!Element<T>) {
      return Text("the join ") + core::type_name<Join>() + " returns " + core::type_name<T>() +
             ", which cannot be an element; return a number";
    } else if constexpr (is_foreign_half<T>) {
      return Text("the join ") + core::type_name<Join>() + " returns " + core::type_name<T>() +
             ", and tensors of such 16-bit floating-point numbers are not supported; return float, "
             "ein::float16 or ein::bfloat16";
    } else if constexpr (!promises_commutative_monoid<Monoid>) {
      return Text("the aggregation ") + core::type_name<Monoid>() +
             " is not a commutative monoid (it does not promise so); if it is one, add: static "
             "constexpr bool commutative_monoid = true";
    } else if constexpr (!expr::HasIdentity<Monoid, T>) {
      return Text("the aggregation ") + core::type_name<Monoid>() +
             " is not a commutative monoid on " + core::type_name<T>() +
             " (it has no identity for it)";
    } else if constexpr (!expr::Combines<Monoid, T>) {
      return Text("the aggregation ") + core::type_name<Monoid>() +
             " is not a commutative monoid on " + core::type_name<T>() +
             " (it cannot combine two of them)";
    } else {
      return {};
    }
  }
}

/// What refuses the labels of a statement known to the compiler.
template <class Output, class Aggregated, class... Operands>
[[nodiscard]] constexpr Text label_fault() {
  const std::vector<expr::LabelNames> operands{Operands::names()...};
  Text fault = expr::output_fault(operands, Output::names(), Output::sized());
  if (!fault.empty()) return fault;
  return expr::aggregation_fault(operands, Output::names(), Aggregated::names());
}

/// What refuses the labels whose values a statement takes.
template <class Output, class Values, class... Operands>
[[nodiscard]] constexpr Text value_label_fault() {
  const std::vector<expr::LabelNames> operands{Operands::names()...};
  for (const std::string_view label : Values::names()) {
    if (!expr::in_an_operand(operands, label) && expr::find_name(Output::names(), label) < 0) {
      return expr::value_fault(label);
    }
  }
  return {};
}

/// Whether no rewrite applies to a statement: it aggregates, and both of its two operands have
/// every aggregated label. The code of the rewrites is then not compiled.
template <class Output, class... Operands>
inline constexpr bool is_contraction_of_two = false;
template <class Output, class A, class B>
inline constexpr bool is_contraction_of_two<Output, A, B> = [] {
  bool aggregates = false;
  bool shared = true;
  const auto look_at = [&](const expr::LabelNames& labels, const expr::LabelNames& others) {
    for (std::string_view name : labels) {
      if (expr::find_name(Output::names(), name) >= 0) continue;
      aggregates = true;
      shared = shared && expr::find_name(others, name) >= 0;
    }
  };
  look_at(A::names(), B::names());
  look_at(B::names(), A::names());
  return aggregates && shared;
}();

/// A statement as it is being lowered: where and under which name.
template <class Backend>
struct LoweringScope {
  ProgramState<Backend>* state;
  Text name;
  std::source_location where;
  int inner = 0;              ///< operands that became statements of their own so far
  KnownExtents extents = {};  ///< of the labels of what is being lowered
};
template <class Backend>  // which clang deduces for aggregates since 17 only
LoweringScope(ProgramState<Backend>*, Text, std::source_location)->LoweringScope<Backend>;

/// Refuses a tensor of a program that is no more, and one of another.
constexpr void require_program(ProgramFate fate, bool is_same, std::string_view name,
                               std::string_view tensor, const std::source_location& where) {
  if (fate != ProgramFate::in_use) {
    const std::string_view what = fate == ProgramFate::destroyed ? "destroyed" : "assigned over";
    core::fail(ErrorKind::statement, where, "statement ", name, " reads tensor ", tensor,
               ", whose program was ", what,
               " (its symbols serve plans and runs of it, and no new statements); use the symbols "
               "of a program that is there");
  }
  if (is_same) return;
  core::fail(ErrorKind::statement, where, "statement ", name, " reads tensor ", tensor,
             ", which belongs to another graph; write both into one program");
}
/// Refuses a tensor that was written into another program, or into one that is no more.
template <class Backend, class S>
constexpr void require_same_program(const LoweringScope<Backend>& scope, std::string_view name,
                                    const S& symbol) {
  const auto& state = *symbol.state();
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(state)>, ProgramState<Backend>>) {
    require_program(state.fate, &state == scope.state, name, state.graph[symbol.vertex()].name,
                    scope.where);
  } else {
    static_assert(expr::never<S>,
                  "EinDecomp: a statement reads tensors of programs of two kinds (as a Program and "
                  "a DifferentiableProgram are); write both into one program");
  }
}

/// What a statement with these operators reads. \param first  whether as its first operand
template <class Join, class Monoid, class S, class... Ls>
[[nodiscard]] constexpr StatementSpec::OperandSpec operand_spec(const Access<S, Ls...>& access,
                                                                bool first) {
  StatementSpec::OperandSpec spec;
  spec.vertex = access.symbol.vertex();
  spec.labels = LabelList<Ls...>::names();
  spec.writing = access.symbol.writing();
  // Elsewhere it would keep what is computed alike from being shared.
  if constexpr (requires { S::Backend::order; }) spec.constant = access.symbol.is_constant();
  if constexpr (requires { access.symbol.indices; }) {
    spec.indices.assign(access.symbol.indices.begin(), access.symbol.indices.end());
    using T = typename S::value_type;
    spec.ignored =
        first ? ignored_value<Join, Monoid, T, true> : ignored_value<Join, Monoid, T, false>;
    spec.absorbing = spec.ignored != OutsideValue::none;
  }
  return spec;
}

/// Whether a statement of these operands, and of as many values of labels, has a kernel or may be
/// written so.
template <class Join, class Monoid, bool AsItIs, int Values, class... Accesses>
[[nodiscard]] constexpr bool has_few_operands() {
  constexpr int operands = static_cast<int>(sizeof...(Accesses)) + Values;
  if constexpr (operands <= max_operands) {
    return true;
  } else if constexpr (!AsItIs && Values == 0 && operands <= tuning::max_split_operands &&
                       !(expr::is_computed<Accesses> || ...)) {
    // Asked only here: a join that takes values, too, cannot even be asked.
    if constexpr (expr::is_joinable<Join, typename Accesses::Symbol::value_type...>) {
      return Rewritable<typename UnscaledJoin<Join>::type, Monoid,
                        typename Accesses::Symbol::value_type...>::value;
    }
  }
  return false;
}

/// ⊕ ⊗ of some accesses under explicit output labels, as it is handed to a graph.
template <class Output, class Join, class Monoid, class Backend, class... Accesses>
[[nodiscard]] constexpr StatementSpec statement_spec(const LoweringScope<Backend>& scope,
                                                     std::string_view name,
                                                     const std::vector<Extent>& extents,
                                                     const Accesses&... accesses) {
  (require_same_program(scope, name, accesses.symbol), ...);
  StatementSpec spec;
  spec.name = name;
  (spec.operands.push_back(operand_spec<Join, Monoid>(accesses, spec.operands.empty())), ...);
  const expr::LabelNames output = Output::names();
  for (std::size_t k = 0; k < output.size(); ++k) spec.output.push_back({output[k], extents[k]});
  spec.where = scope.where;
  return spec;
}

/// Of as many labels whose values are taken.
template <class Backend, class Join, class Monoid, class Values, class... Ts>
struct WriterOf;
template <class Backend, class Join, class Monoid, class... Values, class... Ts>
struct WriterOf<Backend, Join, Monoid, LabelList<Values...>, Ts...> {
  template <class>
  struct Number {  // a class: nvcc loses packs that an alias forgets
    using type = expr::LabelNumber;
  };
  using type = StatementWriter<Backend, Join, Monoid, Ts..., typename Number<Values>::type...>;
  static constexpr bool accepted =
      core::accept<operator_fault<Join, Monoid, Ts..., typename Number<Values>::type...>>();
};

/// Writes ⊕ ⊗ of some accesses, and of the values of some labels, under explicit output labels,
/// once the compiler has checked them. \tparam AsItIs  without rewrites
/// \param masked  of ⊗
template <class Output, class Aggregated, class Values, bool AsItIs, class Backend, class Join,
          class Monoid, class... Accesses>
[[nodiscard]] constexpr auto write_statement(const LoweringScope<Backend>& scope,
                                             std::string_view name, const Join& join,
                                             const Monoid& monoid,
                                             const std::vector<Extent>& extents,
                                             const expr::Masked& masked,
                                             const Accesses&... accesses) {
  using Writers = WriterOf<Backend, Join, Monoid, Values, typename Accesses::Symbol::value_type...>;
  if constexpr (!has_few_operands<Join, Monoid, AsItIs, Values::size, Accesses...>()) {
    static_assert(
        expr::never<Accesses...>,
        "EinDecomp: a statement has more than 8 operands, and no parts of it can be computed "
        "before (every read of a tensor counts, X(i) + X(i) as two; an aggregation inside it and "
        "the value of a label count once); write part of it as a statement of its own");
    return expr::Refused{};
  } else if constexpr (core::accept<
                           label_fault<Output, Aggregated, typename Accesses::LabelTypes...>>() &&
                       core::accept<
                           value_label_fault<Output, Values, typename Accesses::LabelTypes...>>() &&
                       Writers::accepted) {
    StatementSpec spec = statement_spec<Output, Join, Monoid>(scope, name, extents, accesses...);
    if constexpr (Values::size > 0) {
      spec.values = Values::names();
      spec.mask = masked.by_factors;
      spec.op.annihilates = masked.by_operands;
      for (std::size_t o = 0; o < masked.operands.size(); ++o) {
        spec.operands[o].mask = masked.operands[o];
      }
    }

    using Writer = typename Writers::type;
    const Writer writer(*scope.state, join, monoid);
    VertexId written = -1;
    if constexpr (AsItIs || Values::size > 0 ||
                  is_contraction_of_two<Output, typename Accesses::LabelTypes...>) {
      written = writer.write_as_it_is(spec);
    } else {
      written = writer.write(spec);
    }
    return Symbol<typename Writer::Result, Output::size, Backend>(
        scope.state, written, scope.state->graph.last_writing());
  }
}

/// Whether ⊕ ⊗ has a value that stands for what is read outside of a tensor. No part of ⊗ has it.
template <class Join, class Monoid, class... Ts>
inline constexpr bool ignores_a_value = false;
template <class Join, class Monoid, class T, class... Ts>
inline constexpr bool ignores_a_value<Join, Monoid, T, Ts...> =
    ignored_value<Join, Monoid, T, true> != OutsideValue::none ||
    ((ignored_value<Join, Monoid, Ts, false> != OutsideValue::none) || ...);

/// Writes ⊕ of an expression without aggregations.
/// \tparam Reorders  whether its chains may be rounded in another order
template <class Output, class Aggregated, bool AsItIs, bool Reorders, class Backend, class Monoid,
          class E>
[[nodiscard]] constexpr auto write_flat(LoweringScope<Backend>& scope, std::string_view name,
                                        const Monoid& monoid, const std::vector<Extent>& extents,
                                        const E& flat) {
  using Values = typename expr::TreeTraits<E>::ValueLabels;
  return boost::hana::unpack(expr::accesses_of(flat), [&](const auto&... accesses) {
    const auto join = expr::functor_of<Reorders>(flat);
    using Join = std::remove_const_t<decltype(join)>;
    if constexpr (!AsItIs && operand_count < E >> max_operands &&
                  !has_few_operands<Join, Monoid, AsItIs, Values::size,
                                    std::decay_t<decltype(accesses)>...>() &&
                  !(expr::is_computed<E> &&
                    ignores_a_value<
                        Join, Monoid,
                        typename std::decay_t<decltype(accesses)>::Symbol::value_type...>)) {
      expr::LabelNames labels;
      const Vertex whole = resolved_as_written(
          scope.state->graph,
          statement_spec<Output, Join, Monoid>(scope, name, extents, accesses...), labels);
      scope.extents.add(labels, whole.extents);
      const auto split = split_operands<(Aggregated::size > 0)>(scope, flat);
      return boost::hana::unpack(expr::accesses_of(split), [&](const auto&... parts) {
        using Left = typename expr::TreeTraits<std::remove_const_t<decltype(split)>>::ValueLabels;
        return write_statement<Output, Aggregated, Left, false>(
            scope, name, expr::functor_of<Reorders>(split), monoid, extents, expr::masked(split),
            parts...);
      });
    } else {
      return write_statement<Output, Aggregated, Values, AsItIs>(scope, name, join, monoid, extents,
                                                                 expr::masked(flat), accesses...);
    }
  });
}

/// Checks the statement that an expression would be if nothing were separated from it, so that no
/// message speaks of tensors that rewriting made up.
template <class Output, class Monoid, class Backend, class E>
constexpr void check_flat(const LoweringScope<Backend>& scope, std::string_view name,
                          const std::vector<Extent>& extents, const E& flat) {
  boost::hana::unpack(expr::accesses_of(flat), [&](const auto&... accesses) {
    expr::LabelNames names;
    (void)resolved_as_written(
        scope.state->graph,
        statement_spec<Output, Identity, Monoid>(scope, name, extents, accesses...), names);
  });
}

/// Lowers ⊕ of an expression under explicit output labels.
template <class Output, class Aggregated, class Backend, class Monoid, class Body>
[[nodiscard]] constexpr auto lower_statement(LoweringScope<Backend>& scope, std::string_view name,
                                             const Monoid& monoid,
                                             const std::vector<Extent>& extents, const Body& body) {
  if constexpr (reads_packed<Body>) {
    return lower_packed<Output, Aggregated>(scope, name, monoid, extents,
                                            body);  // lower_packed.hpp
  } else if constexpr (expr::is_selection<Body>) {
    return lower_selection<Output, Aggregated>(scope, name, monoid, extents, body);
  } else if constexpr (requires { typename Body::IsOfBlocks; }) {
    return lower_blocks<Output, Aggregated>(scope, name, monoid, extents, body);  // blocks.hpp
  } else if constexpr (std::is_same_v<Monoid, NoAggregation> &&
                       expr::is_sum_of_contractions<Body>) {
    using T = expr::Elements<Body>;
    if constexpr (is_one_contraction<Output, Body>) {
      return write_terms<Output, T>(scope, name, expr::Unscaled{}, body).symbol;
    } else {
      const auto sum = write_terms<Output, T>(scope, {}, expr::Unscaled{}, body);
      return write_flat<Output, LabelList<>, false, true>(scope, name, monoid, extents, sum);
    }
  } else {
    const auto flat = materialise(scope, body);
    using Flat = std::remove_const_t<decltype(flat)>;
    constexpr bool aggregates = !std::is_same_v<Monoid, NoAggregation>;
    if constexpr (expr::is_as_written<Body>) {
      return write_flat<Output, Aggregated, true, false>(scope, name, monoid, extents, flat);
    } else if constexpr (expr::is_separable_sum<Monoid, Aggregated, Flat>) {
      check_flat<Output, Monoid>(scope, name, extents, flat);
      return write_flat<Output, LabelList<>, false, true>(
          scope, name, NoAggregation{}, extents, separate_terms<Aggregated>(scope, monoid, flat));
    } else if constexpr (expr::is_divided_sum<Monoid, Aggregated, Flat>) {
      check_flat<Output, Monoid>(scope, name, extents, flat);
      const auto sum =
          statement_of<Aggregated>(scope, monoid, flat.operands[boost::hana::size_c<0>]);
      return write_flat<Output, LabelList<>, false, true>(
          scope, name, NoAggregation{}, extents,
          expr::apply(Div{}, sum, flat.operands[boost::hana::size_c<1>]));
    } else if constexpr (expr::is_separable_quotient<Monoid, Flat>) {
      check_flat<Output, Monoid>(scope, name, extents, flat);
      return write_flat<Output, Aggregated, false, aggregates>(
          scope, name, monoid, extents, separated(scope, expr::with_reciprocal(flat)));
    } else if constexpr (expr::is_mixed_product<Monoid, Flat>) {
      check_flat<Output, Monoid>(scope, name, extents, flat);
      return write_flat<Output, Aggregated, false, aggregates>(
          scope, name, monoid, extents, separated(scope, expr::with_converted_factors(flat)));
    } else if constexpr (expr::is_separable_product<Monoid, Flat>) {
      check_flat<Output, Monoid>(scope, name, extents, flat);
      return write_flat<Output, Aggregated, false, aggregates>(scope, name, monoid, extents,
                                                               separated(scope, flat));
    } else if constexpr (expr::is_masked_product<Monoid, Flat>) {
      check_flat<Output, Monoid>(scope, name, extents, flat);
      return write_flat<Output, Aggregated, false, aggregates>(scope, name, monoid, extents,
                                                               separate_masks(scope, flat));
    } else {
      return write_flat<Output, Aggregated, false, aggregates>(scope, name, monoid, extents, flat);
    }
  }
}

/// Replaces every aggregation inside an expression by an access to a statement of its own.
template <class Backend, class S, class... Ls>
[[nodiscard]] constexpr auto materialise_node(LoweringScope<Backend>&,
                                              const Access<S, Ls...>& access) {
  return access;
}
template <class Backend, class L>
[[nodiscard]] constexpr auto materialise_node(LoweringScope<Backend>&, const LabelValue<L>& label) {
  return label;
}
template <class Backend, class T>
[[nodiscard]] constexpr auto materialise_node(LoweringScope<Backend>& scope,
                                              const Constant<T>& constant) {
  if (!constant.held) {
    core::fail(ErrorKind::statement, scope.where, "statement ", scope.name, " has a scalar that ",
               expr::element_text(element_type<T>()),
               " cannot hold (scalars take the type of the tensors they meet); convert the tensor "
               "before, as in ",
               std::is_integral_v<T> ? "cast<std::int64_t>(X(i))" : "cast<double>(X(i))");
  }
  return constant;
}
template <class Backend, class F, class... Es>
[[nodiscard]] constexpr auto materialise_node(LoweringScope<Backend>& scope,
                                              const Apply<F, Es...>& node) {
  return boost::hana::unpack(node.operands, [&](const auto&... es) {
    // Braces, for left-to-right order: the order of statements must not depend on the compiler.
    return Apply<F, decltype(materialise(scope, es))...>{node.op, materialise(scope, es)...};
  });
}
template <class Backend, class Monoid, class Aggregated, class Body>
[[nodiscard]] constexpr auto materialise_node(LoweringScope<Backend>& scope,
                                              const Aggregation<Monoid, Aggregated, Body>& node) {
  return statement_of<Aggregated>(scope, node.monoid, node.body);
}
template <class Backend, class Body>
[[nodiscard]] constexpr auto materialise_node(LoweringScope<Backend>& scope,
                                              const AsWritten<Body>& node) {
  return materialise(scope, node.body);
}
template <class Backend, class E>
[[nodiscard]] constexpr auto materialise(LoweringScope<Backend>& scope, const E& expression) {
  return materialise_node(scope, expression);
}

template <class Output, class Backend, class E>
[[nodiscard]] constexpr auto lower_top(LoweringScope<Backend>& scope,
                                       const std::vector<Extent>& extents, const E& expression) {
  if constexpr (!is_plain<E>) scope.extents.add(*scope.state, expression);
  return lower_statement<Output, LabelList<>>(scope, scope.name, NoAggregation{}, extents,
                                              expression);
}
template <class Output, class Backend, class M, class A, class B>
[[nodiscard]] constexpr auto lower_top(LoweringScope<Backend>& scope,
                                       const std::vector<Extent>& extents,
                                       const Aggregation<M, A, B>& node) {
  if constexpr (!is_plain<B>) scope.extents.add(*scope.state, node.body);
  return lower_statement<Output, A>(scope, scope.name, node.monoid, extents, node.body);
}

/// Lowers `let<name>(Output) = expression`.
template <class Output, class E>
[[nodiscard]] constexpr auto lower(std::string_view name, const std::vector<Extent>& extents,
                                   const E& expression, const std::source_location& where) {
  auto* const state = expression.program();
  static_assert(!std::is_null_pointer_v<decltype(expression.program())>,
                "EinDecomp: the statement reads no tensor; a constant is not an EinSum");
  Transaction transaction(*state);
  LoweringScope scope{state, state->graph.unused_name(name), where};
  scope.extents.add(Output::names(), extents);
  const auto symbol = lower_top<Output>(scope, extents, expression);
  state->graph.name_last_writing(name);
  transaction.commit();
  return symbol;
}

}  // namespace eindecomp::graph
