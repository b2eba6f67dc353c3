/* SPDX-License-Identifier: BSD-3-Clause */
/* Random file access by all ranks against a copy of the file in memory. Every rank computes what all ranks
   do, so each can check what it reads. Ranks that write the same byte write the same value, except in atomic
   mode, where the values must come from one rank. io_random [SEED [STEPS]]: a failure prints the seed. */
#include <sched.h>

#include "check.h"
#include "io_model.h"
#include "io_path.h"

/* With the shared pointer, ranks take their turns in any order: all parts must have the same length then. */
static void place_shared(int how) {
  long at = shared_pointer;
  int i, fits = 1;
  for (i = 1; i < size; i++) {
    if (how != SHARED && how != I_SHARED) continue;
    ranks[i].buffer = ranks[0].buffer;
    ranks[i].items = ranks[0].items;
  }
  for (i = 0; i < size; i++) {
    ranks[i].position = at * unit;
    at += bytes_of(&ranks[i]) / unit;
    if (bytes_of(&ranks[i]) > 0 && offset_of(&ranks[i].view, at * unit - 1) >= FILE_BYTES) fits = 0;
  }
  if (!fits) {
    for (i = 0; i < size; i++) ranks[i].items = 0, ranks[i].position = shared_pointer * unit;
    at = shared_pointer;
  }
  shared_pointer = at;
}

static void check_counts(MPI_Status* status, MPI_Datatype type, long bytes) {
  MPI_Count got;
  MPI_Get_elements_c(status, MPI_BYTE, &got);
  CHECK(got == bytes);
  (void)type;
}

static void write_step(MPI_File fh, int how, int step) {
  struct Rank* me = &ranks[rank];
  const MPI_Datatype type = make_type(&me->buffer);
  MPI_Datatype handle = type;
  MPI_Status status;
  const int turns = how == SHARED || how == I_SHARED;
  long i;
  int r;
  memset(memory, 0, sizeof memory);
  for (i = 0; i < bytes_of(me); i++)
    memory[offset_of(&me->buffer, i)] =
        turns ? (unsigned char)(step + i) : value_at(step, offset_of(&me->view, me->position + i));
  OK(transfer(fh, how, 1, me->position / unit, type, me->items, &status));
  check_counts(&status, type, bytes_of(me));
  for (r = 0; r < size; r++)
    for (i = 0; i < bytes_of(&ranks[r]); i++) {
      const long at = offset_of(&ranks[r].view, ranks[r].position + i);
      expected[at] = turns ? (unsigned char)(step + i) : value_at(step, at);
      if (at + 1 > expected_size) expected_size = at + 1;
    }
  MPI_Type_free(&handle);
}

static void read_step(MPI_File fh, int how) {
  struct Rank* me = &ranks[rank];
  MPI_Datatype type = make_type(&me->buffer);
  MPI_Status status;
  const int turns = how == SHARED || how == I_SHARED;
  long i, there = 0;
  memset(memory, 0xee, sizeof memory);
  memset(wanted, 0xee, sizeof wanted);
  for (i = 0; i < bytes_of(me) && offset_of(&me->view, me->position + i) < expected_size; i++, there++)
    wanted[offset_of(&me->buffer, i)] = expected[offset_of(&me->view, me->position + i)];
  OK(transfer(fh, how, 0, me->position / unit, type, me->items, &status));
  if (!turns) { /* ranks take turns in any order */
    check_counts(&status, type, there);
    CHECK(memcmp(memory, wanted, sizeof memory) == 0);
  }
  MPI_Type_free(&type);
}

/* Some individual pointers go on from where they are. */
static void place_pointers(MPI_File fh) {
  int i;
  for (i = 0; i < size; i++)
    if (draw(2) == 0 && ranks[i].items > 0 &&
        offset_of(&ranks[i].view, pointers[i] * unit + bytes_of(&ranks[i]) - 1) < FILE_BYTES)
      ranks[i].position = pointers[i] * unit;
  OK(MPI_File_seek(fh, ranks[rank].position / unit, MPI_SEEK_SET));
  for (i = 0; i < size; i++) pointers[i] = (ranks[i].position + bytes_of(&ranks[i])) / unit;
}

