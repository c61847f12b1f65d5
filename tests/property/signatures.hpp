// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operator signatures that random programs are drawn from, as data: each knows how to write a
// statement through the run-time builder. They are instantiated in several sources,
// signatures_*.cpp.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <Kokkos_Core.hpp>

#include "eindecomp/expr/functions.hpp"
#include "eindecomp/expr/where.hpp"
#include "eindecomp/graph/builder.hpp"
#include "eindecomp/kernel/backend.hpp"
#include "support/reference.hpp"

namespace property {

namespace ein = eindecomp;
using ein::Extent;
using ein::VertexId;
using reference::Kind;
using Space = Kokkos::DefaultExecutionSpace;
using Backend = ein::KokkosBackend<Space>;
using Builder = ein::Builder<Backend>;
using Complex64 = Kokkos::complex<float>;
using Complex128 = Kokkos::complex<double>;

/// A user's own ⊗: a + b + a·b.
struct Blend {
  static constexpr std::string_view name = "blend";
  template <class A, class B>
  EINDECOMP_FUNCTION constexpr auto operator()(const A& a, const B& b) const {
    return a + b + a * b;
  }
};

/// A user's own ⊕ with an accumulator of its own: the largest element less the smallest.
struct Spread {
  static constexpr std::string_view name = "spread";
  static constexpr bool commutative_monoid = true;
  template <class T>
  struct Range {
    T low;
    T high;
  };
  template <class T>
  using State = Range<T>;
  template <class T>
  EINDECOMP_FUNCTION static constexpr Range<T> identity() {
    return {std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest()};
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr Range<T> operator()(const Range<T>& a, const Range<T>& b) const {
    return {a.low < b.low ? a.low : b.low, a.high < b.high ? b.high : a.high};
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr Range<T> lift(const T& value, std::int64_t) const {
    return {value, value};
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr T finish(const Range<T>& range) const {
    return range.high - range.low;
  }
};

/// A user's own ⊕ of elements, whose identity is no identity of the library's monoids: the bits
/// that all have.
struct CommonBits {
  static constexpr std::string_view name = "common_bits";
  static constexpr bool commutative_monoid = true;
  EINDECOMP_FUNCTION static constexpr std::int64_t identity() { return -1; }
  EINDECOMP_FUNCTION constexpr std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    return a & b;
  }
};

/// All again, for the reference.
inline const reference::UserOperators& user_operators() {
  static const reference::UserOperators operators{
      {{"blend",
        [](const reference::Operands& x) {
          return reference::rounded(reference::promoted(x.at(0).kind, x.at(1).kind),
                                    x[0].value + x[1].value + x[0].value * x[1].value);
        }}},
      {{"spread",
        [](const reference::Operands& all) {
          long double low = all.at(0).real();
          long double high = low;
          for (const reference::Number& x : all) {
            low = std::min(low, x.real());
            high = std::max(high, x.real());
          }
          return reference::rounded(all[0].kind, high - low);
        }},
       {"common_bits", [](const reference::Operands& all) {
          std::int64_t common = -1;
          for (const reference::Number& x : all) common &= static_cast<std::int64_t>(x.real());
          return reference::Number{Kind::int64, static_cast<long double>(common)};
        }}}};
  return operators;
}

struct Signature {
  std::string join;
  std::string monoid;
  std::vector<Kind> operands;  ///< index tensors first
  bool one_aggregated_label = false;
  int index_tensors = 0;
  int values = 0;  ///< labels whose values ⊗ takes
  std::function<ein::AnySymbol(Builder&, std::string_view, const std::vector<Builder::Read>&,
                               const std::vector<Builder::Write>&, const ein::LabelStrings& values)>
      write;
};

template <class Join, class Monoid, class... Ts>
void add(std::vector<Signature>& to, Join join = {}, Monoid monoid = {}) {
  to.push_back(
      {ein::expr::describe(join).str(),
       std::string(Monoid::name),
       {ein::element_type<Ts>().kind...},
       ein::uses_index_of_element<Monoid>,
       0,
       0,
       [join, monoid](Builder& builder, std::string_view name,
                      const std::vector<Builder::Read>& operands,
                      const std::vector<Builder::Write>& output, const ein::LabelStrings& values) {
         return builder.statement<Join, Monoid, Ts...>(name, operands, output, values, join,
                                                       monoid);
       }});
}

/// The last of Ts are values of labels, so many.
template <int Values, class Join, class Monoid, class... Ts>
void add_with_values(std::vector<Signature>& to, Join join = {}, Monoid monoid = {}) {
  add<Join, Monoid, Ts...>(to, join, monoid);
  to.back().operands.resize(sizeof...(Ts) - Values);
  to.back().values = Values;
}

/// Types of index tensors.
template <class... Ts>
struct Indices {};

/// ⊗ of elements Ts where each index tensor holds the value of a label.
template <class Of, class Join, class Monoid, class... Ts>
struct WhereSignature;
template <class... Is, class Join, class Monoid, class... Ts>
struct WhereSignature<Indices<Is...>, Join, Monoid, Ts...> {
  static void add(std::vector<Signature>& to, Join join, Monoid monoid) {
    constexpr int tensors = sizeof...(Is);
    using Where = ein::expr::Where<tensors, Join, Monoid>;
    if constexpr (tensors == 1) {
      add_with_values<1, Where, Monoid, Is..., Ts..., std::int64_t>(to, {join, monoid}, monoid);
    } else {
      static_assert(tensors == 2);
      add_with_values<2, Where, Monoid, Is..., Ts..., std::int64_t, std::int64_t>(
          to, {join, monoid}, monoid);
    }
    to.back().index_tensors = tensors;
  }
};
template <class Of, class Join, class Monoid, class... Ts>
void add_where(std::vector<Signature>& to, Join join = {}, Monoid monoid = {}) {
  WhereSignature<Of, Join, Monoid, Ts...>::add(to, join, monoid);
}

void add_maps(std::vector<Signature>& to);
void add_joins(std::vector<Signature>& to);
void add_aggregations(std::vector<Signature>& to);
void add_other_types(std::vector<Signature>& to);
void add_complex(std::vector<Signature>& to);
void add_halves(std::vector<Signature>& to);
void add_lookups(std::vector<Signature>& to);
void add_label_values(std::vector<Signature>& to);

/// How an index that may be outside is taken back into a dimension.
enum class Inside { wrapped, clipped };
/// The statement that does so for all elements of an index tensor, `kind` of which is int32 or
/// int64.
ein::AnySymbol write_inside(Builder& builder, Inside how, Kind kind, std::string_view name,
                            const Builder::Read& indices, const ein::LabelStrings& output,
                            Extent extent);

inline const std::vector<Signature>& signatures() {
  static const std::vector<Signature> all = [] {
    std::vector<Signature> found;
    add_maps(found);
    add_joins(found);
    add_aggregations(found);
    add_other_types(found);
    add_complex(found);
    add_halves(found);
    return found;
  }();
  return all;
}

/// Statements that read index tensors, or values of labels.
inline const std::vector<Signature>& lookup_signatures() {
  static const std::vector<Signature> all = [] {
    std::vector<Signature> found;
    add_lookups(found);
    add_label_values(found);
    return found;
  }();
  return all;
}

}  // namespace property
