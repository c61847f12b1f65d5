// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with an operand that is read by windows that overlap, as the executor hands
// convolutions to kernels: strides of one tensor that reach into each other.

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "random_einsum.hpp"
#include "test_launcher.hpp"

using namespace kernel_test;
namespace ein = eindecomp;
namespace detail = eindecomp::kernel::detail;

namespace {

#if defined(KOKKOS_ENABLE_OPENMP)
using Space = Kokkos::OpenMP;
#else
using Space = Kokkos::DefaultHostExecutionSpace;
#endif

/// A convolution of `batch` images of channels x height x width with square windows.
struct Convolution {
  Extent batch;
  Extent channels;
  Extent height;
  Extent width;
  Extent filters;
  Extent window;
  Extent stride = 1;
  Extent dilation = 1;

  [[nodiscard]] Extent rows() const { return (height - reach()) / stride; }
  [[nodiscard]] Extent columns() const { return (width - reach()) / stride; }
  [[nodiscard]] Extent reach() const { return dilation * (window - 1); }
  [[nodiscard]] Extent image() const { return channels * height * width; }
  [[nodiscard]] Extent output() const { return filters * rows() * columns(); }
  [[nodiscard]] Extent weights() const { return filters * channels * window * window; }
};

/// A shape and where the first elements of its tensors are.
struct Call {
  LocalEinsum shape;
  Extent elements[3] = {0, 0, 0};
  Extent first = 0;  ///< of the operand with windows, which comes first

  void add(Extent extent, Extent a, Extent b, Extent c) {
    const int l = shape.labels++;
    shape.extent[l] = extent;
    shape.operand_stride[0][l] = a;
    shape.operand_stride[1][l] = b;
    shape.output_stride[l] = c;
    shape.aggregated[l] = c == 0;
    elements[0] += std::abs(a) * (extent - 1);
    elements[1] += b * (extent - 1);
    elements[2] += c * (extent - 1);
    if (a < 0) first -= a * (extent - 1);
  }
  Call() { shape.operands = 2; }
};

/// Y(b,o,y,x) = sum(c,r,s)(X(b, c, stride·y + dilation·r, stride·x + dilation·s) · W(o,c,r,s)).
/// \param step  of a window in the image: -dilation reads it backwards
Call forward(const Convolution& k, Extent step) {
  Call call;
  const Extent window = k.window * k.window;
  call.add(k.batch, k.image(), 0, k.output());
  call.add(k.filters, 0, k.channels * window, k.rows() * k.columns());
  call.add(k.rows(), k.stride * k.width, 0, k.columns());
  call.add(k.columns(), k.stride, 0, 1);
  call.add(k.channels, k.height * k.width, window, 0);
  call.add(k.window, step * k.width, k.window, 0);
  call.add(k.window, step, 1, 0);
  return call;
}

/// dW(o,c,r,s) = sum(b,y,x)(X(b, c, stride·y + dilation·r, stride·x + dilation·s) · G(b,o,y,x)).
Call of_filters(const Convolution& k) {
  Call call;
  const Extent window = k.window * k.window;
  call.add(k.filters, 0, k.rows() * k.columns(), k.channels * window);
  call.add(k.channels, k.height * k.width, 0, window);
  call.add(k.window, k.dilation * k.width, 0, k.window);
  call.add(k.window, k.dilation, 0, 1);
  call.add(k.batch, k.image(), k.output(), 0);
  call.add(k.rows(), k.stride * k.width, k.columns(), 0);
  call.add(k.columns(), k.stride, 1, 0);
  return call;
}

/// Computes a call by the kernels and, one join after another, by loops.
template <class Join, class Monoid, class T, class Fold>
void check(const Call& call, T start, const Fold& fold, bool packed) {
  const LocalEinsum& shape = call.shape;
  Random random(static_cast<std::uint64_t>(call.elements[0] + call.elements[2]));
  std::vector<T> tensor[3];
  for (int t = 0; t < 3; ++t) {
    tensor[t].resize(static_cast<std::size_t>(call.elements[t]) + 1);
    for (T& value : tensor[t]) value = draw_value<T>(random);
  }
  std::vector<T> expected(tensor[2].size(), start);
  const T* const a = tensor[0].data() + call.first;
  const void* const operands[] = {a, tensor[1].data()};

  detail::Contraction nest;  // one over all labels
  for (int l = 0; l < shape.labels; ++l) {
    nest.k.push(shape.extent[l],
                {shape.operand_stride[0][l], shape.operand_stride[1][l], shape.output_stride[l]});
  }
  std::vector<Extent> index(static_cast<std::size_t>(shape.labels), 0);
  for (Extent joins = nest.k.size(); joins > 0; --joins) {
    Extent at[3] = {0, 0, 0};
    for (int l = 0; l < shape.labels; ++l) {
      for (int t = 0; t < 3; ++t) at[t] += index[static_cast<std::size_t>(l)] * nest.k.stride[t][l];
    }
    fold(expected[static_cast<std::size_t>(at[2])],
         Join{}(a[at[0]], tensor[1][static_cast<std::size_t>(at[1])]));
    for (int l = 0; l < shape.labels; ++l) {
      if (++index[static_cast<std::size_t>(l)] < shape.extent[l]) break;
      index[static_cast<std::size_t>(l)] = 0;
    }
  }

  const ein::kernel::JoinAggregateLauncher<Space, Join, Monoid, T, T> launcher;
  const auto kernel = launcher.prepare(Space(), shape, Write::finished);
  if (packed) CHECK(kernel->algorithm() == Algorithm::packed);
  ein::kernel::kernels_of<Space, Join, Monoid, T, T>().run(
      Space(), shape, Join{}, Monoid{}, operands, tensor[2].data(), Write::finished);
  CHECK(tensor[2] == expected);
  ein::kernel::kernels_of<Space, Join, Monoid, T, T>().run(
      Space(), shape, Join{}, Monoid{}, operands, tensor[2].data(), Write::accumulate);
  std::vector<T> twice = expected;
  for (std::size_t n = 0; n < twice.size(); ++n) fold(twice[n], expected[n]);
  CHECK(tensor[2] == twice);
}

const auto add_to = [](auto& sum, auto value) { sum += value; };
const auto keep_more = [](auto& most, auto value) { most = std::max(most, value); };

/// The products of a convolution over (·, +) and (+, max).
void check_all(const Convolution& k) {
  CAPTURE(k.width);
  CAPTURE(k.window);
  CAPTURE(k.stride);
  CAPTURE(k.dilation);
  for (const Call& call : {forward(k, k.dilation), forward(k, -k.dilation), of_filters(k)}) {
    check<ein::Mul, ein::Sum>(call, 0.0F, add_to, EINDECOMP_FUSED_MULTIPLY_ADD);
    check<ein::Mul, ein::Sum>(call, 0.0, add_to, EINDECOMP_FUSED_MULTIPLY_ADD);
    check<ein::Add, ein::Max>(call, -std::numeric_limits<double>::infinity(), keep_more,
                              detail::has_vectors && k.filters >= 4);
  }
}

}  // namespace

