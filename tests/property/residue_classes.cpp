// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements that are computed residue class by residue class, on all ranks: convolutions
// transposed of any stride, dilation, padding and groups, over several algebras, whole and panel by
// panel.

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "property/checked.hpp"
#include "property/padded.hpp"
#include "support/streamed.hpp"

using namespace property;
using namespace ein::labels;
using ein::extent;
using ein::let;
using ein::whole;
using ein::zero;

namespace {

/// The program as check() runs it, and streamed.
template <class Write>
void check_streamed(const Write& write) {
  check(write, false);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  RunHarness t;
  write(t);
  for (const bool along_first : {true, false}) {
    CAPTURE(along_first);
    const auto plan = shared_plan(t.program, {.workers = 4, .ranks = ranks});
    check_run(t, test_support::streamed(plan, 2, along_first), rank);
  }
}

bool has_periods(const ein::EinGraph& graph, ein::VertexId v) { return !graph[v].periods.empty(); }

}  // namespace

TEST_CASE("convolutions transposed: random strides, dilations, paddings and windows") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto any = [&](Extent low, Extent high) { return draw(random, low, high); };
    check_streamed([&](auto& t) {
      random.seed(seed);
      const Extent strides[] = {any(1, 4), any(2, 4)};
      const Extent dilations[] = {any(1, 3), any(-2, 2)};
      const Extent pads[] = {any(-2, 4), any(0, 5)};
      const Extent windows[] = {any(1, 5), any(1, 6)};
      const auto [Z, zs] = t.template input<float>("Z", {2, 2, any(1, 5), any(2, 6)});
      const auto [W, ws] = t.template input<float>("W", {2, 3, windows[0], windows[1]});
      const Extent lengths[] = {any(1, 12), any(3, 14)};
      const auto X = let<"X">(b, c, extent(y, lengths[0]), extent(x, lengths[1])) =
          sum(o, r, s)(Z(b, o, whole(y - dilations[0] * r + pads[0], strides[0]),
                         whole(x - dilations[1] * s + pads[1], strides[1])) *
                       W(o, c, r, s));
      CHECK(has_periods(t.program.graph(), X.vertex()));
      t.expect(X, [=, zs = zs, ws = ws](Extent B, Extent C, Extent Y, Extent V) {
        return total(2, [&](Extent O) {
          return total(windows[0], [&](Extent R) {
            return total(windows[1], [&](Extent S) {
              return padded(zs, 0, B, O, quotient(Y - dilations[0] * R + pads[0], strides[0]),
                            quotient(V - dilations[1] * S + pads[1], strides[1])) *
                     ws(O, C, R, S);
            });
          });
        });
      });
    });
  }
}

TEST_CASE("convolutions transposed of few channels, whose classes share taps") {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto any = [&](Extent low, Extent high) { return draw(random, low, high); };
    check_streamed([&](auto& t) {
      random.seed(seed);
      const Extent strides[] = {any(2, 4), any(2, 3)};
      const Extent pads[] = {any(0, 3), any(0, 3)};
      const Extent windows[] = {any(strides[0] + 1, 7), any(strides[1] + 1, 5)};
      const auto [Z, zs] = t.template input<float>("Z", {3, 40, 4, 5});
      const auto [W, ws] = t.template input<float>("W", {40, 1, windows[0], windows[1]});
      const Extent lengths[] = {any(8, 13), any(7, 12)};
      const auto X = let<"X">(b, c, extent(y, lengths[0]), extent(x, lengths[1])) = sum(
          o, r, s)(Z(b, o, whole(y - r + pads[0], strides[0]), whole(x - s + pads[1], strides[1])) *
                   W(o, c, r, s));
      CHECK(has_periods(t.program.graph(), X.vertex()));
      t.expect(X, [=, zs = zs, ws = ws](Extent B, Extent C, Extent Y, Extent V) {
        return total(40, [&](Extent O) {
          return total(windows[0], [&](Extent R) {
            return total(windows[1], [&](Extent S) {
              return padded(zs, 0, B, O, quotient(Y - R + pads[0], strides[0]),
                            quotient(V - S + pads[1], strides[1])) *
                     ws(O, C, R, S);
            });
          });
        });
      });
    });
  }
}

