// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Iterative methods as programs whose results are the next run's inputs, beside the same methods
// written down without the library; what moves in an iteration is what the plan predicts.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "run/programs.hpp"

using namespace run_test;
using namespace eindecomp::labels;

namespace {

constexpr Extent extent = 24;

std::size_t at(Extent index) { return static_cast<std::size_t>(index); }

/// Every iteration but the first moves what the plan says, these inputs being constant.
template <class Run>
void check_words(const Plan& plan, const std::vector<ein::Text>& constants, const Run& run) {
  const auto rank = at(World().rank);
  CHECK(run.statistics().words_received == plan.repeated_words(constants)[rank]);
  CHECK(run.statistics().inputs.words_received == plan.carried_words()[rank]);
}

/// Diagonally dominant.
double dominant(Extent r, Extent c) {
  return r == c ? 8.0 : std::sin(1.0 + static_cast<double>(3 * r + 5 * c)) / 4;
}

/// How long the shortest paths between two places are, and how many there are.
struct Paths {
  double length;
  std::int64_t count;
  bool operator==(const Paths&) const = default;
};
constexpr Paths no_path{1e300, 0};

/// ⊗: one path behind another.
struct Follow {
  static constexpr std::string_view name = "follow";
  EINDECOMP_FUNCTION Paths operator()(const Paths& a, const Paths& b) const {
    return {a.length + b.length, a.count * b.count};
  }
};
/// ⊕: the shorter ones, or both.
struct Shorter {
  static constexpr bool commutative_monoid = true;
  EINDECOMP_FUNCTION static constexpr Paths identity() { return no_path; }
  EINDECOMP_FUNCTION constexpr Paths operator()(const Paths& a, const Paths& b) const {
    if (a.length != b.length) return a.length < b.length ? a : b;
    return {a.length, a.count + b.count};
  }
};

}  // namespace

TEST_CASE("elements of a type of one's own: walks of 1, 2, 4, 8 steps, squared") {
  const World world;
  Program program;
  const auto D = program.input<Paths>("D", {extent, extent});
  const auto E = let<"E">(i, k) = ein::aggregate<Shorter>(j)(ein::join(Follow{}, D(i, j), D(j, k)));
  const Plan plan = ein::decompose(program, {.workers = world.size, .carry = {{"E", "D"}}});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto edge = [](Extent from, Extent to) {
    const Extent draw = (7 * from + 11 * to) % 23;
    return draw < 9 ? Paths{static_cast<double>(1 + draw % 3), 1} : no_path;
  };
  Kokkos::View<Paths**> edges("edges", extent, extent);
  auto run = executor.run(ein::bind_generator(D, edge));
  std::vector<Paths> expected;
  for (Extent r = 0; r < extent; ++r) {
    for (Extent c = 0; c < extent; ++c) expected.push_back(edges(r, c) = edge(r, c));
  }
  CHECK(executor.run(ein::bind_global(D, edges)).gather(E)(3, 5) == run.gather(E)(3, 5));
  for (int squaring = 0; squaring < 3; ++squaring) {
    if (squaring > 0) run = executor.run(run.carry());
    const std::vector<Paths> before = expected;
    for (Extent r = 0; r < extent; ++r) {
      for (Extent c = 0; c < extent; ++c) {
        Paths& best = expected[at(r * extent + c)] = no_path;
        for (Extent m = 0; m < extent; ++m) {
          best = Shorter()(best, Follow()(before[at(r * extent + m)], before[at(m * extent + c)]));
        }
      }
    }
    const auto walks = on_host(run.gather(E));
    bool same = true;
    for (Extent r = 0; r < extent; ++r) {
      for (Extent c = 0; c < extent; ++c)
        same = same && walks(r, c) == expected[at(r * extent + c)];
    }
    CHECK(same);
  }
  const auto columns = ein::Distribution::columns({extent, extent}, world.size);
  const ein::Box mine = columns.arrays(world.rank)[0].bounds();
  const Kokkos::View<Paths**, Kokkos::LayoutLeft> view("E", extent, mine.extent(1));
  (void)run.redistribute(E, columns, view);
  CHECK(view(2, mine.extent(1) - 1) == expected[at(2 * extent + mine.hi[1] - 1)]);
  const auto as_numbers = [&] { return run.gather_as<double, 2>("E"); };
  CHECK_THROWS_WITH_AS((void)as_numbers(),
                       doctest::Contains("as double of rank 2, and is of a 16-byte type"),
                       ein::Error);
}

