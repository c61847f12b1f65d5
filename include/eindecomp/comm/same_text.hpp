// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What ranks say, told once for all that say the same.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace eindecomp::comm::detail {

/// "rank 2", "ranks 0, 1 and 3".
inline std::string name_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

/// Ranks of equal text, in the order of their first rank; ranks without text are left out.
struct SameText {
  std::string text;
  std::vector<int> ranks;
};
inline std::vector<SameText> group_by_text(const std::vector<std::string>& texts) {
  std::vector<SameText> groups;
  for (std::size_t r = 0; r < texts.size(); ++r) {
    if (texts[r].empty()) continue;
    SameText* found = nullptr;
    for (SameText& g : groups) {
      if (g.text == texts[r]) found = &g;
    }
    if (found == nullptr) found = &groups.emplace_back(SameText{texts[r], {}});
    found->ranks.push_back(static_cast<int>(r));
  }
  return groups;
}

}  // namespace eindecomp::comm::detail
