// SPDX-License-Identifier: BSD-3-Clause
// path/mcast/mcast.hpp: datagrams to groups of hosts: one socket to send, one to receive, by one interface.
// In:  which interface; groups to join and to leave; datagrams for a group.
// Out: datagrams that came to groups which we joined, and to no other.
// A group is a number: it stands for an address below a prefix, see group/address.hpp. Joins are counted.
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

#include "path/rows.hpp"

namespace herald::path {

struct McastConfig {
  std::uint8_t family = 4;               // 4 or 6
  std::array<std::uint8_t, 16> local{};  // address of the interface, the first 4 bytes for family 4
  std::uint32_t interface = 0;           // index
  std::uint16_t port = 0;                // the same for all members
  std::uint32_t datagram_bytes = 1472;
  std::uint32_t socket_bytes = 4 << 20;
  int hops = 1;         // routers between members, and one
  bool loop = false;    // members on this host, too
  bool segment = true;  // try UDP_SEGMENT
};

// An address of the config's family; the first 4 bytes for family 4.
using GroupAddress = std::array<std::uint8_t, 16>;

class McastPath {
 public:
  // Null with `why` on failure.
  static std::unique_ptr<McastPath> open(const McastConfig& config, std::string& why);
  ~McastPath();
  McastPath(const McastPath&) = delete;
  McastPath& operator=(const McastPath&) = delete;

  // False: the system joins no more (igmp_max_memberships), or the interface cannot.
  bool join(const GroupAddress& group) noexcept;
  void leave(const GroupAddress& group) noexcept;

  struct Send {
    const GroupAddress* group = nullptr;
    std::span<const std::byte> bytes;
  };
  // Sends in order; returns how many left. Fewer: the socket is full or the interface is down.
  std::size_t send(std::span<const Send> batch) noexcept;
  // What has come: at most one batch. The spans are good until the next call.
  std::span<const std::span<const std::byte>> receive() noexcept;
  // Sleeps until one comes, for some milliseconds at most: nothing else ends that. Where it is known that
  // nothing else matters, that is a system call less than to be told of it by a watch and to fetch it then.
  std::span<const std::span<const std::byte>> await() noexcept;
  // The last receive() took as many as fit: there are probably more.
  bool may_have_more() const noexcept { return more_; }
  // From now on, to which group each of them came is known.
  void track_groups() noexcept;
  // Of an arrival of the last receive(); null: not known.
  const GroupAddress* group_of(std::size_t arrival) const noexcept {
    return arrival < groups_.size() ? &groups_[arrival] : nullptr;
  }
  int descriptor() const noexcept { return receive_fd_; }
  int send_descriptor() const noexcept { return send_fd_; }

 private:
  static constexpr std::size_t kBatch = 64;
  static constexpr long kDozeUs = 4000;  // the kernel counts such times in ticks: it may be twice as long
  static constexpr std::size_t kControl = 64;  // bytes: room for one of the two kinds of packet info
  struct alignas(cmsghdr) Control {
    std::byte bytes[kControl];
  };
  static constexpr std::size_t kMostSent = 128;  // by one call
  struct Row {
    std::size_t datagrams = 0;
    RowControl control;
  };
  std::size_t send_many(std::span<const Send> batch) noexcept;
  std::size_t row_length(std::span<const Send> batch) const noexcept;
  std::span<const std::span<const std::byte>> receive_one(int flags) noexcept;
  std::span<const std::span<const std::byte>> receive_many() noexcept;
  bool read_group(const msghdr& header, GroupAddress& out) const noexcept;
  explicit McastPath(const McastConfig& config) : config_(config) {}
  bool open_sender(std::string& why);
  bool open_receiver(std::string& why);
  bool change(const GroupAddress& group, bool join) noexcept;
  socklen_t name_of(const GroupAddress& group, sockaddr_storage& out) const noexcept;

  const McastConfig config_;
  int send_fd_ = -1;
  int receive_fd_ = -1;
  bool segments_ = false;  // rows of equal datagrams leave as one; given up for good on error
  std::map<GroupAddress, int> joined_;
  std::size_t slot_bytes_ = 0;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<iovec> parts_;
  std::vector<mmsghdr> headers_;
  std::size_t dirty_ = kBatch;  // slots that the last call filled
  bool more_ = false;
  enum : std::uint8_t { kOne, kOneCame, kMany } singles_ = kMany;  // how many are asked for, see receive()
  std::vector<std::span<const std::byte>> arrivals_;
  std::vector<Control> controls_;     // by slot; empty: groups are not tracked
  std::vector<GroupAddress> groups_;  // by arrival
};

}  // namespace herald::path
