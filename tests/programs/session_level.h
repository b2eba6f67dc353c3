/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread level that a new session says it has. With CHECK and OK of the program. */

static void check_session_level(const char* wanted) {
  MPI_Session session;
  MPI_Info info;
  char value[64] = "";
  int flag, length = 64;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  OK(MPI_Session_get_info(session, &info));
  OK(MPI_Info_get_string(info, "thread_level", &length, value, &flag));
  CHECK(flag && strcmp(value, wanted) == 0);
  OK(MPI_Info_free(&info));
  OK(MPI_Session_finalize(&session));
}
