// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// einsum on views: layouts, constness, ranks, empty views, and what is refused.

#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/kernel/einsum.hpp"
#include "eindecomp/kernel/explain.hpp"
#include "eindecomp/kernel/share_memory.hpp"
#include "support/messages.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

/// Views of the host, for elements are read and written here one by one.
template <class DataType, class Layout = Space::array_layout>
using View = Kokkos::View<DataType, Layout, Space::memory_space>;

/// Element (i,k) of the matrices the tests multiply.
double left(std::size_t i, std::size_t j) { return static_cast<double>((3 * i + j) % 7) - 3.0; }
double right(std::size_t j, std::size_t k) { return static_cast<double>((j + 5 * k) % 9) - 4.0; }

template <class V, class Function>
void fill(const V& view, Function function) {
  for (std::size_t i = 0; i < view.extent(0); ++i) {
    for (std::size_t j = 0; j < view.extent(1); ++j) view(i, j) = function(i, j);
  }
}

template <class V>
void check_product(const V& c, std::size_t length) {
  for (std::size_t i = 0; i < c.extent(0); ++i) {
    for (std::size_t k = 0; k < c.extent(1); ++k) {
      double sum = 0;
      for (std::size_t j = 0; j < length; ++j) sum += left(i, j) * right(j, k);
      REQUIRE(c(i, k) == sum);
    }
  }
}

template <class LayoutA, class LayoutB, class LayoutC>
void check_layouts() {
  const View<double**, LayoutA> a("a", 30, 20);
  const View<double**, LayoutB> b("b", 20, 25);
  const View<double**, LayoutC> c("c", 30, 25);
  fill(a, left);
  fill(b, right);
  const View<const double**, LayoutA> constant = a;
  einsum<"ij,jk->ik">(Space(), constant, b, c);
  check_product(c, 20);

  // The same through views of parts and the transposed string.
  Kokkos::deep_copy(c, 77.0);
  const auto part = [](const auto& view, std::size_t rows, std::size_t columns) {
    return Kokkos::subview(view, std::make_pair(std::size_t{0}, rows),
                           std::make_pair(std::size_t{0}, columns));
  };
  einsum<"jk,ij->ik">(Space(), part(b, 11, 13), part(a, 17, 11), part(c, 17, 13));
  check_product(part(c, 17, 13), 11);
  CHECK(c(17, 0) == 77.0);
  CHECK(c(0, 13) == 77.0);
}

/// output = max(output, first - second): a join that does not commute.
template <fixed_string Text, class First, class Second, class Output>
void keep_larger_difference(const First& first, const Second& second, const Output& output) {
  const std::array<kernel::StridedTensor, 3> views{kernel::StridedTensor::of(first),
                                                   kernel::StridedTensor::of(second),
                                                   kernel::StridedTensor::of(output)};
  const void* const operands[] = {first.data(), second.data()};
  kernel::kernels_of<Space, Sub, Max, double, double>().run(
      Space(),
      kernel::detail::local_einsum(einsum_shape<Text>(), views, std::source_location::current()),
      Sub{}, Max{}, operands, output.data(), kernel::Write::accumulate);
}

/// 70 KiB.
struct Page {
  double numbers[70 * 128];
};
struct DoublePage {
  Page operator()(const Page& page) const {
    Page twice{};
    for (std::size_t n = 0; n < std::size(page.numbers); ++n)
      twice.numbers[n] = 2 * page.numbers[n];
    return twice;
  }
};

}  // namespace

TEST_CASE("every mix of layouts") {
  using Left = Kokkos::LayoutLeft;
  using Right = Kokkos::LayoutRight;
  check_layouts<Left, Left, Left>();
  check_layouts<Left, Left, Right>();
  check_layouts<Left, Right, Left>();
  check_layouts<Left, Right, Right>();
  check_layouts<Right, Left, Left>();
  check_layouts<Right, Left, Right>();
  check_layouts<Right, Right, Left>();
  check_layouts<Right, Right, Right>();
}

TEST_CASE("strided views without a unit stride") {
  const View<double***> a("a", 30, 20, 3);
  const View<double***> b("b", 20, 25, 2);
  const View<double***> c("c", 30, 25, 2);
  const auto middle = Kokkos::subview(a, Kokkos::ALL(), Kokkos::ALL(), 1);
  const auto second = Kokkos::subview(b, Kokkos::ALL(), Kokkos::ALL(), 1);
  const auto target = Kokkos::subview(c, Kokkos::ALL(), Kokkos::ALL(), 1);
  fill(middle, left);
  fill(second, right);
  einsum<"ij,jk->ik">(Space(), middle, second, target);
  check_product(target, 20);
  CHECK(c(3, 3, 0) == 0.0);
}

TEST_CASE("unmanaged memory, ranks 0 to 8, results allocated") {
  std::vector<double> memory(256);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<double>(i);
  const Kokkos::View<double********, Kokkos::LayoutRight, Kokkos::HostSpace,
                     Kokkos::MemoryTraits<Kokkos::Unmanaged>>
      eight(memory.data(), 2, 2, 2, 2, 2, 2, 2, 2);
  const auto total = einsum<"abcdefgh->">(Space(), eight);
  CHECK(total() == 255.0 * 128.0);
  const auto turned = einsum<"abcdefgh->hgfedcba">(Space(), eight);
  CHECK(turned(1, 0, 0, 0, 0, 0, 0, 0) == 1.0);
  CHECK(turned(0, 0, 0, 0, 0, 0, 1, 1) == 192.0);

  const View<double> two("two");
  Kokkos::deep_copy(two, 2.0);
  const auto scaled = einsum<",abcdefgh->ah">(Space(), two, eight);
  CHECK(scaled.extent(0) == 2);
  CHECK(scaled(0, 0) == 2.0 * 64.0 * 63.0);

  const View<int**> numbers("numbers", 4, 4);
  fill(numbers, [](std::size_t i, std::size_t j) { return static_cast<int>(10 * i + j); });
  CHECK(einsum<"ii">(Space(), numbers)() == 66);      // implicit output: the trace
  CHECK(einsum<"ii->i">(Space(), numbers)(3) == 33);  // the diagonal
  CHECK(einsum<"ba">(Space(), numbers)(1, 2) == 21);  // transposed, as NumPy has it
  static_assert(std::is_same_v<decltype(einsum<"ii->i">(Space(), numbers))::value_type, int>);
}

