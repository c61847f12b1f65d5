// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What masks of labels leave out of the calls of a rank.

#include "eindecomp/graph/masks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/macros.hpp"
#include "eindecomp/graph/permutations.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/instruction_work.hpp"
#include "eindecomp/relation/mask_splitter.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "support.hpp"

using namespace eindecomp;
using namespace eindecomp::labels;
using relation_test::at;
using relation_test::Random;

namespace {

/// The joins of a statement in the programs of all ranks.
double joins(const EinGraph& graph, const char* name, const std::vector<PartitionVector>& parts,
             int ranks, const std::vector<StepGroup>& groups = {}) {
  double joins = 0;
  for (const RankProgram& program :
       compile_ranks(graph, place(graph, parts, make_mesh(ranks)), ranks, groups)) {
    for (const Instruction& instruction : program.instructions) {
      if (graph[instruction.statement].name == name && instruction.as<KernelCall>() != nullptr) {
        joins += relation::work_of(graph, program, instruction).operations;
      }
    }
  }
  return joins;
}
double joins(const EinGraph& graph, const char* name) {
  std::vector<PartitionVector> uncut;
  for (const Vertex& v : graph.vertices) uncut.emplace_back(v.labels.size(), 1);
  return joins(graph, name, uncut, 1);
}

/// What of the joins of Z the mask of X is made of leaves: of 32 x 32 x 32 after
/// Z(i, j) = write(X, Y)(i, j), with X and Y matrices.
template <class Write>
[[nodiscard]] double share(const Write& write) {
  PlanProgram g;
  const auto X = g.input<double>("X", {32, 32});
  const auto Y = g.input<double>("Y", {32, 32});
  write(X, Y);
  return joins(g.graph(), "Z") / (32.0 * 32 * 32);
}

}  // namespace

TEST_CASE("masks of one label cut it, in all ways in which they can be written") {
  const auto first_half = [](const auto& condition) {
    return share([&](const auto& X, const auto& Y) {
      (void)(let<"Z">(i, j) = sum(k)(condition * X(i, k) * Y(k, j)));
    });
  };
  CHECK(first_half(k < 16) == 0.5);
  CHECK(first_half(k <= 15) == 0.5);
  CHECK(first_half(16 > k) == 0.5);
  CHECK(first_half(15 >= k) == 0.5);
  CHECK(first_half(2 * k + 1 < 32) == 0.5);
  CHECK(first_half(16 - k > 0) == 0.5);
  CHECK(first_half(value(k) < 16) == 0.5);
  CHECK(first_half(cast<double>(k < 16)) == 0.5);
  CHECK(first_half(-(k < 16)) == 0.5);
  CHECK(first_half((k < 16) / 2.0) == 0.5);
  CHECK(first_half(select(k < 16, 1.0, 0.0)) == 0.5);
  CHECK(first_half(select(k < 16, 1.0, 2.0)) == 1.0);
  CHECK(first_half((k >= 8) * (k < 24)) == 0.5);
  CHECK(first_half(k >= 8 && k < 24) == 0.5);
  CHECK(first_half(k == 8) == 1.0 / 32);
  CHECK(first_half(k != 8) == 1.0);
  CHECK(first_half(2.0 * (k >= 40)) == 0.0);
  CHECK(first_half((i < 16) * (j < 8)) == 0.125);
}

TEST_CASE("masks with numbers that no label comes near leave nothing out, or all") {
  const auto part = [](const auto& condition) {
    return share([&](const auto& X, const auto& Y) {
      (void)(let<"Z">(i, j) = sum(k)(condition * X(i, k) * Y(k, j)));
    });
  };
  constexpr Extent most = std::numeric_limits<Extent>::max();
  CHECK(part(k - i <= most) == 1.0);
  CHECK(part(k - i < most) == 1.0);
  CHECK(part(k - i >= -most) == 1.0);
  CHECK(part(k - i > -most - 1) == 1.0);
  CHECK(part((k - i <= most) * (k < 16)) == 0.5);
  constexpr Extent computed = Extent{1} << 60;
  CHECK(part(k - i <= computed) == 1.0);
  CHECK(part(k - i >= computed) == 0.0);
}

