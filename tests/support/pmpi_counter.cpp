// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "support/pmpi_counter.hpp"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <map>
#include <string>

namespace {

struct Record {
  pmpi::Counts counts;
  pmpi::Posts posts;
};

std::map<std::string, Record>& table() {
  static std::map<std::string, Record> records;
  return records;
}

Record& of(MPI_Comm communicator) {
  char name[MPI_MAX_OBJECT_NAME + 1] = {};
  int length = 0;
  PMPI_Comm_get_name(communicator, name, &length);
  return table()[std::string(name, static_cast<std::size_t>(length))];
}

void sends(int peer, int count, MPI_Datatype type, MPI_Comm communicator) {
  int size = 0;
  PMPI_Type_size(type, &size);
  Record& record = of(communicator);
  record.posts.sends.push_back({peer, count});
  pmpi::Counts& c = record.counts;
  c.sent += count;
  c.bytes_sent += static_cast<std::int64_t>(count) * size;
  c.largest = std::max<std::int64_t>(c.largest, count);
  ++c.messages_sent;
}

void receives(int peer, int count, MPI_Comm communicator) {
  Record& record = of(communicator);
  record.posts.receives.push_back({peer, count});
  record.counts.received += count;
  ++record.counts.messages_received;
}

}  // namespace

namespace pmpi {

Posts posts(std::string_view communicator) { return table()[std::string(communicator)].posts; }

Counts counts(std::string_view communicator) { return table()[std::string(communicator)].counts; }

Counts all_counts() {
  Counts all;
  for (const auto& [name, record] : table()) {
    const Counts& c = record.counts;
    all.sent += c.sent;
    all.received += c.received;
    all.bytes_sent += c.bytes_sent;
    all.messages_sent += c.messages_sent;
    all.messages_received += c.messages_received;
    all.largest = std::max(all.largest, c.largest);
    all.others += c.others;
  }
  return all;
}

void reset() { table().clear(); }

}  // namespace pmpi

// Point to point.
#define EINDECOMP_PMPI_SEND(Name)                                                   \
  int MPI_##Name(const void* data, int count, MPI_Datatype type, int peer, int tag, \
                 MPI_Comm communicator) {                                           \
    sends(peer, count, type, communicator);                                         \
    return PMPI_##Name(data, count, type, peer, tag, communicator);                 \
  }
#define EINDECOMP_PMPI_ISEND(Name)                                                  \
  int MPI_##Name(const void* data, int count, MPI_Datatype type, int peer, int tag, \
                 MPI_Comm communicator, MPI_Request* request) {                     \
    sends(peer, count, type, communicator);                                         \
    return PMPI_##Name(data, count, type, peer, tag, communicator, request);        \
  }
// Everything else that moves data, by its argument lists.
#define EINDECOMP_PMPI_OTHER(Name, parameters, arguments) \
  int MPI_##Name parameters {                             \
    ++of(communicator).counts.others;                     \
    return PMPI_##Name arguments;                         \
  }

extern "C" {

EINDECOMP_PMPI_SEND(Send)
EINDECOMP_PMPI_SEND(Ssend)
EINDECOMP_PMPI_SEND(Bsend)
EINDECOMP_PMPI_SEND(Rsend)
EINDECOMP_PMPI_ISEND(Isend)
EINDECOMP_PMPI_ISEND(Issend)
EINDECOMP_PMPI_ISEND(Ibsend)
EINDECOMP_PMPI_ISEND(Irsend)

int MPI_Recv(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm communicator,
             MPI_Status* status) {
  receives(peer, count, communicator);
  return PMPI_Recv(data, count, type, peer, tag, communicator, status);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm communicator,
              MPI_Request* request) {
  receives(peer, count, communicator);
  return PMPI_Irecv(data, count, type, peer, tag, communicator, request);
}
int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag,
                 void* in, int in_count, MPI_Datatype in_type, int from, int in_tag,
                 MPI_Comm communicator, MPI_Status* status) {
  sends(to, out_count, out_type, communicator);
  receives(from, in_count, communicator);
  return PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag,
                       communicator, status);
}

EINDECOMP_PMPI_OTHER(Bcast,
                     (void* data, int count, MPI_Datatype type, int root, MPI_Comm communicator),
                     (data, count, type, root, communicator))
EINDECOMP_PMPI_OTHER(Reduce,
                     (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root,
                      MPI_Comm communicator),
                     (in, out, count, type, op, root, communicator))
EINDECOMP_PMPI_OTHER(Allreduce,
                     (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm communicator),
                     (in, out, count, type, op, communicator))
