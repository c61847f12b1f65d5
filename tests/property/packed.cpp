// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symmetric and antisymmetric tensors stored once, on all ranks, however labels are cut: what
// statements make of them is what they make of whole ones.

#include "eindecomp/graph/packed_tensor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/run/program.hpp"
#include "property/checked.hpp"

using namespace property;
using namespace ein::labels;
using ein::extent;
using ein::let;

namespace {

/// A packed input of n x n x rest elements, and the whole of it as data.
template <class T, class Harness, class Tensor, class... Rest>
auto bound(Harness& t, const Tensor& S, Extent n, Rest... rest) {
  constexpr int rank = 2 + sizeof...(Rest);
  Array<T, rank> whole({n, n, rest...});
  std::uint64_t state = 77;
  whole.fill([&](auto...) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<T>(static_cast<int>((state >> 33) % 7) - 3);
  });
  const auto value = [=](Extent i_, Extent j_, auto... others) {
    const T element = whole(std::max(i_, j_), std::min(i_, j_), others...);
    if constexpr (!Tensor::is_antisymmetric) {
      return element;
    } else {
      return i_ == j_ ? T(0) : i_ < j_ ? static_cast<T>(-element) : element;
    }
  };
  for (std::size_t r = 0; r < S.block_rows().size(); ++r) {
    const Extent first = S.begins()[r];
    const Extent end = S.begins()[r + 1];
    Array<T, rank> row({end - first, end, rest...});
    row.fill(
        [&](Extent i_, Extent j_, auto... others) { return value(first + i_, j_, others...); });
    const auto v = static_cast<std::size_t>(S.block_rows()[r].vertex());
    t.inputs.resize(std::max(t.inputs.size(), v + 1));
    t.inputs[v] = Harness::tensor_of(row);
  }
  return value;
}

template <class T>
struct Symmetric {
  template <class Program, std::size_t Rank>
  static auto input(Program& g, const char* name, const Extent (&extents)[Rank], int rows) {
    return ein::packed_symmetric<T>(g, name, extents, {.block_rows = rows});
  }
  static auto statement(const char* name, int rows) {
    return ein::packed_symmetric(name, {.block_rows = rows});
  }
};
template <class T>
struct Antisymmetric {
  template <class Program, std::size_t Rank>
  static auto input(Program& g, const char* name, const Extent (&extents)[Rank], int rows) {
    return ein::packed_antisymmetric<T>(g, name, extents, {.block_rows = rows});
  }
  static auto statement(const char* name, int rows) {
    return ein::packed_antisymmetric(name, {.block_rows = rows});
  }
};

/// What statements make of the block rows of a result.
template <class Harness, class Tensor, class Function>
void expect_rows(Harness& t, const Tensor& S, const Function& function) {
  for (std::size_t r = 0; r < S.block_rows().size(); ++r) {
    const Extent first = S.begins()[r];
    t.expect(S.block_rows()[r], [&](Extent i_, Extent j_, auto... others) {
      return function(first + i_, j_, others...);
    });
  }
}

template <class Kind, class T>
void products(Extent n, int rows) {
  CAPTURE(n);
  CAPTURE(rows);
  check(
      [&](auto& t) {
        const auto S = Kind::input(t.program, "S", {n, n}, rows);
        const auto s_ = bound<T>(t, S, n);
        const auto [X, xs] = t.template input<T>("X", {n, 3});
        const auto& x_ = xs;
        t.expect(let<"left">(i, k) = sum(j)(S(i, j) * X(j, k)), [&](Extent i_, Extent k_) {
          return total(n, [&](Extent j_) { return static_cast<T>(s_(i_, j_) * x_(j_, k_)); });
        });
        t.expect(let<"right">(k, j) = T(2) * sum(i)(X(i, k) * S(i, j)), [&](Extent k_, Extent j_) {
          return total(n, [&](Extent i_) { return static_cast<T>(2 * s_(i_, j_) * x_(i_, k_)); });
        });
        t.expect(let<"form">(k) = sum(i, j)(S(i, j) * (X(i, k) * X(j, k))), [&](Extent k_) {
          return total(n, [&](Extent i_) {
            return total(
                n, [&](Extent j_) { return static_cast<T>(s_(i_, j_) * x_(i_, k_) * x_(j_, k_)); });
          });
        });
        t.expect(let<"whole">(j, i) = S(i, j), [&](Extent j_, Extent i_) { return s_(i_, j_); });
        const auto U = Kind::statement("U", rows)(i, j) = T(3) * S(i, j) - S(i, j);
        expect_rows(t, U, [&](Extent i_, Extent j_) { return static_cast<T>(2 * s_(i_, j_)); });
      },
      n > 3);
}

}  // namespace

