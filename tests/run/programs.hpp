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
#include "eindecomp/run/execute.hpp"
#include "eindecomp/run/executor.hpp"
#include "support/messages.hpp"
#include "support/streamed.hpp"

namespace run_test {

namespace ein = eindecomp;
using ein::Extent;
using eindecomp_tests::contains;
using eindecomp_tests::message_of;
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

#ifdef EINDECOMP_ENABLE_MPI
/// This process among all.
struct World {
  int rank = 0;
  int size = 1;
  World() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
};

/// What this process has of words by rank.
inline Extent of_this_rank(const std::vector<Extent>& words) {
  return words[static_cast<std::size_t>(World().rank)];
}
#endif

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

/// C(i,k) = Σ_j A(i,j) B(j,k), its inputs by formula, and what it must be.
struct Product {
  Extent rows, inner, columns;
  Program program;
  ein::Symbol<double, 2, Program::Backend> A, B, C;
  Formula<> fa{1};
  Formula<> fb{2};

  explicit Product(Extent rows_of_a = 12, Extent inner_extent = 10, Extent columns_of_b = 14)
      : rows(rows_of_a),
        inner(inner_extent),
        columns(columns_of_b),
        A(program.input<double>("A", {rows, inner})),
        B(program.input<double>("B", {inner, columns})),
        C(written(A, B)) {}

  [[nodiscard]] double expected(Extent r, Extent c) const {
    double x = 0;
    for (Extent n = 0; n < inner; ++n) x += fa(r, n) * fb(n, c);
    return x;
  }
  /// Whether a host's view of a box of C holds what it must.
  template <class View>
  [[nodiscard]] bool right(const View& view, const ein::Box& box) const {
    bool same = true;
    for (Extent r = 0; r < box.extent(0); ++r) {
      for (Extent c = 0; c < box.extent(1); ++c) {
        same = same && view(r, c) == expected(box.lo[0] + r, box.lo[1] + c);
      }
    }
    return same;
  }
  template <class RunType>
  [[nodiscard]] bool right(const RunType& run) const {
    return right(on_host(run.gather(C)), ein::Box{{0, 0}, {rows, columns}});
  }

 private:
  using Matrix = ein::Symbol<double, 2, Program::Backend>;
  static Matrix written(const Matrix& a, const Matrix& b) {
    using namespace ein::labels;
    return ein::let<"C">(i, k) = ein::sum(j)(a(i, j) * b(j, k));
  }
};

/// Strategies that need nothing by hand and no roles but batch.
inline std::vector<std::string> automatic_strategies() {
  std::vector<std::string> names;
  for (const ein::Strategy& strategy : ein::list_strategies()) {
    // The programs have a label of the role batch, and no other roles.
    if (strategy.by_role() && strategy.name != "data_parallel") continue;
    if (strategy.name != "by_hand") names.emplace_back(strategy.name);
  }
  return names;
}

/// Calls visit(plan), for so many ranks, for every strategy; for the default one with more numbers
/// of workers, and with what can be streamed streamed.
template <class Visit>
void for_each_plan(const Program& program, int ranks, const Visit& visit) {
  for (const std::string& strategy : automatic_strategies()) {
    const bool is_default = strategy == ein::DecomposeOptions{}.strategy;
    for (const int workers :
         is_default ? std::vector<int>{1, 2, 4, 8, 16} : std::vector<int>{6, 8}) {
      const auto plan =
          ein::decompose(program, {.workers = workers, .ranks = ranks, .strategy = strategy});
      visit(plan);
      if (is_default && workers > 1) {
        visit(test_support::streamed(plan, workers > 4 ? 2 : 3, workers % 4 == 0));
      }
    }
  }
}

}  // namespace run_test
