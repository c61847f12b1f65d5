// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Labels: each its own type, so that the compiler knows which indices meet.
#pragma once

#include <string_view>
#include <type_traits>

#include "eindecomp/core/fixed_string.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/label_rules.hpp"

namespace eindecomp {

namespace expr {
// By their bases: nvcc does not deduce a fixed_string from Label<Name>.
struct LabelBase {};
struct SizedLabelBase {};
template <class T>
inline constexpr bool is_sized_label = std::is_base_of_v<SizedLabelBase, T>;
}  // namespace expr

/// A label. Two labels of equal name are the same label.
template <fixed_string Name>
struct Label : expr::LabelBase {
  static constexpr std::string_view name = Name.view();
};

/// A label, Label<"name">.
template <class T>
concept AnyLabel = std::is_base_of_v<expr::LabelBase, std::remove_cvref_t<T>>;

/// A label that no operand has, with the extent it is broadcast to.
template <AnyLabel L>
struct SizedLabel : expr::SizedLabelBase {
  using Plain = L;  ///< without its extent
  static constexpr std::string_view name = L::name;
  Extent extent;  ///< how many values the label has
  /// The label with n values.
  constexpr explicit SizedLabel(Extent n) : extent(n) {}
};

/// `label<"head">`: a label of any name.
template <fixed_string Name>
inline constexpr Label<Name> label{};

/// An output label with its extent, for broadcasts: `let<"B">(i, extent(k, 5)) = x(i)`.
template <AnyLabel L>
[[nodiscard]] constexpr SizedLabel<L> extent(L, Extent n) {
  return SizedLabel<L>(n);
}

/// What may stand on the left of a statement.
template <class T>
concept OutputLabel = AnyLabel<T> || expr::is_sized_label<std::remove_cvref_t<T>>;

/// A list of label types.
template <class... Labels>
struct LabelList {
  static constexpr int size = sizeof...(Labels);  ///< how many labels there are
  [[nodiscard]] static constexpr expr::LabelNames names() { return {Labels::name...}; }
  /// Which of them come with an extent.
  [[nodiscard]] static constexpr Flags sized() { return {expr::is_sized_label<Labels>...}; }
};

namespace expr {

template <class List, class Label>
struct AppendLabel;
template <class... Labels, class Label>
struct AppendLabel<LabelList<Labels...>, Label> {
  static constexpr bool present = ((Labels::name == Label::name) || ...);
  using type = std::conditional_t<present, LabelList<Labels...>, LabelList<Labels..., Label>>;
};

/// The labels of Lists by first appearance, without those of Removed.
template <class Removed, class Result, class... Lists>
struct UniteLabels;
template <class Removed, class Result>
struct UniteLabels<Removed, Result> {
  using type = Result;
};
template <class Removed, class Result, class... Rest>
struct UniteLabels<Removed, Result, LabelList<>, Rest...> {
  using type = typename UniteLabels<Removed, Result, Rest...>::type;
};
template <class Removed, class Result, class First, class... Others, class... Rest>
struct UniteLabels<Removed, Result, LabelList<First, Others...>, Rest...> {
  using next = std::conditional_t<AppendLabel<Removed, First>::present, std::type_identity<Result>,
                                  AppendLabel<Result, First>>;
  using type =
      typename UniteLabels<Removed, typename next::type, LabelList<Others...>, Rest...>::type;
};

}  // namespace expr

/// The labels of several lists by first appearance, each once.
template <class... Lists>
using UnitedLabels = typename expr::UniteLabels<LabelList<>, LabelList<>, Lists...>::type;

/// The labels of List that are not in Removed.
template <class List, class Removed>
using RemainingLabels = typename expr::UniteLabels<Removed, LabelList<>, List>::type;

/// Single-letter labels, ready made: `using namespace eindecomp::labels;`. The upper-case letters
/// are in `labels::upper`.
namespace labels {
/// A label named by its letter.
/// @{
inline constexpr Label<"a"> a{};
inline constexpr Label<"b"> b{};
inline constexpr Label<"c"> c{};
inline constexpr Label<"d"> d{};
inline constexpr Label<"e"> e{};
inline constexpr Label<"f"> f{};
inline constexpr Label<"g"> g{};
inline constexpr Label<"h"> h{};
inline constexpr Label<"i"> i{};
inline constexpr Label<"j"> j{};
inline constexpr Label<"k"> k{};
inline constexpr Label<"l"> l{};
inline constexpr Label<"m"> m{};
inline constexpr Label<"n"> n{};
inline constexpr Label<"o"> o{};
inline constexpr Label<"p"> p{};
inline constexpr Label<"q"> q{};
inline constexpr Label<"r"> r{};
inline constexpr Label<"s"> s{};
inline constexpr Label<"t"> t{};
inline constexpr Label<"u"> u{};
inline constexpr Label<"v"> v{};
inline constexpr Label<"w"> w{};
inline constexpr Label<"x"> x{};
inline constexpr Label<"y"> y{};
inline constexpr Label<"z"> z{};
/// @}
/// The upper-case letters.
namespace upper {
/// A label named by its letter.
/// @{
inline constexpr Label<"A"> A{};
inline constexpr Label<"B"> B{};
inline constexpr Label<"C"> C{};
inline constexpr Label<"D"> D{};
inline constexpr Label<"E"> E{};
inline constexpr Label<"F"> F{};
inline constexpr Label<"G"> G{};
inline constexpr Label<"H"> H{};
inline constexpr Label<"I"> I{};
inline constexpr Label<"J"> J{};
inline constexpr Label<"K"> K{};
inline constexpr Label<"L"> L{};
inline constexpr Label<"M"> M{};
inline constexpr Label<"N"> N{};
inline constexpr Label<"O"> O{};
inline constexpr Label<"P"> P{};
inline constexpr Label<"Q"> Q{};
inline constexpr Label<"R"> R{};
inline constexpr Label<"S"> S{};
inline constexpr Label<"T"> T{};
inline constexpr Label<"U"> U{};
inline constexpr Label<"V"> V{};
inline constexpr Label<"W"> W{};
inline constexpr Label<"X"> X{};
inline constexpr Label<"Y"> Y{};
inline constexpr Label<"Z"> Z{};
/// @}
}  // namespace upper
}  // namespace labels

}  // namespace eindecomp
