// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Tensors in NumPy's .npy files: read and written whole, or box by box (bind_file() and save() of
/// run/tensor_files.hpp). Needs nothing but the library.
///
/// A file is six bytes by which it is known, the version of its format (1.0, 2.0 or 3.0), the
/// length of its header, the header, a dictionary in Python's notation of the elements' type, their
/// order and the extents, and the elements.
#pragma once

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <limits>
#include <source_location>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/graph/stored_tensor.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/tensor_file.hpp"
#include "eindecomp/tools/file_boxes.hpp"
#include "eindecomp/tools/write_file.hpp"

namespace eindecomp {
namespace tools {

static_assert(std::endian::native == std::endian::little,
              "EinDecomp: .npy files are read and written with the lowest byte of a number first, "
              "and so must the machine have it; leave the header out on this one");

/// What a .npy file says in its header.
struct NpyHeader {
  StoredShape shape;
  FileElements elements;
  bool are_bytes = false;  ///< unsigned ones, which may be read as such
};

/// A type of elements by NumPy's name.
struct NpyType {
  std::string_view name;
  int bytes;  ///< in the file
  ElementType element;
};
/// Those that are known here. Truth values, and bytes unless they are asked for, are read as 32-bit
/// integers, as which this library stores truth values; of several with one name the first is read.
inline constexpr NpyType npy_types[] = {
    {"<f4", 4, element_type<float>()},         {"<f8", 8, element_type<double>()},
    {"<c8", 8, {ElementKind::complex64, 8}},   {"<c16", 16, {ElementKind::complex128, 16}},
    {"<i4", 4, element_type<std::int32_t>()},  {"<i8", 8, element_type<std::int64_t>()},
    {"<f2", 2, element_type<float16>()},       {"|b1", 1, element_type<std::int32_t>()},
    {"|u1", 1, element_type<std::int32_t>()},  {"|u1", 1, element_type<std::uint8_t>()},
    {"|i1", 1, element_type<std::int8_t>()},   {"<i2", 2, element_type<std::int16_t>()},
    {"<u2", 2, element_type<std::uint16_t>()}, {"<u4", 4, element_type<std::uint32_t>()},
    {"<u8", 8, element_type<std::uint64_t>()},
};
inline constexpr std::string_view npy_magic = "\x93NUMPY";

/// Reads the dictionary of a header.
class NpyDictionary {
 public:
  NpyDictionary(const std::string& path, std::string_view text) : m_path(path), m_text(text) {}

  [[nodiscard]] NpyHeader read() {
    NpyHeader header;
    bool has_type = false;
    bool has_order = false;
    bool has_extents = false;
    expect('{');
    while (!takes('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !std::exchange(has_type, true)) {
        read_type(header);
      } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
        header.elements.column_major = truth_value();
      } else if (key == "shape" && !std::exchange(has_extents, true)) {
        read_extents(header.shape.bound);
      } else {
        refuse();
      }
      if (!takes(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!m_text.empty() || !has_type || !has_order || !has_extents) refuse();
    header.elements.bound = header.shape.bound;
    return header;
  }

 private:
  [[noreturn]] void refuse() const {
    fail_at(m_path,
            "the header of the .npy file is not as the format has it (a dictionary of descr, "
            "fortran_order and shape); write the file anew");
  }
  void skip_space() {
    while (!m_text.empty() && std::isspace(static_cast<unsigned char>(m_text.front())) != 0) {
      m_text.remove_prefix(1);
    }
  }
  [[nodiscard]] bool takes(char c) {
    skip_space();
    if (m_text.empty() || m_text.front() != c) return false;
    m_text.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!takes(c)) refuse();
  }
  [[nodiscard]] bool takes(std::string_view word) {
    skip_space();
    if (!m_text.starts_with(word)) return false;
    m_text.remove_prefix(word.size());
    return true;
  }
  [[nodiscard]] std::string_view quoted() {
    skip_space();
    if (m_text.empty() || (m_text.front() != '\'' && m_text.front() != '"')) refuse();
    const std::size_t end = m_text.find(m_text.front(), 1);
    if (end == std::string_view::npos) refuse();
    const std::string_view text = m_text.substr(1, end - 1);
    m_text.remove_prefix(end + 1);
    return text;
  }
  [[nodiscard]] bool truth_value() {
    if (takes("True")) return true;
    if (!takes("False")) refuse();
    return false;
  }
  void read_type(NpyHeader& header) {
    skip_space();
    if (m_text.starts_with('[')) {
      fail_at(m_path,
              "its elements are records of several fields (a tensor has numbers); write one "
              "file for each field");
    }
    const std::string_view name = quoted();
    for (const NpyType& known : npy_types) {
      if (known.name != name) continue;
      header.shape.element = known.element;
      header.elements.bytes = known.bytes;
      header.are_bytes = name == "|u1";
      return;
    }
    const Text problem = "its elements are '" + Text(name) + "'";
    if (name.starts_with("|O")) {
      fail_at(m_path, problem +
                          ", pickled objects that Python alone can read (a tensor has "
                          "numbers); write numbers");
    }
    if (name.starts_with('>')) {
      fail_at(m_path, problem +
                          ", with the highest byte first (they are read with the lowest "
                          "first); write a.astype(a.dtype.newbyteorder('<'))");
    }
    fail_at(m_path, problem +
                        " (float16, float32, float64, complex64, complex128, integers of 8 "
                        "to 64 bits and bool can be read, bool as int32); write "
                        "a.astype(one of them)");
  }
  void read_extents(std::vector<Extent>& bound) {
    expect('(');
    while (!takes(')')) {
      bound.push_back(number());
      if (!takes(',')) {
        expect(')');
        break;
      }
    }
  }
  [[nodiscard]] Extent number() {
    skip_space();
    constexpr std::size_t max_digits = 18;
    std::size_t digits = 0;
    Extent value = 0;
    while (digits < m_text.size() && m_text[digits] >= '0' && m_text[digits] <= '9') {
      if (digits == max_digits) refuse();
      value = value * 10 + (m_text[digits++] - '0');
    }
    if (digits == 0) refuse();
    m_text.remove_prefix(digits);
    static_cast<void>(takes('L'));  // as Python 2 wrote long integers
    return value;
  }

