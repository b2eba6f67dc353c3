// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/move.cpp: barrier, and the collectives that move data to, from or between all ranks.
// Over an inter-communicator only the rank that passes MPI_ROOT acts in the root's group; the arguments of
// the other ranks there are ignored. MPI_IN_PLACE is not allowed.
#include "calls.hpp"
#include "mpi/coll/args.hpp"
#include "mpi/coll/overlap.hpp"

namespace herald::mpi::api {
namespace {

// The address of block `rank` in a buffer of blocks.
const void* block_at(const void* buffer, std::int64_t items, const Datatype* type) noexcept {
  return buffer == nullptr || type == nullptr
             ? nullptr
             : static_cast<const std::byte*>(buffer) + items * type->layout->extent();
}

// This rank's block in `all` and its single buffer on the other side must not be the same memory.
void distinct_block(Caller& caller, const Comm& comm, const void* all, Arg all_arg, Counts counts,
                    Counts displs, const Datatype* type, const void* single, Arg single_arg) noexcept {
  if (caller.failed() || comm.remote != nullptr) return;
  const auto me = static_cast<std::size_t>(comm.rank);
  const void* mine = block_at(all, displs[me], type);
  const std::uint64_t bytes = bytes_of(counts[me], type);
  if (all_arg.number < single_arg.number)
    caller.distinct(mine, all_arg, single, single_arg, bytes);
  else
    caller.distinct(single, single_arg, mine, all_arg, bytes);
}

}  // namespace

int barrier(Call& call, Comm* comm, How how) {
  const CallKey call_key{.op = coll::Op::barrier};
  if (coll::CachedPlan* cached = recall(*comm, how, call_key)) return run_again(call, *comm, cached, {}, how);
  Caller caller(call, *comm, coll::Op::barrier, how);
  caller.remember(call_key);
  return caller.go(0);
}

int bcast(Call& call, void* buffer, MPI_Count count, Datatype* datatype, int root, Comm* comm, How how) {
  const CallKey call_key{.op = coll::Op::bcast, .root = root, .count = count, .type = datatype};
  if (buffer != nullptr && !is_in_place(buffer))
    if (coll::CachedPlan* cached = recall(*comm, how, call_key))
      return run_again(call, *comm, cached, {.recv = buffer}, how);
  Caller caller(call, *comm, coll::Op::bcast, how, root);
  caller.remember(call_key);
  const Data data{buffer, {1, "buffer"}, count, {2, "count"}, datatype, {3, "datatype"}};
  if (caller.faces_root())
    caller.recv(data);
  else if (caller.at_root())
    caller.send(data);
  return caller.go(bytes_of(count, datatype));
}

int gather(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
           MPI_Count recvcount, Datatype* recvtype, int root, Comm* comm, How how) {
  Caller caller(call, *comm, coll::Op::gather, how, root);
  if (caller.faces_root() && !caller.in_place(sendbuf, caller.at_root()))
    caller.send(sent(sendbuf, sendcount, sendtype));
  if (!caller.at_root()) return caller.go(bytes_of(sendcount, sendtype));
  caller.recv(received(recvbuf, recvcount, recvtype, 4), comm->partner_count);
  caller.distinct(sendbuf, {1, "sendbuf"}, block_at(recvbuf, comm->rank * recvcount, recvtype),
                  {4, "recvbuf"}, bytes_of(recvcount, recvtype));
  return caller.go(bytes_of(recvcount, recvtype));
}

int gatherv(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
            Counts recvcounts, Counts displs, Datatype* recvtype, int root, Comm* comm, How how) {
  Caller caller(call, *comm, coll::Op::gatherv, how, root);
  if (caller.faces_root() && !caller.in_place(sendbuf, caller.at_root()))
    caller.send(sent(sendbuf, sendcount, sendtype));
  if (!caller.at_root()) return caller.go(0);
  caller.recv(received(recvbuf, recvcounts, displs, {6, "displs"}, recvtype));
  distinct_block(caller, *comm, recvbuf, {4, "recvbuf"}, recvcounts, displs, recvtype, sendbuf,
                 {1, "sendbuf"});
  return caller.go(0);
}

int scatter(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
            MPI_Count recvcount, Datatype* recvtype, int root, Comm* comm, How how) {
  Caller caller(call, *comm, coll::Op::scatter, how, root);
  if (caller.at_root()) caller.send(sent(sendbuf, sendcount, sendtype), comm->partner_count);
  if (caller.faces_root() && !caller.in_place(recvbuf, caller.at_root()))
    caller.recv(received(recvbuf, recvcount, recvtype, 4));
  if (!caller.at_root()) return caller.go(bytes_of(recvcount, recvtype));
  caller.distinct(block_at(sendbuf, comm->rank * sendcount, sendtype), {1, "sendbuf"}, recvbuf,
                  {4, "recvbuf"}, bytes_of(sendcount, sendtype));
  return caller.go(bytes_of(sendcount, sendtype));
}

int scatterv(Call& call, const void* sendbuf, Counts sendcounts, Counts displs, Datatype* sendtype,
             void* recvbuf, MPI_Count recvcount, Datatype* recvtype, int root, Comm* comm, How how) {
  Caller caller(call, *comm, coll::Op::scatterv, how, root);
  if (caller.at_root()) caller.send(sent(sendbuf, sendcounts, displs, {3, "displs"}, sendtype));
  if (caller.faces_root() && !caller.in_place(recvbuf, caller.at_root()))
    caller.recv(received(recvbuf, recvcount, recvtype, 5));
  if (caller.at_root())
    distinct_block(caller, *comm, sendbuf, {1, "sendbuf"}, sendcounts, displs, sendtype, recvbuf,
                   {5, "recvbuf"});
  return caller.go(0);
}

int allgather(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
              MPI_Count recvcount, Datatype* recvtype, Comm* comm, How how) {
  const CallKey call_key{.op = coll::Op::allgather, .count = recvcount, .type = recvtype};
  const bool alike = sendcount == recvcount && sendtype == recvtype && !is_in_place(sendbuf);
  if (alike && sendbuf != nullptr && recvbuf != nullptr && !is_in_place(recvbuf) &&
      sendbuf != block_at(recvbuf, comm->rank * recvcount, recvtype))
    if (coll::CachedPlan* cached = recall(*comm, how, call_key))
      return run_again(call, *comm, cached, {.send = sendbuf, .recv = recvbuf}, how);
  Caller caller(call, *comm, coll::Op::allgather, how);
  if (alike) caller.remember(call_key);
  if (!caller.in_place(sendbuf)) caller.send(sent(sendbuf, sendcount, sendtype));
  caller.recv(received(recvbuf, recvcount, recvtype, 4), comm->partner_count);
  caller.distinct(sendbuf, {1, "sendbuf"}, block_at(recvbuf, comm->rank * recvcount, recvtype),
                  {4, "recvbuf"}, bytes_of(recvcount, recvtype));
  return caller.go(bytes_of(recvcount, recvtype));
}

int allgatherv(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
               Counts recvcounts, Counts displs, Datatype* recvtype, Comm* comm, How how) {
  Caller caller(call, *comm, coll::Op::allgatherv, how);
  if (!caller.in_place(sendbuf)) caller.send(sent(sendbuf, sendcount, sendtype));
  caller.recv(received(recvbuf, recvcounts, displs, {6, "displs"}, recvtype));
  distinct_block(caller, *comm, recvbuf, {4, "recvbuf"}, recvcounts, displs, recvtype, sendbuf,
                 {1, "sendbuf"});
  std::uint64_t total = 0;
  for (std::size_t i = 0; !caller.failed() && i < static_cast<std::size_t>(comm->partner_count); ++i)
    total += bytes_of(recvcounts[i], recvtype);
  return caller.go(total);
}

int alltoall(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
             MPI_Count recvcount, Datatype* recvtype, Comm* comm, How how) {
  Caller caller(call, *comm, coll::Op::alltoall, how);
  if (!caller.in_place(sendbuf)) caller.send(sent(sendbuf, sendcount, sendtype), comm->partner_count);
  caller.recv(received(recvbuf, recvcount, recvtype, 4), comm->partner_count);
  caller.distinct(sendbuf, {1, "sendbuf"}, recvbuf, {4, "recvbuf"}, bytes_of(recvcount, recvtype));
  return caller.go(bytes_of(recvcount, recvtype));
}

int alltoallv(Call& call, const void* sendbuf, Counts sendcounts, Counts sdispls, Datatype* sendtype,
              void* recvbuf, Counts recvcounts, Counts rdispls, Datatype* recvtype, Comm* comm, How how) {
  Caller caller(call, *comm, coll::Op::alltoallv, how);
  if (!caller.in_place(sendbuf)) caller.send(sent(sendbuf, sendcounts, sdispls, {3, "sdispls"}, sendtype));
  caller.recv(received(recvbuf, recvcounts, rdispls, {7, "rdispls"}, recvtype));
  if (sendbuf == recvbuf && !caller.failed()) {
    Overlap overlap;
    for (std::size_t i = 0; i < static_cast<std::size_t>(comm->partner_count); ++i) {
      overlap.add(true, sdispls[i] * sendtype->layout->extent(), sendcounts[i], *sendtype->layout);
      overlap.add(false, rdispls[i] * recvtype->layout->extent(), recvcounts[i], *recvtype->layout);
    }
    caller.distinct(sendbuf, {1, "sendbuf"}, recvbuf, {5, "recvbuf"}, overlap.found());
  }
  return caller.go(0);
}

int alltoallw(Call& call, const void* sendbuf, Counts sendcounts, Counts sdispls,
              const MPI_Datatype sendtypes[], void* recvbuf, Counts recvcounts, Counts rdispls,
              const MPI_Datatype recvtypes[], Comm* comm, How how) {
  Caller caller(call, *comm, coll::Op::alltoallw, how);
  if (!caller.in_place(sendbuf)) caller.send(sent(sendbuf, sendcounts, sdispls, sendtypes));
  caller.recv(received(recvbuf, recvcounts, rdispls, recvtypes));
  if (sendbuf == recvbuf && !caller.failed()) {
    Overlap overlap;
    for (std::size_t i = 0; i < static_cast<std::size_t>(comm->partner_count); ++i) {
      overlap.add(true, sdispls[i], sendcounts[i], *find(sendtypes[i])->layout);
      overlap.add(false, rdispls[i], recvcounts[i], *find(recvtypes[i])->layout);
    }
    caller.distinct(sendbuf, {1, "sendbuf"}, recvbuf, {5, "recvbuf"}, overlap.found());
  }
  return caller.go(0);
}

}  // namespace herald::mpi::api
