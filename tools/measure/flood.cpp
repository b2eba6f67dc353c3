// SPDX-License-Identifier: BSD-3-Clause
// tools/measure/flood.cpp: the buffer of a switch port, B_L: all hosts but one flood that one with UDP
// datagrams, for growing times; the share that arrives follows equation 4 of the paper.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "measure.hpp"

namespace herald::measure {
namespace {

constexpr std::size_t kPayload = 1472, kFrame = 1538;
constexpr int kSilenceMs = 30;

in_addr_t own_address() {
  ifaddrs* all = nullptr;
  in_addr_t found = htonl(INADDR_LOOPBACK);
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & IFF_LOOPBACK) != 0 || (each->ifa_flags & IFF_UP) == 0) continue;
    found = reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr.s_addr;
    break;
  }
  ::freeifaddrs(all);
  return found;
}

// Datagrams that arrive until none comes for a while.
int count_arrivals(int socket) {
  std::array<char, 2048> room;
  int count = 0;
  pollfd watched{socket, POLLIN, 0};
  for (int wait = 300; ::poll(&watched, 1, wait) > 0; wait = kSilenceMs)
    while (::recv(socket, room.data(), room.size(), MSG_DONTWAIT) > 0) ++count;
  return count;
}

}  // namespace

double measure_switch_buffer(MPI_Comm leaders, double gap_ratio) {
  int rank = 0, size = 0;
  MPI_Comm_rank(leaders, &rank);
  MPI_Comm_size(leaders, &size);
  if (size < 3) return 0;  // one sender cannot overflow a port of its own rate
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = own_address();
  socklen_t length = sizeof address;
  const int room = 64 << 20;
  if (::setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0)
    (void)::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  int good = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
             ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  MPI_Bcast(&address, sizeof address, MPI_CHAR, 0, leaders);
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, leaders);
  std::vector<model::Flood> floods;
  const std::array<char, kPayload> packet{};
  constexpr int kRuns = 5, kMostEach = 512;
  for (int each = 16; good != 0 && each <= kMostEach; each *= 2) {
    double share = 1;
    for (int run = 0; run < kRuns; ++run) {
      MPI_Barrier(leaders);
      if (rank == 0) share = std::min(share, count_arrivals(socket) / double(each * (size - 1)));
      // A sender that is ahead of its link blocks.
      for (int i = 0; rank != 0 && i < each; ++i)
        (void)::sendto(socket, packet.data(), packet.size(), 0, reinterpret_cast<const sockaddr*>(&address),
                       sizeof address);
    }
    floods.push_back({static_cast<double>(each * (size - 1)), share});
    int enough = rank == 0 && floods.size() > 1 && floods[floods.size() - 2].arrived < 0.999 ? 1 : 0;
    MPI_Bcast(&enough, 1, MPI_INT, 0, leaders);
    if (enough != 0) break;
  }
  ::close(socket);
  const model::Buffer buffer = model::fit_buffer(floods, std::min(1.0, gap_ratio / (size - 1)));
  return buffer.found ? buffer.items * static_cast<double>(kFrame) : 0;
}

}  // namespace herald::measure
