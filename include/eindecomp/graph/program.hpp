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

#include "eindecomp/core/shared.hpp"
#include "eindecomp/expr/affine_index.hpp"
#include "eindecomp/expr/expression.hpp"
#include "eindecomp/expr/functions.hpp"
#include "eindecomp/expr/refusals.hpp"
#include "eindecomp/expr/where.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/tensor_symbol.hpp"

namespace eindecomp {

/// The backend of a program that is planned and never run.
struct NoBackend {
  /// Nothing: a plan-only program has no kernels.
  struct Launcher {};
  /// No kernels, whatever ⊗ and ⊕.
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

namespace graph {
/// What became of the program that owned a state.
enum class ProgramFate : std::uint8_t { in_use, assigned_over, destroyed };

/// What a program keeps of every statement beside its launcher: nothing, unless it can be
/// differentiated (differentiable.hpp).
template <class Backend>
struct StatementRecords {
  constexpr void resize(std::size_t) {}
};

/// Behind a program, at an address that outlives its moves: the program and its symbols share it.
template <class Backend>
struct ProgramState {
  EinGraph graph;
  std::vector<typename Backend::Launcher> launchers;
  [[no_unique_address]] StatementRecords<Backend> records;
  LoweringOptions options;
  ProgramFate fate = ProgramFate::in_use;
  core::ReferenceCount owners;

  /// Makes room for what is kept of so many vertices, or takes it back.
  constexpr void resize(std::size_t vertices) {
    launchers.resize(vertices);
    records.resize(vertices);
  }
  /// Keeps what runs the last statement.
  constexpr void add_launcher(typename Backend::Launcher launcher) {
    resize(graph.vertices.size());
    constexpr bool has_kernels = requires { launcher->traits(); };
    if constexpr (has_kernels) graph.vertices.back().kernel = launcher->traits();
    launchers.back() = std::move(launcher);
  }
};

/// The state that statements of a backend are written into, and the backend of its program.
template <class Backend>
struct StateOf {
  using type = ProgramState<Backend>;
  using Program = Backend;
};
}  // namespace graph

namespace graph {
/// The sentence that refuses to read a tensor of rank Rank under Labels; empty if they fit.
template <int Rank, class... Labels>
[[nodiscard]] constexpr Text rank_fault() {
  if (sizeof...(Labels) == Rank) return {};
  return Text("a tensor of rank ") + Rank + " is given " + sizeof...(Labels) + " labels, " +
         expr::access_text("", LabelList<Labels...>::names()) + "; give each dimension one label";
}
}  // namespace graph

/// The backend that plans of a program run on.
template <class Backend>
struct PlanBackendOf {
  using type = Backend;  ///< its own
};
/// That which a backend names.
template <class Backend>
  requires requires { typename Backend::PlanBackend; }
struct PlanBackendOf<Backend> {
  using type = typename Backend::PlanBackend;  ///< as it says
};

/// A tensor of a program, value type and rank in its type; a cheap handle. Plans and runs of the
/// program, and of copies made after the tensor was written, accept it even after the program is
/// gone. Statements accept it while the program lives; moving a program keeps it alive.
template <Element T, int Rank, class BackendType>
class Symbol : public TensorBase {
 public:
  using value_type = T;  ///< of the elements
  /// What the program's statements run on.
  using Backend = BackendType;
  static constexpr int rank = Rank;  ///< the number of dimensions

  /// \param writing  which of the statements that share the vertex, EinGraph::last_writing().
  constexpr Symbol(graph::ProgramState<Backend>* state, VertexId vertex, int writing = -1)
      : m_state(state),
        m_program_id(state->graph[vertex].program_id),
        m_vertex(vertex),
        m_writing(writing) {}

  /// The same tensor, which gradients take for a constant where it is read as this symbol.
  [[nodiscard]] constexpr Symbol as_constant() const {
    Symbol constant(*this);
    constant.m_constant = true;
    return constant;
  }
  /// Whether gradients take it for a constant.
  [[nodiscard]] constexpr bool is_constant() const { return m_constant; }

