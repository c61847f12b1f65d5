// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lives of executors: random programs, each planned several times at random, run again and again on
// inputs that change and are bound in every way there is, results of earlier runs among them, some
// carried over by the plan, some inputs constant. Every result must be the reference's, and must
// still be so when the life ends; words and memory must be those that the plan predicts.

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

#include "eindecomp/run/result_memory.hpp"
#include "property/data.hpp"
#include "property/random_program.hpp"
#include "support/cases.hpp"
#include "support/streamed.hpp"

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
  int carried = 0;        ///< a result was carried to the next run as the plan says
  int constant = 0;       ///< a run gathered constants
  int kept = 0;           ///< a run found them where one before had left them
  Extent spared = 0;      ///< words that these did not receive on this rank
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
  Life(std::uint64_t seed, Accesses accesses, Tally& tally)
      : m_random(seed), m_tally(tally), m_drawn(seed, accesses), m_feeders(at(graph().size())) {
    MPI_Comm_rank(MPI_COMM_WORLD, &m_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &m_ranks);
    const Extent plans = draw(m_random, 1, 3);
    for (Extent n = 0; n < plans; ++n) {
      m_subjects.push_back(make_subject());
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
  /// What moves to and from this rank in a run.
  struct Words {
    Extent received = 0;
    Extent sent = 0;
    bool operator==(const Words&) const = default;
  };

  /// A plan and its executor.
  struct Subject {
    Plan plan;
    Executor executor;
    std::vector<VertexId> constants;           ///< ascending
    std::vector<std::optional<Binding>> kept;  ///< by vertex, of constants: as in the last run
    Tensors kept_values;                       ///< by vertex
    Memory memory;                             ///< of `kept`
    std::optional<ein::RankProgram> program;   ///< with these constants
    std::optional<Run> last;
    std::optional<reference::Tensor> carried;  ///< what the last run carries over

    Subject(const ein::BasicProgram<Backend>& drawn, const ein::DecomposeOptions& options)
        : plan(drawn_plan(drawn, options)),
          executor(plan, MPI_COMM_WORLD, Space()),
          kept(at(plan.graph.size())),
          kept_values(at(plan.graph.size())) {}

    /// One plan in two has what can be streamed streamed.
    [[nodiscard]] static Plan drawn_plan(const ein::BasicProgram<Backend>& drawn,
                                         const ein::DecomposeOptions& options) {
      Plan plan = ein::decompose(drawn, options);
      const std::uint64_t lot = plan.hash();
      return lot % 2 == 0 ? plan : test_support::streamed(std::move(plan), 2 + lot / 2 % 3, false);
    }

    [[nodiscard]] bool is_constant(VertexId v) const {
      return std::binary_search(constants.begin(), constants.end(), v);
    }
    void forget() {
      executor.forget_constants();
      std::fill(kept.begin(), kept.end(), std::nullopt);
    }
    [[nodiscard]] Words words(bool with_constants) const {
      Words words;
      for (const ein::Instruction& instruction : program->instructions) {
        if (instruction.message() == nullptr) continue;
        if (!with_constants && eindecomp::relation::is_done_once(*program, instruction)) continue;
        const bool sent = instruction.as<ein::Send>() != nullptr;
        (sent ? words.sent : words.received) += instruction.message()->words;
      }
      return words;
    }
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

  std::unique_ptr<Subject> make_subject() {
    ein::DecomposeOptions options = m_drawn.draw_plan(m_ranks);
    std::vector<ein::CarriedTensor> pairs;
    for (VertexId next : graph().results()) {
      for (VertexId v = 0; v < graph().size(); ++v) {
        const ein::Vertex& input = graph()[v];
        if (!input.is_input() || input.bound != graph()[next].bound ||
            !(input.element == graph()[next].element)) {
          continue;
        }
        pairs.push_back({graph()[next].name, input.name});
      }
    }
    if (!pairs.empty() && chance(m_random, 60)) options.carry = {pick(m_random, pairs)};
    auto subject = std::make_unique<Subject>(m_drawn.program, options);
    if (chance(m_random, 60)) {
      for (VertexId v = 0; v < graph().size(); ++v) {
        const bool carried = !subject->plan.carry.empty() && subject->plan.carry.front().input == v;
        if (graph()[v].is_input() && !carried && chance(m_random, 60)) {
          subject->constants.push_back(v);
        }
      }
    }
    subject->program = subject->plan.program(
        m_rank, {.threads = ein::compat::host_threads(Space()), .constants = subject->constants});
    return subject;
  }

  void step() {
    Subject& subject =
        *m_subjects[at(draw(m_random, 0, static_cast<Extent>(m_subjects.size()) - 1))];
    const bool carries = subject.last.has_value() && chance(m_random, 70);
    std::optional<Tensors> drawn;
    if (carries) drawn = draw_carried(subject);
    const bool carried = drawn.has_value();
    const Tensors tensors = carried ? *drawn : draw_tensors(subject);
    std::vector<Binding> bindings;
    Memory memory;
    Extent predicted = 0;
    const auto count_inputs = [&](const Binding& binding) {
      const auto& facts = binding.facts();
      if (facts.distribution == nullptr) return;
      predicted += subject.plan.input_words(facts.tensor.vertex, *facts.distribution)[at(m_rank)];
    };
    if (carried) {
      bindings = subject.last->carry();
      predicted += subject.plan.carried_words()[at(m_rank)];
      ++m_tally.carried;
    }
    const int refused = m_tally.places_differ;
    for (VertexId v = 0; v < graph().size(); ++v) {
      const bool is_carried = carried && subject.plan.carry.front().input == v;
      if (!graph()[v].is_input() || is_carried || subject.is_constant(v)) continue;
      bindings.push_back(chance(m_random, 35) ? bind_fed(subject, v, tensors[at(v)], memory)
                                              : bind_own(subject.plan, v, tensors[at(v)], memory));
      count_inputs(bindings.back());
    }
    // A run that some ranks find right and others refuse may have had other constants.
    bool with_constants = m_tally.places_differ > refused;
    for (VertexId v : subject.constants) {
      const bool same =
          subject.kept[at(v)] && subject.kept_values[at(v)].values == tensors[at(v)].values;
      with_constants = with_constants || !same || chance(m_random, 10);
    }
    if (with_constants) subject.forget();
    if (!subject.constants.empty()) ++(with_constants ? m_tally.constant : m_tally.kept);
    for (VertexId v : subject.constants) {
      if (with_constants) {
        subject.kept[at(v)] = bind_own(subject.plan, v, tensors[at(v)], subject.memory).constant();
        subject.kept_values[at(v)] = tensors[at(v)];
        count_inputs(*subject.kept[at(v)]);
      }
      bindings.push_back(*subject.kept[at(v)]);
    }
    for (std::size_t n = bindings.size(); n > 1; --n) {
      std::swap(bindings[n - 1], bindings[at(draw(m_random, 0, static_cast<Extent>(n) - 1))]);
    }
    if (chance(m_random, 10)) refuse(subject, bindings);

    Run run = run_unharmed(subject.executor, bindings);
    ++m_tally.runs;
    const ein::RunStatistics& counted = run.statistics();
    CHECK(counted.inputs.words_received == predicted);
    const Words words = subject.words(with_constants);
    CHECK(Words{counted.words_received, counted.words_sent} == words);
    m_tally.spared += subject.words(true).received - words.received;
    CHECK(counted.arena_bytes == subject.program->arena_bytes);
    CHECK(counted.kept_bytes == subject.program->kept_bytes);
    CHECK(counted.result_bytes == subject.program->result_bytes);
    subject.last.reset();
    if (!subject.plan.carry.empty() && chance(m_random, 80)) {
      subject.last = run;
      subject.carried = tensors[at(subject.plan.carry.front().next)];
    }
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

  /// Inputs whose carried one is the last run's result, if all results can be compared then.
  std::optional<Tensors> draw_carried(const Subject& subject) {
    Tensors inputs = m_inputs;
    for (VertexId v : subject.constants) {
      if (subject.kept[at(v)]) inputs[at(v)] = subject.kept_values[at(v)];
    }
    inputs[at(subject.plan.carry.front().input)] = *subject.carried;
    return m_drawn.evaluate(inputs);
  }

  /// New inputs, some as they were, constants most of all, such that all results can be compared.
  Tensors draw_tensors(const Subject& subject) {
    const bool constant = chance(m_random, 80);
    for (int tries = 0; tries < 6; ++tries) {
      Tensors inputs = m_inputs;
      for (VertexId v = 0; v < graph().size(); ++v) {
        if (constant && subject.kept[at(v)]) {
          inputs[at(v)] = subject.kept_values[at(v)];
          continue;
        }
        if (!graph()[v].is_input() || chance(m_random, 25)) continue;
        inputs[at(v)] = m_drawn.draw_input(m_random, v);
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
  Binding bind_fed(Subject& subject, VertexId v, const reference::Tensor& tensor, Memory& memory) {
    const Plan& plan = subject.plan;
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
    refuse_places(subject, v, in_place, memory);
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
  void refuse_places(Subject& subject, VertexId wrong, const Binding& binding, Memory& memory) {
    std::vector<Binding> bindings;
    for (VertexId v = 0; v < graph().size(); ++v) {
      if (!graph()[v].is_input()) continue;
      bindings.push_back(v == wrong ? binding
                                    : bind_tensor(subject.plan, v, m_inputs[at(v)],
                                                  Way::whole_right, m_rank, 0, memory));
    }
    const std::string said = refusal(subject, bindings);
    CHECK(said.find("input " + graph()[wrong].name.str()) != std::string::npos);
    ++m_tally.places_differ;
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

  template <class T>
  static ein::AnySymbol rounded(Builder& builder, const ein::AnySymbol& x,
                                const ein::LabelStrings& labels,
                                const std::vector<Builder::Write>& output) {
    return builder.statement<ein::Cast<T>, ein::NoAggregation, float>("Y", {{x, labels}}, output);
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
    const Kind kind = input.element.kind;
    const auto product = std::ranges::find_if(signatures(), [&](const Signature& signature) {
      return signature.join == "mul" && signature.monoid == "sum" &&
             signature.operands == std::vector<Kind>{kind, kind};
    });
    REQUIRE(product != signatures().end());
    ein::AnySymbol y = product->write(builder, "P", {{x, labels}, {c, {}}}, output, {});
    // Products of 16-bit numbers are floats.
    if (kind == Kind::float16) y = rounded<ein::float16>(builder, y, labels, output);
    if (kind == Kind::bfloat16) y = rounded<ein::bfloat16>(builder, y, labels, output);
    feeder->x = x.vertex();
    feeder->c = c.vertex();
    feeder->y = y.vertex();
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
        if (reference::differs(got[n], expected.values[n], tolerance)) ++wrong;
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

Tally live_through(std::uint64_t first, int cases, Accesses accesses = Accesses::labels) {
  Tally tally;
  const auto count = static_cast<std::uint64_t>(eindecomp_tests::random_cases(cases));
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed << "\n"
                 << ein::to_text(RandomProgram(seed, accesses).program.graph()).str());
    Life(seed, accesses, tally).live();
  }
  return tally;
}

}  // namespace

TEST_CASE("lives of executors") {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  // Other lives for every number of ranks.
  const Tally tally = live_through(1000U * static_cast<std::uint64_t>(ranks), 500);
  if (eindecomp_tests::share_of_cases() < 100) return;
  // Everything there is to bind was met.
  CHECK(tally.runs >= 1500);
  for (const int bound : tally.way) CHECK(bound > 50);
  CHECK(tally.iterated > 50);
  CHECK(tally.in_place > 50);
  CHECK(tally.refused > 50);
  CHECK(tally.held > 500);
  CHECK(tally.carried > 50);
  CHECK(tally.constant > 50);
  CHECK(tally.kept > 50);
  if (ranks > 1) CHECK(tally.spared > 50);
  if (ranks > 1) CHECK(tally.places_differ > 50);
}

TEST_CASE("lives of executors of programs with index tensors") {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Tally tally =
      live_through(1000U * static_cast<std::uint64_t>(ranks), 300, Accesses::looked_up);
  if (eindecomp_tests::share_of_cases() < 100) return;
  CHECK(tally.runs >= 900);
  CHECK(tally.in_place > 20);
  CHECK(tally.carried > 20);
  CHECK(tally.kept > 20);
}
