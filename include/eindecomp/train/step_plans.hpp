// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The two plans of a step that accumulates gradients over microbatches.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/carried_tensor.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/carried_result.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/plan/words.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/train/minimise.hpp"

namespace eindecomp {

/// What a step runs. Both store a tensor that they share where the whole plan stores it.
template <class Backend>
struct StepPlans {
  /// Of one microbatch: loss, metrics, gradients and their sums. Of an optimiser that does not
  /// accumulate, the whole plan.
  BasicPlan<Backend> gradients;
  /// Of the weights' and states' next values from the sums, which are inputs; if there are sums.
  std::optional<BasicPlan<Backend>> update;
};

namespace train {

/// A pair by its vertices in a plan. \throws Error if the plan does not carry it.
[[nodiscard]] inline CarriedResult carried_result(const Plan& plan, const CarriedTensor& pair,
                                                  const std::source_location& where) {
  const CarriedResult result{plan.vertex(pair.next, where), plan.vertex(pair.input, where)};
  if (std::ranges::find(plan.carry, result) != plan.carry.end()) return result;
  throw Error(ErrorKind::plan,
              "the plan does not carry " + pair.next + " to " + pair.input +
                  " (a step's weights are the next one's); decompose with .carry = "
                  "updates.carry()",
              where);
}

/// What a plan carries besides weights, states and sums.
template <class T, class Backend>
[[nodiscard]] std::vector<CarriedTensor> carried_besides(const Plan& plan,
                                                         const Updates<T, Backend>& updates) {
  std::vector<CarriedTensor> found;
  for (const CarriedResult& pair : plan.carry) {
    const Text& input = plan.graph[pair.input].name;
    bool is_updated = false;
    for (const std::vector<CarriedTensor>* known :
         {&updates.weights, &updates.states, &updates.accumulation.sums}) {
      for (const CarriedTensor& one : *known) is_updated = is_updated || one.input == input;
    }
    if (!is_updated) found.push_back({plan.graph[pair.next].name, input});
  }
  return found;
}

/// A group of statements whose numbers are others.
[[nodiscard]] inline StepGroup shifted(StepGroup group, VertexId shift) {
  group.first += shift;
  group.last += shift;
  if (group.interleaved >= 0) group.interleaved += shift;
  for (StepGroup& tiles : group.tiles) tiles = shifted(std::move(tiles), shift);
  return group;
}

/// Gives a plan of some of another's statements what it takes over: numbers[v] is the tensor of
/// `whole` that tensor v is there, which the other calls v + shift.
template <class Backend>
void take_over(BasicPlan<Backend>& part, const BasicPlan<Backend>& whole,
               const std::vector<VertexId>& numbers, VertexId begin, VertexId end, VertexId shift) {
  part.strategy = whole.strategy;
  part.workers = whole.workers;
  part.ranks = whole.ranks;
  part.placement.mesh = whole.placement.mesh;
  part.cost = {};
  for (VertexId v = 0; v < part.graph.size(); ++v) {
    const auto n = to_index(numbers[to_index(v)]);
    const bool is_input = part.graph[v].is_input();  // which in the whole may be a result
    part.partitions.push_back(is_input ? PartitionVector{} : whole.partitions[n]);
    part.placement.calls.push_back(is_input ? AxisLists{} : whole.placement.calls[n]);
    part.placement.stored.push_back(whole.placement.stored[n]);
    part.costs.push_back(is_input ? Cost{} : whole.costs[n]);
    part.cost += part.costs.back();
    part.launchers.push_back(is_input ? typename Backend::Launcher{} : whole.launchers[n]);
  }
  for (const StepGroup& group : whole.steps) {
    if (begin <= group.first && group.last < end) part.steps.push_back(shifted(group, shift));
  }
}

/// The statements of an update, as a program of its own: the weights and the sums are its inputs.
class UpdateGraph {
 public:
  /// \param begin  the update's first tensor in the whole, which it ends
  UpdateGraph(const EinGraph& whole, const std::vector<CarriedTensor>& sums, VertexId begin)
      : m_whole(whole), m_sums(sums), m_known(whole.vertices.size(), -1) {
    for (VertexId v = begin; v < whole.size(); ++v) {
      for (const Operand& o : whole[v].operands) {
        if (o.vertex < begin) add_input(o.vertex);
      }
    }
    m_shift = graph.size() - begin;
    for (VertexId v = begin; v < whole.size(); ++v) {
      if (whole[v].is_input()) {
        add_input(v);
      } else {
        add_statement(v);
      }
    }
  }

  EinGraph graph;                 ///< what is run
  std::vector<VertexId> numbers;  ///< in the whole, of each tensor

  /// The number of one of the whole's tensors.
  [[nodiscard]] VertexId operator()(VertexId v) const { return m_known[to_index(v)]; }
  /// What is added to the number of one of the update's tensors in the whole.
  [[nodiscard]] VertexId shift() const { return m_shift; }

