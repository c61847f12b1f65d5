// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Rows of joins with masks, piece by piece: where no mask changes, a join is one without masks,
/// and often a number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/joined.hpp"
#include "eindecomp/kernel/generic/map_row.hpp"
#include "eindecomp/kernel/generic/mask_pieces.hpp"
#include "eindecomp/kernel/generic/masked_join.hpp"
#include "eindecomp/kernel/generic/reduce_lanes.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/simd/streaming_store.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Writes one value to neighbouring elements. \param streamed  by non-temporal stores, but for ends
template <class T>
void fill_row(T* to, Extent count, const T& value, [[maybe_unused]] bool streamed) {
#if defined(EINDECOMP_STREAMING_BYTES)
  constexpr int width = EINDECOMP_STREAMING_BYTES / static_cast<int>(sizeof(T));
  if constexpr (is_lane<T>) {
    if (streamed) {
      constexpr auto line = std::uintptr_t{EINDECOMP_STREAMING_BYTES};
      const std::uintptr_t beyond = reinterpret_cast<std::uintptr_t>(to) % line;
      const Extent first =
          std::min(count, static_cast<Extent>((line - beyond) % line / sizeof(T)));
      std::fill(to, to + first, value);
      const auto lanes = reinterpret_cast<StreamLine>(repeat<T, width>(value));
      Extent i = first;
      for (; i + width <= count; i += width) {
        translate_next_page(to + i);
        stream(to + i, lanes);
      }
      std::fill(to + i, to + count, value);
      return;
    }
  }
#endif
  std::fill(to, to + count, value);
}

/// What of a signature is computed piece by piece.
template <class Join, class Monoid, class... Ts>
struct MaskedSignature {
  using Sig = Signature<Join, Monoid, Ts...>;
  using Masked = MaskedJoin<Join, Ts...>;
  using Types = std::tuple<Ts...>;

  /// Rows and signatures of what is left of ⊗, of the operands that are no labels.
  template <class Inner, class Reads>
  struct OfReads;
  template <class Inner, std::size_t... I>
  struct OfReads<Inner, std::index_sequence<I...>> {
    using Row = MapRow<Inner, Monoid, std::tuple_element_t<I, Types>...>;
    template <class Function>
    static constexpr bool with_types(const Function& function) {
      return function.template operator()<std::tuple_element_t<I, Types>...>();
    }
  };
  template <class Inner>
  using Of = OfReads<Inner, std::make_index_sequence<std::size_t{Masked::reads}>>;

  /// Whether test<Inner, types of its operands...>() of everything that may be left and no number.
  template <class Test>
  [[nodiscard]] static constexpr bool all(const Test& test) {
    if constexpr (Masked::is_one && has_vectors) {
      return []<class... Inners>(std::type_identity<std::tuple<Inners...>>, const Test& of_all) {
        return (passes<Inners>(of_all) && ...);
      }(std::type_identity<JoinsUnderMasks<Masked>>(), test);
    } else {
      return false;
    }
  }

 private:
  template <class Inner, class Test>
  [[nodiscard]] static constexpr bool passes(const Test& test) {
    if constexpr (is_constant<Inner>) {
      return true;
    } else if constexpr (std::is_same_v<Inner, NoSimplerJoin>) {
      return false;
    } else {
      return Of<Inner>::with_types([&test]<class... Us>() {
        if constexpr (expr::is_joinable<Inner, Us...>) {
          if constexpr (std::is_same_v<typename Signature<Inner, Monoid, Us...>::Value,
                                       typename Sig::Value>) {
            return test.template operator()<Inner, Us...>();
          }
        }
        return false;
      });
    }
  }
};

/// Whether MaskedMap computes a signature's outputs of one term.
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool maps_masked() {
  using Masked = MaskedSignature<Join, Monoid, Ts...>;
  using Traits = typename Masked::Sig::Traits;
  if constexpr (std::is_same_v<typename Masked::Sig::State, typename Masked::Sig::Value> &&
                !Traits::lifts && !Traits::finishes) {
    return Masked::all([]<class Inner, class... Us>() {
      return maps_lanes<Inner, Monoid, Us...>() || maps_many<Inner, Monoid, Us...>() ||
             maps_halves<Inner, Monoid, Us...>();
    });
  } else {
    return false;
  }
}
/// Whether MaskedTerms computes its reductions.
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool reduces_masked() {
  using Masked = MaskedSignature<Join, Monoid, Ts...>;
  if constexpr (!Masked::Sig::elementwise && maps_masked<Join, Monoid, Ts...>()) {
    return Masked::all(
        []<class Inner, class... Us>() { return reduces_lanes<Inner, Monoid, Us...>(); });
  } else {
    return false;
  }
}

/// The operands of a masked join that are no labels, along rows.
template <class Join, class... Ts>
struct MaskedReads {
  static constexpr int operands = static_cast<int>(sizeof...(Ts));
  static constexpr int reads = MaskedJoin<Join, Ts...>::reads;

