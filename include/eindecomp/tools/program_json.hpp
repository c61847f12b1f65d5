// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Programs as JSON (docs/tools.md has the format). Needs nlohmann-json.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/einsum_string.hpp"
#include "eindecomp/graph/builder.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/relation/instruction_work.hpp"
#include "eindecomp/tools/blocks_json.hpp"
#include "eindecomp/tools/json_value.hpp"
#include "eindecomp/tools/named_operators.hpp"
#include "eindecomp/tools/rewritten_statement.hpp"

namespace eindecomp {

/// A program read from a file, and what the file says of where its inputs lie.
struct JsonProgram {
  EinGraph graph;                     ///< its inputs and statements
  std::vector<TensorLayout> layouts;  ///< for DecomposeOptions::layouts
};

namespace tools {

/// Writes the program of one file.
class ProgramReader {
 public:
  ProgramReader(JsonValue file, bool rewrite)
      : m_file(std::move(file)),
        m_rewrite(rewrite),
        m_program(LoweringOptions{.share_subexpressions = rewrite}) {}

  [[nodiscard]] JsonProgram read() {
    m_file.allow_only({"inputs", "statements", "roles", "uncut", "layout"});
    for (const auto& [name, extents] : m_file.at("inputs").members()) add_input(name, extents);
    m_statements = m_file.at("statements").elements();
    if (m_statements.empty()) m_file.at("statements").fail("there is no statement; add one");
    for (const JsonValue& statement : m_statements) add_statement(statement);
    // What shares a vertex with a statement that is read stays a result.
    for (const auto& [name, v] : m_unread) {
      graph().vertices[static_cast<std::size_t>(v)].kept |= m_rewrite;
    }
    if (const auto roles = m_file.find("roles")) {
      for (const auto& [label, role] : roles->members()) {
        for (LabelInfo* info : labels_named(label, role)) info->role = role.string();
      }
    }
    if (const auto uncut = m_file.find("uncut")) read_uncut(*uncut);
    JsonProgram program{graph(), {}};
    if (const auto layout = m_file.find("layout")) {
      for (const auto& [name, parts] : layout->members()) {
        program.layouts.emplace_back(name, input_parts(name, parts));
      }
    }
    return program;
  }

 private:
  [[nodiscard]] EinGraph& graph() { return m_program.state()->graph; }

  /// Runs what checks by the rules of the graph, whose errors then name the place in the file.
  template <class F>
  static auto at(const JsonValue& place, const F& f) {
    try {
      return f();
    } catch (const Error& error) {
      place.fail(error.sentence());
    }
  }

  void add_input(const std::string& name, const JsonValue& extents) {
    check_name(name, extents);
    std::vector<Extent> bound;
    for (const JsonValue& extent : extents.elements()) bound.push_back(extent.positive());
    m_tensors.emplace(name, at(extents, [&] {
                        return graph().add_input(name, bound, element_type<float>(),
                                                 std::source_location{});
                      }));
  }

  /// \throws Error if a name cannot be one or is taken.
  void check_name(const std::string& name, const JsonValue& place) const {
    if (const std::string fault = name_fault(name); !fault.empty()) place.fail(fault);
    if (m_tensors.contains(name)) {
      place.fail("there is a tensor " + quoted_json(name) +
                 " already (statements name their operands); choose another name");
    }
  }

  void add_statement(const JsonValue& statement) {
    if (statement.find("blocks")) {
      add_blocks(statement);
      return;
    }
    statement.allow_only({"name", "einsum", "operands", "join", "aggregate", "elementwise"});
    const JsonValue name = statement.at("name");
    check_name(name.string(), name);
    StatementSpec spec;
    spec.name = name.string();
    spec.where = std::source_location{};
    const JsonValue einsum = statement.at("einsum");
    const std::string text = einsum.string();
    const ParsedEinsum parsed = parse_labels(einsum, text);
    const JsonValue operands = statement.at("operands");
    const std::vector<JsonValue> names = operands.elements();
    if (names.size() != parsed.operands.size()) {
      operands.fail(Text() << names.size() << " tensors for the " << parsed.operands.size()
                           << " operands of \"" << text << "\"; give each its tensor");
    }
    for (std::size_t o = 0; o < names.size(); ++o) {
      spec.operands.push_back({find_tensor(names[o], statement), parsed.operands[o]});
    }
    for (std::string_view label : parsed.output) spec.output.push_back({label, 0});
    const std::size_t aggregated = expr::aggregated_names(parsed.operands, parsed.output).size();
    if (const auto elementwise = statement.find("elementwise")) {
      if (elementwise->boolean() && aggregated != 0) {
        elementwise->fail(Text() << '"' << text << "\" aggregates " << aggregated
                                 << " of its labels (an element-wise statement keeps all); write "
                                    "them into the output, or leave this out");
      }
    }
    read_operator(statement, spec, aggregated);
    const VertexId v = at(einsum, [&] { return write(spec); });
    check_points(v, einsum);
    finish_statement(name.string(), v, names);
  }
  void finish_statement(const std::string& name, VertexId v, const std::vector<JsonValue>& reads) {
    m_tensors.emplace(name, v);
    for (const JsonValue& operand : reads) m_unread.erase(operand.string());
    m_unread.emplace(name, v);
  }

