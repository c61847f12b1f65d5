// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The types of a kernel: those of ⊗, ⊕ and the operands, and what follows from them.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "eindecomp/expr/element.hpp"
#include "eindecomp/expr/joined.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/expr/operator.hpp"
#include "eindecomp/kernel/local_einsum.hpp"

namespace eindecomp::kernel {

/// An operator signature: ⊗ = Join over operand elements Ts, ⊕ = Monoid.
template <class JoinType, class MonoidType, class... Ts>
struct Signature {
  static_assert(sizeof...(Ts) >= 1 && sizeof...(Ts) <= max_operands);
  static_assert(!(is_foreign_half<Ts> || ...),
                "EinDecomp: tensors of 16-bit floating-point numbers of the compiler or of another "
                "library are not supported; declare them of ein::float16 or ein::bfloat16, which "
                "have the same bits");
  static_assert(expr::is_joinable<JoinType, Ts...>,
                "EinDecomp: the join cannot be called with these operand types");

  using Join = JoinType;      ///< ⊗
  using Monoid = MonoidType;  ///< ⊕
  /// What ⊗ gives, as stored: truth values as 32-bit integers. ⊗ is called with expr::widened
  /// elements.
  using Value = expr::JoinedValue<Join, Monoid, Ts...>;
  /// What holds of ⊕ over what ⊗ gives.
  using Traits = MonoidTraits<Monoid, Value>;
  /// An accumulator of ⊕.
  using State = typename Traits::State;
  /// A final element.
  using Result = std::decay_t<typename Traits::Result>;

  static_assert(std::is_trivially_copyable_v<State> && std::is_trivially_copyable_v<Result>,
                "EinDecomp: accumulators and results are moved as bytes");

  static constexpr int operands = static_cast<int>(sizeof...(Ts));  ///< of ⊗
  /// ⊕ stands for nothing: every output element is one ⊗.
  static constexpr bool elementwise = std::is_same_v<Monoid, NoAggregation>;

  /// The element of ⊗'s operand I.
  template <std::size_t I>
  using OperandType = std::tuple_element_t<I, std::tuple<Ts...>>;
};

namespace detail {

/// Writes the accumulator of one output element, as `write` says.
template <class Monoid, class Value>
struct Store {
  using Traits = MonoidTraits<Monoid, Value>;
  using State = typename Traits::State;
  using Result = std::decay_t<typename Traits::Result>;

  Monoid monoid;
  void* output;
  Write write;

  EINDECOMP_FUNCTION void operator()(Extent offset, const State& state) const {
    switch (write) {
      case Write::partial:
        static_cast<State*>(output)[offset] = state;
        break;
      case Write::accumulate: {
        State& into = static_cast<State*>(output)[offset];
        into = Traits::combine(monoid, into, state);
        break;
      }
      case Write::finished:
        static_cast<Result*>(output)[offset] = Traits::finish(monoid, state);
        break;
    }
  }

  /// The same for neighbouring elements.
  EINDECOMP_FUNCTION void row(Extent offset, Extent stride, const State* states, int count) const {
    if (write == Write::finished && stride == 1) {
      Result* const to = static_cast<Result*>(output) + offset;
      for (int j = 0; j < count; ++j) to[j] = Traits::finish(monoid, states[j]);
    } else if (write == Write::accumulate && stride == 1) {
      State* const into = static_cast<State*>(output) + offset;
      for (int j = 0; j < count; ++j) into[j] = Traits::combine(monoid, into[j], states[j]);
    } else {
      for (int j = 0; j < count; ++j) (*this)(offset + j * stride, states[j]);
    }
  }
};

}  // namespace detail
}  // namespace eindecomp::kernel
