/* SPDX-License-Identifier: BSD-3-Clause */
/* A counter of MPI_T. */
#include "check.h"

static MPI_T_pvar_session counter_session;
static MPI_T_pvar_handle counter;

static void open_counter(const char* name) {
  int provided, index, count;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_session_create(&counter_session));
  OK(MPI_T_pvar_handle_alloc(counter_session, index, NULL, &counter, &count));
  OK(MPI_T_pvar_start(counter_session, counter));
}

static unsigned long long counted(void) {
  unsigned long long value;
  OK(MPI_T_pvar_read(counter_session, counter, &value));
  return value;
}

static void close_counter(void) {
  OK(MPI_T_pvar_handle_free(counter_session, &counter));
  OK(MPI_T_pvar_session_free(&counter_session));
  OK(MPI_T_finalize());
}
