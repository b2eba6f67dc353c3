// SPDX-License-Identifier: BSD-3-Clause
// Distributed graph topologies: each process gives some edges, and learns those of its rank.
#include <algorithm>
#include <numeric>

#include "calls.hpp"
#include "mpi/coll/internal.hpp"
#include "mpi/core/check.hpp"
#include "mpi/topo/reorder.hpp"
#include "mpi/topo/topology.hpp"

namespace herald::mpi::api {
namespace {

// One end of an edge, as sent to the process of the other end.
struct Link {
  enum Role : std::int32_t { source, destination };
  std::int32_t role, rank, weight;
};
using Links = std::vector<Link>;

std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }

bool has_weights(const int* weights) noexcept { return weights != MPI_UNWEIGHTED; }

// The links that all ranks have for this one, in the order of their ranks.
int exchange(Comm& comm, const std::vector<Links>& to, Links& from) noexcept {
  const auto n = at(comm.size);
  std::vector<std::int64_t> out(n), in(n);
  Links packed;
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = static_cast<std::int64_t>(to[i].size() * sizeof(Link));
    packed.insert(packed.end(), to[i].begin(), to[i].end());
  }
  if (const int error = alltoall_bytes(comm, out.data(), in.data(), sizeof out[0]); error != MPI_SUCCESS)
    return error;
  from.resize(static_cast<std::size_t>(std::accumulate(in.begin(), in.end(), std::int64_t{0})) /
              sizeof(Link));
  return alltoallv_bytes(comm, packed.data(), out, from.data(), in);
}

// Rank 0 knows all edges for a moment, and decides; then each process gets the links of its new rank.
int reorder_links(Comm& comm, Links& links, std::vector<int>& order) noexcept {
  std::vector<Links> to(at(comm.size));
  for (const Link& link : links)
    if (link.role == Link::destination) to[0].push_back({comm.rank, link.rank, link.weight});
  Links all;
  if (const int error = exchange(comm, to, all); error != MPI_SUCCESS) return error;
  if (comm.rank == 0) {
    Graph graph;
    std::size_t e = 0;
    for (int v = 0; v < comm.size; ++v) {
      for (; e < all.size() && all[e].role == v; ++e) {
        graph.to.push_back(all[e].rank);
        graph.weight.push_back(all[e].weight);
      }
      graph.first.push_back(graph.to.size());
    }
    order = reorder_graph(graph, hosts_of(comm, comm.size));
  }
  const int error = bcast_bytes(comm, order.data(), order.size() * sizeof order[0], 0);
  if (error != MPI_SUCCESS) return error;
  to.assign(at(comm.size), {});
  to[at(order[at(comm.rank)])] = std::move(links);
  return exchange(comm, to, links);
}

void set_links(Comm& comm, const Links& links, bool weighted) noexcept {
  auto topology = std::make_shared<Topology>();
  topology->kind = MPI_DIST_GRAPH;
  topology->weighted = weighted;
  std::vector<int> sources, destinations;
  for (const Link& link : links) {
    (link.role == Link::source ? sources : destinations).push_back(link.rank);
    if (weighted)
      (link.role == Link::source ? topology->source_weights : topology->destination_weights)
          .push_back(link.weight);
  }
  topology->neighbors = {numbered(sources), numbered(destinations)};
  comm.topology = std::move(topology);
}

// Every rank learns the destinations of all, unless there are too many of them.
int share_destinations(Comm& comm) noexcept {
  constexpr int kMostEdges = 16384;  // 64 KiB at each rank, for a moment
  if (!coll::wants_all_edges(hosts_of(comm, comm.size))) return MPI_SUCCESS;
  const auto topology = std::make_shared<Topology>(*comm.topology);
  const std::vector<coll::Edge>& mine = topology->neighbors.destinations;
  const auto degree = static_cast<std::int32_t>(mine.size());
  std::vector<std::int32_t> degrees(at(comm.size));
  if (const int error = allgather_bytes(comm, &degree, degrees.data(), sizeof degree); error != MPI_SUCCESS)
    return error;
  const std::int32_t most = *std::max_element(degrees.begin(), degrees.end());
  if (most == 0 || most > kMostEdges / comm.size) return MPI_SUCCESS;
  std::vector<int> row(at(most)), rows(at(most) * at(comm.size));
  for (std::size_t i = 0; i < mine.size(); ++i) row[i] = mine[i].rank;
  const int error = allgather_bytes(comm, row.data(), rows.data(), row.size() * sizeof row[0]);
  if (error != MPI_SUCCESS) return error;
  learn_all_edges(comm, topology->neighbors, [&](int rank) {
    return numbered(std::span<const int>(rows).subspan(at(rank) * at(most), at(degrees[at(rank)])));
  });
  comm.topology = topology;
  return MPI_SUCCESS;
}

int create(Call& call, Comm& comm, Links& links, bool weighted, bool reorder, MPI_Comm* result) noexcept {
  std::vector<int> order(at(comm.size));
  std::iota(order.begin(), order.end(), 0);
  if (reorder)
    if (const int error = reorder_links(comm, links, order); error != MPI_SUCCESS)
      return call.fail(error, "the members could not exchange their edges");
  Comm* made = nullptr;
  if (const int error = make_ordered(call, comm, order, made); error != MPI_SUCCESS) return error;
  set_links(*made, links, weighted);
  if (const int error = share_destinations(*made); error != MPI_SUCCESS)
    return call.fail(error, "the members could not exchange their edges");
  *result = handle_of(made);
  return MPI_SUCCESS;
}

bool check_degree(Call& call, int degree, Arg arg) noexcept {
  if (degree >= 0) return true;
  (void)call.fail(MPI_ERR_ARG, "argument %d (%s) is %d; it must not be negative", arg.number, arg.name,
                  degree);
  return false;
}

// `count` ranks and weights. False: the call has failed.
bool check_ends(Call& call, const Comm& comm, int count, const int* ranks, Arg ranks_arg, const int* weights,
                Arg weights_arg) noexcept {
  if (count == 0) return true;
  check_pointer(call, ranks, ranks_arg);
  if (weights == nullptr || weights == MPI_WEIGHTS_EMPTY)
    (void)call.fail(MPI_ERR_ARG, "argument %d (%s) has no weights for %d edges; give them, or MPI_UNWEIGHTED",
                    weights_arg.number, weights_arg.name, count);
  for (int i = 0; i < count && !call.failed(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= comm.size)
      (void)call.fail(MPI_ERR_RANK, "argument %d (%s[%d]) is %d; use a rank from 0 to %d", ranks_arg.number,
                      ranks_arg.name, i, ranks[i], comm.size - 1);
    else if (has_weights(weights) && weights[i] < 0)
      (void)call.fail(MPI_ERR_ARG, "argument %d (%s[%d]) is %d; weights must not be negative",
                      weights_arg.number, weights_arg.name, i, weights[i]);
  }
  return !call.failed();
}

// The neighbours that there is room for, with their weights unless they are not wanted.
void give(Call& call, const std::vector<coll::Edge>& edges, const std::vector<int>& weights, int room,
          int* ranks, Arg ranks_arg, int* out_weights, Arg weights_arg) noexcept {
  const std::size_t count = std::min(edges.size(), at(room));
  if (count == 0) return;
  const bool wanted = !weights.empty() && has_weights(out_weights);
  check_pointer(call, ranks, ranks_arg);
  if (wanted) check_pointer(call, out_weights, weights_arg);
  for (std::size_t i = 0; i < count && !call.failed(); ++i) {
    ranks[i] = edges[i].rank;
    if (wanted) out_weights[i] = weights[i];
  }
}

}  // namespace