TEST_CASE("without a space, on that of the output or of the first operand") {
  const View<double**> a("a", 3, 4);
  const View<double**> b("b", 4, 2);
  const View<double**> c("c", 3, 2);
  const View<double**> expected("expected", 3, 2);
  fill(a, [](std::size_t i, std::size_t j) { return static_cast<double>(i + 2 * j); });
  fill(b, [](std::size_t i, std::size_t j) {
    return static_cast<double>(3 * i) - static_cast<double>(j);
  });
  const auto equal = [&](const auto& got, double factor) {
    Kokkos::fence();
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 2; ++k) CHECK(got(i, k) == factor * expected(i, k));
    }
  };
  const View<double*> ones("ones", 2);
  Kokkos::deep_copy(ones, 1.0);
  einsum<"ij,jk->ik">(Space(), a, b, expected);
  einsum<"ij,jk->ik">(a, b, c);
  equal(c, 1);
  equal(einsum<"ij,jk->ik">(a, b), 1);
  einsum<"ij,jk,k->ik">(a, b, ones, c);
  equal(c, 1);
  equal(einsum<"ij,jk,k->ik">(a, b, ones), 1);
  einsum<"ij,jk,k,k->ik">(a, b, ones, ones, c);
  equal(c, 1);
  equal(einsum<"ij,jk,k,k->ik">(a, b, ones, ones), 1);
  einsum<"ij,jk->ik">({.alpha = 2.0, .beta = 1.0}, a, b, c);
  equal(c, 3);
  einsum<"ik->ik">({.alpha = 2.0}, expected, c);
  equal(c, 2);
  einsum<"ik->ik", eindecomp::MinPlus>(expected, c);
  equal(c, 1);
  using HostView = Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  static_assert(std::is_same_v<decltype(einsum<"ij">(HostView()))::execution_space,
                               HostView::execution_space>);
  std::uint_least32_t line = 0;
  const std::string refused = message_of([&] {
    line = std::source_location::current().line() + 1;
    einsum<"ij,jk->ik">(a, a, c);
  });
  CHECK(contains(refused, "views.cpp:" + std::to_string(line)));
}

TEST_CASE("other algebras, three operands, mixed types") {
  const View<double**> w("w", 5, 5);
  fill(w, [](std::size_t i, std::size_t j) { return static_cast<double>((7 * i + 3 * j) % 11); });
  const auto paths = einsum<"ij,jk->ik", MinPlus>(Space(), w, w);
  const auto nearest = einsum<"ij,jk->ik", Algebra<Add, ArgMin>>(Space(), w, w);
  static_assert(std::is_same_v<decltype(nearest)::value_type, std::int64_t>);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t k = 0; k < 5; ++k) {
      std::size_t best = 0;
      for (std::size_t j = 1; j < 5; ++j) {
        if (w(i, j) + w(j, k) < w(i, best) + w(best, k)) best = j;
      }
      CHECK(paths(i, k) == w(i, best) + w(best, k));
      CHECK(nearest(i, k) == static_cast<std::int64_t>(best));
    }
  }
  const View<int*> scale("scale", 5);
  for (int i = 0; i < 5; ++i) scale(i) = i + 1;
  const auto mixed = einsum<"ij,j,jk->ik">(Space(), w, scale, w);
  double sum = 0;
  for (std::size_t j = 0; j < 5; ++j) sum += w(1, j) * static_cast<double>(j + 1) * w(j, 2);
  CHECK(mixed(1, 2) == sum);
}

TEST_CASE("an algebra with state, the labels chosen at run time") {
  const View<double**> a("a", 30, 20);
  const View<double**> b("b", 20, 25);
  const View<double**> c("c", 30, 25);
  fill(a, left);
  fill(b, right);
  const EinsumShape spec = eindecomp::einsum_shape("xy,yz->xz");
  einsum_views(Space(), spec, Algebra<ScaledMul<double>, Sum>{{0.5}, {}}, a, b, c);
  for (std::size_t i = 0; i < 30; ++i) {
    for (std::size_t k = 0; k < 25; ++k) c(i, k) *= 2.0;
  }
  check_product(c, 20);
}

