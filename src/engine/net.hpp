// SPDX-License-Identifier: BSD-3-Clause
// engine/net.hpp: drives a node::Node with sockets: UDP to peers on other hosts, multicast to groups.
// In:  turns of the engine, with the time. Out: datagrams; events and reports for the user, on stderr.
// A peer expects answers while the program computes: the keep-alive thread takes turns then (keep_alive()).
#pragma once
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "engine/host_names.hpp"
#include "engine/segment_report.hpp"
#include "engine/silence_report.hpp"
#include "node/node.hpp"
#include "path/mcast/mcast.hpp"
#include "path/udp/udp.hpp"
#include "path/watch.hpp"

namespace herald::engine {

class TcpLinks;

class Net final : node::GroupMembership {
 public:
  // NetOpener makes it, with open sockets and a connected node. `mcast`: by interface; may be empty.
  Net(int rank, const Knobs& knobs, node::Node& node, std::unique_ptr<path::UdpPath> udp,
      std::shared_ptr<TcpLinks> tcp, std::vector<std::unique_ptr<path::McastPath>> mcast, HostNames hosts);

  // A lane to these peers and ourselves; -1: none is to be had. Nothing is waited for.
  rel::LaneId open_lane(std::uint64_t name, std::span<const p2p::PeerId> members) noexcept {
    return use_lanes_ ? node_.lanes().open(name, members) : -1;
  }
  const std::uint32_t slowest_mbit;  // of the job's hosts; 0: not known
  std::uint64_t uplink_rate = 0;     // bytes per second that our interfaces have passed on; 0: not known
  // Send what Core has for the peer or the lane, as far as windows go.
  bool pump(Instant now, p2p::PeerId peer) noexcept;
  bool pump_lane(Instant now, rel::LaneId lane) noexcept;
  void start(Instant now, p2p::FusedOp& op) noexcept;

  // Takes what came, and sends what is due. True if anything moved.
  bool turn(Instant now) noexcept;
  // The same while the program computes: nothing reaches Core.
  void keep_alive(Instant now) noexcept;
  // Core is about to go: what has come is acknowledged, what still comes is thrown away.
  void detach(Instant now) noexcept;

  // Prints what the node has seen of links, groups and members. `at_end`: the job ends, print now.
  void print_events() noexcept;
  void print_report(Instant now, bool at_end) noexcept;

  const char* host_of(p2p::PeerId peer) const noexcept { return hosts_.of(peer); }

  // Sleeping: until a datagram comes, the doorbell rings, or the time is over; now and then too short.
  // sleep() touches nothing that other threads may change meanwhile.
  struct Woken {
    bool bell = false, peers = false, lanes = false, tcp = false;
  };
  void set_bell(int descriptor) noexcept { watch_.add(descriptor, kBell); }
  Instant prepare_to_sleep() noexcept;  // gives the next deadline
  Woken sleep(Instant now, Instant due, Duration longest) noexcept;
  void woke(const Woken& why) noexcept;
  // After a yield: one system call tells which sockets the next turn has to read, mostly none.
  void look() noexcept;
  // A thread spins: most of a turn is then spent polling the sockets of peers. The kernel is told after a
  // while that nobody sleeps on them, so that it does not signal each datagram.
  void set_spinning(bool spins) noexcept { extra_polls_ = spins ? kExtraPolls : 0; }
  void on_spun() noexcept;

 private:
  friend class ForeignPeers;  // adds peers to the sockets
  static constexpr int kExtraPolls = 8;
  static constexpr std::uint32_t kPeers = 1, kLanes = 2, kBell = 4, kTcp = 8;  // marks of the watch

  // Multicast by one interface.
  struct Groups {
    std::unique_ptr<path::McastPath> path;
    std::vector<path::McastPath::Send> batch;
    std::uint32_t turns_without_cast = 0;
  };

  bool join(const group::Address& group) noexcept override;
  void leave(const group::Address& group) noexcept override;
  bool receive(Instant now, bool thorough) noexcept;
  bool receive_peers(Instant now, bool thorough) noexcept;
  bool receive_groups(Instant now, bool thorough) noexcept;
  bool take(Instant now, std::span<const path::UdpArrival> arrivals) noexcept;
  bool take_groups(Instant now, path::McastPath& from,
                   std::span<const std::span<const std::byte>> arrivals) noexcept;
  bool transmit(Instant now) noexcept;
  void send_to_peers(Instant now) noexcept;
  void send_to_groups(Groups& groups) noexcept;
  void mark_ready(const Woken& why) noexcept;
  void trace() noexcept;

  const int rank_;
  const bool verbose_, use_lanes_;
  node::Node& node_;
  std::unique_ptr<path::UdpPath> udp_;
  std::shared_ptr<TcpLinks> tcp_;
  std::vector<Groups> groups_;  // by interface; empty: no multicast here
  HostNames hosts_;
  SilenceReport silence_;
  SegmentReport segments_;
  path::Watch watch_;
  rel::TxBatch batch_;
  std::vector<path::UdpSend> to_peers_, by_tcp_;  // the batch, as the paths want it
  const std::string ports_;                       // that UDP needs, for messages
  bool ready_known_ = false;                      // the last sleep or look told which sockets to read:
  bool peers_ready_ = true, lanes_ready_ = true, tcp_ready_ = true;
  int extra_polls_ = 0;
  std::uint32_t spins_ = 0;  // in a row, since somebody slept
  std::uint64_t traced_resent_ = 0, traced_dropped_ = 0;
};

}  // namespace herald::engine
