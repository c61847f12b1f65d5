// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a text is a program as docs/tools.md describes it, decided slowly and obviously. Shares
// nothing with the reader but the parser of JSON, of which it takes the events.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace eindecomp_tests {

/// A JSON value that keeps every member, also those of equal name.
struct JsonNode {
  enum class Type { null, boolean, whole, other_number, text, list, object };
  Type type = Type::null;
  bool truth = false;
  std::int64_t number = 0;
  std::string text;
  std::vector<std::pair<std::string, JsonNode>> members;  // of a list with empty names
};

/// Builds nodes from a parser's events.
class NodeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonNode root;

  bool null() override { return add({}); }
  bool boolean(bool value) override { return add({JsonNode::Type::boolean, value, 0, {}, {}}); }
  bool number_integer(std::int64_t value) override { return add(whole(value)); }
  bool number_unsigned(std::uint64_t value) override {
    if (value > static_cast<std::uint64_t>(INT64_MAX)) return number_float(0, {});
    return add(whole(static_cast<std::int64_t>(value)));
  }
  bool number_float(double, const std::string&) override {
    return add({JsonNode::Type::other_number, false, 0, {}, {}});
  }
  bool string(std::string& value) override {
    return add({JsonNode::Type::text, false, 0, value, {}});
  }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonNode::Type::object); }
  bool start_array(std::size_t) override { return open(JsonNode::Type::list); }
  bool key(std::string& name) override {
    m_key = name;
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  static JsonNode whole(std::int64_t value) {
    return {JsonNode::Type::whole, false, value, {}, {}};
  }
  bool add(JsonNode node) {
    if (m_open.empty()) {
      root = std::move(node);
    } else {
      m_open.back().second.members.emplace_back(std::exchange(m_key, {}), std::move(node));
    }
    return true;
  }
  bool open(JsonNode::Type type) {
    JsonNode node;
    node.type = type;
    m_open.emplace_back(std::exchange(m_key, {}), std::move(node));
    return true;
  }
  bool close() {
    auto [name, node] = std::move(m_open.back());
    m_open.pop_back();
    m_key = name;
    return add(std::move(node));
  }

  std::vector<std::pair<std::string, JsonNode>> m_open;
  std::string m_key;
};

/// The labels of an einsum string; `ok` is false if it is none.
struct PlainEinsum {
  bool ok = false;
  std::vector<std::string> operands;
  std::string output;
};

inline PlainEinsum read_einsum(std::string_view text) {
  PlainEinsum found;
  std::vector<std::string> parts{""};
  bool arrow = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '-' && i + 1 < text.size() && text[i + 1] == '>') {
      if (arrow) return found;
      arrow = true;
      ++i;
      parts.emplace_back();
    } else if (c == ',') {
      if (arrow) return found;
      parts.emplace_back();
    } else if (('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z')) {
      parts.back() += c;
    } else {
      return found;
    }
  }
  std::map<char, int> count;
  found.operands = parts;
  if (arrow) {
    found.output = parts.back();
    found.operands.pop_back();
  }
  for (const std::string& operand : found.operands) {
    if (operand.size() > 8) return found;
    for (char label : operand) ++count[label];
  }
  if (!arrow) {
    for (const auto& [label, times] : count) {
      if (times == 1) found.output += label;
    }
  }
  const std::set<char> distinct(found.output.begin(), found.output.end());
  for (char label : distinct) {
    if (count[label] == 0) return found;
  }
  found.ok = distinct.size() == found.output.size() && found.output.size() <= 8 &&
             found.operands.size() <= 8;
  return found;
}

/// Decides on one text.
class ProgramValidity {
 public:
  explicit ProgramValidity(std::string_view text) {
    NodeBuilder builder;
    valid = nlohmann::json::sax_parse(text, &builder) && program(builder.root);
  }

  bool valid = false;
  std::map<std::string, std::vector<std::int64_t>> tensors;
  std::set<char> uncut;
  bool has_layout = false;
  std::int64_t largest = 0;  ///< of all tensors, in elements

 private:
  using Type = JsonNode::Type;

  static const JsonNode* member(const JsonNode& object, std::string_view name) {
    for (const auto& [key, value] : object.members) {
      if (key == name) return &value;
    }
    return nullptr;
  }
  static bool has_only(const JsonNode& object, const std::set<std::string>& names) {
    std::set<std::string> seen;
    if (object.type != Type::object) return false;
    for (const auto& [key, value] : object.members) {
      if (!names.contains(key) || !seen.insert(key).second) return false;
    }
    return true;
  }
  static bool good_name(const std::string& name) {
    for (unsigned char c : name) {
      if (c < 32 || c == 127) return false;
    }
    return !name.empty();
  }
  static bool good_text(const JsonNode* node) {
    return node != nullptr && node->type == Type::text && good_name(node->text);
  }
  static bool fits(const std::vector<std::int64_t>& extents) {
    __extension__ using Wide = __int128;
    Wide product = 1;
    for (std::int64_t extent : extents) {
      product *= extent;
      if (product > INT64_MAX) return false;
    }
    return true;
  }
  bool add_tensor(const std::string& name, const std::vector<std::int64_t>& bound) {
    if (!good_name(name) || bound.size() > 8 || !fits(bound)) return false;
    std::int64_t size = 1;
    for (std::int64_t extent : bound) size *= extent;
    largest = std::max(largest, size);
    return tensors.emplace(name, bound).second;
  }
  static bool positive_list(const JsonNode& node, std::vector<std::int64_t>& numbers) {
    if (node.type != Type::list) return false;
    for (const auto& [key, value] : node.members) {
      if (value.type != Type::whole || value.number < 1) return false;
      numbers.push_back(value.number);
    }
    return true;
  }

