// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What plans and runs ask of a symbol, and what they say of one that is not theirs.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "eindecomp/core/text.hpp"
#include "eindecomp/graph/ein_graph.hpp"

namespace eindecomp {

/// Whatever names a tensor of a graph: a Symbol, or a symbol of a graph built at run time, whose
/// value type and rank are checked when the run starts instead of at compile time.
template <class S>
concept TensorSymbol = requires(const std::remove_cvref_t<S>& symbol) {
  { symbol.vertex() } -> std::convertible_to<VertexId>;
  { symbol.program_id() } -> std::convertible_to<std::uint64_t>;
};

namespace graph {

/// The name of a symbol's tensor; empty if the symbol does not know it.
template <TensorSymbol Symbol>
[[nodiscard]] constexpr Text name_of(const Symbol& symbol) {
  if constexpr (requires { Text(symbol.name()); }) {
    return Text(symbol.name());
  } else {
    return {};
  }
}

/// The sentence that refuses a symbol, of a tensor of that name if one is known, whose tensor is
/// not in the graph at hand.
[[nodiscard]] constexpr Text foreign_symbol_text(std::string_view name, VertexId vertex) {
  const Text tensor = name.empty() ? Text("number ") + vertex : Text(name);
  return Text("tensor ") + tensor +
         " is not one of the plan's (it was written into another program, or into one of two "
         "copies after they were made); use symbols of the program that was planned";
}

}  // namespace graph
}  // namespace eindecomp
