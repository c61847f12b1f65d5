// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs, cut at random and run on all ranks, against the reference; and the words that
// every rank moves, and the bytes that it holds, against the plan's prediction.

#include <doctest/doctest.h>

#include <complex>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "property/data.hpp"
#include "property/random_program.hpp"
#include "support/cases.hpp"
#include "support/pmpi_counter.hpp"
#include "support/streamed.hpp"

using namespace property;

namespace {

std::string plan_text(const ein::Plan& plan) {
  std::string text = "workers " + std::to_string(plan.workers) + "\n";
  for (VertexId v = 0; v < plan.graph.size(); ++v) {
    text += ein::formula(plan.graph, v).str() + "  d =";
    for (Extent parts : plan.partitions[static_cast<std::size_t>(v)]) {
      text += " " + std::to_string(parts);
    }
    text += "\n";
  }
  return text;
}

void run_seed(std::uint64_t seed, Accesses accesses) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  RandomProgram drawn(seed, accesses);
  const ein::EinGraph& graph = drawn.program.graph();
  ein::DecomposeOptions options = drawn.draw_plan(ranks);
  if (accesses != Accesses::labels && seed % 3 == 1) {
    options = {.workers = 1 << seed % 4, .ranks = ranks};
    options.strategy = seed % 2 == 0 ? "placed" : "ein_decomp";
  }
  auto plan = ein::decompose(drawn.program, options);
  if (seed % 2 == 0)
    plan = test_support::streamed(std::move(plan), 2 + seed / 2 % 3, seed % 4 == 0);
  const std::string text =
      "seed " + std::to_string(seed) + "\n" + ein::to_text(graph).str() + plan_text(plan);
  INFO(text);

  Random ways_random(seed);
  std::vector<Binding> bindings;
  Memory memory;
  for (VertexId v = 0; v < graph.size(); ++v) {
    if (!graph[v].is_input()) continue;
    const auto way = static_cast<Way>(draw(ways_random, 0, ways - 1));
    bindings.push_back(bind_tensor(plan, v, drawn.tensors[static_cast<std::size_t>(v)], way, rank,
                                   static_cast<int>(draw(ways_random, 0, ranks - 1)), memory));
  }

  Executor executor(plan, MPI_COMM_WORLD, Space());
  pmpi::reset();  // behind the agreement of the executor's communicators
  const Run run = executor.run(bindings);

  const auto me = static_cast<std::size_t>(rank);
  const ein::TaskGraph tasks = plan.tasks();
  const pmpi::Counts counted = pmpi::counts("EinDecomp transfers");
  CHECK(counted.received == tasks.received[me]);
  CHECK(counted.sent == tasks.sent[me]);
  CHECK(counted.others == 0);
  CHECK(run.statistics().words_received == tasks.received[me]);
  CHECK(run.statistics().words_sent == tasks.sent[me]);

  const ein::SpaceFacts space{.threads = Space().concurrency()};
  CHECK(executor.program().peak_bytes() == plan.peak_bytes(space)[me]);

  long double scale = 0;
  for (const reference::Tensor& t : drawn.tensors) scale = std::max(scale, t.scale);
  for (VertexId v : graph.results()) {
    const reference::Tensor& expected = drawn.tensors[static_cast<std::size_t>(v)];
    const std::vector<reference::Wide> got = gather_tensor(run, graph, v);
    REQUIRE(got.size() == expected.values.size());
    const long double tolerance = reference::tolerance(expected, scale);
    std::size_t wrong = got.size();
    for (std::size_t i = got.size(); i-- > 0;) {
      if (reference::differs(got[i], expected.values[i], tolerance)) wrong = i;
    }
    if (wrong == got.size()) continue;
    CAPTURE(graph[v].name.str());
    CAPTURE(wrong);
    CAPTURE(static_cast<double>(got[wrong].real()));
    CAPTURE(static_cast<double>(expected.values[wrong].real()));
    CAPTURE(static_cast<double>(tolerance));
    CHECK(wrong == got.size());
  }
}

/// The programs of one part of so many, which have seeds of their own.
void run_seeds(std::uint64_t part, int cases, Accesses accesses = Accesses::labels) {
  const auto count = static_cast<std::uint64_t>(eindecomp_tests::random_cases(cases));
  for (std::uint64_t n = 0; n < count; ++n) run_seed(part * count + n, accesses);
}

}  // namespace

TEST_CASE("random programs, the first quarter") { run_seeds(0, 500); }
TEST_CASE("random programs, the second quarter") { run_seeds(1, 500); }
TEST_CASE("random programs, the third quarter") { run_seeds(2, 500); }
TEST_CASE("random programs, the last quarter") { run_seeds(3, 500); }
TEST_CASE("random programs with computed indices") { run_seeds(0, 1000, Accesses::computed); }
TEST_CASE("random programs with index tensors") { run_seeds(0, 1000, Accesses::looked_up); }

