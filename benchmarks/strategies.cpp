// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How long the plans of all strategies take, over programs of both papers at sizes for a few
/// nodes: each other's time over the default strategy's, run by turns. Plans differ by less than
/// the machine does from one minute to the next, so ratios are the medians over rounds of the ratio
/// within a round, and the default plan runs twice in each: how far its ratio to itself is from 1
/// is what a ratio may be off. On one machine, scripts/cluster gives the ranks a network.

#include <fmt/core.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/eindecomp.hpp"
#include "eindecomp/models/attention.hpp"
#include "eindecomp/models/convolution.hpp"
#include "eindecomp/models/feed_forward.hpp"
#include "eindecomp/models/matrix_chain.hpp"
#include "eindecomp/models/transformer.hpp"
#include "support/slowest_rank.hpp"

namespace ein = eindecomp;
using ein::let;
using eindecomp_benchmarks::seconds_of_slowest;
using Space = Kokkos::DefaultHostExecutionSpace;
using Backend = ein::Program::Backend;
using Plan = ein::BasicPlan<Backend>;
using Executor = decltype(ein::Executor(std::declval<const Plan&>(), MPI_COMM_WORLD, Space()));

namespace {

/// Gives inputs memory, where a plan wants it.
class Inputs {
 public:
  Inputs(const Plan& plan, int rank) : m_plan(plan), m_rank(rank) {}

  template <class T, int rank, class AnyBackend>
  Inputs& add(const ein::Symbol<T, rank, AnyBackend>& symbol) {
    using View = ein::run::TensorView<T, rank, Space::memory_space>;
    std::vector<View> views;
    for (const ein::Box& box : m_plan.local(symbol, m_rank)) {
      std::vector<ein::Extent> extents;
      for (int k = 0; k < rank; ++k) extents.push_back(box.extent(k));
      views.emplace_back(std::string(symbol.name()), ein::run::layout_of(extents));
      Kokkos::deep_copy(views.back(), T(1) / T(64));
    }
    m_bindings.emplace_back(ein::bind(symbol, views));
    return *this;
  }
  [[nodiscard]] const std::vector<ein::Binding<Space>>& bindings() const { return m_bindings; }

