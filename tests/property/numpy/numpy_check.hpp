// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's results for NumPy's einsum forms, from views in this process and from a planned run on
// all ranks.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "eindecomp/graph/builder.hpp"
#include "eindecomp/kernel/einsum.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "property/data.hpp"

namespace property::numpy {

namespace ein = eindecomp;
using ein::Extent;

/// As make_expected.py has them.
inline reference::Tensor values(std::vector<Extent> bound, int operand) {
  reference::Tensor tensor;
  tensor.bound = std::move(bound);
  Extent size = 1;
  for (Extent b : tensor.bound) size *= b;
  for (Extent n = 0; n < size; ++n) {
    tensor.values.emplace_back(static_cast<long double>((n * n + 3 * n + 5 * operand + 2) % 7 - 3));
  }
  return tensor;
}

template <int Rank, class Layout>
auto view_of(const reference::Tensor& tensor) {
  Layout layout;
  for (std::size_t k = 0; k < tensor.bound.size(); ++k) {
    layout.dimension[k] = static_cast<std::size_t>(tensor.bound[k]);
  }
  Kokkos::View<typename ein::kernel::DataType<double, Rank>::type, Layout, Kokkos::HostSpace> view(
      "test::operand", layout);
  std::vector<Extent> index(tensor.bound.size(), 0);
  std::size_t n = 0;
  do {
    std::size_t offset = 0;
    for (std::size_t k = 0; k < index.size(); ++k) {
      offset += static_cast<std::size_t>(index[k]) * view.stride(static_cast<int>(k));
    }
    view.data()[offset] = static_cast<double>(tensor.values[n++].real());
  } while (reference::detail::next(index, tensor.bound));
  return view;
}

struct Check {
  template <ein::fixed_string Form, int ResultRank, int... Ranks>
  void operator()(const std::array<std::vector<Extent>, sizeof...(Ranks)>& bounds,
                  const std::vector<double>& expected) const {
    const std::string form(Form.view());
    CAPTURE(form);
    std::vector<reference::Tensor> operands;
    for (const auto& bound : bounds) {
      operands.push_back(values(bound, static_cast<int>(operands.size())));
    }
    if constexpr (sizeof...(Ranks) <= 4) views<Form, ResultRank, Ranks...>(operands, expected);
    run<sizeof...(Ranks)>(form, operands, expected, std::make_index_sequence<sizeof...(Ranks)>{});
  }

 private:
  template <ein::fixed_string Form, int ResultRank, int... Ranks>
  static void views(const std::vector<reference::Tensor>& operands,
                    const std::vector<double>& expected) {
    const auto inputs = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple(view_of<Ranks, Kokkos::LayoutRight>(operands[I])...);
    }
    (std::make_index_sequence<sizeof...(Ranks)>{});
    std::apply(
        [&](const auto&... views_in) {
          const Space space;
          const auto result = ein::einsum<Form>(space, views_in...);
          space.fence();
          static_assert(static_cast<int>(std::decay_t<decltype(result)>::rank) == ResultRank);
          std::vector<Extent> bound;
          for (int k = 0; k < ResultRank; ++k) {
            bound.push_back(static_cast<Extent>(result.extent(k)));
          }
          std::vector<Extent> index(bound.size(), 0);
          std::size_t n = 0;
          std::size_t wrong = 0;
          do {
            std::size_t offset = 0;
            for (std::size_t k = 0; k < index.size(); ++k) {
              offset += static_cast<std::size_t>(index[k]) * result.stride(static_cast<int>(k));
            }
            REQUIRE(n < expected.size());
            if (result.data()[offset] != expected[n]) ++wrong;
            ++n;
          } while (reference::detail::next(index, bound));
          CHECK(n == expected.size());
          CHECK(wrong == 0);
        },
        inputs);
  }

  template <std::size_t>
  using Element = double;

  template <std::size_t N, std::size_t... I>
  static void run(const std::string& form, const std::vector<reference::Tensor>& operands,
                  const std::vector<double>& expected, std::index_sequence<I...>) {
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    ein::BasicProgram<ein::KokkosBackend<Space>> program;
    ein::Builder builder(program);
    std::vector<ein::AnySymbol> symbols;
    for (std::size_t o = 0; o < N; ++o) {
      symbols.push_back(builder.template input<double>("X" + std::to_string(o), operands[o].bound));
    }
    const auto result =
        builder.template einsum<ein::Mul, ein::Sum, Element<I>...>("Y", form, symbols);
    const auto plan = shared_plan(program, {.workers = 8, .ranks = ranks});
    std::vector<Binding> bindings;
    Memory memory;
    for (std::size_t o = 0; o < N; ++o) {
      bindings.push_back(
          bind_tensor(plan, symbols[o].vertex(), operands[o], Way::whole_right, rank, 0, memory));
    }
    Executor executor(plan, MPI_COMM_WORLD, Space());
    const Run done = executor.run(bindings);
    const auto got = gather_tensor(done, plan.graph, result.vertex());
    REQUIRE(got.size() == expected.size());
    std::size_t wrong = 0;
    for (std::size_t n = 0; n < got.size(); ++n) {
      if (got[n] != reference::Wide(static_cast<long double>(expected[n]))) ++wrong;
    }
    CHECK(wrong == 0);
  }
};

}  // namespace property::numpy
