// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of one process, compiled without MPI.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "run/programs.hpp"

#ifdef EINDECOMP_ENABLE_MPI
#error "this test is about the library without MPI"
#endif

using namespace run_test;
using namespace eindecomp::labels;

TEST_CASE("a plan of many workers for this process alone needs no communicator") {
  Program program;
  const auto A = program.input<double>("A", {13, 9});
  const auto B = program.input<double>("B", {9, 11});
  const auto C = let<"C">(i, k) = sum(j)(A(i, j) * B(j, k));
  const auto R = let<"R">(i) = max(k)(C(i, k));
  program.role(i, "batch");
  const Formula<> fa{1};
  const Formula<> fb{2};
  for_each_plan(program, 1, [&](const Plan& plan) {
    CAPTURE(plan.strategy);
    CAPTURE(plan.workers);
    using View = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;
    const View whole = filled<View>(ein::Box{{0, 0}, {13, 9}}, fa);
    const auto run =
        ein::execute(plan, Space(), ein::bind_global(A, whole), ein::bind_generator(B, fb));
    const auto got = on_host(run.gather(R));
    bool right = true;
    for (Extent r = 0; r < 13; ++r) {
      double largest = -1e9;
      for (Extent c = 0; c < 11; ++c) {
        double x = 0;
        for (Extent n = 0; n < 9; ++n) x += fa(r, n) * fb(n, c);
        largest = std::max(largest, x);
      }
      right = right && got(r) == largest;
    }
    CHECK(right);
    CHECK(run.statistics().words_received == 0);
  });
}

TEST_CASE("a plan for several ranks is refused, with what to do") {
  Program program;
  const auto A = program.input<double>("A", {8});
  const auto B = let<"B">(i) = exp(A(i));
  const Plan plan = ein::decompose(program, {.workers = 4});
  std::string message;
  try {
    (void)ein::execute(plan, Space(), ein::bind_generator(A, Formula<>{}));
  } catch (const ein::Error& e) {
    message = e.what();
  }
  CHECK(message.find("the plan is for 4 ranks and is executed by 1") != std::string::npos);
  CHECK(message.find(".ranks = 1") != std::string::npos);
  (void)B;
}

namespace {

int tile_launches = 0;  ///< of kernels that run tile by tile
int interleaved_launches =
    0;  ///< of those whose last call is interleaved with one of the next tile
void kernel_begins(const char* label, const std::uint32_t, std::uint64_t*) {
  if (std::string(label).starts_with("EinDecomp::tiles")) ++tile_launches;
  if (std::string(label) == "EinDecomp::tiles interleaved") ++interleaved_launches;
}

/// Runs a program of one worker as it is and in steps, and compares an element-wise maximum of the
/// difference of a result. \returns how many kernels ran tile by tile.
template <class Result, class... Bindings>
int same_in_steps(const Program& program, const std::vector<ein::StatementSteps>& steps,
                  const Result& result, double bound, const Bindings&... bindings) {
  const Plan whole = ein::decompose(program, {.workers = 1, .cache_bytes = 0});
  const Plan stepped = ein::decompose(program, {.workers = 1, .steps = steps});
  const auto expected = on_host(ein::execute(whole, Space(), bindings...).gather(result));
  tile_launches = 0;
  interleaved_launches = 0;
  Kokkos::Tools::Experimental::set_begin_parallel_for_callback(kernel_begins);
  ein::Executor executor(stepped, Space());
  (void)executor.run(bindings...);
  const int launches = tile_launches;
  const auto got = on_host(executor.run(bindings...).gather(result));
  Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
  CHECK(tile_launches == 2 * launches);
  double difference = 0;
  for (std::size_t n = 0; n < got.span(); ++n) {
    const double one = static_cast<double>(got.data()[n]);
    const double other = static_cast<double>(expected.data()[n]);
    difference = std::max(difference, one == other ? 0.0 : std::abs(one - other));
  }
  CHECK(difference <= bound);
  return launches;
}

}  // namespace

