// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/reduce.cpp: the collectives that reduce.
#include "calls.hpp"
#include "mpi/coll/caller.hpp"

namespace herald::mpi::api {
namespace {

constexpr Arg kSendbuf{1, "sendbuf"}, kRecvbuf{2, "recvbuf"}, kCount{3, "count"}, kType{4, "datatype"};

// Every rank gets a result: allreduce, scan, exscan.
int reduce_all(Call& call, coll::Op which, const void* sendbuf, void* recvbuf, MPI_Count count,
               Datatype* datatype, Op* op, Comm* comm, How how) noexcept {
  const CallKey call_key{
      .op = which, .in_place = is_in_place(sendbuf), .count = count, .type = datatype, .reduction = op};
  if (sendbuf != nullptr && recvbuf != nullptr && sendbuf != recvbuf && !is_in_place(recvbuf))
    if (coll::CachedPlan* cached = recall(*comm, how, call_key))
      return run_again(call, *comm, cached,
                       {.send = sendbuf, .recv = recvbuf, .op = op, .datatype = datatype}, how);
  Caller caller(call, *comm, which, how);
  caller.remember(call_key);
  if (!caller.in_place(sendbuf)) caller.send(Data{sendbuf, kSendbuf, count, kCount, datatype, kType});
  caller.recv(Data{recvbuf, kRecvbuf, count, kCount, datatype, kType});
  caller.distinct(sendbuf, kSendbuf, recvbuf, kRecvbuf, bytes_of(count, datatype));
  caller.reduction(op, datatype);
  return caller.go(bytes_of(count, datatype));
}

// scan, exscan
int reduce_in_order(Call& call, coll::Op which, const void* sendbuf, void* recvbuf, MPI_Count count,
                    Datatype* datatype, Op* op, Comm* comm, How how) noexcept {
  if (comm->remote == nullptr)
    return reduce_all(call, which, sendbuf, recvbuf, count, datatype, op, comm, how);
  return call.fail(MPI_ERR_COMM,
                   "the argument comm is an inter-communicator, whose ranks have no common order; give an "
                   "intra-communicator (MPI_Intercomm_merge makes one)");
}

// The input of a reduce-scatter, from the send buffer or in place.
void scatter_input(Caller& caller, const void* sendbuf, void* recvbuf, MPI_Count count, Arg count_arg,
                   Datatype* datatype, int blocks) noexcept {
  if (!caller.in_place(sendbuf))
    return caller.send(Data{sendbuf, kSendbuf, count, count_arg, datatype, kType}, blocks);
  caller.send(Data{recvbuf, kRecvbuf, count, count_arg, datatype, kType}, blocks);
  caller.spec().send.buffer = coll::Buffer::recv;
}

}  // namespace

int reduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, Datatype* datatype, Op* op,
           int root, Comm* comm, How how) {
  Caller caller(call, *comm, coll::Op::reduce, how, root);
  if (caller.faces_root() && !caller.in_place(sendbuf, caller.at_root()))
    caller.send(Data{sendbuf, kSendbuf, count, kCount, datatype, kType});
  if (caller.at_root()) {
    caller.recv(Data{recvbuf, kRecvbuf, count, kCount, datatype, kType});
    caller.distinct(sendbuf, kSendbuf, recvbuf, kRecvbuf, bytes_of(count, datatype));
  }
  if (caller.faces_root() || caller.at_root()) caller.reduction(op, datatype);
  return caller.go(bytes_of(count, datatype));
}

int allreduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, Datatype* datatype, Op* op,
              Comm* comm, How how) {
  return reduce_all(call, coll::Op::allreduce, sendbuf, recvbuf, count, datatype, op, comm, how);
}

int scan(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, Datatype* datatype, Op* op,
         Comm* comm, How how) {
  return reduce_in_order(call, coll::Op::scan, sendbuf, recvbuf, count, datatype, op, comm, how);
}

int exscan(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, Datatype* datatype, Op* op,
           Comm* comm, How how) {
  return reduce_in_order(call, coll::Op::exscan, sendbuf, recvbuf, count, datatype, op, comm, how);
}

// Both groups of an inter-communicator reduce the same number of items; each scatters the result of the other
// by its own counts.
int reduce_scatter(Call& call, const void* sendbuf, void* recvbuf, Counts recvcounts, Datatype* datatype,
                   Op* op, Comm* comm, How how) {
  constexpr Arg counts_arg{3, "recvcounts"};
  Caller caller(call, *comm, coll::Op::reduce_scatter, how);
  caller.send_in_parts(recvcounts, counts_arg);
  if (caller.failed()) return caller.go(0);
  MPI_Count total = 0;
  for (int i = 0; i < comm->size; ++i) total += recvcounts[static_cast<std::size_t>(i)];
  const MPI_Count mine = recvcounts[static_cast<std::size_t>(comm->rank)];
  scatter_input(caller, sendbuf, recvbuf, total, counts_arg, datatype, 1);
  caller.recv(Data{recvbuf, kRecvbuf, mine, counts_arg, datatype, kType});
  caller.distinct(sendbuf, kSendbuf, recvbuf, kRecvbuf, bytes_of(mine, datatype));
  caller.reduction(op, datatype);
  return caller.go(bytes_of(total, datatype));
}

int reduce_scatter_block(Call& call, const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                         Datatype* datatype, Op* op, Comm* comm, How how) {
  constexpr Arg count_arg{3, "recvcount"};
  Caller caller(call, *comm, coll::Op::reduce_scatter_block, how);
  caller.recv(Data{recvbuf, kRecvbuf, recvcount, count_arg, datatype, kType}, comm->size);
  scatter_input(caller, sendbuf, recvbuf, recvcount, count_arg, datatype, comm->size);
  caller.distinct(sendbuf, kSendbuf, recvbuf, kRecvbuf, bytes_of(recvcount, datatype));
  caller.reduction(op, datatype);
  return caller.go(bytes_of(recvcount, datatype) * static_cast<std::uint64_t>(comm->size));
}

}  // namespace herald::mpi::api
