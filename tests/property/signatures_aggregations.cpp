// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "property/signatures.hpp"

namespace property {

namespace {
template <class... Monoids>
void add_each_aggregation(std::vector<Signature>& to) {
  (add<ein::Identity, Monoids, double>(to), ...);
}
}  // namespace

/// Every aggregation, over maps and over joins.
void add_aggregations(std::vector<Signature>& to) {
  add_each_aggregation<ein::Sum, ein::Prod, ein::Min, ein::Max, ein::And, ein::Or, ein::ArgMin,
                       ein::ArgMax, ein::LogSumExp, Spread>(to);
  add<ein::Add, ein::Min, double, double>(to);
  add<ein::Add, ein::Min, double, double, double>(to);
  add<ein::Add, ein::Max, double, double>(to);
  add<ein::Mul, ein::Max, double, double>(to);
  add<ein::Max, ein::Min, double, double>(to);
  add<ein::Min, ein::Max, double, double>(to);
  add<ein::And, ein::Or, double, double>(to);
  add<ein::Or, ein::And, double, double>(to);
  add<ein::SqDiff, ein::ArgMin, double, double>(to);
  add<ein::Sub, ein::ArgMax, double, double>(to);
  add<ein::Sub, ein::LogSumExp, double, double>(to);
  add<ein::AbsDiff, Spread, double, double>(to);
  add<Blend, ein::Prod, double, double>(to);
  add<Blend, Spread, double, double>(to);
}

}  // namespace property
