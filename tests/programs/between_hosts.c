/* SPDX-License-Identifier: BSD-3-Clause */
/* between_hosts SECONDS LARGEST [return]: traffic between all ranks, for networks that lose, duplicate and
   cut. Rounds last until rank 0 has seen SECONDS pass; messages have up to LARGEST bytes. With `return`
   errors are returned, and the first one must be that of a process that has ended. What could go wrong: a
   byte is wrong; a message is duplicated, lost or out of order; a collective delivers the data of another.
   Length and bytes of a message follow from round, sender and receiver. Rank 0 prints "started" after the
   first round, and the number of rounds at the end. */
#include <time.h>

#include "check.h"

enum { kTag = 5, kBatch = 3 };

static int rank, size, largest, returning;

static unsigned long mix(unsigned long a, unsigned long b, unsigned long c) {
  unsigned long x = a * 0x9E3779B97F4A7C15ul + b * 0xC2B2AE3D27D4EB4Ful + c * 0x165667B19E3779F9ul;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9ul;
  return x ^ x >> 32;
}

/* Most are short; one in eight may be as long as allowed. */
static int bytes_of(int round, int from, int to, int n) {
  const unsigned long x = mix((unsigned long)round, (unsigned long)(from * 1000 + to), (unsigned long)n);
  const int most = x % 8 == 0 ? largest : largest < 200 ? largest : 200;
  return (int)((x >> 8) % (unsigned long)(most + 1));
}

static void fill(unsigned char* at, int bytes, unsigned long seed) {
  for (int i = 0; i < bytes; ++i) at[i] = (unsigned char)(seed >> (i % 7 * 8)) ^ (unsigned char)i;
}

static int wrong(const unsigned char* at, int bytes, unsigned long seed) {
  for (int i = 0; i < bytes; ++i)
    if (at[i] != ((unsigned char)(seed >> (i % 7 * 8)) ^ (unsigned char)i)) return 1;
  return 0;
}

static unsigned long seed_of(int round, int from, int to, int n) {
  return mix((unsigned long)(from * size + to), (unsigned long)round, (unsigned long)n + 77);
}

/* Checks the code of a call: success, or, where errors are returned, the error of a process that has ended.
 */
static void take(int code) {
  int class = MPI_SUCCESS;
  if (code == MPI_SUCCESS) return;
  if (returning) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    printf("rank %d got class %d: %s\n", rank, class, text);
    printf(class == MPI_ERR_PROC_ABORTED ? "returned\n" : "failed: another error was expected\n");
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, class == MPI_ERR_PROC_ABORTED ? 3 : 4);
  }
  CHECK(code == MPI_SUCCESS);
}

/* Every rank sends kBatch messages with one tag to every other; they arrive in order. */
static void all_pairs(int round, unsigned char* out, unsigned char* in, MPI_Request* requests) {
  int count = 0;
  for (int k = 1; k < size; ++k) {
    const int from = (rank + size - k) % size;
    for (int n = 0; n < kBatch; ++n)
      take(MPI_Irecv(in + (size_t)((k - 1) * kBatch + n) * (size_t)(largest + 1), largest, MPI_BYTE, from,
                     kTag, MPI_COMM_WORLD, &requests[count++]));
  }
  for (int k = 1; k < size; ++k) {
    const int to = (rank + k) % size;
    for (int n = 0; n < kBatch; ++n) {
      unsigned char* at = out + (size_t)((k - 1) * kBatch + n) * (size_t)(largest + 1);
      const int bytes = bytes_of(round, rank, to, n);
      fill(at, bytes, seed_of(round, rank, to, n));
      take(MPI_Isend(at, bytes, MPI_BYTE, to, kTag, MPI_COMM_WORLD, &requests[count++]));
    }
  }
  for (int i = 0; i < count; ++i) {
    MPI_Status status;
    take(MPI_Wait(&requests[i], &status));
    if (i >= (size - 1) * kBatch) continue;
    const int from = (rank + size - 1 - i / kBatch) % size, n = i % kBatch;
    int bytes = -1;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    CHECK(status.MPI_SOURCE == from && bytes == bytes_of(round, from, rank, n));
    CHECK(!wrong(in + (size_t)i * (size_t)(largest + 1), bytes, seed_of(round, from, rank, n)));
  }
}

static void collectives(int round, unsigned char* buffer) {
  const int root = round % size, bytes = bytes_of(round, root, size, 0);
  long sum = 0, mine = rank + round;
  if (rank == root) fill(buffer, bytes, seed_of(round, root, root, 9));
  take(MPI_Bcast(buffer, bytes, MPI_BYTE, root, MPI_COMM_WORLD));
  CHECK(!wrong(buffer, bytes, seed_of(round, root, root, 9)));
  take(MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == (long)size * (size - 1) / 2 + (long)size * round);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  largest = argc > 2 ? atoi(argv[2]) : 100000;
  returning = argc > 3;
  if (returning) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const size_t room = (size_t)((size > 1 ? size - 1 : 1) * kBatch) * (size_t)(largest + 1);
  unsigned char *out = malloc(room), *in = malloc(room);
  MPI_Request* requests = malloc(sizeof *requests * (size_t)(2 * kBatch * size));
  const double start = MPI_Wtime();
  int round = 0, go_on = 1;
  while (go_on) {
    all_pairs(round, out, in, requests);
    collectives(round, in);
    go_on = MPI_Wtime() - start < seconds && check_failures_ == 0;
    take(MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (++round == 1 && rank == 0) printf("started\n"), fflush(stdout);
  }
  if (rank == 0) printf("%d rounds\n", round), fflush(stdout);
  free(out);
  free(in);
  free(requests);
  return check_finalize();
}
