// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of a product of many against every order there is.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "eindecomp/graph/contraction_order.hpp"

namespace {

using eindecomp::Extent;
using eindecomp::graph::contraction_order;
using eindecomp::graph::ContractionOrder;
using eindecomp::graph::LabelSet;

double points(LabelSet labels, const std::vector<Extent>& extents) {
  double product = 1;
  for (std::size_t l = 0; l < extents.size(); ++l) {
    if ((labels >> l & 1U) != 0) product *= static_cast<double>(extents[l]);
  }
  return product;
}

LabelSet needed_by(const std::vector<LabelSet>& others, LabelSet output) {
  for (LabelSet set : others) output |= set;
  return output;
}

/// The least cost over all sequences of pairs whose results have no more than so many dimensions.
double cheapest(const std::vector<LabelSet>& open, LabelSet output,
                const std::vector<Extent>& extents, int most_dimensions) {
  if (open.size() == 1) return 0;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t a = 0; a < open.size(); ++a) {
    for (std::size_t b = a + 1; b < open.size(); ++b) {
      std::vector<LabelSet> rest;
      for (std::size_t c = 0; c < open.size(); ++c) {
        if (c != a && c != b) rest.push_back(open[c]);
      }
      const LabelSet joined = open[a] | open[b];
      const LabelSet left = joined & needed_by(rest, output);
      if (std::popcount(left) > most_dimensions) continue;
      const double cost = points(joined, extents) + points(left, extents);
      rest.push_back(left);
      best = std::min(best, cost + cheapest(rest, output, extents, most_dimensions));
    }
  }
  return best;
}

/// What an order costs, followed step by step; checks that it uses every operand once.
double followed(const ContractionOrder& order, std::vector<LabelSet> sets, LabelSet output,
                const std::vector<Extent>& extents) {
  const std::size_t operands = sets.size();
  REQUIRE(order.pairs.size() == operands - 1);
  std::vector<bool> used(2 * operands - 1, false);
  double cost = 0;
  for (const auto& [a, b] : order.pairs) {
    const auto at_a = static_cast<std::size_t>(a);
    const auto at_b = static_cast<std::size_t>(b);
    REQUIRE(at_a < sets.size());
    REQUIRE(at_b < sets.size());
    REQUIRE((!used[at_a] && !used[at_b] && a != b));
    used[at_a] = used[at_b] = true;
    std::vector<LabelSet> rest;
    for (std::size_t c = 0; c < sets.size(); ++c) {
      if (!used[c]) rest.push_back(sets[c]);
    }
    const LabelSet joined = sets[at_a] | sets[at_b];
    const LabelSet left = joined & needed_by(rest, output);
    CHECK(std::popcount(left) <= eindecomp::max_rank);
    cost += points(joined, extents) + points(left, extents);
    sets.push_back(left);
  }
  return cost;
}

struct Product {
  std::vector<LabelSet> operands;
  LabelSet output = 0;
  std::vector<Extent> extents;
};

Product random_product(std::mt19937& random, std::size_t operands) {
  Product p;
  const std::size_t labels = 3 + random() % 5;
  for (std::size_t l = 0; l < labels; ++l) p.extents.push_back(1 + random() % 9);
  const LabelSet all = (LabelSet{1} << labels) - 1;
  LabelSet present = 0;
  for (std::size_t o = 0; o < operands; ++o) {
    p.operands.push_back(random() & all);
    present |= p.operands.back();
  }
  p.output = random() & random() & present;
  return p;
}

}  // namespace

TEST_CASE("the order is the cheapest of all") {
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    CAPTURE(trial);
    const Product p = random_product(random, 2 + random() % 4);
    const ContractionOrder order = contraction_order(p.operands, p.output, p.extents);
    CHECK(order.cost == cheapest(p.operands, p.output, p.extents, eindecomp::max_rank));
    CHECK(followed(order, p.operands, p.output, p.extents) == order.cost);
  }
}

TEST_CASE("no intermediate has more dimensions than a tensor may have") {
  std::mt19937 random(7);
  int dearer = 0;      // than the cheapest order of all, whatever its dimensions
  int impossible = 0;  // no order is left
  for (int trial = 0; trial < 400; ++trial) {
    CAPTURE(trial);
    Product p;
    const std::size_t labels = 14;
    for (std::size_t l = 0; l < labels; ++l) p.extents.push_back(1 + random() % 4);
    for (int o = 0; o < 4; ++o) {
      LabelSet operand = 0;
      while (std::popcount(operand) < 8) operand |= LabelSet{1} << random() % labels;
      p.operands.push_back(operand);
    }
    p.output = p.operands[0] & ~p.operands[1];
    const ContractionOrder order = contraction_order(p.operands, p.output, p.extents);
    const double least = cheapest(p.operands, p.output, p.extents, eindecomp::max_rank);
    CHECK(order.cost == least);
    if (least == std::numeric_limits<double>::infinity()) {
      ++impossible;
      CHECK(order.pairs.empty());
      continue;
    }
    CHECK(followed(order, p.operands, p.output, p.extents) == order.cost);
    dearer += least > cheapest(p.operands, p.output, p.extents, 14) ? 1 : 0;
  }
  CHECK(dearer > 10);
  CHECK(impossible > 10);
}

TEST_CASE("as many operands as a statement may have are ordered") {
  std::mt19937 random(6);
  for (int trial = 0; trial < 20; ++trial) {
    CAPTURE(trial);
    const Product p = random_product(random, trial % 2 == 0 ? 10 : 16);
    const ContractionOrder order = contraction_order(p.operands, p.output, p.extents);
    if (order.pairs.empty()) continue;
    CHECK(order.pairs.size() + 1 == p.operands.size());
    CHECK(followed(order, p.operands, p.output, p.extents) == order.cost);
  }
}