  /// Writes a tensor that is put together from blocks.
  void add_blocks(const JsonValue& statement) {
    const JsonValue name = statement.at("name");
    check_name(name.string(), name);
    const StatedBlocks stated = read_blocks(statement, graph(), [&](const JsonValue& operand) {
      return find_tensor(operand, statement);
    });
    const JsonValue place = statement.at("blocks");
    const VertexId v = at(place, [&] { return write_stated(m_program, name.string(), stated); });
    finish_statement(name.string(), v, statement.at("operands").elements());
  }

  /// The labels of a statement. \throws Error if the text breaks a rule.
  [[nodiscard]] static ParsedEinsum parse_labels(const JsonValue& place, const std::string& text) {
    if (text.find('(') != std::string::npos) {
      place.fail("\"" + text +
                 "\" has an index in parentheses, and files have labels alone; write labels");
    }
    ParsedEinsum parsed = parse_einsum(text);
    for (std::string_view label : parsed.output) {
      if (expr::in_an_operand(parsed.operands, label)) continue;
      place.fail("label " + expr::quoted(label).str() + " in the output of \"" + text +
                 "\" is in no operand (nothing gives its extent); take it out");
    }
    const Text fault = expr::einsum_string_fault(text);
    if (!fault.empty()) place.fail(fault);
    return parsed;
  }

  /// The tensor that a statement reads. \throws Error if there is none yet.
  [[nodiscard]] VertexId find_tensor(const JsonValue& operand, const JsonValue& statement) const {
    const std::string name = operand.string();
    if (const auto known = m_tensors.find(name); known != m_tensors.end()) return known->second;
    const std::string own = statement.at("name").string();
    if (name == own) {
      operand.fail("a statement reads its own result (a cycle); read another tensor");
    }
    const std::size_t later = position_of(name);
    if (later == m_statements.size()) {
      operand.fail("there is no tensor " + operand.text() + "; name an input or a statement");
    }
    const std::string place = (Text("statements[") + later + "]").str();
    if (depends_on(later, own)) {
      operand.fail(operand.text() + " (" + place + ") depends on this statement's own result (a " +
                   "cycle); read another tensor");
    }
    operand.fail(operand.text() + " is written only later, by " + place +
                 " (statements are in the order of their evaluation); move that one up");
  }

  /// The place in the file of the statement of that name, or their number. Statements that come
  /// later may be anything yet.
  [[nodiscard]] std::size_t position_of(const std::string& name) const {
    const auto named = [&](const JsonValue& statement) { return statement.peek("name") == name; };
    return static_cast<std::size_t>(std::ranges::find_if(m_statements, named) -
                                    m_statements.begin());
  }

  /// Whether a statement reads a tensor, or another statement that does.
  [[nodiscard]] bool depends_on(std::size_t statement, const std::string& name) const {
    std::vector<bool> seen(m_statements.size(), false);
    std::vector<std::size_t> open{statement};
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      if (at == m_statements.size() || seen[at]) continue;
      seen[at] = true;
      for (const std::string& operand : m_statements[at].peek_elements("operands")) {
        if (operand == name) return true;
        open.push_back(position_of(operand));
      }
    }
    return false;
  }

  /// Reads ⊗ and ⊕ into a statement's spec.
  void read_operator(const JsonValue& statement, StatementSpec& spec,
                     std::size_t aggregated) const {
    const std::size_t operands = spec.operands.size();
    spec.op.join = operands == 1 ? Identity::name : Mul::name;
    if (const auto given = statement.find("join")) spec.op.join = given->string();
    const NamedJoin* join = find_named(named_joins, spec.op.join.view());
    if (join != nullptr && (operands < join->least || operands > join->most)) {
      const std::string most = join->most == any_number ? " or more" : "";
      statement.at(statement.find("join") ? "join" : "einsum")
          .fail(Text() << "the join " << spec.op.join << " of " << operands
                       << " operands (it takes " << join->least << most
                       << "); give it as many, or choose another join");
    }
    std::vector<ElementKind> kinds;
    for (const auto& operand : spec.operands) {
      kinds.push_back(m_program.graph()[operand.vertex].element.kind);
    }
    spec.element = spec.partial = joined_element(join, kinds);

    Text name = Sum::name;
    if (const auto given = statement.find("aggregate")) {
      name = given->string();
      if (aggregated == 0) {
        given->fail("\"" + statement.at("einsum").string() +
                    "\" aggregates nothing (its output has all labels); leave this out");
      }
    }
    if (aggregated == 0) return;
    const NamedAggregate* aggregate = find_named(named_aggregates, name.view());
    if (aggregate != nullptr && aggregate->uses_index && aggregated != 1) {
      statement.at("aggregate")
          .fail(name + " over " + aggregated +
                " labels (it gives an index along one label); aggregate one label");
    }
    spec.op.aggregate = name;
    if (aggregate == nullptr) return;
    const AggregateTypes types = aggregate->types(spec.element.kind);
    spec.element = types.result;
    spec.partial = types.partial;
    spec.op.finishes = types.finishes;
  }

