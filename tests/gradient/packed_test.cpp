// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients by packed tensors: what is stored once and read twice is owed both.

#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "eindecomp/graph/gradient.hpp"
#include "eindecomp/graph/packed_tensor.hpp"
#include "gradient/jax.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::Extent;
using ein::let;
using eindecomp_tests::LoopRun;
using LoopProgram = ein::BasicProgram<ein::Differentiable<eindecomp_tests::LoopBackend>>;

namespace {

/// The gradient of Σ C(i,k) S(i,j) X(j,k) by the elements of S that are stored.
/// \param sign  of S(j,i) in S(i,j)
template <class Make>
void check_gradient(Extent n, double sign, const Make& make) {
  LoopProgram g;
  const auto S = make(g, n);
  const auto X = g.input<double>("X", {n, 2});
  const auto C = g.input<double>("C", {n, 2});
  const auto Y = let<"Y">(i, k) = sum(j)(S(i, j) * X(j, k));
  const auto loss = let<"loss">() = sum(i, k)(C(i, k) * Y(i, k));
  const auto gradients = ein::gradient(loss, S.block_rows());
  std::map<std::string, std::vector<double>> values;
  int seed = 1;
  for (const ein::Vertex& v : g.graph().vertices) {
    if (v.is_input()) values[v.name.str()] = eindecomp_tests::numbers(v.size(), seed++, -1, 1);
  }
  const LoopRun run(g, values);
  const auto owed = [&](Extent i_, Extent j_) {
    double sum = 0;
    for (Extent k_ = 0; k_ < 2; ++k_) {
      sum += values["C"][static_cast<std::size_t>(2 * i_ + k_)] *
             values["X"][static_cast<std::size_t>(2 * j_ + k_)];
    }
    return sum;
  };
  REQUIRE(gradients.size() == S.block_rows().size());
  for (std::size_t r = 0; r < gradients.size(); ++r) {
    const Extent first = S.begins()[r];
    const Extent end = S.begins()[r + 1];
    const std::vector<double>& got = run.of(gradients[r]);
    REQUIRE(got.size() == static_cast<std::size_t>((end - first) * end));
    std::size_t at = 0;
    for (Extent i_ = first; i_ < end; ++i_) {
      for (Extent j_ = 0; j_ < end; ++j_) {
        CAPTURE(i_);
        CAPTURE(j_);
        const double expected = owed(i_, j_) + (j_ < first ? sign * owed(j_, i_) : 0);
        CHECK(got[at++] == doctest::Approx(expected).epsilon(1e-12));
      }
    }
  }
}

}  // namespace

TEST_CASE("the gradient by a packed tensor is that by its stored elements") {
  for (const Extent n : {1, 2, 7, 8}) {
    CAPTURE(n);
    check_gradient(n, 1, [](LoopProgram& g, Extent size) {
      return ein::packed_symmetric<double>(g, "S", {size, size}, {.block_rows = 3});
    });
    check_gradient(n, -1, [](LoopProgram& g, Extent size) {
      return ein::packed_antisymmetric<double>(g, "S", {size, size}, {.block_rows = 3});
    });
  }
}
