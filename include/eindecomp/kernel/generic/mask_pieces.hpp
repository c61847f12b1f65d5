// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The pieces of a row along which no mask of a join changes: conditions that are affine in a label
/// hold on one piece, and no element need be asked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/label_value.hpp"
#include "eindecomp/kernel/generic/masked_join.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// The joins that a masked join is under the combinations of its masks, by their bits.
template <class Masked, class Combinations>
struct UnderCombinations;
template <class Masked, std::size_t... Bits>
struct UnderCombinations<Masked, std::index_sequence<Bits...>> {
  using type = std::tuple<typename Masked::template Under<unsigned{Bits}>...>;
};
template <class Masked>
using JoinsUnderMasks =
    typename UnderCombinations<Masked,
                               std::make_index_sequence<std::size_t{1} << Masked::masks>>::type;

/// A masked join, and the pieces of rows along which the values of labels are known.
template <class Join, class... Ts>
class MaskPieces {
 public:
  using Masked = MaskedJoin<Join, Ts...>;
  static constexpr std::size_t combinations = std::size_t{1} << Masked::masks;
  static constexpr int max_pieces = 2 * Masked::comparisons + 1;

  /// The pieces of a row in their order, which end where the next begins.
  struct List {
    int count = 0;
    Extent end[max_pieces];
    unsigned masks[max_pieces];  ///< which hold, as bits
  };

  explicit MaskPieces(const Join& join)
      : m_tree(Masked::tree(join)), m_under(under(join, Combinations{})) {}

  /// Finds those of a row of at least one element.
  /// \param operand, offset, stride  of all operands: where they lie, their first elements and how
  ///   far they go on from element to element
  void find(const void* const* operand, const Extent* offset, const Extent* stride, Extent length,
            List& list) const {
    const Values values = values_of(Operands{}, operand, offset, stride);
    // Where comparisons may change, in order.
    list.count = 0;
    Masked::for_each_mask(m_tree, [&](const auto& mask) {
      Masked::for_each_comparison(mask, [&](const auto& a, const auto& b) {
        const auto difference = [&](Extent i) {
          return difference_of(call(b, values, i), call(a, values, i));
        };
        add_ends(difference(0), difference(1), length, list);
      });
    });
    // And where masks do.
    const int ends = list.count;
    list.count = 0;
    unsigned masks = masks_at(values, 0);
    for (int n = 0; n < ends; ++n) {
      const Extent end = list.end[n];
      const unsigned next = masks_at(values, end);
      if (next == masks) continue;
      list.end[list.count] = end;
      list.masks[list.count++] = masks;
      masks = next;
    }
    list.end[list.count] = length;
    list.masks[list.count++] = masks;
  }

  /// Calls use(what the join is under some masks).
  template <class Use>
  void under_masks(unsigned masks, const Use& use) const {
    [&]<std::size_t... Bits>(std::index_sequence<Bits...>) {
      (void)((masks == Bits && (use(std::get<Bits>(m_under)), true)) || ...);
    }
    (Combinations{});
  }

 private:
  static constexpr std::size_t operands = sizeof...(Ts);
  static constexpr auto first_label = static_cast<std::size_t>(Masked::first_label);
  using Combinations = std::make_index_sequence<combinations>;
  using Operands = std::make_index_sequence<operands>;
  /// Of all operands at element 0, and how much more from element to element; 0 where these are no
  /// labels.
  struct Values {
    expr::LabelNumber first[operands];
    expr::LabelNumber step[operands];
  };

  template <std::size_t... Bits>
  [[nodiscard]] static JoinsUnderMasks<Masked> under(const Join& join,
                                                     std::index_sequence<Bits...>) {
    return {Masked::template under<unsigned{Bits}>(join)...};
  }
  template <std::size_t... T>
  [[nodiscard]] EINDECOMP_ALWAYS_INLINE static Values values_of(std::index_sequence<T...>,
                                                                const void* const* operand,
                                                                const Extent* offset,
                                                                const Extent* stride) {
    return {
        {(T < first_label ? 0 : static_cast<const expr::LabelNumber*>(operand[T])[offset[T]])...},
        {(T < first_label ? 0 : stride[T])...}};
  }
  template <class F>
  [[nodiscard]] EINDECOMP_ALWAYS_INLINE static auto call(const F& f, const Values& values,
                                                         Extent i) {
    return [&]<std::size_t... T>(std::index_sequence<T...>) {
      return f(expr::LabelNumber{values.first[T] + i * values.step[T]}...);
    }
    (Operands{});
  }
  [[nodiscard]] EINDECOMP_ALWAYS_INLINE unsigned masks_at(const Values& values, Extent i) const {
    unsigned masks = 0;
    unsigned bit = 1;
    Masked::for_each_mask(m_tree, [&](const auto& mask) {
      if (call(mask, values, i)) masks |= bit;
      bit <<= 1;
    });
    return masks;
  }

  /// a - b. Of numbers that labels do not come near, such as 2^63 - 1, it may be any.
  [[nodiscard]] static Extent difference_of(Extent a, Extent b) {
    return static_cast<Extent>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }

  /// Adds the first places within a row where a difference, which changes steadily, has another
  /// sign than before.
  static void add_ends(Extent first, Extent second, Extent length, List& list) {
    Extent slope = difference_of(second, first);
    if (slope == 0) return;
    Extent zero = difference_of(0, first);
    if (slope < 0) {
      slope = -slope;
      zero = first;
    }
    // The difference is 0 at zero / slope, which rounded down is:
    const Extent below = slope == 1 ? zero : zero / slope - (zero % slope < 0 ? 1 : 0);
    if (below < -1 || below >= length) return;
    for (const Extent place : {below + (below * slope == zero ? 0 : 1), below + 1}) {
      if (place <= 0 || place >= length) continue;
      int n = list.count++;
      for (; n > 0 && list.end[n - 1] > place; --n) list.end[n] = list.end[n - 1];
      list.end[n] = place;
    }
  }

  typename Masked::Tree m_tree;
  JoinsUnderMasks<Masked> m_under;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
