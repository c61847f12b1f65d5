// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An error of each kind, and what a caller does about it who knows the kind and nothing else: the
// work is done in the end, on every rank alike.

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "eindecomp/kernel/einsum.hpp"
#include "eindecomp/tools/dot.hpp"
#include "run/programs.hpp"

using namespace run_test;
using namespace eindecomp::labels;
using ein::ErrorKind;

namespace {

/// Does `work`, which must fail by an error of the kind, then the remedy, which must not, and
/// `work` again. \returns what it gives.
template <class Work, class Remedy>
auto after(ErrorKind kind, const Work& work, const Remedy& remedy) {
  bool failed = false;
  try {
    (void)work();
  } catch (const ein::Error& error) {
    CAPTURE(error.what());
    CHECK(ein::to_string(error.kind()) == ein::to_string(kind));
    failed = true;
    remedy();
  }
  CHECK(failed);
  return work();
}

/// Σ X(i,j), as many as there are ones in a tensor of them.
struct Ones {
  Program program;
  ein::Symbol<double, 2, Program::Backend> X;
  ein::Symbol<double, 1, Program::Backend> R;
  ein::Symbol<double, 0, Program::Backend> S;
  Ones()
      : X(program.input<double>("X", {16, 8})),
        R(let<"R">(i) = sum(j)(X(i, j))),
        S(ein::let<"S">() = sum(i)(R(i))) {}
  static double one(Extent, Extent) { return 1; }
};

}  // namespace

TEST_CASE("statement: the tensor is named in the program that is written into") {
  Ones ones;
  Program copy = ones.program;
  auto X = copy.symbol(ones.X);
  auto T = ones.X;
  const auto Y = copy.input<double>("Y", {8});
  const auto Z = after(
      ErrorKind::statement, [&] { return let<"Z">(i) = sum(j)(T(i, j) * Y(j)); }, [&] { T = X; });
  CHECK(copy.graph()[Z.vertex()].name == "Z");
}

TEST_CASE("shape: the other view fits") {
  const Kokkos::View<double**, Space> a("a", 3, 4);
  const Kokkos::View<double**, Space> wide("b", 5, 2);
  const Kokkos::View<double**, Space> right("b", 4, 2);
  Kokkos::deep_copy(a, 1.0);
  Kokkos::deep_copy(right, 1.0);
  auto b = wide;
  const auto c = after(
      ErrorKind::shape, [&] { return ein::einsum<"ij,jk->ik">(Space(), a, b); },
      [&] { b = right; });
  CHECK(on_host(c)(2, 1) == 4);
}

TEST_CASE("binding: a result that is asked for is kept, and what is missing is bound") {
  const World world;
  Ones ones;
  const auto r = after(
      ErrorKind::binding,
      [&] {
        const Plan plan = ein::decompose(ones.program, {.workers = 4, .ranks = world.size});
        return ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(ones.X, Ones::one))
            .gather(ones.R);
      },
      [&] { ones.program.keep(ones.R); });
  CHECK(on_host(r)(15) == 8);

  const Plan plan = ein::decompose(ones.program, {.workers = 4, .ranks = world.size});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  std::vector<ein::Binding<Space>> bindings;
  const auto s = after(
      ErrorKind::binding, [&] { return executor.run(bindings).gather(ones.S); },
      [&] { bindings.push_back(ein::bind_generator(ones.X, Ones::one)); });
  CHECK(on_host(s)() == 128);
}

TEST_CASE("memory: a larger limit, of a plan and of an executor") {
  const World world;
  Ones ones;
  std::int64_t limit = 16;
  const Plan plan = after(
      ErrorKind::memory,
      [&] {
        return ein::decompose(ones.program, {.workers = 4, .ranks = world.size, .memory = limit});
      },
      [&] { limit = 1 << 20; });
  ein::ExecuteOptions options{.memory_limit = 8};
  const auto s = after(
      ErrorKind::memory,
      [&] {
        return ein::execute(
                   plan, MPI_COMM_WORLD, Space(),
                   std::vector<ein::Binding<Space>>{ein::bind_generator(ones.X, Ones::one)},
                   options)
            .gather(ones.S);
      },
      [&] { options = {}; });
  CHECK(on_host(s)() == 128);
}

