// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Views of a rank's arrays as strided tensors.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"

namespace eindecomp::run {

/// The type of view of a view or of a list of views.
template <class Views>
struct ViewType {
  using type = typename Views::value_type;
};
template <class Views>
  requires(compat::is_view<Views>)
struct ViewType<Views> {
  using type = Views;
};
template <class Views>
using ViewOf = typename ViewType<Views>::type;

template <class Views>
[[nodiscard]] std::vector<kernel::StridedTensor> strided_views(const Views& views) {
  static_assert(
      compat::is_view<ViewOf<Views>>,
      "EinDecomp: arrays are given as a Kokkos view or a std::vector of them (for others, "
      "wrap their pointers in unmanaged Views)");
  std::vector<kernel::StridedTensor> tensors;
  if constexpr (compat::is_view<Views>) {
    tensors.push_back(kernel::StridedTensor::of(views));
  } else {
    for (const auto& view : views) tensors.push_back(kernel::StridedTensor::of(view));
  }
  return tensors;
}

}  // namespace eindecomp::run