TEST_CASE("alpha and beta, on every algorithm") {
  // Sizes for the generic kernel, for one call of the BLAS, for blocks.
  for (const std::size_t size : {3UL, 20UL, 70UL}) {
    for (const double beta : {0.0, 1.0, -2.5}) {
      CAPTURE(size);
      CAPTURE(beta);
      const View<double***> a("a", size, 12, size);
      const View<double***> b("b", size, 12, size);
      const View<double**> c("c", size, size);
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < 12; ++j) {
          for (std::size_t k = 0; k < size; ++k) {
            a(i, j, k) = left(i + j, k);
            b(k, j, i) = right(i + j, k);
          }
        }
      }
      Kokkos::deep_copy(c, beta == 0.0 ? std::numeric_limits<double>::quiet_NaN() : 4.0);
      einsum<"ijk,ljk->il">(Space(), {.alpha = 3.0, .beta = beta}, a, b, c);
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t l = 0; l < size; ++l) {
          double sum = 0;
          for (std::size_t j = 0; j < 12; ++j) {
            for (std::size_t k = 0; k < size; ++k) sum += a(i, j, k) * b(l, j, k);
          }
          REQUIRE(c(i, l) == (beta == 0.0 ? 0.0 : beta * 4.0) + 3.0 * sum);
        }
      }
    }
  }
  const View<int**> from("from", 4, 5);
  const View<int**> into("into", 5, 4);
  fill(from, [](std::size_t i, std::size_t j) { return static_cast<int>(i + 10 * j); });
  Kokkos::deep_copy(into, 100);
  einsum<"ij->ji">(Space(), {.alpha = 2, .beta = 3}, from, into);
  CHECK(into(4, 3) == 300 + 2 * 43);
  const View<double**> square("square", 5, 5);
  CHECK(contains(
      message_of([&] { einsum<"ij,jk->ik">(Space(), {.beta = 1.0}, square, square, square); }),
      "overlaps operand 1"));
  // An operand that is C: read before it is overwritten, but not before it is scaled.
  Kokkos::deep_copy(square, 2.0);
  const View<double**> other("other", 5, 5);
  Kokkos::deep_copy(other, 3.0);
  einsum<"ij,ij->ij">(Space(), {.alpha = 5.0, .beta = 1.0}, other, square, square);
  CHECK(square(4, 4) == 2 + 5 * 3 * 2);
  einsum<"ij->ij">(Space(), {.alpha = 0.5}, square, square);
  CHECK(square(4, 4) == 16);
  CHECK(contains(
      message_of([&] { einsum<"ij,ij->ij">(Space(), {.beta = 2.0}, other, square, square); }),
      "the output (i,j) is operand 2 (i,j) (beta multiplies it before it is read); give "
      "a beta of 0 or 1"));
  CHECK(square(4, 4) == 16);
}

TEST_CASE("explain says algorithm, sizes and reason") {
  const View<double***> a("a", 64, 40, 50);
  const View<double***> b("b", 40, 60, 50);
  const View<double**> c("c", 64, 60);
  const std::string text = explain<"abc,bdc->ad">(Space(), a, b, c);
  CAPTURE(text);
  CHECK(contains(text, "batch 1, M 64, N 60, K 2000"));
  CHECK(explain<"abc,bdc->ad">(a, b, c) == text);
  CHECK(contains(explain<"ab->ba">(c, View<double**>("h", 60, 64)), "algorithm "));
  CHECK(contains(explain<"ab,bc->ac", MinPlus>(Space(), c, View<double**>("e", 60, 64),
                                               View<double**>("f", 64, 64)),
                 "algorithm "));
  if (kernel::blas::available<Space>) CHECK(contains(text, "predicted"));
  CHECK(contains(explain<"ab->a">(Space(), c, View<double*>("g", 64)), "algorithm direct"));
  // A few outputs of one term stay in the caches, and so do many that replace what was read.
  const View<double**> e("e", 1000, 600);
  const View<double*> f("f", 1000);
  CHECK_FALSE(contains(explain<"ab,a->ab">(Space(), c, View<double*>("g", 64), c), "past"));
  CHECK_FALSE(contains(explain<"ab,a->ab">(Space(), e, f, e), "past"));
}

TEST_CASE("copies move runs, gathered runs or planes, by non-temporal stores where there is much") {
  // 4 MiB and more are much; rows that begin on lines of memory or between them.
  const auto check = []<fixed_string Text>(std::size_t m, std::size_t n, std::size_t k,
                                           std::string expected) {
    const View<double***, Kokkos::LayoutRight> a("a", m, n, k);
    constexpr EinsumShape spec = einsum_shape<Text>();
    const std::size_t extent[] = {m, n, k};
    const View<double***, Kokkos::LayoutRight> c("c", extent[spec.output[0]],
                                                 extent[spec.output[1]], extent[spec.output[2]]);
    for (std::size_t i = 0; i < a.size(); ++i) a.data()[i] = static_cast<double>(i);
#if !defined(EINDECOMP_STREAMING_BYTES)
    expected = expected.starts_with("planes") ? "planes transposed in tiles" : "runs";
#endif
    CHECK(explain<Text>(Space(), a, c) == "algorithm copy: " + expected);
    einsum<Text>(Space(), a, c);
    std::size_t wrong = 0;
    std::size_t at[3];
    for (at[0] = 0; at[0] < m; ++at[0]) {
      for (at[1] = 0; at[1] < n; ++at[1]) {
        for (at[2] = 0; at[2] < k; ++at[2]) {
          const double copied = c(at[spec.output[0]], at[spec.output[1]], at[spec.output[2]]);
          wrong += copied != a(at[0], at[1], at[2]) ? 1 : 0;
        }
      }
    }
    CHECK(wrong == 0);
  };
  check.operator()<"ijk->jik">(20, 30, 40, "runs");
  check.operator()<"ijk->jik">(100, 90, 64, "runs, non-temporal stores");
  check.operator()<"ijk->jik">(151, 170, 21, "short runs gathered into lines, non-temporal stores");
  check.operator()<"ijk->kji">(20, 30, 40, "planes transposed in tiles");
  check.operator()<"ijk->jki">(800, 7, 96, "planes transposed in tiles, non-temporal stores");
  check.operator()<"ijk->jki">(797, 7, 99, "planes transposed in tiles, non-temporal stores");
}

