// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// EinSums that memory bounds (reductions, maps, permutations), and a softmax, a chain of maps,
// functions of networks, stencils and running sums written in the language, beside STREAM's triad
// in one run: bytes that must move, each operand read once and the output written once, a second.

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/eindecomp.hpp"
#include "support/fastest.hpp"

namespace ein = eindecomp;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Left = Kokkos::LayoutLeft;
using Right = Kokkos::LayoutRight;

/// Seconds of the fastest of several calls.
template <class Call>
double shortest(const Call& call) {
  return eindecomp_benchmarks::fastest({.least = 7}, call);
}

class Table {
 public:
  /// Cases are compared with the bandwidth that was measured last.
  void set_triad(double bytes_per_second) {
    m_triad = bytes_per_second;
    fmt::print("triad {:.2f} GB/s on {} threads\n", m_triad * 1e-9, Space().concurrency());
    if (m_json.empty()) {
      fmt::print("{:<34} {:>8} {:>9} {:>8} {:>8}\n", "", "MB", "ms", "GB/s", "of triad");
    }
  }
  void add(const std::string& name, double bytes, double seconds) {
    fmt::print("{:<34} {:>8.1f} {:>9.3f} {:>8.2f} {:>8.2f}\n", name, bytes * 1e-6, seconds * 1e3,
               bytes / seconds * 1e-9, bytes / seconds / m_triad);
    std::fflush(stdout);
    m_json += fmt::format(
        "{}\n  {{\"case\": \"{}\", \"bytes\": {:.0f}, \"seconds\": {:.6g}, \"of_triad\": {:.4f}, "
        "\"triad_bytes_per_second\": {:.6g}}}",
        m_json.empty() ? "" : ",", name, bytes, seconds, bytes / seconds / m_triad, m_triad);
  }
  [[nodiscard]] std::string json() const { return fmt::format("{{\"cases\": [{}\n]}}\n", m_json); }

 private:
  double m_triad = 0;
  std::string m_json;
};

/// The bandwidth of a[i] = b[i] + 3·c[i] on arrays of n elements, counted as 3 n elements.
template <class T>
double triad(std::size_t n) {
  const Kokkos::View<T*, Space> a("a", n);
  const Kokkos::View<T*, Space> b("b", n);
  const Kokkos::View<T*, Space> c("c", n);
  Kokkos::deep_copy(b, T(1));
  Kokkos::deep_copy(c, T(2));
  T* const to = a.data();
  const T* const one = b.data();
  const T* const other = c.data();
  const double seconds = shortest([=] {
    Kokkos::parallel_for("triad", Kokkos::RangePolicy<Space>(0, n),
                         [=](const std::size_t i) { to[i] = one[i] + T(3) * other[i]; });
  });
  return 3.0 * static_cast<double>(n * sizeof(T)) / seconds;
}

/// \param everything maps, too, and not only reductions and the transposition.
template <class T, class Layout>
void matrices(Table& table, const std::string& layout, std::size_t rows, std::size_t columns,
              bool everything) {
  const Space space;
  const Kokkos::View<T**, Layout, Space> a("a", rows, columns);
  const Kokkos::View<T**, Layout, Space> b("b", rows, columns);
  const Kokkos::View<T**, Layout, Space> turned("turned", columns, rows);
  const Kokkos::View<T*, Space> by_row("by row", rows);
  const Kokkos::View<T*, Space> by_column("by column", columns);
  Kokkos::deep_copy(a, T(1) / T(3));
  Kokkos::deep_copy(by_row, T(2));
  const double whole = static_cast<double>(a.size() * sizeof(T));
  const auto name = [&](const char* what) {
    return fmt::format("{} {} {}x{}", what, layout, rows, columns);
  };
  table.add(name("ij->i"), whole, shortest([&] { ein::einsum<"ij->i">(space, a, by_row); }));
  table.add(name("ij->j"), whole, shortest([&] { ein::einsum<"ij->j">(space, a, by_column); }));
  table.add(name("ij->j max"), whole, shortest([&] {
              ein::einsum<"ij->j", ein::Algebra<ein::Identity, ein::Max>>(space, a, by_column);
            }));
  const Kokkos::View<T, Space> all("all");
  table.add(name("ij->"), whole, shortest([&] { ein::einsum<"ij->">(space, a, all); }));
  table.add(name("ij->ji"), 2 * whole, shortest([&] { ein::einsum<"ij->ji">(space, a, turned); }));
  if (!everything) return;
  table.add(name("ij->ij"), 2 * whole, shortest([&] { ein::einsum<"ij->ij">(space, a, b); }));
  table.add(name("ij,i->ij"), 2 * whole,
            shortest([&] { ein::einsum<"ij,i->ij">(space, a, by_row, b); }));
  // b is read and written in place.
  table.add(name("ij,ij->ij"), 3 * whole,
            shortest([&] { ein::einsum<"ij,ij->ij">(space, a, b, b); }));
}

