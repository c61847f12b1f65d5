// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index tensors on all ranks, however the labels are cut, those that are looked up among them:
// results are those of loops over the data, and the words that move those that are predicted.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>

#include "eindecomp/graph/concat.hpp"
#include "property/checked.hpp"

using namespace property;
using namespace ein::labels;
using ein::extent;
using ein::let;
using ein::where;

namespace {

TEST_CASE("gathers: embeddings, cross entropy, several index tensors") {
  check([](auto& t) {
    const auto [T, ts] = t.template input<float>("T", {11, 6});
    const auto [I, is] = t.template indices<std::int32_t>("I", {4, 5}, 11);
    const auto [J, js] = t.template indices<std::int64_t>("J", {4}, 6);
    const auto [K, ks] = t.template indices<std::int32_t>("K", {11}, 5);
    const auto& t_ = ts;
    const auto& i_ = is;
    const auto& j_ = js;
    const auto& k_ = ks;
    t.expect(let<"embedded">(b, s, d) = T(I(b, s), d),
             [&](Extent B, Extent S, Extent D) { return t_(i_(B, S), D); });
    t.expect(let<"bags">(b, d) = sum(s)(T(I(b, s), d)), [&](Extent B, Extent D) {
      return total(5, [&](Extent S) { return t_(i_(B, S), D); });
    });
    t.expect(let<"largest">(d, b) = max(s)(T(I(b, s), d)), [&](Extent D, Extent B) {
      return largest(5, [&](Extent S) { return t_(i_(B, S), D); });
    });
    t.expect(let<"both">(s, b) = T(I(b, s), J(b)) + 1.0,
             [&](Extent S, Extent B) { return t_(i_(B, S), j_(B)) + 1; });
    t.expect(let<"all">() = -sum(b, s)(T(I(b, s), J(b))), [&] {
      return -total(
          4, [&](Extent B) { return total(5, [&](Extent S) { return t_(i_(B, S), j_(B)); }); });
    });
    // What is read has labels of the index tensor; an index that is computed; one read at another.
    t.expect(let<"own">(b) = I(b, K(b + 3)), [&](Extent B) { return i_(B, k_(B + 3)); });
    t.expect(let<"wrapped">(b, s) = K((I(b, s) + 5) % 11),
             [&](Extent B, Extent S) { return k_((i_(B, S) + 5) % 11); });
    t.expect(let<"clipped">(b, s) = K(clip(I(b, s) + 5, 0, 10)),
             [&](Extent B, Extent S) { return k_(std::min(i_(B, S) + 5, 10)); });
    t.expect(let<"twice">(b, s, c) = I(c, K(I(b, s))),
             [&](Extent B, Extent S, Extent C) { return i_(C, k_(i_(B, S))); });
    t.expect(let<"stride">(b, extent(d, 3)) = T(I(b, 2), 2 * d),
             [&](Extent B, Extent D) { return t_(i_(B, 2), 2 * D); });
    t.expect(let<"product">(b, c) = sum(d)(T(I(b, 1), d) * T(c, d)), [&](Extent B, Extent C) {
      return total(6, [&](Extent D) { return t_(i_(B, 1), D) * t_(C, D); });
    });
  });
}

TEST_CASE("scatters with sum, min, max, prod; counts; into a matrix") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {9, 5}, 1);
    const auto [W, ws] = t.template input<double>("W", {9});
    const auto [I, is] = t.template indices<std::int32_t>("I", {9}, 7);
    const auto [J, js] = t.template indices<std::int64_t>("J", {9, 5}, 4);
    const auto& x_ = xs;
    const auto& w_ = ws;
    const auto& i_ = is;
    const auto& j_ = js;
    const auto over = [&](Extent V, Extent D, double neutral, const auto& op) {
      double state = neutral;
      for (Extent E = 0; E < 9; ++E) {
        if (i_(E) == V) state = op(state, x_(E, D));
      }
      return state;
    };
    constexpr double infinite = std::numeric_limits<double>::infinity();
    t.expect(
        let<"sums">(extent(v, 7), d) = sum(e)(where(I(e) == v, X(e, d))),
        [&](Extent V, Extent D) { return over(V, D, 0, [](auto a, auto b) { return a + b; }); });
    t.expect(
        let<"products">(d, extent(v, 7)) = prod(e)(where(I(e) == v, X(e, d))),
        [&](Extent D, Extent V) { return over(V, D, 1, [](auto a, auto b) { return a * b; }); });
    // Of no terms, the identity, of which differences are no numbers.
    const auto least = let<"least">(extent(v, 7), d) = min(e)(where(I(e) == v, X(e, d)));
    t.expect(let<"at most">(v, d) = min(least(v, d), 1e6), [&](Extent V, Extent D) {
      return std::min(1e6, over(V, D, infinite, [](auto a, auto b) { return std::min(a, b); }));
    });
    const auto most = let<"most">(extent(v, 7), d) = max(e)(where(v == I(e), X(e, d)));
    t.expect(let<"at least">(v, d) = max(most(v, d), -1e6), [&](Extent V, Extent D) {
      return std::max(-1e6, over(V, D, -infinite, [](auto a, auto b) { return std::max(a, b); }));
    });
    t.expect(let<"weighted">(extent(v, 7)) = sum(e, d)(where(I(e) == v, W(e) * X(e, d))),
             [&](Extent V) {
               return total(9, [&](Extent E) {
                 return i_(E) == V ? w_(E) * total(5, [&](Extent D) { return x_(E, D); }) : 0.0;
               });
             });
    t.expect(let<"counts">(extent(v, 7)) = sum(e)(where(I(e) == v, 1)),
             [&](Extent V) { return total(9, [&](Extent E) { return i_(E) == V ? 1 : 0; }); });
    t.expect(let<"any">(extent(v, 7)) = any(e)(where(I(e) == v, W(e))), [&](Extent V) {
      return largest(9, [&](Extent E) { return i_(E) == V && w_(E) != 0 ? 1 : 0; });
    });
    t.expect(let<"matrix">(extent(v, 7), extent(u, 4)) =
                 sum(e, d)(where(I(e) == v && J(e, d) == u, X(e, d))),
             [&](Extent V, Extent U) {
               return total(9, [&](Extent E) {
                 return total(
                     5, [&](Extent D) { return i_(E) == V && j_(E, D) == U ? x_(E, D) : 0.0; });
               });
             });
    t.expect(let<"rows">(e, extent(u, 4)) = sum(d)(where(J(e, d) == u, X(e, d))),
             [&](Extent E, Extent U) {
               return total(5, [&](Extent D) { return j_(E, D) == U ? x_(E, D) : 0.0; });
             });
    t.expect(let<"there and back">(e) = sum(v)(where(I(e) == v, W(v) * W(e))),
             [&](Extent E) { return w_(i_(E)) * w_(E); });
    const auto sums = let<"logarithms">(extent(v, 7)) = log_sum_exp(e)(where(I(e) == v, W(e)));
    t.expect(
        let<"exponentials">(v) = exp(sums(v)),
        [&](Extent V) {
          return total(9, [&](Extent E) { return i_(E) == V ? std::exp(w_(E)) : 0.0; });
        },
        false);
  });
}

