/* SPDX-License-Identifier: BSD-3-Clause */
/* Mistakes that must end the job with a message and a code: each case is one. What could go wrong: the job
   hangs, ends with code 0, or prints nothing helpful. The case "leaks" must finish and list the objects that
   were not freed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char* name, int argc, char** argv) { return argc > 1 && strcmp(argv[1], name) == 0; }

static int refuse(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm;
  (void)key;
  (void)value;
  (void)extra;
  return MPI_ERR_OTHER;
}

/* Replaces stdout by a full pipe that nobody reads, with output that is not flushed yet. */
static void block_stdout(void) {
  static char page[4096];
  int ends[2], i;
  if (pipe(ends) != 0) return;
  for (i = 0; i < 16; ++i) /* the capacity of a pipe */
    if (write(ends[1], page, sizeof page) < 0) return;
  dup2(ends[1], STDOUT_FILENO);
  printf("not flushed");
}

static void leak(void) {
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Group group;
  MPI_Info info;
  MPI_Request request;
  static int data;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "forgotten");
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Type_set_name(type, "triple");
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Info_create(&info);
  MPI_Recv_init(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
}

int main(int argc, char** argv) {
  MPI_Comm comm, freed;
  int rank, value = 0, key;
  MPI_Group group;
  MPI_Session session;
  if (is("group_before_init", argc, argv)) MPI_Group_size(MPI_GROUP_NULL, &value);
  if (is("finalize_before_init", argc, argv)) MPI_Finalize();
  if (is("world_in_session", argc, argv)) {
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }
  if (is("session_left_open", argc, argv)) {
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    return 0;
  }
  if (is("level", argc, argv)) MPI_Init_thread(&argc, &argv, 12345, &value);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (is("freed_comm", argc, argv)) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    freed = comm;
    MPI_Comm_free(&comm);
    MPI_Comm_size(freed, &value);
  }
  if (is("free_world", argc, argv)) {
    comm = MPI_COMM_WORLD;
    MPI_Comm_free(&comm);
  }
  if (is("group_rank", argc, argv)) {
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    value = 99;
    MPI_Group_incl(group, 1, &value, &group);
  }
  if (is("raised", argc, argv)) MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_DIMS);
  if (is("errors_abort", argc, argv)) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
    MPI_Comm_set_name(MPI_COMM_WORLD, NULL);
  }
  if (is("init_twice", argc, argv)) MPI_Init(&argc, &argv);
  if (is("abort_zero", argc, argv) && rank == 1) MPI_Abort(MPI_COMM_WORLD, 0);
  if (is("abort_256", argc, argv) && rank == 1) MPI_Abort(MPI_COMM_WORLD, 256);
  if (is("abort_0", argc, argv) && rank == 1) MPI_Abort(MPI_COMM_WORLD, 0);
  if (is("abort_300", argc, argv) && rank == 1) MPI_Abort(MPI_COMM_WORLD, 300);
  if (is("exit_0", argc, argv) && rank == 1) exit(0);
  if (is("abort_blocked", argc, argv) && rank == 1) {
    block_stdout();
    MPI_Abort(MPI_COMM_WORLD, 5);
  }
  if (is("delete_callback", argc, argv)) {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  }
  if (is("leaks", argc, argv)) leak();
  MPI_Finalize();
  if (is("finalize_twice", argc, argv)) MPI_Finalize();
  if (is("init_again", argc, argv)) MPI_Init(&argc, &argv);
  if (is("leaks", argc, argv) && rank == 0) return 3; /* the runner wants a code; the message matters */
  return 0;
}
