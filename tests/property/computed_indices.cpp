// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indices computed from labels, on all ranks, however the labels are cut: results are those of
// loops over the data, and the words that move those that are predicted.

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "property/checked.hpp"
#include "property/padded.hpp"

using namespace property;
using namespace ein::labels;
using ein::at;
using ein::clamp;
using ein::extent;
using ein::let;
using ein::periodic;
using ein::reflect;
using ein::value;
using ein::whole;
using ein::zero;

namespace {

// numpy.pad's modes, an element further at a time.
Extent wrapped(Extent index, Extent bound) {
  while (index < 0) index += bound;
  return index % bound;
}
Extent clamped(Extent index, Extent bound) { return std::clamp<Extent>(index, 0, bound - 1); }
Extent mirrored(Extent index, Extent bound) {
  while (index < 0 || index >= bound) {
    if (bound == 1) return 0;
    index = index < 0 ? -index : 2 * (bound - 1) - index;
  }
  return index;
}

}  // namespace

TEST_CASE("a convolution with stride, padding and channels") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<float>("X", {2, 3, 9, 8});
    const auto [W, ws] = t.template input<float>("W", {4, 3, 3, 3});
    t.expect(
        let<"Y">(b, o, y, x) = sum(c, r, s)(X(b, c, 2 * y + r - 1, 2 * x + s - 1) * W(o, c, r, s)),
        [&, xs = xs, ws = ws](Extent B, Extent O, Extent Y, Extent Z) {
          return total(3, [&](Extent C) {
            return total(3, [&](Extent R) {
              return total(3, [&](Extent S) {
                return padded(xs, 0, B, C, 2 * Y + R - 1, 2 * Z + S - 1) * ws(O, C, R, S);
              });
            });
          });
        });
    CHECK(t.program.graph()[2].bound == std::vector<Extent>{2, 4, 5, 4});
  });
}

TEST_CASE("shifts, strides, reversals and single indices") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {9, 6});
    const auto [V, vs] = t.template input<double>("V", {6});
    const auto& x_ = xs;
    const auto& v_ = vs;
    t.expect(let<"even">(i, j) = 1.0 * X(2 * i, j),
             [&](Extent I, Extent J) { return x_(2 * I, J); });
    t.expect(let<"back">(i, j) = X(8 - i, j) + V(5 - j),
             [&](Extent I, Extent J) { return x_(8 - I, J) + v_(5 - J); });
    t.expect(let<"row">(j) = X(4, j) * V(j), [&](Extent J) { return x_(4, J) * v_(J); });
    t.expect(let<"column">(i) = -X(i, at(1)), [&](Extent I) { return -x_(I, 1); });
    t.expect(let<"step">(i, j) = X(zero(i + 1), j) - X(i, j),
             [&](Extent I, Extent J) { return padded(x_, 0, I + 1, J) - x_(I, J); });
    t.expect(let<"band">(i) = sum(j)(X(i + j, j)),
             [&](Extent I) { return total(6, [&](Extent J) { return padded(x_, 0, I + J, J); }); });
    CHECK(t.program.graph()[t.program.graph().find("band")].bound == std::vector<Extent>{4});
  });
}

TEST_CASE("an index that has a label several times, or none of it") {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    check(
        [&](auto& t) {
          const Extent n = draw(random, 1, 17);
          const Extent m = seed % 2 == 0 ? draw(random, 40, 90) : draw(random, 1, 12);
          const auto [X, xs] = t.template input<double>("X", {n});
          const auto [W, ws] = t.template input<double>("W", {3});
          const auto& x_ = xs;
          const auto& w_ = ws;
          const Extent a = draw(random, 0, 2);
          const Extent b = draw(random, -2, 2);
          const Extent at = draw(random, -9, 9);
          const Extent none = 0;
          t.expect(let<"round">(extent(i, m)) = 2.0 * X(periodic(a * i + at + b * i)),
                   [&](Extent I) { return 2 * x_(wrapped((a + b) * I + at, n)); });
          t.expect(let<"held">(extent(i, m)) = 2.0 * X(clamp(i - 2 * i + at)),
                   [&](Extent I) { return 2 * x_(clamped(at - I, n)); });
          t.expect(
              let<"back">(extent(i, m)) = X(reflect(i + i + at)) + X(zero(a * i + b * i)),
              [&](Extent I) { return x_(mirrored(2 * I + at, n)) + padded(x_, 0, (a + b) * I); });
          t.expect(let<"taps">(extent(i, m)) = sum(k)(X(periodic(none * i + k + at)) * W(k)),
                   [&](Extent) {
                     return total(3, [&](Extent K) { return x_(wrapped(K + at, n)) * w_(K); });
                   });
        },
        false);
  }
}

