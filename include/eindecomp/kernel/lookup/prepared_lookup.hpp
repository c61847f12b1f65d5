// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Gathers and scatters: joins whose labels are looked up in index tensors instead of being run
/// over.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/where.hpp"
#include "eindecomp/kernel/generic/row_access.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/lookup/index_fault.hpp"
#include "eindecomp/kernel/lookup/lookup_part.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
#include "eindecomp/kernel/signature.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

template <class Space, class Join, class Monoid, class... Ts>
class PreparedLookup;

/// ⊕ ⊗ with ⊗ = Where<Lookups, Join, Monoid> over elements Ts: index tensors, what Join takes, and
/// the values of labels, for which there is no memory. On host spaces.
template <class Space, int Lookups, class Join, class Monoid, unsigned Skipped, class... Ts>
class PreparedLookup<Space, expr::Where<Lookups, Join, Monoid, Skipped>, Monoid, Ts...> final
    : public PreparedKernel<Space> {
  static_assert(compat::is_synchronous<Space>);
  using Sig = Signature<expr::Where<Lookups, Join, Monoid, Skipped>, Monoid, Ts...>;
  using Value = typename Sig::Value;
  using Traits = typename Sig::Traits;
  using State = typename Sig::State;
  using Result = typename Sig::Result;
  static constexpr int joined = Sig::operands - 2 * Lookups;  ///< operands of Join
  static constexpr int tensors = Lookups + joined + 1;
  static constexpr int output = tensors - 1;
  static constexpr bool finishes = Traits::finishes || !std::is_same_v<State, Result>;
  using Part = LookupPart<tensors>;
  using Joined = std::make_index_sequence<static_cast<std::size_t>(joined)>;
  template <std::size_t I>
  using Operand = typename Sig::template OperandType<Lookups + I>;

 public:
  PreparedLookup(const Space& space, const LocalEinsum& shape,
                 const expr::Where<Lookups, Join, Monoid, Skipped>& where, const Monoid& monoid,
                 Write write)
      : m_shape(shape), m_join(where.join), m_monoid(monoid), m_write(write) {
    Extent dense[max_labels]{};
    m_outputs = 1;
    for (int l = shape.labels - 1; l >= 0; --l) {
      if (shape.aggregated[l]) continue;
      dense[l] = m_outputs;
      m_outputs *= shape.extent[l];
    }
    m_parts = lookup_parts<tensors>(shape, apart() ? dense : shape.output_stride,
                                    compat::host_threads(space));
  }

  [[nodiscard]] Algorithm algorithm() const override {
    return m_outputs == 0 ? Algorithm::none : Algorithm::lookup;
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return apart() ? m_outputs * static_cast<std::int64_t>(sizeof(State)) : 0;
  }
  [[nodiscard]] std::string explain(const void* const*, const void*) const override {
    return "algorithm " + std::string(to_string(algorithm())) + ", " + std::to_string(Lookups) +
           (Lookups == 1 ? " index tensor" : " index tensors");
  }

  /// \throws IndexFault if an element of an index tensor is no value of its label.
  void run(const Space& space, const void* const* operands, void* into,
           unsigned char* workspace) const override {
    if (m_outputs == 0) return;
    std::atomic<bool> outside = false;
    launch(space, "EinDecomp::lookup", static_cast<Extent>(m_parts.size()), [&](Extent p) {
      const Part& part = m_parts[static_cast<std::size_t>(p)];
      State* const states =
          apart() ? reinterpret_cast<State*>(workspace) : static_cast<State*>(into);
      if (!compute(part, operands, states)) outside = true;
      if constexpr (finishes) {
        if (apart()) finish(part, states, static_cast<Result*>(into));
      }
    });
    if (outside) throw_fault(operands);
  }

 private:
  /// Whether accumulators are no final elements, and final elements are asked for.
  [[nodiscard]] bool apart() const { return finishes && m_write == Write::finished; }

  /// \returns whether all indices are values of their labels.
  [[nodiscard]] bool compute(const Part& part, const void* const* operands, State* states) const {
    states += part.offset[output];
    const bool assigns = part.one_term && m_write != Write::accumulate;
    if (!assigns && m_write != Write::accumulate) fill(part, states);
    unsigned contiguous = 0;
    bool known = part.row_stride[output] == 1;
    for (int t = Lookups; t < output; ++t) {
      contiguous |= part.row_stride[t] == 1 ? 1U << (t - Lookups) : 0U;
      known = known && (part.row_stride[t] == 0 || part.row_stride[t] == 1);
    }
    const auto run = [&](auto access) {
      using Access = decltype(access);
      return assigns ? run_points<true, Access>(part, operands, states)
                     : run_points<false, Access>(part, operands, states);
    };
    if constexpr (joined == 1) {
      if (known && contiguous == 1) return run(KnownStride<1>{});
    } else if constexpr (joined == 2) {
      if (known && contiguous == 1) return run(KnownStride<1>{});
      if (known && contiguous == 2) return run(KnownStride<2>{});
      if (known && contiguous == 3) return run(KnownStride<3>{});
    }
    return run(AnyStride{});
  }
  /// All joins of a part, point by point of the index tensors.
  template <bool Assigns, class Access>
  [[nodiscard]] bool run_points(const Part& part, const void* const* operands,
                                State* states) const {
    const Extent points = part.indices.size();
    if (points == 0 || part.row_length == 0) return true;
    Cursor<tensors> at;
    at.seek(part.indices, 0);
    bool inside = true;
    // What indices name lies anywhere: many are on their way to the caches at a time.
    constexpr Extent most = 16;
    Extent offset[most][tensors];
    bool here[most];
    for (Extent first = 0; first < points; first += most) {
      const Extent count = std::min(most, points - first);
      for (Extent p = 0; p < count; ++p, at.advance(part.indices)) {
        for (int t = 0; t < tensors; ++t) offset[p][t] = part.offset[t] + at.offset[t];
        offset[p][output] = at.offset[output];  // `states` has what the part begins with
        const Found found = look_up(part, operands, offset[p], std::make_index_sequence<Lookups>{});
        inside = inside && found.inside;
        here[p] = found.here;
        if (found.here) prefetch(Joined{}, operands, offset[p], states);
      }
      for (Extent p = 0; p < count; ++p) {
        if (here[p] || Assigns) {
          run_rows<Assigns, Access>(part, operands, offset[p], here[p], states);
        }
      }
    }
    return inside;
  }

  /// Begins to fetch the first line that a point reads of each operand, and that it writes.
  template <std::size_t... I>
  static void prefetch([[maybe_unused]] std::index_sequence<I...>,
                       [[maybe_unused]] const void* const* operands,
                       [[maybe_unused]] const Extent* offset, [[maybe_unused]] State* states) {
#if defined(__GNUC__)
    (__builtin_prefetch(static_cast<const Operand<I>*>(operands[Lookups + I]) +
                        offset[Lookups + I]),
     ...);
    __builtin_prefetch(states + offset[output], 1);
#endif
  }

  /// All joins of one point. \param here  whether the part has what the indices name
  template <bool Assigns, class Access>
  void run_rows(const Part& part, const void* const* operands, Extent* offset, bool here,
                State* states) const {
    const auto run = [&] {
      if (here) {
        run_row<Assigns, Access>(Joined{}, operands, offset, part, states + offset[output]);
      } else {
        clear_row(part, states + offset[output]);
      }
    };
    if (part.rows.loops == 0) {
      run();
      return;
    }
    const Extent rows = part.rows.size();
    Cursor<tensors> row;
    row.seek(part.rows, 0);
    Extent first[tensors];
    for (int t = 0; t < tensors; ++t) first[t] = offset[t];
    for (Extent r = 0; r < rows; ++r, row.advance(part.rows)) {
      for (int t = 0; t < tensors; ++t) offset[t] = first[t] + row.offset[t];
      run();
    }
  }

  /// Whether elements of an index tensor may be no index.
  [[nodiscard]] static constexpr bool is_skipped(int k) { return (Skipped >> k & 1U) != 0; }
  /// Whether an element is a value of the label.
  [[nodiscard]] bool is_index(int k, Extent element) const {
    return element >= 0 && element < m_shape.lookup[k].extent;
  }
  struct Found {
    bool inside = true;  ///< every index is a value of its label, or skipped
    bool here = true;    ///< and one that this part has
  };
  /// Moves offsets to where the index tensors say.
  template <std::size_t... K>
  [[nodiscard]] Found look_up(const Part& part, const void* const* operands, Extent* offset,
                              std::index_sequence<K...>) const {
    const Extent index[] = {
        static_cast<Extent>(static_cast<const IndexOf<K>*>(operands[K])[offset[K]])...};
    Found found;
    for (int k = 0; k < Lookups; ++k) {
      found.inside = found.inside && (is_skipped(k) || is_index(k, index[k]));
      const bool here = index[k] >= part.first[k] && index[k] < part.first[k] + part.count[k];
      found.here = found.here && here;
      const Extent step = here ? index[k] - part.first[k] : 0;
      for (int t = Lookups; t < tensors; ++t) offset[t] += step * part.stride[k][t];
    }
    return found;
  }
  template <std::size_t K>
  using IndexOf = typename Sig::template OperandType<K>;

  void fill(const Part& part, State* states) const {
    const State identity = Traits::identity(m_monoid);
    for_each_run(part.outputs, [&](const Extent* offset, Extent count, const Extent* stride) {
      State* const first = states + offset[0];
      if (stride[0] == 1) {
        for (Extent i = 0; i < count; ++i) first[i] = identity;
      } else {
        for (Extent i = 0; i < count; ++i) first[i * stride[0]] = identity;
      }
    });
  }
  void finish(const Part& part, const State* states, Result* into) const {
    states += part.offset[output];
    into += part.final_offset;
    for_each_run(part.outputs, [&](const Extent* offset, Extent count, const Extent* stride) {
      for (Extent i = 0; i < count; ++i) {
        into[offset[1] + i * stride[1]] =
            Traits::finish(m_monoid, states[offset[0] + i * stride[0]]);
      }
    });
  }
  /// Calls visit(offsets, count, strides) for the runs of a nest's fastest loop.
  template <int N, class Visit>
  static void for_each_run(const LoopNest<N>& nest, const Visit& visit) {
    const Extent size = nest.size();
    if (size == 0) return;
    const Extent count = nest.loops > 0 ? nest.extent[0] : 1;
    Extent stride[N]{};
    for (int t = 0; t < N && nest.loops > 0; ++t) stride[t] = nest.stride[t][0];
    Cursor<N> at;
    at.seek(nest, 0);
    for (Extent done = 0; done < size; done += count) {
      visit(at.offset, count, stride);
      if (done + count < size) at.skip(nest, count);
    }
  }

  /// What ⊕ gives of one term.
  [[nodiscard]] State of_one(const Value& value) const {
    const State state = Traits::lift(m_monoid, value, 0);
    if constexpr (std::is_same_v<Monoid, Sum>) {
      return state;
    } else {
      return Traits::combine(m_monoid, Traits::identity(m_monoid), state);
    }
  }

  void clear_row(const Part& part, State* to) const {
    const State identity = Traits::identity(m_monoid);
    for (Extent i = 0; i < part.row_length; ++i) to[i * part.row_stride[output]] = identity;
  }

  /// The joins of a row, so many at a time that an int counts them, which vectorises.
  template <bool Assigns, class Access, std::size_t... I>
  void run_row(std::index_sequence<I...>, const void* const* operands, const Extent* offset,
               const Part& part, State* to) const {
    constexpr Extent most = Extent{1} << 30;
    constexpr bool dense = !std::is_same_v<Access, AnyStride>;
    const Extent step = dense ? 1 : part.row_stride[output];
    for (Extent begin = 0; begin < part.row_length; begin += most) {
      const auto count = static_cast<int>(std::min(most, part.row_length - begin));
      const auto value = [this, ... element = Access::template row<I>(
                                    static_cast<const Operand<I>*>(operands[Lookups + I]) +
                                        offset[Lookups + I] + begin * part.row_stride[Lookups + I],
                                    part.row_stride[Lookups + I])]([[maybe_unused]] int i) {
        return static_cast<Value>(m_join(element[i]...));
      };
      State* const into = to + begin * step;
      if constexpr (Assigns) {
        for (int i = 0; i < count; ++i) into[i * step] = of_one(value(i));
      } else if (!dense && step == 0) {
        State state = *into;
        for (int i = 0; i < count; ++i) {
          state = Traits::combine(m_monoid, state, Traits::lift(m_monoid, value(i), 0));
        }
        *into = state;
      } else {
        for (int i = 0; i < count; ++i) {
          State& one = into[i * step];
          one = Traits::combine(m_monoid, one, Traits::lift(m_monoid, value(i), 0));
        }
      }
    }
  }

  /// Finds the first element of an index tensor that is no index.
  [[noreturn]] EINDECOMP_COMPACT void throw_fault(const void* const* operands) const {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (throw_fault_of(static_cast<int>(K), static_cast<const IndexOf<K>*>(operands[K])), ...);
    }
    (std::make_index_sequence<Lookups>{});
    throw std::exception();  // not reached: there is one
  }
  template <class T>
  EINDECOMP_COMPACT void throw_fault_of(int k, const T* elements) const {
    if (is_skipped(k)) return;
    const IndexWalk walk(m_shape, k);
    Cursor<1> at;
    at.seek(walk.nest, 0);
    const Extent size = walk.nest.size();
    for (Extent n = 0; n < size; ++n, at.advance(walk.nest)) {
      const auto value = static_cast<Extent>(elements[at.offset[0]]);
      if (!is_index(k, value)) throw walk.fault(m_shape, k, value, at);
    }
  }

  LocalEinsum m_shape;
  std::vector<Part> m_parts;
  Join m_join;
  Monoid m_monoid;
  Write m_write;
  Extent m_outputs = 1;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
