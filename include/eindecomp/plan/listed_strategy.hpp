// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a strategy is, as the list of them has it.
#pragma once

#include <algorithm>
#include <array>
#include <source_location>
#include <string_view>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/options.hpp"

namespace eindecomp {

struct Labeling;

namespace plan {
/// Whether a label of a program has a role.
[[nodiscard]] constexpr bool has_role(const EinGraph& graph, std::string_view role) {
  return std::ranges::any_of(graph.labels, [=](const LabelInfo& l) { return l.role == role; });
}
}  // namespace plan

/// A way to choose the partition vectors of a program.
struct Strategy {
  std::string_view name;     ///< as DecomposeOptions::strategy has it
  std::string_view summary;  ///< what it does, in a line
  /// \throws Error, with the caller's place, where the strategy does not apply.
  Labeling (*decompose)(const EinGraph&, const DecomposeOptions&, const std::source_location&);
  /// The roles by which it chooses what to cut, if it does: it throws where no label of a program
  /// has one of them.
  std::array<std::string_view, 2> roles = {};

  /// Whether it goes by the roles of labels.
  [[nodiscard]] constexpr bool by_role() const { return !roles.front().empty(); }

  /// Whether labels of a program have all of its roles.
  [[nodiscard]] constexpr bool finds_roles(const EinGraph& graph) const {
    return std::ranges::all_of(
        roles, [&](std::string_view role) { return role.empty() || plan::has_role(graph, role); });
  }
};

}  // namespace eindecomp
