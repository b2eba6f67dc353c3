// SPDX-License-Identifier: BSD-3-Clause
#include "path/mcast/receiver.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "path/gso.hpp"

namespace herald::path::mcast {
namespace {

bool set(int fd, int level, int option, int value) noexcept {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

}  // namespace

void Receiver::open(int fd, std::uint8_t family, std::uint32_t datagram_bytes, bool coalesce) {
  fd_ = fd;
  family_ = family;
  slot_bytes_ = (datagram_bytes + 64 + 63) / 64 * 64;
  can_gro_ = coalesce && set(fd, IPPROTO_UDP, UDP_GRO, 0);
  const std::size_t plain = kPlainSlots * slot_bytes_;
  // Pages that no datagram is received into are never touched.
  memory_ = std::make_unique_for_overwrite<std::byte[]>(
      can_gro_ ? std::max(plain, kGroSlots * kCoalescedStride) : plain);
  arrivals_.resize(can_gro_ ? kGroSlots * kMostCoalesced : kPlainSlots);
}

void Receiver::track_groups() noexcept {
  if (tracks_) return;
  tracks_ = family_ == 4 ? set(fd_, IPPROTO_IP, IP_PKTINFO, 1) : set(fd_, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
  dirty_ = kPlainSlots;
}

bool Receiver::read_group(const msghdr& header, GroupAddress& out) const noexcept {
  msghdr copy = header;
  for (const cmsghdr* at = CMSG_FIRSTHDR(&copy); at != nullptr;
       at = CMSG_NXTHDR(&copy, const_cast<cmsghdr*>(at))) {
    if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO) {
      in_pktinfo info;
      std::memcpy(&info, CMSG_DATA(at), sizeof info);
      std::memcpy(out.data(), &info.ipi_addr, 4);
      return true;
    }
    if (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info;
      std::memcpy(&info, CMSG_DATA(at), sizeof info);
      std::memcpy(out.data(), &info.ipi6_addr, 16);
      return true;
    }
  }
  return false;
}

// Where datagrams arrive singly, one is requested: finding that there is no second costs as much as the
// first.
Arrivals Receiver::receive() noexcept {
  more_ = false;
  return singles_ != kQueued && !tracks_ && !has_gro_ ? receive_one() : receive_many();
}

Arrivals Receiver::receive_one() noexcept {
  const long bytes =
      ::syscall(SYS_recvfrom, fd_, memory_.get(), slot_bytes_, MSG_DONTWAIT | MSG_TRUNC, nullptr, nullptr);
  singles_ = bytes < 0 ? kOne : singles_ == kOne ? kOneCame : kQueued;  // two in a row: more may be queued
  if (bytes < 0 || static_cast<std::size_t>(bytes) > slot_bytes_) return {};
  arrivals_[0] = {memory_.get(), static_cast<std::size_t>(bytes)};
  return {arrivals_.data(), 1};
}

void Receiver::make_ready() noexcept {
  const std::size_t stride = has_gro_ ? kCoalescedStride : slot_bytes_;
  for (std::size_t i = 0; i < std::min(dirty_, slots()); ++i) {
    parts_[i] = {memory_.get() + i * stride, has_gro_ ? kCoalescedBytes : slot_bytes_};
    headers_[i].msg_hdr = {};
    headers_[i].msg_hdr.msg_iov = &parts_[i];
    headers_[i].msg_hdr.msg_iovlen = 1;
    if (!tracks_ && !has_gro_) continue;
    headers_[i].msg_hdr.msg_control = controls_[i].bytes;
    headers_[i].msg_hdr.msg_controllen = kControl;
  }
}

Arrivals Receiver::receive_many() noexcept {
  make_ready();
  groups_.clear();
  count_ = 0;
  const std::size_t room = large_ ? 1 : slots();
  long came = 0;
  if (room == 1) {
    const long bytes = ::syscall(SYS_recvmsg, fd_, &headers_[0].msg_hdr, MSG_DONTWAIT);
    headers_[0].msg_len = static_cast<unsigned>(std::max(bytes, 0L));
    came = bytes < 0 ? 0 : 1;
  } else {
    came = ::syscall(SYS_recvmmsg, fd_, headers_.data(), room, MSG_DONTWAIT, nullptr);
  }
  dirty_ = came > 0 ? static_cast<std::size_t>(came) : 0;
  if (came <= 1) singles_ = kOne;
  for (std::size_t i = 0; i < dirty_; ++i) take(i);
  large_ = has_gro_ && dirty_ != 0 && count_ >= kLarge * dirty_;
  more_ = large_ || (room > 1 && dirty_ == room);
  choose_gro(count_);
  return {arrivals_.data(), count_};
}

void Receiver::take(std::size_t slot) noexcept {
  const msghdr& header = headers_[slot].msg_hdr;
  if ((header.msg_flags & MSG_TRUNC) != 0) return;  // longer than any member sends
  GroupAddress group{};
  if (tracks_) (void)read_group(header, group);
  std::span<const std::byte> left(static_cast<const std::byte*>(parts_[slot].iov_base),
                                  headers_[slot].msg_len);
  const std::size_t segment = has_gro_ ? coalesced_size(header) : 0;
  while (count_ < arrivals_.size()) {
    const auto one = segment == 0 ? left : left.first(std::min(segment, left.size()));
    arrivals_[count_++] = one;
    if (tracks_) groups_.push_back(group);
    left = left.subspan(one.size());
    if (left.empty()) return;
  }
}

void Receiver::choose_gro(std::size_t datagrams) noexcept {
  if (datagrams > 1) single_calls_ = 0;
  if (datagrams >= kMany && can_gro_ && !has_gro_) {
    has_gro_ = set(fd_, IPPROTO_UDP, UDP_GRO, 1);
    can_gro_ = has_gro_;
    dirty_ = kPlainSlots;
  }
  if (!has_gro_ || datagrams != 1 || ++single_calls_ < kSingles) return;
  single_calls_ = 0;
  has_gro_ = !set(fd_, IPPROTO_UDP, UDP_GRO, 0);
  large_ = false;
  dirty_ = kPlainSlots;
}

}  // namespace herald::path::mcast
