// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How long the plans of all strategies take, over programs of both papers at sizes for a few
/// nodes: runs by turns, the best of some rounds, each over that of the default strategy. On one
/// machine, scripts/cluster gives the ranks a network.

#include <fmt/core.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
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

using Fill = std::function<void(Inputs&)>;

/// A program that was written: its plans, and what gives its inputs memory.
struct Written {
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
            return Written{[program](const ein::DecomposeOptions& options) {
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

Workload network(std::string name, const ein::FeedForward& net) {
  return workload(std::move(name), [=](ein::Program& g) -> Fill {
    const auto t = ein::feed_forward(g, net);
    return [t](Inputs& inputs) {
      inputs.add(t.input);
      for (const auto& weight : t.weights) inputs.add(weight);
    };
  });
}

Workload training(std::string name, const ein::FeedForward& net) {
  return workload<ein::DifferentiableProgram>(std::move(name),
                                              [=](ein::DifferentiableProgram& g) -> Fill {
                                                const auto t = ein::feed_forward_training(g, net);
                                                return [t](Inputs& inputs) {
                                                  inputs.add(t.input).add(t.target);
                                                  for (const auto& update : t.updates)
                                                    inputs.add(update.weight);
                                                };
                                              });
}

Workload training(std::string name, const ein::ConvolutionalNet& net) {
  return workload<ein::DifferentiableProgram>(
      std::move(name), [=](ein::DifferentiableProgram& g) -> Fill {
        const auto t = ein::convolutional_training(g, net);
        return [t](Inputs& inputs) {
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

/// AlexNet with a quarter of its channels and neurons, for smaller images.
ein::ConvolutionalNet quarter_alexnet(ein::Extent batch) {
  ein::ConvolutionalNet net = ein::alexnet(batch);
  net.image = 99;
  for (auto& layer : net.layers) layer.features /= 4;
  return net;
}

std::vector<Workload> workloads() {
  return {product(1536, 1536, 1536),
          product(4096, 512, 512),
          product(2048, 2048, 128),
          chain("chain 1024", ein::square_chain(1024)),
          chain("chain 1000, skewed", ein::skewed_chain(1000)),
          attention({256, 512, 8, 64}),
          network("classifier, batch 64", {64, {12000, 512, 1024}, true, true}),
          training("classifier, batch 64, training", {64, {12000, 512, 1024}, true, true}),
          training("MLP 5 x 300, batch 400, training", ein::soybean_mlp(5, 300, 400)),
          training("MLP 4 x 1024, batch 128, training", ein::soybean_mlp(4, 1024, 128)),
          training("MLP 4 x 512, batch 1024, training", ein::soybean_mlp(4, 512, 1024)),
          training("CNN 6 x 6, 128 filters, batch 64, training", ein::soybean_cnn(6, 128, 64)),
          training("CNN 24 x 24, 32 filters, batch 64, training", ein::soybean_cnn(24, 32, 64)),
          training("AlexNet, a quarter of its channels, batch 64, training", quarter_alexnet(64)),
          transformer("transformer, 256 positions", {1, 1, 256, 512, 8, 64, 1376}),
          transformer("transformer, batch 4, 128 positions", {1, 4, 128, 512, 8, 64, 1376}),
          shortest_paths(768),
          neighbours(2048, 1024, 64)};
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

  void run() {
    m_best =
        std::min(m_best, seconds_of_slowest([&] { (void)m_executor.run(m_inputs.bindings()); }));
  }
  [[nodiscard]] const std::string& strategy() const { return m_strategy; }
  [[nodiscard]] const Plan& plan() const { return m_plan; }
  [[nodiscard]] double best() const { return m_best; }

 private:
  std::string m_strategy;
  Plan m_plan;
  Inputs m_inputs;
  Executor m_executor;
  double m_best = std::numeric_limits<double>::infinity();
};

/// One candidate per plan that differs from those before, the default strategy's first.
std::vector<std::unique_ptr<Candidate>> candidates(const Written& program, int rank, int size) {
  std::vector<std::unique_ptr<Candidate>> found;
  for (const ein::Strategy& strategy : ein::list_strategies()) {
    if (strategy.name == "by_hand") continue;
    try {
      const Plan plan =
          program.decompose({.workers = size, .strategy = std::string(strategy.name)});
      const bool known = std::ranges::any_of(found, [&](const auto& other) {
        const ein::Placement& placement = other->plan().placement;
        return placement.mesh == plan.placement.mesh && placement.calls == plan.placement.calls &&
               placement.stored == plan.placement.stored;
      });
      if (!known) found.push_back(std::make_unique<Candidate>(plan, program.fill, rank));
    } catch (const ein::Error&) {
      // It does not apply: labels without roles, or too many workers for what it cuts.
    }
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Times of all strategies' plans, run by turns"};
  int rounds = 5;
  std::string chosen;
  app.add_option("rounds", rounds, "Runs of each plan, of which the fastest counts")
      ->check(CLI::PositiveNumber);
  app.add_option("--only", chosen, "Only programs whose names have this in them");
  CLI11_PARSE(app, argc, argv);

  const ein::ScopedRuntime runtime(argc, argv);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    fmt::print("{} ranks, the best of {} rounds, milliseconds\n\n", size, rounds);
    fmt::print("| program | placed | the fastest other | placed / it | all others |\n");
    fmt::print("|---|--:|---|--:|---|\n");
  }
  for (const Workload& workload : workloads()) {
    if (workload.name.find(chosen) == std::string::npos) continue;
    const Written program = workload.write();
    const auto plans = candidates(program, rank, size);
    for (int round = 0; round <= rounds; ++round) {
      for (const auto& plan : plans) plan->run();
    }
    if (rank != 0) continue;
    const double own = plans.front()->best();
    std::string others;
    const Candidate* fastest = nullptr;
    for (std::size_t n = 1; n < plans.size(); ++n) {
      const Candidate& other = *plans[n];
      others += fmt::format("{}{} {:.1f}", others.empty() ? "" : ", ", other.strategy(),
                            other.best() * 1e3);
      if (fastest == nullptr || other.best() < fastest->best()) fastest = &other;
    }
    if (fastest == nullptr) {
      fmt::print("| {} | {:.1f} | none differs | | |\n", workload.name, own * 1e3);
    } else {
      fmt::print("| {} | {:.1f} | {} | {:.2f} | {} |\n", workload.name, own * 1e3,
                 fastest->strategy(), own / fastest->best(), others);
    }
    std::fflush(stdout);
  }
  return 0;
}
