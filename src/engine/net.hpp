// SPDX-License-Identifier: BSD-3-Clause
// engine/net.hpp: drives a node::Node with sockets: UDP to peers on other hosts, multicast to groups.
// In:  turns of the loop, with the time. Out: datagrams; what a person should know, on stderr.
// A peer expects answers while the program computes: the keep-alive thread takes turns then (keep_alive()).
#pragma once
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "engine/host_names.hpp"
#include "node/node.hpp"
#include "path/mcast/mcast.hpp"
#include "path/udp/udp.hpp"
#include "path/watch.hpp"

namespace herald::engine {

// What the ranks agreed on when they exchanged their cards.
struct NetStart {
  wire::JobKey key{};
  std::uint32_t epoch = 0;
  std::uint64_t seed = 0;
  std::uint32_t local_ranks = 1;  // on this host, ourselves included
};

p2p::CoreConfig core_config(int rank, int size, const Knobs& knobs);

class Net final : node::GroupMembership {
 public:
  static std::unique_ptr<Net> open(int rank, int size, const Knobs& knobs, node::Node& node,
                                   std::string& why);

  std::string card() const { return udp_->card(); }
  bool add_peer(p2p::PeerId peer, const std::string& card, std::string& why);
  void start(const NetStart& start) noexcept;  // after all add_peer()

  // A lane to these peers and ourselves; -1: none is to be had. Nothing is waited for.
  rel::LaneId open_lane(std::uint64_t name, std::span<const p2p::PeerId> members) noexcept {
    return use_lanes_ ? node_.lanes().open(name, members) : -1;
  }
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

  void set_host(p2p::PeerId peer, const std::string& host) { hosts_.set(peer, host); }
  const char* host_of(p2p::PeerId peer) const noexcept { return hosts_.of(peer); }

  // Sleeping: until a datagram comes, the doorbell rings, or the time is over; now and then too short.
  // sleep() touches nothing that other threads may change meanwhile.
  struct Woken {
    bool bell = false, peers = false, lanes = false;
  };
  void set_bell(int descriptor) noexcept { watch_.add(descriptor, kBell); }
  Instant prepare_to_sleep() noexcept;  // gives the next deadline
  Woken sleep(Instant now, Instant due, Duration longest) noexcept;
  void woke(const Woken& why) noexcept;
  // A thread spins: most of a turn is then spent polling the sockets of peers. The kernel is told after a
  // while that nobody sleeps on them, so that it does not signal each datagram.
  void set_spinning(bool spins) noexcept { extra_polls_ = spins ? kExtraPolls : 0; }
  void on_spun() noexcept;

 private:
  static constexpr int kExtraPolls = 8;
  static constexpr std::uint32_t kPeers = 1, kLanes = 2, kBell = 4;  // marks of the watch

  Net(int rank, int size, const Knobs& knobs, node::Node& node);
  bool join(const group::Address& group) noexcept override { return mcast_->join(group); }
  void leave(const group::Address& group) noexcept override { mcast_->leave(group); }
  node::NodeConfig node_config(const NetStart& start) const noexcept;
  void open_groups() noexcept;
  bool receive(Instant now, bool thorough) noexcept;
  bool receive_peers(Instant now, bool thorough) noexcept;
  bool receive_groups(Instant now, bool thorough) noexcept;
  bool take(Instant now, std::span<const path::UdpArrival> arrivals) noexcept;
  bool transmit(Instant now) noexcept;
  void send_to_peers(Instant now) noexcept;
  void send_to_groups() noexcept;
  void trace() noexcept;

  const int rank_, size_;
  const Knobs knobs_;
  node::Node& node_;
  std::unique_ptr<path::UdpPath> udp_;
  std::unique_ptr<path::McastPath> mcast_;  // null: no multicast here
  group::Pool pool_;
  std::vector<rel::LinkId> links_;  // to each peer; 0: shares our memory
  HostNames hosts_;
  path::Watch watch_;
  rel::TxBatch batch_;
  std::vector<path::UdpSend> to_peers_;  // the batch, as the paths want it
  std::vector<path::McastPath::Send> to_groups_;
  bool use_lanes_;
  bool ready_known_ = false;  // the last sleep told which sockets to read:
  bool peers_ready_ = true, lanes_ready_ = true;
  int extra_polls_ = 0;
  std::uint32_t spins_ = 0;  // in a row, since somebody slept
  std::uint32_t turns_without_cast_ = 0;
  std::uint64_t traced_resent_ = 0, traced_dropped_ = 0;
};

}  // namespace herald::engine
