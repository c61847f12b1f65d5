// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small solver of which the last rank fails or leaves in the way that its argument names. The
// others do as they always do. faults_test.py starts it and says what must follow.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <eindecomp/eindecomp.hpp>
#include <eindecomp/tools/trace.hpp>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace ein = eindecomp;
using namespace ein::labels;
using Space = Kokkos::DefaultExecutionSpace;

namespace {

/// Set on the rank that fails, for kernels to see.
bool kernels_fail = false;
int what_kernels_throw = 0;

/// x + 1, until kernels fail.
struct Increment {
  static constexpr auto name = "increment";
  double operator()(double x) const {
    if (kernels_fail && what_kernels_throw == 0) throw std::runtime_error("the functor broke");
    if (kernels_fail && what_kernels_throw == 1) throw 42;
    if (kernels_fail && what_kernels_throw == 3) throw std::bad_alloc();
    if (kernels_fail && what_kernels_throw == 4) std::raise(SIGKILL);
    if (kernels_fail) std::this_thread::sleep_for(std::chrono::minutes(1));
    return x + 1;
  }
};

double formula(ein::Extent row, ein::Extent column) {
  return static_cast<double>((3 * row + column) % 7);
}

[[noreturn]] void stand_still() {
  for (;;) std::this_thread::sleep_for(std::chrono::minutes(1));
}

/// Where the rank that fails does so.
struct Solver {
  MPI_Comm comm = MPI_COMM_WORLD;
  int rank = 0;
  int size = 1;
  ein::Extent extent = 24;
  double time_limit = 0;
  bool trace = false;
  std::function<void(const ein::Progress&)> progress;
  std::function<void()> before = [] {};   ///< the executor is made
  std::function<void()> between = [] {};  ///< two runs
  std::function<void()> after = [] {};    ///< the last run, before its result is gathered
  std::function<double(ein::Extent, ein::Extent)> input = formula;
  int runs = 3;

  Solver() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  [[nodiscard]] bool fails() const { return rank == size - 1; }

  void solve() const {
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    ein::Program g;
    auto A = g.input<double>("A", {extent, extent});
    auto B = g.input<double>("B", {extent, extent});
    auto C = ein::let<"C">(i, k) = sum(j)(A(i, j) * B(j, k));
    auto D = ein::let<"D">(i, j) = ein::map(Increment{}, C(i, j));
    const auto plan = ein::decompose(g, {.workers = ranks, .ranks = ranks});
    before();
    ein::Executor executor(plan, comm, Space(),
                           {.time_limit = time_limit, .trace = trace, .progress = progress});
    for (int n = 0; n + 1 < runs; ++n) {
      (void)executor.run(ein::bind_generator(A, formula), ein::bind_generator(B, formula));
      between();
    }
    const auto run = executor.run(ein::bind_generator(A, input), ein::bind_generator(B, formula));
    after();
    if (trace) {
      const ein::Timeline timeline = run.timeline();
      if (fails()) ein::write_trace(plan.graph, {{"run", timeline}}, "/dev/full");
    }
    (void)run.gather(D);
  }
};

[[noreturn]] void fail() { throw std::runtime_error("the disk is full"); }

/// What a rank may do that the others do not expect.
const std::map<std::string, std::function<void()>> deeds{
    {"throw", fail},
    {"throw-int", [] { throw 42; }},
    {"exit", [] { std::exit(0); }},
    {"exit-3", [] { std::exit(3); }},
    {"quick-exit", [] { std::quick_exit(4); }},
    {"_Exit", [] { std::_Exit(5); }},
    {"abort", [] { std::abort(); }},
    {"terminate", [] { std::terminate(); }},
    {"thread", [] { std::thread(fail).join(); }},
    {"kill", [] { std::raise(SIGKILL); }},
    {"segv", [] { std::raise(SIGSEGV); }},
    {"term", [] { std::raise(SIGTERM); }},
    {"still", stand_still},
};

/// Splits "throw.between" at its dot.
bool solve_with_deed(Solver& solver, const std::string& way) {
  const std::size_t dot = way.find('.');
  const auto deed = deeds.find(way.substr(0, dot));
  if (deed == deeds.end()) return false;
  const std::string place = way.substr(dot + 1);
  const auto act = [&solver, deed] {
    if (solver.fails()) deed->second();
  };
  if (place == "before") solver.before = act;
  if (place == "between") solver.between = act;
  if (place == "after") solver.after = act;
  solver.solve();
  return true;
}

/// The last rank runs the second of two executors while the others run the first.
/// \param in_one_place  all do so by the same line of the program
void run_two_executors(const Solver& solver, bool in_one_place) {
  ein::Program g;
  auto A = g.input<double>("A", {solver.extent, solver.extent});
  [[maybe_unused]] auto C = ein::let<"C">(i) = sum(j)(A(i, j));
  const auto plan = ein::decompose(g, {.workers = solver.size});
  ein::Executor first(plan, solver.comm, Space());
  ein::Executor second(plan, solver.comm, Space());
  if (in_one_place) {
    for (auto* one : {solver.fails() ? &second : &first, solver.fails() ? &first : &second}) {
      (void)one->run(ein::bind_generator(A, formula));
    }
  } else if (solver.fails()) {
    (void)second.run(ein::bind_generator(A, formula));
  } else {
    (void)first.run(ein::bind_generator(A, formula));
  }
}

/// The first executor is one of half of the ranks: nobody watches over it before there is one on
/// all. The last rank does not come to its run.
void run_in_half(const Solver& solver) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 2 * solver.rank < solver.size ? 0 : 1, 0, &half);
  ein::Program g;
  auto A = g.input<double>("A", {solver.extent, solver.extent});
  [[maybe_unused]] auto C = ein::let<"C">(i) = sum(j)(A(i, j));
  const auto plan = ein::decompose(g, {.workers = solver.size / 2});
  ein::Executor early(plan, half, Space());
  solver.solve();
  if (!solver.fails()) (void)early.run(ein::bind_generator(A, formula));
}

