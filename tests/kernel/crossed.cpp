// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps with operands that lie across the output, against plain loops over all positions.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "test_launcher.hpp"

namespace ein = eindecomp;
using ein::Extent;
using ein::kernel::LocalEinsum;
using ein::kernel::Write;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

/// A shape of three labels: rows of the output are along label 0. \param elements  of each tensor,
///   the output last
LocalEinsum draw_shape(std::mt19937& random, int operands, Extent* elements) {
  const auto any_of = [&](std::initializer_list<Extent> values) {
    return values.begin()[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
  };
  LocalEinsum shape;
  shape.labels = 3;
  shape.operands = operands;
  shape.extent[0] = any_of({256, 257, 300, 512, 700, 1025});
  shape.extent[1] = any_of({31, 32, 33, 40, 71});
  shape.extent[2] = any_of({1, 2, 3});
  for (int t = 0; t <= operands; ++t) {
    Extent* const stride = t < operands ? shape.operand_stride[t] : shape.output_stride;
    std::array<int, 3> order{0, 1, 2};
    if (t == operands) {
      if (any_of({0, 1}) == 1) std::swap(order[1], order[2]);
    } else {
      std::shuffle(order.begin(), order.end(), random);
    }
    Extent next = 1;
    for (const int l : order) {
      if (t < operands && any_of({0, 1, 2, 3, 4, 5}) == 0) continue;  // broadcast along it
      stride[l] = next;
      next = next * shape.extent[l] + any_of({0, 0, 1, 5});
    }
    elements[t] = next;
  }
  return shape;
}

template <class T>
std::vector<T> draw(std::mt19937& random, Extent count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) {
    value = static_cast<T>(static_cast<float>(std::uniform_int_distribution<int>(-9, 9)(random)));
  }
  return values;
}

/// \returns how many shapes have operands across.
template <class Monoid, class Join, class Result, class... Ts>
int check_with(unsigned first_seed, const Join& join, Write write) {
  constexpr int operands = sizeof...(Ts);
  int across = 0;
  for (unsigned seed = first_seed; seed < first_seed + 40; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Extent elements[operands + 1];
    const LocalEinsum shape = draw_shape(random, operands, elements);
    CAPTURE(shape.extent[0]);
    CAPTURE(shape.extent[1]);
    CAPTURE(shape.extent[2]);
    const auto tensors = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<std::vector<Ts>...>{draw<Ts>(random, elements[I])...};
    }
    (std::index_sequence_for<Ts...>{});
    std::vector<Result> output = draw<Result>(random, elements[operands]);
    std::vector<Result> expected = output;
    Extent at[3];
    const auto offset = [&](const Extent* stride) {
      return static_cast<std::size_t>(at[0] * stride[0] + at[1] * stride[1] + at[2] * stride[2]);
    };
    for (at[0] = 0; at[0] < shape.extent[0]; ++at[0]) {
      for (at[1] = 0; at[1] < shape.extent[1]; ++at[1]) {
        for (at[2] = 0; at[2] < shape.extent[2]; ++at[2]) {
          const auto value = [&]<std::size_t... I>(std::index_sequence<I...>) {
            return static_cast<Result>(
                join(std::get<I>(tensors)[offset(shape.operand_stride[I])]...));
          }
          (std::index_sequence_for<Ts...>{});
          Result& element = expected[offset(shape.output_stride)];
          element = write == Write::accumulate ? element + value : value;
        }
      }
    }
    const auto pointers = std::apply(
        [](const auto&... each) { return std::array<const void*, operands>{each.data()...}; },
        tensors);
    const ein::kernel::JoinAggregateLauncher<Space, Join, Monoid, Ts...> launcher(join);
    const auto kernel = launcher.prepare(Space(), shape, write);
    across +=
        kernel->explain(pointers.data(), output.data()).find("lie across") != std::string::npos ? 1
                                                                                                : 0;
    std::vector<unsigned char> workspace(static_cast<std::size_t>(kernel->workspace_bytes()) + 1);
    kernel->run(Space(), pointers.data(), output.data(), workspace.data());
    // Also what lies between rows is as it was.
    REQUIRE(output == expected);
  }
  return across;
}
template <class Join, class Result, class... Ts>
int check(unsigned first_seed, const Join& join) {
  return check_with<ein::NoAggregation, Join, Result, Ts...>(first_seed, join, Write::finished);
}

