// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Programs that can be differentiated: gradient.hpp does.
#pragma once

#include <memory>

#include "eindecomp/core/make_as.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/derivative_of.hpp"
#include "eindecomp/graph/derivative_of_blocks.hpp"
#include "eindecomp/graph/derivative_of_where.hpp"

namespace eindecomp {
namespace graph {

/// A template of derivatives, whose type is not looked at before it is chosen.
template <template <class, int, class, class, class...> class Of, class Program, int Order>
struct Deferred {
  template <class Join, class Monoid, class... Ts>
  using type = Of<Program, Order, Join, Monoid, Ts...>;
};

/// Keeps the derivative of the last statement, if any is asked for.
template <class Backend, class Join, class Monoid, class... Ts>
void record_derivative(typename StateOf<Backend>::type& state, const Join& join,
                       const Monoid& monoid) {
  if constexpr (Backend::order > 0) {
    using Program = typename StateOf<Backend>::Program;
    using Of = std::conditional_t<(expr::index_tensors<Join> > 0),
                                  Deferred<DerivativeOfWhere, Program, Backend::order>,
                                  Deferred<DerivativeOf, Program, Backend::order>>;
    state.records.derivatives.back() =
        core::make_shared_as<Derivative, typename Of::template type<Join, Monoid, Ts...>>(join,
                                                                                          monoid);
  }
}

}  // namespace graph

/// A differentiable program that is only planned.
using DifferentiablePlanProgram = BasicProgram<Differentiable<NoBackend>>;

}  // namespace eindecomp
