/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: partitions are lost, sent twice or go to the wrong place when the two sides cut the
   message differently; requests with the same tag are confused; a partition that is marked waits for others
   although the receiver waits for it; threads that mark at once lose a mark; wrong calls are not refused. */
#include <pthread.h>

#include "check.h"

static int rank, size;

/* The message of `round` in which element i of the channel is known at both sides. */
static int value(int channel, int round, int i) { return channel * 1000003 + round * 7919 + i; }

/* Waits until all partitions are there, and checks each as soon as MPI_Parrived says so. */
static void check_arrivals(MPI_Request request, int partitions, int count, const int* data, int channel,
                           int round) {
  char* seen = calloc((size_t)partitions, 1);
  for (int left = partitions; left > 0;)
    for (int p = 0; p < partitions; p++) {
      int flag = 0;
      if (seen[p]) continue;
      OK(MPI_Parrived(request, p, &flag));
      if (!flag) continue;
      for (int i = p * count; i < (p + 1) * count; i++) CHECK(data[i] == value(channel, round, i));
      seen[p] = 1;
      left--;
    }
  free(seen);
}

/* Round the ring: `sends` partitions at the sender, `receives` at the receiver, `elements` in all. */
static void exchange(int sends, int receives, int elements, int order) {
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  int *out = calloc((size_t)elements + 1, sizeof(int)), *in = malloc((size_t)(elements + 1) * sizeof(int));
  MPI_Request requests[2];
  OK(MPI_Psend_init(out, sends, elements / sends, MPI_INT, to, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &requests[0]));
  OK(MPI_Precv_init(in, receives, elements / receives, MPI_INT, from, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &requests[1]));
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < elements; i++) out[i] = value(rank, round, i), in[i] = -1;
    OK(MPI_Startall(2, requests));
    if (order == 0)
      for (int p = 0; p < sends; p++) OK(MPI_Pready(p, requests[0]));
    else if (order == 1)
      for (int p = sends - 1; p >= 0; p--) OK(MPI_Pready(p, requests[0]));
    else if (order == 2)
      OK(MPI_Pready_range(0, sends - 1, requests[0]));
    else {
      int* list = malloc((size_t)sends * sizeof(int));
      for (int p = 0; p < sends; p++) list[p] = (p * 7 + 3) % sends;
      for (int p = 0; p < sends; p++) /* every partition once, for any number of them */
        for (int q = 0; q < p; q++)
          if (list[p] == list[q]) list[p] = (list[p] + 1) % sends, q = -1;
      OK(MPI_Pready_list(sends, list, requests[0]));
      free(list);
    }
    check_arrivals(requests[1], receives, elements / receives, in, from, round);
    MPI_Status statuses[2];
    OK(MPI_Waitall(2, requests, statuses));
    int count = -1;
    OK(MPI_Get_count(&statuses[1], MPI_INT, &count));
    CHECK(count == elements && statuses[1].MPI_SOURCE == from && statuses[1].MPI_TAG == 5);
    for (int i = 0; i < elements; i++) CHECK(in[i] == value(from, round, i));
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
  free(out);
  free(in);
}

