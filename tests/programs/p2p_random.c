/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: some mixture of sizes, tags, wildcards, orders of arrival, send modes, datatypes,
   kinds of memory and threads loses, mixes up or damages a message. All ranks generate the same messages from
   one seed (printed; give it as an argument to repeat a run), each posts its sends and receives in an order
   of its own, and every byte is checked. */
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "check.h"

enum { kMessages = 48, kMost = 300000, kRounds = 12, kThreads = 3, kBlock = 1000, kStride = 1300, kTags = 3 };

typedef struct {
  int from, to, tag, bytes, mode, index;
} Message;

typedef struct {
  uint64_t common, own; /* states of the two generators */
  MPI_Comm comm;
  int rank, size, bad;
} Worker;

static MPI_Datatype rows_;

static uint64_t draw(uint64_t* state) {
  uint64_t x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}
static int below(uint64_t* state, int n) { return (int)(draw(state) % (uint64_t)n); }

static int draw_size(uint64_t* state) {
  switch (below(state, 6)) {
    case 0: return 0;
    case 1: return below(state, 40);
    case 2: return below(state, 5000);
    case 3: return 4000 + below(state, 200); /* around the push limit */
    case 4: return kBlock * below(state, kMost / kBlock);
    default: return below(state, kMost);
  }
}

static char pattern(const Message* m, int i) {
  return (char)(m->index * 31 + m->from * 7 + m->bytes + i * 13 + (i >> 9));
}

/* Bytes of the message lie one after the other, or in rows of kBlock with gaps. */
static int place(int i, int strided) { return strided ? i / kBlock * kStride + i % kBlock : i; }
static size_t room(int bytes, int strided) {
  return strided ? (size_t)(bytes / kBlock + 1) * kStride : (size_t)bytes + 1;
}
static void shape(int bytes, int strided, int* count, MPI_Datatype* type) {
  *count = strided ? bytes / kBlock : bytes;
  *type = strided ? rows_ : MPI_CHAR;
}

static int same(const Worker* w, const Message* m, const char* data, int strided) {
  for (int i = 0; i < m->bytes; i++)
    if (data[place(i, strided)] != pattern(m, i)) {
      fprintf(stderr, "rank %d: failed: message %d, %d bytes from %d with tag %d differs at %d\n", w->rank,
              m->index, m->bytes, m->from, m->tag, i);
      return 0;
    }
  return 1;
}

static MPI_Request begin_send(const Worker* w, const Message* m, char* data, int strided) {
  MPI_Request request;
  MPI_Datatype type;
  int count;
  for (int i = 0; i < m->bytes; i++) data[place(i, strided)] = pattern(m, i);
  shape(m->bytes, strided, &count, &type);
  if (m->mode == 0) MPI_Isend(data, count, type, m->to, m->tag, w->comm, &request);
  if (m->mode == 1) MPI_Issend(data, count, type, m->to, m->tag, w->comm, &request);
  if (m->mode == 2) MPI_Ibsend(data, count, type, m->to, m->tag, w->comm, &request);
  if (m->mode == 4) MPI_Irsend(data, count, type, m->to, m->tag, w->comm, &request);
  if (m->mode == 3) {
    MPI_Send_init(data, count, type, m->to, m->tag, w->comm, &request);
    MPI_Start(&request);
  }
  return request;
}

/* From the program's own memory, or from the library's, which peers may map. */
static char* take(size_t bytes, int library) {
  char* memory = NULL;
  if (!library) return malloc(bytes);
  MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory);
  return memory;
}
static void give_back(char* memory, int library) {
  if (library)
    MPI_Free_mem(memory);
  else
    free(memory);
}

/* The message received: the oldest from that source with that tag that was not received yet. */
static Message* came(Message* all, const int* seen, const Worker* w, int from, int tag) {
  for (int i = 0; i < kMessages; i++)
    if (!seen[i] && all[i].to == w->rank && all[i].from == from && (tag < 0 || all[i].tag == tag))
      return &all[i];
  return NULL;
}

static void check_received(Worker* w, Message* all, int* seen, MPI_Status* status, const char* data,
                           int strided) {
  int bytes = -1;
  Message* m = came(all, seen, w, status->MPI_SOURCE, status->MPI_TAG);
  MPI_Get_count(status, MPI_CHAR, &bytes);
  if (m == NULL || bytes != m->bytes || !same(w, m, data, strided)) {
    fprintf(stderr, "rank %d: failed: %d bytes from %d with tag %d\n", w->rank, bytes, status->MPI_SOURCE,
            status->MPI_TAG);
    w->bad++;
  }
  if (m != NULL) seen[m->index] = 1;
}