TEST_CASE("pooling, its windows over the image's edge") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<float>("X", {3, 7, 8}, -6);
    constexpr float low = -std::numeric_limits<float>::infinity();
    t.expect(
        let<"P">(c, y, x) = max(r, s)(X(c, 2 * y + extent(r, 3) - 1, 2 * x + extent(s, 3) - 1)),
        [&, xs = xs](Extent C, Extent Y, Extent Z) {
          return largest(3, [&](Extent R) {
            return largest(
                3, [&](Extent S) { return padded(xs, low, C, 2 * Y + R - 1, 2 * Z + S - 1); });
          });
        });
    t.expect(let<"M">(c, y) = sum(r, x)(X(c, 3 * y + extent(r, 3), x)),
             [&, xs = xs](Extent C, Extent Y) {
               return total(3, [&](Extent R) {
                 return total(8, [&](Extent Z) { return xs(C, 3 * Y + R, Z); });
               });
             });
  });
}

TEST_CASE("max-plus windows and dilation") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {2, 13}, -6);
    const auto [W, ws] = t.template input<double>("W", {3}, -3);
    constexpr double low = -std::numeric_limits<double>::infinity();
    t.expect(let<"D">(b, y) = max(r)(X(b, y + 2 * r - 2) + W(r)), [&, xs = xs, ws = ws](Extent B,
                                                                                        Extent Y) {
      return largest(3, [&](Extent R) { return padded(xs, low, B, Y + 2 * R - 2) + ws(R); });
    });
    t.expect(let<"E">(b, y) = min(r)(X(b, y - r + 1) + W(r)),
             [&, xs = xs, ws = ws](Extent B, Extent Y) {
               return smallest(3, [&](Extent R) { return padded(xs, -low, B, Y - R + 1) + ws(R); });
             });
  });
}

TEST_CASE("windows over results, wider than blocks, and the same tensor under two indices") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {11});
    const auto [W, ws] = t.template input<double>("W", {9});
    const auto [V, vs] = t.template input<double>("V", {5});
    const auto A = let<"A">(i) = sum(k)(X(i + k - 4) * W(k));
    const auto a = [&, xs = xs, ws = ws](Extent I) {
      return total(9, [&](Extent K) { return padded(xs, 0, I + K - 4) * ws(K); });
    };
    t.expect(A, a);
    const auto a0 = [a](Extent I) { return I < 0 || I >= 11 ? 0.0 : a(I); };
    t.expect(let<"B">(i) = sum(k)(A(i + 2 * k - 4) * V(k)), [&, a0, vs = vs](Extent I) {
      return total(5, [&](Extent K) { return a0(I + 2 * K - 4) * vs(K); });
    });
    t.expect(let<"C">(extent(d, 6)) = sum(i)(A(i) * A(i + d)),
             [&, a0](Extent D) { return total(11, [&](Extent I) { return a0(I) * a0(I + D); }); });
    t.expect(let<"L">(i) = A(zero(i - 1)) - 2.0 * A(i) + A(zero(i + 1)),
             [&, a0](Extent I) { return a0(I - 1) - 2.0 * a0(I) + a0(I + 1); });
  });
}

TEST_CASE("blocks so large that their interior is read where it is stored") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {401, 384});
    const auto& x_ = xs;
    const auto sides = [&](Extent I, Extent J) {
      return padded(x_, 0, I - 1, J) + padded(x_, 0, I + 1, J) + padded(x_, 0, I, J - 1) +
             padded(x_, 0, I, J + 1);
    };
    t.expect(let<"L">(i, j) = X(zero(i - 1), j) + X(zero(i + 1), j) + X(i, zero(j - 1)) +
                              X(i, zero(j + 1)) - 4.0 * X(i, j),
             [&](Extent I, Extent J) { return sides(I, J) - 4.0 * x_(I, J); });
  });
  check([](auto& t) {
    const auto [Z, zs] = t.template input<double>("Z", {401, 384});
    const auto& z_ = zs;
    t.expect(let<"P">(i, j) = Z(periodic(i - 2), j) - Z(i, reflect(j + 3)) * Z(i, j),
             [&](Extent I, Extent J) {
               return z_(wrapped(I - 2, 401), J) - z_(I, mirrored(J + 3, 384)) * z_(I, J);
             });
  });
}