TEST_CASE("packed tensors: products, forms, whole ones") {
  products<Symmetric<double>, double>(1, 8);
  products<Symmetric<double>, double>(2, 8);
  products<Antisymmetric<double>, double>(3, 2);
  products<Symmetric<std::int64_t>, std::int64_t>(6, 1);
  products<Antisymmetric<std::int64_t>, std::int64_t>(17, 4);
  products<Symmetric<float>, float>(17, 8);
}

TEST_CASE("packed tensors: two of them, other labels, other algebras, masks") {
  for (const auto& [n, rows] : {std::pair<Extent, int>{7, 3}, {8, 4}}) {
    CAPTURE(n);
    const Extent size = n;
    check([&, rows = rows](auto& t) {
      const auto S =
          ein::packed_symmetric<double>(t.program, "S", {size, size, 2}, {.block_rows = rows});
      const auto N =
          ein::packed_antisymmetric<double>(t.program, "N", {size, size}, {.block_rows = rows});
      const auto s_ = bound<double>(t, S, size, Extent{2});
      const auto n_ = bound<double>(t, N, size);
      const auto [X, xs] = t.template input<double>("X", {size, 2});
      const auto& x_ = xs;
      t.expect(let<"two">(i, k, a) = sum(j)(S(i, j, a) * N(j, k)),
               [&](Extent i_, Extent k_, Extent a_) {
                 return total(size, [&](Extent j_) { return s_(i_, j_, a_) * n_(j_, k_); });
               });
      t.expect(let<"element by element">(a, j, i) = S(i, j, a) * N(j, i) + X(i, a),
               [&](Extent a_, Extent j_, Extent i_) {
                 return s_(i_, j_, a_) * n_(j_, i_) + x_(i_, a_);
               });
      t.expect(let<"shortest">(i, k) = min(j)(N(i, j) + X(j, k)), [&](Extent i_, Extent k_) {
        return smallest(size, [&](Extent j_) { return n_(i_, j_) + x_(j_, k_); });
      });
      t.expect(
          let<"logarithms">(i) = log_sum_exp(j)(N(i, j)),
          [&](Extent i_) {
            return std::log(total(size, [&](Extent j_) { return std::exp(n_(i_, j_)); }));
          },
          false);
      // Labels that the left side alone gives an extent.
      t.expect(
          let<"antidiagonals">(extent(v, 2 * size - 1), a) = sum(i, j)((i + j == v) * S(i, j, a)),
          [&](Extent v_, Extent a_) {
            return total(size, [&](Extent i_) {
              return v_ >= i_ && v_ - i_ < size ? s_(i_, v_ - i_, a_) : 0.0;
            });
          });
      t.expect(let<"so far">(i, extent(v, size - 1)) = sum(j)((j <= v) * N(i, j)),
               [&](Extent i_, Extent v_) {
                 return total(v_ + 1, [&](Extent j_) { return n_(i_, j_); });
               });
      // A part that is computed beside, under the packed tensor's label.
      t.expect(let<"beside">(i, j) = relu(sum(k)((ein::value(k) <= i) * X(k, 0))) * N(i, j),
               [&](Extent i_, Extent j_) {
                 return std::max(total(i_ + 1, [&](Extent k_) { return x_(k_, 0); }), 0.0) *
                        n_(i_, j_);
               });
      t.expect(let<"masked">(i, k) = sum(j)((j <= i) * N(i, j) * X(j, k)),
               [&](Extent i_, Extent k_) {
                 return total(i_ + 1, [&](Extent j_) { return n_(i_, j_) * x_(j_, k_); });
               });
      t.expect(let<"shifted">(i, k) = sum(j)(N(i, j) * X(zero(j + 1), k) * ein::value(i - j)),
               [&](Extent i_, Extent k_) {
                 return total(size - 1, [&](Extent j_) {
                   return n_(i_, j_) * x_(j_ + 1, k_) * static_cast<double>(i_ - j_);
                 });
               });
      t.expect(let<"of a sum">(i, k) = sum(j)(2.0 * (X(j, k) + square(X(j, k))) * N(i, j)),
               [&](Extent i_, Extent k_) {
                 return total(size, [&](Extent j_) {
                   return 2 * (x_(j_, k_) + x_(j_, k_) * x_(j_, k_)) * n_(i_, j_);
                 });
               });
      t.expect(let<"added">(extent(i, size), k) = X(i, k) - sum(j)(N(i, j) * X(j, k)),
               [&](Extent i_, Extent k_) {
                 return x_(i_, k_) -
                        total(size, [&](Extent j_) { return n_(i_, j_) * x_(j_, k_); });
               });
    });
  }
}

