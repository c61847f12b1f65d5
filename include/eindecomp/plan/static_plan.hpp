// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Plans in constant expressions, for static_assert.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <source_location>
#include <string_view>
#include <type_traits>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/fixed_string.hpp"
#include "eindecomp/core/static_vector.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/make_plan.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/plan/words.hpp"

namespace eindecomp {
namespace plan {

/// The sizes of a StaticPlan's arrays.
struct StaticSizes {
  std::size_t statements = 0;
  std::size_t labels = 0;  ///< of the statement with most
  std::size_t name = 0;    ///< of the longest name
};

[[nodiscard]] constexpr StaticSizes static_sizes(const EinGraph& graph) {
  StaticSizes sizes;
  for (const Vertex& v : graph.vertices) {
    if (v.is_input()) continue;
    ++sizes.statements;
    sizes.labels = std::max(sizes.labels, v.labels.size());
    sizes.name = std::max(sizes.name, v.name.size());
  }
  for (const LabelInfo& label : graph.labels) sizes.name = std::max(sizes.name, label.name.size());
  return sizes;
}

/// A callable without state that returns an EinGraph, or a program, which converts to one.
template <class Program>
concept StaticProgram = std::is_empty_v<Program> && std::default_initializable<Program> &&
    std::is_invocable_r_v<EinGraph, Program>;

/// A name and the line it was given in, for operators, which have no parameter to spare.
struct NameAt {
  std::string_view name;
  std::source_location where;

  template <std::convertible_to<std::string_view> Text>
  // NOLINTNEXTLINE(google-explicit-constructor): names are given as texts.
  constexpr NameAt(const Text& text, std::source_location line = std::source_location::current())
      : name(text), where(line) {}
};

}  // namespace plan

/// What a constant expression can keep of a plan: the statements' partition vectors and costs.
template <plan::StaticSizes Sizes>
struct StaticPlan {
  /// One more than needed, so that no array is empty.
  using Name = static_vector<char, Sizes.name + 1>;
  /// A statement, how it is cut and what it costs.
  struct Statement {
    Name name;
    static_vector<Name, Sizes.labels + 1> labels;       ///< as Vertex::labels
    static_vector<Extent, Sizes.labels + 1> partition;  ///< in the order of `labels`
    Cost cost;                                          ///< in the paper's words
  };

  int workers = 1;  ///< p
  Cost cost;        ///< the sum over the statements
  /// The statements, and one that is not used.
  std::array<Statement, Sizes.statements + 1> storage{};

  [[nodiscard]] static constexpr std::size_t size() { return Sizes.statements; }
  [[nodiscard]] constexpr const Statement& operator[](std::size_t i) const { return storage[i]; }

  /// The statement of that name. \throws Error if there is none.
  [[nodiscard]] constexpr const Statement& operator[](plan::NameAt wanted) const {
    for (std::size_t i = 0; i < size(); ++i) {
      if (text(storage[i].name) == wanted.name) return storage[i];
    }
    core::fail(ErrorKind::plan, wanted.where, "the plan has no statement '", wanted.name,
               "'; name one that it has");
  }

  /// The parts that a statement cuts a label into. \throws Error if there is no such label.
  [[nodiscard]] constexpr Extent parts(
      std::string_view statement, std::string_view label,
      std::source_location where = std::source_location::current()) const {
    const Statement& found = (*this)[plan::NameAt(statement, where)];
    for (std::size_t l = 0; l < found.labels.size(); ++l) {
      if (text(found.labels[l]) == label) return found.partition[l];
    }
    core::fail(ErrorKind::plan, where, "statement '", statement, "' has no label '", label,
               "'; name one that it has");
  }

 private:
  static constexpr std::string_view text(const Name& name) { return {name.begin(), name.size()}; }
};

/// Decomposes a program at compile time: the same code as decompose(), in a constant expression.
///
/// \tparam Workers   p.
/// \tparam Strategy  one of `strategies`.
/// \tparam Program   a stateless callable, such as a lambda without captures, that returns an
///   EinGraph, or a program, made of constants; passed as the argument.
template <int Workers, fixed_string Strategy = "ein_decomp", plan::StaticProgram Program>
[[nodiscard]] consteval auto static_plan(Program) {
  constexpr plan::StaticSizes sizes = plan::static_sizes(Program{}());
  const EinGraph graph = Program{}();
  const Plan plan = plan::make_plan(graph, {.workers = Workers, .strategy = Strategy.view()},
                                    std::source_location::current());
  StaticPlan<sizes> kept;
  kept.workers = plan.workers;
  kept.cost = plan.cost;
  using Name = typename StaticPlan<sizes>::Name;
  const auto name = [](std::string_view text) { return Name(text.begin(), text.end()); };
  std::size_t n = 0;
  for (std::size_t i = 0; i < plan.graph.vertices.size(); ++i) {
    const Vertex& v = plan.graph.vertices[i];
    if (v.is_input()) continue;
    auto& statement = kept.storage[n++];
    statement.name = name(v.name);
    statement.cost = plan.costs[i];
    for (std::size_t l = 0; l < v.labels.size(); ++l) {
      statement.labels.push_back(
          name(plan.graph.labels[static_cast<std::size_t>(v.labels[l])].name));
      statement.partition.push_back(plan.partitions[i][l]);
    }
  }
  return kept;
}

}  // namespace eindecomp