TEST_CASE("Jacobi's iteration") {
  const World world;
  Program program;
  const auto R = program.input<double>("R", {extent, extent});
  const auto d = program.input<double>("d", {extent});
  const auto b = program.input<double>("b", {extent});
  const auto x = program.input<double>("x", {extent});
  const auto s = let<"s">(i) = sum(j)(R(i, j) * x(j));
  const auto next = let<"x'">(i) = (b(i) - s(i)) / d(i);
  const Plan plan =
      ein::decompose(program, {.workers = world.size, .carry = {{"x'", "x"}}, .max_idle = 0});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto right = [](Extent r) { return std::cos(static_cast<double>(r)); };
  const auto rest = ein::bind_generator(R, [](Extent r, Extent c) {
                      return r == c ? 0.0 : dominant(r, c);
                    }).constant();
  const auto diagonal = ein::bind_generator(d, [](Extent r) { return dominant(r, r); }).constant();
  const auto side = ein::bind_generator(b, right).constant();
  auto run = executor.run(ein::bind_generator(x, [](Extent) { return 0.0; }), rest, diagonal, side);
  std::vector<double> expected(at(extent), 0.0);
  for (int step = 0; step < 60; ++step) {
    std::vector<double> fresh;
    for (Extent r = 0; r < extent; ++r) {
      double sum = 0;
      for (Extent c = 0; c < extent; ++c) sum += r == c ? 0.0 : dominant(r, c) * expected[at(c)];
      fresh.push_back((right(r) - sum) / dominant(r, r));
    }
    expected = fresh;
    if (step > 0) {
      run = executor.run(run.carry(), rest, diagonal, side);
      check_words(plan, {"R", "d", "b"}, run);
      if (step > 1) CHECK(run.statistics().kernels_prepared == 0);
    }
  }
  const auto solution = on_host(run.gather(next));
  for (Extent r = 0; r < extent; ++r) {
    CHECK(std::abs(solution(at(r)) - expected[at(r)]) < 1e-14);
    double left = 0;
    for (Extent c = 0; c < extent; ++c) left += dominant(r, c) * solution(at(c));
    CHECK(std::abs(left - right(r)) < 1e-12);
  }
}