TEST_CASE("aggregations within expressions, of labels that have their extents elsewhere") {
  check([](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {9, 5}, -1);
    const auto [I, is] = t.template indices<std::int32_t>("I", {9}, 7);
    const auto [C, cs] = t.template input<double>("C", {7}, 1);
    const auto [W, ws] = t.template input<double>("W", {7, 5, 3});
    const auto& x_ = xs;
    const auto& i_ = is;
    const auto& c_ = cs;
    const auto& w_ = ws;
    const auto scattered = [&](Extent V, Extent D) {
      return total(9, [&](Extent E) { return i_(E) == V ? x_(E, D) : 0.0; });
    };
    // By the left side.
    t.expect(let<"activated">(extent(v, 7), d) = relu(sum(e)(where(I(e) == v, X(e, d)))),
             [&](Extent V, Extent D) { return std::max(scattered(V, D), 0.0); });
    t.expect(let<"scaled">(d, extent(v, 8)) = 0.5 * sum(e)(where(I(e) == v, X(e, d))) + 1.0,
             [&](Extent D, Extent V) { return V < 7 ? 0.5 * scattered(V, D) + 1 : 1.0; });
    t.expect(let<"so far">(extent(n, 4), d) = relu(sum(e)((value(e) <= n) * X(e, d))),
             [&](Extent N, Extent D) {
               return std::max(total(N + 1, [&](Extent E) { return x_(E, D); }), 0.0);
             });
    t.expect(let<"window">(extent(v, 3), d) = relu(sum(e)(X(2 * v + extent(e, 3), d))),
             [&](Extent V, Extent D) {
               return std::max(total(3, [&](Extent E) { return x_(2 * V + E, D); }), 0.0);
             });
    // By another tensor, outside or where the label is aggregated.
    t.expect(
        let<"means">(v, d) = sum(e)(where(I(e) == v, X(e, d))) / C(v),
        [&](Extent V, Extent D) { return scattered(V, D) / c_(V); }, false);
    t.expect(let<"energy">(d) = sum(v)(C(v) * square(sum(e)(where(I(e) == v, X(e, d))))),
             [&](Extent D) {
               return total(7, [&](Extent V) { return c_(V) * scattered(V, D) * scattered(V, D); });
             });
    // A part of what is put together has another extent than the whole.
    t.expect(
        let<"together">(v, d) = C(v) + ein::concat(v)(2.0 * X(v + 6, d), X(v + 5, d)),
        [&](Extent V, Extent D) { return c_(V) + (V < 3 ? 2 * x_(V + 6, D) : x_(V - 3 + 5, D)); });
    // The label outside is another than the one that is aggregated inside.
    t.expect(let<"names">(v) = C(v) + sum(v)(relu(max(d)(X(v, d)))), [&](Extent V) {
      return c_(V) + total(9, [&](Extent E) {
               return std::max(largest(5, [&](Extent D) { return x_(E, D); }), 0.0);
             });
    });
    // One expert of several, in three forms.
    const auto chosen = [&](Extent E, Extent O) {
      return total(5, [&](Extent D) { return x_(E, D) * w_(i_(E), D, O); });
    };
    t.expect(let<"by a comparison">(e, o) = sum(v, d)((I(e) == v) * X(e, d) * W(v, d, o)), chosen);
    t.expect(
        let<"by a cast">(e, o) = sum(v, d)(X(e, d) * W(v, d, o) * ein::cast<double>(I(e) == v)),
        chosen);
    t.expect(
        let<"by a selection">(e, o) = sum(v, d)(ein::select(I(e) == v, X(e, d), 0.0) * W(v, d, o)),
        chosen);
  });
}

