// SPDX-License-Identifier: BSD-3-Clause
// Cartesian topologies.
#include <algorithm>

#include "calls.hpp"
#include "mpi/coll/internal.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/core/check.hpp"
#include "mpi/topo/dims.hpp"
#include "mpi/topo/reorder.hpp"
#include "mpi/topo/topology.hpp"

namespace herald::mpi::api {
namespace {

int neighbor_or_null(int rank) noexcept { return rank == coll::kNoRank ? MPI_PROC_NULL : rank; }

// The grid of arguments 2 to 4, no larger than `size`. False: the call has failed.
bool read_grid(Call& call, int size, int ndims, const int* dims, const int* periods, Grid& grid) noexcept {
  if (ndims < 0) {
    (void)call.fail(MPI_ERR_DIMS, "argument 2 (ndims) is %d; it must not be negative", ndims);
    return false;
  }
  if (ndims > 0) {
    check_pointer(call, dims, {3, "dims"});
    check_pointer(call, periods, {4, "periods"});
  }
  std::int64_t cells = 1;
  for (int i = 0; i < ndims && !call.failed(); ++i) {
    if (dims[i] <= 0)
      (void)call.fail(MPI_ERR_DIMS, "argument 3 (dims[%d]) is %d; it must be positive", i, dims[i]);
    else if (cells *= dims[i]; cells > size)
      (void)call.fail(
          MPI_ERR_DIMS,
          "argument 3 (dims) describes a grid of more cells than the %d ranks of the communicator", size);
    grid.dims.push_back(dims[i]);
    grid.periodic.push_back(periods[i] != 0 ? 1 : 0);
  }
  return !call.failed();
}

std::vector<int> order_of(const Comm& comm, const Grid& grid, bool reorder) noexcept {
  const int cells = grid.size();
  if (reorder) return reorder_grid(grid, hosts_of(comm, cells));
  std::vector<int> order;
  for (int i = 0; i < cells; ++i) order.push_back(i);
  return order;
}

void set_grid(Comm& comm, Grid grid) noexcept {
  auto topology = std::make_shared<Topology>();
  topology->kind = MPI_CART;
  topology->neighbors = grid.neighbors_of(comm.rank);
  learn_all_edges(comm, topology->neighbors, [&](int rank) { return grid.neighbors_of(rank).destinations; });
  topology->grid = std::move(grid);
  comm.topology = std::move(topology);
}

// Room for an element of each dimension.
bool check_room(Call& call, const Grid& grid, int maxdims, Arg arg) noexcept {
  if (maxdims >= grid.ndims()) return true;
  (void)call.fail(MPI_ERR_DIMS,
                  "argument %d (%s) is %d; the topology has %d dimensions: give as many elements", arg.number,
                  arg.name, maxdims, grid.ndims());
  return false;
}

}  // namespace

int dims_create(Call& call, int nnodes, int ndims, int* dims) {
  if (nnodes <= 0) return call.fail(MPI_ERR_ARG, "argument 1 (nnodes) is %d; it must be positive", nnodes);
  if (ndims < 0) return call.fail(MPI_ERR_DIMS, "argument 2 (ndims) is %d; it must not be negative", ndims);
  if (ndims > 0) check_pointer(call, dims, {3, "dims"});
  int free = 0;
  std::int64_t given = 1;
  for (int i = 0; i < ndims && !call.failed(); ++i) {
    if (dims[i] < 0)
      (void)call.fail(MPI_ERR_DIMS, "argument 3 (dims[%d]) is %d; give 0 to have it chosen, or its value", i,
                      dims[i]);
    else if (dims[i] == 0)
      ++free;
    else if (given *= dims[i]; given > nnodes)
      break;
  }
  if (call.failed()) return call.error();
  if (nnodes % given != 0 || (free == 0 && given != nnodes))
    return call.fail(MPI_ERR_DIMS,
                     "argument 3 (dims): the dimensions that are given cannot be completed to a grid of %d "
                     "nodes; their product must divide it",
                     nnodes);
  const std::vector<int> chosen = balanced_factors(nnodes / static_cast<int>(given), free);
  auto next = chosen.begin();
  for (int i = 0; i < ndims; ++i)
    if (dims[i] == 0) dims[i] = *next++;
  return MPI_SUCCESS;
}

int cart_create(Call& call, Comm* comm_old, int ndims, const int dims[], const int periods[], int reorder,
                MPI_Comm* comm_cart) {
  Grid grid;
  if (!check_intra(call, *comm_old) || !read_grid(call, comm_old->size, ndims, dims, periods, grid))
    return call.error();
  Comm* made = nullptr;
  const int error = make_ordered(call, *comm_old, order_of(*comm_old, grid, reorder != 0), made);
  if (error != MPI_SUCCESS) return error;
  if (made != nullptr) set_grid(*made, std::move(grid));
  *comm_cart = made == nullptr ? MPI_COMM_NULL : handle_of(made);
  return MPI_SUCCESS;
}

int cart_map(Call& call, Comm* comm, int ndims, const int dims[], const int periods[], int* newrank) {
  Grid grid;
  if (!check_intra(call, *comm) || !read_grid(call, comm->size, ndims, dims, periods, grid))
    return call.error();
  const std::vector<int> order = order_of(*comm, grid, true);
  const auto found = std::find(order.begin(), order.end(), comm->rank);
  *newrank = found == order.end() ? MPI_UNDEFINED : static_cast<int>(found - order.begin());
  return MPI_SUCCESS;
}

// Ranks that share the coordinates of the dropped dimensions, in their order.
int cart_sub(Call& call, Comm* comm, const int remain_dims[], MPI_Comm* newcomm) {
  const Topology* topology = topology_of(call, *comm, MPI_CART);
  if (topology == nullptr) return call.error();
  const Grid& grid = topology->grid;
  if (grid.ndims() > 0) check_pointer(call, remain_dims, {2, "remain_dims"});
  if (call.failed()) return call.error();
  std::vector<int> dropped;
  for (int i = 0; i < grid.ndims(); ++i) dropped.push_back(remain_dims[i] != 0 ? 0 : 1);
  const Grid others = grid.without(dropped);
  const auto color_of = [&](int rank) {
    std::vector<int> coords = grid.coords_of(rank), left;
    for (std::size_t i = 0; i < coords.size(); ++i)
      if (dropped[i] != 0) left.push_back(coords[i]);
    return others.rank_of(left);
  };
  const SplitEntry mine{color_of(comm->rank), comm->rank, propose_context()};
  std::vector<SplitEntry> entries(static_cast<std::size_t>(comm->size));
  const int error = allgather_bytes(*comm, &mine, entries.data(), sizeof mine);
  if (error != MPI_SUCCESS) return call.fail(error, "the members could not agree on new communicators");
  Comm* made = join(*comm, entries);
  set_grid(*made, grid.without({remain_dims, static_cast<std::size_t>(grid.ndims())}));
  *newcomm = handle_of(made);
  return MPI_SUCCESS;
}

int cartdim_get(Call& call, Comm* comm, int* ndims) {
  const Topology* topology = topology_of(call, *comm, MPI_CART);
  if (topology == nullptr) return call.error();
  *ndims = topology->grid.ndims();
  return MPI_SUCCESS;
}

int cart_get(Call& call, Comm* comm, int maxdims, int dims[], int periods[], int coords[]) {
  const Topology* topology = topology_of(call, *comm, MPI_CART);
  if (topology == nullptr || !check_room(call, topology->grid, maxdims, {2, "maxdims"})) return call.error();
  const Grid& grid = topology->grid;
  if (grid.ndims() > 0) {
    check_pointer(call, dims, {3, "dims"});
    check_pointer(call, periods, {4, "periods"});
    check_pointer(call, coords, {5, "coords"});
  }
  if (call.failed()) return call.error();
  const std::vector<int> place = grid.coords_of(comm->rank);
  std::copy(grid.dims.begin(), grid.dims.end(), dims);
  std::copy(grid.periodic.begin(), grid.periodic.end(), periods);
  std::copy(place.begin(), place.end(), coords);
  return MPI_SUCCESS;
}

int cart_coords(Call& call, Comm* comm, int rank, int maxdims, int coords[]) {
  const Topology* topology = topology_of(call, *comm, MPI_CART);
  if (topology == nullptr || !check_rank(call, rank, comm->size, {2, "rank"}) ||
      !check_room(call, topology->grid, maxdims, {3, "maxdims"}))
    return call.error();
  const std::vector<int> place = topology->grid.coords_of(rank);
  if (!place.empty()) check_pointer(call, coords, {4, "coords"});
  if (call.failed()) return call.error();
  std::copy(place.begin(), place.end(), coords);
  return MPI_SUCCESS;
}

int cart_rank(Call& call, Comm* comm, const int coords[], int* rank) {
  const Topology* topology = topology_of(call, *comm, MPI_CART);
  if (topology == nullptr) return call.error();
  const Grid& grid = topology->grid;
  if (grid.ndims() > 0) check_pointer(call, coords, {2, "coords"});
  std::vector<int> place;
  for (int i = 0; i < grid.ndims() && !call.failed(); ++i) {
    const int extent = grid.dims[static_cast<std::size_t>(i)];
    const bool inside = coords[i] >= 0 && coords[i] < extent;
    if (!inside && grid.periodic[static_cast<std::size_t>(i)] == 0)
      (void)call.fail(MPI_ERR_ARG,
                      "argument 2 (coords[%d]) is %d; this dimension is not periodic: use 0 to %d", i,
                      coords[i], extent - 1);
    place.push_back(((coords[i] % extent) + extent) % extent);
  }
  if (call.failed()) return call.error();
  *rank = grid.rank_of(place);
  return MPI_SUCCESS;
}

int cart_shift(Call& call, Comm* comm, int direction, int disp, int* rank_source, int* rank_dest) {
  const Topology* topology = topology_of(call, *comm, MPI_CART);
  if (topology == nullptr) return call.error();
  const Grid& grid = topology->grid;
  if (direction < 0 || direction >= grid.ndims())
    return call.fail(MPI_ERR_DIMS, "argument 2 (direction) is %d; the topology has %d dimensions, from 0",
                     direction, grid.ndims());
  *rank_source = neighbor_or_null(grid.shifted(comm->rank, direction, -std::int64_t{disp}));
  *rank_dest = neighbor_or_null(grid.shifted(comm->rank, direction, disp));
  return MPI_SUCCESS;
}

}  // namespace herald::mpi::api
