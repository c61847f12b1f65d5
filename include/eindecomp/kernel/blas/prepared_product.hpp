// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Products and sums of BLAS types: which way they are computed, and that way.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>

#include "eindecomp/core/config.hpp"
#include "eindecomp/kernel/algorithm.hpp"
#include "eindecomp/kernel/blas/block_kernel.hpp"
#include "eindecomp/kernel/blas/block_search.hpp"
#include "eindecomp/kernel/blas/gemm_calls.hpp"
#include "eindecomp/kernel/blas/gemm_shape.hpp"
#include "eindecomp/kernel/blas/product_cost.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
#include "eindecomp/kernel/product_sizes.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel {

/// Whether products and sums may be left to the BLAS, whose rounding may depend on the number of
/// threads, and with it the blocks it is handed. Without it results depend on shapes alone; see
/// docs/running.md. To be set, alike on all ranks, while no kernel runs.
inline bool use_blas = true;

namespace detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// How the BLAS computes a product, and what that was chosen by.
struct ProductChoice {
  Algorithm algorithm =
      Algorithm::direct;  ///< gemm or blocks; direct: the BLAS does not compute it
  ProductSizes sizes;
  std::variant<GemmShape, BlockPlan> plan;  ///< of that algorithm
  double gemm_seconds = std::numeric_limits<double>::infinity();
  double blocks_seconds = std::numeric_limits<double>::infinity();
  const char* reason = "";
};

/// Joins of a shape, all its labels' extents multiplied.
[[nodiscard]] constexpr double all_joins(const LocalEinsum& shape) {
  double joins = 1;
  for (int l = 0; l < shape.labels; ++l) joins *= static_cast<double>(shape.extent[l]);
  return joins;
}

/// Seconds that the calls of the BLAS where the tensors lie take on one thread.
EINDECOMP_COMPACT [[nodiscard]] inline double calls_seconds(const Contraction& product,
                                                            const GemmShape& gemm,
                                                            double element_bytes) {
  const auto real = [](Extent e) { return static_cast<double>(e); };
  const MachineRates& rates = machine_rates;
  const double calls = real(gemm.outer.size()) * real(gemm.inner.size());
  const double entries = real(product.batch.size());
  const double m = real(product.m.size());
  const double n = real(product.n.size());
  const double k = real(product.k.size());
  // Columns that follow one another are one run.
  const auto run = [&real](Extent rows, Extent columns, Extent leading) {
    return real(leading == rows ? rows * columns : rows);
  };
  const double run_a =
      gemm.transpose_a ? run(gemm.k, gemm.m, gemm.lda) : run(gemm.m, gemm.k, gemm.lda);
  const double run_b =
      gemm.transpose_b ? run(gemm.n, gemm.k, gemm.ldb) : run(gemm.k, gemm.n, gemm.ldb);
  const double run_c = run(gemm.m, gemm.n, gemm.ldc);
  const double of_a = entries * k * (gemm.swapped ? n : m);
  const double of_b = entries * k * (gemm.swapped ? m : n);
  const double of_c = entries * m * n;
  return calls * gemm_seconds(rates, real(gemm.m), real(gemm.n), real(gemm.k), element_bytes) +
         overlapped_seconds(rates, of_a, element_bytes, run_a) +
         overlapped_seconds(rates, of_b, element_bytes, run_b) +
         write_seconds(rates, of_c, element_bytes, run_c);
}

/// Chooses the way for a shape of two operands. \param threads 0 on a device.
[[nodiscard]] inline ProductChoice choose_product(const LocalEinsum& shape, double element_bytes,
                                                  int threads, bool accumulate) {
  ProductChoice choice;
  if (!use_blas) {
    choice.reason = "the BLAS is not to be used";
    return choice;
  }
  Contraction product;
  if (!set_contraction(shape, product)) {
    choice.reason = "a label is private to one tensor, or an extent is 0";
    return choice;
  }
  const Extent m = product.m.size();
  const Extent n = product.n.size();
  const Extent k = product.k.size();
  choice.sizes = {product.batch.size(), m, n, k};
  const bool vector = m == 1 || n == 1;
  // What is bound by memory the generic kernel streams.
  if (k == 1 || (m == 1 && n == 1) || (vector && threads == 0)) {
    choice.reason = "an outer product, an inner product or, on a device, a matrix times a vector";
    return choice;
  }
  const double each = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  if (each < (vector ? machine_rates.min_gemv : machine_rates.min_gemm)) {
    choice.reason = "too small for a call of the BLAS";
    return choice;
  }
  const double joins = product.joins();
  GemmShape& gemm = *std::get_if<GemmShape>(&choice.plan);
  const bool in_place = set_gemm_shape(product, gemm);
  if (vector) {
    if (in_place && gemm.k > 1 &&
        static_cast<double>(gemm.call_joins()) >= machine_rates.min_gemv) {
      choice.algorithm = Algorithm::gemm;
      choice.reason = "a matrix times a vector by the BLAS where they lie";
    } else {
      choice.reason = "a matrix times a vector without unit strides";
    }
    return choice;
  }
  if (threads == 0 && in_place) {
    if (blas::adds_in_any_order(gemm.transpose_a, gemm.transpose_b, gemm.m, gemm.n)) {
      choice.reason = "on a device, terms that would be added up in any order";
      return choice;
    }
    const Extent calls = gemm.outer.size() * gemm.inner.size();
    if (calls > 1 && static_cast<double>(gemm.call_joins()) < tuning::min_device_call) {
      choice.reason = "on a device, calls too small to be launched one by one";
      return choice;
    }
  }
  bool one_call = false;
  if (in_place && gemm.m > 1 && gemm.n > 1 && gemm.k > 1) {
    const double calls = static_cast<double>(gemm.outer.size() * gemm.inner.size());
    choice.gemm_seconds = calls_seconds(product, gemm, element_bytes);
    const bool scales = threads > 1 && gemm.k >= machine_rates.min_shared_terms;
    if (threads > 1 && joins / calls > machine_rates.min_shared) {
      choice.gemm_seconds =
          choice.gemm_seconds / (scales ? threads : 1) + calls * machine_rates.share_seconds;
    }
    one_call = calls == 1 && (threads <= 1 || scales);
  }
  if (threads > 0 && !one_call && joins >= machine_rates.min_blocks) {
    const BlockPlan blocks = block_plan(product, machine_rates, element_bytes, threads, accumulate);
    choice.blocks_seconds = blocks.seconds;
    // Tiles that are not put in order are the same calls, which only threads can share.
    const bool differ = blocks.elements() > 0 || threads > 1;
    if (differ && choice.blocks_seconds < choice.gemm_seconds) {
      choice.algorithm = Algorithm::blocks;
      choice.reason = blocks.elements() > 0 ? "the BLAS is fastest on tiles put in order first"
                                            : "many products, shared out among the threads";
      choice.plan = blocks;
      return choice;
    }
  }
  if (choice.gemm_seconds < std::numeric_limits<double>::infinity()) {
    choice.algorithm = Algorithm::gemm;
    choice.reason = one_call ? "one call of the BLAS where the tensors lie"
                             : "calls of the BLAS where the tensors lie cost least";
  } else {
    choice.reason = "no unit strides, and too small to transpose";
  }
  return choice;
}

