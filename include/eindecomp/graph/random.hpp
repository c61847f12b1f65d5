// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Random tensors: inputs whose elements are functions of seed, name and index, the same on any
/// number of ranks; and dropout.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/hash.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/expression.hpp"
#include "eindecomp/graph/program.hpp"

namespace eindecomp {

/// 128 random bits of a counter and a key: Philox4x32 of ten rounds (Salmon, Moraes, Dror and Shaw,
/// "Parallel random numbers: as easy as 1, 2, 3", 2011). Equal arguments give equal bits,
/// everywhere.
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                            std::array<std::uint32_t, 2> key) {
  constexpr std::array<std::uint64_t, 2> multiplier{0xD2511F53U, 0xCD9E8D57U};
  constexpr std::array<std::uint32_t, 2> weyl{0x9E3779B9U, 0xBB67AE85U};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = multiplier[0] * counter[0];
    const std::uint64_t second = multiplier[1] * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32U) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32U) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(first)};
    key = {key[0] + weyl[0], key[1] + weyl[1]};
  }
  return counter;
}

namespace graph {

[[nodiscard]] constexpr std::uint32_t low_half(std::uint64_t x) {
  return static_cast<std::uint32_t>(x);
}
[[nodiscard]] constexpr std::uint32_t high_half(std::uint64_t x) {
  return static_cast<std::uint32_t>(x >> 32U);
}

/// The random bits of the elements of one tensor.
template <int Rank>
class RandomBits {
 public:
  template <class T, class Backend>
  constexpr RandomBits(const Symbol<T, Rank, Backend>& tensor, std::uint64_t seed) : m_seed(seed) {
    static_assert(std::is_floating_point_v<T>,
                  "EinDecomp: random numbers of a type that is no floating-point number; declare "
                  "the tensor of float or double");
    const Vertex& v = tensor.state()->graph[tensor.vertex()];
    core::Hasher name;
    name.add(v.name.view());
    m_stream = name.value();
    for (std::size_t d = 0; d < m_bound.size(); ++d) m_bound[d] = v.bound[d];
  }

  template <class... Index>
  [[nodiscard]] constexpr std::array<std::uint32_t, 4> operator()(Index... index) const {
    std::uint64_t element = 0;
    std::size_t d = 0;
    (..., (element = element * static_cast<std::uint64_t>(m_bound[d++]) +
                     static_cast<std::uint64_t>(index)));
    return philox({low_half(element), high_half(element), low_half(m_stream), high_half(m_stream)},
                  {low_half(m_seed), high_half(m_seed)});
  }

 private:
  std::uint64_t m_seed;
  std::uint64_t m_stream = 0;
  std::array<Extent, static_cast<std::size_t>(Rank)> m_bound{};
};

/// A number in [0, 1) of 64 random bits: as many of them as T holds, and at most 53.
template <class T>
[[nodiscard]] constexpr T unit_number(std::uint32_t high, std::uint32_t low) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(high >> 8U) * 0x1p-24F;
  } else {
    return static_cast<T>((std::uint64_t{high} << 32U | low) >> 11U) * T(0x1p-53);
  }
}

template <class T, int Rank>
struct UniformNumbers {
  RandomBits<Rank> bits;
  template <class... Index>
  [[nodiscard]] constexpr T operator()(Index... index) const {
    const auto random = bits(index...);
    return unit_number<T>(random[0], random[1]);
  }
};

template <class T, int Rank>
struct NormalNumbers {
  RandomBits<Rank> bits;
  template <class... Index>
  [[nodiscard]] T operator()(Index... index) const {
    const auto random = bits(index...);
    const double radius = 1 - unit_number<double>(random[0], random[1]);  // in (0, 1]
    const double angle = 2 * 3.14159265358979323846 * unit_number<double>(random[2], random[3]);
    return static_cast<T>(std::sqrt(-2 * std::log(radius)) * std::cos(angle));
  }
};

}  // namespace graph

/// Numbers uniform in [0, 1), for `bind_generator(N, uniform_numbers(N, seed))`. Each is a function
/// of the seed, the tensor's name and the element's index (philox): the same for every plan, and
/// independent of those of tensors of other names or of other seeds.
template <class T, int Rank, class Backend>
[[nodiscard]] constexpr auto uniform_numbers(const Symbol<T, Rank, Backend>& tensor,
                                             std::uint64_t seed) {
  return graph::UniformNumbers<T, Rank>{graph::RandomBits<Rank>(tensor, seed)};
}

/// Numbers normally distributed with mean 0 and deviation 1 (Box and Muller), as uniform_numbers.
template <class T, int Rank, class Backend>
[[nodiscard]] constexpr auto normal_numbers(const Symbol<T, Rank, Backend>& tensor,
                                            std::uint64_t seed) {
  return graph::NormalNumbers<T, Rank>{graph::RandomBits<Rank>(tensor, seed)};
}

/// x/(1 - rate), and 0 where the uniform number u is less than rate: `dropout(X(i, j), U(i, j),
/// 0.1)`, U an input that every run binds to uniform_numbers of another seed.
/// \param rate  in [0, 1). \throws Error if it is not.
template <Expression X, Expression U>
[[nodiscard]] constexpr auto dropout(const X& x, const U& u, double rate,
                                     std::source_location where = std::source_location::current()) {
  if (!(rate >= 0 && rate < 1)) {
    core::fail(
        ErrorKind::statement,
        "a rate of dropout is negative, 1 or more, or no number (it is the share of elements "
        "that are dropped); give one in [0, 1)",
        where);
  }
  return select(u < rate, 0.0, x * (1 / (1 - rate)));
}

}  // namespace eindecomp
