// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Machines as JSON (docs/tools.md has the format). Needs nlohmann-json.
#pragma once

#include <limits>
#include <source_location>
#include <string>
#include <string_view>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/plan/machine.hpp"
#include "eindecomp/tools/json_value.hpp"

namespace eindecomp {
namespace tools {

[[nodiscard]] inline MachineAxis read_axis(const JsonValue& value) {
  value.allow_only({"size", "latency", "bandwidth"});
  MachineAxis axis;
  const Extent size = value.at("size").positive();
  if (size > std::numeric_limits<int>::max()) {
    value.at("size").fail(value.at("size").text() + " is more than an int counts; give less");
  }
  axis.size = static_cast<int>(size);
  if (const auto latency = value.find("latency")) axis.latency = latency->number();
  axis.bandwidth = value.at("bandwidth").number();
  return axis;
}

}  // namespace tools

/// Reads the description of a cluster from JSON.
/// \param file  its name, for messages
/// \throws Error, a line that begins with the file, if it breaks a rule of the format or describes
///   no machine (check_machine).
[[nodiscard]] inline Machine read_machine(std::string_view text, std::string_view file) {
  const nlohmann::ordered_json json = tools::parse_json(text, file);
  const tools::JsonValue value(json, file);
  value.allow_only({"operations_per_second", "memory", "memory_bandwidth", "axes"});
  Machine machine;
  machine.operations_per_second = value.at("operations_per_second").number();
  if (const auto memory = value.find("memory")) machine.memory = memory->positive();
  if (const auto bandwidth = value.find("memory_bandwidth")) {
    machine.memory_bandwidth = bandwidth->number();
  }
  for (const tools::JsonValue& axis : value.at("axes").elements()) {
    machine.axes.push_back(tools::read_axis(axis));
  }
  try {
    check_machine(machine, std::source_location{});
  } catch (const Error& error) {
    value.fail(error.sentence());
  }
  return machine;
}

/// The description of a cluster as read_machine() reads it; what is not described is left out.
[[nodiscard]] inline nlohmann::ordered_json machine_json(const Machine& machine) {
  nlohmann::ordered_json json{{"operations_per_second", machine.operations_per_second}};
  if (machine.memory > 0) json["memory"] = machine.memory;
  if (machine.memory_bandwidth > 0) json["memory_bandwidth"] = machine.memory_bandwidth;
  json["axes"] = nlohmann::ordered_json::array();
  for (const MachineAxis& axis : machine.axes) {
    json["axes"].push_back(
        {{"size", axis.size}, {"latency", axis.latency}, {"bandwidth", axis.bandwidth}});
  }
  return json;
}

}  // namespace eindecomp
