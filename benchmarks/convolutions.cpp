// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The convolutions of AlexNet and VGG-16 and both of their gradients in float, run by plans of one
// worker, beside oneDNN in its own layouts where that is installed.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/kernel/backend.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/run/execute.hpp"
#include "support/convolution_layers.hpp"
#ifdef EINDECOMP_BENCHMARK_ONEDNN
#include "support/onednn.hpp"
#endif

namespace ein = eindecomp;
using benchmark_layers::Direction;
using benchmark_layers::Layer;
using ein::Extent;
using ein::let;
using ein::labels::b, ein::labels::c, ein::labels::i, ein::labels::j, ein::labels::o,
    ein::labels::r, ein::labels::s, ein::labels::x, ein::labels::y;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Program = ein::BasicProgram<ein::KokkosBackend<Space>>;
using Tensor = Kokkos::View<float****, Kokkos::LayoutRight, Space>;

struct Options {
  std::string only;
  std::string layout = "nchw";
  std::string json;
  int turns = 7;
  Extent alexnet_batch = 16;
  Extent vgg_batch = 2;
  bool explain = false;
  bool no_blas = false;
};

/// Images as (b, c, y, x) and filters as (o, c, r, s), or with channels last.
struct Extents {
  Extent of[4];
};
[[nodiscard]] Extents in_order(bool channels_last, Extent batch, Extent channels, Extent height,
                               Extent width) {
  if (channels_last) return {{batch, height, width, channels}};
  return {{batch, channels, height, width}};
}
[[nodiscard]] Extents filters_in_order(bool channels_last, const Layer& l) {
  if (channels_last) return {{l.window, l.window, l.channels, l.filters}};
  return {{l.filters, l.channels, l.window, l.window}};
}

[[nodiscard]] Tensor allocate(const std::string& name, const Extents& extents) {
  const auto size = [](Extent extent) { return static_cast<std::size_t>(extent); };
  return Tensor(name, size(extents.of[0]), size(extents.of[1]), size(extents.of[2]),
                size(extents.of[3]));
}

/// Values of -1 to 1 that look random and are the same everywhere.
[[nodiscard]] Tensor filled(const std::string& name, const Extents& extents, unsigned seed) {
  const Tensor tensor = allocate(name, extents);
  unsigned state = seed;
  for (std::size_t n = 0; n < tensor.size(); ++n) {
    state = state * 1664525U + 1013904223U;
    tensor.data()[n] = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0F;
  }
  return tensor;
}

/// One of a layer's three products in the language.
class Ours {
 public:
  Ours(const Layer& layer, Direction direction, bool channels_last) {
    const Extent batch = layer.batch;
    const auto images = in_order(channels_last, batch, layer.channels, layer.height, layer.width);
    const auto outputs =
        in_order(channels_last, batch, layer.filters, layer.rows(), layer.columns());
    const auto filters = filters_in_order(channels_last, layer);
    const Extent S = layer.stride;
    const Extent P = layer.padding;
    const Extent window = layer.window;
    const bool forward = direction == Direction::forward;
    const bool to_filters = direction == Direction::filters;
    first = filled("first", forward ? images : outputs, forward ? 1 : 3);
    second = filled("second", to_filters ? images : filters, to_filters ? 1 : 2);
    auto A = m_program.input<float>("A", (forward ? images : outputs).of);
    auto B = m_program.input<float>("B", (to_filters ? images : filters).of);
    const auto run_of = [&](const auto& result) {
      m_plan.emplace(ein::decompose(m_program, {.workers = 1}));
      m_executor = std::make_unique<Executor>(*m_plan, Space());
      m_run = [this, A, B, result] {
        const auto run = m_executor->run(ein::bind(A, first), ein::bind(B, second));
        Space().fence();
        m_result = run.local(result).view();
        m_owner = run.local(result)[0].owner;
      };
    };
    if (forward && channels_last) {
      run_of(let<"Y">(b, y, x, o) =
                 sum(r, s, c)(A(b, S * y + r - P, S * x + s - P, c) * B(r, s, c, o)));
    } else if (forward) {
      run_of(let<"Y">(b, o, y, x) =
                 sum(c, r, s)(A(b, c, S * y + r - P, S * x + s - P) * B(o, c, r, s)));
    } else if (to_filters && channels_last) {
      run_of(let<"dW">(ein::extent(r, window), ein::extent(s, window), c, o) =
                 sum(b, y, x)(A(b, y, x, o) * B(b, S * y + r - P, S * x + s - P, c)));
    } else if (to_filters) {
      run_of(let<"dW">(o, c, ein::extent(r, window), ein::extent(s, window)) =
                 sum(b, y, x)(A(b, o, y, x) * B(b, c, S * y + r - P, S * x + s - P)));
    } else if (channels_last) {
      run_of(let<"dX">(b, ein::extent(i, layer.height), ein::extent(j, layer.width), c) =
                 sum(r, s, o)(A(b, whole(i - r + P, S), whole(j - s + P, S), o) * B(r, s, c, o)));
    } else {
      run_of(let<"dX">(b, c, ein::extent(i, layer.height), ein::extent(j, layer.width)) =
                 sum(o, r, s)(A(b, o, whole(i - r + P, S), whole(j - s + P, S)) * B(o, c, r, s)));
    }
  }

  void run() const { m_run(); }
  [[nodiscard]] const float* result() const { return m_result.data(); }
  [[nodiscard]] std::size_t size() const { return m_result.size(); }
  [[nodiscard]] std::string explain() const { return m_executor->explain(); }

  Tensor first;   ///< the images, or gradients of outputs
  Tensor second;  ///< the filters, or the images

