// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors that are put together from blocks: what they are in the graph, and what is refused.

#include "eindecomp/graph/blocks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "eindecomp/graph/builder.hpp"
#include "eindecomp/graph/concat.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/print.hpp"
#include "eindecomp/graph/scan.hpp"
#include "support/messages.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::at;
using ein::Extent;
using ein::let;
using eindecomp_tests::message_of;

TEST_CASE("blocks: their graphs, and what is refused by naming labels, elements and extents") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {4, 6});
  const auto Y = g.input<double>("Y", {5, 6});
  const auto A = g.input<double>("A", {3, 7});
  const auto N = g.input<std::int32_t>("N", {4, 6});
  auto Z = ein::blocks<double>(g, "Z", {12, 6});
  const auto says = [](const auto& write, std::string_view sentence) {
    const std::string message = message_of(write);
    CAPTURE(message);
    CHECK(message.find(sentence) != std::string::npos);
  };
  Z(i, j) = X(i, j);
  says(
      [&] { Z(i + 8, j) = Y(i, j); },
      "block Z(i + 8,j) goes from 8 to 12 in dimension 0 of Z, of extent 12 (label 'i' is 5 in Y); "
      "write it where it fits, or give Z a larger extent");
  says([&] { Z(i + 2, j) = 2.0 * Y(i, j); },
       "blocks Z(i,j) and Z(i + 2,j) both have element (2,0) (an element is written once); place "
       "them apart, or add the second by +=");
  says([&] { Z(11 - i, j) = X(i, j); },
       "goes from one index to the next by -1 (blocks go forwards)");
  says([&] { Z(ein::range(i, 4, 4), j) = X(i, j); }, "range(i, 4, 4) is empty");
  says([&] { Z(i + 4, j) = A(i, j); },
       "goes from 0 to 6 in dimension 1 of Z, of extent 6 (label 'j' is 7 in A)");
  says([&] { Z(ein::range(i, 4, 8), j) = 2.0 * Y(i, j); }, "label 'i' is 5 in the operands and 4");
  ein::PlanProgram other;
  const auto V = other.input<double>("V", {5, 6});
  says([&] { Z(i + 4, j) = V(i, j); }, "block Z(i + 4,j) reads tensors of another program");
  const std::string before(ein::to_text(g.graph()).view());
  says([&] { (void)Z.tensor(); },
       "no block of Z has element (4,0) (Z is 12 x 6); write a block there, or give Z a value");
  CHECK(before == ein::to_text(g.graph()).view());
  Z(i + 4, j) = 2.0 * Y(i, j);
  Z(ein::range(i, 9, 12), j) = X(ein::range(i, 1, 4), j);
  const auto whole = Z.tensor();
  CHECK(whole.vertex() == Z.tensor().vertex());
  CHECK(ein::formula(g.graph(), whole.vertex()).view() ==
        "Z(i,j) = blocks(X(i,j), Z.2(i - 4,j), Z.3(i - 9,j))");
  says([&] { Z(i, j) = X(i, j); }, "is written when its tensor has been read");

  says([&] { let<"C">(i, j) = ein::concat(i)(X(i, j), A(i, j)); },
       "label 'j' is 6 in X and 7 in A of concat(i) in C");
  says([&] { let<"C">(ein::extent(i, 8), j) = ein::concat(i)(X(i, j), Y(i, j)); },
       "label 'i' is 9 in the blocks and 8 in the output of C");
  says(
      [&] {
        let<"P">(i, j) = ein::pad(j)(X(i, j), {{-1, 2}});
      },
      "pad(j) in P is given -1 elements before and 2 after");
  says(
      [&] {
        let<"P">(i, j) = ein::pad(j)(N(i, j), {{1, 2}}, 5000000000);
      },
      "the value between the blocks of P is none that int32 can hold");
  says([&] { (void)ein::blocks<double>(g, "E", {3}, 1.0).tensor(); }, "tensor E has no block");
  says(
      [&] {
        auto E = ein::blocks<double>(g, "E", {8, 9}, 1.0);
        E(range(i, 0, 2), range(j, 0, 2)) += X(range(i, 0, 2), range(j, 0, 2));
        (void)E.tensor();
      },
      "tensor E has only blocks that are added, and a value other than 0 between blocks");
  says(
      [&] {
        auto E = ein::blocks<double>(g, "E", {9, 6});
        E(i, j) += X(i, j);
        E(i + 3, j) += X(i, j);
        E(8, j) = X(0, j);
        (void)E.tensor();
      },
      "no block of E has element (7,0) (E is 9 x 6)");
  // What is put together alike is one tensor; where another value lies between, another.
  const auto P = let<"P">(i, j) = ein::pad(j)(X(i, j), {{1, 2}}, 7.5);
  const auto Q = let<"Q">(i, j) = ein::pad(j)(X(i, j), {{1, 2}}, 7.5);
  const auto R = let<"R">(i, j) = ein::pad(j)(X(i, j), {{1, 2}}, 8.5);
  CHECK(P.vertex() == Q.vertex());
  CHECK(P.vertex() != R.vertex());
  CHECK(ein::formula(g.graph(), P.vertex()).view() == "P(i,j) = blocks(X(i,j - 1), else 7.5)");
  // Two thousand blocks, one by one.
  auto many = ein::blocks<double>(g, "many", {2000, 6});
  for (Extent row = 0; row < 2000; ++row) many(at(row), j) = X(at(row % 4), j);
  CHECK(g.graph()[many.tensor().vertex()].operands.size() == 2000);
}

