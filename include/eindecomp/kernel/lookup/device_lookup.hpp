// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Gathers and scatters on devices: as many items as there are threads to keep busy, each with
/// outputs of its own, so that results do not depend on their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/half.hpp"
#include "eindecomp/expr/where.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/lookup/index_fault.hpp"
#include "eindecomp/kernel/loop_nest.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// A label that is looked up.
template <int Tensors>
struct LookedUpLabel {
  Extent begin = 0;          ///< the first value that the kernel has
  Extent count = 0;          ///< so many of them
  Extent extent = 0;         ///< of the label in the whole tensor
  Extent stride[Tensors]{};  ///< what the next value adds
};

/// The loops of a join with index tensors, shared out to items. Tensors are the operands (index
/// tensors first), the accumulators and the final elements.
template <int Lookups, int Tensors>
struct DeviceLookupSchedule {
  LoopNest<Tensors> items;  ///< over labels of the output that are not looked up
  LoopNest<Tensors> terms;  ///< over aggregated labels that are not looked up
  LoopNest<2> scattered;    ///< over other labels of the output that are: states, final elements
  LookedUpLabel<Tensors> label[static_cast<std::size_t>(Lookups)];
  int cut = -1;       ///< a label of the output that is looked up, cut into pieces; -1: none
  Extent pieces = 1;  ///< of it
  int whole = 0;      ///< loops of `scattered` but that of the label that is cut

  /// \param states  strides, per label, of accumulators
  /// \param wanted  items that keep the device busy
  DeviceLookupSchedule(const LocalEinsum& shape, const Extent* states, Extent wanted) {
    const auto strides_of = [&](int l, Extent* stride) {
      for (int t = 0; t < Tensors - 2; ++t) stride[t] = shape.operand_stride[t][l];
      stride[Tensors - 2] = shape.aggregated[l] ? 0 : states[l];
      stride[Tensors - 1] = shape.aggregated[l] ? 0 : shape.output_stride[l];
    };
    for (int l = 0; l < shape.labels; ++l) {
      Extent stride[Tensors];
      strides_of(l, stride);
      int looked_up = -1;
      for (int k = 0; k < shape.lookups; ++k) {
        if (shape.lookup[k].label != l) continue;
        looked_up = k;
        label[k] = {shape.begin[l], shape.extent[l], shape.lookup[k].extent, {}};
        std::copy(stride, stride + Tensors, label[k].stride);
      }
      if (looked_up < 0) {
        (shape.aggregated[l] ? terms : items).push(shape.extent[l], stride);
      } else if (!shape.aggregated[l]) {
        if (cut < 0 || label[looked_up].count > label[cut].count) cut = looked_up;
      }
    }
    for (int l = 0; l < shape.labels; ++l) {
      if (shape.aggregated[l]) continue;
      for (int k = 0; k < shape.lookups; ++k) {
        if (shape.lookup[k].label != l || k == cut) continue;
        scattered.push(shape.extent[l], {states[l], shape.output_stride[l]});
      }
    }
    items.sort_by(Tensors - 1);
    items.merge();
    terms.sort_by_all();
    terms.merge();
    if (cut >= 0) {
      const Extent most = std::max<Extent>(1, label[cut].count);
      pieces = std::clamp<Extent>(wanted / std::max<Extent>(1, items.size()), 1, most);
    }
  }

  [[nodiscard]] Extent size() const { return items.size() * pieces; }
};

/// One item: all joins of some outputs. \returns, added up, how many indices are no values of
/// their labels.
template <int Lookups, class Join, class Monoid, unsigned Skipped, class... Ts>
struct DeviceLookupKernel {
  using Sig = Signature<expr::Where<Lookups, Join, Monoid, Skipped>, Monoid, Ts...>;
  using Value = typename Sig::Value;
  using Traits = typename Sig::Traits;
  using State = typename Sig::State;
  using Result = typename Sig::Result;
  static constexpr int joined = Sig::operands - 2 * Lookups;  ///< operands of Join
  static constexpr int operands = Lookups + joined;
  static constexpr int tensors = operands + 2;
  template <std::size_t I>
  using Operand = typename Sig::template OperandType<I>;
  using Schedule = DeviceLookupSchedule<Lookups, tensors>;

  Schedule schedule;
  Join join;
  Monoid monoid;
  const void* operand[static_cast<std::size_t>(operands)]{};
  State* states = nullptr;
  Result* results = nullptr;  ///< final elements to be made of states; null: there are none
  bool accumulate = false;    ///< states are there already

