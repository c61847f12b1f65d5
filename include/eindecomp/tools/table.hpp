// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Tables of text with aligned columns, and figures that are easy to read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"

namespace eindecomp::tools {

/// A number with its thousands apart: `14,680,064`.
[[nodiscard]] inline std::string grouped(Extent number) {
  std::string digits(core::to_text(number).view());
  const std::size_t sign = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > sign + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

/// A number of things: `1 rank`, `4 ranks`.
[[nodiscard]] inline std::string counted(Extent n, std::string_view what) {
  return grouped(n) + ' ' + std::string(what) + (n == 1 ? "" : "s");
}

/// A number of bytes with one decimal in the unit that suits it: `1.5 MiB`.
[[nodiscard]] inline std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<std::string_view, 6> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return grouped(bytes) + " B";
  std::int64_t unit = 1024;
  std::size_t n = 1;
  for (; bytes / unit >= 1024 && n + 1 < units.size(); ++n) unit *= 1024;
  std::int64_t whole = bytes / unit;
  std::int64_t tenths = (bytes % unit * 20 / unit + 1) / 2;  // rounded to nearest
  if (tenths == 10) {
    ++whole;
    tenths = 0;
  }
  return grouped(whole) + '.' + std::string(core::to_text(tenths).view()) + ' ' +
         std::string(units[n]);
}

/// A number with so many decimals.
[[nodiscard]] inline std::string decimal(double number, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, number);
  return text.data();
}

/// Rows of cells under a header, between which a line is drawn.
class TextTable {
 public:
  /// \param columns  a letter each: `l` aligns to the left, `r` to the right
  TextTable(std::string columns, std::vector<std::string> header) : m_columns(std::move(columns)) {
    add(std::move(header));
    rule();
  }

  void add(std::vector<std::string> cells) { m_rows.push_back(std::move(cells)); }
  /// A line across, before the next row.
  void rule() { m_rows.emplace_back(); }

  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> widths(m_columns.size(), 0);
    for (const auto& row : m_rows) {
      for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    }
    std::size_t across = 0;
    for (std::size_t width : widths) across += width + 2;
    std::string text;
    for (const auto& row : m_rows) {
      if (row.empty()) {
        text += std::string(across - 2, '-') + '\n';
        continue;
      }
      std::string line;
      for (std::size_t c = 0; c < row.size(); ++c) {
        const std::string padding(widths[c] - row[c].size(), ' ');
        if (c != 0) line += "  ";
        line += m_columns[c] == 'r' ? padding + row[c] : row[c] + padding;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
    return text;
  }

 private:
  std::string m_columns;
  std::vector<std::vector<std::string>> m_rows;
};

}  // namespace eindecomp::tools
