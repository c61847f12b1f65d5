// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Indices that are computed from labels: the `2 * y + r - 1` of `X(2 * y + r - 1)`.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "eindecomp/core/static_vector.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/label.hpp"

namespace eindecomp {

/// What is read where an index leaves its tensor.
enum class Boundary : std::uint8_t {
  ignored,  ///< the value that ⊕ and ⊗ ignore; where they have none, no index may leave
  zero,     ///< 0
};

namespace expr {
struct AffineBase {};
/// The most labels of one index.
inline constexpr std::size_t max_index_labels = 4;
}  // namespace expr

/// offset + Σ coefficient · label: an index into one dimension of a tensor. A label is one, too.
template <AnyLabel... Labels>
struct Affine : expr::AffineBase {
  std::array<Extent, sizeof...(Labels)> coefficients{};  ///< in the order of Labels
  std::array<Extent, sizeof...(Labels)> extents{};       ///< of them, as given; 0: not given
  Extent offset = 0;                                     ///< where all labels are 0
  Boundary boundary = Boundary::ignored;                 ///< outside of the tensor
};

/// A label, or what is computed from labels by sums, differences and products with integers.
template <class T>
concept AffineIndex = AnyLabel<T> || std::is_base_of_v<expr::AffineBase, std::remove_cvref_t<T>>;

namespace expr {

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
/// Of an index: `extent(r, 3)` is the label r, and says how many values it has.
template <class T>
concept AffineTerm = AffineIndex<T> || is_sized_label<std::remove_cvref_t<T>>;
template <class A, class B>
concept AffineSum = (AffineTerm<A> && (AffineTerm<B> || Integer<B>)) ||
                    (Integer<A> && AffineTerm<B>);
template <class A, class B>
concept AffineProduct = (AffineTerm<A> && Integer<B>) || (Integer<A> && AffineTerm<B>);

template <AnyLabel L>
[[nodiscard]] constexpr Affine<L> as_affine(L) {
  return {{}, {1}, {0}, 0};
}
template <AnyLabel L>
[[nodiscard]] constexpr Affine<L> as_affine(const SizedLabel<L>& label) {
  return {{}, {1}, {label.extent}, 0};
}
template <class... Ls>
[[nodiscard]] constexpr Affine<Ls...> as_affine(const Affine<Ls...>& index) {
  return index;
}
[[nodiscard]] constexpr Affine<> as_affine(Integer auto number) {
  return {{}, {}, {}, static_cast<Extent>(number)};
}

/// a + factor · b.
template <class... As, class... Bs>
[[nodiscard]] constexpr auto add_affine(const Affine<As...>& a, const Affine<Bs...>& b,
                                        Extent factor) {
  static_assert(sizeof...(As) + sizeof...(Bs) <= max_index_labels,
                "EinDecomp: an index is computed from more than 4 labels; write the part of it as "
                "a statement of its own");
  Affine<As..., Bs...> sum;
  for (std::size_t n = 0; n < sizeof...(As); ++n) {
    sum.coefficients[n] = a.coefficients[n];
    sum.extents[n] = a.extents[n];
  }
  for (std::size_t n = 0; n < sizeof...(Bs); ++n) {
    sum.coefficients[sizeof...(As) + n] = factor * b.coefficients[n];
    sum.extents[sizeof...(As) + n] = b.extents[n];
  }
  sum.offset = a.offset + factor * b.offset;
  return sum;
}
template <class... Ls>
[[nodiscard]] constexpr Affine<Ls...> scale_affine(Affine<Ls...> index, Extent factor) {
  for (Extent& coefficient : index.coefficients) coefficient *= factor;
  index.offset *= factor;
  return index;
}

}  // namespace expr

/// Indices computed from labels: `y + r`, `2 * y - 1`, `n - 1 - i`, of labels and integers. A label
/// that is no other index by itself may be given its extent: `2 * y + extent(r, 3)`.
/// @{
template <class A, class B>
  requires expr::AffineSum<A, B>
[[nodiscard]] constexpr auto operator+(const A& a, const B& b) {
  return expr::add_affine(expr::as_affine(a), expr::as_affine(b), 1);
}
template <class A, class B>
  requires expr::AffineSum<A, B>
[[nodiscard]] constexpr auto operator-(const A& a, const B& b) {
  return expr::add_affine(expr::as_affine(a), expr::as_affine(b), -1);
}
template <class A, class B>
  requires expr::AffineProduct<A, B>
[[nodiscard]] constexpr auto operator*(const A& a, const B& b) {
  if constexpr (expr::AffineTerm<A>) {
    return expr::scale_affine(expr::as_affine(a), static_cast<Extent>(b));
  } else {
    return expr::scale_affine(expr::as_affine(b), static_cast<Extent>(a));
  }
}
template <AffineIndex A>
[[nodiscard]] constexpr auto operator-(const A& a) {
  return expr::scale_affine(expr::as_affine(a), -1);
}
/// @}

/// The index, where it leaves the tensor 0 is read: `X(zero(y + r - 1))`.
template <AffineIndex A>
[[nodiscard]] constexpr auto zero(const A& index) {
  auto bounded = expr::as_affine(index);
  bounded.boundary = Boundary::zero;
  return bounded;
}

/// One index for all: `X(i, at(row))`; a number that is no variable may stand alone, `X(i, 3)`.
template <expr::Integer I>
[[nodiscard]] constexpr Affine<> at(I index) {
  return expr::as_affine(index);
}

namespace expr {
/// What may stand for an index of a tensor. A variable may not: one of a label's name would hide
/// the label.
template <class T>
concept Index = AffineIndex<T> ||(Integer<T> && !std::is_reference_v<T>);
}  // namespace expr

/// An index by the names of its labels, as a statement is handed to a graph.
struct IndexSpec {
  /// coefficient · label.
  struct Term {
    std::string_view label;  ///< by name
    Extent coefficient = 0;  ///< of the label
    Extent extent = 0;       ///< of the label, as given; 0: not given
  };
  static_vector<Term, expr::max_index_labels> terms;  ///< in the order they were written
  Extent offset = 0;                                  ///< where all labels are 0
  Boundary boundary = Boundary::ignored;              ///< outside of the tensor

