// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graphs that typed programs become, evaluated by the reference, give what the programs say;
// with every rewrite and without any.

#include "property/typed_cases.hpp"

#include <doctest/doctest.h>

namespace {

using namespace property;

const reference::UserOperators& user() {
  static const reference::UserOperators operators{
      {},
      {{"gcd",
        [](const reference::Operands& all) {
          std::int64_t divisor = 0;
          for (const reference::Number& x : all) {
            divisor = Gcd{}(divisor, static_cast<std::int64_t>(x.real()));
          }
          return reference::Number{reference::Kind::int64, static_cast<long double>(divisor)};
        }},
       {"mean", [](const reference::Operands& all) {
          long double sum = 0;
          for (const reference::Number& x : all) sum += x.real();
          return reference::rounded(reference::Kind::float64,
                                    sum / static_cast<long double>(all.size()));
        }}}};
  return operators;
}

void check_graphs(ein::LoweringOptions options) {
  int cases = 0;
  all_cases([&](const char* name, const auto& write) {
    CAPTURE(name);
    ++cases;
    // Functors without a name cannot be told from a graph.
    const std::string_view text(name);
    if (text == "the user's join, with state" || text == "the user's map") return;
    Harness<ein::NoBackend, std::complex<double>> t(options);
    write(t);
    const ein::EinGraph& graph = t.program.graph();
    const std::string graph_text = ein::to_text(graph).str();
    INFO(graph_text);
    t.inputs.resize(graph.vertices.size());
    const auto tensors = reference::evaluate(graph, t.inputs, user());
    for (const auto& expected : t.expectations) {
      const reference::Tensor& got = tensors[static_cast<std::size_t>(expected.vertex)];
      CHECK(got.kind == expected.tensor.kind);
      CHECK(graph[expected.vertex].element.kind == expected.tensor.kind);
      CHECK(got.bound == expected.tensor.bound);
      REQUIRE(got.values.size() == expected.tensor.values.size());
      for (std::size_t e = 0; e < got.values.size(); ++e) {
        CAPTURE(e);
        CAPTURE(static_cast<double>(got.values[e].real()));
        CAPTURE(static_cast<double>(expected.tensor.values[e].real()));
        CHECK(std::abs(got.values[e] - expected.tensor.values[e]) <= allowed(expected));
      }
    }
  });
  CHECK(cases >= 60);
}

}  // namespace

TEST_CASE("typed programs become graphs that mean the same") { check_graphs({}); }
TEST_CASE("so they do without rewrites") { check_graphs({false, false, false}); }
