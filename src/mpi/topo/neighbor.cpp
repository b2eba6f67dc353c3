// SPDX-License-Identifier: BSD-3-Clause
// Neighborhood collectives, each in three forms.
#include <algorithm>

#include "calls.hpp"
#include "mpi/coll/args.hpp"
#include "mpi/topo/topology.hpp"

namespace herald::mpi::api {
namespace {

// The neighbours of this rank in `comm`, argument `number`; null and failed if it has no topology.
const coll::Neighbors* neighbors_of(Call& call, const Comm& comm, int number) noexcept {
  const Topology* topology = comm.topology.get();
  if (topology == nullptr)
    (void)call.fail(MPI_ERR_TOPOLOGY,
                    "argument %d (comm) has no topology; give a communicator that MPI_Cart_create, "
                    "MPI_Dist_graph_create or the like made",
                    number);
  else if (!topology->symmetric)
    (void)call.fail(MPI_ERR_TOPOLOGY,
                    "argument %d (comm) has a graph in which some edges have no edge back; neighborhood "
                    "collectives need both, or a topology of MPI_Dist_graph_create",
                    number);
  return call.failed() ? nullptr : &topology->neighbors;
}

// Blocks of a buffer; none if all neighbours are MPI_PROC_NULL, so that the buffer may be null.
int blocks_for(const std::vector<coll::Edge>& edges) noexcept {
  const auto exists = [](const coll::Edge& edge) { return edge.rank != coll::kNoRank; };
  return std::any_of(edges.begin(), edges.end(), exists) ? static_cast<int>(edges.size()) : 0;
}

template <coll::Op op>
int equal_blocks(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                 MPI_Count recvcount, Datatype* recvtype, Comm* comm, How how) noexcept {
  const coll::Neighbors* neighbors = neighbors_of(call, *comm, 7);
  if (neighbors == nullptr) return call.error();
  Caller caller(call, *comm, op, how);
  caller.spec().neighbors = neighbors;
  const int outgoing = blocks_for(neighbors->destinations), incoming = blocks_for(neighbors->sources);
  caller.send(sent(sendbuf, sendcount, sendtype),
              op == coll::Op::neighbor_allgather ? std::min(outgoing, 1) : outgoing);
  caller.recv(received(recvbuf, recvcount, recvtype, 4), incoming);
  if (outgoing > 0 && incoming > 0)
    caller.distinct(sendbuf, {1, "sendbuf"}, recvbuf, {4, "recvbuf"}, bytes_of(recvcount, recvtype));
  return caller.go(bytes_of(sendcount, sendtype));
}

}  // namespace

int neighbor_allgather(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype,
                       void* recvbuf, MPI_Count recvcount, Datatype* recvtype, Comm* comm, How how) {
  return equal_blocks<coll::Op::neighbor_allgather>(call, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                                    recvtype, comm, how);
}

int neighbor_alltoall(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, void* recvbuf,
                      MPI_Count recvcount, Datatype* recvtype, Comm* comm, How how) {
  return equal_blocks<coll::Op::neighbor_alltoall>(call, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                                   recvtype, comm, how);
}

int neighbor_allgatherv(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype,
                        void* recvbuf, Counts recvcounts, Counts displs, Datatype* recvtype, Comm* comm,
                        How how) {
  const coll::Neighbors* neighbors = neighbors_of(call, *comm, 8);
  if (neighbors == nullptr) return call.error();
  Caller caller(call, *comm, coll::Op::neighbor_allgatherv, how);
  caller.spec().neighbors = neighbors;
  caller.send(sent(sendbuf, sendcount, sendtype), std::min(blocks_for(neighbors->destinations), 1));
  caller.recv(received(recvbuf, recvcounts, displs, {6, "displs"}, recvtype));
  return caller.go(0);
}

// Both buffers may be the same: a halo exchange moves parts of one array to others.
int neighbor_alltoallv(Call& call, const void* sendbuf, Counts sendcounts, Counts sdispls, Datatype* sendtype,
                       void* recvbuf, Counts recvcounts, Counts rdispls, Datatype* recvtype, Comm* comm,
                       How how) {
  const coll::Neighbors* neighbors = neighbors_of(call, *comm, 9);
  if (neighbors == nullptr) return call.error();
  Caller caller(call, *comm, coll::Op::neighbor_alltoallv, how);
  caller.spec().neighbors = neighbors;
  caller.send(sent(sendbuf, sendcounts, sdispls, {3, "sdispls"}, sendtype));
  caller.recv(received(recvbuf, recvcounts, rdispls, {7, "rdispls"}, recvtype));
  return caller.go(0);
}

int neighbor_alltoallw(Call& call, const void* sendbuf, Counts sendcounts, const MPI_Aint* sdispls,
                       const MPI_Datatype* sendtypes, void* recvbuf, Counts recvcounts,
                       const MPI_Aint* rdispls, const MPI_Datatype* recvtypes, Comm* comm, How how) {
  const coll::Neighbors* neighbors = neighbors_of(call, *comm, 9);
  if (neighbors == nullptr) return call.error();
  Caller caller(call, *comm, coll::Op::neighbor_alltoallw, how);
  caller.spec().neighbors = neighbors;
  caller.send(sent(sendbuf, sendcounts, Counts(sdispls), sendtypes));
  caller.recv(received(recvbuf, recvcounts, Counts(rdispls), recvtypes));
  return caller.go(0);
}

}  // namespace herald::mpi::api
