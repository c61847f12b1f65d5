// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products over other algebras than sums and products: einsum beside the loops that one
// would write, and beside the rate at which the cores can issue the algebra's instructions.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/kernel/einsum.hpp"

namespace ein = eindecomp;

namespace {

/// A user's ⊗ of three arithmetic operations, which promises nothing.
struct SquareGap {
  template <class T>
  EINDECOMP_FUNCTION T operator()(T a, T b) const {
    return (a - b) * (a + b);
  }
};

struct Shape {
  std::size_t m;
  std::size_t k;
  std::size_t n;
  [[nodiscard]] std::string text() const {
    return m == k && k == n ? fmt::format("{}", m) : fmt::format("{}x{}x{}", m, k, n);
  }
  [[nodiscard]] double joins() const {
    return static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n);
  }
};

struct Options {
  std::vector<std::size_t> sizes{256, 512, 1024, 2048};
  std::vector<std::string> algebras;
  double seconds = 0.2;
  std::string json;
};

/// Seconds of the fastest of several calls, at least two and as many as fit in the time.
template <class Call>
double fastest(double seconds, const Call& call) {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  double total = 0;
  for (int run = 0; run < 2 || total < seconds; ++run) {
    const auto begin = Clock::now();
    call();
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    best = run == 0 ? took : std::min(best, took);
    total += took;
  }
  return best;
}

/// Makes the compiler forget what it knows of a register.
template <class V>
[[gnu::always_inline]] inline void forget(V& lanes) {
#if defined(__AVX512F__)
  asm("" : "+v"(lanes));
#elif defined(__aarch64__)
  asm("" : "+w"(lanes));
#else
  asm("" : "+x"(lanes));
#endif
}

/// ⊗ and ⊕ on registers alone, as many accumulators as the kernel has: what the cores can issue.
template <class Algebra, std::size_t... I>
[[gnu::noinline]] typename Algebra::State issue(std::index_sequence<I...>, const Algebra& algebra,
                                                std::int64_t rounds) {
  using State = typename Algebra::State;
  constexpr int width = Algebra::width;
  using Lanes = ein::kernel::detail::Lanes<State, width>;
  State element(1);
  forget(element);
  Lanes other = ein::kernel::detail::repeat<State, width>(State(2));
  Lanes state[] = {(static_cast<void>(I), other)...};
  for (; rounds > 0; --rounds) {
    ((forget(other), state[I] = algebra.step(state[I], element, other)), ...);
  }
  State sum(0);
  ((sum += state[I][0]), ...);
  return sum;
}

/// Joins a second of `threads` cores at once, in runs of as many joins as the product has.
template <class Algebra>
double issue_bound(const Options& options, int threads, double joins) {
  constexpr std::size_t accumulators = std::size_t{Algebra::shape.rows} * Algebra::shape.vectors;
  const auto rounds =
      static_cast<std::int64_t>(joins / (threads * Algebra::shape.rows * Algebra::shape.columns()));
  std::vector<double> kept(static_cast<std::size_t>(threads) * 16);
  const double seconds = fastest(options.seconds, [&] {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int thread = 0; thread < threads; ++thread) {
      kept[static_cast<std::size_t>(thread) * 16] =
          static_cast<double>(issue(std::make_index_sequence<accumulators>(), Algebra{}, rounds));
    }
  });
  return static_cast<double>(rounds) * accumulators * Algebra::width * threads / seconds;
}

/// The loops one would write.
template <class T, class Join, class Monoid>
void plain_loops(const Shape& s, int threads, const T* a, const T* b, T* c) {
  const Join join;
  const Monoid monoid;
#pragma omp parallel for num_threads(threads)
  for (std::size_t i = 0; i < s.m; ++i) {
    T* const row = c + i * s.n;
    for (std::size_t j = 0; j < s.n; ++j) row[j] = Monoid::template identity<T>();
    for (std::size_t k = 0; k < s.k; ++k) {
      const T element = a[i * s.k + k];
      const T* const other = b + k * s.n;
#pragma omp simd
      for (std::size_t j = 0; j < s.n; ++j) row[j] = monoid(row[j], join(element, other[j]));
    }
  }
}

class Table {
 public:
  explicit Table(const Options& options) : m_options(options) {
    fmt::print("{:<16} {:<6} {:>14} {:>7} | {:>8} {:>8} {:>8} | {:>11} {:>11}\n", "algebra", "type",
               "m x k x n", "threads", "einsum", "loops", "bound", "einsum/bound", "loops/bound");
    fmt::print("{:<16} {:<6} {:>14} {:>7} | {:>26} |\n", "", "", "", "", "10^9 joins a second");
  }

