// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which algorithm computes an EinSum on views, and why.
///
///     std::cout << explain<"abc,dcb->ad">(space, A, B, C);
#pragma once

#include <array>
#include <source_location>
#include <string>

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/kernel/einsum.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"

namespace eindecomp {
namespace kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

template <class AlgebraType, class Space, class Output, class... Operands>
[[nodiscard]] std::string explain_views(const Space& space, const EinsumShape& spec,
                                        const std::source_location& where, const Output& output,
                                        const Operands&... operands) {
  const std::array<StridedTensor, sizeof...(Operands) + 1> views{StridedTensor::of(operands)...,
                                                                 StridedTensor::of(output)};
  const LocalEinsum shape = local_einsum(spec, views, where);
  const void* const pointers[] = {operands.data()...};
  std::string said;
  at_place(where, [&] {
    said = prepare_views<Space, AlgebraType, Operands...>(space, shape, Write::finished)
               ->explain(pointers, output.data());
  });
  return said;
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace kernel::detail

inline namespace EINDECOMP_INSTRUCTION_SET {

/// What einsum<Text, AlgebraType>(space, a, c) would do, in a sentence; computes nothing. Without a
/// space, what einsum without one would.
/// \throws Error, at the caller's line, as einsum does.
/// @{
template <fixed_string Text, class AlgebraType = PlusTimes, compat::ExecutionSpace Space, class A,
          class C>
  requires(operand_count<Text> == 1)
[[nodiscard]] std::string explain(const Space& space, const A& a, const C& c,
                                  std::source_location where = std::source_location::current()) {
  return kernel::detail::explain_views<AlgebraType>(space, einsum_shape<Text>(), where, c, a);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::ExecutionSpace Space, class A,
          class B, class C>
  requires(operand_count<Text> == 2)
[[nodiscard]] std::string explain(const Space& space, const A& a, const B& b, const C& c,
                                  std::source_location where = std::source_location::current()) {
  return kernel::detail::explain_views<AlgebraType>(space, einsum_shape<Text>(), where, c, a, b);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::AnyView A, compat::AnyView C>
  requires(operand_count<Text> == 1)
[[nodiscard]] std::string explain(const A& a, const C& c,
                                  std::source_location where = std::source_location::current()) {
  return explain<Text, AlgebraType>(typename C::execution_space(), a, c, where);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::AnyView A, compat::AnyView B,
          compat::AnyView C>
  requires(operand_count<Text> == 2)
[[nodiscard]] std::string explain(const A& a, const B& b, const C& c,
                                  std::source_location where = std::source_location::current()) {
  return explain<Text, AlgebraType>(typename C::execution_space(), a, b, c, where);
}
/// @}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp
