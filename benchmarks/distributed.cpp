// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Programs on several ranks: how long a run takes, with transfers and kernels in turn and with
/// products streamed, beside its messages alone and its kernels alone on the same ranks, all by
/// turns in one run, and beside what simulate() says of it; and products by ScaLAPACK and COSMA,
/// where the program was built with them. On one machine, scripts/cluster gives the ranks a
/// network.

#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "eindecomp/eindecomp.hpp"
#include "eindecomp/relation/step_rules.hpp"
#include "eindecomp/tools/machine_json.hpp"
#include "eindecomp/tools/write_file.hpp"
#include "support/product_peers.hpp"
#include "support/slowest_rank.hpp"

namespace ein = eindecomp;
using ein::let;
using ein::labels::i, ein::labels::j, ein::labels::k, ein::labels::l, ein::labels::m;
using eindecomp_benchmarks::Peer;
using eindecomp_benchmarks::seconds_of_slowest;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Space>;

/// The messages of a program and nothing else: exchange by exchange, each as one message.
class Messages {
 public:
  explicit Messages(const ein::RankProgram& program) : m_program(program) {
    ein::for_each_stage(program, [&](std::size_t first, std::size_t last) {
      ein::Extent words = 0;
      for (std::size_t n = first; n <= last; ++n) {
        const ein::Message* const message = program.instructions[n].message();
        if (message != nullptr) words += message->words;
      }
      if (words > static_cast<ein::Extent>(m_memory.size())) {
        m_memory.resize(static_cast<std::size_t>(words), 1.0);
      }
    });
  }

  void run() {
    ein::for_each_stage(m_program, [&](std::size_t first, std::size_t last) {
      m_requests.clear();
      double* data = m_memory.data();
      for (std::size_t n = first; n <= last; ++n) {
        const ein::Message* const message = m_program.instructions[n].message();
        if (message == nullptr) continue;
        const int words = static_cast<int>(message->words);
        MPI_Request& request = m_requests.emplace_back(MPI_REQUEST_NULL);
        if (m_program.instructions[n].as<ein::Receive>() != nullptr) {
          MPI_Irecv(data, words, MPI_DOUBLE, message->peer, 0, MPI_COMM_WORLD, &request);
        } else {
          MPI_Isend(data, words, MPI_DOUBLE, message->peer, 0, MPI_COMM_WORLD, &request);
        }
        data += words;
      }
      MPI_Waitall(static_cast<int>(m_requests.size()), m_requests.data(), MPI_STATUSES_IGNORE);
    });
  }

 private:
  const ein::RankProgram& m_program;
  std::vector<double> m_memory;
  std::vector<MPI_Request> m_requests;
};

/// The products of a plan, each as one product of a rank's own share.
class Products {
 public:
  explicit Products(const ein::Plan& plan) {
    for (std::size_t v = 0; v < plan.graph.vertices.size(); ++v) {
      const ein::Vertex& vertex = plan.graph.vertices[v];
      if (vertex.aggregated.empty()) continue;
      const auto parts = ein::parts_of(plan.placement.mesh, plan.placement.calls[v]);
      const auto extent = [&](int label) {
        const auto n = static_cast<std::size_t>(label);
        return static_cast<std::size_t>((vertex.extents[n] + parts[n] - 1) / parts[n]);
      };
      const std::size_t rows = extent(vertex.output[0]);
      const std::size_t columns = extent(vertex.output[1]);
      const std::size_t inner = extent(vertex.aggregated[0]);
      m_products.push_back(
          {Matrix("A", rows, inner), Matrix("B", inner, columns), Matrix("C", rows, columns)});
      Kokkos::deep_copy(m_products.back().a, 0.5);
      Kokkos::deep_copy(m_products.back().b, 0.25);
    }
  }

  /// The multiplications of this rank.
  [[nodiscard]] double operations() const {
    double sum = 0;
    for (const Product& p : m_products) {
      sum += static_cast<double>(p.a.extent(0) * p.a.extent(1) * p.b.extent(1));
    }
    return sum;
  }

  void run() const {
    for (const Product& p : m_products) ein::einsum<"ij,jk->ik">(Space(), p.a, p.b, p.c);
  }

 private:
  struct Product {
    Matrix a, b, c;
  };
  std::vector<Product> m_products;
};

