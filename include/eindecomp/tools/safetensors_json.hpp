// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Tensors in files of the format safetensors, which PyTorch's and JAX's users read and write, and
/// checkpoints as such files. Needs nlohmann-json.
///
/// A file is the length of its header (8 bytes, the lowest first), the header, a JSON object of
/// each tensor's type, extents and place, and the tensors' elements, one tensor after another.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/graph/stored_tensor.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/tensor_file.hpp"
#include "eindecomp/tools/file_boxes.hpp"
#include "eindecomp/tools/json_value.hpp"
#include "eindecomp/tools/write_file.hpp"

namespace eindecomp {

/// What a file of the format safetensors holds.
struct Safetensors {
  std::vector<StoredTensor> tensors;            ///< in the order of their elements
  std::map<std::string, std::string> metadata;  ///< texts by name
};

namespace tools {

static_assert(std::endian::native == std::endian::little,
              "EinDecomp: safetensors have the lowest byte of a number first, and so must the "
              "machine; leave the header out on this one");

/// The types of elements that files may have, by the format's names.
struct SafetensorsType {
  std::string_view name;
  ElementType element;
};
inline constexpr SafetensorsType safetensors_types[] = {
    {"F32", element_type<float>()},        {"F64", element_type<double>()},
    {"I32", element_type<std::int32_t>()}, {"I64", element_type<std::int64_t>()},
    {"F16", element_type<float16>()},      {"BF16", element_type<bfloat16>()},
};

/// A tensor as a header describes it.
struct SafetensorsEntry {
  Text name;
  StoredShape shape;
  std::uint64_t begin = 0;  ///< of its elements, in bytes from where elements begin
  std::uint64_t bytes = 0;
  Text fault = {};  ///< why it cannot be read, though others of the file can; empty: it can
};

/// What a file has in its header.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  ///< in the order of their elements
  std::map<std::string, std::string> metadata;
  std::uint64_t length = 0;  ///< of all that stands before the elements, in bytes
};

/// Reads a header.
class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::filesystem::path& path) : m_file(path.string()) {}

  [[nodiscard]] SafetensorsHeader read() {
    const std::string text = take_header();
    const auto json = parse_json(text, m_file);
    SafetensorsHeader read{{}, {}, length_bytes + text.size()};
    for (const auto& [name, value] : JsonValue(json, m_file).members()) {
      if (name == "__metadata__") {
        for (const auto& [key, said] : value.members()) read.metadata[key] = said.any_string();
      } else {
        read.tensors.push_back(tensor(name, value));
      }
    }
    std::stable_sort(read.tensors.begin(), read.tensors.end(), [](const auto& a, const auto& b) {
      return std::pair(a.begin, a.bytes) < std::pair(b.begin, b.bytes);
    });
    std::uint64_t next = 0;
    for (const SafetensorsEntry& tensor : read.tensors) {
      if (tensor.begin != next) {
        fail_at(m_file, Text("tensor ") + tensor.name + " begins at byte " +
                            static_cast<Extent>(tensor.begin) + " of the elements and the one " +
                            "before it ends at " + static_cast<Extent>(next) +
                            " (tensors lie one after another); write the file anew");
      }
      next += tensor.bytes;
    }
    if (next != m_elements) {
      fail_at(m_file, Text("there are ") + static_cast<Extent>(m_elements) +
                          " bytes of elements and the header speaks of " +
                          static_cast<Extent>(next) + "; write the file anew");
    }
    return read;
  }

 private:
  static constexpr std::size_t length_bytes = 8;
  static constexpr Extent max_header_bytes = 100'000'000;  // as the format's own library has it

  /// The header's text.
  [[nodiscard]] std::string take_header() {
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(m_file, failed);
    std::ifstream file(m_file, std::ios::binary);
    if (failed || !file) {
      fail_at(m_file, "the file cannot be read; name one that exists and is readable");
    }
    std::string begin(length_bytes, '\0');
    file.read(begin.data(), length_bytes);
    std::uint64_t length = 0;
    for (std::size_t n = 0; n < length_bytes; ++n) {
      length |= std::uint64_t{static_cast<unsigned char>(begin[n])} << 8 * n;
    }
    if (!file || length > size - length_bytes) {
      fail_at(m_file,
              "the file ends before its header does (it is cut short, or no safetensors); "
              "name another");
    }
    if (length > max_header_bytes) {
      fail_at(m_file, Text("its header has ") + static_cast<Extent>(length) +
                          " bytes, and those of safetensors at most " + max_header_bytes +
                          "; name another");
    }
    m_elements = size - length_bytes - length;
    std::string text(length, '\0');
    file.read(text.data(), static_cast<std::streamsize>(length));
    if (!file) fail_at(m_file, "the header cannot be read; write the file anew");
    return text;
  }

  [[nodiscard]] SafetensorsEntry tensor(const std::string& name, const JsonValue& value) const {
    SafetensorsEntry made{Text(name), {}};
    const std::optional<ElementType> element = type(value.at("dtype"), made.fault);
    if (element) made.shape.element = *element;
    std::uint64_t bytes = element ? static_cast<std::uint64_t>(element->bytes) : 0;
    for (const JsonValue& extent : value.at("shape").elements()) {
      made.shape.bound.push_back(extent.whole_number());
      const Extent n = made.shape.bound.back();
      if (n < 0) extent.fail("an extent is negative; write the file anew");
      if (n == 0) made.fault = "it has no elements, which tensors have here";
      if (n > 0 &&
          bytes > std::numeric_limits<std::uint64_t>::max() / static_cast<std::uint64_t>(n)) {
        extent.fail("the tensor has more bytes than 64 bits count; write the file anew");
      }
      bytes *= static_cast<std::uint64_t>(n);
    }
    const JsonValue place = value.at("data_offsets");
    const std::vector<JsonValue> ends = place.elements();
    if (ends.size() != 2) place.fail("there are two offsets, of the first byte and past the last");
    const Extent begin = ends[0].whole_number();
    const Extent end = ends[1].whole_number();
    const bool fits = begin >= 0 && begin <= end && static_cast<std::uint64_t>(end) <= m_elements;
    if (!element && fits) bytes = static_cast<std::uint64_t>(end - begin);
    if (!fits || static_cast<std::uint64_t>(end - begin) != bytes) {
      place.fail(Text("the tensor has ") + static_cast<Extent>(bytes) + " bytes and the file " +
                 static_cast<Extent>(m_elements) +
                 " of elements, which the offsets do not fit; write the file anew");
    }
    made.begin = static_cast<std::uint64_t>(begin);
    made.bytes = bytes;
    return made;
  }
  [[nodiscard]] static std::optional<ElementType> type(const JsonValue& value, Text& fault) {
    const std::string name = value.string();
    for (const SafetensorsType& known : safetensors_types) {
      if (known.name == name) return known.element;
    }
    fault = Text(name) +
            " is no type of elements known here (F16, BF16, F32, F64, I32 and I64 are); convert "
            "the tensor";
    return std::nullopt;
  }

  std::string m_file;
  std::uint64_t m_elements = 0;  ///< bytes of them
};

