// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs for the planner's tests, written from labels as data, also in constant expressions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"

namespace eindecomp_tests {

using eindecomp::EinGraph;
using eindecomp::ElementType;
using eindecomp::Extent;
using eindecomp::StatementSpec;
using eindecomp::VertexId;

inline constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz";

/// The label that a letter stands for; a view that outlives the spec.
constexpr std::string_view letter(char c) {
  return letters.substr(static_cast<std::size_t>(c - 'a'), 1);
}

constexpr VertexId input(EinGraph& graph, std::string_view name, std::vector<Extent> bound) {
  return graph.add_input(name, std::move(bound), ElementType{});
}

/// Adds `name = form(operands)`, the form as in "ij,jk->ik". `extents` are those of output labels
/// that no operand has, 0 for others.
constexpr VertexId write(EinGraph& graph, std::string_view name, std::string_view form,
                         const std::vector<VertexId>& operands,
                         const std::vector<Extent>& extents = {}) {
  StatementSpec spec;
  spec.name.assign(name);
  const std::size_t arrow = form.find("->");
  spec.operands.push_back({operands.at(0), {}});
  for (char c : form.substr(0, arrow)) {
    if (c == ',') {
      spec.operands.push_back({operands.at(spec.operands.size()), {}});
    } else {
      spec.operands.back().labels.push_back(letter(c));
    }
  }
  for (char c : form.substr(arrow + 2)) {
    const std::size_t n = spec.output.size();
    spec.output.push_back({letter(c), n < extents.size() ? extents[n] : 0});
  }
  spec.op.join.assign(operands.size() == 1 ? "identity" : "mul");
  spec.op.aggregate.assign("sum");
  const VertexId statement = graph.add_statement(spec);
  if (graph[statement].aggregated.empty()) graph.vertices.back().op.aggregate.assign("");
  return statement;
}

/// Z(i,k) = X(i,j) * Y(j,k).
constexpr EinGraph matmul(Extent i, Extent j, Extent k) {
  EinGraph graph;
  const VertexId x = input(graph, "X", {i, j});
  const VertexId y = input(graph, "Y", {j, k});
  write(graph, "Z", "ij,jk->ik", {x, y});
  return graph;
}

/// (A·B) + (C·(D·E)), all n by n.
constexpr EinGraph matrix_chain(Extent n) {
  EinGraph graph;
  const VertexId a = input(graph, "A", {n, n});
  const VertexId b = input(graph, "B", {n, n});
  const VertexId c = input(graph, "C", {n, n});
  const VertexId d = input(graph, "D", {n, n});
  const VertexId e = input(graph, "E", {n, n});
  const VertexId ab = write(graph, "AB", "ij,jk->ik", {a, b});
  const VertexId de = write(graph, "DE", "ij,jk->ik", {d, e});
  const VertexId cde = write(graph, "CDE", "ij,jk->ik", {c, de});
  write(graph, "S", "ik,ik->ik", {ab, cde});
  return graph;
}

/// Multi-head attention: 128 by 512, 8 heads of 64. Softmax in 4 statements, or in 5 with
/// `sub` and `ex` apart.
constexpr EinGraph attention(bool apart) {
  EinGraph graph;
  const VertexId q = input(graph, "Q", {128, 512});
  const VertexId k = input(graph, "K", {128, 512});
  const VertexId v = input(graph, "V", {128, 512});
  const VertexId wq = input(graph, "WQ", {512, 8, 64});
  const VertexId wk = input(graph, "WK", {512, 8, 64});
  const VertexId wv = input(graph, "WV", {512, 8, 64});
  const VertexId wo = input(graph, "WO", {512, 8, 64});
  const VertexId qh = write(graph, "Qh", "sa,ahd->shd", {q, wq});
  const VertexId kh = write(graph, "Kh", "sa,ahd->shd", {k, wk});
  const VertexId vh = write(graph, "Vh", "sa,ahd->shd", {v, wv});
  const VertexId t = write(graph, "T", "shd,thd->hst", {qh, kh});
  const VertexId mx = write(graph, "mx", "hst->hs", {t});
  VertexId ex = -1;
  if (apart) {
    const VertexId sub = write(graph, "sub", "hst,hs->hst", {t, mx});
    ex = write(graph, "ex", "hst->hst", {sub});
  } else {
    ex = write(graph, "ex", "hst,hs->hst", {t, mx});
  }
  const VertexId sm = write(graph, "sm", "hst->hs", {ex});
  const VertexId p = write(graph, "P", "hst,hs->hst", {ex, sm});
  const VertexId o = write(graph, "O", "hst,thd->shd", {p, vh});
  write(graph, "Y", "shd,ahd->sa", {o, wo});
  return graph;
}

}  // namespace eindecomp_tests