TEST_CASE("packed tensors that statements write, and read") {
  for (const auto& [n, rows] : {std::pair<Extent, int>{1, 8}, {9, 4}, {17, 8}}) {
    CAPTURE(n);
    const Extent size = n;
    check([&, rows = rows](auto& t) {
      const auto [X, xs] = t.template input<double>("X", {size, 5});
      const auto [Y, ys] = t.template input<double>("Y", {5, size});
      const auto& x_ = xs;
      const auto& y_ = ys;
      const auto gram = [&](Extent i_, Extent j_) {
        return total(5, [&](Extent k_) { return x_(i_, k_) * x_(j_, k_); });
      };
      const auto gap = [&](Extent i_, Extent j_) {
        return total(5,
                     [&](Extent k_) { return x_(i_, k_) * y_(k_, j_) - x_(j_, k_) * y_(k_, i_); });
      };
      const auto G = ein::packed_symmetric("G", {.block_rows = rows})(i, j) =
          sum(k)(X(i, k) * X(j, k));
      const auto D = ein::packed_antisymmetric("D", {.block_rows = rows})(i, j) =
          sum(k)(X(i, k) * Y(k, j)) - sum(k)(X(j, k) * Y(k, i));
      expect_rows(t, D, gap);
      t.expect(let<"of both">(i, k) = sum(j)(G(i, j) * X(j, k)), [&](Extent i_, Extent k_) {
        return total(size, [&](Extent j_) { return gram(i_, j_) * x_(j_, k_); });
      });
      // Of a packed tensor that is read otherwise than it is stored, and of the labels' values.
      const auto squared = [&](Extent i_, Extent j_) {
        return total(size, [&](Extent k_) { return gap(i_, k_) * gap(j_, k_); }) +
               static_cast<double>(i_ * j_) * gram(i_, j_);
      };
      const auto Q = ein::packed_symmetric("Q", {.block_rows = rows})(i, j) =
          sum(k)(D(i, k) * D(j, k)) + ein::value(i) * ein::value(j) * G(i, j);
      expect_rows(t, Q, squared);
      const auto B = ein::packed_symmetric("B", {.block_rows = rows})(i, j, k) = X(i, k) * X(j, k);
      expect_rows(t, B, [&](Extent i_, Extent j_, Extent k_) { return x_(i_, k_) * x_(j_, k_); });
    });
  }
}

namespace {

/// The words that all ranks receive, and the most bytes that one holds.
std::pair<Extent, std::int64_t> words_and_bytes(const ein::Plan& plan) {
  const std::vector<Extent> words = plan.tasks().received;
  const std::vector<std::int64_t> bytes = plan.peak_bytes();
  return {std::accumulate(words.begin(), words.end(), Extent{0}),
          *std::max_element(bytes.begin(), bytes.end())};
}

}  // namespace

