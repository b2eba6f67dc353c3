/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_data.h: made-up data for the collective programs, and each collective with its check, so that the same
   checks serve blocking, nonblocking and persistent calls. */
#ifndef HERALD_TESTS_COLL_DATA_H
#define HERALD_TESTS_COLL_DATA_H
#include "check.h"

enum {
  BARRIER,
  BCAST,
  GATHER,
  GATHERV,
  SCATTER,
  SCATTERV,
  ALLGATHER,
  ALLGATHERV,
  ALLTOALL,
  ALLTOALLV,
  ALLTOALLW,
  REDUCE,
  ALLREDUCE,
  REDUCE_SCATTER,
  REDUCE_SCATTER_BLOCK,
  SCAN,
  EXSCAN,
  COLLECTIVES
};
enum { BLOCKING, NONBLOCKING, PERSISTENT };

/* The item that rank `from` sends to rank `to` at index i in turn `turn`. */
static inline int value(int from, int to, int i, int turn) {
  return from * 10007 + to * 101 + i * 3 + turn * 17;
}

/* One collective of `count` ints a block. */
typedef struct {
  int op, count, root, in_place, turn, rank, size;
  MPI_Comm comm;
  int *send, *recv;
  int *scounts, *sdispls, *rcounts, *rdispls;
  MPI_Datatype *stypes, *rtypes;
  MPI_Request request;
  MPI_Datatype type; /* of an item: an int, or an int and a gap (coll_gappy) */
  MPI_Op sum;
  int *wide_send, *wide_recv, *wide_displs; /* null unless gappy */
} coll_t;

/* Blocks of the v forms: 0 to 3 extra items, some empty, laid out with a gap between them. */
static inline int v_count(const coll_t* c, int from, int to) {
  if (c->count == 0) return 0;
  if (c->op >= ALLTOALL && c->op <= ALLTOALLW)
    return c->in_place ? (from + to) % 3 * c->count : (from + 2 * to) % 4 * c->count;
  return c->op == SCATTERV ? to % 3 * c->count : from % 3 * c->count;
}

static inline coll_t coll_new(int op, int count, int root, int in_place, MPI_Comm comm) {
  coll_t c;
  int i, space;
  memset(&c, 0, sizeof c);
  c.op = op;
  c.count = count;
  c.root = root;
  c.comm = comm;
  c.request = MPI_REQUEST_NULL;
  c.type = MPI_INT;
  c.sum = MPI_SUM;
  MPI_Comm_rank(comm, &c.rank);
  MPI_Comm_size(comm, &c.size);
  c.in_place = in_place;
  space = (c.size + 1) * (4 * count + 2) + 1;
  c.send = malloc(sizeof(int) * (size_t)space);
  c.recv = malloc(sizeof(int) * (size_t)space);
  c.scounts = malloc(sizeof(int) * (size_t)c.size * 4);
  c.sdispls = c.scounts + c.size;
  c.rcounts = c.sdispls + c.size;
  c.rdispls = c.rcounts + c.size;
  c.stypes = malloc(sizeof(MPI_Datatype) * (size_t)c.size * 2);
  c.rtypes = c.stypes + c.size;
  for (i = 0; i < c.size; i++) {
    const int unit = op == ALLTOALLW ? (int)sizeof(int) : 1;
    c.scounts[i] = op == SCATTERV ? v_count(&c, root, i) : v_count(&c, c.rank, i);
    c.rcounts[i] = op == REDUCE_SCATTER ? (count == 0 ? 0 : i % 3 * count) : v_count(&c, i, c.rank);
    c.sdispls[i] = (c.size - 1 - i) * (4 * count + 1) * unit;
    c.rdispls[i] = (c.size - 1 - i) * (4 * count + 1) * unit;
    c.stypes[i] = c.rtypes[i] = MPI_INT;
  }
  return c;
}

static inline int coll_space(const coll_t* c) { return (c->size + 1) * (4 * c->count + 2) + 1; }

