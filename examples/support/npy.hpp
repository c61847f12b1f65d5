// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// NumPy's .npy files, and the data that come with the examples.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xnpy.hpp>

namespace examples {

/// A file of examples/data.
[[nodiscard]] inline std::string data_file(const std::string& name) {
  return (std::filesystem::path(EINDECOMP_EXAMPLES_DATA) / name).string();
}

/// Reads a .npy file whose elements are T, row by row. \throws std::runtime_error that names it.
template <class T>
[[nodiscard]] xt::xarray<T> load(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    throw std::runtime_error("there is no file " + path);
  }
  try {
    return xt::load_npy<T>(path);
  } catch (const std::exception& error) {
    throw std::runtime_error("cannot read " + path + ": " + error.what());
  }
}

/// Writes a View in row-major order, which the host can reach, to a .npy file.
template <class View>
void save(const std::string& path, const View& view) {
  std::vector<std::size_t> shape;
  for (std::size_t k = 0; k < static_cast<std::size_t>(View::rank); ++k) {
    shape.push_back(view.extent(k));
  }
  const std::vector<typename View::non_const_value_type> elements(view.data(),
                                                                  view.data() + view.size());
  xt::dump_npy(path, xt::adapt(elements, shape));
}

}  // namespace examples
