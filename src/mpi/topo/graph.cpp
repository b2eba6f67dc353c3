// SPDX-License-Identifier: BSD-3-Clause
// Graph topologies: every process gives the whole graph.
#include <algorithm>
#include <utility>

#include "calls.hpp"
#include "mpi/core/check.hpp"
#include "mpi/topo/reorder.hpp"
#include "mpi/topo/topology.hpp"

namespace herald::mpi::api {
namespace {

// Arguments 2 to 4 of a call. False: the call has failed.
bool read_graph(Call& call, const Comm& comm, int nnodes, const int* index, const int* edges,
                Graph& graph) noexcept {
  if (nnodes < 0 || nnodes > comm.size) {
    (void)call.fail(MPI_ERR_ARG, "argument 2 (nnodes) is %d; the communicator has %d ranks: use 0 to %d",
                    nnodes, comm.size, comm.size);
    return false;
  }
  if (nnodes > 0) check_pointer(call, index, {3, "index"});
  for (int v = 0, last = 0; v < nnodes && !call.failed(); last = index[v++])
    if (index[v] < last)
      (void)call.fail(MPI_ERR_ARG,
                      "argument 3 (index[%d]) is %d; each element is the sum of all degrees so far, and must "
                      "not decrease",
                      v, index[v]);
    else
      graph.first.push_back(static_cast<std::size_t>(index[v]));
  if (call.failed() || graph.first.back() == 0) return !call.failed();
  check_pointer(call, edges, {4, "edges"});
  for (std::size_t e = 0; e < graph.first.back() && !call.failed(); ++e) {
    if (edges[e] < 0 || edges[e] >= nnodes)
      (void)call.fail(MPI_ERR_RANK, "argument 4 (edges[%zu]) is %d; the graph has nodes 0 to %d", e, edges[e],
                      nnodes - 1);
    graph.to.push_back(edges[e]);
  }
  graph.weight.assign(graph.to.size(), 1);
  return !call.failed();
}

bool is_symmetric(const Graph& graph) noexcept {
  std::vector<std::pair<int, int>> out, in;
  for (int v = 0; v < graph.size(); ++v)
    for (std::size_t e = graph.begin(v); e < graph.end(v); ++e) {
      out.emplace_back(v, graph.to[e]);
      in.emplace_back(graph.to[e], v);
    }
  std::sort(out.begin(), out.end());
  std::sort(in.begin(), in.end());
  return out == in;
}

std::vector<int> order_of(const Comm& comm, const Graph& graph, bool reorder) noexcept {
  if (reorder) return reorder_graph(graph, hosts_of(comm, graph.size()));
  std::vector<int> order;
  for (int i = 0; i < graph.size(); ++i) order.push_back(i);
  return order;
}

// The neighbours of a rank in `topology`.
std::span<const int> neighbors_in(const Topology& topology, int rank) noexcept {
  const auto end = static_cast<std::size_t>(topology.index[static_cast<std::size_t>(rank)]);
  const auto begin = rank == 0 ? std::size_t{0}
                               : static_cast<std::size_t>(topology.index[static_cast<std::size_t>(rank) - 1]);
  return {topology.edges.data() + begin, end - begin};
}

void set_graph(Comm& comm, const Graph& graph) noexcept {
  auto topology = std::make_shared<Topology>();
  topology->kind = MPI_GRAPH;
  for (int v = 0; v < graph.size(); ++v) topology->index.push_back(static_cast<int>(graph.end(v)));
  topology->edges = graph.to;
  topology->symmetric = is_symmetric(graph);
  topology->neighbors.sources = topology->neighbors.destinations =
      numbered(neighbors_in(*topology, comm.rank));
  if (topology->symmetric)
    learn_all_edges(comm, topology->neighbors,
                    [&](int rank) { return numbered(neighbors_in(*topology, rank)); });
  comm.topology = std::move(topology);
}

// As many elements as there is room for.
void give(Call& call, std::span<const int> from, int room, int* to, Arg arg) noexcept {
  const std::size_t count = std::min(from.size(), static_cast<std::size_t>(room));
  if (count == 0) return;
  check_pointer(call, to, arg);
  if (!call.failed()) std::copy_n(from.begin(), count, to);
}

}  // namespace

int graph_create(Call& call, Comm* comm_old, int nnodes, const int index[], const int edges[], int reorder,
                 MPI_Comm* comm_graph) {
  Graph graph;
  if (!check_intra(call, *comm_old) || !read_graph(call, *comm_old, nnodes, index, edges, graph))
    return call.error();
  Comm* made = nullptr;
  const int error = make_ordered(call, *comm_old, order_of(*comm_old, graph, reorder != 0), made);
  if (error != MPI_SUCCESS) return error;
  if (made != nullptr) set_graph(*made, graph);
  *comm_graph = made == nullptr ? MPI_COMM_NULL : handle_of(made);
  return MPI_SUCCESS;
}

int graph_map(Call& call, Comm* comm, int nnodes, const int index[], const int edges[], int* newrank) {
  Graph graph;
  if (!check_intra(call, *comm) || !read_graph(call, *comm, nnodes, index, edges, graph)) return call.error();
  const std::vector<int> order = order_of(*comm, graph, true);
  const auto found = std::find(order.begin(), order.end(), comm->rank);
  *newrank = found == order.end() ? MPI_UNDEFINED : static_cast<int>(found - order.begin());
  return MPI_SUCCESS;
}

int graphdims_get(Call& call, Comm* comm, int* nnodes, int* nedges) {
  const Topology* topology = topology_of(call, *comm, MPI_GRAPH);
  if (topology == nullptr) return call.error();
  *nnodes = static_cast<int>(topology->index.size());
  *nedges = static_cast<int>(topology->edges.size());
  return MPI_SUCCESS;
}

int graph_get(Call& call, Comm* comm, int maxindex, int maxedges, int index[], int edges[]) {
  const Topology* topology = topology_of(call, *comm, MPI_GRAPH);
  if (topology == nullptr) return call.error();
  give(call, topology->index, maxindex, index, {4, "index"});
  give(call, topology->edges, maxedges, edges, {5, "edges"});
  return call.error();
}

int graph_neighbors_count(Call& call, Comm* comm, int rank, int* nneighbors) {
  const Topology* topology = topology_of(call, *comm, MPI_GRAPH);
  if (topology == nullptr || !check_rank(call, rank, comm->size, {2, "rank"})) return call.error();
  *nneighbors = static_cast<int>(neighbors_in(*topology, rank).size());
  return MPI_SUCCESS;
}

int graph_neighbors(Call& call, Comm* comm, int rank, int maxneighbors, int neighbors[]) {
  const Topology* topology = topology_of(call, *comm, MPI_GRAPH);
  if (topology == nullptr || !check_rank(call, rank, comm->size, {2, "rank"})) return call.error();
  give(call, neighbors_in(*topology, rank), maxneighbors, neighbors, {4, "neighbors"});
  return call.error();
}

}  // namespace herald::mpi::api
