// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The processes of a job, from MPI's beginning to its end: none ends alone while others wait.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <source_location>
#include <string>

#include "eindecomp/comm/channel.hpp"
#include "eindecomp/comm/mpi.hpp"
#include "eindecomp/comm/tuning.hpp"

namespace eindecomp::comm::detail {

/// This process among those of the job. There is at most one.
///
/// A ScopedRuntime makes it at the beginning of the program. In a program that starts MPI itself
/// the first Executor on all processes does, and then MPI_Finalize waits for them to leave. It
/// communicates by the Executor's communicator alone: the processes may be elsewhere in others.
class Job {
 public:
  [[nodiscard]] static bool exists() { return current().load() != nullptr; }

  /// Initialises MPI unless it runs. Collective over all processes.
  /// \returns whether there is a job now that was none before: its maker calls leave() and end().
  /// \throws Error if MPI was finalised.
  static bool start(int& argc, char**& argv, const std::source_location& where);

  /// Lets this thread be the one that may adopt() a job, once those of the other processes may,
  /// too. \returns false if there is one already, or another thread may be about to adopt it.
  [[nodiscard]] static bool reserve();
  /// Undoes that.
  static void give_up() { is_reserved() = false; }
  /// Of a program that started MPI itself: `comm` is of all processes, and the job owns it from now
  /// on. After reserve() on each of them.
  static void adopt(MPI_Comm comm);

  /// Waits until every process leaves. \returns false if they do not, after an exception: then
  /// whatever ends this process ends them all.
  static bool leave(bool by_exception);

  /// Finalises MPI if start() initialised it. After leave() returned true.
  static void end();

  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

 private:
  explicit Job(MPI_Comm comm);
  ~Job();

  /// Sees to it that no end of this process leaves the others waiting.
  void guard_ends();

  static int at_finalize(MPI_Comm /*self*/, int /*key*/, void* /*value*/, void* /*state*/);

  static std::atomic<Job*>& current() {
    static std::atomic<Job*> job = nullptr;
    return job;
  }
  static std::atomic<bool>& is_reserved() {
    static std::atomic<bool> reserved = false;
    return reserved;
  }

  [[nodiscard]] std::string name() const;

  /// Whether all processes leave in time. Those that wait elsewhere are told after `together`
  /// seconds, by when there is nobody to tell where all leave together.
  bool all_leave(const std::string& how, const tuning::LeavePatience& waits);

  /// Of a process that ends without having left, or without the others.
  static void at_exit();

  /// Of an exception that nobody catches: the processes end with one message.
  static void on_terminate();

  bool m_ends_mpi = false;
  MPI_Comm m_comm;
  std::unique_ptr<Channel> m_channel;
  std::string m_departed;  ///< how this process left while others did not
  std::terminate_handler m_on_terminate = nullptr;
};

}  // namespace eindecomp::comm::detail

#ifndef EINDECOMP_SEPARATE_EXECUTOR
#include "eindecomp/comm/job_members.hpp"
#endif
