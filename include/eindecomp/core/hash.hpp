// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Numbers that tell values apart.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace eindecomp::core {

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
  /// The elements' values one after another; of lists of lists, each list.
  template <class Element>
  constexpr void add(const std::vector<Element>& elements) {
    add(static_cast<std::uint64_t>(elements.size()));
    for (const Element& element : elements) {
      if constexpr (std::is_arithmetic_v<Element>) {
        add(static_cast<std::uint64_t>(element));
      } else {
        add(element);
      }
    }
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return m_hash; }

 private:
  constexpr void add_byte(std::uint64_t byte) { m_hash = (m_hash ^ byte) * 0x100000001b3ULL; }
  std::uint64_t m_hash = 0xcbf29ce484222325ULL;
};

}  // namespace eindecomp::core
