// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Programs that can be differentiated: gradient.hpp does.
#pragma once

#include <memory>

#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/derivative_of.hpp"

namespace eindecomp {
namespace graph {

/// Keeps the derivative of the last statement, if any is asked for.
template <class Backend, class Join, class Monoid, class... Ts>
void record_derivative(typename StateOf<Backend>::type& state, const Join& join,
                       const Monoid& monoid) {
  if constexpr (Backend::order > 0) {
    using Program = typename StateOf<Backend>::Program;
    state.records.derivatives.back() =
        std::make_shared<const DerivativeOf<Program, Backend::order, Join, Monoid, Ts...>>(join,
                                                                                           monoid);
  }
}

}  // namespace graph

/// A differentiable program that is only planned.
using DifferentiablePlanProgram = BasicProgram<Differentiable<NoBackend>>;

}  // namespace eindecomp
