// SPDX-License-Identifier: BSD-3-Clause
// path/mcast/mcast.hpp: multicast datagrams: one socket to send and one to receive, on one interface.
// In:  the interface; groups to join and to leave; datagrams for a group.
// Out: datagrams to groups that this process has joined, and to no other.
// Joins of one group are counted.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/instant.hpp"
#include "path/gso.hpp"
#include "path/mcast/receiver.hpp"

namespace herald::path {

struct McastConfig {
  std::uint8_t family = 4;               // 4 or 6
  std::array<std::uint8_t, 16> local{};  // address of the interface, the first 4 bytes for family 4
  std::uint32_t interface = 0;           // index
  std::uint16_t port = 0;                // the same for all members
  std::uint32_t datagram_bytes = 1472;
  std::uint32_t socket_bytes = 4 << 20;
  int hops = 1;         // TTL: routers between members, plus 1
  bool loop = false;    // deliver to members on this host too
  bool segment = true;  // try UDP_SEGMENT
};

class McastPath {
 public:
  // Null with `why` on failure.
  static std::unique_ptr<McastPath> open(const McastConfig& config, std::string& why);
  ~McastPath();
  McastPath(const McastPath&) = delete;
  McastPath& operator=(const McastPath&) = delete;

  // False: the limit of the kernel (igmp_max_memberships) is reached, or the interface has no multicast.
  bool join(const GroupAddress& group) noexcept;
  void leave(const GroupAddress& group) noexcept;

  struct Send {
    const GroupAddress* group = nullptr;
    std::span<const std::byte> bytes;
  };
  // Sends in order; returns how many were sent. Fewer: the socket is full or the interface is down.
  std::size_t send(std::span<const Send> batch) noexcept;
  // Datagrams that have arrived, at most one batch. The spans are valid until the next call.
  std::span<const std::span<const std::byte>> receive() noexcept {
    if (joined_.empty()) return {};  // nothing can arrive: saves a system call per turn
    return receiver_.receive();
  }
  // The last receive() filled its batch: more datagrams are probably queued.
  bool may_have_more() const noexcept { return receiver_.may_have_more(); }
  // From now on group_of() knows the destination of each arrival.
  void track_groups() noexcept { receiver_.track_groups(); }
  // The destination of an arrival of the last receive(); null: not known.
  const GroupAddress* group_of(std::size_t arrival) const noexcept { return receiver_.group_of(arrival); }
  // Bytes per second that our interface has passed on, at least; 0: not known.
  std::uint64_t uplink_rate() const noexcept { return uplink_rate_; }
  int descriptor() const noexcept { return receive_fd_; }
  int send_descriptor() const noexcept { return send_fd_; }

 private:
  static constexpr std::size_t kBatch = 64;
  static constexpr long kBlockUs = 4000;         // the kernel rounds to ticks: it may be twice as long
  static constexpr std::size_t kMostSent = 128;  // in one call
  struct GsoRun {
    std::size_t datagrams = 0;
    GsoControl control;
  };
  std::size_t send_many(std::span<const Send> batch) noexcept;
  void note_uplink(Instant begun, std::size_t bytes) noexcept;
  std::size_t gso_length(std::span<const Send> batch) const noexcept;
  explicit McastPath(const McastConfig& config) : config_(config) {}
  bool open_sender(std::string& why);
  bool open_receiver(std::string& why);
  bool change(const GroupAddress& group, bool join) noexcept;
  socklen_t name_of(const GroupAddress& group, sockaddr_storage& out) const noexcept;

  const McastConfig config_;
  std::uint64_t uplink_rate_ = 0;
  int send_fd_ = -1;
  int receive_fd_ = -1;
  bool segments_ = false;  // UDP_SEGMENT works; turned off for good on an error
  std::map<GroupAddress, int> joined_;
  mcast::Receiver receiver_;
};

}  // namespace herald::path
