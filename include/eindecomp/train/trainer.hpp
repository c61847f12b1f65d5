// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Training on the ranks of a communicator: steps, losses, checkpoints.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/comm/or_abort.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/graph/carried_tensor.hpp"
#include "eindecomp/graph/stored_tensor.hpp"
#include "eindecomp/kernel/backend.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/executor.hpp"
#include "eindecomp/run/options.hpp"
#include "eindecomp/run/run.hpp"
#include "eindecomp/run/transport.hpp"
#include "eindecomp/train/held_tensor.hpp"
#include "eindecomp/train/minimise.hpp"
#include "eindecomp/train/step_plans.hpp"
#include "eindecomp/train/step_runs.hpp"

namespace eindecomp {

/// A metric's value.
struct MetricValue {
  std::string name;  ///< of the tensor
  double value = 0;  ///< on the step's samples
  /// Whether both are equal.
  bool operator==(const MetricValue&) const = default;
};

/// Runs a plan of a program that minimise() was called on, step after step: weights and the
/// optimiser's states, of elements T, stay where the plan stores them. Begins by start() or
/// resume(). All functions but those that say otherwise are collective. Must be destroyed on all
/// ranks, and before Kokkos is finalised.
///
///     ein::Trainer trainer(plan, MPI_COMM_WORLD, space, updates);
///     trainer.start({ein::bind_generator(W, w)});
///     for (int n = 0; n < 100; ++n) trainer.step(0.01, ein::bind_generator(X, x));
template <class T, class Space, comm::Communicator Group>
class Trainer {
  using MemorySpace = typename Space::memory_space;

 public:
  /// What a step leaves.
  using RunType = Run<Space, Group>;

#ifdef EINDECOMP_ENABLE_MPI
  /// For the ranks of `user`, which is duplicated.
  /// \param plan     carries what is updated: decompose with `.carry = updates.carry()`.
  /// \param updates  of the planned program.
  /// \throws Error, on all ranks alike, as an Executor's constructor and as step_plans(), and if
  ///   the plan does not carry a weight or a state.
  template <class Backend>
  Trainer(
      const BasicPlan<KokkosBackend<Space>>& plan, MPI_Comm user, const Space& space,
      const Updates<T, Backend>& updates, const ExecuteOptions& options = {},
      std::source_location where =
          std::source_location::current()) requires(std::is_same_v<Group, comm::MpiCommunicator>)
      : Trainer(plan, step_plans(plan, updates, where), updates,
                Group(user, "EinDecomp training", options.chunk, options.time_limit,
                      comm::Call("the construction of a Trainer", where)),
                space, where, user, space, options, where) {}
#endif
  /// For this process alone, without MPI.
  template <class Backend>
  Trainer(
      const BasicPlan<KokkosBackend<Space>>& plan, const Space& space,
      const Updates<T, Backend>& updates, const ExecuteOptions& options = {},
      std::source_location where =
          std::source_location::current()) requires(std::is_same_v<Group, comm::SelfCommunicator>)
      : Trainer(plan, step_plans(plan, updates, where), updates, Group(), space, where, space,
                options, where) {}

  /// Lets training begin with these weights, one binding each, and what else the plan carries;
  /// states are 0. Not collective.
  void start(std::vector<Binding<Space>> weights) {
    m_runs.forget();
    m_steps = 0;
    m_has_learned = false;
    m_next = std::move(weights);
    for (const Held& held : m_states) m_next.push_back(train::zeros<Space>(held));
  }
  /// Lets training go on where a checkpoint of the same program has it; another plan, or another
  /// number of ranks, may go on.
  /// \param checkpoint  on rank 0; the other ranks' is not looked at.
  /// \throws Error, on all ranks alike, if the checkpoint lacks a tensor, or has it with other
  ///   elements or extents; training is then where it was.
  void resume(const Checkpoint& checkpoint,
              std::source_location where = std::source_location::current());

