// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A tensor in a file as those see it who read and write boxes of it, whatever the file's format.
#pragma once

#include <cstdint>
#include <cstdio>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/relation/box.hpp"

namespace eindecomp {

/// What a tensor in a file is.
struct StoredShape {
  ElementType element;        ///< of its elements
  std::vector<Extent> bound;  ///< its extents
  /// Whether both are equal.
  bool operator==(const StoredShape&) const = default;
};

/// A file that is being written, beside the one that it will replace.
struct PartialFile {
  std::string path;         ///< its own
  std::int64_t offset = 0;  ///< of the tensor's elements in it, in bytes
};

namespace relation {

/// Removes a file that was begun, unless it was finished.
class UnfinishedFile {
 public:
  UnfinishedFile() = default;
  /// \param path  of the file, which need not exist yet
  explicit UnfinishedFile(std::string path) : m_path(std::move(path)) {}
  UnfinishedFile(UnfinishedFile&& other) noexcept : m_path(std::exchange(other.m_path, {})) {}
  UnfinishedFile& operator=(UnfinishedFile&& other) noexcept {
    std::swap(m_path, other.m_path);
    return *this;
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile() {
    if (!m_path.empty()) static_cast<void>(std::remove(m_path.c_str()));
  }
  /// Where it lies.
  [[nodiscard]] const std::string& path() const { return m_path; }
  /// Leaves it. \returns where.
  std::string keep() { return std::exchange(m_path, {}); }

 private:
  std::string m_path;
};

}  // namespace relation

/// A file that save() writes. Only a path is kept: nothing is open between two calls, and several
/// processes may call at once.
class WrittenFile {
 public:
  WrittenFile() = default;
  WrittenFile(const WrittenFile&) = default;
  WrittenFile& operator=(const WrittenFile&) = default;
  WrittenFile(WrittenFile&&) = default;
  WrittenFile& operator=(WrittenFile&&) = default;
  virtual ~WrittenFile() = default;

  /// What messages call it: its path, and what in the file, where it is one of several tensors.
  [[nodiscard]] virtual std::string name() const = 0;

  /// Writes the elements of a box of a tensor, row-major in memory of the host. Processes write
  /// boxes that do not overlap at once. \throws Error if they cannot be written.
  virtual void write(const PartialFile& partial, const StoredShape& shape, const Box& box,
                     const void* from, const std::source_location& where) const = 0;

  /// Puts the new file, which is complete, in place of what was at the path.
  /// \throws Error if that cannot be done; the caller then removes the new file.
  virtual void finish(const PartialFile& partial, const std::source_location& where) const = 0;
};

/// One tensor in one file: bind_file() reads it, save() writes it. The formats derive from it, as
/// NpyFile does.
class TensorFile : public WrittenFile {
 public:
  /// What the file says the tensor is. \throws Error, which begins with the name, if the file
  /// cannot be read, is damaged or too short, or has elements that no tensor here has.
  [[nodiscard]] virtual StoredShape shape() const = 0;
  /// The same for a caller who wants such elements, where they can be read as several types.
  [[nodiscard]] virtual StoredShape shape_for(const ElementType& /*wanted*/) const {
    return shape();
  }

  /// Reads the elements of a box, to memory of the host, row-major without gaps.
  /// \param shape  what the caller takes the tensor for: shape(), or what shape_for() gave
  /// \throws Error as shape(), and if the tensor is another.
  virtual void read(const StoredShape& shape, const Box& box, void* into) const = 0;

  /// Begins a new file beside the path: all but the elements, for which it has room.
  /// \throws Error if that cannot be done or the format has no such elements.
  [[nodiscard]] virtual PartialFile begin(const StoredShape& shape,
                                          const std::source_location& where) const = 0;
};

/// A tensor of a file of several.
struct NamedShape {
  Text name;          ///< what the file calls it
  StoredShape shape;  ///< what it is
};

/// Several tensors in one file, which save() writes together. The formats derive from it, as
/// SafetensorsArchive does.
class TensorArchive : public WrittenFile {
 public:
  /// Begins a new file beside the path: all but the elements, for which it has room.
  /// \returns for each tensor where its elements go, in one file.
  /// \throws Error if that cannot be done, two tensors have one name, or the format has no such
  ///   elements.
  [[nodiscard]] virtual std::vector<PartialFile> begin(const std::vector<NamedShape>& tensors,
                                                       const std::source_location& where) const = 0;
};

}  // namespace eindecomp
