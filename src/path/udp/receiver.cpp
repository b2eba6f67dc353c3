// SPDX-License-Identifier: BSD-3-Clause
#include "path/udp/receiver.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "path/gso.hpp"
#include "path/udp/errors.hpp"

namespace herald::path::udp {

void Receiver::open(std::uint32_t datagram_bytes) {
  has_gro_ = std::any_of(sockets_.begin(), sockets_.end(), [](const Socket& each) { return each.can_gro(); });
  const std::size_t count = has_gro_ ? kGroSlots : kPlainSlots;
  const std::size_t room = has_gro_ ? kCoalescedBytes : datagram_bytes;
  const std::size_t stride = has_gro_ ? kCoalescedStride : (room + 63) / 64 * 64 + 33 * 64;
  // Pages that no datagram is received into are never touched.
  memory_ = std::make_unique_for_overwrite<std::byte[]>(count * stride);
  one_by_one_.resize(sockets_.size());
  singles_.resize(sockets_.size());
  large_.resize(sockets_.size());
  connected_.resize(sockets_.size());
  headers_.resize(count);
  slots_.resize(count);
  arrivals_.resize(has_gro_ ? count * kMostCoalesced : count);
  for (std::size_t i = 0; i < count; ++i) {
    slots_[i].room = {memory_.get() + i * stride, room};
    make_ready(i);
  }
}

void Receiver::use(std::uint8_t socket) {
  if (std::find(used_.begin(), used_.end(), socket) == used_.end()) used_.push_back(socket);
}

void Receiver::make_ready(std::size_t slot) noexcept {
  msghdr& header = headers_[slot].msg_hdr;
  header = {};
  header.msg_name = &slots_[slot].from;
  header.msg_namelen = sizeof slots_[slot].from;
  header.msg_iov = &slots_[slot].room;
  header.msg_iovlen = 1;
  if (!has_gro_) return;
  header.msg_control = slots_[slot].control;
  header.msg_controllen = sizeof slots_[slot].control;
}

// Flattened: measurably faster than the same code in several functions.
[[gnu::flatten]] std::span<const UdpArrival> Receiver::receive() noexcept {
  for (std::size_t i = 0; i < dirty_; ++i) make_ready(i);
  dirty_ = 0;
  count_ = 0;
  more_ = false;
  const std::size_t sockets = used_.size();
  for (std::size_t turn = 0; turn < sockets && dirty_ < slots_.size(); ++turn) {
    if (++next_ >= sockets) next_ = 0;
    dirty_ += read(used_[next_], dirty_);
  }
  return {arrivals_.data(), count_};
}

// One datagram: 1, or -1 with errno. A direct system call is no cancellation point, unlike the functions of
// the C library; that alone costs as much as the rest of the work for a small packet.
int Receiver::read_one(std::uint8_t socket, std::size_t slot) noexcept {
  msghdr& header = headers_[slot].msg_hdr;
  const int fd = sockets_[socket].fd();
  const bool connected = connected_[socket] != nullptr;
  long bytes = 0;
  if (sockets_[socket].has_gro()) {
    bytes = ::syscall(SYS_recvmsg, fd, &header, MSG_DONTWAIT);
  } else {
    bytes = ::syscall(SYS_recvfrom, fd, slots_[slot].room.iov_base, slots_[slot].room.iov_len,
                      MSG_DONTWAIT | MSG_TRUNC, connected ? nullptr : header.msg_name,
                      connected ? nullptr : &header.msg_namelen);
    header.msg_flags = bytes > static_cast<long>(slots_[slot].room.iov_len) ? MSG_TRUNC : 0;
    header.msg_controllen = 0;
  }
  if (bytes < 0) return -1;
  headers_[slot].msg_len = static_cast<unsigned>(bytes);
  return 1;
}

std::size_t Receiver::read(std::uint8_t socket, std::size_t first_slot) noexcept {
  // An error that the first try reports is about a datagram that we sent; arrivals are queued behind it.
  for (int tries = 0; tries < 2; ++tries) {
    Socket& from = sockets_[socket];
    const bool large = large_[socket] != 0;
    const std::size_t room = one_by_one_[socket] != kMore || large ? 1 : slots_.size() - first_slot;
    const int came = room == 1 ? read_one(socket, first_slot)
                               : static_cast<int>(::syscall(SYS_recvmmsg, from.fd(), &headers_[first_slot],
                                                            room, MSG_DONTWAIT, nullptr));
    if (came >= 0) {
      const auto count = static_cast<std::size_t>(came);
      // A second datagram right after the first: more may be queued.
      const bool first = one_by_one_[socket] == kOne;
      one_by_one_[socket] = room > 1 ? (count <= 1 ? kOne : kMore) : (first && count != 0 ? kOneCame : kMore);
      const std::size_t before = count_;
      for (std::size_t i = 0; i < count; ++i) take(socket, first_slot + i);
      large_[socket] = count_ - before >= kLarge * count;
      if ((room > 1 && count == room) || large_[socket] != 0) more_ = true;
      choose_gro(socket, count_ - before);
      return count;
    }
    if (errno == EAGAIN) {
      one_by_one_[socket] = kOne;
      large_[socket] = 0;
      return 0;
    }
    (void)read_errors(sockets_[socket], socket, links_);
  }
  return 0;
}

void Receiver::choose_gro(std::uint8_t socket, std::size_t datagrams) noexcept {
  Socket& from = sockets_[socket];
  if (datagrams != 1) singles_[socket] = 0;
  if (datagrams >= kMany && from.can_gro()) from.start_gro();
  if (!from.has_gro() || datagrams != 1 || ++singles_[socket] < kSingles) return;
  singles_[socket] = 0;
  from.stop_gro();
}

void Receiver::take(std::uint8_t socket, std::size_t slot) noexcept {
  const msghdr& header = headers_[slot].msg_hdr;
  if ((header.msg_flags & MSG_TRUNC) != 0) return;  // longer than any rank sends
  const Link* link =
      connected_[socket] != nullptr ? connected_[socket] : links_.find(socket, slots_[slot].from);
  UdpArrival arrival;
  if (link != nullptr) {
    arrival.from = link->peer;
    arrival.link = link->number;
  }
  std::span<const std::byte> left(static_cast<const std::byte*>(slots_[slot].room.iov_base),
                                  headers_[slot].msg_len);
  const std::size_t segment = coalesced_size(header);
  while (count_ < arrivals_.size()) {
    arrival.bytes = segment == 0 ? left : left.first(std::min(segment, left.size()));
    arrivals_[count_++] = arrival;
    left = left.subspan(arrival.bytes.size());
    if (left.empty()) return;
  }
}

}  // namespace herald::path::udp
