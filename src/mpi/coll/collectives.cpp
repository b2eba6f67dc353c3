// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/collectives.cpp: the three forms of every collective: blocking, nonblocking, persistent.
#include "mpi/coll/collectives.hpp"

#include "calls.hpp"

namespace herald::mpi::api {

#define HERALD_LIST(...) __VA_ARGS__
#define HERALD_COLLECTIVE(name, parameters, arguments)                                                    \
  static int name##_how(Call& call, HERALD_LIST parameters, How how) noexcept {                           \
    return comm->remote == nullptr ? coll_##name(call, HERALD_LIST arguments, how)                        \
                                   : inter_##name(call, HERALD_LIST arguments, how);                      \
  }                                                                                                       \
  int name(Call& call, HERALD_LIST parameters) { return name##_how(call, HERALD_LIST arguments, How{}); } \
  int i##name(Call& call, HERALD_LIST parameters, MPI_Request* request) {                                 \
    const int error = name##_how(call, HERALD_LIST arguments, How{How::Form::start, request});            \
    runtime().progress_thread(call);                                                                      \
    return error;                                                                                         \
  }                                                                                                       \
  int name##_init(Call& call, HERALD_LIST parameters, Info*, MPI_Request* request) {                      \
    return name##_how(call, HERALD_LIST arguments, How{How::Form::keep, request});                        \
  }

// clang-format off
#define HERALD_ONE_TO_ONE (const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf, MPI_Count recvcount, Datatype* recvtype, Comm* comm)
#define HERALD_REDUCE_ALL (const void* sendbuf, void* recvbuf, MPI_Count count, Datatype* datatype, Op* op, Comm* comm)

HERALD_COLLECTIVE(barrier, (Comm* comm), (comm))
HERALD_COLLECTIVE(bcast, (void* buffer, MPI_Count count, Datatype* datatype, int root, Comm* comm),
                  (buffer, count, datatype, root, comm))
HERALD_COLLECTIVE(gather, (const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf, MPI_Count recvcount, Datatype* recvtype, int root, Comm* comm),
                  (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
HERALD_COLLECTIVE(gatherv, (const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf, Counts recvcounts, Counts displs, Datatype* recvtype, int root, Comm* comm),
                  (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm))
HERALD_COLLECTIVE(scatter, (const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf, MPI_Count recvcount, Datatype* recvtype, int root, Comm* comm),
                  (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
HERALD_COLLECTIVE(scatterv, (const void* sendbuf, Counts sendcounts, Counts displs, Datatype* sendtype, void* recvbuf, MPI_Count recvcount, Datatype* recvtype, int root, Comm* comm),
                  (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm))
HERALD_COLLECTIVE(allgather, HERALD_ONE_TO_ONE, (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
HERALD_COLLECTIVE(allgatherv, (const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf, Counts recvcounts, Counts displs, Datatype* recvtype, Comm* comm),
                  (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))
HERALD_COLLECTIVE(alltoall, HERALD_ONE_TO_ONE, (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
HERALD_COLLECTIVE(alltoallv, (const void* sendbuf, Counts sendcounts, Counts sdispls, Datatype* sendtype, void* recvbuf, Counts recvcounts, Counts rdispls, Datatype* recvtype, Comm* comm),
                  (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))
HERALD_COLLECTIVE(alltoallw, (const void* sendbuf, Counts sendcounts, Counts sdispls, const MPI_Datatype* sendtypes, void* recvbuf, Counts recvcounts, Counts rdispls, const MPI_Datatype* recvtypes, Comm* comm),
                  (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))
HERALD_COLLECTIVE(reduce, (const void* sendbuf, void* recvbuf, MPI_Count count, Datatype* datatype, Op* op, int root, Comm* comm),
                  (sendbuf, recvbuf, count, datatype, op, root, comm))
HERALD_COLLECTIVE(allreduce, HERALD_REDUCE_ALL, (sendbuf, recvbuf, count, datatype, op, comm))
HERALD_COLLECTIVE(scan, HERALD_REDUCE_ALL, (sendbuf, recvbuf, count, datatype, op, comm))
HERALD_COLLECTIVE(exscan, HERALD_REDUCE_ALL, (sendbuf, recvbuf, count, datatype, op, comm))
HERALD_COLLECTIVE(reduce_scatter, (const void* sendbuf, void* recvbuf, Counts recvcounts, Datatype* datatype, Op* op, Comm* comm),
                  (sendbuf, recvbuf, recvcounts, datatype, op, comm))
HERALD_COLLECTIVE(reduce_scatter_block, (const void* sendbuf, void* recvbuf, MPI_Count recvcount, Datatype* datatype, Op* op, Comm* comm),
                  (sendbuf, recvbuf, recvcount, datatype, op, comm))
// clang-format on

}  // namespace herald::mpi::api
