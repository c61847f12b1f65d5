// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which memory is asked for in large pages: no page of which others have a part.

#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "eindecomp/kernel/large_pages.hpp"

using namespace eindecomp;

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Whether the system was asked for large pages at an address: /proc/self/smaps says so.
bool large_pages_preferred(const unsigned char* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = ' ';
    if (words >> std::hex >> begin >> dash >> end && dash == '-') {
      here = begin <= place && place < end;
    } else if (here && line.starts_with("VmFlags:")) {
      return line.find(" hg") != std::string::npos;
    }
  }
  return false;
}

TEST_CASE("large pages are asked for where they lie in the memory as a whole") {
  using Host = Kokkos::HostSpace;
  kernel::prefer_large_pages<Host>(nullptr, 0);
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage") ||
      !std::filesystem::exists("/proc/self/smaps")) {
    MESSAGE("this system has no large pages to ask for");
    return;
  }
#if defined(__linux__)
  // From the system itself: what was freed before may have been asked for in large pages.
  void* const memory =
      mmap(nullptr, 12 * mebibyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  const auto beyond = reinterpret_cast<std::uintptr_t>(memory) % (2 * mebibyte);
  auto* const begin = static_cast<unsigned char*>(memory) + (2 * mebibyte - beyond);
  CHECK_FALSE(large_pages_preferred(begin + 2 * mebibyte));

  kernel::prefer_large_pages<Host>(begin + 1, 4 * mebibyte - 2);  // no whole page
  CHECK_FALSE(large_pages_preferred(begin + 1 * mebibyte));
  CHECK_FALSE(large_pages_preferred(begin + 3 * mebibyte));

  kernel::prefer_large_pages<Host>(begin + 1, 8 * mebibyte);
  CHECK_FALSE(large_pages_preferred(begin));
  CHECK_FALSE(large_pages_preferred(begin + 2 * mebibyte - 1));
  CHECK(large_pages_preferred(begin + 2 * mebibyte));
  CHECK(large_pages_preferred(begin + 8 * mebibyte - 1));
  CHECK_FALSE(large_pages_preferred(begin + 8 * mebibyte));
  CHECK(munmap(memory, 12 * mebibyte) == 0);

  const Kokkos::View<double*, Host> view(Kokkos::view_alloc(Kokkos::WithoutInitializing, "view"),
                                         mebibyte);
  kernel::prefer_large_pages(view);
  CHECK(large_pages_preferred(reinterpret_cast<unsigned char*>(view.data()) + 4 * mebibyte));
#endif
}

}  // namespace
