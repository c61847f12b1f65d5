// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "eindecomp/relation/distribution.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/relation/redistribution.hpp"
#include "support.hpp"
#include "support/cases.hpp"
#include "support/messages.hpp"
#include "support/random_distribution.hpp"

using namespace eindecomp;
using eindecomp_tests::for_each_element;
using eindecomp_tests::indices_of;
using eindecomp_tests::message_here;
using eindecomp_tests::random_distribution;
using relation::make_redistribution;
using relation::RankRedistribution;
using relation::RedistributionMessage;
using relation::shared_runs;
using relation::shared_size;
using relation::SharedElements;
using relation::SharedRuns;

namespace {

using Index = std::vector<Extent>;

/// The elements that lie on a rank.
std::set<Index> held(const Distribution& distribution, int rank) {
  std::set<Index> elements;
  for (const LocalArray& array : distribution.arrays(rank)) {
    for_each_element(array, [&](const Index& index, const Index&) { elements.insert(index); });
  }
  return elements;
}

/// ScaLAPACK's INDXG2P, from 0: the process that has an index.
Extent process_of(Extent index, Extent block, int source, int processes) {
  return (source + index / block) % processes;
}
/// Its NUMROC: how many of n indices a process has.
Extent count_of(Extent n, Extent block, int process, int source, int processes) {
  const Extent distance = (processes + process - source) % processes;
  const Extent blocks = n / block;
  Extent count = blocks / processes * block;
  if (distance < blocks % processes) count += block;
  if (distance == blocks % processes) count += n % block;
  return count;
}

}  // namespace

TEST_CASE("the indices of blocks a period apart") {
  const IndexBlocks set = IndexBlocks::cyclic(3, 2, 7, 20);
  CHECK(indices_of(set) == Index{3, 4, 10, 11, 17, 18});
  CHECK(set.size() == 6);
  CHECK(set.end == 19);
  CHECK(set.position(11) == 3);
  CHECK(set.next(5) == 10);
  CHECK(set.next(11) == 11);
  CHECK(set.block_end(17) == 19);
  CHECK(IndexBlocks::cyclic(3, 2, 7, 11).size() == 3);
  CHECK(IndexBlocks::cyclic(9, 2, 7, 5).size() == 0);
  CHECK(IndexBlocks::interval(4, 4).size() == 0);
  CHECK(IndexBlocks::cyclic(0, 4, 4, 10) == IndexBlocks::interval(0, 10));
  CHECK(IndexBlocks::cyclic(2, 4, 9, 5) == IndexBlocks::interval(2, 5));
}

TEST_CASE("what two sets share is found run by run") {
  std::mt19937 random(11);
  const auto pick = [&random](Extent n) {
    return std::uniform_int_distribution<Extent>(0, n - 1)(random);
  };
  for (int n = 0; n < eindecomp_tests::random_cases(4000); ++n) {
    CAPTURE(n);
    const auto any = [&] {
      const Extent block = 1 + pick(5);
      return IndexBlocks::cyclic(pick(12), block, block + pick(9), pick(150));
    };
    const IndexBlocks a = any();
    const IndexBlocks b = any();
    const Index in_a = indices_of(a);
    const Index in_b = indices_of(b);
    Index both;
    std::set_intersection(in_a.begin(), in_a.end(), in_b.begin(), in_b.end(),
                          std::back_inserter(both));
    REQUIRE(shared_size(a, b) == static_cast<Extent>(both.size()));
    Index found;
    for (const SharedRuns& run : shared_runs(a, b)) {
      for (Extent r = 0; r < run.count; ++r) {
        for (Extent i = 0; i < run.length; ++i) {
          const auto at_a = static_cast<std::size_t>(run.a + r * run.a_step + i);
          const auto at_b = static_cast<std::size_t>(run.b + r * run.b_step + i);
          REQUIRE(at_a < in_a.size());
          REQUIRE(at_b < in_b.size());
          REQUIRE(in_a[at_a] == in_b[at_b]);
          found.push_back(in_a[at_a]);
        }
      }
    }
    std::sort(found.begin(), found.end());
    REQUIRE(found == both);
  }
}