TEST_CASE("a chain of maps in steps runs tile by tile, long rows in pieces") {
  for (const auto& [rows, columns] : {std::pair<Extent, Extent>{7, 9001}, {1, 40007}, {501, 100}}) {
    CAPTURE(rows);
    Program program;
    const auto X = program.input<double>("X", {rows, columns});
    const auto V = program.input<double>("V", {columns});
    const auto A = let<"A">(i, j) = 3.0 * X(i, j);
    const auto B = let<"B">(i, j) = A(i, j) + V(j);
    const auto C = let<"C">(i, j) = max(B(i, j), A(i, j));
    const auto D = let<"D">(i, j) = C(i, j) * C(i, j) - X(i, j);
    const std::string cut = rows == 1 ? "j" : "i";
    using Left = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;
    const Left column_major = filled<Left>(ein::Box{{0, 0}, {rows, columns}}, Formula<>{1});
    const auto v = ein::bind_generator(V, Formula<>{2});
    const std::vector<ein::StatementSteps> steps = {{"A", "D", {{cut, 3}}}};
    CHECK(same_in_steps(program, steps, D, 0, ein::bind_generator(X, Formula<>{1}), v) > 0);
    CHECK(same_in_steps(program, steps, D, 0, ein::bind(X, column_major), v) > 0);
    // What is kept is written as a whole, and read tile by tile all the same.
    program.keep(B);
    CHECK(same_in_steps(program, steps, B, 0, ein::bind_generator(X, Formula<>{1}), v) > 0);
  }
}

TEST_CASE("reductions and maps of one block run tile by tile, products around them do not") {
  Program program;
  const auto Q = program.input<float>("Q", {300, 7});
  const auto K = program.input<float>("K", {150, 7});
  const auto V = program.input<float>("V", {150, 5});
  const auto T = let<"T">(i, j) = sum(k)(Q(i, k) * K(j, k));
  const auto P = let<"P">(i, j) = softmax(j)(T(i, j));
  const auto O = let<"O">(i, m) = sum(j)(P(i, j) * V(j, m));
  const auto of = [](const auto& symbol, int seed) {
    return ein::bind_generator(symbol, [seed](Extent row, Extent column) {
      return static_cast<float>((row * 7 + column * 3 + seed) % 11) / 8.0F;
    });
  };
  // Maximum and exponential, then sum and quotient, which takes the place of T, in either block.
  CHECK(same_in_steps(program, {{"T", "O", {{"i", 2}}}}, O, 1e-5, of(Q, 1), of(K, 2), of(V, 3)) >
        0);
  // One block of few rows is no longer than a tile.
  CHECK(same_in_steps(program, {{"T", "O", {{"i", 50}}}}, O, 1e-5, of(Q, 1), of(K, 2), of(V, 3)) ==
        0);
}

namespace {

/// 1 + x² + x⁴/2, which says that it takes long.
struct Slow {
  static constexpr std::string_view name = "slow";
  static constexpr bool takes_vectors = true;
  static constexpr bool is_compute_bound = true;
  template <class V>
  constexpr V operator()(const V& x) const {
    return 1.0 + x * x * (1.0 + 0.5 * x * x);
  }
};

}  // namespace

TEST_CASE(
    "results larger than the caches are written past them, interleaved with what computes long") {
  const auto launches_interleaved = [](const auto& functor) {
    Program program;
    const auto X = program.input<double>("X", {900, 801});
    const auto Y = let<"Y">(i, j) = map(functor, X(i, j));
    const auto Z = let<"Z">(i, j) = Y(i, j) / (2.0 + Y(i, j));
    CHECK(same_in_steps(program, {{"Y", "Z", {{"i", 5}}}}, Z, 0,
                        ein::bind_generator(X, Formula<>{3})) > 0);
    return interleaved_launches;
  };
  CHECK(launches_interleaved(Slow{}) > 0);
  CHECK(launches_interleaved(ein::Negate{}) == 0);
}

TEST_CASE("interleaved tiles that end on no cache line, the last of one element") {
  Program program;
  const auto X = program.input<double>("X", {2, 1044481});  // 255 tiles of 4096 and one
  const auto Y = let<"Y">(i, j) = map(Slow{}, X(i, j));
  const auto Z = let<"Z">(i, j) = Y(i, j) / (2.0 + Y(i, j));
  CHECK(same_in_steps(program, {{"Y", "Z", {{"i", 2}}}}, Z, 0,
                      ein::bind_generator(X, Formula<>{3})) > 0);
  CHECK(interleaved_launches > 0);
}

