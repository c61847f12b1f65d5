// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The members of MpiCommunicator. With EINDECOMP_SEPARATE_EXECUTOR, one translation unit compiles
/// them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/comm/job.hpp"
#include "eindecomp/comm/mpi.hpp"
#include "eindecomp/comm/mpi_communicator.hpp"
#include "eindecomp/comm/tuning.hpp"
#include "eindecomp/comm/watch.hpp"
#include "eindecomp/core/config.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"

namespace eindecomp::comm {

EINDECOMP_EXECUTOR_INLINE MpiCommunicator::MpiCommunicator(MPI_Comm user, const char* name,
                                                           Extent chunk, double time_limit,
                                                           const Call& call)
    : m_chunk(std::clamp<Extent>(chunk, 1, default_chunk)),
      m_watch(checked(user, call.where()), time_limit >= 0 ? time_limit : 0) {
  const std::source_location& where = call.where();
  m_watch.begin(call);
  m_comm = {duplicate(user, where), MPI_COMM_NULL, MPI_Comm_free};
  // The duplicate inherits the user's handler, which may end the program.
  detail::check(MPI_Comm_set_errhandler(m_comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  detail::check(MPI_Comm_set_name(m_comm, name), "MPI_Comm_set_name");
  detail::check(MPI_Comm_rank(m_comm, &m_rank), "MPI_Comm_rank");
  detail::check(MPI_Comm_size(m_comm, &m_size), "MPI_Comm_size");
  m_watch.move_to(m_comm, time_limit > 0);
  agree_to_begin(time_limit, where);
}

EINDECOMP_EXECUTOR_INLINE void MpiCommunicator::agree_to_begin(double time_limit,
                                                               const std::source_location& where) {
  // Each rank may have a limit of its own, and all throw where one has none. Where threads make
  // communicators at a time, another one may be first on each process: none then makes the job.
  const bool may_adopt = has_all_processes(m_comm) && detail::Job::reserve();
  constexpr double no_number = std::numeric_limits<double>::lowest();
  const double limit = std::isnan(time_limit) ? no_number : std::min(time_limit, 0.0);
  double least[] = {limit, may_adopt ? 1.0 : 0.0, time_limit > 0 ? -time_limit : 0.0};
  m_watch.come(detail::Watch::Collective::maximum);
  try {
    MPI_Request request = MPI_REQUEST_NULL;
    detail::check(MPI_Iallreduce(MPI_IN_PLACE, least, 3, MPI_DOUBLE, MPI_MIN, m_comm, &request),
                  "MPI_Iallreduce", where);
    wait_for(request, true);
    if (least[1] > 0) detail::Job::adopt(duplicate(m_comm, where));
    // The job watches it from now on; else all its ranks answer if one has a limit.
    m_watch.move_to(m_comm, least[2] < 0);
  } catch (...) {
    if (may_adopt) detail::Job::give_up();
    throw;
  }
  if (may_adopt && least[1] == 0) detail::Job::give_up();
  if (least[0] >= 0) return;
  const std::string given =
      least[0] == no_number ? "that is no number" : "of " + std::to_string(least[0]) + " s";
  throw Error(ErrorKind::plan,
              "a time limit " + given +
                  " is none (a wait takes some time); give a positive one, or 0 for none",
              where);
}

EINDECOMP_EXECUTOR_INLINE void MpiCommunicator::maximum(std::vector<std::uint64_t>& values) {
  const int count = static_cast<int>(values.size());
  m_watch.come(detail::Watch::Collective::maximum);
  // In round k every rank hears from the one 2^k before it, which has heard from 2^k by then: the
  // maximum may count a rank twice. (MPI_Allreduce could not be watched, and
  // MPI_Iallreduce takes longer.)
  std::vector<std::uint64_t> heard(values.size());
  for (int distance = 1; distance < m_size; distance *= 2) {
    std::array<MPI_Request, 2> requests{};
    detail::check(
        MPI_Irecv(heard.data(), count, MPI_UINT64_T, (m_rank + m_size - distance) % m_size,
                  agreement_tag, m_comm, &requests[0]),
        "MPI_Irecv");
    detail::check(MPI_Isend(values.data(), count, MPI_UINT64_T, (m_rank + distance) % m_size,
                            agreement_tag, m_comm, &requests[1]),
                  "MPI_Isend");
    m_watch.wait(true, [&requests] {
      int done = 0;
      detail::check(MPI_Testall(2, requests.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
      return done != 0;
    });
    for (std::size_t n = 0; n < values.size(); ++n) values[n] = std::max(values[n], heard[n]);
  }
  m_watch.all_came();
}

EINDECOMP_EXECUTOR_INLINE std::vector<std::string> MpiCommunicator::all_gather(
    const std::string& text, int most) {
  const std::size_t ranks = static_cast<std::size_t>(m_size);
  const std::int64_t length = static_cast<std::int64_t>(text.size());
  m_watch.come(detail::Watch::Collective::all_gather);
  std::vector<std::int64_t> lengths(ranks);
  MPI_Request request = MPI_REQUEST_NULL;
  detail::check(
      MPI_Iallgather(&length, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, m_comm, &request),
      "MPI_Iallgather");
  wait_for(request, true);
  std::vector<std::string> texts(ranks);
  for (std::size_t r = 0; r < ranks; ++r) texts[r].reserve(static_cast<std::size_t>(lengths[r]));
  // MPI counts what all ranks give together in an int.
  const std::int64_t part = std::max(most / m_size, 1);
  const std::int64_t longest = std::ranges::max(lengths);
  std::vector<int> counts(ranks);
  std::vector<int> begins(ranks);
  std::string joined;
  for (std::int64_t done = 0; done < longest; done += part) {
    int all = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      counts[r] = static_cast<int>(std::clamp<std::int64_t>(lengths[r] - done, 0, part));
      begins[r] = std::exchange(all, all + counts[r]);
    }
    joined.resize(static_cast<std::size_t>(all));
    const char* const mine = text.data() + std::min(done, length);
    detail::check(
        MPI_Iallgatherv(mine, counts[static_cast<std::size_t>(m_rank)], MPI_CHAR, joined.data(),
                        counts.data(), begins.data(), MPI_CHAR, m_comm, &request),
        "MPI_Iallgatherv");
    // Later on, ranks that give nothing more are done before the others.
    wait_for(request, done == 0);
    for (std::size_t r = 0; r < ranks; ++r) {
      texts[r].append(joined, static_cast<std::size_t>(begins[r]),
                      static_cast<std::size_t>(counts[r]));
    }
  }
  return texts;
}

EINDECOMP_EXECUTOR_INLINE void MpiCommunicator::receive(int peer, void* into, Extent elements,
                                                        int bytes, int tag, Extent most) {
  const MPI_Datatype type = datatype(bytes);
  const Extent chunk = most > 0 ? std::min(most, m_chunk) : m_chunk;
  for (Extent done = 0; done < elements; done += chunk) {
    const Extent count = std::min(chunk, elements - done);
    detail::check(MPI_Irecv(static_cast<char*>(into) + done * bytes, static_cast<int>(count), type,
                            peer, tag, m_comm, &m_requests.emplace_back(MPI_REQUEST_NULL)),
                  "MPI_Irecv");
    ++m_traffic.messages_received;
    m_traffic.words_received += count;
  }
}

EINDECOMP_EXECUTOR_INLINE void MpiCommunicator::send(int peer, const void* from, Extent elements,
                                                     int bytes, int tag, Extent most) {
  const MPI_Datatype type = datatype(bytes);
  const Extent chunk = most > 0 ? std::min(most, m_chunk) : m_chunk;
  for (Extent done = 0; done < elements; done += chunk) {
    const Extent count = std::min(chunk, elements - done);
    detail::check(MPI_Isend(static_cast<const char*>(from) + done * bytes, static_cast<int>(count),
                            type, peer, tag, m_comm, &m_requests.emplace_back(MPI_REQUEST_NULL)),
                  "MPI_Isend");
    ++m_traffic.messages_sent;
    m_traffic.words_sent += count;
  }
}

EINDECOMP_EXECUTOR_INLINE void MpiCommunicator::progress() {
  const int count = static_cast<int>(m_requests.size());
  m_completed.resize(m_requests.size());
  // There may be more as long as messages are completed.
  for (int in_vain = 0; in_vain < detail::tuning::max_looks_in_vain;) {
    int completed = 0;
    detail::check(
        MPI_Testsome(count, m_requests.data(), &completed, m_completed.data(), MPI_STATUSES_IGNORE),
        "MPI_Testsome");
    if (completed == MPI_UNDEFINED) return;  // all are complete
    in_vain = completed > 0 ? 0 : in_vain + 1;
  }
}

EINDECOMP_EXECUTOR_INLINE void MpiCommunicator::wait() {
  const int count = static_cast<int>(m_requests.size());
  const auto are_complete = [&] {
    int done = 0;
    const int code = MPI_Testall(count, m_requests.data(), &done, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) m_requests.clear();
    detail::check(code, "MPI_Testall");
    return done != 0;
  };
  const detail::Stopwatch waited;
  bool complete = are_complete();
  while (!complete && waited.seconds() < detail::tuning::seconds_before_turns) {
    complete = are_complete();
  }
  if (!complete) m_watch.wait(false, are_complete);
  m_requests.clear();
}

EINDECOMP_EXECUTOR_INLINE void MpiCommunicator::broadcast(void* data, Extent elements, int bytes,
                                                          int root) {
  const MPI_Datatype type = datatype(bytes);
  for (Extent done = 0; done < elements; done += m_chunk) {
    const Extent count = std::min(m_chunk, elements - done);
    char* const part = static_cast<char*>(data) + done * bytes;
    // On every rank, whatever its time limit: MPI_Bcast does not match MPI_Ibcast.
    MPI_Request request = MPI_REQUEST_NULL;
    detail::check(MPI_Ibcast(part, static_cast<int>(count), type, root, m_comm, &request),
                  "MPI_Ibcast");
    wait_for(request, false);
  }
}

EINDECOMP_EXECUTOR_INLINE MPI_Comm MpiCommunicator::checked(MPI_Comm user,
                                                            const std::source_location& where) {
  int running = 0;
  int finalized = 0;
  detail::check(MPI_Initialized(&running), "MPI_Initialized", where);
  detail::check(MPI_Finalized(&finalized), "MPI_Finalized", where);
  if (running == 0 || finalized != 0) {
    throw Error(ErrorKind::communication,
                std::string("MPI is not running (") +
                    (running == 0 ? "it was not initialised" : "it was finalised already") +
                    "); call MPI_Init_thread first, or hold an eindecomp::ScopedRuntime",
                where);
  }
  if (user == MPI_COMM_NULL) {
    throw Error(ErrorKind::communication,
                "the communicator is MPI_COMM_NULL (this process is not in it); "
                "execute on the ranks of a communicator only",
                where);
  }
  int inter = 0;
  detail::check(MPI_Comm_test_inter(user, &inter), "MPI_Comm_test_inter", where);
  if (inter != 0) {
    throw Error(ErrorKind::communication,
                "the communicator joins two groups (an inter-communicator has no common ranks); "
                "merge it with MPI_Intercomm_merge",
                where);
  }
  return user;
}

EINDECOMP_EXECUTOR_INLINE bool MpiCommunicator::has_all_processes(MPI_Comm comm) {
  int size = 1;
  int same = MPI_UNEQUAL;
  detail::check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  detail::check(MPI_Comm_compare(comm, MPI_COMM_WORLD, &same), "MPI_Comm_compare");
  return size > 1 && same != MPI_UNEQUAL;
}

EINDECOMP_EXECUTOR_INLINE MPI_Comm MpiCommunicator::duplicate(MPI_Comm comm,
                                                              const std::source_location& where) {
  MPI_Comm copy = MPI_COMM_NULL;
  m_watch.come(detail::Watch::Collective::duplicate);
  // On every rank, as broadcast() has it.
  MPI_Request request = MPI_REQUEST_NULL;
  detail::check(MPI_Comm_idup(comm, &copy, &request), "MPI_Comm_idup", where);
  wait_for(request, true);
  return copy;
}

EINDECOMP_EXECUTOR_INLINE void MpiCommunicator::wait_for(MPI_Request request, bool all_must_come) {
  m_watch.wait(all_must_come, [&request] {
    int done = 0;
    detail::check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  });
}

EINDECOMP_EXECUTOR_INLINE MPI_Datatype MpiCommunicator::datatype(int bytes) {
  auto found = m_datatypes.find(bytes);
  if (found == m_datatypes.end()) {
    found = m_datatypes.emplace(bytes, detail::element_datatype(bytes)).first;
  }
  return found->second;
}

EINDECOMP_EXECUTOR_INLINE MpiCommunicator::MpiCommunicator(MpiCommunicator&& other) noexcept =
    default;

EINDECOMP_EXECUTOR_INLINE MpiCommunicator::~MpiCommunicator() = default;

}  // namespace eindecomp::comm