TEST_CASE("every kind of access is drawn") {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 1) return;  // the same programs on any number of ranks
  std::map<std::string, int> drawn;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const RandomProgram random_program(seed, Accesses::computed);
    for (const ein::Vertex& v : random_program.program.graph().vertices) {
      if (!v.periods.empty()) ++drawn["residue classes"];
      for (const ein::Operand& operand : v.operands) {
        if (operand.outside == ein::OutsideValue::zero) ++drawn["zero"];
        if (operand.outside == ein::OutsideValue::one) ++drawn["one"];
        if (operand.outside == ein::OutsideValue::lowest) ++drawn["lowest"];
        if (operand.outside == ein::OutsideValue::highest) ++drawn["highest"];
        for (const ein::OperandIndex& index : operand.indices) {
          ++drawn[index.terms.empty() ? "constant" : index.terms.size() == 2 ? "window" : "label"];
          if (index.divisor > 1) ++drawn["divided"];
          if (index.boundary == ein::Boundary::periodic) ++drawn["periodic"];
          if (index.boundary == ein::Boundary::clamp) ++drawn["clamp"];
          if (index.boundary == ein::Boundary::reflect) ++drawn["reflect"];
        }
      }
    }
  }
  for (const char* const kind : {"residue classes", "zero", "one", "lowest", "highest", "constant",
                                 "window", "label", "divided", "periodic", "clamp", "reflect"}) {
    CAPTURE(kind);
    CHECK(drawn[kind] >= 10);
  }
}

TEST_CASE("every kind of gather and scatter is drawn") {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 1) return;  // the same programs on any number of ranks
  std::map<std::string, int> drawn;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const RandomProgram random_program(seed, Accesses::looked_up);
    const ein::EinGraph& graph = random_program.program.graph();
    for (VertexId at = 0; at < graph.size(); ++at) {
      const ein::Vertex& v = graph[at];
      const auto tensors = static_cast<std::size_t>(v.op.index_tensors);
      for (std::size_t o = 0; o < v.operands.size(); ++o) {
        const ein::Vertex& read = graph[v.operands[o].vertex];
        if (o < tensors && !read.is_input()) ++drawn["computed indices"];
        if (o < tensors && v.operands[o].is_computed()) ++drawn["indices read at computed ones"];
        if (read.op.index_tensors > 0) ++drawn["read by others"];
        if (o >= tensors && tensors > 0 && !read.is_input()) ++drawn["of what is computed"];
      }
      for (std::size_t k = 0; k < tensors; ++k) {
        const bool written =
            std::find(v.output.begin(), v.output.end(), v.values[k]) != v.output.end();
        int dimensions = 0;
        for (std::size_t o = tensors; o < v.operands.size(); ++o) {
          const ein::Operand& operand = v.operands[o];
          for (std::size_t d = 0; d < operand.labels.size(); ++d) {
            if (operand.labels[d] == v.values[k]) ++dimensions;
          }
          for (const ein::OperandIndex& index : operand.indices) {
            for (const auto& term : index.terms) {
              if (term.label == v.values[k] && index.terms.size() > 1) ++drawn["in a window"];
            }
          }
        }
        ++drawn[!written ? "gather" : dimensions == 0 ? "scatter" : "mask"];
        if (dimensions > 1) ++drawn["diagonal"];
        if (tensors == 2) ++drawn["two index tensors"];
      }
      if (!std::all_of(random_program.tensors[static_cast<std::size_t>(at)].values.begin(),
                       random_program.tensors[static_cast<std::size_t>(at)].values.end(),
                       [](reference::Wide z) { return std::isfinite(z.real()); })) {
        ++drawn["infinite"];
      }
      ++drawn[v.op.join.str() + " " + v.op.aggregate.str()];
    }
  }
  for (const char* const kind : {"computed indices", "indices read at computed ones",
                                 "read by others", "of what is computed", "in a window", "gather",
                                 "scatter", "mask", "diagonal", "two index tensors", "infinite"}) {
    CAPTURE(kind);
    CHECK(drawn[kind] >= 20);
  }
  for (const Signature& signature : lookup_signatures()) {
    CAPTURE(signature.join);
    CAPTURE(signature.monoid);
    CHECK(drawn[signature.join + " " + signature.monoid] > 0);
  }
}

TEST_CASE("every operator of the list is drawn") {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 1) return;  // the same programs on any number of ranks
  std::map<std::pair<std::string, std::string>, int> drawn;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const RandomProgram random_program(seed);
    for (const ein::Vertex& v : random_program.program.graph().vertices) {
      ++drawn[{v.op.join.str(), v.op.aggregate.str()}];
    }
  }
  for (const Signature& signature : signatures()) {
    CAPTURE(signature.join);
    CAPTURE(signature.monoid);
    CHECK(drawn[{signature.join, signature.monoid}] > 0);
  }
}
