// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Typed programs of macros over any expression, as those of typed_cases.hpp: exchanges of labels,
// scans, dropout.
#pragma once

#include "eindecomp/graph/permutations.hpp"
#include "eindecomp/graph/random.hpp"
#include "eindecomp/graph/scan.hpp"
#include "eindecomp/graph/statistics.hpp"
#include "property/typed_cases.hpp"

namespace property {

template <class Visit>
void macro_cases(const Visit& visit) {
  visit("exchanged labels", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 4, 3});
    const auto [Y, ys] = t.template input<double>("Y", {4, 3});
    const auto [Z, zs] = t.template input<double>("Z", {3, 4});
    t.expect(let<"H">(i, j, a) = exchange(i, j)(X(i, j, a)),
             [&](Extent I, Extent J, Extent A) { return xs(J, I, A); });
    const auto product = [&](Extent I, Extent J) {
      return total(3, [&](Extent A) { return ys(I, A) * zs(A, J); });
    };
    t.expect(let<"G">(i, j) = 0.5 * symmetrize(i, j)(sum(a)(Y(i, a) * Z(a, j))),
             [&](Extent I, Extent J) { return 0.5 * (product(I, J) + product(J, I)); });
  });
  visit("P(ij)P(ab)", [](auto& t) {
    const auto [X, xs] = t.template input<std::int64_t>("X", {3, 4});
    const auto [Y, ys] = t.template input<std::int64_t>("Y", {4, 3, 4});
    const auto term = [&](Extent I, Extent J, Extent A, Extent B) {
      return total(4, [&](Extent C) { return xs(I, C) * ys(A, J, B) * xs(J, C); });
    };
    t.expect(let<"H">(i, j, a, b) =
                 antisymmetrize(i, j)(antisymmetrize(a, b)(sum(c)(X(i, c) * Y(a, j, b) * X(j, c)))),
             [&](Extent I, Extent J, Extent A, Extent B) {
               return term(I, J, A, B) - term(I, J, B, A) - term(J, I, A, B) + term(J, I, B, A);
             });
  });
  visit("three and four labels antisymmetrized", [](auto& t) {
    const auto [X, xs] = t.template input<std::int64_t>("X", {3, 3, 3, 3});
    const auto three = [&](Extent I, Extent J, Extent K, Extent L) {
      return xs(I, J, K, L) - xs(J, I, K, L) - xs(K, J, I, L) - xs(I, K, J, L) + xs(J, K, I, L) +
             xs(K, I, J, L);
    };
    t.expect(let<"H">(i, j, k, l) = antisymmetrize(i, j, k)(X(i, j, k, l)), three);
    t.expect(let<"G">(i, j, k, l) = antisymmetrize(i, j, k, l)(X(i, j, k, l)),
             [&](Extent I, Extent J, Extent K, Extent L) {
               return three(I, J, K, L) - three(L, J, K, I) - three(I, L, K, J) - three(I, J, L, K);
             });
  });
  visit("means over windows and slices", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {12, 5});
    t.expect(
        let<"H">(i, j) = mean(r)(X(2 * i + extent(r, 2), j)),
        [&](Extent I, Extent J) { return (xs(2 * I, J) + xs(2 * I + 1, J)) / 2; }, false);
    t.expect(
        let<"P">(i, j) = mean(r)(X(i + extent(r, 3) - 1, j)),
        [&](Extent I, Extent J) {
          return total(3,
                       [&](Extent R) {
                         const Extent at = I + R - 1;
                         return at < 0 || at >= 12 ? 0.0 : xs(at, J);
                       }) /
                 3;
        },
        false);
    t.expect(
        let<"S">(j) = mean(i)(X(range(i, 3, 10, 2), j)),
        [&](Extent J) { return (xs(3, J) + xs(5, J) + xs(7, J) + xs(9, J)) / 4; }, false);
    t.expect(
        let<"V">(i) = var(r)(X(i, 4 - r)),
        [&](Extent I) {
          const double mean_of = total(5, [&](Extent J) { return xs(I, J); }) / 5;
          return total(5, [&](Extent J) { return (xs(I, J) - mean_of) * (xs(I, J) - mean_of); }) /
                 5;
        },
        false);
  });
  visit("means of what is masked, gathered or aggregated", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {6, 4});
    const auto [N, ns] = t.template input<std::int32_t>("N", {6});
    const auto chosen = [&](Extent I) { return xs(I, ((ns(I) % 4) + 4) % 4); };
    t.expect(
        let<"G">() = mean(i)(X(i, N(i) % 4)), [&] { return total(6, chosen) / 6; }, false);
    t.expect(
        let<"H">() = mean(i)(max(j)(X(i, j)) - X(i, N(i) % 4)),
        [&] {
          return total(6,
                       [&](Extent I) {
                         return largest(4, [&](Extent J) { return xs(I, J); }) - chosen(I);
                       }) /
                 6;
        },
        false);
    t.expect(
        let<"M">(j) = mean(i)((i <= j) * X(i, j)),
        [&](Extent J) { return total(J + 1, [&](Extent I) { return xs(I, J); }) / 6; }, false);
  });
  visit("dropout", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 3});
    const auto [U, us] = t.template input<double>("U", {4, 3});
    t.expect(let<"H">(i, j) = ein::dropout(X(i, j), U(i, j), 0.5),
             [&](Extent I, Extent J) { return us(I, J) < 0.5 ? 0 : 2 * xs(I, J); });
  });
}