  const std::string& m_path;
  std::string_view m_text;
};

/// Refuses extents that no tensor has. \returns the bytes of the elements in the file.
[[nodiscard]] inline std::int64_t checked_bytes(const std::string& path, const NpyHeader& header) {
  const std::vector<Extent>& bound = header.shape.bound;
  if (bound.size() > max_rank) {
    fail_at(path, Text("the array has ") + static_cast<Extent>(bound.size()) +
                      " dimensions (a tensor has at most " + max_rank + "); reshape it");
  }
  std::int64_t bytes = header.elements.bytes;
  for (std::size_t k = 0; k < bound.size(); ++k) {
    if (bound[k] == 0) {
      fail_at(path, Text("dimension ") + static_cast<Extent>(k) +
                        " of the array has extent 0 (a tensor has elements); write another");
    }
    if (bytes > std::numeric_limits<std::int64_t>::max() / bound[k]) {
      fail_at(path, "the array has more bytes than 64 bits count; write the file anew");
    }
    bytes *= bound[k];
  }
  return bytes;
}

/// Reads a header, and looks whether the elements are all there.
[[nodiscard]] inline NpyHeader read_npy_header(const std::string& path) {
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(path, failed);
  std::ifstream file(path, std::ios::binary);
  if (failed || !file) {
    fail_at(path, "the file cannot be read; name one that exists and is readable");
  }
  std::string begin(npy_magic.size() + 2, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (!file || !begin.starts_with(npy_magic)) {
    fail_at(path, "this is no .npy file (such a file begins with \\x93NUMPY); name another");
  }
  const auto byte = [](char c) { return static_cast<unsigned char>(c); };
  const int version = byte(begin[npy_magic.size()]);
  if (version < 1 || version > 3 || begin.back() != '\0') {
    fail_at(path, Text("the .npy file is of version ") + version + "." + byte(begin.back()) +
                      " of the format (1.0, 2.0 and 3.0 can be read); write it anew");
  }
  std::string length(version == 1 ? 2 : 4, '\0');
  file.read(length.data(), static_cast<std::streamsize>(length.size()));
  std::uint64_t bytes = 0;
  for (std::size_t n = length.size(); n-- > 0;) bytes = bytes << 8 | byte(length[n]);
  const std::uint64_t before = begin.size() + length.size();
  if (!file || size < before || bytes > size - before) {
    fail_at(path, "the .npy file ends before its header does (it is cut short); write it anew");
  }
  constexpr std::uint64_t max_header_bytes = 1 << 20;
  if (bytes > max_header_bytes) {
    fail_at(path, Text("the header of the .npy file has ") + static_cast<Extent>(bytes) +
                      " bytes, and that of an array of numbers some hundred; write it anew");
  }
  std::string text(bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  if (!file) fail_at(path, "the header of the .npy file cannot be read; write it anew");
  NpyHeader header = NpyDictionary(path, text).read();
  header.elements.offset = static_cast<std::int64_t>(before + bytes);
  const std::int64_t wanted = checked_bytes(path, header);
  if (static_cast<std::uint64_t>(wanted) > size - before - bytes) {
    fail_at(path, Text("the file has ") + static_cast<Extent>(size - before - bytes) +
                      " bytes of elements and its array " + wanted +
                      " (it is cut short); write it anew");
  }
  return header;
}

/// What stands before the elements of a tensor, as NumPy writes it.
/// \throws Error if NumPy has no such elements.
[[nodiscard]] inline std::string npy_begin(const std::string& path, const StoredShape& shape,
                                           const std::source_location& where) {
  const auto* const type =
      std::find_if(std::begin(npy_types), std::end(npy_types),
                   [&](const NpyType& known) { return known.element == shape.element; });
  if (type == std::end(npy_types)) {
    core::fail(ErrorKind::io,
               "elements of " + expr::element_text(shape.element) + " cannot be written to " +
                   Text(path) + " (NumPy has no such type); " +
                   otherwise_written(shape.element.kind),
               where);
  }
  std::string text =
      "{'descr': '" + std::string(type->name) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t k = 0; k < shape.bound.size(); ++k) {
    text += (k == 0 ? "" : ", ") + std::to_string(shape.bound[k]);
  }
  text += shape.bound.size() == 1 ? ",), }" : "), }";
  // The elements begin at a multiple of 64 bytes.
  constexpr std::size_t alignment = 64;
  std::string begin(npy_magic);
  begin += '\1';  // version 1.0
  begin += '\0';
  while ((begin.size() + 2 + text.size() + 1) % alignment != 0) text += ' ';
  text += '\n';
  begin += static_cast<char>(text.size() & 0xFFU);
  begin += static_cast<char>(text.size() >> 8);
  return begin + text;
}

}  // namespace tools

/// A tensor in a .npy file: `bind_file(X, NpyFile("x.npy"))`, `save(run, Y, NpyFile("y.npy"))`.
///
/// Elements are float16, float, double, the latter two as complex numbers, too, and integers of 8
/// to 64 bits with a sign or without, the lowest byte first; truth values are read as 32-bit
/// integers, and so are unsigned bytes but for inputs of std::uint8_t. Arrays in Fortran's order
/// are read as what they are; what is written is in C's order.
class NpyFile final : public tools::DenseFile<TensorFile> {
 public:
  /// The file of that path, which need not exist before it is written.
  explicit NpyFile(const std::filesystem::path& path) : DenseFile(path) {}

