// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements under masks of labels, on all ranks, however their labels are cut, in space and in
// time: what is left out must be nothing that counts.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "eindecomp/graph/permutations.hpp"
#include "property/checked.hpp"

using namespace property;
using namespace ein::labels;
using ein::extent;
using ein::let;
using ein::select;
using ein::value;
using ein::zero;

namespace {

/// p·x + q·y + r >= 0 of two labels.
struct Line {
  Extent p = 0;
  Extent q = 0;
  Extent r = 0;

  static Line draw(std::mt19937& random) {
    return {property::draw(random, -2, 2), property::draw(random, -2, 2),
            property::draw(random, -6, 6)};
  }
  [[nodiscard]] bool holds(Extent x, Extent y) const { return p * x + q * y + r >= 0; }
  /// The same of labels: as one comparison or another.
  template <class X, class Y>
  [[nodiscard]] auto at_most(X x, Y y) const {
    return 0 <= p * x + q * y + r;
  }
  template <class X, class Y>
  [[nodiscard]] auto above(X x, Y y) const {
    return p * x + r > -1 - q * y;
  }
};

/// A case with lines drawn at random, each of which some blocks lie beyond.
template <class Write>
void check_random(unsigned seed, int cases, const Write& write) {
  std::mt19937 random(seed);
  for (int n = 0; n < eindecomp_tests::random_cases(cases); ++n) {
    check(
        [&](auto& t) {
          const Line first = Line::draw(random);
          const Line second = Line::draw(random);
          CAPTURE(n);
          write(t, first, second, draw(random, 1, 9), draw(random, 1, 9), draw(random, 1, 9));
        },
        n % 4 == 0);
  }
}

}  // namespace

TEST_CASE("what counts of a masked sum may lie outside of a tensor altogether") {
  check_random(20261130, 8, [](auto& t, Line first, Line second, Extent I, Extent J, Extent K) {
    std::mt19937 random(static_cast<unsigned>(100 * I + 10 * J + K));
    const Extent shift = draw(random, -4, 4);
    const auto [X, xs] = t.template input<std::int64_t>("X", {I, J});
    const auto [Y, ys] = t.template input<std::int64_t>("Y", {J, K});
    const auto at = [&, &x_ = xs, J = J, shift](Extent i_, Extent j_) -> std::int64_t {
      const Extent index = j_ + shift;
      return index < 0 || index >= J ? 0 : x_(i_, index);
    };
    const auto& y_ = ys;
    t.expect(let<"Z">(i, k) = sum(j)((value(j) < value(i)) * X(i, zero(j + shift)) * Y(j, k)),
             [&](Extent i_, Extent k_) {
               return total(J, [&](Extent j_) { return j_ < i_ ? at(i_, j_) * y_(j_, k_) : 0; });
             });
    t.expect(let<"W">(i, k) =
                 sum(j)(first.above(value(j), value(i)) * second.at_most(value(j), value(k)) *
                        X(i, zero(j + shift)) * Y(j, k)),
             [&](Extent i_, Extent k_) {
               return total(J, [&](Extent j_) {
                 return first.holds(j_, i_) && second.holds(j_, k_) ? at(i_, j_) * y_(j_, k_) : 0;
               });
             });
  });
}