/// \throws Error if the tensor cannot be read.
inline void check_readable(const SafetensorsEntry& tensor, const std::string& file) {
  if (!tensor.fault.empty()) fail_at(file, "tensor " + tensor.name + ": " + tensor.fault);
}

/// Where the elements of a tensor lie in a file.
[[nodiscard]] inline FileElements elements_of(const SafetensorsHeader& header,
                                              const SafetensorsEntry& tensor) {
  return {static_cast<std::int64_t>(header.length + tensor.begin), tensor.shape.bound, false,
          static_cast<int>(tensor.shape.element.bytes)};
}

/// Adds a tensor to a header. \returns one past its last byte.
inline std::size_t add_tensor(nlohmann::ordered_json& header, const Text& tensor,
                              const StoredShape& shape, std::size_t begin,
                              const std::source_location& where) {
  const auto* const type =
      std::find_if(std::begin(safetensors_types), std::end(safetensors_types),
                   [&](const SafetensorsType& known) { return known.element == shape.element; });
  if (type == std::end(safetensors_types)) {
    core::fail(
        ErrorKind::io,
        Text("tensor ") + tensor + " has elements " + expr::element_text(shape.element) +
            " (safetensors are written of float, double, float16, bfloat16 and integers of 32 and "
            "64 bits); convert it by cast",
        where);
  }
  const std::string name = tensor.str();
  if (name == "__metadata__") {
    core::fail(ErrorKind::io,
               "a tensor is called __metadata__ (the format has texts under that name); give it "
               "another name",
               where);
  }
  if (header.contains(name)) {
    core::fail(ErrorKind::io, Text("two tensors are called ") + tensor + "; give each another name",
               where);
  }
  const std::size_t end =
      begin + static_cast<std::size_t>(Box::whole(shape.bound).size() * shape.element.bytes);
  header[name] = {{"dtype", type->name}, {"shape", shape.bound}, {"data_offsets", {begin, end}}};
  return end;
}

