// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/tools/machine_json.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace eindecomp;

namespace {

std::string machine_complaint(const std::string& text) {
  try {
    static_cast<void>(read_machine(text, "m.json"));
  } catch (const Error& error) {
    return std::string(error.sentence());
  }
  return "";
}

std::string machine_text(const std::string& axes, const std::string& more = "") {
  return R"({"operations_per_second": 1e12, "axes": [)" + axes + "]" + more + "}";
}

}  // namespace

TEST_CASE("a machine is read") {
  const Machine read = read_machine(
      machine_text(
          R"({"size": 4, "latency": 5e-6, "bandwidth": 25e9}, {"size": 8, "bandwidth": 3e11})",
          R"(, "memory": 16000000000, "memory_bandwidth": 1e12)"),
      "m.json");
  CHECK(read == Machine{.operations_per_second = 1e12,
                        .memory = 16'000'000'000,
                        .memory_bandwidth = 1e12,
                        .axes = {{4, 5e-6, 25e9}, {8, 0, 3e11}}});
  CHECK(read_machine(machine_text(""), "m.json") == Machine{.operations_per_second = 1e12});
}

TEST_CASE("a machine is written as it is read") {
  for (const Machine& written : {Machine{.operations_per_second = 1.25e11,
                                .memory = 1 << 30,
                                .memory_bandwidth = 1.1e10,
                                .axes = {{4, 5e-6, 25e9}, {2, 1e-7, 1.0 / 3}}},
                                 Machine{.operations_per_second = 1}}) {
    CHECK(read_machine(machine_json(written).dump(), "m.json") == written);
  }
}

TEST_CASE("what is no machine is refused with its place") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"[", "m.json: this is not JSON"},
      {"{}", "m.json: there is no \"operations_per_second\""},
      {R"({"operations_per_second": 1})", "m.json: there is no \"axes\""},
      {R"({"flops": 1})", "m.json: \"flops\" means nothing here"},
      {R"({"operations_per_second": "fast"})", "m.json: operations_per_second: \"fast\" is not a "},
      {R"({"operations_per_second": 0, "axes": []})", "m.json: a machine whose workers do no"},
      {machine_text("", R"(, "memory": 0)"), "m.json: memory: 0 is not positive"},
      {machine_text("", R"(, "memory": 1.5)"), "m.json: memory: 1.5 is not a whole number"},
      {machine_text("", R"(, "memory_bandwidth": -1)"), "m.json: a machine whose memory has no"},
      {machine_text("7"), "m.json: axes[0]: 7 is not an object"},
      {machine_text(R"({"size": 2})"), "m.json: axes[0]: there is no \"bandwidth\""},
      {machine_text(R"({"bandwidth": 2})"), "m.json: axes[0]: there is no \"size\""},
      {machine_text(R"({"size": 0, "bandwidth": 1})"), "m.json: axes[0].size: 0 is not positive"},
      {machine_text(R"({"size": 4294967296, "bandwidth": 1})"),
       "m.json: axes[0].size: 4294967296 is"},
      {machine_text(R"({"size": 2, "bandwidth": 0})"),
       "m.json: axis 0 of a machine has no bandwidth"},
      {machine_text(R"({"size": 2, "bandwidth": 1, "latency": -1})"),
       "m.json: axis 0 of a machine has"},
      {machine_text(R"({"size": 2, "bandwidth": 1, "speed": 1})"),
       "m.json: axes[0]: \"speed\" means"},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    CHECK(machine_complaint(text).rfind(message, 0) == 0);
  }
}