TEST_CASE("empty views: nothing to write, or the identity") {
  const View<double**> none("none", 3, 0);
  const View<double**> other("other", 0, 4);
  const View<double**> c("c", 3, 4);
  Kokkos::deep_copy(c, 5.0);
  einsum<"ij,jk->ik">(Space(), none, other, c);
  CHECK(c(2, 3) == 0.0);
  einsum<"ij,jk->ik", MinPlus>(Space(), none, other, c);
  CHECK(c(0, 0) == std::numeric_limits<double>::infinity());
  CHECK(einsum<"ij->">(Space(), none)() == 0.0);
  CHECK(einsum<"ij->j">(Space(), none).extent(0) == 0);
  // An output without elements may have any strides.
  const View<double**> tall("tall", 0, 3);
  CHECK(einsum<"ij,jk->ki", MinPlus>(Space(), tall, View<double**>("wide", 3, 2)).size() == 0);
  const View<double***> cube("cube", 2, 3, 0);
  einsum<"ij,jk->ik">(Space(), {.alpha = 2.0, .beta = 0.5}, View<double**>("two", 2, 4),
                      View<double**>("four", 4, 0),
                      Kokkos::subview(cube, Kokkos::ALL, 1, Kokkos::ALL));
}

TEST_CASE("outputs of one term that are too many for the caches") {
  // 4.5 MiB and more, rows of which begin on lines of memory or between them.
  const auto check = [](auto layout, std::size_t rows, std::size_t columns, auto value) {
    using T = decltype(value);
    using Matrix = Kokkos::View<T**, decltype(layout), Kokkos::HostSpace>;
    const Matrix a("a", rows, columns);
    const Matrix b("b", rows, columns);
    const Kokkos::View<T*, Kokkos::HostSpace> x("x", rows);
    for (std::size_t i = 0; i < rows; ++i) {
      x(i) = static_cast<T>(i % 7) + value;
      for (std::size_t j = 0; j < columns; ++j) a(i, j) = static_cast<T>((i * 31 + j * 17) % 101);
    }
    CHECK(contains(explain<"ij,i->ij">(Space(), a, x, b), "algorithm direct, non-temporal stores"));
    einsum<"ij,i->ij">(Space(), a, x, b);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) wrong += b(i, j) != a(i, j) * x(i) ? 1 : 0;
    }
    CHECK(wrong == 0);
    // Of one term, too, the largest is what the identity and it give.
    einsum<"i,ij->ij", Algebra<Sub, Max>>(Space(), x, a, b);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) wrong += b(i, j) != x(i) - a(i, j) ? 1 : 0;
    }
    CHECK(wrong == 0);
  };
  check(Kokkos::LayoutRight(), 1153, 513, 0.5);
  check(Kokkos::LayoutLeft(), 1153, 513, 0.5);
  check(Kokkos::LayoutRight(), 24, 50001, 0.5F);
  check(Kokkos::LayoutLeft(), 16, 75000, 0.5F);
  // Rows as long as a few vectors or less.
  check(Kokkos::LayoutRight(), 14009, 43, 0.5);
  check(Kokkos::LayoutRight(), 400009, 3, 0.5F);
}

TEST_CASE("products of four operands, each element by itself") {
  using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
  using Vector = Kokkos::View<double*, Kokkos::HostSpace>;
  const Matrix a("a", 9, 7);
  const Matrix b("b", 9, 7);
  const Matrix c("c", 9, 7);
  const Vector x("x", 9);
  const Vector y("y", 7);
  const auto number = [](std::size_t i) { return static_cast<double>(i % 13) - 5; };
  for (std::size_t i = 0; i < 9; ++i) {
    x(i) = number(3 * i);
    for (std::size_t j = 0; j < 7; ++j) {
      y(j) = number(5 * j);
      a(i, j) = number(11 * i + j);
      b(i, j) = number(i + 4 * j);
    }
  }
  einsum<"ij,i,ij,j->ij">(Space(), a, x, b, y, c);
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 7; ++j) CHECK(c(i, j) == a(i, j) * x(i) * b(i, j) * y(j));
  }
}

TEST_CASE("reductions by vectors, of outputs and of terms") {
  // Extents of many panels, parts and vectors, and what remains of each.
  const auto check = []<fixed_string Text>(auto layout, auto value, std::size_t rows,
                                           std::size_t columns, std::string expected) {
    using T = decltype(value);
    const Kokkos::View<T**, decltype(layout), Kokkos::HostSpace> a("a", rows, columns);
    constexpr bool by_row = Text == fixed_string("ij->i");
    const Kokkos::View<T*, Kokkos::HostSpace> b("b", by_row ? rows : columns);
    std::vector<T> sum(b.extent(0), T(0));
    std::vector<T> most(b.extent(0), std::numeric_limits<T>::lowest());
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        a(i, j) = static_cast<T>((i * 31 + j * 17) % 101) - T(20);
        const std::size_t output = by_row ? i : j;
        sum[output] += a(i, j);
        most[output] = std::max(most[output], a(i, j));
      }
    }
#if !defined(EINDECOMP_REGISTER_BYTES)
    expected = expected.substr(0, expected.find(", vectors"));