/// The blocks of a product, and which of its matrices are put in order.
[[nodiscard]] EINDECOMP_COMPACT inline std::string describe(const BlockPlan& plan,
                                                            Extent element_bytes) {
  std::string text = "blocks of " + std::to_string(plan.m.in_tile) + " x " +
                     std::to_string(plan.n.in_tile) + " x " + std::to_string(plan.k.in_tile) +
                     (plan.swapped ? ", the operands exchanged" : "") + ", transposed:";
  if (plan.matrix[plan.swapped ? 1 : 0].packed) text += " A";
  if (plan.matrix[plan.swapped ? 0 : 1].packed) text += " B";
  if (plan.matrix[2].packed) {
    text += output_policy(plan, element_bytes) == StorePolicy::non_temporal
                ? " C by non-temporal stores"
                : " C";
  }
  if (plan.elements() == 0) text += " none";
  return text;
}

/// The same of a choice of gemm or blocks.
[[nodiscard]] EINDECOMP_COMPACT inline std::string describe(const ProductChoice& choice,
                                                            Extent element_bytes) {
  std::string text = "algorithm " + std::string(to_string(choice.algorithm)) +
                     describe(choice.sizes) + "; " + choice.reason;
  const auto predicted = [&text](const char* way, double seconds) {
    if (std::isinf(seconds)) return;
    text += std::string("; ") + way + ' ' + std::to_string(seconds * 1e6) + " us predicted";
  };
  predicted("calls where the tensors lie", choice.gemm_seconds);
  predicted("blocks", choice.blocks_seconds);
  if (const auto* blocks = std::get_if<BlockPlan>(&choice.plan)) {
    text += "; " + describe(*blocks, element_bytes);
  }
  return text;
}

/// output = alpha·A·B + beta·output by the BLAS, if that is best: where the tensors lie or by
/// blocks. One instantiation per space and element type.
template <class Space, class T>
class PreparedProduct final : public PreparedKernel<Space> {
 public:
  PreparedProduct(const Space& space, const LocalEinsum& shape, T alpha, T beta)
      : m_choice(choose_product(shape, static_cast<double>(sizeof(T)), compat::host_threads(space),
                                beta != T(0))),
        m_alpha(alpha),
        m_beta(beta) {
    if (const auto* blocks = std::get_if<BlockPlan>(&m_choice.plan)) {
      m_pieces = {*blocks, compat::host_threads(space), static_cast<Extent>(sizeof(T))};
    }
  }

  /// Whether the BLAS is to compute the shape; where not, nothing but reason() may be called.
  [[nodiscard]] bool worthwhile() const { return m_choice.algorithm != Algorithm::direct; }
  [[nodiscard]] const char* reason() const { return m_choice.reason; }
  void set_beta(T beta) { m_beta = beta; }

  [[nodiscard]] Algorithm algorithm() const override { return m_choice.algorithm; }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return m_pieces.items * m_pieces.elements * std::int64_t{sizeof(T)};
  }
  [[nodiscard]] double predicted_seconds() const override {
    const double seconds =
        m_choice.algorithm == Algorithm::blocks ? m_choice.blocks_seconds : m_choice.gemm_seconds;
    return std::isinf(seconds) ? 0 : seconds;
  }
  [[nodiscard]] std::string explain(const void* const*, const void*) const override {
    return describe(m_choice, static_cast<Extent>(sizeof(T)));
  }
  void run(const Space& space, const void* const* operands, void* output,
           [[maybe_unused]] unsigned char* workspace) const override {
    if (const auto* gemm = std::get_if<GemmShape>(&m_choice.plan)) {
      run_gemm(space, *gemm, m_alpha, operands, m_beta, static_cast<T*>(output));
    } else if constexpr (compat::is_synchronous<Space>) {
      run_blocks(space, *std::get_if<BlockPlan>(&m_choice.plan), m_pieces, m_alpha, operands,
                 m_beta, static_cast<T*>(output), reinterpret_cast<T*>(workspace));
    }
  }

 private:
  ProductChoice m_choice;
  BlockWorkspace m_pieces;
  T m_alpha;
  T m_beta;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace detail
}  // namespace eindecomp::kernel
