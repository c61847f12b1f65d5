// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lives of executors: random programs, each planned several times at random, run again and again on
// inputs that change and are bound in every way there is, results of earlier runs among them. Every
// result must be the reference's, and must still be so when the life ends.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "property/data.hpp"
#include "property/random_program.hpp"

using namespace property;

namespace {

using Plan = ein::BasicPlan<Backend>;
using Tensors = std::vector<reference::Tensor>;

std::size_t at(VertexId v) { return static_cast<std::size_t>(v); }

/// What happened how often, over all lives.
struct Tally {
  int runs = 0;
  int way[ways] = {};
  int iterated = 0;       ///< a result was bound to the next run of its own executor
  int in_place = 0;       ///< a result was bound where it lies
  int places_differ = 0;  ///< a result was refused as its boxes are not the input's
  int refused = 0;        ///< a run with a binding too few or too many
  int held = 0;
};

/// Runs, and checks that nothing is written that a binding reads.
Run run_unharmed(Executor& executor, const std::vector<Binding>& bindings) {
  std::vector<std::pair<ein::run::AddressRange, std::string>> before;
  for (const Binding& binding : bindings) {
    for (const auto& view : binding.facts().views) {
      if (view.data == nullptr) continue;
      const ein::run::AddressRange range{static_cast<const char*>(view.data),
                                         reinterpret_cast<const char*>(view.end())};
      before.emplace_back(range, std::string(range.begin, range.end));
    }
  }
  Run run = executor.run(bindings);
  for (const auto& [range, bytes] : before) {
    CHECK(std::memcmp(range.begin, bytes.data(), bytes.size()) == 0);
  }
  return run;
}

class Life {
 public:
  Life(std::uint64_t seed, Tally& tally)
      : m_random(seed), m_tally(tally), m_drawn(seed), m_feeders(at(graph().size())) {
    MPI_Comm_rank(MPI_COMM_WORLD, &m_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &m_ranks);
    const Extent plans = draw(m_random, 1, 3);
    for (Extent n = 0; n < plans; ++n) {
      m_subjects.push_back(std::make_unique<Subject>(m_drawn.program, m_drawn.draw_plan(m_ranks)));
    }
    m_inputs = m_drawn.tensors;
  }

  void live() {
    const Extent runs = draw(m_random, 2, 6);
    for (Extent n = 0; n < runs; ++n) step();
    // Runs outlive their executors.
    while (!m_subjects.empty()) {
      m_subjects.pop_back();
      m_feeders.clear();
      for (const Held& held : m_held) check(held, chance(m_random, 20));
    }
  }

 private:
  /// A plan and its executor.
  struct Subject {
    Plan plan;
    Executor executor;
    Subject(const ein::BasicProgram<Backend>& program, const ein::DecomposeOptions& options)
        : plan(ein::decompose(program, options)), executor(plan, MPI_COMM_WORLD, Space()) {}
  };

  /// A result that must stay as it is.
  struct Held {
    Run run;
    ein::EinGraph graph;
    std::vector<std::pair<VertexId, reference::Tensor>> expected;
    long double scale;
  };

  /// A program Y = X · C whose results become an input of the program proper, or its own.
  struct Feeder {
    ein::BasicProgram<Backend> program;
    VertexId x = -1;
    VertexId c = -1;
    VertexId y = -1;
    std::unique_ptr<Subject> subject;
    std::optional<Run> last;
    reference::Tensor last_value;
  };

  [[nodiscard]] const ein::EinGraph& graph() const { return m_drawn.program.graph(); }