  EINDECOMP_FUNCTION void operator()(const Extent item, Extent& faults) const {
    Cursor<tensors> at;
    // Neighbouring threads have neighbouring positions, which often are neighbours in memory.
    const Extent positions = schedule.items.size();
    at.seek(schedule.items, item % positions);
    const Range own = range(item / positions);
    if (!accumulate) {
      for_each_output(at, own,
                      [&](Extent state, Extent) { states[state] = Traits::identity(monoid); });
    }
    const Extent terms = schedule.terms.size();
    Cursor<tensors> term;
    term.seek(schedule.terms, 0);
    for (Extent n = 0; n < terms; ++n, term.advance(schedule.terms)) {
      Extent offset[tensors];
      for (int t = 0; t < tensors; ++t) offset[t] = at.offset[t] + term.offset[t];
      if (!look_up(offset, own, faults, std::make_index_sequence<Lookups>{})) continue;
      State& state = states[offset[operands]];
      state = Traits::combine(
          monoid, state,
          Traits::lift(monoid, value(offset, std::make_index_sequence<joined>{}), 0));
    }
    if (results == nullptr) return;
    for_each_output(at, own, [&](Extent state, Extent result) {
      results[result] = Traits::finish(monoid, states[state]);
    });
  }

  /// Whether an element of an index tensor may be no index.
  [[nodiscard]] EINDECOMP_FUNCTION static constexpr bool is_skipped(int k) {
    return (Skipped >> k & 1U) != 0;
  }
  template <std::size_t K>
  [[nodiscard]] EINDECOMP_FUNCTION Extent index(Extent offset) const {
    return static_cast<Extent>(static_cast<const Operand<K>*>(operand[K])[offset]);
  }

 private:
  struct Range {
    Extent first, last;
  };
  /// The values of the label that is cut that are a piece's.
  [[nodiscard]] EINDECOMP_FUNCTION Range range(Extent piece) const {
    if (schedule.cut < 0) return {0, 1};
    const Extent count = schedule.label[schedule.cut].count;
    return {count * piece / schedule.pieces, count * (piece + 1) / schedule.pieces};
  }

  /// Calls visit(offset of its state, of its final element) for the outputs of an item.
  template <class Visit>
  EINDECOMP_FUNCTION void for_each_output(const Cursor<tensors>& at, const Range& own,
                                          const Visit& visit) const {
    const Extent others = schedule.scattered.size();
    for (Extent v = own.first; v < own.last; ++v) {
      Extent state = at.offset[operands];
      Extent result = at.offset[operands + 1];
      if (schedule.cut >= 0) {
        state += v * schedule.label[schedule.cut].stride[operands];
        result += v * schedule.label[schedule.cut].stride[operands + 1];
      }
      Cursor<2> other;
      other.seek(schedule.scattered, 0);
      for (Extent n = 0; n < others; ++n, other.advance(schedule.scattered)) {
        visit(state + other.offset[0], result + other.offset[1]);
      }
    }
  }

  /// Moves offsets to where the index tensors say. \returns whether that is the item's
  template <std::size_t... K>
  [[nodiscard]] EINDECOMP_FUNCTION bool look_up(Extent* offset, const Range& own, Extent& faults,
                                                std::index_sequence<K...>) const {
    const Extent all[] = {index<K>(offset[K])...};
    bool here = true;
    for (int k = 0; k < Lookups; ++k) {
      const LookedUpLabel<tensors>& label = schedule.label[k];
      if (!is_skipped(k) && (all[k] < 0 || all[k] >= label.extent)) ++faults;
      const Extent step = all[k] - label.begin;
      const bool inside = k == schedule.cut ? step >= own.first && step < own.last
                                            : step >= 0 && step < label.count;
      here = here && inside;
      if (!inside) continue;
      for (int t = Lookups; t < tensors; ++t) offset[t] += step * label.stride[t];
    }
    return here;
  }

  template <std::size_t... I>
  [[nodiscard]] EINDECOMP_FUNCTION Value value(const Extent* offset,
                                               std::index_sequence<I...>) const {
    return static_cast<Value>(join(expr::widened(
        static_cast<const Operand<Lookups + I>*>(operand[Lookups + I])[offset[Lookups + I]])...));
  }
};

/// The elements of an index tensor.
template <class T>
struct IndexElements {
  LoopNest<1> nest;
  const void* elements = nullptr;

  [[nodiscard]] EINDECOMP_FUNCTION Extent operator[](Extent n) const {
    Cursor<1> at;
    at.seek(nest, n);
    return static_cast<Extent>(static_cast<const T*>(elements)[at.offset[0]]);
  }
};
/// Finds the number of the first one that is no index, by a minimum.
template <class T>
struct FirstFault {
  IndexElements<T> index;
  Extent extent = 0;
  EINDECOMP_FUNCTION void operator()(const Extent n, Extent& first) const {
    const Extent value = index[n];
    if ((value < 0 || value >= extent) && n < first) first = n;
  }
};
/// Brings one of them to the host, by a sum.
template <class T>
struct OneIndex {
  IndexElements<T> index;
  Extent number = 0;
  EINDECOMP_FUNCTION void operator()(const Extent, Extent& value) const { value += index[number]; }
};