TEST_CASE("few entries say what regular sets share") {
  const IndexBlocks cyclic = IndexBlocks::cyclic(128, 128, 256, 8192);
  CHECK(shared_runs(cyclic, cyclic).size() == 1);
  CHECK(shared_runs(cyclic, IndexBlocks::interval(0, 8192)) ==
        std::vector<SharedRuns>{{128, 32, 0, 128, 128, 256}});
  CHECK(shared_runs(cyclic, IndexBlocks::interval(200, 1000)).size() <= 3);
  // Blocks of 2 and of 3, whose runs are of one and of two indices by turns.
  const Extent many = Extent{1} << 24;
  const auto twos = IndexBlocks::cyclic(2, 2, 4, many);
  const auto threes = IndexBlocks::cyclic(3, 3, 6, many);
  CHECK(shared_runs(twos, threes).size() <= 4);
  CHECK(shared_runs(IndexBlocks::cyclic(1, 1, 2, many), threes).size() <= 4);
  CHECK(shared_runs(IndexBlocks::cyclic(1, 1, 2, many), IndexBlocks::interval(5, many)).size() <=
        2);
  CHECK(shared_size(cyclic, IndexBlocks::cyclic(0, 128, 256, 8192)) == 0);
}

TEST_CASE("rows are shared out in three ways") {
  const auto lengths = [](const Distribution& distribution) {
    Index lengths;
    for (int r = 0; r < distribution.ranks(); ++r) {
      lengths.push_back(distribution.arrays(r).empty() ? 0
                                                       : distribution.arrays(r)[0].extents()[0]);
    }
    return lengths;
  };
  CHECK(lengths(Distribution::rows({10, 3}, 4)) == Index{3, 3, 2, 2});
  CHECK(lengths(Distribution::rows({10, 3}, 4, Split::floor)) == Index{2, 3, 2, 3});
  CHECK(lengths(Distribution::rows({9, 3}, 4, Split::ceiling)) == Index{3, 3, 3, 0});
  CHECK(lengths(Distribution::rows({2, 3}, 4)) == Index{1, 1, 0, 0});
  const Distribution columns = Distribution::columns({3, 10}, 2);
  CHECK(columns.arrays(1)[0].bounds() == Box{{0, 5}, {3, 10}});
  CHECK(columns.bound() == Index{3, 10});
  CHECK(message_here([] {
          return Distribution::split({4, 4}, 2, 2);
        }) ==
        "EinDecomp: dimension 2 of a tensor of 4 x 4 is to be shared out (its dimensions are 0 to "
        "1); name one of them");
  CHECK(message_here([] { return Distribution::rows({4}, 0); }) ==
        "EinDecomp: a distribution over 0 ranks (an element lies on one at least); give the size "
        "of the communicator");
  CHECK(message_here([] {
          return Distribution::rows({4, 0}, 2);
        }) ==
        "EinDecomp: a distribution of a tensor whose dimension 1 has extent 0 (a tensor has "
        "elements); give positive extents");
}

TEST_CASE("ScaLAPACK's descriptors are read as ScaLAPACK reads them") {
  std::mt19937 random(5);
  const auto pick = [&random](int n) {
    return std::uniform_int_distribution<int>(0, n - 1)(random);
  };
  for (int n = 0; n < 300; ++n) {
    CAPTURE(n);
    const ProcessGrid grid{1 + pick(3), 1 + pick(3),
                           pick(2) == 0 ? GridOrder::row_major : GridOrder::column_major};
    const int ranks = grid.rows * grid.columns + pick(3);
    const ScalapackDescriptor d{1,           0,           1 + pick(20),    1 + pick(20),
                                1 + pick(6), 1 + pick(6), pick(grid.rows), pick(grid.columns),
                                20};
    const Distribution distribution = Distribution::scalapack(d, grid, ranks);
    CHECK(distribution.is_column_major());
    for (int rank = 0; rank < ranks; ++rank) {
      const bool inside = rank < grid.rows * grid.columns;
      const bool by_row = grid.order == GridOrder::row_major;
      const int row = by_row ? rank / grid.columns : rank % grid.rows;
      const int column = by_row ? rank % grid.columns : rank / grid.rows;
      const Extent rows = inside ? count_of(d[2], d[4], row, d[6], grid.rows) : 0;
      const Extent columns = inside ? count_of(d[3], d[5], column, d[7], grid.columns) : 0;
      CHECK(check_descriptor(d, grid, rank) == std::array<Extent, 2>{rows, columns});
      REQUIRE(distribution.arrays(rank).size() == (rows * columns > 0 ? 1U : 0U));
      if (rows * columns == 0) continue;
      CHECK(distribution.arrays(rank)[0].extents() == Index{rows, columns});
      for_each_element(distribution.arrays(rank)[0], [&](const Index& global, const Index& local) {
        CHECK(process_of(global[0], d[4], d[6], grid.rows) == row);
        CHECK(process_of(global[1], d[5], d[7], grid.columns) == column);
        // INDXG2L: where the index lies in the array.
        CHECK(local[0] == global[0] / (d[4] * grid.rows) * d[4] + global[0] % d[4]);
        CHECK(local[1] == global[1] / (d[5] * grid.columns) * d[5] + global[1] % d[5]);
      });
    }
  }
}

