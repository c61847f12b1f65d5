// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <doctest/doctest.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/comm/communicator.hpp"

namespace ein = eindecomp;

TEST_CASE("a process alone is rank 0 of 1 and agrees with itself") {
  ein::comm::SelfCommunicator self;
  CHECK(self.rank() == 0);
  CHECK(self.size() == 1);
  CHECK_NOTHROW(ein::comm::agree(self, {}, std::nullopt, {{"programs", "", 42}}));
  CHECK(self.all_gather("text").size() == 1);
  self.wait();
}

TEST_CASE("its own failure comes back, with the rank") {
  ein::comm::SelfCommunicator self;
  CHECK_THROWS_WITH_AS(
      ein::comm::agree_on(self, {}, [] { throw std::runtime_error("the disk is full"); }),
      "EinDecomp: rank 0 of 1: the disk is full", ein::Error);
  CHECK_THROWS_WITH_AS(ein::comm::agree_on(self, {}, [] { throw 42; }),
                       "EinDecomp: rank 0 of 1: unknown exception", ein::Error);
}

TEST_CASE("there is nobody to send to") {
  ein::comm::SelfCommunicator self;
  double x = 0;
  CHECK_THROWS_AS(self.send(1, &x, 1, 8, 0), ein::Error);
  CHECK_THROWS_AS(self.receive(1, &x, 1, 8, 0), ein::Error);
}

TEST_CASE("ranks are named in a sentence") {
  using ein::comm::detail::name_ranks;
  CHECK(name_ranks({2}) == "rank 2");
  CHECK(name_ranks({0, 3}) == "ranks 0 and 3");
  CHECK(name_ranks({0, 1, 3}) == "ranks 0, 1 and 3");
}
