/* SPDX-License-Identifier: BSD-3-Clause */
/* flood_in_barrier.c: one rank sends more short messages than its window holds to ranks that wait in a fused
   barrier, then enters the barrier. What could go wrong: a waiting rank acknowledges nothing and the sender
   waits for ever; a message is lost or overtakes another. */
#include <unistd.h>
#include "check.h"

enum { kFloods = 3 }; /* by each rank */
static int rank, size;
static MPI_T_pvar_session session;
static MPI_T_pvar_handle fused, unexpected;

static MPI_T_pvar_handle open_counter(const char* name) {
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  int index = -1, count = 0;
  OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  OK(MPI_T_pvar_start(session, handle));
  return handle;
}

static unsigned long long read_counter(MPI_T_pvar_handle handle) {
  unsigned long long value = 0;
  OK(MPI_T_pvar_read(session, handle, &value));
  return value;
}

/* The first barriers of a communicator set up its lane; returns whether all ranks then exchange fused
 * packets. */
static int reach_fused_barriers(void) {
  int all = 0;
  for (int i = 0; i < 5000 && !all; ++i) {
    const unsigned long long before = read_counter(fused);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    const int mine = read_counter(fused) > before;
    OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  }
  return all;
}

/* Returns whether this rank took messages while it waited in a fused barrier. A rank that the system did not
   schedule in time may have taken them before. */
static int flood(int round) {
  enum { kMessages = 120, kInts = 8, kHeadStartUs = 2000 };
  const int sender = round % size;
  int data[kInts];
  if (rank == sender) {
    usleep(kHeadStartUs); /* the others wait in the barrier by now */
    for (int i = 0; i < kMessages; ++i)
      for (int to = 0; to < size; ++to) {
        if (to == rank) continue;
        for (int k = 0; k < kInts; ++k) data[k] = round * 1000 + i + k + to;
        OK(MPI_Send(data, kInts, MPI_INT, to, i % 3, MPI_COMM_WORLD));
      }
  }
  const unsigned long long fused_before = read_counter(fused), unexpected_before = read_counter(unexpected);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int flooded = read_counter(fused) > fused_before && read_counter(unexpected) > unexpected_before;
  if (rank == sender) return 0;
  for (int i = 0; i < kMessages; ++i) {
    OK(MPI_Recv(data, kInts, MPI_INT, sender, i % 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int k = 0; k < kInts; ++k) CHECK(data[k] == round * 1000 + i + k + rank);
  }
  return flooded;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init(&argc, &argv);
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(MPI_T_pvar_session_create(&session));
  fused = open_counter("herald_fused");
  unexpected = open_counter("herald_messages_unexpected");
  CHECK(reach_fused_barriers());
  int flooded = 0;
  for (int round = 0; round < kFloods * size; ++round) flooded += flood(round);
  CHECK(2 * flooded > kFloods * (size - 1)); /* most times that this rank received */
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
  return check_finalize();
}