  /// Takes a step of a program whose inputs are weights, states and the rate alone. As the next.
  void step(const run::Located<double>& rate) {
    step(rate.value, std::vector<Binding<Space>>(), rate.where);
  }
  /// Takes a step: a run of the plan, on what the step before left and on bindings of all other
  /// inputs. \param rate  of learning, finite, on every rank the same. \throws Error as
  /// Executor::run, without start(), and if a step is of several microbatches; the step was then
  /// not taken.
  template <class... Bindings>
    requires(sizeof...(Bindings) > 0 && (run::is_binding<Bindings> && ...))
  void step(const run::Located<double>& rate, const Bindings&... others) {
    step(rate.value, std::vector<Binding<Space>>{Binding<Space>(others)...}, rate.where);
  }
  /// The same with the bindings in a vector.
  void step(double rate, const std::vector<Binding<Space>>& others,
            std::source_location where = std::source_location::current()) {
    if (m_microbatches > 1) {
      throw Error(ErrorKind::binding,
                  "a step of " + std::to_string(m_microbatches) +
                      " microbatches is given the bindings of one (each has samples of its own); "
                      "give a function of the microbatch's number that returns them",
                  where);
    }
    take_step(
        rate, [&others](Extent) -> const auto& { return others; }, where);
  }
  /// Takes a step of as many microbatches as the optimiser accumulates: a run for each, which adds
  /// to the sums of gradients, and one of the update (step_plans). Whatever a run throws, weights
  /// and states are as they were.
  /// \param batch  called with the microbatch's number, `steps() · microbatches()` and the next
  ///   ones, before each run: bindings of all inputs but weights, states and the rate, a vector of
  ///   Binding<Space>.
  template <std::invocable<Extent> Batch>
  void step(double rate, const Batch& batch,
            std::source_location where = std::source_location::current()) {
    take_step(rate, batch, where);
  }

  /// How many microbatches a step has: 1, or what Accumulated says. Not collective.
  [[nodiscard]] Extent microbatches() const { return m_microbatches; }
  /// How many steps were taken since start(), those before a checkpoint included. Not collective.
  [[nodiscard]] Extent steps() const { return m_steps; }
  /// The loss that the last step found, before it changed the weights; on every rank. Of several
  /// microbatches, the mean of theirs. \throws Error before the first step.
  [[nodiscard]] T loss(std::source_location where = std::source_location::current()) const {
    return numbers({m_loss}, where).front();
  }
  /// The metrics that were given to minimise(), in their order, as the last step found them before
  /// it changed the weights; on every rank. Of several microbatches, the means of theirs.
  /// \throws Error before the first step.
  [[nodiscard]] std::vector<MetricValue> metrics(
      std::source_location where = std::source_location::current()) const {
    std::vector<MetricValue> values;
    const std::vector<T> found = numbers(m_metric_results, where);
    for (std::size_t n = 0; n < found.size(); ++n) {
      values.push_back({m_metric_names[n], static_cast<double>(found[n])});
    }
    return values;
  }
  /// The run that the last step was, or that of its last microbatch: words and times, and results
  /// that the program keeps, but for sums of gradients. Not collective. \throws Error before the
  /// first.
  [[nodiscard]] const RunType& last(
      std::source_location where = std::source_location::current()) const {
    require_a_step(m_runs.last() != nullptr, where);
    return *m_runs.last();
  }
  /// The weights as the last step left them, bound by their names: for a program that applies what
  /// is learned and has inputs of the same names and extents, whatever its plan,
  /// `executor.run(trainer.weights(), bind(X, x))`. Nothing is gathered: the run reads them where
  /// they lie, and exchanges what its plan stores elsewhere (RunStatistics::inputs). They stay as
  /// they are for as long as the bindings live. Not collective. \throws Error before the first
  /// step, but for one that was resumed.
  [[nodiscard]] std::vector<Binding<Space>> weights(
      std::source_location where = std::source_location::current()) const;
  /// A weight as the last step left it, whole, on every rank. Collective; fences the space
  /// instance.
  /// \throws Error, on all ranks alike, before the first step since start() or resume(), for what
  /// is
  ///   no weight, or if memory is short.
  template <run::TypedSymbol S>
  [[nodiscard]] auto gather(const S& weight,
                            std::source_location where = std::source_location::current()) const {
    require_a_step(m_runs.updated() != nullptr, where);
    return m_runs.updated()->template gather_as<T, static_cast<int>(S::rank)>(
        next_of(weight.name(), where), std::nullopt, where);
  }
  /// All weights and states and what else the plan carries, whole, in host memory of rank 0, which
  /// has to have room for them; on other ranks none. Collective; fences the space instance.
  /// \throws Error, on all ranks alike, before the first step since start() or resume(), or if
  ///   rank 0 lacks the memory.
  [[nodiscard]] Checkpoint checkpoint(
      std::source_location where = std::source_location::current()) const;

  /// Whether it is true on any rank. The steps of all ranks come to the same end by it.
  [[nodiscard]] bool any(bool here, std::source_location where = std::source_location::current()) {
    comm::agree(m_group, comm::Call("training", where), std::nullopt, {}, &here);
    return here;
  }

