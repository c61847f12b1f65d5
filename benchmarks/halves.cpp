// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of 16-bit numbers beside tensors of floats: products, maps, sums and conversions, by
// turns in one run.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

#include "eindecomp/kernel/einsum.hpp"

namespace ein = eindecomp;

namespace {

template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Kokkos::HostSpace>;
template <class T>
using Vector = Kokkos::View<T*, Kokkos::HostSpace>;

struct Options {
  std::vector<std::size_t> sizes{256, 512, 1024, 2048};
  std::size_t rows = 2048;
  std::size_t columns = 4096;
  int turns = 15;
};

/// Small whole numbers.
template <class T>
Matrix<T> filled(std::size_t rows, std::size_t columns) {
  const Matrix<T> matrix("benchmark", rows, columns);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    matrix.data()[i] = T(static_cast<int>(i * 2654435761U % 13) - 6);
  }
  return matrix;
}

/// Seconds of the fastest call of each case, which take turns.
template <class... Calls>
std::vector<double> fastest(int turns, const Calls&... calls) {
  std::vector<double> best(sizeof...(Calls), 1e300);
  for (int turn = 0; turn < turns; ++turn) {
    std::size_t at = 0;
    const auto time = [&](const auto& call) {
      const auto begin = std::chrono::steady_clock::now();
      call();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      best[at] = std::min(best[at], took.count());
      ++at;
    };
    (time(calls), ...);
  }
  return best;
}

void print(std::string_view name, double amount, const std::vector<double>& seconds) {
  fmt::print("{:<28}", name);
  for (const double s : seconds) fmt::print(" {:>9.2f} {:>5.2f}", amount / s, seconds[0] / s);
  fmt::print("\n");
}

class Benchmark {
 public:
  explicit Benchmark(const Options& options) : m_options(options) {}

  void products() const {
    fmt::print("{:<28} {:>15} {:>15} {:>15} {:>15}\n", "GFLOP/s, share of float's", "float",
               "bfloat16", "float16", "bfloat16, float");
    for (const std::size_t n : m_options.sizes) {
      product<"ij,jk->ik", ein::PlusTimes>(fmt::format("A·B, {}", n), n);
      product<"ij,kj->ik", ein::PlusTimes>(fmt::format("A·Bᵀ, {}", n), n);
      product<"ij,jk->ik", ein::MaxPlus>(fmt::format("max-plus, {}", n), n);
    }
  }

  void maps() const {
    fmt::print("\n{:<28} {:>15} {:>15} {:>15}\n", "10⁹ elements a second", "float", "bfloat16",
               "float16");
    map<ein::Relu>("relu to float");
    map<ein::Exp>("exp to float");
    sums<"ij->i">("sums of rows");
    sums<"ij->j">("sums of columns");
    converted("from float");
  }

 private:
  using Space = Kokkos::DefaultHostExecutionSpace;

  template <ein::fixed_string Text, class Algebra>
  void product(std::string_view name, std::size_t n) const {
    const auto of = [&]<class A, class B>(A, B) {
      return [a = filled<A>(n, n), b = filled<B>(n, n), c = Matrix<float>("benchmark", n, n)] {
        ein::einsum<Text, Algebra>(Space(), a, b, c);
      };
    };
    const double operations = 2e-9 * static_cast<double>(n * n * n);
    print(name, operations,
          fastest(m_options.turns, of(float(), float()), of(ein::bfloat16(), ein::bfloat16()),
                  of(ein::float16(), ein::float16()), of(ein::bfloat16(), float())));
  }

  template <class Call>
  void elements(std::string_view name, const Call& of) const {
    print(name, 1e-9 * static_cast<double>(m_options.rows * m_options.columns),
          fastest(m_options.turns, of(float()), of(ein::bfloat16()), of(ein::float16())));
  }
  template <class Map>
  void map(std::string_view name) const {
    elements(name, [this]<class T>(T) {
      return [x = filled<T>(m_options.rows, m_options.columns),
              y = filled<float>(m_options.rows, m_options.columns)] {
        ein::einsum<"ij->ij", ein::Algebra<Map, ein::NoAggregation>>(Space(), x, y);
      };
    });
  }
  template <ein::fixed_string Text>
  void sums(std::string_view name) const {
    constexpr bool of_rows = Text.view().back() == 'i';
    elements(name, [this]<class T>(T) {
      return [x = filled<T>(m_options.rows, m_options.columns),
              y = Vector<float>("benchmark", of_rows ? m_options.rows : m_options.columns)] {
        ein::einsum<Text>(Space(), x, y);
      };
    });
  }
  void converted(std::string_view name) const {
    elements(name, [this]<class T>(T) {
      return [x = filled<float>(m_options.rows, m_options.columns),
              y = filled<T>(m_options.rows, m_options.columns)] {
        ein::einsum<"ij->ij", ein::Algebra<ein::Cast<T>, ein::NoAggregation>>(Space(), x, y);
      };
    });
  }

  Options m_options;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tensors of 16-bit numbers beside tensors of floats");
  Options options;
  app.add_option("--sizes", options.sizes, "of square products")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--turns", options.turns, "of each case; the fastest counts")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Kokkos::ScopeGuard kokkos(argc, argv);
  const Benchmark benchmark(options);
  benchmark.products();
  benchmark.maps();
  return 0;
}
