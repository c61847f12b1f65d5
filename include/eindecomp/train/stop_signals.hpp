// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Signals that ask a program to end, as a flag that it looks at between two steps.
#pragma once

#include <csignal>

namespace eindecomp {

/// While one lives, SIGINT and SIGTERM no longer end the process but are noted; a second one does.
/// MPI's launchers hand on to all ranks what they are sent. One at a time.
class StopSignals {
 public:
  StopSignals() {
    flag() = 0;
    m_interrupt = std::signal(SIGINT, note);
    m_terminate = std::signal(SIGTERM, note);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals() {
    std::signal(SIGINT, m_interrupt);
    std::signal(SIGTERM, m_terminate);
  }

  /// Whether one has come.
  [[nodiscard]] bool raised() const { return flag() != 0; }

 private:
  static volatile std::sig_atomic_t& flag() {
    static volatile std::sig_atomic_t raised = 0;
    return raised;
  }
  static void note(int signal) {
    flag() = 1;
    std::signal(signal, SIG_DFL);
  }

  void (*m_interrupt)(int);
  void (*m_terminate)(int);
};

}  // namespace eindecomp
