// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Statements that read packed tensors: one for each of the blocks that are stored, and one for
/// each that is not, which reads the other with its labels exchanged.
#pragma once

#include <boost/hana/tuple.hpp>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/expr/flatten.hpp"
#include "eindecomp/graph/concat.hpp"
#include "eindecomp/graph/known_extents.hpp"
#include "eindecomp/graph/lowering.hpp"
#include "eindecomp/graph/packed_access.hpp"
#include "eindecomp/graph/pair_part.hpp"
#include "eindecomp/graph/write_blocks.hpp"

namespace eindecomp::graph {

/// The operator that adds up what ⊕ makes of parts of a label; void if it is not known.
template <class Monoid>
using JoinOfMonoid = std::conditional_t<
    std::is_same_v<Monoid, Sum>, Add,
    std::conditional_t<
        std::is_same_v<Monoid, Prod>, Mul,
        std::conditional_t<expr::is_one_of<Monoid, Min, Max, And, Or>, Monoid, void>>>;

/// A packed tensor under labels as a whole one, a statement of its own.
template <class Backend, class Tensor, class... Ls>
[[nodiscard]] constexpr auto unpacked(LoweringScope<Backend>& scope,
                                      const PackedAccess<Tensor, Ls...>& access) {
  const Text name = scope.name + "." + ++scope.inner;
  const auto whole = lower_packed<LabelList<Ls...>, LabelList<>>(
      scope, name, NoAggregation{}, std::vector<Extent>(sizeof...(Ls), 0), access);
  return access_under(whole, LabelList<Ls...>{});
}
template <class Backend, class Tensor, class... Ls>
[[nodiscard]] constexpr auto materialise_node(LoweringScope<Backend>& scope,
                                              const PackedAccess<Tensor, Ls...>& access) {
  return unpacked(scope, access);
}

/// The number of the first of some expressions that reads a packed tensor.
template <class... Es>
inline constexpr std::size_t first_packed = [] {
  std::size_t number = 0;
  (void)((reads_packed<Es> || (++number, false)) || ...);
  return number;
}();

/// An expression without aggregations, and without packed tensors but the first one if it is kept.
template <bool Keep, class Backend, class E>
[[nodiscard]] constexpr auto with_one_packed(LoweringScope<Backend>& scope, const E& e) {
  if constexpr (!reads_packed<E> || (is_packed_access<E> && !Keep)) {
    return materialise(scope, e);
  } else {
    return e;
  }
}
template <bool Keep, class Backend, class Body>
[[nodiscard]] constexpr auto with_one_packed(LoweringScope<Backend>& scope,
                                             const AsWritten<Body>& e) {
  return with_one_packed<Keep>(scope, e.body);
}
template <bool Keep, class Backend, class Op, class... Es>
[[nodiscard]] constexpr auto with_one_packed(LoweringScope<Backend>& scope,
                                             const Apply<Op, Es...>& e) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto operand = [&]<std::size_t N>(boost::hana::size_t<N> n) {
      return with_one_packed < Keep && first_packed<Es...> == N > (scope, e.operands[n]);
    };
    // Braces, for left-to-right order.
    return Apply<Op, decltype(operand(boost::hana::size_c<I>))...>{
        e.op, operand(boost::hana::size_c<I>)...};
  }
  (std::index_sequence_for<Es...>{});
}

/// The packed tensor that an expression reads, under its labels.
template <class Tensor, class... Ls>
[[nodiscard]] constexpr auto packed_in(const PackedAccess<Tensor, Ls...>& access) {
  return access;
}
template <class Op, class... Es>
[[nodiscard]] constexpr auto packed_in(const Apply<Op, Es...>& e) {
  return packed_in(e.operands[boost::hana::size_c<first_packed<Es...>>]);
}

/// Whether a factor of a product of labels All is more than a tensor, no mask, and smaller by
/// itself.
template <class E, class All>
inline constexpr bool is_factor_apart = [] {
  if constexpr (reads_packed<E> || expr::is_operand<E>) {
    return false;
  } else {
    return expr::TreeTraits<E>::values == 0 && !expr::has_labels<E, All> && expr::is_storable<E>;
  }
}();

