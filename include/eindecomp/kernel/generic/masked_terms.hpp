// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Reductions with masks: rows of terms, piece by piece.
#pragma once

#include <cstddef>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/generic/map_lanes.hpp"
#include "eindecomp/kernel/generic/mask_pieces.hpp"
#include "eindecomp/kernel/generic/masked_signature.hpp"
#include "eindecomp/kernel/generic/reduce_lanes.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Terms of a reduction, a row of them at a time.
template <class Join, class Monoid, class... Ts>
class MaskedTerms {
 public:
  using Sig = typename MaskedSignature<Join, Monoid, Ts...>::Sig;
  using Traits = typename Sig::Traits;
  using Value = typename Sig::Value;
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
    for_each_piece(offset, length, [&]<class Inner>(Extent first, Extent last, const Inner& join) {
      if constexpr (is_constant<Inner>) {
        sum = Traits::combine(
            m_monoid, sum, repeated(static_cast<Value>(expr::widened(join.value)), last - first));
      } else {
        constexpr std::make_index_sequence<std::size_t{reads}> all;
        const Value* from[reads];
        begin(offset, first, from);
        sum = Traits::combine(
            m_monoid, sum,
            aggregate_terms<Value>(all, join, m_monoid, from, m_stride, last - first));
      }
    });
    return sum;
  }

  /// Combines the terms of neighbouring outputs, one of each, into their accumulators.
  void across(const Extent* offset, Extent outputs, Value* sums) const {
    for_each_piece(offset, outputs, [&]<class Inner>(Extent first, Extent last, const Inner& join) {
      if constexpr (is_constant<Inner>) {
        const auto term = static_cast<Value>(expr::widened(join.value));
        if (counts_for_nothing(term)) return;
        for (; first < last; ++first) sums[first] = Traits::combine(m_monoid, sums[first], term);
      } else {
        const Value* from[reads];
        begin(offset, first, from);
        const OneTerm<Inner, Monoid, Value> term{join, m_monoid, Traits::identity(m_monoid)};
        add_run<reads>(m_reads.contiguous, term, from, sums + first, last - first);
      }
    });
  }

 private:
  template <class Use>
  void for_each_piece(const Extent* offset, Extent length, const Use& use) const {
    typename MaskPieces<Join, Ts...>::List pieces;
    m_pieces.find(m_operand, offset, m_stride, length, pieces);
    Extent first = 0;
    for (int n = 0; n < pieces.count; ++n) {
      m_pieces.under_masks(pieces.masks[n],
                           [&](const auto& join) { use(first, pieces.end[n], join); });
      first = pieces.end[n];
    }
  }
  [[nodiscard]] bool counts_for_nothing(const Value& term) const {
    const Value none = Traits::identity(m_monoid);
    return Traits::combine(m_monoid, none, term) == none;
  }
  /// The aggregate of so many equal terms, at least one: by doubling, in as many steps as the
  /// number has digits, and as accurate.
  [[nodiscard]] Value repeated(Value term, Extent count) const {
    if (counts_for_nothing(term)) return Traits::identity(m_monoid);
    for (; count % 2 == 0; count /= 2) term = Traits::combine(m_monoid, term, term);
    Value sum = term;
    while (count /= 2) {
      term = Traits::combine(m_monoid, term, term);
      if (count % 2 == 1) sum = Traits::combine(m_monoid, sum, term);
    }
    return sum;
  }
  void begin(const Extent* offset, Extent first, const Value** from) const {
    for (int t = 0; t < reads; ++t) {
      from[t] = static_cast<const Value*>(m_operand[t]) + offset[t] + first * m_stride[t];
    }
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
