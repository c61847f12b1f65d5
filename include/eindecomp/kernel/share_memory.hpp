// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Whether elements of tensors in memory have a byte in common: components of one array interleave
/// and have none. Decided exactly, unless that takes thousands of steps; then they are said to
/// have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"

namespace eindecomp::kernel {

namespace detail {

/// The sums of up to `most` steps of each of some lengths.
class StepSums {
 public:
  /// Adds steps of a length above 0.
  void add(std::int64_t length, Extent most) { m_steps[m_count++] = {length, most}; }

  /// Whether a sum is from `first` to `last`. Where that takes more than some thousands of steps to
  /// tell, it is said to be.
  [[nodiscard]] bool meets(std::int64_t first, std::int64_t last) {
    merge();
    for (int n = m_count; n-- > 0;) {
      m_rest[n] = m_rest[n + 1] + m_steps[n].length * m_steps[n].most;
      m_divisor[n] = std::gcd(m_divisor[n + 1], m_steps[n].length);
    }
    m_tries = 10000;
    return meets(0, first, last);
  }

 private:
  struct Steps {
    std::int64_t length;
    Extent most;
  };

  /// Makes one of steps whose sums are all those of the shorter ones, and puts the longest first.
  void merge() {
    std::sort(m_steps, m_steps + m_count,
              [](const Steps& x, const Steps& y) { return x.length < y.length; });
    int kept = 0;
    for (int n = 0; n < m_count; ++n) {
      const Steps next = m_steps[n];
      if (kept > 0) {
        Steps& last = m_steps[kept - 1];
        if (next.length % last.length == 0 &&
            last.length * last.most >= next.length - last.length) {
          last.most += next.length / last.length * next.most;
          continue;
        }
      }
      m_steps[kept++] = next;
    }
    m_count = kept;
    std::reverse(m_steps, m_steps + m_count);
  }

  /// The same of the steps from n on.
  [[nodiscard]] bool meets(int n, std::int64_t first, std::int64_t last) {
    if (last < 0 || first > m_rest[n]) return false;
    if (first <= 0 || --m_tries < 0) return true;
    if (n == m_count || last / m_divisor[n] * m_divisor[n] < first) return false;
    const auto [length, most] = m_steps[n];
    const Extent least = first > m_rest[n + 1] ? ceil_div(first - m_rest[n + 1], length) : 0;
    for (Extent count = least; count <= std::min(most, last / length); ++count) {
      if (meets(n + 1, first - count * length, last - count * length)) return true;
    }
    return false;
  }

  Steps m_steps[2 * max_rank];
  int m_count = 0;
  std::int64_t m_rest[2 * max_rank + 1]{};     ///< what the steps from each on make at most
  std::int64_t m_divisor[2 * max_rank + 1]{};  ///< of all sums of the steps from each on
  int m_tries = 0;
};

}  // namespace detail

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
  // As a sum of steps forwards alone.
  detail::StepSums sums;
  const auto add = [&](const StridedTensor& tensor, std::int64_t sign) {
    for (int k = 0; k < tensor.rank; ++k) {
      const Extent most = tensor.extent[k] - 1;
      const std::int64_t length = sign * tensor.stride[k] * tensor.element_bytes;
      if (most == 0 || length == 0) continue;
      if (length < 0) {
        first -= length * most;
        last -= length * most;
      }
      sums.add(length < 0 ? -length : length, most);
    }
  };
  add(a, 1);
  add(b, -1);
  return sums.meets(first, last);
}

/// Whether two elements of a tensor share a place. As share_memory().
[[nodiscard]] inline bool overlaps_itself(const StridedTensor& tensor) {
  if (tensor.is_empty()) return false;
  // Mostly every stride is longer than all that is within it.
  int order[max_rank];
  int rank = 0;
  const auto length = [&](int k) {
    return tensor.stride[k] < 0 ? -tensor.stride[k] : tensor.stride[k];
  };
  for (int k = 0; k < tensor.rank; ++k) {
    if (tensor.extent[k] == 1) continue;
    int place = rank++;
    for (; place > 0 && length(order[place - 1]) > length(k); --place)
      order[place] = order[place - 1];
    order[place] = k;
  }
  Extent within = 0;
  bool nested = true;
  for (int n = 0; n < rank && nested; ++n) {
    nested = length(order[n]) > within;
    within += length(order[n]) * (tensor.extent[order[n]] - 1);
  }
  if (nested) return false;
  // Else two differ first of all in some index, which may be 0 in one of them.
  for (int n = 0; n < rank; ++n) {
    const int k = order[n];
    StridedTensor one = tensor;
    StridedTensor rest = tensor;
    one.extent[k] = 1;
    --rest.extent[k];
    rest.data = static_cast<const char*>(tensor.data) + tensor.stride[k] * tensor.element_bytes;
    if (share_memory(one, rest)) return true;
  }
  return false;
}

}  // namespace eindecomp::kernel
