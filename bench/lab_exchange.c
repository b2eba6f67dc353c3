// SPDX-License-Identifier: BSD-3-Clause
// lab_exchange.c: the lower bound of small collectives, with plain UDP sockets: every host sends a packet to
// h1, which then sends one multicast; all block in the kernel. Or h1 sends a packet to each of h2 to h6, as
// in paper 001, figure 6: from an agreed start until the last packet has come. Started by Hydra on all hosts;
// no MPI.
//   lab_exchange exchange BYTES SAMPLES TIMES     prints "exchange BYTES SECONDS" from rank 0; mean of TIMES
//   lab_exchange to_five BYTES SAMPLES 1          prints "to_five BYTES SECONDS"
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { kUpPort = 7702, kDownPort = 7703, kLargest = 1400, kMostRanks = 256, kReceivers = 5 };
static const char kGroup[] = "239.255.77.1";

// Every packet begins with the number of the exchange; negative: the ranks still discover each other.
typedef struct {
  int number, rank;
  double when;
  char rest[kLargest];
} packet;

static int rank, size, up, down;
static struct sockaddr_in root, group;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(const char* what) {
  fprintf(stderr, "lab_exchange: rank %d: %s: %s\n", rank, what, strerror(errno));
  exit(1);
}

static int open_socket(int port, double seconds) {
  const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  const struct timeval limit = {.tv_sec = (long)seconds, .tv_usec = (long)(seconds * 1e6) % 1000000};
  const int one = socket(AF_INET, SOCK_DGRAM, 0);
  setsockopt(one, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (bind(one, (const struct sockaddr*)&any, sizeof any) != 0) fail("bind");
  return one;
}

static void open_all(void) {
  struct ip_mreq join = {.imr_interface.s_addr = INADDR_ANY};
  char own[32];
  snprintf(own, sizeof own, "10.77.0.%d", rank + 1);
  inet_pton(AF_INET, own, &join.imr_interface);
  inet_pton(AF_INET, kGroup, &join.imr_multiaddr);
  root = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(kUpPort)};
  inet_pton(AF_INET, "10.77.0.1", &root.sin_addr);
  group = (struct sockaddr_in){
      .sin_family = AF_INET, .sin_port = htons(kDownPort), .sin_addr = join.imr_multiaddr};
  up = open_socket(rank == 0 ? kUpPort : 0, 5);
  down = open_socket(kDownPort, rank == 0 ? 5 : 0.05);
  if (rank != 0 && setsockopt(down, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof join) != 0) fail("join");
  if (setsockopt(up, IPPROTO_IP, IP_MULTICAST_IF, &join.imr_interface, sizeof join.imr_interface) != 0)
    fail("interface");
}

static void tell_time(const struct sockaddr_in* whom, int number, double when, size_t bytes) {
  packet p = {.number = number, .rank = rank, .when = when};
  if (sendto(up, &p, offsetof(packet, rest) + bytes, 0, (const struct sockaddr*)whom, sizeof *whom) < 0)
    fail("sendto");
}

static void tell(const struct sockaddr_in* whom, int number, size_t bytes) {
  tell_time(whom, number, 0, bytes);
}

// Ranks send hello until they know that all have; late hellos carry another number.
static void meet(void) {
  char seen[kMostRanks] = {1};
  const double limit = now() + 10;
  packet p;
  for (int missing = size - 1; rank == 0 && missing != 0;) {
    if (recv(up, &p, sizeof p, 0) < 0) fail("a rank is not there");
    if (p.rank <= 0 || p.rank >= size || seen[p.rank]++) continue;
    --missing;
  }
  if (rank == 0) return tell(&group, -1, 0);
  do {
    tell(&root, -1, 0);
    if (now() > limit) fail("rank 0 is not there");
  } while (recv(down, &p, sizeof p, 0) < 0);
  const struct timeval patience = {.tv_sec = 5};
  setsockopt(down, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

static void exchange(int number, size_t bytes) {
  packet p;
  if (rank != 0) tell(&root, number, bytes);
  for (int left = rank == 0 ? size - 1 : 1; left != 0;) {
    if (recv(rank == 0 ? up : down, &p, sizeof p, 0) < 0) fail("nothing came");
    if (p.number == number) --left;
  }
  if (rank == 0) tell(&group, number, bytes);
}

static packet await(int sock, int number) {
  packet p;
  do {
    if (recv(sock, &p, sizeof p, 0) < 0) fail("nothing came");
  } while (p.number != number);
  return p;
}

// Packets of a sample: the start time, the data, the arrival time.
static double to_five(int sample, size_t bytes) {
  const int number = 3 * sample;
  double start = now() + 3e-3, last = 0;
  if (rank == 0) tell_time(&group, number, start, 0);
  if (rank != 0) start = await(down, number).when;
  const struct timespec t = {(time_t)start, (long)((start - (double)(time_t)start) * 1e9)};
  prctl(PR_SET_TIMERSLACK, 1UL);  // as lab_coll.c does
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
  prctl(PR_SET_TIMERSLACK, 0UL);
  for (int to = 1; rank == 0 && to <= kReceivers; ++to) {
    struct sockaddr_in one = group;
    char name[32];
    snprintf(name, sizeof name, "10.77.0.%d", to + 1);
    inet_pton(AF_INET, name, &one.sin_addr);
    tell(&one, number + 1, bytes);
  }
  if (rank >= 1 && rank <= kReceivers) {
    (void)await(down, number + 1);
    tell_time(&root, number + 2, now(), 0);
  }
  for (int left = rank == 0 ? kReceivers : 0; left != 0; --left) {
    const double came = await(up, number + 2).when;
    if (came > last) last = came;
  }
  return last - start;
}

int main(int argc, char** argv) {
  const char *place = getenv("PMI_RANK"), *ranks = getenv("PMI_SIZE");
  const int bytes = argc == 5 ? atoi(argv[2]) : -1;
  if (bytes < 0 || bytes > kLargest || place == NULL || ranks == NULL || atoi(ranks) > kMostRanks) {
    fprintf(stderr, "lab_exchange: exchange|to_five BYTES SAMPLES TIMES, on all hosts under Hydra\n");
    return 2;
  }
  rank = atoi(place);
  size = atoi(ranks);
  open_all();
  meet();
  const int samples = atoi(argv[3]), times = atoi(argv[4]);
  for (int i = 0; strcmp(argv[1], "to_five") == 0 && i < samples; ++i) {
    const double took = to_five(i, (size_t)bytes);
    if (rank == 0) printf("to_five %d %.9f\n", bytes, took);
  }
  for (int i = 0; strcmp(argv[1], "exchange") == 0 && i <= samples; ++i) {
    const double start = now();
    for (int t = 0; t < times; ++t) exchange(i * times + t, (size_t)bytes);
    if (rank == 0 && i != 0) printf("exchange %d %.9f\n", bytes, (now() - start) / times);
  }
  return 0;
}
