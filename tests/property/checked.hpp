// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs one program on all ranks under every strategy, and with each of its labels cut.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "property/typed_run.hpp"
#include "support/cases.hpp"
#include "support/quick_words.hpp"

namespace property {

inline Extent draw(std::mt19937& random, Extent low, Extent high) {
  return low + static_cast<Extent>(random() % static_cast<unsigned>(high - low + 1));
}

/// A program with its loops, under each third of the strategies, others on other numbers of ranks;
/// with every second label cut on 4 ranks, every third on fewer, every sixth on more. Programs
/// drawn at random, which are not thorough, run under few strategies. EINDECOMP_TEST_CASES above
/// 100 leaves none out.
template <class Write>
void check(const Write& write, bool thorough = true) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  RunHarness t;
  write(t);
  const std::string text = ein::to_text(t.program.graph()).str();
  INFO(text);
  const auto run = [&](const ein::DecomposeOptions& options) {
    CAPTURE(options.strategy);
    CAPTURE(options.workers);
    const auto plan = shared_plan(t.program, options);
    CHECK(eindecomp_tests::quick_words(plan, ranks) == plan.tasks().received);
    check_run(t, plan, rank);
  };
  const bool all = eindecomp_tests::share_of_cases() > 100;
  int turn = ranks;
  for (const char* strategy : {"placed", "ein_decomp", "square", "exact", "k_cut"}) {
    for (const int workers : {1, 4, 6, 8}) {
      // Eight ranks on a few cores take their time.
      if (ranks > 4 && (strategy[0] != 'p' || workers < 6)) continue;
      if (!thorough && (strategy[0] != 'p' || workers == 1 || workers == 4)) continue;
      if (thorough && !all && ++turn % 3 != 0) continue;
      run({.workers = workers, .ranks = ranks, .strategy = strategy});
    }
  }
  // Every label by itself, the aggregated ones, too.
  const ein::EinGraph& graph = t.program.graph();
  for (const ein::LabelInfo& cut : graph.labels) {
    if (!all && ++turn % (ranks > 4 ? 6 : ranks == 4 ? 2 : 3) != 0) continue;
    ein::DecomposeOptions options{.workers = 4, .ranks = ranks};
    options.strategy = "by_hand";
    for (const ein::Vertex& v : graph.vertices) {
      if (v.is_input()) continue;
      if (v.labels.empty()) {
        options.by_hand.push_back({v.name, {}});
        continue;
      }
      std::string label = graph.labels[ein::to_index(v.labels.front())].name;
      Extent parts = 1;
      for (std::size_t l = 0; l < v.labels.size(); ++l) {
        if (graph.labels[ein::to_index(v.labels[l])].name != cut.name) continue;
        label = cut.name;
        parts = v.extents[l] >= 4 ? 4 : v.extents[l] >= 2 ? 2 : 1;
      }
      options.by_hand.push_back({v.name, {{label, parts}}});
    }
    CAPTURE(cut.name.str());
    run(options);
  }
}

}  // namespace property