static void play(Worker* w) {
  Message all[kMessages];
  char* data[2 * kMessages];
  int strided[2 * kMessages], library[2 * kMessages] = {0}, seen[kMessages] = {0};
  MPI_Request requests[2 * kMessages];
  const int wild = below(&w->common, 3); /* 0: exact, 1: any tag, 2: any source and tag */
  int ready = below(&w->common, 3) == 0; /* all receives are posted before anything is sent */
  for (int i = 0; i < kMessages; i++)
    all[i] = (Message){below(&w->common, w->size), below(&w->common, w->size),       below(&w->common, kTags),
                       draw_size(&w->common),      below(&w->common, ready ? 5 : 4), i};
  for (int i = 0; i < 2 * kMessages; i++) requests[i] = MPI_REQUEST_NULL, data[i] = NULL;
  /* Sends in their order (it counts between two ranks), receives in theirs, mixed at random. */
  int next_send = 0, next_recv = 0;
  while (next_send < kMessages || next_recv < kMessages) {
    if (ready && next_recv == kMessages) {
      MPI_Barrier(w->comm);
      ready = 0;
    }
    const int sending = !ready && (next_recv == kMessages || (next_send < kMessages && below(&w->own, 2)));
    const int at = sending ? next_send++ : next_recv++;
    const Message* m = &all[at];
    if ((sending ? m->from : m->to) != w->rank) continue;
    const int slot = sending ? at : kMessages + at;
    strided[slot] = m->bytes % kBlock == 0 && m->bytes > 0 && below(&w->own, 2) && (sending || wild == 0);
    const int most = sending || wild == 0 ? m->bytes : kMost;
    library[slot] = below(&w->own, 3) == 0;
    data[slot] = take(room(most, strided[slot]), library[slot]);
    if (sending) {
      requests[slot] = begin_send(w, m, data[slot], strided[slot]);
    } else {
      int count;
      MPI_Datatype type;
      shape(most, strided[slot], &count, &type);
      MPI_Irecv(data[slot], count, type, wild == 2 ? MPI_ANY_SOURCE : m->from,
                wild == 0 ? m->tag : MPI_ANY_TAG, w->comm, &requests[slot]);
    }
  }
  MPI_Status statuses[2 * kMessages];
  MPI_Waitall(2 * kMessages, requests, statuses);
  /* Receives were posted in order, so those that fit the same messages got them in order. */
  for (int i = 0; i < kMessages; i++)
    if (data[kMessages + i] != NULL)
      check_received(w, all, seen, &statuses[kMessages + i], data[kMessages + i], strided[kMessages + i]);
  for (int i = 0; i < 2 * kMessages; i++) {
    if (requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests[i]);
    give_back(data[i], library[i]);
  }
}

static void* work(void* argument) {
  Worker* w = argument;
  for (int round = 0; round < kRounds; round++) {
    play(w);
    MPI_Barrier(w->comm); /* a wildcard must not match a message of the next round */
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided, rank, size, detached;
  unsigned long long seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (unsigned long long)time(NULL);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("seed %llu\n", seed);
  MPI_Type_vector(1, kBlock, kStride, MPI_CHAR, &rows_);
  MPI_Type_create_resized(rows_, 0, kStride, &rows_);
  MPI_Type_commit(&rows_);
  const size_t buffered = (size_t)kThreads * kMessages * (kMost + MPI_BSEND_OVERHEAD);
  void* space = malloc(buffered);
  MPI_Buffer_attach_c(space, (MPI_Count)buffered);
  Worker workers[kThreads];
  pthread_t threads[kThreads];
  const int count = provided == MPI_THREAD_MULTIPLE && size < 8 ? kThreads : 1;
  for (int i = 0; i < count; i++) {
    workers[i] = (Worker){
        seed * 1000 + (uint64_t)i, seed * 77 + (uint64_t)(i * 1000 + rank), MPI_COMM_NULL, rank, size, 0};
    MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
  }
  for (int i = 1; i < count; i++) pthread_create(&threads[i], NULL, work, &workers[i]);
  work(&workers[0]);
  for (int i = 1; i < count; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < count; i++) {
    CHECK(workers[i].bad == 0);
    MPI_Comm_free(&workers[i].comm);
  }
  MPI_Buffer_detach(&space, &detached);
  free(space);
  return check_finalize();
}
