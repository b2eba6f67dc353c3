// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/inter.cpp: collectives over inter-communicators. In those with a root, its own group does nothing
// but for the root itself, which passes MPI_ROOT; the others there pass MPI_PROC_NULL, and their other
// arguments are ignored. MPI_IN_PLACE is not allowed.
#include "mpi/coll/args.hpp"
#include "mpi/coll/collectives.hpp"

namespace herald::mpi {
namespace {

constexpr Arg kSendbuf{1, "sendbuf"}, kRecvbuf{2, "recvbuf"}, kCount{3, "count"}, kType{4, "datatype"};

int no_order(Call& call) noexcept {
  return call.fail(MPI_ERR_COMM,
                   "the argument comm is an inter-communicator, whose ranks have no common order; give an "
                   "intra-communicator (MPI_Intercomm_merge makes one)");
}

}  // namespace

int inter_barrier(Call& call, Comm* comm, How how) noexcept {
  return Caller(call, *comm, coll::Op::barrier, how).go(0);
}

int inter_bcast(Call& call, void* buffer, MPI_Count count, Datatype* datatype, int root, Comm* comm,
                How how) noexcept {
  Caller caller(call, *comm, coll::Op::bcast, how, root);
  if (root == MPI_PROC_NULL) return caller.go(0);
  const Data data{buffer, {1, "buffer"}, count, {2, "count"}, datatype, {3, "datatype"}};
  if (root == MPI_ROOT)
    caller.send(data);
  else
    caller.recv(data);
  return caller.go(bytes_of(count, datatype));
}

int inter_gather(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                 MPI_Count recvcount, Datatype* recvtype, int root, Comm* comm, How how) noexcept {
  Caller caller(call, *comm, coll::Op::gather, how, root);
  if (root == MPI_ROOT)
    caller.recv(received(recvbuf, recvcount, recvtype, 4), comm->partner_count);
  else if (root != MPI_PROC_NULL)
    caller.send(sent(sendbuf, sendcount, sendtype));
  return caller.go(0);
}

int inter_gatherv(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                  Counts recvcounts, Counts displs, Datatype* recvtype, int root, Comm* comm,
                  How how) noexcept {
  Caller caller(call, *comm, coll::Op::gatherv, how, root);
  if (root == MPI_ROOT)
    caller.recv(received(recvbuf, recvcounts, displs, {6, "displs"}, recvtype));
  else if (root != MPI_PROC_NULL)
    caller.send(sent(sendbuf, sendcount, sendtype));
  return caller.go(0);
}

int inter_scatter(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                  MPI_Count recvcount, Datatype* recvtype, int root, Comm* comm, How how) noexcept {
  Caller caller(call, *comm, coll::Op::scatter, how, root);
  if (root == MPI_ROOT)
    caller.send(sent(sendbuf, sendcount, sendtype), comm->partner_count);
  else if (root != MPI_PROC_NULL)
    caller.recv(received(recvbuf, recvcount, recvtype, 4));
  return caller.go(0);
}

int inter_scatterv(Call& call, const void* sendbuf, Counts sendcounts, Counts displs, Datatype* sendtype,
                   void* recvbuf, MPI_Count recvcount, Datatype* recvtype, int root, Comm* comm,
                   How how) noexcept {
  Caller caller(call, *comm, coll::Op::scatterv, how, root);
  if (root == MPI_ROOT)
    caller.send(sent(sendbuf, sendcounts, displs, {3, "displs"}, sendtype));
  else if (root != MPI_PROC_NULL)
    caller.recv(received(recvbuf, recvcount, recvtype, 5));
  return caller.go(0);
}

int inter_allgather(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                    MPI_Count recvcount, Datatype* recvtype, Comm* comm, How how) noexcept {
  Caller caller(call, *comm, coll::Op::allgather, how);
  caller.send(sent(sendbuf, sendcount, sendtype));
  caller.recv(received(recvbuf, recvcount, recvtype, 4), comm->partner_count);
  return caller.go(0);
}

int inter_allgatherv(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                     Counts recvcounts, Counts displs, Datatype* recvtype, Comm* comm, How how) noexcept {
  Caller caller(call, *comm, coll::Op::allgatherv, how);
  caller.send(sent(sendbuf, sendcount, sendtype));
  caller.recv(received(recvbuf, recvcounts, displs, {6, "displs"}, recvtype));
  return caller.go(0);
}

int inter_alltoall(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                   MPI_Count recvcount, Datatype* recvtype, Comm* comm, How how) noexcept {
  Caller caller(call, *comm, coll::Op::alltoall, how);
  caller.send(sent(sendbuf, sendcount, sendtype), comm->partner_count);
  caller.recv(received(recvbuf, recvcount, recvtype, 4), comm->partner_count);
  return caller.go(0);
}

int inter_alltoallv(Call& call, const void* sendbuf, Counts sendcounts, Counts sdispls, Datatype* sendtype,
                    void* recvbuf, Counts recvcounts, Counts rdispls, Datatype* recvtype, Comm* comm,
                    How how) noexcept {
  Caller caller(call, *comm, coll::Op::alltoallv, how);
  caller.send(sent(sendbuf, sendcounts, sdispls, {3, "sdispls"}, sendtype));
  caller.recv(received(recvbuf, recvcounts, rdispls, {7, "rdispls"}, recvtype));
  return caller.go(0);
}

int inter_alltoallw(Call& call, const void* sendbuf, Counts sendcounts, Counts sdispls,
                    const MPI_Datatype* sendtypes, void* recvbuf, Counts recvcounts, Counts rdispls,
                    const MPI_Datatype* recvtypes, Comm* comm, How how) noexcept {
  Caller caller(call, *comm, coll::Op::alltoallw, how);
  caller.send(sent(sendbuf, sendcounts, sdispls, sendtypes));
  caller.recv(received(recvbuf, recvcounts, rdispls, recvtypes));
  return caller.go(0);
}

int inter_reduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, Datatype* datatype, Op* op,
                 int root, Comm* comm, How how) noexcept {
  Caller caller(call, *comm, coll::Op::reduce, how, root);
  if (root == MPI_PROC_NULL) return caller.go(0);
  if (root == MPI_ROOT)
    caller.recv(Data{recvbuf, kRecvbuf, count, kCount, datatype, kType});
  else
    caller.send(Data{sendbuf, kSendbuf, count, kCount, datatype, kType});
  caller.reduction(op, datatype);
  return caller.go(bytes_of(count, datatype));
}

