// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/topo/topology.hpp"

#include <algorithm>

#include "calls.hpp"
#include "mpi/coll/internal.hpp"
#include "mpi/comm/comm.hpp"

namespace herald::mpi {
namespace {

const char* maker_of(int kind) noexcept {
  switch (kind) {
    case MPI_CART: return "Cartesian topology; give one that MPI_Cart_create made";
    case MPI_GRAPH: return "graph topology; give one that MPI_Graph_create made";
    default: return "distributed graph topology; give one that MPI_Dist_graph_create made";
  }
}

}  // namespace

const Topology* topology_of(Call& call, const Comm& comm, int kind) noexcept {
  if (comm.topology != nullptr && comm.topology->kind == kind) return comm.topology.get();
  (void)call.fail(MPI_ERR_TOPOLOGY, "argument 1 (comm) has no %s", maker_of(kind));
  return nullptr;
}

bool check_intra(Call& call, const Comm& comm) noexcept {
  if (comm.remote == nullptr) return true;
  (void)call.fail(MPI_ERR_COMM, "argument 1 (comm) is an inter-communicator; give an intra-communicator");
  return false;
}

bool check_rank(Call& call, int rank, int size, Arg arg) noexcept {
  if (rank >= 0 && rank < size) return true;
  (void)call.fail(MPI_ERR_RANK, "argument %d (%s) is %d; use a rank from 0 to %d", arg.number, arg.name, rank,
                  size - 1);
  return false;
}

std::vector<int> hosts_of(const Comm& comm, int count) noexcept {
  std::vector<int> hosts = engine::job_hosts_of(runtime().engine()).numbers(comm.partners->peers);
  hosts.resize(static_cast<std::size_t>(count));
  return hosts;
}

int make_ordered(Call& call, Comm& old, const std::vector<int>& order, Comm*& made) noexcept {
  made = nullptr;
  std::uint64_t context = old.rank == 0 ? propose_context() : 0;
  const int error = bcast_bytes(old, &context, sizeof context, 0);
  if (error != MPI_SUCCESS) return call.fail(error, "the members could not agree on a new communicator");
  if (std::find(order.begin(), order.end(), old.rank) == order.end()) return MPI_SUCCESS;
  std::vector<std::int32_t> peers;
  peers.reserve(order.size());
  for (const int member : order) peers.push_back(old.peer(member));
  made = make_comm(make_group(std::move(peers), old.session), context, old.errhandler, old.session);
  return MPI_SUCCESS;
}

int api::topo_test(Call&, Comm* comm, int* status) {
  *status = comm->topology == nullptr ? MPI_UNDEFINED : comm->topology->kind;
  return MPI_SUCCESS;
}

}  // namespace herald::mpi
