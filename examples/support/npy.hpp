// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// NumPy's .npy files as Kokkos views, and the data that come with the examples.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <eindecomp/expr/element.hpp>
#include <eindecomp/graph/stored_tensor.hpp>
#include <eindecomp/tools/npy.hpp>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace examples {

/// A file of examples/data.
[[nodiscard]] inline std::string data_file(const std::string& name) {
  return (std::filesystem::path(EINDECOMP_EXAMPLES_DATA) / name).string();
}

/// A view on the host, row-major; Data is double** for a matrix of double.
template <class Data>
using HostView = Kokkos::View<Data, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// Reads a .npy file. Bytes are read as 32-bit integers.
/// \throws std::runtime_error that names it if it cannot be read or does not hold a Data
template <class Data>
[[nodiscard]] HostView<Data> load(const std::string& path) {
  using View = HostView<Data>;
  const eindecomp::StoredTensor tensor = eindecomp::read_npy(path);
  constexpr auto rank = static_cast<std::size_t>(View::rank);
  constexpr eindecomp::ElementType wanted = eindecomp::element_type<typename View::value_type>();
  if (tensor.bound.size() != rank || tensor.element != wanted) {
    const auto text = [](std::size_t dimensions, eindecomp::ElementType element) {
      return std::to_string(dimensions) + " dimensions of " +
             eindecomp::expr::element_text(element).str();
    };
    throw std::runtime_error(path + " has " + text(tensor.bound.size(), tensor.element) +
                             " where " + text(rank, wanted) + " are read");
  }
  Kokkos::LayoutRight layout;
  for (std::size_t k = 0; k < rank; ++k) {
    layout.dimension[k] = static_cast<std::size_t>(tensor.bound[k]);
  }
  View view(path, layout);
  std::memcpy(view.data(), tensor.bytes.data(), tensor.bytes.size());
  return view;
}

/// Writes a View in row-major order, which the host can reach, to a .npy file.
template <class View>
void save(const std::string& path, const View& view) {
  using T = typename View::non_const_value_type;
  eindecomp::StoredTensor tensor{"", eindecomp::element_type<T>(), {}, {}};
  for (std::size_t k = 0; k < static_cast<std::size_t>(View::rank); ++k) {
    tensor.bound.push_back(static_cast<eindecomp::Extent>(view.extent(k)));
  }
  tensor.bytes.resize(view.size() * sizeof(T));
  std::memcpy(tensor.bytes.data(), view.data(), tensor.bytes.size());
  eindecomp::write_npy(path, tensor);
}

}  // namespace examples
