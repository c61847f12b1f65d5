// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Scalars of expressions are weak, as NumPy's and PyTorch's: they take the type of the tensors
/// that they meet, so that `0.1 * X` of floats is of floats.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "eindecomp/expr/element.hpp"

namespace eindecomp::expr {

/// What a scalar is or an element is, of the types that scalars adapt to; all others are `other`.
enum class NumberKind : std::uint8_t { integer, floating, complex, other };

template <class T>
inline constexpr bool is_complex = ElementTraits<T>::kind == ElementKind::complex64 ||
                                   ElementTraits<T>::kind == ElementKind::complex128;

/// Whether T are real or complex numbers, which are rounded.
template <class T>
inline constexpr bool is_inexact_type = std::is_floating_point_v<T> || is_complex<T>;

template <class T>
inline constexpr NumberKind scalar_kind =
    std::is_integral_v<T>                  ? NumberKind::integer
    : std::is_floating_point_v<Widened<T>> ? NumberKind::floating
    : is_complex<T>                        ? NumberKind::complex
                                           : NumberKind::other;
/// Of elements: the types of numbers that docs/language.md lists.
template <class T>
inline constexpr NumberKind number_kind = std::is_integral_v<T>
                                              ? (std::is_signed_v<T> && sizeof(T) >= 4
                                                     ? NumberKind::integer
                                                     : NumberKind::other)
                                          : std::is_same_v<T, long double> ? NumberKind::other
                                                                           : scalar_kind<T>;

/// The type of a complex number's parts, any other type itself.
template <class T>
struct RealPart {
  using type = T;
};
template <class T>
  requires is_complex<T>
struct RealPart<T> {
  using type = std::decay_t<decltype(std::declval<const T&>().real())>;
};

/// The complex type of the same template with parts T.
template <class T, class Complex>
struct WithParts;
template <class T, template <class...> class Complex, class Part>
struct WithParts<T, Complex<Part>> {
  using type = Complex<T>;
};

template <class... Ts>
struct TypeList {};
template <class... As, class... Bs>
constexpr TypeList<As..., Bs...> operator+(TypeList<As...>, TypeList<Bs...>) {
  return {};
}

/// The type that a scalar S takes beside elements Ts: theirs, unless it is of a higher kind. Then
/// it is double or complex beside integers, and complex of their precision beside floating-point
/// numbers. Elements of 16 bits are floats by then.
template <class S, class... Ts>
[[nodiscard]] constexpr auto weak_type(TypeList<Ts...>) {
  constexpr NumberKind scalar = scalar_kind<S>;
  if constexpr (sizeof...(Ts) == 0 || scalar == NumberKind::other ||
                ((number_kind<Ts> == NumberKind::other) || ...)) {
    return std::type_identity<S>{};
  } else {
    using Part = std::common_type_t<Widened<typename RealPart<Ts>::type>...>;
    constexpr bool whole = std::is_integral_v<Part>;
    if constexpr (scalar == NumberKind::integer) {
      return std::type_identity<Part>{};
    } else {
      using Real = std::conditional_t<whole, double, Part>;
      if constexpr (scalar == NumberKind::floating) {
        return std::type_identity<Real>{};
      } else {
        return std::type_identity<typename WithParts<Real, S>::type>{};
      }
    }
  }
}

/// Whether T can hold a real scalar, if rounded.
template <class T, class S>
[[nodiscard]] constexpr bool holds(const S& scalar) {
  constexpr bool widens =
      !std::is_integral_v<T> && (std::is_integral_v<S> || sizeof(T) >= sizeof(S));
  if constexpr (Half<T> && !std::is_same_v<T, S>) {
    // Infinities are held here, too.
    const auto number = static_cast<double>(scalar);
    const float rounded = T(number);
    return rounded - rounded == 0 || number - number != 0;
  } else if constexpr (std::is_same_v<T, S> || widens) {
    return true;
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<S>) {
      if (scalar < 0) {
        return std::is_signed_v<T> && static_cast<long long>(scalar) >=
                                          static_cast<long long>(std::numeric_limits<T>::min());
      }
    }
    return static_cast<unsigned long long>(scalar) <=
           static_cast<unsigned long long>(std::numeric_limits<T>::max());
  } else {
    // Infinities are held, and what is not a number.
    constexpr S most = std::numeric_limits<T>::max();
    constexpr S infinity = std::numeric_limits<S>::infinity();
    return !(scalar > most && scalar < infinity) && !(scalar < -most && scalar > -infinity);
  }
}

/// A scalar as T; T{} if T cannot hold it.
template <class T>
struct WeakScalar {
  T value{};
  bool held = true;

  template <class S>
  constexpr explicit WeakScalar(const S& scalar) {
    if constexpr (is_complex<T>) {
      using Part = typename RealPart<T>::type;
      held = holds<Part>(scalar.real()) && holds<Part>(scalar.imag());
      if (held) value = T(static_cast<Part>(scalar.real()), static_cast<Part>(scalar.imag()));
    } else {
      held = holds<T>(scalar);
      if (held) value = static_cast<T>(scalar);
    }
  }
};

}  // namespace eindecomp::expr