TEST_CASE("sums of quotients") {
  check([](auto& t) {
    const auto [A, as] = t.template input<double>("A", {6, 7}, 1);
    const auto [B, bs] = t.template input<double>("B", {7, 5}, 1);
    const auto [N, ns] = t.template input<std::int32_t>("N", {6, 7}, -9);
    const auto& a_ = as;
    const auto& b_ = bs;
    const auto& n_ = ns;
    const auto sum_of = [&](const auto& term) { return total(7, term); };
    const auto product = [&](Extent I, Extent K) {
      return [&, I, K](Extent J) { return a_(I, J) * b_(J, K); };
    };
    t.expect(
        let<"by a number">(i, k) = sum(j)(A(i, j) * B(j, k) / 3.0),
        [&](Extent I, Extent K) { return sum_of(product(I, K)) / 3; }, false);
    t.expect(
        let<"by a tensor">(i, k) = sum(j)(A(i, j) * B(j, k) / (A(i, 0) * B(1, k))),
        [&](Extent I, Extent K) { return sum_of(product(I, K)) / (a_(I, 0) * b_(1, K)); }, false);
    t.expect(
        let<"by what is summed">(i, k) = sum(j)(A(i, j) * B(j, k) / A(2, j)),
        [&](Extent I, Extent K) {
          return sum_of([&](Extent J) { return a_(I, J) * b_(J, K) / a_(2, J); });
        },
        false);
    t.expect(
        let<"of one">(i, k) = sum(j)(A(i, j) / B(j, k)),
        [&](Extent I, Extent K) { return sum_of([&](Extent J) { return a_(I, J) / b_(J, K); }); },
        false);
    t.expect(
        let<"by all">(i, k) = sum(j)(A(i, j) * B(j, k) / (A(i, j) + B(j, k))),
        [&](Extent I, Extent K) {
          return sum_of([&](Extent J) { return a_(I, J) * b_(J, K) / (a_(I, J) + b_(J, K)); });
        },
        false);
    // Quotients of integers are rounded where they stand.
    t.expect(let<"of integers">(i, k) = sum(j)(N(i, j) * N(k, j) / 2), [&](Extent I, Extent K) {
      return sum_of([&](Extent J) { return n_(I, J) * n_(K, J) / 2; });
    });
  });
}