/// What stands before the elements.
/// \throws Error if a name or the metadata are not UTF-8.
[[nodiscard]] inline std::string safetensors_begin(const nlohmann::ordered_json& header,
                                                   const std::source_location& where) {
  std::string text = dump_json(header, -1, "safetensors", where);
  while (text.size() % 8 != 0) text += ' ';  // so that elements are aligned
  std::string begin;
  for (std::size_t n = 0; n < 8; ++n) {
    begin += static_cast<char>(std::uint64_t{text.size()} >> 8 * n & 0xFFU);
  }
  return begin + text;
}

/// Writes a file of tensors.
/// \param what  what it holds, for the message
inline void replace_safetensors(const std::filesystem::path& path,
                                const std::vector<StoredTensor>& tensors,
                                const std::map<std::string, std::string>& metadata,
                                std::string_view what, const std::source_location& where) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t next = 0;
  std::vector<std::string_view> parts(1);
  for (const StoredTensor& tensor : tensors) {
    tensor.check(where);
    next = add_tensor(header, tensor.name, {tensor.element, tensor.bound}, next, where);
    parts.push_back(tensor.bytes);
  }
  const std::string begin = safetensors_begin(header, where);
  parts.front() = begin;
  replace_file(path, parts, what, where);
}

}  // namespace tools

/// Reads a file of the format safetensors.
/// \throws Error, which begins with the path, if it cannot be read, is damaged, or has elements
///   other than float, double, float16, bfloat16 and integers of 32 and 64 bits.
[[nodiscard]] inline Safetensors read_safetensors(const std::filesystem::path& path) {
  tools::SafetensorsHeader header = tools::SafetensorsReader(path).read();
  Safetensors read{{}, std::move(header.metadata)};
  for (const tools::SafetensorsEntry& tensor : header.tensors) {
    tools::check_readable(tensor, path.string());
    StoredTensor& made = read.tensors.emplace_back(
        StoredTensor{tensor.name, tensor.shape.element, tensor.shape.bound, {}});
    made.bytes.resize(tensor.bytes);
    tools::read_box(path, tools::elements_of(header, tensor), Box::whole(made.bound),
                    made.element.bytes, made.bytes.data(), path.string());
  }
  return read;
}

/// Writes one, which replaces what was there as a whole or, on an error, not at all.
/// \throws Error if it cannot be written, two tensors share a name, or one has other elements than
///   read_safetensors() takes.
inline void write_safetensors(const std::filesystem::path& path, const Safetensors& file,
                              std::source_location where = std::source_location::current()) {
  tools::replace_safetensors(path, file.tensors, file.metadata, "tensors", where);
}

/// Writes a checkpoint as safetensors; its steps are in the metadata.
/// \throws Error as write_safetensors().
inline void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint,
                             std::source_location where = std::source_location::current()) {
  tools::replace_safetensors(path, checkpoint.tensors,
                             {{"steps", std::to_string(checkpoint.steps)}}, "a checkpoint", where);
}

