// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The times that ranks wait for each other by, in seconds, and how often they look. None decides
/// what a program computes.
#pragma once

#include <chrono>
#include <limits>

namespace eindecomp::comm::detail::tuning {

/// Looks at messages under way that complete none, after which a kernel goes on. One look takes in
/// what one read of each socket brings.
inline constexpr int max_looks_in_vain = 2;

/// How long a rank waits before it gives its core away, which it may get back a time slice later.
inline constexpr double seconds_before_turns = 50e-6;

/// Between two looks at whether ranks have left or wait for each other.
inline constexpr double between_looks = 1e-3;
/// For a rank that left to say why, and for answers.
inline constexpr double grace = 1;
/// Between two questions what others wait for.
inline constexpr double between_questions = 1;
/// A rank ends the program later than the one before it by so much, which the launcher may take to
/// end the others; the last of many no later than `max_turn`.
inline constexpr double seconds_per_turn = 0.5;
inline constexpr double max_turn = 2;

/// How the end of a program waits for all ranks to leave.
struct LeavePatience {
  double together;  ///< after which ranks that wait elsewhere are told of it
  double patience;  ///< after which it waits no more
};
/// Where all are expected.
inline constexpr LeavePatience at_end{1, std::numeric_limits<double>::infinity()};
/// Where something went wrong on this rank, and perhaps on no other.
inline constexpr LeavePatience after_failure{0.25, 0.5};

/// How long a rank that leaves gives its core away only for a moment; then it sleeps so long
/// between two looks.
inline constexpr double seconds_before_sleep = 0.01;
inline constexpr std::chrono::microseconds sleep_between_looks{500};

}  // namespace eindecomp::comm::detail::tuning
