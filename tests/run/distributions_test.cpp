// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors that lie as the user has them: brought from one distribution to another, bound to
// programs, and results brought back. Words are those that MPI is told, and those that are
// predicted.

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/run/redistribute.hpp"
#include "run/programs.hpp"
#include "support/cases.hpp"
#include "support/pmpi_counter.hpp"
#include "support/random_distribution.hpp"

using namespace run_test;
using namespace eindecomp::labels;
using ein::Distribution;
using eindecomp_tests::for_each_element;
using eindecomp_tests::random_cases;
using eindecomp_tests::random_distribution;

namespace {

using Index = std::vector<Extent>;
template <class T>
using StridedMatrix = Kokkos::View<T**, Kokkos::LayoutStride, Space>;

template <class Random>
Extent pick(Random& random, Extent n) {
  return std::uniform_int_distribution<Extent>(0, n - 1)(random);
}

/// A view of any strides: either order, its rows or columns apart or not.
template <class T, class Random>
StridedMatrix<T> any_view(Random& random, const Index& extents) {
  const auto gap = static_cast<std::size_t>(pick(random, 3));
  const auto rows = static_cast<std::size_t>(extents[0]);
  const auto columns = static_cast<std::size_t>(extents[1]);
  if (pick(random, 2) == 0) {
    const Kokkos::View<T**, Kokkos::LayoutLeft, Space> all("test::array", rows + gap, columns);
    return Kokkos::subview(all, std::pair<std::size_t, std::size_t>(0, rows), Kokkos::ALL());
  }
  const Kokkos::View<T**, Kokkos::LayoutRight, Space> all("test::array", rows, columns + gap);
  return Kokkos::subview(all, Kokkos::ALL(), std::pair<std::size_t, std::size_t>(0, columns));
}

/// This rank's arrays of a matrix in a distribution, with the formula's values or zeros.
template <class T, class Random>
std::vector<StridedMatrix<T>> arrays(Random& random, const Distribution& distribution, int rank,
                                     const Formula<T>* formula = nullptr) {
  std::vector<StridedMatrix<T>> views;
  for (const ein::LocalArray& array : distribution.arrays(rank)) {
    views.push_back(any_view<T>(random, array.extents()));
    if (formula == nullptr) continue;
    for_each_element(array, [&](const Index& global, const Index& local) {
      views.back()(local[0], local[1]) = (*formula)(global[0], global[1]);
    });
  }
  return views;
}

/// Whether arrays in a distribution have the values of a function of the index.
template <class View, class F>
bool right(const Distribution& distribution, int rank, const std::vector<View>& views,
           const F& expected) {
  bool all = true;
  for (std::size_t n = 0; n < views.size(); ++n) {
    for_each_element(distribution.arrays(rank)[n], [&](const Index& global, const Index& local) {
      all = all && views[n](local[0], local[1]) == expected(global[0], global[1]);
    });
  }
  return all;
}

Extent sum(const std::vector<Extent>& words) {
  Extent total = 0;
  for (Extent w : words) total += w;
  return total;
}

template <class T>
void redistribute_at_random(int cases, unsigned seed) {
  const World world;
  std::mt19937 shared(seed);                                         // the same on every rank
  std::mt19937 own(seed + 100 + static_cast<unsigned>(world.rank));  // not so
  // What the ranks tell each other besides elements, as where none must move.
  const Distribution everywhere = Distribution::replicated({2, 2}, world.size);
  pmpi::reset();
  ein::redistribute(MPI_COMM_WORLD, Space(), everywhere, arrays<T>(own, everywhere, world.rank),
                    everywhere, arrays<T>(own, everywhere, world.rank));
  const pmpi::Counts agreements = pmpi::counts("EinDecomp redistribution");
  for (int n = 0; n < cases; ++n) {
    CAPTURE(n);
    const Index bound{1 + pick(shared, 17), 1 + pick(shared, 17)};
    const Distribution from = random_distribution(shared, bound, world.size);
    const Distribution to = random_distribution(shared, bound, world.size);
    const Formula<T> formula{n};
    const auto old = arrays<T>(own, from, world.rank, &formula);
    const auto fresh = arrays<T>(own, to, world.rank);
    pmpi::reset();
    const auto moved = ein::redistribute(MPI_COMM_WORLD, Space(), from, old, to, fresh);
    CHECK(right(to, world.rank, fresh, formula));
    const std::vector<Extent> words = ein::redistributed_words(from, to);
    CHECK(moved.words_received == of_this_rank(words));
    const pmpi::Counts counted = pmpi::counts("EinDecomp redistribution");
    CHECK(counted.received == agreements.received + of_this_rank(words));
    CHECK(counted.sent == agreements.sent + moved.words_sent);
    CHECK(counted.others == agreements.others);
  }
}

}  // namespace

