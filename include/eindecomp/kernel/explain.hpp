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

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/kernel/einsum.hpp"

namespace eindecomp {
namespace kernel {

namespace detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// What a copy moves at once, and whether its target stays in cache.
[[nodiscard]] inline std::string describe(const CopySchedule& schedule) {
  std::string text = schedule.gathered ? "short runs gathered into lines"
                     : schedule.planes ? "planes transposed in tiles"
                                       : "runs";
  if (schedule.gathered || schedule.streamed) text += ", past the caches";
  return text;
}

/// The blocks of a product, and which of its matrices are put in order.
template <class T>
[[nodiscard]] std::string describe(const BlockPlan& plan) {
  std::string text = "blocks of " + std::to_string(plan.m.in_tile) + " x " +
                     std::to_string(plan.n.in_tile) + " x " + std::to_string(plan.k.in_tile) +
                     (plan.swapped ? ", the operands exchanged" : "") + ", transposed:";
  if (plan.matrix[plan.swapped ? 1 : 0].packed) text += " A";
  if (plan.matrix[plan.swapped ? 0 : 1].packed) text += " B";
  if (plan.matrix[2].packed) {
    text += output_target<T>(plan) == Target::streamed ? " C, past the caches" : " C";
  }
  if (plan.elements() == 0) text += " none";
  return text;
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace detail

inline namespace EINDECOMP_INSTRUCTION_SET {

/// A kernel call's path, the product it amounts to, the seconds that were predicted on one thread
/// or on all for each way of the BLAS, and the reason. \param operands, output as run_join's, for
/// where they lie.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] std::string explain(const LocalEinsum& shape, const void* const* operands,
                                  void* output) {
  const Path path = path_of<Space, Join, Monoid, Ts...>(shape);
  std::string text = "path " + std::string(to_string(path));
  using Sig = Signature<Join, Monoid, Ts...>;
  using Value = typename Sig::Value;
  if (path == Path::copy) {
    text += ": " + detail::describe(
                       detail::copy_kernel<Space, Value>(shape, operands[0], output).schedule);
  }
  if (path == Path::direct) {
    const detail::JoinSchedule<Sig::operands> schedule(shape, detail::join_tuning<Space>());
    if (detail::streams_outputs<Sig>(schedule, operands, output, Write::finished)) {
      text += ", outputs past the caches";
    }
  }
  if constexpr (detail::reduces_lanes<Join, Monoid, Ts...>() && !compat::is_device<Space>) {
    const detail::JoinSchedule<Sig::operands> schedule(shape, detail::join_tuning<Space>());
    const bool reduced = path == Path::direct || path == Path::split;
    if (reduced && !schedule.one_term() && schedule.contiguous_operands() != 0) {
      text += schedule.across_outputs ? ", vectors of outputs" : ", vectors of terms";
    }
  }
  if constexpr (sizeof...(Ts) == 2) {
    detail::Contraction product;
    if (detail::set_contraction(shape, product)) {
      text += ": batch " + std::to_string(product.batch.size()) + ", M " +
              std::to_string(product.m.size()) + ", N " + std::to_string(product.n.size()) +
              ", K " + std::to_string(product.k.size());
    }
  }
  if constexpr (detail::is_blas_product<Space, Join, Monoid, Ts...>()) {
    const detail::ProductChoice choice = detail::choose_product<Value>(Space(), shape, false);
    text += "; " + std::string(choice.reason);
    const auto predicted = [&text](const char* way, double seconds) {
      if (std::isinf(seconds)) return;
      text += std::string("; ") + way + ' ' + std::to_string(seconds * 1e6) + " us predicted";
    };
    predicted("calls where the tensors lie", choice.gemm_seconds);
    predicted("blocks", choice.blocks_seconds);
    if (choice.path == Path::blocks) text += "; " + detail::describe<Value>(choice.blocks);
  }
  return text;
}

}  // namespace EINDECOMP_INSTRUCTION_SET

namespace detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

template <class AlgebraType, class Space, class Output, class... Operands>
[[nodiscard]] std::string explain_views(const EinsumShape& spec, const std::source_location& where,
                                        const Output& output, const Operands&... operands) {
  const std::array<ViewGeometry, sizeof...(Operands) + 1> views{ViewGeometry::of(operands)...,
                                                                ViewGeometry::of(output)};
  const void* const pointers[] = {operands.data()...};
  return kernel::explain<Space, typename AlgebraType::Join, typename AlgebraType::Monoid,
                         ElementOf<Operands>...>(local_einsum(spec, views, where), pointers,
                                                 output.data());
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace detail
}  // namespace kernel

inline namespace EINDECOMP_INSTRUCTION_SET {

/// What einsum<Text, AlgebraType>(space, a, c) would do, in a sentence; computes nothing.
/// \throws Error, at the caller's line, as einsum does.
/// @{
template <fixed_string Text, class AlgebraType = PlusTimes, compat::ExecutionSpace Space, class A,
          class C>
  requires(operand_count<Text> == 1)
[[nodiscard]] std::string explain(const Space&, const A& a, const C& c,
                                  std::source_location where = std::source_location::current()) {
  return kernel::detail::explain_views<AlgebraType, Space>(einsum_shape<Text>(), where, c, a);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::ExecutionSpace Space, class A,
          class B, class C>
  requires(operand_count<Text> == 2)
[[nodiscard]] std::string explain(const Space&, const A& a, const B& b, const C& c,
                                  std::source_location where = std::source_location::current()) {
  return kernel::detail::explain_views<AlgebraType, Space>(einsum_shape<Text>(), where, c, a, b);
}
/// @}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp
