// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What all ranks must bind alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/core/hash.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/run/binding.hpp"

namespace eindecomp::run {

/// What some of the bindings are, in whatever order they come: those of which bound_so() is true,
/// what value_of() says of each, and text_of() where ranks differ.
template <class Space, class BoundSo, class ValueOf, class TextOf>
[[nodiscard]] comm::Fingerprint fingerprint(std::string_view what, std::string_view advice,
                                            const EinGraph& graph,
                                            const std::vector<Binding<Space>>& bindings,
                                            const BoundSo& bound_so, const ValueOf& value_of,
                                            const TextOf& text_of) {
  // By vertex, the numbers of the bindings.
  const auto bound = [&graph, &bindings, bound_so] {
    std::vector<std::pair<VertexId, std::size_t>> inputs;
    for (std::size_t n = 0; n < bindings.size(); ++n) {
      const BindingFacts& facts = bindings[n].facts();
      if (!bound_so(facts)) continue;
      const VertexId v = facts.tensor.vertex;
      inputs.emplace_back(v >= 0 ? v : graph.find(facts.tensor.name), n);
    }
    std::sort(inputs.begin(), inputs.end());
    return inputs;
  };
  core::Hasher hasher;
  for (const auto& [vertex, n] : bound()) {
    hasher.add(static_cast<std::uint64_t>(vertex));
    hasher.add(value_of(bindings[n].facts()));
  }
  return {what, advice, hasher.value(), [&graph, &bindings, bound, text_of] {
            std::vector<std::string> lines;
            for (const auto& [vertex, n] : bound()) {
              lines.push_back(graph[vertex].name.str() + text_of(bindings[n].facts()));
            }
            return lines;
          }};
}

/// Of inputs that come from one rank, which; of those in distributions of their own, in which; and
/// which are constant. Fingerprint::lines may be called while graph and bindings live, and only if
/// every binding suits the graph.
template <class Space>
[[nodiscard]] std::vector<comm::Fingerprint> bound_alike(
    const EinGraph& graph, const std::vector<Binding<Space>>& bindings) {
  return {fingerprint(
              "roots of inputs", "bind_global an input from the same root on every rank", graph,
              bindings,
              [](const BindingFacts& facts) { return facts.kind == BindingKind::whole_on_root; },
              [](const BindingFacts& facts) { return static_cast<std::uint64_t>(facts.root); },
              [](const BindingFacts& facts) { return " from rank " + std::to_string(facts.root); }),
          fingerprint(
              "distributions of inputs", "bind an input in the same distribution on every rank",
              graph, bindings,
              [](const BindingFacts& facts) { return facts.kind == BindingKind::distributed; },
              [](const BindingFacts& facts) { return facts.distribution->hash(); },
              [](const BindingFacts& facts) {
                return " in a distribution with the hash " +
                       std::to_string(facts.distribution->hash());
              }),
          fingerprint(
              "constants", "bind the same inputs as constant() on every rank", graph, bindings,
              [](const BindingFacts& facts) { return facts.constant; },
              [](const BindingFacts&) { return std::uint64_t{1}; },
              [](const BindingFacts&) { return std::string(" constant"); })};
}

}  // namespace eindecomp::run
