// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// JSON files read strictly: every error names the file and the place in it. Needs nlohmann-json.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/tools/write_file.hpp"

namespace eindecomp::tools {

/// A value of a file as JSON, shortened, on one line whatever it holds.
[[nodiscard]] inline std::string quoted_json(const nlohmann::ordered_json& value) {
  constexpr std::size_t most = 60;
  using Json = nlohmann::ordered_json;
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > most) text = text.substr(0, most - 3) + "...";
  return text;
}

/// JSON to be written to a file. \param indent  as nlohmann-json has it; -1 for one line
/// \throws Error if a text in it, such as a tensor's name, is not UTF-8.
[[nodiscard]] inline std::string dump_json(const nlohmann::ordered_json& json, int indent,
                                           std::string_view what,
                                           const std::source_location& where) {
  try {
    return json.dump(indent);
  } catch (const nlohmann::ordered_json::exception&) {
    core::fail(ErrorKind::io, where, "cannot write ", std::string(what),
               " (a name or a text in it is not UTF-8, which JSON is); give it one that is");
  }
}

/// What is wrong with text that names something; empty if nothing is.
[[nodiscard]] inline std::string name_fault(std::string_view name) {
  if (name.empty()) return "the text is empty; give it a character at least";
  const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::ranges::none_of(name, control)) return {};
  return quoted_json(name) +
         " has a control character (names are printed on one line); leave it out";
}

/// A value of a JSON file and where it stands. It refers to the file's values, which outlive it.
class JsonValue {
 public:
  using Json = nlohmann::ordered_json;

  /// The whole of a file.
  JsonValue(const Json& value, std::string_view file) : m_value(&value), m_file(file) {}

  /// Throws an error that speaks of this value.
  [[noreturn]] void fail(std::string_view sentence) const {
    fail_at(m_path.empty() ? m_file : m_file + ": " + m_path, sentence);
  }

  /// The value as its file has it, shortened.
  [[nodiscard]] std::string text() const { return quoted_json(*m_value); }

  /// \throws Error unless it is text, which may be empty or of several lines.
  [[nodiscard]] std::string any_string() const {
    if (!m_value->is_string()) refuse("text");
    return *m_value;
  }
  /// \throws Error unless it is text that is not empty and stays on one line.
  [[nodiscard]] std::string string() const {
    std::string text = any_string();
    if (const std::string fault = name_fault(text); !fault.empty()) fail(fault);
    return text;
  }

  [[nodiscard]] bool boolean() const {
    if (!m_value->is_boolean()) refuse("true or false");
    return *m_value;
  }

  /// Whether it is null.
  [[nodiscard]] bool is_null() const { return m_value->is_null(); }

  /// \throws Error unless it is a whole number of 64 bits.
  [[nodiscard]] Extent whole_number() const {
    if (!m_value->is_number_integer()) refuse("a whole number of 64 bits");
    if (m_value->is_number_unsigned() && !std::in_range<Extent>(m_value->get<std::uint64_t>())) {
      refuse("a whole number of 64 bits");
    }
    return *m_value;
  }

  /// \throws Error unless it is a whole number of 64 bits and at least 1.
  [[nodiscard]] Extent positive() const {
    const Extent number = whole_number();
    if (number < 1) fail(text() + " is not positive; give a whole number from 1 on");
    return number;
  }

  /// \throws Error unless it is a number.
  [[nodiscard]] double number() const {
    if (!m_value->is_number()) refuse("a number");
    return *m_value;
  }

  [[nodiscard]] std::vector<JsonValue> elements() const {
    if (!m_value->is_array()) refuse("a list");
    std::vector<JsonValue> found;
    for (const Json& element : *m_value) {
      found.push_back(inside(element, m_path + '[' + std::to_string(found.size()) + ']'));
    }
    return found;
  }

  [[nodiscard]] std::vector<std::pair<std::string, JsonValue>> members() const {
    if (!m_value->is_object()) refuse("an object");
    std::vector<std::pair<std::string, JsonValue>> found;
    for (const auto& [key, value] : m_value->items()) {
      found.emplace_back(key, inside(value, path_to(key)));
    }
    return found;
  }