TEST_CASE("operands read beyond the ends of a tensor where it is stored, in several dimensions") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {301, 203});
    const auto& x_ = xs;
    const auto at = [&](Extent I, Extent J) { return padded(x_, 0, I, J); };
    t.expect(let<"corners">(i, j) = X(zero(i - 1), zero(j - 2)) - X(zero(i + 2), zero(j + 1)) +
                                    2.0 * X(i, zero(j + 3)) * X(zero(i - 3), j) - X(i, j),
             [&](Extent I, Extent J) {
               return at(I - 1, J - 2) - at(I + 2, J + 1) + 2.0 * at(I, J + 3) * at(I - 3, J) -
                      x_(I, J);
             });
  });
  check([](auto& t) {
    const auto [Z, zs] = t.template input<float>("Z", {403, 307});
    const auto [W, ws] = t.template input<float>("W", {403});
    const auto& z_ = zs;
    const auto& w_ = ws;
    const auto at = [&](Extent I, Extent J) { return z_(wrapped(I, 403), wrapped(J, 307)); };
    t.expect(let<"heat">(i, j) =
                 W(i) * (Z(periodic(i - 1), j) + Z(periodic(i + 1), j) + Z(i, periodic(j - 1)) +
                         Z(i, periodic(j + 1)) - 4.0F * Z(periodic(i + 1), periodic(j - 3))),
             [&](Extent I, Extent J) {
               return w_(I) * (at(I - 1, J) + at(I + 1, J) + at(I, J - 1) + at(I, J + 1) -
                               4.0F * at(I + 1, J - 3));
             });
    // Two operands, and a label that goes on for longer than the tensor.
    t.expect(
        let<"wide">(extent(i, 406), extent(j, 309)) =
            Z(zero(i - 2), zero(j - 1)) - Z(zero(i + 1), zero(j)),
        [&](Extent I, Extent J) { return padded(z_, 0, I - 2, J - 1) - padded(z_, 0, I + 1, J); });
  });
}

TEST_CASE("random strides, dilations, paddings and extents") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto any = [&](Extent low, Extent high) { return draw(random, low, high); };
    check(
        [&](auto& t) {
          const Extent n = any(5, 17);
          const Extent m = any(3, 8);
          const Extent width = any(1, 5);
          const Extent stride = any(1, 3);
          const Extent dilation = any(1, 3);
          const Extent pad = any(0, 6);
          const Extent outputs = any(1, 9);
          const auto [X, xs] = t.template input<double>("X", {n, m});
          const auto [W, ws] = t.template input<double>("W", {width, m});
          t.expect(let<"Y">(extent(y, outputs), c) =
                       sum(r)(X(stride * y + dilation * r - pad, c) * W(r, c)),
                   [&, xs = xs, ws = ws](Extent Y, Extent C) {
                     return total(width, [&](Extent R) {
                       return padded(xs, 0, stride * Y + dilation * R - pad, C) * ws(R, C);
                     });
                   });
          t.expect(let<"Z">(extent(y, outputs)) =
                       sum(r, c)(X(pad + stride * y - dilation * r, m - 1 - c) * W(r, c)),
                   [&, xs = xs, ws = ws](Extent Y) {
                     return total(width, [&](Extent R) {
                       return total(m, [&](Extent C) {
                         return padded(xs, 0, pad + stride * Y - dilation * R, m - 1 - C) *
                                ws(R, C);
                       });
                     });
                   });
        },
        false);
  }
}