TEST_CASE("convolutions, their filters' gradients and max-plus convolutions") {
  check_all({2, 3, 23, 37, 9, 3});  // rows of windows that end within panels
  check_all({1, 8, 44, 52, 7, 3});  // strip by strip
  check_all({1, 8, 44, 52, 3, 3});  // few filters: not packed
  check_all({2, 8, 44, 53, 5, 3});
  check_all({3, 5, 13, 13, 18, 3});       // rows shorter than a panel
  check_all({2, 3, 40, 59, 11, 7, 2});    // with a stride
  check_all({1, 3, 67, 67, 12, 11, 4});   // whose windows take three steps to be passed
  check_all({1, 4, 30, 50, 8, 3, 1, 2});  // dilated
  check_all({1, 4, 41, 50, 8, 3, 2, 3});  // both
  check_all({1, 2, 4, 4507, 5, 3});       // rows longer than what is summed at a time
  check_all({3, 1, 20, 66, 70, 3});       // few channels, many filters
}

TEST_CASE("gradients by the filters of few channels or few filters are not packed") {
  const ein::kernel::JoinAggregateLauncher<Space, ein::Mul, ein::Sum, float, float> launcher;
  const void* const nothing[] = {nullptr, nullptr};
  const auto packs = [&](const Call& call) {
    const auto kernel = launcher.prepare(Space(), call.shape, Write::finished);
    return kernel->explain(nothing, nullptr).find("nothing is packed") == std::string::npos;
  };
  const bool always = !EINDECOMP_FUSED_MULTIPLY_ADD;
  CHECK(packs(of_filters({2, 3, 23, 37, 100, 3})) == always);
  CHECK(packs(of_filters({2, 30, 23, 37, 9, 3})) == always);
  CHECK(packs(of_filters({2, 64, 23, 37, 64, 3})));
  CHECK(packs(of_filters({2, 30, 23, 37, 100, 3})));    // many of both
  CHECK(packs(of_filters({2, 3, 23, 30, 100, 3})));     // short rows
  CHECK(packs(of_filters({1, 3, 12, 37, 100, 3})));     // few steps
  CHECK(packs(of_filters({2, 3, 80, 80, 100, 3, 2})));  // a stride
  CHECK(packs(forward({2, 3, 80, 80, 100, 3}, 1)));
}