TEST_CASE("distributions of more elements than are counted are refused, and no number overflows") {
  constexpr Extent most = Extent{1} << 57;
  const Distribution large = Distribution::block_cyclic({most}, {{most, 96, 0}}, 96);
  CHECK(large.arrays(0).at(0).extents() == Index{most});
  CHECK(large.arrays(95).empty());
  const Distribution dealt = Distribution::block_cyclic({most}, {{most / 64, 128, 3}}, 128);
  CHECK(dealt.arrays(66).at(0).bounds() == Box{{most - most / 64}, {most}});
  CHECK(dealt.arrays(67).empty());
  CHECK(dealt.arrays(3).at(0).bounds() == Box{{0}, {most / 64}});
  for (const auto& bound : {Index{most, 2}, Index{Extent{1} << 32, Extent{1} << 32}}) {
    CHECK(message_here([&] { return Distribution::boxes(bound, {{}}); }).find("up to 2^57") !=
          std::string::npos);
  }
  CHECK(message_here([] { return Distribution::rows({}, 2); }) ==
        "EinDecomp: dimension 0 of a scalar is to be shared out (it has no dimensions); use "
        "replicated()");
}

TEST_CASE("a missing box is found among many") {
  std::mt19937 random(7);
  const auto pick = [&random](int n) {
    return std::uniform_int_distribution<int>(0, n - 1)(random);
  };
  for (int n = 0; n < 20; ++n) {
    CAPTURE(n);
    const Index bound{60, 40};
    std::vector<std::vector<Box>> boxes(3);
    const int missing = pick(600);
    Box hole;
    for (int t = 0; t < 600; ++t) {  // 30 x 20 tiles of 2 x 2
      const Extent r = 2 * (t / 20);
      const Extent c = 2 * (t % 20);
      if (t == missing) {
        hole = {{r, c}, {r + 2, c + 2}};
      } else {
        boxes[static_cast<std::size_t>(pick(3))].push_back({{r, c}, {r + 2, c + 2}});
      }
    }
    const std::string said = message_here([&] { return Distribution::boxes(bound, boxes); });
    CAPTURE(said);
    CHECK(said.find("leaves 4 of 2400 elements on no rank") != std::string::npos);
    // A part of it at least.
    bool named = false;
    for (Extent r = hole.lo[0]; r < hole.hi[0]; ++r) {
      for (Extent c = hole.lo[1]; c < hole.hi[1]; ++c) {
        named = named || said.find("from (" + std::to_string(r) + ", " + std::to_string(c) +
                                   ") to ") != std::string::npos;
      }
    }
    CHECK(named);
  }
}

TEST_CASE("ranks that have replicas send in turns, wherever these ranks are") {
  const Index bound{1000};
  for (const std::vector<int>& holders :
       {std::vector<int>{0, 2, 4, 6}, std::vector<int>{0, 4}, std::vector<int>{1, 2, 3, 7}}) {
    const Distribution from = Distribution::replicated(bound, 8, holders);
    const Distribution to = Distribution::replicated(bound, 8);
    const Extent needy = 8 - std::ssize(holders);
    for (const int holder : holders) {
      const Extent sent = relation::make_redistribution(from, to, holder).words_sent();
      CHECK(sent >= needy / std::ssize(holders) * 1000);
      CHECK(sent <= (needy + std::ssize(holders) - 1) / std::ssize(holders) * 1000);
    }
  }
}

