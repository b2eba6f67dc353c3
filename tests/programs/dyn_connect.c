/* SPDX-License-Identifier: BSD-3-Clause */
/* dyn_connect: ports. Without arguments the two halves of a job connect to each other. `server FILE` and
   `client FILE` are two jobs, which meet through the port that the server writes to the file. */
#include <unistd.h>

#include "dyn_talk.h"

static void write_port(const char* file, const char* port) {
  char other[600];
  snprintf(other, sizeof other, "%s.new", file);
  FILE* out = fopen(other, "w");
  CHECK(out != NULL);
  fputs(port, out);
  fclose(out);
  CHECK(rename(other, file) == 0);
}

static void read_port(const char* file, char* port) {
  for (int i = 0; i < 1200; i++, usleep(50000)) {
    FILE* in = fopen(file, "r");
    if (in == NULL) continue;
    const size_t n = fread(port, 1, MPI_MAX_PORT_NAME - 1, in);
    port[n] = '\0';
    fclose(in);
    return;
  }
  CHECK(!"the port appeared");
}

static void serve(const char* file, int rounds) {
  char port[MPI_MAX_PORT_NAME] = "";
  int rank;
  MPI_Comm inter;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    OK(MPI_Open_port(MPI_INFO_NULL, port));
    write_port(file, port);
  }
  for (int i = 0; i < rounds; i++) {
    OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
    talk(inter, 1);
    OK(MPI_Comm_disconnect(&inter));
  }
  if (rank == 0) {
    OK(MPI_Close_port(port));
    CHECK_CLASS(MPI_Close_port(port), MPI_ERR_PORT);
    unlink(file);
  }
  CHECK_CLASS(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void connect_to(const char* file, int rounds) {
  char port[MPI_MAX_PORT_NAME] = "";
  int rank;
  MPI_Comm inter;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) read_port(file, port);
  for (int i = 0; i < rounds; i++) {
    OK(MPI_Comm_connect(rank == 0 ? port : NULL, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
    talk(inter, 0);
    OK(MPI_Comm_disconnect(&inter));
    CHECK(inter == MPI_COMM_NULL);
  }
  for (int i = 0; rank == 0 && i < 1200 && access(file, F_OK) == 0; i++) usleep(50000);
  CHECK_CLASS(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
  CHECK_CLASS(MPI_Comm_connect("nonsense", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
}

/* Both halves are in one job; a process that waits in accept still answers its neighbours. */
static void meet_inside(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  int rank, size;
  MPI_Comm half, inter;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) OK(MPI_Open_port(MPI_INFO_NULL, port));
  OK(MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD));
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
  if (rank % 2 == 0)
    OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter));
  else
    OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter));
  talk(inter, rank % 2 == 0);
  OK(MPI_Comm_disconnect(&inter));
  OK(MPI_Comm_free(&half));
  if (rank == 0) OK(MPI_Close_port(port));
}

static void check_time_limit(void) {
  char port[MPI_MAX_PORT_NAME];
  MPI_Info info;
  MPI_Comm inter;
  OK(MPI_Open_port(MPI_INFO_NULL, port));
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "timeout", "0.5"));
  CHECK_CLASS(MPI_Comm_accept(port, info, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
  CHECK_CLASS(MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
  OK(MPI_Info_free(&info));
  OK(MPI_Close_port(port));
}

int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 2) {
    const int rounds = argc > 3 ? atoi(argv[3]) : 2;
    if (strcmp(argv[1], "server") == 0)
      serve(argv[2], rounds);
    else
      connect_to(argv[2], rounds);
  } else {
    check_time_limit();
    if (size > 1) meet_inside();
  }
  return check_finalize();
}
