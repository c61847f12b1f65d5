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
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/graph/stored_tensor.hpp"
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
    {"F32", element_type<float>()},
    {"F64", element_type<double>()},
    {"I32", element_type<std::int32_t>()},
    {"I64", element_type<std::int64_t>()},
};

/// The elements of a file, by its header.
class SafetensorsReader {
 public:
  SafetensorsReader(std::string file, std::string_view content)
      : m_file(std::move(file)), m_content(content) {}

  [[nodiscard]] Safetensors read() {
    take_header();
    const auto json = parse_json(m_header, m_file);
    Safetensors read;
    std::vector<std::pair<std::uint64_t, StoredTensor>> found;
    for (const auto& [name, value] : JsonValue(json, m_file).members()) {
      if (name == "__metadata__") {
        for (const auto& [key, text] : value.members()) read.metadata[key] = text.string();
      } else {
        found.push_back(tensor(name, value));
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::uint64_t next = 0;
    for (auto& [begin, tensor] : found) {
      if (begin != next) {
        fail_at(m_file, Text("tensor ") + tensor.name + " begins at byte " +
                            static_cast<Extent>(begin) + " of the elements and the one before it " +
                            "ends at " + static_cast<Extent>(next) +
                            " (tensors lie one after another); write the file anew");
      }
      next += tensor.bytes.size();
      read.tensors.push_back(std::move(tensor));
    }
    if (next != m_elements.size()) {
      fail_at(m_file, Text("there are ") + static_cast<Extent>(m_elements.size()) +
                          " bytes of elements and the header speaks of " +
                          static_cast<Extent>(next) + "; write the file anew");
    }
    return read;
  }

 private:
  void take_header() {
    constexpr std::size_t length_bytes = 8;
    std::uint64_t length = 0;
    for (std::size_t n = 0; n < length_bytes && m_content.size() >= length_bytes; ++n) {
      length |= std::uint64_t{static_cast<unsigned char>(m_content[n])} << 8 * n;
    }
    if (m_content.size() < length_bytes || length > m_content.size() - length_bytes) {
      fail_at(m_file,
              "the file ends before its header does (it is cut short, or no safetensors); "
              "name another");
    }
    m_header = m_content.substr(length_bytes, length);
    m_elements = m_content.substr(length_bytes + length);
  }

  /// A tensor, and where its elements begin.
  [[nodiscard]] std::pair<std::uint64_t, StoredTensor> tensor(const std::string& name,
                                                              const JsonValue& value) const {
    StoredTensor made{Text(name), type(value.at("dtype")), {}, {}};
    auto bytes = static_cast<std::uint64_t>(made.element.bytes);
    for (const JsonValue& extent : value.at("shape").elements()) {
      made.bound.push_back(extent.positive());
      const auto n = static_cast<std::uint64_t>(made.bound.back());
      if (bytes > std::numeric_limits<std::uint64_t>::max() / n) {
        extent.fail("the tensor has more bytes than 64 bits count; write the file anew");
      }
      bytes *= n;
    }
    const JsonValue place = value.at("data_offsets");
    const std::vector<JsonValue> ends = place.elements();
    if (ends.size() != 2) place.fail("there are two offsets, of the first byte and past the last");
    const Extent begin = ends[0].whole_number();
    const Extent end = ends[1].whole_number();
    if (begin < 0 || end < begin || static_cast<std::uint64_t>(end) > m_elements.size() ||
        static_cast<std::uint64_t>(end - begin) != bytes) {
      place.fail(Text("the tensor has ") + static_cast<Extent>(bytes) + " bytes and the file " +
                 static_cast<Extent>(m_elements.size()) +
                 " of elements, which the offsets do not fit; write the file anew");
    }
    made.bytes = m_elements.substr(static_cast<std::size_t>(begin), bytes);
    return {static_cast<std::uint64_t>(begin), std::move(made)};
  }
  [[nodiscard]] static ElementType type(const JsonValue& value) {
    const std::string name = value.string();
    for (const SafetensorsType& known : safetensors_types) {
      if (known.name == name) return known.element;
    }
    value.fail(name +
               " is no type of elements known here (F32, F64, I32 and I64 are); convert the "
               "tensor");
  }

  std::string m_file;
  std::string_view m_content;
  std::string_view m_header;
  std::string_view m_elements;
};

/// A file's content.
[[nodiscard]] inline std::string to_safetensors(const Safetensors& file,
                                                const std::source_location& where) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::size_t next = 0;
  for (const StoredTensor& tensor : file.tensors) {
    const auto type =
        std::find_if(std::begin(safetensors_types), std::end(safetensors_types),
                     [&](const SafetensorsType& known) { return known.element == tensor.element; });
    if (type == std::end(safetensors_types)) {
      core::fail(ErrorKind::io,
                 Text("tensor ") + tensor.name + " has elements " +
                     expr::element_text(tensor.element) +
                     " (safetensors are written of float, double and integers of 32 and 64 bits); "
                     "convert it by cast",
                 where);
    }
    const std::string name = tensor.name.str();
    if (header.contains(name)) {
      core::fail(ErrorKind::io,
                 Text("two tensors are called ") + tensor.name + "; give each another name", where);
    }
    header[name] = {{"dtype", type->name},
                    {"shape", tensor.bound},
                    {"data_offsets", {next, next + tensor.bytes.size()}}};
    next += tensor.bytes.size();
  }
  std::string text = header.dump();
  while (text.size() % 8 != 0) text += ' ';  // so that elements are aligned
  std::string content;
  content.reserve(8 + text.size() + next);
  for (std::size_t n = 0; n < 8; ++n) {
    content += static_cast<char>(std::uint64_t{text.size()} >> 8 * n & 0xFFU);
  }
  content += text;
  for (const StoredTensor& tensor : file.tensors) content += tensor.bytes;
  return content;
}

}  // namespace tools

/// Reads a file of the format safetensors.
/// \throws Error, which begins with the path, if it cannot be read, is damaged, or has elements
///   other than float, double and integers of 32 and 64 bits.
[[nodiscard]] inline Safetensors read_safetensors(const std::filesystem::path& path) {
  const std::string content = tools::read_file(path);
  return tools::SafetensorsReader(path.string(), content).read();
}

/// Writes one, which replaces what was there as a whole or, on an error, not at all.
/// \throws Error if it cannot be written, two tensors share a name, or one has other elements than
///   read_safetensors() takes.
inline void write_safetensors(const std::filesystem::path& path, const Safetensors& file,
                              std::source_location where = std::source_location::current()) {
  tools::replace_file(path, tools::to_safetensors(file, where), "tensors", where);
}

/// Writes a checkpoint as safetensors; its steps are in the metadata.
/// \throws Error as write_safetensors().
inline void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint,
                             std::source_location where = std::source_location::current()) {
  const Safetensors file{checkpoint.tensors, {{"steps", std::to_string(checkpoint.steps)}}};
  tools::replace_file(path, tools::to_safetensors(file, where), "a checkpoint", where);
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

}  // namespace eindecomp
