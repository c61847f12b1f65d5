// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The string form of a statement: `auto H = einsum<"ij,jk->ik">(X, W);`.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
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
  const ParsedEinsum parsed = parse_einsum(Einsum.view());
  const std::vector<int> ranks{Ranks...};
  if (ranks.size() != parsed.indices.size()) {
    return expr::operand_count_fault(Einsum.view(), parsed.indices.size(), ranks.size());
  }
  for (std::size_t o = 0; o < ranks.size(); ++o) {
    const auto written = static_cast<int>(parsed.indices[o].size());
    if (ranks[o] != written) {
      return Text("operand ") + (o + 1) + " of \"" + Einsum.view() + "\" has " + written +
             " labels and its tensor is of rank " + ranks[o] + "; give each dimension one label";
    }
  }
  return {};
}

/// The label types of a string's output.
template <fixed_string Einsum>
[[nodiscard]] constexpr auto output_labels() {
  constexpr EinsumShape shape = expr::shape_of_string(Einsum.view());
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return LabelList<Label<fixed_string<2>{{shape.name[shape.output[K]], '\0'}}>...>{};
  }
  (std::make_index_sequence<std::size_t{shape.output_rank}>{});
}

static_assert(StringIndex::max_terms == int{expr::max_index_labels});

/// The indices of operand Operand of a string.
template <fixed_string Einsum, int Operand>
struct StringIndices {
  static constexpr int rank = [] {
    return static_cast<int>(parse_einsum(Einsum.view()).indices[Operand].size());
  }();
  /// Per dimension.
  static constexpr std::array<StringIndex, std::size_t{rank}> all = [] {
    std::array<StringIndex, std::size_t{rank}> found;
    const ParsedEinsum parsed = parse_einsum(Einsum.view());
    std::copy(parsed.indices[Operand].begin(), parsed.indices[Operand].end(), found.begin());
    return found;
  }();
  static constexpr bool computed =
      std::any_of(all.begin(), all.end(), [](const StringIndex& index) { return index.computed; });

  /// That of dimension K, as the language has it.
  template <std::size_t K>
  [[nodiscard]] static constexpr auto index() {
    return [&]<std::size_t... T>(std::index_sequence<T...>) {
      return Affine<Label<fixed_string<2>{{all[K].letter[T], '\0'}}>...>{
          {}, {all[K].coefficient[T]...}, {(static_cast<void>(T), Extent{0})...}, all[K].offset};
    }
    (std::make_index_sequence<static_cast<std::size_t>(all[K].terms)>{});
  }
};

/// A tensor under the labels, or at the indices, of operand Operand of a string.
template <fixed_string Einsum, int Operand, class S>
[[nodiscard]] constexpr auto read_by_string(const S& symbol) {
  using Indices = StringIndices<Einsum, Operand>;
  if constexpr (Indices::computed) {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      using Labels = UnitedLabels<
          typename expr::LabelsOfIndex<decltype(Indices::template index<K>())>::type...>;
      return access_under(
          expr::IndexedSymbol<S, sizeof...(K)>{symbol,
                                               {expr::index_spec(Indices::template index<K>())...}},
          Labels());
    }
    (std::make_index_sequence<static_cast<std::size_t>(Indices::rank)>{});
  } else {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return access_under(
          symbol, LabelList<Label<fixed_string<2>{{Indices::all[K].letter[0], '\0'}}>...>{});
    }
    (std::make_index_sequence<static_cast<std::size_t>(Indices::rank)>{});
  }
}

template <fixed_string Einsum, class Algebra, class First, class... Rest>
[[nodiscard]] constexpr auto einsum_statement(std::string_view name, const Algebra& algebra,
                                              const std::source_location& where, const First& first,
                                              const Rest&... rest) {
  if constexpr (core::accept<operands_fault<Einsum, First::rank, Rest::rank...>>()) {
    using Output = decltype(output_labels<Einsum>());
    return [&]<std::size_t... I>(std::index_sequence<0, I...>) {
      const auto body = expr::apply(algebra.join, read_by_string<Einsum, 0>(first),
                                    read_by_string<Einsum, static_cast<int>(I)>(rest)...);
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
/// an algebra (PlusTimes unless said otherwise). Labels that the output lacks are aggregated. An
/// index may be computed, in parentheses: "c(2y+r-1),r->cy".
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
