// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions of batches of small matrices and vectors, against plain loops over all positions.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
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

Extent any_of(std::mt19937& random, std::initializer_list<Extent> values) {
  return values.begin()[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
}

/// Labels: 0 the batch, 1 and 2 of its matrices, 3 outside the batch. Of a tensor's matrices each
/// is contiguous, in most shapes at least.
struct Batch {
  LocalEinsum shape;
  std::vector<Extent> first;  ///< of each tensor, the output last: the offset of its first element
  std::vector<Extent> elements;  ///< the same, that it spans

  Batch(std::mt19937& random, int operands) {
    shape.labels = 4;
    shape.operands = operands;
    shape.extent[0] = any_of(random, {15, 16, 17, 64, 100, 257, 300, 1000});
    shape.extent[1] = any_of(random, {1, 2, 3, 4, 5, 7, 8});
    shape.extent[2] = any_of(random, {2, 3, 4, 5, 6, 8, 9, 13});
    shape.extent[3] = any_of(random, {1, 1, 2, 3});
    shape.aggregated[2] = true;
    shape.aggregated[1] = any_of(random, {0, 1}) == 1;
    for (int t = 0; t < operands; ++t) add(random, shape.operand_stride[t], false);
    add(random, shape.output_stride, true);
  }

 private:
  void add(std::mt19937& random, Extent* stride, bool output) {
    std::vector<int> order{1, 2};
    if (any_of(random, {0, 1}) == 1) std::swap(order[0], order[1]);
    // Outside the matrices, but for some shapes.
    order.insert(any_of(random, {0, 0, 0, 1}) == 1 ? order.begin() : order.end(), 0);
    order.insert(any_of(random, {0, 0, 0, 1}) == 1 ? order.begin() : order.end(), 3);
    Extent next = 1;
    for (const int l : order) {
      if (output ? shape.aggregated[l] : any_of(random, {0, 0, 0, 0, 1}) == 1) continue;
      stride[l] = next;
      next = next * shape.extent[l] + (l == 0 || l == 3 ? any_of(random, {0, 0, 1, 5}) : 0);
    }
    // Some operands are read backwards.
    Extent begin = 0;
    if (!output && any_of(random, {0, 0, 0, 1}) == 1) {
      begin = (shape.extent[0] - 1) * stride[0];
      stride[0] = -stride[0];
    }
    first.push_back(begin);
    Extent last = begin;
    for (int l = 0; l < 4; ++l) last += std::max<Extent>(stride[l], 0) * (shape.extent[l] - 1);
    elements.push_back(last + 1);
  }
};

template <class T>
std::vector<T> draw(std::mt19937& random, Extent count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) {
    value = static_cast<T>(std::uniform_int_distribution<int>(-5, 5)(random));
  }
  return values;
}

template <std::size_t, class T>
using NumberedType = T;

/// Checks random shapes, of which some must be interleaved, whatever the vectors.
template <class Monoid, class Join, class T, int Operands>
void check(unsigned first_seed, Write write) {
  int interleaved = 0;
  for (unsigned seed = first_seed; seed < first_seed + 120; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const Batch batch(random, Operands);
    const LocalEinsum& shape = batch.shape;
    for (int l = 0; l < 4; ++l) CAPTURE(shape.extent[l]);
    std::array<std::vector<T>, Operands> tensors;
    std::array<const void*, Operands> pointers;
    for (std::size_t t = 0; t < Operands; ++t) {
      tensors[t] = draw<T>(random, batch.elements[t]);
      pointers[t] = tensors[t].data() + batch.first[t];
    }
    std::vector<T> output = draw<T>(random, batch.elements[Operands]);
    std::vector<T> expected = output;
    Extent at[4];
    const auto offset = [&](const Extent* stride) {
      return at[0] * stride[0] + at[1] * stride[1] + at[2] * stride[2] + at[3] * stride[3];
    };
    // Whatever is not aggregated is begun, then all terms are added. Integers: in any order.
    const Monoid monoid;
    const auto for_each = [&](const auto& body) {
      for (at[0] = 0; at[0] < shape.extent[0]; ++at[0]) {
        for (at[1] = 0; at[1] < shape.extent[1]; ++at[1]) {
          for (at[2] = 0; at[2] < shape.extent[2]; ++at[2]) {
            for (at[3] = 0; at[3] < shape.extent[3]; ++at[3]) {
              body(expected[static_cast<std::size_t>(offset(shape.output_stride))]);
            }
          }
        }
      }
    };
    if (write == Write::finished) {
      for_each([](T& element) { element = Monoid::template identity<T>(); });
    }
    for_each([&](T& element) {
      const auto value = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return static_cast<T>(Join{}(tensors[I][static_cast<std::size_t>(
            batch.first[I] + offset(shape.operand_stride[I]))]...));
      }
      (std::make_index_sequence<Operands>());
      element = monoid(element, value);
    });
    const auto run = [&]<std::size_t... I>(std::index_sequence<I...>) {
      const ein::kernel::JoinAggregateLauncher<Space, Join, Monoid, NumberedType<I, T>...> launcher;
      const auto kernel = launcher.prepare(Space(), shape, write);
      interleaved +=
          kernel->explain(pointers.data(), output.data()).find("interleaved") != std::string::npos
              ? 1
              : 0;
      std::vector<unsigned char> workspace(static_cast<std::size_t>(kernel->workspace_bytes()) + 1);
      kernel->run(Space(), pointers.data(), output.data(), workspace.data());
    };
    run(std::make_index_sequence<Operands>());
    // Also what lies between elements is as it was.
    REQUIRE(output == expected);
  }
  CHECK((interleaved > 0 || !ein::kernel::detail::has_vectors));
}

}  // namespace

TEST_CASE("batches: sums of products of two and three operands, to new outputs and to old ones") {
  for (const Write write : {Write::finished, Write::accumulate}) {
    check<ein::Sum, ein::Mul, double, 2>(1, write);
    check<ein::Sum, ein::Mul, float, 2>(201, write);
    check<ein::Sum, ein::Mul, double, 3>(401, write);
    check<ein::Sum, ein::Mul, float, 3>(601, write);
  }
}

TEST_CASE("batches: other algebras, one operand, integers") {
  check<ein::Min, ein::Add, double, 2>(801, Write::finished);
  check<ein::Max, ein::Identity, float, 1>(1001, Write::finished);
  check<ein::Sum, ein::Identity, double, 1>(1201, Write::accumulate);
  check<ein::Sum, ein::Mul, std::int32_t, 3>(1401, Write::finished);
  check<ein::Sum, ein::Mul, std::int64_t, 2>(1601, Write::finished);
}
