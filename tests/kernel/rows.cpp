// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps of rows, with operands that begin anew with each row or are the same along it, against plain
// loops: rows that follow one another and rows with gaps between them, of every length around those
// that are copied and that vectors have, several blocks, in place or not, with and without a
// monoid, in one item or in many.

#include <doctest/doctest.h>

#include <algorithm>
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

/// Strides of a tensor of those of three labels that bits tell, row by row, with gaps of as many
/// elements between neighbours along the first two. \returns how many elements it spans.
std::size_t set_strides(unsigned labels, const std::array<Extent, 3>& extent, Extent gap,
                        Extent* stride) {
  Extent next = 1;
  for (int l = 2; l >= 0; --l) {
    const bool has = (labels >> l & 1U) != 0;
    stride[l] = has ? next : 0;
    if (has) next = next * extent[static_cast<std::size_t>(l)] + gap;
  }
  return static_cast<std::size_t>(next);
}

/// Z(b, i, j) = first(…) - 2·second(…) + …, where each operand has some of the labels.
/// \param largest_gap  between rows and blocks of each tensor, at most
template <class T, class Monoid, std::size_t... I>
void check_rows(std::index_sequence<I...>, Random& random, const std::array<Extent, 3>& extent,
                Write write, bool in_place, Extent largest_gap) {
  constexpr std::size_t operands = sizeof...(I);
  LocalEinsum shape;
  shape.labels = 3;
  shape.operands = static_cast<int>(operands);
  for (std::size_t l = 0; l < 3; ++l) shape.extent[l] = extent[l];
  const std::size_t size =
      set_strides(7, extent, draw(random, 0, largest_gap), shape.output_stride);
  std::vector<std::vector<T>> x(operands);
  const void* addresses[operands];
  std::array<unsigned, operands> labels{};  // bit l: the operand has label l
  for (std::size_t o = 0; o < operands; ++o) {
    labels[o] = static_cast<unsigned>(draw(random, 0, 7));
    std::size_t elements =
        set_strides(labels[o], extent, draw(random, 0, largest_gap), shape.operand_stride[o]);
    if (in_place && o == 0) {
      std::copy_n(shape.output_stride, 3, shape.operand_stride[o]);
      elements = size;
    }
    x[o].resize(elements);
    for (T& value : x[o]) value = static_cast<T>(draw(random, -9, 9));
    addresses[o] = x[o].data();
  }
  std::vector<T> output(size, T(5));
  std::vector<T>& written = in_place ? x[0] : output;
  std::vector<T> expected = written;
  const auto at = [](const Extent* stride, Extent b, Extent i, Extent j) {
    return static_cast<std::size_t>(b * stride[0] + i * stride[1] + j * stride[2]);
  };
  for (Extent b = 0; b < extent[0]; ++b) {
    for (Extent i = 0; i < extent[1]; ++i) {
      for (Extent j = 0; j < extent[2]; ++j) {
        T sum = 0;
        for (std::size_t o = 0; o < operands; ++o) {
          const T weight = static_cast<T>(o + 1) * (o % 2 == 0 ? 1 : -1);
          sum += weight * x[o][at(shape.operand_stride[o], b, i, j)];
        }
        T& value = expected[at(shape.output_stride, b, i, j)];
        value = write == Write::accumulate ? value + sum : sum;
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
void check_maps(Extent largest_gap) {
  constexpr std::make_index_sequence<Operands> all;
  Random random(23 + Operands + 100 * static_cast<unsigned>(largest_gap));
  const std::vector<Extent> lengths{1,  2,  3,  5,  7,   8,   9,   15, 16,
                                    17, 31, 33, 64, 100, 127, 257, 300};
  for (const Extent columns : lengths) {
    for (const Extent rows : {1, 3, 4, 5, 17, 90}) {
      const Extent blocks = draw(random, 1, 3);
      const std::array<Extent, 3> extent{blocks, rows, columns};
      const auto check = [&]<class Monoid>(Monoid, Write write, bool in_place) {
        check_rows<T, Monoid>(all, random, extent, write, in_place, largest_gap);
      };
      check(ein::NoAggregation{}, Write::finished, false);
      check(ein::NoAggregation{}, Write::finished, true);
      check(ein::Sum{}, Write::partial, false);
      check(ein::Sum{}, Write::accumulate, false);
    }
  }
  // Several items, which begin within rows.
  for (const Extent columns : {5, 24, 250}) {
    const std::array<Extent, 3> extent{2, 120'000 / columns, columns};
    const std::array<Extent, 3> small_blocks{30'000 / columns, 4, columns};
    for (const auto& e : {extent, small_blocks}) {
      check_rows<T, ein::NoAggregation>(all, random, e, Write::finished, false, largest_gap);
      check_rows<T, ein::Sum>(all, random, e, Write::finished, false, largest_gap);
    }
  }
}

}  // namespace

TEST_CASE_TEMPLATE("maps of rows that follow one another", T, float, double) {
  check_maps<T, 1>(0);
  check_maps<T, 2>(0);
  check_maps<T, 3>(0);
  check_maps<T, 5>(0);
}

TEST_CASE_TEMPLATE("maps of rows with gaps between them", T, float, double) {
  check_maps<T, 1>(3);
  check_maps<T, 2>(3);
  check_maps<T, 3>(3);
}

TEST_CASE("maps of rows that follow one another by non-temporal stores") {
  constexpr std::make_index_sequence<2> two;
  constexpr std::make_index_sequence<3> three;
  Random random(6);
  const Extent bytes = ein::kernel::machine_rates.min_streamed_bytes;
  for (const Extent columns : {7, 48, 200}) {
    const std::array<Extent, 3> extent{1, bytes / columns / 8 + 1, columns};
    for (int turn = 0; turn < 4; ++turn) {
      check_rows<double, ein::NoAggregation>(two, random, extent, Write::finished, false, 0);
      check_rows<double, ein::NoAggregation>(three, random, extent, Write::finished, false, 0);
    }
  }
}
