/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: a topology forgets its shape; a rank and its coordinates do not agree; a duplicate or
   a sub-grid has no topology; processes outside of the grid get a communicator; edges of a distributed graph
   are lost, or lose their weights; a new order of ranks loses a process or has more edges between hosts; a
   wrong argument is not refused. With the argument "hosts" the new order must be better than the old one. */
#include "check.h"

static int rank, size;

/* The largest square of dimensions that the job has ranks for. */
static void shape(int dims[2]) {
  dims[0] = dims[1] = 0;
  OK(MPI_Dims_create(size, 2, dims));
  CHECK(dims[0] * dims[1] == size && dims[0] >= dims[1]);
}

static void dims(void) {
  int d[4] = {0, 3, 0, 0}, none[1] = {0};
  OK(MPI_Dims_create(72, 4, d));
  CHECK(d[0] == 4 && d[1] == 3 && d[2] == 3 && d[3] == 2);
  d[0] = 6, d[1] = 1;
  OK(MPI_Dims_create(6, 2, d));
  CHECK(d[0] == 6 && d[1] == 1);
  OK(MPI_Dims_create(1, 0, none));
  d[0] = 4, d[1] = 0;
  CHECK_CLASS(MPI_Dims_create(6, 2, d), MPI_ERR_DIMS);
  CHECK(d[0] == 4 && d[1] == 0);
  d[0] = 3, d[1] = 3;
  CHECK_CLASS(MPI_Dims_create(6, 2, d), MPI_ERR_DIMS);
  d[0] = -1, d[1] = 0;
  CHECK_CLASS(MPI_Dims_create(6, 2, d), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Dims_create(6, -1, d), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Dims_create(0, 2, d), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dims_create(6, 2, NULL), MPI_ERR_ARG);
}

static void check_cart(MPI_Comm comm, const int dims[2], const int periods[2]) {
  int kind, n, got[3][2], me, i, coords[2], back, source, dest;
  MPI_Comm_rank(comm, &me);
  OK(MPI_Topo_test(comm, &kind));
  CHECK(kind == MPI_CART);
  OK(MPI_Cartdim_get(comm, &n));
  CHECK(n == 2);
  OK(MPI_Cart_get(comm, 2, got[0], got[1], got[2]));
  for (i = 0; i < 2; i++) CHECK(got[0][i] == dims[i] && got[1][i] == periods[i]);
  for (i = 0; i < dims[0] * dims[1]; i++) {
    OK(MPI_Cart_coords(comm, i, 2, coords));
    CHECK(coords[0] == i / dims[1] && coords[1] == i % dims[1]);
    OK(MPI_Cart_rank(comm, coords, &back));
    CHECK(back == i);
    if (periods[0]) {
      coords[0] -= 3 * dims[0];
      OK(MPI_Cart_rank(comm, coords, &back));
      CHECK(back == i);
    }
    if (i == me) CHECK(got[2][0] == i / dims[1] && got[2][1] == i % dims[1]);
  }
  OK(MPI_Cart_shift(comm, 1, 2, &source, &dest));
  CHECK(dest == (got[2][1] + 2 < dims[1] ? me + 2
                 : periods[1]            ? me - got[2][1] + (got[2][1] + 2) % dims[1]
                                         : MPI_PROC_NULL));
  OK(MPI_Cart_shift(comm, 0, 0, &source, &dest));
  CHECK(source == me && dest == me);
}

