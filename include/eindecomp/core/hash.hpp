// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Numbers that tell values apart.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace eindecomp::detail {

/// FNV-1a over numbers and texts, the same on every machine and in every process.
class Hasher {
 public:
  constexpr void add(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) add_byte(value >> (8 * byte) & 0xff);
  }
  constexpr void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    for (char c : text) add_byte(static_cast<unsigned char>(c));
  }
  template <class Number>
  constexpr void add(const std::vector<Number>& numbers) {
    add(static_cast<std::uint64_t>(numbers.size()));
    for (Number n : numbers) add(static_cast<std::uint64_t>(n));
  }
  template <class Number>
  constexpr void add(const std::vector<std::vector<Number>>& lists) {
    add(static_cast<std::uint64_t>(lists.size()));
    for (const std::vector<Number>& list : lists) add(list);
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return m_hash; }

 private:
  constexpr void add_byte(std::uint64_t byte) { m_hash = (m_hash ^ byte) * 0x100000001b3ULL; }
  std::uint64_t m_hash = 0xcbf29ce484222325ULL;
};

}  // namespace eindecomp::detail
