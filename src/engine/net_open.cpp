// SPDX-License-Identifier: BSD-3-Clause
// engine/net_open.cpp: opening the sockets, what the node is told of them, and what is printed.
#include <algorithm>
#include <cstdio>

#include "base/trace.hpp"
#include "engine/baseline.hpp"
#include "engine/net.hpp"

namespace herald::engine {

p2p::CoreConfig core_config(int rank, int size, const Knobs& knobs) {
  p2p::CoreConfig config;
  config.peers = size;
  config.me = rank;
  config.push_bytes = knobs.tuning.push_bytes;
  config.mode = push_mode_of(knobs);
  config.direct_bytes = knobs.tuning.cma_bytes;
  config.local_allowance = static_cast<std::uint32_t>(knobs.unexpected_bytes);
  config.remote_more = knobs.tuning.net_push_bytes;
  config.remote_copied = knobs.tuning.net_copy_bytes;
  config.remote_allowance = std::min(config.local_allowance, knobs.tuning.net_allowance_bytes);
  return config;
}

Net::Net(int rank, int size, const Knobs& knobs, node::Node& node)
    : rank_(rank),
      size_(size),
      knobs_(knobs),
      node_(node),
      links_(static_cast<std::size_t>(size)),
      hosts_(size),
      use_lanes_(knobs.lanes == "on") {
  to_peers_.reserve(rel::TxBatch::kMost);
  to_groups_.reserve(rel::TxBatch::kMost);
}

std::unique_ptr<Net> Net::open(int rank, int size, const Knobs& knobs, node::Node& node, std::string& why) {
  std::unique_ptr<Net> net(new Net(rank, size, knobs, node));
  net->pool_.port = static_cast<std::uint16_t>(knobs.lanes_port);
  if (!group::read_range(knobs.lanes_net, net->pool_)) {
    why = "HERALD_LANES_NET=" + knobs.lanes_net + ": a range of multicast addresses such as 239.192.0.0/14";
    return nullptr;
  }
  path::UdpConfig config;
  config.rank = rank;
  config.size = size;
  config.interfaces = knobs.if_;
  config.networks = knobs.net;
  config.socket_bytes = static_cast<std::uint32_t>(knobs.net_socket_bytes);
  config.segment = knobs.net_segment == "on";
  net->udp_ = path::UdpPath::open(config, why);
  if (!net->udp_) return nullptr;
  return net;
}

bool Net::add_peer(p2p::PeerId peer, const std::string& card, std::string& why) {
  const int links = udp_->add_peer(peer, card, why);
  if (links <= 0) return false;
  links_[static_cast<std::size_t>(peer)] = static_cast<rel::LinkId>(std::min<int>(links, rel::kMostLinks));
  return true;
}

// The ranks of a host share a port of the switch, and so what it can hold.
node::NodeConfig Net::node_config(const NetStart& start) const noexcept {
  node::NodeConfig config;
  rel::MeshConfig& mesh = config.mesh;
  mesh.me = rank_;
  mesh.peers = size_;
  mesh.give_up = milliseconds(knobs_.detect_ms);
  mesh.log_bytes = static_cast<std::uint32_t>(knobs_.net_log_bytes);
  mesh.repair = repair_of(knobs_);
  mesh.seal = {start.key, start.epoch};
  mesh.datagram_bytes = udp_->datagram_bytes();
  mesh.largest_bytes = udp_->largest_bytes();
  mesh.row_packets = udp_->gso_packets();
  mesh.burst_packets = std::max(1u, mesh.burst_packets / mesh.row_packets) * mesh.row_packets;
  mesh.budget_bytes =
      std::min(knobs_.tuning.net_switch_bytes / std::max(start.local_ranks, 1u), udp_->receive_bytes());
  const auto all = static_cast<std::uint32_t>(size_);
  mesh.eager_packets =
      rel::eager_window(mesh.budget_bytes, mesh.datagram_bytes, all - std::min(start.local_ranks, all));
  rel::LanesConfig& lanes = config.lanes;
  lanes.me = rank_;
  lanes.peers = size_;
  lanes.seal = mesh.seal;
  lanes.datagram_bytes = mesh.datagram_bytes;
  lanes.largest_bytes = mesh.largest_bytes;
  lanes.mode = lane_mode_of(knobs_);
  lanes.window_packets = lane_window_of(knobs_);
  lanes.held_packets = udp_->receive_bytes() / std::max(lanes.largest_bytes, lanes.datagram_bytes);
  lanes.give_up = rel::give_up_after(mesh.give_up);
  config.pool = pool_;
  config.mesh_seed = start.seed;
  config.lanes_seed = start.seed + 1;
  return config;
}

void Net::start(const NetStart& start) noexcept {
  hosts_.settle();
  udp_->settle();
  pool_.key = start.key;
  if (use_lanes_) open_groups();
  const node::NodeConfig config = node_config(start);
  node_.connect(config, nullptr);
  for (int peer = 0; peer < size_; ++peer)
    if (links_[static_cast<std::size_t>(peer)] != 0)
      node_.add_peer(peer, links_[static_cast<std::size_t>(peer)]);
  for (const int fd : udp_->descriptors()) watch_.add(fd, kPeers);
  if (mcast_) {
    node_.lanes().use_groups(*this);
    watch_.add(mcast_->descriptor(), kLanes);
  }
}

// Multicast goes by the interface that reaches the first peer.
void Net::open_groups() noexcept {
  path::McastConfig groups;
  path::UdpLocal local;
  for (int peer = 0; peer < size_; ++peer) {
    if (links_[static_cast<std::size_t>(peer)] == 0) continue;
    const path::UdpLocal way = udp_->local_of(peer, 0);
    if (local.family == 0) local = way;
    groups.loop = groups.loop || way.same_host;
  }
  groups.family = local.family;
  groups.local = local.address;
  groups.interface = local.interface;
  groups.socket_bytes = static_cast<std::uint32_t>(knobs_.net_socket_bytes);
  groups.segment = knobs_.net_segment == "on";
  pool_.family = groups.family;
  groups.port = group::port_of(pool_);
  groups.datagram_bytes = std::max(udp_->datagram_bytes(), udp_->largest_bytes());
  std::string why;
  mcast_ = path::McastPath::open(groups, why);
  if (!mcast_ && knobs_.verbose > 0)
    std::fprintf(stderr, "herald: rank %d: no multicast: %s\n", rank_, why.c_str());
}

void Net::print_events() noexcept {
  using Kind = node::NodeEvent::Kind;
  for (const node::NodeEvent& event : node_.take_events()) {
    const bool up = event.kind == Kind::link_up;
    if (up || event.kind == Kind::link_down)
      process_trace.add(TraceEvent::link, std::uint64_t{0}, event.peer, event.amount, up ? 1 : 0);
    if (knobs_.verbose == 0) continue;
    std::fprintf(stderr, "herald: rank %d: ", rank_);
    switch (event.kind) {
      case Kind::link_up:
      case Kind::link_down:
        std::fprintf(stderr, "link %s to rank %d %s\n",
                     udp_->link_name(event.peer, static_cast<rel::LinkId>(event.amount)).c_str(), event.peer,
                     up ? "works" : "does not answer");
        break;
      case Kind::multicast_restored: std::fprintf(stderr, "rank %d hears our multicast\n", event.peer); break;
      case Kind::multicast_lost:
        std::fprintf(stderr,
                     "rank %d does not hear our multicast; it is served by unicast, and multicast is tried "
                     "again with every cast to others, or with back-off up to a second\n",
                     event.peer);
        break;
      case Kind::multicast_lossy:
        std::fprintf(stderr, "%u %% of the multicast from rank %d is lost, and repaired\n", event.amount,
                     event.peer);
        break;
      case Kind::group_shared:
        std::fprintf(stderr,
                     "no more groups can be joined (igmp_max_memberships); a communicator shares the group "
                     "of others\n");
        break;
      case Kind::lane_moved:
        std::fprintf(stderr, "a lane moves to its address number %u\n", event.amount);
        break;
      case Kind::group_foreign:
        std::fprintf(stderr, "others use a multicast address of ours; its lanes move\n");
        break;
    }
  }
}

void Net::print_report(Instant now, bool at_end) noexcept {
  const std::string line = node_.lanes().reports().update(
      now, [this](std::int32_t rank) { return std::string(hosts_.of(rank)); }, at_end);
  if (!line.empty()) std::fprintf(stderr, "herald: %s\n", line.c_str());
}

}  // namespace herald::engine
