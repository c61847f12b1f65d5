// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of this room share: programs, data by formula, blocks for binding, and loops over
// everything a plan may be made for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/macros.hpp"
#include "eindecomp/kernel/backend.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/run/executor.hpp"

namespace run_test {

namespace ein = eindecomp;
using ein::Extent;
using Space = Kokkos::DefaultExecutionSpace;
using Program = ein::BasicProgram<ein::KokkosBackend<Space>>;
using Plan = ein::BasicPlan<ein::KokkosBackend<Space>>;

/// A number for an index, exact in every type, small enough that sums of products stay exact.
template <class T = double>
struct Formula {
  int seed = 0;
  template <class... Indices>
  T operator()(Indices... indices) const {
    Extent mixed = seed;
    ((mixed = mixed * 7 + indices * (mixed % 5 + 3)), ...);
    return static_cast<T>(mixed % 11 - 5);
  }
};

/// A view of a box with the formula's values, for binding.
template <class View, class F>
View filled(const ein::Box& box, const F& formula) {
  typename View::array_layout layout;
  for (int k = 0; k < box.rank(); ++k) {
    layout.dimension[k] = static_cast<std::size_t>(box.extent(k));
  }
  View view("test::block", layout);
  auto host = Kokkos::create_mirror_view(view);
  if constexpr (ein::compat::rank_of<View> == 1) {
    for (Extent i = 0; i < box.extent(0); ++i) host(i) = formula(box.lo[0] + i);
  } else if constexpr (ein::compat::rank_of<View> == 2) {
    for (Extent i = 0; i < box.extent(0); ++i) {
      for (Extent j = 0; j < box.extent(1); ++j) host(i, j) = formula(box.lo[0] + i, box.lo[1] + j);
    }
  } else {
    static_assert(ein::compat::rank_of<View> == 3);
    for (Extent i = 0; i < box.extent(0); ++i) {
      for (Extent j = 0; j < box.extent(1); ++j) {
        for (Extent k = 0; k < box.extent(2); ++k) {
          host(i, j, k) = formula(box.lo[0] + i, box.lo[1] + j, box.lo[2] + k);
        }
      }
    }
  }
  Kokkos::deep_copy(view, host);
  return view;
}

/// This rank's blocks of an input, in the plan's order.
template <class View, class Symbol, class F>
std::vector<View> blocks(const Plan& plan, const Symbol& symbol, int rank, const F& formula) {
  std::vector<View> views;
  for (const ein::Box& box : plan.local(symbol, rank)) {
    views.push_back(filled<View>(box, formula));
  }
  return views;
}

template <class View>
auto on_host(const View& view) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
}

/// Strategies that need nothing by hand and no roles but batch.
inline std::vector<std::string> automatic_strategies() {
  std::vector<std::string> names;
  for (const ein::Strategy& strategy : ein::list_strategies()) {
    // The programs have a label of the role batch, and no other roles.
    if (strategy.by_role && strategy.name != "data_parallel") continue;
    if (strategy.name != "by_hand") names.emplace_back(strategy.name);
  }
  return names;
}

/// Calls visit(plan), for so many ranks, for every strategy; for the default one with more numbers
/// of workers.
template <class Visit>
void for_each_plan(const Program& program, int ranks, const Visit& visit) {
  for (const std::string& strategy : automatic_strategies()) {
    const bool is_default = strategy == ein::DecomposeOptions{}.strategy;
    for (const int workers :
         is_default ? std::vector<int>{1, 2, 4, 8, 16} : std::vector<int>{6, 8}) {
      visit(ein::decompose(program, {.workers = workers, .ranks = ranks, .strategy = strategy}));
    }
  }
}

}  // namespace run_test
