// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Maps of many short rows, which need not follow one another, as those of a part of a matrix: in
/// loops over rows, for to begin each by itself takes longer than to compute it.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/generic/map_lanes.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Blocks of rows of outputs at equal distances, of tensors of which the last one is the output.
template <int Tensors>
struct RowBlocks {
  Extent length;               ///< of a row
  Extent rows;                 ///< of a block
  Extent blocks;               ///< how many there are
  Extent row_step[Tensors];    ///< from row to row, of each tensor
  Extent block_step[Tensors];  ///< from block to block, of each tensor
};

/// The rows of one block. Outputs at their ends that do not fill a vector are computed as part of
/// one, or together with some that were computed before.
template <unsigned Contiguous, class Join, class T, std::size_t... I>
EINDECOMP_FLATTEN EINDECOMP_NEVER_INLINE void map_block(
    std::index_sequence<I...>, const Join& functor, const T* const* first, T* output,
    const RowBlocks<static_cast<int>(sizeof...(I)) + 1>& block) {
  constexpr int width = vector_bytes / static_cast<int>(sizeof(T));
  constexpr auto is_contiguous = [](std::size_t t) { return (Contiguous >> t & 1U) != 0; };
  using V = Lanes<T, width>;
  const Join join = functor;
  const auto rest = static_cast<int>(block.length % width);
  const Extent whole = block.length - rest;
  // Where vectors have masks, these take less than what crosses a line.
  const bool again = vector_bytes < 64 && whole > 0 && ((first[I] != output) && ...);
  const Extent last = again ? block.length - width : whole;
  const auto map_row = [&](T* to, const auto*... from) {
    const auto load = [&](Extent i, bool part, const T* begin, bool contiguous, const V& same) {
      if (!contiguous) return same;
      return part ? load_part<T, width>(begin + i, rest) : load_lanes<T, width>(begin + i);
    };
    const auto map_vectors = [&](const auto&... same) {
      for (Extent i = 0; i < whole; i += width) {
        const V result = join(load(i, false, from, is_contiguous(I), same)...);
        std::memcpy(to + i, &result, sizeof result);
      }
      if (rest == 0) return;
      const V result = join(load(last, !again, from, is_contiguous(I), same)...);
      if (again) {
        std::memcpy(to + last, &result, sizeof result);
      } else {
        store_part<T, width>(to + last, result, rest);
      }
    };
    map_vectors((is_contiguous(I) ? V{} : repeat<T, width>(*from))...);
  };
  const auto map_rows = [&](T* to, auto... from) {
    for (Extent r = block.rows; r > 0; --r) {
      map_row(to, from...);
      ((from += block.row_step[I]), ...);
      to += block.row_step[sizeof...(I)];
    }
  };
  map_rows(output, first[I]...);
}

/// Calls function() with operands and output where each block has them.
template <int Tensors, class T, class Function>
void for_each_block(const T** operand, T*& output, const RowBlocks<Tensors>& rows,
                    const Function& function) {
  for (Extent b = 0; b < rows.blocks; ++b) {
    function();
    for (int t = 0; t < Tensors - 1; ++t) operand[t] += rows.block_step[t];
    output += rows.block_step[Tensors - 1];
  }
}

/// In every row output[i] = join(operands[i]…) for i < length. An operand may be the output itself.
/// \param contiguous  not 0; bit t: operand t is contiguous along a row, or else the same all along
/// \param first, output  of the first row
template <int Operands, class Join, class T>
void map_blocks(unsigned contiguous, const Join& join, const T* const* first, T* output,
                const RowBlocks<Operands + 1>& rows) {
  with_contiguous<Operands, Join>(contiguous, [&]<unsigned Contiguous>(const auto& order) {
    const T* from[Operands];
    RowBlocks<Operands + 1> its = rows;
    for (int t = 0; t < Operands; ++t) {
      from[t] = first[order[t]];
      its.row_step[t] = rows.row_step[order[t]];
      its.block_step[t] = rows.block_step[order[t]];
    }
    for_each_block(from, output, its, [&] {
      map_block<Contiguous>(std::make_index_sequence<static_cast<std::size_t>(Operands)>(), join,
                            from, output, its);
    });
  });
}

/// The same aggregated to what is in the output.
template <int Operands, class Term, class T>
void add_blocks(unsigned contiguous, const Term& term, const T* const* first, T* output,
                const RowBlocks<Operands + 1>& rows) {
  const AddedTerm<Term> added{term};
  with_contiguous<Operands, Term>(contiguous, [&]<unsigned Contiguous>(const auto& order) {
    const T* operand[Operands + 1];
    RowBlocks<Operands + 2> its{rows.length, rows.rows, rows.blocks, {}, {}};
    for (int t = 0; t < Operands + 2; ++t) {
      const int source = t == 0 || t > Operands ? Operands : order[t - 1];
      if (t <= Operands) operand[t] = t == 0 ? output : first[source];
      its.row_step[t] = rows.row_step[source];
      its.block_step[t] = rows.block_step[source];
    }
    for_each_block(operand, output, its, [&] {
      map_block<(Contiguous << 1 | 1)>(
          std::make_index_sequence<static_cast<std::size_t>(Operands + 1)>(), added, operand,
          output, its);
    });
  });
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
