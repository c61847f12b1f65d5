// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which code computes an EinSum on views, and why.
///
///     std::cout << explain<"abc,dcb->ad">(space, A, B, C);
#pragma once

#include <array>
#include <cmath>
#include <source_location>
#include <string>

#include "eindecomp/kernel/einsum.hpp"

namespace eindecomp {
namespace kernel {

/// A kernel call's path, the product it amounts to, the seconds that were predicted on one thread
/// or on all for each way of the BLAS, and the reason.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] std::string explain(const LocalEinsum& shape) {
  std::string text = "path " + std::string(to_string(path_of<Space, Join, Monoid, Ts...>(shape)));
  if constexpr (sizeof...(Ts) == 2) {
    if (const auto product = detail::contraction(shape)) {
      text += ": batch " + std::to_string(product->batch.size()) + ", M " +
              std::to_string(product->m.size()) + ", N " + std::to_string(product->n.size()) +
              ", K " + std::to_string(product->k.size());
    }
  }
  if constexpr (detail::is_blas_product<Space, Join, Monoid, Ts...>()) {
    using Value = typename Signature<Join, Monoid, Ts...>::Value;
    const detail::ProductChoice choice = detail::choose_product<Value>(Space(), shape, false);
    text += "; " + std::string(choice.reason);
    const auto predicted = [&text](const char* way, double seconds) {
      if (std::isinf(seconds)) return;
      text += std::string("; ") + way + ' ' + std::to_string(seconds * 1e6) + " us predicted";
    };
    predicted("calls where the tensors lie", choice.gemm_seconds);
    predicted("blocks", choice.blocks_seconds);
    if (choice.path == Path::blocks) {
      const detail::BlockPlan& plan = choice.blocks;
      text += "; blocks of " + std::to_string(plan.m.in_tile) + " x " +
              std::to_string(plan.n.in_tile) + " x " + std::to_string(plan.k.in_tile) +
              (plan.swapped ? ", the operands exchanged" : "") + ", transposed:";
      if (plan.matrix[plan.swapped ? 1 : 0].packed) text += " A";
      if (plan.matrix[plan.swapped ? 0 : 1].packed) text += " B";
      if (plan.matrix[2].packed) text += " C";
      if (plan.elements() == 0) text += " none";
    }
  }
  return text;
}

}  // namespace kernel

/// What einsum<Text, AlgebraType>(space, a, b, c) would do, in a sentence; computes nothing.
/// \throws Error, at the caller's line, as einsum does.
template <fixed_string Text, class AlgebraType = PlusTimes, compat::ExecutionSpace Space, class A,
          class B, class C>
  requires(operand_count<Text> == 2)
[[nodiscard]] std::string explain(const Space&, const A& a, const B& b, const C& c,
                                  std::source_location where = std::source_location::current()) {
  using kernel::detail::ViewGeometry;
  const std::array<ViewGeometry, 3> views{ViewGeometry::of(a), ViewGeometry::of(b),
                                          ViewGeometry::of(c)};
  return kernel::explain<Space, typename AlgebraType::Join, typename AlgebraType::Monoid,
                         kernel::detail::ElementOf<A>, kernel::detail::ElementOf<B>>(
      kernel::detail::local_einsum(einsum_shape<Text>(), views, where));
}

}  // namespace eindecomp
