// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors put together from blocks, on all ranks, however their labels are cut: results are those
// of loops over the data, and the words that move those that are predicted.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "eindecomp/graph/blocks.hpp"
#include "eindecomp/graph/concat.hpp"
#include "property/checked.hpp"

using namespace property;
using namespace ein::labels;
using ein::blocks;
using ein::concat;
using ein::extent;
using ein::let;
using ein::pad;
using ein::range;

TEST_CASE("concatenation along the first, the last and a middle label") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 6});
    const auto [Y, ys] = t.template input<double>("Y", {5, 6});
    const auto& x_ = xs;
    const auto& y_ = ys;
    const auto both = [&](Extent I, Extent J) { return I < 4 ? x_(I, J) : y_(I - 4, J); };
    const auto Z = let<"Z">(i, j) = concat(i)(X(i, j), Y(i, j));
    t.expect(Z, both);
    t.expect(let<"turned">(j, i) = concat(i)(X(i, j), 2.0 * Y(i, j), X(i, j)),
             [&](Extent J, Extent I) {
               return I < 4 ? x_(I, J) : I < 9 ? 2.0 * y_(I - 4, J) : x_(I - 9, J);
             });
    t.expect(let<"wide">(i, j) = concat(j)(X(i, j), X(i, j) + 1.0, X(3 - i, j)),
             [&](Extent I, Extent J) {
               return J < 6 ? x_(I, J) : J < 12 ? x_(I, J - 6) + 1.0 : x_(3 - I, J - 12);
             });
    t.expect(let<"product">(i, k) = sum(j)(Z(i, j) * Y(k, j)), [&](Extent I, Extent K) {
      return total(6, [&](Extent J) { return both(I, J) * y_(K, J); });
    });
    t.expect(let<"within">(j) = 3.0 * sum(i)(concat(i)(X(i, j), Y(i, j))),
             [&](Extent J) { return 3.0 * total(9, [&](Extent I) { return both(I, J); }); });
    t.expect(
        let<"sums">(i, j) = concat(j)(sum(k)(Y(i, k) * X(j, k)), Y(i, j)), [&](Extent I, Extent J) {
          return J < 4 ? total(6, [&](Extent K) { return y_(I, K) * x_(J, K); }) : y_(I, J - 4);
        });
  });
}

TEST_CASE("padding with zeros and other values, in several dimensions and types") {
  check(
      [](auto& t) {
        const auto [X, xs] = t.template input<float>("X", {3, 5});
        const auto [N, ns] = t.template input<std::int32_t>("N", {2, 3, 4});
        const auto [V, vs] = t.template input<double>("V", {7});
        t.expect(let<"P">(i, j) = pad(i, j)(X(i, j), {{1, 2}, {0, 3}}),
                 [&, xs = xs](Extent I, Extent J) {
                   return I >= 1 && I < 4 && J < 5 ? xs(I - 1, J) : 0;
                 });
        t.expect(let<"Q">(c, b, a) = pad(b)(N(a, b, c), {{2, 1}}, -7),
                 [&, ns = ns](Extent C, Extent B, Extent A) {
                   return B >= 2 && B < 5 ? ns(A, B - 2, C) : -7;
                 });
        t.expect(let<"R">(i) = pad(i)(V(i) * V(i), {{0, 6}}, 0.5) + 1.0,
                 [&, vs = vs](Extent I) { return I < 7 ? vs(I) * vs(I) + 1 : 1.5; });
        t.expect(let<"S">(i) = pad(i)(V(i), {{0, 0}}), [&, vs = vs](Extent I) { return vs(I); });
      },
      false);
}

TEST_CASE("blocks written by statements of their own, one after another and between each other") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 6});
    const auto [Y, ys] = t.template input<double>("Y", {5, 6});
    const auto [v, vs] = t.template input<double>("v", {6});
    const auto& x_ = xs;
    const auto& y_ = ys;
    const auto& v_ = vs;
    auto Z = blocks<double>(t.program, "Z", {12, 6});
    Z(i, j) = X(i, j);
    Z(i + 4, j) = 2.0 * Y(i, j);
    Z(9, j) = v(j);
    Z(range(i, 10, 12), j) = X(range(i, 1, 3), j);
    const auto z = [&](Extent I, Extent J) {
      return I < 4 ? x_(I, J) : I < 9 ? 2 * y_(I - 4, J) : I == 9 ? v_(J) : x_(I - 9, J);
    };
    t.expect(Z.tensor(), z);
    t.expect(let<"after">(k) = sum(i, j)(Z.tensor()(i, j) * X(k, j)), [&](Extent K) {
      return total(
          12, [&](Extent I) { return total(6, [&](Extent J) { return z(I, J) * x_(K, J); }); });
    });
    auto W = blocks<double>(t.program, "W", {6, 8});
    W(j, 2 * i) = X(i, j);
    W(j, 2 * i + 1) = sum(k)(X(i, k) * Y(1, k)) + v(j);
    t.expect(W.tensor(), [&](Extent J, Extent I) {
      return I % 2 == 0 ? x_(I / 2, J)
                        : total(6, [&](Extent K) { return x_(I / 2, K) * y_(1, K); }) + v_(J);
    });
    auto U = blocks<double>(t.program, "U", {14, 9}, 3.5);
    U(3 * i + 1, j + 2) = X(i, j);
    U(range(k, 2, 14, 3), 0) = X(k, 2);
    t.expect(U.tensor(), [&](Extent I, Extent J) {
      if (I % 3 == 1 && I < 12 && J >= 2 && J < 8) return x_(I / 3, J - 2);
      return I % 3 == 2 && J == 0 ? x_(I / 3, 2) : 3.5;
    });
  });
}

