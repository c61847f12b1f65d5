// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What masks of labels save: products with a triangle, symmetric ones and causal attention, each
// beside the same without a mask and as it is slow; and what symmetric matrices that are stored
// once cost.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/macros.hpp"
#include "eindecomp/graph/packed_tensor.hpp"
#include "eindecomp/graph/permutations.hpp"
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

template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Space>;
template <class T>
using Matrices = Kokkos::View<T***, Kokkos::LayoutRight, Space>;

/// A tensor of small numbers.
template <class View>
View filled(const View& view) {
  using T = typename View::non_const_value_type;
  for (std::size_t n = 0; n < view.size(); ++n) {
    view.data()[n] = static_cast<T>(n % 11) * T(0.02) - T(0.1);
  }
  return view;
}

/// Milliseconds of the fastest of some runs of what `write` makes of two tensors, each of which has
/// the elements of `data` in memory of its own.
template <class View, class Write>
double milliseconds(const View& data, int runs, const Write& write) {
  using T = typename View::non_const_value_type;
  Program program;
  Extent shape[View::rank];
  for (std::size_t k = 0; k < View::rank; ++k) shape[k] = static_cast<Extent>(data.extent(k));
  const auto X = program.input<T>("X", shape);
  const auto Y = program.input<T>("Y", shape);
  (void)write(X, Y);
  ein::Executor<Space, ein::comm::SelfCommunicator> executor(
      ein::decompose(program, {.workers = 1}), Space());
  std::vector<ein::Binding<Space>> bindings{ein::bind(X, data)};
  const auto counts = program.graph().reader_counts();
  if (counts[static_cast<std::size_t>(Y.vertex())] > 0) {
    const View other("other", data.layout());
    Kokkos::deep_copy(other, data);
    bindings.push_back(ein::bind(Y, other));
  }
  return 1e3 * eindecomp_benchmarks::fastest({.least = runs}, [&] {
           const auto run = executor.run(bindings);
           Space().fence();
         });
}

void print(std::string_view text, double slow, double masked, double whole) {
  fmt::print("{:<44} {:>10.2f} {:>10.2f} {:>10.2f} {:>8.2f}\n", text, slow, masked, whole,
             masked / whole);
}

template <class View>
void print_softmax(std::string_view text, const View& data, int runs) {
  using T = typename View::non_const_value_type;
  const auto of = [&](const auto& weights) {
    return milliseconds(data, runs,
                        [&](auto X, auto) { return let<"P">(h, s, t) = weights(X(h, s, t)); });
  };
  print(text, of([](const auto& S) { return softmax(t)(select(t <= s, S, T(-1e30))); }),
        of([](const auto& S) { return softmax(t, t <= s)(S); }),
        of([](const auto& S) { return softmax(t)(S); }));
}

/// Maps and sums under a mask of labels, under one that is a tensor (in place of "all joins"), and
/// without.
template <class View>
void print_maps(const std::string& type, const View& data, int runs) {
  using T = typename View::non_const_value_type;
  const auto of = [&](const auto& write) { return milliseconds(data, runs, write); };
  print("(t <= s) * X(h,s,t), or M(h,s,t) * X, " + type,
        of([](auto X, auto Y) { return let<"Z">(h, s, t) = Y(h, s, t) * X(h, s, t); }),
        of([](auto X, auto) { return let<"Z">(h, s, t) = (t <= s) * X(h, s, t); }),
        of([](auto X, auto) { return let<"Z">(h, s, t) = T(2) * X(h, s, t); }));
  print("select(t <= s, exp(X(h,s,t)), 0), " + type,
        of([](auto X, auto Y) { return let<"Z">(h, s, t) = Y(h, s, t) * exp(X(h, s, t)); }),
        of([](auto X, auto) { return let<"Z">(h, s, t) = select(t <= s, exp(X(h, s, t)), T(0)); }),
        of([](auto X, auto) { return let<"Z">(h, s, t) = exp(X(h, s, t)); }));
  print("max(t)(select(t <= s, X(h,s,t), -1)), " + type,
        of([](auto X, auto Y) { return let<"Z">(h, s) = max(t)(X(h, s, t) + Y(h, s, t)); }),
        of([](auto X, auto) { return let<"Z">(h, s) = max(t)(select(t <= s, X(h, s, t), T(-1))); }),
        of([](auto X, auto) { return let<"Z">(h, s) = max(t)(X(h, s, t)); }));
}

