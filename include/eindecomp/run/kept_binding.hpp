// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What is known of a constant whose elements an executor keeps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "eindecomp/kernel/strided_tensor.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/run/check_binding.hpp"

namespace eindecomp::run {

/// What a constant was bound to when its elements were gathered. Its views stay alive, so that
/// others do not take their addresses.
class KeptBinding {
 public:
  explicit KeptBinding(BindingFacts facts) : m_facts(std::move(facts)) {}

  /// Whether a binding shows the same elements on a rank, if they did not change where they lie.
  [[nodiscard]] bool is(const BindingFacts& other, int rank) const {
    if (other.kind != m_facts.kind || other.root != m_facts.root) return false;
    if (other.file != m_facts.file) return false;
    if (fills_memory(other, rank)) return true;
    return distribution_hash(other) == distribution_hash(m_facts) &&
           std::equal(other.views.begin(), other.views.end(), m_facts.views.begin(),
                      m_facts.views.end(), shows_same);
  }

 private:
  [[nodiscard]] static std::uint64_t distribution_hash(const BindingFacts& facts) {
    return facts.distribution ? facts.distribution->hash() : 0;
  }
  [[nodiscard]] static bool shows_same(const kernel::StridedTensor& a,
                                       const kernel::StridedTensor& b) {
    return a.data == b.data && a.extents() == b.extents() &&
           std::equal(a.stride, a.stride + a.rank, b.stride);
  }

  BindingFacts m_facts;
};

}  // namespace eindecomp::run