TEST_CASE("matrices move between distributions drawn at random, and only what must") {
  redistribute_at_random<double>(random_cases(60), 1);
  redistribute_at_random<float>(random_cases(20), 2);
  redistribute_at_random<Kokkos::complex<double>>(random_cases(20), 3);
}

TEST_CASE("large matrices move in slabs") {
  const World world;
  std::mt19937 random(7);
  // Rows longer than a slab, and messages of several slabs.
  for (const Index& bound : {Index{3, 200001}, Index{700, 701}}) {
    const Distribution rows = Distribution::rows(bound, world.size);
    const Distribution columns = Distribution::columns(bound, world.size);
    const Distribution cyclic = Distribution::block_cyclic(
        bound, {{2, 1, 0}, {64, world.size, world.size - 1}}, world.size);
    const Formula<> formula{4};
    const auto a = arrays<double>(random, columns, world.rank, &formula);
    const auto b = arrays<double>(random, cyclic.column_major(), world.rank);
    const auto c = arrays<double>(random, rows, world.rank);
    ein::redistribute(MPI_COMM_WORLD, Space(), columns, a, cyclic.column_major(), b);
    CHECK(right(cyclic, world.rank, b, formula));
    ein::redistribute(MPI_COMM_WORLD, Space(), cyclic.column_major(), b, rows, c);
    CHECK(right(rows, world.rank, c, formula));
  }
}

TEST_CASE("every rank has several slabs for every other") {
  const World world;
  std::mt19937 random(8);
  const Extent n = 400 * world.size;
  const Distribution from = Distribution::block_cyclic(
      {n, n}, {{128, world.size > 1 ? 2 : 1}, {128, std::max(world.size / 2, 1)}}, world.size);
  const Distribution to = Distribution::rows({n, n}, world.size);
  const Formula<> formula{6};
  const auto old = arrays<double>(random, from, world.rank, &formula);
  const auto fresh = arrays<double>(random, to, world.rank);
  ein::redistribute(MPI_COMM_WORLD, Space(), from, old, to, fresh);
  CHECK(right(to, world.rank, fresh, formula));
}

TEST_CASE("a redistributor moves new data again and again") {
  const World world;
  std::mt19937 random(9);
  const Index bound{13, 11};
  const Distribution from = Distribution::rows(bound, world.size);
  const Distribution to = Distribution::columns(bound, world.size, ein::Split::floor);
  ein::Redistributor made(MPI_COMM_WORLD, Space(), from, to);
  ein::Redistributor redistributor = std::move(made);
  for (int n = 0; n < 4; ++n) {
    const Formula<> formula{n};
    const auto old = arrays<double>(random, from, world.rank, &formula);
    const auto fresh = arrays<double>(random, to, world.rank);
    CHECK(redistributor.run(old, fresh).words_received ==
          of_this_rank(ein::redistributed_words(from, to)));
    CHECK(right(to, world.rank, fresh, formula));
  }
}

