// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transformer of EINDECOMP_TEST_LAYERS layers, for layers_test.py to look at its binary.

#include "eindecomp/eindecomp.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::let;

int main(int argc, char** argv) {
  ein::ScopedRuntime runtime(argc, argv);
  ein::Program g;
  auto X = g.input<double>("X", {8, 16});
  for (int layer = 0; layer < EINDECOMP_TEST_LAYERS; ++layer) {
    const std::string number = std::to_string(layer);
    const auto WQ = g.input<double>("WQ" + number, {16, 2, 8});
    const auto WK = g.input<double>("WK" + number, {16, 2, 8});
    const auto WV = g.input<double>("WV" + number, {16, 2, 8});
    const auto WO = g.input<double>("WO" + number, {16, 2, 8});
    const auto W1 = g.input<double>("W1" + number, {16, 32});
    const auto W2 = g.input<double>("W2" + number, {32, 16});
    const auto A = ein::multi_head_attention(X, X, X, WQ, WK, WV, WO, 0.35);
    const auto R = let("R" + number)(s, a) = X(s, a) + A(s, a);
    const auto H = let("H" + number)(s, f) = sum(a)(R(s, a) * W1(a, f));
    const auto G = let("G" + number)(s, f) = relu(H(s, f));
    const auto F = let("F" + number)(s, a) = sum(f)(G(s, f) * W2(f, a));
    X = let("X" + number)(s, a) = R(s, a) + F(s, a);
  }
  return ein::decompose(g, {.workers = 4}).graph.size() > 17 * EINDECOMP_TEST_LAYERS ? 0 : 1;
}
