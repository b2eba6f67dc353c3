/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: on any topology, with several edges between two ranks, edges from a rank to itself,
   open borders and periodic dimensions of one or two ranks, a block of a neighborhood collective goes to the
   wrong place, in one of its forms. Every element is compared with messages that do the same. The seed is
   printed; HERALD_SEED=<seed> replays it. */
#include <time.h>

#include "check.h"

enum { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, OPS };
#define ROUNDS 25
#define LARGEST 6 /* items of a block, before scaling */

static unsigned long long state; /* the same at all ranks */
static unsigned draw(unsigned below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33) % below;
}

typedef struct {
  MPI_Comm comm;
  int rank, in, out;
  int *from, *from_tag, *to, *to_tag; /* two edges between the same ranks have different tags */
} topo_t;

static void* room(size_t count, size_t each) {
  void* memory = malloc(count * each + 8);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return memory;
}
static int* ints(int count) { return room((size_t)count, sizeof(int)); }

static void allocate(topo_t* t, int in, int out) {
  t->in = in;
  t->out = out;
  t->from = ints(in);
  t->from_tag = ints(in);
  t->to = ints(out);
  t->to_tag = ints(out);
}

static void number(const int* ranks, int* tags, int count) {
  int i, k;
  for (i = 0; i < count; i++)
    for (tags[i] = 0, k = 0; k < i; k++) tags[i] += ranks[k] == ranks[i];
}

static void make_cart(topo_t* t, MPI_Comm world, int size) {
  int dims[5], periods[5], n = (int)draw(5), i, cells = 1;
  for (i = 0; i < n; i++) {
    dims[i] = 1 + (int)draw(3);
    if (cells * dims[i] > size) dims[i] = 1;
    cells *= dims[i];
    periods[i] = (int)draw(2);
  }
  OK(MPI_Cart_create(world, n, dims, periods, (int)draw(2), &t->comm));
  if (t->comm == MPI_COMM_NULL) return;
  allocate(t, 2 * n, 2 * n);
  for (i = 0; i < n; i++) {
    OK(MPI_Cart_shift(t->comm, i, 1, &t->to[2 * i], &t->to[2 * i + 1]));
    t->to_tag[2 * i] = 2 * i;
    t->to_tag[2 * i + 1] = 2 * i + 1;
  }
  for (i = 0; i < 2 * n; i++) {
    t->from[i] = t->to[i];
    t->from_tag[i] = t->to_tag[i ^ 1];
  }
}

/* Edges in both directions, some of them twice, some from a node to itself. */
static void make_graph(topo_t* t, MPI_Comm world, int size) {
  const int nodes = 1 + (int)draw((unsigned)size), pairs = (int)draw((unsigned)(2 * nodes) + 1);
  int *a = ints(pairs), *b = ints(pairs), *index = ints(nodes), *edges = ints(2 * pairs), i, v, e = 0, count;
  for (i = 0; i < pairs; i++) {
    a[i] = (int)draw((unsigned)nodes);
    b[i] = (int)draw((unsigned)nodes);
  }
  for (v = 0; v < nodes; v++) {
    for (i = 0; i < pairs; i++) {
      if (a[i] == v) edges[e++] = b[i];
      if (b[i] == v && a[i] != v) edges[e++] = a[i];
    }
    index[v] = e;
  }
  OK(MPI_Graph_create(world, nodes, index, edges, (int)draw(2), &t->comm));
  if (t->comm != MPI_COMM_NULL) {
    MPI_Comm_rank(t->comm, &v);
    OK(MPI_Graph_neighbors_count(t->comm, v, &count));
    allocate(t, count, count);
    OK(MPI_Graph_neighbors(t->comm, v, count, t->to));
    OK(MPI_Graph_neighbors(t->comm, v, count, t->from));
    CHECK(memcmp(t->to, edges + (v == 0 ? 0 : index[v - 1]), sizeof(int) * (size_t)count) == 0);
    number(t->to, t->to_tag, count);
    number(t->from, t->from_tag, count);
  }
  free(a);
  free(b);
  free(index);
  free(edges);
}