TEST_CASE("divided indices: convolutions transposed, and what lies between their elements") {
  check([](auto& t) {
    const auto [Z, zs] = t.template input<float>("Z", {2, 4, 5});
    const auto [W, ws] = t.template input<float>("W", {4, 3, 3, 2});
    const auto& z_ = zs;
    const auto& w_ = ws;
    const auto X = let<"X">(b, c, y, x) =
        sum(o, r, s)(Z(b, o, whole(y + 1 - r, 2)) * W(o, c, r, s) * Z(b, o, whole(x - 2 * s, 3)));
    t.expect(X, [&](Extent B, Extent C, Extent Y, Extent V) {
      return total(4, [&](Extent O) {
        return total(3, [&](Extent R) {
          return total(2, [&](Extent S) {
            return padded(z_, 0, B, O, quotient(Y + 1 - R, 2)) * w_(O, C, R, S) *
                   padded(z_, 0, B, O, quotient(V - 2 * S, 3));
          });
        });
      });
    });
    CHECK(t.program.graph()[X.vertex()].bound == std::vector<Extent>{2, 3, 9, 15});
    t.expect(let<"U">(b, o, extent(y, 12)) = 1.0 * Z(b, o, zero(whole(y + 1, 2))),
             [&](Extent B, Extent O, Extent Y) { return padded(z_, 0, B, O, quotient(Y + 1, 2)); });
  });
  check([](auto& t) {
    const auto [Z, zs] = t.template input<double>("Z", {5, 6}, -6);
    const auto [W, ws] = t.template input<double>("W", {3}, -3);
    constexpr double low = -std::numeric_limits<double>::infinity();
    t.expect(let<"D">(i, j) = max(r)(Z(whole(i - r, 2), j) + W(r)), [&, zs = zs, ws = ws](
                                                                        Extent I, Extent J) {
      return largest(3, [&](Extent R) { return padded(zs, low, quotient(I - R, 2), J) + ws(R); });
    });
  });
}

TEST_CASE("boundaries: periodic, clamped, reflected, several dimensions, wider than the tensor") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {8, 7});
    const auto [W, ws] = t.template input<double>("W", {5});
    const auto& x_ = xs;
    const auto& w_ = ws;
    t.expect(let<"heat">(i, j) = X(periodic(i - 1), j) + X(periodic(i + 1), j) +
                                 X(i, periodic(j - 1)) + X(i, periodic(j + 1)) - 4.0 * X(i, j),
             [&](Extent I, Extent J) {
               return x_(wrapped(I - 1, 8), J) + x_(wrapped(I + 1, 8), J) +
                      x_(I, wrapped(J - 1, 7)) + x_(I, wrapped(J + 1, 7)) - 4.0 * x_(I, J);
             });
    t.expect(let<"corners">(extent(i, 8), extent(j, 9)) =
                 X(periodic(i - 1), clamp(j + 1)) * X(reflect(i + 2), periodic(j - 2)),
             [&](Extent I, Extent J) {
               return x_(wrapped(I - 1, 8), clamped(J + 1, 7)) *
                      x_(mirrored(I + 2, 8), wrapped(J - 2, 7));
             });
    t.expect(let<"mixed">(i, j) = sum(k)(X(clamp(i + k - 2), zero(j + 2)) * W(k)),
             [&](Extent I, Extent J) {
               return total(5, [&](Extent K) {
                 return padded(x_, 0, clamped(I + K - 2, 8), J + 2) * w_(K);
               });
             });
    t.expect(
        let<"wide">(extent(i, 30), j) = sum(k)(X(periodic(i - 11), reflect(j + 5 * k - 9)) * W(k)),
        [&](Extent I, Extent J) {
          return total(5, [&](Extent K) {
            return x_(wrapped(I - 11, 8), mirrored(J + 5 * K - 9, 7)) * w_(K);
          });
        });
  });
}

