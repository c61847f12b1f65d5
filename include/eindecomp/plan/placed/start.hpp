// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Where the search of the strategy `placed` begins: labelings from estimates of what each
/// partition vector moves, and numbers of workers from the same estimates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/placed/model.hpp"

namespace eindecomp::detail {

/// The elements of the largest block of a tensor whose dimensions carry these labels.
[[nodiscard]] constexpr double block_size(std::span<const Extent> bound,
                                          std::span<const int> labels, std::span<const Extent> d) {
  double n = 1;
  for (std::size_t k = 0; k < bound.size(); ++k) {
    const Extent parts = d[static_cast<std::size_t>(labels[k])];
    n *= static_cast<double>((bound[k] + parts - 1) / parts);
  }
  return n;
}

/// What a worker receives for a statement by itself: operands spread over all workers, each of
/// them lying as well as it can, and the share of the results that others compute.
[[nodiscard]] inline double own_words(const EinGraph& graph, const Vertex& v,
                                      std::span<const Extent> d, double workers) {
  double words = 0;
  for (std::size_t o = 0; o < v.operands.size(); ++o) {
    const Operand& operand = v.operands[o];
    if (std::find(v.operands.begin(), v.operands.begin() + static_cast<std::ptrdiff_t>(o),
                  operand) != v.operands.begin() + static_cast<std::ptrdiff_t>(o)) {
      continue;
    }
    const Vertex& u = graph[operand.vertex];
    const double need = block_size(u.bound, operand.labels, d);
    words += std::max(need - static_cast<double>(u.size()) / workers, 0.0);
  }
  double combined = 1;
  for (int l : v.aggregated) combined *= static_cast<double>(d[static_cast<std::size_t>(l)]);
  const double result = block_size(v.bound, v.output, d);
  return words + result - result / combined;
}

/// Labelings to search from: every statement cut as is best for it alone.
[[nodiscard]] inline std::vector<Partitions> starts(const PlacedModel& model) {
  const EinGraph& graph = model.graph();
  Partitions alone(graph.vertices.size());
  for (const StatementClass& c : model.classes()) {
    const VectorList vectors = partition_vectors(c.limits, static_cast<int>(model.workers()));
    std::size_t best = 0;
    double least = 0;
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      const double words =
          own_words(graph, model.statement(c), vectors[i], static_cast<double>(model.workers()));
      if (i > 0 && words >= least) continue;
      best = i;
      least = words;
    }
    for (VertexId v : c.members) {
      alone[static_cast<std::size_t>(v)].assign(vectors[best].begin(), vectors[best].end());
    }
  }
  return {std::move(alone)};
}

/// Numbers of workers from `fewest` to less than all that are worth a search, the most promising
/// first: those whose estimate falls by more than the share of workers left out.
[[nodiscard]] inline std::vector<int> worker_counts(const PlacedModel& model, int fewest) {
  constexpr std::size_t most_estimated = 64;
  constexpr std::size_t most_searched = 4;
  const int p = static_cast<int>(model.workers());
  // A number of large prime factors has few ways to cut: the smoothest ones.
  std::vector<std::pair<int, int>> numbers;  // the largest prime, and how many workers are left out
  for (int n = p - 1; n >= fewest; --n) {
    const Mesh mesh = make_mesh(n);
    numbers.emplace_back(mesh.axes.empty() ? 1 : mesh.axes.back(), p - n);
  }
  std::sort(numbers.begin(), numbers.end());
  if (numbers.size() > most_estimated) numbers.resize(most_estimated);

  const auto estimate = [&](int workers) {
    double words = 0;
    for (const StatementClass& c : model.classes()) {
      const VectorList vectors = partition_vectors(c.limits, workers);
      double least = -1;
      for (std::size_t i = 0; i < vectors.size(); ++i) {
        const double own = own_words(model.graph(), model.statement(c), vectors[i], workers);
        if (least < 0 || own < least) least = own;
      }
      words += least * static_cast<double>(c.members.size());
    }
    return words;
  };
  const double of_all = estimate(p);
  // The estimate of one statement is good; of several it is not, but a search costs little.
  const double slack = model.classes().size() <= 4 ? 1.02 : 1;
  std::vector<std::pair<double, std::size_t>> promising;  // the estimate, and which of `numbers`
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const int n = p - numbers[i].second;
    const double words = estimate(n);
    if (words * p < slack * of_all * n) promising.emplace_back(words, i);
  }
  std::sort(promising.begin(), promising.end());
  if (promising.size() > most_searched) promising.resize(most_searched);
  std::vector<int> found;
  for (const auto& [words, i] : promising) found.push_back(p - numbers[i].second);
  return found;
}

}  // namespace eindecomp::detail
