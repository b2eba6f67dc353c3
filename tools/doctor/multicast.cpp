// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/multicast.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "path/udp/interfaces.hpp"

namespace herald::tools::doctor {
namespace {

constexpr char kMulticastMagic[8] = {'h', 'e', 'r', 'd', 'o', 'c', 'm', '2'};
constexpr int kBurst = 2;  // probes at a time
constexpr std::int32_t kMostProbes = 4000, kLeastProbes = 100, kProbesOfAll = 20'000;
constexpr int kSocketBytes = 4 << 20;

bool has_ipv4(const path::udp::Interface& interface) {
  for (const auto& prefix : interface.addresses)
    if (prefix.address.family == 4) return true;
  return false;
}

}  // namespace

Multicast::Multicast(int rank, const std::vector<HostLeader>& leaders) : rank_(rank) {
  for (const HostLeader& each : leaders) {
    run_ = (run_ ^ each.secret) * 0x9e3779b97f4a7c15u;
    if (each.rank != rank) received_[each.rank];
  }
  group_ = htonl(0xefc00000u | static_cast<std::uint32_t>(run_ >> 48));  // 239.192.x.y
  port_ = htons(static_cast<std::uint16_t>(30000 + (run_ >> 20) % 20000));
  most_ = std::clamp(kProbesOfAll / static_cast<std::int32_t>(leaders.size()), kLeastProbes, kMostProbes);
  fd_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return;
  const int one = 1;
  (void)::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  (void)::setsockopt(fd_, SOL_SOCKET, SO_RXQ_OVFL, &one, sizeof one);
  if (::setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &kSocketBytes, sizeof kSocketBytes) != 0)
    (void)::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &kSocketBytes, sizeof kSocketBytes);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = port_;
  name.sin_addr.s_addr = group_;
  if (::bind(fd_, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) {
    ::close(fd_);
    fd_ = -1;
    return;
  }
  for (const auto& each : path::udp::list_interfaces()) {
    if (!each.up || !each.multicast || each.kind != path::udp::InterfaceKind::plain || !has_ipv4(each))
      continue;
    ip_mreqn membership{};
    membership.imr_multiaddr.s_addr = group_;
    membership.imr_ifindex = static_cast<int>(each.index);
    if (::setsockopt(fd_, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership) == 0)
      interfaces_.push_back(membership.imr_ifindex);
  }
}

Multicast::~Multicast() {
  if (fd_ >= 0) ::close(fd_);
}

void Multicast::send_probes() noexcept {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = port_;
  to.sin_addr.s_addr = group_;
  for (int i = 0; i < kBurst && next_ < most_; ++i) {
    Probe probe{{}, run_, rank_, next_++};
    std::memcpy(probe.magic, kMulticastMagic, sizeof kMulticastMagic);
    for (const int index : interfaces_) {
      ip_mreqn membership{};
      membership.imr_ifindex = index;
      if (::setsockopt(fd_, IPPROTO_IP, IP_MULTICAST_IF, &membership, sizeof membership) == 0)
        (void)::sendto(fd_, &probe, sizeof probe, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
  }
}

void Multicast::receive_probes() noexcept {
  Probe probe;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof overflow_)];
  iovec data{&probe, sizeof probe};
  for (;;) {
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t length = fd_ < 0 ? -1 : ::recvmsg(fd_, &message, 0);
    if (length < 0) return;
    for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each))
      if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SO_RXQ_OVFL)
        std::memcpy(&overflow_, CMSG_DATA(each), sizeof overflow_);
    if (length != sizeof probe) continue;
    if (std::memcmp(probe.magic, kMulticastMagic, sizeof kMulticastMagic) != 0 || probe.run != run_) continue;
    if (const auto found = received_.find(probe.from); found != received_.end())
      found->second.insert(probe.number);
  }
}

json Multicast::results() const {
  json list = json::array();
  for (const auto& [from, numbers] : received_)
    list.push_back({{"from", from},
                    {"to", rank_},
                    {"count", numbers.size()},
                    {"sent", numbers.empty() ? 0 : *numbers.rbegin() - *numbers.begin() + 1},
                    {"overflow", overflow_}});
  return list;
}

}  // namespace herald::tools::doctor
