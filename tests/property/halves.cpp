// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of 16-bit numbers on all ranks: products, results that are cast, moved elements, blocks
// and index tensors equal loops over floats, and their words those predicted.

#include <doctest/doctest.h>

#include <cmath>
#include <type_traits>

#include "eindecomp/graph/blocks.hpp"
#include "eindecomp/graph/concat.hpp"
#include "property/checked.hpp"

using namespace property;
using namespace ein::labels;
using ein::bfloat16;
using ein::concat;
using ein::extent;
using ein::float16;
using ein::let;
using ein::pad;

namespace {

template <class S, class T>
inline constexpr bool is_of = std::is_same_v<typename S::value_type, T>;

}  // namespace

TEST_CASE("16-bit numbers on all ranks: products and casts") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<bfloat16>("X", {9, 7});
    const auto [W, ws] = t.template input<bfloat16>("W", {7, 6});
    const auto [V, vs] = t.template input<float>("V", {6, 5});
    const auto product = [xs = xs, ws = ws](Extent I, Extent K) {
      return total(7, [&](Extent J) { return xs(I, J) * ws(J, K); });
    };
    const auto P = let<"P">(i, k) = sum(j)(X(i, j) * W(j, k));
    static_assert(is_of<std::decay_t<decltype(P)>, float>);
    t.expect(P, product);
    const auto H = let<"H">(i, k) = cast<bfloat16>(relu(sum(j)(100.3 * X(i, j) * W(j, k)) + 0.1));
    static_assert(is_of<std::decay_t<decltype(H)>, bfloat16>);
    const auto hidden = [=](Extent I, Extent K) {
      return bfloat16(std::max(100.3F * product(I, K) + 0.1F, 0.0F));
    };
    t.expect(H, hidden, false);
    const auto Z = let<"Z">(i, l) = sum(k)(H(i, k) * V(k, l));
    static_assert(is_of<std::decay_t<decltype(Z)>, float>);
    t.expect(
        Z,
        [=, vs = vs](Extent I, Extent L) {
          return total(6, [&](Extent K) { return hidden(I, K) * vs(K, L); });
        },
        false);
  });
}

TEST_CASE("16-bit numbers on all ranks: mixed types, other algebras, aggregations") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<float16>("X", {8, 6});
    const auto [Y, ys] = t.template input<double>("Y", {6, 5});
    const auto [N, ns] = t.template input<std::int32_t>("N", {8, 6});
    t.expect(let<"mixed">(i, k) = sum(j)(X(i, j) * Y(j, k)),
             [xs = xs, ys = ys](Extent I, Extent K) {
               return total(6, [&](Extent J) { return xs(I, J) * ys(J, K); });
             });
    t.expect(let<"whole">(i) = sum(j)(X(i, j) * N(i, j)), [xs = xs, ns = ns](Extent I) {
      return total(6, [&](Extent J) { return xs(I, J) * static_cast<float>(ns(I, J)); });
    });
    t.expect(let<"most">(j) = max(i)(X(i, j)),
             [xs = xs](Extent J) { return largest(8, [&](Extent I) { return float(xs(I, J)); }); });
    const auto S = let<"S">(j) = sum(i)(1024.5 * X(i, j));
    static_assert(is_of<std::decay_t<decltype(S)>, float>);
    t.expect(
        S, [xs = xs](Extent J) { return total(8, [&](Extent I) { return 1024.5F * xs(I, J); }); });
    t.expect(let<"rounded">(j) = cast<float16>(S(j)), [xs = xs](Extent J) {
      return float16(total(8, [&](Extent I) { return 1024.5F * xs(I, J); }));
    });
  });
}

TEST_CASE("16-bit numbers on all ranks: what is moved stays as it is") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<bfloat16>("X", {7, 5});
    const auto [Y, ys] = t.template input<bfloat16>("Y", {4, 5});
    const auto T = let<"T">(j, i) = X(i, j);
    static_assert(is_of<std::decay_t<decltype(T)>, bfloat16>);
    t.expect(T, [xs = xs](Extent J, Extent I) { return xs(I, J); });
    t.expect(let<"part">(i, j) = X(2 * i + 1, j),
             [xs = xs](Extent I, Extent J) { return xs(2 * I + 1, J); });
    const auto C = let<"C">(i, j) = concat(i)(X(i, j), Y(i, j));
    static_assert(is_of<std::decay_t<decltype(C)>, bfloat16>);
    t.expect(C, [xs = xs, ys = ys](Extent I, Extent J) { return I < 7 ? xs(I, J) : ys(I - 7, J); });
    t.expect(let<"padded">(i, j) = pad(j)(X(i, j), {{1, 2}}, 0.5), [xs = xs](Extent I, Extent J) {
      return J < 1 || J > 5 ? bfloat16(0.5) : xs(I, J - 1);
    });
    t.expect(let<"pooled">(i, j) = max(k)(X(i + extent(k, 3) - 1, j)),
             [xs = xs](Extent I, Extent J) {
               float most = xs(I, J);
               if (I > 0) most = std::max(most, float(xs(I - 1, J)));
               if (I < 6) most = std::max(most, float(xs(I + 1, J)));
               return most;
             });
  });
}

TEST_CASE("16-bit numbers on all ranks: index tensors") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<bfloat16>("X", {7, 5});
    const auto [I, is] = t.template indices<std::int32_t>("I", {9}, 7);
    const auto E = let<"E">(b, d) = X(I(b), d);
    static_assert(is_of<std::decay_t<decltype(E)>, float>);
    t.expect(E, [xs = xs, is = is](Extent B, Extent D) { return float(xs(is(B), D)); });
    const auto [Y, ys] = t.template input<bfloat16>("Y", {9, 5});
    t.expect(let<"sums">(extent(v, 7), d) = sum(b)(where(I(b) == v, Y(b, d))),
             [is = is, ys = ys](Extent V, Extent D) {
               return total(9, [&](Extent B) { return is(B) == V ? float(ys(B, D)) : 0.0F; });
             });
  });
}

TEST_CASE("16-bit numbers take 2 bytes in memory and in messages") {
  const auto planned = []<class T>(T) {
    ein::BasicProgram<ein::KokkosBackend<Space>> g;
    const auto X = g.template input<T>("X", {64, 32});
    const auto Y = let<"Y">(j, i) = X(i, j);
    const auto Z = let<"Z">(i, j) = Y(i, j);
    return ein::decompose(g, {.workers = 4, .ranks = 4});
  };
  const auto halves = planned(bfloat16());
  const auto floats = planned(float());
  CHECK(halves.tasks().received == floats.tasks().received);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(2 * halves.peak_bytes()[rank] == floats.peak_bytes()[rank]);
    const auto program = halves.program(static_cast<int>(rank));
    for (const auto& buffer : program.buffers) CHECK(buffer.bytes == 2 * buffer.box.size());
  }
}