TEST_CASE("what is selected instead of 0, and nothing else") {
  CHECK(share([](const auto& X, const auto& Y) {
          (void)(let<"Z">(i, j) = sum(k)(select(k < 16, X(i, k) * Y(k, j), 0.0)));
        }) == 0.5);
  CHECK(share([](const auto& X, const auto& Y) {
          (void)(let<"Z">(i, j) = sum(k)(select(k < 16, X(i, k) * Y(k, j), 1.0)));
        }) == 1.0);
  CHECK(share([](const auto& X, const auto& Y) {
          (void)(let<"Z">(i, j) = max(k)((k < 16) * X(i, k) * Y(k, j)));
        }) == 1.0);
}

TEST_CASE("readers of a masked tensor leave its zeros out") {
  CHECK(share([](const auto& X, const auto& Y) {
          const auto M = let<"M">(i, k) = (k < 16) * X(i, k);
          const auto T = let<"T">(k, i) = 1.0 * M(i, k);
          (void)T;
          (void)(let<"Z">(i, j) = sum(k)(M(i, k) * Y(k, j)));
        }) == 0.5);
  // A sum with something else is not 0 there, nor an exponential.
  CHECK(share([](const auto& X, const auto& Y) {
          const auto M = let<"M">(i, k) = (k < 16) * X(i, k) + Y(i, k);
          (void)(let<"Z">(i, j) = sum(k)(M(i, k) * Y(k, j)));
        }) == 1.0);
  CHECK(share([](const auto& X, const auto& Y) {
          const auto M = let<"M">(i, k) = (k < 16) * X(i, k);
          const auto N = let<"N">(i, k) = exp(M(i, k));
          (void)(let<"Z">(i, j) = sum(k)(N(i, k) * Y(k, j)));
        }) == 1.0);
  // Results of which whole rows are 0 are masked tensors, too.
  CHECK(share([](const auto& X, const auto& Y) {
          const auto M = let<"M">(k, l) = sum(m)((k < 16) * X(k, m) * Y(m, l));
          (void)(let<"Z">(i, l) = sum(k)(X(i, k) * M(k, l)));
        }) == 0.5);
}

TEST_CASE("what is multiplied by 0 is not computed before") {
  const auto of_product = [](const auto& write) {
    return share([&](const auto& X, const auto& Y) {
      const auto Z = let<"Z">(i, j) = sum(k)(X(i, k) * Y(k, j));
      write(Z, X);
    });
  };
  CHECK(of_product([](const auto& Z, const auto&) {
          (void)(let<"M">(i, j) = (i < 16) * Z(i, j));
        }) == 0.5);
  CHECK(of_product([](const auto& Z, const auto& X) {
          (void)(let<"M">(i, j) = (i < 16) * X(i, j) * Z(i, j) * Z(i, j));
        }) == 0.5);
  // It is a result, or read by others, or what becomes of 0 may be no number.
  CHECK(of_product([](const auto& Z, const auto&) {
          (void)(let<"M">(i, j) = (i < 16) * Z(i, j));
          (void)(let<"N">(i, j) = 2.0 * Z(i, j));
        }) == 1.0);
  CHECK(of_product([](const auto& Z, const auto&) {
          (void)(let<"M">(i, j) = (i < 16) / Z(i, j));
        }) == 1.0);
}

TEST_CASE("what is not looked at is not computed") {
  const auto of_product = [](const auto& write) {
    return share([&](const auto& X, const auto& Y) {
      const auto Z = let<"Z">(i, j) = sum(k)(X(i, k) * Y(k, j));
      write(Z, X);
    });
  };
  CHECK(of_product([](const auto& Z, const auto& X) {
          (void)(let<"M">(i, j) = select(i < 16, exp(Z(i, j)), X(i, j)));
        }) == 0.5);
  CHECK(of_product([](const auto& Z, const auto& X) {
          (void)(let<"M">(i, j) = select(i < 16, X(i, j), 1.0 / Z(i, j)));
        }) == 0.5);
  CHECK(of_product([](const auto& Z, const auto& X) {
          (void)(let<"M">(i) = max(j)(select(j != 3, X(i, j), Z(i, j))));
        }) == 1.0 / 32);
  CHECK(of_product([](const auto& Z, const auto& X) {
          (void)(let<"M">(i, j) = select(i < 16, Z(i, j), X(i, j)) + Z(i, j));
        }) == 1.0);
  // Of two that look at it, what either does.
  CHECK(of_product([](const auto& Z, const auto& X) {
          (void)(let<"M">(i, j) = select(i < 8, Z(i, j), X(i, j)));
          (void)(let<"N">(j, i) = select(i < 16, Z(i, j), X(i, j)));
        }) == 0.5);
  CHECK(of_product([](const auto& Z, const auto& X) {
          (void)(let<"M">(i, j) = select(i < 8, Z(i, j), X(i, j)));
          (void)(let<"N">(j, i) = select(i >= 24, Z(i, j), X(i, j)));
        }) == 1.0);
}