#endif
    CAPTURE(rows);
    CAPTURE(columns);
    CHECK(explain<Text>(Space(), a, b) == "algorithm " + expected);
    einsum<Text>(Space(), a, b);
    CHECK(std::equal(sum.begin(), sum.end(), b.data()));
    einsum<Text, Algebra<Identity, Max>>(Space(), a, b);
    CHECK(std::equal(most.begin(), most.end(), b.data()));
  };
  const Kokkos::LayoutRight right_most;
  const Kokkos::LayoutLeft left_most;
  check.operator()<"ij->j">(right_most, 0.5, 37, 1031, "direct, vectors of outputs");
  check.operator()<"ij->j">(right_most, 0.5, 3, 5003, "direct, vectors of outputs");
  check.operator()<"ij->j">(right_most, 0.5F, 151, 2077, "direct, vectors of outputs");
  check.operator()<"ij->j">(right_most, std::uint8_t{}, 3, 1999, "direct, vectors of outputs");
  check.operator()<"ij->j">(right_most, std::int8_t{}, 3, 1999, "direct");  // which wraps around
  check.operator()<"ij->j">(right_most, 0.5, 5003, 201, "split, vectors of outputs");
  check.operator()<"ij->j">(right_most, 0.5F, 50021, 13, "split, vectors of outputs");
  check.operator()<"ij->j">(right_most, 0.5, 50021, 3, "split, vectors of outputs");
  check.operator()<"ij->i">(left_most, 0.5, 1031, 37, "direct, vectors of outputs");
  check.operator()<"ij->i">(right_most, 0.5, 777, 301, "direct, vectors of terms");
  check.operator()<"ij->i">(right_most, 0.5F, 777, 35, "direct, vectors of terms");
  check.operator()<"ij->i">(right_most, 0.5F, 777, 5, "direct");
  check.operator()<"ij->i">(right_most, 0.5, 3, 50021, "split, vectors of terms");
}

TEST_CASE("outputs of one term are added to what is there") {
  // Shorter than a vector, as long, with a rest; rows alike and along each other.
  for (const std::size_t n : {1UL, 5UL, 8UL, 16UL, 133UL}) {
    CAPTURE(n);
    const auto number = [](std::size_t i) { return static_cast<double>(i % 23) - 9.5; };
    const View<double*> x("x", n);
    const View<double*> y("y", n);
    for (std::size_t i = 0; i < n; ++i) x(i) = y(i) = number(i);
    einsum<"i->i">(Space(), {.alpha = 2.0, .beta = 1.0}, x, y);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(y(i) == 3.0 * number(i));
    const auto check = [&](auto layout) {
      using Matrix = View<double**, decltype(layout)>;
      const Matrix a("a", 7, n);
      const Matrix b("b", 7, n);
      const View<double*> v("v", 7);
      for (std::size_t i = 0; i < 7; ++i) v(i) = 1.5 * static_cast<double>(i);
      fill(a, left);
      fill(b, right);
      einsum<"i,j->ij">(Space(), {.alpha = -2.0, .beta = 1.0}, v, x, a);
      bool added = true;
      for (std::size_t i = 0; i < 7; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          added = added && a(i, j) == left(i, j) - 2.0 * v(i) * number(j);
        }
      }
      CHECK(added);
      // Its operands each along the output and each the same.
      keep_larger_difference<"i,ij->ij">(v, a, b);
      bool larger = true;
      for (std::size_t i = 0; i < 7; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          larger = larger && b(i, j) == std::max(right(i, j), v(i) - a(i, j));
        }
      }
      CHECK(larger);
      fill(b, right);
      keep_larger_difference<"ij,i->ij">(a, v, b);
      for (std::size_t i = 0; i < 7; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          larger = larger && b(i, j) == std::max(right(i, j), a(i, j) - v(i));
        }
      }
      CHECK(larger);
    };
    check(Kokkos::LayoutRight());
    check(Kokkos::LayoutLeft());
  }
}

TEST_CASE("in place where that is right") {
  const View<double**> a("a", 20, 20);
  fill(a, left);
  einsum<"ij,ij->ij">(Space(), a, a, a);
  CHECK(a(3, 4) == left(3, 4) * left(3, 4));
  const View<double*> v("v", 20);
  Kokkos::deep_copy(v, 2.0);
  einsum<"ij,j->ij">(Space(), a, v, a);
  CHECK(a(3, 4) == 2.0 * left(3, 4) * left(3, 4));
}

TEST_CASE("an index along several labels is refused") {
  const View<double***> a("a", 4, 3, 5);
  const View<std::int64_t*> best("best", 3);
  CHECK(contains(message_of([&] {
                   einsum_views(Space(), einsum_shape<"ijk->j">(), Algebra<Identity, ArgMin>{}, a,
                                best);
                 }),
                 "an aggregation that gives an index along one label is given 2 of them"));
}

TEST_CASE("elements larger than a stack has room for many are mapped") {
  const View<Page**, Kokkos::LayoutRight> pages("pages", 6, 5);
  const View<Page**, Kokkos::LayoutRight> doubled("doubled", 5, 6);
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 5; ++j) pages(i, j).numbers[7] = static_cast<double>(10 * i + j);
  }
  einsum<"ij->ji", Algebra<DoublePage, NoAggregation>>(Space(), pages, doubled);
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      CHECK(doubled(j, i).numbers[7] == 2 * pages(i, j).numbers[7]);
    }
  }
}

