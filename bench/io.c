// SPDX-License-Identifier: BSD-3-Clause
// io.c: files; built from this one source against any MPI. Prints a line for each measurement: "NAME BYTES
// SECONDS", a call at the slowest rank, median of samples.
//   io [seconds for each measurement [beginning of what, "" for all [directory]]]
// write_2d, read_2d: collective access to an array whose rows the ranks share, in pieces of BYTES each; write
// and read: 4 MiB blocks side by side; pwrite: the same without MPI; open: open and close; shared: 64 B
// appended.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kSamples = 11, kBlock = 4 << 20 };

static int rank, size, plain;
static char path[512], *data;
static const char* only = "";
static MPI_File file;

static void open_close(int bytes) {
  MPI_File fh;
  (void)bytes;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
  MPI_File_close(&fh);
}
static void write_2d(int bytes) {
  (void)bytes;
  MPI_File_write_at_all(file, 0, data, kBlock, MPI_CHAR, MPI_STATUS_IGNORE);
}
static void read_2d(int bytes) {
  (void)bytes;
  MPI_File_read_at_all(file, 0, data, kBlock, MPI_CHAR, MPI_STATUS_IGNORE);
}
static void write_block(int bytes) {
  MPI_File_write_at_all(file, (MPI_Offset)rank * bytes, data, bytes, MPI_CHAR, MPI_STATUS_IGNORE);
}
static void read_block(int bytes) {
  MPI_File_read_at_all(file, (MPI_Offset)rank * bytes, data, bytes, MPI_CHAR, MPI_STATUS_IGNORE);
}
static void plain_write(int bytes) {
  if (pwrite(plain, data, (size_t)bytes, (off_t)rank * bytes) != bytes) MPI_Abort(MPI_COMM_WORLD, 1);
}
static void plain_read(int bytes) {
  if (pread(plain, data, (size_t)bytes, (off_t)rank * bytes) != bytes) MPI_Abort(MPI_COMM_WORLD, 1);
}
static void append_shared(int bytes) {
  MPI_File_write_shared(file, data, bytes, MPI_CHAR, MPI_STATUS_IGNORE);
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static void measure(const char* name, void (*call)(int), int bytes, double seconds) {
  double samples[kSamples], start, took;
  int i, n, calls = 1;
  if (strncmp(name, only, strlen(only)) != 0) return;
  call(bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  call(bytes);
  took = MPI_Wtime() - start;
  MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (took > 0 && seconds / kSamples > took) calls = (int)(seconds / kSamples / took);
  for (i = 0; i < kSamples; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (n = 0; n < calls; ++n) call(bytes);
    samples[i] = (MPI_Wtime() - start) / calls;
    MPI_Allreduce(MPI_IN_PLACE, &samples[i], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  qsort(samples, kSamples, sizeof samples[0], compare);
  if (rank == 0) printf("%s %d %.9f\n", name, bytes, samples[kSamples / 2]), fflush(stdout);
}

static void measure_2d(int bytes, double seconds) {
  MPI_Datatype pieces;
  MPI_Type_vector(kBlock / bytes, bytes, bytes * size, MPI_CHAR, &pieces);
  MPI_Type_commit(&pieces);
  MPI_File_set_view(file, (MPI_Offset)rank * bytes, MPI_CHAR, pieces, "native", MPI_INFO_NULL);
  measure("write_2d", write_2d, bytes, seconds);
  measure("read_2d", read_2d, bytes, seconds);
  MPI_Type_free(&pieces);
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 0.2;
  int bytes;
  if (argc > 2) only = argv[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  snprintf(path, sizeof path, "%s/herald-bench-io-%ld", argc > 3 ? argv[3] : "/dev/shm", (long)getpid());
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  data = malloc(kBlock);
  memset(data, rank + 1, kBlock);
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  plain = open(path, O_RDWR);
  measure("open", open_close, 0, seconds);
  measure("pwrite", plain_write, kBlock, seconds);
  measure("write", write_block, kBlock, seconds);
  measure("pread", plain_read, kBlock, seconds);
  measure("read", read_block, kBlock, seconds);
  for (bytes = 4; bytes <= 65536; bytes *= 16) measure_2d(bytes, seconds);
  MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL);
  measure("shared", append_shared, 64, seconds);
  MPI_File_close(&file);
  close(plain);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(path);
  MPI_Finalize();
  return 0;
}
