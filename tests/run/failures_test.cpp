// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whatever one rank does wrong, every rank throws the same Error, and none waits.

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/run/program.hpp"
#include "eindecomp/run/tensor_files.hpp"
#include "eindecomp/tools/npy.hpp"
#include "run/programs.hpp"

using namespace run_test;
using namespace eindecomp::labels;

namespace {

struct Culprit : World {
  /// The rank that does something wrong.
  [[nodiscard]] int culprit() const { return size - 1; }
  [[nodiscard]] bool is_culprit() const { return rank == culprit(); }
  [[nodiscard]] std::string prefix() const {
    return "EinDecomp: rank " + std::to_string(culprit()) + " of " + std::to_string(size) + ": ";
  }
};

/// What `work` throws, which must be an Error and the same text on every rank; empty if nothing.
template <class Work>
std::string same_message(const Work& work) {
  std::string text;
  try {
    work();
  } catch (const ein::Error& e) {
    text = e.what();
  } catch (const std::exception& e) {
    text = std::string("not an Error: ") + e.what();
  }
  ein::comm::MpiCommunicator group(MPI_COMM_WORLD, "test");
  const std::vector<std::string> texts = group.all_gather(text);
  for (const std::string& other : texts) CHECK(other == text);
  return text;
}

bool begins(const std::string& text, const std::string& beginning) {
  return text.substr(0, beginning.size()) == beginning;
}
using View = Kokkos::View<double**, Kokkos::LayoutRight, Space>;

}  // namespace

TEST_CASE("wrong extents on one rank") {
  const Culprit world;
  const Product p;
  const Plan plan = ein::decompose(p.program, {.workers = 8, .ranks = world.size});
  std::vector<View> mine = blocks<View>(plan, p.A, world.rank, Formula<>{});
  REQUIRE(!mine.empty());
  if (world.is_culprit()) mine.front() = View("test::wrong", 5, 7);
  const std::string text = same_message([&] {
    (void)ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind(p.A, mine),
                       ein::bind_generator(p.B, Formula<>{}));
  });
  CHECK(begins(text, world.prefix()));
  CHECK(contains(text, "input A is bound to a view of 5 x 7"));
  CHECK(contains(text, "failures_test.cpp"));
}

TEST_CASE("a wrong number of blocks on one rank") {
  const Culprit world;
  const Product p;
  const Plan plan = ein::decompose(p.program, {.workers = 8, .ranks = world.size});
  std::vector<View> mine = blocks<View>(plan, p.A, world.rank, Formula<>{});
  if (world.is_culprit()) mine.push_back(View("test::wrong", 1, 1));
  const std::string text = same_message([&] {
    (void)ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind(p.A, mine),
                       ein::bind_generator(p.B, Formula<>{}));
  });
  CHECK(begins(text, world.prefix() + "input A is bound to "));
}

TEST_CASE("wrong extents of a whole tensor on one rank") {
  const Culprit world;
  const Product p;
  const Plan plan = ein::decompose(p.program, {.workers = 4, .ranks = world.size});
  const View whole("test::whole", world.is_culprit() ? 13 : 12, 10);
  const std::string text = same_message([&] {
    (void)ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_global(p.A, whole),
                       ein::bind_generator(p.B, Formula<>{}));
  });
  CHECK(begins(text, world.prefix()));
  CHECK(contains(text, "13 x 10 and the whole tensor is 12 x 10 (bind_global takes all of it)"));
}

TEST_CASE("what is bound on another line does not hide the line of the run") {
  const Culprit world;
  ein::Program g;
  const auto A = g.input<double>("A", {6});
  const auto B = g.input<double>("B", {6});
  const auto C = g.input<double>("C", {6});
  ein::let<"D">(i) = A(i) + B(i) + C(i);
  const Plan plan = ein::decompose(g, {.workers = 1, .ranks = world.size});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto a = ein::bind_generator(A, Formula<>{});
  const auto b = ein::bind_generator(B, Formula<>{});
  const std::vector<ein::Binding<Space>> carried{a};
  const auto here = [](int line) { return "failures_test.cpp:" + std::to_string(line) + "]"; };
  // One binding, several, and what is carried with others.
  CHECK(contains(same_message([&] { (void)executor.run(a); }), here(__LINE__)));
  CHECK(contains(same_message([&] { (void)executor.run(a, b); }), here(__LINE__)));
  CHECK(contains(same_message([&] { (void)executor.run(carried, b); }), here(__LINE__)));
  const auto once = [&] { (void)ein::execute(plan, MPI_COMM_WORLD, Space(), a, b); };
  CHECK(contains(same_message(once), here(__LINE__ - 1)));
}