TEST_CASE("many small boxes for one rank are few messages") {
  const World world;
  constexpr Extent tiles = 24;
  const Index bound{2 * tiles, 2 * tiles};
  const auto dealt = [&](int shift) {
    std::vector<std::vector<ein::Box>> boxes(static_cast<std::size_t>(world.size));
    for (Extent r = 0; r < tiles; ++r) {
      for (Extent c = 0; c < tiles; ++c) {
        boxes[static_cast<std::size_t>((r * tiles + c + shift) % world.size)].push_back(
            {{2 * r, 2 * c}, {2 * r + 2, 2 * c + 2}});
      }
    }
    return Distribution::boxes(bound, boxes);
  };
  const Distribution from = dealt(0);
  const Distribution to = dealt(1);
  std::mt19937 random(9);
  const Formula<> formula{3};
  const auto old = arrays<double>(random, from, world.rank, &formula);
  const auto fresh = arrays<double>(random, to, world.rank);
  ein::Redistributor redistributor(MPI_COMM_WORLD, Space(), from, to);
  for (int n = 0; n < 2; ++n) {  // views are held against each other once
    const auto moved = redistributor.run(old, fresh);
    CHECK(moved.words_received == of_this_rank(ein::redistributed_words(from, to)));
    CHECK(moved.messages_received <= world.size - 1);
    CHECK(right(to, world.rank, fresh, formula));
  }
  ein::Redistributor other(std::move(redistributor));
  CHECK(contains(message_of([&] { (void)redistributor.run(old, fresh); }),
                 "the redistributor was moved from"));
  (void)other.run(old, fresh);
  CHECK(right(to, world.rank, fresh, formula));
  CHECK(contains(message_of([&] {
                   ein::Redistributor(MPI_COMM_WORLD, Space(), from, to, {.eager_bytes = -1});
                 }),
                 "the option eager_bytes is -1"));
}

TEST_CASE("views that are written have a place for every element") {
  const World world;
  const Distribution all = Distribution::replicated({8}, world.size);
  const Kokkos::View<double*, Space> from("test::from", 8);
  const Kokkos::View<double*, Space> one("test::one", 8);
  const Kokkos::View<double*, Kokkos::LayoutStride, Space> same(one.data(),
                                                                Kokkos::LayoutStride(8, 0));
  const std::string said =
      message_of([&] { (void)ein::redistribute(MPI_COMM_WORLD, Space(), all, from, all, same); });
  CHECK(said.find("has elements that share a place in memory") != std::string::npos);
  std::vector<double> memory(20);
  const Kokkos::View<double*, Kokkos::LayoutStride, Space> back(memory.data() + 8,
                                                                Kokkos::LayoutStride(8, -1));
  const Kokkos::View<double*, Kokkos::LayoutStride, Space> on(memory.data() + 2,
                                                              Kokkos::LayoutStride(8, 1));
  CHECK(message_of([&] {
          (void)ein::redistribute(MPI_COMM_WORLD, Space(), all, back, all, on);
        }).find("shares memory with one that is read") != std::string::npos);
}

TEST_CASE("vectors, scalars and tensors of three dimensions move as well") {
  const World world;
  using Vector = Kokkos::View<double*, Space>;
  const Distribution blocks = Distribution::block_cyclic({23}, {{3, world.size}}, world.size);
  const Distribution last = Distribution::replicated({23}, world.size, {world.size - 1});
  std::vector<Vector> old;
  for (const ein::LocalArray& array : blocks.arrays(world.rank)) {
    old.emplace_back("test::vector", array.extents()[0]);
    for_each_element(array, [&](const Index& global, const Index& local) {
      old.back()(local[0]) = static_cast<double>(global[0]);
    });
  }
  const Vector whole("test::vector", world.rank == world.size - 1 ? 23 : 0);
  ein::redistribute(MPI_COMM_WORLD, Space(), blocks, old, last, whole);
  for (std::size_t i = 0; i < whole.extent(0); ++i) CHECK(whole(i) == static_cast<double>(i));

  const Kokkos::View<double, Space> one("test::scalar");
  if (world.rank == 0) one() = 2.5;
  const Kokkos::View<double, Space> all("test::scalar");
  ein::redistribute(MPI_COMM_WORLD, Space(), Distribution::replicated({}, world.size, {0}), one,
                    Distribution::replicated({}, world.size), all);
  CHECK(all() == 2.5);

  using Cube = Kokkos::View<double***, Space>;
  const Distribution cyclic =
      Distribution::block_cyclic({5, 6, 7}, {{2, 1}, {1, world.size}, {3, 1}}, world.size);
  const Distribution split = Distribution::split({5, 6, 7}, 2, world.size);
  const auto cubes = [&](const Distribution& distribution) {
    std::vector<Cube> made;
    for (const ein::LocalArray& array : distribution.arrays(world.rank)) {
      const Index e = array.extents();
      made.emplace_back("test::cube", e[0], e[1], e[2]);
    }
    return made;
  };
  const auto from = cubes(cyclic);
  const auto to = cubes(split);
  const auto value = [](const Index& i) {
    return static_cast<double>(100 * i[0] + 10 * i[1] + i[2]);
  };
  for (std::size_t n = 0; n < from.size(); ++n) {
    for_each_element(cyclic.arrays(world.rank)[n], [&](const Index& global, const Index& local) {
      from[n](local[0], local[1], local[2]) = value(global);
    });
  }
  ein::redistribute(MPI_COMM_WORLD, Space(), cyclic, from, split, to);
  for (std::size_t n = 0; n < to.size(); ++n) {
    for_each_element(split.arrays(world.rank)[n], [&](const Index& global, const Index& local) {
      CHECK(to[n](local[0], local[1], local[2]) == value(global));
    });
  }
}

