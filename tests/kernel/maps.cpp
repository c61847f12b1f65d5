// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps of three to eight operands: rows of every length, in place or not, with operands that are
// the same all along a row or end before it does, against plain loops. Square roots and absolute
// values by vectors.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "random_einsum.hpp"
#include "test_launcher.hpp"

using namespace kernel_test;
namespace ein = eindecomp;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

/// Σ (o + 1)·√|x_o|, which vectors compute as numbers are.
struct Weighted {
  static constexpr bool takes_vectors = ein::takes_vectors<ein::Sqrt>;
  template <class V, class... Vs>
  V operator()(const V& first, const Vs&... others) const {
    V sum = ein::Sqrt{}(ein::Abs{}(first));
    int weight = 1;
    ((sum = sum + static_cast<float>(++weight) * ein::Sqrt{}(ein::Abs{}(others))), ...);
    return sum;
  }
};

template <class T>
T reference(const std::vector<T>& x) {
  T sum = std::sqrt(std::abs(x[0]));
  for (std::size_t o = 1; o < x.size(); ++o) {
    sum += static_cast<T>(o + 1) * std::sqrt(std::abs(x[o]));
  }
  return sum;
}

/// A map whose operands have no strides yet.
LocalEinsum map_shape(std::size_t operands, Extent rows, Extent columns, Extent pitch) {
  LocalEinsum shape;
  shape.labels = 2;
  shape.operands = static_cast<int>(operands);
  shape.extent[0] = rows;
  shape.extent[1] = columns;
  shape.output_stride[0] = pitch;
  shape.output_stride[1] = 1;
  return shape;
}

/// \param columns, pitch  of an output row and from one to the next.
/// \param same  bit o: operand o has one element a row. \param in_place  operand 1 is the output.
template <class T, std::size_t... I>
void check_map(std::index_sequence<I...>, Random& random, Extent rows, Extent columns, Extent pitch,
               unsigned same, bool in_place) {
  constexpr std::size_t operands = sizeof...(I);
  LocalEinsum shape = map_shape(operands, rows, columns, pitch);
  const auto size = static_cast<std::size_t>(rows * pitch);
  std::vector<std::vector<T>> x(operands);
  const void* addresses[operands];
  for (std::size_t o = 0; o < operands; ++o) {
    x[o].resize(size);
    for (T& value : x[o]) value = static_cast<T>(draw(random, -1000, 1000)) / T(7);
    shape.operand_stride[o][0] = pitch;
    shape.operand_stride[o][1] = (same >> o & 1U) != 0 ? 0 : 1;
    addresses[o] = x[o].data();
  }
  std::vector<T> output(size, T(-1));
  std::vector<T> expected = in_place ? x[1] : output;
  for (Extent i = 0; i < rows; ++i) {
    for (Extent j = 0; j < columns; ++j) {
      std::vector<T> at;
      for (std::size_t o = 0; o < operands; ++o) {
        const Extent column = (same >> o & 1U) != 0 ? 0 : j;
        at.push_back(x[o][static_cast<std::size_t>(i * pitch + column)]);
      }
      expected[static_cast<std::size_t>(i * pitch + j)] = reference(at);
    }
  }
  std::vector<T>& written = in_place ? x[1] : output;
  const kernel_test::TestLauncher<Space, Weighted, ein::NoAggregation, decltype(I, T{})...>
      launcher{};
  launcher.join(Space(), shape, addresses, written.data(), Write::finished);
  Kokkos::fence();
  bool equal = true;
  for (std::size_t n = 0; n < size; ++n) {
    equal = equal && std::abs(written[n] - expected[n]) <=
                         8 * std::numeric_limits<T>::epsilon() * std::abs(expected[n]);
  }
  CAPTURE(operands);
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(pitch);
  CAPTURE(same);
  CAPTURE(in_place);
  REQUIRE(equal);
}

