// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The packed kernel's innermost part: one tile of C in registers, for any ⊗ and ⊕.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// The part of C that registers hold: `rows` rows of `vectors` vectors of `width` elements.
struct TileShape {
  int rows;
  int edge_rows;  ///< a divisor of `rows`: the least that is computed at the lower edge
  int vectors;
  int width;
  [[nodiscard]] constexpr int columns() const { return vectors * width; }
};

/// Whether a join holds a constant in a register: |a - b| the mask of the sign.
template <class Join>
inline constexpr bool holds_constant = std::is_same_v<Join, AbsDiff>;

/// The tile for elements of at most that size. Its accumulators leave registers for two vectors of
/// B, one element of A and what a join needs. Instructions that overwrite an operand (SSE) need
/// more registers.
[[nodiscard]] constexpr TileShape tile_shape(std::size_t widest_bytes, bool constant) {
  const int width = vector_bytes / static_cast<int>(widest_bytes);
  if (vector_registers >= 32) return {12, 4, 2, width};
  return vector_bytes > 16 && !constant ? TileShape{6, 2, 2, width} : TileShape{4, 2, 2, width};
}

/// Whether the packed kernel serves a signature on host spaces: two operands and an accumulator
/// that vectors can hold and that is stored as the result is.
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool packs() {
  if constexpr (sizeof...(Ts) == 2) {
    using Sig = Signature<Join, Monoid, Ts...>;
    using State = typename Sig::State;
    return !Sig::elementwise && !Sig::Traits::uses_index && (is_lane<Widened<Ts>> && ...) &&
           is_lane<typename Sig::Value> && is_lane<State> &&
           std::is_same_v<State, typename Sig::Result>;
  } else {
    return false;
  }
}

/// ⊗ and ⊕ as the tile calls them. Inlined whatever the compiler thinks of the size: a function
/// that is handed an accumulator keeps all of them in memory.
template <class JoinType, class MonoidType, class AType, class BType>
struct TileAlgebra {
  using A = AType;
  using B = BType;
  using Sig = Signature<JoinType, MonoidType, A, B>;
  using Value = typename Sig::Value;
  using Traits = typename Sig::Traits;
  using State = typename Sig::State;
  static constexpr TileShape shape = tile_shape(
      std::max({sizeof(A), sizeof(B), sizeof(Value), sizeof(State)}), holds_constant<JoinType>);
  static constexpr int width = shape.width;
  using States = Lanes<State, width>;
  using Values = Lanes<Value, width>;

  /// Whether ⊗ is max and ⊕ is min, or the other way round. Such a monoid passes over NaN, so that
  /// the NaN of A may be replaced by its identity when A is packed; the join then takes one
  /// instruction.
  static constexpr bool replaces_nan =
      std::is_floating_point_v<A> && std::is_same_v<A, B> && std::is_same_v<A, State> &&
      ((std::is_same_v<JoinType, Max> && std::is_same_v<MonoidType, Min>) ||
       (std::is_same_v<JoinType, Min> && std::is_same_v<MonoidType, Max>));

  JoinType join;
  MonoidType monoid;

  /// state ⊕ (a ⊗ b), lane by lane.
  [[nodiscard]] EINDECOMP_ALWAYS_INLINE States step(const States& state, const A& a,
                                                    const Lanes<B, width>& b) const {
    return combine(state, joined(a, b));
  }

  /// earlier ⊕ state, lane by lane.
  [[nodiscard]] EINDECOMP_ALWAYS_INLINE States merge(const States& earlier,
                                                     const States& state) const {
    if constexpr (WorksOnLanes<MonoidType, State>) {
      return expr::aggregated(monoid, earlier, state);
    } else {
      const LaneArray<State, width> left(earlier);
      const LaneArray<State, width> right(state);
      return lane_by_lane<State, width>(
          [&](int l) { return Traits::combine(monoid, left[l], right[l]); });
    }
  }

