/* SPDX-License-Identifier: BSD-3-Clause */
/* mpix.h: collectives between some of the ranks, whose multicast groups the program opens and closes (or a
   compiler that moves both out of a loop), as in "Group Management Schemes for Implementing MPI Collective
   Communication over IP-Multicast". Inline functions over persistent collectives: a program that includes
   this header runs with any MPI-4 library. See MPIX_Scatterv_open_group(3).

     MPIX_Scatterv_open_group(..., &group);
     for (i = 0; i < 1000; i++) MPIX_Scatterv_data_movement(&group);
     MPIX_Scatterv_close_group(&group);

   Opening and closing are collective, and in the same order at all ranks; data may be moved by
   the groups in any order. A rank that neither sends nor receives returns at once. Buffers and counts are
   those given at the opening. */
#ifndef HERALD_MPIX_H
#define HERALD_MPIX_H
#include <mpi.h>

#if defined(__cplusplus)
extern "C" {
#endif

static __inline__ int mpix_move_(MPI_Request* group) {
  const int error = MPI_Start(group);
  return error != MPI_SUCCESS ? error : MPI_Wait(group, MPI_STATUS_IGNORE);
}

static __inline__ int MPIX_Scatterv_open_group(const void* sendbuf, const int sendcounts[],
                                               const int displs[], MPI_Datatype sendtype, void* recvbuf,
                                               int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                                               MPI_Request* group) {
  return MPI_Scatterv_init(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm,
                           MPI_INFO_NULL, group);
}
static __inline__ int MPIX_Scatterv_data_movement(MPI_Request* group) { return mpix_move_(group); }
static __inline__ int MPIX_Scatterv_close_group(MPI_Request* group) { return MPI_Request_free(group); }

static __inline__ int MPIX_Allgatherv_open_group(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                 void* recvbuf, const int recvcounts[], const int displs[],
                                                 MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* group) {
  return MPI_Allgatherv_init(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm,
                             MPI_INFO_NULL, group);
}
static __inline__ int MPIX_Allgatherv_data_movement(MPI_Request* group) { return mpix_move_(group); }
static __inline__ int MPIX_Allgatherv_close_group(MPI_Request* group) { return MPI_Request_free(group); }

static __inline__ int MPIX_Alltoallv_open_group(const void* sendbuf, const int sendcounts[],
                                                const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                                const int recvcounts[], const int rdispls[],
                                                MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* group) {
  return MPI_Alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                            comm, MPI_INFO_NULL, group);
}
static __inline__ int MPIX_Alltoallv_data_movement(MPI_Request* group) { return mpix_move_(group); }
static __inline__ int MPIX_Alltoallv_close_group(MPI_Request* group) { return MPI_Request_free(group); }

static __inline__ int MPIX_Alltoallw_open_group(const void* sendbuf, const int sendcounts[],
                                                const int sdispls[], const MPI_Datatype sendtypes[],
                                                void* recvbuf, const int recvcounts[], const int rdispls[],
                                                const MPI_Datatype recvtypes[], MPI_Comm comm,
                                                MPI_Request* group) {
  return MPI_Alltoallw_init(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                            comm, MPI_INFO_NULL, group);
}
static __inline__ int MPIX_Alltoallw_data_movement(MPI_Request* group) { return mpix_move_(group); }
static __inline__ int MPIX_Alltoallw_close_group(MPI_Request* group) { return MPI_Request_free(group); }

/* A hint that a collective will be called again and again on this communicator (the pass herald-plans puts it
   before loops): the library makes its plan, opens the lane of the ranks concerned and allocates its buffers.
   Or that messages will go to one partner, `root`, or come from it: the library takes the ring to a rank of
   this host and touches its memory. Local: no rank waits for another, and ranks need not give the same hints,
   or any. A wrong hint costs time only. Not collective, allowed at any time, in any thread that may call MPI.
   Returns MPI_SUCCESS, or the error class of the call that the hint describes; no error handler is called.

   Arguments are those of the collective; of a reduction, count and type are those of the receive side.
   Unknown arguments are MPIX_PLAN_UNKNOWN for numbers, NULL for handles and arrays. MPIX_PLAN_LARGE: the
   arrays are those of the _c form. Weak: over another library the functions are null. */
enum {
  MPIX_PLAN_BARRIER,
  MPIX_PLAN_BCAST,
  MPIX_PLAN_GATHER,
  MPIX_PLAN_GATHERV,
  MPIX_PLAN_SCATTER,
  MPIX_PLAN_SCATTERV,
  MPIX_PLAN_ALLGATHER,
  MPIX_PLAN_ALLGATHERV,
  MPIX_PLAN_ALLTOALL,
  MPIX_PLAN_ALLTOALLV,
  MPIX_PLAN_ALLTOALLW,
  MPIX_PLAN_REDUCE,
  MPIX_PLAN_ALLREDUCE,
  MPIX_PLAN_REDUCE_SCATTER,
  MPIX_PLAN_REDUCE_SCATTER_BLOCK,
  MPIX_PLAN_SCAN,
  MPIX_PLAN_EXSCAN,
  MPIX_PLAN_SEND,
  MPIX_PLAN_RECV
};
enum { MPIX_PLAN_LARGE = 1, MPIX_PLAN_IN_PLACE = 2 }; /* flags */
#define MPIX_PLAN_UNKNOWN (-2147483647 - 1)

int MPIX_Plan_prepare(int operation, MPI_Comm comm, int root, MPI_Op op, int flags, MPI_Count sendcount,
                      const void* sendcounts, const void* sdispls, MPI_Datatype sendtype,
                      const MPI_Datatype sendtypes[], MPI_Count recvcount, const void* recvcounts,
                      const void* rdispls, MPI_Datatype recvtype, const MPI_Datatype recvtypes[])
    __attribute__((weak));
/* The calls are over for now: plans of this operation are no longer preferred in the cache. A program that
   leaves a loop without it loses nothing: what was prepared goes with the communicator. */
int MPIX_Plan_release(int operation, MPI_Comm comm) __attribute__((weak));

/* Tells the pass herald-plans (mpicc --plans) how far it may go: none, prepare or convert.
   MPIX_PLAN(convert); is a statement in the body of a loop; MPIX_PLAN_FUNCTION(none) stands before a
   function. Of a loop or function marked with convert the program says that all ranks run it alike. */
#define MPIX_PLAN(what) __asm__ __volatile__("# herald plan " #what)
#if defined(__clang__)
#define MPIX_PLAN_FUNCTION(what) __attribute__((annotate("herald plan " #what)))
#else
#define MPIX_PLAN_FUNCTION(what)
#endif

#if defined(__cplusplus)
}
#endif
#endif