TEST_CASE("groups, channels last, a window of its own for every channel") {
  check_streamed([](auto& t) {
    const auto [Z, zs] = t.template input<double>("Z", {2, 5, 2, 3});
    const auto [W, ws] = t.template input<double>("W", {4, 2, 3, 2});
    const auto [V, vs] = t.template input<double>("V", {5, 2, 3});
    const auto X = let<"X">(b, y, g, c) =
        sum(r, o)(Z(b, whole(y + 1 - r, 2), g, o) * W(r, g, o, c));
    t.expect(X, [zs = zs, ws = ws](Extent B, Extent Y, Extent G, Extent C) {
      return total(4, [&](Extent R) {
        return total(3, [&](Extent O) {
          return padded(zs, 0, B, quotient(Y + 1 - R, 2), G, O) * ws(R, G, O, C);
        });
      });
    });
    t.expect(let<"D">(b, y, g, c) = sum(r)(Z(b, whole(y - r, 3), g, c) * V(r, g, c)),
             [zs = zs, vs = vs](Extent B, Extent Y, Extent G, Extent C) {
               return total(5, [&](Extent R) {
                 return padded(zs, 0, B, quotient(Y - R, 3), G, C) * vs(R, G, C);
               });
             });
  });
}

TEST_CASE("other algebras, and elements that no window reaches") {
  check_streamed([](auto& t) {
    const auto [Z, zs] = t.template input<double>("Z", {4, 6}, -6);
    const auto [W, ws] = t.template input<double>("W", {2}, -3);
    const auto& z_ = zs;
    const auto& w_ = ws;
    constexpr double low = -std::numeric_limits<double>::infinity();
    const auto D = let<"D">(extent(i, 14), j) = max(r)(Z(whole(i - r, 4), j) + W(r));
    t.expect(D, [=](Extent I, Extent J) {
      return largest(2, [&](Extent R) { return padded(z_, low, quotient(I - R, 4), J) + w_(R); });
    });
    const auto E = let<"E">(extent(i, 13), j) = min(r)(Z(whole(i - 2 * r, 3), j) + W(r));
    t.expect(E, [=](Extent I, Extent J) {
      return smallest(
          2, [&](Extent R) { return padded(z_, -low, quotient(I - 2 * R, 3), J) + w_(R); });
    });
    CHECK(has_periods(t.program.graph(), D.vertex()));
    CHECK(has_periods(t.program.graph(), E.vertex()));
    // 0 counts there: it is no value that max and + ignore.
    const auto F = let<"F">(extent(i, 14), j) = max(r)(Z(zero(whole(i - r, 4)), j) + W(r));
    CHECK(!has_periods(t.program.graph(), F.vertex()));
    t.expect(F, [=](Extent I, Extent J) {
      return largest(2, [&](Extent R) { return padded(z_, 0, quotient(I - R, 4), J) + w_(R); });
    });
    // Divided by the aggregated label alone, or by the output's.
    t.expect(let<"G">(j) = sum(i)(Z(whole(extent(i, 11) + 1, 3), j)), [=](Extent J) {
      return total(11, [&](Extent I) { return padded(z_, 0, quotient(I + 1, 3), J); });
    });
    t.expect(let<"H">(extent(i, 11)) = sum(j)(Z(whole(i + 1, 3), j)), [=](Extent I) {
      return total(6, [&](Extent J) { return padded(z_, 0, quotient(I + 1, 3), J); });
    });
    // What is read at the same quotients counts nowhere else.
    t.expect(
        let<"K">(extent(i, 9)) = sum(j, r)(Z(whole(i - r, 2), j) * Z(whole(i - r, 2), j) * W(r)),
        [=](Extent I) {
          return total(6, [&](Extent J) {
            return total(2, [&](Extent R) {
              const double z = padded(z_, 0, quotient(I - R, 2), J);
              return z * z * w_(R);
            });
          });
        });
  });
}
