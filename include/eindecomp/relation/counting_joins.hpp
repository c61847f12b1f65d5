// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which joins of a call count, where comparisons of labels mask others: what it has to read.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/masks.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"

namespace eindecomp::relation {

/// Cuts a domain down to a box outside of which a condition fails; to nothing if one fails
/// everywhere. \param may_cut  may_cut(label)
template <class MayCut>
[[nodiscard]] Box tightened(Box domain, const std::vector<graph::Condition>& conditions,
                            const MayCut& may_cut) {
  for (const graph::Condition& condition : conditions) {
    if (!graph::tighten(condition, domain, may_cut)) return {domain.lo, domain.lo};
  }
  return domain;
}

/// The part of a call's domain outside of which no join counts, with all of its results: cut along
/// aggregated labels alone. Empty if no join counts. \param conditions  graph::Masks::of
[[nodiscard]] inline Box counting_joins(const Vertex& v,
                                        const std::vector<graph::Condition>& conditions,
                                        Box domain) {
  return tightened(std::move(domain), conditions, [&](int label) {
    return std::find(v.aggregated.begin(), v.aggregated.end(), label) != v.aggregated.end();
  });
}

/// Lets a call compute no joins: it writes what ⊕ begins with.
inline void leave_out_joins(const Vertex& v, KernelCall& call) {
  for (const int l : v.aggregated) call.domain.hi[to_index(l)] = call.domain.lo[to_index(l)];
}

/// Leaves of a call the joins that may count: it then reads nothing else.
/// \returns false if there are none.
inline bool keep_counting(const Vertex& v, const std::vector<graph::Condition>& conditions,
                          KernelCall& call) {
  if (conditions.empty() || call.domain.empty()) return true;
  Box counting = counting_joins(v, conditions, call.domain);
  if (counting.empty()) {
    leave_out_joins(v, call);
    return false;
  }
  call.domain = std::move(counting);
  return true;
}

}  // namespace eindecomp::relation
