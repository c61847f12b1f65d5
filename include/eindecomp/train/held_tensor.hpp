// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Tensors that go from step to step of training, and what binds them before the first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/comm/or_abort.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/graph/carried_tensor.hpp"
#include "eindecomp/graph/stored_tensor.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/staged_exchange.hpp"
#include "eindecomp/run/transport.hpp"
#include "eindecomp/train/step_plans.hpp"

namespace eindecomp::train {

/// A tensor that is carried, and its blocks on this rank.
struct HeldTensor {
  std::string name;           ///< of the input
  std::string next;           ///< of the result that the next step reads as it
  ElementType element;        ///< of both
  std::vector<Extent> bound;  ///< of both
  std::vector<Box> boxes;     ///< of the input
  std::shared_ptr<const Distribution> distribution;       ///< of the input
  std::vector<Box> next_boxes;                            ///< of the result
  std::shared_ptr<const Distribution> next_distribution;  ///< of the result
};

/// What a plan stores of a tensor on a rank. \throws Error if the plan does not carry it.
[[nodiscard]] inline HeldTensor held_tensor(const Plan& plan, const CarriedTensor& pair, int rank,
                                            const std::source_location& where) {
  const auto [next, input] = carried_result(plan, pair, where);
  const Vertex& v = plan.graph[input];
  return {pair.input.str(),
          pair.next.str(),
          v.element,
          v.bound,
          plan.local(input, rank, where),
          std::make_shared<const Distribution>(plan.distribution(input, where)),
          plan.local(next, rank, where),
          std::make_shared<const Distribution>(plan.distribution(next, where))};
}

/// A binding of memory that it keeps.
template <class Space>
[[nodiscard]] Binding<Space> bound(const HeldTensor& held, run::BindingKind kind,
                                   std::vector<kernel::StridedTensor> views,
                                   std::shared_ptr<const void> owner) {
  run::BindingFacts facts;
  facts.tensor = {-1, 0, held.name};
  facts.kind = kind;
  facts.element = held.element;
  facts.views = std::move(views);
  facts.owner = std::move(owner);
  if (kind == run::BindingKind::distributed) facts.distribution = held.next_distribution;
  return Binding<Space>(std::move(facts));
}

/// A box of it, row-major.
[[nodiscard]] inline kernel::StridedTensor dense(void* data, const Box& box,
                                                 const HeldTensor& held) {
  return run::strided_tensor(run::BlockMemory::dense(data, box, held.element.bytes));
}

/// Bound as zeros.
template <class Space>
[[nodiscard]] Binding<Space> zeros(const HeldTensor& held) {
  std::vector<run::Memory<typename Space::memory_space>> blocks;
  std::vector<kernel::StridedTensor> views;
  for (const Box& box : held.boxes) {
    const auto bytes = static_cast<std::size_t>(box.size() * held.element.bytes);
    blocks.emplace_back("EinDecomp::" + held.name, bytes);  // initialised
    views.push_back(dense(blocks.back().data(), box, held));
  }
  return bound<Space>(held, run::BindingKind::blocks, std::move(views),
                      std::make_shared<const decltype(blocks)>(std::move(blocks)));
}

/// What a checkpoint has of it. \throws Error if it has nothing, or other elements or extents.
[[nodiscard]] inline const StoredTensor& stored_in(const Checkpoint& checkpoint,
                                                   const HeldTensor& held,
                                                   const std::source_location& where) {
  const auto found =
      std::ranges::find_if(checkpoint.tensors, [&](const auto& t) { return t.name == held.name; });
  if (found == checkpoint.tensors.end()) {
    throw Error(ErrorKind::binding,
                "the checkpoint has no tensor " + Text(held.name) +
                    " (it is of another program, or of another optimiser); resume the program that "
                    "it was made of",
                where);
  }
  found->check(where);
  if (!(found->element == held.element) || found->bound != held.bound) {
    throw Error(ErrorKind::binding,
                "the checkpoint has tensor " + Text(held.name) + " as " +
                    run::extents_text(found->bound) + " of " + expr::element_text(found->element) +
                    " and the program as " + run::extents_text(held.bound) + " of " +
                    expr::element_text(held.element) + "; resume the program that it was made of",
                where);
  }
  return *found;
}

/// Bound as a checkpoint has it, which is given on rank 0 and null on the others. Each rank gets
/// blocks that lie as those that a step leaves: kernels may add up in another order where they read
/// with other strides, and training is to go on bit for bit. Collective; fences `space`.
/// \throws Error, on all ranks alike, as stored_in(), and if memory is short.
template <class Space, comm::Communicator Group>
[[nodiscard]] Binding<Space> restored(const Space& space, Group& group, const comm::Call& call,
                                      const HeldTensor& held, const Checkpoint* checkpoint,
                                      const std::source_location& where) {
  using Memory = run::Memory<typename Space::memory_space>;
  const Box whole = Box::whole(held.bound);
  const auto allocated = [&](const Box& box) {
    return run::allocate<typename Space::memory_space>("EinDecomp::" + held.name,
                                                       box.size() * held.element.bytes, where);
  };
  std::vector<Memory> given;
  std::vector<Memory> blocks;
  std::vector<kernel::StridedTensor> from;
  std::vector<kernel::StridedTensor> to;
  run::StagedExchange<Space> exchange;
  comm::agree_on(group, call, [&] {
    if (checkpoint != nullptr) {
      const std::string& bytes = stored_in(*checkpoint, held, where).bytes;
      given.push_back(allocated(whole));
      from.push_back(dense(given.back().data(), whole, held));
      run::copy_from_host(space, given.back().data(), bytes.data(),
                          static_cast<std::int64_t>(bytes.size()));
    }
    for (const Box& box : held.next_boxes) {
      blocks.push_back(allocated(box));
      to.push_back(dense(blocks.back().data(), box, held));
    }
    exchange.prepare(Distribution::replicated(held.bound, group.size(), {0}),
                     *held.next_distribution, group.rank(), static_cast<int>(held.element.bytes),
                     from, to, {}, where);
    exchange.allocate(where);
  });
  comm::or_abort(
      group, call, [] { return ""; }, [&] { (void)exchange.run(space, group, from, to); });
  return bound<Space>(held, run::BindingKind::distributed, std::move(to),
                      std::make_shared<const std::vector<Memory>>(std::move(blocks)));
}

}  // namespace eindecomp::train