TEST_CASE("a wrong descriptor is refused, field and rank by name") {
  const ProcessGrid grid{2, 2};
  const ScalapackDescriptor good{1, 0, 8, 6, 2, 2, 0, 0, 4};
  const auto with = [&good](std::size_t field, int value) {
    ScalapackDescriptor d = good;
    d[field] = value;
    return d;
  };
  const std::pair<std::size_t, const char*> fields[] = {
      {0, "DTYPE_"}, {2, "M_"}, {3, "N_"}, {4, "MB_"}, {5, "NB_"}, {6, "RSRC_"}, {7, "CSRC_"}};
  for (const auto& [field, name] : fields) {
    const std::string said =
        message_here([&] { return Distribution::scalapack(with(field, -3), grid, 4); });
    CHECK(said.find("EinDecomp: the ScaLAPACK descriptor has " + std::string(name) +
                    " = -3 (it is "
                    "from ") == 0);
  }
  CHECK(message_here([&] { return Distribution::scalapack(with(6, 2), grid, 4); }) ==
        "EinDecomp: the ScaLAPACK descriptor has RSRC_ = 2 (it is from 0 to 1); mend that field");
  CHECK(message_here([&] { return check_descriptor(with(8, 3), grid, 1); }) ==
        "EinDecomp: the ScaLAPACK descriptor of rank 1 has LLD_ = 3 (it is from 4 to 2147483647); "
        "mend that field");
  CHECK(message_here([&] { return check_descriptor(with(1, -1), grid, 3); }) ==
        "EinDecomp: the ScaLAPACK descriptor of rank 3 has CTXT_ = -1 (it is from 0 to "
        "2147483647); mend that field");
  CHECK(message_here([&] { return check_descriptor(good, grid, -1); }) ==
        "EinDecomp: the ScaLAPACK descriptor of rank -1 (ranks count from 0); give a rank");
  CHECK(message_here([&] { return Distribution::scalapack(good, grid, 3); }) ==
        "EinDecomp: a ScaLAPACK grid of 2 x 2 processes on 3 ranks (each is a rank of its own); "
        "give a smaller grid, or more ranks");
  // A rank outside of the grid has a descriptor of which BLACS says nothing but that.
  CHECK(check_descriptor({0, -1, 0, 0, 0, 0, 0, 0, 0}, grid, 4) == std::array<Extent, 2>{0, 0});
  CHECK(message_here([&] {
          return check_descriptor({0, -1, 0, 0, 0, 0, 0, 0, 0}, grid, 3);
        }).find("DTYPE_ = 0") != std::string::npos);
  CHECK(message_here([&] {
          return Distribution::scalapack(good, {0, 2}, 4);
        }) ==
        "EinDecomp: the ScaLAPACK descriptor has a grid whose number of rows = 0 (it is from 1 to "
        "2147483647); mend that field");
  CHECK(message_here([] {
          return Distribution::block_cyclic({8, 8}, {{2, 2, 0}}, 4);
        }) ==
        "EinDecomp: a block-cyclic distribution of 1 dimensions for a tensor of 8 x 8 (each "
        "dimension is dealt out by itself); give one entry per dimension");
  CHECK(message_here([] {
          return Distribution::block_cyclic({8}, {{2, 2, 2}}, 4);
        }) ==
        "EinDecomp: dimension 0 of a block-cyclic distribution has source = 2 (it is from 0 to 1); "
        "mend that field");
}

TEST_CASE("boxes that are no distribution are refused") {
  const Box left{{0, 0}, {4, 3}};
  const Box right{{0, 3}, {4, 6}};
  const auto refused = [](const std::vector<std::vector<Box>>& by_rank) {
    return message_here([&] { return Distribution::boxes({4, 6}, by_rank); });
  };
  CHECK(refused({{left}, {right}}) == "no error");
  CHECK(refused({{left, right}, {right}, {}}) == "no error");
  CHECK(
      refused({{left}, {{{0, 3}, {4, 7}}}}) ==
      "EinDecomp: the distribution's box from (0, 3) to (4, 7) on rank 1 leaves the tensor of 4 x "
      "6 (indices begin at 0 and end before the extent); cut it off there");
  CHECK(
      refused({{left}, {{{0, 2}, {4, 6}}}}) ==
      "EinDecomp: the distribution's boxes from (0, 0) to (4, 3) on rank 0 and from (0, 2) to (4, "
      "6) on rank 1 overlap (an element that lies on several ranks lies in equal boxes there); "
      "make them equal, or disjoint");
  CHECK(
      refused({{left}, {{{0, 4}, {4, 6}}}}) ==
      "EinDecomp: the distribution of 4 x 6 leaves 4 of 24 elements on no rank, those from (0, 3) "
      "to (4, 4) among them (every element lies somewhere); give a rank a box for them");
  CHECK(refused({{left, left}, {right}}) ==
        "EinDecomp: the distribution's box from (0, 0) to (4, 3) stands twice on rank 0 (replicas "
        "lie on different ranks); leave one out");
  CHECK(refused({{left, {{2, 3}, {2, 6}}}, {right}}) ==
        "EinDecomp: the distribution's box from (2, 3) to (2, 6) on rank 0 is empty (a box has "
        "elements); leave it out");
  CHECK(refused({{left, {{2}, {3}}}, {right}}) ==
        "EinDecomp: the distribution's box from (2) to (3) on rank 0 has another rank than the "
        "tensor of 4 x 6 (one index per dimension); give boxes of the tensor's rank");
  CHECK(message_here([] { return Distribution::replicated({4}, 2, {2}); }) ==
        "EinDecomp: a tensor is to lie on rank 2 of 2 (ranks count from 0); name ranks of the "
        "communicator");
  CHECK(
      message_here([] {
        return Distribution::replicated({4}, 2, {1, 1});
      }) ==
      "EinDecomp: a tensor is to lie twice on rank 1 (replicas lie on different ranks); name each "
      "once");
}

