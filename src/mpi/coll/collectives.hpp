// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/collectives.hpp: two functions for each collective, by the kind of communicator; its three forms
// differ in `how` only.
#pragma once
#include "mpi/coll/caller.hpp"

namespace herald::mpi {

int coll_barrier(Call& call, Comm* comm, How how) noexcept;
int coll_bcast(Call& call, void* buffer, MPI_Count count, Datatype* datatype, int root, Comm* comm,
               How how) noexcept;
int coll_gather(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                MPI_Count recvcount, Datatype* recvtype, int root, Comm* comm, How how) noexcept;
int coll_gatherv(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                 Counts recvcounts, Counts displs, Datatype* recvtype, int root, Comm* comm,
                 How how) noexcept;
int coll_scatter(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                 MPI_Count recvcount, Datatype* recvtype, int root, Comm* comm, How how) noexcept;
int coll_scatterv(Call& call, const void* sendbuf, Counts sendcounts, Counts displs, Datatype* sendtype,
                  void* recvbuf, MPI_Count recvcount, Datatype* recvtype, int root, Comm* comm,
                  How how) noexcept;
int coll_allgather(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                   MPI_Count recvcount, Datatype* recvtype, Comm* comm, How how) noexcept;
int coll_allgatherv(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                    Counts recvcounts, Counts displs, Datatype* recvtype, Comm* comm, How how) noexcept;
int coll_alltoall(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                  MPI_Count recvcount, Datatype* recvtype, Comm* comm, How how) noexcept;
int coll_alltoallv(Call& call, const void* sendbuf, Counts sendcounts, Counts sdispls, Datatype* sendtype,
                   void* recvbuf, Counts recvcounts, Counts rdispls, Datatype* recvtype, Comm* comm,
                   How how) noexcept;
int coll_alltoallw(Call& call, const void* sendbuf, Counts sendcounts, Counts sdispls,
                   const MPI_Datatype* sendtypes, void* recvbuf, Counts recvcounts, Counts rdispls,
                   const MPI_Datatype* recvtypes, Comm* comm, How how) noexcept;
int coll_reduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, Datatype* datatype, Op* op,
                int root, Comm* comm, How how) noexcept;
int coll_allreduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, Datatype* datatype,
                   Op* op, Comm* comm, How how) noexcept;
int coll_scan(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, Datatype* datatype, Op* op,
              Comm* comm, How how) noexcept;
int coll_exscan(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, Datatype* datatype, Op* op,
                Comm* comm, How how) noexcept;
int coll_reduce_scatter(Call& call, const void* sendbuf, void* recvbuf, Counts recvcounts, Datatype* datatype,
                        Op* op, Comm* comm, How how) noexcept;
int coll_reduce_scatter_block(Call& call, const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                              Datatype* datatype, Op* op, Comm* comm, How how) noexcept;

// The same over inter-communicators (inter.cpp).
decltype(coll_barrier) inter_barrier;
decltype(coll_bcast) inter_bcast;
decltype(coll_gather) inter_gather;
decltype(coll_gatherv) inter_gatherv;
decltype(coll_scatter) inter_scatter;
decltype(coll_scatterv) inter_scatterv;
decltype(coll_allgather) inter_allgather;
decltype(coll_allgatherv) inter_allgatherv;
decltype(coll_alltoall) inter_alltoall;
decltype(coll_alltoallv) inter_alltoallv;
decltype(coll_alltoallw) inter_alltoallw;
decltype(coll_reduce) inter_reduce;
decltype(coll_allreduce) inter_allreduce;
decltype(coll_scan) inter_scan;
decltype(coll_exscan) inter_exscan;
decltype(coll_reduce_scatter) inter_reduce_scatter;
decltype(coll_reduce_scatter_block) inter_reduce_scatter_block;

}  // namespace herald::mpi