  /// Calls `work` on rank 0; what it throws there, all ranks throw. It must not communicate.
  template <class Work>
  void on_first_rank(const Work& work,
                     std::source_location where = std::source_location::current()) {
    comm::agree_on(m_group, comm::Call("training", where), [&] {
      if (m_group.rank() == 0) work();
    });
  }
  /// This process's rank. Not collective.
  [[nodiscard]] int rank() const { return m_group.rank(); }

 private:
  using Held = train::HeldTensor;

  /// \param execute  what an Executor is made of behind its plan
  template <class Backend, class... Execute>
  Trainer(const Plan& plan, const StepPlans<KokkosBackend<Space>>& plans,
          const Updates<T, Backend>& updates, Group&& group, const Space& space,
          const std::source_location& where, const Execute&... execute)
      : m_runs(plans, updates.accumulation.microbatches, execute...),
        m_group(std::move(group)),
        m_space(space),
        m_microbatches(updates.accumulation.microbatches) {
    take(plan, updates, where);
  }

  static void require_a_step(bool taken, const std::source_location& where) {
    if (taken) return;
    throw Error(ErrorKind::binding,
                "a trainer is asked for what a step leaves before it took one (since start() or "
                "resume()); call step() first",
                where);
  }

  /// Results of rank 0, or means of what the microbatches added up in them, on every rank.
  [[nodiscard]] std::vector<T> numbers(const std::vector<std::string>& names,
                                       const std::source_location& where) const {
    std::vector<T> values = train::numbers<T>(last(where), names, m_space, m_group, where);
    if (m_microbatches > 1) {
      for (T& value : values) value /= static_cast<T>(m_microbatches);
    }
    return values;
  }

  template <class Backend>
  void take(const Plan& plan, const Updates<T, Backend>& updates,
            const std::source_location& where) {
    const Accumulation& accumulation = updates.accumulation;
    const std::size_t weights = updates.weights.size();
    m_rate = updates.rate.name().str();
    // Sums are those of gradients, of the loss, of metrics.
    const auto result = [&](std::size_t n, const Symbol<T, 0, Backend>& number) {
      return m_microbatches > 1 ? accumulation.sums[weights + n].next.str() : number.name().str();
    };
    m_loss = result(0, updates.loss);
    for (std::size_t n = 0; n < updates.metrics.size(); ++n) {
      m_metric_names.push_back(updates.metrics[n].name.str());
      m_metric_results.push_back(result(n + 1, updates.metrics[n].tensor));
    }
    comm::agree_on(m_group, comm::Call("the construction of a Trainer", where), [&] {
      const auto held = [&](const CarriedTensor& pair) {
        return train::held_tensor(plan, pair, m_group.rank(), where);
      };
      for (const CarriedTensor& pair : updates.weights) m_weights.push_back(held(pair));
      for (const CarriedTensor& pair : updates.states) m_states.push_back(held(pair));
      for (const CarriedTensor& pair : train::carried_besides(plan, updates)) {
        m_others.push_back(held(pair));
      }
      std::vector<Binding<Space>> zeros;
      for (const CarriedTensor& pair : accumulation.sums) {
        zeros.push_back(train::zeros<Space>(held(pair)));
      }
      m_runs.set_first_sums(std::move(zeros));
    });
  }

  template <class Batch>
  void take_step(double rate, const Batch& batch, const std::source_location& where) {
    if (m_next.empty()) {
      throw Error(ErrorKind::binding,
                  "a trainer takes a step before it has weights; call start() or resume() first",
                  where);
    }
    const Binding<Space> rate_binding = bind_generator_as<T, 0>(
        m_rate,
        [rate, where] {
          if (std::isfinite(rate)) return static_cast<T>(rate);
          throw Error(ErrorKind::binding,
                      "the rate of a step is " + std::to_string(rate) +
                          " (weights would be so, too); give a finite number",
                      where);
        },
        where);
    m_next = m_runs.step(m_next, rate_binding, m_steps, batch, where);
    ++m_steps;
    m_has_learned = true;
  }
  [[nodiscard]] std::string next_of(std::string_view weight,
                                    const std::source_location& where) const {
    for (const Held& held : m_weights) {
      if (held.name == weight) return held.next;
    }
    throw Error(ErrorKind::binding,
                "tensor " + Text(weight) +
                    " is not trained; ask for a weight that was given to "
                    "minimise()",
                where);
  }