/// Scans, whose graphs read computed indices, which the reference does not know.
template <class Visit>
void scan_cases(const Visit& visit) {
  visit("running sums, products and maxima", [](auto& t) {
    const auto [X, xs] = t.template input<std::int64_t>("X", {3, 19});
    const auto sum_to = [&](Extent I, Extent J) {
      return total(J + 1, [&](Extent K) { return xs(I, K); });
    };
    t.expect(let<"S">(i, j) = cumsum(j)(X(i, j)), sum_to);
    t.expect(let<"T">(j, i) = 2 * cumsum(j)(X(i, j)),
             [&](Extent J, Extent I) { return 2 * sum_to(I, J); });
    t.expect(let<"M">(i, j) = ein::scan<ein::Max>(j)(X(i, j) * X(i, j)), [&](Extent I, Extent J) {
      return largest(J + 1, [&](Extent K) { return xs(I, K) * xs(I, K); });
    });
    t.expect(let<"P">(i, j) = cumprod(i)(X(i, j)), [&](Extent I, Extent J) {
      std::int64_t product = 1;
      for (Extent K = 0; K <= I; ++K) product *= xs(K, J);
      return product;
    });
  });
  visit("running sums along labels that are cut, forwards and backwards", [](auto& t) {
    const auto [X, xs] = t.template input<std::int64_t>("X", {301});
    const auto [Y, ys] = t.template input<std::int64_t>("Y", {9, 13, 2});
    t.expect(let<"S">(i) = cumsum(i)(X(i)),
             [&](Extent I) { return total(I + 1, [&](Extent K) { return xs(K); }); });
    t.expect(let<"B">(extent(i, 301)) = sum(k)(X(i + extent(k, 301))),
             [&](Extent I) { return total(301 - I, [&](Extent K) { return xs(I + K); }); });
    t.expect(let<"M">(i, extent(j, 13), k) = max(l)(Y(i, j + extent(l, 13), k)),
             [&](Extent I, Extent J, Extent K) {
               return largest(13 - J, [&](Extent L) { return ys(I, J + L, K); });
             });
    t.expect(
        let<"T">(k, i, j) = cumsum(i)(cumsum(j)(Y(i, j, k))), [&](Extent K, Extent I, Extent J) {
          return total(
              I + 1, [&](Extent A) { return total(J + 1, [&](Extent B) { return ys(A, B, K); }); });
        });
  });
}

}  // namespace property
