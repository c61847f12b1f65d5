// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps whose rows follow one another, with operands that begin anew with each row or are the same
// along it, against plain loops: rows of every length around those that are copied and that vectors
// have, several blocks, in place or not, with and without a monoid, in one item or in many.

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "random_einsum.hpp"
#include "test_launcher.hpp"

using namespace kernel_test;
namespace ein = eindecomp;

namespace {

/// x - 2y + 3z - …: of small integers it is exact, and every operand has a place of its own.
struct Alternating {
  static constexpr bool takes_vectors = true;
  template <class V, class... Vs>
  V operator()(const V& first, const Vs&... others) const {
    V sum = first;
    int weight = 1;
    ((++weight, sum = sum + static_cast<float>(weight % 2 == 0 ? -weight : weight) * others), ...);
    return sum;
  }
};

/// Z(b, i, j) = first(…) - 2·second(…) + …, where each operand has some of the labels.
template <class T, class Monoid, std::size_t... I>
void check_dense_map(std::index_sequence<I...>, Random& random, const std::array<Extent, 3>& extent,
                     Write write, bool in_place) {
  constexpr std::size_t operands = sizeof...(I);
  LocalEinsum shape;
  shape.labels = 3;
  shape.operands = static_cast<int>(operands);
  std::size_t size = 1;
  for (int l = 2; l >= 0; --l) {
    shape.extent[l] = extent[static_cast<std::size_t>(l)];
    shape.output_stride[l] = static_cast<Extent>(size);
    size *= static_cast<std::size_t>(shape.extent[l]);
  }
  std::vector<std::vector<T>> x(operands);
  const void* addresses[operands];
  std::array<unsigned, operands> labels{};  // bit l: the operand has label l
  for (std::size_t o = 0; o < operands; ++o) {
    const bool is_output = in_place && o == 0;
    labels[o] = is_output ? 7U : static_cast<unsigned>(draw(random, 0, 7));
    Extent stride = 1;
    for (int l = 2; l >= 0; --l) {
      const bool has = (labels[o] >> l & 1U) != 0;
      shape.operand_stride[o][l] = has ? stride : 0;
      if (has) stride *= shape.extent[l];
    }
    x[o].resize(static_cast<std::size_t>(stride));
    for (T& value : x[o]) value = static_cast<T>(draw(random, -9, 9));
    addresses[o] = x[o].data();
  }
  std::vector<T> output(size, T(5));
  std::vector<T>& written = in_place ? x[0] : output;
  std::vector<T> expected = written;
  std::size_t n = 0;
  for (Extent b = 0; b < extent[0]; ++b) {
    for (Extent i = 0; i < extent[1]; ++i) {
      for (Extent j = 0; j < extent[2]; ++j, ++n) {
        T sum = 0;
        for (std::size_t o = 0; o < operands; ++o) {
          const Extent* const stride = shape.operand_stride[o];
          const T weight = static_cast<T>(o + 1) * (o % 2 == 0 ? 1 : -1);
          sum += weight *
                 x[o][static_cast<std::size_t>(b * stride[0] + i * stride[1] + j * stride[2])];
        }
        expected[n] = write == Write::accumulate ? expected[n] + sum : sum;
      }
    }
  }
  const TestLauncher<Kokkos::DefaultHostExecutionSpace, Alternating, Monoid, decltype(I, T{})...>
      launcher{};
  launcher.join(Kokkos::DefaultHostExecutionSpace(), shape, addresses, written.data(), write);
  Kokkos::fence();
  for (const Extent e : extent) CAPTURE(e);
  CAPTURE(labels);
  CAPTURE(in_place);
  REQUIRE(written == expected);
}

template <class T, std::size_t Operands>
void check_dense_maps() {
  constexpr std::make_index_sequence<Operands> all;
  Random random(23 + Operands);
  const std::vector<Extent> lengths{1,  2,  3,  5,  7,   8,   9,   15, 16,
                                    17, 31, 33, 64, 100, 127, 257, 300};
  for (const Extent columns : lengths) {
    for (const Extent rows : {1, 3, 4, 5, 17, 90}) {
      const Extent blocks = draw(random, 1, 3);
      const std::array<Extent, 3> extent{blocks, rows, columns};
      check_dense_map<T, ein::NoAggregation>(all, random, extent, Write::finished, false);
      check_dense_map<T, ein::NoAggregation>(all, random, extent, Write::finished, true);
      check_dense_map<T, ein::Sum>(all, random, extent, Write::partial, false);
      check_dense_map<T, ein::Sum>(all, random, extent, Write::accumulate, false);
    }
  }
  // Several items, which begin within rows.
  for (const Extent columns : {5, 24, 250}) {
    const std::array<Extent, 3> extent{2, 120'000 / columns, columns};
    check_dense_map<T, ein::NoAggregation>(all, random, extent, Write::finished, false);
    check_dense_map<T, ein::Sum>(all, random, extent, Write::finished, false);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("maps of rows that follow one another", T, float, double) {
  check_dense_maps<T, 1>();
  check_dense_maps<T, 2>();
  check_dense_maps<T, 3>();
  check_dense_maps<T, 5>();
}

TEST_CASE("maps of rows that follow one another by non-temporal stores") {
  constexpr std::make_index_sequence<2> two;
  constexpr std::make_index_sequence<3> three;
  Random random(6);
  const Extent bytes = ein::kernel::machine_rates.min_streamed_bytes;
  for (const Extent columns : {7, 48, 200}) {
    const std::array<Extent, 3> extent{1, bytes / columns / 8 + 1, columns};
    for (int turn = 0; turn < 4; ++turn) {
      check_dense_map<double, ein::NoAggregation>(two, random, extent, Write::finished, false);
      check_dense_map<double, ein::NoAggregation>(three, random, extent, Write::finished, false);
    }
  }
}