TEST_CASE("products of masked tensors, and masked products") {
  check_random(20261127, 6, [](auto& t, Line first, Line second, Extent I, Extent J, Extent K) {
    const auto [A, as] = t.template input<std::int64_t>("A", {I, K});
    const auto [B, bs] = t.template input<std::int64_t>("B", {K, J});
    const auto& a_ = as;
    const auto& b_ = bs;
    const auto left = [&, first](Extent i_, Extent k_) {
      return first.holds(i_, k_) ? a_(i_, k_) : 0;
    };
    const auto right = [&, second](Extent k_, Extent j_) {
      return second.holds(k_, j_) ? b_(k_, j_) : 0;
    };
    const auto product = [&](const auto& x, const auto& y, Extent i_, Extent j_) {
      return total(K, [&](Extent k_) { return x(i_, k_) * y(k_, j_); });
    };
    const auto L = let<"L">(i, k) = first.at_most(i, k) * A(i, k);
    const auto R = let<"R">(k, j) = select(second.above(k, j), B(k, j), 0);
    t.expect(let<"left">(i, j) = sum(k)(L(i, k) * B(k, j)),
             [&](Extent i_, Extent j_) { return product(left, b_, i_, j_); });
    t.expect(let<"right">(j, i) = sum(k)(A(i, k) * R(k, j)),
             [&](Extent j_, Extent i_) { return product(a_, right, i_, j_); });
    const auto both = let<"both">(i, j) = sum(k)(L(i, k) * R(k, j));
    t.expect(let<"of both">(i) = sum(j)(both(i, j)), [&](Extent i_) {
      return total(J, [&](Extent j_) { return product(left, right, i_, j_); });
    });
    t.expect(
        let<"outside">(i, j) = first.above(i, j) * sum(k)(A(i, k) * B(k, j)),
        [&](Extent i_, Extent j_) { return first.holds(i_, j_) ? product(a_, b_, i_, j_) : 0; });
    t.expect(
        let<"chosen">(i, j) = select(second.at_most(j, i), sum(k)(A(i, k) * B(k, j)), 7),
        [&](Extent i_, Extent j_) { return second.holds(j_, i_) ? product(a_, b_, i_, j_) : 7; });
    t.expect(let<"within">(i, j) =
                 sum(k)(first.at_most(i, k) * A(i, k) * (second.above(k, j) * B(k, j))),
             [&](Extent i_, Extent j_) { return product(left, right, i_, j_); });
    t.expect(
        let<"all">() = sum(i, j, k)(first.at_most(i, j) * second.at_most(j, k) * A(i, k) * B(k, j)),
        [&]() {
          return total(I, [&](Extent i_) {
            return total(J, [&](Extent j_) {
              return !first.holds(i_, j_) ? 0 : total(K, [&](Extent k_) {
                return second.holds(j_, k_) ? a_(i_, k_) * b_(k_, j_) : 0;
              });
            });
          });
        });
    // Read twice, once where the mask does not reach.
    const auto P = let<"P">(i, j) = sum(k)(A(i, k) * B(k, j));
    t.expect(let<"twice">(i, j) = first.at_most(i, j) * P(i, j) + 2 * P(i, j),
             [&](Extent i_, Extent j_) {
               return (first.holds(i_, j_) ? 3 : 2) * product(a_, b_, i_, j_);
             });
  });
}

TEST_CASE("sums of masked products") {
  check_random(20261203, 6, [](auto& t, Line first, Line second, Extent I, Extent J, Extent K) {
    const auto [A, as] = t.template input<std::int64_t>("A", {I, K});
    const auto [B, bs] = t.template input<std::int64_t>("B", {K, J});
    const auto [C, cs] = t.template input<std::int64_t>("C", {I, J});
    const auto& a_ = as;
    const auto& b_ = bs;
    const auto& c_ = cs;
    const auto left = [&, first](Extent i_, Extent j_) {
      return total(K, [&](Extent k_) { return first.holds(i_, k_) ? a_(i_, k_) * b_(k_, j_) : 0; });
    };
    const auto right = [&, second](Extent i_, Extent j_) {
      return total(K,
                   [&](Extent k_) { return second.holds(k_, j_) ? a_(i_, k_) * b_(k_, j_) : 0; });
    };
    t.expect(let<"one">(i, j) = C(i, j) + sum(k)(first.at_most(i, k) * A(i, k) * B(k, j)),
             [&](Extent i_, Extent j_) { return c_(i_, j_) + left(i_, j_); });
    t.expect(let<"two">(i, j) = sum(k)(first.above(i, k) * A(i, k) * B(k, j)) +
                                sum(k)(second.at_most(k, j) * A(i, k) * B(k, j)),
             [&](Extent i_, Extent j_) { return left(i_, j_) + right(i_, j_); });
    const auto N = let<"N">(i, k) = 2 * A(i, k);
    t.expect(let<"three">(i, j) = sum(k)(second.above(k, j) * A(i, k) * B(k, j)) + C(i, j) +
                                  sum(k)(N(i, k) * B(k, j)) -
                                  sum(k)(first.above(i, k) * A(i, k) * B(k, j)),
             [&](Extent i_, Extent j_) {
               return right(i_, j_) + c_(i_, j_) - left(i_, j_) +
                      total(K, [&](Extent k_) { return 2 * a_(i_, k_) * b_(k_, j_); });
             });
  });
}

