// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Plans in files, to be made once and used by every rank and every later run (docs/tools.md has
/// the format). Needs nlohmann-json.
///
///     save_plan(plan, "layer.plan");                   // in one process
///     const auto plan = load_plan(g, "layer.plan");    // in another, of the same program
///
/// A file holds what the planner decided, and of the program only what tells it from others: a plan
/// is loaded for the program that it was made for, which it is checked against. A file that was cut
/// short, changed, or written for another program is refused with a sentence.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/hash.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/print.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/plan/hash.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/packed_plan.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/step_rules.hpp"
#include "eindecomp/tools/json_value.hpp"
#include "eindecomp/tools/write_file.hpp"

namespace eindecomp {

/// The version of the format that save_plan() writes, and the only one that load_plan() reads.
inline constexpr int plan_file_version = 1;

namespace tools {

/// A hash in JSON, whose numbers are no place for 64 bits.
[[nodiscard]] inline std::string hash_text(std::uint64_t hash) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16).ptr;
  const std::string text(digits.data(), end);
  return std::string(16 - text.size(), '0') + text;
}

/// The hash of everything in a plan file but that hash.
[[nodiscard]] inline std::string hash_of_plan_file(nlohmann::ordered_json json) {
  json.erase("hash");
  core::Hasher hasher;
  hasher.add(json.dump(-1, ' ', true));
  return hash_text(hasher.value());
}

[[nodiscard]] inline std::string hash_of_program(const EinGraph& graph) {
  return hash_text(plan::graph_hash(graph));
}

/// What a user knows of a tensor: `H(i,k) = sum[j] mul(X(i,j), W(j,k)) : double, 512 x 256`.
[[nodiscard]] inline std::string tensor_description(const EinGraph& graph, VertexId v) {
  Text text = formula(graph, v) + " : " + expr::element_text(graph[v].element);
  if (!graph[v].is_input()) text += ", " + core::extents_text(graph[v].bound);
  return text;
}

[[nodiscard]] inline nlohmann::ordered_json steps_json(const std::vector<StepGroup>& groups) {
  auto json = nlohmann::ordered_json::array();
  for (const StepGroup& group : groups) {
    auto axes = nlohmann::ordered_json::array();
    for (const StepAxis& axis : group.axes) {
      nlohmann::ordered_json cut{{"labels", axis.positions}};
      if (axis.size == 0) cut["parts"] = axis.parts;
      if (axis.size > 0) cut["size"] = axis.size;
      if (axis.stripes > 1) cut["stripes"] = axis.stripes;
      axes.push_back(std::move(cut));
    }
    json.push_back({{"first", group.first}, {"last", group.last}, {"axes", std::move(axes)}});
    if (!group.tiles.empty()) json.back()["tiles"] = steps_json(group.tiles);
    if (group.interleaved >= 0) json.back()["interleaved"] = group.interleaved;
    if (group.accumulates) json.back()["accumulates"] = true;
  }
  return json;
}

[[nodiscard]] inline nlohmann::ordered_json carry_json(const std::vector<CarriedResult>& carry) {
  auto json = nlohmann::ordered_json::array();
  for (const CarriedResult& pair : carry) {
    json.push_back({{"next", pair.next}, {"input", pair.input}});
  }
  return json;
}

/// Reads the members of a plan file, whose hash says that it is as it was written. A file with a
/// right hash may still be nobody's: every number is checked before it is used.
class PlanFileReader {
 public:
  PlanFileReader(const EinGraph& graph, const JsonValue& file) : m_graph(graph), m_file(file) {}

  [[nodiscard]] Plan read() const {
    check_program();
    Plan plan;
    plan.graph = m_graph;
    plan.strategy = m_file.at("strategy").string();
    plan.workers = count(m_file.at("workers"));
    plan.ranks = count(m_file.at("ranks"));
    for (const JsonValue& size : m_file.at("mesh").elements()) {
      plan.placement.mesh.axes.push_back(count(size));
    }
    for (const JsonValue& tensor : m_file.at("tensors").elements()) {
      plan.placement.calls.push_back(axis_lists(tensor.at("calls")));
      plan.placement.stored.push_back(axis_lists(tensor.at("stored")));
    }
    for (const JsonValue& group : m_file.at("steps").elements()) {
      plan.steps.push_back(step_group(group));
    }
    for (const JsonValue& pair : m_file.at("carry").elements()) {
      plan.carry.push_back({carried(pair.at("next")), carried(pair.at("input"))});
      const Vertex& next = m_graph[plan.carry.back().next];
      const Vertex& input = m_graph[plan.carry.back().input];
      const auto same_input = [&](const CarriedResult& other) {
        return other.input == plan.carry.back().input;
      };
      if (next.is_result() && input.is_input() && next.bound == input.bound &&
          next.element == input.element && std::ranges::count_if(plan.carry, same_input) == 1) {
        continue;
      }
      pair.fail("'" + next.name.str() + "' cannot be carried to '" + input.name.str() +
                "'; save the plan again");
    }
    for (const JsonValue& words : m_file.at("cuts").elements()) {
      plan.cuts.push_back(whole_number(words));
    }
    if (const JsonValue gap = m_file.at("gap"); !gap.is_null()) plan.gap = whole_number(gap);
    check_sizes(plan);
    try {
      plan::check_options({.workers = plan.workers, .ranks = plan.ranks, .strategy = "k_cut"}, {});
      check_placement(m_graph, plan.placement, {});
      check_step_groups(m_graph, plan.placement, plan.steps, {});
    } catch (const Error& error) {
      m_file.fail(error.sentence());
    }
    plan::complete_from_placement(plan);
    return plan;
  }