TEST_CASE("of symmetric products, and of what a masked softmax reads and gives, half is computed") {
  constexpr Extent n = 512;
  constexpr double all = static_cast<double>(n) * n * n;
  PlanProgram g;
  const auto X = g.input<double>("X", {n, n});
  const auto Y = g.input<double>("Y", {n, n});
  (void)(let<"symmetric">(i, j) = symmetric(i, j)(sum(k)(X(i, k) * X(j, k))));
  (void)(let<"antisymmetric">(j, i) = antisymmetric(j, i)(sum(k)(Y(i, k) * Y(j, k))));
  const auto scores = let<"scores">(i, j) = sum(k)(X(i, k) * Y(j, k));
  const auto weights = let<"weights">(i, j) = softmax(j, j <= i)(scores(i, j));
  (void)(let<"attended">(i, k) = sum(j)(weights(i, j) * X(j, k)));
  const EinGraph& graph = g.graph();
  int products = 0;
  for (const Vertex& v : graph.vertices) {
    if (v.is_input() || v.op.join != "mul" || v.aggregated.empty()) continue;
    CAPTURE(v.name.str());
    CHECK(joins(graph, std::string(v.name.str()).c_str()) ==
          doctest::Approx(all * 9 / 16).epsilon(0.01));
    ++products;
  }
  CHECK(products == 4);
}

TEST_CASE("of a triangle half is computed, however it is cut") {
  constexpr Extent n = 512;
  PlanProgram g;
  const auto X = g.input<double>("X", {n, n});
  const auto Y = g.input<double>("Y", {n, n});
  const auto L = let<"L">(i, k) = (k <= i) * X(i, k);
  (void)(let<"Z">(i, j) = sum(k)(L(i, k) * Y(k, j)));
  const EinGraph& graph = g.graph();
  constexpr double all = static_cast<double>(n) * n * n;
  // In 8 pieces each of which has its own length of k.
  CHECK(joins(graph, "Z") == doctest::Approx(all * 9 / 16).epsilon(0.01));
  // Over i, and over k.
  CHECK(joins(graph, "Z", {{}, {}, {2, 1}, {2, 1, 1}}, 2) <= all * 0.57);
  CHECK(joins(graph, "Z", {{}, {}, {1, 2}, {1, 2, 1}}, 2) <= all * 0.57);
  // Streamed: whole panels are left out, of each of two workers.
  const StepGroup streamed{3, 3, {{{1}, 8}}};
  CHECK(joins(graph, "Z", {{}, {}, {2, 1}, {2, 1, 1}}, 2, {streamed}) == all * (4 + 8) / 16);
}

