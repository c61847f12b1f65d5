// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/tools/trace.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "eindecomp/graph/let.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/simulate.hpp"

using namespace eindecomp;

namespace {

PlanProgram traced_product() {
  using namespace eindecomp::labels;
  PlanProgram g;
  const auto X = g.input<double>("X", {64, 64});
  const auto Y = g.input<double>("Y", {64, 64});
  const auto Z = let("Z \"<&>\"")(i, k) = sum(j)(X(i, j) * Y(j, k));
  let<"S">(k) = sum(i)(Z(i, k));
  return g;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

const Machine machine{.operations_per_second = 1e9,
                      .axes = {{.size = 4, .latency = 1e-6, .bandwidth = 1e9}}};

}  // namespace

TEST_CASE("events sum up to the times of statements") {
  const EinGraph graph = traced_product().graph();
  using Kind = Event::Kind;
  // Two messages of one exchange, a kernel, then one of the other statement on another rank.
  const Timeline timeline =
      timeline_of(graph, {{{Kind::receive, 2, 0, 1, 5, 1, 3},
                           {Kind::send, 2, 0, 1, 5, 1, 3},
                           {Kind::call, 2, 2, -1, 0, 3, 7}},
                          {{Kind::call, 2, 2, -1, 0, 2, 4}, {Kind::aggregate, 3, 3, -1, 0, 8, 9}}});
  REQUIRE(timeline.statements.size() == 2);
  CHECK(timeline.seconds == 9);
  CHECK(timeline.statements[0].statement == 2);
  CHECK(timeline.statements[0].begin == 1);
  CHECK(timeline.statements[0].end == 7);
  CHECK(timeline.statements[0].adds == 7);
  CHECK(timeline.statements[0].transfers == 2);
  CHECK(timeline.statements[0].kernels == 4);
  CHECK(timeline.statements[1].adds == 2);
  CHECK(timeline.statements[1].kernels == 1);
  CHECK(timeline_of(graph, {{}, {}}).seconds == 0);
}

TEST_CASE("a trace has every event, where and when it was") {
  const PlanProgram g = traced_product();
  const Plan plan = decompose(g.graph(), {.workers = 4});
  const Timeline timeline = simulate(plan, machine).in_turn;
  const auto json =
      nlohmann::json::parse(trace_json(plan.graph, {{"run", timeline}, {"predicted", timeline}}));
  std::size_t events = 0;
  std::map<int, Extent> received;  // by process
  std::map<std::pair<int, int>, double> ends;
  for (const auto& e : json["traceEvents"]) {
    if (e["ph"] == "M") continue;
    ++events;
    CHECK((e["name"] == "Z \"<&>\"" || e["name"] == "S"));
    const std::pair<int, int> thread{e["pid"], e["tid"]};
    CHECK(e["ts"].get<double>() >= ends[thread] - 1e-6);  // a thread does one thing at a time
    ends[thread] = e["ts"].get<double>() + e["dur"].get<double>();
    CHECK(ends[thread] <= 1e6 * timeline.seconds + 1e-6);
    if (e["cat"] == "receive") received[e["pid"]] += e["args"]["words"].get<Extent>();
    CHECK((e["cat"] == "send" ? 1 : e["cat"] == "receive" ? 2 : 0) == thread.second % 3);
  }
  std::size_t expected = 0;
  for (const auto& rank : timeline.events) expected += rank.size();
  CHECK(events == 2 * expected);
  CHECK(received[0] == plan.tasks().total_words());
  CHECK(received[1] == received[0]);
  // From 3 s to 7 s, in microseconds.
  const Timeline late = timeline_of(plan.graph, {{{Event::Kind::call, 2, 2, -1, 0, 3, 7}}});
  const auto slice = nlohmann::json::parse(trace_json(plan.graph, {{"run", late}}))["traceEvents"];
  CHECK(slice.back()["ts"] == 3e6);
  CHECK(slice.back()["dur"] == 4e6);
}

TEST_CASE("a picture has a bar for every event and a row for every rank") {
  const PlanProgram g = traced_product();
  const Plan plan = decompose(g.graph(), {.workers = 4});
  const Timeline timeline = simulate(plan, machine).in_turn;
  const std::string svg = timeline_svg(plan.graph, {{"predicted", timeline}});
  std::size_t expected = 1 + 2;  // the background, the legend
  for (const auto& rank : timeline.events) expected += rank.size();
  CHECK(count(svg, "<rect ") == expected);
  CHECK(count(svg, "for Z &quot;&lt;&amp;&gt;&quot;") > 0);
  for (const char* rank : {">rank 0<", ">rank 1<", ">rank 2<", ">rank 3<"}) {
    CHECK(count(svg, rank) == 1);
  }
  CHECK(count(svg, "nan") == 0);
  // From 3 s to 7 s of 7 s, which are 1100 wide and begin at 70.
  const Timeline late = timeline_of(plan.graph, {{{Event::Kind::call, 2, 2, -1, 0, 3, 7}}});
  CHECK(count(timeline_svg(plan.graph, {{"late", late}}), R"(<rect x="541.43" y=)") == 1);
  CHECK(count(timeline_svg(plan.graph, {{"late", late}}), R"( width="628.57" )") == 1);
  const Timeline nothing = timeline_of(plan.graph, {{}});
  CHECK(count(timeline_svg(plan.graph, {{"nothing", nothing}}), "nan") == 0);
}

TEST_CASE("names that are no UTF-8 leave a trace and a picture that are") {
  // Text of 1 to 4 bytes a character stays.
  const std::string text = "a \xC3\xA9 \xE2\x8A\x97 \xF0\x9D\x84\x9E \xED\x9F\xBF \xF4\x8F\xBF\xBF";
  CHECK(tools::utf8_text(text) == text);
  // Alone, cut short, longer than need be, half of a pair, beyond the last, no first byte.
  for (const char* wrong :
       {"\xFF", "\x80", "\xC3", "\xE2\x8A", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF",
        "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80"}) {
    const std::string replaced = tools::utf8_text(std::string("b") + wrong + "c");
    std::string expected = "b";
    for (const char* at = wrong; *at != '\0'; ++at) expected += "\xEF\xBF\xBD";
    CHECK(replaced == expected + "c");
  }

  using namespace eindecomp::labels;
  PlanProgram g;
  const auto X = g.input<double>("X", {8});
  let("Z\xFF")(i) = exp(X(i));
  const Timeline timeline = timeline_of(g.graph(), {{{Event::Kind::call, 1, 1, -1, 0, 0, 1}}});
  const auto json = nlohmann::json::parse(trace_json(g.graph(), {{"run \xC0", timeline}}));
  CHECK(json["traceEvents"][0]["args"]["name"] == "run \xEF\xBF\xBD");
  CHECK(json["traceEvents"].back()["name"] == "Z\xEF\xBF\xBD");
  const std::string svg = timeline_svg(g.graph(), {{"run", timeline}});
  CHECK(tools::utf8_text(svg) == svg);
}

TEST_CASE("a trace is written whole or not at all") {
  const PlanProgram g = traced_product();
  const Timeline timeline = timeline_of(g.graph(), {{}});
  const auto path = std::filesystem::temp_directory_path() / "eindecomp-trace-test.svg";
  write_trace(g.graph(), {{"run", timeline}}, path);
  std::ifstream file(path);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) ==
        timeline_svg(g.graph(), {{"run", timeline}}));
  std::filesystem::remove(path);
  CHECK_THROWS_WITH_AS(write_trace(g.graph(), {{"run", timeline}}, "/dev/full"),
                       doctest::Contains("cannot write the trace to /dev/full (No space left"),
                       Error);
}