TEST_CASE("packed tensors take half of the words and of the bytes, by what is stored") {
  constexpr Extent n = 64;
  for (const int rows : {1, 2, 4, 8}) {
    CAPTURE(rows);
    // 128 columns: labels of X are cut, and S is what moves.
    ein::PlanProgram whole;
    const auto F = whole.input<double>("F", {n, n});
    const auto V = whole.input<double>("V", {n, 128});
    (void)(let<"Y">(i, k) = sum(j)(F(i, j) * V(j, k)));
    ein::PlanProgram packed;
    const auto S = ein::packed_symmetric<double>(packed, "S", {n, n}, {.block_rows = rows});
    const auto X = packed.input<double>("X", {n, 128});
    (void)(let<"Y">(i, k) = sum(j)(S(i, j) * X(j, k)));
    Extent stored = 0;
    for (const auto& row : S.block_rows()) stored += packed.graph()[row.vertex()].size();
    CHECK(stored == n * n * (rows + 1) / (2 * rows));
    const auto of_whole = words_and_bytes(ein::decompose(whole, {.workers = 2}));
    const auto of_packed = words_and_bytes(ein::decompose(packed, {.workers = 2}));
    CHECK(of_whole.first == n * n);
    CHECK(of_packed.first == stored);
    // X and Y take as much, and Y is put together from its block rows.
    CHECK(of_packed.second - stored * 8 <= of_whole.second - n * n * 8 + n * 128 / 2 * 8);
    CHECK((rows < 4 || of_packed.second < of_whole.second));
  }
}

TEST_CASE("packed tensors are bound, carried and gathered by block rows") {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  constexpr Extent n = 11;
  ein::Program g;
  const auto S = ein::packed_antisymmetric<double>(g, "S", {n, n}, {.block_rows = 3});
  const auto X = g.input<double>("X", {n, n});
  const auto P = let<"P">(i, j) = sum(k)(S(i, k) * X(k, j));
  const auto next = ein::packed_antisymmetric("next", {.block_rows = 3})(i, j) =
      0.25 * (P(i, j) - P(j, i)) + S(i, j);
  ein::DecomposeOptions options{.workers = ranks, .ranks = ranks};
  for (std::size_t r = 0; r < S.block_rows().size(); ++r) {
    options.carry.push_back({next.block_rows()[r].name(), S.block_rows()[r].name()});
  }
  const auto plan = shared_plan(g, options);

  using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
  Matrix whole("whole", n, n);
  Matrix factor("factor", n, n);
  for (Extent i_ = 0; i_ < n; ++i_) {
    for (Extent j_ = 0; j_ < n; ++j_) {
      whole(i_, j_) = static_cast<double>((i_ - j_) * (3 + i_ + j_) % 7);
      factor(i_, j_) = static_cast<double>((2 * i_ + 3 * j_) % 5) - 2;
    }
  }
  std::vector<Binding> bindings{ein::bind_global(X, factor)};
  for (std::size_t r = 0; r < S.block_rows().size(); ++r) {
    bindings.push_back(ein::bind_global(
        S.block_rows()[r], Kokkos::subview(whole, std::pair(S.begins()[r], S.begins()[r + 1]),
                                           std::pair(Extent{0}, S.begins()[r + 1]))));
  }
  Executor executor(plan, MPI_COMM_WORLD, Space());
  Run run = executor.run(bindings);
  for (int step = 1; step < 3; ++step) {
    std::vector<Binding> again = run.carry();
    again.push_back(ein::bind_global(X, factor));
    run = executor.run(again);
  }

  std::vector<double> expected(whole.data(), whole.data() + n * n);
  for (int step = 0; step < 3; ++step) {
    std::vector<double> product(expected.size(), 0.0);
    for (std::size_t e = 0; e < product.size(); ++e) {
      for (std::size_t k_ = 0; k_ < n; ++k_) {
        product[e] += expected[e / n * n + k_] * factor(k_, e % n);
      }
    }
    for (std::size_t e = 0; e < product.size(); ++e) {
      expected[e] += 0.25 * (product[e] - product[e % n * n + e / n]);
    }
  }
  for (std::size_t r = 0; r < S.block_rows().size(); ++r) {
    const auto got = run.gather(next.block_rows()[r]);
    for (std::size_t i_ = 0; i_ < got.extent(0); ++i_) {
      for (std::size_t j_ = 0; j_ < got.extent(1); ++j_) {
        const double right = expected[(static_cast<std::size_t>(S.begins()[r]) + i_) * n + j_];
        CHECK(got(i_, j_) == doctest::Approx(right).epsilon(1e-12));
      }
    }
  }
}
