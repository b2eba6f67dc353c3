/* SPDX-License-Identifier: BSD-3-Clause */
/* dyn_names: MPI_Publish_name, MPI_Lookup_name and MPI_Unpublish_name.
   owner: under a launcher that lets only the owner of a name take it back.
   refused: under one that keeps none. server NAME, client NAME: two jobs that meet by a name. */
#include <unistd.h>

#include "dyn_talk.h"

static void check_inside(int by_owner) {
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
    if (rank == 0 && by_owner && size > 1)
      CHECK_CLASS(MPI_Unpublish_name(names[i], MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == (by_owner ? size - 1 : 0)) OK(MPI_Unpublish_name(names[i], MPI_INFO_NULL, port));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_CLASS(MPI_Lookup_name(names[i], MPI_INFO_NULL, found), MPI_ERR_NAME);
    CHECK_CLASS(MPI_Unpublish_name(names[i], MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    if (rank == size - 1) OK(MPI_Close_port(port));
  }
}

static void names_refused(void) {
  char text[MPI_MAX_ERROR_STRING] = "", port[MPI_MAX_PORT_NAME] = "";
  int length, error, kind;
  OK(MPI_Open_port(MPI_INFO_NULL, port));
  error = MPI_Publish_name("refused", MPI_INFO_NULL, port);
  OK(MPI_Error_class(error, &kind));
  CHECK(kind == MPI_ERR_OTHER);
  OK(MPI_Error_string(error, text, &length));
  CHECK(strstr(text, "\"herald names\"") != NULL);
  if (check_failures_ != 0) printf("the error is: %s\n", text);
  CHECK_CLASS(MPI_Lookup_name("refused", MPI_INFO_NULL, port), MPI_ERR_OTHER);
  OK(MPI_Close_port(port));
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
  else if (argc == 2 && strcmp(argv[1], "refused") == 0)
    names_refused();
  else
    check_inside(argc == 2 && strcmp(argv[1], "owner") == 0);
  return check_finalize();
}
