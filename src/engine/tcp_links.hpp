// SPDX-License-Identifier: BSD-3-Clause
// engine/tcp_links.hpp: TCP connections to peers that UDP does not reach, which carry the same datagrams.
// In:  turns of the network; datagrams for peers that use TCP; UDP probes that came. Out: datagrams for the
// node; peers that UDP does not reach, for its reports; lines on stderr (HERALD_VERBOSE).
// A connection counts once both ends have proven the key (wire/stream.hpp). Of two that cross, both sides
// keep the one that the lower rank opened.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "engine/bulk_links.hpp"
#include "engine/config.hpp"
#include "node/node.hpp"
#include "node/path_choice.hpp"
#include "path/tcp/tcp.hpp"
#include "path/udp/udp.hpp"
#include "wire/stream.hpp"

namespace herald::engine {

class TcpLinks {
 public:
  struct Config {
    int rank = 0, size = 1;
    wire::Seal seal;
    bool on = true;         // HERALD_PATH permits it
    bool tcp_only = false;  // ... and no UDP
    bool verbose = false;
    bool bulk = false;  // long messages may go as bulk frames
    node::SecurityConfig security = {};
  };
  TcpLinks(const Config& config, std::unique_ptr<path::TcpPath> path, path::UdpPath& udp, node::Node& node);

  int descriptor() const noexcept { return path_->descriptor(); }
  // No peer uses TCP: what follows need not be asked.
  bool is_idle() const noexcept { return choice_.is_idle() && !config_.tcp_only; }
  bool uses(p2p::PeerId peer) const noexcept { return config_.tcp_only || choice_.uses_tcp(peer); }

  // Datagrams to peers that use TCP. Those that do not fit are dropped.
  void send(Instant now, std::span<const path::UdpSend> datagrams);
  // True: it was a probe, and is no datagram of the node.
  bool take_probe(Instant now, const path::UdpArrival& arrival);
  BulkLinks& bulk() noexcept { return bulk_; }
  // In each turn. `ready`: the descriptor is readable, or nobody looked. True if a datagram came.
  bool turn(Instant now, bool ready);
  Instant next_deadline() const noexcept;

  void print_refused() const noexcept;  // HERALD_VERBOSE, at the end of the job
  std::uint64_t refused() const noexcept { return refused_; }
  std::size_t connections() const noexcept { return connections_.size(); }

 private:
  struct Connection {
    p2p::PeerId peer = -1;
    bool ours = false, proven = false, said_hello = false;
    wire::StreamUse use = wire::StreamUse::datagrams;
    wire::StreamNonce nonce{};  // ours
    wire::StreamSession session;
    Instant limit{};  // of the handshake
    Instant proven_at{};
  };
  using Connections = std::map<path::TcpId, Connection>;

  bool is_peer(std::uint32_t rank) const noexcept;
  void act(Instant now);
  void connect(Instant now, p2p::PeerId peer, wire::StreamUse use);
  void on_connect_failed(Instant now, p2p::PeerId peer, wire::StreamUse use, bool refused = false);
  void prove_bulk(Instant now, path::TcpId id, const Connection& connection);
  bool take_events(Instant now);
  void on_accepted(Instant now, path::TcpId id);
  void on_closed(Instant now, path::TcpId id, bool refused = false);
  void on_frame(Instant now, path::TcpId id, const path::TcpFrame& frame);
  bool on_challenge(path::TcpId id, Connection& connection, std::span<const std::byte> body);
  bool on_hello(Instant now, path::TcpId id, Connection& connection, const path::TcpFrame& frame);
  bool on_welcome(Instant now, path::TcpId id, Connection& connection, std::span<const std::byte> body);
  void prove(Instant now, path::TcpId id, Connection& connection);
  void refuse(Instant now, path::TcpId id);
  void expire(Instant now);
  void flush_row(Instant now);
  void note_changes(Instant now);
  template <class Body>
  void send_frame(path::TcpId id, wire::StreamKind kind, const Body& body);

  const Config config_;
  std::unique_ptr<path::TcpPath> path_;
  path::UdpPath& udp_;
  node::Node& node_;
  node::PathChoice choice_;
  BulkLinks bulk_;
  Connections connections_;
  std::map<p2p::PeerId, path::TcpId> current_;  // proven, in use
  std::map<p2p::PeerId, Instant> since_;        // peers that use TCP and were not reported
  std::vector<p2p::PeerId> reported_;
  std::array<rel::Mesh::Rx, rel::Mesh::kMostAtOnce> row_{};
  std::size_t in_row_ = 0;
  bool row_was_good_ = false;
  Instant look_at_{};
  std::uint32_t ways_ = 0;  // tried
  std::uint64_t refused_ = 0;
};

}  // namespace herald::engine