TEST_CASE("equal distributions have equal hashes, others not") {
  const Distribution rows = Distribution::rows({8, 8}, 2);
  CHECK(rows == Distribution::boxes({8, 8}, {{{{0, 0}, {4, 8}}}, {{{4, 0}, {8, 8}}}}));
  CHECK(rows.hash() == Distribution::rows({8, 8}, 2, Split::floor).hash());
  std::set<std::uint64_t> hashes{rows.hash(),
                                 rows.column_major().hash(),
                                 Distribution::columns({8, 8}, 2).hash(),
                                 Distribution::rows({8, 8}, 3).hash(),
                                 Distribution::replicated({8, 8}, 2).hash(),
                                 Distribution::replicated({8, 8}, 2, {1}).hash()};
  CHECK(hashes.size() == 6);
}

TEST_CASE("every element moves once, from a rank that has it to one that lacks it") {
  std::mt19937 random(3);
  const auto pick = [&random](int n) {
    return std::uniform_int_distribution<int>(0, n - 1)(random);
  };
  for (int n = 0; n < eindecomp_tests::random_cases(400); ++n) {
    CAPTURE(n);
    const int ranks = 1 + pick(6);
    Index bound;
    for (int k = pick(4); k > 0; --k) bound.push_back(1 + pick(9));
    const Distribution from = random_distribution(random, bound, ranks);
    const Distribution to = random_distribution(random, bound, ranks);
    const std::vector<Extent> words = redistributed_words(from, to);
    // By receiver and sender: the elements of the message, at both ends.
    std::map<std::pair<int, int>, std::vector<Index>> sent;
    std::map<std::pair<int, int>, std::vector<Index>> received;
    for (int rank = 0; rank < ranks; ++rank) {
      const RankRedistribution moved = make_redistribution(from, to, rank);
      // The elements shared by an old array and a new, by their place in one of them.
      const auto elements = [](const SharedElements& shared, const LocalArray& array, bool old) {
        std::vector<Index> sets;
        for (std::size_t k = 0; k < shared.runs.size(); ++k) {
          const Index indices = indices_of(array.indices[k]);
          Index own;
          for (const SharedRuns& run : shared.runs[k]) {
            for (Extent r = 0; r < run.count; ++r) {
              for (Extent i = 0; i < run.length; ++i) {
                own.push_back(indices[static_cast<std::size_t>(
                    (old ? run.a + r * run.a_step : run.b + r * run.b_step) + i)]);
              }
            }
          }
          sets.push_back(own);
        }
        std::vector<Index> all{{}};
        for (const Index& set : sets) {
          std::vector<Index> longer;
          for (const Index& begin : all) {
            for (Extent i : set) {
              longer.push_back(begin);
              longer.back().push_back(i);
            }
          }
          all = longer;
        }
        return all;
      };
      std::multiset<Index> arrived;
      for (const SharedElements& stays : moved.copies) {
        const auto old =
            elements(stays, from.arrays(rank)[static_cast<std::size_t>(stays.from)], true);
        const auto fresh =
            elements(stays, to.arrays(rank)[static_cast<std::size_t>(stays.to)], false);
        REQUIRE(old == fresh);
        arrived.insert(fresh.begin(), fresh.end());
      }
      for (const RedistributionMessage& message : moved.receives) {
        CHECK(message.peer != rank);
        std::vector<Index>& list = received[{rank, message.peer}];
        REQUIRE(list.empty());
        for (const SharedElements& shared : message.elements) {
          const auto own =
              elements(shared, to.arrays(rank)[static_cast<std::size_t>(shared.to)], false);
          list.insert(list.end(), own.begin(), own.end());
        }
        CHECK(message.words == static_cast<Extent>(list.size()));
        arrived.insert(list.begin(), list.end());
      }
      for (const RedistributionMessage& message : moved.sends) {
        std::vector<Index>& list = sent[{message.peer, rank}];
        for (const SharedElements& shared : message.elements) {
          const auto own =
              elements(shared, from.arrays(rank)[static_cast<std::size_t>(shared.from)], true);
          list.insert(list.end(), own.begin(), own.end());
        }
      }
      const std::set<Index> before = held(from, rank);
      const std::set<Index> after = held(to, rank);
      REQUIRE(arrived == std::multiset<Index>(after.begin(), after.end()));
      Extent lacking = 0;
      for (const Index& index : after) lacking += before.count(index) == 0 ? 1 : 0;
      CHECK(words[static_cast<std::size_t>(rank)] == lacking);
      CHECK(moved.words_received() == lacking);
    }
    REQUIRE(sent == received);
  }
}

