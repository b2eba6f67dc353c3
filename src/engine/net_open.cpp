// SPDX-License-Identifier: BSD-3-Clause
#include "engine/net_open.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "engine/tcp_links.hpp"

namespace herald::engine {
namespace {

constexpr std::size_t kMostInterfaces = 4;  // of multicast

}  // namespace

bool NetOpener::open(std::string& why) {
  if (!group::read_range(knobs_.lanes_net, pool_)) {
    why = "HERALD_LANES_NET=" + knobs_.lanes_net + ": a range of multicast addresses such as 239.192.0.0/14";
    return false;
  }
  path::UdpConfig config;
  if (!path::read_ports(knobs_.ports, config.ports)) {
    why = "HERALD_PORTS=" + knobs_.ports + ": a range of ports from 1024 to 65535 such as 20000-20100";
    return false;
  }
  config.ports.reserved = pool_.port = config.ports.last;
  config.rank = rank_;
  config.size = size_;
  config.interfaces = knobs_.if_;
  config.networks = knobs_.net;
  config.socket_bytes = static_cast<std::uint32_t>(knobs_.net_socket_bytes);
  config.segment = knobs_.net_segment == "on";
  // A TCP socket listens at the address and port of each UDP socket: peers know it, and firewalls need one
  // range.
  if (permits("tcp"))
    config.take_port = [this](const sockaddr& bound, socklen_t length) {
      return tcp_->listen(bound, length) || errno != EADDRINUSE;
    };
  udp_ = path::UdpPath::open(config, why);
  return udp_ != nullptr;
}

bool NetOpener::add_peer(p2p::PeerId peer, const std::string& card, std::string& why) {
  const int links = udp_->add_peer(peer, card, why);
  if (links <= 0) return false;
  links_[static_cast<std::size_t>(peer)] = static_cast<rel::LinkId>(std::min<int>(links, rel::kMostLinks));
  return true;
}

// Groups are joined by all interfaces that reach a peer, in the order of links: each lane sends by the first
// that reaches its members.
void NetOpener::open_groups() noexcept {
  std::vector<path::UdpLocal> locals;
  path::McastConfig groups;
  for (rel::LinkId link = 0; link < rel::kMostLinks; ++link)
    for (int peer = 0; peer < size_; ++peer) {
      if (links_[static_cast<std::size_t>(peer)] <= link) continue;
      const path::UdpLocal way = udp_->local_of(peer, link);
      groups.loop = groups.loop || (link == 0 && way.same_host);
      const bool known = std::any_of(locals.begin(), locals.end(), [&](const path::UdpLocal& one) {
        return one.interface == way.interface || one.family != way.family;
      });
      if (!known && locals.size() < kMostInterfaces) locals.push_back(way);
    }
  groups.socket_bytes = static_cast<std::uint32_t>(knobs_.net_socket_bytes);
  groups.segment = knobs_.net_segment == "on";
  groups.datagram_bytes = std::max(udp_->datagram_bytes(), udp_->largest_bytes());
  for (const path::UdpLocal& local : locals) {
    groups.family = pool_.family = local.family;
    groups.local = local.address;
    groups.interface = local.interface;
    groups.port = group::port_of(pool_);
    std::string why;
    if (auto path = path::McastPath::open(groups, why))
      mcast_.push_back(std::move(path));
    else if (knobs_.verbose > 0)
      std::fprintf(stderr, "herald: rank %d: no multicast: %s\n", rank_, why.c_str());
  }
}

std::unique_ptr<Net> NetOpener::finish(const NetStart& start) {
  hosts_.settle();
  udp_->settle();
  pool_.key = start.pool_key;
  if (knobs_.lanes == "on" && permits("udp")) open_groups();
  node::NodeConfig config = node_config(rank_, size_, knobs_, *udp_, start, pool_);
  config.lanes.interfaces = static_cast<std::uint8_t>(std::max<std::size_t>(mcast_.size(), 1));
  node_.connect(config, nullptr);
  for (int peer = 0; peer < size_; ++peer)
    if (links_[static_cast<std::size_t>(peer)] != 0)
      node_.add_peer(peer, links_[static_cast<std::size_t>(peer)]);
  const TcpLinks::Config by_tcp{rank_,          size_,           config.mesh.seal,
                                permits("tcp"), !permits("udp"), knobs_.verbose > 0,
                                permits("tcp"), config.security};
  auto tcp = std::make_shared<TcpLinks>(by_tcp, std::move(tcp_), *udp_, node_);
  return std::make_unique<Net>(rank_, knobs_, node_, std::move(udp_), std::move(tcp), std::move(mcast_),
                               std::move(hosts_));
}

}  // namespace herald::engine