TEST_CASE("blocks whose labels the left side alone gives an extent, and operands beyond eight") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {7, 3}, -1);
    const auto [I, is] = t.template indices<std::int32_t>("I", {7}, 6);
    const auto& x_ = xs;
    const auto& i_ = is;
    auto Z = blocks<double>(t.program, "Z", {9, 3}, 2);
    Z(extent(v, 6), j) = relu(sum(k)(ein::where(I(k) == v, X(k, j))));
    Z(extent(v, 2) + 7, j) = 3.0 * sum(k)((ein::value(k) <= v) * X(k, j)) + 1.0;
    t.expect(Z.tensor(), [&](Extent V, Extent J) {
      if (V == 6) return 2.0;
      if (V < 6) {
        return std::max(total(7, [&](Extent K) { return i_(K) == V ? x_(K, J) : 0.0; }), 0.0);
      }
      return 3 * total(V - 7 + 1, [&](Extent K) { return x_(K, J); }) + 1;
    });
    t.expect(let<"one-hot">(i, extent(v, 6)) = concat(i)(1.0 * (I(i) == v), 2.0 * (I(i) == 5 - v)),
             [&](Extent K, Extent V) {
               return K < 7 ? (i_(K) == V ? 1.0 : 0.0) : (i_(K - 7) == 5 - V ? 2.0 : 0.0);
             });
    t.expect(
        let<"wider">(extent(v, 7), j) = concat(j)(sum(k)(ein::where(I(k) == v, X(k, j))), X(v, j)),
        [&](Extent V, Extent J) {
          return J >= 3 ? x_(V, J - 3)
                        : total(7, [&](Extent K) { return i_(K) == V ? x_(K, J) : 0.0; });
        });
    t.expect(let<"nine">(i, extent(v, 3)) =
                 (X(i, 0) + X(i, 1) + X(i, 2) + X(i, 0) + X(i, 1)) * ein::value(v) + X(i, 0) +
                 X(i, 1) + X(i, 2) + X(i, 0),
             [&](Extent K, Extent V) {
               return (x_(K, 0) + x_(K, 1) + x_(K, 2) + x_(K, 0) + x_(K, 1)) *
                          static_cast<double>(V) +
                      x_(K, 0) + x_(K, 1) + x_(K, 2) + x_(K, 0);
             });
  });
}

TEST_CASE("blocks that are added where they overlap") {
  check(
      [](auto& t) {
        const auto [X, xs] = t.template input<double>("X", {5, 8});
        const auto& x_ = xs;
        // Frames of 8 values, 3 apart: overlap-add.
        auto Z = blocks<double>(t.program, "Z", {20}, 0);
        for (Extent frame = 0; frame < 5; ++frame) Z(j + 3 * frame) += X(ein::at(frame), j);
        t.expect(Z.tensor(), [&](Extent N) {
          return total(
              5, [&](Extent F) { return N >= 3 * F && N < 3 * F + 8 ? x_(F, N - 3 * F) : 0.0; });
        });
        auto Y = blocks<double>(t.program, "Y", {6, 8}, 10);
        Y(i, j) = X(i, j);
        Y(i + 1, j) += X(i, j);
        t.expect(Y.tensor(), [&](Extent I, Extent J) {
          return (I < 5 ? x_(I, J) : 10) + (I > 0 ? x_(I - 1, J) : 0);
        });
        // Without a value for what no block has, where every element has one all the same.
        auto W = blocks<double>(t.program, "W", {10, 12});
        W(i, j) += X(i, j);
        W(i + 2, j) += X(i, j);
        W(range(i, 5, 10), j) += 2.0 * X(i, j);
        W(i, range(k, 8, 12)) = X(i, range(k, 0, 4));
        W(i + 5, range(k, 8, 12)) = X(i, range(k, 0, 4));
        t.expect(W.tensor(), [&](Extent I, Extent J) {
          if (J >= 8) return x_(I % 5, J - 8);
          return (I < 5 ? x_(I, J) : 2 * x_(I - 5, J)) + (I >= 2 && I < 7 ? x_(I - 2, J) : 0);
        });
      },
      false);
}