TEST_CASE("random boundaries, strides and divisors") {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto any = [&](Extent low, Extent high) { return draw(random, low, high); };
    check(
        [&](auto& t) {
          const Extent n = any(1, 13);
          const Extent m = any(2, 8);
          const Extent width = any(1, 5);
          const Extent stride = any(1, 3);
          const Extent dilation = any(-2, 2);
          const Extent pad = any(-2, 6);
          const Extent outputs = any(1, 9);
          const auto [X, xs] = t.template input<double>("X", {n, m});
          const auto [W, ws] = t.template input<double>("W", {width, m});
          const auto index = stride * y + dilation * r - pad;
          const auto at_ = [=](Extent Y, Extent R) { return stride * Y + dilation * R - pad; };
          const auto expect = [&](const auto& symbol, const auto& place) {
            t.expect(symbol, [&, xs = xs, ws = ws](Extent Y, Extent C) {
              return total(width,
                           [&](Extent R) { return padded(xs, 0, place(at_(Y, R)), C) * ws(R, C); });
            });
          };
          expect(let<"P">(extent(y, outputs), c) = sum(r)(X(periodic(index), c) * W(r, c)),
                 [&](Extent I) { return wrapped(I, n); });
          expect(let<"C">(extent(y, outputs), c) = sum(r)(X(clamp(index), c) * W(r, c)),
                 [&](Extent I) { return clamped(I, n); });
          expect(let<"R">(extent(y, outputs), c) = sum(r)(X(reflect(index), c) * W(r, c)),
                 [&](Extent I) { return mirrored(I, n); });
          const Extent divisor = any(2, 4);
          expect(let<"D">(extent(y, outputs), c) = sum(r)(X(whole(index, divisor), c) * W(r, c)),
                 [&](Extent I) { return quotient(I, divisor); });
        },
        false);
  }
}

TEST_CASE("labels as values: masks, ramps, one-hot rows, running sums") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {7, 6});
    const auto [F, fs] = t.template input<float>("F", {7});
    const auto [I, is] = t.template input<std::int32_t>("I", {9});
    const auto& x_ = xs;
    const auto& f_ = fs;
    const auto& i_ = is;
    t.expect(let<"lower">(i, j) = (j <= i) * X(i, j),
             [&](Extent R, Extent C) { return C <= R ? x_(R, C) : 0.0; });
    t.expect(let<"band">(i, j) = select(2 * i - j < 3, X(i, j), -1.0),
             [&](Extent R, Extent C) { return 2 * R - C < 3 ? x_(R, C) : -1.0; });
    t.expect(let<"ramp">(i, j) = value(i) - X(i, j) * value(2 * i - j + 1),
             [&](Extent R, Extent C) {
               return static_cast<double>(R) - x_(R, C) * static_cast<double>(2 * R - C + 1);
             });
    t.expect(let<"floats">(i) = F(i) * value(i),
             [&](Extent R) { return f_(R) * static_cast<float>(R); });
    t.expect(let<"ramps">(extent(j, 4)) = sum(i)(value(i) * value(j) + I(i)), [&](Extent C) {
      return total(9, [&](Extent R) { return R * C + std::int64_t{i_(R)}; });
    });
    t.expect(let<"hot">(b, extent(v, 5)) = 1 * (I(b) == v),
             [&](Extent B, Extent V) { return i_(B) == V ? 1 : 0; });
    t.expect(let<"running">(extent(k, 7), j) = sum(i)((i <= k) * X(i, j)), [&](Extent K, Extent C) {
      return total(7, [&](Extent R) { return R <= K ? x_(R, C) : 0.0; });
    });
    t.expect(let<"trace">() = sum(i, j)((i == j) * X(i, j)),
             [&]() { return total(6, [&](Extent R) { return x_(R, R); }); });
    t.expect(let<"edge">(i, j) = select(i == 0 || j == 0 || i == 6 || j == 5, X(i, j),
                                        X(zero(i + 1), j) + X(i, zero(j - 1)) - 2 * X(i, j)),
             [&](Extent R, Extent C) {
               const auto below = [&] { return R < 6 ? x_(R + 1, C) : 0.0; };
               return R == 0 || C == 0 || R == 6 || C == 5 ? x_(R, C)
                                                           : below() + x_(R, C - 1) - 2 * x_(R, C);
             });
    t.expect(let<"squares">(i) = value(i) * I(i) * value(i),
             [&](Extent R) { return i_(R) * R * R; });
    t.expect(let<"scaled">(i) = I(i) * (3 * (value(i) * value(i))),
             [&](Extent R) { return i_(R) * (3 * R * R); });
    t.expect(let<"first">(i) = min(j)(select(X(i, j) > 0.0, value(j), 100)), [&](Extent R) {
      return smallest(6, [&](Extent C) { return x_(R, C) > 0 ? C : 100; });
    });
  });
}