/* A partition that is marked arrives although the others are marked only when the receiver has answered. */
static void one_by_one(void) {
  if (size < 2 || rank > 1) return;
  enum { parts = 5 };
  int data[parts] = {0}, answer = 0, flag = 0;
  MPI_Request request;
  if (rank == 0) {
    OK(MPI_Psend_init(data, parts, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    for (int p = 0; p < parts; p++) {
      data[p] = 100 + p;
      OK(MPI_Pready(p, request));
      OK(MPI_Recv(&answer, 1, MPI_INT, 1, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(answer == p);
    }
  } else {
    OK(MPI_Precv_init(data, parts, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    for (int p = 0; p < parts; p++) {
      while (!flag) OK(MPI_Parrived(request, p, &flag));
      CHECK(data[p] == 100 + p);
      if (p + 1 < parts) {
        OK(MPI_Parrived(request, p + 1, &flag));
        CHECK(!flag);
      }
      OK(MPI_Send(&p, 1, MPI_INT, 0, 10, MPI_COMM_WORLD));
      flag = 0;
    }
  }
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&request));
}

/* Requests with the same tag belong together in the order in which they were made, at whatever time. */
/* Partitions without elements: none has arrived before all are ready. */
static void empty_partitions(void) {
  MPI_Request send, recv;
  int flag, i;
  OK(MPI_Psend_init(NULL, 3, 0, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  OK(MPI_Precv_init(NULL, 3, 0, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &recv));
  for (int round = 0; round < 3; round++) {
    OK(MPI_Start(&recv));
    OK(MPI_Start(&send));
    for (i = 0; i < 3; i++) {
      OK(MPI_Parrived(recv, 2, &flag));
      CHECK(!flag);
      OK(MPI_Pready(i, send));
    }
    OK(MPI_Wait(&recv, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  }
  OK(MPI_Request_free(&send));
  OK(MPI_Request_free(&recv));
}

static void same_tag(void) {
  enum { channels = 4, parts = 3 };
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  int out[channels][parts], in[channels][parts];
  MPI_Request sends[channels], receives[channels];
  for (int c = 0; c < channels; c++)
    OK(MPI_Precv_init(in[c], 1, parts, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[c]));
  OK(MPI_Startall(channels, receives)); /* may come before the sender has made its requests */
  for (int c = 0; c < channels; c++)
    OK(MPI_Psend_init(out[c], parts, 1, MPI_INT, to, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[c]));
  for (int c = channels - 1; c >= 0; c--) {
    OK(MPI_Start(&sends[c]));
    for (int p = 0; p < parts; p++) {
      out[c][p] = value(c, rank, p);
      OK(MPI_Pready(p, sends[c]));
    }
  }
  OK(MPI_Waitall(channels, sends, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(channels, receives, MPI_STATUSES_IGNORE));
  for (int c = 0; c < channels; c++) {
    for (int p = 0; p < parts; p++) CHECK(in[c][p] == value(c, from, p));
    OK(MPI_Request_free(&sends[c]));
    OK(MPI_Request_free(&receives[c]));
  }
}

/* Elements with gaps at both sides, partitions that begin inside an element of the other side; no elements.
 */
static void datatypes(void) {
  enum { items = 6000 };
  MPI_Datatype spread, triple;
  MPI_Request requests[2];
  int *out = malloc(items * 2 * sizeof(int)), *in = malloc(items * 2 * sizeof(int));
  OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread));
  OK(MPI_Type_vector(3, 1, 2, MPI_INT, &triple));
  MPI_Datatype triples;
  OK(MPI_Type_create_resized(triple, 0, 6 * sizeof(int), &triples));
  OK(MPI_Type_commit(&spread));
  OK(MPI_Type_commit(&triples));
  for (int i = 0; i < 2 * items; i++) out[i] = i % 2 == 0 ? i / 2 : -5, in[i] = -7;
  OK(MPI_Psend_init(out, 40, items / 40, spread, rank, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Precv_init(in, 10, items / 30, triples, rank, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  OK(MPI_Startall(2, requests));
  for (int p = 0; p < 40; p += 2) OK(MPI_Pready(p, requests[0]));
  for (int p = 1; p < 40; p += 2) OK(MPI_Pready(p, requests[0]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2 * items; i++) CHECK(in[i] == (i % 2 == 0 ? i / 2 : -7));
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
  OK(MPI_Type_free(&spread));
  OK(MPI_Type_free(&triple));
  OK(MPI_Type_free(&triples));
  OK(MPI_Psend_init(NULL, 3, 0, MPI_INT, rank, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Precv_init(NULL, 2, 0, MPI_INT, rank, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  int flag = 1;
  OK(MPI_Startall(2, requests));
  OK(MPI_Parrived(requests[1], 0, &flag));
  CHECK(!flag);
  OK(MPI_Pready_range(0, 2, requests[0]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  OK(MPI_Parrived(requests[1], 1, &flag));
  CHECK(flag);
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
  free(out);
  free(in);
}

/* Threads that mark their shares at once. */
enum { threads = 4, shares = 16 };
typedef struct {
  int first, bytes, round;
  char* out;
  MPI_Request request;
} Share;

static void* mark_share(void* argument) {
  Share* share = argument;
  for (int p = share->first; p < share->first + shares; p++) {
    memset(share->out + (size_t)p * (size_t)share->bytes, p + share->round, (size_t)share->bytes);
    OK(MPI_Pready(p, share->request));
  }
  return NULL;
}

static void with_threads(int bytes) {
  int parts = threads * shares, to = (rank + 1) % size, from = (rank + size - 1) % size;
  char *out = calloc((size_t)parts, (size_t)bytes), *in = malloc((size_t)(parts * bytes));
  MPI_Request requests[2];
  OK(MPI_Psend_init(out, parts, bytes, MPI_BYTE, to, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Precv_init(in, parts / 2, 2 * bytes, MPI_BYTE, from, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &requests[1]));
  for (int round = 0; round < 10; round++) {
    pthread_t ids[threads];
    Share all[threads];
    memset(in, 255, (size_t)(parts * bytes));
    OK(MPI_Startall(2, requests));
    for (int t = 0; t < threads; t++) {
      all[t] = (Share){t * shares, bytes, round, out, requests[0]};
      pthread_create(&ids[t], NULL, mark_share, &all[t]);
    }
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int t = 0; t < threads; t++) pthread_join(ids[t], NULL);
    for (int i = 0; i < parts * bytes; i++) CHECK(in[i] == (char)(i / bytes + round));
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
  free(out);
  free(in);
}

static void null_and_errors(void) {
  int data[4] = {0}, flag = 0;
  MPI_Request request, other;
  MPI_Status status;
  OK(MPI_Psend_init(data, 2, 2, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  OK(MPI_Start(&request));
  OK(MPI_Pready(1, request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Request_free(&request));
  OK(MPI_Precv_init(data, 2, 2, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  OK(MPI_Start(&request));
  OK(MPI_Wait(&request, &status));
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
  OK(MPI_Parrived(request, 0, &flag));
  CHECK(flag);
  OK(MPI_Request_free(&request));

  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_Psend_init(data, 0, 2, MPI_INT, rank, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Psend_init(data, 2, -1, MPI_INT, rank, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
              MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Precv_init(data, 2, 2, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
              MPI_ERR_RANK);
  CHECK_CLASS(MPI_Precv_init(data, 2, 2, MPI_INT, rank, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
              MPI_ERR_TAG);
  OK(MPI_Psend_init(data, 4, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  OK(MPI_Precv_init(data, 1, 2, MPI_INT, rank, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &other));
  CHECK_CLASS(MPI_Pready(0, request), MPI_ERR_REQUEST); /* not started */
  CHECK_CLASS(MPI_Pready(0, other), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Parrived(request, 0, &flag), MPI_ERR_REQUEST);
  OK(MPI_Start(&request));
  OK(MPI_Start(&other));
  OK(MPI_Pready(1, request));
  CHECK_CLASS(MPI_Pready(1, request), MPI_ERR_ARG); /* twice */
  CHECK_CLASS(MPI_Pready(4, request), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Pready_range(3, 2, request), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Parrived(other, 1, &flag), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST);
  OK(MPI_Pready(0, request));
  OK(MPI_Pready_range(2, 3, request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_CLASS(MPI_Wait(&other, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE); /* 4 were sent, 2 have room */
  OK(MPI_Request_free(&request));
  OK(MPI_Request_free(&other));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int order = 0; order < 4; order++) {
    exchange(1, 1, 100, order);
    exchange(8, 8, 64, order);
    exchange(3, 6, 3000, order);
    exchange(6, 4, 120000, order);
    exchange(300, 1, 300, order);
    exchange(1, 300, 300000, order);
  }
  one_by_one();
  empty_partitions();
  same_tag();
  datatypes();
  if (level == MPI_THREAD_MULTIPLE) {
    with_threads(3);
    with_threads(2000);
    with_threads(65536);
  }
  null_and_errors();
  return check_finalize();
}