/// Makes no promise of vectors.
struct Furthest {
  template <class A, class B, class C>
  EINDECOMP_FUNCTION A operator()(const A& a, const B& b, const C& c) const {
    return static_cast<A>(2 * a - b) + static_cast<A>(c);
  }
};

}  // namespace

TEST_CASE("crossed maps: by vectors of double and float, and to large outputs") {
  CHECK(check<ein::Sub, double, double, double>(1, {}) > 5);
  CHECK(check<ein::Add, float, float, float>(101, {}) > 5);
}

TEST_CASE("crossed maps: three operands, other types, a functor without promises") {
  CHECK(check<Furthest, double, double, double, double>(201, {}) > 5);
  CHECK(check<Furthest, std::int64_t, std::int64_t, std::int32_t, std::int16_t>(301, {}) > 5);
  CHECK(check<ein::Mul, std::complex<double>, std::complex<double>, std::complex<double>>(401, {}) >
        5);
  CHECK(check<ein::Sub, std::int32_t, std::int32_t, std::int32_t>(501, {}) > 5);
}

TEST_CASE("crossed maps: one operand, and sums that aggregate nothing") {
  CHECK(check<ein::Abs, double, double>(601, {}) > 5);
  CHECK(check<ein::Relu, float, float>(701, {}) > 5);
  for (const Write write : {Write::finished, Write::accumulate}) {
    CHECK(check_with<ein::Sum, ein::Mul, double, double, double>(801, {}, write) > 5);
    CHECK(check_with<ein::Sum, ein::Abs, float, float>(901, {}, write) > 2);
    CHECK(check_with<ein::Sum, ein::Mul, float, float, float, float>(951, {}, write) > 5);
  }
}

TEST_CASE("crossed maps: X - Xᵀ as large as outputs that are streamed") {
  constexpr Extent n = 1024;
  LocalEinsum shape;
  shape.labels = 2;
  shape.operands = 2;
  shape.extent[0] = shape.extent[1] = n;
  shape.output_stride[0] = shape.operand_stride[0][0] = shape.operand_stride[1][1] = 1;
  shape.output_stride[1] = shape.operand_stride[0][1] = shape.operand_stride[1][0] = n;
  std::mt19937 random(7);
  const auto x = draw<double>(random, n * n);
  const Kokkos::View<double*, Space> y("y", static_cast<std::size_t>(n * n));
  const ein::kernel::JoinAggregateLauncher<Space, ein::Sub, ein::NoAggregation, double, double>
      launcher;
  const auto kernel = launcher.prepare(Space(), shape, Write::finished);
  std::vector<unsigned char> workspace(static_cast<std::size_t>(kernel->workspace_bytes()));
  const void* const operands[] = {x.data(), x.data()};
  kernel->run(Space(), operands, y.data(), workspace.data());
  for (Extent i = 0; i < n; ++i) {
    for (Extent j = 0; j < n; ++j) {
      REQUIRE(y.data()[i * n + j] ==
              x[static_cast<std::size_t>(i * n + j)] - x[static_cast<std::size_t>(j * n + i)]);
    }
  }
}