TEST_CASE("a program takes its inputs as they lie and gives results as they are wanted") {
  const World world;
  std::mt19937 shared(21);
  std::mt19937 own(300 + static_cast<unsigned>(world.rank));
  for (int n = 0; n < random_cases(40); ++n) {
    CAPTURE(n);
    const Product product(1 + pick(shared, 12), 1 + pick(shared, 12), 1 + pick(shared, 12));
    const int workers = static_cast<int>(1 + pick(shared, 8));
    const Plan plan = ein::decompose(product.program, {.workers = workers, .ranks = world.size});
    const Distribution of_a =
        random_distribution(shared, {product.rows, product.inner}, world.size);
    const Distribution of_b =
        pick(shared, 4) == 0
            ? plan.distribution(product.B)
            : random_distribution(shared, {product.inner, product.columns}, world.size);
    const Distribution of_c =
        random_distribution(shared, {product.rows, product.columns}, world.size);
    const auto a = arrays<double>(own, of_a, world.rank, &product.fa);
    const auto b = arrays<double>(own, of_b, world.rank, &product.fb);
    const auto c = arrays<double>(own, of_c, world.rank);
    ein::Executor executor(plan, MPI_COMM_WORLD, Space());
    for (int again = 0; again < 2; ++again) {
      const auto run = executor.run(ein::bind(product.A, of_a, a), ein::bind(product.B, of_b, b));
      const Extent words = of_this_rank(plan.input_words(product.A, of_a)) +
                           of_this_rank(plan.input_words("B", of_b));
      CHECK(run.statistics().inputs.words_received == words);
      CHECK(run.statistics().words_received == of_this_rank(plan.tasks().received));
      CHECK((again == 0 || run.statistics().kernels_prepared == 0));
      CHECK(contains(executor.explain(),
                     "A: in a distribution of its own, " +
                         std::to_string(of_this_rank(plan.input_words(product.A, of_a))) +
                         " words received"));
      const auto moved = run.redistribute(product.C, of_c, c);
      CHECK(moved.words_received == of_this_rank(plan.result_words(product.C, of_c)));
      CHECK(right(of_c, world.rank, c, [&](Extent i, Extent k) { return product.expected(i, k); }));
      CHECK(product.right(run));
    }
  }
}

TEST_CASE("what lies where the plan wants it is read in place") {
  const World world;
  const Product product;
  const Plan plan = ein::decompose(product.program, {.workers = world.size});
  // All of A on every rank: each has its block in it.
  const Distribution everywhere = Distribution::replicated({12, 10}, world.size);
  const auto a = filled<Kokkos::View<double**, Kokkos::LayoutLeft, Space>>(
      ein::Box{{0, 0}, {12, 10}}, product.fa);
  const Distribution stored = plan.distribution(product.B);
  using Right = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
  const auto b = blocks<Right>(plan, product.B, world.rank, product.fb);
  const auto run = ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind(product.A, everywhere, a),
                                ein::bind(product.B, stored, b));
  CHECK(product.right(run));
  CHECK(run.statistics().inputs.words_received == 0);
  CHECK(run.statistics().inputs.messages_sent == 0);
  CHECK(run.statistics().input_bytes == 0);
  CHECK(sum(plan.input_words(product.A, everywhere)) == 0);
}

