// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements of more operands than a kernel has, on all ranks, however the labels are cut: results
// are those of loops over the data, and the words that move those that are predicted.

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "property/checked.hpp"

using namespace property;
using namespace ein::labels;
using ein::clamp;
using ein::let;
using ein::periodic;
using ein::zero;

namespace {

/// An offset in each dimension, and the factor of what is read there.
struct Point {
  Extent row = 0;
  Extent column = 0;
  double factor = 1;
};
template <int Count>
std::array<Point, Count> draw_points(std::mt19937& random) {
  std::array<Point, Count> points;
  for (Point& p : points) {
    p = {draw(random, -2, 2), draw(random, -2, 2), static_cast<double>(draw(random, -3, 3))};
  }
  return points;
}

enum class Edge { zero, periodic, clamp };
template <Edge E, class Index>
auto beyond(const Index& index) {
  if constexpr (E == Edge::zero) return zero(index);
  if constexpr (E == Edge::periodic) return periodic(index);
  if constexpr (E == Edge::clamp) return clamp(index);
}
/// What is read of an array there.
template <Edge E>
double read(const reference::Array<double, 2>& x, Extent row, Extent column) {
  Extent at[] = {row, column};
  for (std::size_t k = 0; k < 2; ++k) {
    const Extent bound = x.extents()[k];
    if (at[k] >= 0 && at[k] < bound) continue;
    if (E == Edge::zero) return 0;
    at[k] = E == Edge::periodic ? (at[k] + bound) % bound : std::clamp<Extent>(at[k], 0, bound - 1);
  }
  return x(at[0], at[1]);
}

/// The points' sum from the last to the first, so that it nests to the right.
template <Edge E, std::size_t At, class X, std::size_t Count>
auto sum_of(const X& x, const std::array<Point, Count>& points) {
  const Point& p = points[At];
  const auto term = p.factor * x(beyond<E>(i + p.row), beyond<E>(j + p.column));
  if constexpr (At + 1 == Count) {
    return term;
  } else {
    return term + sum_of<E, At + 1>(x, points);
  }
}
/// The largest of them, which is one chain.
template <Edge E, std::size_t At, class X, std::size_t Count>
auto largest_of(const X& x, const std::array<Point, Count>& points) {
  const auto term = x(beyond<E>(i + points[At].row), beyond<E>(j + points[At].column));
  if constexpr (At == 0) {
    return term;
  } else {
    return max(largest_of<E, At - 1>(x, points), term);
  }
}

template <int Count, Edge E>
void check_stencils(unsigned seed) {
  CAPTURE(seed);
  check(
      [seed](auto& t) {
        std::mt19937 random(seed);
        const Extent rows = draw(random, 3, 11);
        const Extent columns = draw(random, 3, 9);
        const auto points = draw_points<Count>(random);
        const auto [X, xs] = t.template input<double>("X", {rows, columns});
        const auto [K, ks] = t.template input<double>("K", {rows, columns});
        const auto& x_ = xs;
        const auto& k_ = ks;
        const auto sum = [&](Extent I, Extent J) {
          double total = 0;
          for (const Point& p : points) total += p.factor * read<E>(x_, I + p.row, J + p.column);
          return total;
        };
        t.expect(let<"Z">(i, j) = X(i, j) + 0.5 * K(i, j) * sum_of<E, 0>(X, points),
                 [&](Extent I, Extent J) { return x_(I, J) + 0.5 * k_(I, J) * sum(I, J); });
        t.expect(let<"L">(i, j) = largest_of<E, Count - 1>(X, points) - K(i, j),
                 [&](Extent I, Extent J) {
                   double most = read<E>(x_, I + points[0].row, J + points[0].column);
                   for (const Point& p : points) {
                     most = std::max(most, read<E>(x_, I + p.row, J + p.column));
                   }
                   return most - k_(I, J);
                 });
        t.expect(
            let<"R">(i) = ein::max(j)(K(i, j) * X(i, j) + sum_of<E, 0>(X, points)), [&](Extent I) {
              return largest(columns, [&](Extent J) { return k_(I, J) * x_(I, J) + sum(I, J); });
            });
      },
      false);
}

}  // namespace

TEST_CASE("random stencils of more points than a kernel has operands") {
  const int cases = eindecomp_tests::random_cases(1);
  for (int n = 0; n < cases; ++n) {
    const auto seed = static_cast<unsigned>(100 * n);
    check_stencils<8, Edge::zero>(seed + 1);
    check_stencils<9, Edge::periodic>(seed + 2);
    check_stencils<13, Edge::clamp>(seed + 3);
    check_stencils<18, Edge::zero>(seed + 4);
  }
}

TEST_CASE("a stencil of seven points with a coefficient, in three dimensions") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {6, 5, 4});
    const auto [K, ks] = t.template input<double>("K", {6, 5, 4});
    const auto& x_ = xs;
    const auto& k_ = ks;
    const auto at_zero = [&](Extent I, Extent J, Extent K_) {
      if (I < 0 || I >= 6 || J < 0 || J >= 5 || K_ < 0 || K_ >= 4) return 0.0;
      return x_(I, J, K_);
    };
    t.expect(let<"Z">(i, j, k) =
                 X(i, j, k) +
                 K(i, j, k) * (X(zero(i + 1), j, k) + X(zero(i - 1), j, k) + X(i, zero(j + 1), k) +
                               X(i, zero(j - 1), k) + X(i, j, zero(k + 1)) + X(i, j, zero(k - 1)) -
                               6 * X(i, j, k)),
             [&](Extent I, Extent J, Extent L) {
               return x_(I, J, L) +
                      k_(I, J, L) * (at_zero(I + 1, J, L) + at_zero(I - 1, J, L) +
                                     at_zero(I, J + 1, L) + at_zero(I, J - 1, L) +
                                     at_zero(I, J, L + 1) + at_zero(I, J, L - 1) - 6 * x_(I, J, L));
             });
  });
}

TEST_CASE("more operands than a kernel has, in conditions, of several types and aggregated") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<float>("X", {7, 7});
    const auto [N, ns] = t.template input<std::int64_t>("N", {7, 7});
    const auto [V, vs] = t.template input<double>("V", {7});
    const auto& x_ = xs;
    const auto& n_ = ns;
    const auto& v_ = vs;
    t.expect(let<"S">(i, j) = select(i < j && N(i, j) > N(j, i), X(i, j) * X(j, i) + X(i, j),
                                     X(i, j) - X(j, i) * X(j, i) - ein::value(i) * X(j, i)),
             [&](Extent I, Extent J) {
               const float a = x_(I, J);
               const float b = x_(J, I);
               return I < J && n_(I, J) > n_(J, I) ? a * b + a
                                                   : a - b * b - static_cast<float>(I) * b;
             });
    t.expect(let<"T">(i) = sum(j)(abs_diff(N(i, j), N(j, i)) * V(j) + X(i, j) * X(j, i) -
                                  abs_diff(X(i, j), X(j, i)) * V(i) * N(i, j)),
             [&](Extent I) {
               return total(7, [&](Extent J) {
                 const double n = std::abs(static_cast<double>(n_(I, J) - n_(J, I)));
                 const double x = x_(I, J);
                 const double y = x_(J, I);
                 return n * v_(J) + x * y - std::abs(x - y) * v_(I) * static_cast<double>(n_(I, J));
               });
             });
  });
}
