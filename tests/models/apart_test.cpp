// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A training step planned as a whole never moves more words than its forward half and the rest
// planned apart, with what is handed over from one half's layouts to the other's.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/models/convolution.hpp"
#include "eindecomp/models/feed_forward.hpp"
#include "eindecomp/models/transformer.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "support/cases.hpp"

using namespace eindecomp;

namespace {

/// Some statements of a graph as one of its own: tensors of others that they read are inputs.
struct Half {
  EinGraph graph;
  std::vector<VertexId> of_whole;  ///< per vertex of the whole, the half's; -1 where it has none

  Half(const EinGraph& whole, const Flags& chosen) : of_whole(to_index(whole.size()), -1) {
    graph.labels = whole.labels;
    Flags is_needed = chosen;
    for (VertexId v = 0; v < whole.size(); ++v) {
      if (!chosen[to_index(v)]) continue;
      for (const Operand& operand : whole[v].operands) is_needed[to_index(operand.vertex)] = true;
    }
    for (VertexId v = 0; v < whole.size(); ++v) {
      if (!is_needed[to_index(v)]) continue;
      of_whole[to_index(v)] = graph.size();
      const Vertex& old = whole[v];
      Vertex own;
      if (chosen[to_index(v)]) {
        own = old;
        for (Operand& operand : own.operands) operand.vertex = of_whole[to_index(operand.vertex)];
        // What the other half reads is handed over.
        for (VertexId reader = v + 1; reader < whole.size(); ++reader) {
          if (chosen[to_index(reader)]) continue;
          for (const Operand& read : whole[reader].operands) own.kept |= read.vertex == v;
        }
      } else {
        own.name = old.name;
        own.bound = old.bound;
        own.element = old.element;
        own.where = old.where;
      }
      graph.vertices.push_back(std::move(own));
    }
  }
};

/// A step of training cut after what the network says.
struct Halves {
  EinGraph whole;
  Half forward;
  Half backward;

  Halves(const EinGraph& graph, VertexId output)
      : whole(graph),
        forward(graph, needed_by(graph, output)),
        backward(graph, rest(graph, output)) {}

  static Flags needed_by(const EinGraph& graph, VertexId output) {
    Flags needed(to_index(graph.size()), false);
    needed[to_index(output)] = true;
    for (VertexId v = output; v >= 0; --v) {
      if (!needed[to_index(v)]) continue;
      for (const Operand& operand : graph[v].operands) needed[to_index(operand.vertex)] = true;
    }
    for (VertexId v = 0; v < graph.size(); ++v) {
      if (graph[v].is_input()) needed[to_index(v)] = false;
    }
    return needed;
  }
  static Flags rest(const EinGraph& graph, VertexId output) {
    Flags others = needed_by(graph, output);
    for (VertexId v = 0; v < graph.size(); ++v) {
      others[to_index(v)] = !graph[v].is_input() && !others[to_index(v)];
    }
    return others;
  }
};

/// A step's plans, as a whole and by halves.
struct Planned {
  const Halves& step;
  Plan whole;
  Plan forward;
  Plan backward;

  Planned(const Halves& halves, int p, const char* strategy)
      : step(halves),
        whole(decompose(step.whole, {.workers = p, .strategy = strategy, .max_idle = 0})),
        forward(decompose(step.forward.graph, {.workers = p, .strategy = strategy, .max_idle = 0})),
        backward(
            decompose(step.backward.graph, {.workers = p, .strategy = strategy, .max_idle = 0})) {}

  /// What each rank receives in the whole, and in both halves.
  [[nodiscard]] std::vector<Extent> received() const { return whole.tasks().received; }
  [[nodiscard]] std::vector<Extent> received_apart() const {
    std::vector<Extent> words = forward.tasks().received;
    add(words, backward.tasks().received);
    return words;
  }
  /// And to have what both halves hold where the second one stores it.
  [[nodiscard]] std::vector<Extent> received_and_handed_over() const {
    std::vector<Extent> words = received_apart();
    for (VertexId v = 0; v < step.whole.size(); ++v) {
      const VertexId before = step.forward.of_whole[to_index(v)];
      const VertexId after = step.backward.of_whole[to_index(v)];
      if (before < 0 || after < 0) continue;
      add(words, redistributed_words(forward.distribution(before), backward.distribution(after)));
    }
    return words;
  }

