// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which signatures with masks are computed piece by piece: where no mask changes, a join is one
/// without masks, and often a number.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/joined.hpp"
#include "eindecomp/expr/label_value.hpp"
#include "eindecomp/kernel/generic/map_halves.hpp"
#include "eindecomp/kernel/generic/map_lanes.hpp"
#include "eindecomp/kernel/generic/mask_pieces.hpp"
#include "eindecomp/kernel/generic/masked_join.hpp"
#include "eindecomp/kernel/generic/reduce_lanes.hpp"
#include "eindecomp/kernel/signature.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

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
    template <template <class...> class Of>
    using With = Of<Inner, Monoid, std::tuple_element_t<I, Types>...>;
    template <class Function>
    static constexpr bool with_types(const Function& function) {
      return function.template operator()<std::tuple_element_t<I, Types>...>();
    }
  };
  template <class Inner>
  using Of = OfReads<Inner, std::make_index_sequence<std::size_t{Masked::reads}>>;

  /// Whether test<Inner, types of its operands...>() of everything that may be left and no number.
  /// A lambda is given with [&]: of one without captures nvcc says what it cannot be converted to.
  template <class Test>
  [[nodiscard]] static constexpr bool all(const Test& test) {
    if constexpr (!has_vectors || !(std::is_same_v<Ts, expr::LabelNumber> || ...)) {
      return false;
    } else if constexpr (Masked::is_one) {
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
    return Masked::all([&]<class Inner, class... Us>() {
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
        [&]<class Inner, class... Us>() { return reduces_lanes<Inner, Monoid, Us...>(); });
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

/// Whether a signature's outputs are written to where they belong, by vectors.
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool maps_masked_lanes() {
  using Masked = MaskedSignature<Join, Monoid, Ts...>;
  if constexpr (maps_masked<Join, Monoid, Ts...>()) {
    return Masked::all([&]<class Inner, class... Us>() {
      return maps_lanes<Inner, Monoid, Us...>() || maps_many<Inner, Monoid, Us...>();
    });
  } else {
    return false;
  }
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
