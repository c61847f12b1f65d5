// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// softmax(Q·Kᵀ/√d)·V for a batch of heads in one process, in steps and with its scores whole: time,
// memory, and the difference between the two results. attention.py runs it beside JAX.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "eindecomp/eindecomp.hpp"

namespace ein = eindecomp;
using ein::let;
using ein::labels::b, ein::labels::h, ein::labels::s, ein::labels::t, ein::labels::d;

namespace {

using Space = Kokkos::DefaultExecutionSpace;
using Tensor = Kokkos::View<float****, Kokkos::LayoutRight, Space>;

struct Sizes {
  int batch = 4;
  int heads = 16;
  int length = 512;
  int width = 64;
};

/// Elements that look random and are the same everywhere.
Tensor filled(const std::string& name, const Sizes& sizes, unsigned seed) {
  const Tensor tensor(name, sizes.batch, sizes.length, sizes.heads, sizes.width);
  const auto host = Kokkos::create_mirror_view(tensor);
  unsigned state = seed;
  for (std::size_t n = 0; n < host.size(); ++n) {
    state = state * 1664525U + 1013904223U;
    host.data()[n] = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0F;
  }
  Kokkos::deep_copy(tensor, host);
  return tensor;
}

/// What Kokkos has allocated, as it tells its tools.
struct Tally {
  std::int64_t now = 0;
  std::int64_t peak = 0;
} tally;

void count_memory() {
  Kokkos::Tools::Experimental::set_allocate_data_callback(
      [](const Kokkos_Profiling_SpaceHandle, const char*, const void*, const std::uint64_t bytes) {
        tally.now += static_cast<std::int64_t>(bytes);
        tally.peak = std::max(tally.peak, tally.now);
      });
  Kokkos::Tools::Experimental::set_deallocate_data_callback(
      [](const Kokkos_Profiling_SpaceHandle, const char*, const void*, const std::uint64_t bytes) {
        tally.now -= static_cast<std::int64_t>(bytes);
      });
}

struct Measured {
  double milliseconds = 0;       ///< of the fastest run
  std::int64_t extra_bytes = 0;  ///< allocated at most, beside inputs and result
  Tensor::HostMirror result;
};

Measured measure(const Sizes& sizes, std::int64_t cache_bytes, int runs) {
  const Tensor q = filled("Q", sizes, 1);
  const Tensor k = filled("K", sizes, 2);
  const Tensor v = filled("V", sizes, 3);
  ein::Program g;
  const ein::Extent shape[] = {sizes.batch, sizes.length, sizes.heads, sizes.width};
  const auto Q = g.input<float>("Q", shape);
  const auto K = g.input<float>("K", shape);
  const auto V = g.input<float>("V", shape);
  const float scale = 1.0F / std::sqrt(static_cast<float>(sizes.width));
  const auto T = let<"T">(b, h, s, t) = sum(d)(scale * Q(b, s, h, d) * K(b, t, h, d));
  const auto M = let<"M">(b, h, s) = max(t)(T(b, h, s, t));
  const auto E = let<"E">(b, h, s, t) = exp(T(b, h, s, t) - M(b, h, s));
  const auto S = let<"S">(b, h, s) = sum(t)(E(b, h, s, t));
  // Divided after the product, d elements a row instead of t.
  const auto U = let<"U">(b, s, h, d) = sum(t)(E(b, h, s, t) * V(b, t, h, d));
  const auto O = let<"O">(b, s, h, d) = U(b, s, h, d) / S(b, h, s);
  const auto plan = ein::decompose(g, {.workers = 1, .cache_bytes = cache_bytes});
  tally.peak = tally.now;
  const std::int64_t before = tally.now;
  ein::Executor executor(plan, Space());
  Measured measured;
  for (int run = 0; run < runs; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    const auto done = executor.run(ein::bind(Q, q), ein::bind(K, k), ein::bind(V, v));
    Space().fence();
    const double milliseconds =
        1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    measured.milliseconds = run == 0 ? milliseconds : std::min(measured.milliseconds, milliseconds);
    if (run + 1 == runs) {
      measured.extra_bytes = tally.peak - before - done.statistics().result_bytes;
      measured.result =
          Tensor::HostMirror("O", sizes.batch, sizes.length, sizes.heads, sizes.width);
      Kokkos::deep_copy(measured.result, done.local(O).view());
    }
  }
  return measured;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Attention in steps, and with its scores whole");
  Sizes sizes;
  int runs = 10;
  bool json = false;
  std::int64_t cache = ein::DecomposeOptions{}.cache_bytes;
  app.add_option("--batch", sizes.batch, "sequences")->capture_default_str();
  app.add_option("--heads", sizes.heads, "heads")->capture_default_str();
  app.add_option("--length", sizes.length, "positions of a sequence")->capture_default_str();
  app.add_option("--width", sizes.width, "elements per head and position")->capture_default_str();
  app.add_option("--runs", runs, "runs; the fastest counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--cache-bytes", cache, "what a step may pass on")->capture_default_str();
  app.add_flag("--json", json, "print figures as JSON");
  CLI11_PARSE(app, argc, argv);

  const Kokkos::ScopeGuard kokkos;
  count_memory();
  const Measured stepped = measure(sizes, cache, runs);
  const Measured whole = measure(sizes, 0, runs);
  double difference = 0;
  for (std::size_t n = 0; n < whole.result.size(); ++n) {
    difference = std::max(difference, std::abs(static_cast<double>(stepped.result.data()[n]) -
                                               whole.result.data()[n]));
  }
  const std::int64_t scores =
      std::int64_t{4} * sizes.batch * sizes.heads * sizes.length * sizes.length;
  if (json) {
    const auto object = [](const Measured& m) {
      return nlohmann::json{{"milliseconds", m.milliseconds}, {"extra_bytes", m.extra_bytes}};
    };
    const nlohmann::json all{{"in_steps", object(stepped)},
                             {"whole", object(whole)},
                             {"scores_bytes", scores},
                             {"largest_difference", difference}};
    fmt::print("{}\n", all.dump(2));
    return 0;
  }
  const auto row = [&](const char* name, const Measured& m) {
    fmt::print("{:<10} {:>8.2f} ms {:>9.2f} MiB beside inputs and result, {:.3f} of the scores\n",
               name, m.milliseconds, static_cast<double>(m.extra_bytes) / 1048576,
               static_cast<double>(m.extra_bytes) / static_cast<double>(scores));
  };
  row("in steps", stepped);
  row("whole", whole);
  fmt::print("largest difference {:.1e}\n", difference);
  return 0;
}