  /// The paper's cost of the whole under the halves' partition vectors.
  [[nodiscard]] Extent cost_apart() const {
    Partitions partitions(to_index(step.whole.size()));
    for (VertexId v = 0; v < step.whole.size(); ++v) {
      if (step.whole[v].is_input()) continue;
      const VertexId own = step.forward.of_whole[to_index(v)];
      const bool is_forward = own >= 0 && !step.forward.graph[own].is_input();
      partitions[to_index(v)] =
          is_forward ? forward.partitions[to_index(own)]
                     : backward.partitions[to_index(step.backward.of_whole[to_index(v)])];
    }
    return graph_cost(step.whole, partitions).total();
  }

 private:
  static void add(std::vector<Extent>& words, const std::vector<Extent>& more) {
    std::ranges::transform(words, more, words.begin(), std::plus<>());
  }
};

Extent most(const std::vector<Extent>& words) { return *std::ranges::max_element(words); }

Halves perceptron(const FeedForward& net) {
  DifferentiablePlanProgram program;
  const auto step = feed_forward_training(program, net);
  return {program.graph(), step.output.vertex()};
}
Halves convolutions(const ConvolutionalNet& net) {
  DifferentiablePlanProgram program;
  const auto step = convolutional_training(program, net);
  return {program.graph(), step.output.vertex()};
}
Halves transformer(const TransformerSizes& sizes) {
  DifferentiablePlanProgram program;
  const auto step = transformer_training(program, sizes);
  return {program.graph(), step.output.vertex()};
}

std::vector<std::pair<std::string, Halves>> steps() {
  using models::convolve;
  using models::dense;
  using models::pool;
  std::vector<std::pair<std::string, Halves>> all;
  all.emplace_back("SoyBean's perceptron", perceptron(soybean_mlp(3, 64, 96)));
  all.emplace_back("a wide classifier", perceptron({32, {256, 64, 128}, true, true}));
  all.emplace_back("a narrow perceptron", perceptron({256, {16, 32, 8}, true, false}));
  all.emplace_back("a convolutional network",
                   convolutions({8,
                                 3,
                                 12,
                                 {convolve(8, 3, 1, 1), pool(2, 2), convolve(16, 3, 1, 1),
                                  pool(2, 2), dense(24), dense(10)}}));
  TransformerSizes sizes = llama_7b(4, 32);
  sizes.layers = 2;
  sizes.model = 32;
  sizes.heads = 4;
  sizes.head_size = 8;
  sizes.hidden = 64;
  all.emplace_back("a transformer", transformer(sizes));
  return all;
}

/// Two of them under a sanitizer, where planning takes several times as long.
std::vector<int> numbers_of_workers() {
  if (eindecomp_tests::share_of_cases() < 100) return {3, 4};
  return {2, 3, 4, 6, 8, 16};
}

}  // namespace

TEST_CASE("a step planned as a whole moves no more words than its halves planned apart") {
  for (const auto& [name, step] : steps()) {
    CAPTURE(name);
    for (const int p : numbers_of_workers()) {
      CAPTURE(p);
      const Planned placed(step, p, "placed");
      // Not even if what is handed over cost nothing.
      CHECK(most(placed.received()) <= most(placed.received_apart()));
      CHECK(most(placed.received()) <= most(placed.received_and_handed_over()));
    }
  }
}

TEST_CASE("a step planned as a whole costs no more in the paper's words than its halves") {
  std::vector<std::pair<std::string, Halves>> all = steps();
  TransformerSizes sizes = llama_7b(1, 1024);
  sizes.layers = 2;
  all.emplace_back("two layers of LLaMA-7B", transformer(sizes));
  for (const auto& [name, step] : all) {
    CAPTURE(name);
    for (const int p : numbers_of_workers()) {
      CAPTURE(p);
      const Planned exact(step, p, "exact");
      CHECK(exact.whole.optimal());
      CHECK(exact.whole.cost.total() <= exact.cost_apart());
      // The paper's linearisation takes the longest path first, which is another in the whole than
      // in a half, and leaves out what is read off the path: it may miss by more in the whole.
      const Planned paper(step, p, "ein_decomp");
      CHECK(static_cast<double>(paper.whole.cost.total()) <=
            1.1 * static_cast<double>(paper.cost_apart()));
      CHECK(most(paper.received()) <= most(paper.received_and_handed_over()));
    }
  }
}