 private:
  /// A tensor by number.
  [[nodiscard]] VertexId carried(const JsonValue& number) const {
    const Extent v = whole_number(number);
    if (v < 0 || v >= m_graph.size()) number.fail("is no tensor of the program");
    return static_cast<VertexId>(v);
  }

  /// \throws Error, which names the first tensor that differs, unless the file is of this program.
  void check_program() const {
    const std::vector<JsonValue> tensors = m_file.at("tensors").elements();
    const auto known = static_cast<std::size_t>(m_graph.size());
    for (std::size_t v = 0; v < std::max(known, tensors.size()); ++v) {
      const std::string there = v < tensors.size() ? tensors[v].peek("tensor").value_or("?") : "";
      const std::string here =
          v < known ? tensor_description(m_graph, static_cast<VertexId>(v)) : "";
      if (there == here) continue;
      const auto shown = [](const std::string& text) { return text.empty() ? "none" : text; };
      m_file.fail("the plan is of another program (its tensor number " + std::to_string(v) +
                  " is " + shown(there) + "; here it is " + shown(here) +
                  "); load it for the program that it was made for, or plan this one");
    }
    if (m_file.at("program").string() != hash_of_program(m_graph)) {
      m_file.fail(
          "the plan is of another program (of equal statements, but with other results, "
          "scalars, or roles of labels); load it for the program that it was made for, "
          "or plan this one");
    }
  }

  /// \throws Error where a number would lead beyond the graph or the mesh, which check_placement
  ///   and check_step_groups rely on.
  void check_sizes(const Plan& plan) const {
    Extent workers = 1;
    for (int size : plan.placement.mesh.axes) {
      if (workers > plan.workers) break;
      workers *= size;
    }
    if (workers > plan.workers) {
      m_file.fail("the mesh has more workers than the plan (" + std::to_string(plan.workers) +
                  "); save the plan again");
    }
    for (const StepGroup& group : plan.steps) {
      if (0 <= group.first && group.first <= group.last && group.last < m_graph.size()) continue;
      m_file.fail("statements " + std::to_string(group.first) + " to " +
                  std::to_string(group.last) + " are to run in steps (the program has " +
                  std::to_string(m_graph.size()) + " tensors); save the plan again");
    }
  }

  [[nodiscard]] static Extent whole_number(const JsonValue& value) {
    const Extent number = value.whole_number();
    if (number < 0) value.fail(value.text() + " is negative; give a whole number from 0 on");
    return number;
  }
  [[nodiscard]] static int small_number(const JsonValue& value) {
    const Extent number = whole_number(value);
    if (number > std::numeric_limits<int>::max()) value.fail(value.text() + " is too large");
    return static_cast<int>(number);
  }
  [[nodiscard]] static int count(const JsonValue& value) {
    if (small_number(value) < 1) value.fail(value.text() + " is not positive");
    return small_number(value);
  }
  [[nodiscard]] static std::vector<int> numbers(const JsonValue& value) {
    std::vector<int> list;
    for (const JsonValue& number : value.elements()) list.push_back(small_number(number));
    return list;
  }
  [[nodiscard]] static AxisLists axis_lists(const JsonValue& value) {
    AxisLists lists;
    for (const JsonValue& list : value.elements()) lists.push_back(numbers(list));
    return lists;
  }
  [[nodiscard]] static StepGroup step_group(const JsonValue& value) {
    StepGroup group{small_number(value.at("first")), small_number(value.at("last"))};
    for (const JsonValue& axis : value.at("axes").elements()) {
      StepAxis cut{numbers(axis.at("labels"))};
      if (const auto size = axis.find("size")) {
        cut.size = size->positive();
      } else {
        cut.parts = axis.at("parts").positive();
      }
      if (const auto stripes = axis.find("stripes")) cut.stripes = stripes->positive();
      group.axes.push_back(std::move(cut));
    }
    if (const auto tiles = value.find("tiles")) {
      for (const JsonValue& each : tiles->elements()) group.tiles.push_back(step_group(each));
    }
    if (const auto v = value.find("interleaved")) group.interleaved = small_number(*v);
    if (const auto sums = value.find("accumulates")) group.accumulates = sums->boolean();
    return group;
  }

