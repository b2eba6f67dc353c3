// SPDX-License-Identifier: BSD-3-Clause
// path/rows.hpp: datagrams of one size to one place leave in one system call (UDP_SEGMENT): how many, how
// the system is told, and what it says when it cannot.
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

namespace herald::path {

constexpr std::size_t kSegments = 64;  // of one row: what every kernel takes
constexpr std::size_t kSegmentedBytes = 65000;

// How many from the first on may go as one row: to the same place, of equal sizes, the last may be shorter.
template <class One, class SizeOf, class SamePlace>
std::size_t row_length(std::span<const One> batch, SizeOf size_of, SamePlace same_place) noexcept {
  const std::size_t size = size_of(batch[0]), most = std::min(batch.size(), kSegments);
  if (size == 0) return 1;
  std::size_t row = 1;
  for (std::size_t total = size; row < most; ++row) {
    const std::size_t next = size_of(batch[row]);
    total += next;
    if (next > size || next == 0 || total > kSegmentedBytes || !same_place(batch[row])) break;
    if (next < size) return row + 1;
  }
  return row;
}

// Tells the system where to cut; good as long as the call lasts.
class RowControl {
 public:
  void set(msghdr& header, std::size_t size) noexcept {
    header.msg_control = bytes_.data();
    header.msg_controllen = bytes_.size();
    cmsghdr* const control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = IPPROTO_UDP;
    control->cmsg_type = UDP_SEGMENT;
    control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto cut = static_cast<std::uint16_t>(size);
    std::memcpy(CMSG_DATA(control), &cut, sizeof cut);
  }

 private:
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint16_t))> bytes_;
};

// A row was refused, and single datagrams may do: no way to cut it, or the way has become narrower and
// segments of that size are never cut further.
inline bool is_about_rows(int error) noexcept { return error == EIO || error == EINVAL || error == EMSGSIZE; }

}  // namespace herald::path
