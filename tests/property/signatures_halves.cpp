// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "property/signatures.hpp"

namespace property {

/// Numbers of 16 bits, mixed with others, and results that are rounded to them.
void add_halves(std::vector<Signature>& to) {
  using ein::bfloat16;
  using ein::float16;
  add<ein::Mul, ein::Sum, bfloat16, bfloat16>(to);
  add<ein::Mul, ein::Sum, float16, float16>(to);
  add<ein::Mul, ein::Sum, float16, float>(to);
  add<ein::Add, ein::Min, float16, bfloat16>(to);
  add<ein::Sub, ein::NoAggregation, bfloat16, double>(to);
  add<ein::Relu, ein::NoAggregation, float16>(to);
  add<ein::Identity, ein::NoAggregation, bfloat16>(to);
  add<ein::Identity, ein::Sum, float16>(to);
  add<ein::Identity, ein::ArgMax, bfloat16>(to);
  add<ein::Identity, Spread, float16>(to);
  add<ein::Cast<bfloat16>, ein::NoAggregation, float>(to);
  add<ein::Cast<float16>, ein::NoAggregation, double>(to);
  add<ein::Cast<bfloat16>, ein::Sum, float>(to);
}

}  // namespace property
