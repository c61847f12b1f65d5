// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the library asks of a monoid, monoid.hpp.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/element.hpp"

namespace eindecomp {

/// True of a monoid whose author promises associativity and commutativity.
template <class M>
inline constexpr bool promises_commutative_monoid = requires {
  requires static_cast<bool>(M::commutative_monoid);
};

/// True of a monoid that asks where an element stands, and so aggregates one label.
template <class M>
inline constexpr bool uses_index_of_element = requires {
  requires static_cast<bool>(M::uses_index);
};

namespace expr {
/// state ⊕ next, where `state` started as the identity; both are accumulators or vectors of them.
template <class M, class S>
EINDECOMP_FUNCTION constexpr S aggregated(const M& monoid, const S& state, const S& next) {
  if constexpr (requires { monoid.aggregate(state, next); }) {
    return monoid.aggregate(state, next);
  } else {
    return monoid(state, next);
  }
}
}  // namespace expr

/// Everything the library asks of a monoid M over elements T, whichever way M is written.
template <class M, class T>
struct MonoidTraits {
 private:
  template <class N>
  static auto state_of(int) -> std::type_identity<typename N::template State<T>>;
  template <class N>
  static auto state_of(long) -> std::type_identity<T>;

 public:
  static constexpr bool uses_index = uses_index_of_element<M>;  ///< whether lift() looks at it

  using State = typename decltype(state_of<M>(0))::type;

  /// Whether the monoid itself makes accumulators of elements, and results of accumulators; one
  /// that does not leaves them as they are.
  static constexpr bool lifts = requires(const M& monoid, const T& value) {
    monoid.lift(value, std::int64_t{});
  };
  /// The same of results: whether the monoid has a finish().
  static constexpr bool finishes = requires(const M& monoid, const State& state) {
    monoid.finish(state);
  };

  EINDECOMP_FUNCTION static constexpr State identity(const M& monoid) {
    if constexpr (requires { monoid.template identity<T>(); }) {
      return monoid.template identity<T>();
    } else {
      return monoid.identity();
    }
  }
  EINDECOMP_FUNCTION static constexpr State lift(const M& monoid, const T& value,
                                                 std::int64_t index) {
    if constexpr (lifts) {
      return monoid.lift(value, index);
    } else {
      return value;
    }
  }
  /// state ⊕ next, where `state` began as the identity.
  EINDECOMP_FUNCTION static constexpr State combine(const M& monoid, const State& state,
                                                    const State& next) {
    return expr::aggregated(monoid, state, next);
  }
  EINDECOMP_FUNCTION static constexpr auto finish(const M& monoid, const State& state) {
    if constexpr (finishes) {
      return static_cast<Stored<decltype(monoid.finish(state))>>(monoid.finish(state));
    } else {
      return state;
    }
  }
  /// A final element.
  using Result = decltype(finish(std::declval<const M&>(), std::declval<const State&>()));
};

namespace expr {
template <class M, class T>
concept HasIdentity = requires(const M& m) {
  m.template identity<T>();
}
|| requires(const M& m) { m.identity(); };
template <class M, class T>
concept Combines = requires(const M& m, const typename MonoidTraits<M, T>::State& s) {
  { m(s, s) } -> std::convertible_to<typename MonoidTraits<M, T>::State>;
};
}  // namespace expr

/// A monoid that can aggregate elements T.
template <class M, class T>
concept CommutativeMonoid =
    promises_commutative_monoid<M> && expr::HasIdentity<M, T> && expr::Combines<M, T>;

}  // namespace eindecomp