static void carts(void) {
  int d[2], periods[2] = {1, 0}, remain[2] = {0, 1}, kind, n, sub_size, sub_rank, me, coords[2], i, got[3][1];
  MPI_Comm cart, copy, sub, point;
  MPI_Request request;
  shape(d);
  OK(MPI_Cart_create(MPI_COMM_WORLD, 2, d, periods, 0, &cart));
  MPI_Comm_rank(cart, &me);
  CHECK(me == rank);
  check_cart(cart, d, periods);
  OK(MPI_Comm_dup(cart, &copy));
  check_cart(copy, d, periods);
  MPI_Comm_free(&copy);
  OK(MPI_Comm_idup(cart, &copy, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check_cart(copy, d, periods);
  MPI_Comm_free(&copy);
  OK(MPI_Comm_split(cart, 0, 0, &copy));
  OK(MPI_Topo_test(copy, &kind));
  CHECK(kind == MPI_UNDEFINED);
  MPI_Comm_free(&copy);

  OK(MPI_Cart_sub(cart, remain, &sub));
  MPI_Comm_size(sub, &sub_size);
  MPI_Comm_rank(sub, &sub_rank);
  OK(MPI_Cart_coords(cart, me, 2, coords));
  CHECK(sub_size == d[1] && sub_rank == coords[1]);
  OK(MPI_Cart_get(sub, 1, got[0], got[1], got[2]));
  CHECK(got[0][0] == d[1] && got[1][0] == 0 && got[2][0] == coords[1]);
  remain[1] = 0;
  OK(MPI_Cart_sub(cart, remain, &point));
  MPI_Comm_size(point, &sub_size);
  OK(MPI_Cartdim_get(point, &n));
  CHECK(sub_size == 1 && n == 0);
  OK(MPI_Cart_rank(point, NULL, &i));
  CHECK(i == 0);
  MPI_Comm_free(&point);
  MPI_Comm_free(&sub);
  MPI_Comm_free(&cart);

  /* A smaller grid, and a grid without dimensions: the other processes get none. */
  d[0] = size > 1 ? size - 1 : 1;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, d, periods, 0, &cart));
  CHECK((cart == MPI_COMM_NULL) == (rank >= d[0]));
  if (cart != MPI_COMM_NULL) MPI_Comm_free(&cart);
  OK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &cart));
  CHECK((cart == MPI_COMM_NULL) == (rank != 0));
  if (cart != MPI_COMM_NULL) MPI_Comm_free(&cart);
  OK(MPI_Cart_map(MPI_COMM_WORLD, 1, d, periods, &i));
  CHECK(rank < d[0] ? i >= 0 && i < d[0] : i == MPI_UNDEFINED);
}

/* A ring in which rank 0 also has an edge to itself. */
static void graphs(void) {
  int *index = malloc(sizeof(int) * (size_t)size), *edges = malloc(sizeof(int) * (size_t)(2 * size + 1));
  int i, n, e, kind, count, got[3], *all = malloc(sizeof(int) * (size_t)(2 * size + 1));
  MPI_Comm graph, copy;
  for (i = 0; i < size; i++) {
    index[i] = 2 * i + 3;
    edges[2 * i + 1] = (i + size - 1) % size;
    edges[2 * i + 2] = (i + 1) % size;
  }
  edges[0] = 0;
  OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph));
  OK(MPI_Comm_dup(graph, &copy));
  OK(MPI_Topo_test(copy, &kind));
  CHECK(kind == MPI_GRAPH);
  OK(MPI_Graphdims_get(copy, &n, &e));
  CHECK(n == size && e == 2 * size + 1);
  OK(MPI_Graph_get(copy, 0, e, NULL, all));
  CHECK(memcmp(all, edges, sizeof(int) * (size_t)e) == 0);
  OK(MPI_Graph_get(copy, size, 0, all, NULL));
  CHECK(memcmp(all, index, sizeof(int) * (size_t)size) == 0);
  for (i = 0; i < size; i++) {
    OK(MPI_Graph_neighbors_count(copy, i, &count));
    CHECK(count == (i == 0 ? 3 : 2));
    OK(MPI_Graph_neighbors(copy, i, 3, got));
    CHECK(memcmp(got, edges + (i == 0 ? 0 : index[i - 1]), sizeof(int) * (size_t)count) == 0);
  }
  OK(MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &i));
  CHECK(i >= 0 && i < size);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&graph);
  OK(MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &graph));
  CHECK(graph == MPI_COMM_NULL);
  free(index);
  free(edges);
  free(all);
}

/* Rank 0 gives all edges: from each rank to the next, of weight its rank, and twice from the last to rank 0.
 */