/// The lines of the table of other libraries, which is written last.
std::vector<std::string> lines_of_peers;

/// Part of the names of the programs that are measured.
std::string chosen;
bool is_chosen(const char* name) { return std::string(name).find(chosen) != std::string::npos; }
/// Panels of every product.
ein::Extent panels = 0;

/// The ranks and their network, as --machine has them.
std::optional<ein::Machine> described;

/// The ranks, each with so many operations per second where they are not described; their network
/// is then one of 1 Gbit/s.
ein::Machine machine_of(int ranks, double rate) {
  if (described) return *described;
  return {.operations_per_second = rate,
          .axes = {{.size = ranks, .latency = 1e-4, .bandwidth = 125e6}}};
}

int number_of_ranks() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
int number_of_this_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// Options of a plan with transfers and kernels in turn.
ein::DecomposeOptions in_turn_options() { return {.workers = number_of_ranks(), .cache_bytes = 0}; }

/// Options of a plan that streams the products of `program` in `panels`; 0: as the planner likes.
ein::DecomposeOptions streamed_options(const ein::Program& program, const ein::Machine& machine) {
  ein::DecomposeOptions options{.workers = number_of_ranks()};
  if (panels == 0) {
    options.machine = machine;
    return options;
  }
  options.cache_bytes = 0;
  if (panels == 1) return options;
  const ein::EinGraph& graph = program.graph();
  for (const ein::Vertex& v : graph.vertices) {
    if (v.aggregated.empty()) continue;
    const auto label = static_cast<std::size_t>(v.labels[ein::to_index(v.aggregated.front())]);
    options.steps.push_back({v.name, v.name, {{graph.labels[label].name, panels}}});
  }
  return options;
}

/// "4, 2": the panels of the statements that a plan streams.
std::string panels_of(const ein::Plan& plan) {
  std::string text;
  for (const ein::StepGroup& group : plan.steps) {
    if (!ein::is_streamed(plan.graph, group)) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(group.axes.front().parts);
  }
  return text.empty() ? "none" : text;
}

using Plan = ein::BasicPlan<ein::Program::Backend>;
using Bindings = std::vector<ein::Binding<Space>>;

/// Measures both plans of a program, and writes a line; and other libraries' products.
/// \param compute  what the kernels of one rank compute, and nothing else
template <class Compute>
void measure_plans(const char* name, const Plan& whole, const Plan& streamed,
                   const ein::Machine& machine, const Bindings& bindings, const Compute& compute,
                   const std::vector<Peer>& peers, int rounds) {
  ein::Executor in_turn(whole, MPI_COMM_WORLD, Space());
  ein::Executor overlapped(streamed, MPI_COMM_WORLD, Space());
  Messages messages(in_turn.program());
  constexpr double none = std::numeric_limits<double>::infinity();
  double run = none;
  double streaming = none;
  double transfer = none;
  double arithmetic = none;
  std::vector<double> others(peers.size(), none);
  for (int round = 0; round < rounds; ++round) {
    run = std::min(run, seconds_of_slowest([&] { (void)in_turn.run(bindings); }));
    streaming = std::min(streaming, seconds_of_slowest([&] { (void)overlapped.run(bindings); }));
    transfer = std::min(transfer, seconds_of_slowest([&] { messages.run(); }));
    arithmetic = std::min(arithmetic, seconds_of_slowest(compute));
    for (std::size_t p = 0; p < peers.size(); ++p) {
      others[p] = std::min(others[p], seconds_of_slowest(peers[p].multiply));
    }
  }
  for (std::size_t p = 0; p < peers.size(); ++p) {
    char line[256];
    std::snprintf(line, sizeof line, "| %s | %.1f | %s | %.1f | %.2f |", name, streaming * 1e3,
                  peers[p].name.c_str(), others[p] * 1e3, streaming / others[p]);
    lines_of_peers.emplace_back(line);
  }
  if (number_of_this_rank() != 0) return;
  const double simulated = ein::simulate(streamed, machine).as_run.seconds;
  std::printf("| %s | %.1f | %s | %.1f | %.1f | %.1f | %.2f | %.2f | %.1f | %.2f |\n", name,
              run * 1e3, panels_of(streamed).c_str(), streaming * 1e3, transfer * 1e3,
              arithmetic * 1e3, streaming / run, streaming / std::max(transfer, arithmetic),
              simulated * 1e3, simulated / streaming);
  std::fflush(stdout);
}