  void step() {
    Subject& subject =
        *m_subjects[at(draw(m_random, 0, static_cast<Extent>(m_subjects.size()) - 1))];
    const Tensors tensors = draw_tensors();
    std::vector<Binding> bindings;
    Memory memory;
    for (VertexId v = 0; v < graph().size(); ++v) {
      if (!graph()[v].is_input()) continue;
      bindings.push_back(chance(m_random, 35) ? bind_fed(subject.plan, v, tensors[at(v)], memory)
                                              : bind_own(subject.plan, v, tensors[at(v)], memory));
    }
    for (std::size_t n = bindings.size(); n > 1; --n) {
      std::swap(bindings[n - 1], bindings[at(draw(m_random, 0, static_cast<Extent>(n) - 1))]);
    }
    if (chance(m_random, 10)) refuse(subject, bindings);

    Run run = run_unharmed(subject.executor, bindings);
    ++m_tally.runs;
    Extent predicted = 0;
    for (const Binding& binding : bindings) {
      const auto& facts = binding.facts();
      if (facts.distribution == nullptr) continue;
      predicted += subject.plan.input_words(facts.tensor.vertex, *facts.distribution)[at(m_rank)];
    }
    CHECK(run.statistics().inputs.words_received == predicted);
    if (chance(m_random, 30)) {
      const std::vector<VertexId> results = graph().results();
      const VertexId v = results[at(draw(m_random, 0, static_cast<Extent>(results.size()) - 1))];
      const auto seed = static_cast<std::uint64_t>(draw(m_random, 0, 1 << 20));
      long double scale = 0;
      for (const reference::Tensor& t : tensors) scale = std::max(scale, t.scale);
      CHECK(count_wrong_distributed(run, subject.plan, v, tensors[at(v)],
                                    reference::tolerance(tensors[at(v)], scale), m_rank,
                                    seed) == 0);
    }
    Held held{std::move(run), graph(), {}, 0};
    for (const reference::Tensor& t : tensors) held.scale = std::max(held.scale, t.scale);
    for (VertexId v : graph().results()) held.expected.emplace_back(v, tensors[at(v)]);
    check(held, chance(m_random, 30));
    keep(std::move(held));
  }

  /// New inputs, some as they were, such that all results can be compared.
  Tensors draw_tensors() {
    for (int tries = 0; tries < 6; ++tries) {
      Tensors inputs = m_inputs;
      for (VertexId v = 0; v < graph().size(); ++v) {
        if (!graph()[v].is_input() || chance(m_random, 25)) continue;
        inputs[at(v)] = random_input(m_random, graph()[v].element.kind, graph()[v].bound);
      }
      if (std::optional<Tensors> all = m_drawn.evaluate(inputs)) {
        m_inputs = inputs;
        return *all;
      }
    }
    return *m_drawn.evaluate(m_inputs);
  }

  Binding bind_own(const ein::Plan& plan, VertexId v, const reference::Tensor& tensor,
                   Memory& memory) {
    const auto way = static_cast<Way>(draw(m_random, 0, ways - 1));
    const auto root = static_cast<int>(draw(m_random, 0, m_ranks - 1));
    ++m_tally.way[static_cast<int>(way)];
    return bind_tensor(plan, v, tensor, way, m_rank, root, memory);
  }

  /// Binds an input to what another executor has computed: where it lies, or, where the plans lay
  /// it out differently and say so, gathered.
  Binding bind_fed(const ein::Plan& plan, VertexId v, const reference::Tensor& tensor,
                   Memory& memory) {
    const Feeder& feeder = feed(plan, v, tensor);
    const ein::Plan& from = feeder.subject->plan;
    bool same_boxes = true;  // on every rank
    bool same_order = true;
    for (int rank = 0; rank < m_ranks; ++rank) {
      const std::vector<ein::Box> given = local(from, feeder.y, rank);
      const std::vector<ein::Box> wanted = local(plan, v, rank);
      same_order = same_order && given == wanted;
      same_boxes = same_boxes && given.size() == wanted.size() &&
                   std::is_permutation(given.begin(), given.end(), wanted.begin());
    }
    const Handover how = draw_handover(tensor.kind);
    const Run run = *feeder.last;
    const Binding in_place = bind_result(plan, v, run, feeder.program.graph(), feeder.y, how);
    if (how == Handover::blocks ? same_boxes : same_order) {
      ++m_tally.in_place;
      if (chance(m_random, 50)) m_feeders[at(v)]->last.reset();
      return in_place;
    }
    refuse_places(plan, v, in_place, memory);
    reference::Tensor gathered = tensor;
    gathered.values = gather_tensor(run, feeder.program.graph(), feeder.y);
    return bind_tensor(plan, v, gathered, Way::whole_right, m_rank, 0, memory);
  }

  Handover draw_handover(Kind kind) {
    return kind == Kind::float64 && chance(m_random, 60) ? Handover::views : Handover::blocks;
  }

  static std::vector<ein::Box> local(const ein::Plan& plan, VertexId v, int rank) {
    return plan.local(ein::AnySymbol(plan.graph, v), rank);
  }

