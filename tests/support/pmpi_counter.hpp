// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What MPI was told to move, from the calls' own counts: a profiling layer (MPI's PMPI interface)
// linked into a test program. Counts are kept by the communicator's name.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace pmpi {

struct Counts {
  std::int64_t sent = 0;      // elements of the call's datatype, point to point
  std::int64_t received = 0;  // as the receives posted say
  std::int64_t bytes_sent = 0;
  std::int64_t messages_sent = 0;
  std::int64_t messages_received = 0;
  std::int64_t largest = 0;  // elements of one message
  std::int64_t others = 0;   // collectives, barriers among them
};

// A message that MPI was told to send or to receive.
struct Post {
  int peer = -1;
  std::int64_t elements = 0;
  bool operator==(const Post&) const = default;
};
// In the order of the calls.
struct Posts {
  std::vector<Post> sends;
  std::vector<Post> receives;
};

// Of the communicators of that name since the last reset.
Posts posts(std::string_view communicator);
Counts counts(std::string_view communicator);

// Over all communicators.
Counts all_counts();

void reset();

}  // namespace pmpi