EINDECOMP_PMPI_OTHER(Reduce_scatter,
                     (const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op,
                      MPI_Comm communicator),
                     (in, out, counts, type, op, communicator))
EINDECOMP_PMPI_OTHER(Reduce_scatter_block,
                     (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm communicator),
                     (in, out, count, type, op, communicator))
EINDECOMP_PMPI_OTHER(Gather,
                     (const void* in, int n, MPI_Datatype type, void* out, int m,
                      MPI_Datatype out_type, int root, MPI_Comm communicator),
                     (in, n, type, out, m, out_type, root, communicator))
EINDECOMP_PMPI_OTHER(Gatherv,
                     (const void* in, int n, MPI_Datatype type, void* out, const int* m,
                      const int* begins, MPI_Datatype out_type, int root, MPI_Comm communicator),
                     (in, n, type, out, m, begins, out_type, root, communicator))
EINDECOMP_PMPI_OTHER(Scatter,
                     (const void* in, int n, MPI_Datatype type, void* out, int m,
                      MPI_Datatype out_type, int root, MPI_Comm communicator),
                     (in, n, type, out, m, out_type, root, communicator))
EINDECOMP_PMPI_OTHER(Scatterv,
                     (const void* in, const int* n, const int* begins, MPI_Datatype type, void* out,
                      int m, MPI_Datatype out_type, int root, MPI_Comm communicator),
                     (in, n, begins, type, out, m, out_type, root, communicator))
EINDECOMP_PMPI_OTHER(Allgather,
                     (const void* in, int n, MPI_Datatype type, void* out, int m,
                      MPI_Datatype out_type, MPI_Comm communicator),
                     (in, n, type, out, m, out_type, communicator))
EINDECOMP_PMPI_OTHER(Allgatherv,
                     (const void* in, int n, MPI_Datatype type, void* out, const int* m,
                      const int* begins, MPI_Datatype out_type, MPI_Comm communicator),
                     (in, n, type, out, m, begins, out_type, communicator))
EINDECOMP_PMPI_OTHER(Alltoall,
                     (const void* in, int n, MPI_Datatype type, void* out, int m,
                      MPI_Datatype out_type, MPI_Comm communicator),
                     (in, n, type, out, m, out_type, communicator))
EINDECOMP_PMPI_OTHER(Alltoallv,
                     (const void* in, const int* n, const int* in_begins, MPI_Datatype type,
                      void* out, const int* m, const int* out_begins, MPI_Datatype out_type,
                      MPI_Comm communicator),
                     (in, n, in_begins, type, out, m, out_begins, out_type, communicator))
EINDECOMP_PMPI_OTHER(Scan,
                     (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm communicator),
                     (in, out, count, type, op, communicator))
EINDECOMP_PMPI_OTHER(Barrier, (MPI_Comm communicator), (communicator))
// The library's own, which it asks for and waits for by turns.
EINDECOMP_PMPI_OTHER(Ibcast,
                     (void* data, int count, MPI_Datatype type, int root, MPI_Comm communicator,
                      MPI_Request* request),
                     (data, count, type, root, communicator, request))
EINDECOMP_PMPI_OTHER(Ireduce,
                     (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root,
                      MPI_Comm communicator, MPI_Request* request),
                     (in, out, count, type, op, root, communicator, request))
EINDECOMP_PMPI_OTHER(Iallreduce,
                     (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm communicator, MPI_Request* request),
                     (in, out, count, type, op, communicator, request))
EINDECOMP_PMPI_OTHER(Iallgather,
                     (const void* in, int n, MPI_Datatype type, void* out, int m,
                      MPI_Datatype out_type, MPI_Comm communicator, MPI_Request* request),
                     (in, n, type, out, m, out_type, communicator, request))
EINDECOMP_PMPI_OTHER(Iallgatherv,
                     (const void* in, int n, MPI_Datatype type, void* out, const int* m,
                      const int* begins, MPI_Datatype out_type, MPI_Comm communicator,
                      MPI_Request* request),
                     (in, n, type, out, m, begins, out_type, communicator, request))
EINDECOMP_PMPI_OTHER(Ialltoallv,
                     (const void* in, const int* n, const int* in_begins, MPI_Datatype type,
                      void* out, const int* m, const int* out_begins, MPI_Datatype out_type,
                      MPI_Comm communicator, MPI_Request* request),
                     (in, n, in_begins, type, out, m, out_begins, out_type, communicator, request))
EINDECOMP_PMPI_OTHER(Ibarrier, (MPI_Comm communicator, MPI_Request* request),
                     (communicator, request))

}  // extern "C"