namespace {

/// A softmax along rows, in steps or not, of NaN, -inf and numbers.
template <class T>
std::vector<T> softmax_of_anything(Extent rows, Extent columns,
                                   const std::vector<ein::StatementSteps>& steps) {
  Program program;
  const auto X = program.input<T>("X", {rows, columns});
  const auto S = let<"S">(i, j) = softmax(j)(X(i, j));
  const auto x = [](Extent row, Extent column) {
    if (row % 7 == 3 && column % 5 == 1) return -std::numeric_limits<T>::infinity();
    if (row % 11 == 5 && column == row % 13) return std::numeric_limits<T>::quiet_NaN();
    return static_cast<T>((row * 7 + column * 3) % 31) / T(4);
  };
  const Plan plan = ein::decompose(program, {.workers = 1, .steps = steps, .cache_bytes = 0});
  const auto got = on_host(ein::execute(plan, Space(), ein::bind_generator(X, x)).gather(S));
  return {got.data(), got.data() + got.span()};
}

template <class T>
bool same_bits_interleaved(Extent rows, Extent columns) {
  interleaved_launches = 0;
  Kokkos::Tools::Experimental::set_begin_parallel_for_callback(kernel_begins);
  const auto interleaved =
      softmax_of_anything<T>(rows, columns, {{"softmax.max", "S", {{"i", 2}}}});
  Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
  // The maximum of one element is a copy.
  CHECK((interleaved_launches > 0) == (ein::takes_vectors<ein::Exp> && columns > 1));
  const auto whole = softmax_of_anything<T>(rows, columns, {});
  return interleaved.size() == whole.size() &&
         std::memcmp(interleaved.data(), whole.data(), whole.size() * sizeof(T)) == 0;
}

}  // namespace

TEST_CASE("an interleaved softmax is that of its statements one after another, bit for bit") {
  for (const Extent columns : {1, 3, 15, 16, 17, 64, 100, 1000, 4000}) {
    CAPTURE(columns);
    CHECK(same_bits_interleaved<double>(600007 / columns, columns));
    CHECK(same_bits_interleaved<float>(1200007 / columns, columns));
  }
}

namespace {

/// Largest difference between a softmax along rows in steps, so many blocks of rows, and plain
/// loops. \param interleaves whether kernels are interleaved where exponentials take vectors.
template <class T>
double softmax_error(Extent rows, Extent columns, Extent blocks, bool interleaves) {
  Program program;
  const auto X = program.input<T>("X", {rows, columns});
  const auto S = let<"S">(i, j) = softmax(j)(X(i, j));
  const auto x = [](Extent row, Extent column) {
    return static_cast<T>((row * 7 + column * 3) % 31) / T(4);
  };
  const Plan plan =
      ein::decompose(program, {.workers = 1, .steps = {{"softmax.max", "S", {{"i", blocks}}}}});
  interleaved_launches = 0;
  Kokkos::Tools::Experimental::set_begin_parallel_for_callback(kernel_begins);
  const auto run = ein::execute(plan, Space(), ein::bind_generator(X, x));
  Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
  CHECK((interleaved_launches > 0) == (interleaves && ein::takes_vectors<ein::Exp>));
  const auto got = on_host(run.gather(S));
  double error = 0;
  for (Extent r = 0; r < rows; ++r) {
    double sum = 0;
    for (Extent c = 0; c < columns; ++c) sum += std::exp(static_cast<double>(x(r, c)));
    for (Extent c = 0; c < columns; ++c) {
      const double expected = std::exp(static_cast<double>(x(r, c))) / sum;
      error = std::max(error, std::abs(static_cast<double>(got(r, c)) / expected - 1));
    }
  }
  return error;
}

}  // namespace

TEST_CASE("softmax's quotients are interleaved with the next row's exponentials") {
  // Rows that end on no line of memory, one thread's rows odd and even; two rows in a block; rows
  // longer than a tile; rows of which a tile takes several; rows of few elements.
  CHECK(softmax_error<double>(157, 4003, 3, true) <= 1e-13);
  CHECK(softmax_error<float>(271, 4003, 2, true) <= 1e-5);
  CHECK(softmax_error<double>(140, 5000, 70, true) <= 1e-13);
  CHECK(softmax_error<double>(70, 10007, 2, true) <= 1e-13);
  CHECK(softmax_error<double>(30, 20011, 2, false) <= 1e-13);
  CHECK(softmax_error<float>(3001, 400, 5, true) <= 1e-5);
  CHECK(softmax_error<double>(90001, 7, 5, true) <= 1e-13);
  // A block of one row is one tile, and so is none.
  CHECK(softmax_error<double>(2, 300000, 2, false) <= 1e-12);
}

