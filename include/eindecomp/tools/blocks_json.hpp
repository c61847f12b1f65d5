// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Tensors that are put together from blocks, as files have them (docs/tools.md). Needs
/// nlohmann-json.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/einsum_string.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/graph/write_blocks.hpp"
#include "eindecomp/tools/json_value.hpp"
#include "eindecomp/tools/named_operators.hpp"

namespace eindecomp::tools {

/// What a file says of a tensor that is put together.
struct StatedBlocks {
  std::vector<Text> labels;
  std::vector<Extent> bound;
  std::vector<graph::PlacedBlock> blocks;
  ElementKind kind = ElementKind::float32;  ///< of the elements
  graph::BlockFill between;
};

/// The labels of a tensor, a letter each.
[[nodiscard]] inline std::vector<Text> letters_of(const JsonValue& place) {
  std::vector<Text> labels;
  const std::string text = place.string();
  for (std::size_t n = 0; n < text.size(); ++n) {
    if (text[n] == ' ') continue;
    if (!expr::is_label_letter(text[n])) {
      place.fail(Text() << "character " << expr::quoted(text.substr(n, 1)) << " at position " << n
                        << " in " << place.text()
                        << " is unknown; name a letter for each dimension of the tensor");
    }
    labels.emplace_back(std::string_view(text).substr(n, 1));
  }
  return labels;
}

/// One number for each label.
template <class Read>
[[nodiscard]] std::vector<Extent> numbers_of(const JsonValue& list, std::size_t labels,
                                             const Read& read) {
  std::vector<Extent> numbers;
  for (const JsonValue& number : list.elements()) numbers.push_back(read(number));
  if (numbers.size() != labels) {
    list.fail(Text() << numbers.size() << " numbers for " << labels
                     << " labels; give one for each");
  }
  return numbers;
}

/// A number as an element between blocks. \throws Error if no element is that.
template <class T>
[[nodiscard]] graph::BlockFill fill_of(const JsonValue& place) {
  if constexpr (std::is_integral_v<T>) {
    const Extent number = place.whole_number();
    if (std::in_range<T>(number)) return graph::BlockFill::of(static_cast<T>(number));
  } else {
    const double number = place.number();
    constexpr double most = std::numeric_limits<T>::max();
    if (number >= -most && number <= most) return graph::BlockFill::of(static_cast<T>(number));
  }
  place.fail(place.text() + " is none that an element can be (the blocks are of " +
             expr::element_text(element_type<T>()).str() + "); give one that is");
}

/// Reads a statement with "blocks". \param find  the tensor that an operand names
/// \throws Error, which names the place, unless it has the format.
template <class Find>
[[nodiscard]] StatedBlocks read_blocks(const JsonValue& statement, const EinGraph& graph,
                                       const Find& find) {
  statement.allow_only({"name", "blocks", "extents", "operands", "at", "steps", "between"});
  StatedBlocks stated;
  stated.labels = letters_of(statement.at("blocks"));
  const std::size_t rank = stated.labels.size();
  const auto positive = [](const JsonValue& number) { return number.positive(); };
  const auto index = [](const JsonValue& number) {
    if (const Extent n = number.whole_number(); n >= 0) return n;
    number.fail(number.text() + " is negative; give a whole number from 0 on");
  };
  stated.bound = numbers_of(statement.at("extents"), rank, positive);
  const std::vector<JsonValue> operands = statement.at("operands").elements();
  if (operands.empty()) statement.at("operands").fail("there is no block; name one");
  const auto lists = [&](const JsonValue& place) {
    std::vector<JsonValue> found = place.elements();
    if (found.size() != operands.size()) {
      place.fail(Text() << found.size() << " lists for " << operands.size()
                        << " operands; give one for each");
    }
    return found;
  };
  const std::vector<JsonValue> first = lists(statement.at("at"));
  const std::optional<JsonValue> given = statement.find("steps");
  const std::vector<JsonValue> steps = given ? lists(*given) : std::vector<JsonValue>();
  for (std::size_t b = 0; b < operands.size(); ++b) {
    graph::PlacedBlock& block = stated.blocks.emplace_back();
    block.vertex = find(operands[b]);
    block.labels = stated.labels;
    block.first = numbers_of(first[b], rank, index);
    block.step = given ? numbers_of(steps[b], rank, positive) : std::vector<Extent>(rank, 1);
    const ElementType element = graph[block.vertex].element;
    if (b == 0) stated.kind = element.kind;
    if (element.kind != stated.kind) {
      operands[b].fail(operands[b].text() + " is of " + expr::element_text(element).str() +
                       " and the first block of others; put together blocks of one type");
    }
  }
  if (const auto between = statement.find("between")) {
    stated.between = with_element(
        stated.kind, [&](auto t) { return fill_of<typename decltype(t)::type>(*between); });
  }
  return stated;
}

/// Writes it. \throws Error unless the blocks are those of a tensor.
[[nodiscard]] inline VertexId write_stated(PlanProgram& program, std::string_view name,
                                           const StatedBlocks& stated) {
  const std::source_location nowhere;
  auto* const state = program.state();
  const graph::BlockList list = graph::checked_blocks(
      state->graph, name, stated.bound, stated.blocks, !stated.between.bytes.empty(), nowhere);
  return with_element(stated.kind, [&](auto t) {
    using T = typename decltype(t)::type;
    return graph::write_block_list<T>(state, list, stated.between, name, stated.labels, nowhere);
  });
}

}  // namespace eindecomp::tools
