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

#include "eindecomp/core/error.hpp"
#include "eindecomp/graph/carried_tensor.hpp"
#include "eindecomp/graph/stored_tensor.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/run/block_memory.hpp"
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
  std::shared_ptr<const Distribution> distribution;  ///< of the input
};

/// What a plan stores of a tensor on a rank. \throws Error if the plan does not carry it.
[[nodiscard]] inline HeldTensor held_tensor(const Plan& plan, const CarriedTensor& pair, int rank,
                                            const std::source_location& where) {
  const VertexId input = carried_result(plan, pair, where).input;
  const Vertex& v = plan.graph[input];
  return {pair.input.str(),
          pair.next.str(),
          v.element,
          v.bound,
          plan.local(input, rank, where),
          std::make_shared<const Distribution>(plan.distribution(input, where))};
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
  if (kind == run::BindingKind::whole_on_root) facts.root = 0;
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

/// Bound as a checkpoint has it, which is given on rank 0 and null on the others. Fences `space`.
/// \throws Error if the checkpoint lacks it, or has it with other elements or extents.
template <class Space>
[[nodiscard]] Binding<Space> restored(const Space& space, const HeldTensor& held,
                                      const Checkpoint* checkpoint,
                                      const std::source_location& where) {
  using MemorySpace = typename Space::memory_space;
  const Box whole = Box::whole(held.bound);
  if (checkpoint == nullptr) {
    return bound<Space>(held, run::BindingKind::whole_on_root, {dense(nullptr, whole, held)},
                        nullptr);
  }
  const auto found =
      std::ranges::find_if(checkpoint->tensors, [&](const auto& t) { return t.name == held.name; });
  if (found == checkpoint->tensors.end()) {
    throw Error(ErrorKind::binding,
                "the checkpoint has no tensor " + Text(held.name) +
                    " (it is of another program, or of another optimiser); resume the program that "
                    "it was made of",
                where);
  }
  const std::int64_t bytes = whole.size() * held.element.bytes;
  if (!(found->element == held.element) || found->bound != held.bound ||
      static_cast<std::int64_t>(found->bytes.size()) != bytes) {
    throw Error(ErrorKind::binding,
                "the checkpoint has tensor " + Text(held.name) + " as " +
                    run::extents_text(found->bound) + " of " + expr::element_text(found->element) +
                    " and the program as " + run::extents_text(held.bound) + " of " +
                    expr::element_text(held.element) + "; resume the program that it was made of",
                where);
  }
  auto memory = std::make_shared<const run::Memory<MemorySpace>>(
      run::allocate<MemorySpace>("EinDecomp::" + held.name, bytes, where));
  run::copy_from_host(space, memory->data(), found->bytes.data(), bytes);
  compat::fence(space, "EinDecomp::resumed");
  const kernel::StridedTensor view = dense(memory->data(), whole, held);
  return bound<Space>(held, run::BindingKind::whole_on_root, {view}, std::move(memory));
}

}  // namespace eindecomp::train
