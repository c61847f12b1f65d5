// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The planner, what compiles programs, tasks and reports of its plans, and what writes statements
/// and their derivatives, compiled once for a program of many translation units. The program
/// defines EINDECOMP_SEPARATE_PLANNER in all of them, and one of them includes this header, which
/// no other may.
#pragma once

#ifndef EINDECOMP_SEPARATE_PLANNER
#define EINDECOMP_SEPARATE_PLANNER
#endif

#include <cstdint>
#include <ostream>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/expr/functor_record.hpp"
#include "eindecomp/graph/checkpoint_sets_members.hpp"
#include "eindecomp/graph/derivative_call_members.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/make_derived.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/graph/rewrite.hpp"
#include "eindecomp/graph/statement_writer.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/labeling.hpp"
#include "eindecomp/plan/make_explanation.hpp"
#include "eindecomp/plan/make_plan.hpp"
#include "eindecomp/plan/make_timeline.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/packed_plan.hpp"
#include "eindecomp/plan/placed_strategy.hpp"
#include "eindecomp/plan/placement/finalize_plan.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/plan/plan_members.hpp"
#include "eindecomp/plan/statement_times.hpp"
#include "eindecomp/plan/strategy.hpp"
#include "eindecomp/plan/write_packed_plan.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/make_distribution.hpp"
#include "eindecomp/relation/make_profile.hpp"
#include "eindecomp/relation/make_programs.hpp"
#include "eindecomp/relation/make_redistribution.hpp"
#include "eindecomp/relation/peak_bytes.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/program_profile.hpp"
#include "eindecomp/relation/program_writer.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/step_rules.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "eindecomp/relation/walk_tasks.hpp"
#include "eindecomp/relation/write_program.hpp"
#include "eindecomp/tools/make_summary.hpp"
#include "eindecomp/tools/report.hpp"
#include "eindecomp/tools/summary.hpp"
#include "eindecomp/tools/write_report.hpp"

namespace eindecomp {

VertexId EinGraph::add_at_run_time(std::string_view name, std::vector<Extent> bound,
                                   ElementType element, const std::source_location& where) {
  return add(name, std::move(bound), element, where);
}

VertexId EinGraph::add_at_run_time(const StatementSpec& spec, bool share) {
  return add(spec, share);
}

Text EinGraph::make_name_at_run_time(std::string_view wanted) { return make_name(wanted); }

void EinGraph::name_last_at_run_time(std::string_view name) { name_last(name); }

void EinGraph::cut_at_run_time(std::size_t tensors_left, std::size_t labels_left, int writing) {
  cut(tensors_left, labels_left, writing);
}

VertexId graph::add_statement_at_run_time(EinGraph& graph, const StatementSpec& spec,
                                          const expr::FunctorRecord& join,
                                          const OperatorFacts& facts, bool share) {
  return add_operators(graph, spec, join, facts, share);
}

VertexId graph::rewrite_at_run_time(EinGraph& graph, const LoweringOptions& options,
                                    const StatementSpec& spec, const RewriteTarget& target) {
  return rewrite(graph, options, spec, target);
}

Plan decompose(const EinGraph& graph, const DecomposeOptions& options,
               const std::source_location& where) {
  return plan::finalize_plan(plan::make_plan(graph, options, where), options, where);
}

Labeling plan::placed_labeling(const EinGraph& graph, const DecomposeOptions& options,
                               const std::source_location& where) {
  return search_placed(graph, options, where);
}

plan::Packed plan::pack(const Plan& plan) { return write_packed(plan); }

Plan plan::unpack(const EinGraph& graph, std::span<const std::int64_t> packed) {
  return read_packed(graph, packed);
}

std::span<const Strategy> list_strategies() { return strategies; }

relation::ProgramProfile relation::profile_of(const EinGraph& graph, const Placement& placement,
                                              int ranks, const std::vector<StepGroup>& groups,
                                              const SpaceFacts& space) {
  return Profiler(graph, ranks, space).profile(placement, groups);
}

std::vector<std::int64_t> relation::peak_bytes_of(const EinGraph& graph, const Placement& placement,
                                                  int ranks, const std::vector<StepGroup>& groups,
                                                  const SpaceFacts& space) {
  return profile_of(graph, placement, ranks, groups, space).memory().peak_bytes;
}

std::ostream& operator<<(std::ostream& out, const RankProgram& program) {
  relation::ProgramWriter(out, program).write();
  return out;
}

std::uint64_t hash_of(const RankProgram& program) {
  return relation::ProgramHasher().hash(program);
}

PlanSummary summarize(const Plan& plan) { return tools::make_summary(plan); }

std::string report(const Plan& plan) { return tools::write_report(plan); }

std::string report(const Plan& plan, const std::vector<TensorLayout>& layouts) {
  return tools::write_report(plan) + tools::distributions_text(plan, layouts);
}

}  // namespace eindecomp
