// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What make_expected.py computed by JAX, from the same numbers as here.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "support/loop_backend.hpp"

namespace eindecomp_tests {

/// Numbers between least and most, in no order, that any language computes alike.
inline std::vector<double> numbers(eindecomp::Extent count, int seed, double least, double most) {
  std::vector<double> values;
  for (eindecomp::Extent i = 0; i < count; ++i) {
    const auto step = static_cast<double>((i * 7919 + seed * 104729) % 1009);
    values.push_back(least + (most - least) * (step + 0.5) / 1009);
  }
  return values;
}

struct Expected {
  std::string_view name;
  std::vector<double> values;
};
inline const std::vector<Expected>& jax_values() {
  static const std::vector<Expected> all = {
#include "gradient/expected.inc"
  };
  return all;
}

inline const std::vector<double>& jax_values_of(const std::string& name) {
  const auto& all = jax_values();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Expected& e) { return e.name == name; });
  REQUIRE(found != all.end());
  return found->values;
}

/// \param prefix  whether the values may be the first of them
inline void check_jax(const std::string& name, const std::vector<double>& values,
                      double tolerance = 1e-11, bool prefix = false) {
  CAPTURE(name);
  const std::vector<double>& expected = jax_values_of(name);
  REQUIRE(values.size() <= expected.size());
  if (!prefix) REQUIRE(expected.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i);
    CAPTURE(values[i]);
    CAPTURE(expected[i]);
    CHECK(std::abs(values[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i])));
  }
}

}  // namespace eindecomp_tests
