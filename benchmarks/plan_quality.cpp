// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every strategy's plan moves: true words received by the busiest worker and by all, and how
// many times the best plan's, over workloads and numbers of workers.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/models/attention.hpp"
#include "eindecomp/models/transformer.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/strategy.hpp"
#include "eindecomp/relation/words_by_worker.hpp"
#include "eindecomp/tools/table.hpp"

namespace ein = eindecomp;
using namespace eindecomp::labels;

namespace {

struct Workload {
  std::string name;
  std::vector<int> workers;
  std::function<void(ein::PlanProgram&)> write;
};

/// Z = X·Y, m by k times k by n.
Workload product(ein::Extent m, ein::Extent k_, ein::Extent n, std::vector<int> workers) {
  return {fmt::format("matmul {}x{}x{}", m, k_, n), std::move(workers),
          [=](ein::PlanProgram& program) {
            const auto x = program.input<double>("X", {m, k_});
            const auto y = program.input<double>("Y", {k_, n});
            ein::let<"Z">(i, k) = ein::sum(j)(x(i, j) * y(j, k));
          }};
}

/// (A·B) + (C·(D·E)): A is n by thin, B thin by n, all others n by n.
Workload chain(ein::Extent n, ein::Extent thin, std::vector<int> workers) {
  return {n == thin ? fmt::format("chain {}", n) : fmt::format("chain {}, inner {}", n, thin),
          std::move(workers), [=](ein::PlanProgram& program) {
            const auto a_ = program.input<double>("A", {n, thin});
            const auto b_ = program.input<double>("B", {thin, n});
            const auto c_ = program.input<double>("C", {n, thin});
            const auto d_ = program.input<double>("D", {thin, n});
            const auto e_ = program.input<double>("E", {n, n});
            const auto ab = ein::let<"AB">(i, k) = ein::sum(j)(a_(i, j) * b_(j, k));
            const auto de = ein::let<"DE">(i, k) = ein::sum(j)(d_(i, j) * e_(j, k));
            const auto cde = ein::let<"CDE">(i, k) = ein::sum(j)(c_(i, j) * de(j, k));
            ein::let<"S">(i, k) = ab(i, k) + cde(i, k);
          }};
}

Workload llama(std::string name, const ein::TransformerSizes& sizes, std::vector<int> workers) {
  return {std::move(name), std::move(workers),
          [sizes](ein::PlanProgram& program) { ein::transformer_prefill(program, sizes); }};
}

std::vector<Workload> workloads() {
  const std::vector<int> few{2, 4, 8};
  std::vector<Workload> all;
  all.push_back(product(8192, 8192, 8192, {8, 13, 64, 127, 512}));
  all.push_back(product(65536, 4096, 4096, {8, 13, 64, 127, 512}));
  all.push_back(product(16384, 16384, 512, {8, 13, 64, 127, 512}));
  for (ein::Extent n = 1024; n <= 32768; n *= 2) all.push_back(chain(n, n, {4, 8, 16, 64}));
  for (ein::Extent n = 1024; n <= 32768; n *= 2) all.push_back(chain(n, n / 16, {4, 8, 16, 64}));
  all.push_back({"attention 128x512", {2, 4, 8, 16}, [](ein::PlanProgram& program) {
                   ein::multi_head_attention_model(program);
                 }});
  for (ein::Extent batch : {1, 2, 4, 8}) {
    for (ein::Extent sequence : {1024, 4096}) {
      all.push_back(llama(fmt::format("LLaMA-7B, b {} s {}", batch, sequence),
                          ein::llama_7b(batch, sequence), few));
    }
  }
  all.push_back(llama("LLaMA-65B, b 1 s 4096", ein::llama_65b(1, 4096), few));
  all.push_back(llama("LLaMA-7B, b 4 s 4096", ein::llama_7b(4, 4096), {1024}));
  return all;
}

struct Row {
  std::string strategy;
  int in_use = 0;
  ein::detail::WordSum words;
};

/// The strategy's plan, unless it does not apply to the program or the number of workers.
std::optional<Row> plan_by(const ein::Strategy& strategy, const ein::EinGraph& graph, int p) {
  if (strategy.name == "by_hand") return std::nullopt;
  if (!strategy.any_p && !std::has_single_bit(static_cast<unsigned>(p))) return std::nullopt;
  try {
    ein::DecomposeOptions options;
    options.workers = p;
    options.strategy = strategy.name;
    const ein::Plan plan = ein::decompose(graph, options);
    return Row{std::string(strategy.name), plan.workers_in_use(),
               ein::detail::sum_of(ein::words_by_worker(plan.graph, plan.placement))};
  } catch (const ein::Error&) {
    return std::nullopt;
  }
}

double ratio(ein::Extent words, ein::Extent best) {
  if (best == 0) return words == 0 ? 1 : 1e9;
  return static_cast<double>(words) / static_cast<double>(best);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"True words moved by every strategy's plan"};
  std::string only;
  app.add_option("--only", only, "workloads whose name contains this");
  CLI11_PARSE(app, argc, argv);

  using Align = ein::detail::TextTable::Align;
  for (const Workload& workload : workloads()) {
    if (workload.name.find(only) == std::string::npos) continue;
    ein::PlanProgram program;
    workload.write(program);
    for (int p : workload.workers) {
      std::vector<Row> rows;
      for (const ein::Strategy& strategy : ein::strategies) {
        if (auto row = plan_by(strategy, program.graph(), p)) rows.push_back(std::move(*row));
      }
      std::stable_sort(rows.begin(), rows.end(),
                       [](const Row& a, const Row& b) { return a.words < b.words; });
      ein::detail::TextTable table(
          {Align::left, Align::right, Align::right, Align::right, Align::right});
      table.add({"strategy", "in use", "busiest worker", "all workers", "of the best"});
      table.rule();
      for (const Row& row : rows) {
        table.add({row.strategy, fmt::format("{}", row.in_use),
                   ein::detail::grouped(row.words.busiest), ein::detail::grouped(row.words.total),
                   fmt::format("{:.3f}", ratio(row.words.busiest, rows.front().words.busiest))});
      }
      fmt::print("{}, {} workers\n{}\n", workload.name, p, table.text());
    }
  }
  return 0;
}
