// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Failing alone: where ranks cannot agree any more, one message and the end of the program.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/communicator.hpp"

namespace eindecomp::comm {
namespace detail {

/// While it lives, an exception that leaves a thread on which nobody can catch it (a kernel's, in a
/// parallel region) is told to `end`, which must not return.
class OnTerminate {
 public:
  template <class End>
  explicit OnTerminate(const End& end)
      : m_end(&end),
        m_call([](const void* e, std::string_view why) { (*static_cast<const End*>(e))(why); }) {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    if (s.active.empty()) s.previous = std::set_terminate(handle);
    s.active.push_back(this);
  }
  ~OnTerminate() {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    s.active.erase(std::ranges::find(s.active, this));
    if (s.active.empty()) std::set_terminate(s.previous);
  }
  OnTerminate(const OnTerminate&) = delete;
  OnTerminate& operator=(const OnTerminate&) = delete;

 private:
  struct State {
    std::mutex mutex;
    std::vector<const OnTerminate*> active;  ///< of all threads
    std::terminate_handler previous = nullptr;
  };
  static State& state() {
    static State s;
    return s;
  }

  [[noreturn]] static void handle() {
    // Held for ever: of threads that fail together one speaks.
    State& s = state();
    s.mutex.lock();
    const OnTerminate& last = *s.active.back();
    const std::exception_ptr thrown = std::current_exception();
    last.m_call(last.m_end,
                thrown != nullptr ? failure_of(thrown).sentence : "it called std::terminate");
    std::abort();
  }

  const void* m_end;
  void (*m_call)(const void*, std::string_view);
};

}  // namespace detail

/// Runs `work`, which communicates after all ranks agreed to go on. Whatever it throws, on whatever
/// thread, cannot be agreed upon any more and ends the program on all ranks, with a message.
/// \param where  returns what to say of the place, ", in statement C"; called on the thread that
///   failed.
template <Communicator Group, class Where, class Work>
void or_abort(Group& group, const Call& call, const Where& where, const Work& work) {
  const auto end = [&](std::string_view why) {
    group.abort(Text() << "EinDecomp: rank " << group.rank() << " of " << group.size()
                       << " failed in " << call.text() << where() << " (" << detail::bare(why)
                       << "); the program ends on all ranks");
  };
  const detail::OnTerminate on_terminate(end);
  try {
    work();
  } catch (...) {
    end(failure_of(std::current_exception()).sentence);
  }
}

}  // namespace eindecomp::comm
