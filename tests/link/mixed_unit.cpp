// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every translation unit of mixed_main.cpp's program does, each compiled for another machine
// (see CMakeLists.txt). Signatures that are compiled apart, and one of our own; every kind of code
// whose vectors are as wide as the machine's: packed products, transpositions, maps, reductions,
// streaming stores. The checks are each unit's own, what they call has one name in all.

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <eindecomp/eindecomp.hpp>

namespace ein = eindecomp;

namespace mixed {

/// a - a·b: no signature of ours is compiled apart. The same type in all units.
struct Rest {
  template <class A, class B>
  constexpr auto operator()(const A& a, const B& b) const {
    return a - a * b;
  }
};

}  // namespace mixed

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Space>;

template <class T>
Matrix<T> fill(int rows, int columns, int step) {
  const Matrix<T> matrix("matrix", static_cast<std::size_t>(rows),
                         static_cast<std::size_t>(columns));
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j)
      matrix(i, j) = static_cast<T>((i * step + j * 3) % 17 - 8) / 8;
  }
  return matrix;
}

/// Counts what differs from expected(i, j), by more than roundings.
template <class T, class Expected>
int differing(const char* what, const Matrix<T>& matrix, const Expected& expected) {
  int wrong = 0;
  for (std::size_t i = 0; i < matrix.extent(0); ++i) {
    for (std::size_t j = 0; j < matrix.extent(1); ++j) {
      if (!(std::abs(matrix(i, j) - expected(i, j)) < T(1e-3))) ++wrong;
    }
  }
  if (wrong > 0) std::printf("%s: %d of %zu elements are wrong\n", what, wrong, matrix.size());
  return wrong;
}

/// Products of 67 x 91 by 91 x 53 over any algebra, of which all but the shape comes from it.
template <class Algebra, class Join, class Add>
int check_product(const char* what, double start, const Join& join, const Add& add) {
  const Space space;
  const auto a = fill<double>(67, 91, 7);
  const auto b = fill<double>(91, 53, 5);
  const Matrix<double> c("c", 67, 53);
  const std::int64_t bytes = ein::workspace_bytes<"ij,jk->ik", Algebra>(space, a, b, c);
  const ein::Workspace<Space> workspace("workspace", static_cast<std::size_t>(bytes));
  const ein::ScopedWorkspace<Space> scope(workspace);
  if (bytes > 0) {
    // One less is refused, so the kernels, wherever compiled, find the workspace of this unit.
    const ein::ScopedWorkspace<Space> less(workspace.data(), workspace.size() - 1);
    try {
      ein::einsum<"ij,jk->ik", Algebra>(space, a, b, c);
      std::printf("%s: a workspace too small is not refused\n", what);
      return 1;
    } catch (const ein::Error&) {
    }
  }
  ein::einsum<"ij,jk->ik", Algebra>(space, a, b, c);
  return differing(what, c, [&](std::size_t i, std::size_t k) {
    double sum = start;
    for (std::size_t j = 0; j < 91; ++j) sum = add(sum, join(a(i, j), b(j, k)));
    return sum;
  });
}

int check_products() {
  const auto plus = [](double x, double y) { return x + y; };
  const auto least = [](double x, double y) { return x < y ? x : y; };
  const auto times = [](double x, double y) { return x * y; };
  const auto rest = [](double x, double y) { return x - x * y; };
  return check_product<ein::PlusTimes>("product", 0, times, plus) +
         check_product<ein::MinPlus>("min-plus", 1e9, plus, least) +
         check_product<ein::Algebra<mixed::Rest, ein::Sum>>("own functor", 0, rest, plus);
}

/// Products of rows that overlap: with fused multiplications dots, which need no workspace.
int check_dots() {
  const ein::Extent columns = 1024;
  const Kokkos::View<double*, Space> signal("signal", 64 + columns);
  for (std::size_t n = 0; n < signal.size(); ++n) signal(n) = static_cast<double>(n % 13) / 8;
  const Kokkos::View<double**, Kokkos::LayoutStride, Space> a(
      signal.data(), Kokkos::LayoutStride(64, 1, columns, 1));
  const auto b = fill<double>(8, columns, 5);
  const Matrix<double> c("c", 64, 8);
  ein::einsum<"ik,jk->ij">(Space(), a, b, c);
  return differing("windows times filters", c, [&](std::size_t i, std::size_t j) {
    double sum = 0;
    for (std::size_t k = 0; k < b.extent(1); ++k) sum += a(i, k) * b(j, k);
    return sum;
  });
}