  const EinGraph& m_graph;
  const JsonValue& m_file;
};

}  // namespace tools

/// A plan as the text of a plan file. \throws Error if the plan is not placed (it was made in a
/// constant expression).
[[nodiscard]] inline std::string plan_file(
    const Plan& plan, const std::source_location& where = std::source_location::current()) {
  if (plan.placement.stored.size() != plan.graph.vertices.size()) {
    core::fail(ErrorKind::plan,
               "a plan that is not placed cannot be saved (it was made in a constant "
               "expression); save one that decompose() made at run time",
               where);
  }
  auto tensors = nlohmann::ordered_json::array();
  for (VertexId v = 0; v < plan.graph.size(); ++v) {
    tensors.push_back({{"tensor", tools::tensor_description(plan.graph, v)},
                       {"calls", plan.placement.calls[to_index(v)]},
                       {"stored", plan.placement.stored[to_index(v)]}});
  }
  nlohmann::ordered_json json{{"format", "EinDecomp plan"},
                              {"version", plan_file_version},
                              {"hash", ""},
                              {"program", tools::hash_of_program(plan.graph)},
                              {"strategy", plan.strategy.str()},
                              {"workers", plan.workers},
                              {"ranks", plan.ranks},
                              {"gap", nullptr},
                              {"cuts", plan.cuts},
                              {"mesh", plan.placement.mesh.axes},
                              {"tensors", std::move(tensors)},
                              {"steps", tools::steps_json(plan.steps)},
                              {"carry", tools::carry_json(plan.carry)}};
  if (plan.gap) json["gap"] = *plan.gap;
  (void)tools::dump_json(json, -1, "a plan", where);  // before it is hashed as JSON
  json["hash"] = tools::hash_of_plan_file(json);
  return tools::dump_json(json, 1, "a plan", where) + '\n';
}

/// Writes a plan to a file, which is replaced as a whole or, on an error, left as it was. Not
/// collective: let one rank do it.
/// \throws Error of the kind io if the file cannot be written; of the kind plan as plan_file().
inline void save_plan(const Plan& plan, const std::filesystem::path& path,
                      const std::source_location& where = std::source_location::current()) {
  tools::replace_file(path, {plan_file(plan, where)}, "the plan", where);
}

/// The plan in the text of a plan file, for the program that it was made for: equal to the one that
/// was saved, Plan::hash() included.
/// \param file  its name, for messages
/// \throws Error of the kind io, a line that begins with the file, if it is no plan file, has
///   another version, was changed or cut short, or is of another program, of which it names the
///   first tensor that differs.
[[nodiscard]] inline Plan read_plan(const EinGraph& graph, std::string_view text,
                                    std::string_view file) {
  const nlohmann::ordered_json json = tools::parse_json(text, file);
  const tools::JsonValue value(json, file);
  if (!json.is_object() || value.peek("format") != "EinDecomp plan") {
    value.fail("this is no plan file; give one that save_plan or eindecomp-plan --save wrote");
  }
  if (const Extent version = value.at("version").whole_number(); version != plan_file_version) {
    value.fail("the file has version " + std::to_string(version) +
               " of the format (this library reads version " + std::to_string(plan_file_version) +
               "); plan again");
  }
  if (value.at("hash").string() != tools::hash_of_plan_file(json)) {
    value.fail(
        "the file was changed since it was written (its hash is not that of its content); "
        "save the plan again");
  }
  return tools::PlanFileReader(graph, value).read();
}

/// The plan that save_plan() wrote to a file. Not collective; ranks that load equal files get equal
/// plans. Takes milliseconds, however long the plan was searched for.
/// \throws Error of the kind io if the file cannot be read, and as read_plan().
[[nodiscard]] inline Plan load_plan(const EinGraph& graph, const std::filesystem::path& path) {
  return read_plan(graph, tools::read_file(path), path.string());
}
/// As above, for a program that names its backend: the plan can be executed.
template <class Backend>
[[nodiscard]] BasicPlan<typename PlanBackendOf<Backend>::type> load_plan(
    const BasicProgram<Backend>& program, const std::filesystem::path& path) {
  return {load_plan(program.graph(), path), program.launchers()};
}

}  // namespace eindecomp