TEST_CASE("random cuts leave out no join that counts, and write every result once") {
  Random random(20261127);
  for (int n = 0; n < 300; ++n) {
    CAPTURE(n);
    PlanProgram g;
    // Long enough to be cut into pieces, of so many joins that those are told by their numbers.
    Vertex v;
    v.labels = {0, 1, 2, 3};
    v.extents = {random.number(1, 400), random.number(1, 400), random.number(1, 5),
                 Extent{1} << 18};
    v.output = random.chance(50) ? std::vector<int>{0, 3} : std::vector<int>{1, 3, 0};
    for (int l = 0; l < 4; ++l) {
      if (std::ranges::find(v.output, l) == v.output.end()) v.aggregated.push_back(l);
    }
    std::vector<graph::Condition> conditions;
    for (int c = random.number(1, 2); c > 0; --c) {
      graph::Condition condition{{}, random.number(-300, 300)};
      for (int l = 0; l < 3; ++l) {
        if (random.chance(70)) condition.terms.push_back({l, random.number(-3, 3)});
      }
      conditions.push_back(condition);
    }
    KernelCall whole;
    whole.domain = Box::whole(v.extents);
    whole.domain.lo[0] = random.number(0, static_cast<int>(v.extents[0]) - 1);
    whole.accumulate = random.chance(30);
    std::vector<KernelCall> calls{whole};
    relation::MaskSplitter(v, conditions).split(calls);
    CHECK(calls.size() <= 16 * 6);
    const auto holds = [&](Extent a, Extent b, Extent c) {
      return std::ranges::all_of(conditions, [&](const graph::Condition& condition) {
        Extent sum = condition.offset;
        const Extent values[] = {a, b, c};
        for (const auto& term : condition.terms) sum += term.coefficient * values[term.label];
        return sum >= 0;
      });
    };
    // Per value of labels 0 to 2, how many calls compute its joins, and per result, write it.
    const std::size_t width = at(static_cast<int>(v.extents[1]));
    const bool has_b = v.output.size() == 3;
    bool right = true;
    std::vector<int> written(at(static_cast<int>(v.extents[0])) * (has_b ? width : 1), 0);
    for (const KernelCall& call : calls) {
      const Box& d = call.domain;
      CHECK(d.lo[3] == 0);
      CHECK(d.hi[3] == v.extents[3]);
      for (Extent a = d.lo[0]; a < d.hi[0]; ++a) {
        for (Extent b = has_b ? d.lo[1] : 0; b < (has_b ? d.hi[1] : 1); ++b) {
          ++written[at(static_cast<int>(a)) * (has_b ? width : 1) + at(static_cast<int>(b))];
        }
      }
    }
    std::vector<char> computed(written.size() * (has_b ? 1 : width) * 5, 0);
    const auto number = [&](Extent a, Extent b, Extent c) {
      return (at(static_cast<int>(a)) * width + at(static_cast<int>(b))) * 5 +
             at(static_cast<int>(c));
    };
    for (const KernelCall& call : calls) {
      const Box& d = call.domain;
      for (Extent a = d.lo[0]; a < d.hi[0]; ++a) {
        for (Extent b = d.lo[1]; b < d.hi[1]; ++b) {
          for (Extent c = d.lo[2]; c < d.hi[2]; ++c) {
            char& here = computed[number(a, b, c)];
            right = right && here == 0;
            here = 1;
          }
        }
      }
    }
    for (Extent a = whole.domain.lo[0]; a < v.extents[0]; ++a) {
      for (Extent b = 0; b < v.extents[1]; ++b) {
        const int times = written[has_b ? at(static_cast<int>(a)) * width + at(static_cast<int>(b))
                                        : at(static_cast<int>(a))];
        // What accumulates may leave results alone.
        right = right && (times == 1 || (times == 0 && whole.accumulate));
        for (Extent c = 0; c < v.extents[2]; ++c) {
          right = right && (computed[number(a, b, c)] == 1 || !holds(a, b, c));
        }
      }
    }
    CHECK(right);
  }
}

TEST_CASE("what no join reads is not sent") {
  const Extent n = 32;
  PlanProgram g;
  const auto X = g.input<double>("X", {n, n});
  const auto Y = g.input<double>("Y", {n, n});
  (void)(let<"Z">(i, j) = sum(k)(as_written((k <= i) * X(i, k) * Y(k, j))));
  const EinGraph& graph = g.graph();
  const Mesh mesh = make_mesh(4);
  std::vector<PartitionVector> parts(graph.vertices.size());
  const auto cut = [&](Extent rows, Extent inner) {
    const Vertex& z = graph.vertices.back();
    REQUIRE(z.name == "Z");
    parts.back().clear();
    for (const LabelId label : z.labels) {
      const std::string& name = graph.labels[at(label)].name;
      parts.back().push_back(name == "i" ? rows : name == "k" ? inner : 1);
    }
    return place(graph, parts, mesh);
  };
  // A rank has a quarter of the rows of Z, X and Y, and needs of Y what is not below its rows of X.
  Placement rows = cut(4, 1);
  const auto axes = [](std::vector<int> first) { return AxisLists{std::move(first), {}}; };
  rows.stored[at(Y.vertex())] = axes({0, 1});
  const TaskGraph by_rows = make_task_graph(graph, rows, 4);
  CHECK(by_rows.received == std::vector<Extent>{0, 8 * n, 16 * n, 24 * n});
  // One of four calls has no joins that count: of the upper half of Z, which the other has alone, a
  // half goes to where it is stored; of the lower half, each gives the other half of its sums.
  Placement both = cut(2, 2);
  both.stored[at(X.vertex())] = both.stored[at(Y.vertex())] = axes({0, 1});
  const TaskGraph by_both = make_task_graph(graph, both, 4);
  CHECK(by_both.statements.back().calls.size() == 3);
  Extent upper = 0;
  Extent lower = 0;
  for (const Transfer& t : by_both.statements.back().aggregations) {
    (t.box.lo[0] < n / 2 ? upper : lower) += t.words();
  }
  CHECK(upper == n / 2 * n / 2);
  CHECK(lower == n / 2 * n);
}