int inter_allreduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, Datatype* datatype,
                    Op* op, Comm* comm, How how) noexcept {
  Caller caller(call, *comm, coll::Op::allreduce, how);
  caller.send(Data{sendbuf, kSendbuf, count, kCount, datatype, kType});
  caller.recv(Data{recvbuf, kRecvbuf, count, kCount, datatype, kType});
  caller.reduction(op, datatype);
  return caller.go(bytes_of(count, datatype));
}

int inter_scan(Call& call, const void*, void*, MPI_Count, Datatype*, Op*, Comm*, How) noexcept {
  return no_order(call);
}

int inter_exscan(Call& call, const void*, void*, MPI_Count, Datatype*, Op*, Comm*, How) noexcept {
  return no_order(call);
}

// Both groups reduce the same number of items; each scatters the result of the other by its own counts.
int inter_reduce_scatter(Call& call, const void* sendbuf, void* recvbuf, Counts recvcounts,
                         Datatype* datatype, Op* op, Comm* comm, How how) noexcept {
  constexpr Arg counts_arg{3, "recvcounts"};
  Caller caller(call, *comm, coll::Op::reduce_scatter, how);
  caller.send_in_parts(recvcounts, counts_arg);
  if (caller.failed()) return caller.go(0);
  MPI_Count total = 0;
  for (int i = 0; i < comm->size; ++i) total += recvcounts[static_cast<std::size_t>(i)];
  caller.send(Data{sendbuf, kSendbuf, total, counts_arg, datatype, kType});
  caller.recv(
      Data{recvbuf, kRecvbuf, recvcounts[static_cast<std::size_t>(comm->rank)], counts_arg, datatype, kType});
  caller.reduction(op, datatype);
  return caller.go(bytes_of(total, datatype));
}

int inter_reduce_scatter_block(Call& call, const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                               Datatype* datatype, Op* op, Comm* comm, How how) noexcept {
  constexpr Arg count_arg{3, "recvcount"};
  Caller caller(call, *comm, coll::Op::reduce_scatter_block, how);
  caller.send(Data{sendbuf, kSendbuf, recvcount, count_arg, datatype, kType}, comm->size);
  caller.recv(Data{recvbuf, kRecvbuf, recvcount, count_arg, datatype, kType});
  caller.reduction(op, datatype);
  return caller.go(bytes_of(recvcount, datatype) * static_cast<std::uint64_t>(comm->size));
}

}  // namespace herald::mpi
