// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What expressions are written into: an EinGraph and, per statement, what runs it.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/expr/expression.hpp"
#include "eindecomp/graph/ein_graph.hpp"

namespace eindecomp {

/// The backend of a program that is planned and never run.
struct NoBackend {
  /// Nothing: a plan-only program has no kernels.
  struct Launcher {};
  template <class Join, class Monoid, class... Ts>
  static constexpr Launcher make(const Join&, const Monoid&) {
    return {};
  }
};

/// The rewrites applied as statements are written. Costs are those of the graph that results.
struct LoweringOptions {
  /// A product of more than two tensors becomes binary statements in the cheapest order, where the
  /// algebra allows.
  bool order_contractions = true;
  /// An aggregated label that one operand alone has is aggregated there first, likewise.
  bool aggregate_private_labels = true;
  /// Statements that compute the same are one vertex.
  bool share_subexpressions = true;
};

namespace detail {
/// Behind a program, at an address that outlives its moves: symbols point here.
template <class Backend>
struct ProgramState {
  EinGraph graph;
  std::vector<typename Backend::Launcher> launchers;
  LoweringOptions options;
};
}  // namespace detail

namespace detail {
/// The sentence that refuses to read a tensor of rank Rank under Labels; empty if they fit.
template <int Rank, class... Labels>
[[nodiscard]] constexpr Text rank_fault() {
  if (sizeof...(Labels) == Rank) return {};
  return Text("a tensor of rank ") + to_text(Rank) + " is given " + to_text(sizeof...(Labels)) +
         " labels, " + access_text("", LabelList<Labels...>::names()) +
         "; give each dimension one label";
}
}  // namespace detail

/// A tensor of a program, value type and rank in its type; a cheap handle. It must not outlive the
/// program it was written into; it may be used with a plan, a run or a copy of that program.
template <Element T, int Rank, class BackendType>
class Symbol {
 public:
  using value_type = T;
  using Backend = BackendType;
  static constexpr int rank = Rank;

  constexpr Symbol(detail::ProgramState<Backend>* state, VertexId vertex)
      : m_state(state), m_identity(state->graph.identity()), m_vertex(vertex) {}

  /// The tensor read under labels: `X(i, j)`; one label per dimension.
  template <AnyLabel... Labels>
  [[nodiscard]] constexpr auto operator()(Labels...) const {
    if constexpr (detail::accept<detail::rank_fault<Rank, Labels...>>()) {
      return Access<Symbol, Labels...>(*this);
    }
  }

  [[nodiscard]] constexpr VertexId vertex() const { return m_vertex; }
  /// Of the graph it belongs to.
  [[nodiscard]] constexpr std::uint64_t identity() const { return m_identity; }
  [[nodiscard]] constexpr const Text& name() const { return m_state->graph[m_vertex].name; }
  [[nodiscard]] constexpr detail::ProgramState<Backend>* state() const { return m_state; }

 private:
  detail::ProgramState<Backend>* m_state;
  std::uint64_t m_identity;
  VertexId m_vertex;
};

/// A program: statements written into it in index notation (let.hpp), by a string (einsum.hpp) or
/// from labels as data (builder.hpp). Copies are independent and keep the graph's identity.
template <class BackendType>
class BasicProgram {
 public:
  using Backend = BackendType;
  using State = detail::ProgramState<Backend>;

  constexpr explicit BasicProgram(LoweringOptions options = {}) : m_state(new State{}) {
    m_state->options = options;
  }
  constexpr BasicProgram(const BasicProgram& other) : m_state(new State(*other.m_state)) {}
  constexpr BasicProgram(BasicProgram&& other) noexcept
      : m_state(std::exchange(other.m_state, nullptr)) {}
  constexpr BasicProgram& operator=(BasicProgram other) noexcept {
    std::swap(m_state, other.m_state);
    return *this;
  }
  constexpr ~BasicProgram() { delete m_state; }

  /// Adds an input tensor of elements T.
  /// \throws Error if an extent is not positive, the element count overflows or the name is taken.
  template <Element T, std::size_t Rank>
  constexpr Symbol<T, static_cast<int>(Rank), Backend> input(
      std::string_view name, const Extent (&bound)[Rank],
      std::source_location where = std::source_location::current()) {
    static_assert(Rank <= max_rank, "EinDecomp: a tensor has at most 8 dimensions");
    return add_input<T, static_cast<int>(Rank)>(name, std::vector<Extent>(bound, bound + Rank),
                                                where);
  }
  /// Adds an input scalar, a tensor of rank 0.
  template <Element T>
  constexpr Symbol<T, 0, Backend> input(
      std::string_view name, std::source_location where = std::source_location::current()) {
    return add_input<T, 0>(name, {}, where);
  }

  /// Makes a tensor a result even if another statement reads it, so that it can be read after a
  /// run.
  template <Element T, int Rank>
  constexpr void keep(Symbol<T, Rank, Backend> tensor,
                      std::source_location where = std::source_location::current()) {
    require_mine(tensor, where);
    m_state->graph.vertices[static_cast<std::size_t>(tensor.vertex())].kept = true;
  }

  /// Says what a label stands for, for strategies that go by role: batch, sequence, head, ….
  template <AnyLabel L>
  constexpr void role(L, std::string_view role) {
    label_info<L>().role = role;
  }
  /// Forbids every strategy to cut a label.
  template <AnyLabel L>
  constexpr void uncut(L) {
    label_info<L>().uncut = true;
  }

  [[nodiscard]] constexpr const EinGraph& graph() const { return m_state->graph; }
  // NOLINTNEXTLINE(google-explicit-constructor): a program is its graph to whoever plans.
  [[nodiscard]] constexpr operator const EinGraph&() const { return m_state->graph; }
  /// Per vertex, the kernels of its statement.
  [[nodiscard]] constexpr const std::vector<typename Backend::Launcher>& launchers() const {
    return m_state->launchers;
  }
  [[nodiscard]] constexpr State* state() const { return m_state; }

 private:
  template <Element T, int Rank>
  constexpr Symbol<T, Rank, Backend> add_input(std::string_view name, std::vector<Extent> bound,
                                               std::source_location where) {
    const VertexId v = m_state->graph.add_input(name, std::move(bound), element_type<T>(), where);
    m_state->launchers.resize(static_cast<std::size_t>(m_state->graph.size()));
    return {m_state, v};
  }

  template <class S>
  constexpr void require_mine(const S& tensor, const std::source_location& where) const {
    if (tensor.identity() != m_state->graph.identity()) {
      detail::fail(ErrorKind::statement,
                   Text("tensor ") + tensor.name() + " belongs to another graph", where);
    }
  }

  template <class L>
  constexpr LabelInfo& label_info() {
    return m_state->graph.labels[static_cast<std::size_t>(m_state->graph.label(L::name))];
  }

  State* m_state;
};

/// A program that can be planned but not run; all of it works in constant expressions.
using PlanProgram = BasicProgram<NoBackend>;

}  // namespace eindecomp
