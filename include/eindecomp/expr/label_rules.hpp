// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The rules of section 3 of the paper on where labels may stand, for statements whose labels are
/// known to the compiler and for those that arrive as data.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"

namespace eindecomp::expr {

using LabelNames = std::vector<std::string_view>;

[[nodiscard]] constexpr int find_name(const LabelNames& names, std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<int>(i);
  }
  return -1;
}

[[nodiscard]] constexpr bool in_an_operand(const std::vector<LabelNames>& operands,
                                           std::string_view name) {
  for (const LabelNames& operand : operands) {
    if (find_name(operand, name) >= 0) return true;
  }
  return false;
}

/// The labels of operands that an output lacks, each once.
[[nodiscard]] constexpr LabelNames aggregated_names(const std::vector<LabelNames>& operands,
                                                    const LabelNames& output) {
  LabelNames found;
  for (const LabelNames& operand : operands) {
    for (std::string_view name : operand) {
      if (find_name(output, name) < 0 && find_name(found, name) < 0) found.push_back(name);
    }
  }
  return found;
}

/// A label in quotes, as every message shows it.
[[nodiscard]] constexpr Text quoted(std::string_view name) { return Text("'") + name + "'"; }

/// `X(i,j)`
[[nodiscard]] constexpr Text access_text(std::string_view tensor, const LabelNames& labels) {
  return Text(tensor) + "(" + core::joined(labels, ",", std::identity{}) + ")";
}

/// The first rule the output breaks, as the sentence of an error; empty if it breaks none.
/// sized[k] says that output label k comes with an extent of its own.
[[nodiscard]] constexpr Text output_fault(const std::vector<LabelNames>& operands,
                                          const LabelNames& output, const Flags& sized) {
  for (std::size_t k = 0; k < output.size(); ++k) {
    for (std::size_t l = 0; l < k; ++l) {
      if (output[l] == output[k]) {
        return "label " + quoted(output[k]) +
               " is repeated in the output (each element has one place); give each output "
               "dimension its own label";
      }
    }
    if (!sized[k] && !in_an_operand(operands, output[k])) {
      return "label " + quoted(output[k]) +
             " is in the output but in no operand (nothing gives its extent); write extent(" +
             Text(output[k]) + ", n) to broadcast along it";
    }
  }
  return {};
}

/// The first rule broken by labels that are said to be aggregated; empty if none is.
[[nodiscard]] constexpr Text aggregation_fault(const std::vector<LabelNames>& operands,
                                               const LabelNames& output,
                                               const LabelNames& aggregated) {
  for (std::size_t k = 0; k < aggregated.size(); ++k) {
    if (find_name(output, aggregated[k]) >= 0) {
      return "label " + quoted(aggregated[k]) +
             " is aggregated and in the output (an aggregated label is gone); take it out of one";
    }
    if (!in_an_operand(operands, aggregated[k])) {
      return "label " + quoted(aggregated[k]) +
             " is aggregated but in no operand; take it out of the aggregation";
    }
    for (std::size_t l = 0; l < k; ++l) {
      if (aggregated[l] == aggregated[k]) {
        return "label " + quoted(aggregated[k]) + " is aggregated twice; name it once";
      }
    }
  }
  for (const LabelNames& operand : operands) {
    for (std::string_view name : operand) {
      if (find_name(output, name) < 0 && find_name(aggregated, name) < 0) {
        return "label " + quoted(name) +
               " is in an operand but neither in the output nor aggregated; add it to one";
      }
    }
  }
  return {};
}

/// The sentence that refuses the value of a label that no operand and no output has.
[[nodiscard]] constexpr Text value_fault(std::string_view label) {
  return "label " + quoted(label) +
         " has its value taken and is in no operand and not in the output (nothing gives its "
         "extent); write extent(" +
         label + ", n) in the output, or read a tensor along it";
}

}  // namespace eindecomp::expr