TEST_CASE("elements of another type than the input's are named") {
  const Culprit world;
  const Product p;
  const Plan plan = ein::decompose(p.program, {.workers = 1, .ranks = world.size});
  const Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Space> whole("test::whole", 12, 10);
  const std::string text = same_message([&] {
    (void)ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_global("A", whole),
                       ein::bind_generator(p.B, Formula<>{}));
  });
  CHECK(contains(text, "input A is of double and what is bound to it is of int64"));
}

TEST_CASE("a binding that is missing on one rank") {
  const Culprit world;
  const Product p;
  const Plan plan = ein::decompose(p.program, {.workers = 4, .ranks = world.size});
  const std::string text = same_message([&] {
    ein::Executor executor(plan, MPI_COMM_WORLD, Space());
    if (world.is_culprit()) {
      (void)executor.run(ein::bind_generator(p.B, Formula<>{}));
    } else {
      (void)executor.run(ein::bind_generator(p.B, Formula<>{}),
                         ein::bind_generator(p.A, Formula<>{}));
    }
  });
  CHECK(begins(text, world.prefix() + "input A is not bound"));
}

TEST_CASE("an input bound twice, a result bound, a symbol of another graph") {
  const Culprit world;
  const Product p;
  const Product other;
  const Plan plan = ein::decompose(p.program, {.workers = 4, .ranks = world.size});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto a = ein::bind_generator(p.A, Formula<>{});
  const auto b = ein::bind_generator(p.B, Formula<>{});
  CHECK(contains(same_message([&] { (void)executor.run(a, b, a); }), "input A is bound twice"));
  CHECK(contains(
      same_message([&] { (void)executor.run(a, b, ein::bind_generator(p.C, Formula<>{})); }),
      "tensor C is bound"));
  CHECK(contains(
      same_message([&] { (void)executor.run(a, ein::bind_generator(other.B, Formula<>{})); }),
      "is not one of the plan's"));
  // After every refusal the executor is as good as new.
  CHECK(same_message([&] { (void)executor.run(a, b); }).empty());
}

TEST_CASE("a generator that throws on one rank") {
  const Culprit world;
  const Product p;
  const Plan plan = ein::decompose(p.program, {.workers = 8, .ranks = world.size});
  const std::string text = same_message([&] {
    (void)ein::execute(plan, MPI_COMM_WORLD, Space(),
                       ein::bind_generator(p.A,
                                           [&](Extent, Extent) -> double {
                                             if (world.is_culprit()) {
                                               throw std::runtime_error("no such file");
                                             }
                                             return 1.0;
                                           }),
                       ein::bind_generator(p.B, Formula<>{}));
  });
  CHECK(begins(text, world.prefix() + "the generator of input A failed (no such file) ["));
}

TEST_CASE("memory that is short on one rank") {
  const Culprit world;
  const Product p;
  const Plan plan = ein::decompose(p.program, {.workers = 8, .ranks = world.size});
  ein::ExecuteOptions options;
  if (world.is_culprit()) options.memory_limit = 10;
  std::string text = same_message([&] { ein::Executor(plan, MPI_COMM_WORLD, Space(), options); });
  CHECK(begins(text, world.prefix() + "the run needs "));
  CHECK(contains(text, "may allocate 10"));

  // Enough to begin with, not enough for inputs that must be generated.
  ein::Executor roomy(plan, MPI_COMM_WORLD, Space());
  const auto run =
      roomy.run(ein::bind_generator(p.A, Formula<>{}), ein::bind_generator(p.B, Formula<>{}));
  options.memory_limit = run.statistics().peak_bytes();
  ein::Executor exact(plan, MPI_COMM_WORLD, Space(), options);
  CHECK(same_message([&] {
          (void)exact.run(ein::bind_generator(p.A, Formula<>{}),
                          ein::bind_generator(p.B, Formula<>{}));
        }).empty());
  if (world.is_culprit()) --options.memory_limit;
  ein::Executor tight(plan, MPI_COMM_WORLD, Space(), options);
  text = same_message([&] {
    (void)tight.run(ein::bind_generator(p.A, Formula<>{}), ein::bind_generator(p.B, Formula<>{}));
  });
  CHECK(begins(text, world.prefix() + "the run needs "));
}