TEST_CASE("plan: another strategy, and a plan for the ranks there are") {
  const World world;
  Ones ones;
  ein::DecomposeOptions options{.workers = 4, .ranks = world.size, .strategy = "none"};
  (void)after(
      ErrorKind::plan, [&] { return ein::decompose(ones.program, options); },
      [&] { options.strategy = "exact"; });
  options.ranks = world.size == 1 ? 2 : 1;
  const auto s = after(
      ErrorKind::plan,
      [&] {
        return ein::execute(ein::decompose(ones.program, options), MPI_COMM_WORLD, Space(),
                            ein::bind_generator(ones.X, Ones::one))
            .gather(ones.S);
      },
      [&] { options.ranks = world.size; });
  CHECK(on_host(s)() == 128);
}

TEST_CASE("ranks: what they plan by is broadcast") {
  const World world;
  if (world.size == 1) return;
  Ones ones;
  int workers = world.size * (world.rank == 0 ? 1 : 2);
  const auto s = after(
      ErrorKind::ranks,
      [&] {
        const Plan plan = ein::decompose(ones.program, {.workers = workers, .ranks = world.size});
        return ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(ones.X, Ones::one))
            .gather(ones.S);
      },
      [&] { MPI_Bcast(&workers, 1, MPI_INT, 0, MPI_COMM_WORLD); });
  CHECK(on_host(s)() == 128);
}

TEST_CASE("communication: a communicator that is one") {
  const World world;
  Ones ones;
  const Plan plan = ein::decompose(ones.program, {.workers = 4, .ranks = world.size});
  MPI_Comm comm = MPI_COMM_NULL;
  const auto s = after(
      ErrorKind::communication,
      [&] {
        return ein::execute(plan, comm, Space(), ein::bind_generator(ones.X, Ones::one))
            .gather(ones.S);
      },
      [&] { comm = MPI_COMM_WORLD; });
  CHECK(on_host(s)() == 128);
}

TEST_CASE("io: another path") {
  const World world;
  const Ones ones;
  const Plan plan = ein::decompose(ones.program, {.workers = 4, .ranks = world.size});
  const auto name = "eindecomp_error_kinds_" + std::to_string(world.rank) + ".dot";
  auto path = std::filesystem::temp_directory_path() / "no such folder" / name;
  const bool written = after(
      ErrorKind::io,
      [&] {
        ein::write_dot(plan, path.string());
        return std::filesystem::exists(path);
      },
      [&] { path = std::filesystem::temp_directory_path() / name; });
  CHECK(written);
  std::filesystem::remove(path);
}

TEST_CASE("user: a generator that has what it reads, on the last rank too") {
  const World world;
  Ones ones;
  const Plan plan = ein::decompose(ones.program, {.workers = 8, .ranks = world.size});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  bool there = world.rank + 1 != world.size;
  const auto s = after(
      ErrorKind::user,
      [&] {
        const auto x = [&](Extent, Extent) {
          if (!there) throw std::runtime_error("the data are not there");
          return 1.0;
        };
        return executor.run(ein::bind_generator(ones.X, x)).gather(ones.S);
      },
      [&] { there = true; });
  CHECK(on_host(s)() == 128);
}

TEST_CASE("views that cannot be used are bound wrongly; options that cannot be are the plan's") {
  const auto kind_of = [](const auto& work) -> std::string_view {
    try {
      work();
    } catch (const ein::Error& error) {
      return ein::to_string(error.kind());
    }
    return "nothing was thrown";
  };
  const Kokkos::View<double**, Space> a("a", 4, 4);
  const Kokkos::View<double**, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> null(
      nullptr, 4, 4);
  CHECK(kind_of([&] { ein::einsum<"ij->ji">(Space(), null, a); }) == "binding");
  CHECK(kind_of([&] { ein::einsum<"ij->ji">(Space(), a, a); }) == "binding");
  CHECK(kind_of([&] {
          (void)ein::einsum<"ij,j->i">(Space(), a, Kokkos::View<double*, Space>("b", 3));
        }) == "shape");
  const Ones ones;
  CHECK(kind_of([&] { (void)ein::decompose(ones.program, {.memory = -1}); }) == "plan");
  CHECK(kind_of([&] {
          (void)ein::decompose(ones.program, {.machine = {.memory_bandwidth = -1}});
        }) == "plan");
  const World world;
  const Plan plan = ein::decompose(ones.program, {.workers = 4, .ranks = world.size});
  for (const ein::ExecuteOptions& wrong :
       {ein::ExecuteOptions{.chunk = 0}, ein::ExecuteOptions{.eager_bytes = -1},
        ein::ExecuteOptions{.memory_limit = -1}, ein::ExecuteOptions{.time_limit = -1},
        ein::ExecuteOptions{.time_limit = std::nan("")}}) {
    CHECK(kind_of([&] { ein::Executor(plan, MPI_COMM_WORLD, Space(), wrong); }) == "plan");
  }
}
