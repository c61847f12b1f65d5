// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Calls of statements with masks, cut so that most of what is masked is not computed: half of a
/// product with a triangle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/masks.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/counting_joins.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/tuning.hpp"

namespace eindecomp::relation {

/// Cuts the calls of one statement.
class MaskSplitter {
 public:
  MaskSplitter(const Vertex& v, const std::vector<graph::Condition>& conditions)
      : m_vertex(v), m_conditions(conditions) {}

  void split(std::vector<KernelCall>& calls) {
    std::vector<KernelCall> whole = std::exchange(calls, {});
    for (KernelCall& call : whole) {
      const int label = label_to_cut(call.domain);
      const Extent pieces = pieces_of(call.domain, label);
      for (Extent n = 0; n < pieces; ++n) {
        KernelCall piece = call;
        if (label >= 0) {
          const auto l = to_index(label);
          const Extent extent = call.domain.extent(label);
          piece.domain.lo[l] = call.domain.lo[l] + part_begin(extent, pieces, n);
          piece.domain.hi[l] = call.domain.lo[l] + part_begin(extent, pieces, n + 1);
        }
        take(std::move(piece), calls);
      }
    }
  }

 private:
  /// The label of the output that is in most conditions; of those the one of most values. -1: none.
  [[nodiscard]] int label_to_cut(const Box& domain) const {
    int best = -1;
    std::pair<std::ptrdiff_t, Extent> most{0, 0};
    for (const int l : m_vertex.output) {
      const auto has_it = [l](const graph::Condition& condition) {
        return std::any_of(condition.terms.begin(), condition.terms.end(),
                           [l](const auto& term) { return term.label == l; });
      };
      const std::pair of{std::count_if(m_conditions.begin(), m_conditions.end(), has_it),
                         domain.extent(l)};
      if (of.first == 0 || of <= most) continue;
      most = of;
      best = l;
    }
    return best;
  }
  [[nodiscard]] static Extent pieces_of(const Box& domain, int label) {
    if (label < 0 || domain.empty()) return 1;
    return std::clamp(std::min(domain.extent(label) / tuning::masked_piece_values,
                               domain.size() / tuning::masked_piece_joins),
                      Extent{1}, tuning::masked_pieces);
  }

  /// Adds what a piece computes, and calls that write the results without joins.
  void take(KernelCall&& piece, std::vector<KernelCall>& calls) const {
    Box tight = tightened(piece.domain, m_conditions, [](int) { return true; });
    if (piece.domain.empty() || tight == piece.domain) {
      calls.push_back(std::move(piece));
      return;
    }
    std::vector<Box> rest;
    if (tight.empty()) {
      rest.push_back(piece.domain);
    } else {
      // Results are subtracted from results: both with all joins.
      Box same_joins = tight;
      for (const int l : m_vertex.aggregated) {
        same_joins.lo[to_index(l)] = piece.domain.lo[to_index(l)];
        same_joins.hi[to_index(l)] = piece.domain.hi[to_index(l)];
      }
      subtract(piece.domain, same_joins, rest);
    }
    if (piece.accumulate) rest.clear();  // there they have what earlier calls have left
    for (Box& box : rest) {
      calls.push_back(piece);
      calls.back().domain = std::move(box);
      leave_out_joins(m_vertex, calls.back());
    }
    if (tight.empty()) return;
    piece.domain = std::move(tight);
    calls.push_back(std::move(piece));
  }

  const Vertex& m_vertex;
  const std::vector<graph::Condition>& m_conditions;
};

}  // namespace eindecomp::relation