TEST_CASE("masks that are no reason to leave anything out") {
  check_random(20261128, 4, [](auto& t, Line first, Line second, Extent I, Extent J, Extent) {
    const auto [A, as] = t.template input<std::int64_t>("A", {I, J}, -5);
    const auto [W, ws] = t.template input<double>("W", {I, J}, 1);
    const auto& a_ = as;
    const auto& w_ = ws;
    const auto masked = [&, first](Extent i_, Extent j_) {
      return first.holds(i_, j_) ? a_(i_, j_) : 0;
    };
    const auto M = let<"M">(i, j) = first.at_most(i, j) * A(i, j);
    t.expect(let<"most">(i) = max(j)(M(i, j)),
             [&](Extent i_) { return largest(J, [&](Extent j_) { return masked(i_, j_); }); });
    t.expect(let<"most at once">(i) = max(j)(first.at_most(i, j) * A(i, j)),
             [&](Extent i_) { return largest(J, [&](Extent j_) { return masked(i_, j_); }); });
    t.expect(let<"sums">(i) = sum(j)(M(i, j) + A(i, j)), [&](Extent i_) {
      return total(J, [&](Extent j_) { return masked(i_, j_) + a_(i_, j_); });
    });
    t.expect(
        let<"exponentials">(i) = sum(j)(exp(cast<double>(M(i, j)))),
        [&](Extent i_) {
          return total(J, [&](Extent j_) { return std::exp(static_cast<double>(masked(i_, j_))); });
        },
        false);
    t.expect(let<"either">(i) = sum(j)(select(first.at_most(i, j), A(i, j), 3 * A(i, j))),
             [&](Extent i_) {
               return total(J,
                            [&](Extent j_) { return (first.holds(i_, j_) ? 1 : 3) * a_(i_, j_); });
             });
    t.expect(let<"where not">(i) = sum(j)((first.at_most(i, j) != second.at_most(i, j)) * A(i, j)),
             [&, second](Extent i_) {
               return total(J, [&](Extent j_) {
                 return first.holds(i_, j_) != second.holds(i_, j_) ? a_(i_, j_) : 0;
               });
             });
    // Nothing is divided by what the mask leaves out.
    const auto S = let<"S">(i, j) = sum(k)(W(i, k) * W(j, k));
    t.expect(
        let<"quotients">(i) = sum(j)((j <= i) * (1.0 / S(i, j))),
        [&](Extent i_) {
          return total(i_ + 1, [&](Extent j_) {
            return 1.0 / total(J, [&](Extent k_) { return w_(i_, k_) * w_(j_, k_); });
          });
        },
        false);
    t.expect(let<"shifted">(i, j) = sum(k)(M(zero(i + 1), j) * A(i, k)), [&](Extent i_, Extent j_) {
      return total(J,
                   [&](Extent k_) { return (i_ + 1 < I ? masked(i_ + 1, j_) : 0) * a_(i_, k_); });
    });
  });
}