 private:
  [[nodiscard]] EINDECOMP_ALWAYS_INLINE Values joined(const A& a, const Lanes<B, width>& b) const {
    if constexpr (std::is_same_v<A, B> && std::is_same_v<A, Value> &&
                  WorksOnLanes<JoinType, Value>) {
      if constexpr (replaces_nan) {
        return join.aggregate(b, repeat<A, width>(a));  // b where it is NaN
      } else {
        return join(repeat<A, width>(a), b);
      }
    } else {
      const LaneArray<B, width> right(b);
      return lane_by_lane<Value, width>(
          [&](int l) { return static_cast<Value>(join(a, right[l])); });
    }
  }

  [[nodiscard]] EINDECOMP_ALWAYS_INLINE States combine(const States& state,
                                                       const Values& values) const {
    if constexpr (std::is_same_v<State, Value> && WorksOnLanes<MonoidType, State> &&
                  !Traits::lifts) {
      return expr::aggregated(monoid, state, values);
    } else {
      const LaneArray<State, width> before(state);
      const LaneArray<Value, width> value(values);
      return lane_by_lane<State, width>([&](int l) {
        return Traits::combine(monoid, before[l], Traits::lift(monoid, value[l], 0));
      });
    }
  }
};

/// The rows of C that tiles are accumulated into, their columns side by side.
struct TileRows {
  void* tensor;
  const Extent* offset;  ///< of a row's first column
  bool merge;            ///< with what is there: later blocks of K
};

/// The columns of B that tiles are accumulated from, which lie side by side in C: those of a tile
/// and of a step lie side by side in B.
struct TileColumns {
  const void* first;
  const Extent* step;    ///< where those of each step are
  Extent ahead;          ///< elements further on that are asked for
  int tiles = 1;         ///< how many, of the same rows
  Extent tile_step = 0;  ///< from the columns of one to those of the next
};

/// to = ⊕ over `steps` of a ⊗ b, tile by tile, in as many vectors as there are indices, `Vectors` a
/// row. The loops over accumulators are unrolled by the language, so that each has a register of
/// its own.
template <int Vectors, class Algebra, std::size_t... I>
void accumulate_tile(std::index_sequence<I...>, const Algebra& algebra,
                     const typename Algebra::A* rows, const TileColumns& columns, Extent steps,
                     const TileRows& to) {
  using B = typename Algebra::B;
  using State = typename Algebra::State;
  using States = typename Algebra::States;
  constexpr int width = Algebra::width;
  constexpr TileShape shape = Algebra::shape;
  const Algebra local = algebra;
  const B* first = static_cast<const B*>(columns.first);
  State* into = static_cast<State*>(to.tensor);
  const Extent ahead = columns.ahead;
  const States start = repeat<State, width>(Algebra::Traits::identity(local.monoid));
  // A comes from the second cache, B from beyond it.
  constexpr int a_line = line_bytes / static_cast<int>(sizeof(typename Algebra::A));
  for (int tile = columns.tiles; tile > 0; --tile) {
    const typename Algebra::A* a = rows;
    const Extent* offset = columns.step;
    States state[] = {(static_cast<void>(I), start)...};
    for (Extent step = steps; step > 0; --step) {
      for (int row = 0; row < shape.rows; row += a_line) {
        prefetch_to_read(a + tuning::tile_a_ahead * shape.rows + row);
      }
      const B* const b = first + *offset++;
      for (int v = 0; v < Vectors; ++v) prefetch_to_read(b + ahead + v * width);
      Lanes<B, width> column[Vectors];
      for (int v = 0; v < Vectors; ++v) column[v] = load_lanes<B, width>(b + v * width);
      ((state[I] = local.step(state[I], a[I / Vectors], column[I % Vectors])), ...);
      a += shape.rows;
    }
    const auto place = [&](std::size_t i) {
      return into + to.offset[i / Vectors] + (i % Vectors) * width;
    };
    if (to.merge) {
      ((state[I] = local.merge(load_lanes<State, width>(place(I)), state[I])), ...);
    }
    (std::memcpy(place(I), &state[I], sizeof(States)), ...);
    first += columns.tile_step;
    into += shape.columns();
  }
}