  /// All shapes of an algebra and a type, on one core and on all.
  template <class Join, class Monoid, class T>
  void measure(std::string_view name, std::string_view type) {
    const auto& wanted = m_options.algebras;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) return;
    std::vector<Shape> shapes;
    for (std::size_t n : m_options.sizes) shapes.push_back({n, n, n});
    shapes.push_back({1000, 777, 1031});
    const int all = Kokkos::OpenMP().concurrency();
    measure_on<Join, Monoid, T>(Kokkos::Serial(), 1, name, type, shapes);
    if (all > 1) measure_on<Join, Monoid, T>(Kokkos::OpenMP(), all, name, type, shapes);
  }

  [[nodiscard]] bool right() const { return m_right; }
  [[nodiscard]] const nlohmann::json& json() const { return m_json; }

 private:
  template <class Join, class Monoid, class T, class Space>
  void measure_on(const Space& space, int threads, std::string_view name, std::string_view type,
                  const std::vector<Shape>& shapes) {
    using Algebra = ein::kernel::detail::TileAlgebra<Join, Monoid, T, T>;
    using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Kokkos::HostSpace>;
    for (const Shape& shape : shapes) {
      const Matrix a("a", shape.m, shape.k);
      const Matrix b("b", shape.k, shape.n);
      const Matrix c("c", shape.m, shape.n);
      const Matrix expected("expected", shape.m, shape.n);
      fill(a, 1);
      fill(b, 2);
      const double einsum_seconds = fastest(m_options.seconds, [&] {
        ein::einsum<"ij,jk->ik", ein::Algebra<Join, Monoid>>(space, a, b, c);
      });
      // Beside what it bounds: a core's clock is not the same at all times.
      const double bound = issue_bound<Algebra>(m_options, threads, shape.joins());
      const double loops_seconds = fastest(0, [&] {
        plain_loops<T, Join, Monoid>(shape, threads, a.data(), b.data(), expected.data());
      });
      m_right = m_right && agree(c, expected);
      const double einsum = shape.joins() / einsum_seconds;
      const double loops = shape.joins() / loops_seconds;
      fmt::print("{:<16} {:<6} {:>14} {:>7} | {:>8.2f} {:>8.2f} {:>8.2f} | {:>11.2f} {:>11.2f}\n",
                 name, type, shape.text(), threads, einsum * 1e-9, loops * 1e-9, bound * 1e-9,
                 einsum / bound, loops / bound);
      std::fflush(stdout);
      m_json.push_back({{"algebra", name},
                        {"type", type},
                        {"m", shape.m},
                        {"k", shape.k},
                        {"n", shape.n},
                        {"threads", threads},
                        {"einsum_joins_per_second", einsum},
                        {"loops_joins_per_second", loops},
                        {"bound_joins_per_second", bound}});
    }
  }

  template <class Matrix>
  static void fill(const Matrix& matrix, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> value(-1, 1);
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      matrix.data()[i] = static_cast<typename Matrix::value_type>(value(random));
    }
  }

  /// Sums may be rounded in another order.
  template <class Matrix>
  [[nodiscard]] static bool agree(const Matrix& got, const Matrix& expected) {
    using T = typename Matrix::value_type;
    const double tolerance = std::is_same_v<T, float> ? 1e-4 : 1e-12;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double wanted = static_cast<double>(expected.data()[i]);
      if (!(std::abs(static_cast<double>(got.data()[i]) - wanted) <=
            tolerance * std::max(1.0, std::abs(wanted)))) {
        fmt::print(stderr, "element {} is {} and should be {}\n", i, got.data()[i], wanted);
        return false;
      }
    }
    return true;
  }

  const Options& m_options;
  nlohmann::json m_json = nlohmann::json::array();
  bool m_right = true;
};

template <class T>
void measure_all(Table& table, std::string_view type) {
  table.measure<ein::Add, ein::Min, T>("min-plus", type);
  table.measure<ein::Add, ein::Max, T>("max-plus", type);
  table.measure<ein::Mul, ein::Max, T>("max-times", type);
  table.measure<ein::SqDiff, ein::Sum, T>("squared-distance", type);
  table.measure<ein::AbsDiff, ein::Max, T>("chebyshev", type);
  table.measure<SquareGap, ein::Max, T>("max (a-b)(a+b)", type);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Matrix products over other algebras: joins (a ⊗ b, then ⊕) a second");
  Options options;
  app.add_option("--sizes", options.sizes, "square sizes; 1000x777x1031 is always measured")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--algebras", options.algebras, "only these, by the names of the table")
      ->delimiter(',');
  app.add_option("--seconds", options.seconds, "time per measurement")->capture_default_str();
  app.add_option("--json", options.json, "write the table to this file too");
  CLI11_PARSE(app, argc, argv);

  const Kokkos::ScopeGuard kokkos(argc, argv);
  Table table(options);
  measure_all<double>(table, "double");
  measure_all<float>(table, "float");
  if (!options.json.empty()) std::ofstream(options.json) << table.json().dump(1) << '\n';
  if (!table.right()) return 1;
  return 0;
}