  bool program(const JsonNode& root) {
    if (!has_only(root, {"inputs", "statements", "roles", "uncut", "layout"})) return false;
    const JsonNode* inputs = member(root, "inputs");
    const JsonNode* statements = member(root, "statements");
    if (inputs == nullptr || inputs->type != Type::object) return false;
    for (const auto& [name, extents] : inputs->members) {
      std::vector<std::int64_t> bound;
      if (!positive_list(extents, bound) || !add_tensor(name, bound)) return false;
    }
    const auto input_bounds = tensors;
    if (statements == nullptr || statements->type != Type::list || statements->members.empty()) {
      return false;
    }
    for (const auto& [key, node] : statements->members) {
      if (!statement(node)) return false;
    }
    if (const JsonNode* roles = member(root, "roles")) {
      std::set<std::string> seen;
      if (roles->type != Type::object) return false;
      for (const auto& [label, role] : roles->members) {
        if (!is_label(label) || !good_text(&role) || !seen.insert(label).second) return false;
      }
    }
    if (const JsonNode* list = member(root, "uncut")) {
      if (list->type != Type::list) return false;
      for (const auto& [key, label] : list->members) {
        if (label.type != Type::text || !is_label(label.text)) return false;
        if (!uncut.insert(label.text[0]).second) return false;
      }
    }
    if (const JsonNode* layout = member(root, "layout")) {
      std::set<std::string> seen;
      if (layout->type != Type::object) return false;
      for (const auto& [name, node] : layout->members) {
        const auto input = input_bounds.find(name);
        std::vector<std::int64_t> parts;
        if (input == input_bounds.end() || !seen.insert(name).second) return false;
        if (!positive_list(node, parts) || parts.size() != input->second.size()) return false;
        for (std::size_t k = 0; k < parts.size(); ++k) {
          if (parts[k] > input->second[k]) return false;
        }
        has_layout = true;
      }
    }
    return true;
  }

  bool is_label(const std::string& name) const {
    return name.size() == 1 && m_labels.contains(name[0]);
  }

  bool statement(const JsonNode& node) {
    if (!has_only(node, {"name", "einsum", "operands", "join", "aggregate", "elementwise"})) {
      return false;
    }
    const JsonNode* name = member(node, "name");
    const JsonNode* form = member(node, "einsum");
    const JsonNode* operands = member(node, "operands");
    if (!good_text(name) || !good_text(form)) return false;
    if (operands == nullptr || operands->type != Type::list) return false;
    const PlainEinsum einsum = read_einsum(form->text);
    const std::size_t count = einsum.operands.size();
    if (!einsum.ok || operands->members.size() != count) return false;
    std::map<char, std::int64_t> extents;
    for (std::size_t o = 0; o < count; ++o) {
      const JsonNode& operand = operands->members[o].second;
      if (operand.type != Type::text) return false;
      const auto tensor = tensors.find(operand.text);
      if (tensor == tensors.end()) return false;
      if (tensor->second.size() != einsum.operands[o].size()) return false;
      for (std::size_t k = 0; k < tensor->second.size(); ++k) {
        const auto [known, fresh] = extents.emplace(einsum.operands[o][k], tensor->second[k]);
        if (known->second != tensor->second[k]) return false;
      }
    }
    std::vector<std::int64_t> bound;
    std::vector<std::int64_t> all;
    for (char label : einsum.output) bound.push_back(extents[label]);
    for (const auto& [label, extent] : extents) {
      all.push_back(extent);
      m_labels.insert(label);
    }
    const std::size_t aggregated = extents.size() - einsum.output.size();
    return fits(all) && operators(node, count, aggregated) && add_tensor(name->text, bound);
  }

  static bool operators(const JsonNode& node, std::size_t operands, std::size_t aggregated) {
    static const std::map<std::string, std::pair<std::size_t, std::size_t>> arity{
        {"identity", {1, 1}}, {"exp", {1, 1}},     {"log", {1, 1}},   {"tanh", {1, 1}},
        {"relu", {1, 1}},     {"mul", {2, 8}},     {"add", {2, 8}},   {"sub", {2, 2}},
        {"div", {2, 2}},      {"min", {2, 2}},     {"max", {2, 2}},   {"abs_diff", {2, 2}},
        {"sq_diff", {2, 2}},  {"square", {1, 1}},  {"sin", {1, 1}},   {"cos", {1, 1}},
        {"erf", {1, 1}},      {"sigmoid", {1, 1}}, {"silu", {1, 1}},  {"gelu", {1, 1}},
        {"floor", {1, 1}},    {"ceil", {1, 1}},    {"round", {1, 1}}, {"sign", {1, 1}},
        {"pow", {2, 2}},      {"mod", {2, 2}},     {"clip", {3, 3}}};
    if (const JsonNode* join = member(node, "join")) {
      if (!good_text(join)) return false;
      const auto known = arity.find(join->text);
      if (known != arity.end() &&
          (operands < known->second.first || operands > known->second.second)) {
        return false;
      }
    }
    if (const JsonNode* aggregate = member(node, "aggregate")) {
      if (!good_text(aggregate) || aggregated == 0) return false;
      if ((aggregate->text == "argmin" || aggregate->text == "argmax") && aggregated != 1) {
        return false;
      }
    }
    if (const JsonNode* elementwise = member(node, "elementwise")) {
      if (elementwise->type != Type::boolean) return false;
      if (elementwise->truth && aggregated != 0) return false;
    }
    return true;
  }

  std::set<char> m_labels;
};

}  // namespace eindecomp_tests