/// Measures a program of matrices whose inputs are `names`.
void measure(const char* name, const ein::Program& program, const std::vector<std::string>& names,
             const std::vector<Peer>& peers, int rounds) {
  const auto whole = ein::decompose(program, in_turn_options());
  const Products products(whole);
  products.run();
  const double rate = products.operations() / seconds_of_slowest([&] { products.run(); });
  const ein::Machine machine = machine_of(number_of_ranks(), rate);
  Bindings bindings;
  for (const std::string& input : names) {
    const ein::Box box = whole.local(whole.graph.find(input), number_of_this_rank()).front();
    const Matrix block(input, static_cast<std::size_t>(box.extent(0)),
                       static_cast<std::size_t>(box.extent(1)));
    Kokkos::deep_copy(block, 1.0 / 1024);
    bindings.emplace_back(ein::bind(input, block));
  }
  measure_plans(
      name, whole, ein::decompose(program, streamed_options(program, machine)), machine, bindings,
      [&] { products.run(); }, peers, rounds);
}

void product(const char* name, ein::Extent rows, ein::Extent inner, ein::Extent columns,
             int rounds) {
  if (!is_chosen(name)) return;
  ein::Program g;
  const auto A = g.input<double>("A", {rows, inner});
  const auto B = g.input<double>("B", {inner, columns});
  const auto C = let<"C">(i, k) = sum(j)(A(i, j) * B(j, k));
  (void)C;
  measure(name, g, {"A", "B"},
          eindecomp_benchmarks::product_peers(static_cast<int>(rows), static_cast<int>(columns),
                                              static_cast<int>(inner)),
          rounds);
}

void chain(const char* name, ein::Extent scale, ein::Extent thin, ein::Extent wide, int rounds) {
  if (!is_chosen(name)) return;
  ein::Program g;
  const auto A = g.input<double>("A", {scale, thin});
  const auto B = g.input<double>("B", {thin, scale});
  const auto C = g.input<double>("C", {scale, thin});
  const auto D = g.input<double>("D", {thin, wide});
  const auto E = g.input<double>("E", {wide, scale});
  const auto AB = let<"AB">(i, k) = sum(j)(A(i, j) * B(j, k));
  const auto DE = let<"DE">(l, k) = sum(m)(D(l, m) * E(m, k));
  const auto CDE = let<"CDE">(i, k) = sum(l)(C(i, l) * DE(l, k));
  const auto Z = let<"Z">(i, k) = AB(i, k) + CDE(i, k);
  (void)Z;
  measure(name, g, {"A", "B", "C", "D", "E"}, {}, rounds);
}

/// Attention of a batch of sequences to themselves, with the projections before and after it.
struct Attention {
  ein::Extent batch, length, heads, width;

  void write(ein::Program& g) const {
    using ein::labels::a, ein::labels::b, ein::labels::d, ein::labels::h, ein::labels::s,
        ein::labels::t;
    const ein::Extent model = 8 * width;
    const auto X = g.input<double>("X", {batch, length, model});
    const auto WQ = g.input<double>("WQ", {model, heads, width});
    const auto WK = g.input<double>("WK", {model, heads, width});
    const auto WV = g.input<double>("WV", {model, heads, width});
    const auto WO = g.input<double>("WO", {model, heads, width});
    const auto Q = let<"Q">(b, s, h, d) = sum(a)(X(b, s, a) * WQ(a, h, d));
    const auto K = let<"K">(b, t, h, d) = sum(a)(X(b, t, a) * WK(a, h, d));
    const auto V = let<"V">(b, t, h, d) = sum(a)(X(b, t, a) * WV(a, h, d));
    const auto T = let<"T">(b, h, s, t) = 0.125 * sum(d)(Q(b, s, h, d) * K(b, t, h, d));
    const auto P = let<"P">(b, h, s, t) = ein::softmax(t)(T(b, h, s, t));
    const auto O = let<"O">(b, s, h, d) = sum(t)(P(b, h, s, t) * V(b, t, h, d));
    const auto Y = let<"Y">(b, s, a) = sum(h, d)(O(b, s, h, d) * WO(a, h, d));
    (void)Y;
  }