TEST_CASE("arrays are written out in braces") {
  const World world;
  const Product product;
  const Plan plan = ein::decompose(product.program, {.workers = world.size});
  // Two boxes of A on every rank, and two of C.
  const auto two_of = [&](Extent rows, Extent columns) {
    std::vector<std::vector<ein::Box>> by_rank(static_cast<std::size_t>(world.size));
    for (Extent p = 0; p < world.size; ++p) {
      const Extent begin = rows * p / world.size;
      const Extent end = rows * (p + 1) / world.size;
      by_rank[static_cast<std::size_t>(p)] = {{{begin, 0}, {end, columns / 2}},
                                              {{begin, columns / 2}, {end, columns}}};
    }
    return Distribution::boxes({rows, columns}, by_rank);
  };
  using Right = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
  const auto views = [&](const Distribution& distribution, const Formula<>& formula) {
    std::vector<Right> all;
    for (const ein::LocalArray& array : distribution.arrays(world.rank)) {
      all.push_back(filled<Right>(array.bounds(), formula));
    }
    REQUIRE(all.size() == 2);
    return all;
  };
  const Distribution of_a = two_of(12, 10);
  const auto a = views(of_a, product.fa);
  const auto run =
      ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind(product.A, of_a, {a[0], a[1]}),
                   ein::bind_generator(product.B, product.fb));
  CHECK(product.right(run));
  const Distribution of_c = two_of(12, 14);
  const auto c = views(of_c, product.fb);
  const auto moved = run.redistribute(product.C, of_c, {c[0], c[1]});
  CHECK(moved.words_received == of_this_rank(plan.result_words(product.C, of_c)));
  CHECK(right(of_c, world.rank, c, [&](Extent i, Extent k) { return product.expected(i, k); }));
}

TEST_CASE("arrays may interleave in memory, as components and columns of one") {
  const World world;
  const Index bound{8, 6};
  const Distribution rows = Distribution::rows(bound, world.size);
  const Distribution columns = Distribution::columns(bound, world.size);
  const ein::LocalArray* const old_array =
      rows.arrays(world.rank).empty() ? nullptr : &rows.arrays(world.rank).front();
  const ein::LocalArray* const new_array =
      columns.arrays(world.rank).empty() ? nullptr : &columns.arrays(world.rank).front();
  const Kokkos::View<double***, Kokkos::LayoutRight, Space> both("test::both", 8, 8, 2);
  using Part = Kokkos::View<double**, Kokkos::LayoutStride, Space>;
  const auto part = [&](const ein::LocalArray* array, int component) {
    const std::vector<Extent> extents =
        array == nullptr ? std::vector<Extent>{0, 0} : array->extents();
    return Part(Kokkos::subview(both, std::pair<Extent, Extent>(0, extents[0]),
                                std::pair<Extent, Extent>(0, extents[1]), component));
  };
  const Part from = part(old_array, 0);
  const Part to = part(new_array, 1);
  const Extent first_row = old_array == nullptr ? 0 : old_array->bounds().lo[0];
  const Extent first_column = new_array == nullptr ? 0 : new_array->bounds().lo[1];
  const auto host = Kokkos::create_mirror_view(both);
  for (Extent r = 0; r < static_cast<Extent>(from.extent(0)); ++r) {
    for (Extent c = 0; c < static_cast<Extent>(from.extent(1)); ++c) {
      host(r, c, 0) = static_cast<double>(10 * (first_row + r) + c);
    }
  }
  Kokkos::deep_copy(both, host);
  ein::redistribute(MPI_COMM_WORLD, Space(), rows, from, columns, to);
  Kokkos::deep_copy(host, both);
  bool right = true;
  for (Extent r = 0; r < static_cast<Extent>(to.extent(0)); ++r) {
    for (Extent c = 0; c < static_cast<Extent>(to.extent(1)); ++c) {
      right = right && host(r, c, 1) == static_cast<double>(10 * r + first_column + c);
    }
  }
  CHECK(right);
}

