// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Indices that are computed from labels: the `2 * y + r - 1` of `X(2 * y + r - 1)`.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/static_vector.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/label.hpp"

namespace eindecomp {

/// What is read where an index leaves its tensor.
enum class Boundary : std::uint8_t {
  ignored,   ///< the value that ⊕ and ⊗ ignore; where they have none, no index may leave
  zero,      ///< 0
  periodic,  ///< the tensor again: index i modulo the extent
  clamp,     ///< the element at the end
  reflect,   ///< the tensor backwards, the element at the end once
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
};

/// An index, and what is read where it is none of the tensor's: because it leaves the tensor, or
/// because it is no whole number. Made by whole(), zero(), periodic(), clamp() and reflect(), and
/// computed with no further.
template <AnyLabel... Labels>
struct BoundedIndex {
  Affine<Labels...> index;                ///< before it is divided
  Extent divisor = 1;                     ///< by which it is divided, where that goes
  Boundary boundary = Boundary::ignored;  ///< what is read outside of the tensor
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

template <class T>
inline constexpr bool is_bounded_index = false;
template <class... Ls>
inline constexpr bool is_bounded_index<BoundedIndex<Ls...>> = true;

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
  for (std::size_t n = 0; n != sizeof...(As); ++n) {
    sum.coefficients[n] = a.coefficients[n];
    sum.extents[n] = a.extents[n];
  }
  for (std::size_t n = 0; n != sizeof...(Bs); ++n) {
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

namespace expr {
template <class... Ls>
[[nodiscard]] constexpr BoundedIndex<Ls...> as_bounded(const Affine<Ls...>& index) {
  return {index};
}
template <class... Ls>
[[nodiscard]] constexpr BoundedIndex<Ls...> as_bounded(const BoundedIndex<Ls...>& index) {
  return index;
}
template <class T>
  requires(!is_bounded_index<T> && AffineTerm<T>)
[[nodiscard]] constexpr auto as_bounded(const T& index) { return as_bounded(as_affine(index)); }
/// What may be given a boundary.
template <class T>
concept Boundable = AffineTerm<T> || is_bounded_index<T>;

[[nodiscard]] constexpr auto with_boundary(
    const Boundable auto& index, Boundary boundary,
    const std::source_location& where = std::source_location::current()) {
  auto bounded = as_bounded(index);
  if (bounded.boundary != Boundary::ignored && bounded.boundary != boundary) {
    core::fail(ErrorKind::statement, where,
               "an index is given a second boundary (where it leaves the tensor, one element is "
               "read); give it one of zero, periodic, clamp and reflect");
  }
  bounded.boundary = boundary;
  return bounded;
}
}  // namespace expr

/// An index divided by an integer, where that goes; elsewhere what ⊕ and ⊗ ignore is read, or 0 by
/// zero(whole(…)). `sum(r)(X(whole(i + 1 - r, 2)) * W(r))` is the convolution transposed of which
/// `X(i) = sum(r)(Z(2 * i + r - 1) * W(r))` is the other: Z(i) has every term that i had a part in.
/// \param divisor  positive; that of a statement which is not is refused when it is written
template <expr::Boundable A, expr::Integer I>
[[nodiscard]] constexpr auto whole(const A& index, I divisor) {
  auto bounded = expr::as_bounded(index);
  bounded.divisor *= static_cast<Extent>(divisor);
  return bounded;
}

/// The index, where it leaves the tensor 0 is read: `X(zero(y + r - 1))`.
/// \throws Error if the index has another boundary, as do the three below.
[[nodiscard]] constexpr auto zero(const expr::Boundable auto& index,
                                  std::source_location where = std::source_location::current()) {
  return expr::with_boundary(index, Boundary::zero, where);
}
/// The index, modulo the extent of the tensor: numpy.pad's `wrap`.
[[nodiscard]] constexpr auto periodic(
    const expr::Boundable auto& index,
    std::source_location where = std::source_location::current()) {
  return expr::with_boundary(index, Boundary::periodic, where);
}
/// The index, outside of the tensor that of the element at its end: numpy.pad's `edge`.
[[nodiscard]] constexpr auto clamp(const expr::Boundable auto& index,
                                   std::source_location where = std::source_location::current()) {
  return expr::with_boundary(index, Boundary::clamp, where);
}
/// The index, outside of the tensor as much inside, counted from the element at the end:
/// numpy.pad's `reflect`.
[[nodiscard]] constexpr auto reflect(const expr::Boundable auto& index,
                                     std::source_location where = std::source_location::current()) {
  return expr::with_boundary(index, Boundary::reflect, where);
}

/// One index for all: `X(i, at(row))`; a number that is no variable may stand alone, `X(i, 3)`.
template <expr::Integer I>
[[nodiscard]] constexpr Affine<> at(I index) {
  return expr::as_affine(index);
}

/// A label that runs over lo ≤ index < hi, NumPy's `lo:hi`: `X(range(i, 2, 7), j)` is
/// `X(extent(i, 5) + 2, j)`.
/// \throws Error if that is nothing.
template <AnyLabel L>
[[nodiscard]] constexpr Affine<L> range(
    L, Extent lo, Extent hi, std::source_location where = std::source_location::current()) {
  if (hi <= lo) {
    core::fail(ErrorKind::shape, where, "range(", L::name, ", ", lo, ", ", hi,
               ") is empty (extents are positive); give an end behind the begin");
  }
  return {{}, {1}, {hi - lo}, lo};
}
/// The same by steps, NumPy's `lo:hi:step`.
template <AnyLabel L>
[[nodiscard]] constexpr Affine<L> range(
    L label, Extent lo, Extent hi, Extent step,
    std::source_location where = std::source_location::current()) {
  if (step < 1) {
    core::fail(ErrorKind::shape, where, "range(", L::name, ", ", lo, ", ", hi, ", ", step,
               ") does not go forwards; give a step of 1 or more, and write ", lo, " - ", L::name,
               " to go backwards");
  }
  Affine<L> index = range(label, lo, hi, where);
  index.coefficients = {step};
  index.extents = {ceil_div(hi - lo, step)};
  return index;
}

namespace expr {
/// What may stand for an index of a tensor. A variable may not: one of a label's name would hide
/// the label.
template <class T>
concept Index = AffineIndex<T> || is_bounded_index<std::remove_cvref_t<T>> ||
    (Integer<T> && !std::is_reference_v<T>);
}  // namespace expr

/// An index by the names of its labels, as a statement is handed to a graph: (offset + Σ
/// coefficient · label) / divisor.
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
  Extent divisor = 1;                                 ///< the index is read where this divides it

  /// From labels as data: `whole(i + 1 - 2 * r, 2)` is of({{"i", 1}, {"r", -2}}, 1, 2).
  [[nodiscard]] static constexpr IndexSpec of(std::initializer_list<Term> terms, Extent offset = 0,
                                              Extent divisor = 1,
                                              Boundary boundary = Boundary::ignored) {
    return {{terms.begin(), terms.end()}, offset, boundary, divisor};
  }

  /// Whether it is a label and nothing else.
  [[nodiscard]] constexpr bool is_label() const {
    return terms.size() == 1 && terms[0].coefficient == 1 && offset == 0 &&
           boundary == Boundary::ignored && divisor == 1;
  }

  /// Whether its numbers are small enough for indices to be computed in 64 bits: at most 2^31 times
  /// a label, and 2^60 added.
  [[nodiscard]] constexpr bool is_computable() const {
    constexpr Extent max_factor = Extent{1} << 31;
    constexpr Extent max_offset = Extent{1} << 60;
    bool fits = -max_offset <= offset && offset <= max_offset;
    for (const Term& term : terms) {
      fits = fits && -max_factor <= term.coefficient && term.coefficient <= max_factor;
    }
    return fits;
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
template <class... Ls>
struct LabelsOfIndex<BoundedIndex<Ls...>> {
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
  return spec;
}
template <class... Ls>
[[nodiscard]] constexpr IndexSpec index_spec(const BoundedIndex<Ls...>& index) {
  IndexSpec spec = index_spec(index.index);
  spec.divisor = index.divisor;
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
/// The same of an index that is divided or has a boundary: `periodic(i - 1)`, `whole(i - r, 2)`.
[[nodiscard]] constexpr Text index_text(Text index, Extent divisor, Boundary boundary) {
  constexpr std::string_view names[] = {"", "zero", "periodic", "clamp", "reflect"};
  if (divisor != 1) index = Text("whole(") + index + ", " + divisor + ")";
  const std::string_view name = names[static_cast<std::size_t>(boundary)];
  return name.empty() ? index : Text(name) + "(" + index + ")";
}
[[nodiscard]] constexpr Text index_text(const IndexSpec& index) {
  return index_text(
      index_text(index.terms, index.offset, [](const auto& term) { return term.label; }),
      index.divisor, index.boundary);
}

/// A symbol whose indices are computed from labels; what reads it under them is an Access to this.
template <class SymbolType, std::size_t Rank>
struct IndexedSymbol {
  using value_type = typename SymbolType::value_type;  ///< of the elements
  using Backend = typename SymbolType::Backend;        ///< of its program
  SymbolType symbol;                                   ///< the tensor
  std::array<IndexSpec, Rank> indices{};               ///< per dimension

  [[nodiscard]] constexpr auto vertex() const { return symbol.vertex(); }
  [[nodiscard]] constexpr int writing() const { return symbol.writing(); }
  [[nodiscard]] constexpr bool is_constant() const { return symbol.is_constant(); }
  [[nodiscard]] constexpr auto name() const { return symbol.name(); }
  [[nodiscard]] constexpr auto* state() const { return symbol.state(); }
};

}  // namespace expr
}  // namespace eindecomp
