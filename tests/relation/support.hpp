// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the tests of this room share: graphs by hand, and random programs with random plans.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "support/messages.hpp"

namespace relation_test {

using eindecomp::AxisLists;
using eindecomp::EinGraph;
using eindecomp::Extent;
using eindecomp::Mesh;
using eindecomp::PartitionVector;
using eindecomp::Placement;
using eindecomp::StatementSpec;
using eindecomp::Vertex;
using eindecomp::VertexId;
using eindecomp_tests::contains;
using eindecomp_tests::message_of;

constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// A statement whose labels are single letters: {"ij", X}, {"jk", Y} -> "ik".
inline constexpr VertexId add(EinGraph& graph, std::string name,
                              std::initializer_list<std::pair<const char*, VertexId>> operands,
                              const char* output) {
  StatementSpec spec;
  spec.name = name;
  for (const auto& [labels, vertex] : operands) {
    StatementSpec::OperandSpec operand{vertex, {}};
    for (const char* c = labels; *c != 0; ++c) operand.labels.push_back(std::string_view(c, 1));
    spec.operands.push_back(operand);
  }
  for (const char* c = output; *c != 0; ++c) {
    spec.output.push_back({std::string_view(c, 1), 0});
  }
  return graph.add_statement(spec);
}

/// Z(i,k) = sum_j X(i,j) Y(j,k).
inline constexpr EinGraph matmul(Extent m, Extent n, Extent k) {
  EinGraph graph;
  const VertexId x = graph.add_input("X", {m, k}, {});
  const VertexId y = graph.add_input("Y", {k, n}, {});
  add(graph, "Z", {{"ij", x}, {"jk", y}}, "ik");
  return graph;
}

// --- Random programs ---------------------------------------------------------------------------

class Random {
 public:
  explicit Random(unsigned seed) : m_engine(seed) {}

  /// lo <= result <= hi.
  int number(int lo, int hi) {
    // Not std::uniform_int_distribution, whose numbers differ between libraries.
    return lo + static_cast<int>(m_engine() % static_cast<unsigned>(hi - lo + 1));
  }
  bool chance(int percent) { return number(1, 100) <= percent; }

  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[number(0, static_cast<int>(choices.size()) - 1)];
  }

 private:
  std::mt19937 m_engine;
};

/// How an operator of the simulation behaves; see simulation.hpp.
enum class Aggregation { sum, sum_then_scale, pair };

struct RandomProgram {
  EinGraph graph;
  std::vector<Aggregation> algebra;  ///< per vertex
};

/// Masks a program's statements: those of comparisons of their labels, and what follows for others
/// from random properties of their ⊗.
inline void add_masks(Random& random, EinGraph& graph) {
  for (eindecomp::Vertex& v : graph.vertices) {
    if (v.is_input() || v.labels.empty()) continue;
    v.op.annihilates = random.chance(50);
    v.op.sums = random.chance(50);
    for (int n = random.number(0, 2); n > 0; --n) {
      eindecomp::OperandIndex condition;
      const int last = static_cast<int>(v.labels.size()) - 1;
      const int one = random.number(0, last);
      const int other = random.number(0, last);
      for (const int label : {std::min(one, other), std::max(one, other)}) {
        if (!condition.terms.empty() && condition.terms.back().label == label) continue;
        condition.terms.push_back({label, random.pick<Extent>({-2, -1, 1, 2})});
      }
      condition.offset = random.number(-5, 5);
      v.mask.push_back(std::move(condition));
    }
  }
}

/// 1-4 statements of 1-3 operands of ranks 0-4, diagonals, broadcasts, uneven extents.
inline RandomProgram random_program(Random& random) {
  static const char* const letters[] = {"i", "j", "k", "l", "m", "n", "o", "p", "q", "r"};
  RandomProgram program;
  EinGraph& graph = program.graph;
  const auto extent = [&] { return static_cast<Extent>(random.number(1, 7)); };
  const int inputs = random.number(1, 3);
  for (int i = 0; i < inputs; ++i) {
    std::vector<Extent> bound(at(random.number(0, 4)));
    for (Extent& b : bound) b = extent();
    // Equal extents make diagonals and shared labels likely.
    if (bound.size() > 1 && random.chance(50)) bound[1] = bound[0];
    graph.add_input("X" + std::to_string(i), bound, {});
    program.algebra.push_back(Aggregation::sum);
  }
  const int statements = random.number(1, 4);
  while (graph.size() < inputs + statements) {
    StatementSpec spec;
    spec.name = "S" + std::to_string(graph.size());
    std::vector<Extent> extents;
    const int operands = random.number(1, 3);
    for (int o = 0; o < operands; ++o) {
      // Later tensors more often, so that statements depend on each other.
      const VertexId u = random.chance(50) ? graph.size() - 1 : random.number(0, graph.size() - 1);
      StatementSpec::OperandSpec operand{u, {}};
      for (Extent b : graph[u].bound) {
        std::vector<std::size_t> same;
        for (std::size_t l = 0; l < extents.size(); ++l) {
          if (extents[l] == b) same.push_back(l);
        }
        std::size_t l = extents.size();
        if (!same.empty() && random.chance(70)) {
          l = same[at(random.number(0, static_cast<int>(same.size()) - 1))];
        } else {
          extents.push_back(b);
        }
        if (l < std::size(letters)) operand.labels.push_back(letters[l]);
      }
      spec.operands.push_back(operand);
    }
    Extent domain = 1;
    for (Extent b : extents) domain *= b;
    std::vector<int> order(extents.size());
    for (std::size_t l = 0; l < order.size(); ++l) order[l] = static_cast<int>(l);
    for (std::size_t l = order.size(); l > 1; --l) {
      std::swap(order[l - 1], order[at(random.number(0, static_cast<int>(l) - 1))]);
    }
    for (int l : order) {
      if (spec.output.size() < 4 && random.chance(60) && at(l) < std::size(letters)) {
        spec.output.push_back({letters[l], 0});
      }
    }
    if (spec.output.size() < 4 && random.chance(15)) {
      const Extent b = extent();
      domain *= b;
      spec.output.push_back({"z", b});
    }
    if (domain > 3000 || extents.size() > std::size(letters)) continue;
    const Aggregation algebra =
        random.pick({Aggregation::sum, Aggregation::sum_then_scale, Aggregation::pair});
    if (algebra == Aggregation::pair) spec.partial.bytes = 16;
    spec.op.finishes = algebra != Aggregation::sum;
    const VertexId v = graph.add_statement(spec);
    graph.vertices[at(v)].kept = random.chance(20);
    program.algebra.push_back(algebra);
  }
  return program;
}