TEST_CASE("windows that do not overlap are matrices in order, and those that do are told") {
  const Convolution apart{2, 4, 20, 24, 8, 2, 2};
  CHECK_FALSE(detail::reads_windows(forward(apart, 1).shape));
  CHECK_FALSE(detail::reads_windows(of_filters(apart).shape));
  const Convolution pixel{2, 40, 20, 24, 8, 1};
  CHECK_FALSE(detail::reads_windows(forward(pixel, 1).shape));
  const Convolution overlapping{2, 4, 20, 24, 8, 3, 2};
  CHECK(detail::reads_windows(forward(overlapping, 1).shape));
  CHECK(detail::reads_windows(forward(overlapping, -1).shape));

  const ein::kernel::JoinAggregateLauncher<Space, ein::Mul, ein::Sum, float, float> launcher;
  const void* const nothing[] = {nullptr, nullptr};
  const auto text = [&](const Convolution& k) {
    return launcher.prepare(Space(), forward(k, 1).shape, Write::finished)
        ->explain(nothing, nullptr);
  };
  if (EINDECOMP_FUSED_MULTIPLY_ADD) {
    CHECK(text(overlapping).find("algorithm packed") == 0);
    CHECK(text(overlapping).find("windows overlap") != std::string::npos);
  }
  CHECK(text(pixel).find("windows overlap") == std::string::npos);
}

namespace {

/// Windows of `window` by `window` elements, `stride` apart along the columns: Y(p,y,x) =
/// aggregate(r,s)(X(p, y + r, stride·x + s)).
template <class Monoid, class T>
void check_pool(Extent columns, Extent stride, Extent window) {
  CAPTURE(columns);
  CAPTURE(stride);
  CAPTURE(window);
  const Extent planes = 3;
  const Extent rows = 5;
  const Extent width = stride * (columns - 1) + window;
  const Extent height = rows + window - 1;
  LocalEinsum shape;
  shape.operands = 1;
  const auto add = [&](Extent extent, Extent from, Extent into) {
    const int l = shape.labels++;
    shape.extent[l] = extent;
    shape.operand_stride[0][l] = from;
    shape.output_stride[l] = into;
    shape.aggregated[l] = into == 0;
  };
  add(planes, height * width, rows * columns);
  add(rows, width, columns);
  add(columns, stride, 1);
  add(window, width, 0);
  add(window, 1, 0);
  // No element beyond the last window's: what is read there is found by the sanitizer.
  std::vector<T> x(static_cast<std::size_t>(planes * height * width));
  Random random(static_cast<std::uint64_t>(columns * 100 + stride * 10 + window));
  for (T& value : x) value = draw_value<T>(random);
  const auto size = static_cast<std::size_t>(planes * rows * columns);
  std::vector<T> y(size, T(77));
  std::vector<T> expected(size);
  for (std::size_t n = 0; n < size; ++n) {
    const auto place = static_cast<Extent>(n);
    const T* const first = x.data() + place / (rows * columns) * height * width +
                           place / columns % rows * width + place % columns * stride;
    T state = ein::MonoidTraits<Monoid, T>::identity(Monoid{});
    for (Extent r = 0; r < window; ++r) {
      for (Extent s = 0; s < window; ++s) {
        const T value = first[r * width + s];
        state = std::is_same_v<Monoid, ein::Sum> ? state + value : std::max(state, value);
      }
    }
    expected[n] = state;
  }
  const void* operands[] = {x.data()};
  TestLauncher<Space, ein::Identity, Monoid, T>().join(Space(), shape, operands, y.data(),
                                                       Write::finished);
  Kokkos::fence();
  REQUIRE(y == expected);
}

}  // namespace

TEST_CASE("windows of one operand a stride apart, as those of pooling") {
  for (const Extent columns : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 56, 70, 200, 1100}) {
    for (const Extent stride : {1, 2, 3, 5}) {
      for (const Extent window : {1, 2, 3}) {
        check_pool<ein::Sum, float>(columns, stride, window);
        check_pool<ein::Max, float>(columns, stride, window);
        check_pool<ein::Max, double>(columns, stride, window);
        check_pool<ein::Sum, std::int32_t>(columns, stride, window);
      }
    }
  }
}