/// The first rank is in a collective call of the program's own, on a communicator of its own, when
/// the executor is made.
void solve_while_posted(Solver& solver) {
  MPI_Comm_dup(MPI_COMM_WORLD, &solver.comm);
  int one = 1;
  int all = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  const auto post = [&] {
    MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  };
  solver.before = [&] {
    if (solver.rank == 0) post();
  };
  solver.after = [&] {
    if (solver.rank != 0) post();
  };
  solver.solve();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (all != solver.size) fail();
}

/// Several threads make executors at a time, each on a communicator of its own.
void make_executors_in_threads(const Solver& solver) {
  ein::Program g;
  auto A = g.input<double>("A", {solver.extent, solver.extent});
  [[maybe_unused]] auto C = ein::let<"C">(i) = sum(j)(A(i, j));
  const auto plan = ein::decompose(g, {.workers = solver.size});
  std::vector<MPI_Comm> comms(3);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> threads;
  for (const MPI_Comm comm : comms) {
    threads.emplace_back([&plan, comm] { ein::Executor(plan, comm, Space()); });
  }
  for (std::thread& thread : threads) thread.join();
}

void solve(const std::string& way, Solver& solver) {
  if (solve_with_deed(solver, way)) return;
  if (way == "posted") return solve_while_posted(solver);
  if (way == "threads") return make_executors_in_threads(solver);
  if (way == "well" || way == "late") return solver.solve();
  if (way == "cut") solver.runs = 1 << 30;  // until a link of the cluster is
  if (way == "all-throw") solver.between = fail;
  if (way == "all-exit") solver.between = [] { std::exit(3); };
  if (way == "return" && solver.fails()) return;
  if (way == "generator" && solver.fails()) {
    solver.input = [](ein::Extent, ein::Extent) -> double { throw std::runtime_error("no file"); };
  }
  if (way == "trace-full") solver.trace = true;
  if (way == "progress" && solver.fails()) solver.progress = [](const ein::Progress&) { fail(); };
  if (way.starts_with("functor") || way == "still-functor") {
    kernels_fail = solver.fails();
    if (way == "functor-int") what_kernels_throw = 1;
    if (way == "still-functor") what_kernels_throw = 2;
    if (way == "functor-alloc") what_kernels_throw = 3;
    if (way == "functor-kill") what_kernels_throw = 4;
    if (way == "functor-large") solver.extent = 1000;
  }
  if (way == "once-more" && solver.fails()) ++solver.runs;
  if (way == "once-less" && solver.fails()) --solver.runs;
  if (way == "swallow" && solver.fails()) {
    try {
      solver.before = fail;
      solver.solve();
    } catch (const std::exception&) {
      std::fprintf(stderr, "caught, and on we go\n");
    }
    return;
  }
  if (way == "more-solvers") {
    solver.solve();
    if (!solver.fails()) return;
  }
  if (way == "reversed") {
    // The first executor is on all processes in another order.
    Solver first;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -first.rank, &first.comm);
    first.solve();
  }
  if (way == "executor-more" || way == "reversed") {
    solver.between = [&solver] {
      if (solver.fails()) Solver().solve();
    };
  }
  if (way == "share-plan") {
    solver.before = [&solver] {
      if (!solver.fails()) return;
      ein::Program g;
      auto A = g.input<double>("A", {2, 2});
      [[maybe_unused]] auto C = ein::let<"C">(i) = sum(j)(A(i, j));
      (void)ein::share_plan(g, MPI_COMM_WORLD, [&] { return ein::decompose(g, {}); });
    };
  }
  if (way == "pair") {
    // The last two ranks have a group of their own, for which one of them makes an executor.
    Solver other;
    MPI_Comm_split(MPI_COMM_WORLD, solver.rank < solver.size - 2 ? 1 : 0, 0, &other.comm);
    solver.between = [&solver, other] {
      if (solver.fails()) other.solve();
    };
  }
  if (way.starts_with("halves")) {
    // Groups that no executor of all processes came before.
    MPI_Comm_split(MPI_COMM_WORLD, 2 * solver.rank < solver.size ? 0 : 1, 0, &solver.comm);
    if (way == "halves-still" && solver.fails()) solver.before = stand_still;
  }
  if (way == "three-still") {
    // A group of three, of which one alone has a time limit and another one stands still.
    MPI_Comm_split(MPI_COMM_WORLD, solver.rank < 3 ? 0 : 1, 0, &solver.comm);
    if (solver.rank == 1) solver.between = stand_still;
  }
  if (way == "reversed-throw") {
    // The only executor is on all processes in another order.
    MPI_Comm_split(MPI_COMM_WORLD, 0, -solver.rank, &solver.comm);
    if (solver.fails()) solver.between = fail;
  }
  if (way == "early-half") return run_in_half(solver);
  if (way == "other-run") return run_two_executors(solver, false);
  if (way == "other-order") return run_two_executors(solver, true);
  if (way == "group") {
    // The others are a group of their own, and none waits for the one that fails.
    MPI_Comm_split(MPI_COMM_WORLD, solver.fails() ? 1 : 0, 0, &solver.comm);
    if (solver.fails()) fail();
    solver.between = stand_still;
  }
  solver.solve();
}

