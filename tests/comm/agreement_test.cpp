// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/comm/mpi_communicator.hpp"
#include "support/messages.hpp"

namespace ein = eindecomp;
using ein::comm::MpiCommunicator;
using eindecomp_tests::message_here;
using eindecomp_tests::message_of;

namespace {

ein::comm::Call call(const std::string& what = "test") {
  return {what, std::source_location::current()};
}

}  // namespace

TEST_CASE("ranks that are all well agree") {
  MpiCommunicator group(MPI_COMM_WORLD, "test");
  for (int i = 0; i < 3; ++i) {
    CHECK(message_of([&] {
            ein::comm::agree(group, call(), std::nullopt, {{"programs", "", 7}});
          }) == "no error");
  }
}

TEST_CASE("what one rank votes for is every rank's, if none fails") {
  MpiCommunicator group(MPI_COMM_WORLD, "test");
  for (int voter = -1; voter < group.size(); ++voter) {
    bool vote = group.rank() == voter;
    ein::comm::agree(group, call(), std::nullopt, {{"programs", "", 7}}, &vote);
    CHECK(vote == (voter >= 0));
  }
  CHECK(message_of([&] {
          bool vote = true;
          ein::comm::agree_on(
              group, call(),
              [&] {
                if (group.rank() == 0) throw std::runtime_error("too small");
              },
              {}, &vote);
        }) != "no error");
}

TEST_CASE("one rank's failure is every rank's, with its number and its reason") {
  MpiCommunicator group(MPI_COMM_WORLD, "test");
  const int last = group.size() - 1;
  const std::string text = message_of([&] {
    ein::comm::agree_on(group, call(), [&] {
      if (group.rank() == last) throw std::runtime_error("EinDecomp: extent 5 of X is wrong");
    });
  });
  CHECK(text == "EinDecomp: rank " + std::to_string(last) + " of " + std::to_string(group.size()) +
                    ": extent 5 of X is wrong");
  // The communicator is still good.
  CHECK_NOTHROW(ein::comm::agree(group, call(), std::nullopt));
}

TEST_CASE("a communicator that joins two groups is refused") {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) return;
  MPI_Comm mine = MPI_COMM_NULL;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &mine);
  MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &both);
  CHECK(message_here([&] { const MpiCommunicator group(both, "test"); }) ==
        "EinDecomp: the communicator joins two groups (an inter-communicator has no common "
        "ranks); merge it with MPI_Intercomm_merge");
  MPI_Comm_free(&both);
  MPI_Comm_free(&mine);
}

TEST_CASE("equal reasons are told once, different ones all") {
  MpiCommunicator group(MPI_COMM_WORLD, "test");
  if (group.size() < 4) return;
  const std::string text = message_of([&] {
    ein::comm::agree_on(group, call(), [&] {
      if (group.rank() == 1) throw std::runtime_error("memory");
      if (group.rank() != 2) throw std::runtime_error("extents");
    });
  });
  CHECK(text.find(": extents; rank 1 of ") != std::string::npos);
  CHECK(text.find("ranks 0") != std::string::npos);
  CHECK(text.find(": memory") != std::string::npos);
}

TEST_CASE("of many ranks and many reasons the first are told") {
  using namespace ein::comm::detail;
  std::vector<int> ranks(1024);
  std::iota(ranks.begin(), ranks.end(), 0);
  CHECK(name_ranks(ranks) == "ranks 0 to 1023");
  CHECK(name_ranks({0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12}) == "ranks 0 to 8, 10 and 12");
  CHECK(name_ranks({3, 4, 5}) == "ranks 3, 4 and 5");
  std::vector<int> even;
  std::vector<std::string> texts;
  for (int r = 0; r < 1024; ++r) {
    if (r % 2 == 0) even.push_back(r);
    texts.push_back("block " + std::to_string(r / 2) + " is wrong");
  }
  const std::string named = name_ranks(even);
  CHECK(named.ends_with(", 26, 28, 30 and 496 others"));
  const std::string told = tell_groups(
      group_by_text(texts), [](const SameText& g) { return name_ranks(g.ranks) + ": " + g.text; });
  CHECK(told.size() < 400);
  CHECK(told.ends_with("; and 1008 other ranks with other messages"));
}

TEST_CASE("ranks that hold different things are told who differs") {
  MpiCommunicator group(MPI_COMM_WORLD, "test");
  const std::uint64_t mine = group.rank() == group.size() - 1 ? 1 : 2;
  const std::string text = message_of([&] {
    ein::comm::agree(group, call(), std::nullopt, {{"a", "", 5}, {"programs", "do so", mine}});
  });
  if (group.size() == 1) {
    CHECK(text == "no error");
  } else if (group.size() == 4) {
    CHECK(text == "EinDecomp: ranks hold different programs in " + call().text() +
                      " (ranks 0, 1 and 2 share one; rank 3 has one); do so");
  } else {
    CHECK(text.find("different programs") != std::string::npos);
    CHECK(text.find("rank " + std::to_string(group.size() - 1) + " has one") != std::string::npos);
  }
}

