// SPDX-License-Identifier: BSD-3-Clause
// path/gso.hpp: generic segmentation offload: a run of datagrams of one size to one address goes out in one
// system call (UDP_SEGMENT). How long a run may be, the control message, and the errors that mean "cannot".
// On the way in: where the kernel divided what it coalesced (UDP_GRO).
#pragma once
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace herald::path {

constexpr std::size_t kSegments = 64;  // of one run: every kernel accepts so many
constexpr std::size_t kSegmentedBytes = 65000;

// How many of the first datagrams form one run: the same address, equal sizes, the last may be shorter.
template <class Datagram, class SizeOf, class SameAddress>
std::size_t gso_length(std::span<const Datagram> batch, SizeOf size_of, SameAddress same_address) noexcept {
  const std::size_t size = size_of(batch[0]), most = std::min(batch.size(), kSegments);
  if (size == 0) return 1;
  std::size_t run = 1;
  for (std::size_t total = size; run < most; ++run) {
    const std::size_t next = size_of(batch[run]);
    total += next;
    if (next > size || next == 0 || total > kSegmentedBytes || !same_address(batch[run])) break;
    if (next < size) return run + 1;
  }
  return run;
}

// The control message with the segment size; must live as long as the call.
class GsoControl {
 public:
  void set(msghdr& header, std::size_t size) noexcept {
    header.msg_control = bytes_.data();
    header.msg_controllen = bytes_.size();
    cmsghdr* const control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = IPPROTO_UDP;
    control->cmsg_type = UDP_SEGMENT;
    control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto segment = static_cast<std::uint16_t>(size);
    std::memcpy(CMSG_DATA(control), &segment, sizeof segment);
  }

 private:
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint16_t))> bytes_;
};

// The run was refused, but single datagrams may pass: the device cannot segment, or the path MTU has shrunk
// below the segment size.
inline bool is_gso_error(int error) noexcept { return error == EIO || error == EINVAL || error == EMSGSIZE; }

constexpr std::size_t kCoalescedBytes = 65536;  // of one arrival, at most
constexpr std::size_t kMostCoalesced = 128;     // datagrams in one arrival, by the newest kernels
constexpr std::size_t kCoalescedStride = kCoalescedBytes + 33 * 64;  // odd: slots do not share cache sets

// The size of the datagrams in an arrival that the kernel coalesced; the last may be shorter. 0: it is one.
inline std::size_t coalesced_size(const msghdr& message) noexcept {
  msghdr copy = message;
  for (const cmsghdr* at = CMSG_FIRSTHDR(&copy); at != nullptr;
       at = CMSG_NXTHDR(&copy, const_cast<cmsghdr*>(at))) {
    if (at->cmsg_level != IPPROTO_UDP || at->cmsg_type != UDP_GRO) continue;
    int size = 0;
    std::memcpy(&size, CMSG_DATA(at), sizeof size);
    return size > 0 ? static_cast<std::size_t>(size) : 0;
  }
  return 0;
}

}  // namespace herald::path
