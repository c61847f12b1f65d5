// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that were tampered with: the tool takes exactly those that are still programs, plans
// them, and says in one line what is wrong with the others.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tools/planned.hpp"
#include "tools/valid_program.hpp"

using namespace eindecomp_tests;

namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string>& programs() {
  static const std::vector<std::string> texts{
      R"({"inputs": {"A": [16, 8], "B": [8, 4]}, "statements": [
          {"name": "C", "einsum": "ij,jk->ik", "operands": ["A", "B"], "join": "mul",
           "aggregate": "sum"}],
          "roles": {"i": "batch"}, "uncut": ["k"], "layout": {"A": [4, 1]}})",
      R"({"inputs": {"X": [6, 9], "W": [9, 5], "V": [5, 7]}, "statements": [
          {"name": "H", "einsum": "ij,jk->ik", "operands": ["X", "W"]},
          {"name": "R", "einsum": "ik->ik", "operands": ["H"], "join": "relu", "elementwise": true},
          {"name": "Y", "einsum": "ik,km->im", "operands": ["R", "V"]}],
          "roles": {"i": "batch", "k": "hidden"}})",
      R"({"inputs": {"T": [2, 4, 4]}, "statements": [
          {"name": "m", "einsum": "hst->hs", "operands": ["T"], "aggregate": "max"},
          {"name": "e", "einsum": "hst,hs->hst", "operands": ["T", "m"], "join": "exp of the gap"},
          {"name": "s", "einsum": "hst->hs", "operands": ["e"], "aggregate": "sum"},
          {"name": "P", "einsum": "hst,hs->hst", "operands": ["e", "s"], "join": "div"}]})",
      R"({"inputs": {"D": [12, 12]}, "statements": [
          {"name": "D2", "einsum": "ik,kj->ij", "operands": ["D", "D"], "join": "add",
           "aggregate": "min"},
          {"name": "near", "einsum": "ij->i", "operands": ["D2"], "aggregate": "argmin"},
          {"name": "odd", "einsum": "ij->j", "operands": ["D2"], "aggregate": "median"}],
          "uncut": []})",
      R"({"inputs": {"u": [8], "v": [8], "w": [], "Q": [4, 4]}, "statements": [
          {"name": "o", "einsum": "i,j,->ij", "operands": ["u", "v", "w"]},
          {"name": "t", "einsum": "ii->", "operands": ["Q"]},
          {"name": "d", "einsum": "ij,ij", "operands": ["o", "o"], "join": "sq_diff"}]})",
  };
  return texts;
}

std::size_t below(std::mt19937& random, std::size_t n) { return random() % n; }

/// All values of a tree, the whole first.
void list_values(Json& value, std::vector<Json*>& found) {
  found.push_back(&value);
  if (!value.is_structured()) return;
  for (Json& inner : value) list_values(inner, found);
}

Json odd_value(std::mt19937& random) {
  static const std::vector<Json> values{0,
                                        -1,
                                        1,
                                        2,
                                        3,
                                        7,
                                        64,
                                        1.5,
                                        -0.0,
                                        1e30,
                                        4.0,
                                        std::int64_t{1} << 40,
                                        INT64_MAX,
                                        INT64_MIN,
                                        UINT64_MAX,
                                        "",
                                        "A",
                                        "C",
                                        "i",
                                        "ij",
                                        "->",
                                        "ij,jk->ik",
                                        "ij->ji",
                                        "i j , jk -> ik",
                                        "line\nbreak",
                                        "ä",
                                        "sum",
                                        "argmax",
                                        "mul",
                                        "sub",
                                        "log",
                                        nullptr,
                                        true,
                                        false,
                                        Json::array(),
                                        Json::object(),
                                        Json::array({4, 4}),
                                        Json::array({"A", "B"})};
  return values[below(random, values.size())];
}