/* All ranks know all edges, and give them in one of two ways. */
static void make_dist_graph(topo_t* t, MPI_Comm world, int size) {
  const int edges = (int)draw((unsigned)(4 * size)), adjacent = (int)draw(2), weighted = (int)draw(2);
  const int reorder = (int)draw(2);
  int *a = ints(edges), *b = ints(edges), *giver = ints(edges), *w = ints(edges), *ones = ints(edges);
  int *src = ints(edges), *dst = ints(edges), *sw = ints(edges), *dw = ints(edges);
  int i, me, in = 0, out = 0, n = 0, is_weighted;
  MPI_Comm_rank(world, &me);
  for (i = 0; i < edges; i++) {
    a[i] = (int)draw((unsigned)size);
    b[i] = (int)draw((unsigned)size);
    giver[i] = (int)draw((unsigned)size);
    w[i] = (int)draw(100);
    ones[i] = 1;
  }
  if (adjacent) {
    for (i = 0; i < edges; i++) {
      if (b[i] == me) sw[in] = w[i], src[in++] = a[i];
      if (a[i] == me) dw[out] = w[i], dst[out++] = b[i];
    }
    OK(MPI_Dist_graph_create_adjacent(world, in, src,
                                      !weighted ? MPI_UNWEIGHTED
                                      : in      ? sw
                                                : MPI_WEIGHTS_EMPTY,
                                      out, dst,
                                      !weighted ? MPI_UNWEIGHTED
                                      : out     ? dw
                                                : MPI_WEIGHTS_EMPTY,
                                      MPI_INFO_NULL, reorder, &t->comm));
  } else {
    for (i = 0; i < edges; i++)
      if (giver[i] == me) src[n] = a[i], dw[n] = w[i], dst[n++] = b[i];
    OK(MPI_Dist_graph_create(world, n, src, ones, dst,
                             !weighted ? MPI_UNWEIGHTED
                             : n       ? dw
                                       : MPI_WEIGHTS_EMPTY,
                             MPI_INFO_NULL, reorder, &t->comm));
  }
  OK(MPI_Dist_graph_neighbors_count(t->comm, &in, &out, &is_weighted));
  CHECK(is_weighted == weighted);
  allocate(t, in, out);
  OK(MPI_Dist_graph_neighbors(t->comm, in, t->from, sw, out, t->to, dw));
  number(t->from, t->from_tag, in);
  number(t->to, t->to_tag, out);
  /* The process with rank v in the new communicator has the edges of v, each once. */
  MPI_Comm_rank(t->comm, &me);
  if (!reorder) MPI_Comm_rank(world, &n);
  if (!reorder) CHECK(n == me);
  for (i = 0; i < edges; i++) {
    int k, found_in = 0, found_out = 0, same = 0;
    for (k = 0; k < edges; k++) same += a[k] == a[i] && b[k] == b[i] && (!weighted || w[k] == w[i]);
    for (k = 0; k < in; k++) found_in += b[i] == me && t->from[k] == a[i] && (!weighted || sw[k] == w[i]);
    for (k = 0; k < out; k++) found_out += a[i] == me && t->to[k] == b[i] && (!weighted || dw[k] == w[i]);
    CHECK(found_in == (b[i] == me ? same : 0) && found_out == (a[i] == me ? same : 0));
  }
  free(a), free(b), free(giver), free(w), free(ones), free(src), free(dst), free(sw), free(dw);
}

/* One call: counts and places of all blocks, its buffers, and what messages do. */
typedef struct {
  const topo_t* t;
  int op, wide, scale;
  int *scounts, *rcounts, *sdispls, *rdispls; /* in items */
  MPI_Count *big_counts[2], *big_displs[2];   /* the same for the _c forms */
  MPI_Aint* bytes[2];
  MPI_Datatype* types[2];
  int *send, *recv, *wanted, sends, recvs;
  MPI_Request request;
} call_t;

static MPI_Datatype spaced; /* an int, then a gap of an int */

/* Items of an edge: known at both ends. */
static int items(const call_t* c, int from, int to, int tag) {
  if (c->op == ALLGATHER || c->op == ALLTOALL) return 3 * c->scale;
  if (c->op == ALLGATHERV) return from % LARGEST * c->scale;
  return (from * 7 + to * 3 + tag * 5) % LARGEST * c->scale;
}

static void fill(call_t* c, int salt) {
  int i;
  for (i = 0; i < c->sends; i++) c->send[i] = salt * 1000003 + c->t->rank * 10007 + i;
  for (i = 0; i < c->recvs; i++) c->recv[i] = c->wanted[i] = -1;
}

