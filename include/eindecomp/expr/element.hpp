// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// From a C++ value type to what the graph records of it.
#pragma once

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "eindecomp/core/text.hpp"
#include "eindecomp/expr/half.hpp"

namespace eindecomp {

/// What a tensor's elements are. `other` is any other trivially copyable type.
enum class ElementKind : std::uint8_t {
  float32,
  float64,
  complex64,
  complex128,
  int32,
  int64,
  float16,
  bfloat16,
  int8,
  int16,
  uint8,
  uint16,
  uint32,
  uint64,
  other
};

/// The kind of a tensor's elements and their size in bytes.
struct ElementType {
  ElementKind kind = ElementKind::float64;  ///< what they are
  std::int32_t bytes = 8;                   ///< of one element
  constexpr bool operator==(const ElementType&) const = default;
};

namespace expr {
template <class T>
[[nodiscard]] consteval ElementKind kind_of_standard_type() {
  if (std::is_same_v<T, float>) return ElementKind::float32;
  if (std::is_same_v<T, double>) return ElementKind::float64;
  if (std::is_same_v<T, std::complex<float>>) return ElementKind::complex64;
  if (std::is_same_v<T, std::complex<double>>) return ElementKind::complex128;
  if (std::is_same_v<T, float16>) return ElementKind::float16;
  if (std::is_same_v<T, bfloat16>) return ElementKind::bfloat16;
  return ElementKind::other;
}
}  // namespace expr

/// Specialise `kind` for a complex type of your own; the kernel room does for Kokkos::complex.
template <class T>
struct ElementTraits {
  static constexpr ElementKind kind = expr::kind_of_standard_type<T>();  ///< of T
};

/// A type that may be a tensor's element or a monoid's accumulator: it is moved as bytes.
template <class T>
concept Element = std::is_trivially_copyable_v<T> && !std::is_const_v<T> && !std::is_reference_v<T>;

/// Floating-point numbers of 16 bits that are neither float16 nor bfloat16, which no tensor may
/// have: sums of them would soon be all rounding. Specialise for one that neither the compiler nor
/// std::numeric_limits knows.
template <class T>
inline constexpr bool is_foreign_half = [] {
  using Limits = std::numeric_limits<T>;
  if (sizeof(T) != 2 || std::is_integral_v<T> || std::is_enum_v<T> || Half<T>) return false;
  return !std::is_class_v<T> || (Limits::is_specialized && !Limits::is_integer);
}();

/// The ElementType of T.
template <Element T>
[[nodiscard]] constexpr ElementType element_type() {
  static_assert(!is_foreign_half<T>,
                "EinDecomp: tensors of 16-bit floating-point numbers of the compiler or of another "
                "library are not supported; declare them of ein::float16 or ein::bfloat16, which "
                "have the same bits");
  static_assert(!std::is_same_v<T, bool>,
                "EinDecomp: tensors of bool are not supported (truth values are stored as 32-bit "
                "integers); declare them of std::int32_t");
  ElementKind kind = ElementTraits<T>::kind;
  // By size, for long and long long are alike.
  if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
    constexpr ElementKind kinds[2][4] = {
        {ElementKind::uint8, ElementKind::uint16, ElementKind::uint32, ElementKind::uint64},
        {ElementKind::int8, ElementKind::int16, ElementKind::int32, ElementKind::int64}};
    kind = kinds[std::is_signed_v<T> ? 1 : 0][std::bit_width(sizeof(T)) - 1];
  }
  return {kind, static_cast<std::int32_t>(sizeof(T))};
}

/// The type a result is stored as: truth values are 32-bit integers, all else is itself.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::int32_t, T>;

namespace expr {
[[nodiscard]] constexpr Text element_text(ElementType element) {
  constexpr std::string_view names[] = {
      "float",    "double", "complex<float>", "complex<double>", "int32",  "int64",  "float16",
      "bfloat16", "int8",   "int16",          "uint8",           "uint16", "uint32", "uint64"};
  if (element.kind == ElementKind::other) {
    return Text("a ") + core::to_text(element.bytes) + "-byte type";
  }
  return names[static_cast<std::size_t>(element.kind)];
}
}  // namespace expr

}  // namespace eindecomp
