// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Shortest paths between all pairs by min-plus squaring: who in *Les Misérables* is closest to
/// everybody? Two characters that share n chapters are 1/n apart.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <vector>

#include "support/example.hpp"
#include "support/npy.hpp"

namespace ein = eindecomp;
using ein::let;
using ein::labels::i, ein::labels::j, ein::labels::k;

namespace {

/// Floyd and Warshall's algorithm on an n x n matrix.
[[nodiscard]] std::vector<double> floyd_warshall(std::vector<double> distance, std::size_t n) {
  for (std::size_t via = 0; via < n; ++via) {
    for (std::size_t from = 0; from < n; ++from) {
      for (std::size_t to = 0; to < n; ++to) {
        distance[from * n + to] =
            std::min(distance[from * n + to], distance[from * n + via] + distance[via * n + to]);
      }
    }
  }
  return distance;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Shortest paths between all pairs by min-plus squaring");
  std::string graph = examples::data_file("les_miserables.npy");
  std::string names = examples::data_file("les_miserables_names.txt");
  std::string output;
  app.add_option("--graph", graph,
                 ".npy, a square matrix of 32-bit weights, 0 where there is no edge")
      ->check(CLI::ExistingFile);
  app.add_option("--names", names, "the vertices' names, one per line")->check(CLI::ExistingFile);
  app.add_option("--output", output, "write the distances to this .npy");

  return examples::run(app, argc, argv, MPI_COMM_WORLD, [&](const examples::Context& context) {
    const auto weight = examples::load<std::int32_t**>(graph);
    if (weight.extent(0) != weight.extent(1)) {
      throw std::runtime_error(fmt::format("{} has {} x {} weights where a square matrix is read",
                                           graph, weight.extent(0), weight.extent(1)));
    }
    const auto n = static_cast<ein::Extent>(weight.extent(0));
    const auto edge = [&](ein::Extent from, ein::Extent to) {
      if (from == to) return 0.0;
      const std::int32_t w = weight(from, to);
      return w == 0 ? std::numeric_limits<double>::infinity() : 1.0 / w;
    };

    ein::Program g;
    auto D = g.input<double>("D", {n, n});
    auto paths = D;
    // Squared m times, once at least: the shortest paths of at most 2^m edges.
    for (ein::Extent edges = 1; edges == 1 || edges < n - 1; edges *= 2) {
      paths = let("D" + std::to_string(2 * edges))(i, k) = min(j)(paths(i, j) + paths(j, k));
    }
    auto total = let<"total">(i) = sum(k)(paths(i, k));
    auto centre = let<"centre">() = argmin(i)(total(i));
    g.keep(paths);
    g.role(i, "batch");

    std::vector<double> expected;
    for (ein::Extent from = 0; from < n; ++from) {
      for (ein::Extent to = 0; to < n; ++to) expected.push_back(edge(from, to));
    }
    expected = floyd_warshall(std::move(expected), static_cast<std::size_t>(n));

    const auto check = [&](const auto& run) -> examples::Verdict {
      const auto distance = examples::on_host(run.gather(paths, 0));
      const auto middle = examples::on_host(run.gather(centre, 0));
      if (context.rank != 0) return {};
      if (!output.empty()) examples::save(output, distance);
      const double error = examples::largest_difference(distance.data(), expected);
      std::ifstream lines(names);
      std::string name;
      for (ein::Extent line = 0; line <= middle(); ++line) std::getline(lines, name);
      return {error < 1e-12,
              fmt::format("largest error {:.1e}; closest to everybody: {}", error, name)};
    };
    return examples::compare_strategies(context, g, check, ein::bind_generator(D, edge));
  });
}
