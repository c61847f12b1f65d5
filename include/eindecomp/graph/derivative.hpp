// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a program that can be differentiated keeps of its statements.
///
/// Operators are types, and a gradient is asked for when they are gone. So a program that is to be
/// differentiated says so in its type, and beside the launcher of every statement it keeps the
/// statement's derivative behind a pointer: one type per operator signature, as launchers. A
/// program of any other type keeps and compiles nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/expr/weak_scalar.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/graph/recomputation.hpp"

namespace eindecomp {

/// The backend of programs that can be differentiated: statements run as on Base.
/// \tparam Order  how many times: a gradient's own statements can be differentiated once less, so
///   that no derivative is compiled of which nobody asks for one.
template <class Base, int Order = 1>
struct Differentiable {
  static_assert(Order >= 1, "EinDecomp: a program is differentiable once at least");
  /// As Base's.
  using Launcher = typename Base::Launcher;
  /// What plans of the program run on.
  using PlanBackend = Base;
  static constexpr int order = Order;  ///< how many times
  /// The launcher of ⊗ = join over elements Ts and ⊕ = monoid.
  template <class Join, class Monoid, class... Ts>
  [[nodiscard]] static Launcher make(Join join, Monoid monoid) {
    return Base::template make<Join, Monoid, Ts...>(std::move(join), std::move(monoid));
  }
};

namespace graph {

/// The cotangent of a tensor Z: the derivative of the loss by each element. It is a number, the
/// same for all elements, or a tensor that may lack dimensions of Z along which it is constant.
struct Cotangent {
  double value = 0;          ///< of every element, if there is no tensor
  VertexId vertex = -1;      ///< the tensor, or -1
  int writing = -1;          ///< EinGraph::last_writing() of the tensor
  std::vector<int> dims;     ///< per dimension of the tensor, which one it is of Z
  std::vector<Text> labels;  ///< per dimension of Z, a label that stands for it
  [[nodiscard]] bool is_number() const { return vertex < 0; }

  /// A tensor of the shape of tensor `of`, in its dimensions' order.
  [[nodiscard]] static Cotangent of_shape(const EinGraph& graph, VertexId of, VertexId tensor,
                                          int writing) {
    Cotangent c{0, tensor, writing, {}, {}};
    const Vertex& v = graph[of];
    for (int k = 0; k < v.rank(); ++k) {
      c.dims.push_back(k);
      if (v.is_input()) {
        c.labels.push_back(Text("d") + k);
      } else {
        const int label = v.labels[static_cast<std::size_t>(v.output[static_cast<std::size_t>(k)])];
        c.labels.push_back(graph.labels[static_cast<std::size_t>(label)].name);
      }
    }
    return c;
  }
};

/// The tangents that a statement's result has its own from: derivatives of tensors along others,
/// as tensors that may lack dimensions too.
struct Tangents {
  std::vector<std::optional<Cotangent>> of_operands;  ///< one per operand, if it has one
  std::optional<Cotangent> own;                       ///< that of the result, if it is given one
  /// How many there are.
  [[nodiscard]] int count() const {
    int n = own.has_value() ? 1 : 0;
    for (const auto& tangent : of_operands) n += tangent.has_value() ? 1 : 0;
    return n;
  }
};

/// Whether elements T have derivatives: floating-point and complex numbers.
template <class T>
inline constexpr bool has_derivatives = std::is_floating_point_v<Widened<T>> || expr::is_complex<T>;

class Derivative;

/// What the statements of one gradient share, whatever they are run on.
struct DerivativeScope {
  DerivativeScope(EinGraph& into, const std::vector<std::shared_ptr<const Derivative>>& known,
                  int times, const std::source_location& from)
      : graph(into), derivatives(known), order(times), where(from) {}
  DerivativeScope(const DerivativeScope&) = delete;  // it is the base of one that knows the program
  DerivativeScope& operator=(const DerivativeScope&) = delete;

  EinGraph& graph;
  /// Per vertex, how it is differentiated; nothing if it is an input or cannot be.
  const std::vector<std::shared_ptr<const Derivative>>& derivatives;
  int order;  ///< how many times the program can be differentiated
  std::source_location where;
  /// Writes a tensor of rank 0, of the loss' type.
  std::function<Cotangent(double value)> constant;
  std::string_view what = "gradient";      ///< what is asked for
  Recomputation* recomputation = nullptr;  ///< what is read in the place of tensors not kept

  /// Lets the last statement be run and differentiated as statement v.
  virtual void keep_as(VertexId v) = 0;

  /// The tensor that statements read in the place of one of the forward pass.
  [[nodiscard]] VertexId read(VertexId v) const {
    return recomputation == nullptr ? v : (*recomputation)(v);
  }

 protected:
  ~DerivativeScope() = default;
};

/// The same, with what the statements are written into.
template <class Backend>
struct GradientScope final : DerivativeScope {
  ProgramState<Backend>& state;
  GradientScope(ProgramState<Backend>& into, const std::source_location& from)
      : DerivativeScope(into.graph, into.records.derivatives, Backend::order, from), state(into) {}
  void keep_as(VertexId v) override {
    state.resize(graph.vertices.size());
    const auto at = static_cast<std::size_t>(v);
    state.launchers.back() = state.launchers[at];
    state.records.derivatives.back() = state.records.derivatives[at];
  }
};

/// How one statement is differentiated.
class Derivative {
 public:
  Derivative() = default;
  Derivative(const Derivative&) = delete;
  Derivative& operator=(const Derivative&) = delete;
  virtual ~Derivative() = default;

  /// Whether a change of an operand's elements changes the result's, in the eyes of derivatives.
  [[nodiscard]] virtual bool depends_on(std::size_t operand) const = 0;
  /// Writes what an operand of statement v contributes to its cotangent, given v's.
  [[nodiscard]] virtual Cotangent pull(const DerivativeScope& scope, VertexId v,
                                       std::size_t operand, Cotangent of_result,
                                       std::string_view name) const = 0;
  /// Writes the tangent of statement v.
  [[nodiscard]] virtual Cotangent push(const DerivativeScope& scope, VertexId v,
                                       const Tangents& tangents, std::string_view name) const = 0;
  /// Writes the sum of two cotangents of an operand.
  [[nodiscard]] virtual Cotangent add(const DerivativeScope& scope, std::size_t operand,
                                      const Cotangent& a, const Cotangent& b,
                                      std::string_view name) const = 0;
};

/// Writes into a program of backend B statements that can be differentiated Order times more.
template <class B, int Order>
struct AtOrder {
  using Launcher = typename B::Launcher;
  static constexpr int order = Order;
  template <class Join, class Monoid, class... Ts>
  [[nodiscard]] static Launcher make(Join join, Monoid monoid) {
    return B::template make<Join, Monoid, Ts...>(std::move(join), std::move(monoid));
  }
};
template <class B, int Order>
struct StateOf<AtOrder<B, Order>> {
  using type = ProgramState<B>;
  using Program = B;
};

template <class Base, int Order>
struct StatementRecords<Differentiable<Base, Order>> {
  std::vector<std::shared_ptr<const Derivative>> derivatives;
  std::vector<VertexId> checkpoints;
  void resize(std::size_t size) { derivatives.resize(size); }
};

}  // namespace graph
}  // namespace eindecomp