static void access_step(MPI_File fh, int step) {
  const int how = (int)draw(HOWS), writes = (int)draw(2);
  const int before = check_failures_;
  draw_accesses();
  if (uses_shared(how)) {
    set_view(fh, 1);
    draw_accesses();
    place_shared(how);
  } else if (uses_pointer(how)) {
    place_pointers(fh);
  }
  if (writes)
    write_step(fh, how, step);
  else
    read_step(fh, how);
  if (uses_pointer(how)) {
    MPI_Offset now;
    OK(MPI_File_get_position(fh, &now));
    CHECK(now == pointers[rank]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (uses_shared(how)) {
    MPI_Offset now;
    OK(MPI_File_get_position_shared(fh, &now));
    CHECK(now == shared_pointer);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (check_failures_ > before)
    fprintf(stderr, "rank %d: step %d: %s %s\n", rank, step, writes ? "write" : "read", names[how]);
}

/* Other messages and collectives, while accesses go on. */
static void other_traffic(void) {
  const unsigned what = draw(4);
  int one = rank, sum = -1, got = -1;
  if (draw(3) == 0 && rank == (int)draw(64) % size) usleep(300);
  if (what == 0) {
    MPI_Sendrecv(&one, 1, MPI_INT, (rank + 1) % size, 5, &got, 1, MPI_INT, (rank + size - 1) % size, 5,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == (rank + size - 1) % size);
  } else if (what == 1) {
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
  }
}

static void complete(int count, MPI_Request* requests, MPI_Status* statuses) {
  const unsigned how = draw(3);
  int i, done = 0;
  if (how == 0) OK(MPI_Waitall(count, requests, statuses));
  if (how == 1)
    for (; !done; sched_yield()) OK(MPI_Testall(count, requests, &done, statuses));
  if (how == 2)
    for (i = count - 1; i >= 0; i--) OK(MPI_Wait(&requests[i], &statuses[i]));
}

/* Several nonblocking collective accesses at once; types are freed before they end. Writes have the same
   value for the same byte, so their order does not matter. */
static void batch_step(MPI_File fh, int step) {
  enum { MOST = 4 };
  static unsigned char memories[MOST][MEMORY_BYTES], all_wanted[MOST][MEMORY_BYTES];
  const int count = 1 + (int)draw(MOST), writes = (int)draw(2), before = check_failures_;
  MPI_Request requests[MOST];
  MPI_Status statuses[MOST];
  long bytes[MOST], i;
  int n, r;
  for (n = 0; n < count; n++) {
    const int how = draw(2) == 0 ? I_ALL : I_ALL_AT;
    struct Rank* me = &ranks[rank];
    MPI_Datatype type;
    draw_accesses();
    if (how == I_ALL) place_pointers(fh);
    memset(memories[n], 0xee, MEMORY_BYTES);
    memset(all_wanted[n], 0xee, MEMORY_BYTES);
    bytes[n] = 0;
    for (i = 0; i < bytes_of(me); i++) {
      const long at = offset_of(&me->view, me->position + i), place = offset_of(&me->buffer, i);
      if (writes) memories[n][place] = value_at(step, at);
      if (writes || at < expected_size) all_wanted[n][place] = writes ? value_at(step, at) : expected[at];
      bytes[n] += writes || at < expected_size;
    }
    for (r = 0; writes && r < size; r++)
      for (i = 0; i < bytes_of(&ranks[r]); i++) {
        const long at = offset_of(&ranks[r].view, ranks[r].position + i);
        expected[at] = value_at(step, at);
        if (at + 1 > expected_size) expected_size = at + 1;
      }
    type = make_type(&me->buffer);
    OK(start_collective(fh, how, writes, me->position / unit, memories[n], type, me->items, &requests[n]));
    MPI_Type_free(&type);
    other_traffic();
  }
  complete(count, requests, statuses);
  for (n = 0; n < count; n++) {
    check_counts(&statuses[n], MPI_BYTE, bytes[n]);
    CHECK(memcmp(memories[n], all_wanted[n], MEMORY_BYTES) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_failures_ > before)
    fprintf(stderr, "rank %d: step %d: %d outstanding %s\n", rank, step, count, writes ? "writes" : "reads");
}

static void size_step(MPI_File fh) {
  const long bytes = draw(FILE_BYTES);
  MPI_Offset now;
  if (draw(2) == 0) {
    OK(MPI_File_set_size(fh, bytes));
    if (bytes < expected_size) memset(expected + bytes, 0, (size_t)(expected_size - bytes));
    expected_size = bytes;
  } else {
    OK(MPI_File_preallocate(fh, bytes));
    if (bytes > expected_size) expected_size = bytes;
  }
  OK(MPI_File_get_size(fh, &now));
  CHECK(now == expected_size);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Overlapping writes of all ranks: the bytes of a range come from one of them. */
static void atomic_step(MPI_File fh) {
  const int length = 1 + (int)draw(4000), collective = (int)draw(2);
  int i, mixed = 0;
  OK(MPI_File_set_atomicity(fh, 1));
  OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  memset(memory, rank + 1, (size_t)length);
  OK(collective ? MPI_File_write_at_all(fh, 0, memory, length, MPI_BYTE, MPI_STATUS_IGNORE)
                : MPI_File_write_at(fh, 0, memory, length, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at(fh, 0, memory, length, MPI_BYTE, MPI_STATUS_IGNORE));
  for (i = 1; i < length; i++) mixed += memory[i] != memory[0];
  CHECK(mixed == 0);
  OK(MPI_File_set_atomicity(fh, 0));
  MPI_Barrier(MPI_COMM_WORLD);
  memset(memory, 7, (size_t)length);
  OK(MPI_File_write_at_all(fh, 0, memory, rank == 0 ? length : 0, MPI_BYTE, MPI_STATUS_IGNORE));
  memset(expected, 7, (size_t)length);
  if (length > expected_size) expected_size = length;
  set_view(fh, 0);
}

static MPI_Info draw_hints(void) {
  static const char* const choices[] = {"automatic", "enable", "disable"};
  MPI_Info info;
  char text[32];
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", choices[draw(3)]);
  MPI_Info_set(info, "romio_cb_read", choices[draw(3)]);
  MPI_Info_set(info, "romio_ds_write", choices[draw(3)]);
  MPI_Info_set(info, "romio_ds_read", choices[draw(3)]);
  snprintf(text, sizeof text, "%u", 1 + draw(9000));
  MPI_Info_set(info, "cb_buffer_size", text);
  snprintf(text, sizeof text, "%u", 1 + draw(5));
  MPI_Info_set(info, "cb_nodes", text);
  MPI_Info_set(info, "cb_config_list", draw(2) == 0 ? "*:1" : "*:*");
  snprintf(text, sizeof text, "%u", 1 + draw(5000));
  MPI_Info_set(info, "ind_rd_buffer_size", text);
  MPI_Info_set(info, "ind_wr_buffer_size", text);
  return info;
}

static void whole_file(MPI_File fh) {
  static unsigned char all[FILE_BYTES];
  MPI_Status status;
  OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_File_read_at_all(fh, 0, all, FILE_BYTES, MPI_BYTE, &status));
  check_counts(&status, MPI_BYTE, expected_size);
  CHECK(memcmp(all, expected, (size_t)expected_size) == 0);
}

int main(int argc, char** argv) {
  unsigned long long seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
  const int steps = argc > 2 ? atoi(argv[2]) : 150;
  MPI_File fh;
  MPI_Info info;
  int step, failed = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (seed == 0) seed = (unsigned long long)getpid();
  MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  state = seed;
  make_io_path("io_random");
  info = draw_hints();
  OK(MPI_File_open(MPI_COMM_WORLD, io_path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info,
                   &fh));
  MPI_Info_free(&info);
  set_view(fh, 0);
  for (step = 1; step <= steps && failed == 0; step++) {
    const unsigned what = draw(20);
    if (what < 4)
      set_view(fh, 0);
    else if (what == 4)
      size_step(fh);
    else if (what == 5)
      atomic_step(fh);
    else if (what < 10)
      batch_step(fh, step);
    else
      access_step(fh, step);
    MPI_Allreduce(&check_failures_, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  whole_file(fh);
  OK(MPI_File_close(&fh));
  if (check_failures_ > 0) fprintf(stderr, "rank %d: seed %llu\n", rank, seed);
  return check_finalize();
}