void mutate_text(std::mt19937& random, std::string& text) {
  static const std::string letters = "ijk,->ABCD [12";
  if (text.empty() || below(random, 3) == 0) {
    text.insert(text.begin() + static_cast<std::ptrdiff_t>(below(random, text.size() + 1)),
                letters[below(random, letters.size())]);
  } else if (below(random, 2) == 0) {
    text.erase(below(random, text.size()), 1);
  } else {
    text[below(random, text.size())] = letters[below(random, letters.size())];
  }
}

void mutate_members(std::mt19937& random, Json& value) {
  static const std::vector<std::string> keys{"inputs",      "statements", "roles", "uncut",
                                             "layout",      "name",       "join",  "aggregate",
                                             "elementwise", "A",          "i",     "more"};
  const std::size_t way = below(random, 4);
  if (value.is_object()) {
    if (way == 0 || value.empty()) {
      value[keys[below(random, keys.size())]] = odd_value(random);
      return;
    }
    const auto at =
        std::next(value.begin(), static_cast<std::ptrdiff_t>(below(random, value.size())));
    const Json inner = at.value();
    if (way != 1) value.erase(at);
    if (way == 2) value[keys[below(random, keys.size())]] = inner;
    return;
  }
  if (way == 0 || value.empty()) {
    value.push_back(odd_value(random));
    return;
  }
  const std::size_t at = below(random, value.size());
  if (way == 1) value.push_back(Json(value[at]));
  if (way == 2) value.erase(at);
  if (way == 3) std::swap(value[at], value[below(random, value.size())]);
}

std::string mutate_tree(std::mt19937& random, const std::string& text) {
  Json tree = Json::parse(text);
  for (std::size_t n = below(random, 3) + 1; n-- > 0;) {
    std::vector<Json*> values;
    list_values(tree, values);
    Json& value = *values[below(random, values.size())];
    if (value.is_structured() && below(random, 5) != 0) {
      mutate_members(random, value);
    } else if (value.is_string() && below(random, 2) == 0) {
      auto inner = value.get<std::string>();
      mutate_text(random, inner);
      value = inner;
    } else if (value.is_number_integer() && below(random, 2) == 0) {
      value = static_cast<std::int64_t>(below(random, 20));
    } else {
      value = odd_value(random);
    }
  }
  return tree.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string mutate_bytes(std::mt19937& random, std::string text) {
  for (std::size_t n = below(random, 3) + 1; n-- > 0 && !text.empty();) {
    const std::size_t at = below(random, text.size());
    const std::size_t length = std::min(below(random, 12), text.size() - at);
    switch (below(random, 5)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << below(random, 8)));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(below(random, text.size()), length));
        break;
      case 3:
        text.resize(at);
        break;
      default:
        text[at] = static_cast<char>(random());
    }
  }
  return text;
}

