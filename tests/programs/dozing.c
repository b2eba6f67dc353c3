/* SPDX-License-Identifier: BSD-3-Clause */
/* dozing.c: who waits for the end of a short call may sleep on the one socket by which that comes. What could
   go wrong: one that sends to it meanwhile, and waits for its answers, waits for ever; what came by the other
   socket is lost, or comes in another order. */
#include "check.h"

static int rank, size;

static MPI_T_pvar_session session;

static MPI_T_pvar_handle watched(const char* name) {
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  int index = -1, count = 0;
  OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  OK(MPI_T_pvar_start(session, handle));
  return handle;
}

static unsigned long long counted(MPI_T_pvar_handle handle) {
  unsigned long long value = 0;
  OK(MPI_T_pvar_read(session, handle, &value));
  return value;
}

/* On a busy machine some may not come to that; then it does not matter. */
static void until_all_doze(MPI_T_pvar_handle dozes) {
  const unsigned long long before = counted(dozes);
  int all = 0;
  for (int i = 0; i < 5000 && !all; ++i) {
    const int mine = rank == 0 || counted(dozes) > before + 3;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  }
}

/* More than may be on its way before the receiver, which is in the barrier, has answered; short ones, which
   need no receive to leave. */
static void flood(int round) {
  enum { kMessages = 120, kInts = 8 };
  int data[kInts];
  if (rank == 0)
    for (int i = 0; i < kMessages; ++i)
      for (int to = 1; to < size; ++to) {
        for (int k = 0; k < kInts; ++k) data[k] = round * 1000 + i + k + to;
        OK(MPI_Send(data, kInts, MPI_INT, to, i % 3, MPI_COMM_WORLD));
      }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank != 0)
    for (int i = 0; i < kMessages; ++i) {
      OK(MPI_Recv(data, kInts, MPI_INT, 0, i % 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      for (int k = 0; k < kInts; ++k) CHECK(data[k] == round * 1000 + i + k + rank);
    }
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init(&argc, &argv);
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(MPI_T_pvar_session_create(&session));
  MPI_T_pvar_handle fused_count = watched("herald_fused"), dozes = watched("herald_dozes");
  for (int round = 0; round < 8; ++round) {
    until_all_doze(dozes);
    flood(round);
  }
  CHECK(counted(fused_count) > 0);
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
  const int failed = check_done();
  MPI_Finalize();
  return failed;
}
