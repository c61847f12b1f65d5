// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "property/signatures.hpp"

namespace property {

void add_complex(std::vector<Signature>& to) {
  add<ein::Mul, ein::Sum, Complex128, Complex128>(to);
  add<ein::Mul, ein::Sum, Complex128, Complex128, Complex128>(to);
  add<ein::Identity, ein::Prod, Complex128>(to);
  add<ein::Sub, ein::NoAggregation, Complex128, Complex128>(to);
  add<ein::Abs, ein::Sum, Complex128>(to);
  add<Blend, ein::Sum, Complex128, Complex128>(to);

  add<ein::Mul, ein::Sum, Complex64, Complex64>(to);
  add<ein::Add, ein::NoAggregation, Complex64, Complex64>(to);
  add<ein::Exp, ein::NoAggregation, Complex64>(to);
}

}  // namespace property
