// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs typed cases on all ranks, decomposed in several ways.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "eindecomp/kernel/backend.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "property/data.hpp"
#include "property/typed_cases.hpp"

namespace property {

using RunHarness = Harness<ein::KokkosBackend<Space>, Kokkos::complex<double>>;

/// Runs a plan of the program: its results must be those expected, and its words those planned.
template <class Plan>
void check_run(const RunHarness& t, const Plan& plan, int rank) {
  std::vector<Binding> bindings;
  Memory memory;
  for (std::size_t v = 0; v < t.inputs.size(); ++v) {
    const auto vertex = static_cast<ein::VertexId>(v);
    if (!plan.graph[vertex].is_input()) continue;
    bindings.push_back(bind_tensor(plan, vertex, t.inputs[v], Way::blocks_left, rank, 0, memory));
  }
  Executor executor(plan, MPI_COMM_WORLD, Space());
  // Twice: an executor keeps nothing of its first run.
  Run run = executor.run(bindings);
  run = executor.run(bindings);
  const auto me = static_cast<std::size_t>(rank);
  const ein::TaskGraph tasks = plan.tasks();
  CHECK(run.statistics().words_received == tasks.received[me]);
  CHECK(run.statistics().words_sent == tasks.sent[me]);
  for (const auto& expected : t.expectations) {
    const std::vector<reference::Wide> got = gather_tensor(run, plan.graph, expected.vertex);
    REQUIRE(got.size() == expected.tensor.values.size());
    for (std::size_t e = 0; e < got.size(); ++e) {
      const reference::Wide& value = expected.tensor.values[e];
      const bool close = got[e] == value || std::abs(got[e] - value) <= allowed(expected);
      if (close) continue;
      CAPTURE(e);
      CAPTURE(static_cast<double>(got[e].real()));
      CAPTURE(static_cast<double>(expected.tensor.values[e].real()));
      CHECK(close);
      break;
    }
  }
}

/// For all_cases and its parts.
struct RunCase {
  template <class Write>
  void operator()(const char* name, const Write& write) const {
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    RunHarness t;
    write(t);
    const std::string text = name + std::string("\n") + ein::to_text(t.program.graph()).str();
    INFO(text);
    for (const char* strategy : {"ein_decomp", "square"}) {
      for (const int workers : {4, 8}) {
        CAPTURE(strategy);
        CAPTURE(workers);
        check_run(
            t, shared_plan(t.program, {.workers = workers, .ranks = ranks, .strategy = strategy}),
            rank);
      }
    }
  }
};

}  // namespace property
