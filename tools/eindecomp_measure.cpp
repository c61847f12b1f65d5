// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// eindecomp-measure: measures the ranks that it is started on, and writes the machine that
// eindecomp-plan, simulate() and decompose() read. docs/tools.md says what is measured.
//
// Exit status 0: measured. 2: something is wrong with what was asked for. 1: the result could not
// be written.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "eindecomp/comm/mpi.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/kernel/einsum.hpp"
#include "eindecomp/plan/machine.hpp"
#include "eindecomp/run/guard.hpp"
#include "eindecomp/tools/machine_json.hpp"
#include "eindecomp/tools/write_file.hpp"

namespace ein = eindecomp;

namespace {

using Space = Kokkos::DefaultExecutionSpace;
using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Space>;

struct Arguments {
  std::string output = "-";
  int extent = 1024;
  std::int64_t message = std::int64_t{4} << 20;
  std::int64_t memory = 0;
  double seconds = 0.2;
};

void declare(CLI::App& app, Arguments& arguments) {
  app.add_option("--output", arguments.output, "the file to write; - is standard output")
      ->capture_default_str();
  app.add_option("--extent", arguments.extent, "of the matrices multiplied, each rank its own")
      ->check(CLI::Range(16, 1 << 15))
      ->capture_default_str();
  app.add_option("--message", arguments.message, "bytes of the messages that bandwidth is taken of")
      ->check(CLI::Range(std::int64_t{1} << 10, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--memory", arguments.memory,
                 "bytes of tensors that a worker may hold, to be written down")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 50));
  app.add_option("--seconds", arguments.seconds, "how long each thing is measured, at least")
      ->check(CLI::Range(0.001, 60.0))
      ->capture_default_str();
}

/// The ranks, and how they are spread over nodes.
struct Ranks {
  int rank = 0;
  int size = 1;
  int nodes = 1;
  int on_node = 1;  ///< ranks of every node; 0 where nodes differ or their ranks are not neighbours

  Ranks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int here = 1;
    int first = rank;
    MPI_Comm_size(node, &here);
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, node);
    MPI_Comm_free(&node);
    int most = here;
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    int even = here == most && first % most == 0 && rank - first < most ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &even, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    on_node = even != 0 ? most : 0;
    nodes = even != 0 ? size / most : 1;
  }
};

double longest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

/// Seconds of one call on the slowest rank, all ranks at once: the best of several rounds, each as
/// many calls as take so long together.
double time_of(const std::function<void()>& call, double seconds) {
  int calls = 1;
  call();
  double best = 0;
  for (int rounds = 0; rounds < 5;) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int n = 0; n < calls; ++n) call();
    const double took = longest(MPI_Wtime() - begin);
    if (took < seconds / 5) {
      calls *= 2;
      continue;
    }
    best = rounds == 0 ? took / calls : std::min(best, took / calls);
    ++rounds;
  }
  return best;
}

double operations_per_second(const Arguments& arguments) {
  const int n = arguments.extent;
  const Space space;
  const Matrix a("a", n, n);
  const Matrix b("b", n, n);
  const Matrix c("c", n, n);
  Kokkos::deep_copy(space, a, 1.0);
  Kokkos::deep_copy(space, b, 1.0);
  const double seconds = time_of(
      [&] {
        ein::einsum<"ij,jk->ik">(space, a, b, c);
        space.fence();
      },
      arguments.seconds);
  return static_cast<double>(n) * n * n / seconds;
}

double memory_bandwidth(const Arguments& arguments) {
  // 128 MiB of both, more than the cache that most ranks have to themselves.
  constexpr std::size_t elements = std::size_t{1} << 23;
  const Space space;
  const Kokkos::View<double*, Space> from("from", elements);
  const Kokkos::View<double*, Space> into("into", elements);
  Kokkos::deep_copy(space, from, 1.0);
  const double seconds = time_of(
      [&] {
        Kokkos::deep_copy(space, into, from);
        space.fence();
      },
      arguments.seconds);
  return 2.0 * sizeof(double) * elements / seconds;
}

/// Latency and bandwidth between ranks that are `distance` apart, of groups of so many: every rank
/// sends to the next and receives from the one before at the same time.
ein::MachineAxis measure_axis(const Arguments& arguments, const Ranks& ranks, int size,
                              int stride) {
  const int block = ranks.rank / (size * stride) * size * stride;
  const int within = ranks.rank - block;
  const int next = block + (within + stride) % (size * stride);
  const int before = block + (within + size * stride - stride) % (size * stride);
  std::vector<char> out(static_cast<std::size_t>(arguments.message), 'x');
  std::vector<char> in(out.size());
  const auto exchange = [&](std::int64_t bytes) {
    return time_of(
        [&] {
          MPI_Sendrecv(out.data(), static_cast<int>(bytes), MPI_BYTE, next, 0, in.data(),
                       static_cast<int>(bytes), MPI_BYTE, before, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
        },
        arguments.seconds);
  };
  ein::MachineAxis axis;
  axis.size = size;
  axis.latency = exchange(1);
  const double whole = exchange(arguments.message);
  axis.bandwidth =
      static_cast<double>(arguments.message) / std::max(whole - axis.latency, 0.01 * whole);
  return axis;
}

ein::Machine measure(const Arguments& arguments, const Ranks& ranks) {
  ein::Machine machine;
  machine.operations_per_second = operations_per_second(arguments);
  machine.memory_bandwidth = memory_bandwidth(arguments);
  machine.memory = arguments.memory;
  if (ranks.on_node == 0) {
    machine.axes.push_back(measure_axis(arguments, ranks, ranks.size, 1));
    return machine;
  }
  if (ranks.nodes > 1) {
    machine.axes.push_back(measure_axis(arguments, ranks, ranks.nodes, ranks.on_node));
  }
  if (ranks.on_node > 1) machine.axes.push_back(measure_axis(arguments, ranks, ranks.on_node, 1));
  return machine;
}

int complain(const std::string& sentence, int status, int rank) {
  if (rank == 0) fmt::print(stderr, "eindecomp-measure: {}\n", sentence);
  return status;
}

int run(const Arguments& arguments, const Ranks& ranks) {
  if (ranks.on_node == 0 && ranks.rank == 0) {
    fmt::print(stderr,
               "eindecomp-measure: nodes have different numbers of ranks, or their ranks do not "
               "follow one another; all links are measured as one axis\n");
  }
  const ein::Machine machine = measure(arguments, ranks);
  int status = 0;
  if (ranks.rank == 0) {
    const std::string text = ein::machine_json(machine).dump(2) + '\n';
    try {
      if (arguments.output == "-") {
        const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
        if (!written) status = complain("the output could not be written", 1, 0);
      } else {
        ein::tools::replace_file(arguments.output, {text}, "the machine", std::source_location{});
      }
    } catch (const ein::Error& error) {
      status = complain(std::string(error.sentence()), 1, 0);
    }
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const ein::ScopedRuntime runtime(argc, argv);
  const Ranks ranks;
  CLI::App app{
      "Measures what the ranks it runs on compute, move and hear from each other, all at once, and "
      "writes the machine as JSON: mpirun -n 8 eindecomp-measure --output machine.json"};
  app.name("eindecomp-measure");
  Arguments arguments;
  declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return complain(error.what(), 2, ranks.rank);
    if (ranks.rank == 0) fmt::print("{}", app.help());
    return 0;
  }
  return run(arguments, ranks);
}
