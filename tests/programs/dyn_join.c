/* SPDX-License-Identifier: BSD-3-Clause */
/* dyn_join: two processes that have a socket in common, and no launcher, join. */
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dyn_talk.h"

int main(int argc, char** argv) {
  int ends[2], status = 0;
  char word[4] = "";
  MPI_Comm inter;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  const pid_t child = fork();
  const int fd = ends[child == 0];
  close(ends[child != 0]);
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_Comm_join(-1, &inter), MPI_ERR_ARG);
  OK(MPI_Comm_join(fd, &inter));
  /* The socket is the program's again. */
  CHECK(write(fd, "abc", 4) == 4 && read(fd, word, 4) == 4 && strcmp(word, "abc") == 0);
  talk(inter, child != 0);
  OK(MPI_Comm_disconnect(&inter));
  if (child == 0) {
    MPI_Finalize();
    return check_failures_ != 0;
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  return check_finalize();
}
