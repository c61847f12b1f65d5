// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// eindecomp-plan: plans a program from a JSON file without running it. docs/tools.md has the
// format.
//
// Exit status 0: planned. 2: something is wrong with what was asked for, in one line on the error
// stream. 1: a result could not be written.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <limits>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/tools/compare.hpp"
#include "eindecomp/tools/countable.hpp"
#include "eindecomp/tools/dot.hpp"
#include "eindecomp/tools/explanation.hpp"
#include "eindecomp/tools/machine_json.hpp"
#include "eindecomp/tools/plan_file_json.hpp"
#include "eindecomp/tools/plan_json.hpp"
#include "eindecomp/tools/program_json.hpp"
#include "eindecomp/tools/ranking.hpp"
#include "eindecomp/tools/report.hpp"
#include "eindecomp/tools/svg.hpp"
#include "eindecomp/tools/trace.hpp"
#include "eindecomp/tools/write_file.hpp"

namespace ein = eindecomp;

namespace {

struct Arguments {
  std::string program;
  int workers = 0;
  std::string strategy;
  std::string cost = "words";
  std::string machine;
  std::int64_t memory = 0;
  double max_idle = -1;
  bool json = false;
  bool explain = false;
  bool rewrite = false;
  std::string dot;
  std::string svg;
  std::string save;
  std::string load;
  std::string trace;
};

void declare(CLI::App& app, Arguments& arguments) {
  app.add_option("program", arguments.program, "the program, a JSON file; - reads standard input")
      ->required();
  app.add_option("--workers", arguments.workers,
                 "how many workers to plan for, 1 to 65536; needed unless a plan is loaded")
      ->type_name("N")
      ->check(CLI::Range(1, ein::max_workers));
  std::string names = "all";
  for (const ein::Strategy& strategy : ein::list_strategies()) {
    if (strategy.name != "by_hand") names += ", " + std::string(strategy.name);
  }
  app.add_option("--strategy", arguments.strategy,
                 "one of " + names + "; without it the one that is best by --cost")
      ->type_name("NAME");
  app.add_option("--cost", arguments.cost, "what makes a plan better: paper, words or time")
      ->type_name("NAME")
      ->check(CLI::IsMember({"paper", "words", "time"}))
      ->capture_default_str();
  app.add_option("--machine", arguments.machine,
                 "the cluster that the plan is for, a JSON file; needed for --cost time")
      ->type_name("FILE");
  app.add_option("--memory", arguments.memory,
                 "how many bytes of tensors a worker may hold; without it as the machine has it")
      ->type_name("BYTES")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
  app.add_option("--max-idle", arguments.max_idle,
                 "the share of the workers that the strategy placed may leave idle")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 100.0));
  app.add_flag("--rewrite", arguments.rewrite,
               "order products of many tensors, aggregate private labels first, share equal "
               "statements");
  app.add_flag("--json", arguments.json, "print JSON");
  app.add_flag("--explain", arguments.explain, "say why every statement is cut as it is");
  app.add_option("--dot", arguments.dot, "write a picture of the best plan, in Graphviz' language")
      ->type_name("FILE");
  app.add_option("--svg", arguments.svg, "write that picture drawn (needs Graphviz)")
      ->type_name("FILE");
  app.add_option("--save", arguments.save, "write the best plan to a file, for load_plan or --load")
      ->type_name("FILE");
  app.add_option("--trace", arguments.trace,
                 "write what every rank would do when, for ui.perfetto.dev or, to a name that "
                 "ends in .svg, as a picture; needs --machine")
      ->type_name("FILE");
  app.add_option("--load", arguments.load, "take the plan from a file instead of making one")
      ->type_name("FILE")
      ->excludes("--max-idle");
}

std::string read_text(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  return ein::tools::read_file(path);
}

ein::DecomposeOptions options_for(const Arguments& arguments, const ein::JsonProgram& program) {
  ein::DecomposeOptions options;
  options.workers = std::max(arguments.workers, 1);
  options.layouts = program.layouts;
  options.max_idle = arguments.max_idle;
  options.memory = arguments.memory;
  if (!arguments.machine.empty()) {
    options.machine = ein::read_machine(read_text(arguments.machine), arguments.machine);
  }
  if (arguments.cost == "time") options.objective = ein::Objective::time;
  if (arguments.cost == "paper") {
    options.objective = ein::Objective::paper;
    // Proves what it finds, but knows nothing of memory.
    if (ein::plan::memory_limit(options) == 0) options.strategy = "exact";
  }
  if (!arguments.strategy.empty()) options.strategy = arguments.strategy;
  return options;
}

