// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the executor asks of a group of processes, and the group of one that needs no MPI.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "eindecomp/comm/call.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"

namespace eindecomp::comm {

/// The most elements of one MPI message by default: what an int counts. Longer transfers are cut.
inline constexpr Extent default_chunk = std::numeric_limits<int>::max();

/// Tags of transfers are below this one, the library's own messages have it and the next. Every MPI
/// allows tags up to 32767.
inline constexpr int first_reserved_tag = 32000;

/// Elements sent and received by one rank, and in how many messages.
struct Traffic {
  Extent words_sent = 0;         ///< elements
  Extent words_received = 0;     ///< elements
  Extent messages_sent = 0;      ///< a long transfer is several
  Extent messages_received = 0;  ///< the same, at this end

  /// What came since an earlier count.
  [[nodiscard]] friend Traffic operator-(const Traffic& now, const Traffic& before) {
    return {now.words_sent - before.words_sent, now.words_received - before.words_received,
            now.messages_sent - before.messages_sent,
            now.messages_received - before.messages_received};
  }
};

/// A group of ranks that a run may use for itself alone. Copies of a Communicator do not exist; a
/// moved-from one may only be destroyed.
template <class T>
concept Communicator = requires(T& group, const T& view, void* data, const void* source,
                                const std::string& text, const Call& call,
                                std::vector<std::uint64_t>& words) {
  { view.rank() } -> std::same_as<int>;
  { view.size() } -> std::same_as<int>;
  { view.gpu_aware() } -> std::same_as<bool>;
  group.begin(call);
  group.maximum(words);
  { group.all_gather(text) } -> std::same_as<std::vector<std::string>>;
  group.receive(0, data, Extent{}, 0, 0, Extent{});
  group.send(0, source, Extent{}, 0, 0, Extent{});
  group.progress();
  group.wait();
  group.broadcast(data, Extent{}, 0, 0);
  group.abort(text);
  { group.traffic() } -> std::convertible_to<Traffic>;
};

/// The group of this process alone: no MPI, no messages.
class SelfCommunicator {
 public:
  SelfCommunicator() = default;
  SelfCommunicator(SelfCommunicator&&) = default;
  SelfCommunicator& operator=(SelfCommunicator&&) = default;
  SelfCommunicator(const SelfCommunicator&) = delete;
  SelfCommunicator& operator=(const SelfCommunicator&) = delete;
  ~SelfCommunicator() = default;

  /// 0, the only one.
  [[nodiscard]] int rank() const noexcept { return 0; }
  [[nodiscard]] int size() const noexcept { return 1; }
  /// True: there are no messages.
  [[nodiscard]] bool gpu_aware() const noexcept { return true; }

  /// Does nothing: nobody waits.
  void begin(const Call& /*call*/) {}
  /// Leaves the values, which are the largest there are.
  void maximum(std::vector<std::uint64_t>& /*values*/) {}
  /// The text alone.
  [[nodiscard]] std::vector<std::string> all_gather(const std::string& text) { return {text}; }
  /// There is no other rank. \throws Error always.
  void receive(int peer, void* /*into*/, Extent, int, int, Extent = 0) { no_such_rank(peer); }
  /// There is no other rank. \throws Error always.
  void send(int peer, const void* /*from*/, Extent, int, int, Extent = 0) { no_such_rank(peer); }
  /// Does nothing: there are no messages.
  void progress() {}
  /// Does nothing: there are no messages.
  void wait() {}
  /// Does nothing: this rank has the data.
  void broadcast(void* /*data*/, Extent, int, int) {}
  /// Nothing.
  [[nodiscard]] Traffic traffic() const noexcept { return {}; }

  /// Ends the process with a message.
  [[noreturn]] void abort(const std::string& message) {
    std::fprintf(stderr, "%s\n", message.c_str());
    std::fflush(stderr);
    std::abort();
  }

 private:
  [[noreturn]] static void no_such_rank(int peer) {
    throw Error(ErrorKind::communication,
                Text("rank ") + peer +
                    " does not exist (the run has this process alone); give execute a communicator",
                std::source_location{});
  }
};

static_assert(Communicator<SelfCommunicator>);

}  // namespace eindecomp::comm
