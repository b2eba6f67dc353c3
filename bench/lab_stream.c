// SPDX-License-Identifier: BSD-3-Clause
// lab_stream.c: plain sockets between hosts of the lab that move long data with segmentation offload: the
// lower bound of any library on fast links. Started on all hosts by Hydra, which sets PMI_RANK and PMI_SIZE;
// no MPI. Nothing is checked or repaired. Prints "MODE BYTES SECONDS" from rank 0, until the last host has
// the data and rank 0 knows.
//   lab_stream stream BYTES SAMPLES   multicast by UDP_SEGMENT, received by UDP_GRO: 2 MiB on their way, an
//                                     answer for each 512 KiB
//   lab_stream tcp BYTES SAMPLES      the same from rank 0 to rank 1 by TCP
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  kPort = 7711,
  kPacket = 1472,
  kRun = 44 * kPacket,
  kWindow = 2 << 20,
  kAnswer = 512 << 10,
  kBuffer = 16 << 20,
  kMostHosts = 64,
  kGro = 104,
  kSegment = 103,
  kForceReceive = 33,
  kWaitMs = 2000
};

struct Answer {
  int rank, sample;
  long bytes;
};

static int rank, size;
static const char* const kGroup = "239.255.77.9";

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(const char* what) {
  fprintf(stderr, "lab_stream: %s: %s\n", what, strerror(errno));
  exit(1);
}

static struct sockaddr_in address(const char* text, int port) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  inet_pton(AF_INET, text, &a.sin_addr);
  return a;
}

static int bound(int type, int port) {
  const struct sockaddr_in any = address("0.0.0.0", port);
  const int fd = socket(AF_INET, type, 0), on = 1, bytes = kBuffer;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, kForceReceive, &bytes, sizeof bytes);
  if (bind(fd, (const struct sockaddr*)&any, sizeof any) != 0) fail("bind");
  return fd;
}

static int readable(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, kWaitMs) == 1;
}

// Waits until every host has answered for `least` bytes of the sample; 0: a datagram was lost.
static int await(int fd, int sample, long least, long* have) {
  for (;;) {
    int all = 1;
    for (int i = 1; i < size; ++i) all = all && have[i] >= least;
    if (all) return 1;
    struct Answer answer;
    if (!readable(fd)) return 0;
    if (recv(fd, &answer, sizeof answer, 0) == sizeof answer && answer.sample == sample)
      have[answer.rank] = answer.bytes;
  }
}

// Each datagram begins with the number of its sample.
static int cast(int fd, const struct sockaddr_in* to, char* data, long bytes, int sample, long* have) {
  for (long at = 0; at < bytes; at += kPacket) memcpy(data + at, &sample, sizeof sample);
  for (int i = 0; i < size; ++i) have[i] = 0;
  for (long at = 0; at < bytes; at += kRun) {
    const long part = bytes - at < kRun ? bytes - at : kRun;
    if (!await(fd, sample, at + part - kWindow, have)) return 0;
    if (sendto(fd, data + at, (size_t)part, 0, (const struct sockaddr*)to, sizeof *to) < 0) fail("sendto");
  }
  return await(fd, sample, bytes, have);
}

static void send_stream(char* data, long bytes, int samples) {
  const struct sockaddr_in to = address(kGroup, kPort);
  const struct in_addr by = address("10.77.0.1", 0).sin_addr;
  const int fd = bound(SOCK_DGRAM, kPort + 1), segment = kPacket;
  long have[kMostHosts];
  setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by);
  setsockopt(fd, IPPROTO_UDP, kSegment, &segment, sizeof segment);
  sleep(1);  // all have joined
  for (int i = -2; i < samples; ++i) {
    const double start = now();
    const int good = cast(fd, &to, data, bytes, i, have);
    if (good && i >= 0) printf("stream %ld %.9f\n", bytes, now() - start);
  }
  const int end = samples;
  for (int i = 0; i < 3; ++i) sendto(fd, &end, sizeof end, 0, (const struct sockaddr*)&to, sizeof to);
}

static void receive_stream(char* data, long bytes, int samples) {
  const struct sockaddr_in to = address("10.77.0.1", kPort + 1);
  const int fd = bound(SOCK_DGRAM, kPort), on = 1;
  char own[32];
  snprintf(own, sizeof own, "10.77.0.%d", rank + 1);
  const struct ip_mreqn group = {.imr_multiaddr = address(kGroup, 0).sin_addr,
                                 .imr_address = address(own, 0).sin_addr};
  if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group) != 0) fail("join");
  setsockopt(fd, IPPROTO_UDP, kGro, &on, sizeof on);
  struct Answer answer = {rank, -3, 0};
  long told = 0;
  while (readable(fd)) {
    char* const at = data + (answer.bytes < bytes ? answer.bytes : 0);
    const long got = recv(fd, at, kRun + kPacket, 0);
    int sample = 0;
    memcpy(&sample, at, sizeof sample);
    if (got <= 0 || sample >= samples) return;
    if (sample != answer.sample) {
      memmove(data, at, (size_t)got);
      answer = (struct Answer){rank, sample, 0};
      told = 0;
    }
    answer.bytes += got;
    if (answer.bytes - told < kAnswer && answer.bytes < bytes) continue;
    told = answer.bytes;
    sendto(fd, &answer, sizeof answer, 0, (const struct sockaddr*)&to, sizeof to);
  }
}

static void move(int fd, char* data, long bytes, int out) {
  for (long at = 0; at < bytes;) {
    const long done =
        out ? send(fd, data + at, (size_t)(bytes - at), 0) : recv(fd, data + at, (size_t)(bytes - at), 0);
    if (done <= 0) fail(out ? "send" : "recv");
    at += done;
  }
}

static void tcp(char* data, long bytes, int samples) {
  if (rank > 1) return;
  const struct sockaddr_in to = address("10.77.0.2", kPort);
  int fd = -1, on = 1;
  if (rank == 1) {
    const int listener = bound(SOCK_STREAM, kPort);
    if (listen(listener, 1) != 0 || (fd = accept(listener, NULL, NULL)) < 0) fail("accept");
  }
  for (int tries = 0; rank == 0 && fd < 0; ++tries) {
    const int one = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(one, (const struct sockaddr*)&to, sizeof to) == 0) {
      fd = one;
    } else {
      if (tries == 50) fail("connect");
      close(one);
      usleep(100000);
    }
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  for (int i = -2; i < samples; ++i) {
    const double start = now();
    move(fd, data, bytes, rank == 0);
    move(fd, data, 1, rank == 1);
    if (rank == 0 && i >= 0) printf("tcp %ld %.9f\n", bytes, now() - start);
  }
}

int main(int argc, char** argv) {
  rank = atoi(getenv("PMI_RANK") ? getenv("PMI_RANK") : "0");
  size = atoi(getenv("PMI_SIZE") ? getenv("PMI_SIZE") : "1");
  const long bytes = argc == 4 ? atol(argv[2]) : 0;
  char* const data = calloc(1, (size_t)bytes + kRun + kPacket);
  if (bytes <= 0 || data == NULL || size > kMostHosts) {
    fprintf(stderr, "lab_stream: stream|tcp BYTES SAMPLES\n");
    return 2;
  }
  memset(data, 1, (size_t)bytes);
  if (strcmp(argv[1], "tcp") == 0)
    tcp(data, bytes, atoi(argv[3]));
  else if (rank == 0)
    send_stream(data, bytes, atoi(argv[3]));
  else
    receive_stream(data, bytes, atoi(argv[3]));
  free(data);
  return 0;
}
