// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "property/signatures.hpp"

namespace property {

namespace {

template <class Of, class... Monoids>
void add_each_scatter(std::vector<Signature>& to) {
  (add_where<Of, ein::Identity, Monoids, double>(to), ...);
}

template <class T>
ein::AnySymbol write_inside_of(Builder& builder, Inside how, std::string_view name,
                               const Builder::Read& indices, const ein::LabelStrings& output,
                               Extent extent) {
  using ein::expr::node;
  const auto n = static_cast<T>(extent);
  if (how == Inside::wrapped) {
    const auto join = node(ein::Mod{}, ein::Arg<0>{}, ein::Value<T>{n});
    return builder.statement<std::remove_const_t<decltype(join)>, ein::NoAggregation, T>(
        name, {indices}, output, join);
  }
  const auto join =
      node(ein::Clip{}, ein::Arg<0>{}, ein::Value<T>{0}, ein::Value<T>{static_cast<T>(n - 1)});
  return builder.statement<std::remove_const_t<decltype(join)>, ein::NoAggregation, T>(
      name, {indices}, output, join);
}

}  // namespace

/// Gathers and scatters. Which of both a statement is, its labels say.
void add_lookups(std::vector<Signature>& to) {
  using ein::Arg;
  using ein::expr::node;
  using One = Indices<std::int32_t>;
  using Long = Indices<std::int64_t>;
  using Two = Indices<std::int32_t, std::int64_t>;
  add_each_scatter<One, ein::Sum, ein::Prod, ein::Min, ein::Max, ein::And, ein::Or, ein::LogSumExp,
                   ein::CompensatedSum>(to);
  add_each_scatter<Long, ein::Sum, ein::Max>(to);
  add_each_scatter<Two, ein::Sum, ein::Min, ein::Prod, ein::LogSumExp>(to);
  add_where<One, ein::Mul, ein::Sum, double, double>(to);
  add_where<Two, ein::Mul, ein::Sum, double, double>(to);
  add_where<Long, ein::Mul, ein::Sum, float, double>(to);
  add_where<One, ein::ScaledMul<double>, ein::Sum, double, double>(to, {-1.5});
  add_where<Long, ein::Add, ein::Min, double, double>(to);
  add_where<One, ein::Sub, ein::LogSumExp, double, double>(to);
  add_where<One, ein::Mul, ein::Sum, double, double, double>(to);
  add_where<One, ein::Select, ein::Max, std::int32_t, double, double>(to);
  add_where<One, decltype(node(ein::Exp{}, node(ein::Sub{}, Arg<0>{}, Arg<1>{}))), ein::Sum, double,
            double>(to, node(ein::Exp{}, node(ein::Sub{}, Arg<0>{}, Arg<1>{})));
  add_where<One, Blend, ein::Prod, double, double>(to);
  // Of no elements: how often.
  add_where<One, ein::Value<std::int32_t>, ein::Sum>(to, {1});
  add_where<Two, ein::Value<std::int32_t>, ein::Sum>(to, {1});
  // Other types.
  add_where<One, ein::Identity, ein::Sum, float>(to);
  add_where<Long, ein::Identity, ein::LogSumExp, float>(to);
  add_where<One, ein::Identity, ein::Sum, Complex128>(to);
  add_where<Long, ein::Mul, ein::Prod, Complex64, Complex64>(to);
  add_where<One, ein::Identity, ein::Sum, std::int32_t>(to);
  add_where<Long, ein::Identity, ein::Min, std::int32_t>(to);
  add_where<Long, ein::Identity, ein::Max, std::int64_t>(to);
  add_where<Two, ein::Identity, ein::Sum, std::int64_t>(to);
  add_where<One, ein::Less, ein::Or, std::int32_t, std::int32_t>(to);
  add_where<One, ein::Identity, CommonBits, std::int64_t>(to);
  add_where<One, ein::Identity, ein::Sum, ein::bfloat16>(to);
  add_where<Long, ein::Mul, ein::Max, ein::float16, ein::float16>(to);
}

/// Joins that take the values of labels.
void add_label_values(std::vector<Signature>& to) {
  using ein::Arg;
  using ein::expr::node;
  using Label = std::int64_t;
  add_with_values<1, ein::Mul, ein::Sum, double, Label>(to);
  add_with_values<1, ein::Add, ein::NoAggregation, double, Label>(to);
  add_with_values<1, ein::Sub, ein::Max, std::int32_t, Label>(to);
  add_with_values<1, ein::Mul, ein::ArgMin, double, Label>(to);
  const auto lower = node(ein::Mul{}, node(ein::LessEqual{}, Arg<1>{}, Arg<2>{}), Arg<0>{});
  add_with_values<2, std::remove_const_t<decltype(lower)>, ein::Sum, double, Label, Label>(to,
                                                                                           lower);
  const auto masked =
      node(ein::Mul{}, node(ein::Less{}, Arg<2>{}, Arg<3>{}), node(ein::Mul{}, Arg<0>{}, Arg<1>{}));
  add_with_values<2, std::remove_const_t<decltype(masked)>, ein::Sum, double, double, Label, Label>(
      to, masked);
}

ein::AnySymbol write_inside(Builder& builder, Inside how, Kind kind, std::string_view name,
                            const Builder::Read& indices, const ein::LabelStrings& output,
                            Extent extent) {
  return kind == Kind::int32
             ? write_inside_of<std::int32_t>(builder, how, name, indices, output, extent)
             : write_inside_of<std::int64_t>(builder, how, name, indices, output, extent);
}

}  // namespace property