int dist_graph_create(Call& call, Comm* comm_old, int n, const int sources[], const int degrees[],
                      const int destinations[], const int weights[], Info*, int reorder,
                      MPI_Comm* comm_dist_graph) {
  if (!check_intra(call, *comm_old) || !check_degree(call, n, {2, "n"})) return call.error();
  int edges = 0;
  if (n > 0) check_pointer(call, degrees, {4, "degrees"});
  for (int i = 0; i < n && !call.failed(); ++i) {
    if (degrees[i] < 0 || __builtin_add_overflow(edges, degrees[i], &edges))
      (void)call.fail(MPI_ERR_ARG,
                      "argument 4 (degrees[%d]) is %d; give the number of edges from sources[%d]", i,
                      degrees[i], i);
  }
  if (call.failed() ||
      !check_ends(call, *comm_old, n, sources, {3, "sources"}, MPI_UNWEIGHTED, {6, "weights"}) ||
      !check_ends(call, *comm_old, edges, destinations, {5, "destinations"}, weights, {6, "weights"}))
    return call.error();
  const bool weighted = has_weights(weights);
  std::vector<Links> to(at(comm_old->size));
  for (int i = 0, e = 0; i < n; ++i)
    for (int k = 0; k < degrees[i]; ++k, ++e) {
      const int weight = weighted ? weights[e] : 1;
      to[at(sources[i])].push_back({Link::destination, destinations[e], weight});
      to[at(destinations[e])].push_back({Link::source, sources[i], weight});
    }
  Links links;
  if (const int error = exchange(*comm_old, to, links); error != MPI_SUCCESS)
    return call.fail(error, "the members could not exchange their edges");
  return create(call, *comm_old, links, weighted, reorder != 0, comm_dist_graph);
}

int dist_graph_create_adjacent(Call& call, Comm* comm_old, int indegree, const int sources[],
                               const int sourceweights[], int outdegree, const int destinations[],
                               const int destweights[], Info*, int reorder, MPI_Comm* comm_dist_graph) {
  if (!check_intra(call, *comm_old) || !check_degree(call, indegree, {2, "indegree"}) ||
      !check_degree(call, outdegree, {5, "outdegree"}) ||
      !check_ends(call, *comm_old, indegree, sources, {3, "sources"}, sourceweights, {4, "sourceweights"}) ||
      !check_ends(call, *comm_old, outdegree, destinations, {6, "destinations"}, destweights,
                  {7, "destweights"}))
    return call.error();
  const bool weighted = has_weights(sourceweights);
  if (weighted != has_weights(destweights))
    return call.fail(MPI_ERR_ARG,
                     "only one of arguments 4 (sourceweights) and 7 (destweights) is MPI_UNWEIGHTED; give "
                     "weights for both, or for neither");
  Links links;
  for (int i = 0; i < indegree; ++i)
    links.push_back({Link::source, sources[i], weighted ? sourceweights[i] : 1});
  for (int i = 0; i < outdegree; ++i)
    links.push_back({Link::destination, destinations[i], weighted ? destweights[i] : 1});
  return create(call, *comm_old, links, weighted, reorder != 0, comm_dist_graph);
}

int dist_graph_neighbors_count(Call& call, Comm* comm, int* indegree, int* outdegree, int* weighted) {
  const Topology* topology = topology_of(call, *comm, MPI_DIST_GRAPH);
  if (topology == nullptr) return call.error();
  *indegree = static_cast<int>(topology->neighbors.sources.size());
  *outdegree = static_cast<int>(topology->neighbors.destinations.size());
  *weighted = topology->weighted ? 1 : 0;
  return MPI_SUCCESS;
}

int dist_graph_neighbors(Call& call, Comm* comm, int maxindegree, int sources[], int sourceweights[],
                         int maxoutdegree, int destinations[], int destweights[]) {
  const Topology* topology = topology_of(call, *comm, MPI_DIST_GRAPH);
  if (topology == nullptr) return call.error();
  const coll::Neighbors& neighbors = topology->neighbors;
  give(call, neighbors.sources, topology->source_weights, maxindegree, sources, {3, "sources"}, sourceweights,
       {4, "sourceweights"});
  give(call, neighbors.destinations, topology->destination_weights, maxoutdegree, destinations,
       {6, "destinations"}, destweights, {7, "destweights"});
  return call.error();
}

}  // namespace herald::mpi::api