TEST_CASE("holes are found between where blocks begin and end, whatever their steps") {
  std::mt19937 random(20261201);
  const auto pick = [&](Extent least, Extent most) {
    return std::uniform_int_distribution<Extent>(least, most)(random);
  };
  int whole = 0;
  for (int n = 0; n < 2000; ++n) {
    CAPTURE(n);
    const std::vector<Extent> bound{pick(1, 14), pick(1, 5)};
    ein::graph::BlockList list("Z", bound);
    std::vector<bool> has(static_cast<std::size_t>(bound[0] * bound[1]), false);
    for (Extent b = pick(1, 6); b > 0; --b) {
      ein::graph::PlacedBlock block;
      std::vector<Extent> extents;
      for (const Extent all : bound) {
        const Extent step = pick(1, 3);
        const Extent first = pick(0, std::min(step, all) - 1);
        extents.push_back(
            pick(std::max<Extent>(1, (all - first) / step - 2), ein::ceil_div(all - first, step)));
        block.labels.emplace_back("i");
        block.first.push_back(first);
        block.step.push_back(step);
      }
      for (Extent i = 0; i < extents[0]; ++i) {
        for (Extent j = 0; j < extents[1]; ++j) {
          const Extent row = block.first[0] + i * block.step[0];
          has[static_cast<std::size_t>(row * bound[1] + block.first[1] + j * block.step[1])] = true;
        }
      }
      ein::graph::BlockList one("Z", bound);
      one.add(block, extents);
      list.add_over(one);
    }
    const auto hole = std::find(has.begin(), has.end(), false);
    std::vector<Extent> expected;
    if (hole != has.end()) {
      const Extent at = hole - has.begin();
      expected = {at / bound[1], at % bound[1]};
    }
    REQUIRE(list.hole() == expected);
    whole += expected.empty() ? 1 : 0;
  }
  CHECK(whole > 100);
  // Frames that overlap by half.
  ein::graph::BlockList frames("audio", {4001000});
  for (Extent f = 0; f < 4000; ++f) {
    ein::graph::BlockList one("audio", {4001000});
    one.add({-1, -1, false, {"i"}, {1000 * f}, {1}}, {2000});
    frames.add_over(one);
  }
  CHECK(frames.hole().empty());
}

TEST_CASE("labels of the user's are not those that blocks and scans need") {
  ein::PlanProgram g;
  constexpr auto d0 = ein::label<"d0">;
  constexpr auto scan = ein::label<"scan">;
  const auto x = g.input<double>("x", {6});
  const auto X = g.input<double>("X", {2, 6});
  auto Z = ein::blocks<double>(g, "Z", {2, 6}, 0.0);
  Z(0, d0) = x(d0);
  CHECK(Z.tensor().vertex() > 0);
  const auto sums = let<"sums">(scan, j) = ein::cumsum(j)(X(scan, j));
  CHECK(g.graph()[sums.vertex()].bound == std::vector<Extent>{2, 6});
}

