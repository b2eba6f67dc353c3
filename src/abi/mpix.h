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

#if defined(__cplusplus)
}
#endif
#endif
