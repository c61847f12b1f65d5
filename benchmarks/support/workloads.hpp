// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The programs that the planner is measured on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"

namespace eindecomp_benchmarks {

/// A program and the numbers of workers that it is planned for.
struct Workload {
  std::string name;
  std::vector<int> workers;
  std::function<eindecomp::EinGraph()> write;
};

/// Products of matrices of three kinds: all extents alike, one long, one short.
std::vector<Workload> products();

/// What both papers plan.
std::vector<Workload> workloads();

/// Deep programs and many workers, where planning takes its time.
std::vector<Workload> deep_workloads();

}  // namespace eindecomp_benchmarks
