/* SPDX-License-Identifier: BSD-3-Clause */
/* dyn_names: MPI_Publish_name, MPI_Lookup_name and MPI_Unpublish_name. With arguments: `server NAME` and
   `client NAME` are two jobs that meet by a name. */
#include <unistd.h>

#include "dyn_talk.h"

static void check_inside(void) {
  char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME];
  const char* names[] = {"plain", "with blanks = and \"more\""};
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 2; i++) {
    CHECK_CLASS(MPI_Lookup_name(names[i], MPI_INFO_NULL, found), MPI_ERR_NAME);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == size - 1) {
      OK(MPI_Open_port(MPI_INFO_NULL, port));
      OK(MPI_Publish_name(names[i], MPI_INFO_NULL, port));
      CHECK_CLASS(MPI_Publish_name(names[i], MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    }
    OK(MPI_Bcast(port, sizeof port, MPI_CHAR, size - 1, MPI_COMM_WORLD));
    OK(MPI_Lookup_name(names[i], MPI_INFO_NULL, found));
    CHECK(strcmp(port, found) == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) OK(MPI_Unpublish_name(names[i], MPI_INFO_NULL, port));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_CLASS(MPI_Lookup_name(names[i], MPI_INFO_NULL, found), MPI_ERR_NAME);
    CHECK_CLASS(MPI_Unpublish_name(names[i], MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    if (rank == size - 1) OK(MPI_Close_port(port));
  }
}

static void meet(const char* role, const char* name) {
  char port[MPI_MAX_PORT_NAME] = "";
  const int serves = strcmp(role, "server") == 0;
  int rank, error = MPI_SUCCESS;
  MPI_Comm inter;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && serves) {
    OK(MPI_Open_port(MPI_INFO_NULL, port));
    OK(MPI_Publish_name(name, MPI_INFO_NULL, port));
  }
  for (int i = 0; rank == 0 && !serves && i < 600; i++, usleep(100000))
    if ((error = MPI_Lookup_name(name, MPI_INFO_NULL, port)) == MPI_SUCCESS) break;
  OK(error);
  if (serves)
    OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
  else
    OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
  talk(inter, serves);
  OK(MPI_Comm_disconnect(&inter));
  if (rank == 0 && serves) {
    OK(MPI_Unpublish_name(name, MPI_INFO_NULL, port));
    OK(MPI_Close_port(port));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (argc > 2)
    meet(argv[1], argv[2]);
  else
    check_inside();
  return check_finalize();
}