  bool apply = false;       ///< each is contiguous or the same, and what masks compare are labels
  unsigned contiguous = 0;  ///< bit t: operand t is contiguous

  /// \param values  how many of the operands, the last, are values of labels
  MaskedReads(const Extent* stride, int values)
      : apply(operands - values <= MaskedJoin<Join, Ts...>::first_label) {
    for (int t = 0; t < reads; ++t) {
      if (stride[t] == 1) contiguous |= 1U << t;
      apply = apply && (stride[t] == 0 || stride[t] == 1);
    }
  }
};

/// Rows of outputs of one term each, as MapRow.
template <class Join, class Monoid, class... Ts>
class MaskedMap {
 public:
  using Signature = MaskedSignature<Join, Monoid, Ts...>;
  using Traits = typename Signature::Sig::Traits;
  using State = typename Signature::Sig::State;
  static constexpr std::size_t operands = sizeof...(Ts);

  /// \param values  as MaskedReads has it
  MaskedMap(const Join& join, const Monoid& monoid, const void* const* operand,
            const Extent* stride, int values)
      : m_reads(stride, values),
        m_pieces(join),
        m_monoid(monoid),
        m_operand(operand),
        m_stride(stride) {}

  [[nodiscard]] bool applies() const { return m_reads.apply; }

  template <bool>
  [[nodiscard]] bool direct(const Extent* offset, Extent length, State* output, Write write,
                            const MemoryHints& hints) const {
    if (maps_by_floats || write == Write::accumulate) return false;
#if defined(EINDECOMP_STREAMING_BYTES)
    if (hints.streamed) {
      stream_row(offset, length, output);
      return true;
    }
#endif
    compute(offset, length, output, false);
    return true;
  }
  void into(const Extent* offset, int width, State* states) const {
    compute(offset, width, states, false);
  }

 private:
  static constexpr bool maps_by_floats = !Signature::all([]<class Inner, class... Us>() {
    return maps_lanes<Inner, Monoid, Us...>() || maps_many<Inner, Monoid, Us...>();
  });

  void compute(const Extent* offset, Extent length, State* output, bool streamed) const {
    m_pieces.for_each(m_operand, offset, m_stride, length,
                      [&](Extent first, Extent last, const auto& join) {
                        piece(join, offset, first, last - first, output + first, streamed);
                      });
  }
#if defined(EINDECOMP_STREAMING_BYTES)
  /// The same by non-temporal stores. Where pieces meet within what such a store writes, it is put
  /// together first: other stores to the same line of memory would wait.
  void stream_row(const Extent* offset, Extent length, State* output) const {
    constexpr auto bytes = std::uintptr_t{EINDECOMP_STREAMING_BYTES};
    constexpr auto width = static_cast<Extent>(bytes / sizeof(State));
    alignas(EINDECOMP_STREAMING_BYTES) State line[width];
    // Outputs before the first that begins a line, which are stored as they are.
    Extent filled =
        static_cast<Extent>(reinterpret_cast<std::uintptr_t>(output) % bytes / sizeof(State));
    const Extent before = filled;
    m_pieces.for_each(
        m_operand, offset, m_stride, length,
        [&](Extent first, Extent last, const auto& join) {
          if (filled > 0) {
            const Extent count = std::min(last - first, width - filled);
            piece(join, offset, first, count, line + filled, false);
            first += count;
            filled += count;
            if (filled < width) return;
            filled = 0;
            if (first < width) {
              std::copy(line + before, line + width, output);
            } else {
              stream(output + first - width, reinterpret_cast<const StreamLine&>(line));
            }
          }
          filled = (last - first) % width;
          if (last - filled > first) {
            piece(join, offset, first, last - filled - first, output + first, true);
          }
          if (filled > 0) piece(join, offset, last - filled, filled, line, false);
        });
    const Extent first = length < filled ? before : 0;
    std::copy(line + first, line + filled, output + length - (filled - first));
  }
#endif
  /// Computes so many outputs from the one of a row that is number `first`.
  template <class Inner>
  void piece(const Inner& join, const Extent* offset, Extent first, Extent count, State* output,
             bool streamed) const {
    if constexpr (is_constant<Inner>) {
      fill_row(output, count, of_value(static_cast<State>(expr::widened(join.value))), streamed);
    } else {
      Extent begin[operands];
      for (std::size_t t = 0; t < operands; ++t) begin[t] = offset[t] + first * m_stride[t];
      map(join, begin, count, output, streamed);
    }
  }
  [[nodiscard]] State of_value(const State& value) const {
    if constexpr (Signature::Sig::elementwise) {
      return value;
    } else {
      return Traits::combine(m_monoid, Traits::identity(m_monoid), value);
    }
  }

