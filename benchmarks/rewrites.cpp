// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions with sums, differences and signs inside: as one kernel of all their operands, as the
// lowering rewrites them, and as their author would take them apart. Tensors of a coupled-cluster
// program, `occupied` and `virtual` values per label.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/kernel/backend.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/run/execute.hpp"
#include "support/fastest.hpp"

namespace ein = eindecomp;
using ein::Extent;
using ein::let;
using namespace ein::labels;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Program = ein::BasicProgram<ein::KokkosBackend<Space>>;
using Tensor4 = Kokkos::View<double****, Kokkos::LayoutRight, Space>;
using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Space>;

/// Tensors and their values.
struct Data {
  Extent o;
  Extent v;
  Tensor4 t{"T", static_cast<std::size_t>(o), static_cast<std::size_t>(o),
            static_cast<std::size_t>(v), static_cast<std::size_t>(v)};
  Tensor4 w{"W", static_cast<std::size_t>(v), static_cast<std::size_t>(v),
            static_cast<std::size_t>(v), static_cast<std::size_t>(v)};
  Tensor4 g{"V", static_cast<std::size_t>(o), static_cast<std::size_t>(o),
            static_cast<std::size_t>(v), static_cast<std::size_t>(v)};
  Matrix u{"U", static_cast<std::size_t>(o), static_cast<std::size_t>(v)};
};

/// Milliseconds of the fastest of some runs of a program of one statement, or as many as `write`
/// makes of it.
template <class Write>
double milliseconds(const Data& data, int runs, const Write& write) {
  Program program;
  auto T = program.input<double>("T", {data.o, data.o, data.v, data.v});
  auto W = program.input<double>("W", {data.v, data.v, data.v, data.v});
  auto V = program.input<double>("V", {data.o, data.o, data.v, data.v});
  auto U = program.input<double>("U", {data.o, data.v});
  (void)write(T, U, V, W);
  const auto plan = ein::decompose(program, {.workers = 1});
  ein::Executor<Space, ein::comm::SelfCommunicator> executor(plan, Space());
  std::vector<ein::Binding<Space>> bindings;
  const auto counts = program.graph().reader_counts();
  const auto bind = [&](const auto& symbol, const auto& view) {
    if (counts[static_cast<std::size_t>(symbol.vertex())] > 0) {
      bindings.push_back(ein::bind(symbol, view));
    }
  };
  bind(T, data.t);
  bind(W, data.w);
  bind(V, data.g);
  bind(U, data.u);
  return 1e3 * eindecomp_benchmarks::fastest({.least = runs}, [&] {
           const auto run = executor.run(bindings);
           Space().fence();
         });
}

/// One row: the three ways to write a contraction.
template <class Opaque, class Rewritten, class ByHand>
void row(std::string_view text, const Data& data, int runs, const Opaque& opaque,
         const Rewritten& rewritten, const ByHand& by_hand) {
  const double as_written = milliseconds(data, std::min(runs, 3), opaque);
  const double here = milliseconds(data, runs, rewritten);
  const double good = milliseconds(data, runs, by_hand);
  fmt::print("{:<34} {:>10.2f} {:>10.2f} {:>10.2f} {:>8.2f}\n", text, as_written, here, good,
             here / good);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Contractions with sums inside: one kernel, rewritten, by hand");
  Extent occupied = 12;
  Extent virtuals = 40;
  int runs = 20;
  app.add_option("--occupied", occupied)->capture_default_str();
  app.add_option("--virtual", virtuals)->capture_default_str();
  app.add_option("--runs", runs)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Kokkos::ScopeGuard kokkos;
  const Data data{occupied, virtuals};
  Kokkos::deep_copy(data.t, 0.5);
  Kokkos::deep_copy(data.w, 0.25);
  Kokkos::deep_copy(data.g, 0.75);
  Kokkos::deep_copy(data.u, 1.5);
  fmt::print("{:<34} {:>10} {:>10} {:>10} {:>8}\n", "milliseconds", "one kernel", "rewritten",
             "by hand", "ratio");

  const auto tau = [](const auto& T, const auto& U, const auto&, const auto& W) {
    return (T(i, j, e, f) + U(i, e) * U(j, f)) * W(a, b, e, f);
  };
  row(
      "sum(e,f)((T + U*U) * W)", data, runs,
      [&](const auto&... s) { return let<"H">(i, j, a, b) = sum(e, f)(as_written(tau(s...))); },
      [&](const auto&... s) { return let<"H">(i, j, a, b) = sum(e, f)(tau(s...)); },
      [](const auto& T, const auto& U, const auto&, const auto& W) {
        auto S = let<"S">(i, j, e, f) = T(i, j, e, f) + U(i, e) * U(j, f);
        return let<"H">(i, j, a, b) = sum(e, f)(S(i, j, e, f) * W(a, b, e, f));
      });
  const auto half = [](const auto& T, const auto& U, const auto& V, const auto&) {
    return (0.5 * T(i, n, a, f) + U(i, f) * U(n, a)) * V(n, j, f, b);
  };
  row(
      "sum(n,f)((0.5*T + U*U) * V)", data, runs,
      [&](const auto&... s) { return let<"H">(i, j, a, b) = sum(n, f)(as_written(half(s...))); },
      [&](const auto&... s) { return let<"H">(i, j, a, b) = sum(n, f)(half(s...)); },
      [](const auto& T, const auto& U, const auto& V, const auto&) {
        auto S = let<"S">(i, n, a, f) = 0.5 * T(i, n, a, f) + U(i, f) * U(n, a);
        return let<"H">(i, j, a, b) = sum(n, f)(S(i, n, a, f) * V(n, j, f, b));
      });
  const auto difference = [](const auto& T, const auto&, const auto& V, const auto&) {
    return T(i, n, a, f) * (2.0 * V(n, j, f, b) - V(n, j, b, f));
  };
  row(
      "sum(n,f)(T * (2.0*V - V'))", data, runs,
      [&](const auto&... s) {
        return let<"H">(i, j, a, b) = sum(n, f)(as_written(difference(s...)));
      },
      [&](const auto&... s) { return let<"H">(i, j, a, b) = sum(n, f)(difference(s...)); },
      [](const auto& T, const auto&, const auto& V, const auto&) {
        auto S = let<"S">(n, j, f, b) = 2.0 * V(n, j, f, b) - V(n, j, b, f);
        return let<"H">(i, j, a, b) = sum(n, f)(T(i, n, a, f) * S(n, j, f, b));
      });
  const auto negative = [](const auto& T, const auto&, const auto&, const auto& W) {
    return -T(i, j, e, f) * W(a, b, e, f);
  };
  row(
      "sum(e,f)(-T * W)", data, runs,
      [&](const auto&... s) {
        return let<"H">(i, j, a, b) = sum(e, f)(as_written(negative(s...)));
      },
      [&](const auto&... s) { return let<"H">(i, j, a, b) = sum(e, f)(negative(s...)); },
      [](const auto& T, const auto&, const auto&, const auto& W) {
        return let<"H">(i, j, a, b) = sum(e, f)(-1.0 * T(i, j, e, f) * W(a, b, e, f));
      });
  return 0;
}
