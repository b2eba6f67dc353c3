/* SPDX-License-Identifier: BSD-3-Clause */
/* Nonblocking and split collective access to files must not block when it starts, must exchange data with
   aggregators as blocking access does, must go on in other calls, and several may be outstanding. */
#include <sched.h>

#include "check.h"
#include "io_path.h"

enum { INTS = 100000, CALLS = 3 }; /* windows are long enough for the thread of the file */

static int rank, size;

static int value_of(int call, int from, int i) { return call * 1000003 + from * 7919 + i; }

static int wrong_values(const int* values, int call) {
  int i, wrong = 0;
  for (i = 0; i < INTS; i++) wrong += values[i] != value_of(call, rank, i);
  return wrong;
}

/* Calls of write(2) and its like by this process; -1: unknown. */
static long writes_so_far(void) {
  char line[100];
  long count = -1;
  FILE* const facts = fopen("/proc/self/io", "r");
  if (facts == NULL) return -1;
  while (fgets(line, sizeof line, facts) != NULL) (void)sscanf(line, "syscw: %ld", &count);
  fclose(facts);
  return count;
}

/* The pieces of all ranks alternate, so one aggregator writes for all of them. */
static MPI_File open_interleaved(void) {
  MPI_Datatype column;
  MPI_Info info;
  MPI_File fh;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "romio_cb_read", "enable");
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_Info_set(info, "cb_buffer_size", "300000");
  OK(MPI_File_open(MPI_COMM_WORLD, io_path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info,
                   &fh));
  MPI_Type_create_resized(MPI_INT, 0, size * (MPI_Aint)sizeof(int), &column);
  MPI_Type_commit(&column);
  OK(MPI_File_set_view(fh, rank * (MPI_Offset)sizeof(int), MPI_INT, column, "native", info));
  MPI_Type_free(&column);
  MPI_Info_free(&info);
  return fh;
}

/* Ranks come one after another; each has started its access before the next one does. */
static void in_turn(void (*start)(void*), void* argument) {
  int token = 0;
  if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  start(argument);
  if (rank < size - 1) MPI_Send(&token, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD);
}

struct Outstanding {
  MPI_File fh;
  int writes, *values[CALLS];
  MPI_Request requests[CALLS];
};

static void start_all(void* argument) {
  struct Outstanding* const all = argument;
  int i;
  for (i = 0; i < CALLS; i++)
    OK(all->writes ? MPI_File_iwrite_at_all(all->fh, (MPI_Offset)i * INTS, all->values[i], INTS, MPI_INT,
                                            &all->requests[i])
                   : MPI_File_iread_at_all(all->fh, (MPI_Offset)i * INTS, all->values[i], INTS, MPI_INT,
                                           &all->requests[i]));
}

static void outstanding(MPI_File fh) {
  struct Outstanding all = {fh, 1, {0}, {0}};
  MPI_Status statuses[CALLS];
  long before, after;
  int call, i, sum = 0, one = 1, count;
  for (call = 0; call < CALLS; call++) {
    all.values[call] = malloc(sizeof(int) * INTS);
    for (i = 0; i < INTS; i++) all.values[call][i] = value_of(call, rank, i);
  }
  before = writes_so_far();
  in_turn(start_all, &all);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == size);
  OK(MPI_Waitall(CALLS, all.requests, statuses));
  after = writes_so_far();
  if (size > 1 && before >= 0) CHECK(after - before < INTS / 10); /* not piece by piece */
  for (call = 0; call < CALLS; call++) {
    MPI_Get_count(&statuses[call], MPI_INT, &count);
    CHECK(count == INTS);
    memset(all.values[call], 0, sizeof(int) * INTS);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  all.writes = 0;
  in_turn(start_all, &all);
  for (i = 0; !i; sched_yield()) OK(MPI_Testall(CALLS, all.requests, &i, MPI_STATUSES_IGNORE));
  for (call = 0; call < CALLS; call++) {
    CHECK(wrong_values(all.values[call], call) == 0);
    free(all.values[call]);
  }
}

struct Split {
  MPI_File fh;
  int* values;
};

static void begin_write(void* argument) {
  const struct Split* const split = argument;
  OK(MPI_File_write_all_begin(split->fh, split->values, INTS, MPI_INT));
}

static void begin_ordered(void* argument) {
  const struct Split* const split = argument;
  OK(MPI_File_write_ordered_begin(split->fh, split->values, 10, MPI_INT));
}

/* Ranks wait for each other between begin and end: a begin that waited for all ranks would not return. */
static void split(MPI_File fh) {
  struct Split now = {fh, malloc(sizeof(int) * INTS)};
  MPI_Status status;
  int i, count;
  for (i = 0; i < INTS; i++) now.values[i] = value_of(9, rank, i);
  OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
  in_turn(begin_write, &now);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_write_all_end(fh, now.values, &status));
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == INTS);
  memset(now.values, 0, sizeof(int) * INTS);
  OK(MPI_File_read_at_all_begin(fh, 0, now.values, INTS, MPI_INT));
  OK(MPI_File_read_at_all_end(fh, now.values, MPI_STATUS_IGNORE));
  CHECK(wrong_values(now.values, 9) == 0);
  OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  in_turn(begin_ordered, &now);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_write_ordered_end(fh, now.values, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at(fh, 10 * rank, now.values, 10, MPI_INT, MPI_STATUS_IGNORE));
  for (i = 0; i < 10; i++) CHECK(now.values[i] == value_of(9, rank, i));
  free(now.values);
}

/* A wrong argument at one rank: all ranks get its class, from the second call; the next access works. A
   blocking call comes behind those that are outstanding. */
static void errors(MPI_File fh) {
  const int last = rank == size - 1;
  int value = 1000 + rank, got = -1, wrong = last ? -1 : 1;
  MPI_Request first, second;
  OK(MPI_File_write_at_all_begin(fh, rank, &value, wrong, MPI_INT));
  CHECK_CLASS(MPI_File_write_at_all_end(fh, &value, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
  OK(MPI_File_iwrite_at_all(fh, rank, &value, wrong, MPI_INT, &first));
  OK(MPI_File_iwrite_at_all(fh, rank, &value, 1, MPI_INT, &second));
  OK(MPI_File_read_at_all(fh, rank, &got, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(got == value);
  CHECK_CLASS(MPI_Wait(&first, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
  OK(MPI_Wait(&second, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  MPI_File fh;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  make_io_path("collective");
  fh = open_interleaved();
  outstanding(fh);
  split(fh);
  errors(fh);
  OK(MPI_File_close(&fh));
  return check_finalize();
}