/// A product with such factors as statements of their own: beside a packed tensor, which is read at
/// computed indices, nothing else would make them so.
template <class All, class Backend, class E>
[[nodiscard]] constexpr auto with_factors_apart(LoweringScope<Backend>& scope, const E& e) {
  if constexpr (is_factor_apart<E, All>) {
    return statement_of<LabelList<>>(scope, NoAggregation{}, e);
  } else {
    return e;
  }
}
template <class All, class Backend, class... Es>
[[nodiscard]] constexpr auto with_factors_apart(LoweringScope<Backend>& scope,
                                                const Apply<Mul, Es...>& product) {
  if constexpr (!reads_packed<Apply<Mul, Es...>>) {
    return product;  // of tensors alone
  } else {
    return boost::hana::unpack(product.operands, [&](const auto&... es) {
      // Braces, for left-to-right order.
      return Apply<Mul, decltype(with_factors_apart<All>(scope, es))...>{
          Mul{}, with_factors_apart<All>(scope, es)...};
    });
  }
}

/// Whether an expression is a product of tensors, packed ones and constants.
template <class E>
inline constexpr bool is_product_of_packed = is_packed_access<E> || expr::is_operand<E>;
template <class... Es>
inline constexpr bool is_product_of_packed<Apply<Mul, Es...>> = (is_product_of_packed<Es> && ...);

/// A label without an extent if it is one of two.
template <class A, class B, class L>
using UnsizedOfPair = std::conditional_t<expr::is_one_of<typename PlainLabel<L>::type, A, B>,
                                         typename PlainLabel<L>::type, L>;

/// Writes ⊕ of an expression that reads one packed tensor, of labels Outer and Inner in the
/// dimensions that are exchanged: block row by block row along Outer, which stays in the output if
/// one of them does.
template <class OutputLabels, class Aggregated, class Backend, class Monoid, class Body>
class PackedStatement {
  using Packed = decltype(packed_in(std::declval<const Body&>()));
  using First = typename Packed::First;
  using Second = typename Packed::Second;
  using Own = LabelList<First, Second>;
  template <class L>
  static constexpr bool stays =
      RemainingLabels<LabelList<L>, decltype(plain_labels(OutputLabels{}))>::size == 0;
  static constexpr bool turned = !stays<First> && stays<Second>;
  using Outer = std::conditional_t<turned, Second, First>;
  using Inner = std::conditional_t<turned, First, Second>;
  using Part = PairPart<Outer, Inner>;
  using T = expr::Elements<Body>;
  template <class... Ls>
  static constexpr auto unsized(LabelList<Ls...>) {
    return LabelList<UnsizedOfPair<First, Second, Ls>...>{};
  }
  using Output = decltype(unsized(OutputLabels{}));
  using Plain = decltype(plain_labels(OutputLabels{}));

 public:
  constexpr PackedStatement(LoweringScope<Backend>& scope, std::string_view name,
                            const Monoid& monoid, const std::vector<Extent>& extents,
                            const Body& body)
      : m_scope(scope),
        m_name(name),
        m_monoid(monoid),
        m_extents(extents),
        m_body(body),
        m_packed(packed_in(body)),
        m_labels(label_texts(Plain{})) {}

  [[nodiscard]] constexpr auto write() {
    check();
    const auto count = static_cast<int>(m_packed.tensor.block_rows().size());
    using Result = decltype(alone(m_name, stored(0)));
    if (count == 1) return alone(m_name, stored(0));
    std::optional<Result> sum;
    std::vector<std::pair<PlacedBlock, std::vector<Extent>>> blocks;
    const auto take = [&](const auto& e, int row, int column) {
      const bool is_last = !stays<Outer> && row + 1 == count && column + 1 == count;
      Text name = m_name;
      if (!is_last) name = m_scope.name + "." + ++m_scope.inner;
      if constexpr (stays<Inner>) {
        blocks.push_back(block(alone(name, e), row, column));
      } else {
        if (sum) {
          sum.emplace(added(name, *sum, e));
        } else {
          sum.emplace(alone(name, e));
        }
      }
    };
    for (int row = 0; row < count; ++row) {
      take(stored(row), row, row);
      for (int column = row + 1; column < count; ++column) {
        take(exchanged(row, column), row, column);
      }
      if constexpr (stays<Outer> && !stays<Inner>) {
        blocks.push_back(block(*sum, row, row));
        sum.reset();
      }
    }
    if constexpr (!stays<Outer>) {
      return *sum;
    } else {
      std::vector<Extent> bound = blocks.front().second;
      bound[place<Outer>()] = m_packed.tensor.bound()[0];
      if constexpr (stays<Inner>) bound[place<Inner>()] = m_packed.tensor.bound()[0];
      BlockList list(m_name, bound);
      for (auto& [placed, extents] : blocks) list.add(std::move(placed), std::move(extents));
      return write_blocks<typename Result::value_type, Output::size>(
          m_scope.state, list, BlockFill::nothing(), m_name, m_labels, m_scope.where);
    }
  }