/// A statement of one input and one result of the same extents, run by a plan of one worker.
/// \tparam Tensor  a view of them
template <class Tensor, class Statement, class... Extents>
void statement(Table& table, const std::string& name, const Statement& make, Extents... extents) {
  using T = typename Tensor::non_const_value_type;
  const Tensor x("x", extents...);
  Kokkos::deep_copy(x, T(1) / T(3));
  ein::Program g;
  const auto X = g.template input<T>("X", {static_cast<ein::Extent>(extents)...});
  make(X);
  const auto plan = ein::decompose(g, {.workers = 1});
  ein::Executor executor(plan, Space());
  const double bytes = 2.0 * static_cast<double>(x.size() * sizeof(T));
  table.add(fmt::format("{} {}", name, fmt::join(std::array{extents...}, "x")), bytes,
            shortest([&] {
              const auto done = executor.run(ein::bind(X, x));
              Space().fence();
            }));
}

template <class T>
void programs(Table& table, std::size_t rows, std::size_t columns) {
  using ein::let;
  using ein::labels::i, ein::labels::j;
  using Matrix = Kokkos::View<T**, Right, Space>;
  const auto softmax_of = [](const auto& X) { let<"S">(i, j) = softmax(j)(X(i, j)); };
  statement<Matrix>(table, "softmax", softmax_of, rows, columns);
  const auto squared_relu = [](const auto& X) {
    const auto relu = max(T(3) * X(i, j) + T(1), T(0));
    let<"D">(i, j) = relu * relu;
  };
  statement<Matrix>(table, "max(3x + 1, 0)²", squared_relu, rows, columns);
  const auto four_statements = [](const auto& X) {
    const auto A = let<"A">(i, j) = T(3) * X(i, j);
    const auto B = let<"B">(i, j) = A(i, j) + T(1);
    const auto C = let<"C">(i, j) = max(B(i, j), T(0));
    let<"D">(i, j) = C(i, j) * C(i, j);
  };
  statement<Matrix>(table, "as four statements", four_statements, rows, columns);
}

/// Functions that networks apply to each element.
template <class T>
void functions(Table& table, std::size_t rows, std::size_t columns) {
  using ein::let;
  using ein::labels::i, ein::labels::j;
  using Matrix = Kokkos::View<T**, Right, Space>;
  const auto of = [&](const char* name, const auto& function) {
    statement<Matrix>(
        table, name, [&](const auto& X) { let<"S">(i, j) = function(X(i, j)); }, rows, columns);
  };
  of("exp", [](const auto& x) { return exp(x); });
  of("log(x² + 1)", [](const auto& x) { return log(square(x) + T(1)); });
  of("tanh", [](const auto& x) { return tanh(x); });
  of("sigmoid", [](const auto& x) { return sigmoid(x); });
  of("silu", [](const auto& x) { return silu(x); });
  of("gelu", [](const auto& x) { return gelu(x); });
  of("select(x > 0, x, x/100)", [](const auto& x) { return select(x > T(0), x, T(0.01) * x); });
}

/// Sums of neighbours, with zeros or the other end beyond the sides. \param elements  some of each
template <class T>
void stencils(Table& table, std::size_t elements) {
  using ein::let, ein::zero, ein::periodic;
  using ein::labels::i, ein::labels::j, ein::labels::k;
  const auto sides = static_cast<std::size_t>(std::cbrt(static_cast<double>(elements)));
  const auto five = [](const auto& X) {
    let<"S">(i, j) =
        T(0.25) * (X(zero(i - 1), j) + X(zero(i + 1), j) + X(i, zero(j - 1)) + X(i, zero(j + 1)));
  };
  statement<Kokkos::View<T**, Right, Space>>(table, "5 points, zeros", five, elements / 4000,
                                             std::size_t{4000});
  const auto seven = [](const auto& border) {
    return [=](const auto& X) {
      let<"S">(i, j, k) =
          T(0.4) * X(i, j, k) +
          T(0.1) * (X(border(i - 1), j, k) + X(border(i + 1), j, k) + X(i, border(j - 1), k) +
                    X(i, border(j + 1), k) + X(i, j, border(k - 1)) + X(i, j, border(k + 1)));
    };
  };
  using Cube = Kokkos::View<T***, Right, Space>;
  const auto zeros = seven([](const auto& index) { return zero(index); });
  const auto ends = seven([](const auto& index) { return periodic(index); });
  statement<Cube>(table, "7 points, zeros", zeros, sides, sides, sides);
  statement<Cube>(table, "7 points, periodic", ends, sides, sides, sides);
}