  /// The tensor read under labels: `X(i, j)`; one label per dimension.
  template <AnyLabel... Labels>
  [[nodiscard]] constexpr auto operator()(Labels...) const {
    if constexpr (core::accept<graph::rank_fault<Rank, Labels...>>()) {
      return Access<Symbol, Labels...>(*this);
    }
  }
  /// The tensor read at indices that are computed from labels: `X(b, 2 * y + r - 1)`.
  template <class... Indices>
    requires((expr::Index<Indices> && ...) && !(AnyLabel<Indices> && ...))
  [[nodiscard]] constexpr auto operator()(Indices&&... indices) const {
    using Labels =
        UnitedLabels<typename expr::LabelsOfIndex<std::remove_cvref_t<Indices>>::type...>;
    if constexpr (sizeof...(Indices) != Rank) {
      static_assert(expr::never<Indices...>,
                    "EinDecomp: a tensor is given more or fewer indices than it has dimensions; "
                    "give each dimension one");
      return expr::Refused{};
    } else if constexpr (Labels::size == 0) {
      static_assert(
          expr::never<Indices...>,
          "EinDecomp: none of a tensor's indices has a label; give it one that has (of one "
          "element write sum(i)(X(range(i, 3, 4))) in place of X(3))");
      return expr::Refused{};
    } else {
      using Read = expr::IndexedSymbol<Symbol, sizeof...(Indices)>;
      return expr::access_under(Read{*this, {expr::index_spec(indices)...}}, Labels());
    }
  }
  /// The tensor read at indices some of which index tensors hold: `T(I(b, s), d)`.
  template <class... Indices>
    requires expr::IndicesOfGather<Indices...>
  [[nodiscard]] constexpr auto operator()(Indices&&... indices) const {
    return expr::gathered(*this, indices...);
  }
  /// Refuses what is no label.
  template <class... Indices>
    requires(!(expr::Index<Indices> && ...) && !expr::IndicesOfGather<Indices...>)
  constexpr auto operator()(Indices&&...) const {
    return expr::refuse_first_that_is_no_label<Indices...>();
  }
  /// Refuses brackets, which take one label only.
  template <class Index>
  constexpr auto operator[](const Index&) const {
    static_assert(expr::never<Index>,
                  "EinDecomp: labels stand in brackets; write them in parentheses, X(i, j)");
    return expr::Refused{};
  }

  /// The tensor in its graph.
  [[nodiscard]] constexpr VertexId vertex() const { return m_vertex; }
  /// Tells the tensor from those of other programs, Vertex::program_id.
  [[nodiscard]] constexpr std::uint64_t program_id() const { return m_program_id; }
  /// Its name, as reports and errors have it.
  [[nodiscard]] constexpr Text name() const { return m_state.get()->graph[m_vertex].name; }
  /// Which of the statements that share the vertex it was made for, EinGraph::last_writing().
  [[nodiscard]] constexpr int writing() const { return m_writing; }
  /// What the tensor was written into, for those who write statements.
  [[nodiscard]] constexpr graph::ProgramState<Backend>* state() const { return m_state.get(); }

 private:
  core::Shared<graph::ProgramState<Backend>> m_state;
  std::uint64_t m_program_id;
  VertexId m_vertex;
  int m_writing;
  bool m_constant = false;
};

/// A program: statements written into it in index notation (let.hpp), by a string (einsum.hpp) or
/// from labels as data (builder.hpp). Copies are independent: symbols write where they come from,
/// and plans of a copy know the tensors that were there when it was made. One that was moved from
/// can be assigned to or destroyed; all else throws an Error.
template <class BackendType>
class BasicProgram {
 public:
  /// What its statements run on: KokkosBackend, or NoBackend of a program that is only planned.
  using Backend = BackendType;
  /// What its symbols share with it.
  using State = graph::ProgramState<Backend>;

  /// A program without statements; `options` say which rewrites are made as they are written.
  constexpr explicit BasicProgram(LoweringOptions options = {}) : m_state(new State{}) {
    m_state->owners.add();
    m_state->options = options;
  }
  constexpr BasicProgram(const BasicProgram& other) : m_state(new State(*other.state())) {
    m_state->owners.add();
  }
  constexpr BasicProgram(BasicProgram&& other) noexcept
      : m_state(std::exchange(other.m_state, nullptr)) {}
  constexpr BasicProgram& operator=(BasicProgram other) noexcept {
    std::swap(m_state, other.m_state);
    other.let_go(graph::ProgramFate::assigned_over);
    return *this;
  }
  constexpr ~BasicProgram() { let_go(graph::ProgramFate::destroyed); }

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
  /// Refuses extents that do not stand in braces.
  template <Element T, std::integral... Extents>
    requires(sizeof...(Extents) > 0)
  constexpr auto input(std::string_view, Extents...) {
    static_assert(expr::never<T>,
                  "EinDecomp: the extents of an input do not stand in braces; write "
                  "g.input<double>(\"X\", {rows, columns})");
    return expr::Refused{};
  }
  /// Adds an input scalar, a tensor of rank 0.
  template <Element T>
  constexpr Symbol<T, 0, Backend> input(
      std::string_view name, std::source_location where = std::source_location::current()) {
    return add_input<T, 0>(name, {}, where);
  }