static void coll_add_gappy(void* in, void* inout, int* len, MPI_Datatype* type) {
  int i;
  (void)type;
  for (i = 0; i < *len; i++) ((int*)inout)[2 * i] += ((int*)in)[2 * i];
}

/* The items are followed by gaps, which nothing may write. Before coll_fill. */
static inline void coll_gappy(coll_t* c) {
  int i;
  OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &c->type));
  OK(MPI_Type_commit(&c->type));
  OK(MPI_Op_create(coll_add_gappy, 1, &c->sum));
  c->wide_send = malloc(sizeof(int) * 2 * (size_t)coll_space(c));
  c->wide_recv = malloc(sizeof(int) * 2 * (size_t)coll_space(c));
  c->wide_displs = malloc(sizeof(int) * 2 * (size_t)c->size);
  for (i = 0; i < c->size; i++) {
    c->wide_displs[i] = c->sdispls[i] * (c->op == ALLTOALLW ? 2 : 1);
    c->wide_displs[c->size + i] = c->rdispls[i] * (c->op == ALLTOALLW ? 2 : 1);
    c->stypes[i] = c->rtypes[i] = c->type;
  }
}
static inline void coll_spread(coll_t* c) {
  int i;
  for (i = 0; c->wide_send != NULL && i < coll_space(c); i++) {
    c->wide_send[2 * i] = c->send[i];
    c->wide_recv[2 * i] = c->recv[i];
    c->wide_send[2 * i + 1] = c->wide_recv[2 * i + 1] = -77;
  }
}
static inline int coll_narrow(const coll_t* c) {
  int i, bad = 0;
  for (i = 0; c->wide_send != NULL && i < coll_space(c); i++) {
    c->recv[i] = c->wide_recv[2 * i];
    bad +=
        c->wide_send[2 * i + 1] != -77 || c->wide_recv[2 * i + 1] != -77 || c->wide_send[2 * i] != c->send[i];
  }
  return bad;
}

static inline void coll_free(coll_t* c) {
  if (c->wide_send != NULL) {
    OK(MPI_Type_free(&c->type));
    OK(MPI_Op_free(&c->sum));
    free(c->wide_send);
    free(c->wide_recv);
    free(c->wide_displs);
  }
  free(c->send);
  free(c->recv);
  free(c->scounts);
  free(c->stypes);
}

static inline int is_v(int op) {
  return op == GATHERV || op == SCATTERV || op == ALLGATHERV || op == ALLTOALLV || op == ALLTOALLW;
}
static inline int uses_in_place(const coll_t* c) {
  if (c->op == BARRIER || c->op == BCAST) return 0;
  if (c->op == REDUCE || (c->op >= GATHER && c->op <= SCATTERV)) return c->in_place && c->rank == c->root;
  return c->in_place;
}
static inline int at(const coll_t* c, const int* displs, int block, int i) {
  if (!is_v(c->op)) return block * c->count + i;
  return displs[block] / (c->op == ALLTOALLW ? (int)sizeof(int) : 1) + i;
}

