// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/planned.hpp"

#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/tools/countable.hpp"
#include "eindecomp/tools/plan_json.hpp"
#include "eindecomp/tools/program_json.hpp"

namespace eindecomp_tests {

Planned planned(std::string_view text, int workers, const std::string& strategy, bool rewrite) {
  using namespace eindecomp;
  Planned result;
  try {
    const JsonProgram program = read_program(text, "file", rewrite);
    result.was_read = true;
    check_countable(program.graph, workers, "file");
    DecomposeOptions options;
    options.workers = workers;
    options.strategy = strategy;
    options.layouts = program.layouts;
    std::vector<TimedPlan> plans;
    plans.push_back(decompose_timed(program.graph, options, std::source_location{}));
    result.plan = plan_json(rank_plans(std::move(plans), Objective::words).front());
  } catch (const Error& error) {
    result.complaint = std::string(error.sentence());
  }
  return result;
}

}  // namespace eindecomp_tests