TEST_CASE("subspace iteration") {
  // A = H diag(λ) H with a reflection H, so that its eigenvalues are known.
  constexpr Extent wanted = 3;
  const World world;
  double square = 0;
  for (Extent r = 0; r < extent; ++r) square += std::pow(1.0 + 0.1 * static_cast<double>(r), 2);
  const auto reflection = [square](Extent r, Extent c) {
    const double v = (1.0 + 0.1 * static_cast<double>(r)) * (1.0 + 0.1 * static_cast<double>(c));
    return (r == c ? 1.0 : 0.0) - 2 * v / square;
  };
  const auto eigenvalue = [](Extent n) {
    return n < wanted ? 9.0 - 2.0 * static_cast<double>(n) : 1.0 / static_cast<double>(n);
  };
  const auto matrix = [&](Extent r, Extent c) {
    double sum = 0;
    for (Extent n = 0; n < extent; ++n) sum += reflection(r, n) * eigenvalue(n) * reflection(n, c);
    return sum;
  };
  Program program;
  const auto A = program.input<double>("A", {extent, extent});
  const auto Z = program.input<double>("Z", {extent, wanted});
  const auto T = program.input<double>("T", {wanted, wanted});
  const auto Q = let<"Q">(j, k) = sum(l)(Z(j, l) * T(l, k));
  const auto next = let<"Z'">(i, k) = sum(j)(A(i, j) * Q(j, k));
  const auto G = let<"G">(k, l) = sum(i)(next(i, k) * next(i, l));
  const auto B = let<"B">(k, l) = sum(i)(Q(i, k) * next(i, l));
  program.keep(next);
  const Plan plan =
      ein::decompose(program, {.workers = world.size, .carry = {{"Z'", "Z"}}, .max_idle = 0});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto a = ein::bind_generator(A, matrix).constant();
  // Q = Z T has orthonormal columns where T Tᵀ is the inverse of G = Zᵀ Z: T = L⁻ᵀ, G = L Lᵀ.
  using Small = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
  const auto inverse_factor = [](const auto& gram) {
    double factor[wanted][wanted] = {};
    for (Extent c = 0; c < wanted; ++c) {
      for (Extent r = c; r < wanted; ++r) {
        double sum = gram(at(r), at(c));
        for (Extent n = 0; n < c; ++n) sum -= factor[r][n] * factor[c][n];
        factor[r][c] = r == c ? std::sqrt(sum) : sum / factor[c][c];
      }
    }
    const Small t("test::T", at(wanted), at(wanted));
    const auto host = Kokkos::create_mirror_view(t);
    for (Extent c = 0; c < wanted; ++c) {
      for (Extent r = 0; r < wanted; ++r) {
        // Column r of L⁻¹, by forward substitution, is row r of its transpose.
        double sum = r == c ? 1.0 : 0.0;
        for (Extent n = r; n < c; ++n) sum -= factor[c][n] * host(at(r), at(n));
        host(at(r), at(c)) = c < r ? 0.0 : sum / factor[c][c];
      }
    }
    Kokkos::deep_copy(t, host);
    return t;
  };
  const auto identity = [](Extent r, Extent c) { return r == c ? 1.0 : 0.0; };
  auto run = executor.run(a, ein::bind_generator(Z, identity), ein::bind_generator(T, identity));
  for (int step = 0; step < 12; ++step) {
    const Small t = inverse_factor(on_host(run.gather(G)));
    run = executor.run(run.carry(), a, ein::bind_global(T, t));
    check_words(plan, {"A"}, run);
  }
  // Rayleigh and Ritz: B has the largest eigenvalues.
  const auto b = on_host(run.gather(B));
  CHECK(std::abs(b(0, 0) + b(1, 1) + b(2, 2) - (9.0 + 7.0 + 5.0)) < 1e-8);
  const double determinant = b(0, 0) * (b(1, 1) * b(2, 2) - b(1, 2) * b(2, 1)) -
                             b(0, 1) * (b(1, 0) * b(2, 2) - b(1, 2) * b(2, 0)) +
                             b(0, 2) * (b(1, 0) * b(2, 1) - b(1, 1) * b(2, 0));
  CHECK(std::abs(determinant - 9.0 * 7.0 * 5.0) < 1e-6);
}

TEST_CASE("Floyd and Warshall's shortest paths by squaring") {
  const World world;
  Program program;
  const auto D = program.input<double>("D", {extent, extent});
  const auto next = let<"D'">(i, k) = min(j)(D(i, j) + D(j, k));
  const auto edge = [](Extent from, Extent to) {
    if (from == to) return 0.0;
    const Extent mixed = (from * 7 + to * 13) % 29;
    return mixed < 6 || to == from + 1 ? 1.0 + static_cast<double>(mixed) : 1e9;
  };
  std::vector<std::vector<double>> expected(at(extent), std::vector<double>(at(extent)));
  for (Extent r = 0; r < extent; ++r) {
    for (Extent c = 0; c < extent; ++c) expected[at(r)][at(c)] = edge(r, c);
  }
  for (Extent via = 0; via < extent; ++via) {
    for (Extent r = 0; r < extent; ++r) {
      for (Extent c = 0; c < extent; ++c) {
        expected[at(r)][at(c)] =
            std::min(expected[at(r)][at(c)], expected[at(r)][at(via)] + expected[at(via)][at(c)]);
      }
    }
  }
  const Plan plan =
      ein::decompose(program, {.workers = world.size, .carry = {{"D'", "D"}}, .max_idle = 0});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  auto run = executor.run(ein::bind_generator(D, edge));
  for (Extent edges = 2; edges < extent; edges *= 2) {
    run = executor.run(run.carry());
    check_words(plan, {}, run);
  }
  const auto distance = on_host(run.gather(next));
  for (Extent r = 0; r < extent; ++r) {
    for (Extent c = 0; c < extent; ++c) CHECK(distance(at(r), at(c)) == expected[at(r)][at(c)]);
  }
}
