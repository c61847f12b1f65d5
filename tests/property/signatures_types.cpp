// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "property/signatures.hpp"

namespace property {

/// Other real types, and mixtures that promote.
void add_other_types(std::vector<Signature>& to) {
  add<ein::Mul, ein::Sum, float, float>(to);
  add<ein::Mul, ein::Sum, float, float, float>(to);
  add<ein::Exp, ein::NoAggregation, float>(to);
  add<ein::Identity, ein::LogSumExp, float>(to);
  add<ein::Add, ein::Min, float, float>(to);
  add<ein::Div, ein::NoAggregation, float, float>(to);

  add<ein::Mul, ein::Sum, std::int32_t, std::int32_t>(to);
  add<ein::Add, ein::Min, std::int32_t, std::int32_t>(to);
  add<ein::Identity, ein::ArgMax, std::int32_t>(to);
  add<ein::And, ein::Or, std::int32_t, std::int32_t>(to);
  add<ein::Not, ein::NoAggregation, std::int32_t>(to);

  add<ein::Mul, ein::Sum, std::int64_t, std::int64_t>(to);
  add<ein::Identity, ein::Prod, std::int64_t>(to);
  add<ein::Max, ein::Min, std::int64_t, std::int64_t>(to);
  add<ein::SqDiff, ein::Sum, std::int64_t, std::int64_t>(to);
  add<ein::Sub, ein::NoAggregation, std::int64_t, std::int64_t>(to);
  add<ein::Identity, Spread, std::int64_t>(to);

  add<ein::Mul, ein::Sum, float, double>(to);
  add<ein::Add, ein::Max, std::int32_t, double>(to);
  add<ein::Mul, ein::NoAggregation, std::int64_t, std::int32_t>(to);
}

}  // namespace property