 private:
  void add_input(VertexId v) {
    if (m_known[to_index(v)] >= 0) return;
    const Vertex& tensor = m_whole[v];
    Text name = tensor.name;
    for (const CarriedTensor& sum : m_sums) {
      if (sum.next == name) name = sum.input;  // the last run's sums are bound as any run's are
    }
    note(v, graph.add_input(name, tensor.bound, tensor.element, tensor.where));
  }
  void add_statement(VertexId v) {
    const Vertex& tensor = m_whole[v];
    const auto label_of = [&](int position) -> std::string_view {
      return m_whole.labels[to_index(tensor.labels[to_index(position)])].name;
    };
    StatementSpec spec;
    spec.name = tensor.name;
    for (const Operand& o : tensor.operands) {
      StatementSpec::OperandSpec operand;
      operand.vertex = m_known[to_index(o.vertex)];
      for (const int position : o.labels) operand.labels.push_back(label_of(position));
      spec.operands.push_back(std::move(operand));
    }
    for (const int position : tensor.output) spec.output.push_back({label_of(position), 0});
    spec.op = tensor.op;
    spec.element = tensor.element;
    spec.partial = tensor.partial;
    spec.where = tensor.where;
    note(v, graph.add_statement(spec));
    Vertex& added = graph.vertices.back();
    added.kernel = tensor.kernel;
    added.kept = tensor.is_result();
  }
  void note(VertexId v, VertexId number) {
    m_known[to_index(v)] = number;
    numbers.push_back(v);
  }

  const EinGraph& m_whole;
  const std::vector<CarriedTensor>& m_sums;
  std::vector<VertexId> m_known;
  VertexId m_shift = 0;
};

}  // namespace train

/// Splits a plan of a step whose optimiser is Accumulated into what runs for every microbatch and
/// what runs once, as a Trainer does. Of k microbatches, the words of a step are k times those of
/// `gradients` and once those of `update`. Not collective.
/// \param plan     carries what is updated: decompose with `.carry = updates.carry()`.
/// \param updates  of the planned program.
/// \throws Error if the plan does not carry a sum or carries what is no sum, weight or state, if
///   steps go on from one part into the other, or if statements were written after minimise(): they
///   would be of neither part.
template <class Backend, class T, class ProgramBackend>
[[nodiscard]] StepPlans<Backend> step_plans(
    const BasicPlan<Backend>& plan, const Updates<T, ProgramBackend>& updates,
    std::source_location where = std::source_location::current()) {
  const Accumulation& accumulation = updates.accumulation;
  if (accumulation.microbatches == 1) return {plan, std::nullopt};
  const EinGraph& whole = plan.graph;
  const auto carried = [&](const std::vector<CarriedTensor>& pairs, const auto& number_of) {
    std::vector<CarriedResult> found;
    for (const CarriedTensor& pair : pairs) {
      const CarriedResult result = train::carried_result(plan, pair, where);
      found.push_back({number_of(result.next), number_of(result.input)});
    }
    return found;
  };
  const auto same = [](VertexId v) { return v; };
  const std::vector<CarriedResult> sums = carried(accumulation.sums, same);
  if (const auto others = train::carried_besides(plan, updates); !others.empty()) {
    core::fail(ErrorKind::plan, where, "the plan carries ", others.front().next, " to ",
               others.front().input,
               " besides what an Accumulated optimiser updates (a step is several runs); carry "
               "updates.carry() alone");
  }
  for (const StepGroup& group : plan.steps) {
    if (group.first >= accumulation.begin || group.last < accumulation.begin) continue;
    core::fail(ErrorKind::plan, where, "steps of statements ", whole[group.first].name, " to ",
               whole[group.last].name,
               " go from the gradients into the update (which runs once for all microbatches); "
               "let them end before");
  }
  if (whole.size() > accumulation.end) {
    core::fail(ErrorKind::plan, where, "tensor ", whole[accumulation.end].name,
               " was written after minimise() of an Accumulated optimiser (what is before the "
               "update runs for every microbatch, and the update ends the program); write it "
               "before minimise()");
  }

  StepPlans<Backend> plans;
  const VertexId begin = accumulation.begin;
  BasicPlan<Backend>& gradients = plans.gradients;
  gradients.graph = whole;
  gradients.graph.take_back(to_index(begin), whole.labels.size(), accumulation.writing);
  std::vector<VertexId> numbers(to_index(begin));
  std::iota(numbers.begin(), numbers.end(), 0);
  train::take_over(gradients, plan, numbers, 0, begin, 0);
  gradients.carry = sums;

  const train::UpdateGraph update(whole, accumulation.sums, begin);
  BasicPlan<Backend>& last = plans.update.emplace();
  last.graph = update.graph;
  train::take_over(last, plan, update.numbers, begin, whole.size(), update.shift());
  last.carry = carried(updates.weights, update);
  for (const CarriedResult& state : carried(updates.states, update)) last.carry.push_back(state);
  return plans;
}

}  // namespace eindecomp