TEST_CASE("an allocation that fails") {
  const Culprit world;
  // More than any address space: the system itself refuses.
  const Product p(Extent{1} << 50);
  const Plan plan = ein::decompose(p.program, {.workers = 1, .ranks = world.size});
  ein::ExecuteOptions options;
  const std::string text = same_message([&] {
    ein::Executor executor(plan, MPI_COMM_WORLD, Space(), options);
    (void)executor.run(ein::bind_generator(p.A, Formula<>{}),
                       ein::bind_generator(p.B, Formula<>{}));
  });
  CHECK(begins(text, "EinDecomp: rank 0 of "));
  CHECK(contains(text, "EinDecomp::result C"));
}

TEST_CASE("different programs, plans and options") {
  const Culprit world;
  const Product p(world.is_culprit() ? 16 : 12);
  const Plan plan = ein::decompose(p.program, {.workers = 4, .ranks = world.size});
  const std::string programs = same_message([&] { ein::Executor(plan, MPI_COMM_WORLD, Space()); });
  const Product q;
  const Plan cut =
      ein::decompose(q.program, {.workers = 4,
                                 .ranks = world.size,
                                 .strategy = "by_hand",
                                 .by_hand = {{"C", {{world.is_culprit() ? "i" : "k", 4}}}}});
  const std::string plans = same_message([&] { ein::Executor(cut, MPI_COMM_WORLD, Space()); });
  if (world.size == 1) {
    CHECK(programs.empty());
    CHECK(plans.empty());
    return;
  }
  const std::string who = "rank " + std::to_string(world.culprit());
  CHECK(contains(programs, "ranks hold different programs in the construction of an Executor ["));
  CHECK(contains(programs, "failures_test.cpp:"));
  CHECK(contains(programs, who + " has A(16,"));
  CHECK(contains(programs, "have A(12,") == (world.size > 2));
  CHECK(contains(plans, "ranks hold different plans"));
  CHECK(contains(plans, who + " has C cut into i=4 j=1 k=1"));
  CHECK(contains(plans, "C cut into i=1 j=1 k=4"));
  const ein::ExecuteOptions options{.chunk = world.is_culprit() ? 5 : 7};
  const Plan same = ein::decompose(q.program, {.workers = 4, .ranks = world.size});
  const std::string chunks =
      same_message([&] { ein::Executor(same, MPI_COMM_WORLD, Space(), options); });
  CHECK(contains(chunks, "ranks hold different chunk limits of messages in "));
  CHECK(contains(chunks, who + " has 5 elements"));
}

TEST_CASE("a time limit that is none, on one rank") {
  const Culprit world;
  const Product p;
  const Plan plan = ein::decompose(p.program, {.workers = world.size});
  const ein::ExecuteOptions options{.time_limit = world.is_culprit() ? -1.0 : 0.0};
  const std::string message =
      same_message([&] { ein::Executor(plan, MPI_COMM_WORLD, Space(), options); });
  CHECK(contains(message, "a time limit of -1"));
  CHECK(contains(message, "failures_test.cpp:"));
}

TEST_CASE("a limit of messages that is none") {
  const Culprit world;
  const Product p;
  const Plan plan = ein::decompose(p.program, {.workers = world.size, .ranks = world.size});
  const std::string message =
      same_message([&] { ein::Executor(plan, MPI_COMM_WORLD, Space(), {.chunk = 0}); });
  CHECK(contains(message, "the option chunk is 0 (it is the most elements of a message"));
  CHECK(contains(message, "failures_test.cpp:"));
}

