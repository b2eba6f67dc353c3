// SPDX-License-Identifier: BSD-3-Clause
// demo.c: shows the placement of ranks, the path between each pair, a ring, a broadcast, an allreduce, and
// latency and bandwidth of messages. It checks all results; the exit code is 1 if one is wrong.
//   mpicc -O2 demo.c -o demo -lm && mpiexec -n 4 ./demo
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, wrong;

static void title(const char* text) {
  if (rank == 0) printf("\n%s\n", text);
}

// Ranks with the same lowest rank on their host share memory.
static void placement(void) {
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int leader = rank;
  MPI_Bcast(&leader, 1, MPI_INT, 0, host);
  MPI_Comm_free(&host);

  char name[MPI_MAX_PROCESSOR_NAME], line[128];
  int length, *leaders = malloc(sizeof(int) * size);
  MPI_Get_processor_name(name, &length);
  snprintf(line, sizeof line, "  rank %-3d host %-24.40s process %d", rank, name, (int)getpid());
  char* lines = rank == 0 ? malloc(sizeof line * size) : NULL;
  MPI_Gather(line, sizeof line, MPI_CHAR, lines, sizeof line, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Allgather(&leader, 1, MPI_INT, leaders, 1, MPI_INT, MPI_COMM_WORLD);
  if (rank == 0) {
    for (int r = 0; r < size; ++r) puts(lines + r * sizeof line);
    printf("\nPath from the row's rank to the column's\n        ");
    for (int to = 0; to < size; ++to) printf("%8d", to);
    for (int from = 0; from < size; ++from) {
      printf("\n  %4d  ", from);
      for (int to = 0; to < size; ++to)
        printf("%8s", from == to ? "self" : leaders[from] == leaders[to] ? "memory" : "network");
    }
    printf("\n");
  }
  free(lines);
  free(leaders);
}

static void ring(void) {
  const int rounds = 200, next = (rank + 1) % size, previous = (rank + size - 1) % size;
  long token = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int round = 0; round < rounds; ++round) {
    MPI_Request request;
    if (rank != 0) MPI_Recv(&token, 1, MPI_LONG, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ++token;
    MPI_Isend(&token, 1, MPI_LONG, next, 0, MPI_COMM_WORLD, &request);
    long back = token;
    if (rank == 0) MPI_Recv(&back, 1, MPI_LONG, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    token = back;
  }
  if (rank != 0) return;
  const double seconds = MPI_Wtime() - start;
  wrong |= token != (long)rounds * size;
  printf("  %d rounds, %ld hops, %.2f us a hop\n", rounds, token, seconds / rounds / size * 1e6);
}

static unsigned long checksum(const unsigned char* bytes, size_t count) {
  unsigned long sum = 5381;
  for (size_t i = 0; i < count; ++i) sum = sum * 33 + bytes[i];
  return sum;
}

static void broadcast(void) {
  const int bytes = 1 << 20;
  unsigned char* data = calloc(1, bytes);
  for (int i = 0; rank == 0 && i < bytes; ++i) data[i] = (unsigned char)(i * 7 + i / 251);
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = MPI_Wtime(), slowest = 0;
  MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  seconds = MPI_Wtime() - seconds;
  MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  const unsigned long mine = checksum(data, bytes);
  unsigned long least = 0, most = 0;
  MPI_Reduce(&mine, &least, 1, MPI_UNSIGNED_LONG, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine, &most, 1, MPI_UNSIGNED_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    const int differ = least != mine || most != mine;
    wrong |= differ;
    printf("  1 MiB at all ranks after %.3f ms; the checksums %s\n", slowest * 1e3,
           differ ? "DIFFER" : "agree");
  }
  free(data);
}

static void pi(void) {
  const long slices = 4000000;
  double part = 0, sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (long i = rank; i < slices; i += size) {
    const double x = (i + 0.5) / slices;
    part += 4 / (1 + x * x) / slices;
  }
  MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - start, error = fabs(sum - acos(-1.0));
  wrong |= error > 1e-10;
  if (rank == 0) printf("  pi = %.12f (error %.0e), at all ranks after %.1f ms\n", sum, error, seconds * 1e3);
}

// Ranks 0 and 1; seconds one way.
static double ping_pong(char* buffer, int bytes, int times) {
  const double start = MPI_Wtime();
  for (int i = 0; i < times; ++i) {
    if (rank == 0) MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - start) / times / 2;
}

// As often as fits into half a second, so that a slow network delays no row; the other ranks wait.
static double one_way(char* buffer, int bytes) {
  double seconds = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank < 2) {
    seconds = ping_pong(buffer, bytes, 1);
    int times = seconds > 0 ? (int)fmin(1000, 0.25 / seconds) : 1000;
    if (rank == 0) MPI_Send(&times, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(&times, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (times > 1) seconds = ping_pong(buffer, bytes, times);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return seconds;
}

static void latency(void) {
  static const int sizes[] = {8, 1024, 65536, 1 << 20, 4 << 20};
  char* buffer = calloc(1, 4 << 20);
  if (rank == 0) printf("  %10s %14s %14s\n", "bytes", "one way", "bandwidth");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const double seconds = one_way(buffer, sizes[i]);
    if (rank == 0) printf("  %10d %11.2f us %9.0f MB/s\n", sizes[i], seconds * 1e6, sizes[i] / seconds / 1e6);
  }
  free(buffer);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(version, &length);
  if (rank == 0) printf("%s\n", version);

  title("Ranks and hosts");
  placement();
  title("Ring");
  ring();
  title("Broadcast from rank 0");
  broadcast();
  title("Allreduce: pi");
  pi();
  if (size > 1) {
    title("Messages between ranks 0 and 1");
    latency();
  }
  int anywhere = 0;
  MPI_Allreduce(&wrong, &anywhere, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  if (rank == 0) printf("\n%s\n", anywhere ? "Some results above are WRONG." : "All results are correct.");
  MPI_Finalize();
  return anywhere;
}