TEST_CASE("equal labels, casts, quotients, signs and truth") {
  check_random(20261129, 3, [](auto& t, Line first, Line, Extent I, Extent J, Extent K) {
    const auto [A, as] = t.template input<double>("A", {I, K});
    const auto [B, bs] = t.template input<double>("B", {K, J});
    const auto [Q, qs] = t.template input<std::int32_t>("Q", {I, I}, 0);
    const auto& a_ = as;
    const auto& b_ = bs;
    const auto& q_ = qs;
    const auto D = let<"D">(i, k) = (i == k) * A(i, k);
    t.expect(let<"of a diagonal">(i, j) = sum(k)(D(i, k) * B(k, j)),
             [&](Extent i_, Extent j_) { return i_ < K ? a_(i_, i_) * b_(i_, j_) : 0.0; });
    const auto N = let<"N">(i, k) = -(ein::cast<double>(k > i) * A(i, k)) / 2.0;
    t.expect(let<"halves">(i, j) = sum(k)(N(i, k) * B(k, j)), [&](Extent i_, Extent j_) {
      return total(K, [&](Extent k_) { return k_ > i_ ? -a_(i_, k_) / 2 * b_(k_, j_) : 0.0; });
    });
    const auto T = let<"T">(i, j) = (i >= j) * Q(i, j);
    t.expect(let<"paths">(i, k) = any(j)(T(i, j) && T(j, k)), [&](Extent i_, Extent k_) {
      return largest(I, [&](Extent j_) {
        return i_ >= j_ && j_ >= k_ && q_(i_, j_) != 0 && q_(j_, k_) != 0 ? 1 : 0;
      });
    });
    t.expect(let<"trace">() = sum(i)(T(i, i)),
             [&]() { return total(I, [&](Extent i_) { return q_(i_, i_); }); });
    t.expect(
        let<"means">(j) = mean(i)(first.at_most(i, j) * Q(i, j) * 1.0),
        [&](Extent j_) {
          return total(I, [&](Extent i_) { return first.holds(i_, j_) ? q_(i_, j_) * 1.0 : 0.0; }) /
                 static_cast<double>(I);
        },
        false);
  });
}

TEST_CASE("halves of symmetric tensors, and masked softmax") {
  check_random(20261201, 3, [](auto& t, Line line, Line, Extent I, Extent J, Extent K) {
    const auto [A, as] = t.template input<double>("A", {I, K});
    const auto [B, bs] = t.template input<double>("B", {J, K});
    const auto& a_ = as;
    const auto& b_ = bs;
    const auto product = [&](const auto& x, const auto& y, Extent p, Extent q) {
      return total(K, [&](Extent k_) { return x(p, k_) * y(q, k_); });
    };
    t.expect(let<"Gram">(i, j) = symmetric(i, j)(sum(k)(A(i, k) * A(j, k))),
             [&](Extent i_, Extent j_) { return product(a_, a_, i_, j_); });
    const auto gap = [&](Extent i_, Extent j_) {
      return total(K, [&](Extent k_) {
        return a_(i_, k_) * a_(j_, (k_ + 1) % K) - a_(j_, k_) * a_(i_, (k_ + 1) % K);
      });
    };
    t.expect(let<"gaps">(j, i) = antisymmetric(
                 i, j)(sum(k)(A(i, k) * A(j, periodic(k + 1)) - A(j, k) * A(i, periodic(k + 1)))),
             [&](Extent j_, Extent i_) { return gap(i_, j_); });
    const auto scores = let<"scores">(i, j) = sum(k)(A(i, k) * B(j, k));
    const auto weights = let<"weights">(i, j) =
        softmax(j, line.at_most(i, j) && j - i < 3)(scores(i, j));
    const auto weight = [&, line](Extent i_, Extent j_) {
      const auto part = [&](Extent l_) {
        const bool holds = line.holds(i_, l_) && l_ - i_ < 3;
        return holds ? std::exp(product(a_, b_, i_, l_)) : 0.0;
      };
      return part(j_) == 0 ? 0.0 : part(j_) / total(J, part);
    };
    t.expect(
        let<"attended">(i, k) = sum(j)(weights(i, j) * B(j, k)),
        [&](Extent i_, Extent k_) {
          return total(J, [&](Extent j_) { return weight(i_, j_) * b_(j_, k_); });
        },
        false);
    t.expect(weights, weight, false);
  });
}