/// \throws Error if options say something of the plan that is loaded which it is not.
ein::TimedPlan load(const Arguments& arguments, const ein::DecomposeOptions& options,
                    const ein::EinGraph& graph) {
  const auto begin = std::chrono::steady_clock::now();
  ein::Plan plan = ein::load_plan(graph, arguments.load);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (arguments.workers != 0 && arguments.workers != plan.workers) {
    ein::tools::fail_at(arguments.load, "the plan is for " + std::to_string(plan.workers) +
                                            " workers; leave out --workers, or plan anew");
  }
  if (!arguments.strategy.empty() && arguments.strategy != plan.strategy.view()) {
    ein::tools::fail_at(arguments.load, "the plan is by the strategy " + plan.strategy.str() +
                                            "; leave out --strategy, or plan anew");
  }
  if (arguments.cost == "time" && arguments.machine.empty()) {
    throw ein::Error(ein::ErrorKind::plan, "--cost time requires --machine", {});
  }
  const std::int64_t limit = ein::plan::memory_limit(options);
  if (limit > 0) {
    const std::int64_t peak = std::ranges::max(plan.peak_bytes());
    if (peak > limit) {
      const bool is_given = arguments.memory > 0;
      ein::tools::fail_at(arguments.load,
                          "the plan needs " + std::to_string(peak) + " bytes on a worker" +
                              (is_given ? "; leave out --memory, or plan anew"
                                        : " (" + arguments.machine + " has " +
                                              std::to_string(limit) + "); plan anew"));
    }
  }
  return {std::move(plan), took.count()};
}

std::vector<ein::RankedPlan> plan(const Arguments& arguments) {
  const std::string name = arguments.program == "-" ? "standard input" : arguments.program;
  const ein::JsonProgram program =
      ein::read_program(read_text(arguments.program), name, arguments.rewrite);
  if (!arguments.trace.empty() && arguments.machine.empty()) {
    throw ein::Error(ein::ErrorKind::plan, "--trace requires --machine", {});
  }
  if (arguments.load.empty()) {
    if (arguments.workers == 0) {
      throw ein::Error(ein::ErrorKind::plan, "--workers is required (or --load)", {});
    }
    ein::check_countable(program.graph, arguments.workers, name);
  }
  const ein::DecomposeOptions options = options_for(arguments, program);
  std::vector<ein::TimedPlan> plans;
  const std::source_location nowhere{};
  if (!arguments.load.empty()) {
    plans.push_back(load(arguments, options, program.graph));
  } else if (options.strategy == "all") {
    plans = ein::decompose_all_timed(program.graph, options, nowhere);
  } else {
    plans.push_back(ein::decompose_timed(program.graph, options, nowhere));
  }
  return ein::rank_plans(std::move(plans), options.objective, options.machine, nowhere);
}

std::string output(const Arguments& arguments, const std::vector<ein::RankedPlan>& plans) {
  const bool all = arguments.strategy == "all";
  if (arguments.json) {
    auto json = nlohmann::ordered_json::array();
    for (const ein::RankedPlan& ranked : plans) {
      json.push_back(ein::plan_json(ranked, arguments.explain));
    }
    return (all ? json : json.front()).dump(2) + '\n';
  }
  const ein::RankedPlan& best = plans.front();
  std::string text = all ? ein::ranking(plans) : ein::report(best.timed.plan);
  if (best.run && !all) {
    text += "\nA run takes " + ein::tools::decimal(best.run->in_turn.seconds, 6) +
            " s, or at least " + ein::tools::decimal(best.run->overlapped.seconds, 6) +
            " s with transfers while kernels run\n";
  }
  if (arguments.explain) text += '\n' + ein::explanation(best.timed.plan);
  return text;
}

void write_files(const Arguments& arguments, const ein::RankedPlan& best) {
  const std::source_location nowhere{};
  const ein::Plan& plan = best.timed.plan;
  if (!arguments.trace.empty()) {
    const std::string name = "predicted, " + plan.strategy.str();
    ein::write_trace(plan.graph,
                     {{name + ", transfers and kernels in turn", best.run->in_turn},
                      {name + ", transfers while kernels run", best.run->overlapped}},
                     arguments.trace, nowhere);
  }
  if (!arguments.save.empty()) ein::save_plan(plan, arguments.save, nowhere);
  if (!arguments.dot.empty()) ein::write_dot(plan, arguments.dot, nowhere);
  if (!arguments.svg.empty()) ein::write_svg(plan, arguments.svg, nowhere);
}

int complain(const std::string& sentence, int status) {
  fmt::print(stderr, "eindecomp-plan: {}\n", sentence);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int wrong = 2;
  constexpr int unwritten = 1;
  CLI::App app{"Plans a program of EinSum statements for many workers, without running it"};
  app.name("eindecomp-plan");
  Arguments arguments;
  declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return complain(error.what(), wrong);
  }
  std::vector<ein::RankedPlan> plans;
  std::string text;
  try {
    plans = plan(arguments);
    text = output(arguments, plans);
  } catch (const ein::Error& error) {
    return complain(std::string(error.sentence()), wrong);
  } catch (const std::exception& error) {
    return complain(error.what(), wrong);
  }
  try {
    write_files(arguments, plans.front());
  } catch (const ein::Error& error) {
    return complain(std::string(error.sentence()), unwritten);
  }
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  return written ? 0 : complain("the output could not be written", unwritten);
}
