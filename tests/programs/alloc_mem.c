/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong with memory from MPI_Alloc_mem: messages from and to it are damaged, also when the
   memory was freed and reused, or when only one side has such memory; its size or alignment is wrong; peers
   do not map it, which only the time taken would show. */
#include <stdint.h>

#include "check.h"

enum { kBytes = 1 << 20, kTurns = 8 };

static char* take(int shared) {
  char* memory = NULL;
  if (!shared) return malloc(kBytes);
  OK(MPI_Alloc_mem(kBytes, MPI_INFO_NULL, &memory));
  CHECK((uintptr_t)memory % 64 == 0);
  return memory;
}

int main(int argc, char** argv) {
  int rank, size, provided;
  MPI_Init(&argc, &argv);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_T_pvar_session session;
  MPI_T_pvar_handle mapped, kernel;
  int index, count;
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_T_pvar_get_index("herald_bytes_mapped", MPI_T_PVAR_CLASS_AGGREGATE, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &mapped, &count));
  OK(MPI_T_pvar_get_index("herald_bytes_kernel", MPI_T_PVAR_CLASS_AGGREGATE, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &kernel, &count));
  OK(MPI_T_pvar_start(session, mapped));
  OK(MPI_T_pvar_start(session, kernel));
  for (int turn = 0; turn < kTurns; turn++) { /* both, one or none of the two buffers */
    char *out = take(turn & 1), *in = take(turn & 2);
    memset(out, rank + turn, kBytes);
    memset(in, -1, kBytes);
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    OK(MPI_Sendrecv(out, kBytes, MPI_CHAR, next, 0, in, kBytes, MPI_CHAR, before, 0, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    int wrong = 0;
    for (int i = 0; i < kBytes; i++) wrong += in[i] != (char)(before + turn);
    CHECK(wrong == 0);
    OK((turn & 1) ? MPI_Free_mem(out) : (free(out), MPI_SUCCESS));
    OK((turn & 2) ? MPI_Free_mem(in) : (free(in), MPI_SUCCESS));
  }
  unsigned long long mine[2] = {0, 0}, all[2] = {0, 0};
  OK(MPI_T_pvar_read(session, mapped, &mine[0]));
  OK(MPI_T_pvar_read(session, kernel, &mine[1]));
  MPI_Reduce(mine, all, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%llu bytes in mapped memory, %llu by the kernel\n", all[0], all[1]);
    /* Where memory of peers can be reached at all, half of the buffers were mapped. */
    CHECK(all[1] == 0 || all[0] > (unsigned long long)size * kBytes);
  }
  OK(MPI_T_pvar_session_free(&session));
  MPI_T_finalize();
  return check_finalize();
}
