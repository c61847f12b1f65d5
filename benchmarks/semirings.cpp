// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products over other algebras than sums and products: einsum beside the loops that one
// would write, and beside the rate at which the cores can issue the algebra's instructions.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
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
#include "support/fastest.hpp"

namespace ein = eindecomp;
using eindecomp_benchmarks::fastest;

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
  const double seconds = fastest({.seconds = options.seconds}, [&] {
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

  /// A convolution of 64 channels by windows of 3 x 3, over a padded image of n² elements each: the
  /// product of filters and windows, which lie across each other.
  template <class Join, class Monoid, class T>
  void measure_windows(std::string_view name, std::string_view type) {
    const auto& wanted = m_options.algebras;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) return;
    const int all = Kokkos::OpenMP().concurrency();
    windows_on<Join, Monoid, T>(Kokkos::Serial(), 1, name, type);
    if (all > 1) windows_on<Join, Monoid, T>(Kokkos::OpenMP(), all, name, type);
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
      const double einsum_seconds = fastest({.seconds = m_options.seconds}, [&] {
        ein::einsum<"ij,jk->ik", ein::Algebra<Join, Monoid>>(space, a, b, c);
      });
      // Beside what it bounds: a core's clock is not the same at all times.
      const double bound = issue_bound<Algebra>(m_options, threads, shape.joins());
      const double loops_seconds = fastest({.least = 2}, [&] {
        plain_loops<T, Join, Monoid>(shape, threads, a.data(), b.data(), expected.data());
      });
      m_right = m_right && agree(c, expected);
      print(name, type, shape, shape.text(), threads,
            {shape.joins() / einsum_seconds, shape.joins() / loops_seconds, bound});
    }
  }

  template <class Join, class Monoid, class T, class Space>
  void windows_on(const Space& space, int threads, std::string_view name, std::string_view type) {
    using Algebra = ein::kernel::detail::TileAlgebra<Join, Monoid, T, T>;
    constexpr std::size_t channels = 64;
    constexpr std::size_t window = 3;
    constexpr std::size_t n = 112;
    constexpr std::size_t row = n + window - 1;
    const Shape shape{channels, channels * window * window, n * n};
    const Kokkos::View<T***, Kokkos::LayoutRight, Kokkos::HostSpace> image("image", channels, row,
                                                                           row);
    const Kokkos::View<T****, Kokkos::LayoutRight, Kokkos::HostSpace> filters(
        "filters", channels, channels, window, window);
    const Kokkos::View<T***, Kokkos::LayoutRight, Kokkos::HostSpace> c("c", channels, n, n);
    const Kokkos::View<T***, Kokkos::LayoutRight, Kokkos::HostSpace> expected("expected", channels,
                                                                              n, n);
    fill(image, 1);
    fill(filters, 2);
    const Kokkos::View<T*****, Kokkos::LayoutStride, Kokkos::HostSpace> windows(
        image.data(),
        Kokkos::LayoutStride(channels, row * row, n, row, n, 1, window, row, window, 1));
    const double einsum_seconds = fastest({.seconds = m_options.seconds}, [&] {
      ein::einsum<"ocrs,cyxrs->oyx", ein::Algebra<Join, Monoid>>(space, filters, windows, c);
    });
    const double bound = issue_bound<Algebra>(m_options, threads, shape.joins());
    const double loops_seconds = fastest({.least = 2}, [&] {
      const Join join;
      const Monoid monoid;
#pragma omp parallel for num_threads(threads)
      for (std::size_t o = 0; o < channels; ++o) {
        for (std::size_t y = 0; y < n; ++y) {
          T* const to = &expected(o, y, 0);
          for (std::size_t x = 0; x < n; ++x) to[x] = Monoid::template identity<T>();
          for (std::size_t i = 0; i < channels; ++i) {
            for (std::size_t tap = 0; tap < window * window; ++tap) {
              const T element = filters(o, i, tap / window, tap % window);
              const T* const from = &image(i, y + tap / window, tap % window);
#pragma omp simd
              for (std::size_t x = 0; x < n; ++x) to[x] = monoid(to[x], join(element, from[x]));
            }
          }
        }
      }
    });
    m_right = m_right && agree(c, expected);
    print(name, type, shape, "3x3, 64, 112", threads,
          {shape.joins() / einsum_seconds, shape.joins() / loops_seconds, bound});
  }

  /// Joins a second.
  struct Rates {
    double einsum;
    double loops;
    double bound;
  };
  void print(std::string_view name, std::string_view type, const Shape& shape,
             std::string_view extents, int threads, const Rates& rates) {
    fmt::print("{:<16} {:<6} {:>14} {:>7} | {:>8.2f} {:>8.2f} {:>8.2f} | {:>11.2f} {:>11.2f}\n",
               name, type, extents, threads, rates.einsum * 1e-9, rates.loops * 1e-9,
               rates.bound * 1e-9, rates.einsum / rates.bound, rates.loops / rates.bound);
    std::fflush(stdout);
    m_json.push_back({{"algebra", name},
                      {"type", type},
                      {"m", shape.m},
                      {"k", shape.k},
                      {"n", shape.n},
                      {"windows", extents != shape.text()},
                      {"threads", threads},
                      {"einsum_joins_per_second", rates.einsum},
                      {"loops_joins_per_second", rates.loops},
                      {"bound_joins_per_second", rates.bound}});
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
  table.measure_windows<ein::Add, ein::Max, T>("max-plus", type);
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