/// Running sums of one row, along rows and across them. \param elements  of each
template <class T>
void scans(Table& table, std::size_t elements) {
  using ein::let, ein::cumsum;
  using ein::labels::i, ein::labels::j;
  using Matrix = Kokkos::View<T**, Right, Space>;
  statement<Kokkos::View<T*, Space>>(
      table, "cumsum", [](const auto& X) { let<"S">(i) = cumsum(i)(X(i)); }, elements);
  statement<Matrix>(
      table, "cumsum(j)", [](const auto& X) { let<"S">(i, j) = cumsum(j)(X(i, j)); },
      elements / 4000, std::size_t{4000});
  statement<Matrix>(
      table, "cumsum(i)", [](const auto& X) { let<"S">(i, j) = cumsum(i)(X(i, j)); },
      elements / 4000, std::size_t{4000});
}

/// Reductions and transpositions of matrices whose rows meet few cache sets, or no line of memory.
template <class T>
void other_matrices(Table& table) {
  using Extents = std::pair<std::size_t, std::size_t>;
  for (const auto& [rows, columns] :
       {Extents{4096, 6144}, {4096, 4096}, {8192, 2048}, {8192, 8192}, {5017, 5017}}) {
    table.set_triad(triad<T>(rows * columns));
    matrices<T, Right>(table, "row-major", rows, columns, false);
    matrices<T, Left>(table, "column-major", rows, columns, false);
  }
}

/// Permutations of row-major tensors of rank 3; of column-major ones they are the same in another
/// order.
template <class T>
void permutations(Table& table) {
  const Space space;
  using Tensor = Kokkos::View<T***, Right, Space>;
  using Extents = std::array<std::size_t, 3>;
  for (const auto& [i, j, k] : {Extents{256, 256, 384}, Extents{512, 64, 768}, {289, 301, 277}}) {
    table.set_triad(triad<T>(i * j * k));
    const Tensor a("a", i, j, k);
    Kokkos::deep_copy(a, T(1) / T(3));
    const auto permute = [&]<ein::fixed_string Statement>(const Tensor& b) {
      table.add(fmt::format("{} {}x{}x{}", Statement.view(), i, j, k),
                2.0 * static_cast<double>(a.size() * sizeof(T)),
                shortest([&] { ein::einsum<Statement>(space, a, b); }));
    };
    permute.template operator()<"ijk->ikj">(Tensor("b", i, k, j));
    permute.template operator()<"ijk->jik">(Tensor("b", j, i, k));
    permute.template operator()<"ijk->jki">(Tensor("b", j, k, i));
    permute.template operator()<"ijk->kij">(Tensor("b", k, i, j));
    permute.template operator()<"ijk->kji">(Tensor("b", k, j, i));
  }
}

/// \param more other extents, among them powers of two, than those of the table in the docs.
template <class T>
int run(std::size_t mebibytes, bool more, const std::string& json) {
  const std::size_t n = (mebibytes << 20) / sizeof(T);
  Table table;
  if (more) {
    other_matrices<T>(table);
    permutations<T>(table);
  } else {
    table.set_triad(triad<T>(n));
    const std::size_t side = 4000;
    matrices<T, Right>(table, "row-major", n / side, side, true);
    matrices<T, Left>(table, "column-major", n / side, side, true);
    programs<T>(table, n / side, side);
    functions<T>(table, n / side, side);
    stencils<T>(table, n);
    scans<T>(table, n);
  }
  if (!json.empty()) std::ofstream(json) << table.json();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string type = "double";
  std::size_t mebibytes = 256;
  bool more = false;
  std::string json;
  CLI::App app("Memory-bound EinSums beside STREAM's triad");
  app.add_option("--type", type)->check(CLI::IsMember({"float", "double"}))->capture_default_str();
  app.add_option("--mebibytes", mebibytes, "of the largest tensor")->capture_default_str();
  app.add_flag("--more", more, "other extents: powers of two, no lines of memory, rank 3");
  app.add_option("--json", json, "a file for the figures");
  CLI11_PARSE(app, argc, argv);
  const Kokkos::ScopeGuard guard(argc, argv);
  return type == "float" ? run<float>(mebibytes, more, json) : run<double>(mebibytes, more, json);
}
