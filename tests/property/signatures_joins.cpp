// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "property/signatures.hpp"

namespace property {

namespace {
template <class Monoid, class... Joins>
void add_each_join(std::vector<Signature>& to) {
  (add<Joins, Monoid, double, double>(to), ...);
}
}  // namespace

/// Joins of two operands and more.
void add_joins(std::vector<Signature>& to) {
  add_each_join<ein::NoAggregation, ein::Add, ein::Sub, ein::Mul, ein::Div, ein::AbsDiff,
                ein::SqDiff, ein::Less, ein::LessEqual, ein::Greater, ein::GreaterEqual, ein::Equal,
                ein::NotEqual, ein::Min, ein::Max, ein::And, ein::Or, Blend>(to);
  add_each_join<ein::Sum, ein::Add, ein::Sub, ein::Mul, ein::AbsDiff, ein::SqDiff, ein::Less,
                Blend>(to);
  add<ein::Select, ein::NoAggregation, double, double, double>(to);
  add<ein::Select, ein::Sum, std::int32_t, double, double>(to);
  add<ein::Mul, ein::Sum, double, double, double>(to);
  add<ein::Mul, ein::NoAggregation, double, double, double>(to);
  add<ein::ScaledMul<double>, ein::Sum, double, double>(to, {-1.5});
}

}  // namespace property