TEST_CASE("arrays that do not fit are refused on all ranks") {
  const World world;
  const Index bound{8, 6};
  const Distribution rows = Distribution::rows(bound, world.size);
  const Distribution columns = Distribution::columns(bound, world.size);
  using Right = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
  const auto of = [&](const Distribution& distribution) {
    std::vector<Right> views;
    for (const ein::LocalArray& array : distribution.arrays(world.rank)) {
      views.emplace_back("test::array", array.extents()[0], array.extents()[1]);
    }
    return views;
  };
  const std::vector<Right> from = of(rows);
  const std::vector<Right> to = of(columns);
  const auto refused = [&](const Distribution& a, const std::vector<Right>& old,
                           const Distribution& b, const std::vector<Right>& fresh) {
    return message_of([&] { ein::redistribute(MPI_COMM_WORLD, Space(), a, old, b, fresh); });
  };
  CHECK(refused(rows, from, columns, to) == "no error");
  CHECK(contains(refused(rows, from, Distribution::columns({8, 7}, world.size), to),
                 "a tensor of 8 x 6 is to be distributed as one of 8 x 7"));
  CHECK(contains(refused(Distribution::rows(bound, world.size + 1), from,
                         Distribution::columns(bound, world.size + 1), to),
                 "ranks and the communicator has " + std::to_string(world.size)));
  CHECK(contains(refused(rows, {}, columns, to),
                 "the old distribution is given 0 views on rank 0, "
                 "which has 1 arrays of it"));
  // One rank alone is wrong.
  std::vector<Right> wrong = to;
  if (world.rank == 0) wrong[0] = Right("test::array", 3, 2);
  CHECK(
      contains(refused(rows, from, columns, wrong),
               "rank 0 of " + std::to_string(world.size) +
                   ": the new distribution is given a view of 3 x 2 on rank 0, whose array number "
                   "0 is 8 x "));
  if (world.rank == 0) wrong[0] = Right(nullptr, to[0].extent(0), to[0].extent(1));
  CHECK(contains(refused(rows, from, columns, wrong), "the new distribution is given a null view"));
  CHECK(contains(refused(rows, from, rows, from),
                 "a view that is written shares memory with one "
                 "that is read"));
  if (world.size > 1) {
    CHECK(contains(
        refused(world.rank == 0 ? rows : columns, world.rank == 0 ? from : to, rows, of(rows)),
        "ranks hold different distributions"));
    const ein::ExecuteOptions options{.chunk = world.rank == 0 ? 5 : 7};
    CHECK(contains(
        message_of([&] { ein::Redistributor(MPI_COMM_WORLD, Space(), rows, columns, options); }),
        "ranks hold different chunk limits of messages"));
  }
}

TEST_CASE("bindings in distributions that do not fit are refused on all ranks") {
  const World world;
  const Product product;
  const Plan plan = ein::decompose(product.program, {.workers = world.size});
  using Right = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
  const Distribution rows = Distribution::rows({12, 10}, world.size);
  std::vector<Right> a;
  for (const ein::LocalArray& array : rows.arrays(world.rank)) {
    a.emplace_back("test::array", array.extents()[0], array.extents()[1]);
  }
  const auto b = ein::bind_generator(product.B, product.fb);
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  CHECK(contains(
      message_of([&] {
        (void)executor.run(ein::bind(product.A, Distribution::rows({10, 12}, world.size), a), b);
      }),
      "input A is 12 x 10 and is bound in a distribution of 10 x 12"));
  CHECK(contains(message_of([&] {
                   (void)executor.run(
                       ein::bind(product.A, Distribution::rows({12, 10}, world.size + 1), a), b);
                 }),
                 "the distribution is for " + std::to_string(world.size + 1) + " ranks"));
  CHECK(contains(
      message_of([&] { (void)executor.run(ein::bind(product.A, rows, std::vector<Right>{}), b); }),
      "input A is given 0 views on rank 0, which has 1 arrays of it"));
  if (world.size > 1) {
    // The same arrays, said to be something else on one rank.
    const Distribution other = world.rank == 0 ? rows.column_major() : rows;
    CHECK(contains(message_of([&] { (void)executor.run(ein::bind(product.A, other, a), b); }),
                   "ranks hold different distributions of inputs"));
  }
  const auto run = executor.run(ein::bind_generator(product.A, product.fa), b);
  CHECK(product.right(run));
  const Distribution of_c = Distribution::rows({12, 14}, world.size);
  CHECK(contains(message_of([&] { run.redistribute(product.A, rows, a); }), "is not a result"));
  CHECK(contains(message_of([&] { run.redistribute(product.C, rows, a); }),
                 "a tensor of 12 x 14 is to be distributed as one of 12 x 10"));
  CHECK(contains(message_of([&] { run.redistribute(product.C, of_c, a); }),
                 "result C is given a view of "));
  CHECK(contains(message_of([&] {
                   run.redistribute(product.C, of_c, std::vector<Kokkos::View<float**, Space>>{});
                 }),
                 "is read with another value type or rank"));
}
