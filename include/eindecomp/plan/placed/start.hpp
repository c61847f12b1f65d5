// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Where the search of the strategy `placed` begins: labelings and numbers of workers, chosen by
/// estimates of what each partition vector moves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/placed/candidates.hpp"
#include "eindecomp/plan/placed/model.hpp"
#include "eindecomp/plan/tuning.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"

namespace eindecomp::plan {

/// The partition vector of a class for so many workers that costs least by itself.
struct BestAlone {
  PartitionVector vector;
  double words = 0;  ///< own_words()
};
[[nodiscard]] inline BestAlone best_alone(const PlacedModel& model, const StatementClass& c,
                                          int workers) {
  const VectorList vectors = partition_vectors(c.limits, workers, &model.statement(c));
  std::size_t best = 0;
  double min_words = 0;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const double words = own_words(model.graph(), model.statement(c), vectors[i], workers);
    if (i > 0 && words >= min_words) continue;
    best = i;
    min_words = words;
  }
  return {{vectors[best].begin(), vectors[best].end()}, min_words};
}

/// A labeling to search from: every statement cut as is best for it alone.
[[nodiscard]] inline Partitions each_best_alone(const PlacedModel& model) {
  Partitions alone(model.graph().vertices.size());
  for (const StatementClass& c : model.classes()) {
    const PartitionVector best = best_alone(model, c, static_cast<int>(model.workers())).vector;
    for (VertexId v : c.members) alone[to_index(v)] = best;
  }
  return alone;
}

/// Numbers of workers from `min_workers` to less than all that are worth a search, the most
/// promising first: those whose estimate falls by more than the share of workers left out.
[[nodiscard]] inline std::vector<int> worker_counts(const PlacedModel& model, int min_workers) {
  const int p = static_cast<int>(model.workers());
  // A number of large prime factors has few ways to cut: the smoothest ones.
  std::vector<std::pair<int, int>> numbers;  // the largest prime, and how many workers are left out
  for (int n = p - 1; n >= min_workers; --n) {
    const Mesh mesh = make_mesh(n);
    numbers.emplace_back(mesh.axes.empty() ? 1 : mesh.axes.back(), p - n);
  }
  std::sort(numbers.begin(), numbers.end());
  if (numbers.size() > tuning::max_estimated_counts) {
    numbers.resize(tuning::max_estimated_counts);
  }

  const auto estimate = [&](int workers) {
    double words = 0;
    for (const StatementClass& c : model.classes()) {
      words += best_alone(model, c, workers).words * static_cast<double>(c.members.size());
    }
    return words;
  };
  const double of_all = estimate(p);
  const double slack =
      model.classes().size() <= tuning::max_statements_for_slack ? tuning::estimate_slack : 1;
  std::vector<std::pair<double, std::size_t>> promising;  // the estimate, and which of `numbers`
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const int n = p - numbers[i].second;
    const double words = estimate(n);
    if (words * p < slack * of_all * n) promising.emplace_back(words, i);
  }
  std::sort(promising.begin(), promising.end());
  if (promising.size() > tuning::max_searched_counts) {
    promising.resize(tuning::max_searched_counts);
  }
  std::vector<int> found;
  for (const auto& [words, i] : promising) found.push_back(p - numbers[i].second);
  return found;
}

}  // namespace eindecomp::plan