TEST_CASE("copies across of narrow rows that go backwards, to the end of their memory") {
  const auto check = []<class T>(T, Extent rows, Extent columns, Extent gap) {
    CAPTURE(rows);
    CAPTURE(columns);
    CAPTURE(gap);
    const Extent step = columns + gap;
    LocalEinsum shape;
    shape.labels = 2;
    shape.operands = 1;
    shape.extent[0] = rows;
    shape.extent[1] = columns;
    shape.operand_stride[0][0] = -step;
    shape.operand_stride[0][1] = 1;
    shape.output_stride[0] = 1;
    shape.output_stride[1] = rows;
    std::mt19937 random(11);
    const auto x = draw<T>(random, (rows - 1) * step + columns);
    std::vector<T> y(static_cast<std::size_t>(rows * columns));
    const ein::kernel::JoinAggregateLauncher<Space, ein::Identity, ein::NoAggregation, T> launcher;
    const auto kernel = launcher.prepare(Space(), shape, Write::finished);
    std::vector<unsigned char> workspace(static_cast<std::size_t>(kernel->workspace_bytes()) + 1);
    const void* const operands[] = {x.data() + (rows - 1) * step};
    kernel->run(Space(), operands, y.data(), workspace.data());
    for (Extent i = 0; i < rows; ++i) {
      for (Extent j = 0; j < columns; ++j) {
        REQUIRE(y[static_cast<std::size_t>(j * rows + i)] ==
                x[static_cast<std::size_t>((rows - 1 - i) * step + j)]);
      }
    }
  };
  for (const Extent rows : {5, 8, 16, 64, 600}) {
    for (const Extent columns : {2, 3, 5, 7}) {
      for (const Extent gap : {0, 1}) {
        check(float{}, rows, columns, gap);
        check(double{}, rows, columns, gap);
        check(std::complex<double>{}, rows, columns, gap);
      }
    }
  }
}

TEST_CASE("copies of many small matrices, transposed") {
  const auto check = []<class T>(T, Extent matrices, Extent rows, Extent columns, Extent gap) {
    CAPTURE(matrices);
    CAPTURE(rows);
    CAPTURE(columns);
    CAPTURE(gap);
    const Extent step = rows * columns + gap;
    LocalEinsum shape;
    shape.labels = 3;
    shape.operands = 1;
    const Extent extents[] = {matrices, rows, columns};
    const Extent from[] = {step, columns, 1};
    const Extent into[] = {step, 1, rows};
    std::copy(extents, extents + 3, shape.extent);
    std::copy(from, from + 3, shape.operand_stride[0]);
    std::copy(into, into + 3, shape.output_stride);
    std::mt19937 random(13);
    const auto x = draw<T>(random, matrices * step);
    auto y = draw<T>(random, matrices * step);
    auto expected = y;
    for (Extent m = 0; m < matrices; ++m) {
      for (Extent i = 0; i < rows; ++i) {
        for (Extent j = 0; j < columns; ++j) {
          expected[static_cast<std::size_t>(m * step + j * rows + i)] =
              x[static_cast<std::size_t>(m * step + i * columns + j)];
        }
      }
    }
    const ein::kernel::JoinAggregateLauncher<Space, ein::Identity, ein::NoAggregation, T> launcher;
    const auto kernel = launcher.prepare(Space(), shape, Write::finished);
    std::vector<unsigned char> workspace(static_cast<std::size_t>(kernel->workspace_bytes()) + 1);
    const void* const operands[] = {x.data()};
    kernel->run(Space(), operands, y.data(), workspace.data());
    REQUIRE(y == expected);
  };
  for (const Extent matrices : {1, 3, 16, 70, 300}) {
    for (const Extent rows : {2, 3, 4, 5, 6, 7}) {
      for (const Extent columns : {2, 3, 4, 5, 7}) {
        for (const Extent gap : {0, 1}) {
          check(std::uint8_t{}, matrices, rows, columns, gap);
          check(float{}, matrices, rows, columns, gap);
          check(double{}, matrices, rows, columns, gap);
          check(std::complex<double>{}, matrices, rows, columns, gap);
        }
      }
    }
  }
}
