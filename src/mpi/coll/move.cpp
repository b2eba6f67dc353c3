// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/move.cpp: barrier, and the collectives that move data to, from or between all ranks.
#include "mpi/coll/args.hpp"
#include "mpi/coll/collectives.hpp"

namespace herald::mpi {
namespace {

// The address of block `rank` in a buffer of blocks.
const void* block_at(const void* buffer, std::int64_t items, const Datatype* type) noexcept {
  return buffer == nullptr || type == nullptr
             ? nullptr
             : static_cast<const std::byte*>(buffer) + items * type->layout->extent();
}

}  // namespace

int coll_barrier(Call& call, Comm* comm, How how) noexcept {
  const CallKey call_key{.op = coll::Op::barrier};
  if (coll::CachedPlan* cached = recall(*comm, how, call_key)) return run_again(call, *comm, cached, {}, how);
  Caller caller(call, *comm, coll::Op::barrier, how);
  caller.remember(call_key);
  return caller.go(0);
}

int coll_bcast(Call& call, void* buffer, MPI_Count count, Datatype* datatype, int root, Comm* comm,
               How how) noexcept {
  const CallKey call_key{.op = coll::Op::bcast, .root = root, .count = count, .type = datatype};
  if (buffer != nullptr && !is_in_place(buffer))
    if (coll::CachedPlan* cached = recall(*comm, how, call_key))
      return run_again(call, *comm, cached, {.recv = buffer}, how);
  Caller caller(call, *comm, coll::Op::bcast, how, root);
  caller.remember(call_key);
  caller.recv(Data{buffer, {1, "buffer"}, count, {2, "count"}, datatype, {3, "datatype"}});
  return caller.go(bytes_of(count, datatype));
}

int coll_gather(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                MPI_Count recvcount, Datatype* recvtype, int root, Comm* comm, How how) noexcept {
  Caller caller(call, *comm, coll::Op::gather, how, root);
  const bool in_place = is_in_place(sendbuf) && caller.at_root();
  if (in_place)
    caller.in_place();
  else
    caller.send(sent(sendbuf, sendcount, sendtype));
  if (!caller.at_root()) return caller.go(bytes_of(sendcount, sendtype));
  caller.recv(received(recvbuf, recvcount, recvtype, 4), comm->size);
  caller.distinct(sendbuf, {1, "sendbuf"}, block_at(recvbuf, comm->rank * recvcount, recvtype),
                  {4, "recvbuf"}, bytes_of(recvcount, recvtype));
  return caller.go(bytes_of(recvcount, recvtype));
}

int coll_gatherv(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                 Counts recvcounts, Counts displs, Datatype* recvtype, int root, Comm* comm,
                 How how) noexcept {
  Caller caller(call, *comm, coll::Op::gatherv, how, root);
  if (is_in_place(sendbuf) && caller.at_root())
    caller.in_place();
  else
    caller.send(sent(sendbuf, sendcount, sendtype));
  if (!caller.at_root()) return caller.go(0);
  caller.recv(received(recvbuf, recvcounts, displs, {6, "displs"}, recvtype));
  if (!caller.failed()) {
    const auto me = static_cast<std::size_t>(comm->rank);
    caller.distinct(sendbuf, {1, "sendbuf"}, block_at(recvbuf, displs[me], recvtype), {4, "recvbuf"},
                    bytes_of(recvcounts[me], recvtype));
  }
  return caller.go(0);
}

int coll_scatter(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                 MPI_Count recvcount, Datatype* recvtype, int root, Comm* comm, How how) noexcept {
  Caller caller(call, *comm, coll::Op::scatter, how, root);
  if (caller.at_root()) caller.send(sent(sendbuf, sendcount, sendtype), comm->size);
  if (is_in_place(recvbuf) && caller.at_root())
    caller.in_place();
  else
    caller.recv(received(recvbuf, recvcount, recvtype, 4));
  if (!caller.at_root()) return caller.go(bytes_of(recvcount, recvtype));
  caller.distinct(block_at(sendbuf, comm->rank * sendcount, sendtype), {1, "sendbuf"}, recvbuf,
                  {4, "recvbuf"}, bytes_of(sendcount, sendtype));
  return caller.go(bytes_of(sendcount, sendtype));
}

int coll_scatterv(Call& call, const void* sendbuf, Counts sendcounts, Counts displs, Datatype* sendtype,
                  void* recvbuf, MPI_Count recvcount, Datatype* recvtype, int root, Comm* comm,
                  How how) noexcept {
  Caller caller(call, *comm, coll::Op::scatterv, how, root);
  if (caller.at_root()) caller.send(sent(sendbuf, sendcounts, displs, {3, "displs"}, sendtype));
  if (is_in_place(recvbuf) && caller.at_root())
    caller.in_place();
  else
    caller.recv(received(recvbuf, recvcount, recvtype, 5));
  if (caller.at_root() && !caller.failed()) {
    const auto me = static_cast<std::size_t>(comm->rank);
    caller.distinct(block_at(sendbuf, displs[me], sendtype), {1, "sendbuf"}, recvbuf, {5, "recvbuf"},
                    bytes_of(sendcounts[me], sendtype));
  }
  return caller.go(0);
}

int coll_allgather(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                   MPI_Count recvcount, Datatype* recvtype, Comm* comm, How how) noexcept {
  const CallKey call_key{.op = coll::Op::allgather, .count = recvcount, .type = recvtype};
  const bool alike = sendcount == recvcount && sendtype == recvtype && !is_in_place(sendbuf);
  if (alike && sendbuf != nullptr && recvbuf != nullptr && !is_in_place(recvbuf) &&
      sendbuf != block_at(recvbuf, comm->rank * recvcount, recvtype))
    if (coll::CachedPlan* cached = recall(*comm, how, call_key))
      return run_again(call, *comm, cached, {.send = sendbuf, .recv = recvbuf}, how);
  Caller caller(call, *comm, coll::Op::allgather, how);
  if (alike) caller.remember(call_key);
  if (is_in_place(sendbuf))
    caller.in_place();
  else
    caller.send(sent(sendbuf, sendcount, sendtype));
  caller.recv(received(recvbuf, recvcount, recvtype, 4), comm->size);
  caller.distinct(sendbuf, {1, "sendbuf"}, block_at(recvbuf, comm->rank * recvcount, recvtype),
                  {4, "recvbuf"}, bytes_of(recvcount, recvtype));
  return caller.go(bytes_of(recvcount, recvtype));
}

int coll_allgatherv(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                    Counts recvcounts, Counts displs, Datatype* recvtype, Comm* comm, How how) noexcept {
  Caller caller(call, *comm, coll::Op::allgatherv, how);
  if (is_in_place(sendbuf))
    caller.in_place();
  else
    caller.send(sent(sendbuf, sendcount, sendtype));
  caller.recv(received(recvbuf, recvcounts, displs, {6, "displs"}, recvtype));
  if (caller.failed()) return caller.go(0);
  const auto me = static_cast<std::size_t>(comm->rank);
  caller.distinct(sendbuf, {1, "sendbuf"}, block_at(recvbuf, displs[me], recvtype), {4, "recvbuf"},
                  bytes_of(recvcounts[me], recvtype));
  std::uint64_t total = 0;
  for (int i = 0; i < comm->size; ++i) total += bytes_of(recvcounts[static_cast<std::size_t>(i)], recvtype);
  return caller.go(total);
}

int coll_alltoall(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                  MPI_Count recvcount, Datatype* recvtype, Comm* comm, How how) noexcept {
  Caller caller(call, *comm, coll::Op::alltoall, how);
  if (is_in_place(sendbuf))
    caller.in_place();
  else
    caller.send(sent(sendbuf, sendcount, sendtype), comm->size);
  caller.recv(received(recvbuf, recvcount, recvtype, 4), comm->size);
  caller.distinct(sendbuf, {1, "sendbuf"}, recvbuf, {4, "recvbuf"}, bytes_of(recvcount, recvtype));
  return caller.go(bytes_of(recvcount, recvtype));
}

int coll_alltoallv(Call& call, const void* sendbuf, Counts sendcounts, Counts sdispls, Datatype* sendtype,
                   void* recvbuf, Counts recvcounts, Counts rdispls, Datatype* recvtype, Comm* comm,
                   How how) noexcept {
  Caller caller(call, *comm, coll::Op::alltoallv, how);
  if (is_in_place(sendbuf))
    caller.in_place();
  else
    caller.send(sent(sendbuf, sendcounts, sdispls, {3, "sdispls"}, sendtype));
  caller.recv(received(recvbuf, recvcounts, rdispls, {7, "rdispls"}, recvtype));
  caller.distinct(sendbuf, {1, "sendbuf"}, recvbuf, {5, "recvbuf"}, 1);
  return caller.go(0);
}

int coll_alltoallw(Call& call, const void* sendbuf, Counts sendcounts, Counts sdispls,
                   const MPI_Datatype* sendtypes, void* recvbuf, Counts recvcounts, Counts rdispls,
                   const MPI_Datatype* recvtypes, Comm* comm, How how) noexcept {
  Caller caller(call, *comm, coll::Op::alltoallw, how);
  if (is_in_place(sendbuf))
    caller.in_place();
  else
    caller.send(sent(sendbuf, sendcounts, sdispls, sendtypes));
  caller.recv(received(recvbuf, recvcounts, rdispls, recvtypes));
  caller.distinct(sendbuf, {1, "sendbuf"}, recvbuf, {5, "recvbuf"}, 1);
  return caller.go(0);
}

}  // namespace herald::mpi
