// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The generic algorithm: any shape as a loop nest.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/copy/kernel.hpp"
#include "eindecomp/kernel/generic/join_kernel.hpp"
#include "eindecomp/kernel/generic/join_schedule.hpp"
#include "eindecomp/kernel/generic/map_lanes.hpp"
#include "eindecomp/kernel/generic/map_many.hpp"
#include "eindecomp/kernel/generic/reduce_lanes.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
#include "eindecomp/kernel/product_sizes.hpp"
#include "eindecomp/kernel/signature.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Whether non-temporal stores may write the outputs: they are of one term each, and stored as they
/// are. They may not where they replace what was just read.
template <class Sig>
[[nodiscard]] bool may_stream(const JoinSchedule<Sig::operands>& schedule,
                              const void* const* operands, const void* output, Write write) {
  constexpr bool stored_as_is =
      std::is_same_v<typename Sig::State, typename Sig::Result> && !Sig::Traits::finishes;
  if (!stored_as_is || write != Write::finished || !schedule.one_term()) return false;
  if (schedule.vector_stride[Sig::operands] != 1) return false;
  for (int t = 0; t < Sig::operands; ++t) {
    if (operands[t] == output) return false;
  }
  return true;
}

/// Whether they are, being so many, in rows that are long or follow one another.
template <class Sig>
[[nodiscard]] bool streams_outputs(const JoinSchedule<Sig::operands>& schedule,
                                   const void* const* operands, const void* output, Write write) {
  if (schedule.rows == 0) return false;
  constexpr auto element_bytes = static_cast<Extent>(sizeof(typename Sig::State));
  const Extent bytes = schedule.first_output(schedule.rows) * element_bytes;
  const Extent row_bytes = schedule.run_length() * element_bytes;
  if (row_bytes < tuning::min_streamed_row && !schedule.dense_outputs()) return false;
  return store_policy(bytes) == StorePolicy::non_temporal &&
         may_stream<Sig>(schedule, operands, output, write);
}

/// What explain() says of a loop nest.
/// \param lanes    what its vectors hold, or null.
/// \param product  that it amounts to, or null.
/// \param refusal  why the BLAS does not compute it, or null.
[[nodiscard]] EINDECOMP_COMPACT inline std::string describe_loops(Algorithm algorithm,
                                                                  bool streamed, const char* lanes,
                                                                  const ProductSizes* product,
                                                                  const char* refusal) {
  std::string text = "algorithm " + std::string(to_string(algorithm));
  if (streamed) text += ", non-temporal stores";
  if (lanes != nullptr) text += std::string(", vectors of ") + lanes;
  if (product != nullptr) text += describe(*product);
  if (refusal != nullptr) text += std::string("; ") + refusal;
  return text;
}

/// The product that a schedule amounts to. \returns false of one that is none: a label is private
/// to one tensor, or an extent is 0.
[[nodiscard]] EINDECOMP_COMPACT inline bool set_sizes(const JoinSchedule<2>& schedule,
                                                      ProductSizes& sizes) {
  for (const auto* nest : {&schedule.outer, &schedule.inner}) {
    const bool aggregated = nest == &schedule.inner;
    for (int l = 0; l < nest->loops; ++l) {
      const bool vectorised = l == 0 && schedule.across_outputs != aggregated;
      if (nest->extent[l] == 0) return false;
      const Extent extent = vectorised ? schedule.run_length() : nest->extent[l];
      if (extent == 1) continue;
      const bool in_a = nest->stride[0][l] != 0;
      const bool in_b = nest->stride[1][l] != 0;
      if (aggregated ? !in_a || !in_b : !in_a && !in_b) return false;
      (aggregated ? sizes.k : !in_b ? sizes.m : !in_a ? sizes.n : sizes.batch) *= extent;
    }
  }
  return true;
}

/// A shape as a loop nest, by all threads of a space.
template <class Space, class Join, class Monoid, class... Ts>
class PreparedLoops final : public PreparedKernel<Space> {
 public:
  using Sig = Signature<Join, Monoid, Ts...>;
  using Schedule = JoinSchedule<Sig::operands>;

