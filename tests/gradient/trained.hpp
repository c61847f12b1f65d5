// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A network of networks.hpp that is trained on the ranks of a test.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/run/program.hpp"
#include "eindecomp/run/share_plan.hpp"
#include "eindecomp/train/fit.hpp"
#include "gradient/networks.hpp"
#include "run/programs.hpp"

namespace networks {

using run_test::Space;
using OnRanks = ein::BasicProgram<ein::Differentiable<ein::KokkosBackend<Space>>>;

/// Searches are content early: here plans are to differ, not to be good.
inline constexpr ein::SearchEffort quick{.placed = 1,
                                         .exact = {.max_states = 0x1p12, .max_work = 0x1p22}};

/// A function of an index into a tensor of these extents, with elements T, row by row from number
/// `begin` on.
template <class T, class From>
[[nodiscard]] auto element_of(std::vector<ein::Extent> bound, std::vector<From> all,
                              ein::Extent begin = 0) {
  return [bound = std::move(bound), all = std::move(all), begin](auto... indices) {
    ein::Extent place = 0;
    std::size_t k = 0;
    ((place = place * bound[k++] + indices), ...);
    return static_cast<T>(all[static_cast<std::size_t>(begin + place)]);
  };
}

template <template <class, class> class Network, class T>
struct Trained {
  run_test::World world;
  OnRanks g;
  Network<T, OnRanks> net;
  Values values = net.values();

  /// \param size  of the network, other than that which make_expected.py has
  template <class... Size>
  explicit Trained(Size... size) : net(g, size...) {}

  /// A function of an index into one of the network's tensors, its rows from `first` on.
  template <ein::run::TypedSymbol S>
  [[nodiscard]] auto element(const S& tensor, ein::Extent first = 0) const {
    const std::vector<double>& all = values.at(tensor.name().str());
    const std::vector<ein::Extent> bound = g.graph()[tensor.vertex()].bound;
    const ein::Extent begin =
        first == 0 ? 0 : first * (g.graph()[tensor.vertex()].size() / bound[0]);
    return element_of<typename S::value_type>(bound, all, begin);
  }
  template <class S>
  [[nodiscard]] ein::Binding<Space> bound(const S& tensor, ein::Extent first = 0) const {
    return ein::bind_generator(tensor, element(tensor, first));
  }
  /// Of all inputs but weights; samples from number `first` on.
  [[nodiscard]] std::vector<ein::Binding<Space>> data(ein::Extent first = 0) const {
    std::vector<ein::Binding<Space>> inputs{bound(net.X, first), bound(net.D, first)};
    if constexpr (requires { net.M; }) inputs.push_back(bound(net.M));
    return inputs;
  }
  [[nodiscard]] std::vector<ein::Binding<Space>> first() const {
    std::vector<ein::Binding<Space>> weights;
    net.each_weight([&](const auto& weight) { weights.push_back(bound(weight)); });
    return weights;
  }
  template <class Updates>
  [[nodiscard]] auto plan(const Updates& updates, const std::string& strategy = "placed",
                          int workers = 0, const ein::SearchEffort& effort = {}) const {
    return ein::share_plan(g, MPI_COMM_WORLD, [&] {
      return ein::decompose(g, {.workers = workers > 0 ? workers : world.size,
                                .ranks = world.size,
                                .strategy = strategy,
                                .carry = updates.carry(),
                                .effort = effort});
    });
  }
};

}  // namespace networks