TEST_CASE("softmax of short rows, which begin anywhere in a vector") {
  std::vector<Extent> widths{100, 129};
  for (Extent width = 1; width <= 40; ++width) widths.push_back(width);
  for (const Extent width : widths) {
    CAPTURE(width);
    CHECK(softmax_error<double>(30001 / width, width, 2, false) <= 1e-13);
    CHECK(softmax_error<float>(60001 / width, width, 2, false) <= 1e-5);
  }
  // Past the caches.
  CHECK(softmax_error<float>(36001, 33, 2, true) <= 1e-5);
  CHECK(softmax_error<float>(400003, 3, 2, true) <= 1e-5);
  CHECK(softmax_error<double>(6007, 100, 2, true) <= 1e-13);
}

namespace {

int allocations = 0;  ///< that Kokkos has been told of
void allocated(const Kokkos_Profiling_SpaceHandle, const char*, const void*, const std::uint64_t) {
  ++allocations;
}

}  // namespace

TEST_CASE("from its second run on an executor chooses no kernel and has the memory for tensors") {
  Program program;
  const auto A = program.input<double>("A", {90, 60});
  const auto B = program.input<double>("B", {60, 80});
  const auto C = let<"C">(i, k) = sum(j)(A(i, j) * B(j, k));
  const auto S = let<"S">(i, k) = softmax(k)(C(i, k));
  const auto T = let<"T">(k, i) = S(i, k);
  const auto M = let<"M">(k) = max(i)(T(k, i));
  const auto D = let<"D">(i, l) = min(k)(C(i, k) + S(l, k));
  // Several workers: partial results are combined and blocks copied.
  const Plan plan = ein::decompose(program, {.workers = 4, .ranks = 1});
  using Left = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;
  using Right = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
  const Left a = filled<Left>(ein::Box{{0, 0}, {90, 60}}, Formula<>{1});
  const Left other = filled<Left>(ein::Box{{0, 0}, {90, 60}}, Formula<>{2});
  const Right turned = filled<Right>(ein::Box{{0, 0}, {90, 60}}, Formula<>{2});
  const auto b = ein::bind_generator(B, Formula<>{3});
  ein::Executor executor(plan, Space());
  const auto counted = [&](const auto& bound) {
    const int before = allocations;
    const auto run = executor.run(bound, b);
    const std::pair counts{run.statistics().kernels_prepared, allocations - before};
    return std::pair{counts, std::pair{on_host(run.gather(D))(3, 5), on_host(run.gather(M))(7)}};
  };
  Kokkos::Tools::Experimental::set_allocate_data_callback(allocated);
  const auto first = counted(ein::bind_global(A, a));
  CHECK(first.first.first >= 5);
  CHECK(first.first.second > 0);
  const auto second = counted(ein::bind_global(A, other));
  CHECK(second.first == std::pair<Extent, int>{0, 0});
  // Of other strides all is prepared again, which changes no number and then lasts.
  const auto third = counted(ein::bind_global(A, turned));
  CHECK(third.first.first >= 5);
  CHECK(third.second.first == doctest::Approx(second.second.first));
  CHECK(third.second.second == doctest::Approx(second.second.second));
  CHECK(counted(ein::bind_global(A, turned)).first == std::pair<Extent, int>{0, 0});
  const auto again = counted(ein::bind_global(A, a));
  CHECK(again.second == first.second);
  Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
}

TEST_CASE("tiles by hand of what is looked up are none, and change nothing") {
  Program program;
  const auto T = program.input<double>("T", {10, 4});
  const auto I = program.input<std::int32_t>("I", {64});
  const auto E = let<"E">(b, d) = T(I(b), d);
  const auto R = let<"R">(b, d) = relu(E(b, d));
  const Plan plan = ein::decompose(program, {.workers = 1, .tiles = {{"E", "R", {{"b", 16}}}}});
  const auto run = ein::execute(
      plan, Space(), ein::bind_generator(T, Formula<>{1}),
      ein::bind_generator(I, [](Extent n) { return static_cast<std::int32_t>(n * 7 % 10); }));
  const auto result = run.gather(R);
  bool right = true;
  for (Extent n = 0; n < 64; ++n) {
    for (Extent k = 0; k < 4; ++k) {
      right = right && result(n, k) == std::max(Formula<>{1}(n * 7 % 10, k), 0.0);
    }
  }
  CHECK(right);
}

TEST_CASE("options stand before the bindings or behind, where these are in a vector") {
  Program program;
  const auto X = program.input<double>("X", {8});
  const auto Y = let<"Y">(i) = 2.0 * X(i);
  const Plan plan = ein::decompose(program, {.workers = 1});
  const std::vector<ein::Binding<Space>> all{
      ein::bind_generator(X, [](Extent r) { return 1.0 * r; })};
  const ein::ExecuteOptions options{.chunk = 5};
  CHECK(on_host(ein::execute(plan, Space(), options, all).gather(Y))(7) == 14.0);
  CHECK(on_host(ein::execute(plan, Space(), all, options).gather(Y))(7) == 14.0);
}