  /// A run that is refused on all ranks because a block has another place than the input's.
  void refuse_places(const ein::Plan& plan, VertexId wrong, const Binding& binding,
                     Memory& memory) {
    for (const auto& subject : m_subjects) {
      if (&subject->plan != &plan) continue;
      std::vector<Binding> bindings;
      for (VertexId v = 0; v < graph().size(); ++v) {
        if (!graph()[v].is_input()) continue;
        bindings.push_back(v == wrong ? binding
                                      : bind_tensor(plan, v, m_inputs[at(v)], Way::whole_right,
                                                    m_rank, 0, memory));
      }
      const std::string said = refusal(*subject, bindings);
      CHECK(said.find("input " + graph()[wrong].name.str()) != std::string::npos);
      ++m_tally.places_differ;
    }
  }

  /// A run with a binding too few or too many changes nothing.
  void refuse(Subject& subject, std::vector<Binding> bindings) {
    if (bindings.size() > 1 && chance(m_random, 50)) {
      bindings.pop_back();
    } else {
      bindings.push_back(bindings.front());
    }
    CHECK(!refusal(subject, bindings).empty());
    ++m_tally.refused;
  }

  static std::string refusal(Subject& subject, const std::vector<Binding>& bindings) {
    try {
      (void)subject.executor.run(bindings);
    } catch (const ein::Error& e) {
      return e.what();
    }
    return {};
  }

  /// Has an input's values computed by its feeder.
  const Feeder& feed(const ein::Plan& plan, VertexId v, const reference::Tensor& tensor) {
    std::unique_ptr<Feeder>& feeder = m_feeders[at(v)];
    if (feeder == nullptr) feeder = make_feeder(plan, v);
    // Signs whose product is one, so that the last round gives the tensor.
    std::vector<int> signs;
    for (Extent n = draw(m_random, 1, 3); n > 0; --n)
      signs.push_back(chance(m_random, 50) ? 1 : -1);
    reference::Tensor x = tensor;
    for (const int sign : signs) scale(x, sign);
    for (const int sign : signs) {
      feed_once(*feeder, x, sign);
      scale(x, sign);
    }
    return *feeder;
  }

  static void scale(reference::Tensor& tensor, int sign) {
    for (reference::Wide& z : tensor.values) z *= static_cast<long double>(sign);
  }

  /// Y = X · sign, X bound to the feeder's own last result where that is what it needs: state that
  /// stays where it lies.
  void feed_once(Feeder& feeder, const reference::Tensor& x, int sign) {
    Memory memory;
    reference::Tensor scalar;
    scalar.kind = x.kind;
    scalar.values = {reference::Wide(sign)};
    const ein::Plan& own = feeder.subject->plan;
    bool iterates = feeder.last && feeder.last_value.values == x.values;
    for (int rank = 0; rank < m_ranks; ++rank) {
      iterates = iterates && local(own, feeder.x, rank) == local(own, feeder.y, rank);
    }
    std::vector<Binding> bindings{bind_own(own, feeder.c, scalar, memory)};
    if (iterates) {
      const Handover how = draw_handover(x.kind);
      bindings.push_back(
          bind_result(own, feeder.x, *feeder.last, feeder.program.graph(), feeder.y, how));
      ++m_tally.iterated;
      // Nobody but the binding, or nobody at all, holds what is read.
      if (chance(m_random, 70)) feeder.last.reset();
    } else {
      bindings.push_back(bind_own(own, feeder.x, x, memory));
    }
    Run run = run_unharmed(feeder.subject->executor, bindings);
    reference::Tensor y = x;
    scale(y, sign);
    feeder.last = run;
    feeder.last_value = y;
    Held held{std::move(run), feeder.program.graph(), {{feeder.y, y}}, y.scale};
    check(held, false);
    keep(std::move(held));
  }