  /// The member of an object, if there is one.
  [[nodiscard]] std::optional<JsonValue> find(const std::string& key) const {
    if (!m_value->is_object()) refuse("an object");
    const auto member = m_value->find(key);
    if (member == m_value->end()) return std::nullopt;
    return inside(*member, path_to(key));
  }
  /// \throws Error if the object lacks it.
  [[nodiscard]] JsonValue at(const std::string& key) const {
    if (std::optional<JsonValue> member = find(key)) return *member;
    fail("there is no \"" + key + "\"; add it");
  }

  /// A member that is text, if there is one: for a look ahead at what has not been checked yet.
  [[nodiscard]] std::optional<std::string> peek(const std::string& key) const {
    if (!m_value->is_object()) return std::nullopt;
    const auto member = m_value->find(key);
    if (member == m_value->end() || !member->is_string()) return std::nullopt;
    return member->get<std::string>();
  }
  /// Those elements of a member that are text, likewise.
  [[nodiscard]] std::vector<std::string> peek_elements(const std::string& key) const {
    std::vector<std::string> found;
    if (!m_value->is_object() || !m_value->contains(key)) return found;
    for (const Json& element : (*m_value)[key]) {
      if (element.is_string()) found.push_back(element);
    }
    return found;
  }

  /// \throws Error if the object has other members than these.
  void allow_only(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, value] : members()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      std::string keys;
      for (std::string_view name : known) keys += (keys.empty() ? "" : ", ") + std::string(name);
      fail(quoted_json(key) + " means nothing here; the members are " + keys);
    }
  }

 private:
  [[nodiscard]] JsonValue inside(const Json& value, std::string path) const {
    JsonValue found(value, m_file);
    found.m_path = std::move(path);
    return found;
  }

  [[noreturn]] void refuse(std::string_view wanted) const {
    fail(text() + " is not " + std::string(wanted));
  }

  [[nodiscard]] std::string path_to(const std::string& key) const {
    const auto plain = [](unsigned char c) {
      return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    if (key.empty() || !std::ranges::all_of(key, plain)) {
      return m_path + '[' + quoted_json(key) + ']';
    }
    return m_path.empty() ? key : m_path + '.' + key;
  }

  const Json* m_value;
  std::string m_file;
  std::string m_path;
};

/// Watches a parser for what JSON allows and no file of ours has: objects with a member twice, of
/// which readers keep one, and values nested deeper than any that means something.
class StrictParsing {
 public:
  using Json = nlohmann::ordered_json;

  explicit StrictParsing(std::string_view file) : m_file(file) {}

  /// To be called with every event of the parser. \throws Error at what is refused.
  void see(Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (m_open.size() == deepest) fail_at(m_file, "the values are nested too deep");
      m_open.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      m_open.pop_back();
    } else if (event == Event::key && !m_open.back().insert(parsed.get<std::string>()).second) {
      fail_at(m_file, "an object has the member " + quoted_json(parsed) +
                          " twice (only one would count); remove one of them");
    }
  }

 private:
  static constexpr std::size_t deepest = 16;

  std::string m_file;
  std::vector<std::set<std::string>> m_open;  // the members so far of what is not yet closed
};

/// What a parser of JSON complains of, as one line of plain characters.
[[nodiscard]] inline std::string complaint_text(std::string what) {
  constexpr std::size_t most = 200;
  // "[json.exception.parse_error.101] parse error at line 1, column 3: syntax error while …"
  if (const std::size_t end = what.find("] "); end != std::string::npos) what.erase(0, end + 2);
  if (what.size() > most) what = what.substr(0, most - 3) + "...";
  for (char& c : what) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) c = '?';
  }
  return what;
}

/// Parses a JSON file. \throws Error, with line and column, if it is none.
[[nodiscard]] inline nlohmann::ordered_json parse_json(std::string_view text,
                                                       std::string_view file) {
  using Json = nlohmann::ordered_json;
  // The parser would take it for the end.
  if (text.find('\0') != std::string_view::npos) {
    fail_at(std::string(file), "this is not JSON: it has a byte 0");
  }
  StrictParsing strict(file);
  try {
    return Json::parse(text, [&](int, Json::parse_event_t event, const Json& parsed) {
      strict.see(event, parsed);
      return true;
    });
  } catch (const Json::exception& error) {
    fail_at(std::string(file), "this is not JSON: " + complaint_text(error.what()));
  }
}

}  // namespace eindecomp::tools
