// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Boxes of a tensor whose elements lie in a file without gaps, read and written by their places.
#pragma once

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <source_location>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/element.hpp"
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
  if (box.empty()) return;
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
  fail_at(shown,
          "the file has changed while it was read (another tensor is in it now); read it again");
}

/// Copies elements that follow one another to places that are a stride apart; a byte may become an
/// int32.
inline void spread_elements(const char* from, int from_bytes, Extent elements, char* into,
                            int into_bytes, Extent stride) {
  if (from_bytes == into_bytes && stride == 1) {
    std::memcpy(into, from, static_cast<std::size_t>(elements * into_bytes));
    return;
  }
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

/// Puts runs of a file that are near each other into memory with one read.
class RunReader {
 public:
  /// \param bytes  of an element in memory
  RunReader(const std::filesystem::path& path, int file_bytes, void* into, int bytes)
      : m_file_bytes(file_bytes), m_into(static_cast<char*>(into)), m_bytes(bytes) {
    m_stream.rdbuf()->pubsetbuf(nullptr, 0);  // a seek would throw away what is in a buffer
    m_stream.open(path, std::ios::binary);
  }

  /// Reads a run, now or with those that follow.
  void take(const FileRun& run) {
    const Extent fit = most / m_file_bytes;
    if (run.elements > fit && m_file_bytes == m_bytes && run.stride == 1) {
      flush();
      m_stream.seekg(run.offset);
      m_stream.read(m_into + run.first * m_bytes, run.elements * m_bytes);
      return;
    }
    for (Extent n = 0; n < run.elements; n += fit) {
      add({run.offset + n * m_file_bytes, std::min(fit, run.elements - n),
           run.first + n * run.stride, run.stride});
    }
  }

  /// Reads what is left. \returns whether all was there.
  [[nodiscard]] bool finish() {
    flush();
    return m_stream.good();
  }

 private:
  static constexpr std::int64_t most = 1 << 18;      ///< bytes that are read at once
  static constexpr std::int64_t largest_gap = 4096;  ///< bytes that are read for nothing

  void add(const FileRun& run) {
    const std::int64_t end = run.offset + run.elements * m_file_bytes;
    if (!m_runs.empty() && (run.offset > m_end + largest_gap || end > m_runs[0].offset + most)) {
      flush();
    }
    m_runs.push_back(run);
    m_end = end;
  }
  void flush() {
    if (m_runs.empty()) return;
    const std::int64_t begin = m_runs[0].offset;
    m_buffer.resize(static_cast<std::size_t>(m_end - begin));
    m_stream.seekg(begin);
    if (m_stream.read(m_buffer.data(), m_end - begin)) {
      for (const FileRun& run : m_runs) {
        spread_elements(m_buffer.data() + (run.offset - begin), m_file_bytes, run.elements,
                        m_into + run.first * m_bytes, m_bytes, run.stride);
      }
    }
    m_runs.clear();
  }

  std::ifstream m_stream;
  int m_file_bytes;
  char* m_into;
  int m_bytes;
  std::vector<FileRun> m_runs;  ///< that are read together, ascending
  std::int64_t m_end = 0;       ///< of the last of them
  std::vector<char> m_buffer;
};

/// Reads the elements of a box, row-major without gaps.
/// \param bytes  of an element in memory
/// \param shown  what the message calls the file
/// \throws Error if there are less.
inline void read_box(const std::filesystem::path& path, const FileElements& file, const Box& box,
                     int bytes, void* into, const std::string& shown) {
  RunReader reader(path, file.bytes, into, bytes);
  for_each_run(file, box, [&](const FileRun& run) { reader.take(run); });
  if (reader.finish()) return;
  fail_at(shown,
          "the file cannot be read or ends before its elements do (they are read by their places); "
          "write it anew");
}

/// Writes the elements of a box, row-major without gaps, into a file that has room for them.
/// \param shown  the path that the message names
/// \throws Error if they cannot be written.
inline void write_box(const std::filesystem::path& path, const FileElements& file, const Box& box,
                      const void* from, const std::filesystem::path& shown,
                      const std::source_location& where) {
  errno = 0;
  std::fstream stream;
  stream.rdbuf()->pubsetbuf(nullptr, 0);  // a seek would write what is in a buffer
  stream.open(path, std::ios::binary | std::ios::in | std::ios::out);
  for_each_run(file, box, [&](const FileRun& run) {
    stream.seekp(run.offset);
    stream.write(static_cast<const char*>(from) + run.first * file.bytes,
                 run.elements * file.bytes);
  });
  stream.close();
  if (!stream) fail_to_write("a tensor", shown, why_not_written(), where);
}

/// What to do about elements of a kind that a format lacks.
[[nodiscard]] constexpr std::string_view otherwise_written(ElementKind kind) {
  return kind == ElementKind::other ? "write each member as a result of its own, map(f, X(i))"
                                    : "convert them by cast";
}

/// Begins a new file beside a path: what stands before the elements, and room for them.
/// \throws Error if it cannot be written.
[[nodiscard]] inline PartialFile begin_file(const std::filesystem::path& path,
                                            std::string_view before, std::int64_t bytes,
                                            const std::source_location& where) {
  relation::UnfinishedFile partial = begin_beside(path, "a tensor", where);
  write_file(partial.path(), {before}, path, "a tensor", where);
  std::error_code failed;
  std::filesystem::resize_file(partial.path(), before.size() + static_cast<std::uintmax_t>(bytes),
                               failed);
  if (failed) fail_to_write("a tensor", path, failed.message(), where);
  return {partial.keep(), static_cast<std::int64_t>(before.size())};
}

/// A TensorFile or a TensorArchive in which the elements of each tensor that is written lie
/// row-major without gaps.
template <std::derived_from<WrittenFile> Kind>
class DenseFile : public Kind {
 public:
  void write(const PartialFile& partial, const StoredShape& shape, const Box& box, const void* from,
             const std::source_location& where) const override {
    write_box(partial.path, {partial.offset, shape.bound, false, shape.element.bytes}, box, from,
              m_path, where);
  }
  void finish(const PartialFile& partial, const std::source_location& where) const override {
    put_in_place(partial.path, m_path, "a tensor", where);
  }

 protected:
  explicit DenseFile(const std::filesystem::path& path) : m_path(path.string()) {}
  [[nodiscard]] const std::string& path() const { return m_path; }

 private:
  std::string m_path;
};

}  // namespace eindecomp::tools