TEST_CASE("the builder puts tensors together") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {4, 6});
  const auto Y = g.input<double>("Y", {5, 6});
  const auto V = g.input<double>("V", {6});
  const auto N = g.input<std::int32_t>("N", {4, 6});
  ein::Builder builder(g);
  const auto any = [&](const auto& symbol) { return ein::AnySymbol(g.graph(), symbol.vertex()); };
  const auto one =
      builder.blocks<double>("one", {{"i", 9}, {"j", 6}}, {{any(X), {0, 0}}, {any(Y), {4, 0}}});
  CHECK(one.vertex() == (let<"two">(i, j) = ein::concat(i)(X(i, j), Y(i, j))).vertex());
  auto Z = ein::blocks<double>(g, "Z", {12, 8}, -1.0);
  Z(2 * i + 1, j + 2) = X(i, j);
  const auto gaps =
      builder.blocks<double>("gaps", {{"i", 12}, {"j", 8}}, {{any(X), {1, 2}, {2, 1}}}, -1.0);
  CHECK(gaps.vertex() == Z.tensor().vertex());
  CHECK(g.graph()[gaps.vertex()].bound == std::vector<Extent>{12, 8});

  // Of rank 0 there is one element.
  const auto s = g.input<double>("s", {});
  CHECK(message_of([&] {
          builder.blocks<double>("S", {}, {{any(s), {}}, {any(s), {}}});
        }).find("both have element ()") != std::string::npos);

  const std::string before(ein::to_text(g.graph()).view());
  using Parts = std::vector<ein::Builder<ein::NoBackend>::Block>;
  const auto says = [&](const std::vector<Extent>& bound, const Parts& parts,
                        std::string_view sentence) {
    const std::string message = message_of([&] {
      builder.blocks<double>("B", {{"i", bound[0]}, {"j", bound[1]}}, parts);
    });
    CAPTURE(message);
    CHECK(message.find(sentence) != std::string::npos);
    CHECK(message.find("blocks_test.cpp") != std::string::npos);
    CHECK(before == ein::to_text(g.graph()).view());
  };
  says({4, 6}, {}, "tensor B has no block (it would read no tensor); write one");
  says({8, 6}, {{any(X), {0, 0}}, {any(Y), {4, 0}}},
       "block B(i + 4,j) goes from 4 to 8 in dimension 0 of B, of extent 8 (label 'i' is 5 in Y)");
  says({9, 6}, {{any(X), {0, 0}}, {any(Y), {3, 0}}},
       "blocks B(i,j) and B(i + 3,j) both have element (3,0)");
  says({9, 6}, {{any(X), {0, 0}}}, "no block of B has element (4,0) (B is 9 x 6)");
  says({4, 6}, {{any(X), {0, 0}, {0, 1}}}, "goes from one index to the next by 0");
  says({4, 6}, {{any(X), {0}}}, "block X of B is given 1 first indices and 1 steps for 2");
  says({4, 6}, {{any(X), {0, 0}, {1}}}, "block X of B is given 2 first indices and 1 steps for 2");
  says({1, 6}, {{any(V), {0, 0}}},
       "block V of B is of rank 1 and B of rank 2 (each dimension of a block lies along one");
  says({4, 6}, {{any(N), {0, 0}}},
       "statement B reads tensor N, which is of int32, as elements of double");
  says({4, 0}, {{any(X), {0, 0}}}, "dimension 1 of tensor B has extent 0");
  says({4, 6}, {{any(X), {0, INT64_MAX - 2}, {1, INT64_MAX}}},
       "goes from 9223372036854775805 to 9223372036854775807 in dimension 1 of B");
  CHECK(message_of([&] {
          builder.blocks<double>("B", {{"i", 4}, {"i", 6}}, {{any(X), {0, 0}}});
        }).find("label 'i' is repeated in the output") != std::string::npos);
  ein::PlanProgram other;
  const auto W = other.input<double>("W", {4, 6});
  says({4, 6}, {{ein::AnySymbol(other.graph(), W.vertex()), {0, 0}}}, "belongs to another graph");
}

TEST_CASE("blocks of small integers that are added have their type") {
  ein::PlanProgram g;
  const auto X = g.input<std::int8_t>("X", {4});
  auto Z = ein::blocks<std::int8_t>(g, "Z", {5});
  Z(i) += X(i);
  Z(i + 1) += X(i);
  CHECK(g.graph()[Z.tensor().vertex()].element == ein::element_type<std::int8_t>());
}

TEST_CASE("pad: diagonals, and values that the elements cannot hold") {
  ein::PlanProgram g;
  const auto X = g.input<double>("X", {3, 3});
  const auto D = let<"D">(i) = ein::pad(i)(X(i, i), {{1, 1}});
  CHECK(g.graph()[D.vertex()].bound == std::vector<Extent>{5});
  const auto U = g.input<std::uint64_t>("U", {3});
  CHECK(message_of([&] {
          (void)(let<"P">(i) = ein::pad(i)(U(i), {{1, 1}}, -1));
        }).find("is none that uint64 can hold") != std::string::npos);
}