TEST_CASE("memory is shared where an element is") {
  using eindecomp::kernel::overlaps_itself;
  using eindecomp::kernel::share_memory;
  using eindecomp::kernel::StridedTensor;
  std::mt19937 random(20261130);
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  std::vector<char> memory(4096);
  int shared = 0;
  int apart = 0;
  for (int n = 0; n < 4000; ++n) {
    CAPTURE(n);
    StridedTensor views[2];
    std::vector<bool> bytes[2];
    for (int t = 0; t < 2; ++t) {
      StridedTensor& view = views[t];
      const int offset = draw(1500, 1540);
      view.data = memory.data() + offset;
      const bool is_like = t == 1 && n % 2 == 1;  // of the same array, perhaps
      view.element_bytes = is_like ? views[0].element_bytes : draw(1, 9);
      view.rank = is_like ? views[0].rank : draw(0, 3);
      bytes[t].resize(memory.size());
      for (int k = 0; k < view.rank; ++k) {
        view.extent[k] = draw(1, 4);
        view.stride[k] = is_like ? views[0].stride[k] : draw(-6, 14);
      }
      for (Extent i = 0; i < (view.rank > 0 ? view.extent[0] : 1); ++i) {
        for (Extent j = 0; j < (view.rank > 1 ? view.extent[1] : 1); ++j) {
          for (Extent k = 0; k < (view.rank > 2 ? view.extent[2] : 1); ++k) {
            const Extent at = i * view.stride[0] + j * view.stride[1] + k * view.stride[2];
            for (Extent b = 0; b < view.element_bytes; ++b) {
              bytes[t][static_cast<std::size_t>(offset + at * view.element_bytes + b)] = true;
            }
          }
        }
      }
    }
    bool expected = false;
    for (std::size_t b = 0; b < memory.size(); ++b) expected |= bytes[0][b] && bytes[1][b];
    REQUIRE(share_memory(views[0], views[1]) == expected);
    ++(expected ? shared : apart);
    // Without the bytes of neighbours, an element is a place.
    std::set<Extent> places;
    StridedTensor& view = views[0];
    Extent elements = 1;
    for (int k = 0; k < view.rank; ++k) elements *= view.extent[k];
    for (Extent e = 0; e < elements; ++e) {
      Extent rest = e;
      Extent at = 0;
      for (int k = 0; k < view.rank; ++k) {
        at += rest % view.extent[k] * view.stride[k];
        rest /= view.extent[k];
      }
      places.insert(at);
    }
    REQUIRE(overlaps_itself(view) == (std::ssize(places) < elements));
    const auto begin = reinterpret_cast<std::uintptr_t>(view.data);
    REQUIRE(view.begin() ==
            begin + static_cast<std::uintptr_t>(*places.begin() * view.element_bytes));
    REQUIRE(view.end() ==
            begin + static_cast<std::uintptr_t>((*places.rbegin() + 1) * view.element_bytes));
  }
  CHECK(shared > 500);
  CHECK(apart > 500);
  // Parts of one array: components, columns, and what interleaves.
  const View<double***> pairs("pairs", 4, 5, 2);
  const auto first = Kokkos::subview(pairs, Kokkos::ALL, Kokkos::ALL, 0);
  const auto second = Kokkos::subview(pairs, Kokkos::ALL, Kokkos::ALL, 1);
  Kokkos::deep_copy(pairs, 3.0);
  einsum<"ij->ij">(Space(), first, second);
  einsum<"ij,ij->ij">(Space(), first, first, second);
  CHECK(second(3, 4) == 9.0);
  CHECK(first(3, 4) == 3.0);
  // However many there are: of 100,000 x 2 and of 300 x 300 x 2 elements, columns of 12,000 rows.
  const View<double**> many("many", 100000, 2);
  einsum<"i->i">(Space(), Kokkos::subview(many, Kokkos::ALL, 0),
                 Kokkos::subview(many, Kokkos::ALL, 1));
  const View<double***> planes("planes", 300, 300, 2);
  einsum<"ij->ij">(Space(), Kokkos::subview(planes, Kokkos::ALL, Kokkos::ALL, 0),
                   Kokkos::subview(planes, Kokkos::ALL, Kokkos::ALL, 1));
  const View<double**, Kokkos::LayoutRight> columns("columns", 12000, 6);
  einsum<"ij->ij">(Space(), Kokkos::subview(columns, Kokkos::ALL, std::pair(0, 3)),
                   Kokkos::subview(columns, Kokkos::ALL, std::pair(3, 6)));
}

TEST_CASE("outputs that are read or written elsewhere are refused, whichever way they go") {
  std::vector<double> memory(1000);
  using Strided = View<double*, Kokkos::LayoutStride>;
  const Strided backwards(memory.data() + 998, Kokkos::LayoutStride(999, -1));
  const Strided forwards(memory.data() + 1, Kokkos::LayoutStride(999, 1));
  CHECK(contains(message_of([&] { einsum<"i->i">(Space(), backwards, forwards); }),
                 "the output (i) overlaps operand 1 (i) in memory"));
  const Strided behind(memory.data() + 499, Kokkos::LayoutStride(500, -1));
  const Strided before(memory.data() + 500, Kokkos::LayoutStride(500, 1));
  memory[0] = 3;
  einsum<"i->i">(Space(), behind, before);
  CHECK(memory[999] == 3);

  const View<double**> a("a", 5, 5);
  const View<double**, Kokkos::LayoutStride> hankel(memory.data(),
                                                    Kokkos::LayoutStride(5, 1, 5, 1));
  CHECK(contains(message_of([&] { einsum<"ij->ij">(Space(), a, hankel); }),
                 "the output (i,j) has elements that share a place in memory (its strides are "
                 "1, 1)"));
  // Also where an aggregation over nothing leaves nothing but beta to be done.
  const View<double**> narrow("narrow", 5, 0);
  CHECK(contains(message_of([&] {
                   einsum<"ik,jk->ij">(Space(), {.alpha = 1, .beta = 2}, narrow, narrow, hankel);
                 }),
                 "has elements that share a place in memory"));
  const View<double**, Kokkos::LayoutStride> woven(memory.data(), Kokkos::LayoutStride(2, 3, 3, 2));
  einsum<"ij->ij">(Space(), Kokkos::subview(a, std::pair(0, 2), std::pair(0, 3)), woven);
}

TEST_CASE("strings made at run time keep to the rules") {
  const auto here = std::source_location::current();
  for (const auto& [text, sentence] : std::vector<std::pair<std::string, std::string>>{
           {"ij->ii", "is repeated in the output"},
           {"i(j+1)->ij", "has an index in parentheses"},
           {"ij->i?", "'?'"},
           {"a,b,c,d,e,f,g,h,i->a", "has more than 8 operands"}}) {
    CAPTURE(text);
    const std::string message = message_of([&, t = text] { (void)einsum_shape(t, here); });
    CHECK(contains(message, sentence));
    CHECK(contains(message, "views.cpp:" + std::to_string(here.line())));
  }
}

