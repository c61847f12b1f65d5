// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix product on all ranks by other libraries, each in the distribution that it likes best:
// ScaLAPACK's pdgemm (EINDECOMP_BENCHMARK_SCALAPACK) and COSMA (EINDECOMP_BENCHMARK_COSMA).
#pragma once

#include <mpi.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#ifdef EINDECOMP_BENCHMARK_COSMA
#include <cosma/multiply.hpp>
#endif

#include "slowest_rank.hpp"

#ifdef EINDECOMP_BENCHMARK_SCALAPACK
extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
int numroc_(const int* extent, const int* block, const int* coordinate, const int* source,
            const int* parts);
void pdgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
             const int* k, const double* alpha, const double* a, const int* ia, const int* ja,
             const int* desca, const double* b, const int* ib, const int* jb, const int* descb,
             const double* beta, double* c, const int* ic, const int* jc, const int* descc);
}
#endif

namespace eindecomp_benchmarks {

/// Another library's product.
struct Peer {
  /// With what it chose: "pdgemm, 2 x 2, blocks of 128".
  std::string name;
  /// Collective over MPI_COMM_WORLD.
  std::function<void()> multiply;
};

#ifdef EINDECOMP_BENCHMARK_SCALAPACK

/// C = A·B on a grid of all ranks, block-cyclic with square blocks.
class Pdgemm {
 public:
  /// Collective: makes a grid of rows x columns ranks.
  Pdgemm(int m, int n, int k, int rows, int columns, int block) : m_m(m), m_n(n), m_k(k) {
    Cblacs_get(-1, 0, &m_context);
    Cblacs_gridinit(&m_context, "R", rows, columns);
    m_a = matrix(m, k, block);
    m_b = matrix(k, n, block);
    m_c = matrix(m, n, block);
  }
  Pdgemm(const Pdgemm&) = delete;
  Pdgemm& operator=(const Pdgemm&) = delete;
  ~Pdgemm() { Cblacs_gridexit(m_context); }

  void multiply() {
    const int first = 1;
    const double one = 1;
    const double zero = 0;
    pdgemm_("N", "N", &m_m, &m_n, &m_k, &one, m_a.elements.data(), &first, &first,
            m_a.descriptor.data(), m_b.elements.data(), &first, &first, m_b.descriptor.data(),
            &zero, m_c.elements.data(), &first, &first, m_c.descriptor.data());
  }

 private:
  struct Distributed {
    std::vector<int> descriptor;
    std::vector<double> elements;
  };

  [[nodiscard]] Distributed matrix(int rows, int columns, int block) const {
    int grid_rows = 0;
    int grid_columns = 0;
    int row = 0;
    int column = 0;
    Cblacs_gridinfo(m_context, &grid_rows, &grid_columns, &row, &column);
    const int source = 0;
    const int local_rows = std::max(1, numroc_(&rows, &block, &row, &source, &grid_rows));
    const int local_columns = numroc_(&columns, &block, &column, &source, &grid_columns);
    return {{1, m_context, rows, columns, block, block, 0, 0, local_rows},
            std::vector<double>(static_cast<std::size_t>(local_rows) *
                                    static_cast<std::size_t>(std::max(1, local_columns)),
                                1.0 / 1024)};
  }

  int m_m, m_n, m_k;
  int m_context = 0;
  Distributed m_a, m_b, m_c;
};

/// Of all grids and blocks of 64 to 512 the one that is fastest in two runs of each. Collective.
inline Peer fastest_pdgemm(int m, int n, int k) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::shared_ptr<Pdgemm> fastest;
  std::string name;
  double least = std::numeric_limits<double>::infinity();
  for (int rows = 1; rows <= ranks; ++rows) {
    if (ranks % rows != 0) continue;
    for (const int block : {64, 128, 256, 512}) {
      const auto candidate = std::make_shared<Pdgemm>(m, n, k, rows, ranks / rows, block);
      double seconds = std::numeric_limits<double>::infinity();
      for (int run = 0; run < 2; ++run) {
        seconds = std::min(seconds, seconds_of_slowest([&] { candidate->multiply(); }));
      }
      if (seconds >= least) continue;
      least = seconds;
      fastest = candidate;
      name = "pdgemm, " + std::to_string(rows) + " x " + std::to_string(ranks / rows) +
             ", blocks of " + std::to_string(block);
    }
  }
  return {name, [fastest] { fastest->multiply(); }};
}

#endif

#ifdef EINDECOMP_BENCHMARK_COSMA

/// COSMA's own distribution, with communication and computation in turn or overlapped.
class Cosma {
 public:
  Cosma(int m, int n, int k, int ranks, int rank, bool overlap)
      : m_strategy(m, n, k, static_cast<std::size_t>(ranks), std::numeric_limits<long long>::max(),
                   false, overlap),
        m_context(cosma::make_context<double>()),
        m_a(m_context, 'A', m_strategy, rank),
        m_b(m_context, 'B', m_strategy, rank),
        m_c(m_context, 'C', m_strategy, rank) {
    std::fill_n(m_a.matrix_pointer(), m_a.matrix_size(), 1.0 / 1024);
    std::fill_n(m_b.matrix_pointer(), m_b.matrix_size(), 1.0 / 1024);
  }

  void multiply() { cosma::multiply(m_a, m_b, m_c, m_strategy, MPI_COMM_WORLD, 1.0, 0.0); }

 private:
  cosma::Strategy m_strategy;
  std::unique_ptr<cosma::cosma_context<double>> m_context;
  cosma::CosmaMatrix<double> m_a, m_b, m_c;
};

#endif

/// The other libraries' products of m x k and k x n doubles that this program was built with.
/// Collective over MPI_COMM_WORLD.
[[nodiscard]] inline std::vector<Peer> product_peers([[maybe_unused]] int m, [[maybe_unused]] int n,
                                                     [[maybe_unused]] int k) {
  std::vector<Peer> peers;
#ifdef EINDECOMP_BENCHMARK_SCALAPACK
  peers.push_back(fastest_pdgemm(m, n, k));
#endif
#ifdef EINDECOMP_BENCHMARK_COSMA
  int ranks = 1;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (const bool overlap : {false, true}) {
    const auto product = std::make_shared<Cosma>(m, n, k, ranks, rank, overlap);
    peers.push_back({overlap ? "COSMA, overlapped" : "COSMA", [product] { product->multiply(); }});
  }
#endif
  return peers;
}

}  // namespace eindecomp_benchmarks