/// Whether a plan is one of that program: vectors that its labels allow and costs by the paper's
/// formulas.
void check_plan(const Json& plan, const Json& program, const ProgramValidity& facts, int workers) {
  REQUIRE(plan["statements"].size() == program["statements"].size());
  std::int64_t join = 0;
  std::int64_t aggregate = 0;
  std::int64_t words = 0;
  for (std::size_t s = 0; s < plan["statements"].size(); ++s) {
    const Json& made = plan["statements"][s];
    const Json& asked = program["statements"][s];
    REQUIRE(made["name"] == asked["name"]);
    const PlainEinsum einsum = read_einsum(asked["einsum"].get<std::string>());
    std::map<char, std::int64_t> parts;
    std::map<char, std::int64_t> extents;
    std::int64_t calls = 1;
    for (std::size_t o = 0; o < einsum.operands.size(); ++o) {
      const auto& bound = facts.tensors.at(asked["operands"][o].get<std::string>());
      for (std::size_t k = 0; k < bound.size(); ++k) extents[einsum.operands[o][k]] = bound[k];
    }
    REQUIRE(made["partition"].size() == extents.size());
    for (const auto& [label, extent] : extents) {
      parts[label] = made["partition"].at(std::string(1, label));
      REQUIRE(parts[label] >= 1);
      REQUIRE(parts[label] <= extent);
      if (facts.uncut.contains(label)) REQUIRE(parts[label] == 1);
      calls *= parts[label];
    }
    REQUIRE(workers % calls == 0);
    const auto block = [&](const std::string& labels) {
      std::int64_t n = 1;
      for (char l : labels) n *= (extents[l] + parts[l] - 1) / parts[l];
      return n;
    };
    std::int64_t operands = 0;
    for (const std::string& labels : einsum.operands) operands += block(labels);
    std::int64_t kept = 1;
    for (char l : einsum.output) kept *= parts[l];
    REQUIRE(made["cost"]["join"] == calls * operands);
    REQUIRE(made["cost"]["aggregate"] == (calls - kept) * block(einsum.output));
    REQUIRE(made["peak_bytes"] >= 4 * block(einsum.output));
    join += calls * operands;
    aggregate += (calls - kept) * block(einsum.output);
    words += made["words"].get<std::int64_t>();
  }
  REQUIRE(plan["cost"]["join"] == join);
  REQUIRE(plan["cost"]["aggregate"] == aggregate);
  REQUIRE(plan["words"]["total"] == words);
  REQUIRE(plan["words"]["busiest_worker"] <= words);
}

/// How many of 10,000 mutated programs are tried; as many as EINDECOMP_FUZZ_CASES says.
std::size_t cases() {
  const char* const given = std::getenv("EINDECOMP_FUZZ_CASES");
  return given == nullptr ? 10'000 : std::strtoull(given, nullptr, 10);
}

}  // namespace

TEST_CASE("the programs that are mutated are programs") {
  for (const std::string& text : programs()) {
    CAPTURE(text);
    CHECK(ProgramValidity(text).valid);
    const Planned result = planned(text, 4, "exact");
    CHECK(result.complaint == "");
    check_plan(result.plan, Json::parse(text), ProgramValidity(text), 4);
  }
}

TEST_CASE("mutated programs are planned if they are programs, else refused in one line") {
  constexpr std::array strategies{"exact", "ein_decomp", "linearized", "square", "k_cut", "placed"};
  constexpr std::array workers{1, 2, 4, 6, 8};
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (std::size_t seed = 0; seed < cases(); ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const std::string& original = programs()[below(random, programs().size())];
    const std::string text =
        seed % 4 == 0 ? mutate_bytes(random, original) : mutate_tree(random, original);
    // `placed` searches and is the slowest by far.
    const std::size_t most = seed % 8 == 0 ? strategies.size() : strategies.size() - 1;
    const std::string strategy = strategies[below(random, most)];
    const int p = workers[below(random, workers.size())];
    CAPTURE(seed);
    CAPTURE(text);
    CAPTURE(strategy);
    const ProgramValidity facts(text);
    const Planned result = planned(text, p, strategy);
    CAPTURE(result.complaint);
    REQUIRE(result.was_read == facts.valid);
    REQUIRE(result.complaint.find('\n') == std::string::npos);
    if (seed % 8 == 1) {
      const Planned rewritten = planned(text, p, "exact", true);
      REQUIRE(rewritten.was_read == facts.valid);
      REQUIRE(rewritten.complaint.find('\n') == std::string::npos);
    }
    if (!facts.valid) {
      ++refused;
      REQUIRE(result.complaint.rfind("file: ", 0) == 0);
    } else if (result.plan.is_null()) {
      // What is a program and yet cannot be planned: its layouts or its size are in the way.
      REQUIRE(result.complaint != "");
      REQUIRE((facts.has_layout || facts.largest > (std::int64_t{1} << 50)));
    } else {
      ++accepted;
      check_plan(result.plan, Json::parse(text), facts, p);
    }
  }
  CAPTURE(refused);
  CHECK(accepted >= cases() / 20);
  CHECK(refused >= cases() / 4);
}