TEST_CASE("of things in lines the first that differs is told, and who has which") {
  MpiCommunicator group(MPI_COMM_WORLD, "test");
  const int last = group.size() - 1;
  if (last == 0) return;
  const std::string who = "rank " + std::to_string(last) + " has ";
  const auto difference = [&](std::vector<std::string> of_last) {
    const bool is_last = group.rank() == last;
    const std::vector<std::string> others{"one", std::string(1000, '2'), "three"};
    return message_of([&] {
      ein::comm::agree(group, call(), std::nullopt,
                       {{"lists", "count again", is_last ? 1U : 2U,
                         [&] { return is_last ? of_last : others; }}});
    });
  };
  const std::string wrong = difference({"one", std::string(1000, '2'), "tree", "four"});
  CHECK(wrong.find(who + "tree); count again") != std::string::npos);
  CHECK(wrong.find(last == 1 ? "rank 0 has three; " : " have three; ") != std::string::npos);
  CHECK(difference({"one"}).find(who + "none)") != std::string::npos);
  CHECK(difference({}).find(last == 1 ? "(rank 0 has one; " : " have one; ") != std::string::npos);
  const std::string more = difference({"one", std::string(1000, '2'), "three", "four"});
  CHECK(more.find(who + "four)") != std::string::npos);
  // The same lines, whose hashes differ by what they do not say.
  const std::string same = difference({"one", std::string(1000, '2'), "three"});
  CHECK(same.find(who + "one); count again") != std::string::npos);
}

TEST_CASE("of ranks that differ in several lines the first is told") {
  MpiCommunicator group(MPI_COMM_WORLD, "test");
  if (group.size() < 3) return;
  const std::string text = message_of([&] {
    ein::comm::agree(group, call(), std::nullopt,
                     {{"lists", "count again", static_cast<std::uint64_t>(group.rank()), [&] {
                         return std::vector<std::string>{group.rank() == 1 ? "x" : "a",
                                                         std::to_string(group.rank())};
                       }}});
  });
  CHECK(text.find("rank 1 has x") != std::string::npos);
  CHECK(text.find("have a") != std::string::npos);
}

TEST_CASE("ranks in different calls are told which") {
  MpiCommunicator group(MPI_COMM_WORLD, "test");
  const int last = group.size() - 1;
  const std::string text = message_of([&] {
    const bool other = group.rank() == last;
    ein::comm::agree(group, call(other ? "gather of Y" : "run"), std::nullopt,
                     other ? std::vector<ein::comm::Fingerprint>{{"roots", "", 3}}
                           : std::vector<ein::comm::Fingerprint>{});
  });
  if (group.size() == 1) {
    CHECK(text == "no error");
  } else {
    CHECK(text.find("ranks are in different calls (rank") != std::string::npos);
    CHECK(text.find("rank " + std::to_string(last) + ": gather of Y [") != std::string::npos);
    CHECK(text.find(": run [") != std::string::npos);
  }
}

TEST_CASE("a time limit that is none is refused with the caller's line") {
  for (const double limit : {-1.0, std::nan("")}) {
    const std::string text =
        message_of([&] { MpiCommunicator group(MPI_COMM_WORLD, "test", 1, limit); });
    CHECK(text.find("time limit") != std::string::npos);
    CHECK(text.find("agreement_test.cpp:") != std::string::npos);
  }
}

TEST_CASE("a communicator that cannot be used is refused by name") {
  CHECK(message_of([] { MpiCommunicator group(MPI_COMM_NULL, "test"); }).find("MPI_COMM_NULL") !=
        std::string::npos);
}

TEST_CASE("the duplicate has a name and a handler of its own") {
  MPI_Comm user = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &user);
  MPI_Comm_set_errhandler(user, MPI_ERRORS_ARE_FATAL);
  {
    MpiCommunicator group(user, "EinDecomp test");
    char name[MPI_MAX_OBJECT_NAME] = {};
    int length = 0;
    MPI_Comm_get_name(group.get(), name, &length);
    CHECK(std::string(name) == "EinDecomp test");
    int same = MPI_IDENT;
    MPI_Comm_compare(user, group.get(), &same);
    CHECK(same == MPI_CONGRUENT);
    // An error comes back as an Error although the user's handler would end the program.
    double x = 0;
    const std::string text = message_of([&] { group.send(group.size() + 5, &x, 1, 8, 0); });
    CHECK(text.find("MPI_Isend failed") != std::string::npos);
  }
  MPI_Comm_free(&user);
}

TEST_CASE("texts of any length come from every rank in order") {
  MpiCommunicator group(MPI_COMM_WORLD, "test");
  const auto text_of = [](int rank) {
    return std::string(static_cast<std::size_t>(rank * 1000), static_cast<char>('a' + rank));
  };
  // In one step; in one character of each, in parts of lengths that divide none.
  for (const int most : {std::numeric_limits<int>::max(), 1, 333 * group.size()}) {
    const std::vector<std::string> texts = group.all_gather(text_of(group.rank()), most);
    REQUIRE(static_cast<int>(texts.size()) == group.size());
    for (int r = 0; r < group.size(); ++r) CHECK(texts[static_cast<std::size_t>(r)] == text_of(r));
  }
}
