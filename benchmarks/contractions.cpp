// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The 48 TCCG contractions, or long sums of few outputs, beside a matrix product of the same size
// in one run, by the BLAS or over another algebra by our own kernel: a table, the geometric mean of
// the ratios, and on demand JSON.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "contraction_cases.hpp"
#include "eindecomp/expr/einsum_string.hpp"
#include "eindecomp/kernel/dispatch.hpp"
#include "support/fastest.hpp"

namespace ein = eindecomp;
using ein::Extent;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

struct Options {
  std::string type = "double";
  std::string layout = "left";
  std::string algebra = "blas";
  std::string cases = "tccg";
  std::string json;
  std::string only;
  double seconds = 0.3;
};

/// The shape of a case on dense tensors, column-major or, reversing every tensor's labels' order in
/// memory, row-major.
ein::kernel::LocalEinsum shape_of(const benchmark_cases::ContractionCase& c, bool column_major) {
  const ein::EinsumShape spec = ein::einsum_shape(c.text);
  ein::kernel::LocalEinsum shape;
  shape.labels = spec.labels;
  shape.operands = spec.operands;
  for (int l = 0; l < spec.labels; ++l) {
    shape.extent[l] = c.extents.at(static_cast<std::size_t>(spec.name[l] - 'a'));
    shape.aggregated[l] = spec.aggregated[l];
  }
  const auto strides = [&](const int* labels, int rank, Extent* stride) {
    Extent step = 1;
    for (int k = 0; k < rank; ++k) {
      const int label = labels[column_major ? k : rank - 1 - k];
      stride[label] = step;
      step *= shape.extent[label];
    }
  };
  for (int t = 0; t < 2; ++t) strides(spec.operand[t], spec.rank[t], shape.operand_stride[t]);
  strides(spec.output, spec.output_rank, shape.output_stride);
  return shape;
}

/// C = A·B by the BLAS, all column-major.
template <class T>
void by_blas(const Space& space, Extent m, Extent n, Extent k, const void* const* operands,
             T* result) {
  ein::kernel::blas::gemm<Space, T>(
      space, false, false, T(1), {static_cast<const T*>(operands[0]), m, k, m},
      {static_cast<const T*>(operands[1]), k, n, k}, T(0), {result, m, n, m});
}

/// The same over an algebra by our own kernels.
template <class Join, class Monoid, class T>
void by_kernel(const Space& space, Extent m, Extent n, Extent k, const void* const* operands,
               T* result) {
  const benchmark_cases::ContractionCase product{"ac,cb->ab", {m, n, k}};
  ein::kernel::kernels_of<Space, Join, Monoid, T, T>().run(
      space, shape_of(product, true), {}, {}, operands, result, ein::kernel::Write::finished);
}

