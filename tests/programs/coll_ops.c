/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: the operands of a function that does not commute change places for some number of
   ranks or some root; a function on a derived type gets a buffer laid out differently, or the wrong count or
   type handle; pairs with gaps; the large-count form of a user function. */
#include "check.h"

static int rank, size;

/* x -> a x + b (mod 65521): composition is associative and does not commute. */
typedef struct {
  unsigned a, pad, b;
} map_t;
static map_t made_up(int r, int i) {
  map_t m = {(unsigned)(r * 7 + i * 3 + 2) % 65521u, 0xabcdu, (unsigned)(r * 31 + i + 1) % 65521u};
  return m;
}
static map_t after(map_t f, map_t g) { /* first f, then g */
  map_t m = {f.a * g.a % 65521u, 0xabcdu, (f.b * g.a + g.b) % 65521u};
  return m;
}
static MPI_Datatype map_type;
static int wrong_type;
static void compose(void* in, void* inout, int* len, MPI_Datatype* type) {
  map_t *f = in, *g = inout;
  int i, bytes;
  MPI_Type_size(*type, &bytes);
  if (bytes != 2 * (int)sizeof(unsigned)) wrong_type++;
  for (i = 0; i < *len; i++) {
    g[i].b = (f[i].b * g[i].a + g[i].b) % 65521u;
    g[i].a = f[i].a * g[i].a % 65521u;
  }
}
static void compose_large(void* in, void* inout, MPI_Count* len, MPI_Datatype* type) {
  int n = (int)*len;
  compose(in, inout, &n, type);
}

static int differs(map_t got, int from, int to, int i) { /* ranks [from, to) in order */
  map_t wanted = made_up(from, i);
  int r;
  for (r = from + 1; r < to; r++) wanted = after(wanted, made_up(r, i));
  return got.a != wanted.a || got.b != wanted.b || got.pad != 0xabcdu;
}

static void ordered(MPI_Op op, int count, int in_place) {
  map_t *send = malloc(sizeof(map_t) * (size_t)(count * size + 1)),
        *recv = malloc(sizeof(map_t) * (size_t)(count * size + 1));
  int* counts = malloc(sizeof(int) * (size_t)size);
  int i, root, bad = 0;
  const void* from = in_place ? MPI_IN_PLACE : send;
#define FILL(n)                                    \
  for (i = 0; i < (n); i++) {                      \
    send[i] = made_up(rank, i);                    \
    recv[i] = in_place ? send[i] : made_up(99, i); \
  }
  for (root = 0; root < size; root++) {
    FILL(count);
    OK(MPI_Reduce(in_place && rank == root ? MPI_IN_PLACE : send, recv, count, map_type, op, root,
                  MPI_COMM_WORLD));
    for (i = 0; rank == root && i < count; i++) bad += differs(recv[i], 0, size, i);
  }
  FILL(count);
  OK(MPI_Allreduce(from, recv, count, map_type, op, MPI_COMM_WORLD));
  for (i = 0; i < count; i++) bad += differs(recv[i], 0, size, i);
  FILL(count);
  OK(MPI_Scan(from, recv, count, map_type, op, MPI_COMM_WORLD));
  for (i = 0; i < count; i++) bad += differs(recv[i], 0, rank + 1, i);
  FILL(count);
  OK(MPI_Exscan(from, recv, count, map_type, op, MPI_COMM_WORLD));
  for (i = 0; rank > 0 && i < count; i++) bad += differs(recv[i], 0, rank, i);
  FILL(count * size);
  OK(MPI_Reduce_scatter_block(from, recv, count, map_type, op, MPI_COMM_WORLD));
  for (i = 0; i < count; i++) {
    map_t got = recv[i];
    bad += differs(got, 0, size, rank * count + i);
  }
  FILL(count * size);
  for (i = 0; i < size; i++) counts[i] = count;
  OK(MPI_Reduce_scatter(from, recv, counts, map_type, op, MPI_COMM_WORLD));
  for (i = 0; i < count; i++) bad += differs(recv[i], 0, size, rank * count + i);
  CHECK(bad == 0);
  free(send);
  free(recv);
  free(counts);
}

static void pairs(void) {
  struct {
    short v;
    int i;
  } a[3], b[3];
  int k;
  memset(a, 0x5a, sizeof a);
  memset(b, 0x5a, sizeof b);
  for (k = 0; k < 3; k++) {
    a[k].v = (short)((rank * 5 + k) % 7);
    a[k].i = rank;
  }
  OK(MPI_Allreduce(a, b, 3, MPI_SHORT_INT, MPI_MAXLOC, MPI_COMM_WORLD));
  for (k = 0; k < 3; k++) {
    int r, best = 0;
    for (r = 1; r < size; r++)
      if ((r * 5 + k) % 7 > (best * 5 + k) % 7) best = r;
    CHECK(b[k].i == best && b[k].v == (best * 5 + k) % 7);
  }
}

static void predefined(void) {
  unsigned char bits = (unsigned char)(1u << rank % 8), all;
  float x = (float)(rank + 1), product;
  int yes = rank != size - 1, both, mine = rank == 0 ? -5 : rank, least;
  long long big = 1LL << 40, total;
  unsigned r, wanted = 0;
  OK(MPI_Allreduce(&bits, &all, 1, MPI_UNSIGNED_CHAR, MPI_BOR, MPI_COMM_WORLD));
  for (r = 0; r < (unsigned)size; r++) wanted |= 1u << r % 8;
  CHECK(all == wanted);
  OK(MPI_Allreduce(&x, &product, 1, MPI_FLOAT, MPI_PROD, MPI_COMM_WORLD));
  for (x = 1, r = 1; r <= (unsigned)size; r++) x *= (float)r;
  CHECK(product > x * 0.999f && product < x * 1.001f);
  OK(MPI_Allreduce(&yes, &both, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
  CHECK(both == 0);
  OK(MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  CHECK(least == -5);
  OK(MPI_Allreduce(&big, &total, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
  CHECK(total == big * size);
}

int main(int argc, char** argv) {
  const int blocks[] = {1, 1};
  const MPI_Aint at[] = {0, 8};
  const MPI_Datatype types[] = {MPI_UNSIGNED, MPI_UNSIGNED};
  MPI_Op op, large;
  int in_place;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(MPI_Type_create_struct(2, blocks, at, types, &map_type));
  OK(MPI_Type_commit(&map_type));
  OK(MPI_Op_create(compose, 0, &op));
  OK(MPI_Op_create_c(compose_large, 0, &large));
  for (in_place = 0; in_place < 2; in_place++) {
    ordered(op, 0, in_place);
    ordered(op, 1, in_place);
    ordered(large, 9, in_place);
    ordered(op, 2500, in_place);
  }
  CHECK(wrong_type == 0);
  pairs();
  predefined();
  OK(MPI_Op_free(&op));
  OK(MPI_Op_free(&large));
  OK(MPI_Type_free(&map_type));
  return check_finalize();
}