/// What the packed kernel needs of a signature, its types erased: all that is compiled once per
/// signature.
struct TileCode {
  using Accumulate = void (*)(const void* algebra, const void* a, const TileColumns& b,
                              Extent steps, int rows, int columns, const TileRows& to);
  using Merge = void (*)(const void* algebra, void* to, const void* from, Extent count);
  using Finish = void (*)(const void* algebra, void* tile, int rows, int columns);
  using Prepare = void (*)(const void* algebra, void* a, Extent count);

  TileShape shape{};
  Accumulate accumulate = nullptr;  ///< ⊕ of panels, `rows` x `columns` of each tile wanted
  Merge merge = nullptr;            ///< to = to ⊕ from, accumulator by accumulator
  Finish finish = nullptr;          ///< accumulators into results; none where they are the same
  Prepare prepare = nullptr;        ///< packed elements of A, before they are joined
};

/// Writes whole parts of a tile: a multiple of `edge_rows` rows, a multiple of `width` columns.
/// \tparam Rows  the most, a multiple of `edge_rows`
template <class Algebra, int Rows = Algebra::shape.rows>
void accumulate_edge(const void* erased, const void* a, const TileColumns& b, Extent steps,
                     int rows, int columns, const TileRows& to) {
  constexpr TileShape shape = Algebra::shape;
  if constexpr (Rows > shape.edge_rows) {
    if (rows <= Rows - shape.edge_rows) {
      accumulate_edge<Algebra, Rows - shape.edge_rows>(erased, a, b, steps, rows, columns, to);
      return;
    }
  }
  const auto& algebra = *static_cast<const Algebra*>(erased);
  const auto* const from_a = static_cast<const typename Algebra::A*>(a);
  if (columns <= shape.width) {
    accumulate_tile<1>(std::make_index_sequence<Rows>(), algebra, from_a, b, steps, to);
  } else {
    accumulate_tile<shape.vectors>(std::make_index_sequence<std::size_t{Rows} * shape.vectors>(),
                                   algebra, from_a, b, steps, to);
  }
}

/// to[i] = to[i] ⊕ from[i] for accumulators that lie side by side.
template <class Algebra>
void merge_states(const void* erased, void* to, const void* from, Extent count) {
  using State = typename Algebra::State;
  constexpr int width = Algebra::width;
  const Algebra algebra = *static_cast<const Algebra*>(erased);
  auto* const into = static_cast<State*>(to);
  const auto* const other = static_cast<const State*>(from);
  Extent i = 0;
  for (; i + width <= count; i += width) {
    const auto merged =
        algebra.merge(load_lanes<State, width>(into + i), load_lanes<State, width>(other + i));
    std::memcpy(into + i, &merged, sizeof merged);
  }
  for (; i < count; ++i) {
    into[i] = Algebra::Traits::combine(algebra.monoid, into[i], other[i]);
  }
}

/// The code of a signature.
template <class Algebra>
[[nodiscard]] constexpr TileCode tile_code() {
  using Traits = typename Algebra::Traits;
  using State = typename Algebra::State;
  TileCode code;
  code.shape = Algebra::shape;
  code.accumulate = accumulate_edge<Algebra, Algebra::shape.rows>;
  code.merge = merge_states<Algebra>;
  if constexpr (Traits::finishes) {
    code.finish = [](const void* erased, void* tile, int rows, int columns) {
      const auto& algebra = *static_cast<const Algebra*>(erased);
      auto* const state = static_cast<State*>(tile);
      constexpr int stride = Algebra::shape.columns();
      for (int i = 0; i < rows * stride; i += stride) {
        for (int j = i; j < i + columns; ++j) {
          state[j] = Traits::finish(algebra.monoid, state[j]);
        }
      }
    };
  }
  if constexpr (Algebra::replaces_nan) {
    code.prepare = [](const void* erased, void* a, Extent count) {
      const State none = Traits::identity(static_cast<const Algebra*>(erased)->monoid);
      auto* const element = static_cast<State*>(a);
      for (Extent i = 0; i < count; ++i) element[i] = element[i] == element[i] ? element[i] : none;
    };
  }
  return code;
}
}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