/// Operands that are read at columns further on or back, of which there are no others than those of
/// their rows: there they are 0, or periodic.
/// \param pitch  from one row to the next, of all tensors. \param same  operand 2 is one element
template <class T, std::size_t... I>
void check_ends(std::index_sequence<I...>, Random& random, Extent rows, Extent columns,
                Extent pitch, bool same) {
  constexpr std::size_t operands = sizeof...(I);
  LocalEinsum shape = map_shape(operands, rows, columns, pitch);
  shape.ends.label = 1;
  const auto size = static_cast<std::size_t>((rows - 1) * pitch + columns);
  std::vector<std::vector<T>> x(operands);
  const void* addresses[operands];
  Extent shift[operands];
  for (std::size_t o = 0; o < operands; ++o) {
    const bool one = same && o == 2;
    x[o].resize(one ? 1 : size);
    for (T& value : x[o]) value = static_cast<T>(draw(random, -1000, 1000)) / T(7);
    shift[o] = one || o == 1 ? 0 : draw(random, -3, 3);
    shape.operand_stride[o][0] = one ? 0 : pitch;
    shape.operand_stride[o][1] = one ? 0 : 1;
    shape.ends.first[o] = std::clamp<Extent>(-shift[o], 0, columns);
    shape.ends.last[o] = std::clamp<Extent>(columns - shift[o], 0, columns);
    const bool periodic = draw(random, 0, 1) == 1 && std::abs(shift[o]) <= columns;
    shape.ends.period[o] = periodic ? columns : 0;
    addresses[o] = x[o].data() + shift[o];
  }
  constexpr std::size_t begin = 3;  // of the output, on no line
  std::vector<T> output(size + begin + 1, T(-1));
  std::vector<T> expected = output;
  for (Extent i = 0; i < rows; ++i) {
    for (Extent j = 0; j < columns; ++j) {
      std::vector<T> at;
      for (std::size_t o = 0; o < operands; ++o) {
        const Extent column = j + shift[o];
        const Extent inside = (column + columns) % columns;
        const bool zero = column != inside && shape.ends.period[o] == 0;
        const auto element = x[o].size() == 1 ? 0 : static_cast<std::size_t>(i * pitch + inside);
        at.push_back(zero ? T(0) : x[o][element]);
      }
      expected[begin + static_cast<std::size_t>(i * pitch + j)] = reference(at);
    }
  }
  const ein::kernel::JoinAggregateLauncher<Space, Weighted, ein::NoAggregation, decltype(I, T{})...>
      launcher{};
  const auto kernel = launcher.prepare(Space(), shape, Write::finished);
  REQUIRE((kernel != nullptr) == (columns > 1));
  if (kernel == nullptr) return;
  kernel->run(Space(), addresses, output.data() + begin, nullptr);
  Kokkos::fence();
  std::size_t equal = 0;
  for (std::size_t n = 0; n < output.size(); ++n) {
    equal += std::abs(output[n] - expected[n]) <=
             8 * std::numeric_limits<T>::epsilon() * std::abs(expected[n]);
  }
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(pitch);
  CAPTURE(same);
  REQUIRE(equal == output.size());
}