TEST_CASE("calls that are computed alike are explained once") {
  Program program;
  const auto A = program.input<double>("A", {64, 64});
  (void)(let<"C">(i, k) = sum(j)(A(i, j) * A(j, k)));
  const Plan plan = ein::decompose(program, {.workers = 4, .ranks = 1});
  ein::Executor executor(plan, Space());
  (void)executor.run(ein::bind_generator(A, Formula<>{1}));
  const std::string text = executor.explain();
  CAPTURE(text);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(text.starts_with("C: algorithm "));
  CHECK(text.ends_with(" (4 calls)\n"));
}

TEST_CASE("a kernel's choice is made again where the BLAS was switched on or off in between") {
  Program program;
  const auto A = program.input<double>("A", {64, 64});
  const auto C = let<"C">(i, k) = sum(j)(A(i, j) * A(j, k));
  const Plan plan = ein::decompose(program, {.workers = 1});
  ein::Executor executor(plan, Space());
  const auto a = ein::bind_generator(A, Formula<>{1});
  CHECK(executor.explain().empty());
  CHECK(executor.run(a).statistics().kernels_prepared == 1);
  CHECK(executor.run(a).statistics().kernels_prepared == 0);
  CHECK(executor.explain().starts_with("C: algorithm gemm"));
  ein::kernel::use_blas = false;
  CHECK(executor.run(a).statistics().kernels_prepared == 1);
  CHECK(executor.explain().starts_with("C: algorithm packed"));
  CHECK(executor.explain().find("calls)") == std::string::npos);
  ein::kernel::use_blas = true;
  CHECK(executor.run(a).statistics().kernels_prepared == 1);
  (void)C;
}

// On three threads, too (CMakeLists.txt): which are given parts that are long enough.
TEST_CASE("index tensors: parts of threads, cut by an index's label and by what is looked up") {
  constexpr Extent rows = 37;
  constexpr Extent width = 70;
  constexpr Extent batch = 61;
  constexpr Extent length = 23;
  Program program;
  const auto T = program.input<double>("T", {rows, width});
  const auto I = program.input<std::int32_t>("I", {batch, length});
  const auto X = program.input<double>("X", {batch, length, width});
  const auto E = let<"E">(d, b, s) = T(I(b, s), d);
  const auto M = let<"M">(d, ein::extent(v, rows)) =
      max(b, s)(ein::where(I(b, s) == v, X(b, s, d)));
  const auto L = let<"L">(ein::extent(v, rows)) =
      log_sum_exp(b, s, d)(ein::where(I(b, s) == v, X(b, s, d)));
  const auto index = [](Extent r, Extent c) {
    return static_cast<std::int32_t>((r * 41 + c * 17) % rows);
  };
  const auto of_x = [](Extent r, Extent c, Extent k) {
    return static_cast<double>((r * 7 + c * 3 + k * 5) % 13);
  };
  const Formula<> of_t{1};
  const auto run =
      ein::execute(ein::decompose(program, {.workers = 1}), Space(), ein::bind_generator(T, of_t),
                   ein::bind_generator(I, index), ein::bind_generator(X, of_x));
  const auto e = on_host(run.gather(E));
  const auto m = on_host(run.gather(M));
  const auto l = on_host(run.gather(L));
  std::vector<double> most(rows * width, -1);
  std::vector<double> sums(rows, 0);
  bool right = true;
  for (Extent r = 0; r < batch; ++r) {
    for (Extent c = 0; c < length; ++c) {
      const Extent at = index(r, c);
      for (Extent k = 0; k < width; ++k) {
        right = right && e(k, r, c) == of_t(at, k);
        double& largest = most[static_cast<std::size_t>(at * width + k)];
        largest = std::max(largest, of_x(r, c, k));
        sums[static_cast<std::size_t>(at)] += std::exp(of_x(r, c, k));
      }
    }
  }
  CHECK(right);
  for (Extent at = 0; at < rows; ++at) {
    CHECK(std::abs(l(at) - std::log(sums[static_cast<std::size_t>(at)])) < 1e-11);
    for (Extent k = 0; k < width; ++k) {
      right = right && m(k, at) == most[static_cast<std::size_t>(at * width + k)];
    }
  }
  CHECK(right);
}