  /// One block of each input, as a plan has them.
  [[nodiscard]] static Bindings bind(const Plan& plan, int rank) {
    Bindings bindings;
    for (const std::string name : {"X", "WQ", "WK", "WV", "WO"}) {
      const ein::Box box = plan.local(plan.graph.find(name), rank).front();
      const auto extent = [&](int k) { return static_cast<std::size_t>(box.extent(k)); };
      const Kokkos::View<double***, Kokkos::LayoutRight, Space> block(name, extent(0), extent(1),
                                                                      extent(2));
      Kokkos::deep_copy(block, 1.0 / 1024);
      bindings.emplace_back(ein::bind(name, block));
    }
    return bindings;
  }

  /// A rank's share of the work where the batch is shared out, and then the heads.
  [[nodiscard]] Attention share(int ranks) const {
    const ein::Extent by_batch = std::gcd(batch, static_cast<ein::Extent>(ranks));
    return {batch / by_batch, length, heads / (ranks / by_batch), width};
  }
  [[nodiscard]] double operations() const {
    const auto of_sequence = static_cast<double>(batch * length * heads * width);
    return of_sequence * static_cast<double>(4 * 8 * width + 2 * length);
  }
};

void attention(const char* name, const Attention& sizes, int rounds) {
  if (!is_chosen(name)) return;
  ein::Program share;
  sizes.share(number_of_ranks()).write(share);
  const auto alone = ein::decompose(share, {.workers = 1});
  ein::Executor kernels(alone, Space());
  const Bindings own = Attention::bind(alone, 0);
  const auto compute = [&] { (void)kernels.run(own); };
  compute();
  const double operations = sizes.share(number_of_ranks()).operations();
  const ein::Machine machine =
      machine_of(number_of_ranks(), operations / seconds_of_slowest(compute));
  ein::Program g;
  sizes.write(g);
  const auto whole = ein::decompose(g, in_turn_options());
  measure_plans(name, whole, ein::decompose(g, streamed_options(g, machine)), machine,
                Attention::bind(whole, number_of_this_rank()), compute, {}, rounds);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs on several ranks beside their messages and products alone"};
  app.option_defaults()->always_capture_default();
  int rounds = 7;
  app.add_option("rounds", rounds, "Runs of each, the fastest of which counts")
      ->check(CLI::PositiveNumber);
  app.add_option("word", chosen, "Only programs whose names have this in them");
  app.add_option("panels", panels,
                 "Panels of every product; 1: none is streamed; 0: as the planner likes")
      ->check(CLI::NonNegativeNumber);
  std::string machine;
  app.add_option("--machine", machine, "The ranks as eindecomp-measure has written them")
      ->check(CLI::ExistingFile);
  CLI11_PARSE(app, argc, argv);

  const ein::ScopedRuntime runtime(argc, argv);
  if (!machine.empty()) described = ein::read_machine(ein::tools::read_file(machine), machine);
  const int rank = number_of_this_rank();
  if (rank == 0) {
    std::printf("%d ranks, the best of %d rounds, milliseconds\n\n", number_of_ranks(), rounds);
    std::printf(
        "| program | in turn | panels | streamed | messages alone | kernels alone | "
        "streamed / in turn | streamed / the longer | simulated | simulated / streamed |\n");
    std::printf("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
  }
  product("2048 x 2048 x 2048", 2048, 2048, 2048, rounds);
  product("4096 x 1024 x 4096", 4096, 1024, 4096, rounds);
  product("256 x 16384 x 256", 256, 16384, 256, rounds);
  product("8192 x 256 x 256", 8192, 256, 256, rounds);
  chain("(A·B) + (C·(D·E)), 2000", 2000, 2000, 2000, rounds);
  chain("the same, skewed", 2000, 200, 20000, rounds);
  attention("attention 4 x 512 x 8 x 64", {4, 512, 8, 64}, rounds);
  if (rank != 0 || lines_of_peers.empty()) return 0;
  std::printf("\n| product | streamed | other | its time | ratio |\n|---|--:|---|--:|--:|\n");
  for (const std::string& line : lines_of_peers) std::printf("%s\n", line.c_str());
  return 0;
}
