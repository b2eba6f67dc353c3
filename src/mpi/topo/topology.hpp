// SPDX-License-Identifier: BSD-3-Clause
// mpi/topo/topology.hpp: the process topology of a communicator, and how such a communicator is made.
#pragma once
#include <memory>
#include <vector>

#include "mpi/core/call.hpp"
#include "mpi/topo/grid.hpp"

namespace herald::mpi {

struct Topology {
  int kind = MPI_UNDEFINED;  // MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH
  Grid grid;
  std::vector<int> index, edges;  // MPI_GRAPH: of all ranks
  bool symmetric = true;          // MPI_GRAPH: as many edges from u to v as from v to u
  bool weighted = false;          // MPI_DIST_GRAPH
  std::vector<int> source_weights, destination_weights;
  coll::Neighbors neighbors;  // of this rank
};

// Null and failed unless `comm`, argument 1, has a topology of this kind.
const Topology* topology_of(Call& call, const Comm& comm, int kind) noexcept;
// Fails if `comm`, argument 1, is an inter-communicator.
bool check_intra(Call& call, const Comm& comm) noexcept;
// Fails unless `rank` is in 0 to size - 1.
bool check_rank(Call& call, int rank, int size, Arg arg) noexcept;

// The hosts of the first `count` members.
std::vector<int> hosts_of(const Comm& comm, int count) noexcept;

// Sets the facts about edges of other ranks that neighborhood collectives use. `destinations_of`: those of
// any rank.
template <class DestinationsOf>
void learn_all_edges(const Comm& comm, coll::Neighbors& neighbors, DestinationsOf destinations_of) noexcept {
  const std::vector<int> hosts = hosts_of(comm, comm.size);
  if (!coll::wants_all_edges(hosts)) return;
  std::vector<std::vector<coll::Edge>> all;
  for (int rank = 0; rank < comm.size; ++rank) all.push_back(destinations_of(rank));
  coll::learn_all_edges(neighbors, hosts, comm.rank, all);
}

// A communicator of these members, in this order: order[new rank] is a rank of `old`. Collective over `old`.
// Null at processes that are not members. Returns an error class.
int make_ordered(Call& call, Comm& old, const std::vector<int>& order, Comm*& made) noexcept;

}  // namespace herald::mpi