TEST_CASE("a workspace may begin anywhere, and says where it has to") {
  const View<double**> a("a", 200, 300);
  const View<double**> b("b", 300, 250);
  const View<double**> c("c", 200, 250);
  Kokkos::deep_copy(a, 1.0);
  Kokkos::deep_copy(b, 2.0);
  const auto bytes =
      static_cast<std::size_t>(workspace_bytes<"ij,jk->ik", MinPlus>(Space(), a, b, c));
  const Workspace<Space> memory("memory", bytes + 128);
  for (std::size_t skipped : {0U, 1U, 8U, 63U}) {
    const ScopedWorkspace<Space> scope(memory.data() + skipped, bytes + 64);
    einsum<"ij,jk->ik", MinPlus>(Space(), a, b, c);
    CHECK(c(199, 249) == 3.0);
  }
  {
    const ScopedWorkspace<Space> scope{Workspace<Space>(memory)};  // of a view that is gone
    CHECK(memory.use_count() == 2);
    CHECK(scope.data() == memory.data());
    CHECK(scope.bytes() == bytes + 128);
  }
  CHECK(memory.use_count() == 1);
  const ScopedWorkspace<Space> scope(memory.data() + 8, bytes);
  CHECK(contains(message_of([&] { einsum<"ij,jk->ik", MinPlus>(Space(), a, b, c); }),
                 "from a multiple of 64 on"));
}

TEST_CASE("results that no memory holds are an error of the library's at the caller's line") {
  double number = 2;
  using Strided = View<double*, Kokkos::LayoutStride>;
  const Strided long_one(&number, Kokkos::LayoutStride(std::size_t{1} << 24, 0));
  const Strided longer(&number, Kokkos::LayoutStride(std::size_t{1} << 40, 0));
  const std::string message =
      message_of([&] { (void)einsum<"i,j->ij">(Space(), long_one, long_one); });
  CHECK(contains(message, "the output (i,j) of 16777216 x 16777216 could not be allocated"));
  CHECK(contains(message, "views.cpp"));
  CHECK(contains(message_of([&] { (void)einsum<"i,j->ij">(Space(), longer, longer); }),
                 "it has more than 2^57 elements"));
  // Nothing is as much of it as nothing else.
  const View<double*> none("none", 0);
  const Strided long_enough(&number, Kokkos::LayoutStride(std::size_t{1} << 30, 0));
  CHECK(einsum<"i,j,k->ijk">(Space(), long_enough, long_enough, none).size() == 0);
}

TEST_CASE("what is refused names the label, the extents, the operands and the caller's line") {
  const View<double**> a("a", 4, 5);
  const View<double**> b("b", 6, 7);
  const View<double**> c("c", 4, 7);
  std::uint_least32_t line = 0;
  const std::string differ = message_of([&] {
    line = std::source_location::current().line() + 1;
    einsum<"ij,jk->ik">(Space(), a, b, c);
  });
  CAPTURE(differ);
  CHECK(contains(differ, "EinDecomp: label 'j' is 5 in operand 1 (i,j) and 6 in operand 2 (j,k)"));
  CHECK(contains(differ, "views.cpp:" + std::to_string(line)));

  const View<double**> fitting("fitting", 5, 7);
  const View<double**> small("small", 4, 1);
  CHECK(contains(message_of([&] { einsum<"ij,jk->ik">(Space(), a, fitting, small); }),
                 "label 'k' is 7 in operand 2 (j,k) and 1 in the output (i,k)"));
  CHECK(contains(message_of([&] { (void)einsum<"ii->">(Space(), a); }),
                 "label 'i' is 4 in operand 1 (i,i) and 5 in operand 1 (i,i)"));

  const View<double**> square("square", 5, 5);
  CHECK(contains(message_of([&] { einsum<"ij,jk->ik">(Space(), square, square, square); }),
                 "the output (i,k) overlaps operand 1 (i,j) in memory"));
  CHECK(contains(message_of([&] { einsum<"ij->ji">(Space(), square, square); }), "overlaps"));
  // Neighbours in memory that do not overlap are fine.
  const View<double***, Kokkos::LayoutRight> pair("pair", 2, 5, 5);
  CHECK(message_of([&] {
          einsum<"ij->ji">(Space(), Kokkos::subview(pair, 0, Kokkos::ALL(), Kokkos::ALL()),
                           Kokkos::subview(pair, 1, Kokkos::ALL(), Kokkos::ALL()));
        }) == "no error");
  const auto shifted = [&](std::size_t first) {
    return Kokkos::subview(pair, 0, std::make_pair(first, first + 3), Kokkos::ALL());
  };
  CHECK(
      contains(message_of([&] { einsum<"ij->ij">(Space(), shifted(0), shifted(1)); }), "overlaps"));

  // A view over memory that is not there.
  const Kokkos::View<double**, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>> null(nullptr, 5, 5);
  const std::string null_operand = "operand 1 (i,j) is a null view of 5 x 5 (it has no memory)";
  const std::string null_output = "the output (i,k) is a null view of 5 x 5 (it has no memory)";
  const auto product = [&](const auto& left, const auto& output) {
    return message_of([&] { einsum<"ij,jk->ik">(Space(), left, square, output); });
  };
  const auto scaled = [&](const auto& left, const auto& output) {
    return message_of(
        [&] { einsum<"ij,jk->ik">(Space(), {.alpha = 2.0, .beta = 1.0}, left, square, output); });
  };
  const View<double**> into("into", 5, 5);
  CHECK(contains(product(null, into), null_operand));
  CHECK(contains(product(square, null), null_output));
  CHECK(contains(scaled(null, into), null_operand));
  CHECK(contains(scaled(square, null), null_output));
  CHECK(contains(message_of([&] { (void)einsum<"ij,jk->ik">(Space(), null, square); }),
                 null_operand));
  const auto needed = [&] {
    return message_of([&] { (void)workspace_bytes<"ij,jk->ik">(Space(), square, square, null); });
  };
  CHECK(contains(needed(), null_output));
  // Of no elements there is nothing to allocate.
  CHECK(message_of([&] {
          einsum<"ij,jk->ik">(Space(), View<double**>("none", 0, 5), square,
                              View<double**>("none", 0, 5));
        }) == "no error");
  {
    const eindecomp::ScopedWorkspace<Space> nothing(nullptr, std::size_t{1} << 30);
    const View<double**> large("large", 200, 200);
    CHECK(contains(message_of([&] { (void)einsum<"ij,jk->ik", MinPlus>(Space(), large, large); }),
                   "and is given 0"));
  }

  const View<double*> four("four", 4);
  CHECK(contains(message_of([&] { einsum<"i,j,ij->i">(Space(), four, four, a, four); }),
                 "label 'j' is 4 in operand 2 (j) and 5 in operand 3 (i,j)"));

  const EinsumShape three = eindecomp::einsum_shape("i,i,i->i");
  const View<double*> v("v", 3);
  CHECK(contains(message_of([&] { einsum_views(Space(), three, PlusTimes{}, v, v, v); }),
                 "the string has 3 operands but 2 views were given"));
  const EinsumShape matrix = eindecomp::einsum_shape("ij->i");
  const std::string refused = message_of([&] { einsum_views(Space(), matrix, PlusTimes{}, v, v); });
  CHECK(contains(refused, "views.cpp:" + std::to_string(__LINE__ - 1)));
  CHECK(contains(refused, "operand 1 (i,j) has 2 labels but its view has rank 1"));
  const View<double*, Kokkos::LayoutStride> same(v.data(), Kokkos::LayoutStride(4, 0));
  CHECK(contains(message_of([&] { einsum<"ij->i">(Space(), a, same); }),
                 "the elements of the output along label 'i' share one place"));

  const EinsumShape many = eindecomp::einsum_shape("abcdefgh,ijklmnop,qrstuvwx,y->y");
  const std::array<kernel::StridedTensor, 5> views{};
  CHECK(contains(message_of([&] {
                   (void)kernel::detail::local_einsum(many, views, std::source_location::current());
                 }),
                 "the string has 25 labels (a kernel has at most 24)"));
}

