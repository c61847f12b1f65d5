// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long planning takes, and how much memory: a table over workloads, numbers of workers and
// strategies. "choose" is the strategy alone, "plan" all of decompose(): placing and looking for
// statements to run in steps, too. "rank" is what every rank then takes to make its instructions.

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <source_location>
#include <string>
#include <vector>

#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/strategy.hpp"
#include "support/workloads.hpp"

namespace ein = eindecomp;
using eindecomp_benchmarks::Workload;

namespace {

/// Processor time of this process, in seconds: others' work on the machine does not count.
double seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double peak_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Plans one workload and prints its row, unless the program lacks the strategy's roles. In a
/// process of its own, for the peak memory is one's lifetime's.
void measure(const Workload& workload, int workers, const ein::Strategy& strategy) {
  const double begin = seconds();
  const ein::EinGraph graph = workload.write();
  const double built = seconds();
  if (!strategy.finds_roles(graph)) return;
  ein::DecomposeOptions options;
  options.workers = workers;
  options.strategy = strategy.name;
  static_cast<void>(strategy.decompose(graph, options, std::source_location::current()));
  const double chosen = seconds();
  const ein::Plan plan = ein::decompose(graph, options);
  const double planned = seconds();
  static_cast<void>(plan.program(plan.ranks / 2));
  const double compiled = seconds();
  std::string gap = "?";
  if (plan.gap) gap = plan.optimal() ? "optimal" : fmt::format("<= {}", *plan.gap);
  fmt::print(
      "{:<22} {:>7} {:<14} {:>8} {:>8.3f} {:>8.3f} {:>8.3f} {:>8.3f} {:>6.0f} {:>20} {:>12}\n",
      workload.name, workers, strategy.name, graph.size(), built - begin, chosen - built,
      planned - chosen, compiled - planned, peak_mebibytes(), plan.cost.total(), gap);
  std::fflush(stdout);
}

/// \returns whether the measurement ended well.
bool measure_apart(const Workload& workload, int workers, const ein::Strategy& strategy) {
  const pid_t child = fork();
  if (child == 0) {
    measure(workload, workers, strategy);
    _exit(0);
  }
  int status = 0;
  if (child > 0 && waitpid(child, &status, 0) == child && status == 0) return true;
  fmt::print(stderr, "{} for {} workers by {} failed\n", workload.name, workers, strategy.name);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Planning times on one core");
  std::string name = "exact";
  app.add_option("--strategy", name, "the strategy that plans, or all")->capture_default_str();
  std::string only;
  app.add_option("--only", only, "workloads whose name contains this");
  int most = 1 << 16;
  app.add_option("--max-workers", most, "leave out workloads for more workers");
  CLI11_PARSE(app, argc, argv);

  std::vector<ein::Strategy> chosen;
  for (const ein::Strategy& strategy : ein::list_strategies()) {
    if (name == "all" ? strategy.name != "by_hand" : strategy.name == name) {
      chosen.push_back(strategy);
    }
  }
  if (chosen.empty()) {
    fmt::print(stderr, "there is no strategy '{}'\n", name);
    return 1;
  }
  std::vector<Workload> all = eindecomp_benchmarks::workloads();
  for (Workload& workload : eindecomp_benchmarks::deep_workloads()) {
    all.push_back(std::move(workload));
  }
  fmt::print("{:<22} {:>7} {:<14} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6} {:>20} {:>12}\n", "workload",
             "workers", "strategy", "vertices", "build s", "choose s", "plan s", "rank s", "MiB",
             "cost", "gap");
  std::fflush(stdout);
  bool well = true;
  for (const Workload& workload : all) {
    if (workload.name.find(only) == std::string::npos) continue;
    for (int workers : workload.workers) {
      for (const ein::Strategy& strategy : chosen) {
        if (workers > most) continue;
        well = measure_apart(workload, workers, strategy) && well;
      }
    }
  }
  return well ? 0 : 1;
}
