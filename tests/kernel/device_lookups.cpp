// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gathers and scatters as devices compute them, on every space, against the definition: all
// combinations of labels, of which those count where each index is the value of its label.

#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "eindecomp/kernel/lookup/device_lookup.hpp"

namespace ein = eindecomp;
namespace detail = eindecomp::kernel::detail;
using ein::Extent;
using ein::kernel::LocalEinsum;
using ein::kernel::Write;

namespace {

using Space = Kokkos::DefaultExecutionSpace;

template <class T>
std::size_t size_of(const std::vector<T>& values) {
  return std::max<std::size_t>(values.size(), 1);
}

/// A tensor on the space and what it holds.
template <class T>
struct Tensor {
  std::vector<T> values;
  Kokkos::View<T*, Space> view;

  explicit Tensor(std::vector<T> of) : values(std::move(of)), view("tensor", size_of(values)) {
    copy(true);
  }
  void copy(bool to_space) {
    const auto mirror = Kokkos::create_mirror_view(view);
    if (to_space) {
      std::copy(values.begin(), values.end(), mirror.data());
      Kokkos::deep_copy(view, mirror);
    } else {
      Kokkos::deep_copy(mirror, view);
      std::copy(mirror.data(), mirror.data() + values.size(), values.begin());
    }
  }
};

/// Labels of a random join: which are looked up, where tensors have them.
struct Case {
  LocalEinsum shape;
  Extent operand_size[ein::kernel::max_operands]{};
  Extent output_size = 1;
  Extent last_index[2]{};  ///< of each index tensor's values
};

/// \param tensors  beside index tensors
Case draw_case(std::mt19937& random, int lookups, int tensors) {
  const auto any = [&](Extent low, Extent high) {
    return std::uniform_int_distribution<Extent>(low, high)(random);
  };
  Case made;
  LocalEinsum& s = made.shape;
  s.labels = static_cast<int>(any(lookups + 1, lookups + 3));
  s.lookups = lookups;
  s.operands = lookups + tensors;
  for (int l = 0; l < s.labels; ++l) s.extent[l] = any(1, 6);
  for (int k = 0; k < lookups; ++k) {
    // A kernel may have a part of the values of a label that is looked up.
    s.begin[k] = any(0, 2);
    s.lookup[k] = {k, s.begin[k] + s.extent[k] + any(0, 2)};
    made.last_index[k] = s.lookup[k].extent - 1;
  }
  const auto lay_out = [&](auto&& has, Extent* stride) {
    Extent size = any(1, 2);  // elements between those that are used
    std::vector<int> order(static_cast<std::size_t>(s.labels));
    for (int l = 0; l < s.labels; ++l) order[static_cast<std::size_t>(l)] = l;
    std::shuffle(order.begin(), order.end(), random);
    for (const int l : order) {
      if (!has(l)) continue;
      stride[l] = size;
      size *= s.extent[l];
    }
    return size;
  };
  for (int o = 0; o < s.operands; ++o) {
    made.operand_size[o] =
        lay_out([&](int l) { return o < lookups ? l >= lookups && any(0, 1) == 1 : any(0, 2) > 0; },
                s.operand_stride[o]);
  }
  made.output_size = lay_out(
      [&](int l) {
        s.aggregated[l] = any(0, 1) == 1;
        return !s.aggregated[l];
      },
      s.output_stride);
  return made;
}

template <class T>
Tensor<T> draw(std::mt19937& random, Extent size, int low, int high) {
  std::vector<T> values(static_cast<std::size_t>(size));
  for (T& value : values) {
    value = static_cast<T>(std::uniform_int_distribution<int>(low, high)(random));
  }
  return Tensor<T>(std::move(values));
}

/// The next combination of labels. \returns false after the last
bool advance(const LocalEinsum& s, Extent* at) {
  for (int l = 0; l < s.labels; ++l) {
    if (++at[l] < s.extent[l]) return true;
    at[l] = 0;
  }
  return false;
}
std::size_t offset(const LocalEinsum& s, const Extent* stride, const Extent* at) {
  Extent sum = 0;
  for (int l = 0; l < s.labels; ++l) sum += stride[l] * at[l];
  return static_cast<std::size_t>(sum);
}

/// The kernel of two index tensors and tensors of Xs.
template <class Join, class Monoid, unsigned Skipped, class... Xs>
auto prepared(const LocalEinsum& shape, const Monoid& monoid, Write write, Extent items) {
  using Where = ein::expr::Where<2, Join, Monoid, Skipped>;
  return detail::PreparedDeviceLookup<Space, Where, Monoid, std::int32_t, std::int64_t, Xs...,
                                      Extent, Extent>(Space(), shape, Where{{}, monoid}, monoid,
                                                      write, items);
}

/// \param joined  ⊗ of the operands' elements  \param add  ⊕ with what there is
template <unsigned Skipped, class Join, class Monoid, class X, class... More, class Joined,
          class Add>
void check(int cases, unsigned first_seed, int lowest_index, Monoid monoid, X identity,
           const Joined& joined, const Add& add, double tolerance) {
  constexpr int tensors = 1 + static_cast<int>(sizeof...(More));
  for (unsigned seed = first_seed; seed < first_seed + static_cast<unsigned>(cases); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const Case c = draw_case(random, 2, tensors);
    const LocalEinsum& s = c.shape;
    const int beyond = lowest_index < 0 ? 2 : 0;
    auto i = draw<std::int32_t>(random, c.operand_size[0], lowest_index,
                                static_cast<int>(c.last_index[0]) + beyond);
    auto j = draw<std::int64_t>(random, c.operand_size[1], lowest_index,
                                static_cast<int>(c.last_index[1]) + beyond);
    std::vector<Tensor<X>> xs;
    for (int t = 0; t < tensors; ++t) xs.push_back(draw<X>(random, c.operand_size[2 + t], -3, 3));
    const void* operands[ein::kernel::max_operands] = {i.view.data(), j.view.data()};
    for (int t = 0; t < tensors; ++t) operands[2 + t] = xs[static_cast<std::size_t>(t)].view.data();
    for (const Write write : {Write::finished, Write::accumulate}) {
      if (write == Write::accumulate && tolerance > 0) continue;  // accumulators of another type
      for (const Extent items : {Extent{1}, Extent{4}, Extent{1000}}) {
        Tensor<X> z = draw<X>(random, c.output_size, -3, 3);
        std::vector<X> expected = z.values;
        Extent at[ein::kernel::max_labels]{};
        do {
          if (write == Write::finished) expected[offset(s, s.output_stride, at)] = identity;
        } while (advance(s, at));
        do {
          const auto index = [&](int k, auto& of) {
            return static_cast<Extent>(of.values[offset(s, s.operand_stride[k], at)]);
          };
          if (index(0, i) != s.begin[0] + at[0] || index(1, j) != s.begin[1] + at[1]) continue;
          X value[tensors];
          for (int t = 0; t < tensors; ++t) {
            value[t] =
                xs[static_cast<std::size_t>(t)].values[offset(s, s.operand_stride[2 + t], at)];
          }
          add(expected[offset(s, s.output_stride, at)], joined(value));
        } while (advance(s, at));
        const auto kernel = prepared<Join, Monoid, Skipped, X, More...>(s, monoid, write, items);
        const Kokkos::View<unsigned char*, Space> workspace(
            "workspace", static_cast<std::size_t>(kernel.workspace_bytes()) + 1);
        kernel.run(Space(), operands, z.view.data(), workspace.data());
        z.copy(false);
        for (std::size_t n = 0; n < expected.size(); ++n) {
          CAPTURE(n);
          const bool same =
              z.values[n] == expected[n] || std::abs(static_cast<double>(z.values[n]) -
                                                     static_cast<double>(expected[n])) <= tolerance;
          REQUIRE(same);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("device lookups: sums, products of two tensors, the largest") {
  check<0, ein::Identity, ein::Sum, double>(
      150, 1, 0, ein::Sum{}, 0.0, [](const double* x) { return x[0]; },
      [](double& sum, double x) { sum += x; }, 0);
  check<0, ein::Mul, ein::Sum, std::int64_t, std::int64_t>(
      150, 1001, 0, ein::Sum{}, std::int64_t{0}, [](const std::int64_t* x) { return x[0] * x[1]; },
      [](std::int64_t& sum, std::int64_t x) { sum += x; }, 0);
  check<0, ein::Sub, ein::Max, float, float>(
      150, 2001, 0, ein::Max{}, -std::numeric_limits<float>::infinity(),
      [](const float* x) { return x[0] - x[1]; },
      [](float& most, float x) { most = std::max(most, x); }, 0);
}

TEST_CASE("device lookups: accumulators that are no elements") {
  check<0, ein::Identity, ein::LogSumExp, double>(
      150, 3001, 0, ein::LogSumExp{}, -std::numeric_limits<double>::infinity(),
      [](const double* x) { return x[0]; },
      [](double& sum, double x) { sum = std::log(std::exp(sum) + std::exp(x)); }, 1e-12);
}

TEST_CASE("device lookups: indices that are skipped") {
  check<3, ein::Identity, ein::Sum, double>(
      150, 4001, -2, ein::Sum{}, 0.0, [](const double* x) { return x[0]; },
      [](double& sum, double x) { sum += x; }, 0);
}

TEST_CASE("device lookups: an element that is no index is named") {
  // Z(v) = sum(e)(where(I(e) == v, X(e))), with values 4 <= e < 11 of e.
  LocalEinsum s;
  s.labels = 2;
  s.lookups = 1;
  s.operands = 2;
  s.extent[0] = 5;
  s.extent[1] = 7;
  s.begin[1] = 4;
  s.aggregated[1] = true;
  s.lookup[0] = {0, 5};
  s.operand_stride[0][1] = s.operand_stride[1][1] = 2;
  s.output_stride[0] = 1;
  std::vector<std::int32_t> indices{0, 99, 1, 99, 4, 99, 5, 99, 2, 99, -1, 99, 3};
  const Tensor<std::int32_t> i(indices);
  const Tensor<double> x(std::vector<double>(13, 1));
  const Tensor<double> z(std::vector<double>(5, 0));
  using Where = ein::expr::Where<1, ein::Identity, ein::Sum, 0>;
  const detail::PreparedDeviceLookup<Space, Where, ein::Sum, std::int32_t, double, Extent> kernel(
      Space(), s, Where{}, ein::Sum{}, Write::finished);
  CHECK(kernel.explain(nullptr, nullptr) == "algorithm lookup, 1 index tensor in 5 items");
  const void* const operands[] = {i.view.data(), x.view.data()};
  bool thrown = false;
  try {
    kernel.run(Space(), operands, z.view.data(), nullptr);
  } catch (const ein::kernel::IndexFault& fault) {
    thrown = true;
    CHECK(fault.operand() == 0);
    CHECK(fault.value() == 5);
    CHECK(fault.at(1) == 4 + 3);
  }
  CHECK(thrown);
}