/// A program that leaves MPI to the library.
int with_runtime(int argc, char** argv, const std::string& way) {
  const ein::ScopedRuntime runtime(argc, argv);
  Solver solver;
  if (way.starts_with("still")) solver.time_limit = 1;
  if (way == "cut") solver.time_limit = 3;
  solve(way, solver);
  return 0;
}

/// What a program does where MPI does not run, or no more.
int make_communicator() {
  try {
    const ein::comm::MpiCommunicator none(MPI_COMM_WORLD, "none");
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "caught: %s\n", e.what());
    return 1;
  }
}

/// A program that starts and ends MPI itself.
/// \param time_limit  of all ranks but the first
int with_own_mpi(const std::string& way, double time_limit, double first_limit) {
  if (way == "no-mpi") return make_communicator();
  int provided = 0;
  const int level = way == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
  MPI_Init_thread(nullptr, nullptr, level, &provided);
  int status = 0;
  {
    Solver solver;
    std::optional<Kokkos::ScopeGuard> kokkos;
    if (way != "no-kokkos" || !solver.fails()) kokkos.emplace();
    try {
      solver.time_limit = solver.rank == 0 ? first_limit : time_limit;
      solve(way, solver);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "caught: %s\n", e.what());
      status = 1;
    }
  }
  MPI_Finalize();
  return way == "late" ? make_communicator() : status;
}

}  // namespace

// ways WAY [uncaught | lingers | own-mpi | limited | first-limited]
int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "well";
  const std::string how = argc > 2 ? argv[2] : "";
  if (how == "own-mpi") return with_own_mpi(way, 0, 0);
  // Long enough for a rank to end MPI first on a busy machine, where that is what ends the others.
  if (how == "limited") {
    const double limit = way == "throw.between" ? 10 : 1;
    return with_own_mpi(way, limit, limit);
  }
  if (how == "first-limited") return with_own_mpi(way, 0, way == "three-still" ? 1 : 10);
  if (how == "uncaught") return with_runtime(argc, argv, way);
  try {
    return with_runtime(argc, argv, way);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "caught: %s\n", e.what());
    if (how == "lingers") stand_still();
    return 1;
  } catch (...) {
    std::fprintf(stderr, "caught something\n");
    return 1;
  }
}
