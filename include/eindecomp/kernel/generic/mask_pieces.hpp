// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The pieces of a row along which no mask of a join changes: conditions that are affine in a label
/// hold on one piece, and no element need be asked.
#pragma once

#include <algorithm>
#include <array>
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

/// A masked join along rows of which the values of labels are known.
template <class Join, class... Ts>
class MaskPieces {
 public:
  using Masked = MaskedJoin<Join, Ts...>;
  static constexpr std::size_t combinations = std::size_t{1} << Masked::masks;

  explicit MaskPieces(const Join& join)
      : m_tree(Masked::tree(join)), m_under(under(join, Combinations{})) {}

  /// Calls use(first, last, join) for pieces first <= i < last of a row, from its begin to its end,
  /// with what the join is there.
  /// \param operand, offset, stride  of all operands: where they lie, their first elements and how
  ///   far they go on from element to element
  template <class Use>
  void for_each(const void* const* operand, const Extent* offset, const Extent* stride,
                Extent length, const Use& use) const {
    Values first{};
    for (std::size_t t = first_label; t < operands; ++t) {
      first[t] = static_cast<const expr::LabelNumber*>(operand[t])[offset[t]];
    }
    // Where a comparison may change, in order; those of one place are looked at once.
    std::array<Extent, most_ends> ends;
    std::size_t count = 0;
    const Values second = at(first, stride, 1);
    Masked::for_each_mask(m_tree, [&](const auto& mask) {
      Masked::for_each_comparison(mask, [&](const auto& a, const auto& b) {
        add_ends(difference(a, b, first), difference(a, b, second), length, ends, count);
      });
    });
    ends[count++] = length;
    Extent begin = 0;
    unsigned bits = bits_of(first);
    for (std::size_t n = 0; n < count; ++n) {
      if (ends[n] == begin) continue;
      const unsigned next = ends[n] < length ? bits_of(at(first, stride, ends[n])) : combinations;
      if (next == bits) continue;
      use_piece(Combinations{}, bits, begin, ends[n], use);
      begin = ends[n];
      bits = next;
    }
  }

 private:
  static constexpr std::size_t operands = sizeof...(Ts);
  static constexpr auto first_label = static_cast<std::size_t>(Masked::first_label);
  static constexpr std::size_t most_ends = 2 * std::size_t{Masked::comparisons} + 1;
  using Combinations = std::make_index_sequence<combinations>;
  /// Of all operands; 0 where these are no labels.
  using Values = std::array<expr::LabelNumber, operands>;

  template <std::size_t... Bits>
  [[nodiscard]] static JoinsUnderMasks<Masked> under(const Join& join,
                                                     std::index_sequence<Bits...>) {
    return {Masked::template under<unsigned{Bits}>(join)...};
  }
  [[nodiscard]] static Values at(const Values& first, const Extent* stride, Extent i) {
    Values values{};
    for (std::size_t t = first_label; t < operands; ++t) values[t] = first[t] + i * stride[t];
    return values;
  }
  template <class F>
  [[nodiscard]] static auto call(const F& f, const Values& values) {
    return std::apply([&](const auto&... of) { return f(of...); }, values);
  }
  template <class A, class B>
  [[nodiscard]] static Extent difference(const A& a, const B& b, const Values& values) {
    return Extent{call(b, values)} - Extent{call(a, values)};
  }
  [[nodiscard]] unsigned bits_of(const Values& values) const {
    unsigned bits = 0;
    unsigned bit = 1;
    Masked::for_each_mask(m_tree, [&](const auto& mask) {
      if (call(mask, values)) bits |= bit;
      bit <<= 1;
    });
    return bits;
  }

  /// Adds the first places within a row from which a difference, which changes steadily, has no
  /// longer the sign before, and has another.
  static void add_ends(Extent first, Extent second, Extent length,
                       std::array<Extent, most_ends>& ends, std::size_t& count) {
    Extent slope = second - first;
    if (slope == 0) return;
    Extent zero = -first;
    if (slope < 0) {
      slope = -slope;
      zero = first;
    }
    // The difference is 0 at zero / slope.
    const Extent below = slope == 1 ? zero : zero / slope - (zero % slope < 0 ? 1 : 0);
    const Extent places[] = {below + (below * slope == zero ? 0 : 1), below + 1};
    for (const Extent place : places) {
      if (place <= 0 || place >= length) continue;
      std::size_t n = count++;
      for (; n > 0 && ends[n - 1] > place; --n) ends[n] = ends[n - 1];
      ends[n] = place;
    }
  }

  template <std::size_t... Bits, class Use>
  void use_piece(std::index_sequence<Bits...>, unsigned bits, Extent first, Extent last,
                 const Use& use) const {
    (void)((bits == Bits && (use(first, last, std::get<Bits>(m_under)), true)) || ...);
  }

  typename Masked::Tree m_tree;
  JoinsUnderMasks<Masked> m_under;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
