// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Boxes of a tensor whose elements lie in a file without gaps, read and written by their places.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/tensor_file.hpp"
#include "eindecomp/tools/write_file.hpp"

namespace eindecomp::tools {

/// Where the elements of a tensor lie in a file.
struct FileElements {
  std::int64_t offset = 0;    ///< of the first, in bytes
  std::vector<Extent> bound;  ///< the tensor's extents
  bool column_major = false;  ///< whether the first index is the fastest
  int bytes = 0;              ///< of one element in the file; 1 where it becomes an int32
};

/// Elements of a box that follow one another in the file.
struct FileRun {
  std::int64_t offset = 0;  ///< of the first, in bytes
  Extent elements = 0;
  Extent first = 0;   ///< the first one's place in the box, row-major
  Extent stride = 1;  ///< from one to the next there
};

/// Calls visit(FileRun) for all elements of a box, in the order of the file.
template <class Visit>
void for_each_run(const FileElements& file, const Box& box, const Visit& visit) {
  const std::size_t rank = file.bound.size();
  struct Dimension {
    Extent lo, extent, in_file, in_box;  // the last two: elements from one index to the next
  };
  std::vector<Dimension> dimensions(rank);  // the fastest of the file first
  Extent in_box = 1;
  for (std::size_t k = rank; k-- > 0;) {
    const Extent extent = box.hi[k] - box.lo[k];
    dimensions[file.column_major ? k : rank - 1 - k] = {box.lo[k], extent, file.bound[k], in_box};
    in_box *= extent;
  }
  Extent in_file = 1;
  std::int64_t begin = 0;
  for (Dimension& d : dimensions) {
    in_file *= std::exchange(d.in_file, in_file);
    begin += d.lo * d.in_file;
  }

  // The fastest dimensions are one run as long as both the file and the box have it in equal steps.
  std::size_t outer = rank == 0 ? 0 : 1;
  FileRun run{0, rank == 0 ? 1 : dimensions[0].extent, 0, rank == 0 ? 1 : dimensions[0].in_box};
  while (outer < rank && dimensions[outer].in_file == run.elements &&
         dimensions[outer].in_box == run.elements * run.stride) {
    run.elements *= dimensions[outer++].extent;
  }

  std::vector<Extent> index(rank, 0);
  while (true) {
    std::int64_t at = begin;
    run.first = 0;
    for (std::size_t d = outer; d < rank; ++d) {
      at += index[d] * dimensions[d].in_file;
      run.first += index[d] * dimensions[d].in_box;
    }
    run.offset = file.offset + at * file.bytes;
    visit(std::as_const(run));
    std::size_t d = outer;
    while (d < rank && ++index[d] == dimensions[d].extent) index[d++] = 0;
    if (d == rank) return;
  }
}

/// Before a box is read of what a caller took a tensor for.
/// \throws Error if the file has another tensor by now, or the box leaves it.
inline void check_still(const StoredShape& found, const StoredShape& wanted, const Box& box,
                        const std::string& shown) {
  if (found == wanted && !leaves(box, wanted.bound)) return;
  throw Error(ErrorKind::io,
              shown +
                  ": the file has changed while it was read (another tensor is in it now); "
                  "read it again",
              std::source_location{});
}

/// Copies elements that follow one another to places that are a stride apart; a byte may become an
/// int32.
inline void spread_elements(const char* from, int from_bytes, Extent elements, char* into,
                            int into_bytes, Extent stride) {
  const Extent step = stride * into_bytes;
  for (Extent n = 0; n < elements; ++n, from += from_bytes, into += step) {
    if (from_bytes == into_bytes) {
      std::memcpy(into, from, static_cast<std::size_t>(into_bytes));
    } else {
      const std::int32_t wide = static_cast<unsigned char>(*from);
      std::memcpy(into, &wide, sizeof(wide));
    }
  }
}

/// Reads the elements of a box, row-major without gaps.
/// \param bytes  of an element in memory
/// \param shown  what the message calls the file
/// \throws Error if there are less.
inline void read_box(const std::filesystem::path& path, const FileElements& file, const Box& box,
                     int bytes, void* into, const std::string& shown) {
  constexpr std::int64_t piece = 1 << 20;  // bytes that are spread at once
  std::ifstream stream(path, std::ios::binary);
  std::vector<char> buffer;
  std::int64_t position = 0;
  for_each_run(file, box, [&](const FileRun& run) {
    if (run.offset != position) stream.seekg(run.offset);
    position = run.offset + run.elements * file.bytes;
    char* const first = static_cast<char*>(into) + run.first * bytes;
    if (file.bytes == bytes && (run.stride == 1 || run.elements == 1)) {
      stream.read(first, run.elements * bytes);
      return;
    }
    for (Extent n = 0; n < run.elements && stream;) {
      const Extent count = std::min(run.elements - n, piece / file.bytes);
      buffer.resize(static_cast<std::size_t>(count * file.bytes));
      stream.read(buffer.data(), count * file.bytes);
      if (!stream) break;
      spread_elements(buffer.data(), file.bytes, count, first + n * run.stride * bytes, bytes,
                      run.stride);
      n += count;
    }
  });
  if (stream) return;
  throw Error(ErrorKind::io,
              shown +
                  ": the file cannot be read or ends before its elements do (they are read by "
                  "their places); write it anew",
              std::source_location{});
}

/// Writes the elements of a box, row-major without gaps, into a file that has room for them.
/// \param shown  the path that the message names
/// \throws Error if they cannot be written.
inline void write_box(const std::filesystem::path& path, const FileElements& file, const Box& box,
                      const void* from, const std::filesystem::path& shown,
                      const std::source_location& where) {
  errno = 0;
  std::fstream stream(path, std::ios::binary | std::ios::in | std::ios::out);
  std::int64_t position = 0;
  for_each_run(file, box, [&](const FileRun& run) {
    if (run.offset != position) stream.seekp(run.offset);
    position = run.offset + run.elements * file.bytes;
    stream.write(static_cast<const char*>(from) + run.first * file.bytes,
                 run.elements * file.bytes);
  });
  stream.close();
  if (!stream) fail_to_write("a tensor", shown, why_not_written(), where);
}

/// Begins a new file beside a path: what stands before the elements, and room for them.
/// \throws Error if it cannot be written.
[[nodiscard]] inline PartialFile begin_file(const std::filesystem::path& path,
                                            std::string_view before, std::int64_t bytes,
                                            const std::source_location& where) {
  const std::filesystem::path partial = name_beside(path);
  write_file(partial, before, path, "a tensor", where);
  std::error_code failed;
  std::filesystem::resize_file(partial, before.size() + static_cast<std::uintmax_t>(bytes), failed);
  if (failed) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    fail_to_write("a tensor", path, failed.message(), where);
  }
  return {partial.string(), static_cast<std::int64_t>(before.size())};
}

}  // namespace eindecomp::tools
