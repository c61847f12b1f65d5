// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "property/signatures.hpp"

namespace property {

namespace {
template <class... Maps>
void add_each(std::vector<Signature>& to) {
  (add<Maps, ein::NoAggregation, double>(to), ...);
}
}  // namespace

/// Maps of one operand.
void add_maps(std::vector<Signature>& to) {
  add_each<ein::Identity, ein::Negate, ein::Relu, ein::Not, ein::Abs, ein::Exp, ein::Log, ein::Sqrt,
           ein::Tanh>(to);
  add<ein::ScaledMul<double>, ein::NoAggregation, double>(to, {0.75});
  add<ein::Abs, ein::Max, double>(to);
  add<ein::Relu, ein::Sum, double>(to);
}

}  // namespace property
