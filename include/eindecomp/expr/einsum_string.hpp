// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The string form, "ij,jk->ik": one parser for the compiler and for run time.
#pragma once

#include <source_location>
#include <string_view>
#include <vector>

#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/fixed_string.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/label_rules.hpp"

namespace eindecomp {

/// The index of a dimension in a string: a label, or in parentheses what is computed from some, as
/// `(2y+r-1)`.
struct StringIndex {
  static constexpr int max_terms = 4;  ///< as expr::max_index_labels
  int terms = 0;                       ///< how many labels it has
  char letter[max_terms]{};            ///< of each
  Extent coefficient[max_terms]{};     ///< of each
  Extent offset = 0;                   ///< where all labels are 0
  bool computed = false;               ///< more than a label
};

/// A parsed string. Label names point into the string that was parsed.
struct ParsedEinsum {
  /// Per operand, the label on each dimension; of computed indices those that they have.
  std::vector<expr::LabelNames> operands;
  std::vector<std::vector<StringIndex>> indices;  ///< per operand and dimension
  expr::LabelNames output;                        ///< the label on each dimension of the output
  Text fault;  ///< the sentence of an error; empty if the string is fine
};

namespace expr {

[[nodiscard]] constexpr bool is_label_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The word of the language that a text ends with, which says how an expression computes an index;
/// empty if there is none.
[[nodiscard]] constexpr std::string_view index_word(std::string_view text) {
  for (const std::string_view word : {"zero", "periodic", "clamp", "reflect", "whole", "extent"}) {
    if (text.ends_with(word)) return word;
  }
  return {};
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

/// Parses what stands between parentheses: a sum of labels, with integers before them, and
/// integers. \returns whether it is one, of at most 4 labels
[[nodiscard]] constexpr bool parse_index(std::string_view text, StringIndex& index,
                                         LabelNames& labels) {
  index.computed = true;
  bool any = false;
  std::size_t i = 0;
  const auto skip_spaces = [&] {
    while (i < text.size() && text[i] == ' ') ++i;
  };
  skip_spaces();
  while (i < text.size()) {
    Extent sign = 1;
    if (text[i] == '+' || text[i] == '-') {
      sign = text[i++] == '-' ? -1 : 1;
    } else if (any) {
      return false;
    }
    skip_spaces();
    const std::size_t begin = i;
    Extent number = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      constexpr Extent most = 1'000'000'000;
      if (number > most) return false;
      number = 10 * number + (text[i] - '0');
    }
    const bool has_number = i > begin;
    skip_spaces();
    if (i < text.size() && is_label_letter(text[i])) {
      int term = 0;
      while (term < index.terms && index.letter[term] != text[i]) ++term;
      if (term == StringIndex::max_terms) return false;
      if (term == index.terms) {
        index.letter[index.terms++] = text[i];
        labels.push_back(text.substr(i, 1));
      }
      index.coefficient[term] += sign * (has_number ? number : 1);
      ++i;
    } else if (has_number) {
      index.offset += sign * number;
    } else {
      return false;
    }
    any = true;
    skip_spaces();
  }
  for (int term = 0; term < index.terms; ++term) {
    if (index.coefficient[term] == 0) return false;
  }
  if (index.terms == 1 && index.coefficient[0] == 1 && index.offset == 0) index.computed = false;
  return any;
}

}  // namespace expr

/// Parses "ij,jk->ik" or, with NumPy's implicit output, "ij,jk". Labels are single letters, spaces
/// are skipped, there is no ellipsis. An index of an operand may be computed, "(2y+r-1)"; labels
/// before it that are a word of the language, "periodic(i-1)", are a fault.
[[nodiscard]] constexpr ParsedEinsum parse_einsum(std::string_view text) {
  ParsedEinsum parsed;
  const Text in_text = Text(" in \"") + text + "\"";
  expr::LabelNames current;
  std::vector<StringIndex> indices;
  bool arrow = false;
  const auto end_operand = [&] {
    parsed.operands.push_back(current);
    parsed.indices.push_back(indices);
    current.clear();
    indices.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (expr::is_label_letter(c)) {
      current.push_back(text.substr(i, 1));
      indices.push_back({1, {c}, {1}});
    } else if (c == '(') {
      if (const std::string_view word = expr::index_word(text.substr(0, i)); !word.empty()) {
        parsed.fault = Text("\"") + word + "(\"" + in_text +
                       " is no part of a string (strings have no boundaries, divisors or "
                       "extents); write the expression, X(" +
                       word + "(...), ...)";
        return parsed;
      }
      // Not by find(), which g++ 12 takes for no constant under sanitizers.
      std::size_t end = i;
      while (end < text.size() && text[end] != ')') ++end;
      const bool closed = end < text.size();
      const std::string_view inside = text.substr(i + 1, closed ? end - i - 1 : 0);
      const Text index = Text("index \"") + text.substr(i, inside.size() + 2) + "\"" + in_text;
      if (arrow) {
        parsed.fault = index + " is of the output; an output has labels";
        return parsed;
      }
      indices.emplace_back();
      if (!closed || !expr::parse_index(inside, indices.back(), current)) {
        parsed.fault = index + " is no sum of up to 4 labels and integers; write it like (2y+r-1)";
        return parsed;
      }
      i = end;
    } else if (c == ',' && !arrow) {
      end_operand();
    } else if (c == '-' && i + 1 < text.size() && text[i + 1] == '>' && !arrow) {
      end_operand();
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
    end_operand();
    parsed.output = expr::implicit_output(parsed.operands);
  }
  parsed.fault =
      expr::output_fault(parsed.operands, parsed.output, Flags(parsed.output.size(), false));
  return parsed;
}

/// The label positions of a string without computed indices, as data a kernel call can use.
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
  for (const std::vector<StringIndex>& operand : parsed.indices) {
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

/// The sentence that refuses computed indices where there is no program; empty if there are none.
[[nodiscard]] constexpr Text computed_index_fault(std::string_view text) {
  for (const std::vector<StringIndex>& operand : parse_einsum(text).indices) {
    for (const StringIndex& index : operand) {
      if (!index.computed) continue;
      return Text("\"") + text +
             "\" has an index in parentheses, which is computed, and these are read in programs "
             "alone; write a statement of a program";
    }
  }
  return {};
}

template <fixed_string Einsum>
[[nodiscard]] constexpr Text fault_of_string() {
  Text fault = einsum_string_fault(Einsum.view());
  if (!fault.empty()) return fault;
  return computed_index_fault(Einsum.view());
}

/// The shape of a string without a fault.
[[nodiscard]] constexpr EinsumShape shape_of_string(std::string_view text) {
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
    return expr::shape_of_string(Einsum.view());
  } else {
    return {};
  }
}

/// The shape of a string made at run time, for einsum_views and einsum_scaled.
/// \throws Error if the string breaks a rule, or has indices that are computed.
[[nodiscard]] inline EinsumShape einsum_shape(
    std::string_view text, const std::source_location& where = std::source_location::current()) {
  Text fault = expr::einsum_string_fault(text);
  if (fault.empty()) fault = expr::computed_index_fault(text);
  if (!fault.empty()) throw Error(ErrorKind::statement, fault, where);
  return expr::shape_of_string(text);
}

}  // namespace eindecomp