TEST_CASE("a run in the middle of another of the same executor") {
  const Culprit world;
  const Product p;
  const Plan plan = ein::decompose(p.program, {.workers = world.size, .ranks = world.size});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto a = ein::bind_generator(p.A, [&](Extent, Extent) -> double {
    (void)executor.run(ein::bind_generator(p.A, Formula<>{}),
                       ein::bind_generator(p.B, Formula<>{}));
    return 1.0;
  });
  const std::string message =
      same_message([&] { (void)executor.run(a, ein::bind_generator(p.B, Formula<>{})); });
  CHECK(contains(message, "the generator of input A failed"));
  CHECK(contains(message, "a run is begun in the middle of another of the same executor"));
  // It is as good as new.
  CHECK(same_message([&] {
          (void)executor.run(ein::bind_generator(p.A, Formula<>{}),
                             ein::bind_generator(p.B, Formula<>{}));
        }).empty());
}

TEST_CASE("different roots of one input") {
  const Culprit world;
  if (world.size == 1) return;
  const Product p;
  const Plan plan = ein::decompose(p.program, {.workers = 4, .ranks = world.size});
  const View whole("test::whole", 12, 10);
  const std::string text = same_message([&] {
    (void)ein::execute(plan, MPI_COMM_WORLD, Space(),
                       ein::bind_global(p.A, whole, world.is_culprit() ? 1 : 0),
                       ein::bind_generator(p.B, Formula<>{}));
  });
  CHECK(contains(text, "roots of inputs"));
  CHECK(contains(text, "rank " + std::to_string(world.culprit()) + " has A from rank 1"));
  const std::string none = same_message([&] {
    (void)ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_global(p.A, whole, world.size),
                       ein::bind_generator(p.B, Formula<>{}));
  });
  CHECK(contains(none, "is bound on rank " + std::to_string(world.size)));
}

TEST_CASE("a plan for another number of ranks") {
  const Culprit world;
  const Product p;
  const Plan plan = ein::decompose(p.program, {.workers = 4, .ranks = world.size + 1});
  const std::string text = same_message([&] { ein::Executor(plan, MPI_COMM_WORLD, Space()); });
  CHECK(contains(text, "the plan is for " + std::to_string(world.size + 1) + " ranks"));
}

TEST_CASE("a gather of different results") {
  const Culprit world;
  if (world.size == 1) return;
  Product p;
  p.program.keep(p.C);
  const auto D = let<"D">(i, k) = p.C(i, k) + 1.0;
  const Plan plan = ein::decompose(p.program, {.workers = 4, .ranks = world.size});
  const auto run =
      ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(p.A, Formula<>{}),
                   ein::bind_generator(p.B, Formula<>{}));
  const std::string text = same_message([&] { (void)run.gather(world.is_culprit() ? p.C : D); });
  CHECK(contains(text, "ranks are in different calls"));
}

TEST_CASE("different runs of one executor") {
  const Culprit world;
  if (world.size == 1) return;
  const Product p;
  const Plan plan = ein::decompose(p.program, {.workers = 4, .ranks = world.size});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space(), {.trace = true});
  const auto run = [&] {
    return executor.run(ein::bind_generator(p.A, Formula<>{}),
                        ein::bind_generator(p.B, Formula<>{}));
  };
  const auto first = run();
  const auto second = run();
  const auto& mine = world.is_culprit() ? second : first;
  for (const std::string& text : {same_message([&] { (void)mine.gather(p.C); }), same_message([&] {
                                    ein::save(mine, p.C, ein::NpyFile("never-written.npy"));
                                  }),
                                  same_message([&] { (void)mine.timeline(); })}) {
    CAPTURE(text);
    CHECK(contains(text, "ranks hold different runs in "));
    CHECK(contains(text, "rank " + std::to_string(world.culprit()) + " has run 2 of the executor"));
    CHECK(contains(text, "read the same run on every rank"));
  }
  CHECK(same_message([&] { (void)second.gather(p.C); }).empty());
}

