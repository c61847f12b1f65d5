// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The string form of a statement: `auto H = einsum<"ij,jk->ik">(X, W);`.
#pragma once

#include <source_location>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/einsum_string.hpp"
#include "eindecomp/graph/lowering.hpp"

namespace eindecomp {

namespace graph {

template <class T>
inline constexpr bool is_symbol = false;
template <class T, int Rank, class Backend>
inline constexpr bool is_symbol<Symbol<T, Rank, Backend>> = true;

/// The sentence that refuses operands of these ranks under a string; empty if they fit.
template <fixed_string Einsum, int... Ranks>
[[nodiscard]] constexpr Text operands_fault() {
  Text fault = expr::einsum_string_fault(Einsum.view());
  if (!fault.empty()) return fault;
  const EinsumShape shape = expr::make_einsum_shape(Einsum.view());
  const std::vector<int> ranks{Ranks...};
  if (static_cast<int>(ranks.size()) != shape.operands) {
    return expr::operand_count_fault(Einsum.view(), shape.operands, ranks.size());
  }
  for (int o = 0; o < shape.operands; ++o) {
    if (ranks[static_cast<std::size_t>(o)] != shape.rank[o]) {
      return Text("operand ") + (o + 1) + " of \"" + Einsum.view() + "\" has " + shape.rank[o] +
             " labels and its tensor is of rank " + ranks[static_cast<std::size_t>(o)] +
             "; give each dimension one label";
    }
  }
  return {};
}

/// The label types of operand Operand of a string, or of its output (-1).
template <fixed_string Einsum, int Operand, std::size_t... K>
[[nodiscard]] constexpr auto string_labels(std::index_sequence<K...>) {
  constexpr EinsumShape shape = expr::make_einsum_shape(Einsum.view());
  return LabelList<Label<fixed_string<2>{
      {shape.name[Operand < 0 ? shape.output[K] : shape.operand[Operand < 0 ? 0 : Operand][K]],
       '\0'}}>...>{};
}
template <fixed_string Einsum, int Operand>
[[nodiscard]] constexpr auto string_labels() {
  constexpr EinsumShape shape = expr::make_einsum_shape(Einsum.view());
  constexpr int rank = Operand < 0 ? shape.output_rank : shape.rank[Operand < 0 ? 0 : Operand];
  return string_labels<Einsum, Operand>(std::make_index_sequence<rank>{});
}

template <fixed_string Einsum, class Algebra, class First, class... Rest>
[[nodiscard]] constexpr auto einsum_statement(std::string_view name, const Algebra& algebra,
                                              const std::source_location& where, const First& first,
                                              const Rest&... rest) {
  if constexpr (core::accept<operands_fault<Einsum, First::rank, Rest::rank...>>()) {
    using Output = decltype(string_labels<Einsum, -1>());
    return [&]<std::size_t... I>(std::index_sequence<0, I...>) {
      const auto body =
          expr::apply(algebra.join, access_under(first, string_labels<Einsum, 0>()),
                      access_under(rest, string_labels<Einsum, static_cast<int>(I)>())...);
      using Aggregated = RemainingLabels<typename decltype(body)::LabelTypes, Output>;
      const std::vector<Extent> extents(Output::size, 0);
      if constexpr (Aggregated::size == 0) {
        return lower<Output>(name, extents, body, where);
      } else {
        using Node = Aggregation<decltype(algebra.monoid), Aggregated, decltype(body)>;
        return lower<Output>(name, extents, Node(algebra.monoid, body), where);
      }
    }
    (std::make_index_sequence<sizeof...(Rest) + 1>{});
  }
}

/// A statement's name and the place it is written at, which a pack of operands leaves no room for.
struct StatementName {
  std::string_view name;
  std::source_location where;
  // NOLINTNEXTLINE(google-explicit-constructor): a literal must convert.
  constexpr StatementName(const char* text,
                          std::source_location place = std::source_location::current())
      : name(text), where(place) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr StatementName(std::string_view text,
                          std::source_location place = std::source_location::current())
      : name(text), where(place) {}
};

}  // namespace graph

/// A symbol of a program, Symbol<T, Rank, Backend>.
template <class T>
concept AnyTypedSymbol = graph::is_symbol<T>;

/// Writes a statement given as a string, "ij,jk->ik" or with NumPy's implicit output "ij,jk", under
/// an algebra (PlusTimes unless said otherwise). Labels that the output lacks are aggregated.
/// \returns the symbol of the result.
/// \throws Error as let does.
template <fixed_string Einsum, class Algebra = PlusTimes, AnyTypedSymbol... Symbols>
[[nodiscard]] constexpr auto einsum(graph::StatementName name, const Symbols&... operands) {
  return graph::einsum_statement<Einsum>(name.name, Algebra{}, name.where, operands...);
}

// One overload per arity, for the caller's place.
// clang-format off
/// The same without a name: `einsum<"ij,jk->ik">(X, W)`, of up to 8 operands.
/// @{
template <fixed_string Einsum, class Algebra = PlusTimes, AnyTypedSymbol S1>
[[nodiscard]] constexpr auto einsum(const S1& s1,
    std::source_location where = std::source_location::current()) {
  return graph::einsum_statement<Einsum>("", Algebra{}, where, s1);
}
template <fixed_string Einsum, class Algebra = PlusTimes, AnyTypedSymbol S1, AnyTypedSymbol S2>
[[nodiscard]] constexpr auto einsum(const S1& s1, const S2& s2,
    std::source_location where = std::source_location::current()) {
  return graph::einsum_statement<Einsum>("", Algebra{}, where, s1, s2);
}
template <fixed_string Einsum, class Algebra = PlusTimes, AnyTypedSymbol S1, AnyTypedSymbol S2, AnyTypedSymbol S3>
[[nodiscard]] constexpr auto einsum(const S1& s1, const S2& s2, const S3& s3,
    std::source_location where = std::source_location::current()) {
  return graph::einsum_statement<Einsum>("", Algebra{}, where, s1, s2, s3);
}
template <fixed_string Einsum, class Algebra = PlusTimes, AnyTypedSymbol S1, AnyTypedSymbol S2, AnyTypedSymbol S3, AnyTypedSymbol S4>
[[nodiscard]] constexpr auto einsum(const S1& s1, const S2& s2, const S3& s3, const S4& s4,
    std::source_location where = std::source_location::current()) {
  return graph::einsum_statement<Einsum>("", Algebra{}, where, s1, s2, s3, s4);
}
template <fixed_string Einsum, class Algebra = PlusTimes, AnyTypedSymbol S1, AnyTypedSymbol S2, AnyTypedSymbol S3, AnyTypedSymbol S4, AnyTypedSymbol S5>
[[nodiscard]] constexpr auto einsum(const S1& s1, const S2& s2, const S3& s3, const S4& s4, const S5& s5,
    std::source_location where = std::source_location::current()) {
  return graph::einsum_statement<Einsum>("", Algebra{}, where, s1, s2, s3, s4, s5);
}
template <fixed_string Einsum, class Algebra = PlusTimes, AnyTypedSymbol S1, AnyTypedSymbol S2, AnyTypedSymbol S3, AnyTypedSymbol S4, AnyTypedSymbol S5, AnyTypedSymbol S6>
[[nodiscard]] constexpr auto einsum(const S1& s1, const S2& s2, const S3& s3, const S4& s4, const S5& s5, const S6& s6,
    std::source_location where = std::source_location::current()) {
  return graph::einsum_statement<Einsum>("", Algebra{}, where, s1, s2, s3, s4, s5, s6);
}
template <fixed_string Einsum, class Algebra = PlusTimes, AnyTypedSymbol S1, AnyTypedSymbol S2, AnyTypedSymbol S3, AnyTypedSymbol S4, AnyTypedSymbol S5, AnyTypedSymbol S6, AnyTypedSymbol S7>
[[nodiscard]] constexpr auto einsum(const S1& s1, const S2& s2, const S3& s3, const S4& s4, const S5& s5, const S6& s6, const S7& s7,
    std::source_location where = std::source_location::current()) {
  return graph::einsum_statement<Einsum>("", Algebra{}, where, s1, s2, s3, s4, s5, s6, s7);
}
template <fixed_string Einsum, class Algebra = PlusTimes, AnyTypedSymbol S1, AnyTypedSymbol S2, AnyTypedSymbol S3, AnyTypedSymbol S4, AnyTypedSymbol S5, AnyTypedSymbol S6, AnyTypedSymbol S7, AnyTypedSymbol S8>
[[nodiscard]] constexpr auto einsum(const S1& s1, const S2& s2, const S3& s3, const S4& s4, const S5& s5, const S6& s6, const S7& s7, const S8& s8,
    std::source_location where = std::source_location::current()) {
  return graph::einsum_statement<Einsum>("", Algebra{}, where, s1, s2, s3, s4, s5, s6, s7, s8);
}
/// @}
// clang-format on

}  // namespace eindecomp
