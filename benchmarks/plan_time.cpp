// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long planning takes, and how much memory: a table over workloads and numbers of workers.

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "eindecomp/models/attention.hpp"
#include "eindecomp/models/transformer.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/strategy.hpp"

namespace ein = eindecomp;

namespace {

struct Workload {
  std::string name;
  int workers;
  std::function<void(ein::PlanProgram&)> write;
};

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

Workload llama(std::string name, ein::TransformerSizes sizes, int layers, int workers) {
  sizes.layers = layers;
  return {std::move(name), workers,
          [sizes](ein::PlanProgram& program) { ein::transformer_prefill(program, sizes); }};
}

std::vector<Workload> workloads() {
  const ein::TransformerSizes small = ein::llama_7b(4, 4096);
  const ein::TransformerSizes large = ein::llama_65b(4, 4096);
  return {{"attention 128x512", 16,
           [](ein::PlanProgram& program) { ein::multi_head_attention_model(program); }},
          llama("LLaMA-7B, 1 layer", small, 1, 1024),
          llama("LLaMA-7B, 32 layers", small, 32, 1024),
          llama("LLaMA-7B, 256 layers", small, 256, 1024),
          llama("LLaMA-65B, 80 layers", large, 80, 1024),
          llama("LLaMA-7B, 32 layers", small, 32, 8),
          llama("LLaMA-7B, 32 layers", small, 32, 720),
          llama("LLaMA-7B, 32 layers", small, 32, 5040),
          llama("LLaMA-7B, 32 layers", small, 32, 65536)};
}

/// Plans one workload and prints its row. In a process of its own, for the peak memory is one's
/// lifetime's.
void measure(const Workload& workload, const ein::Strategy& strategy) {
  const double begin = seconds();
  ein::PlanProgram program;
  workload.write(program);
  const double built = seconds();
  const ein::Labeling found =
      strategy.decompose(program.graph(), {.workers = workload.workers, .strategy = strategy.name},
                         std::source_location::current());
  const double planned = seconds();
  const double memory = peak_mebibytes();
  const ein::Extent cost = ein::graph_cost(program.graph(), found.partitions).total();
  std::string gap = "?";
  if (found.gap) gap = *found.gap == 0 ? "optimal" : fmt::format("<= {}", *found.gap);
  fmt::print("{:<22} {:>7} {:>10} {:>9.3f} {:>9.3f} {:>7.0f} {:>20} {:>12}\n", workload.name,
             workload.workers, program.graph().size(), built - begin, planned - built, memory, cost,
             gap);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Planning times on one core");
  std::string name = "exact";
  app.add_option("--strategy", name, "the strategy that plans")->capture_default_str();
  int most = 1 << 16;
  app.add_option("--max-workers", most, "leave out workloads for more workers");
  CLI11_PARSE(app, argc, argv);

  const ein::Strategy& strategy = ein::find_strategy(name);
  fmt::print("{:<22} {:>7} {:>10} {:>9} {:>9} {:>7} {:>20} {:>12}\n", "workload", "workers",
             "vertices", "build s", "plan s", "MiB", "words", "gap");
  std::fflush(stdout);
  for (const Workload& workload : workloads()) {
    if (workload.workers > most) continue;
    if (!strategy.any_p && (workload.workers & (workload.workers - 1)) != 0) continue;
    const pid_t child = fork();
    if (child == 0) {
      measure(workload, strategy);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
      fmt::print(stderr, "{} for {} workers failed\n", workload.name, workload.workers);
      return 1;
    }
  }
  return 0;
}