TEST_CASE("elements that are no index are passed over") {
  check([](auto& t) {
    const auto [T, ts] = t.template input<float>("T", {11, 6});
    const auto [X, xs] = t.template input<double>("X", {4, 5}, 1);
    const auto [I, is] = t.template indices<std::int32_t>("I", {4, 5}, 15);  // of 11 rows
    const auto [J, js] = t.template indices<std::int64_t>("J", {4}, 6);
    const auto& t_ = ts;
    const auto& x_ = xs;
    const auto& i_ = is;
    const auto& j_ = js;
    const auto row = [&](Extent at, Extent D) { return at >= 0 && at < 11 ? t_(at, D) : 0.0F; };
    t.expect(let<"above">(b, s, d) = T(ein::skip(I(b, s)), d),
             [&](Extent B, Extent S, Extent D) { return row(i_(B, S), D); });
    t.expect(let<"both">(d, b, s) = T(ein::skip(I(b, s) - 2), d),
             [&](Extent D, Extent B, Extent S) { return row(i_(B, S) - 2, D); });
    t.expect(let<"far">(b, s, d) =
                 T(ein::skip(cast<std::int64_t>(I(b, s)) * (std::int64_t{1} << 59)), d),
             [&](Extent B, Extent S, Extent D) { return i_(B, S) == 0 ? t_(0, D) : 0.0F; });
    t.expect(let<"of another">(b, d) = T(ein::skip(I(b, ein::skip(J(b)))), d),
             [&](Extent B, Extent D) { return row(j_(B) < 5 ? i_(B, j_(B)) : 0, D); });
    t.expect(let<"bags">(b, d) = sum(s)(T(ein::skip(I(b, s) - 2), d)), [&](Extent B, Extent D) {
      return total(5, [&](Extent S) { return row(i_(B, S) - 2, D); });
    });
    t.expect(let<"largest">(d, b) = max(s)(T(ein::skip(I(b, s)), d)), [&](Extent D, Extent B) {
      return largest(5, [&](Extent S) { return row(i_(B, S), D); });
    });
    t.expect(let<"one of two">(b, s) = T(ein::skip(I(b, s)), J(b)) + 1.0,
             [&](Extent B, Extent S) { return row(i_(B, S), j_(B)) + 1; });
    t.expect(let<"sums">(extent(v, 11)) = sum(b, s)(where(ein::skip(I(b, s) - 2) == v, X(b, s))),
             [&](Extent V) {
               return total(4, [&](Extent B) {
                 return total(5, [&](Extent S) { return i_(B, S) - 2 == V ? x_(B, S) : 0.0; });
               });
             });
    const auto most = let<"most">(extent(v, 9), extent(u, 6)) =
        max(b, s)(where(v == ein::skip(I(b, s)) && J(b) == u, X(b, s)));
    t.expect(let<"at least">(v, u) = max(most(v, u), -1e6), [&](Extent V, Extent U) {
      double state = -1e6;
      for (Extent B = 0; B < 4; ++B) {
        for (Extent S = 0; S < 5; ++S) {
          if (i_(B, S) == V && j_(B) == U) state = std::max<double>(state, x_(B, S));
        }
      }
      return state;
    });
  });
}