 private:
  const Plan& m_plan;
  int m_rank;
  std::vector<ein::Binding<Space>> m_bindings;
};

/// What gives a program's inputs memory, and which of its results are inputs of the next run.
struct Fill : std::function<void(Inputs&)> {
  using std::function<void(Inputs&)>::function;
  std::vector<ein::CarriedTensor> carry = {};
};

/// A program that was written: its plans, and what gives its inputs memory.
struct Written {
  ein::EinGraph graph;
  std::function<Plan(const ein::DecomposeOptions&)> decompose;
  Fill fill;
};

/// A program to be written.
struct Workload {
  std::string name;
  std::function<Written()> write;
};

/// \param write  writes into a Program and returns what gives its inputs memory
template <class Program = ein::Program, class Write>
Workload workload(std::string name, const Write& write) {
  return {std::move(name), [write] {
            const auto program = std::make_shared<Program>();
            Fill fill = write(*program);
            return Written{program->graph(),
                           [program](const ein::DecomposeOptions& options) {
                             return ein::decompose(*program, options);
                           },
                           std::move(fill)};
          }};
}

template <class... Symbols>
Fill fill_all(Symbols... symbols) {
  return [symbols...](Inputs& inputs) { (inputs.add(symbols), ...); };
}

Workload product(ein::Extent rows, ein::Extent inner, ein::Extent columns) {
  return workload(fmt::format("product {} x {} x {}", rows, inner, columns),
                  [=](ein::Program& g) -> Fill {
                    using namespace ein::labels;
                    const auto X = g.input<float>("X", {rows, inner});
                    const auto Y = g.input<float>("Y", {inner, columns});
                    let<"Z">(i, k) = sum(j)(X(i, j) * Y(j, k));
                    g.role(i, "batch");
                    g.role(k, "hidden");
                    return fill_all(X, Y);
                  });
}

Workload chain(std::string name, const ein::MatrixChainSizes& sizes) {
  return workload(std::move(name), [=](ein::Program& g) -> Fill {
    const auto t = ein::matrix_chain(g, sizes);
    return fill_all(t.a, t.b, t.c, t.d, t.e);
  });
}

Workload training(std::string name, const ein::FeedForward& net) {
  return workload<ein::DifferentiableProgram>(std::move(name),
                                              [=](ein::DifferentiableProgram& g) -> Fill {
                                                const auto t = ein::feed_forward_training(g, net);
                                                Fill fill = [t](Inputs& inputs) {
                                                  inputs.add(t.input).add(t.target);
                                                  for (const auto& update : t.updates)
                                                    inputs.add(update.weight);
                                                };
                                                fill.carry = t.carry();
                                                return fill;
                                              });
}

Workload training(std::string name, const ein::ConvolutionalNet& net) {
  return workload<ein::DifferentiableProgram>(
      std::move(name), [=](ein::DifferentiableProgram& g) -> Fill {
        const auto t = ein::convolutional_training(g, net);
        Fill fill = [t](Inputs& inputs) {
          const ein::EinGraph& graph = t.input.state()->graph;
          const auto add = [&](const ein::AnySymbol& tensor) {
            using Images = std::decay_t<decltype(t.input)>;
            using Rows = ein::Symbol<float, 2, Images::Backend>;
            graph[tensor.vertex()].rank() == 4
                ? inputs.add(Images(t.input.state(), tensor.vertex()))
                : inputs.add(Rows(t.input.state(), tensor.vertex()));
          };
          inputs.add(t.input);
          add(t.target);
          for (const auto& update : t.updates) add(update.weight);
        };
        fill.carry = t.carry();
        return fill;
      });
}

Workload attention(const ein::AttentionSizes& sizes) {
  return workload(
      fmt::format("attention {} x {}, {} heads", sizes.sequence, sizes.model, sizes.heads),
      [=](ein::Program& g) -> Fill {
        const auto t = ein::multi_head_attention_model(g, sizes);
        return fill_all(t.q, t.k, t.v, t.wq, t.wk, t.wv, t.wo);
      });
}

Workload transformer(std::string name, const ein::TransformerSizes& sizes) {
  return workload(std::move(name), [=](ein::Program& g) -> Fill {
    const auto t = ein::transformer_prefill(g, sizes);
    return [t](Inputs& inputs) {
      inputs.add(t.input).add(t.rotary).add(t.mask).add(t.final_gain);
      for (const auto& l : t.layers) {
        inputs.add(l.attention_gain).add(l.network_gain).add(l.wq).add(l.wk).add(l.wv);
        inputs.add(l.wo).add(l.w1).add(l.w2).add(l.w3);
      }
    };
  });
}

Workload shortest_paths(ein::Extent nodes) {
  return workload(fmt::format("paths of two among {} nodes", nodes), [=](ein::Program& g) -> Fill {
    using namespace ein::labels;
    const auto D = g.input<float>("D", {nodes, nodes});
    let<"P">(i, k) = min(j)(D(i, j) + D(j, k));
    g.role(i, "batch");
    return fill_all(D);
  });
}

Workload neighbours(ein::Extent queries, ein::Extent points, ein::Extent dimensions) {
  return workload(fmt::format("distances of {} to {} points", queries, points),
                  [=](ein::Program& g) -> Fill {
                    using namespace ein::labels;
                    const auto Q = g.input<float>("Q", {queries, dimensions});
                    const auto P = g.input<float>("P", {points, dimensions});
                    const auto S = let<"S">(i, j) = sum(d)(square(Q(i, d) - P(j, d)));
                    let<"N">(i) = min(j)(S(i, j));
                    g.role(i, "batch");
                    return fill_all(Q, P);
                  });
}

/// The programs of both papers, their sizes divided by one number, so that what is computed for a
/// word that moves shrinks by it and shapes keep their proportions; and some of other algebras.
std::vector<Workload> workloads() {
  const auto amazon_cat = [](ein::Extent batch, ein::Extent features) {
    return ein::FeedForward{batch, {features, 512, 912}, true, true};
  };
  return {
      product(1536, 1536, 1536),
      product(4096, 512, 512),
      product(2048, 2048, 128),
      chain("chain 1024", ein::square_chain(1024)),
      chain("chain 1000, skewed", ein::skewed_chain(1000)),
      training("classifier 512 x 512 x 912, batch 8, training", amazon_cat(8, 512)),
      training("classifier 37344 x 512 x 912, batch 8, training", amazon_cat(8, 37344)),
      training("classifier 37344 x 512 x 912, batch 32, training", amazon_cat(32, 37344)),
      attention({256, 512, 8, 64}),
      transformer("transformer, 512 positions", {1, 1, 512, 512, 8, 64, 1376}),
      transformer("transformer, batch 4, 512 positions", {1, 4, 512, 512, 8, 64, 1376}),
      transformer("transformer, batch 8, 128 positions", {1, 8, 128, 512, 8, 64, 1376}),
      training("MLP 5 x 300, batch 400, training", ein::soybean_mlp(5, 300, 400)),
      training("MLP 4 x 1024, batch 64, training", ein::soybean_mlp(4, 1024, 64)),
      training("MLP 4 x 1024, batch 256, training", ein::soybean_mlp(4, 1024, 256)),
      training("MLP 4 x 1536, batch 256, training", ein::soybean_mlp(4, 1536, 256)),
      training("CNN 6 x 6, 128 filters, batch 16, training", ein::soybean_cnn(6, 128, 16)),
      training("CNN 24 x 24, 32 filters, batch 16, training", ein::soybean_cnn(24, 32, 16)),
      training("AlexNet / 4, batch 64, training", ein::narrowed(ein::alexnet(64), {99, 4, 4, 4})),
      training("VGG-16 / 8, batch 32, training", ein::narrowed(ein::vgg16(32), {64, 8, 8, 8})),
      shortest_paths(768),
      neighbours(2048, 1024, 64)};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

/// A strategy's plan, ready to run.
class Candidate {
 public:
  Candidate(const Plan& plan, const Fill& fill, int rank)
      : m_strategy(plan.strategy),
        m_plan(plan),
        m_inputs(m_plan, rank),
        m_executor(m_plan, MPI_COMM_WORLD, Space()) {
    fill(m_inputs);
  }
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;
  ~Candidate() = default;

  void run(int round) {
    m_seconds[round] = seconds_of_slowest([&] { (void)m_executor.run(m_inputs.bindings()); });
  }
  [[nodiscard]] const std::string& strategy() const { return m_strategy; }
  [[nodiscard]] const Plan& plan() const { return m_plan; }
  [[nodiscard]] double seconds() const {
    std::vector<double> all;
    for (const auto& [round, seconds] : m_seconds) all.push_back(seconds);
    return median(std::move(all));
  }
  /// How many times as long as another it takes in the same round, the median.
  [[nodiscard]] double over(const Candidate& other) const {
    std::vector<double> ratios;
    for (const auto& [round, seconds] : m_seconds) {
      const auto same = other.m_seconds.find(round);
      if (same != other.m_seconds.end()) ratios.push_back(seconds / same->second);
    }
    return median(std::move(ratios));
  }

 private:
  std::string m_strategy;
  Plan m_plan;
  Inputs m_inputs;
  Executor m_executor;
  std::map<int, double> m_seconds;  ///< per round that it ran in
};

/// One candidate per plan that differs from those before, the default strategy's first and, once
/// more, last.
std::vector<std::unique_ptr<Candidate>> candidates(const Written& program, int rank, int size) {
  std::vector<std::unique_ptr<Candidate>> found;
  for (const ein::Strategy& strategy : ein::list_strategies()) {
    if (strategy.name == "by_hand" || !strategy.finds_roles(program.graph)) continue;
    const Plan plan = program.decompose(
        {.workers = size, .strategy = std::string(strategy.name), .carry = program.fill.carry});
    const bool known = std::ranges::any_of(found, [&](const auto& other) {
      const ein::Placement& placement = other->plan().placement;
      return placement.mesh == plan.placement.mesh && placement.calls == plan.placement.calls &&
             placement.stored == plan.placement.stored;
    });
    if (!known) found.push_back(std::make_unique<Candidate>(plan, program.fill, rank));
  }
  found.push_back(std::make_unique<Candidate>(found.front()->plan(), program.fill, rank));
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Times of all strategies' plans, run by turns"};
  int rounds = 15;
  std::string chosen;
  app.add_option("rounds", rounds, "Runs of each plan, of whose times the medians count")
      ->check(CLI::PositiveNumber);
  app.add_option("--only", chosen, "Only programs whose names have this in them");
  CLI11_PARSE(app, argc, argv);

  const ein::ScopedRuntime runtime(argc, argv);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    fmt::print("{} ranks, medians of {} rounds; others as their time over placed's\n\n", size,
               rounds);
    fmt::print(
        "| program | placed, ms | itself over it | the fastest other | over placed | all others "
        "|\n");
    fmt::print("|---|--:|--:|---|--:|---|\n");
  }
  for (const Workload& workload : workloads()) {
    if (workload.name.find(chosen) == std::string::npos) continue;
    const Written program = workload.write();
    const auto plans = candidates(program, rank, size);
    for (const auto& plan : plans) plan->run(0);  // first runs are slow
    std::vector<int> every;  // after how many rounds a plan runs again: slow ones run seldom
    for (const auto& plan : plans) {
      plan->run(0);
      every.push_back(plan->over(*plans.front()) > 3 ? 5 : 1);
    }
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t n = 0; n < plans.size(); ++n) {
        const std::size_t turn = (n + static_cast<std::size_t>(round)) % plans.size();
        if (round % every[turn] == 0) plans[turn]->run(round);  // in turn, no place is better
      }
    }
    if (rank != 0) continue;
    const Candidate& own = *plans.front();
    std::string others;
    const Candidate* fastest = nullptr;
    for (std::size_t n = 1; n + 1 < plans.size(); ++n) {
      const Candidate& other = *plans[n];
      const double ratio = other.over(own);
      others += fmt::format("{}{} {:.3g}", others.empty() ? "" : ", ", other.strategy(), ratio);
      if (fastest == nullptr || ratio < fastest->over(own)) fastest = &other;
    }
    fmt::print("| {} | {:.1f} | {:.3g} |", workload.name, own.seconds() * 1e3,
               plans.back()->over(own));
    if (fastest == nullptr) {
      fmt::print(" none differs | | |\n");
    } else {
      fmt::print(" {} | {:.3g} | {} |\n", fastest->strategy(), fastest->over(own), others);
    }
    std::fflush(stdout);
  }
  return 0;
}