static void dist_graphs(void) {
  int *sources = malloc(sizeof(int) * (size_t)(size + 1)),
      *degrees = malloc(sizeof(int) * (size_t)(size + 1));
  int *to = malloc(sizeof(int) * (size_t)(size + 1)), *weights = malloc(sizeof(int) * (size_t)(size + 1));
  int i, in, out, weighted, got[4][3], reorder, kind, me;
  MPI_Comm graph;
  for (i = 0; i <= size; i++) {
    sources[i] = i < size ? i : size - 1;
    degrees[i] = 1;
    to[i] = i < size ? (i + 1) % size : 0;
    weights[i] = i;
  }
  for (reorder = 0; reorder < 2; reorder++) {
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0 ? size + 1 : 0, sources, degrees, to,
                             rank == 0 ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, reorder, &graph));
    MPI_Comm_rank(graph, &me);
    OK(MPI_Topo_test(graph, &kind));
    CHECK(kind == MPI_DIST_GRAPH);
    OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
    CHECK(in == (me == 0 ? 2 : 1) && out == (me == size - 1 ? 2 : 1) && weighted);
    OK(MPI_Dist_graph_neighbors(graph, 3, got[0], got[1], 3, got[2], got[3]));
    CHECK(got[0][0] == (me + size - 1) % size && got[1][0] == got[0][0]);
    CHECK(got[2][0] == (me + 1) % size && got[3][0] == me);
    if (me == 0) CHECK(got[0][1] == size - 1 && got[1][1] == size);
    if (me == size - 1) CHECK(got[2][1] == 0 && got[3][1] == size);
    got[1][0] = got[3][0] = -7;
    OK(MPI_Dist_graph_neighbors(graph, 1, got[0], MPI_UNWEIGHTED, 1, got[2], MPI_UNWEIGHTED));
    MPI_Comm_free(&graph);
  }
  in = rank == 0 ? 0 : 1;
  out = rank == size - 1 ? 0 : 1;
  to[0] = rank + 1;
  sources[0] = rank - 1;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, MPI_UNWEIGHTED, out, to, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, 0, &graph));
  OK(MPI_Dist_graph_neighbors_count(graph, &kind, &i, &weighted));
  CHECK(kind == in && i == out && !weighted);
  MPI_Comm_free(&graph);
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY,
                                    MPI_INFO_NULL, 1, &graph));
  OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
  CHECK(in == 0 && out == 0 && weighted);
  MPI_Comm_free(&graph);
  free(sources);
  free(degrees);
  free(to);
  free(weights);
}

/* Neighbours of the grid that are on another host, summed over all ranks. */
static int crossing(MPI_Comm cart) {
  int *hosts = malloc(sizeof(int) * (size_t)size), host = rank, i, me, peers[4], sum = 0, all;
  MPI_Comm shared;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
  MPI_Bcast(&host, 1, MPI_INT, 0, shared);
  MPI_Comm_free(&shared);
  MPI_Comm_rank(cart, &me);
  MPI_Allgather(&host, 1, MPI_INT, hosts, 1, MPI_INT, cart);
  for (i = 0; i < 2; i++) MPI_Cart_shift(cart, i, 1, &peers[2 * i], &peers[2 * i + 1]);
  for (i = 0; i < 4; i++) sum += peers[i] != MPI_PROC_NULL && hosts[peers[i]] != hosts[me];
  MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, cart);
  free(hosts);
  return all;
}

static void reordered(int must_gain) {
  int d[2], periods[2] = {0, 0}, before, after, kept, mapped, me, seen = 0, sum;
  MPI_Comm plain, better;
  shape(d);
  OK(MPI_Cart_create(MPI_COMM_WORLD, 2, d, periods, 0, &plain));
  OK(MPI_Cart_create(MPI_COMM_WORLD, 2, d, periods, 1, &better));
  MPI_Comm_rank(plain, &kept);
  MPI_Comm_rank(better, &me);
  OK(MPI_Cart_map(MPI_COMM_WORLD, 2, d, periods, &mapped));
  CHECK(kept == rank && mapped == me);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (kept = 0; kept < size; kept++) seen += kept;
  CHECK(sum == seen);
  check_cart(better, d, periods);
  before = crossing(plain);
  after = crossing(better);
  CHECK(after <= before);
  if (must_gain) CHECK(after < before);
  MPI_Comm_free(&plain);
  MPI_Comm_free(&better);
}

