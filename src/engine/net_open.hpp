// SPDX-License-Identifier: BSD-3-Clause
// engine/net_open.hpp: opens the sockets, learns the addresses of peers, and connects the node.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engine/config.hpp"
#include "engine/net.hpp"
#include "path/tcp/tcp.hpp"

namespace herald::engine {

class NetOpener {
 public:
  NetOpener(int rank, int size, const Knobs& knobs, node::Node& node)
      : rank_(rank),
        size_(size),
        knobs_(knobs),
        node_(node),
        links_(static_cast<std::size_t>(size)),
        hosts_(size) {}

  bool open(std::string& why);
  std::string card() const { return udp_->card(); }
  void set_host(p2p::PeerId peer, const std::string& host) { hosts_.set(peer, host); }
  bool add_peer(p2p::PeerId peer, const std::string& card, std::string& why);
  std::unique_ptr<Net> finish(const NetStart& start);  // after all add_peer()

 private:
  void open_groups() noexcept;
  bool permits(const char* path) const noexcept { return knobs_.path.empty() || list_has(knobs_.path, path); }

  const int rank_, size_;
  const Knobs& knobs_;
  node::Node& node_;
  std::unique_ptr<path::UdpPath> udp_;
  std::unique_ptr<path::TcpPath> tcp_ = std::make_unique<path::TcpPath>();
  std::vector<std::unique_ptr<path::McastPath>> mcast_;  // by interface; empty: no multicast here
  group::Pool pool_;
  std::vector<rel::LinkId> links_;  // to each peer; 0: shares our memory
  HostNames hosts_;
};

}  // namespace herald::engine