 private:
  /// Where a label is in the output.
  template <class L>
  [[nodiscard]] static constexpr std::size_t place() {
    return static_cast<std::size_t>(expr::find_name(Plain::names(), L::name));
  }

  /// \throws Error if a label of the pair has another extent elsewhere.
  constexpr void check() const {
    const Extent n = m_packed.tensor.bound()[0];
    const auto check_label = [&]<class L>(L) {
      const auto same = [&](Extent extent, const Text& tensor) {
        if (extent == n) return;
        core::fail(ErrorKind::shape, m_scope.where, "label ", expr::quoted(L::name), " is ", n,
                   " in ", expr::access_text(m_packed.tensor.name(), Packed::LabelTypes::names()),
                   " and ", extent, " in ", tensor,
                   " (a label has one extent in a statement; size 1 is not stretched)");
      };
      visit_extents<L>(m_body, same);
      if constexpr (stays<L>) {
        const Extent given = m_extents[place<L>()];
        if (given != 0) same(given, Text("the output of ") + m_name);
      }
    };
    check_label(First{});
    check_label(Second{});
    KnownExtents given = m_scope.extents;
    given.add(Plain::names(), m_extents);
    check_sized<First, Second>(*m_scope.state, m_body, given, m_scope.where);
  }

  /// The expression where Outer is in a block row, Inner in the columns that are stored there.
  [[nodiscard]] constexpr auto stored(int row) const {
    const auto& tensor = m_packed.tensor;
    const Part part{tensor.begin(row), tensor.begin(row + 1) - tensor.begin(row), 0,
                    tensor.begin(row + 1)};
    const auto& symbol = tensor.block_rows()[static_cast<std::size_t>(row)];
    return signed_part<turned>(part, own_access<Outer, Inner>(symbol));
  }
  /// The expression where Outer is in one block row and Inner in a later one.
  [[nodiscard]] constexpr auto exchanged(int row, int column) const {
    const auto& tensor = m_packed.tensor;
    const Part part{tensor.begin(row), tensor.begin(row + 1) - tensor.begin(row),
                    tensor.begin(column), tensor.begin(column + 1) - tensor.begin(column)};
    const auto& symbol = tensor.block_rows()[static_cast<std::size_t>(column)];
    const PairPart<Outer, NoLabel> shift{part.first_a, part.extent_a};
    return signed_part<!turned>(
        part, part_of(own_access<Inner, Outer>(symbol), shift, [](const auto& e) { return e; }));
  }
  template <class A, class B, class S>
  [[nodiscard]] static constexpr auto own_access(const S& stored) {
    return [&]<class... Rest>(LabelList<Rest...>) {
      return stored(A{}, B{}, Rest{}...);
    }(RemainingLabels<typename Packed::LabelTypes, Own>{});
  }

