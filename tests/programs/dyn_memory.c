/* SPDX-License-Identifier: BSD-3-Clause */
/* dyn_memory: how messages between a job and one that it spawned travel. Long messages that one process
   copies from the memory of the other are counted; over the network none are. dyn_memory           the
   processes share this host: memory dyn_memory apart     the children take themselves for another host
   (HERALD_HOST): network dyn_memory often     many jobs, one after the other, more than there are rings
     dyn_memory killed    a child is killed while it is connected: the parents get an error */
#include <signal.h>
#include <unistd.h>

#include "check.h"

enum { kLong = 1 << 20, kShort = 40 };

static MPI_T_pvar_session session;

static MPI_T_pvar_handle find_counter(const char* name) {
  MPI_T_pvar_handle handle;
  int index, count;
  OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_AGGREGATE, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  OK(MPI_T_pvar_start(session, handle));
  return handle;
}

static void exchange(MPI_Comm inter, int peer) {
  char *out = malloc(kLong), *in = calloc(kLong, 1);
  int rank;
  MPI_Request request;
  MPI_Comm_rank(inter, &rank);
  for (int i = 0; i < kLong; i++) out[i] = (char)(i * 7 + rank);
  for (int i = 0; i < kShort; i++) {
    int sent = i * 1000 + rank, received = -1;
    OK(MPI_Isend(&sent, 1, MPI_INT, peer, 1, inter, &request));
    OK(MPI_Recv(&received, 1, MPI_INT, peer, 1, inter, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(received == i * 1000 + peer);
  }
  OK(MPI_Isend(out, kLong, MPI_CHAR, peer, 2, inter, &request));
  OK(MPI_Recv(in, kLong, MPI_CHAR, peer, 2, inter, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < kLong; i++)
    if (in[i] != (char)(i * 7 + peer)) {
      CHECK(!"the bytes of the long message");
      break;
    }
  free(out);
  free(in);
}

/* Of this process and of all others, how many bytes the exchanges copied from memory to memory. */
static long long exchange_with_all(MPI_Comm inter) {
  long long kernel[2], mapped[2], mine, here = 0, there = 0;
  int remote;
  MPI_Comm all;
  MPI_T_pvar_handle by_kernel = find_counter("herald_bytes_kernel"),
                    by_map = find_counter("herald_bytes_mapped");
  MPI_Comm_remote_size(inter, &remote);
  OK(MPI_T_pvar_read(session, by_kernel, &kernel[0]));
  OK(MPI_T_pvar_read(session, by_map, &mapped[0]));
  for (int peer = 0; peer < remote; peer++) exchange(inter, peer);
  OK(MPI_Barrier(inter));
  OK(MPI_T_pvar_read(session, by_kernel, &kernel[1]));
  OK(MPI_T_pvar_read(session, by_map, &mapped[1]));
  mine = kernel[1] - kernel[0] + mapped[1] - mapped[0];
  OK(MPI_Allreduce(&mine, &there, 1, MPI_LONG_LONG, MPI_SUM, inter));
  OK(MPI_Intercomm_merge(inter, 0, &all));
  OK(MPI_Allreduce(&mine, &here, 1, MPI_LONG_LONG, MPI_SUM, all));
  CHECK(here >= there);
  OK(MPI_Comm_free(&all));
  OK(MPI_T_pvar_handle_free(session, &by_kernel));
  OK(MPI_T_pvar_handle_free(session, &by_map));
  return here;
}

/* Memory that a killed process would leave has a name. */
static void check_names(void) {
  char line[1000];
  FILE* maps = fopen("/proc/self/maps", "r");
  CHECK(maps != NULL);
  while (fgets(line, sizeof line, maps) != NULL)
    CHECK(strstr(line, "/dev/shm/herald-") == NULL || strstr(line, "(deleted)") != NULL);
  fclose(maps);
}

static void meet(MPI_Comm inter, const char* mode) {
  int size, remote;
  MPI_Comm_size(inter, &size);
  MPI_Comm_remote_size(inter, &remote);
  const long long pairs = (long long)size * remote, bytes = exchange_with_all(inter);
  const long long expected = strcmp(mode, "apart") == 0 ? 0 : 2 * pairs * kLong;
  CHECK(bytes == expected);
  if (bytes != expected) printf("%lld bytes were copied directly, not %lld\n", bytes, expected);
  check_names();
}

static void be_killed(MPI_Comm inter, int is_child) {
  int remote, word = 1;
  MPI_Comm_remote_size(inter, &remote);
  for (int peer = 0; peer < remote; peer++) exchange(inter, peer);
  if (is_child) raise(SIGKILL);
  const double begin = MPI_Wtime();
  CHECK(MPI_Recv(&word, 1, MPI_INT, 0, 9, inter, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  CHECK(MPI_Wtime() - begin < 30); /* over the network it would take the detection time, 60 s */
}

static MPI_Comm spawn(const char* self, const char* mode, int count) {
  char* arguments[] = {"child", (char*)mode, NULL};
  MPI_Comm inter;
  MPI_Info info;
  OK(MPI_Info_create(&info));
  if (strcmp(mode, "apart") == 0) OK(MPI_Info_set(info, "env", "HERALD_HOST=elsewhere"));
  OK(MPI_Comm_spawn(self, arguments, count, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
  return inter;
}

int main(int argc, char** argv) {
  MPI_Comm inter;
  int provided, is_child = argc > 2 && strcmp(argv[1], "child") == 0;
  const char* mode = is_child ? argv[2] : argc > 1 ? argv[1] : "here";
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_pvar_session_create(&session));
  const int killed = strcmp(mode, "killed") == 0, rounds = is_child || strcmp(mode, "often") != 0 ? 1 : 20;
  for (int i = 0; i < rounds; i++) {
    if (is_child)
      OK(MPI_Comm_get_parent(&inter));
    else
      inter = spawn(argv[0], mode, killed || rounds > 1 ? 1 : 3);
    if (killed)
      be_killed(inter, is_child);
    else
      meet(inter, mode);
    OK(killed ? MPI_Comm_free(&inter) : MPI_Comm_disconnect(&inter));
  }
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
  if (!is_child) return check_finalize();
  MPI_Finalize();
  if (check_failures_ != 0) printf("failed: child\n");
  return check_failures_ != 0;
}
