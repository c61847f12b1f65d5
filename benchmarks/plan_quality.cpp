// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every strategy's plan moves: true words received by the busiest worker and by all, how many
// times the lower bounds that is, and by how much each strategy loses to the best, over workloads
// and numbers of workers. Exit status 1 if a plan beats the default strategy's.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/models/feed_forward.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/k_cut.hpp"
#include "eindecomp/plan/lower_bound.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/placed/quick_words.hpp"
#include "eindecomp/plan/strategy.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/tools/table.hpp"
#include "support/workloads.hpp"

namespace ein = eindecomp;
using eindecomp_benchmarks::Workload;

namespace {

struct Row {
  std::string strategy;
  int in_use = 0;
  ein::plan::WordSum words;
};

/// The strategy's plan, unless it does not apply to the program. Placed as
/// decompose() does, which would besides look for steps.
std::optional<Row> plan_by(const ein::Strategy& strategy, const ein::EinGraph& graph, int p) {
  if (strategy.name == "by_hand" || !strategy.finds_roles(graph)) return std::nullopt;
  ein::DecomposeOptions options;
  options.workers = p;
  options.strategy = strategy.name;
  ein::Labeling chosen = strategy.decompose(graph, options, std::source_location::current());
  ein::Placement placement = std::move(chosen.placement);
  if (placement.stored.empty()) {
    placement = ein::place(graph, chosen.partitions, ein::make_mesh(p));
  }
  const int in_use = placement.mesh.workers();
  return Row{std::string(strategy.name), in_use,
             ein::plan::sum_of(ein::plan::quick_words(graph, placement, in_use))};
}

/// The lower bounds of all statements, summed up.
double bound(const ein::EinGraph& graph, int workers) {
  double sum = 0;
  for (ein::VertexId v = 0; v < graph.size(); ++v) sum += ein::lower_bound(graph, v, workers);
  return sum;
}

std::string ratio(ein::Extent words, double of) {
  if (of == 0) return words == 0 ? "1.000" : "-";
  return fmt::format("{:.3f}", static_cast<double>(words) / of);
}

/// Prints the table of one program. \returns whether the default strategy's plan is the best.
bool compare(const std::string& name, const ein::EinGraph& graph, int p) {
  std::vector<Row> rows;
  for (const ein::Strategy& strategy : ein::list_strategies()) {
    if (auto row = plan_by(strategy, graph, p)) rows.push_back(std::move(*row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.words < b.words; });
  const ein::Extent best = rows.front().words.busiest;
  ein::tools::TextTable table(
      "lrrrrr", {"strategy", "in use", "busiest worker", "all workers", "of bound", "of the best"});
  ein::Extent by_default = 0;
  for (const Row& row : rows) {
    if (row.strategy == ein::DecomposeOptions{}.strategy) by_default = row.words.busiest;
    table.add({row.strategy, fmt::format("{}", row.in_use), ein::tools::grouped(row.words.busiest),
               ein::tools::grouped(row.words.total),
               ratio(row.words.busiest, bound(graph, row.in_use)),
               ratio(row.words.busiest, static_cast<double>(best))});
  }
  fmt::print("{}, {} workers\n{}\n", name, p, table.text());
  std::fflush(stdout);
  return by_default == best;
}

/// For every number of workers how far the default strategy's plans of products are from the lower
/// bound, and how many workers they use.
void compare_products_with_bound() {
  constexpr int most = 512;
  const std::vector<Workload> products = eindecomp_benchmarks::products();
  std::vector<std::string> row{"workers"};
  std::vector<ein::EinGraph> graphs;
  for (std::size_t i = 0; i < products.size(); ++i) {
    graphs.push_back(products[i].write());
    row.insert(row.end(), {products[i].name, "in use"});
  }
  ein::tools::TextTable table(std::string(row.size(), 'r'), row);
  for (int p = 2; p <= most; ++p) {
    row = {fmt::format("{}", p)};
    for (const ein::EinGraph& graph : graphs) {
      const auto plan = plan_by(ein::list_strategies().front(), graph, p);
      row.push_back(ratio(plan->words.busiest, bound(graph, plan->in_use)));
      row.push_back(fmt::format("{}", plan->in_use));
    }
    table.add(row);
  }
  fmt::print("The default strategy's busiest worker, of the lower bound\n{}\n", table.text());
}

/// SoyBean's example: its closed form, and what k cuts of the training step convert.
void compare_with_closed_form() {
  constexpr int cuts = 4;
  constexpr int bytes = sizeof(float);
  const ein::FeedForward net = ein::soybean_mlp(5, 300, 400);
  ein::DifferentiablePlanProgram program;
  const auto step = ein::feed_forward_training(program, net);
  ein::KCutOptions options;
  std::int64_t parameters = 0;
  std::int64_t activations = 0;
  for (const auto& update : step.updates) {
    options.in_place.push_back({update.weight.vertex(), update.next.vertex()});
    parameters += bytes * program.graph()[update.weight.vertex()].size();
    activations += bytes * net.batch * program.graph()[update.weight.vertex()].bound[1];
  }
  const ein::ClosedForm form = ein::soybean_closed_form(parameters, activations, 1 << cuts, 4);
  const ein::KCutResult found = ein::k_cuts(program.graph(), cuts, options);
  const auto megabytes = [](std::int64_t n) { return static_cast<double>(n) / 1e6; };
  fmt::print("SoyBean's MLP, 5 layers of 300, batch 400, 16 workers, MB\n");
  fmt::print("  closed form: data parallel {:.1f}, model parallel {:.1f}, hybrid {:.1f}\n",
             megabytes(form.data), megabytes(form.model), megabytes(form.hybrid));
  fmt::print("  k cuts: {:.1f}, cut by cut", megabytes(bytes * found.words()));
  for (std::size_t n = 0; n < found.cuts.size(); ++n) {
    fmt::print("{} {} x {:.2f}", n == 0 ? "" : " +", 1 << n,
               megabytes(bytes * found.cuts[n].words));
  }
  fmt::print("{}\n\n", found.optimal ? "" : " (not every cut is proven to be the least)");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"True words moved by every strategy's plan"};
  std::string only;
  app.add_option("--only", only, "workloads whose name contains this");
  CLI11_PARSE(app, argc, argv);

  std::vector<std::string> beaten;
  for (const Workload& workload : eindecomp_benchmarks::workloads()) {
    if (workload.name.find(only) == std::string::npos) continue;
    const ein::EinGraph graph = workload.write();
    for (int p : workload.workers) {
      if (!compare(workload.name, graph, p)) {
        beaten.push_back(fmt::format("{}, {} workers", workload.name, p));
      }
    }
  }
  if (only.empty()) compare_products_with_bound();
  compare_with_closed_form();
  for (const std::string& name : beaten) {
    fmt::print("a strategy beats the default one: {}\n", name);
  }
  return beaten.empty() ? 0 : 1;
}