int check_scaled() {
  const auto a = fill<double>(67, 91, 7);
  const auto b = fill<double>(91, 53, 5);
  const auto c = fill<double>(67, 53, 1);
  const auto before = fill<double>(67, 53, 1);
  ein::einsum<"ij,jk->ik">(Space(), {.alpha = 2.0, .beta = 3.0}, a, b, c);
  return differing("scaled product", c, [&](std::size_t i, std::size_t k) {
    double sum = 0;
    for (std::size_t j = 0; j < 91; ++j) sum += a(i, j) * b(j, k);
    return 3 * before(i, k) + 2 * sum;
  });
}

/// 4.8 MB, by non-temporal stores.
int check_maps() {
  const Space space;
  const auto a = fill<float>(1201, 1003, 7);
  const Matrix<float> t("t", 1003, 1201);
  ein::einsum<"ij->ji">(space, a, t);
  const Matrix<float> e("e", 1201, 1003);
  ein::einsum<"ij->ij", ein::Algebra<ein::Exp, ein::NoAggregation>>(space, a, e);
  const auto sums = ein::einsum<"ij->i">(space, a);
  const Matrix<float> s("s", 1201, 1);
  for (std::size_t i = 0; i < 1201; ++i) s(i, 0) = sums(i);
  return differing("transposition", t, [&](std::size_t i, std::size_t j) { return a(j, i); }) +
         differing("exponential", e,
                   [&](std::size_t i, std::size_t j) { return std::exp(a(i, j)); }) +
         differing("sum of rows", s, [&](std::size_t i, std::size_t) {
           float sum = 0;
           for (std::size_t j = 0; j < a.extent(1); ++j) sum += a(i, j);
           return sum;
         });
}

/// softmax of a product, planned and run.
int check_program() {
  using namespace ein::labels;
  ein::Program g;
  auto X = g.input<float>("X", {301, 64});
  auto Y = g.input<float>("Y", {64, 157});
  auto H = ein::let<"H">(i, k) = ein::sum(j)(X(i, j) * Y(j, k));
  auto S = ein::let<"S">(i, k) = ein::softmax(k)(H(i, k));
  auto R = ein::let<"R">(i) = ein::sum(j)(ein::join(mixed::Rest{}, X(i, j), X(i, j)));
  const auto x = fill<float>(301, 64, 7);
  const auto y = fill<float>(64, 157, 5);
  const auto plan = ein::decompose(g, {.workers = 2, .ranks = 1});
  const auto run = ein::execute(plan, Kokkos::DefaultExecutionSpace(), ein::bind_global(X, x),
                                ein::bind_global(Y, y));
  const auto s = run.gather(S);
  const Matrix<float> found("found", 301, 157);
  const Matrix<double> part("part", 301, 157);
  const Matrix<double> whole("whole", 301, 1);
  for (std::size_t r = 0; r < 301; ++r) {
    for (std::size_t c = 0; c < 157; ++c) {
      double h = 0;
      for (std::size_t m = 0; m < 64; ++m) h += static_cast<double>(x(r, m) * y(m, c));
      part(r, c) = std::exp(h);
      whole(r, 0) += part(r, c);
      found(r, c) = s(r, c);
    }
  }
  const auto r = run.gather(R);
  const Matrix<float> rests("rests", 301, 1);
  for (std::size_t i = 0; i < 301; ++i) rests(i, 0) = r(i);
  const int wrong = differing("own functor in a program", rests, [&](std::size_t i, std::size_t) {
    float sum = 0;
    for (std::size_t j = 0; j < 64; ++j) sum += x(i, j) - x(i, j) * x(i, j);
    return sum;
  });
  return wrong + differing("softmax", found, [&](std::size_t r, std::size_t c) {
           return static_cast<float>(part(r, c) / whole(r, 0));
         });
}

/// \returns how many elements are wrong.
int check_all() {
  return check_products() + check_dots() + check_scaled() + check_maps() + check_program();
}

}  // namespace

int MIXED_UNIT() { return check_all(); }