/* Communicators without a topology, and arguments of calls that make one. */
static void wrong_creations(MPI_Comm world) {
  int d[2] = {size, 2}, periods[2] = {0, 0}, out[4], one = 1, edge = 1, minus = -1, zero = 0, data = 0, got;
  MPI_Comm comm;
  CHECK_CLASS(MPI_Cart_create(world, 2, d, periods, 0, &comm), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cart_create(world, -1, d, periods, 0, &comm), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cart_create(world, 1, &zero, periods, 0, &comm), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cart_create(world, 1, NULL, periods, 0, &comm), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Cart_create(world, 1, d, periods, 0, NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Cart_map(world, 1, &zero, periods, out), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cartdim_get(world, out), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Cart_get(world, 1, out, out, out), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Cart_sub(world, periods, &comm), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Graphdims_get(world, out, out), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Dist_graph_neighbors_count(world, out, out, out), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Neighbor_alltoall(&data, 1, MPI_INT, &got, 1, MPI_INT, world), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Graph_create(world, size + 1, &one, &edge, 0, &comm), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Graph_create(world, 1, &one, &edge, 0, &comm), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Graph_create(world, 1, &minus, &edge, 0, &comm), MPI_ERR_ARG);
#define DIST(degree, to, weights) \
  MPI_Dist_graph_create(world, 1, &zero, degree, to, weights, MPI_INFO_NULL, 0, &comm)
  CHECK_CLASS(DIST(&one, &size, MPI_UNWEIGHTED), MPI_ERR_RANK);
  CHECK_CLASS(DIST(&one, &zero, &minus), MPI_ERR_ARG);
  CHECK_CLASS(DIST(&minus, &zero, MPI_UNWEIGHTED), MPI_ERR_ARG);
  CHECK_CLASS(DIST(&one, &zero, MPI_WEIGHTS_EMPTY), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dist_graph_create_adjacent(world, 1, &zero, &one, 1, &zero, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                             0, &comm),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dist_graph_create_adjacent(world, 1, &size, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED,
                                             MPI_INFO_NULL, 0, &comm),
              MPI_ERR_RANK);
}

static void wrong_queries(MPI_Comm cart) {
  int out[4], data[8] = {0}, got[8];
  CHECK_CLASS(MPI_Cart_coords(cart, size, 1, out), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Cart_coords(cart, 0, 0, out), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cart_get(cart, 0, out, out, out), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cart_rank(cart, &size, out), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Cart_shift(cart, 1, 1, out, out), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cart_shift(cart, -1, 1, out, out), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Graph_neighbors(cart, 0, 1, out), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Neighbor_alltoall(data, -1, MPI_INT, got, 1, MPI_INT, cart), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Neighbor_alltoall(MPI_IN_PLACE, 1, MPI_INT, got, 1, MPI_INT, cart), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Neighbor_alltoall(data, 1, MPI_DATATYPE_NULL, got, 1, MPI_INT, cart), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Neighbor_allgatherv(data, 1, MPI_INT, got, NULL, out, MPI_INT, cart), MPI_ERR_ARG);
  if (size == 1) return; /* without neighbours buffers do not matter */
  CHECK_CLASS(MPI_Neighbor_alltoall(data, 1, MPI_INT, data, 1, MPI_INT, cart), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Neighbor_allgather(NULL, 1, MPI_INT, got, 1, MPI_INT, cart), MPI_ERR_BUFFER);
}

static void wrong_calls(void) {
  int one = 1, open = 0, one_way[2] = {1, 1}, data = 0, got;
  MPI_Comm comm, graph, inter, half, world;
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  wrong_creations(world);
  OK(MPI_Cart_create(world, 1, &size, &open, 0, &comm));
  wrong_queries(comm);
  MPI_Comm_free(&comm);
  if (size > 1) {
    /* Only rank 0 has an edge: rank 1 would never answer it. */
    OK(MPI_Graph_create(world, 2, one_way, &one, 0, &graph));
    if (graph != MPI_COMM_NULL) {
      CHECK_CLASS(MPI_Neighbor_alltoall(&data, 1, MPI_INT, &got, 1, MPI_INT, graph), MPI_ERR_TOPOLOGY);
      MPI_Comm_free(&graph);
    }
    MPI_Comm_split(world, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, world, rank % 2 == 0 ? 1 : 0, 5, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Cart_create(inter, 1, &one, &open, 0, &comm), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Neighbor_alltoall(&data, 1, MPI_INT, &got, 1, MPI_INT, inter), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  MPI_Comm_free(&world);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  dims();
  carts();
  graphs();
  dist_graphs();
  reordered(argc > 1 && strcmp(argv[1], "hosts") == 0);
  wrong_calls();
  return check_finalize();
}