  std::unique_ptr<Feeder> make_feeder(const ein::Plan& plan, VertexId v) {
    auto feeder = std::make_unique<Feeder>();
    const ein::Vertex& input = graph()[v];
    Builder builder(feeder->program);
    const ein::AnySymbol x = add_input(builder, input.element.kind, "X", input.bound);
    const ein::AnySymbol c = add_input(builder, input.element.kind, "C", {});
    ein::LabelStrings labels;
    std::vector<Builder::Write> output;
    for (std::size_t k = 0; k < input.bound.size(); ++k) {
      labels.push_back("l" + std::to_string(k));
      output.push_back({labels.back(), 0});
    }
    for (const Signature& signature : signatures()) {
      if (signature.join != "mul" || signature.monoid != "sum" ||
          signature.operands != std::vector<Kind>{input.element.kind, input.element.kind}) {
        continue;
      }
      feeder->x = x.vertex();
      feeder->c = c.vertex();
      feeder->y = signature.write(builder, "Y", {{x, labels}, {c, {}}}, output).vertex();
      break;
    }
    REQUIRE(feeder->y >= 0);
    // A plan that leaves Y as X is wanted, if one is met.
    ein::DecomposeOptions options;
    for (int tries = 0; tries < 8; ++tries) {
      options = draw_cut(*feeder, tries == 0 ? plan.workers : 1 << draw(m_random, 0, 4));
      const Plan candidate = ein::decompose(feeder->program, options);
      bool same = true;
      for (int rank = 0; rank < m_ranks; ++rank) {
        same = same && local(candidate, feeder->y, rank) == local(plan, v, rank);
      }
      if (same) break;
    }
    feeder->subject = std::make_unique<Subject>(feeder->program, options);
    return feeder;
  }

  ein::DecomposeOptions draw_cut(const Feeder& feeder, Extent workers) {
    ein::DecomposeOptions options;
    options.workers = workers;
    options.ranks = m_ranks;
    options.strategy = "by_hand";
    const ein::EinGraph& g = feeder.program.graph();
    for (VertexId v = 0; v < g.size(); ++v) {
      if (g[v].is_input()) continue;
      ein::StatementParts statement{g[v].name, {}};
      Extent left = workers;
      for (std::size_t l = 0; l < g[v].labels.size(); ++l) {
        Extent parts = 1;
        while (parts * 2 <= g[v].extents[l] && parts * 2 <= left && chance(m_random, 70)) {
          parts *= 2;
        }
        left /= parts;
        statement.parts.push_back({g.labels[at(g[v].labels[l])].name, parts});
      }
      options.by_hand.push_back(std::move(statement));
    }
    return options;
  }

  void check(const Held& held, bool gather) const {
    for (const auto& [v, expected] : held.expected) {
      const long double tolerance = reference::tolerance(expected, held.scale);
      CAPTURE(held.graph[v].name.str());
      CHECK(count_wrong(held.run, held.graph, v, expected, tolerance) == 0);
      if (!gather) continue;
      const std::vector<reference::Wide> got = gather_tensor(held.run, held.graph, v);
      REQUIRE(got.size() == expected.values.size());
      std::size_t wrong = 0;
      for (std::size_t n = 0; n < got.size(); ++n) {
        if (!(std::abs(got[n] - expected.values[n]) <= tolerance)) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }

  void keep(Held held) {
    if (!chance(m_random, 50)) return;
    ++m_tally.held;
    m_held.push_back(std::move(held));
    if (m_held.size() > 4) {
      m_held.erase(m_held.begin() + draw(m_random, 0, 4));
    }
  }

  Random m_random;
  Tally& m_tally;
  RandomProgram m_drawn;
  int m_rank = 0;
  int m_ranks = 1;
  std::vector<std::unique_ptr<Subject>> m_subjects;
  std::vector<std::unique_ptr<Feeder>> m_feeders;  ///< by input
  Tensors m_inputs;                                ///< by vertex
  std::vector<Held> m_held;
};

Tally live_through(std::uint64_t first, std::uint64_t count) {
  Tally tally;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed << "\n" << ein::to_text(RandomProgram(seed).program.graph()).str());
    Life(seed, tally).live();
  }
  return tally;
}

}  // namespace

TEST_CASE("lives of executors") {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  // Other lives for every number of ranks.
  const Tally tally = live_through(1000U * static_cast<std::uint64_t>(ranks), 500);
  // Everything there is to bind was met.
  CHECK(tally.runs >= 1500);
  for (const int bound : tally.way) CHECK(bound > 50);
  CHECK(tally.iterated > 50);
  CHECK(tally.in_place > 50);
  CHECK(tally.refused > 50);
  CHECK(tally.held > 500);
  if (ranks > 1) CHECK(tally.places_differ > 50);
}