template <class T, std::size_t Operands>
void check_maps() {
  constexpr std::make_index_sequence<Operands> all;
  Random random(17 + Operands);
  for (Extent columns = 1; columns <= 70; ++columns) {
    const Extent pitch = columns + draw(random, 0, 2);
    const auto same = static_cast<unsigned>(draw(random, 0, (1 << Operands) - 2));
    check_map<T>(all, random, 3, columns, pitch, 0, false);
    check_map<T>(all, random, 3, columns, pitch, same, false);
    check_map<T>(all, random, 3, columns, pitch, same & ~2U, true);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("maps of many operands", T, float, double) {
  check_maps<T, 3>();
  check_maps<T, 4>();
  check_maps<T, 5>();
  check_maps<T, 8>();
}

TEST_CASE("maps of many operands by non-temporal stores") {
  constexpr std::make_index_sequence<3> all;
  Random random(5);
  const Extent bytes = eindecomp::kernel::machine_rates.min_streamed_bytes;
  for (const Extent columns : {2055, 4097}) {
    const Extent rows = bytes / columns / 8 + 1;
    check_map<double>(all, random, rows, columns, columns, 4, false);
    check_map<double>(all, random, rows, columns, columns + 1, 0, false);
  }
}

TEST_CASE_TEMPLATE("maps whose operands end before rows do", T, float, double) {
  Random random(11);
  for (Extent columns = 1; columns <= 70; ++columns) {
    for (const Extent rows : {1, 2, 7, 300}) {
      const bool same = draw(random, 0, 1) == 1;
      check_ends<T>(std::make_index_sequence<3>(), random, rows, columns, columns, same);
      check_ends<T>(std::make_index_sequence<5>(), random, rows, columns, columns, false);
      check_ends<T>(std::make_index_sequence<8>(), random, rows, columns, columns + 2, same);
    }
  }
}

TEST_CASE_TEMPLATE("the same by non-temporal stores", T, float, double) {
  Random random(12);
  constexpr auto size = static_cast<Extent>(sizeof(T));
  const Extent outputs = eindecomp::kernel::machine_rates.min_streamed_bytes / size;
  for (const Extent columns : {2, 3, 5, 64, 203, 4099}) {
    const Extent rows = outputs / columns + 1;
    check_ends<T>(std::make_index_sequence<3>(), random, rows, columns, columns, false);
    check_ends<T>(std::make_index_sequence<7>(), random, rows, columns, columns, true);
  }
  check_ends<T>(std::make_index_sequence<3>(), random, outputs / 4099 + 1, 4099, 4101, false);
}

TEST_CASE("who computes no rows of a shape with ends says so") {
  LocalEinsum shape;
  shape.labels = 2;
  shape.operands = 3;
  shape.ends.label = 1;
  for (int l = 0; l < 2; ++l) {
    shape.extent[l] = 20;
    shape.output_stride[l] = l == 0 ? 20 : 1;
    for (int o = 0; o < 3; ++o) shape.operand_stride[o][l] = shape.output_stride[l];
  }
  shape.ends.first[0] = 1;
  for (int o = 0; o < 3; ++o) shape.ends.last[o] = 20;
  const ein::kernel::JoinAggregateLauncher<Space, Weighted, ein::NoAggregation, double, double,
                                           double>
      launcher{};
  const auto computes = [&](const LocalEinsum& given) {
    return launcher.prepare(Space(), given, Write::finished) != nullptr;
  };
  CHECK(computes(shape));
  LocalEinsum columns = shape;
  columns.ends.label = 0;
  CHECK(!computes(columns));
  LocalEinsum strided = shape;
  strided.operand_stride[0][1] = 2;
  CHECK(!computes(strided));
  const ein::kernel::JoinAggregateLauncher<Space, ein::Mul, ein::NoAggregation, double, double> two;
  shape.operands = 2;
  CHECK(two.prepare(Space(), shape, Write::finished) == nullptr);
}

TEST_CASE_TEMPLATE("square roots and absolute values by vectors are those of numbers", T, float,
                   double) {
  using Limits = std::numeric_limits<T>;
  constexpr int width = static_cast<int>(16 / sizeof(T));
  using V = ein::kernel::detail::Lanes<T, width>;
  std::vector<T> values{T(0),
                        T(-0.0),
                        Limits::infinity(),
                        -Limits::infinity(),
                        Limits::min(),
                        Limits::max(),
                        Limits::denorm_min(),
                        T(2),
                        Limits::lowest(),
                        Limits::quiet_NaN()};
  Random random(3);
  while (values.size() < 4000) {
    values.push_back(std::ldexp(static_cast<T>(draw(random, 1, 1 << 24)),
                                static_cast<int>(draw(random, -100, 100))));
  }
  const auto alike = [](T a, T b) { return (std::isnan(a) && std::isnan(b)) || a == b; };
  for (std::size_t n = 0; n + width <= values.size(); ++n) {
    V v{};
    for (int l = 0; l < width; ++l) v[l] = values[n + static_cast<std::size_t>(l)];
    const V absolute = ein::Abs{}(v);
    for (int l = 0; l < width; ++l) REQUIRE(alike(absolute[l], std::abs(v[l])));
    if constexpr (ein::takes_vectors<ein::Sqrt>) {
      const V root = ein::Sqrt{}(v);
      for (int l = 0; l < width; ++l) REQUIRE(alike(root[l], std::sqrt(v[l])));
    }
  }
}

namespace {

/// A functor on the vectors of the machine and on each of their elements. \returns how many
/// elements differ in any bit.
template <class T, class F>
int differences(const F& functor, const std::vector<T>& values) {
  constexpr int width = ein::kernel::detail::vector_bytes / static_cast<int>(sizeof(T));
  using V = ein::kernel::detail::Lanes<T, width>;
  int differ = 0;
  for (std::size_t n = 0; n + width <= values.size(); ++n) {
    V v{};
    for (int l = 0; l < width; ++l) v[l] = values[n + static_cast<std::size_t>(l)];
    const V results = functor(v);
    for (int l = 0; l < width; ++l) {
      const T expected = functor(v[l]);
      const bool alike =
          (std::isnan(expected) && std::isnan(results[l])) ||
          (expected == results[l] && std::signbit(expected) == std::signbit(results[l]));
      if (!alike) ++differ;
    }
  }
  return differ;
}

}  // namespace

TEST_CASE_TEMPLATE("functions of networks by vectors are those of numbers", T, float, double) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values{T(0),          T(-0.0),       Limits::infinity(), -Limits::infinity(),
                        Limits::max(), Limits::min(), Limits::lowest(),   Limits::quiet_NaN()};
  values.insert(values.end(), {Limits::denorm_min(), -Limits::denorm_min()});
  Random random(4);
  while (values.size() < 40000) {
    const auto number = static_cast<T>(draw(random, -(1 << 24), 1 << 24));
    values.push_back(std::ldexp(number, static_cast<int>(draw(random, -40, -14))));
    // Of every size, and where exponentials are subnormal.
    values.push_back(std::ldexp(
        number, static_cast<int>(draw(random, Limits::min_exponent - 40, Limits::max_exponent))));
    values.push_back(static_cast<T>(std::log(Limits::min())) + number / T(1 << 20));
  }
  const auto leaky = [](const auto& x) {
    return ein::Select{}(ein::Greater{}(x, T(0)), x, ein::Mul{}(T(0.01), x));
  };
  const auto clipped = [](const auto& x) {
    return ein::Select{}(ein::LessEqual{}(x, T(-1)), T(-1), x);
  };
  const auto where_not_zero = [](const auto& x) { return ein::Select{}(x, T(2), x - T(3)); };
  CHECK(differences(leaky, values) == 0);
  CHECK(differences(where_not_zero, values) == 0);
  CHECK(where_not_zero(T(0)) == T(-3));
  CHECK(differences(clipped, values) == 0);
  CHECK(leaky(T(-2)) == T(0.01) * T(-2));
  CHECK(leaky(T(3)) == T(3));
  CHECK(clipped(T(-3)) == T(-1));
  CHECK(ein::Sigmoid{}(T(0)) == T(0.5));
  if constexpr (ein::takes_vectors<ein::Tanh>) {
    CHECK(differences(ein::Exp{}, values) == 0);
    CHECK(differences(ein::Tanh{}, values) == 0);
    CHECK(differences(ein::Erf{}, values) == 0);
    CHECK(differences(ein::Erfc{}, values) == 0);
    CHECK(differences(ein::Gelu{}, values) == 0);
    CHECK(differences(ein::Log{}, values) == 0);
    CHECK(differences(ein::Sigmoid{}, values) == 0);
    CHECK(differences(ein::Silu{}, values) == 0);
  }
}

TEST_CASE_TEMPLATE("sums of exponentials are the same wherever their outputs lie", T, float,
                   double) {
  constexpr Extent rows = 300;
  constexpr Extent columns = 35;
  LocalEinsum shape;
  shape.labels = 2;
  shape.operands = 1;
  shape.extent[0] = rows;
  shape.aggregated[0] = true;
  shape.operand_stride[0][0] = columns;
  shape.operand_stride[0][1] = shape.output_stride[1] = 1;
  Random random(5);
  std::vector<T> x(rows * columns);
  for (T& value : x) value = static_cast<T>(draw(random, -(1 << 20), 1 << 20)) / T(1 << 18);
  const TestLauncher<Space, ein::Exp, ein::Sum, T> launcher;
  // The columns from `first` on, several.
  const auto sums_from = [&](Extent first) {
    shape.extent[1] = columns - first;
    std::vector<T> sums(static_cast<std::size_t>(columns - first));
    const void* const operands[] = {x.data() + first};
    launcher.join(Space(), shape, operands, sums.data(), Write::finished);
    Kokkos::fence();
    return sums;
  };
  const std::vector<T> all = sums_from(0);
  for (Extent first = 1; first + 1 < columns; ++first) {
    CAPTURE(first);
    CHECK(sums_from(first) == std::vector<T>(all.begin() + first, all.end()));
  }
}
