/* SPDX-License-Identifier: BSD-3-Clause */
/* dyn_spawn: MPI_Comm_spawn and MPI_Comm_spawn_multiple of this program itself. Children know their part from
   their arguments: `child NUMBER`. dyn_spawn [starts]: only what starts; Hydra does not report a failure. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "dyn_talk.h"

static const char* self;

static void talk_to_parent(MPI_Comm parent, const char* word) {
  int size, remote, *app, flag;
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Comm_size(parent, &size);
  MPI_Comm_remote_size(parent, &remote);
  OK(MPI_Comm_get_name(parent, name, &length));
  CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &app, &flag));
  CHECK(flag && *app == (strcmp(word, "second") == 0 ? 1 : 0));
  if (strcmp(word, "dies") != 0 && strcmp(word, "informed") != 0) talk(parent, 0);
  OK(MPI_Comm_disconnect(&parent));
  OK(MPI_Comm_get_parent(&parent));
  CHECK(parent == MPI_COMM_NULL);
  if (strcmp(word, "dies") == 0) raise(SIGKILL);
}

static void spawn_one(int count) {
  char* arguments[] = {"child", "with blanks", NULL};
  int codes[16];
  MPI_Comm inter;
  for (int i = 0; i < count; i++) codes[i] = -1;
  OK(MPI_Comm_spawn(self, arguments, count, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes));
  int remote;
  OK(MPI_Comm_remote_size(inter, &remote));
  CHECK(remote == count);
  for (int i = 0; i < count; i++) CHECK(codes[i] == MPI_SUCCESS);
  talk(inter, 1);
  OK(MPI_Comm_disconnect(&inter));
}

static void spawn_two(void) {
  char* commands[] = {(char*)self, (char*)self};
  char* first[] = {"child", "first", NULL};
  char* second[] = {"child", "second", NULL};
  char** arguments[] = {first, second};
  int counts[] = {1, 2}, remote;
  MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm inter;
  OK(MPI_Info_create(&infos[1]));
  OK(MPI_Info_set(infos[1], "wdir", "/tmp"));
  OK(MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, 0, MPI_COMM_WORLD, &inter,
                             MPI_ERRCODES_IGNORE));
  OK(MPI_Comm_remote_size(inter, &remote));
  CHECK(remote == 3);
  talk(inter, 1);
  OK(MPI_Comm_disconnect(&inter));
  OK(MPI_Info_free(&infos[1]));
}

static void spawn_absent(void) {
  int codes[2] = {0, 0};
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_CLASS(
      MPI_Comm_spawn("/no/such/program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes),
      MPI_ERR_SPAWN);
  CHECK(codes[0] != MPI_SUCCESS && codes[1] != MPI_SUCCESS && inter == MPI_COMM_NULL);
  CHECK_CLASS(
      MPI_Comm_spawn("no_such_program", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes),
      MPI_ERR_SPAWN);
}

static void spawn_nothing(void) {
  int codes[2] = {0, 0};
  MPI_Comm inter = MPI_COMM_NULL;
  spawn_absent();
  CHECK_CLASS(MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes),
              MPI_ERR_SPAWN);
  CHECK_CLASS(MPI_Comm_spawn(self, MPI_ARGV_NULL, -1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes),
              MPI_ERR_ARG);
}

/* The variables and the directory that a child sees. */
static void spawn_with_info(void) {
  char folder[] = "/tmp/herald-dyn_spawn-XXXXXX", *arguments[] = {"child", "informed", folder, NULL};
  MPI_Comm inter;
  MPI_Info info;
  CHECK(mkdtemp(folder) != NULL);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "wdir", folder));
  OK(MPI_Info_set(info, "env", "DYN_SPAWN_A=one two\nDYN_SPAWN_B=2"));
  OK(MPI_Comm_spawn(self, arguments, 1, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
  OK(MPI_Comm_disconnect(&inter));
  OK(MPI_Info_free(&info));
  CHECK(rmdir(folder) == 0 || errno == ENOENT);
}

static void check_info(const char* folder) {
  char here[4096] = "", *one = getenv("DYN_SPAWN_A"), *two = getenv("DYN_SPAWN_B");
  CHECK(getcwd(here, sizeof here) != NULL && strcmp(here, folder) == 0);
  CHECK(one != NULL && strcmp(one, "one two") == 0 && two != NULL && strcmp(two, "2") == 0);
}

/* The error names a launcher that can. */
static void spawn_refused(void) {
  MPI_Comm inter = MPI_COMM_NULL;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length, error, kind;
  error =
      MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  OK(MPI_Error_class(error, &kind));
  CHECK(kind == MPI_ERR_SPAWN && inter == MPI_COMM_NULL);
  OK(MPI_Error_string(error, text, &length));
  CHECK(strstr(text, "Herald's mpiexec") != NULL);
  if (check_failures_ != 0) printf("the error is: %s\n", text);
}

/* A child that dies after it has disconnected. */
static void spawn_dying(void) {
  char* arguments[] = {"child", "dies", NULL};
  MPI_Comm inter;
  OK(MPI_Comm_spawn(self, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
  OK(MPI_Comm_disconnect(&inter));
  sleep(1);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  self = argv[0];
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  OK(MPI_Comm_get_parent(&parent));
  if (argc > 2 && strcmp(argv[1], "child") == 0) {
    CHECK(parent != MPI_COMM_NULL);
    if (argc > 3) check_info(argv[3]);
    talk_to_parent(parent, argv[2]);
    MPI_Finalize();
    if (check_failures_ != 0) printf("failed: child\n");
    return check_failures_ != 0;
  }
  CHECK(parent == MPI_COMM_NULL);
  if (argc > 1 && strcmp(argv[1], "dies") == 0) {
    spawn_dying();
  } else if (argc > 1 && strcmp(argv[1], "refused") == 0) {
    spawn_refused();
  } else {
    spawn_one(1);
    spawn_one(3);
    spawn_two();
    if (argc == 1 || strcmp(argv[1], "absent") == 0) spawn_with_info();
    if (argc == 1) spawn_nothing();
    if (argc > 1 && strcmp(argv[1], "absent") == 0) spawn_absent();
  }
  return check_finalize();
}