  /// \param refusal  why the BLAS does not compute it, null if it could not compute any such.
  PreparedLoops(const Space& space, const LocalEinsum& shape, const Join& join,
                const Monoid& monoid, Write write, const char* refusal)
      : m_schedule(shape, tuning),
        m_join(join),
        m_monoid(monoid),
        m_write(write),
        m_refusal(refusal),
        m_ends(shape) {
    m_schedule.share_panels(compat::host_threads(space));
  }

  /// Whether run() computes a shape that has ends: rows of a map by vectors, and the ends are
  /// theirs.
  [[nodiscard]] bool takes_ends(const LocalEinsum& shape) const {
    const int label = shape.ends.label;
    if (!maps_many<Join, Monoid, Ts...>() || maps_masked<Join, Monoid, Ts...>()) return false;
    if (compat::is_device<Space>) return false;
    if (m_schedule.contiguous_operands() == 0 || shape.extent[label] == 1) return false;
    if (m_schedule.vector_stride[Sig::operands] != 1 || shape.output_stride[label] != 1) {
      return false;
    }
    for (int t = 0; t < Sig::operands; ++t) {
      const bool ends = shape.ends.first[t] > 0 || shape.ends.last[t] < shape.extent[label];
      if (m_schedule.vector_stride[t] != (ends ? 1 : shape.operand_stride[t][label])) return false;
    }
    return true;
  }

  [[nodiscard]] Algorithm algorithm() const override { return m_schedule.algorithm(); }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    if (m_schedule.parts <= 1) return 0;
    return m_schedule.partials() * static_cast<std::int64_t>(sizeof(State));
  }
  [[nodiscard]] std::string explain(const void* const* operands,
                                    const void* output) const override {
    const bool streamed = algorithm() == Algorithm::direct &&
                          streams_outputs<Sig>(m_schedule, operands, output, m_write);
    const char* lanes = nullptr;
    if (reduces_lanes<Join, Monoid, Ts...>() && !compat::is_device<Space> &&
        algorithm() != Algorithm::none && !m_schedule.one_term() &&
        m_schedule.contiguous_operands() != 0) {
      lanes = m_schedule.across_outputs ? "outputs" : "terms";
    }
    ProductSizes product;
    bool is_product = false;
    if constexpr (Sig::operands == 2) is_product = set_sizes(m_schedule, product);
    return describe_loops(algorithm(), streamed, lanes, is_product ? &product : nullptr, m_refusal);
  }

  void run(const Space& space, const void* const* operands, void* output,
           unsigned char* workspace) const override {
    using Held = std::conditional_t<compat::is_synchronous<Space>, const Schedule&, Schedule>;
    JoinKernel<tuning.tile, Held, Join, Monoid, Ts...> kernel{
        m_schedule,
        m_join,
        {{m_monoid, output, m_write}, {}, reinterpret_cast<State*>(workspace), {}, {}}};
    if (m_ends.row > 0) kernel.memory.ends = &m_ends;
    for (int t = 0; t < Sig::operands; ++t) kernel.memory.operand[t] = operands[t];
    if (m_schedule.parts <= 1) {
      kernel.memory.hints.streamed = streams_outputs<Sig>(m_schedule, operands, output, m_write);
      launch(space, "EinDecomp::join", m_schedule.items(), kernel);
      return;
    }
    launch(space, "EinDecomp::join parts", m_schedule.items(), kernel);
    const Extent parts = m_schedule.parts;
    const Extent outputs = m_schedule.partials() / parts;
    FoldKernel<Held, Monoid, typename Sig::Value> fold{m_schedule, kernel.memory.store,
                                                       kernel.memory.partials};
    if constexpr (tuning.folded > 0) {
      if (parts > tuning.folded) {
        fold.step = tuning.folded;
        launch(space, "EinDecomp::join groups", outputs * ceil_div(parts, fold.step),
               FoldGroupsKernel<Monoid, typename Sig::Value>{m_monoid, kernel.memory.partials,
                                                             parts, fold.step});
      }
    }
    launch(space, "EinDecomp::join fold", outputs, fold);
  }

 private:
  using State = typename Sig::State;
  static constexpr JoinTuning tuning = join_tuning<Space, Join, Monoid, Ts...>();

  Schedule m_schedule;
  Join m_join;
  Monoid m_monoid;
  Write m_write;
  const char* m_refusal;
  RowEnds<sizeof...(Ts)> m_ends;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
