// SPDX-License-Identifier: BSD-3-Clause
// lab_floor.c: plain UDP sockets between hosts h1 and h2 of the lab: the lower bound of any library.
// Started on both by Hydra, which sets PMI_RANK; no MPI. Prints "MODE BYTES SECONDS" from
// rank 0.
//   lab_floor spin|sleep BYTES SAMPLES TIMES  round trip, waiting in a loop or in the kernel; mean of TIMES
//   lab_floor blast BYTES SAMPLES MS          packets of BYTES at full speed for MS ms: seconds per
//   packet
//   lab_floor segments BYTES SAMPLES MS       the same with UDP_SEGMENT and UDP_GRO
//   lab_floor half BYTES SAMPLES TIMES        half a round trip of BYTES with UDP_SEGMENT and UDP_GRO: pieces
//   of 64 KiB straight from and to memory, three on their way, a byte back for each; nothing is checked or
//   repaired
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  kPort = 7701,
  kBatch = 64,
  kLargest = 65536,
  kPacket = 1472,
  kPiece = 44 * kPacket,
  kForceReceiveBuffer = 33
};

static int rank, sock;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(const char* what) {
  fprintf(stderr, "lab_floor: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void pin(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(rank, &one);
  sched_setaffinity(0, sizeof one, &one);  // where there are two cores
}

static void open_socket(void) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  char peer[32];
  const int receive = 16 << 20, send = 128 << 10;  // the host's queue holds more than we may have in it
  sock = socket(AF_INET, SOCK_DGRAM, 0);
  setsockopt(sock, SOL_SOCKET, kForceReceiveBuffer, &receive, sizeof receive);
  setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &send, sizeof send);
  if (bind(sock, (struct sockaddr*)&a, sizeof a) != 0) fail("bind");
  snprintf(peer, sizeof peer, "10.77.0.%d", 2 - rank);
  inet_pton(AF_INET, peer, &a.sin_addr);
  if (connect(sock, (struct sockaddr*)&a, sizeof a) != 0) fail("connect");
}

// One packet, by polling or blocking. 0 after five seconds without one.
static long wait_packet(char* buffer, int spin) {
  struct pollfd p = {.fd = sock, .events = POLLIN};
  const double limit = now() + 5;
  for (long turn = 0;; ++turn) {
    const long got = recv(sock, buffer, kLargest, spin ? MSG_DONTWAIT : 0);
    if (got >= 0) return got;
    if (errno != EAGAIN && errno != ECONNREFUSED && errno != EINTR) fail("recv");
    if (turn % 1024 == 1023 && now() > limit) return 0;
    if (!spin) poll(&p, 1, 100);
  }
}

// Rank 0 sends hello until it is answered, then go; no packet is in flight when both return.
static void meet(void) {
  struct pollfd p = {.fd = sock, .events = POLLIN};
  const double limit = now() + 10;
  char heard = 0;
  while (heard != (rank == 0 ? 'a' : 'g')) {
    const char word = rank == 0 ? 'k' : 'a';
    if ((rank == 0 || heard == 'k') && send(sock, &word, 1, 0) < 0 && errno != ECONNREFUSED) fail("send");
    heard = 0;
    if (poll(&p, 1, 20) > 0 && recv(sock, &heard, 1, MSG_DONTWAIT) < 0) heard = 0;
    if (now() > limit) fail("the other side is not there");
  }
  if (rank == 0 && send(sock, "g", 1, 0) < 0) fail("send");
  usleep(rank == 0 ? 100000 : 50000);
  while (recv(sock, &heard, 1, MSG_DONTWAIT) >= 0 || errno == ECONNREFUSED) {
  }
}

static void round_trips(const char* mode, int bytes, int samples, int times) {
  static char buffer[kLargest];
  const int spin = strcmp(mode, "spin") == 0;
  for (int i = -1; i < samples; ++i) {
    const double start = now();
    for (int t = 0; t < times; ++t) {
      if (rank == 0 && send(sock, buffer, (size_t)bytes, 0) < 0) fail("send");
      if (wait_packet(buffer, spin) == 0) fail("nothing came");
      if (rank == 1 && send(sock, buffer, (size_t)bytes, 0) < 0) fail("send");
    }
    if (rank == 0 && i >= 0) printf("%s %d %.9f\n", mode, bytes, (now() - start) / times);
  }
}

static void send_for(double seconds, int bytes, int segments) {
  static char buffer[kLargest];
  struct mmsghdr batch[kBatch];
  struct iovec part = {.iov_base = buffer, .iov_len = (size_t)bytes * (size_t)segments};
  memset(batch, 0, sizeof batch);
  for (int i = 0; i < kBatch; ++i) batch[i].msg_hdr = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1};
  const double end = now() + seconds;
  while (now() < end)
    if (sendmmsg(sock, batch, segments > 1 ? 1 : 16, 0) < 0 && errno != ECONNREFUSED) fail("sendmmsg");
}