TEST_CASE("sums of contractions, which accumulate in one result") {
  check([](auto& t) {
    const auto [A, as] = t.template input<double>("A", {6, 5});
    const auto [B, bs] = t.template input<double>("B", {5, 7});
    const auto [C, cs] = t.template input<double>("C", {6, 7});
    const auto [D, ds] = t.template input<double>("D", {7, 7});
    const auto ab = [&, as = as, bs = bs](Extent I, Extent K) {
      return total(5, [&](Extent J) { return as(I, J) * bs(J, K); });
    };
    const auto cd = [&, cs = cs, ds = ds](Extent I, Extent K) {
      return total(7, [&](Extent J) { return cs(I, J) * ds(J, K); });
    };
    const auto dd = [&, ds = ds](Extent I, Extent K) {
      return total(7, [&](Extent J) { return ds(I, J) * ds(J, K); });
    };
    t.expect(let<"two">(i, k) = sum(j)(A(i, j) * B(j, k)) + sum(l)(C(i, l) * D(l, k)),
             [&](Extent I, Extent K) { return ab(I, K) + cd(I, K); });
    t.expect(let<"onto">(i, k) = C(i, k) + 2.0 * sum(j)(A(i, j) * B(j, k)) * 1.0,
             [&, cs = cs](Extent I, Extent K) { return cs(I, K) + 2 * ab(I, K); });
    t.expect(let<"three">(i, k) =
                 sum(j)(2.0 * D(i, j) * D(j, k)) + D(i, k) + sum(l)(3.0 * D(l, i) * D(l, k)),
             [&, ds = ds](Extent I, Extent K) {
               return 2 * dd(I, K) + ds(I, K) +
                      total(7, [&](Extent L) { return 3 * ds(L, I) * ds(L, K); });
             });
    t.expect(let<"less">(k, i) =
                 C(i, k) - 2.0 * (sum(j)(A(i, j) * B(j, k)) - sum(l)(C(i, l) * D(l, k)) * 0.5) -
                 sum(l)(D(l, k) * C(i, l)),
             [&, cs = cs](Extent K, Extent I) { return cs(I, K) - 2 * ab(I, K); });
    t.expect(let<"turned">(k, i) = -sum(j)((A(i, j) + 1.0) * B(j, k)),
             [&, bs = bs](Extent K, Extent I) {
               return -ab(I, K) - total(5, [&](Extent J) { return bs(J, K); });
             });
    t.expect(let<"twice">(i, k) = D(i, k) + D(i, k) - sum(j)(2.0 * D(i, j) * D(j, k)),
             [&, ds = ds](Extent I, Extent K) { return 2 * ds(I, K) - 2 * dd(I, K); });
  });
}

TEST_CASE("blocks drawn at random: some cut in halves again and again") {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    check(
        [&](auto& t) {
          const Extent rows = draw(random, 3, 14);
          const Extent columns = draw(random, 3, 14);
          const auto [X, xs] = t.template input<std::int64_t>("X", {rows, columns}, 1);
          const auto [Y, ys] = t.template input<std::int64_t>("Y", {columns, rows}, 1);
          const auto& x_ = xs;
          const auto& y_ = ys;
          struct Part {
            ein::Box box;
            int kind;
          };
          std::vector<Part> parts{{{{0, 0}, {rows, columns}}, 0}};
          for (int cuts = static_cast<int>(draw(random, 1, 10)); cuts > 0; --cuts) {
            Part& one = parts[random() % parts.size()];
            const std::size_t k = random() % 2;
            if (one.box.extent(static_cast<int>(k)) < 2) continue;
            Part two = one;
            one.box.hi[k] = two.box.lo[k] = draw(random, one.box.lo[k] + 1, one.box.hi[k] - 1);
            parts.push_back(two);
          }
          for (Part& part : parts) part.kind = static_cast<int>(draw(random, 0, 3));
          auto Z = blocks<std::int64_t>(t.program, "Z", {rows, columns}, -5);
          for (const Part& part : parts) {
            const auto& [lo, hi] = part.box;
            const auto I = range(i, lo[0], hi[0]);
            const auto J = range(j, lo[1], hi[1]);
            if (part.kind == 0) Z(I, J) = X(I, J);
            if (part.kind == 1) Z(I, J) = X(I, J) + Y(J, I);
            if (part.kind == 2) Z(I, J) = 2 * Y(J, I);
          }
          if (parts.front().kind == 3) Z(0, 0) = sum(i)(X(i, 0 * i) * X(0 * i, 0 * i));
          bool any = parts.front().kind == 3;
          for (const Part& part : parts) any = any || part.kind != 3;
          if (!any) return;
          t.expect(Z.tensor(), [&](Extent I, Extent J) -> std::int64_t {
            if (parts.front().kind == 3 && I == 0 && J == 0) {
              return x_(0, 0) * total(rows, [&](Extent K) { return x_(K, 0); });
            }
            for (const Part& part : parts) {
              if (!part.box.contains({{I, J}, {I + 1, J + 1}})) continue;
              if (part.kind == 0) return x_(I, J);
              if (part.kind == 1) return x_(I, J) + y_(J, I);
              if (part.kind == 2) return 2 * y_(J, I);
            }
            return -5;
          });
        },
        false);
  }
}