  template <class Inner>
  void map(const Inner& join, const Extent* offset, Extent length, State* output,
           bool streamed) const {
    using Row = typename Signature::template Of<Inner>::Row;
    const Row row{join, m_monoid, m_operand, m_stride, m_reads.contiguous};
    if (m_reads.contiguous == 0) {
      State state{};
      row.template by_elements<AnyStride>(typename Row::Indices{}, offset, 1, &state);
      fill_row(output, length, state, streamed);
    } else if constexpr (maps_by_floats) {
      row.into(offset, static_cast<int>(length), output);
    } else {
      (void)row.template direct<false>(offset, length, output, Write::partial, {streamed});
    }
  }

  MaskedReads<Join, Ts...> m_reads;
  MaskPieces<Join, Ts...> m_pieces;
  const Monoid& m_monoid;
  const void* const* m_operand;
  const Extent* m_stride;
};

/// Terms of a reduction, a row of them at a time.
template <class Join, class Monoid, class... Ts>
class MaskedTerms {
 public:
  using Signature = MaskedSignature<Join, Monoid, Ts...>;
  using Traits = typename Signature::Sig::Traits;
  using Value = typename Signature::Sig::Value;
  static constexpr std::size_t operands = sizeof...(Ts);
  static constexpr int reads = MaskedJoin<Join, Ts...>::reads;

  MaskedTerms(const Join& join, const Monoid& monoid, const void* const* operand,
              const Extent* stride, int values)
      : m_reads(stride, values),
        m_pieces(join),
        m_monoid(monoid),
        m_operand(operand),
        m_stride(stride) {}

  [[nodiscard]] bool applies() const { return m_reads.apply && m_reads.contiguous != 0; }

  /// The aggregate of `length` terms that follow one another.
  [[nodiscard]] Value along(const Extent* offset, Extent length) const {
    Value sum = Traits::identity(m_monoid);
    m_pieces.for_each(m_operand, offset, m_stride, length,
                      [&]<class Inner>(Extent first, Extent last, const Inner& join) {
                        if constexpr (is_constant<Inner>) {
                          const auto term = static_cast<Value>(expr::widened(join.value));
                          for (Extent n = terms_of(term, last - first); n > 0; --n) {
                            sum = Traits::combine(m_monoid, sum, term);
                          }
                        } else {
                          sum = Traits::combine(m_monoid, sum, terms(join, offset, first, last));
                        }
                      });
    return sum;
  }

  /// Combines the terms of neighbouring outputs, one of each, into their accumulators.
  void across(const Extent* offset, Extent outputs, Value* sums) const {
    m_pieces.for_each(
        m_operand, offset, m_stride, outputs,
        [&]<class Inner>(Extent first, Extent last, const Inner& join) {
          if constexpr (is_constant<Inner>) {
            const auto term = static_cast<Value>(expr::widened(join.value));
            if (terms_of(term, 1) == 0) return;
            for (; first < last; ++first) {
              sums[first] = Traits::combine(m_monoid, sums[first], term);
            }
          } else {
            const Value* from[reads];
            begin(offset, first, from);
            const OneTerm<Inner, Monoid, Value> term{join, m_monoid, Traits::identity(m_monoid)};
            add_run<reads>(m_reads.contiguous, term, from, sums + first, last - first);
          }
        });
  }

 private:
  /// How many of so many equal terms count.
  [[nodiscard]] Extent terms_of(const Value& term, Extent count) const {
    const Value none = Traits::identity(m_monoid);
    if (Traits::combine(m_monoid, none, term) == none) return 0;
    return Traits::combine(m_monoid, term, term) == term ? std::min<Extent>(count, 1) : count;
  }
  void begin(const Extent* offset, Extent first, const Value** from) const {
    for (int t = 0; t < reads; ++t) {
      from[t] = static_cast<const Value*>(m_operand[t]) + offset[t] + first * m_stride[t];
    }
  }
  template <class Inner>
  [[nodiscard]] Value terms(const Inner& join, const Extent* offset, Extent first,
                            Extent last) const {
    const Value* from[reads];
    begin(offset, first, from);
    constexpr std::make_index_sequence<std::size_t{reads}> all;
    return aggregate_terms<Value>(all, join, m_monoid, from, m_stride, last - first);
  }

  MaskedReads<Join, Ts...> m_reads;
  MaskPieces<Join, Ts...> m_pieces;
  const Monoid& m_monoid;
  const void* const* m_operand;
  const Extent* m_stride;
};

/// Where there are none.
struct NoMaskedTerms {
  template <class... Args>
  EINDECOMP_FUNCTION constexpr explicit NoMaskedTerms(const Args&...) {}
};
template <bool Masked, class Join, class Monoid, class... Ts>
struct SelectTerms {
  using type = NoMaskedTerms;
};
template <class Join, class Monoid, class... Ts>
struct SelectTerms<true, Join, Monoid, Ts...> {
  using type = MaskedTerms<Join, Monoid, Ts...>;
};
template <bool Masked, class Join, class Monoid, class... Ts>
using TermsUnderMasks = typename SelectTerms<Masked, Join, Monoid, Ts...>::type;

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
