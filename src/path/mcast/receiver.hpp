// SPDX-License-Identifier: BSD-3-Clause
// path/mcast/receiver.hpp: datagrams that arrive at one multicast socket; splits what UDP_GRO coalesced.
// In:  the socket. Out: datagrams, in memory of this object until the next call; groups, where tracked.
// recvfrom where datagrams arrive singly (the fastest call), recvmmsg where more arrive. UDP_GRO is on while
// many arrive, because the kernel then hands over a whole run that the source sent with one call.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace herald::path {

// An address of the socket's family; the first 4 bytes for family 4.
using GroupAddress = std::array<std::uint8_t, 16>;

namespace mcast {

using Arrivals = std::span<const std::span<const std::byte>>;

class Receiver {
 public:
  // `datagram_bytes`: of the largest that members send. `coalesce`: UDP_GRO may be used.
  void open(int fd, std::uint8_t family, std::uint32_t datagram_bytes, bool coalesce);
  // As McastPath::receive(), may_have_more(), track_groups() and group_of().
  Arrivals receive() noexcept;
  bool may_have_more() const noexcept { return more_; }
  void track_groups() noexcept;
  const GroupAddress* group_of(std::size_t arrival) const noexcept {
    return arrival < groups_.size() ? &groups_[arrival] : nullptr;
  }

 private:
  static constexpr std::size_t kPlainSlots = 64;
  static constexpr std::size_t kGroSlots = 4;      // each holds up to 64 KiB of datagrams
  static constexpr std::size_t kMany = 4;          // in one call: UDP_GRO pays
  static constexpr std::size_t kLarge = 16;        // coalesced in one: worth a call of its own
  static constexpr std::uint16_t kSingles = 1024;  // calls in a row that returned one: UDP_GRO does not pay
  static constexpr std::size_t kControl = 96;      // bytes: space for the size of datagrams and for the group
  struct alignas(cmsghdr) Control {
    std::byte bytes[kControl];
  };

  Arrivals receive_one() noexcept;
  Arrivals receive_many() noexcept;
  void make_ready() noexcept;
  void take(std::size_t slot) noexcept;
  void choose_gro(std::size_t datagrams) noexcept;
  bool read_group(const msghdr& header, GroupAddress& out) const noexcept;
  std::size_t slots() const noexcept { return has_gro_ ? kGroSlots : kPlainSlots; }

  int fd_ = -1;
  std::uint8_t family_ = 4;
  bool can_gro_ = false;  // it may be turned on
  bool has_gro_ = false;
  bool tracks_ = false;
  bool more_ = false;
  bool large_ = false;  // the last call brought one with many datagrams: one such per call is enough
  enum : std::uint8_t {
    kOne,
    kOneCame,
    kQueued
  } singles_ = kQueued;              // how many datagrams receive() requests
  std::uint16_t single_calls_ = 0;   // in a row
  std::size_t slot_bytes_ = 0;       // without UDP_GRO
  std::size_t dirty_ = kPlainSlots;  // slots that the last call filled
  std::unique_ptr<std::byte[]> memory_;
  std::array<iovec, kPlainSlots> parts_{};
  std::array<mmsghdr, kPlainSlots> headers_{};
  std::array<Control, kPlainSlots> controls_{};
  std::vector<std::span<const std::byte>> arrivals_;
  std::size_t count_ = 0;             // arrivals
  std::vector<GroupAddress> groups_;  // by arrival, where tracked
};

}  // namespace mcast
}  // namespace herald::path
