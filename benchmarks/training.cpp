// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One step of training of AlexNet and of VGG-16 in one process: the network, its gradients by all
// weights, every weight's next value. training.py runs it beside JAX.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eindecomp/eindecomp.hpp"
#include "eindecomp/models/convolution.hpp"

namespace ein = eindecomp;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Program = ein::DifferentiableProgramOn<Space>;
using Step = ein::ConvolutionalTraining<float, Program::Backend>;

/// Elements of mean 0 that look random, so small that no layer's result grows.
struct Noise {
  float scale;
  template <class... Indices>
  float operator()(Indices... indices) const {
    unsigned state = 1;
    ((state = state * 1664525U + static_cast<unsigned>(indices) * 7919U + 1013904223U), ...);
    return scale * (static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0F);
  }
};

template <class Call>
void with_symbol(const Step& step, const ein::AnySymbol& tensor, const Call& call) {
  using Images = ein::Symbol<float, 4, Program::Backend>;
  using Rows = ein::Symbol<float, 2, Program::Backend>;
  auto* const state = step.input.state();
  state->graph[tensor.vertex()].rank() == 4 ? call(Images(state, tensor.vertex()))
                                            : call(Rows(state, tensor.vertex()));
}

/// The seconds of the fastest step, and where they go.
double measure(const std::string& name, const ein::ConvolutionalNet& net, int steps, bool profile) {
  Program program;
  const Step step = ein::convolutional_training<float>(program, net, 1e-4F);
  ein::Executor executor(ein::decompose(program, {.carry = step.carry()}), Space(),
                         {.trace = profile});
  const auto bind = [&](const ein::AnySymbol& tensor, float scale) {
    std::vector<ein::Binding<Space>> bound;
    with_symbol(step, tensor, [&](const auto& symbol) {
      bound.push_back(ein::bind_generator(symbol, Noise{scale}));
    });
    return bound;
  };
  const ein::Binding<Space> images = ein::bind_generator(step.input, Noise{1}).constant();
  const ein::Binding<Space> targets = bind(step.target, 1).front().constant();
  std::vector<ein::Binding<Space>> first{images, targets};
  const auto add = [&](std::vector<ein::Binding<Space>> more) {
    first.insert(first.end(), more.begin(), more.end());
  };
  for (const auto& update : step.updates) {
    const std::vector<ein::Extent>& bound = program.graph()[update.weight.vertex()].bound;
    double fan_in = 1;
    for (std::size_t k = 0; k < bound.size(); ++k) {
      const bool is_filter = bound.size() == 4 && bound[2] == bound[3];
      if (is_filter ? k > 0 : k + 1 < bound.size()) fan_in *= static_cast<double>(bound[k]);
    }
    add(bind(update.weight, static_cast<float>(std::sqrt(6 / fan_in))));
  }
  auto run = executor.run(first);
  double best = std::numeric_limits<double>::infinity();
  for (int n = 0; n < steps; ++n) {
    const auto begin = std::chrono::steady_clock::now();
    run = executor.run(run.carry(), images, targets);
    Space().fence();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  if (profile) {
    const ein::Timeline timeline = run.timeline();
    fmt::print("{}, the last step\n", name);
    for (const ein::StatementTime& s : timeline.statements) {
      fmt::print("{:>9.2f} ms  {}\n", 1e3 * s.kernels, program.graph()[s.statement].name.str());
    }
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A step of training of AlexNet and of VGG-16");
  ein::Extent alexnet = 16;
  ein::Extent vgg = 2;
  int steps = 3;
  bool json = false;
  bool profile = false;
  app.add_option("--alexnet", alexnet, "images per step; 0 leaves it out")->capture_default_str();
  app.add_option("--vgg", vgg, "images per step; 0 leaves it out")->capture_default_str();
  app.add_option("--steps", steps, "steps, of which the fastest counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--json", json, "print figures as JSON");
  app.add_flag("--profile", profile, "print what every statement takes");
  CLI11_PARSE(app, argc, argv);

  const Kokkos::ScopeGuard kokkos;
  nlohmann::json all = nlohmann::json::object();
  if (alexnet > 0) all["alexnet"] = measure("AlexNet", ein::alexnet(alexnet), steps, profile);
  if (vgg > 0) all["vgg16"] = measure("VGG-16", ein::vgg16(vgg), steps, profile);
  if (json) {
    fmt::print("{}\n", all.dump(2));
    return 0;
  }
  for (const auto& [name, seconds] : all.items()) {
    fmt::print("{:<8} {:>9.1f} ms\n", name, 1e3 * seconds.get<double>());
  }
  return 0;
}