template <class Space, class Join, class Monoid, class... Ts>
class PreparedDeviceLookup;

/// As PreparedLookup, on any space. run() waits for its kernel, which reports whether all indices
/// were valid.
template <class Space, int Lookups, class Join, class Monoid, unsigned Skipped, class... Ts>
class PreparedDeviceLookup<Space, expr::Where<Lookups, Join, Monoid, Skipped>, Monoid, Ts...> final
    : public PreparedKernel<Space> {
  using Kernel = DeviceLookupKernel<Lookups, Join, Monoid, Skipped, Ts...>;
  using State = typename Kernel::State;
  using Result = typename Kernel::Result;
  static constexpr bool finishes = Kernel::Traits::finishes || !std::is_same_v<State, Result>;

 public:
  PreparedDeviceLookup(const Space&, const LocalEinsum& shape,
                       const expr::Where<Lookups, Join, Monoid, Skipped>& where,
                       const Monoid& monoid, Write write,
                       Extent wanted_items = tuning::device_lookup_items)
      : m_shape(shape),
        m_outputs(set_dense(shape, m_dense)),
        m_schedule(shape, finishes && write == Write::finished ? m_dense : shape.output_stride,
                   wanted_items),
        m_join(where.join),
        m_monoid(monoid),
        m_write(write) {}

  [[nodiscard]] Algorithm algorithm() const override {
    return m_outputs == 0 ? Algorithm::none : Algorithm::lookup;
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return apart() ? m_outputs * static_cast<std::int64_t>(sizeof(State)) : 0;
  }
  [[nodiscard]] std::string explain(const void* const*, const void*) const override {
    return "algorithm " + std::string(to_string(algorithm())) + ", " + std::to_string(Lookups) +
           (Lookups == 1 ? " index tensor" : " index tensors") + " in " +
           std::to_string(m_schedule.size()) + " items";
  }

  /// \throws IndexFault if an element of an index tensor is no value of its label.
  void run(const Space& space, const void* const* operands, void* into,
           unsigned char* workspace) const override {
    if (m_outputs == 0) return;
    Kernel kernel{m_schedule, m_join, m_monoid};
    std::copy(operands, operands + Kernel::operands, kernel.operand);
    kernel.states = apart() ? reinterpret_cast<State*>(workspace) : static_cast<State*>(into);
    kernel.results = apart() ? static_cast<Result*>(into) : nullptr;
    kernel.accumulate = m_write == Write::accumulate;
    check_items<Space>(m_schedule.size());
    Extent faults = 0;
    Kokkos::parallel_reduce("EinDecomp::lookup", ItemPolicy<Space>(space, 0, m_schedule.size()),
                            kernel, faults);
    if (faults > 0) {
      throw_fault(space, operands, std::make_index_sequence<std::size_t{Lookups}>{});
    }
  }

 private:
  /// Sets the strides of accumulators that lie in memory of their own. \returns how many
  static Extent set_dense(const LocalEinsum& shape, Extent* dense) {
    Extent outputs = 1;
    for (int l = shape.labels - 1; l >= 0; --l) {
      if (shape.aggregated[l]) continue;
      dense[l] = outputs;
      outputs *= shape.extent[l];
    }
    return outputs;
  }
  /// Whether accumulators are no final elements, and final elements are asked for.
  [[nodiscard]] bool apart() const { return finishes && m_write == Write::finished; }

  template <std::size_t... K>
  [[noreturn]] EINDECOMP_COMPACT void throw_fault(const Space& space, const void* const* operands,
                                                  std::index_sequence<K...>) const {
    (throw_fault_of<typename Kernel::template Operand<K>>(space, static_cast<int>(K), operands[K]),
     ...);
    throw std::exception();  // not reached: there is one
  }
  template <class T>
  EINDECOMP_COMPACT void throw_fault_of(const Space& space, int k, const void* elements) const {
    if (Kernel::is_skipped(k)) return;
    const IndexWalk walk(m_shape, k);
    const IndexElements<T> index{walk.nest, elements};
    const Extent size = index.nest.size();
    Extent first = size;
    Kokkos::parallel_reduce("EinDecomp::index fault", ItemPolicy<Space>(space, 0, size),
                            FirstFault<T>{index, m_shape.lookup[k].extent},
                            Kokkos::Min<Extent>(first));
    if (first >= size) return;
    Extent value = 0;
    Kokkos::parallel_reduce("EinDecomp::index fault", ItemPolicy<Space>(space, 0, 1),
                            OneIndex<T>{index, first}, value);
    Cursor<1> at;
    at.seek(index.nest, first);
    throw walk.fault(m_shape, k, value, at);
  }

  LocalEinsum m_shape;
  Extent m_dense[max_labels]{};
  Extent m_outputs;
  typename Kernel::Schedule m_schedule;
  Join m_join;
  Monoid m_monoid;
  Write m_write;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
