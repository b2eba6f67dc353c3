/* SPDX-License-Identifier: BSD-3-Clause */
/* Short blocks of a neighborhood collective between two hosts must share a message. On hosts with network
   namespaces of their own: packets that leave the hosts are counted, for calls on a periodic grid, with and
   without counts, and for one message for each edge. neighbor_wire BYTES CALLS [PERCENT]: at most so many
   percent of the packets. */
#include "check.h"

static int rank, size, calls;
static MPI_Comm grid, host;

/* Packets that left this host by Ethernet, over all hosts of the job. */
static long long packets(void) {
  long long mine = 0, all = 0;
  char line[512];
  int first;
  FILE* const facts = fopen("/proc/self/net/dev", "r");
  MPI_Comm_rank(host, &first);
  while (facts != NULL && first == 0 && fgets(line, sizeof line, facts) != NULL) {
    long long in[8], bytes, count;
    char name[64];
    if (sscanf(line, " %63[^:]: %lld %lld %lld %lld %lld %lld %lld %lld %lld %lld", name, &in[0], &in[1],
               &in[2], &in[3], &in[4], &in[5], &in[6], &in[7], &bytes, &count) == 11 &&
        strcmp(name, "lo") != 0)
      mine += count;
  }
  if (facts != NULL) fclose(facts);
  MPI_Allreduce(&mine, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static void collective(const char* out, char* in, int bytes) {
  OK(MPI_Neighbor_alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, grid));
}

/* Only the two ends of an edge know these counts. */
static void with_counts(const char* out, char* in, int bytes) {
  int counts[4], displs[4], i;
  for (i = 0; i < 4; i++) counts[i] = bytes, displs[i] = i * bytes;
  OK(MPI_Neighbor_alltoallv(out, counts, displs, MPI_CHAR, in, counts, displs, MPI_CHAR, grid));
}

static void with_types(const char* out, char* in, int bytes) {
  MPI_Datatype types[4];
  MPI_Aint displs[4];
  int counts[4], i;
  for (i = 0; i < 4; i++) counts[i] = bytes, displs[i] = i * bytes, types[i] = MPI_CHAR;
  OK(MPI_Neighbor_alltoallw(out, counts, displs, types, in, counts, displs, types, grid));
}

/* The last block of each rank, to all its neighbours. */
static void gather(const char* out, char* in, int bytes) {
  int counts[4], displs[4], i;
  for (i = 0; i < 4; i++) counts[i] = bytes, displs[i] = i * bytes;
  OK(MPI_Neighbor_allgatherv(out + 3 * bytes, bytes, MPI_CHAR, in, counts, displs, MPI_CHAR, grid));
}

static void gather_one_by_one(const char* out, char* in, int bytes) {
  MPI_Request requests[8];
  int i, before, after;
  for (i = 0; i < 4; i++) {
    OK(MPI_Cart_shift(grid, i / 2, 1, &before, &after));
    OK(MPI_Irecv(in + i * bytes, bytes, MPI_CHAR, i % 2 ? after : before, i ^ 1, grid, &requests[i]));
    OK(MPI_Isend(out + 3 * bytes, bytes, MPI_CHAR, i % 2 ? after : before, i, grid, &requests[4 + i]));
  }
  OK(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
}

static void one_by_one(const char* out, char* in, int bytes) {
  MPI_Request requests[8];
  int i, before, after;
  for (i = 0; i < 4; i++) {
    OK(MPI_Cart_shift(grid, i / 2, 1, &before, &after));
    OK(MPI_Irecv(in + i * bytes, bytes, MPI_CHAR, i % 2 ? after : before, i ^ 1, grid, &requests[i]));
    OK(MPI_Isend(out + i * bytes, bytes, MPI_CHAR, i % 2 ? after : before, i, grid, &requests[4 + i]));
  }
  OK(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
}

typedef void (*call_t)(const char* out, char* in, int bytes);

/* Packets of `calls` calls, which do the same as `model`. */
static long long measure(const char* name, call_t call, call_t model, int bytes) {
  char* const out = malloc((size_t)bytes * 4 + 1);
  char* const in = calloc((size_t)bytes * 4 + 1, 1);
  char* const other = calloc((size_t)bytes * 4 + 1, 1);
  long long before, sent;
  double start;
  int i;
  for (i = 0; i < 4 * bytes; i++) out[i] = (char)(rank * 31 + i);
  model(out, other, bytes);
  call(out, in, bytes);
  CHECK(memcmp(in, other, (size_t)bytes * 4) == 0);
  before = packets();
  start = MPI_Wtime();
  for (i = 0; i < calls; i++) call(out, in, bytes);
  start = MPI_Wtime() - start;
  sent = packets() - before;
  if (rank == 0)
    printf("%s: %.1f packets, %.1f us for each call\n", name, (double)sent / calls, start * 1e6 / calls);
  free(out);
  free(in);
  free(other);
  return sent;
}

static const struct {
  const char* name;
  call_t call, model;
} kForms[] = {{"alltoall", collective, one_by_one},
              {"alltoallv", with_counts, one_by_one},
              {"alltoallw", with_types, one_by_one},
              {"allgatherv", gather, gather_one_by_one}};

int main(int argc, char** argv) {
  int dims[2] = {0, 0}, periods[2] = {1, 1};
  const int bytes = argc > 1 ? atoi(argv[1]) : 8, percent = argc > 3 ? atoi(argv[3]) : 0;
  long long shared, single;
  int i;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  calls = argc > 2 ? atoi(argv[2]) : 10;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Dims_create(size, 2, dims);
  OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid));
  single = measure("one by one", one_by_one, one_by_one, bytes);
  for (i = 0; i < 4; i++) {
    shared = measure(kForms[i].name, kForms[i].call, kForms[i].model, bytes);
    if (percent != 0) CHECK(shared * 100 <= single * percent);
  }
  MPI_Comm_free(&grid);
  MPI_Comm_free(&host);
  return check_finalize();
}