  /// Whether it is a label and nothing else.
  [[nodiscard]] constexpr bool is_label() const {
    return terms.size() == 1 && terms[0].coefficient == 1 && offset == 0 &&
           boundary == Boundary::ignored;
  }
};

namespace expr {

/// The labels an index is computed from.
template <class Index>
struct LabelsOfIndex {
  using type = LabelList<>;
};
template <AnyLabel L>
struct LabelsOfIndex<L> {
  using type = LabelList<L>;
};
template <class... Ls>
struct LabelsOfIndex<Affine<Ls...>> {
  using type = LabelList<Ls...>;
};

template <AnyLabel L>
[[nodiscard]] constexpr IndexSpec index_spec(L) {
  IndexSpec spec;
  spec.terms.push_back({L::name, 1, 0});
  return spec;
}
template <class... Ls>
[[nodiscard]] constexpr IndexSpec index_spec(const Affine<Ls...>& index) {
  IndexSpec spec;
  std::size_t n = 0;
  (..., (spec.terms.push_back({Ls::name, index.coefficients[n], index.extents[n]}), ++n));
  spec.offset = index.offset;
  spec.boundary = index.boundary;
  return spec;
}

[[nodiscard]] constexpr IndexSpec index_spec(Integer auto number) {
  return index_spec(as_affine(number));
}

/// offset + Σ coefficient · label, as it would be written: `2*y + r - 1`.
/// \param terms    pairs of a name and a coefficient, by .label and .coefficient
/// \param name_of  from a term to the name of its label
template <class Terms, class Name>
[[nodiscard]] constexpr Text index_text(const Terms& terms, Extent offset, const Name& name_of) {
  Text text;
  const auto sign = [&](Extent value) {
    if (text.empty()) {
      if (value < 0) text += '-';
    } else {
      text += value < 0 ? " - " : " + ";
    }
    return value < 0 ? -value : value;
  };
  for (const auto& term : terms) {
    const Extent size = sign(term.coefficient);
    if (size != 1) text = text + size + "*";
    text += std::string_view(name_of(term));
  }
  if (offset != 0 || text.empty()) {
    const Extent size = sign(offset);
    text = text + size;
  }
  return text;
}
[[nodiscard]] constexpr Text index_text(const IndexSpec& index) {
  return index_text(index.terms, index.offset, [](const auto& term) { return term.label; });
}

/// A symbol whose indices are computed from labels; what reads it under them is an Access to this.
template <class SymbolType, std::size_t Rank>
struct IndexedSymbol {
  using value_type = typename SymbolType::value_type;  ///< of the elements
  SymbolType symbol;                                   ///< the tensor
  std::array<IndexSpec, Rank> indices{};               ///< per dimension

  [[nodiscard]] constexpr auto vertex() const { return symbol.vertex(); }
  [[nodiscard]] constexpr int writing() const { return symbol.writing(); }
  [[nodiscard]] constexpr const auto& name() const { return symbol.name(); }
  [[nodiscard]] constexpr auto* state() const { return symbol.state(); }
};

}  // namespace expr
}  // namespace eindecomp
