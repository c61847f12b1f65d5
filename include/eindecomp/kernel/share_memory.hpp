// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Whether two tensors in memory have a byte in common, decided exactly: components of one array
/// interleave and have none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"

namespace eindecomp::kernel {

/// Whether an element of one tensor has a byte in common with one of the other. Where that takes
/// more than some thousands of steps to tell, they are said to have.
[[nodiscard]] inline bool share_memory(const StridedTensor& a, const StridedTensor& b) {
  if (a.is_empty() || b.is_empty()) return false;
  // An element of a begins at most a.element_bytes - 1 before one of b, and at most
  // b.element_bytes - 1 behind it: first <= Σ a.stride·index - Σ b.stride·index <= last.
  const auto apart = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(b.data) -
                                               reinterpret_cast<std::intptr_t>(a.data));
  std::int64_t first = apart - a.element_bytes + 1;
  std::int64_t last = apart + b.element_bytes - 1;
  // As a sum of steps forwards alone, the longest first.
  struct Steps {
    std::int64_t length;
    Extent most;
  };
  std::vector<Steps> steps;
  const auto add = [&](const StridedTensor& tensor, std::int64_t sign) {
    for (int k = 0; k < tensor.rank; ++k) {
      const Extent most = tensor.extent[k] - 1;
      const std::int64_t length = sign * tensor.stride[k] * tensor.element_bytes;
      if (most == 0 || length == 0) continue;
      if (length < 0) {
        first -= length * most;
        last -= length * most;
      }
      steps.push_back({length < 0 ? -length : length, most});
    }
  };
  add(a, 1);
  add(b, -1);
  std::sort(steps.begin(), steps.end(),
            [](const Steps& x, const Steps& y) { return x.length > y.length; });
  std::vector<std::int64_t> rest(steps.size() + 1, 0);  // what steps from each on make at most
  for (std::size_t n = steps.size(); n-- > 0;) {
    rest[n] = rest[n + 1] + steps[n].length * steps[n].most;
  }
  int tries = 10000;
  const auto reach = [&](const auto& self, std::size_t n, std::int64_t lo,
                         std::int64_t hi) -> bool {
    if (hi < 0 || lo > rest[n]) return false;
    if (lo <= 0 || --tries < 0) return true;
    if (n == steps.size()) return false;
    const auto [length, most] = steps[n];
    const Extent least = lo > rest[n + 1] ? ceil_div(lo - rest[n + 1], length) : 0;
    for (Extent count = least; count <= std::min(most, hi / length); ++count) {
      if (self(self, n + 1, lo - count * length, hi - count * length)) return true;
    }
    return false;
  };
  return reach(reach, 0, first, last);
}

}  // namespace eindecomp::kernel
