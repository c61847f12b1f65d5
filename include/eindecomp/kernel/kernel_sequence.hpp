// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Kernels that compute the parts of one kernel call, one after another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "eindecomp/kernel/algorithm.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"

namespace eindecomp::kernel {

/// A 0 of any type that has an ElementKind, in memory of the host: for spaces that can access it.
alignas(16) inline constexpr char zero_element[16]{};

/// A kernel that runs others, each on tensors that begin elsewhere.
template <class Space>
class KernelSequence final : public PreparedKernel<Space> {
 public:
  /// One of them, and by how many bytes its tensors begin behind those of the whole.
  struct Part {
    const PreparedKernel<Space>* kernel = nullptr;  ///< outlives the sequence
    std::int64_t operands[max_operands]{};          ///< per operand
    std::int64_t output = 0;                        ///< of the output
    unsigned zeros = 0;  ///< bit o: operand o is one element instead, a 0
  };

  /// \param operands  how many there are
  explicit KernelSequence(int operands) : m_operands(operands) {}

  /// Adds a part, which runs after those before.
  void add(const Part& part) { m_parts.push_back(part); }

  [[nodiscard]] Algorithm algorithm() const override { return m_parts.front().kernel->algorithm(); }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    std::int64_t most = 0;
    for (const Part& part : m_parts) most = std::max(most, part.kernel->workspace_bytes());
    return most;
  }
  [[nodiscard]] double predicted_seconds() const override {
    double sum = 0;
    for (const Part& part : m_parts) sum += part.kernel->predicted_seconds();
    return sum;
  }
  /// That of the first part and, of several, their number.
  [[nodiscard]] std::string explain(const void* const* operands,
                                    const void* output) const override {
    const Addresses first(*this, m_parts.front(), operands, output);
    const std::string of_first = m_parts.front().kernel->explain(first.operands, first.output);
    if (m_parts.size() == 1) return of_first;
    return std::to_string(m_parts.size()) + " kernels in turn, the first: " + of_first;
  }
  void run(const Space& space, const void* const* operands, void* output,
           unsigned char* workspace) const override {
    for (const Part& part : m_parts) {
      const Addresses own(*this, part, operands, output);
      part.kernel->run(space, own.operands, const_cast<void*>(own.output), workspace);
    }
  }

 private:
  /// Where a part's tensors begin.
  struct Addresses {
    Addresses(const KernelSequence& all, const Part& part, const void* const* whole,
              const void* whole_output)
        : output(static_cast<const char*>(whole_output) + part.output) {
      for (int o = 0; o < all.m_operands; ++o) {
        const bool zero = (part.zeros >> o & 1U) != 0;
        operands[o] = zero ? zero_element : static_cast<const char*>(whole[o]) + part.operands[o];
      }
    }
    const void* operands[max_operands];
    const void* output;
  };

  int m_operands;
  std::vector<Part> m_parts;
};

}  // namespace eindecomp::kernel