/// Milliseconds of the fastest of some runs, by turns, of products with a symmetric matrix that is
/// stored whole, and in 4 and in 8 block rows.
void print_packed(Extent rows, Extent columns, int runs) {
  using Executor = ein::Executor<Space, ein::comm::SelfCommunicator>;
  Program programs[3];
  std::vector<std::vector<ein::Binding<Space>>> bindings(3);
  std::vector<Executor> executors;
  const auto input = [&](int which, const auto& symbol) {
    const auto& bound = programs[which].graph()[symbol.vertex()].bound;
    const Matrix<double> data(symbol.name().str(), bound[0], bound[1]);
    bindings[static_cast<std::size_t>(which)].push_back(ein::bind(symbol, filled(data)));
  };
  for (int which = 0; which < 3; ++which) {
    Program& g = programs[which];
    const auto X = g.input<double>("X", {rows, columns});
    input(which, X);
    if (which == 0) {
      const auto S = g.input<double>("S", {rows, rows});
      input(which, S);
      (void)(let<"Y">(i, k) = sum(j)(S(i, j) * X(j, k)));
    } else {
      const auto S = ein::packed_symmetric<double>(g, "S", {rows, rows}, {.block_rows = 4 * which});
      for (const auto& row : S.block_rows()) input(which, row);
      (void)(let<"Y">(i, k) = sum(j)(S(i, j) * X(j, k)));
    }
    executors.emplace_back(ein::decompose(g, {.workers = 1}), Space());
  }
  double fastest[3] = {1e30, 1e30, 1e30};
  for (int n = 0; n <= runs; ++n) {
    for (std::size_t which = 0; which < 3; ++which) {
      const auto begin = std::chrono::steady_clock::now();
      const auto run = executors[which].run(bindings[which]);
      Space().fence();
      const std::chrono::duration<double, std::milli> time =
          std::chrono::steady_clock::now() - begin;
      if (n > 0) fastest[which] = std::min(fastest[which], time.count());
    }
  }
  fmt::print("{:<44} {:>10.2f} {:>10.2f} {:>10.2f} {:>8.2f}\n",
             fmt::format("sum(j)(S(i,j) * X(j,k)), S packed, {} columns", columns), fastest[2],
             fastest[1], fastest[0], fastest[1] / fastest[0]);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Masks of labels: as one kernel or a choice, as what is left out, and without");
  Extent rows = 1024;
  Extent heads = 8;
  Extent positions = 1024;
  int runs = 10;
  app.add_option("--rows", rows, "of matrices, square")->capture_default_str();
  app.add_option("--heads", heads, "of attention")->capture_default_str();
  app.add_option("--positions", positions, "of attention")->capture_default_str();
  app.add_option("--runs", runs, "of which the fastest counts")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Kokkos::ScopeGuard kokkos;
  fmt::print("{:<44} {:>10} {:>10} {:>10} {:>8}\n", "milliseconds", "all joins", "left out",
             "no mask", "ratio");

  const auto square = filled(Matrix<double>("square", rows, rows));
  const auto of_squares = [&](const auto& write) { return milliseconds(square, runs, write); };
  const double product =
      of_squares([](auto X, auto Y) { return let<"Z">(i, j) = sum(k)(X(i, k) * Y(k, j)); });
  print("sum(k)((k <= i) * X(i,k) * Y(k,j))",
        milliseconds(square, std::min(runs, 2),
                     [](auto X, auto Y) {
                       return let<"Z">(i, j) = sum(k)(as_written((k <= i) * X(i, k) * Y(k, j)));
                     }),
        of_squares(
            [](auto X, auto Y) { return let<"Z">(i, j) = sum(k)((k <= i) * X(i, k) * Y(k, j)); }),
        product);
  print("symmetric(i,j)(sum(k)(X(i,k) * X(j,k)))",
        of_squares([](auto X, auto) { return let<"Z">(i, j) = sum(k)(X(i, k) * X(j, k)); }),
        of_squares([](auto X, auto) {
          return let<"Z">(i, j) = symmetric(i, j)(sum(k)(X(i, k) * X(j, k)));
        }),
        product);

  const auto scores = filled(Matrices<double>("scores", heads, positions, positions));
  const auto single = filled(Matrices<float>("single", heads, positions, positions));
  print_softmax("softmax(t, t <= s), double", scores, runs);
  print_softmax("softmax(t, t <= s), float", single, runs);
  print_maps("double", scores, runs);
  print_maps("float", single, runs);

  const auto sequences = filled(Matrices<float>("sequences", heads, positions, 64));
  const auto attention = [&](const auto& weights) {
    return milliseconds(sequences, runs, [&](auto X, auto Y) {
      const auto S = let<"S">(h, s, t) = sum(d)(0.125F * X(h, s, d) * Y(h, t, d));
      const auto P = let<"P">(h, s, t) = weights(S(h, s, t));
      return let<"O">(h, s, d) = sum(t)(P(h, s, t) * X(h, t, d));
    });
  };
  print("attention, softmax(t, t <= s)",
        attention([](const auto& S) { return softmax(t)(select(t <= s, S, -1e30F)); }),
        attention([](const auto& S) { return softmax(t, t <= s)(S); }),
        attention([](const auto& S) { return softmax(t)(S); }));

  fmt::print("{:<44} {:>10} {:>10} {:>10} {:>8}\n", "", "8 rows", "4 rows", "whole", "ratio");
  for (const Extent columns : {Extent{1}, Extent{64}, rows}) print_packed(rows, columns, runs);
  return 0;
}
