// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "workloads.hpp"

#include <fmt/core.h>

#include <utility>

#include "coupled_cluster.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/differentiable.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/models/attention.hpp"
#include "eindecomp/models/convolution.hpp"
#include "eindecomp/models/feed_forward.hpp"
#include "eindecomp/models/matrix_chain.hpp"
#include "eindecomp/models/transformer.hpp"

namespace eindecomp_benchmarks {
namespace {

/// \param write  writes into a program
template <class Program = eindecomp::PlanProgram, class Write>
Workload workload(std::string name, std::vector<int> workers, const Write& write) {
  return {std::move(name), std::move(workers), [write] {
            Program program;
            write(program);
            return program.graph();
          }};
}

/// Z = X·Y, m by k times k by n.
Workload product(eindecomp::Extent m, eindecomp::Extent k, eindecomp::Extent n) {
  return workload(fmt::format("matmul {}x{}x{}", m, k, n), {8, 13, 64, 127, 512},
                  [=](eindecomp::PlanProgram& program) {
                    using namespace eindecomp::labels;
                    const auto x_ = program.input<float>("X", {m, k});
                    const auto y_ = program.input<float>("Y", {k, n});
                    eindecomp::let<"Z">(a, c) = eindecomp::sum(b)(x_(a, b) * y_(b, c));
                  });
}

Workload chain(std::string name, const eindecomp::MatrixChainSizes& sizes) {
  return workload(std::move(name), {4, 8, 16, 64}, [sizes](eindecomp::PlanProgram& program) {
    eindecomp::matrix_chain(program, sizes);
  });
}

Workload llama(std::string name, eindecomp::TransformerSizes sizes, int layers,
               std::vector<int> workers) {
  sizes.layers = layers;
  return workload(std::move(name), std::move(workers), [sizes](eindecomp::PlanProgram& program) {
    eindecomp::transformer_prefill(program, sizes);
  });
}

Workload training(std::string name, const eindecomp::FeedForward& net, int workers) {
  using Program = eindecomp::DifferentiablePlanProgram;
  return workload<Program>(std::move(name), {workers}, [net](Program& program) {
    eindecomp::feed_forward_training(program, net);
  });
}

/// Forward, backward and update.
Workload training(std::string name, const eindecomp::TransformerSizes& sizes,
                  std::vector<int> workers) {
  using Program = eindecomp::DifferentiablePlanProgram;
  return workload<Program>(std::move(name), std::move(workers), [sizes](Program& program) {
    eindecomp::transformer_training(program, sizes);
  });
}

/// With images whole, as SoyBean has them.
Workload training(std::string name, eindecomp::ConvolutionalNet net) {
  using Program = eindecomp::DifferentiablePlanProgram;
  net.cut_images = false;
  return workload<Program>(std::move(name), {8}, [net](Program& program) {
    eindecomp::convolutional_training(program, net);
  });
}

}  // namespace

std::vector<Workload> products() {
  return {product(8192, 8192, 8192), product(65536, 4096, 4096), product(16384, 16384, 512)};
}

std::vector<Workload> workloads() {
  using eindecomp::Extent;
  std::vector<Workload> all = products();
  for (Extent n = 1024; n <= 32768; n *= 2) {
    all.push_back(chain(fmt::format("chain {}", n), eindecomp::square_chain(n)));
  }
  for (Extent s = 1000; s <= 32000; s *= 2) {
    all.push_back(chain(fmt::format("chain {} skewed", s), eindecomp::skewed_chain(s)));
  }
  all.push_back(workload("attention 128x512", {2, 4, 8, 16}, [](eindecomp::PlanProgram& program) {
    eindecomp::multi_head_attention_model(program);
  }));
  for (Extent batch : {128, 512}) {
    all.push_back(
        workload(fmt::format("FFNN b {}", batch), {4}, [batch](eindecomp::PlanProgram& program) {
          eindecomp::feed_forward(program, eindecomp::amazon_classifier(batch));
        }));
    all.push_back(
        training(fmt::format("FFNN b {} training", batch), eindecomp::amazon_classifier(batch), 4));
  }
  for (Extent batch : {1, 2, 4, 8}) {
    for (Extent sequence : {1024, 4096}) {
      all.push_back(llama(fmt::format("LLaMA-7B b {} s {}", batch, sequence),
                          eindecomp::llama_7b(batch, sequence), 32, {2, 4, 8}));
    }
  }
  all.push_back(llama("LLaMA-65B b 1 s 4096", eindecomp::llama_65b(1, 4096), 80, {2, 4, 8}));
  all.push_back(training("MLP 5x300 b 400", eindecomp::soybean_mlp(5, 300, 400), 16));
  all.push_back(training("MLP 4x8192 b 512", eindecomp::soybean_mlp(4, 8192, 512), 8));
  all.push_back(training("MLP 4x8192 b 2048", eindecomp::soybean_mlp(4, 8192, 2048), 8));
  all.push_back(training("MLP 4x12288 b 2048", eindecomp::soybean_mlp(4, 12288, 2048), 8));
  all.push_back(training("CNN 6x6, 2048 filters", eindecomp::soybean_cnn(6, 2048, 256)));
  all.push_back(training("CNN 24x24, 512 filters", eindecomp::soybean_cnn(24, 512, 256)));
  all.push_back(training("AlexNet b 256", eindecomp::alexnet(256)));
  all.push_back(training("VGG-16 b 256", eindecomp::vgg16(256)));
  return all;
}

std::vector<Workload> deep_workloads() {
  const eindecomp::TransformerSizes small = eindecomp::llama_7b(4, 4096);
  return {llama("LLaMA-7B 1 layer", small, 1, {1024}),
          llama("LLaMA-7B 32 layers", small, 32, {8, 720, 1024, 5040, 65536}),
          llama("LLaMA-7B 256 layers", small, 256, {1024}),
          llama("LLaMA-65B 80 layers", eindecomp::llama_65b(4, 4096), 80, {1024}),
          training("LLaMA-7B training", small, {8, 64, 720, 1024}),
          workload("coupled cluster 10x30", {4, 64},
                   [](eindecomp::PlanProgram& program) { coupled_cluster(program, 10, 30); })};
}

}  // namespace eindecomp_benchmarks