  /// \copydoc WrittenFile::name()
  [[nodiscard]] std::string name() const override { return path(); }
  /// \copydoc TensorFile::shape()
  [[nodiscard]] StoredShape shape() const override { return tools::read_npy_header(path()).shape; }
  /// \copydoc TensorFile::shape_for()
  [[nodiscard]] StoredShape shape_for(const ElementType& wanted) const override {
    return header_for(wanted).shape;
  }

  /// \copydoc TensorFile::read()
  void read(const StoredShape& shape, const Box& box, void* into) const override {
    const tools::NpyHeader header = header_for(shape.element);
    tools::check_still(header.shape, shape, box, path());
    tools::read_box(path(), header.elements, box, shape.element.bytes, into, path());
  }

  [[nodiscard]] PartialFile begin(const StoredShape& shape,
                                  const std::source_location& where) const override {
    return tools::begin_file(path(), tools::npy_begin(path(), shape, where),
                             Box::whole(shape.bound).size() * shape.element.bytes, where);
  }

 private:
  [[nodiscard]] tools::NpyHeader header_for(const ElementType& wanted) const {
    tools::NpyHeader header = tools::read_npy_header(path());
    if (header.are_bytes && wanted == element_type<std::uint8_t>()) header.shape.element = wanted;
    return header;
  }
};

/// Reads a .npy file, the elements in row-major order whatever their order in the file. The tensor
/// is called as the file, without its folder and ending.
/// \throws Error, which begins with the path, if the file cannot be read, is no .npy file, is cut
///   short, or has elements that NpyFile does not have.
[[nodiscard]] inline StoredTensor read_npy(const std::filesystem::path& path) {
  const NpyFile file(path);
  const StoredShape shape = file.shape();
  const Box whole = Box::whole(shape.bound);
  StoredTensor tensor{Text(path.stem().string()), shape.element, shape.bound, {}};
  tensor.bytes.resize(static_cast<std::size_t>(whole.size() * shape.element.bytes));
  file.read(shape, whole, tensor.bytes.data());
  return tensor;
}

/// Writes one, which replaces what was there as a whole or, on an error, not at all.
/// \throws Error if it cannot be written, or NumPy has no such elements.
inline void write_npy(const std::filesystem::path& path, const StoredTensor& tensor,
                      std::source_location where = std::source_location::current()) {
  tensor.check(where);
  const std::string begin = tools::npy_begin(path.string(), {tensor.element, tensor.bound}, where);
  tools::replace_file(path, {begin, tensor.bytes}, "a tensor", where);
}

}  // namespace eindecomp