// Counts until nothing has come for 100 ms; seconds per packet, from the first to the last.
static double receive_all(int bytes) {
  static char buffers[kBatch][kLargest];
  struct mmsghdr batch[kBatch];
  struct iovec parts[kBatch];
  struct pollfd p = {.fd = sock, .events = POLLIN};
  double first = 0, last = 0, packets = 0, skipped = 0;
  memset(batch, 0, sizeof batch);
  for (int i = 0; i < kBatch; ++i) {
    parts[i] = (struct iovec){.iov_base = buffers[i], .iov_len = kLargest};
    batch[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
  }
  while (poll(&p, 1, packets > 0 ? 100 : 5000) > 0) {
    const int got = recvmmsg(sock, batch, kBatch, MSG_DONTWAIT, NULL);
    for (int i = 0; i < got; ++i) packets += (double)batch[i].msg_len / bytes;
    if (got <= 0) continue;
    last = now();
    if (first == 0) first = last, skipped = packets;
  }
  return (last - first) / (packets - skipped);
}

static void join_and_cut(int bytes) {
  const int on = 1;
  if (setsockopt(sock, IPPROTO_UDP, UDP_SEGMENT, &bytes, sizeof bytes) != 0) fail("UDP_SEGMENT");
  if (setsockopt(sock, IPPROTO_UDP, UDP_GRO, &on, sizeof on) != 0) fail("UDP_GRO");
}

static void send_whole(const char* data, long bytes) {
  char answer[kLargest];
  long sent = 0, answers = 0;
  for (long at = 0; at < bytes || answers < sent;) {
    if (at == bytes || sent - answers == 3) {
      if (wait_packet(answer, 1) == 0) fail("nothing came");
      ++answers;
      continue;
    }
    const long piece = bytes - at < kPiece ? bytes - at : kPiece;
    if (send(sock, data + at, (size_t)piece, 0) < 0) fail("send");
    at += piece;
    ++sent;
  }
}

static void receive_whole(char* data, long bytes) {
  for (long at = 0; at < bytes;) {
    const long got = wait_packet(data + at, 1);
    if (got == 0) fail("nothing came");
    at += got;
    if (send(sock, "a", 1, 0) < 0) fail("send");
  }
}

static void halves(long bytes, int samples, int times) {
  char* const out = malloc((size_t)bytes + kLargest);
  char* const in = malloc((size_t)bytes + kLargest);
  if (out == NULL || in == NULL) fail("malloc");
  memset(out, 1, (size_t)bytes);
  memset(in, 1, (size_t)bytes + kLargest);
  join_and_cut(kPacket);
  for (int i = -1; i < samples; ++i) {
    const double start = now();
    for (int t = 0; t < times; ++t) {
      for (long at = 0; at < bytes; at += 4096) out[at] = (char)t;
      if (rank == 0) send_whole(out, bytes);
      receive_whole(in, bytes);
      if (rank == 1) send_whole(out, bytes);
    }
    if (rank == 0 && i >= 0) printf("half %ld %.9f\n", bytes, (now() - start) / times / 2);
  }
}

static void blasts(const char* mode, int bytes, int samples, int ms) {
  int segments = 1;
  if (strcmp(mode, "segments") == 0) {
    segments = 60000 / bytes < 60 ? 60000 / bytes : 60;
    join_and_cut(bytes);
  }
  for (int i = 0; i < samples; ++i) {
    double each = 0;
    if (rank == 1) {
      each = receive_all(bytes);
      if (send(sock, &each, sizeof each, 0) < 0) fail("send");
      continue;
    }
    send_for(ms / 1000.0, bytes, segments);
    char answer[kLargest];
    if (wait_packet(answer, 0) != (long)sizeof each) fail("no count came back");
    memcpy(&each, answer, sizeof each);
    printf("%s %d %.12f\n", mode, bytes, each);
  }
}

int main(int argc, char** argv) {
  const char* place = getenv("PMI_RANK");
  if (argc != 5 || place == NULL) {
    fprintf(stderr,
            "lab_floor: spin|sleep|half|blast|segments BYTES SAMPLES TIMES|MS, on 2 hosts under Hydra\n");
    return 2;
  }
  rank = atoi(place);
  const int bytes = atoi(argv[2]), samples = atoi(argv[3]), more = atoi(argv[4]);
  pin();
  open_socket();
  meet();
  if (strcmp(argv[1], "spin") == 0 || strcmp(argv[1], "sleep") == 0)
    round_trips(argv[1], bytes, samples, more);
  else if (strcmp(argv[1], "half") == 0)
    halves(bytes, samples, more);
  else
    blasts(argv[1], bytes, samples, more);
  return 0;
}
