// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder that a test writes into and that is gone when the test is.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>

namespace eindecomp_tests {

class TemporaryFolder {
 public:
  TemporaryFolder()
      : m_path(std::filesystem::temp_directory_path() /
               ("eindecomp-test-" + std::to_string(std::random_device{}()))) {
    std::filesystem::create_directory(m_path);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(m_path); }

  [[nodiscard]] const std::filesystem::path& path() const { return m_path; }
  [[nodiscard]] std::filesystem::path operator/(const char* name) const { return m_path / name; }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(m_path), {});
  }

 private:
  std::filesystem::path m_path;
};

}  // namespace eindecomp_tests