TEST_CASE("distributions of different tensors and ranks do not go together") {
  const Distribution rows = Distribution::rows({8, 8}, 2);
  CHECK(message_here([&] {
          return redistributed_words(rows, Distribution::rows({8, 9}, 2));
        }) ==
        "EinDecomp: a tensor of 8 x 8 is to be distributed as one of 8 x 9 (a redistribution moves "
        "elements and changes no extents); give both the same extents");
  CHECK(message_here([&] {
          return make_redistribution(rows, Distribution::rows({8, 8}, 3), 0);
        }) ==
        "EinDecomp: a tensor on 2 ranks is to be distributed over 3 (both are ranks of one "
        "communicator); leave ranks without boxes where there is nothing on them");
  CHECK(message_here([&] { return make_redistribution(rows, rows, 2); }) ==
        "EinDecomp: the messages of rank 2 of 2 (ranks count from 0); give a rank of the "
        "distributions");
}

TEST_CASE("blocks may be larger than a descriptor of ScaLAPACK says") {
  const Extent most = std::numeric_limits<Extent>::max();
  const auto where = std::source_location::current();
  const auto whole =
      Distribution::block_cyclic({Extent{1} << 33}, {{most, 2, 0}}, 2, GridOrder::row_major, where);
  REQUIRE(whole.arrays(0).size() == 1);
  CHECK(whole.arrays(0)[0].size() == Extent{1} << 33);
  CHECK(whole.arrays(1).empty());
  const auto halves = Distribution::block_cyclic({Extent{1} << 33}, {{Extent{1} << 32, 2, 0}}, 2,
                                                 GridOrder::row_major, where);
  CHECK(halves.arrays(1)[0].size() == Extent{1} << 32);
}

TEST_CASE("large block-cyclic distributions are cheap") {
  // Tens of microseconds here: bounds of seconds catch only what visits blocks or elements.
  const auto begin = std::chrono::steady_clock::now();
  const ScalapackDescriptor d{1, 0, 8192, 8192, 128, 128, 0, 0, 4096};
  const Distribution from = Distribution::scalapack(d, {2, 2}, 4);
  const Distribution to = Distribution::rows({8192, 8192}, 4);
  const RankRedistribution moved = make_redistribution(from, to, 1);
  CHECK(moved.sends.size() == 3);
  CHECK(moved.words_received() == Extent{8192} * 2048 * 3 / 4);
  std::size_t entries = 0;
  for (const RedistributionMessage& message : moved.sends) {
    for (const SharedElements& shared : message.elements) {
      entries += shared.runs[0].size() + shared.runs[1].size();
    }
  }
  CHECK(entries == 6);
  const Distribution many =
      Distribution::block_cyclic({1 << 20, 1 << 20}, {{1, 32}, {1, 32}}, 1024);
  const auto words = redistributed_words(many, many);
  CHECK(std::all_of(words.begin(), words.end(), [](Extent w) { return w == 0; }));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
}
