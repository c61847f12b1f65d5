// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What ranks say, told once for all that say the same.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace eindecomp::comm::detail {

/// "rank 2", "ranks 0, 1 and 3", "ranks 0 to 63, 80 and 92"; of very many the first ones.
/// \param ranks  ascending
inline std::string name_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t min_run = 9;  // of ranks that are told as a range
  constexpr std::size_t max_parts = 16;
  std::vector<std::string> parts;
  std::size_t told = 0;
  while (told < ranks.size() && parts.size() < max_parts) {
    std::size_t end = told + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - told < min_run) end = told + 1;
    parts.push_back(std::to_string(ranks[told]));
    if (end - told > 1) parts.back() += " to " + std::to_string(ranks[end - 1]);
    told = end;
  }
  if (told < ranks.size()) parts.push_back(std::to_string(ranks.size() - told) + " others");
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
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
  std::unordered_map<std::string_view, std::size_t> numbers;  // of groups
  for (std::size_t r = 0; r < texts.size(); ++r) {
    if (texts[r].empty()) continue;
    const auto [found, is_new] = numbers.try_emplace(texts[r], groups.size());
    if (is_new) groups.push_back({texts[r], {}});
    groups[found->second].ranks.push_back(static_cast<int>(r));
  }
  return groups;
}

/// What tell(group) says of each, joined by "; ": of the first few where there are many.
template <class Tell>
[[nodiscard]] std::string tell_groups(const std::vector<SameText>& groups, const Tell& tell) {
  constexpr std::size_t most = 8;
  std::string text;
  std::size_t untold = 0;
  for (std::size_t n = 0; n < groups.size(); ++n) {
    if (n < most) {
      if (n > 0) text += "; ";
      text += tell(groups[n]);
    } else {
      untold += groups[n].ranks.size();
    }
  }
  if (untold > 0) text += "; and " + std::to_string(untold) + " other ranks with other messages";
  return text;
}

}  // namespace eindecomp::comm::detail
