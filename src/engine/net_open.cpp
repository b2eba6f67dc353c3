// SPDX-License-Identifier: BSD-3-Clause
#include "engine/net_open.hpp"

#include <algorithm>
#include <cstdio>

namespace herald::engine {

bool NetOpener::open(std::string& why) {
  pool_.port = static_cast<std::uint16_t>(knobs_.lanes_port);
  if (!group::read_range(knobs_.lanes_net, pool_)) {
    why = "HERALD_LANES_NET=" + knobs_.lanes_net + ": a range of multicast addresses such as 239.192.0.0/14";
    return false;
  }
  path::UdpConfig config;
  config.rank = rank_;
  config.size = size_;
  config.interfaces = knobs_.if_;
  config.networks = knobs_.net;
  config.socket_bytes = static_cast<std::uint32_t>(knobs_.net_socket_bytes);
  config.segment = knobs_.net_segment == "on";
  udp_ = path::UdpPath::open(config, why);
  return udp_ != nullptr;
}

bool NetOpener::add_peer(p2p::PeerId peer, const std::string& card, std::string& why) {
  const int links = udp_->add_peer(peer, card, why);
  if (links <= 0) return false;
  links_[static_cast<std::size_t>(peer)] = static_cast<rel::LinkId>(std::min<int>(links, rel::kMostLinks));
  return true;
}

// Multicast goes by the interface that reaches the first peer.
void NetOpener::open_groups() noexcept {
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

std::unique_ptr<Net> NetOpener::finish(const NetStart& start) {
  hosts_.settle();
  udp_->settle();
  pool_.key = start.key;
  if (knobs_.lanes == "on") open_groups();
  node_.connect(node_config(rank_, size_, knobs_, *udp_, start, pool_), nullptr);
  for (int peer = 0; peer < size_; ++peer)
    if (links_[static_cast<std::size_t>(peer)] != 0)
      node_.add_peer(peer, links_[static_cast<std::size_t>(peer)]);
  return std::make_unique<Net>(rank_, knobs_, node_, std::move(udp_), std::move(mcast_), std::move(hosts_));
}

}  // namespace herald::engine