  /// The tensor that a symbol of a copy of this program names, in this program: what is written
  /// with `h.symbol(X)` is written into h.
  /// \throws Error if the tensor was not there when the copy was made.
  template <Element T, int Rank>
  [[nodiscard]] constexpr Symbol<T, Rank, Backend> symbol(
      const Symbol<T, Rank, Backend>& tensor,
      std::source_location where = std::source_location::current()) {
    require_mine(tensor, where);
    return {state(where), tensor.vertex(), tensor.writing()};
  }

  /// Makes a tensor a result even if another statement reads it, so that it can be read after a
  /// run. \throws Error if it is an input.
  template <TensorSymbol S>
  constexpr void keep(const S& tensor,
                      std::source_location where = std::source_location::current()) {
    require_mine(tensor, where);
    state()->graph.keep(tensor.vertex(), where);
  }

  /// Says what a label stands for, for strategies that go by role: batch, sequence, head, ….
  template <AnyLabel L>
  constexpr void role(L, std::string_view role,
                      std::source_location where = std::source_location::current()) {
    label_info<L>(where).role = role;
  }
  /// Forbids every strategy to cut a label.
  template <AnyLabel L>
  constexpr void uncut(L, std::source_location where = std::source_location::current()) {
    label_info<L>(where).uncut = true;
  }

  /// The graph of its statements, as rewritten. \throws Error if the program was moved from.
  [[nodiscard]] constexpr const EinGraph& graph(
      std::source_location where = std::source_location::current()) const {
    return state(where)->graph;
  }
  /// The same, for whatever takes a graph.
  // NOLINTNEXTLINE(google-explicit-constructor): a program is its graph to whoever plans.
  [[nodiscard]] constexpr operator const EinGraph&() const { return state()->graph; }
  /// Per vertex, the kernels of its statement.
  [[nodiscard]] constexpr const std::vector<typename Backend::Launcher>& launchers(
      std::source_location where = std::source_location::current()) const {
    return state(where)->launchers;
  }
  /// What symbols of this program share with it. \throws Error if it was moved from.
  [[nodiscard]] constexpr State* state(
      std::source_location where = std::source_location::current()) {
    require_state(where);
    return m_state;
  }
  /// The same, for reading.
  [[nodiscard]] constexpr const State* state(
      std::source_location where = std::source_location::current()) const {
    require_state(where);
    return m_state;
  }

 private:
  template <Element T, int Rank>
  constexpr Symbol<T, Rank, Backend> add_input(std::string_view name, std::vector<Extent> bound,
                                               std::source_location where) {
    State* const here = state(where);
    const VertexId v = here->graph.add_input(name, std::move(bound), element_type<T>(), where);
    here->resize(static_cast<std::size_t>(here->graph.size()));
    return {here, v};
  }

  template <class S>
  constexpr void require_mine(const S& tensor, const std::source_location& where) const {
    if (!graph(where).has(tensor.vertex(), tensor.program_id())) {
      core::fail(ErrorKind::statement,
                 Text("tensor ") + tensor.name() +
                     " belongs to another graph (it was written into another program, or into "
                     "one of two copies after they were made); use the symbols of this one",
                 where);
    }
  }

  constexpr void require_state(const std::source_location& where) const {
    if (m_state != nullptr) return;
    core::fail(ErrorKind::statement,
               "the program was moved from (its statements are in the program it was moved to, "
               "and so are its symbols'); use that one, or assign a program to this first",
               where);
  }

  /// Leaves the state to the symbols that still share it.
  constexpr void let_go(graph::ProgramFate fate) noexcept {
    if (m_state == nullptr) return;
    m_state->fate = fate;
    if (m_state->owners.remove()) delete m_state;
    m_state = nullptr;
  }

  template <class L>
  constexpr LabelInfo& label_info(const std::source_location& where) {
    EinGraph& here = state(where)->graph;
    return here.labels[static_cast<std::size_t>(here.label(L::name))];
  }

  State* m_state;
};

/// A program that can be planned but not run; all of it works in constant expressions.
using PlanProgram = BasicProgram<NoBackend>;

}  // namespace eindecomp