  train::StepRuns<Space, Group> m_runs;
  mutable Group m_group;  // to communicate changes nothing
  Space m_space;
  Extent m_microbatches = 1;
  std::string m_rate;
  std::string m_loss;
  std::vector<std::string> m_metric_names;
  std::vector<std::string> m_metric_results;
  std::vector<Held> m_weights;
  std::vector<Held> m_states;
  std::vector<Held> m_others;          ///< that the plan carries besides
  std::vector<Binding<Space>> m_next;  ///< all of them, of the next step
  Extent m_steps = 0;
  bool m_has_learned = false;  ///< weights are a step's, or a checkpoint's
};

template <class T, class Space, comm::Communicator Group>
void Trainer<T, Space, Group>::resume(const Checkpoint& checkpoint, std::source_location where) {
  const comm::Call call("the resumption of training", where);
  std::vector<Binding<Space>> next;
  const Checkpoint* const given = m_group.rank() == 0 ? &checkpoint : nullptr;
  comm::agree_on(m_group, call, [&] {
    if (given == nullptr || given->steps >= 0) return;
    throw Error(ErrorKind::binding,
                "a checkpoint of " + std::to_string(given->steps) +
                    " steps is to be resumed (none was taken backwards); resume one that a "
                    "trainer made",
                where);
  });
  for (const std::vector<Held>* all : {&m_weights, &m_states, &m_others}) {
    for (const Held& held : *all) {
      next.push_back(train::restored(m_space, m_group, call, held, given, where));
    }
  }
  Extent steps = checkpoint.steps;
  comm::or_abort(
      m_group, call, [] { return ""; },
      [&] { m_group.broadcast(&steps, 1, static_cast<int>(sizeof(steps)), 0); });
  m_runs.forget();
  m_next = std::move(next);
  m_steps = steps;
  m_has_learned = true;
}

template <class T, class Space, comm::Communicator Group>
std::vector<Binding<Space>> Trainer<T, Space, Group>::weights(std::source_location where) const {
  require_a_step(m_has_learned, where);
  std::vector<Binding<Space>> bindings;
  for (const Held& held : m_weights) {
    const auto& binding = *std::ranges::find_if(
        m_next, [&](const auto& next) { return next.facts().tensor.name == held.name; });
    run::BindingFacts facts = binding.facts();
    facts.where = where;
    if (facts.kind == run::BindingKind::blocks) {  // which another plan may not have
      facts.kind = run::BindingKind::distributed;
      facts.distribution = held.distribution;
    }
    bindings.push_back(Binding<Space>(std::move(facts)));
  }
  return bindings;
}

template <class T, class Space, comm::Communicator Group>
Checkpoint Trainer<T, Space, Group>::checkpoint(std::source_location where) const {
  Checkpoint made;
  made.steps = m_steps;
  require_a_step(m_runs.updated() != nullptr, where);
  const RunType& run = *m_runs.updated();
  std::vector<const Held*> all;
  for (const std::vector<Held>* part : {&m_weights, &m_states, &m_others}) {
    for (const Held& held : *part) all.push_back(&held);
  }
  // The others gather as soon as the first rank has the memory.
  comm::agree_on(m_group, comm::Call("checkpoint", where), [&] {
    if (m_group.rank() != 0) return;
    for (const Held* held : all) {
      StoredTensor& stored =
          made.tensors.emplace_back(StoredTensor{held->name, held->element, held->bound, {}});
      stored.bytes.resize(to_index(Box::whole(held->bound).size() * held->element.bytes));
    }
  });
  for (std::size_t n = 0; n < all.size(); ++n) {
    const run::Memory<MemorySpace> whole = run.gather_bytes(all[n]->next, 0, where);
    if (m_group.rank() != 0) continue;
    std::string& bytes = made.tensors[n].bytes;
    run::copy_to_host(m_space, bytes.data(), whole.data(), static_cast<std::int64_t>(bytes.size()));
    compat::fence(m_space, "EinDecomp::checkpoint");
  }
  return made;
}

#ifdef EINDECOMP_ENABLE_MPI
/// With a communicator, the trainer is one of several processes.
template <class Space, class T, class Backend>
Trainer(const BasicPlan<KokkosBackend<Space>>&, MPI_Comm, const Space&, const Updates<T, Backend>&,
        const ExecuteOptions& = {}, std::source_location = {})
    -> Trainer<T, Space, comm::MpiCommunicator>;
#endif
/// Without one, it is this process's own.
template <class Space, class T, class Backend>
Trainer(const BasicPlan<KokkosBackend<Space>>&, const Space&, const Updates<T, Backend>&,
        const ExecuteOptions& = {}, std::source_location = {})
    -> Trainer<T, Space, comm::SelfCommunicator>;

}  // namespace eindecomp
