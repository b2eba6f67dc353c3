/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: a synchronous send that completes before it is matched, a persistent request that
   cannot be started twice, a buffered send that needs a receiver, space in the buffer not given back, a
   cancelled operation that hangs or whose message arrives all the same. */
#include "check.h"

static int peer_of(int rank, int size) { return size == 1 ? rank : (rank ^ 1) < size ? (rank ^ 1) : rank; }

static void synchronous(int rank, int peer) {
  int out = rank, in = -1, flag = 1;
  MPI_Request send, recv;
  OK(MPI_Issend(&out, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &send));
  for (int i = 0; i < 100; i++) {
    OK(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag); /* nobody has received it */
    if (flag) return;
  }
  OK(MPI_Sendrecv(&out, 1, MPI_INT, peer, 2, &in, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  in = -1;
  OK(MPI_Irecv(&in, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &recv));
  OK(MPI_Wait(&recv, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  CHECK(in == peer);
}

static void persistent(int rank, int peer) {
  enum { kRounds = 50, kCount = 3000 };
  static int out[4][kCount], in[4][kCount];
  MPI_Request requests[8];
  int pack = 0;
  void* buffer;
  OK(MPI_Pack_size(kCount, MPI_INT, MPI_COMM_WORLD, &pack));
  pack = (pack + MPI_BSEND_OVERHEAD) * 4;
  buffer = malloc((size_t)pack);
  OK(MPI_Buffer_attach(buffer, pack));
  for (int i = 0; i < 4; i++)
    OK(MPI_Recv_init(in[i], kCount, MPI_INT, peer, 10 + i, MPI_COMM_WORLD, &requests[i]));
  OK(MPI_Send_init(out[0], kCount, MPI_INT, peer, 10, MPI_COMM_WORLD, &requests[4]));
  OK(MPI_Ssend_init(out[1], kCount, MPI_INT, peer, 11, MPI_COMM_WORLD, &requests[5]));
  OK(MPI_Bsend_init(out[2], kCount, MPI_INT, peer, 12, MPI_COMM_WORLD, &requests[6]));
  OK(MPI_Rsend_init(out[3], kCount, MPI_INT, peer, 13, MPI_COMM_WORLD, &requests[7]));
  for (int round = 0; round < kRounds; round++) {
    int ok = 1, dummy = 0;
    for (int m = 0; m < 4; m++)
      for (int i = 0; i < kCount; i++) out[m][i] = rank + 10 * m + 100 * round + i;
    OK(MPI_Startall(4, requests));
    /* the receives are there: a ready send is right */
    OK(MPI_Sendrecv(&round, 1, MPI_INT, peer, 9, &dummy, 1, MPI_INT, peer, 9, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    OK(MPI_Startall(3, requests + 4));
    OK(MPI_Start(&requests[7]));
    OK(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
    for (int m = 0; m < 4; m++)
      for (int i = 0; i < kCount; i++) ok &= in[m][i] == peer + 10 * m + 100 * round + i;
    CHECK(ok);
    CHECK(requests[0] != MPI_REQUEST_NULL);
  }
  for (int i = 0; i < 8; i++) OK(MPI_Request_free(&requests[i]));
  CHECK(requests[3] == MPI_REQUEST_NULL);
  {
    void* back = NULL;
    int size = 0;
    OK(MPI_Buffer_detach(&back, &size));
    CHECK(back == buffer && size == pack);
  }
  free(buffer);
}

static void buffered(int rank, int peer) {
  enum { kMessages = 20 };
  char big[9000], in[9000];
  void* back;
  int size;
  MPI_Request request;
  MPI_Comm dup;
  memset(big, rank + 1, sizeof big);
  /* nobody receives yet: all of these must return */
  OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  for (int i = 0; i < kMessages; i++) OK(MPI_Bsend(big, sizeof big, MPI_CHAR, peer, 20 + i, MPI_COMM_WORLD));
  OK(MPI_Ibsend(big, 10, MPI_CHAR, peer, 19, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = kMessages - 1; i >= -1; i--) {
    memset(in, 0, sizeof in);
    OK(MPI_Recv(in, sizeof in, MPI_CHAR, peer, 20 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in[0] == peer + 1 && (i == -1 || in[8999] == peer + 1));
  }
  OK(MPI_Buffer_iflush(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Buffer_flush());
  OK(MPI_Buffer_detach(&back, &size));
  CHECK(back == MPI_BUFFER_AUTOMATIC);
  /* a communicator's own buffer comes before the process's */
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  OK(MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_Bsend(big, 10, MPI_CHAR, peer, 1, dup), MPI_ERR_BUFFER);
  {
    static char small[1000 + MPI_BSEND_OVERHEAD];
    OK(MPI_Comm_attach_buffer(dup, small, sizeof small));
    CHECK_CLASS(MPI_Bsend(big, sizeof big, MPI_CHAR, peer, 1, dup), MPI_ERR_BUFFER);
    OK(MPI_Bsend(big, 1000, MPI_CHAR, peer, 1, dup));
    OK(MPI_Recv(in, 1000, MPI_CHAR, peer, 1, dup, MPI_STATUS_IGNORE));
    OK(MPI_Comm_flush_buffer(dup));
    OK(MPI_Comm_detach_buffer(dup, &back, &size));
    CHECK(back == small && size == (int)sizeof small);
  }
  OK(MPI_Comm_free(&dup));
}

static void cancelled(int rank, int peer) {
  static char big[200000], small[4];
  MPI_Request request;
  MPI_Status status;
  int flag = 0, dummy;
  OK(MPI_Irecv(big, 10, MPI_CHAR, peer, 77, MPI_COMM_WORLD, &request));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  CHECK(flag);
  for (int which = 0; which < 2; which++) { /* a long message, then a short one: nobody receives them */
    OK(MPI_Isend(which ? small : big, which ? 4 : (int)sizeof big, MPI_CHAR, peer, 78, MPI_COMM_WORLD,
                 &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
  }
  dummy = rank;
  OK(MPI_Sendrecv_replace(&dummy, 1, MPI_INT, peer, 79, peer, 79, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Iprobe(peer, 78, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  CHECK(!flag);
}

static void cancelled_to_self(void) {
  MPI_Request request;
  MPI_Status status;
  int data = 1, flag = 0;
  OK(MPI_Isend(&data, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request));
  OK(MPI_Cancel(&request));
  OK(MPI_Test(&request, &flag, &status)); /* the first one */
  CHECK(flag);
  if (!flag) OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  CHECK(flag);
}

static void freed_while_active(int rank, int peer) {
  static int out[100], in[100];
  MPI_Request request;
  for (int i = 0; i < 100; i++) out[i] = rank;
  OK(MPI_Isend(out, 100, MPI_INT, peer, 90, MPI_COMM_WORLD, &request));
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  OK(MPI_Recv(in, 100, MPI_INT, peer, 90, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(in[99] == peer);
}

int main(int argc, char** argv) {
  int rank, size, peer;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  peer = peer_of(rank, size);
  synchronous(rank, peer);
  persistent(rank, peer);
  buffered(rank, peer);
  cancelled(rank, peer);
  cancelled_to_self();
  freed_while_active(rank, peer);
  return check_finalize();
}
