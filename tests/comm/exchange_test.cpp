// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "eindecomp/comm/mpi_communicator.hpp"
#include "support/pmpi_counter.hpp"

namespace ein = eindecomp;
using ein::Extent;
using ein::comm::MpiCommunicator;

namespace {

/// An element no MPI type stands for.
struct Pair {
  double value;
  std::int32_t index;
  bool operator==(const Pair&) const = default;
};

Pair element(int from, int to, Extent n) {
  return {static_cast<double>(n) + 0.5 * from, static_cast<std::int32_t>(1000 * from + to)};
}

}  // namespace

TEST_CASE("every rank sends to every other, in chunks, in order") {
  for (const Extent chunk : {Extent{1}, Extent{7}, Extent{64}, ein::comm::default_chunk}) {
    CAPTURE(chunk);
    MpiCommunicator group(MPI_COMM_WORLD, "chunked", chunk);
    pmpi::reset();
    const int ranks = group.size();
    // Lengths differ per pair, one is empty, and two messages share a tag.
    const auto length = [&](int from, int to) { return Extent{13} * ((from * ranks + to) % 5); };
    std::vector<std::vector<Pair>> out(static_cast<std::size_t>(ranks));
    std::vector<std::vector<Pair>> in(static_cast<std::size_t>(ranks));
    Extent words = 0;
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == group.rank()) continue;
      const auto p = static_cast<std::size_t>(peer);
      in[p].resize(static_cast<std::size_t>(2 * length(peer, group.rank())));
      const Extent n = length(peer, group.rank());
      group.receive(peer, in[p].data(), n, sizeof(Pair), 3);
      group.receive(peer, in[p].data() + n, n, sizeof(Pair), 3);
      words += 2 * n;
    }
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == group.rank()) continue;
      const auto p = static_cast<std::size_t>(peer);
      const Extent n = length(group.rank(), peer);
      for (Extent i = 0; i < 2 * n; ++i) out[p].push_back(element(group.rank(), peer, i));
      group.send(peer, out[p].data(), n, sizeof(Pair), 3);
      group.send(peer, out[p].data() + n, n, sizeof(Pair), 3);
    }
    group.wait();
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == group.rank()) continue;
      bool same = true;
      const std::vector<Pair>& got = in[static_cast<std::size_t>(peer)];
      for (std::size_t i = 0; i < got.size(); ++i) {
        same = same && got[i] == element(peer, group.rank(), static_cast<Extent>(i));
      }
      CHECK(same);
    }
    // MPI was told elements, not bytes, and never more of them at once than the limit.
    const pmpi::Counts counts = pmpi::counts("chunked");
    CHECK(counts.received == words);
    CHECK(counts.received == group.traffic().words_received);
    CHECK(counts.sent == group.traffic().words_sent);
    CHECK(counts.messages_sent == group.traffic().messages_sent);
    CHECK(counts.messages_received == group.traffic().messages_received);
    CHECK(counts.bytes_sent == counts.sent * static_cast<Extent>(sizeof(Pair)));
    CHECK(counts.largest <= chunk);
    CHECK(counts.others == 0);
  }
}

TEST_CASE("a broadcast in chunks") {
  MpiCommunicator group(MPI_COMM_WORLD, "broadcast", 10);
  const int root = group.size() - 1;
  std::vector<std::int64_t> data(37, -1);
  if (group.rank() == root) {
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::int64_t>(i * i);
  }
  pmpi::reset();
  group.broadcast(data.data(), 37, 8, root);
  CHECK(pmpi::counts("broadcast").others == 4);  // which shows that such calls are counted
  for (std::size_t i = 0; i < data.size(); ++i) {
    CHECK(data[i] == static_cast<std::int64_t>(i * i));
  }
}

TEST_CASE("a limit out of range is brought into it") {
  MpiCommunicator group(MPI_COMM_WORLD, "limits", Extent{1} << 40);
  std::vector<char> data(3, 'x');
  group.broadcast(data.data(), 3, 1, 0);
  MpiCommunicator none(MPI_COMM_WORLD, "limits", 0);
  none.broadcast(data.data(), 3, 1, 0);
  CHECK(data[2] == 'x');
}