/* The input of this rank, for this turn. */
static inline void coll_fill(coll_t* c, int turn) {
  const int space = coll_space(c), mine = uses_in_place(c);
  int i, j, all = 0;
  c->turn = turn;
  for (i = 0; i < space; i++) c->send[i] = c->recv[i] = -1;
  switch (c->op) {
    case BARRIER: break;
    case BCAST:
      for (i = 0; c->rank == c->root && i < c->count; i++) c->recv[i] = value(c->root, 0, i, turn);
      break;
    case GATHER:
    case ALLGATHER:
      for (i = 0; i < c->count; i++)
        (mine ? c->recv + c->rank * c->count : c->send)[i] = value(c->rank, 0, i, turn);
      break;
    case GATHERV:
    case ALLGATHERV:
      for (i = 0; i < v_count(c, c->rank, 0); i++)
        (mine ? c->recv + at(c, c->rdispls, c->rank, 0) : c->send)[i] = value(c->rank, 0, i, turn);
      break;
    case SCATTER:
      for (j = 0; c->rank == c->root && j < c->size; j++)
        for (i = 0; i < c->count; i++) c->send[j * c->count + i] = value(c->rank, j, i, turn);
      break;
    case SCATTERV:
      for (j = 0; c->rank == c->root && j < c->size; j++)
        for (i = 0; i < c->scounts[j]; i++) c->send[at(c, c->sdispls, j, i)] = value(c->rank, j, i, turn);
      break;
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
      for (j = 0; j < c->size; j++)
        for (i = 0; i < (c->op == ALLTOALL ? c->count : mine ? c->rcounts[j] : c->scounts[j]); i++)
          (mine ? c->recv : c->send)[at(c, mine ? c->rdispls : c->sdispls, j, i)] =
              value(c->rank, j, i, turn);
      break;
    default:
      all = c->op == REDUCE_SCATTER_BLOCK ? c->size * c->count : c->count;
      for (j = 0; c->op == REDUCE_SCATTER && j < c->size; j++) all = (j == 0 ? 0 : all) + c->rcounts[j];
      for (i = 0; i < all; i++) (mine ? c->recv : c->send)[i] = value(c->rank, 0, i, turn);
  }
  coll_spread(c);
}

static inline int sum_below(const coll_t* c, int ranks, int i) {
  int r, sum = 0;
  for (r = 0; r < ranks; r++) sum += value(r, 0, i, c->turn);
  return sum;
}

static inline void coll_check(const coll_t* c) {
  int i, j, from = 0, bad = coll_narrow(c);
  switch (c->op) {
    case BARRIER: break;
    case BCAST:
      for (i = 0; i < c->count; i++) bad += c->recv[i] != value(c->root, 0, i, c->turn);
      break;
    case GATHER:
    case GATHERV:
      if (c->rank != c->root) break;
      /* fall through */
    case ALLGATHER:
    case ALLGATHERV:
      for (j = 0; j < c->size; j++)
        for (i = 0; i < (is_v(c->op) ? c->rcounts[j] : c->count); i++)
          bad += c->recv[at(c, c->rdispls, j, i)] != value(j, 0, i, c->turn);
      break;
    case SCATTER:
    case SCATTERV:
      if (uses_in_place(c)) break;
      for (i = 0; i < (c->op == SCATTER ? c->count : v_count(c, c->root, c->rank)); i++)
        bad += c->recv[i] != value(c->root, c->rank, i, c->turn);
      break;
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
      for (j = 0; j < c->size; j++)
        for (i = 0; i < (c->op == ALLTOALL ? c->count : c->rcounts[j]); i++)
          bad += c->recv[at(c, c->rdispls, j, i)] != value(j, c->rank, i, c->turn);
      break;
    case REDUCE:
      if (c->rank != c->root) break;
      /* fall through */
    case ALLREDUCE:
      for (i = 0; i < c->count; i++) bad += c->recv[i] != sum_below(c, c->size, i);
      break;
    case REDUCE_SCATTER:
      for (j = 0; j < c->rank; j++) from += c->rcounts[j];
      for (i = 0; i < c->rcounts[c->rank]; i++) bad += c->recv[i] != sum_below(c, c->size, from + i);
      break;
    case REDUCE_SCATTER_BLOCK:
      for (i = 0; i < c->count; i++) bad += c->recv[i] != sum_below(c, c->size, c->rank * c->count + i);
      break;
    case SCAN:
      for (i = 0; i < c->count; i++) bad += c->recv[i] != sum_below(c, c->rank + 1, i);
      break;
    case EXSCAN:
      for (i = 0; c->rank > 0 && i < c->count; i++) bad += c->recv[i] != sum_below(c, c->rank, i);
      break;
  }
  if (bad != 0) {
    fprintf(stderr,
            "rank %d: collective %d count %d root %d in place %d gaps %d turn %d: %d values are wrong\n",
            c->rank, c->op, c->count, c->root, c->in_place, c->wide_send != NULL, c->turn, bad);
    check_failures_++;
  }
}

#include "coll_call.h"
#endif