TEST_CASE("alpha and beta, the labels chosen at run time, the output last") {
  const View<double**> a("a", 3, 4);
  const View<double**> b("b", 4, 5);
  const View<double**> c("c", 3, 5);
  Kokkos::deep_copy(a, 1.0);
  Kokkos::deep_copy(b, 2.0);
  Kokkos::deep_copy(c, 5.0);
  einsum_scaled(Space(), eindecomp::einsum_shape("ij,jk->ik"), {.alpha = 3.0, .beta = 2.0}, a, b,
                c);
  CHECK(c(2, 4) == 2 * 5.0 + 3 * 4 * 2.0);
  CHECK(a(2, 3) == 1.0);
  const View<double*> v("v", 5);
  const View<double*> y("y", 3);
  Kokkos::deep_copy(v, 0.5);
  Kokkos::deep_copy(y, 7.0);
  einsum_scaled(Space(), eindecomp::einsum_shape("ij,jk,k->i"), {.alpha = 3.0, .beta = 2.0}, a, b,
                v, y);
  CHECK(y(2) == 2 * 7.0 + 3 * 4 * 5 * 2.0 * 0.5);
}

TEST_CASE("whatever is asked of an EinSum, its errors are those of einsum at the caller's line") {
  const View<double**> a("a", 4, 5);
  const View<double**> b("b", 6, 7);
  const View<double**> c("c", 4, 7);
  const View<double*> v("v", 5);
  const auto check = [](std::uint_least32_t line, const std::string& message,
                        const std::string& expected) {
    CAPTURE(message);
    CHECK(contains(message, "EinDecomp: label " + expected));
    CHECK(contains(message, "views.cpp:" + std::to_string(line)));
  };
  const auto here = [](std::source_location where = std::source_location::current()) {
    return where.line();
  };
  const std::string of_j = "'j' is 5 in operand 1 (i,j) and 6 in operand 2 (j,k)";
  const std::string of_i = "'i' is 4 in operand 1 (i,j) and 5 in the output (i)";
  // clang-format off
  check(here(), message_of([&] { einsum<"ij->i">(Space(), a, v); }), of_i);
  check(here(), message_of([&] { (void)einsum<"ij,jk->ik">(Space(), a, b); }), of_j);
  check(here(), message_of([&] { (void)einsum<"ij,jk->ik", MinPlus>(Space(), a, b); }), of_j);
  check(here(), message_of([&] { einsum<"ij->i">(Space(), {.alpha = 2.0}, a, v); }), of_i);
  check(here(), message_of([&] { einsum<"ij,jk->ik">(Space(), {.beta = 2.0}, a, b, c); }), of_j);
  check(here(), message_of([&] { (void)workspace_bytes<"ij->i">(Space(), a, v); }), of_i);
  check(here(), message_of([&] { (void)workspace_bytes<"ij,jk->ik">(Space(), a, b, c); }), of_j);
  check(here(), message_of([&] { (void)explain<"ij->i">(Space(), a, v); }), of_i);
  check(here(), message_of([&] { (void)explain<"ij,jk->ik">(Space(), a, b, c); }), of_j);
  // clang-format on
}