TEST_CASE("what is no result of a run cannot be released") {
  const Culprit world;
  const Product p;
  const Plan plan = ein::decompose(p.program, {.workers = 4, .ranks = world.size});
  auto run = ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(p.A, Formula<>{}),
                          ein::bind_generator(p.B, Formula<>{}));
  for (const ein::VertexId v : {-1, plan.graph.size()}) {
    CHECK(contains(same_message([&] { run.release({v}); }),
                   "tensor number " + std::to_string(v) + " cannot be released"));
  }
  CHECK(contains(same_message([&] { run.release({0}); }), "tensor A is not a result"));
  CHECK(same_message([&] { (void)run.gather(p.C); }).empty());
}

namespace {

/// A kernel call that breaks.
class BrokenKernel final : public ein::kernel::PreparedKernel<Space> {
 public:
  explicit BrokenKernel(std::unique_ptr<const ein::kernel::PreparedKernel<Space>> sound)
      : m_sound(std::move(sound)) {}
  [[nodiscard]] ein::kernel::Algorithm algorithm() const override { return m_sound->algorithm(); }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return m_sound->workspace_bytes(); }
  [[nodiscard]] std::string explain(const void* const* operands,
                                    const void* output) const override {
    return m_sound->explain(operands, output);
  }
  void run(const Space&, const void* const*, void*, unsigned char*) const override {
    throw std::runtime_error("the kernel broke");
  }

 private:
  std::unique_ptr<const ein::kernel::PreparedKernel<Space>> m_sound;
};

/// Kernels of which one rank's break in the middle of a run.
class Broken final : public ein::kernel::Launcher<Space> {
 public:
  explicit Broken(Program::Backend::Launcher sound) : m_sound(std::move(sound)) {}
  [[nodiscard]] std::unique_ptr<const ein::kernel::PreparedKernel<Space>> prepare(
      const Space& space, const ein::kernel::LocalEinsum& shape,
      ein::kernel::Write write) const override {
    return std::make_unique<BrokenKernel>(m_sound->prepare(space, shape, write));
  }
  [[nodiscard]] ein::KernelTraits traits() const override { return m_sound->traits(); }
  [[nodiscard]] std::unique_ptr<const ein::kernel::TileKernel> prepare_tile(
      const ein::kernel::LocalEinsum&) const override {
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<const ein::kernel::PreparedBox<Space>> prepare_combine(
      const ein::kernel::StridedBox& box) const override {
    return m_sound->prepare_combine(box);
  }
  [[nodiscard]] std::unique_ptr<const ein::kernel::PreparedBox<Space>> prepare_finish(
      const ein::kernel::StridedBox& box) const override {
    return m_sound->prepare_finish(box);
  }

 private:
  Program::Backend::Launcher m_sound;
};

}  // namespace

// Run on its own, by name: it ends the program.
TEST_CASE("abort" * doctest::skip()) {
  const Culprit world;
  Product p;
  const auto D = let<"D">(i, l) = sum(k)(p.C(i, k) * p.B(l, k));
  Plan plan = ein::decompose(p.program, {.workers = 4, .ranks = world.size});
  if (world.rank == 1) {
    for (auto& launcher : plan.launchers) {
      if (launcher != nullptr) launcher = std::make_shared<const Broken>(launcher);
    }
  }
  (void)ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(p.A, Formula<>{}),
                     ein::bind_generator(p.B, Formula<>{}));
  (void)D;
}

// The same: an element of an index tensor that is no index, on the rank that reads it.
TEST_CASE("index" * doctest::skip()) {
  const Culprit world;
  Program g;
  const auto T = g.input<double>("T", {5, 3});
  const auto I = g.input<std::int32_t>("I", {6, 2});
  const auto E = let<"E">(i, l, k) = T(I(i, l), k);
  const auto S = let<"S">(i) = sum(l, k)(E(i, l, k));
  (void)ein::execute(
      ein::decompose(g, {.workers = 3, .ranks = world.size}), MPI_COMM_WORLD, Space(),
      ein::bind_generator(T, Formula<>{}), ein::bind_generator(I, [](Extent row, Extent column) {
        return row == 4 && column == 1 ? 5 : static_cast<std::int32_t>(row + column) % 5;
      }));
  (void)S;
}
