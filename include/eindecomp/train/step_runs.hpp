// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The runs that a step of training is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/comm/or_abort.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/backend.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/plan/carried_result.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/run/executor.hpp"
#include "eindecomp/run/run.hpp"
#include "eindecomp/run/transport.hpp"
#include "eindecomp/train/step_plans.hpp"

namespace eindecomp::train {

/// Executes a step's plans: a run for each microbatch and one of the update, or one run of both.
template <class Space, comm::Communicator Group>
class StepRuns {
  using Bindings = std::vector<Binding<Space>>;

 public:
  /// \param execute  what an Executor is made of behind its plan
  template <class... Execute>
  StepRuns(const StepPlans<KokkosBackend<Space>>& plans, Extent microbatches,
           const Execute&... execute)
      : m_gradients(plans.gradients, execute...), m_microbatches(microbatches) {
    if (!plans.update) return;
    m_update.emplace(*plans.update, execute...);
    for (const CarriedResult& pair : plans.update->carry) {
      const Text& name = plans.update->graph[pair.input].name;
      if (plans.gradients.graph.find(name) < 0) m_states.push_back(name.str());
    }
    std::ranges::sort(m_states);
    for (const CarriedResult& pair : plans.gradients.carry) {
      const Text& name = plans.gradients.graph[pair.input].name;
      m_is_of_update.push_back(plans.update->graph.find(name) >= 0);
      if (m_is_of_update.back()) m_gradient_sums.push_back(pair.next);
    }
  }

  /// Takes the sums that a step's first microbatch adds to.
  void set_first_sums(Bindings zeros) { m_first_sums = std::move(zeros); }

  /// Takes step number `step`. \param carried  weights and states. \returns the next ones. What a
  /// run throws leaves all as it was.
  template <class Batch>
  [[nodiscard]] Bindings step(const Bindings& carried, const Binding<Space>& rate, Extent step,
                              const Batch& batch, const std::source_location& where) {
    if (!m_update) {
      m_last = m_gradients.run(joined(carried, {rate}, batch(step)), where);
      return m_last->carry(where);
    }
    Bindings weights;
    Bindings by_name;  // of which the update has other numbers than the program
    for (const Binding<Space>& binding : carried) {
      const std::string& name = binding.facts().tensor.name;
      if (!std::ranges::binary_search(m_states, name)) weights.push_back(binding);
      by_name.push_back(binding.named());
    }
    std::optional<Run<Space, Group>> run;
    Bindings sums = m_first_sums;
    for (Extent n = step * m_microbatches; n < (step + 1) * m_microbatches; ++n) {
      run.reset();  // of its results, only the sums outlive it: they are bound
      run = m_gradients.run(joined(weights, sums, batch(n)), where);
      sums = run->carry(where);
    }
    Bindings gradients;
    for (std::size_t n = 0; n < sums.size(); ++n) {
      if (m_is_of_update[n]) gradients.push_back(sums[n]);
    }
    m_updated = m_update->run(joined(by_name, {rate}, gradients), where);
    run->release(m_gradient_sums, where);  // the next step writes where they lie
    m_last = std::move(run);
    return m_updated->carry(where);
  }

  /// The last run that found a loss; null before the first step.
  [[nodiscard]] const Run<Space, Group>* last() const { return m_last ? &*m_last : nullptr; }
  /// The last that found weights and states.
  [[nodiscard]] const Run<Space, Group>* updated() const {
    return m_updated ? &*m_updated : last();
  }
  /// Lets no step have been taken.
  void forget() {
    m_last.reset();
    m_updated.reset();
  }

 private:
  [[nodiscard]] static Bindings joined(Bindings all, const Bindings& more, const Bindings& others) {
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }

  Executor<Space, Group> m_gradients;
  std::optional<Executor<Space, Group>> m_update;
  Extent m_microbatches;
  std::vector<std::string> m_states;  // which only the update reads, sorted
  std::vector<bool> m_is_of_update;   // by sum, whether the update reads it: loss and metrics no
  std::vector<VertexId> m_gradient_sums;  // results that it reads
  Bindings m_first_sums;
  std::optional<Run<Space, Group>> m_last;
  std::optional<Run<Space, Group>> m_updated;
};

/// Results of a run that are of rank 0, by their names, on every rank: one exchange and one fence
/// for all of them. Collective.
template <class T, class Space, comm::Communicator Group>
[[nodiscard]] std::vector<T> numbers(const Run<Space, Group>& run,
                                     const std::vector<std::string>& names, const Space& space,
                                     Group& group, const std::source_location& where) {
  std::vector<T> values(names.size());
  std::vector<std::size_t> mine;  // each lies on one rank
  for (std::size_t n = 0; n < names.size(); ++n) {
    for (const auto& block : run.template local_as<T, 0>(names[n], where)) {
      run::copy_to_host(space, reinterpret_cast<char*>(&values[n]),
                        reinterpret_cast<const char*>(block.view.data()),
                        static_cast<std::int64_t>(sizeof(T)));
      mine.push_back(n);
    }
  }
  compat::fence(space, "EinDecomp::numbers");
  std::string bytes;
  for (const std::size_t n : mine) {
    bytes.append(reinterpret_cast<const char*>(&n), sizeof n);
    bytes.append(reinterpret_cast<const char*>(&values[n]), sizeof(T));
  }
  const comm::Call call("the numbers of a step", where);
  comm::agree(group, call, std::nullopt);
  comm::or_abort(
      group, call, [] { return ""; },
      [&] {
        for (const std::string& theirs : group.all_gather(bytes)) {
          for (std::size_t at = 0; at < theirs.size(); at += sizeof(std::size_t) + sizeof(T)) {
            std::size_t n = 0;
            std::memcpy(&n, theirs.data() + at, sizeof n);
            std::memcpy(&values[n], theirs.data() + at + sizeof n, sizeof(T));
          }
        }
      });
  return values;
}

}  // namespace eindecomp::train