  /// Writes a statement, by the rewrites that its algebra allows if they are asked for.
  [[nodiscard]] VertexId write(StatementSpec& spec) {
    if (m_rewrite) {
      if (const auto v = write_rewritten(m_program, spec)) return *v;
      name_function(spec.op);
    }
    const VertexId v = graph().add_or_share_statement(spec);
    const bool opaque = !spec.op.aggregate.empty() &&
                        find_named(named_aggregates, spec.op.aggregate.view()) == nullptr;
    if (opaque) keep_whole(v);
    return v;
  }

  /// Lets equal statements be shared where their operators are known by name.
  static void name_function(Operator& op) {
    static constexpr char tag = 0;
    const NamedJoin* join = find_named(named_joins, op.join.view());
    const NamedAggregate* aggregate = find_named(named_aggregates, op.aggregate.view());
    if (join == nullptr || (aggregate == nullptr && !op.aggregate.empty())) return;
    op.type = &tag;
    op.state = {static_cast<std::uint64_t>(join - named_joins.data()),
                aggregate == nullptr
                    ? named_aggregates.size()
                    : static_cast<std::uint64_t>(aggregate - named_aggregates.data())};
  }

  /// Of an opaque ⊕ it is not known that partial results can be combined: what it aggregates stays
  /// whole, in this statement alone.
  void keep_whole(VertexId v) {
    Vertex& vertex = graph().vertices[static_cast<std::size_t>(v)];
    for (int position : vertex.aggregated) {
      LabelId& label = vertex.labels[static_cast<std::size_t>(position)];
      graph().labels.push_back({graph().labels[static_cast<std::size_t>(label)].name, {}, true});
      label = static_cast<LabelId>(graph().labels.size()) - 1;
    }
  }

  /// \throws Error if the scalar operations of a statement cannot be counted.
  void check_points(VertexId v, const JsonValue& place) {
    if (relation::has_countable_joins(graph()[v])) return;
    place.fail(
        "the statement has more scalar operations than a 64-bit integer counts; use smaller "
        "extents");
  }

  /// The labels of that name. \throws Error if no statement has one.
  [[nodiscard]] std::vector<LabelInfo*> labels_named(const std::string& label,
                                                     const JsonValue& place) {
    std::vector<LabelInfo*> found;
    for (LabelInfo& info : graph().labels) {
      if (info.name == label) found.push_back(&info);
    }
    if (found.empty()) {
      place.fail("no statement has a label " + quoted_json(label) + "; name one that they have");
    }
    return found;
  }

  void read_uncut(const JsonValue& uncut) {
    std::vector<std::string> seen;
    for (const JsonValue& label : uncut.elements()) {
      const std::string name = label.string();
      if (std::ranges::find(seen, name) != seen.end()) {
        label.fail(label.text() + " is in the list twice; remove one of them");
      }
      seen.push_back(name);
      for (LabelInfo* info : labels_named(name, label)) info->uncut = true;
    }
  }

  /// Into how many parts an input is stored. \throws Error if it cannot be.
  [[nodiscard]] std::vector<Extent> input_parts(const std::string& name, const JsonValue& parts) {
    const VertexId v = graph().find(name);
    if (v < 0 || !graph()[v].is_input()) {
      parts.fail(v < 0 ? "there is no tensor " + quoted_json(name) + "; name an input"
                       : quoted_json(name) +
                             " is a statement, whose layout is planned; name an "
                             "input");
    }
    const std::vector<Extent>& bound = graph()[v].bound;
    const std::vector<JsonValue> given = parts.elements();
    if (given.size() != bound.size()) {
      parts.fail(Text() << given.size() << " numbers for " << bound.size()
                        << " dimensions; give the parts of each");
    }
    std::vector<Extent> found;
    for (std::size_t k = 0; k < given.size(); ++k) {
      found.push_back(given[k].positive());
      if (found[k] > bound[k]) {
        given[k].fail(Text() << found[k] << " parts of a dimension of extent " << bound[k]
                             << "; give 1 to " << bound[k]);
      }
    }
    return found;
  }

  JsonValue m_file;
  bool m_rewrite;
  PlanProgram m_program;
  std::map<std::string, VertexId, std::less<>> m_tensors;
  std::vector<JsonValue> m_statements;
  std::map<std::string, VertexId> m_unread;  // statements that none has read so far
};

}  // namespace tools

/// Reads a program from JSON. Statements are written as they stand, or, with `rewrite`, by the
/// lowering's passes: products of many tensors two at a time in the cheapest order, labels private
/// to one operand aggregated there first, equal statements shared. Elements are of type float.
///
/// \param file  its name, for messages
/// \throws Error, a line that begins with the file and the place in it, at anything that breaks a
///   rule of the format or of the language.
[[nodiscard]] inline JsonProgram read_program(std::string_view text, std::string_view file,
                                              bool rewrite = false) {
  const nlohmann::ordered_json json = tools::parse_json(text, file);
  return tools::ProgramReader(tools::JsonValue(json, file), rewrite).read();
}

}  // namespace eindecomp