  /// The expression of a part, in which `access` is the packed tensor, or its negative.
  template <bool Turned, class A>
  [[nodiscard]] constexpr auto signed_part(const Part& part, const A& access) const {
    const auto with = [&](const auto& e) {
      return part_of(m_body, part, [&](const auto&) { return e; });
    };
    if constexpr (!Turned || !Packed::Tensor::is_antisymmetric) {
      return with(access);
    } else if constexpr (is_product_of_packed<Body>) {
      return of_own_elements(expr::apply(Mul{}, Constant<T>(T(-1)), with(access)));
    } else {
      return of_own_elements(with(-access));
    }
  }
  /// Negatives of elements of 16 bits and fewer are of wider types.
  template <class E>
  [[nodiscard]] static constexpr auto of_own_elements(const E& e) {
    if constexpr (std::is_same_v<expr::Elements<E>, T>) {
      return e;
    } else {
      return cast<T>(e);
    }
  }

  /// ⊕ of a part, as a tensor.
  template <class E>
  [[nodiscard]] constexpr auto alone(const Text& name, const E& e) const {
    std::vector<Extent> extents = m_extents;
    if constexpr (stays<First>) extents[place<First>()] = 0;
    if constexpr (stays<Second>) extents[place<Second>()] = 0;
    const OtherExtents outside(m_scope.extents);
    m_scope.extents.add(Plain::names(), extents);
    return lower_statement<Output, Aggregated>(m_scope, name, m_monoid, extents, e);
  }
  /// The same, added to a tensor.
  template <class S, class E>
  [[nodiscard]] constexpr auto added(const Text& name, const S& sum, const E& e) const {
    const OtherExtents outside(m_scope.extents);
    m_scope.extents.add(Plain::names(), m_scope.state->graph[sum.vertex()].bound);
    const auto both = expr::apply(JoinOfMonoid<Monoid>{}, access_under(sum, Plain{}),
                                  Aggregation<Monoid, Aggregated, E>(m_monoid, e));
    const std::vector<Extent> extents(Plain::size, 0);
    using Own = typename S::value_type;
    if constexpr (std::is_same_v<expr::Elements<std::remove_const_t<decltype(both)>>, Own>) {
      return lower_statement<Plain, LabelList<>>(m_scope, name, NoAggregation{}, extents, both);
    } else {  // 8- and 16-bit integers, which are added as int
      return lower_statement<Plain, LabelList<>>(m_scope, name, NoAggregation{}, extents,
                                                 cast<Own>(both));
    }
  }

  template <class S>
  [[nodiscard]] constexpr std::pair<PlacedBlock, std::vector<Extent>> block(const S& symbol,
                                                                            int row,
                                                                            int column) const {
    std::vector<Extent> first(m_labels.size(), 0);
    first[place<Outer>()] = m_packed.tensor.begin(row);
    if constexpr (stays<Inner>) {
      first[place<Inner>()] = row == column ? 0 : m_packed.tensor.begin(column);
    }
    return {placed(symbol, m_labels, std::move(first)),
            m_scope.state->graph[symbol.vertex()].bound};
  }

  LoweringScope<Backend>& m_scope;
  Text m_name;
  const Monoid& m_monoid;
  const std::vector<Extent>& m_extents;
  const Body& m_body;
  Packed m_packed;
  std::vector<Text> m_labels;
};

/// Lowers ⊕ of an expression that reads packed tensors, under explicit output labels.
template <class Output, class Aggregated, class Backend, class Monoid, class Body>
[[nodiscard]] constexpr auto lower_packed(LoweringScope<Backend>& scope, std::string_view name,
                                          const Monoid& monoid, const std::vector<Extent>& extents,
                                          const Body& body) {
  if constexpr (std::is_same_v<Monoid, NoAggregation> || !std::is_void_v<JoinOfMonoid<Monoid>>) {
    const auto flat = with_one_packed<true>(scope, body);
    const auto write = [&](const auto& e) {
      // A label has other extents in the parts that block rows are.
      const OtherExtents whole(scope.extents);
      return PackedStatement<Output, Aggregated, Backend, Monoid, std::decay_t<decltype(e)>>(
                 scope, name, monoid, extents, e)
          .write();
    };
    if constexpr (std::is_same_v<Monoid, Sum>) {
      return write(with_factors_apart<typename decltype(flat)::LabelTypes>(scope, flat));
    } else {
      return write(flat);
    }
  } else {
    return lower_statement<Output, Aggregated>(scope, name, monoid, extents,
                                               materialise(scope, body));
  }
}

}  // namespace eindecomp::graph