/// Reads one back, bit for bit. \throws Error as read_safetensors(), and if no steps are noted.
[[nodiscard]] inline Checkpoint read_checkpoint(const std::filesystem::path& path) {
  Safetensors file = read_safetensors(path);
  const auto steps = file.metadata.find("steps");
  const bool is_number = steps != file.metadata.end() && !steps->second.empty() &&
                         steps->second.size() <= 18 &&
                         steps->second.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) {
    tools::fail_at(path.string(),
                   "the metadata have no number of steps (it is no checkpoint); name one that "
                   "write_checkpoint() wrote");
  }
  return {std::stoll(steps->second), std::move(file.tensors)};
}

/// One tensor of a file of the format safetensors, by its name, whatever the others are:
/// `bind_file(W, SafetensorsFile("model.safetensors", "W"))`. What is written is a file of this
/// tensor alone.
class SafetensorsFile final : public tools::DenseFile<TensorFile> {
 public:
  /// The tensor of that name in the file of that path, which need not exist before it is written.
  SafetensorsFile(const std::filesystem::path& path, std::string tensor)
      : DenseFile(path), m_tensor(std::move(tensor)) {}

  /// \copydoc WrittenFile::name()
  [[nodiscard]] std::string name() const override { return path() + ": " + m_tensor; }
  /// \copydoc TensorFile::shape()
  [[nodiscard]] StoredShape shape() const override {
    return find(tools::SafetensorsReader(path()).read()).shape;
  }
  /// \copydoc TensorFile::read()
  void read(const StoredShape& shape, const Box& box, void* into) const override {
    const tools::SafetensorsHeader header = tools::SafetensorsReader(path()).read();
    const tools::SafetensorsEntry& found = find(header);
    tools::check_still(found.shape, shape, box, name());
    tools::read_box(path(), tools::elements_of(header, found), box, shape.element.bytes, into,
                    name());
  }
  [[nodiscard]] PartialFile begin(const StoredShape& shape,
                                  const std::source_location& where) const override {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    const std::size_t bytes = tools::add_tensor(header, Text(m_tensor), shape, 0, where);
    return tools::begin_file(path(), tools::safetensors_begin(header, where),
                             static_cast<std::int64_t>(bytes), where);
  }

 private:
  [[nodiscard]] const tools::SafetensorsEntry& find(const tools::SafetensorsHeader& header) const {
    Text names;
    for (const tools::SafetensorsEntry& tensor : header.tensors) {
      if (tensor.name == Text(m_tensor)) {
        tools::check_readable(tensor, path());
        return tensor;
      }
      names += (names.empty() ? "" : ", ") + tensor.name;
    }
    tools::fail_at(path(), "the file has no tensor " + Text(m_tensor) + " (it has " + names +
                               "); name one of them");
  }

  std::string m_tensor;
};

/// A file of the format safetensors with several results of a run: `save(run, {W, B},
/// SafetensorsArchive("model.safetensors"))`. They are read by SafetensorsFile.
class SafetensorsArchive final : public tools::DenseFile<TensorArchive> {
 public:
  /// The file of that path, which save() replaces.
  explicit SafetensorsArchive(const std::filesystem::path& path) : DenseFile(path) {}

  /// \copydoc WrittenFile::name()
  [[nodiscard]] std::string name() const override { return path(); }
  [[nodiscard]] std::vector<PartialFile> begin(const std::vector<NamedShape>& tensors,
                                               const std::source_location& where) const override {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    std::vector<std::size_t> ends{0};
    for (const NamedShape& tensor : tensors) {
      ends.push_back(tools::add_tensor(header, tensor.name, tensor.shape, ends.back(), where));
    }
    const PartialFile begun = tools::begin_file(path(), tools::safetensors_begin(header, where),
                                                static_cast<std::int64_t>(ends.back()), where);
    std::vector<PartialFile> partial(tensors.size(), begun);
    for (std::size_t n = 0; n < tensors.size(); ++n) {
      partial[n].offset += static_cast<std::int64_t>(ends[n]);
    }
    return partial;
  }
};

}  // namespace eindecomp
