// SPDX-License-Identifier: BSD-3-Clause
#include "path/mcast/mcast.hpp"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/fd.hpp"

namespace herald::path {
namespace {

constexpr std::size_t kTellingDatagrams = 40;  // of one call, whose time tells the speed of the interface
constexpr std::size_t kAheadBytes = 32 << 10;  // that a shaper may let through at once

Instant read_clock() noexcept {
  timespec time{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &time);
  return {std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec};
}

template <class Value>
bool set(int fd, int level, int option, const Value& value) noexcept {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

void set_buffer(int fd, int forced, int plain, std::uint32_t bytes) noexcept {
  const int wanted = static_cast<int>(bytes);
  if (!set(fd, SOL_SOCKET, forced, wanted)) (void)set(fd, SOL_SOCKET, plain, wanted);
}

std::string failure(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

}  // namespace

std::unique_ptr<McastPath> McastPath::open(const McastConfig& config, std::string& why) {
  std::unique_ptr<McastPath> path(new McastPath(config));
  if (!path->open_sender(why) || !path->open_receiver(why)) return nullptr;
  path->receiver_.open(path->receive_fd_, config.family, config.datagram_bytes, config.segment);
  return path;
}

McastPath::~McastPath() {
  if (send_fd_ >= 0) ::close(send_fd_);
  if (receive_fd_ >= 0) ::close(receive_fd_);
}

bool McastPath::open_sender(std::string& why) {
  send_fd_ = safe_fd(
      ::socket(config_.family == 4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  bool good = send_fd_ >= 0;
  const int loop = config_.loop ? 1 : 0;
  if (good && config_.family == 4) {
    ip_mreqn by{};
    std::memcpy(&by.imr_address, config_.local.data(), 4);
    by.imr_ifindex = static_cast<int>(config_.interface);
    good = set(send_fd_, IPPROTO_IP, IP_MULTICAST_IF, by) &&
           set(send_fd_, IPPROTO_IP, IP_MULTICAST_TTL, config_.hops) &&
           set(send_fd_, IPPROTO_IP, IP_MULTICAST_LOOP, loop);
  } else if (good) {
    const int index = static_cast<int>(config_.interface);
    good = set(send_fd_, IPPROTO_IPV6, IPV6_MULTICAST_IF, index) &&
           set(send_fd_, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, config_.hops) &&
           set(send_fd_, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, loop);
  }
  if (!good) why = failure("no socket that sends to groups");
  segments_ = good && config_.segment && set(send_fd_, IPPROTO_UDP, UDP_SEGMENT, 0);
  if (good) set_buffer(send_fd_, SO_SNDBUFFORCE, SO_SNDBUF, config_.socket_bytes);
  return good;
}

bool McastPath::open_receiver(std::string& why) {
  receive_fd_ = safe_fd(::socket(config_.family == 4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage any{};
  socklen_t length = sizeof(sockaddr_in);
  if (config_.family == 4) {
    auto& name = reinterpret_cast<sockaddr_in&>(any);
    name.sin_family = AF_INET;
    name.sin_port = htons(config_.port);
  } else {
    auto& name = reinterpret_cast<sockaddr_in6&>(any);
    name.sin6_family = AF_INET6;
    name.sin6_port = htons(config_.port);
    length = sizeof name;
  }
  // Several jobs of this host may share the port; each receives from its own groups only.
  bool good = receive_fd_ >= 0 && set(receive_fd_, SOL_SOCKET, SO_REUSEADDR, 1);
  if (good && config_.family == 4) (void)set(receive_fd_, IPPROTO_IP, IP_MULTICAST_ALL, 0);
#ifdef IPV6_MULTICAST_ALL
  if (good && config_.family == 6) (void)set(receive_fd_, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
#endif
  // The kernel compares a group of IPv6 without its interface: each socket would receive from all of them.
  if (good && config_.family == 6) (void)set(receive_fd_, SOL_SOCKET, SO_BINDTOIFINDEX, config_.interface);
  good = good && ::bind(receive_fd_, reinterpret_cast<const sockaddr*>(&any), length) == 0;
  if (!good) why = failure("no socket that hears groups");
  if (good) set_buffer(receive_fd_, SO_RCVBUFFORCE, SO_RCVBUF, config_.socket_bytes);
  if (good) (void)set(receive_fd_, SOL_SOCKET, SO_RCVTIMEO, timeval{.tv_sec = 0, .tv_usec = kBlockUs});
  return good;
}

bool McastPath::change(const GroupAddress& group, bool join) noexcept {
  if (config_.family == 4) {
    ip_mreqn request{};
    std::memcpy(&request.imr_multiaddr, group.data(), 4);
    std::memcpy(&request.imr_address, config_.local.data(), 4);
    request.imr_ifindex = static_cast<int>(config_.interface);
    return set(receive_fd_, IPPROTO_IP, join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, request);
  }
  ipv6_mreq request{};
  std::memcpy(&request.ipv6mr_multiaddr, group.data(), 16);
  request.ipv6mr_interface = config_.interface;
  return set(receive_fd_, IPPROTO_IPV6, join ? IPV6_ADD_MEMBERSHIP : IPV6_DROP_MEMBERSHIP, request);
}

bool McastPath::join(const GroupAddress& group) noexcept {
  const auto at = joined_.find(group);
  if (at != joined_.end()) return ++at->second, true;
  if (!change(group, true)) return false;
  joined_[group] = 1;
  return true;
}

void McastPath::leave(const GroupAddress& group) noexcept {
  const auto at = joined_.find(group);
  if (at == joined_.end() || --at->second != 0) return;
  joined_.erase(at);
  (void)change(group, false);
}

socklen_t McastPath::name_of(const GroupAddress& group, sockaddr_storage& out) const noexcept {
  if (config_.family == 4) {
    auto& name = reinterpret_cast<sockaddr_in&>(out);
    name = {};
    name.sin_family = AF_INET;
    name.sin_port = htons(config_.port);
    std::memcpy(&name.sin_addr, group.data(), 4);
    return sizeof name;
  }
  auto& name = reinterpret_cast<sockaddr_in6&>(out);
  name = {};
  name.sin6_family = AF_INET6;
  name.sin6_port = htons(config_.port);
  std::memcpy(&name.sin6_addr, group.data(), 16);
  name.sin6_scope_id = config_.interface;
  return sizeof name;
}

// One datagram goes out by the plainest system call, not by a function of the C library: those are
// cancellation points, which cost more than the rest of the work for a small packet.
std::size_t McastPath::send(std::span<const Send> batch) noexcept {
  if (batch.size() != 1) return send_many(batch);
  sockaddr_storage name;
  const socklen_t length = name_of(*batch[0].group, name);
  return ::syscall(SYS_sendto, send_fd_, batch[0].bytes.data(), batch[0].bytes.size(), MSG_DONTWAIT, &name,
                   length) < 0
             ? 0
             : 1;
}

std::size_t McastPath::send_many(std::span<const Send> batch) noexcept {
  std::array<GsoRun, kBatch> rows;
  std::array<mmsghdr, kBatch> headers{};
  std::array<iovec, kMostSent> parts;
  std::array<sockaddr_storage, 4> names;  // of the last few groups: most batches have one
  std::size_t named = 0, count = 0, at = 0;
  batch = batch.first(std::min(batch.size(), parts.size()));
  const GroupAddress* last = nullptr;
  socklen_t length = 0;
  while (at < batch.size() && count < headers.size()) {
    if (batch[at].group != last) {
      if (named == names.size()) break;
      last = batch[at].group;
      length = name_of(*last, names[named++]);
    }
    GsoRun& row = rows[count];
    row.datagrams = gso_length(batch.subspan(at));
    msghdr& header = headers[count++].msg_hdr;
    header.msg_name = &names[named - 1];
    header.msg_namelen = length;
    header.msg_iov = &parts[at];
    header.msg_iovlen = row.datagrams;
    if (row.datagrams > 1) row.control.set(header, batch[at].bytes.size());
    for (const std::size_t end = at + row.datagrams; at < end; ++at)
      parts[at] = {const_cast<std::byte*>(batch[at].bytes.data()), batch[at].bytes.size()};
  }
  const bool tells = at >= kTellingDatagrams;
  const Instant begun = tells ? read_clock() : Instant{};
  const long left = ::syscall(SYS_sendmmsg, send_fd_, headers.data(), count, MSG_DONTWAIT);
  if (left < 0 && segments_ && is_gso_error(errno)) {
    segments_ = false;
    return send_many(batch);
  }
  std::size_t datagrams = 0;
  for (long i = 0; i < left; ++i) datagrams += rows[static_cast<std::size_t>(i)].datagrams;
  if (tells && datagrams == at) {
    std::size_t bytes = 0;
    for (const Send& one : batch.first(at)) bytes += one.bytes.size();
    note_uplink(begun, bytes);
  }
  return datagrams;
}

// The kernel charges what a socket has sent until it has left the interface. Where all is gone when the call
// returns, that took no longer than the call, however busy the processors are.
void McastPath::note_uplink(Instant begun, std::size_t bytes) noexcept {
  int queued = 0;
  if (bytes <= kAheadBytes || ::ioctl(send_fd_, SIOCOUTQ, &queued) != 0 || queued != 0) return;
  const auto ns = static_cast<double>(std::max<std::int64_t>((read_clock() - begun).ns, 1));
  uplink_rate_ =
      std::max(uplink_rate_, static_cast<std::uint64_t>(static_cast<double>(bytes - kAheadBytes) * 1e9 / ns));
}

std::size_t McastPath::gso_length(std::span<const Send> batch) const noexcept {
  if (!segments_) return 1;
  return path::gso_length(
      batch, [](const Send& one) { return one.bytes.size(); },
      [&](const Send& one) { return one.group == batch[0].group; });
}

}  // namespace herald::path
