// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How a job begins and ends. With EINDECOMP_SEPARATE_EXECUTOR, one translation unit compiles it.
#pragma once

#include <cstdlib>
#include <exception>
#include <memory>
#include <source_location>
#include <string>
#include <thread>

#include "eindecomp/comm/channel.hpp"
#include "eindecomp/comm/job.hpp"
#include "eindecomp/comm/mpi.hpp"
#include "eindecomp/comm/tuning.hpp"
#include "eindecomp/comm/watch.hpp"
#include "eindecomp/core/config.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"

namespace eindecomp::comm::detail {

EINDECOMP_EXECUTOR_INLINE bool Job::start(int& argc, char**& argv,
                                          const std::source_location& where) {
  if (exists()) return false;
  int running = 0;
  int finalized = 0;
  check(MPI_Initialized(&running), "MPI_Initialized", where);
  check(MPI_Finalized(&finalized), "MPI_Finalized", where);
  if (finalized != 0) {
    throw Error(ErrorKind::communication,
                "MPI was finalised already (it cannot start twice in a process); make one "
                "ScopedRuntime, the first thing in main",
                where);
  }
  if (running == 0) {
    int provided = 0;
    check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread", where);
  }
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup", where);
  current() = new Job(comm);
  current().load()->m_ends_mpi = running == 0;
  current().load()->guard_ends();
  return true;
}

EINDECOMP_EXECUTOR_INLINE bool Job::reserve() {
  bool none = false;
  if (exists() || !is_reserved().compare_exchange_strong(none, true)) return false;
  if (!exists()) return true;
  give_up();
  return false;
}

EINDECOMP_EXECUTOR_INLINE void Job::adopt(MPI_Comm comm) {
  current() = new Job(comm);
  give_up();
  // MPI_Finalize begins by deleting this attribute, while everything still works.
  int key = MPI_KEYVAL_INVALID;
  check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, nullptr),
        "MPI_Comm_create_keyval");
  check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
  check(MPI_Comm_free_keyval(&key), "MPI_Comm_free_keyval");
}

EINDECOMP_EXECUTOR_INLINE bool Job::leave(bool by_exception) {
  Job& job = *current().load();
  const char* const how = by_exception ? "left the scope of its ScopedRuntime by an exception"
                                       : "left the scope of its ScopedRuntime";
  if (job.all_leave(how, by_exception ? tuning::after_failure : tuning::at_end)) {
    return true;
  }
  job.m_departed = how;
  return false;
}

EINDECOMP_EXECUTOR_INLINE void Job::end() {
  const bool ends_mpi = current().load()->m_ends_mpi;
  delete current().load();
  current() = nullptr;
  if (ends_mpi) MPI_Finalize();
}

EINDECOMP_EXECUTOR_INLINE Job::Job(MPI_Comm comm) : m_comm(comm) {
  check(MPI_Comm_set_errhandler(m_comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_set_name(m_comm, "EinDecomp job"), "MPI_Comm_set_name");
  m_channel = std::make_unique<Channel>(m_comm);
  if (m_channel->size() > 1) job_channel() = m_channel.get();
}

EINDECOMP_EXECUTOR_INLINE Job::~Job() {
  job_channel() = nullptr;
  if (m_on_terminate != nullptr) std::set_terminate(m_on_terminate);
  m_channel.reset();
  MPI_Comm_free(&m_comm);
}

EINDECOMP_EXECUTOR_INLINE void Job::guard_ends() {
  if (m_channel->size() == 1) return;
  std::atexit(at_exit);
  std::at_quick_exit(at_exit);
  m_on_terminate = std::set_terminate(on_terminate);
}

EINDECOMP_EXECUTOR_INLINE int Job::at_finalize(MPI_Comm /*self*/, int /*key*/, void* /*value*/,
                                               void* /*state*/) {
  if (!exists()) return MPI_SUCCESS;
  current().load()->all_leave("called MPI_Finalize", tuning::at_end);
  delete current().load();
  current() = nullptr;
  return MPI_SUCCESS;
}

EINDECOMP_EXECUTOR_INLINE std::string Job::name() const {
  return Text("EinDecomp: rank ") + m_channel->rank() + " of " + m_channel->size() + " ";
}

EINDECOMP_EXECUTOR_INLINE bool Job::all_leave(const std::string& how,
                                              const tuning::LeavePatience& waits) {
  if (m_channel->size() == 1) return true;
  const Stopwatch waited;
  bool told = false;
  // After the first barrier all have left; after the second every message has been received.
  for (int barrier = 0; barrier < 2; ++barrier) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(m_comm, &request), "MPI_Ibarrier");
    for (int here = 0; here == 0 || !m_channel->is_quiet();) {
      m_channel->serve("the end of MPI");
      if (here == 0) check(MPI_Test(&request, &here, MPI_STATUS_IGNORE), "MPI_Test");
      if (!told && barrier == 0 && here == 0 && waited.seconds() > waits.together) {
        m_channel->tell_left(how);
        told = true;
      }
      if (waited.seconds() > waits.patience) return false;
      if (waited.seconds() < tuning::seconds_before_sleep) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(tuning::sleep_between_looks);
      }
    }
  }
  return true;
}

EINDECOMP_EXECUTOR_INLINE void Job::at_exit() {
  int finalized = 0;
  if (!exists() || MPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0) return;
  Job& job = *current().load();
  if (job.m_departed.empty()) {
    job.m_departed = "exited in the scope of its ScopedRuntime";
    if (job.all_leave(job.m_departed, tuning::after_failure)) {
      if (job.m_ends_mpi) MPI_Finalize();
      return;
    }
  }
  abort_all(job.name() + job.m_departed + " while others went on; the program ends on all ranks");
}

EINDECOMP_EXECUTOR_INLINE void Job::on_terminate() {
  Job& job = *current().load();
  std::string why;
  try {
    const std::exception_ptr thrown = std::current_exception();
    if (thrown != nullptr) std::rethrow_exception(thrown);
    why = "called std::terminate";
  } catch (const std::exception& e) {
    why = std::string("threw an exception that nobody caught (") + e.what() + ')';
  } catch (...) {
    why = "threw an exception that nobody caught";
  }
  abort_all(job.name() + why + "; the program ends on all ranks");
}

}  // namespace eindecomp::comm::detail
