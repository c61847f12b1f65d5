// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The string form, "ij,jk->ik": one parser for the compiler and for run time.
#pragma once

#include <string_view>
#include <vector>

#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/core/fixed_string.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/label_rules.hpp"

namespace eindecomp {

/// A parsed string. Label names point into the string that was parsed.
struct ParsedEinsum {
  std::vector<expr::LabelNames> operands;  ///< per operand, the label on each dimension
  expr::LabelNames output;                 ///< the label on each dimension of the output
  Text fault;  ///< the sentence of an error; empty if the string is fine
};

namespace expr {

[[nodiscard]] constexpr bool is_label_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// NumPy's implicit output: labels that appear once, in alphabetical order (upper case first).
[[nodiscard]] constexpr LabelNames implicit_output(const std::vector<LabelNames>& operands) {
  LabelNames once;
  for (char letter = 'A'; letter <= 'z'; ++letter) {
    int count = 0;
    std::string_view found;
    for (const LabelNames& operand : operands) {
      for (std::string_view name : operand) {
        if (name[0] != letter) continue;
        ++count;
        found = name;
      }
    }
    if (count == 1) once.push_back(found);
  }
  return once;
}

}  // namespace expr

/// Parses "ij,jk->ik" or, with NumPy's implicit output, "ij,jk". Labels are single letters, spaces
/// are skipped, there is no ellipsis.
[[nodiscard]] constexpr ParsedEinsum parse_einsum(std::string_view text) {
  ParsedEinsum parsed;
  const Text in_text = Text(" in \"") + text + "\"";
  expr::LabelNames current;
  bool arrow = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (expr::is_label_letter(c)) {
      current.push_back(text.substr(i, 1));
    } else if (c == ',' && !arrow) {
      parsed.operands.push_back(current);
      current.clear();
    } else if (c == '-' && i + 1 < text.size() && text[i + 1] == '>' && !arrow) {
      parsed.operands.push_back(current);
      current.clear();
      arrow = true;
      ++i;
    } else if (c == '.') {
      parsed.fault =
          Text("ellipsis") + in_text + " is not supported; write every dimension as a label";
      return parsed;
    } else {
      parsed.fault = Text("character '") + text.substr(i, 1) + "' at position " + i + in_text +
                     " is unknown; a string has letters, commas and one \"->\"";
      return parsed;
    }
  }
  if (arrow) {
    parsed.output = current;
  } else {
    parsed.operands.push_back(current);
    parsed.output = expr::implicit_output(parsed.operands);
  }
  parsed.fault =
      expr::output_fault(parsed.operands, parsed.output, Flags(parsed.output.size(), false));
  return parsed;
}

/// The label positions of a string, as data a kernel call can use.
struct EinsumShape {
  static constexpr int max_operands = eindecomp::max_operands;  ///< as of all statements
  static constexpr int max_labels = 52;                         ///< the letters

  int labels = 0;                         ///< distinct ones, operands first
  char name[max_labels]{};                ///< of each label
  int operands = 0;                       ///< how many there are
  int rank[max_operands]{};               ///< of each operand
  int operand[max_operands][max_rank]{};  ///< label on each dimension of each operand
  int output_rank = 0;                    ///< dimensions of the output
  int output[max_rank]{};                 ///< label on each dimension of the output
  bool aggregated[max_labels]{};          ///< whether the output lacks the label
};

namespace expr {

/// The sentence that refuses a number of tensors for a string.
[[nodiscard]] constexpr Text operand_count_fault(std::string_view text, std::size_t operands,
                                                 std::size_t given) {
  return Text("\"") + text + "\" has " + operands + " operands and is given " + given +
         "; give each its tensor";
}

[[nodiscard]] constexpr Text einsum_string_fault(std::string_view text) {
  ParsedEinsum parsed = parse_einsum(text);
  if (!parsed.fault.empty()) return parsed.fault;
  if (parsed.operands.size() > static_cast<std::size_t>(EinsumShape::max_operands)) {
    return Text("\"") + text + "\" has more than " + EinsumShape::max_operands +
           " operands; write it in several statements";
  }
  for (const LabelNames& operand : parsed.operands) {
    if (operand.size() > static_cast<std::size_t>(max_rank)) {
      return Text("an operand in \"") + text + "\" has more than " + max_rank +
             " labels (the largest rank)";
    }
  }
  if (parsed.output.size() > static_cast<std::size_t>(max_rank)) {
    return Text("the output in \"") + text + "\" has more than " + max_rank +
           " labels (the largest rank)";
  }
  return {};
}

template <fixed_string Einsum>
[[nodiscard]] constexpr Text fault_of_string() {
  return einsum_string_fault(Einsum.view());
}

[[nodiscard]] constexpr EinsumShape make_einsum_shape(std::string_view text) {
  const ParsedEinsum parsed = parse_einsum(text);
  EinsumShape shape;
  const auto position = [&shape](std::string_view name) {
    for (int l = 0; l < shape.labels; ++l) {
      if (shape.name[l] == name[0]) return l;
    }
    shape.name[shape.labels] = name[0];
    shape.aggregated[shape.labels] = true;
    return shape.labels++;
  };
  for (const LabelNames& operand : parsed.operands) {
    for (std::string_view name : operand) {
      shape.operand[shape.operands][shape.rank[shape.operands]++] = position(name);
    }
    ++shape.operands;
  }
  for (std::string_view name : parsed.output) {
    const int l = position(name);
    shape.output[shape.output_rank++] = l;
    shape.aggregated[l] = false;
  }
  return shape;
}

}  // namespace expr

/// The shape of a string known to the compiler; a string that breaks a rule does not compile.
template <fixed_string Einsum>
[[nodiscard]] consteval EinsumShape einsum_shape() {
  if constexpr (core::accept<expr::fault_of_string<Einsum>>()) {
    return expr::make_einsum_shape(Einsum.view());
  } else {
    return {};
  }
}

}  // namespace eindecomp