static void new_call(call_t* c, const topo_t* t, int op, int scale, int wide) {
  const int together = op == ALLGATHER || op == ALLTOALL, gathers = op == ALLGATHER || op == ALLGATHERV;
  const int block = together ? 3 * scale : 2 * LARGEST * scale;
  int i, side;
  c->t = t;
  c->op = op;
  c->scale = scale;
  c->wide = wide;
  c->scounts = ints(t->out), c->sdispls = ints(t->out), c->rcounts = ints(t->in), c->rdispls = ints(t->in);
  for (i = 0; i < t->out; i++) {
    c->scounts[i] = items(c, t->rank, t->to[i], t->to_tag[i]);
    if (gathers) c->scounts[i] = items(c, t->rank, 0, 0);
    if (t->to[i] == MPI_PROC_NULL && !together && !gathers) c->scounts[i] = 2;
    c->sdispls[i] = gathers ? 0 : together ? i * block : (t->out - 1 - i) * block;
  }
  for (i = 0; i < t->in; i++) {
    c->rcounts[i] = t->from[i] == MPI_PROC_NULL ? 3 * scale : items(c, t->from[i], t->rank, t->from_tag[i]);
    c->rdispls[i] = together ? i * block : (t->in - 1 - i) * block;
  }
  for (side = 0; side < 2; side++) {
    const int n = side ? t->in : t->out, *counts = side ? c->rcounts : c->scounts;
    const int *displs = side ? c->rdispls : c->sdispls, *peers = side ? t->from : t->to;
    c->big_counts[side] = room((size_t)n, sizeof(MPI_Count));
    c->big_displs[side] = room((size_t)n, sizeof(MPI_Count));
    c->bytes[side] = room((size_t)n, sizeof(MPI_Aint));
    c->types[side] = room((size_t)n, sizeof(MPI_Datatype));
    for (i = 0; i < n; i++) {
      c->big_counts[side][i] = counts[i];
      c->big_displs[side][i] = displs[i];
      c->bytes[side][i] = displs[i] * (MPI_Aint)sizeof(int);
      c->types[side][i] = op == ALLTOALLW && (side + i) % 2 == 0 ? spaced : MPI_INT;
      if (op == ALLTOALLW && peers[i] == MPI_PROC_NULL) c->types[side][i] = MPI_DATATYPE_NULL;
    }
  }
  c->sends = (t->out + 1) * block;
  c->recvs = (t->in + 1) * block;
  c->send = ints(c->sends), c->recv = ints(c->recvs), c->wanted = ints(c->recvs);
}

static void free_call(call_t* c) {
  int side;
  for (side = 0; side < 2; side++)
    free(c->big_counts[side]), free(c->big_displs[side]), free(c->bytes[side]), free(c->types[side]);
  free(c->scounts), free(c->rcounts), free(c->sdispls), free(c->rdispls);
  free(c->send), free(c->recv), free(c->wanted);
}

static void by_messages(call_t* c) {
  const topo_t* t = c->t;
  MPI_Request* requests = room((size_t)(t->in + t->out), sizeof(MPI_Request));
  int i;
  for (i = 0; i < t->in; i++)
    MPI_Irecv((char*)c->wanted + c->bytes[1][i], c->rcounts[i], c->types[1][i], t->from[i], t->from_tag[i],
              t->comm, &requests[i]);
  for (i = 0; i < t->out; i++)
    MPI_Isend((char*)c->send + c->bytes[0][i], c->scounts[i], c->types[0][i], t->to[i], t->to_tag[i], t->comm,
              &requests[t->in + i]);
  OK(MPI_Waitall(t->in + t->out, requests, MPI_STATUSES_IGNORE));
  free(requests);
}

static void compare(const call_t* c) {
  CHECK(memcmp(c->recv, c->wanted, sizeof(int) * (size_t)c->recvs) == 0);
}