 private:
  using Executor = ein::Executor<Space, ein::comm::SelfCommunicator>;
  using Block = ein::LocalBlock<float, 4, Space::memory_space>;

  Program m_program;
  std::optional<ein::BasicPlan<ein::KokkosBackend<Space>>> m_plan;
  std::unique_ptr<Executor> m_executor;
  std::function<void()> m_run;
  decltype(Block::view) m_result;
  decltype(Block::owner) m_owner;
};

/// Seconds that this process computed, if it does so on one thread: what others do on the machine
/// counts less. Else of the clock.
[[nodiscard]] double now() {
  if (Space().concurrency() == 1) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Call>
void measure(double& best, const Call& call) {
  const double begin = now();
  call();
  best = std::min(best, now() - begin);
}

/// Ratios of one table.
struct Ratios {
  double logarithms = 0;
  double least = 1e30;
  int count = 0;
  void add(double ratio) {
    logarithms += std::log(ratio);
    least = std::min(least, ratio);
    ++count;
  }
  void print(const std::string& of) const {
    if (count == 0) return;
    fmt::print(
        "{}, {} threads: oneDNN's time / ours, geometric mean {:.3f}, least {:.3f} over {}\n", of,
        Space().concurrency(), std::exp(logarithms / count), least, count);
  }
};

/// A row of the table. \returns whether the results agree.
bool compare(const Options& options, const Layer& layer, Direction direction, Ratios& ratios,
             std::string& json) {
  const bool channels_last = options.layout == "nhwc";
  const Ours ours(layer, direction, channels_last);
  double our_time = 1e30;
  double its_time = 1e30;
  double difference = 0;
  ours.run();
#ifdef EINDECOMP_BENCHMARK_ONEDNN
  benchmark_layers::OneDnn other(layer, direction, channels_last, ours.first.data(),
                                 ours.second.data());
  other.run();
  const std::vector<float> expected = other.result();
  double largest = 0;
  for (std::size_t n = 0; n < ours.size(); ++n) {
    const double value = expected[n];
    largest = std::max(largest, std::abs(value));
    difference = std::max(difference, std::abs(value - static_cast<double>(ours.result()[n])));
  }
  difference /= largest;
#endif
  for (int turn = 0; turn < options.turns; ++turn) {
    measure(our_time, [&] { ours.run(); });
#ifdef EINDECOMP_BENCHMARK_ONEDNN
    measure(its_time, [&] { other.run(); });
#endif
  }
  const double flops = 2 * layer.joins() * 1e-9;
  const std::string name = fmt::format("{} {}", layer.name, to_string(direction));
  fmt::print("{:<34} {:>9.3f} {:>8.1f}", name, our_time * 1e3, flops / our_time);
  if (its_time < 1e30) {
    fmt::print(" {:>8.1f} {:>6.3f} {:>8.0e}", flops / its_time, its_time / our_time, difference);
    ratios.add(its_time / our_time);
  }
  fmt::print("\n");
  if (options.explain) fmt::print("{}\n", ours.explain());
  std::fflush(stdout);
  json += fmt::format(
      "{}\n  {{\"case\": \"{}\", \"seconds\": {:.6g}, \"onednn_seconds\": {:.6g}, \"gflops\": "
      "{:.5g}}}",
      json.empty() ? "" : ",", name, our_time, its_time, flops / our_time);
  return difference < 1e-4;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("The convolutions of AlexNet and VGG-16, forward and both gradients, in float");
  std::vector<std::string> directions{"forward", "images", "filters"};
  app.add_option("--only", options.only, "layers that have this in their name");
  app.add_option("--directions", directions, "products of a layer")
      ->delimiter(',')
      ->check(CLI::IsMember(directions))
      ->capture_default_str();
  app.add_option("--layout", options.layout, "channels before rows and columns, or last")
      ->check(CLI::IsMember({"nchw", "nhwc"}))
      ->capture_default_str();
  app.add_option("--turns", options.turns, "runs of each; the fastest counts")
      ->capture_default_str();
  app.add_option("--alexnet-batch", options.alexnet_batch)->capture_default_str();
  app.add_option("--vgg-batch", options.vgg_batch)->capture_default_str();
  app.add_flag("--explain", options.explain, "print which kernels ran");
  app.add_flag("--no-blas", options.no_blas, "leave everything to the library's own kernels");
  app.add_option("--json", options.json, "a file for the figures");
  CLI11_PARSE(app, argc, argv);
  const Kokkos::ScopeGuard kokkos(argc, argv);

  ein::kernel::use_blas = !options.no_blas;
  fmt::print("{:<34} {:>9} {:>8} {:>8} {:>6} {:>8}\n", "layer", "ms", "GFLOP/s", "oneDNN", "ratio",
             "differs");
  Ratios all;
  std::string json;
  bool right = true;
  for (const Direction direction : benchmark_layers::directions) {
    if (std::find(directions.begin(), directions.end(), to_string(direction)) == directions.end()) {
      continue;
    }
    Ratios ratios;
    for (const Layer& layer : benchmark_layers::layers(options.alexnet_batch, options.vgg_batch)) {
      if (!options.only.empty() && layer.name.find(options.only) == std::string::npos) continue;
      right = compare(options, layer, direction, ratios, json) && right;
    }
    ratios.print(std::string(to_string(direction)));
    all.logarithms += ratios.logarithms;
    all.least = std::min(all.least, ratios.least);
    all.count += ratios.count;
  }
  all.print("all");
  if (!options.json.empty()) {
    std::ofstream(options.json) << fmt::format(
        "{{\"layout\": \"{}\", \"threads\": {}, \"cases\": [{}\n]}}\n", options.layout,
        Space().concurrency(), json);
  }
  return right ? 0 : 1;
}
