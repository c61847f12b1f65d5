// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the examples share: options, one plan and run per strategy, the table that compares them.
#pragma once

#include <fmt/core.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <eindecomp/eindecomp.hpp>
#include <eindecomp/tools/compare.hpp>
#include <eindecomp/tools/dot.hpp>
#include <eindecomp/tools/report.hpp>
#include <exception>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace examples {

namespace ein = eindecomp;
using ein::Extent;
using Space = Kokkos::DefaultExecutionSpace;

/// What a size may be.
inline const CLI::Range positive(1, 1'000'000'000);

/// What a check of a result against its reference found; only rank 0's counts.
struct Verdict {
  bool correct = false;
  std::string finding;
};

/// The options that every example has, and the ranks it runs on.
struct Context {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int ranks = 1;
  int workers = 0;
  int runs = 2;
  bool report = false;
  std::string dot;
  std::vector<std::string> strategies{"placed"};

  /// The strategies asked for; `all` stands for those that apply to the program.
  [[nodiscard]] std::vector<std::string> chosen(const ein::EinGraph& graph) const {
    if (std::ranges::find(strategies, "all") == strategies.end()) return strategies;
    std::vector<std::string> names;
    for (const ein::Plan& plan : ein::decompose_all(graph, {.workers = workers, .ranks = ranks})) {
      names.push_back(plan.strategy);
    }
    return names;
  }
};

/// A view's elements where the host can read them: the view itself, or a copy of it.
template <class View>
[[nodiscard]] auto on_host(const View& view) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
}

/// How far a result in row-major order is from what is expected, element by element; infinitely
/// far where either is not a number.
[[nodiscard]] inline double largest_difference(const double* found,
                                               const std::vector<double>& expected) {
  double largest = 0;
  for (std::size_t n = 0; n < expected.size(); ++n) {
    if (found[n] == expected[n]) continue;  // also where both are infinite
    const double difference = std::abs(found[n] - expected[n]);
    if (!(difference <= largest)) largest = difference;
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
  }
  return largest;
}

/// The larger of two errors; infinite where one is not a number.
[[nodiscard]] inline double worse(double worst, double error) {
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
}

/// The plan of a program, made by rank 0 for all. Collective.
template <class Program>
[[nodiscard]] auto shared_plan(const Context& context, const Program& program,
                               const std::string& strategy = "placed",
                               const std::vector<ein::CarriedTensor>& carry = {}) {
  return ein::share_plan(program, context.comm, [&] {
    return ein::decompose(
        program,
        {.workers = context.workers, .ranks = context.ranks, .strategy = strategy, .carry = carry});
  });
}

/// One strategy's figures, over all ranks.
struct Measurement {
  Extent predicted_words = 0;
  Extent counted_words = 0;
  std::int64_t predicted_bytes = 0;  ///< of tensors, on the rank that holds most
  std::int64_t allocated_bytes = 0;  ///< likewise
  double seconds = 0;                ///< of the slowest rank, in the fastest run
  Verdict verdict;
};

template <class T>
[[nodiscard]] T reduced(T value, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, type, op, comm);
  return value;
}

/// Runs a plan a few times, and checks the last result. Collective.
template <class Plan, class Check, class... Bindings>
[[nodiscard]] Measurement measure(const Context& context, const Plan& plan, const Check& check,
                                  const Bindings&... bindings) {
  Measurement found;
  found.predicted_words = plan.tasks().total_words();
  found.predicted_bytes = std::ranges::max(plan.peak_bytes({.threads = Space{}.concurrency()}));
  ein::Executor executor(plan, context.comm, Space{});
  for (int n = 0; n < context.runs; ++n) {
    const auto run = executor.run(bindings...);
    const ein::RunStatistics& own = run.statistics();
    const double seconds = reduced(own.seconds, MPI_DOUBLE, MPI_MAX, context.comm);
    found.seconds = n == 0 ? seconds : std::min(found.seconds, seconds);
    if (n + 1 < context.runs) continue;
    found.counted_words = reduced(own.words_received, MPI_INT64_T, MPI_SUM, context.comm);
    found.allocated_bytes =
        reduced(own.peak_bytes() - own.workspace_bytes, MPI_INT64_T, MPI_MAX, context.comm);
    found.verdict = check(run);
  }
  found.verdict.correct = reduced(context.rank != 0 || found.verdict.correct ? 1 : 0, MPI_INT,
                                  MPI_MIN, context.comm) == 1;
  return found;
}