/// Statements of a program that aggregate, streamed along any of their labels.
inline std::vector<eindecomp::StepGroup> random_streams(Random& random, const EinGraph& graph) {
  std::vector<eindecomp::StepGroup> groups;
  for (VertexId v = 0; v < graph.size(); ++v) {
    const std::vector<int>& aggregated = graph[v].aggregated;
    if (graph[v].is_input() || aggregated.empty() || random.chance(20)) continue;
    const int label = aggregated[at(random.number(0, static_cast<int>(aggregated.size()) - 1))];
    const Extent extent = graph[v].extents[at(label)];
    eindecomp::StepAxis axis{{label}};
    axis.stripes = random.number(1, static_cast<int>(std::min<Extent>(extent, 4)));
    axis.parts = random.number(1, static_cast<int>(extent / axis.stripes));
    groups.push_back({v, v, {axis}});
  }
  return groups;
}

/// Some of a program's inputs, none of them half of the time.
inline std::vector<VertexId> random_constants(Random& random, const EinGraph& graph) {
  std::vector<VertexId> constants;
  if (random.number(0, 1) == 0) return constants;
  for (VertexId v = 0; v < graph.size(); ++v) {
    if (graph[v].is_input() && random.number(0, 1) == 0) constants.push_back(v);
  }
  return constants;
}

/// Each axis of the mesh to a label that can take it, some axes to none.
inline PartitionVector random_vector(Random& random, const Vertex& v, const Mesh& mesh) {
  PartitionVector d(v.labels.size(), 1);
  for (int axis : mesh.axes) {
    if (d.empty() || random.chance(10)) continue;
    for (int attempt = 0; attempt < 4; ++attempt) {
      const std::size_t l = at(random.number(0, static_cast<int>(d.size()) - 1));
      if (d[l] * axis > v.extents[l]) continue;
      d[l] *= axis;
      break;
    }
  }
  return d;
}

/// Axes in any order on any entries, some on none.
inline AxisLists random_lists(Random& random, const std::vector<Extent>& extents,
                              const Mesh& mesh) {
  AxisLists lists(extents.size());
  std::vector<Extent> parts(extents.size(), 1);
  std::vector<int> axes(mesh.axes.size());
  for (std::size_t a = 0; a < axes.size(); ++a) axes[a] = static_cast<int>(a);
  for (std::size_t a = axes.size(); a > 1; --a) {
    std::swap(axes[a - 1], axes[at(random.number(0, static_cast<int>(a) - 1))]);
  }
  for (int axis : axes) {
    if (extents.empty() || random.chance(15)) continue;
    const std::size_t l = at(random.number(0, static_cast<int>(extents.size()) - 1));
    if (parts[l] * mesh.axes[at(axis)] > extents[l]) continue;
    parts[l] *= mesh.axes[at(axis)];
    lists[l].push_back(axis);
  }
  return lists;
}

/// A placement by place() from random vectors and input layouts, or one drawn freely.
inline Placement random_placement(Random& random, const EinGraph& graph, const Mesh& mesh) {
  if (random.chance(30)) {
    Placement placement{mesh, {}, {}};
    for (const Vertex& v : graph.vertices) {
      placement.calls.push_back(random_lists(random, v.extents, mesh));
      placement.stored.push_back(random_lists(random, v.bound, mesh));
    }
    return placement;
  }
  std::vector<PartitionVector> partitions;
  eindecomp::PlaceOptions options;
  for (VertexId i = 0; i < graph.size(); ++i) {
    const Vertex& v = graph[i];
    partitions.push_back(v.is_input() ? PartitionVector{} : random_vector(random, v, mesh));
    if (v.is_input() && random.chance(30)) {
      options.inputs.push_back({i, parts_of(mesh, random_lists(random, v.bound, mesh))});
    }
  }
  return place(graph, partitions, mesh, options);
}

}  // namespace relation_test
