// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// An element of an index tensor that is no index.
#pragma once

#include <array>
#include <cstddef>
#include <exception>

#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/loop_nest.hpp"

namespace eindecomp::kernel {

/// What a kernel throws where an element of an index tensor is no value of its label. It knows
/// neither tensors nor labels by name: who calls the kernel does.
class IndexFault : public std::exception {
 public:
  /// \param operand  the index tensor, by number
  /// \param value    the element
  /// \param labels   where it stands, as the value of each label in the whole tensor
  IndexFault(int operand, Extent value, const std::array<Extent, max_labels>& labels)
      : m_operand(operand), m_value(value), m_labels(labels) {}
  /// What it is, without names.
  [[nodiscard]] const char* what() const noexcept override {
    return "an element of an index tensor is no index of the dimension that it is used for";
  }
  /// The index tensor, by number.
  [[nodiscard]] int operand() const { return m_operand; }
  /// The element.
  [[nodiscard]] Extent value() const { return m_value; }
  /// Where it stands: the value of that label.
  [[nodiscard]] Extent at(int label) const { return m_labels[static_cast<std::size_t>(label)]; }

 private:
  int m_operand;
  Extent m_value;
  std::array<Extent, max_labels> m_labels;
};

/// How a call walks the elements of an index tensor.
struct IndexWalk {
  detail::LoopNest<1> nest;  ///< over its elements
  int label[max_labels]{};   ///< of each loop

  /// \param k  the index tensor, by number
  IndexWalk(const LocalEinsum& shape, int k) {
    for (int l = shape.labels - 1; l >= 0; --l) {
      if (shape.operand_stride[k][l] == 0) continue;
      label[nest.loops] = l;
      nest.push(shape.extent[l], {shape.operand_stride[k][l]});
    }
  }
  /// That the element there is no index.
  [[nodiscard]] IndexFault fault(const LocalEinsum& shape, int k, Extent value,
                                 const detail::Cursor<1>& at) const {
    std::array<Extent, max_labels> labels{};
    for (int l = 0; l < shape.labels; ++l) labels[static_cast<std::size_t>(l)] = shape.begin[l];
    for (int i = 0; i < nest.loops; ++i) {
      labels[static_cast<std::size_t>(label[i])] += at.coordinate[i];
    }
    return {k, value, labels};
  }
};

}  // namespace eindecomp::kernel