/// Decomposes a program by every strategy asked for and runs each plan; rank 0 prints what each
/// moved, held and found. Collective.
/// \param check  takes the run, returns a Verdict; called on every rank, so it may gather.
/// \returns whether every result was right and every count of words as predicted.
template <class Program, class Check, class... Bindings>
[[nodiscard]] bool compare_strategies(const Context& context, const Program& program,
                                      const Check& check, const Bindings&... bindings) {
  std::vector<ein::Plan> plans;
  std::vector<Measurement> measurements;
  for (const std::string& strategy : context.chosen(program)) {
    const auto plan = ein::decompose(
        program, {.workers = context.workers, .ranks = context.ranks, .strategy = strategy});
    plans.push_back(plan);
    measurements.push_back(measure(context, plan, check, bindings...));
    if (context.rank == 0 && context.report) fmt::print("{}\n", ein::report(plan));
    if (!context.dot.empty() && context.rank == 0) {
      ein::write_dot(plan, context.dot + "." + strategy + ".dot");
    }
  }
  const auto right = [](const Measurement& m) {
    return m.verdict.correct && m.predicted_words == m.counted_words;
  };
  if (context.rank == 0) {
    fmt::print("{}\n", ein::compare({plans.data(), plans.size()}));
    fmt::print("{:14} {:>12} {:>12} {:>9} {:>13} {:>13}  result\n", "measured", "words",
               "predicted", "time", "memory", "predicted");
    for (std::size_t n = 0; n < plans.size(); ++n) {
      const Measurement& m = measurements[n];
      const auto mebibytes = [](std::int64_t bytes) {
        return static_cast<double>(bytes) / 1048576;
      };
      fmt::print("{:14} {:>12} {:>12} {:>6.1f} ms {:>9.2f} MiB {:>9.2f} MiB  {}{}\n",
                 plans[n].strategy.view(), m.counted_words, m.predicted_words, 1e3 * m.seconds,
                 mebibytes(m.allocated_bytes), mebibytes(m.predicted_bytes),
                 right(m) ? "" : "WRONG: ", m.verdict.finding);
    }
  }
  return std::ranges::all_of(measurements, right);
}

/// Reads the options on every rank. Collective: where one cannot be read on any rank, rank 0 prints
/// why, as the first such rank has it, and all return that rank's exit code.
/// \returns nothing if the example may go on.
[[nodiscard]] inline std::optional<int> parse(CLI::App& app, int argc, char** argv, MPI_Comm comm) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  bool stops = false;
  int code = 0;
  std::ostringstream out;
  std::ostringstream error;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& stop) {
    stops = true;
    code = app.exit(stop, out, error);
  }
  const int first = reduced(stops ? rank : ranks, MPI_INT, MPI_MIN, comm);
  if (first == ranks) return std::nullopt;
  if (rank == first) fmt::print("{}", out.str());
  if (rank == first) fmt::print(stderr, "{}", error.str());
  MPI_Bcast(&code, 1, MPI_INT, first, comm);
  return code;
}

/// Starts MPI and Kokkos, reads the options, runs `body` on every rank.
template <class Body>
[[nodiscard]] int run_in_context(CLI::App& app, int argc, char** argv, MPI_Comm comm,
                                 Context& context, const Body& body) {
  // Neither MPI nor Kokkos is shown the arguments: Kokkos has a --help of its own.
  int none = 1;
  const ein::ScopedRuntime runtime(none, argv);
  context.comm = comm;
  MPI_Comm_rank(comm, &context.rank);
  MPI_Comm_size(comm, &context.ranks);
  context.workers = context.ranks;
  app.add_option("--workers", context.workers, "workers of the plan")->capture_default_str();
  app.add_option("--strategy", context.strategies,
                 "strategies to plan by, one or more names, or all: those that apply")
      ->capture_default_str();
  app.add_option("--runs", context.runs, "runs per plan; the fastest is shown")
      ->check(positive)
      ->capture_default_str();
  app.add_flag("--report", context.report, "print each plan");
  app.add_option("--dot", context.dot, "write each plan as a Graphviz file, <DOT>.<strategy>.dot");
  if (const std::optional<int> code = parse(app, argc, argv, comm)) return *code;
  return body(context) ? 0 : 1;
}

/// An example's main.
/// \param body  takes a Context and returns whether all went well.
/// \returns the process's exit code.
template <class Body>
[[nodiscard]] int run(CLI::App& app, int argc, char** argv, MPI_Comm comm, const Body& body) {
  Context context;
  try {
    return run_in_context(app, argc, argv, comm, context, body);
  } catch (const std::exception& error) {
    // Where all ranks failed, MPI came to its end and one of them speaks for all. Where one failed
    // alone, it must say so itself, before the others are ended.
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) fmt::print(stderr, "rank {} of {}: ", context.rank, context.ranks);
    if (finalized == 0 || context.rank == 0) fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

}  // namespace examples
