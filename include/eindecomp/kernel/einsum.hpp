// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// One EinSum on Kokkos views in one process: no graph, no plan, no MPI.
///
///     einsum<"ij,jk->ik">(A, B, C);                    // C = A·B
///     einsum<"ij,jk->ik">(space, A, B, C);             // the same, on a space of the caller's
///     einsum<"ij,jk->ik", MinPlus>(space, W, W, D);    // D(i,k) = min_j W(i,j) + W(j,k)
///     auto t = einsum<"ii">(space, A);                 // a new view of rank 0: the trace
///     einsum<"ij,jk->ik">(space, {.alpha = 2.0, .beta = 1.0}, A, B, C);  // C = C + 2·A·B
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/fixed_string.hpp"
#include "eindecomp/core/located.hpp"
#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/einsum_string.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/kernel/dispatch.hpp"
#include "eindecomp/kernel/einsum_geometry.hpp"
#include "eindecomp/kernel/element_types.hpp"
#include "eindecomp/kernel/large_pages.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"
#include "eindecomp/kernel/workspace.hpp"

namespace eindecomp {

/// The scalars of C = beta·C + alpha·Σ…, as the BLAS has them; beta = 0 does not read C. Whether
/// alpha = 0 reads the operands is not promised, nor what becomes of elements that are no numbers.
template <class T>
struct Scaling {
  T alpha{1};  ///< of the EinSum
  T beta{0};   ///< of what C holds before
};

namespace kernel::detail {
template <class T>
inline constexpr bool is_scaling = false;
template <class T>
inline constexpr bool is_scaling<Scaling<T>> = true;

inline namespace EINDECOMP_INSTRUCTION_SET {

template <class View>
using ElementOf = typename View::non_const_value_type;

template <class... Views>
using ElementOfLast = ElementOf<std::tuple_element_t<sizeof...(Views) - 1, std::tuple<Views...>>>;

/// The signature of an algebra on operands of these views.
template <class AlgebraType, class... Operands>
using ViewSignature =
    Signature<typename AlgebraType::Join, typename AlgebraType::Monoid, ElementOf<Operands>...>;

/// The kernels of the same.
template <class Space, class AlgebraType, class... Operands>
decltype(auto) view_kernels() {
  return kernels_of<Space, typename AlgebraType::Join, typename AlgebraType::Monoid,
                    ElementOf<Operands>...>();
}

/// An EinSum of these views made ready.
template <class Space, class AlgebraType, class... Operands>
[[nodiscard]] std::unique_ptr<const PreparedKernel<Space>> prepare_views(const Space& space,
                                                                         const LocalEinsum& shape,
                                                                         Write write) {
  return view_kernels<Space, AlgebraType, Operands...>().prepare(space, shape, {}, {}, write);
}

/// The view that einsum allocates for its result.
template <class Space, class T, int Rank>
using ResultView = Kokkos::View<typename DataType<T, Rank>::type, typename Space::array_layout,
                                typename Space::memory_space>;

/// What einsum returns where it refuses to compile.
struct NoView {};

template <class Space, class AlgebraType, class Output, class... Operands>
constexpr void check_views() {
  static_assert((compat::is_view<Operands> && ...) && compat::is_view<Output>,
                "EinDecomp: operands and output of einsum are Kokkos::Views");
  static_assert((compat::accessible<Space, typename Operands::memory_space> && ...) &&
                    compat::accessible<Space, typename Output::memory_space>,
                "EinDecomp: the execution space cannot reach the memory of every view");
  static_assert(!std::is_const_v<typename Output::value_type>,
                "EinDecomp: the output of einsum is a view of constant elements");
  constexpr bool is_result =
      std::is_same_v<ElementOf<Output>, typename ViewSignature<AlgebraType, Operands...>::Result>;
  static_assert(is_result || Half<ElementOf<Output>>,
                "EinDecomp: the output's element type is not what the algebra makes of the "
                "operands'");
  static_assert(is_result || !Half<ElementOf<Output>>,
                "EinDecomp: the output of einsum is of 16-bit numbers (what is computed from them "
                "is float); give a view of float, or write a program that casts");
}

/// Whether the labels of a string fit the ranks of views, the output's rank -1 if there is none.
template <class... Operands>
[[nodiscard]] consteval bool ranks_agree(const EinsumShape& spec, int output_rank) {
  constexpr int rank[] = {compat::rank_of<Operands>...};
  for (int t = 0; t < spec.operands; ++t) {
    if (spec.rank[t] != rank[t]) return false;
  }
  return output_rank < 0 || spec.output_rank == output_rank;
}

/// As einsum_views, the output first.
template <class Space, class AlgebraType, class Output, class... Operands>
void join_views(const Space& space, const EinsumShape& spec, const AlgebraType& algebra,
                const std::source_location& where, const Output& output,
                const Operands&... operands) {
  check_views<Space, AlgebraType, Output, Operands...>();
  if constexpr (uses_index_of_element<typename AlgebraType::Monoid>) {
    check_one_aggregated(spec, where);
  }
  const std::array<StridedTensor, sizeof...(Operands) + 1> views{StridedTensor::of(operands)...,
                                                                 StridedTensor::of(output)};
  const LocalEinsum shape = local_einsum(spec, views, where);
  const void* const pointers[] = {operands.data()...};
  at_place(where, [&] {
    view_kernels<Space, AlgebraType, Operands...>().run(space, shape, algebra.join, algebra.monoid,
                                                        pointers, output.data(), Write::finished);
  });
}

/// As einsum_scaled, the output first.
template <class Space, class T, class Output, class... Operands>
void join_scaled(const Space& space, const EinsumShape& spec, const Scaling<T>& scaling,
                 const std::source_location& where, const Output& output,
                 const Operands&... operands) {
  using Product = ScaledMul<T>;
  static_assert(
      std::is_same_v<ElementOf<Output>, T> && (std::is_same_v<ElementOf<Operands>, T> && ...),
      "EinDecomp: with alpha and beta all views have one element type");
  static_assert(std::is_same_v<typename Signature<Product, Sum, ElementOf<Operands>...>::Result, T>,
                "EinDecomp: alpha and beta are for elements whose products are of their own type, "
                "not for integers of 8 and numbers of 16 bits");
  check_views<Space, Algebra<Product, Sum>, Output, Operands...>();
  const std::array<StridedTensor, sizeof...(Operands) + 1> views{StridedTensor::of(operands)...,
                                                                 StridedTensor::of(output)};
  const LocalEinsum shape = local_einsum(spec, views, where);
  const void* const pointers[] = {operands.data()...};
  if (scaling.beta != T(0) && scaling.beta != T(1)) check_read_before_scaled(spec, views, where);
  at_place(where, [&] {
    kernels_of<Space, Product, Sum, ElementOf<Operands>...>().run_scaled(
        space, shape, Product{scaling.alpha}, scaling.beta, pointers, output.data());
  });
}

/// Calls use(output, operands...) with views of which the output is the last.
template <class Use, class... Views>
void with_output_first(const Use& use, const Views&... views) {
  const std::tuple<const Views&...> all(views...);
  constexpr std::size_t operands = sizeof...(Views) - 1;
  [&]<std::size_t... T>(std::index_sequence<T...>) {
    use(std::get<operands>(all), std::get<T>(all)...);
  }
  (std::make_index_sequence<operands>{});
}

template <fixed_string Text, class AlgebraType, class Space, class Output, class... Operands>
void einsum_into(const Space& space, const std::source_location& where, const Output& output,
                 const Operands&... operands) {
  constexpr EinsumShape spec = einsum_shape<Text>();
  static_assert(spec.labels <= max_labels, "EinDecomp: an einsum string has at most 24 labels");
  check_views<Space, AlgebraType, Output, Operands...>();
  static_assert(ranks_agree<Operands...>(spec, compat::rank_of<Output>),
                "EinDecomp: a view's rank is not the number of its labels in the einsum string");
  static_assert(
      !uses_index_of_element<typename AlgebraType::Monoid> || aggregated_labels(spec) <= 1,
      "EinDecomp: an aggregation that gives an index along one label is given several");
  join_views(space, spec, AlgebraType{}, where, output, operands...);
}

template <fixed_string Text, class AlgebraType, class Space, class... Operands>
[[nodiscard]] auto einsum_new(const Space& space, const std::source_location& where,
                              const Operands&... operands) {
  constexpr EinsumShape spec = einsum_shape<Text>();
  static_assert(ranks_agree<Operands...>(spec, -1),
                "EinDecomp: a view's rank is not the number of its labels in the einsum string");
  using Result = typename ViewSignature<AlgebraType, Operands...>::Result;
  using View = ResultView<Space, Result, spec.output_rank>;
  LabelExtents extents(spec);
  int t = 0;
  (extents.add(spec, t++, StridedTensor::of(operands), where), ...);
  check_result_extents(spec, extents, where);
  View output;
  try {
    output = [&]<std::size_t... K>(std::index_sequence<K...>) {
      return View(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "EinDecomp::einsum"),
                  static_cast<std::size_t>(extents.extent[spec.output[K]])...);
    }
    (std::make_index_sequence<static_cast<std::size_t>(spec.output_rank)>{});
  } catch (const std::exception& cause) {
    throw_no_memory(spec, extents, cause.what(), where);
  }
  prefer_large_pages(output);
  einsum_into<Text, AlgebraType>(space, where, output, operands...);
  return output;
}

template <class AlgebraType, class Space, class Output, class... Operands>
[[nodiscard]] std::int64_t einsum_workspace(const Space& space, const EinsumShape& spec,
                                            const std::source_location& where, const Output& output,
                                            const Operands&... operands) {
  const std::array<StridedTensor, sizeof...(Operands) + 1> views{StridedTensor::of(operands)...,
                                                                 StridedTensor::of(output)};
  const LocalEinsum shape = local_einsum(spec, views, where);
  const auto bytes = [&]<class Called>() {
    std::int64_t most = 0;
    at_place(where, [&] {
      for (const Write write : {Write::finished, Write::accumulate}) {
        const auto kernel = prepare_views<Space, Called, Operands...>(space, shape, write);
        most = std::max<std::int64_t>(most, kernel->workspace_bytes());
      }
    });
    return most;
  };
  const std::int64_t own = bytes.template operator()<AlgebraType>();
  using T = ElementOf<Output>;
  if constexpr (std::is_same_v<AlgebraType, PlusTimes> &&
                (std::is_same_v<ElementOf<Operands>, T> && ...)) {
    // What a call with alpha and beta computes may be done by another algorithm.
    return std::max(own, bytes.template operator()<Algebra<ScaledMul<T>, Sum>>());
  } else {
    return own;
  }
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace kernel::detail

inline namespace EINDECOMP_INSTRUCTION_SET {

/// The last of `views`, the output, = ⊕ ⊗(the others, the operands) with the labels of `spec`,
/// which may be made at run time.
///
/// Views may have any layout and rank up to 8, be constant or unmanaged, and have extents of 0: an
/// aggregation over nothing gives the identity of ⊕. The output may be an operand's own memory
/// where the EinSum is element-wise and both have the same labels. Launches on `space` and does not
/// fence.
/// \param spec  of a string: einsum_shape<"ij->i">(), or einsum_shape(text) at run time
/// \throws Error, at the caller's line, if ranks or extents disagree, a view is null, elements of
///   the output share a place or the output overlaps an operand.
template <compat::ExecutionSpace Space, class AlgebraType, class... Views>
  requires(sizeof...(Views) >= 2 && (compat::is_view<Views> && ...))
void einsum_views(const Space& space, const core::Located<EinsumShape>& spec,
                  const AlgebraType& algebra, const Views&... views) {
  kernel::detail::with_output_first(
      [&](const auto& output, const auto&... operands) {
        kernel::detail::join_views(space, spec.value, algebra, spec.where, output, operands...);
      },
      views...);
}

/// output = beta·output + alpha·Σ Π(operands) with the labels of `spec`, which may be made at run
/// time; the last of `views` is the output. All elements are of one type. Without a temporary; as
/// einsum_views otherwise.
template <compat::ExecutionSpace Space, class... Views>
  requires(sizeof...(Views) >= 2 && (compat::is_view<Views> && ...))
void einsum_scaled(const Space& space, const core::Located<EinsumShape>& spec,
                   const Scaling<kernel::detail::ElementOfLast<Views...>>& scaling,
                   const Views&... views) {
  kernel::detail::with_output_first(
      [&](const auto& output, const auto&... operands) {
        kernel::detail::join_scaled(space, spec.value, scaling, spec.where, output, operands...);
      },
      views...);
}

}  // namespace EINDECOMP_INSTRUCTION_SET

/// How many operands an einsum string has.
template <fixed_string Text>
inline constexpr int operand_count = einsum_shape<Text>().operands;

inline namespace EINDECOMP_INSTRUCTION_SET {

/// C = the EinSum of a string over views, by default with products and sums, of one to four
/// operands: `einsum<"ij,jk->ik">(space, A, B, C)`.
///
/// As einsum_views; a string that breaks a rule, or whose labels are not the views' ranks, does
/// not compile. Not collective; does not fence. Three and four operands are one loop nest over all
/// labels, as written: a product of several matrices is not split into products of two, as that of
/// a program is; write two calls, or a program.
/// \tparam Text         a label per dimension of every operand, "->", and those of C.
/// \tparam AlgebraType  an Algebra<⊗, ⊕> without run-time state, such as MinPlus.
/// \throws Error, at the caller's line, if extents disagree, a view is null or C overlaps an
///   operand.
/// @{
template <fixed_string Text, class AlgebraType = PlusTimes, compat::ExecutionSpace Space, class A,
          class C>
  requires(operand_count<Text> == 1)
void einsum(const Space& space, const A& a, const C& c,
            std::source_location where = std::source_location::current()) {
  kernel::detail::einsum_into<Text, AlgebraType>(space, where, c, a);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::ExecutionSpace Space, class A,
          class B, class C>
  requires(operand_count<Text> == 2)
void einsum(const Space& space, const A& a, const B& b, const C& c,
            std::source_location where = std::source_location::current()) {
  kernel::detail::einsum_into<Text, AlgebraType>(space, where, c, a, b);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::ExecutionSpace Space, class A1,
          class A2, class A3, class C>
  requires(operand_count<Text> == 3)
void einsum(const Space& space, const A1& a1, const A2& a2, const A3& a3, const C& c,
            std::source_location where = std::source_location::current()) {
  kernel::detail::einsum_into<Text, AlgebraType>(space, where, c, a1, a2, a3);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::ExecutionSpace Space, class A1,
          class A2, class A3, class A4, class C>
  requires(operand_count<Text> == 4)
void einsum(const Space& space, const A1& a1, const A2& a2, const A3& a3, const A4& a4, const C& c,
            std::source_location where = std::source_location::current()) {
  kernel::detail::einsum_into<Text, AlgebraType>(space, where, c, a1, a2, a3, a4);
}
/// @}

// One overload per arity, for the caller's place.
/// The same on the default instance of the output's execution space, which is where KokkosBlas runs
/// what is given no space: `einsum<"ij,jk->ik">(A, B, C)`.
/// @{
template <fixed_string Text, class AlgebraType = PlusTimes, compat::AnyView A, compat::AnyView C>
  requires(operand_count<Text> == 1)
void einsum(const A& a, const C& c, std::source_location where = std::source_location::current()) {
  kernel::detail::einsum_into<Text, AlgebraType>(typename C::execution_space(), where, c, a);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::AnyView A, compat::AnyView B,
          compat::AnyView C>
  requires(operand_count<Text> == 2)
void einsum(const A& a, const B& b, const C& c,
            std::source_location where = std::source_location::current()) {
  kernel::detail::einsum_into<Text, AlgebraType>(typename C::execution_space(), where, c, a, b);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::AnyView A1, compat::AnyView A2,
          compat::AnyView A3, compat::AnyView C>
  requires(operand_count<Text> == 3)
void einsum(const A1& a1, const A2& a2, const A3& a3, const C& c,
            std::source_location where = std::source_location::current()) {
  kernel::detail::einsum_into<Text, AlgebraType>(typename C::execution_space(), where, c, a1, a2,
                                                 a3);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::AnyView A1, compat::AnyView A2,
          compat::AnyView A3, compat::AnyView A4, compat::AnyView C>
  requires(operand_count<Text> == 4)
void einsum(const A1& a1, const A2& a2, const A3& a3, const A4& a4, const C& c,
            std::source_location where = std::source_location::current()) {
  kernel::detail::einsum_into<Text, AlgebraType>(typename C::execution_space(), where, c, a1, a2,
                                                 a3, a4);
}
/// @}

/// C = beta·C + alpha·(the EinSum), sums of products of one element type. An operand may be C
/// itself only where the EinSum is element-wise and beta is 0 or 1. Without a space, on the
/// output's, as above.
/// \throws Error, at the caller's line, if extents disagree, a view is null or C overlaps an
///   operand.
/// @{
template <fixed_string Text, compat::ExecutionSpace Space, class A, class C>
  requires(operand_count<Text> == 1)
void einsum(const Space& space, const Scaling<typename C::non_const_value_type>& scaling,
            const A& a, const C& c, std::source_location where = std::source_location::current()) {
  constexpr EinsumShape spec = einsum_shape<Text>();
  static_assert(kernel::detail::ranks_agree<A>(spec, compat::rank_of<C>),
                "EinDecomp: a view's rank is not the number of its labels in the einsum string");
  kernel::detail::join_scaled(space, spec, scaling, where, c, a);
}
template <fixed_string Text, compat::ExecutionSpace Space, class A, class B, class C>
  requires(operand_count<Text> == 2)
void einsum(const Space& space, const Scaling<typename C::non_const_value_type>& scaling,
            const A& a, const B& b, const C& c,
            std::source_location where = std::source_location::current()) {
  constexpr EinsumShape spec = einsum_shape<Text>();
  static_assert(kernel::detail::ranks_agree<A, B>(spec, compat::rank_of<C>),
                "EinDecomp: a view's rank is not the number of its labels in the einsum string");
  kernel::detail::join_scaled(space, spec, scaling, where, c, a, b);
}
template <fixed_string Text, compat::AnyView A, compat::AnyView C>
  requires(operand_count<Text> == 1)
void einsum(const Scaling<typename C::non_const_value_type>& scaling, const A& a, const C& c,
            std::source_location where = std::source_location::current()) {
  einsum<Text>(typename C::execution_space(), scaling, a, c, where);
}
template <fixed_string Text, compat::AnyView A, compat::AnyView B, compat::AnyView C>
  requires(operand_count<Text> == 2)
void einsum(const Scaling<typename C::non_const_value_type>& scaling, const A& a, const B& b,
            const C& c, std::source_location where = std::source_location::current()) {
  einsum<Text>(typename C::execution_space(), scaling, a, b, c, where);
}
/// @}

/// The same into a new view of the space's own layout and memory.
/// @{
template <fixed_string Text, class AlgebraType = PlusTimes, compat::ExecutionSpace Space, class A>
  requires(operand_count<Text> == 1)
[[nodiscard]] auto einsum(const Space& space, const A& a,
                          std::source_location where = std::source_location::current()) {
  return kernel::detail::einsum_new<Text, AlgebraType>(space, where, a);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::ExecutionSpace Space, class A,
          class B>
  requires(operand_count<Text> == 2)
[[nodiscard]] auto einsum(const Space& space, const A& a, const B& b,
                          std::source_location where = std::source_location::current()) {
  return kernel::detail::einsum_new<Text, AlgebraType>(space, where, a, b);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::ExecutionSpace Space, class A1,
          class A2, class A3>
  requires(operand_count<Text> == 3)
[[nodiscard]] auto einsum(const Space& space, const A1& a1, const A2& a2, const A3& a3,
                          std::source_location where = std::source_location::current()) {
  return kernel::detail::einsum_new<Text, AlgebraType>(space, where, a1, a2, a3);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::ExecutionSpace Space, class A1,
          class A2, class A3, class A4>
  requires(operand_count<Text> == 4)
[[nodiscard]] auto einsum(const Space& space, const A1& a1, const A2& a2, const A3& a3,
                          const A4& a4,
                          std::source_location where = std::source_location::current()) {
  return kernel::detail::einsum_new<Text, AlgebraType>(space, where, a1, a2, a3, a4);
}
/// @}

/// The same on the default instance of the first operand's execution space.
/// @{
template <fixed_string Text, class AlgebraType = PlusTimes, compat::AnyView A>
  requires(operand_count<Text> == 1)
[[nodiscard]] auto einsum(const A& a,
                          std::source_location where = std::source_location::current()) {
  return kernel::detail::einsum_new<Text, AlgebraType>(typename A::execution_space(), where, a);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::AnyView A, compat::AnyView B>
  requires(operand_count<Text> == 2)
[[nodiscard]] auto einsum(const A& a, const B& b,
                          std::source_location where = std::source_location::current()) {
  return kernel::detail::einsum_new<Text, AlgebraType>(typename A::execution_space(), where, a, b);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::AnyView A1, compat::AnyView A2,
          compat::AnyView A3>
  requires(operand_count<Text> == 3)
[[nodiscard]] auto einsum(const A1& a1, const A2& a2, const A3& a3,
                          std::source_location where = std::source_location::current()) {
  return kernel::detail::einsum_new<Text, AlgebraType>(typename A1::execution_space(), where, a1,
                                                       a2, a3);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::AnyView A1, compat::AnyView A2,
          compat::AnyView A3, compat::AnyView A4>
  requires(operand_count<Text> == 4)
[[nodiscard]] auto einsum(const A1& a1, const A2& a2, const A3& a3, const A4& a4,
                          std::source_location where = std::source_location::current()) {
  return kernel::detail::einsum_new<Text, AlgebraType>(typename A1::execution_space(), where, a1,
                                                       a2, a3, a4);
}
/// @}

/// Refuses what is none of these.
template <fixed_string Text, class AlgebraType = PlusTimes, class... Arguments>
  requires((compat::is_view<Arguments> || Kokkos::is_execution_space<Arguments>::value) || ...)
kernel::detail::NoView einsum(const Arguments&...) {
  constexpr int operands = operand_count<Text>;
  constexpr int views = (int{compat::is_view<Arguments>} + ... + 0);
  static_assert(operands <= 4,
                "EinDecomp: einsum of views has up to four operands; einsum_views has up to eight");
  static_assert(operands > 4 || views == operands || views == operands + 1,
                "EinDecomp: einsum is given another number of views than its string says; give one "
                "per operand, and one for the output where that is not to be made");
  constexpr bool scales = (kernel::detail::is_scaling<Arguments> || ...);
  static_assert(operands <= 2 || operands > 4 || !scales,
                "EinDecomp: alpha and beta are for sums of products of one or two operands; "
                "einsum_scaled takes up to eight");
  static_assert(
      operands > 4 || (operands > 2 && scales) || (views != operands && views != operands + 1),
      "EinDecomp: einsum of views takes an execution space, or none, then alpha and beta, "
      "if any, then the operands and the output, which are Kokkos::Views");
  return {};
}

/// The bytes that einsum<Text, AlgebraType>(space, a, c) takes for itself, with alpha and beta or
/// without, but with an alpha of 0, which is left to no BLAS: none but where reductions are cut,
/// operands packed or tensors put in order, and at most 28 MiB, or 8 MiB and 1 MiB a thread where
/// that is more. Allocated by each call, unless a ScopedWorkspace gives them. \throws Error, at the
/// caller's line, as einsum does.
/// @{
template <fixed_string Text, class AlgebraType = PlusTimes, compat::ExecutionSpace Space, class A,
          class C>
  requires(operand_count<Text> == 1)
[[nodiscard]] std::int64_t workspace_bytes(
    const Space& space, const A& a, const C& c,
    std::source_location where = std::source_location::current()) {
  return kernel::detail::einsum_workspace<AlgebraType>(space, einsum_shape<Text>(), where, c, a);
}
template <fixed_string Text, class AlgebraType = PlusTimes, compat::ExecutionSpace Space, class A,
          class B, class C>
  requires(operand_count<Text> == 2)
[[nodiscard]] std::int64_t workspace_bytes(
    const Space& space, const A& a, const B& b, const C& c,
    std::source_location where = std::source_location::current()) {
  return kernel::detail::einsum_workspace<AlgebraType>(space, einsum_shape<Text>(), where, c, a, b);
}
/// @}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp
