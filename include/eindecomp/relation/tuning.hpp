// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The constants that programs of ranks are made by, each with its unit.
#pragma once

#include <cstdint>

namespace eindecomp::relation::tuning {

/// Bytes up to which messages of several tensors to one rank go as one. A network of 1 Gbit/s and
/// 50 us, or one of 100 Gbit/s and 2 us, moves as many in the time that a message takes to begin.
inline constexpr std::int64_t shared_message = std::int64_t{1} << 14;

}  // namespace eindecomp::relation::tuning