#define S c->send
#define R c->recv
#define EACH (3 * c->scale)
#define OWN (c->t->rank % LARGEST * c->scale)
#define V0 c->scounts, c->sdispls
#define V1 c->rcounts, c->rdispls
#define B0 c->big_counts[0], c->big_displs[0]
#define B1 c->big_counts[1], c->big_displs[1]
#define W0 c->scounts, c->bytes[0], c->types[0]
#define W1 c->rcounts, c->bytes[1], c->types[1]
#define L0 c->big_counts[0], c->bytes[0], c->types[0]
#define L1 c->big_counts[1], c->bytes[1], c->types[1]
/* One form of all five, plain or _c. */
#define CALLS(prefix, suffix, more)                                                                      \
  switch (c->op + (c->wide ? OPS : 0)) {                                                                 \
    case ALLGATHER:                                                                                      \
      return prefix##eighbor_allgather##suffix(S, EACH, MPI_INT, R, EACH, MPI_INT, c->t->comm more);     \
    case ALLGATHERV:                                                                                     \
      return prefix##eighbor_allgatherv##suffix(S, OWN, MPI_INT, R, V1, MPI_INT, c->t->comm more);       \
    case ALLTOALL:                                                                                       \
      return prefix##eighbor_alltoall##suffix(S, EACH, MPI_INT, R, EACH, MPI_INT, c->t->comm more);      \
    case ALLTOALLV:                                                                                      \
        return prefix##eighbor_alltoallv##suffix(S, V0, MPI_INT, R, V1, MPI_INT, c->t->comm more);       \
    case ALLTOALLW: return prefix##eighbor_alltoallw##suffix(S, W0, R, W1, c->t->comm more);             \
    case OPS + ALLGATHER:                                                                                \
      return prefix##eighbor_allgather##suffix##_c(S, EACH, MPI_INT, R, EACH, MPI_INT, c->t->comm more); \
    case OPS + ALLGATHERV:                                                                               \
      return prefix##eighbor_allgatherv##suffix##_c(S, OWN, MPI_INT, R, B1, MPI_INT, c->t->comm more);   \
    case OPS + ALLTOALL:                                                                                 \
      return prefix##eighbor_alltoall##suffix##_c(S, EACH, MPI_INT, R, EACH, MPI_INT, c->t->comm more);  \
    case OPS + ALLTOALLV:                                                                                \
      return prefix##eighbor_alltoallv##suffix##_c(S, B0, MPI_INT, R, B1, MPI_INT, c->t->comm more);     \
    default: return prefix##eighbor_alltoallw##suffix##_c(S, L0, R, L1, c->t->comm more);                \
  }
#define NO_MORE
#define COMMA ,
static int blocking(call_t* c) { CALLS(MPI_N, , NO_MORE) }
static int nonblocking(call_t* c) { CALLS(MPI_In, , COMMA & c->request) }
static int persistent(call_t* c) { CALLS(MPI_N, _init, COMMA MPI_INFO_NULL COMMA & c->request) }

static void use(const topo_t* t, int scale, int wide) {
  call_t c[OPS];
  int op, again;
  for (op = 0; op < OPS; op++) {
    new_call(&c[op], t, op, scale, wide);
    fill(&c[op], op);
    OK(blocking(&c[op]));
    by_messages(&c[op]);
    compare(&c[op]);
  }
  /* All five at once, begun in one order and ended in any. */
  for (op = 0; op < OPS; op++) {
    fill(&c[op], op + 10);
    OK(nonblocking(&c[op]));
  }
  for (op = OPS - 1; op >= 0; op--) by_messages(&c[op]);
  for (op = OPS - 1; op >= 0; op--) {
    OK(MPI_Wait(&c[op].request, MPI_STATUS_IGNORE));
    compare(&c[op]);
  }
  for (op = 0; op < OPS; op++) OK(persistent(&c[op]));
  for (again = 0; again < 3; again++) {
    for (op = 0; op < OPS; op++) {
      fill(&c[op], op + 20 + again);
      OK(MPI_Start(&c[op].request));
    }
    for (op = 0; op < OPS; op++) {
      OK(MPI_Wait(&c[op].request, MPI_STATUS_IGNORE));
      by_messages(&c[op]);
      compare(&c[op]);
    }
  }
  for (op = 0; op < OPS; op++) {
    OK(MPI_Request_free(&c[op].request));
    free_call(&c[op]);
  }
}

int main(int argc, char** argv) {
  static const int scales[] = {1, 1, 40, 4000};
  int rank, size, round;
  unsigned long long seed =
      getenv("HERALD_SEED") ? strtoull(getenv("HERALD_SEED"), NULL, 0) : (unsigned)time(NULL);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("seed %llu\n", seed);
  state = seed;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced);
  MPI_Type_commit(&spaced);
  for (round = 0; round < ROUNDS; round++) {
    topo_t t = {MPI_COMM_NULL, 0, 0, 0, NULL, NULL, NULL, NULL};
    const int kind = (int)draw(3), scale = scales[draw(4)], wide = (int)draw(2), copied = (int)draw(2);
    if (kind == 0) make_cart(&t, MPI_COMM_WORLD, size);
    if (kind == 1) make_graph(&t, MPI_COMM_WORLD, size);
    if (kind == 2) make_dist_graph(&t, MPI_COMM_WORLD, size);
    if (t.comm == MPI_COMM_NULL) continue;
    if (copied) {
      MPI_Comm copy;
      OK(MPI_Comm_dup(t.comm, &copy));
      MPI_Comm_free(&t.comm);
      t.comm = copy;
    }
    MPI_Comm_rank(t.comm, &t.rank);
    use(&t, scale, wide);
    MPI_Comm_free(&t.comm);
    free(t.from), free(t.from_tag), free(t.to), free(t.to_tag);
  }
  MPI_Type_free(&spaced);
  return check_finalize();
}