TEST_CASE("an offset that is an input, and another one in the next run") {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  RunHarness t;
  const auto [X, xs] = t.input<double>("X", {9, 4});
  const auto [o, os] = t.scalar<std::int32_t>("o");
  const auto& x_ = xs;
  const auto rolled = let<"rolled">(extent(i, 9), j) = X((value(i) + o()) % 9, j);
  const auto within = let<"within">(extent(i, 9), j) = X(ein::skip(value(i) + o()), j);
  const auto clipped = let<"clipped">(extent(i, 9), j) = X(clip(value(i) + o(), 0, 8), j);
  const auto sums = let<"sums">(j) = sum(i)(X((value(i) + o()) % 9, j) * X(i, j));
  for (const auto& symbol : {rolled, within, clipped}) t.program.keep(symbol);
  t.program.keep(sums);
  for (const char* strategy : {"placed", "ein_decomp", "square"}) {
    CAPTURE(strategy);
    const auto plan = shared_plan(t.program, {.workers = 4, .ranks = ranks, .strategy = strategy});
    for (const int by : {2, -3, 20}) {
      CAPTURE(by);
      t.inputs[ein::to_index(o.vertex())].values[0] = by;
      t.expectations.clear();
      const auto at = [&](Extent I, Extent J) { return x_(((I + by) % 9 + 9) % 9, J); };
      t.expect(rolled, at);
      t.expect(within,
               [&](Extent I, Extent J) { return I + by >= 0 && I + by < 9 ? x_(I + by, J) : 0.0; });
      t.expect(clipped,
               [&](Extent I, Extent J) { return x_(std::clamp<Extent>(I + by, 0, 8), J); });
      t.expect(sums,
               [&](Extent J) { return total(9, [&](Extent I) { return at(I, J) * x_(I, J); }); });
      check_run(t, plan, rank);
    }
  }
}

TEST_CASE("gathers and scatters at random") {
  std::mt19937 random(20261125);
  for (int n = 0; n < 6; ++n) {
    check(
        [&](auto& t) {
          const Extent rows = draw(random, 1, 13);
          const Extent width = draw(random, 1, 9);
          const Extent batch = draw(random, 1, 8);
          const Extent length = draw(random, 1, 7);
          CAPTURE(rows);
          CAPTURE(width);
          CAPTURE(batch);
          CAPTURE(length);
          const auto [T, ts] = t.template input<std::int64_t>("T", {rows, width}, 1);
          const auto [I, is] = t.template indices<std::int64_t>("I", {batch, length}, rows);
          const auto [X, xs] = t.template input<std::int64_t>("X", {length, width, batch}, 1);
          const auto gather = [&, ts = ts, is = is](const auto& symbol, auto neutral,
                                                    const auto& op) {
            t.expect(symbol, [&](Extent D, Extent B) {
              std::int64_t state = neutral;
              for (Extent S = 0; S < length; ++S) state = op(state, ts(is(B, S), D));
              return state;
            });
          };
          const auto scatter = [&, is = is, xs = xs](const auto& symbol, auto neutral,
                                                     const auto& op) {
            t.expect(symbol, [&](Extent V, Extent D) {
              std::int64_t state = neutral;
              for (Extent B = 0; B < batch; ++B) {
                for (Extent S = 0; S < length; ++S) {
                  if (is(B, S) == V) state = op(state, xs(S, D, B));
                }
              }
              return state;
            });
          };
          constexpr auto plus = [](std::int64_t a, std::int64_t b) { return a + b; };
          constexpr auto least = [](std::int64_t a, std::int64_t b) { return std::min(a, b); };
          constexpr auto most = [](std::int64_t a, std::int64_t b) { return std::max(a, b); };
          constexpr auto times = [](std::int64_t a, std::int64_t b) { return a * b; };
          using Limits = std::numeric_limits<std::int64_t>;
          gather(let<"gs">(d, b) = sum(s)(T(I(b, s), d)), 0, plus);
          gather(let<"gm">(d, b) = min(s)(T(I(b, s), d)), Limits::max(), least);
          gather(let<"gx">(d, b) = max(s)(T(I(b, s), d)), Limits::min(), most);
          gather(let<"gp">(d, b) = prod(s)(T(I(b, s), d)), 1, times);
          scatter(let<"ss">(extent(v, rows), d) = sum(b, s)(where(I(b, s) == v, X(s, d, b))), 0,
                  plus);
          scatter(let<"sm">(extent(v, rows), d) = min(b, s)(where(I(b, s) == v, X(s, d, b))),
                  Limits::max(), least);
          scatter(let<"sx">(extent(v, rows), d) = max(b, s)(where(I(b, s) == v, X(s, d, b))),
                  Limits::min(), most);
        },
        n % 3 == 0);
  }
}

}  // namespace
