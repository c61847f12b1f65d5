// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Boxes filled with one value, and rows of consecutive numbers.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/kernel/copy/box_kernel.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"

namespace eindecomp::kernel {

/// The bytes of an element; those that are left out are 0.
using ElementBytes = std::vector<unsigned char>;

namespace detail {
template <class T>
[[nodiscard]] ElementBytes outside_bytes(OutsideValue value) {
  using Limits = std::numeric_limits<T>;
  T number(0);
  if (value == OutsideValue::one) number = T(1);
  if (value == OutsideValue::lowest) {
    number = Limits::has_infinity ? T(-Limits::infinity()) : Limits::lowest();
  }
  if (value == OutsideValue::highest) {
    number = Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  ElementBytes bytes(sizeof number);
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}
}  // namespace detail

/// A value as an element of a tensor; of a complex number, as its real part.
[[nodiscard]] inline ElementBytes bytes_of(OutsideValue value, ElementType element) {
  switch (element.kind) {
    case ElementKind::float32:
    case ElementKind::complex64:
      return detail::outside_bytes<float>(value);
    case ElementKind::float64:
    case ElementKind::complex128:
      return detail::outside_bytes<double>(value);
    case ElementKind::int32:
      return detail::outside_bytes<std::int32_t>(value);
    case ElementKind::int64:
      return detail::outside_bytes<std::int64_t>(value);
    case ElementKind::int8:
      return detail::outside_bytes<std::int8_t>(value);
    case ElementKind::int16:
      return detail::outside_bytes<std::int16_t>(value);
    case ElementKind::uint8:
      return detail::outside_bytes<std::uint8_t>(value);
    case ElementKind::uint16:
      return detail::outside_bytes<std::uint16_t>(value);
    case ElementKind::uint32:
      return detail::outside_bytes<std::uint32_t>(value);
    case ElementKind::uint64:
      return detail::outside_bytes<std::uint64_t>(value);
    case ElementKind::float16:
      return detail::outside_bytes<float16>(value);
    case ElementKind::bfloat16:
      return detail::outside_bytes<bfloat16>(value);
    case ElementKind::other:
      break;
  }
  return {};
}

namespace detail {
/// A copy from one element, over and over.
template <class Space>
class PreparedFill final : public PreparedBox<Space> {
 public:
  /// Fences `space`.
  PreparedFill(const Space& space, const StridedBox& box, std::int64_t element_bytes,
               ElementBytes value)
      : m_copy(box, element_bytes),
        m_value(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "EinDecomp::fill"),
                to_index(element_bytes)) {
    value.resize(to_index(element_bytes));
    using Bytes = Kokkos::View<const unsigned char*, Kokkos::HostSpace,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    Kokkos::deep_copy(space, m_value, Bytes(value.data(), value.size()));
    compat::fence(space, "EinDecomp::fill");
  }
  void run(const Space& space, void* into, const void*) const override {
    m_copy.run(space, into, m_value.data());
  }

 private:
  PreparedBoxCopy<Space> m_copy;
  Kokkos::View<unsigned char*, typename Space::memory_space> m_value;
};

/// first, first + 1, …
struct CountKernel {
  std::int64_t* into;
  std::int64_t first;
  EINDECOMP_FUNCTION void operator()(const Extent i) const { into[i] = first + i; }
};
template <class Space>
class PreparedCount final : public PreparedBox<Space> {
 public:
  PreparedCount(std::int64_t first, Extent length) : m_first(first), m_length(length) {}
  void run(const Space& space, void* into, const void*) const override {
    launch(space, "EinDecomp::count", m_length,
           CountKernel{static_cast<std::int64_t*>(into), m_first});
  }

 private:
  std::int64_t m_first;
  Extent m_length;
};
}  // namespace detail

/// Fills the elements of a box with one value, made ready. Fences `space`.
/// \param box  whose strides in the source are 0
template <compat::ExecutionSpace Space>
[[nodiscard]] std::unique_ptr<const PreparedBox<Space>> prepare_fill(const Space& space,
                                                                     std::int64_t element_bytes,
                                                                     const StridedBox& box,
                                                                     const ElementBytes& value) {
  return std::make_unique<const detail::PreparedFill<Space>>(space, box, element_bytes, value);
}

/// Writes consecutive numbers, made ready.
template <compat::ExecutionSpace Space>
[[nodiscard]] std::unique_ptr<const PreparedBox<Space>> prepare_count(std::int64_t first,
                                                                      Extent length) {
  return std::make_unique<const detail::PreparedCount<Space>>(first, length);
}

}  // namespace eindecomp::kernel
