// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random numbers that are the same everywhere, and inputs drawn by them.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "property/signatures.hpp"

namespace property {

using Random = std::mt19937_64;

inline Extent draw(Random& random, Extent low, Extent high) {
  // Not std::uniform_int_distribution: seeds mean the same with every standard library.
  return low + static_cast<Extent>(random() % static_cast<std::uint64_t>(high - low + 1));
}
inline bool chance(Random& random, int percent) { return draw(random, 1, 100) <= percent; }
template <class T>
const T& pick(Random& random, const std::vector<T>& of) {
  return of[static_cast<std::size_t>(draw(random, 0, static_cast<Extent>(of.size()) - 1))];
}

/// Small whole numbers.
inline reference::Tensor random_input(Random& random, Kind kind, std::vector<Extent> bound) {
  reference::Tensor tensor;
  tensor.kind = kind;
  tensor.bound = std::move(bound);
  Extent size = 1;
  for (Extent b : tensor.bound) size *= b;
  // Some tensors are positive, for logarithms and divisions.
  const Extent low = chance(random, 30) ? 1 : -3;
  for (Extent i = 0; i < size; ++i) {
    const auto real = static_cast<long double>(draw(random, low, 4));
    const auto imaginary = static_cast<long double>(draw(random, -2, 2));
    tensor.values.emplace_back(real, reference::is_complex(kind) ? imaginary : 0);
    tensor.scale = std::max(tensor.scale, std::max(std::abs(real), std::abs(imaginary)));
  }
  return tensor;
}

/// Values of a label of that extent.
inline reference::Tensor random_indices(Random& random, Kind kind, std::vector<Extent> bound,
                                        Extent extent) {
  reference::Tensor tensor;
  tensor.kind = kind;
  tensor.bound = std::move(bound);
  Extent size = 1;
  for (Extent b : tensor.bound) size *= b;
  // Some send all to few values.
  const Extent most = chance(random, 30) ? (extent - 1) / 2 : extent - 1;
  for (Extent i = 0; i < size; ++i) {
    tensor.values.emplace_back(static_cast<long double>(draw(random, 0, most)));
  }
  tensor.scale = static_cast<long double>(most);
  return tensor;
}

inline ein::AnySymbol add_input(Builder& builder, Kind kind, const std::string& name,
                                std::vector<Extent> bound) {
  switch (kind) {
    case Kind::float32:
      return builder.input<float>(name, std::move(bound));
    case Kind::complex64:
      return builder.input<Complex64>(name, std::move(bound));
    case Kind::complex128:
      return builder.input<Complex128>(name, std::move(bound));
    case Kind::int32:
      return builder.input<std::int32_t>(name, std::move(bound));
    case Kind::int64:
      return builder.input<std::int64_t>(name, std::move(bound));
    case Kind::float16:
      return builder.input<ein::float16>(name, std::move(bound));
    case Kind::bfloat16:
      return builder.input<ein::bfloat16>(name, std::move(bound));
    default:
      return builder.input<double>(name, std::move(bound));
  }
}

}  // namespace property
