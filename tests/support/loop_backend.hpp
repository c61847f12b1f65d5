// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A backend that evaluates statements in plain loops with the functors that they were written with:
// what the kernels are for, without them. Elements of every type are kept as doubles.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/graph/ein_graph.hpp"

namespace eindecomp_tests {

using eindecomp::Extent;

/// The operands' elements of one term, and its place along the first aggregated label.
struct LoopTerm {
  std::array<double, 8> operands{};
  Extent index = 0;
};

struct LoopBackend {
  /// ⊕ ⊗ over all terms of one element.
  using Launcher = std::function<double(const std::vector<LoopTerm>&)>;

  template <class Join, class Monoid, class... Ts>
  static Launcher make(Join join, Monoid monoid) {
    return [join, monoid](const std::vector<LoopTerm>& terms) {
      using namespace eindecomp;
      const auto joined = [&]<std::size_t... I>(const LoopTerm& term, std::index_sequence<I...>) {
        return static_cast<Stored<std::decay_t<std::invoke_result_t<const Join&, const Ts&...>>>>(
            join(static_cast<Ts>(term.operands[I])...));
      };
      constexpr auto all = std::index_sequence_for<Ts...>{};
      using Value = decltype(joined(terms[0], all));
      if constexpr (std::is_same_v<Monoid, NoAggregation>) {
        if (terms.size() != 1) throw std::logic_error("several terms and no aggregation");
        return static_cast<double>(joined(terms[0], all));
      } else {
        using Traits = MonoidTraits<Monoid, Value>;
        auto state = Traits::identity(monoid);
        for (const LoopTerm& term : terms) {
          state =
              Traits::combine(monoid, state, Traits::lift(monoid, joined(term, all), term.index));
        }
        return static_cast<double>(Traits::finish(monoid, state));
      }
    };
  }
};

/// Every tensor of a program, row by row.
class LoopRun {
 public:
  using Values = std::vector<double>;

  template <class Program>
  LoopRun(const Program& program, const std::map<std::string, Values>& inputs)
      : m_graph(program.graph()) {
    for (eindecomp::VertexId v = 0; v < m_graph.size(); ++v) {
      if (m_graph[v].is_input()) {
        m_values.push_back(inputs.at(std::string(m_graph[v].name.view())));
      } else {
        m_values.push_back(evaluated(m_graph[v], program.launchers()[at(v)]));
      }
    }
  }
  template <class Symbol>
  [[nodiscard]] const Values& of(const Symbol& symbol) const {
    return of_vertex(symbol.vertex());
  }
  [[nodiscard]] const Values& of_vertex(eindecomp::VertexId v) const { return m_values[at(v)]; }

 private:
  static std::size_t at(Extent i) { return static_cast<std::size_t>(i); }

  [[nodiscard]] double read(const eindecomp::Operand& o, const std::vector<Extent>& index) const {
    const std::vector<Extent>& bound = m_graph[o.vertex].bound;
    Extent place = 0;
    for (std::size_t k = 0; k < bound.size(); ++k) {
      Extent i = 0;
      if (o.is_computed()) {
        const eindecomp::OperandIndex& of = o.indices[k];
        i = of.offset;
        for (const auto& term : of.terms) i += term.coefficient * index[at(term.label)];
        const bool whole = i % of.divisor == 0;
        i /= of.divisor;
        if (of.boundary == eindecomp::Boundary::periodic) {
          i = ((i % bound[k]) + bound[k]) % bound[k];
        }
        if (of.boundary == eindecomp::Boundary::clamp) i = std::clamp<Extent>(i, 0, bound[k] - 1);
        while (of.boundary == eindecomp::Boundary::reflect && (i < 0 || i >= bound[k])) {
          i = bound[k] == 1 ? 0 : i < 0 ? -i : 2 * (bound[k] - 1) - i;
        }
        if (!whole || i < 0 || i >= bound[k]) return outside(o.outside);
      } else {
        i = index[at(o.labels[k])];
      }
      place = place * bound[k] + i;
    }
    return m_values[at(o.vertex)].at(at(place));
  }
  static double outside(eindecomp::OutsideValue value) {
    using eindecomp::OutsideValue;
    const double infinite = std::numeric_limits<double>::infinity();
    if (value == OutsideValue::none) throw std::logic_error("an index leaves its tensor");
    if (value == OutsideValue::zero) return 0;
    if (value == OutsideValue::one) return 1;
    return value == OutsideValue::lowest ? -infinite : infinite;
  }

  /// What a result that is put together from blocks has at some indices.
  [[nodiscard]] double of_blocks(const eindecomp::Vertex& v,
                                 const std::vector<Extent>& index) const {
    for (const eindecomp::Operand& o : v.operands) {
      bool inside = true;
      for (std::size_t k = 0; k < o.block.size() && o.is_computed(); ++k) {
        const Extent i = index[at(v.output[k])] + o.indices[k].offset;
        const Extent step = o.indices[k].divisor;
        inside = inside && i >= 0 && i % step == 0 && i / step < o.block[k];
      }
      if (inside) return read(o, index);
    }
    if (v.op.state.empty()) throw std::logic_error("no block has an element");
    return std::bit_cast<double>(v.op.state[0]);
  }

  [[nodiscard]] Values evaluated(const eindecomp::Vertex& v,
                                 const LoopBackend::Launcher& launcher) const {
    std::vector<std::vector<LoopTerm>> terms(at(v.size()));
    std::vector<Extent> index(v.extents.size(), 0);
    for (bool more = true; more;) {
      LoopTerm term;
      for (std::size_t o = 0; o < v.operands.size() && !v.op.blocks; ++o) {
        term.operands[o] = read(v.operands[o], index);
      }
      if (v.op.blocks) term.operands[0] = of_blocks(v, index);
      for (std::size_t k = 0; k < v.values.size(); ++k) {
        term.operands[v.operands.size() + k] = static_cast<double>(index[at(v.values[k])]);
      }
      term.index = v.aggregated.empty() ? 0 : index[at(v.aggregated[0])];
      Extent place = 0;
      for (std::size_t k = 0; k < v.output.size(); ++k) {
        place = place * v.bound[k] + index[at(v.output[k])];
      }
      terms[at(place)].push_back(term);
      more = false;
      for (std::size_t l = index.size(); l-- > 0 && !more;) {
        if (++index[l] < v.extents[l]) {
          more = true;
        } else {
          index[l] = 0;
        }
      }
    }
    Values values;
    for (const std::vector<LoopTerm>& of_one : terms) values.push_back(launcher(of_one));
    return values;
  }

  const eindecomp::EinGraph& m_graph;
  std::vector<Values> m_values;
};

}  // namespace eindecomp_tests