TEST_CASE("in steps") {
  std::mt19937 random(20261130);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int n = 0; n < eindecomp_tests::random_cases(12); ++n) {
    CAPTURE(n);
    const Line first = Line::draw(random);
    const Line second = Line::draw(random);
    const Extent I = draw(random, 2, 9);
    const Extent K = draw(random, 1, 5);
    RunHarness t;
    const auto [X, xs] = t.template input<std::int64_t>("X", {I, K});
    const auto [Y, ys] = t.template input<std::int64_t>("Y", {I, K, 3});
    const auto u = [xs = xs](Extent i_, Extent j_, Extent a_, Extent b_) {
      return xs(i_, a_) * xs(j_, b_);
    };
    const auto w = [xs = xs, ys = ys, K, u](Extent i_, Extent j_, Extent a_, Extent b_) {
      return u(i_, j_, a_, b_) - u(i_, j_, b_, a_) +
             total(3, [&](Extent e_) { return ys(i_, a_, e_) * ys(j_, b_, e_); });
    };
    const auto holds = [&](Extent i_, Extent j_) {
      return first.holds(i_, j_) && second.holds(j_, i_);
    };
    const auto U = let<"U">(i, j, a, b) = X(i, a) * X(j, b);
    const auto V = let<"V">(i, j, a, b) = sum(e)(Y(i, a, e) * Y(j, b, e));
    const auto W = let<"W">(i, j, a, b) = U(i, j, a, b) - U(i, j, b, a) + V(i, j, a, b);
    const bool adds = n % 3 != 0;
    if (adds) {
      t.expect(let<"E">(a) = sum(i, j, b)(first.at_most(i, j) * second.above(j, i) * W(i, j, a, b) *
                                          (1 + U(i, j, a, b))),
               [&](Extent a_) {
                 return total(I, [&](Extent i_) {
                   return total(I, [&](Extent j_) {
                     return !holds(i_, j_) ? 0 : total(K, [&](Extent b_) {
                       return w(i_, j_, a_, b_) * (1 + u(i_, j_, a_, b_));
                     });
                   });
                 });
               });
    } else {
      t.expect(let<"E">(i, j, a) = sum(b)(first.at_most(i, j) * second.above(j, i) * W(i, j, a, b) *
                                          (1 + U(i, j, a, b))),
               [&](Extent i_, Extent j_, Extent a_) {
                 return !holds(i_, j_) ? 0 : total(K, [&](Extent b_) {
                   return w(i_, j_, a_, b_) * (1 + u(i_, j_, a_, b_));
                 });
               });
    }
    if (n % 2 == 0) t.program.keep(V);  // is read by others, too
    for (const int workers : {1, 4}) {
      CAPTURE(workers);
      ein::DecomposeOptions options{.workers = workers, .ranks = ranks};
      const ein::VertexId from = U.vertex();
      options.steps = {{t.program.graph()[from].name,
                        "E",
                        {{"i", draw(random, 1, I)}, {"j", draw(random, 1, I)}}}};
      const auto plan = shared_plan(t.program, options);
      CHECK(eindecomp_tests::quick_words(plan, ranks) == plan.tasks().received);
      check_run(t, plan, rank);
    }
  }
}

TEST_CASE("a masked softmax and its products in steps") {
  std::mt19937 random(20261202);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int n = 0; n < eindecomp_tests::random_cases(6); ++n) {
    CAPTURE(n);
    const Line line = Line::draw(random);
    const Extent I = draw(random, 1, 9);
    const Extent J = draw(random, 1, 9);
    RunHarness t;
    const auto [A, as] = t.template input<double>("A", {I, 3});
    const auto [B, bs] = t.template input<double>("B", {J, 3});
    const auto scores = let<"scores">(i, j) = sum(k)(A(i, k) * B(j, k));
    const auto weights = let<"weights">(i, j) = softmax(j, line.above(i, j))(scores(i, j));
    const auto attended = let<"attended">(i, k) = sum(j)(weights(i, j) * B(j, k));
    t.expect(
        attended,
        [&, as = as, bs = bs](Extent i_, Extent k_) {
          const auto part = [&](Extent j_) {
            const double score = total(3, [&](Extent l_) { return as(i_, l_) * bs(j_, l_); });
            return line.holds(i_, j_) ? std::exp(score) : 0.0;
          };
          const double sum = total(J, part);
          return sum == 0 ? 0 : total(J, [&](Extent j_) { return part(j_) * bs(j_, k_); }) / sum;
        },
        false);
    for (const int workers : {1, 4}) {
      CAPTURE(workers);
      ein::DecomposeOptions options{.workers = workers, .ranks = ranks, .strategy = "by_hand"};
      for (const ein::Vertex& v : t.program.graph().vertices) {
        if (v.is_input()) continue;
        options.by_hand.push_back({v.name, {{"i", I < workers ? 1 : workers}}});
      }
      options.steps = {
          {"scores", "attended", {{"i", draw(random, 1, std::max<Extent>(I / 4, 1))}}}};
      check_run(t, shared_plan(t.program, options), rank);
    }
  }
}