/// \param matrices computes the matrix product to compare with.
template <class Join, class Monoid, class T, class Matrices>
int run(const Options& options, const Matrices& matrices) {
  const Space space;
  const auto& kernels = ein::kernel::kernels_of<Space, Join, Monoid, T, T>();
  double logarithms = 0;
  double worst = 1e30;
  int count = 0;
  std::string json;
  fmt::print("{:<18} {:>7} {:>7} {:>6} {:<7} {:>9} {:>8} {:>8} {:>6}\n", "contraction", "m", "n",
             "k", "algorithm", "ms", "GFLOP/s", "gemm", "ratio");
  for (const auto& c :
       options.cases == "tccg" ? benchmark_cases::tccg() : benchmark_cases::long_sums()) {
    if (!options.only.empty() && c.text.find(options.only) == std::string::npos) continue;
    const ein::kernel::LocalEinsum shape = shape_of(c, options.layout == "left");
    ein::kernel::detail::Contraction product;
    if (!ein::kernel::detail::set_contraction(shape, product)) {
      throw std::logic_error(std::string(c.text) + " is no product of matrices");
    }
    const auto m = static_cast<std::size_t>(product.m.size());
    const auto n = static_cast<std::size_t>(product.n.size());
    const auto k = static_cast<std::size_t>(product.k.size());
    const Kokkos::View<T*, Space> a("a", m * k);
    const Kokkos::View<T*, Space> b("b", k * n);
    const Kokkos::View<T*, Space> result("c", m * n);
    for (std::size_t i = 0; i < a.size(); ++i) a(i) = static_cast<T>(i % 13) / T(13);
    for (std::size_t i = 0; i < b.size(); ++i) b(i) = static_cast<T>(i % 11) / T(11);
    const void* const operands[] = {a.data(), b.data()};
    const double ours = eindecomp_benchmarks::fastest({.seconds = options.seconds}, [&] {
      kernels.run(space, shape, {}, {}, operands, result.data(), ein::kernel::Write::finished);
    });
    const double gemm = eindecomp_benchmarks::fastest({.seconds = options.seconds}, [&] {
      matrices(space, static_cast<Extent>(m), static_cast<Extent>(n), static_cast<Extent>(k),
               operands, result.data());
    });
    const double flops = 2 * product.joins() * 1e-9;
    const auto algorithm =
        kernels.prepare(space, shape, {}, {}, ein::kernel::Write::finished)->algorithm();
    const double ratio = gemm / ours;
    fmt::print("{:<18} {:>7} {:>7} {:>6} {:<7} {:>9.3f} {:>8.1f} {:>8.1f} {:>6.3f}\n", c.text, m, n,
               k, ein::kernel::to_string(algorithm), ours * 1e3, flops / ours, flops / gemm, ratio);
    std::fflush(stdout);
    json += fmt::format(
        "{}\n  {{\"contraction\": \"{}\", \"m\": {}, \"n\": {}, \"k\": {}, \"algorithm\": \"{}\", "
        "\"seconds\": {:.6g}, \"gemm_seconds\": {:.6g}}}",
        count > 0 ? "," : "", c.text, m, n, k, ein::kernel::to_string(algorithm), ours, gemm);
    logarithms += std::log(ratio);
    worst = std::min(worst, ratio);
    ++count;
  }
  if (count == 0) {
    fmt::print(stderr, "no contraction has \"{}\" in it\n", options.only);
    return 1;
  }
  fmt::print("{} {}, {} threads: geometric mean {:.3f}, least {:.3f} over {} contractions\n",
             options.type, options.layout == "left" ? "column-major" : "row-major",
             space.concurrency(), std::exp(logarithms / count), worst, count);
  if (!options.json.empty()) {
    std::ofstream(options.json) << fmt::format(
        "{{\"type\": \"{}\", \"layout\": \"{}\", \"threads\": {}, \"cases\": [{}\n]}}\n",
        options.type, options.layout, space.concurrency(), json);
  }
  return 0;
}

template <class T>
int run(const Options& options) {
  if (options.algebra == "blas") return run<ein::Mul, ein::Sum, T>(options, by_blas<T>);
  if (options.algebra == "min-plus") {
    return run<ein::Add, ein::Min, T>(options, by_kernel<ein::Add, ein::Min, T>);
  }
  ein::kernel::use_blas = false;
  return run<ein::Mul, ein::Sum, T>(options, by_kernel<ein::Mul, ein::Sum, T>);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Contractions beside a matrix product of the same size");
  app.add_option("--type", options.type)
      ->check(CLI::IsMember({"float", "double"}))
      ->capture_default_str();
  app.add_option("--layout", options.layout, "of all tensors")
      ->check(CLI::IsMember({"left", "right"}))
      ->capture_default_str();
  app.add_option("--algebra", options.algebra,
                 "sums of products by the BLAS, the same without it, or min-plus")
      ->check(CLI::IsMember({"blas", "no-blas", "min-plus"}))
      ->capture_default_str();
  app.add_option("--cases", options.cases)
      ->check(CLI::IsMember({"tccg", "long-sums"}))
      ->capture_default_str();
  app.add_option("--json", options.json, "a file for the figures");
  app.add_option("--only", options.only, "contractions that have this in their string");
  app.add_option("--seconds", options.seconds, "to repeat a case")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Kokkos::ScopeGuard guard(argc, argv);
  return options.type == "float" ? run<float>(options) : run<double>(options);
}
