// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A plan as text: what is cut how, what it costs, moves and holds.
#pragma once

#include <string>
#include <vector>

#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/plan.hpp"

namespace eindecomp {

/// A plan as a table for people: for every statement its partition vector, its kernel calls, what
/// they cost and move and the memory they need; then the totals and what the columns mean. With
/// EINDECOMP_SEPARATE_PLANNER, the caller's translation unit does not compile it.
[[nodiscard]] std::string report(const Plan& plan);

/// The same, and for every distribution of `layouts` (DecomposeOptions::layouts) the words that
/// move between it and the plan's, which are not among the plan's. \throws Error as
/// Plan::input_words().
[[nodiscard]] std::string report(const Plan& plan, const std::vector<TensorLayout>& layouts);

}  // namespace eindecomp

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/tools/write_report.hpp"
#endif
