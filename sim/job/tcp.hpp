// SPDX-License-Identifier: BSD-3-Clause
// sim/job/tcp.hpp: TCP connections between processes of a job, in virtual time: lossless, in order, until
// they are cut. Datagrams that go by them pass no switch of the simulated network.
//   TcpNet  all connections of a job, and their faults
//   TcpEnd  the side of one process: node::PathChoice, driven as engine/tcp_links drives it
#pragma once
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "node/node.hpp"
#include "node/path_choice.hpp"
#include "sim/net/net.hpp"
#include "wire/stream.hpp"

namespace herald::sim {

class TcpNet {
 public:
  struct Frame {
    enum class Kind : std::uint8_t { connected, closed, datagram, report, bulk };
    Kind kind;
    HostId from;
    Instant at{};             // when it arrives
    std::uint32_t epoch = 0;  // of the connection
    rel::LinkId link = 0;
    std::vector<std::byte> bytes = {};
    node::PathChoice::Action report = {};
    bool of_bulk = false;   // of a connection for bulk frames ...
    bool receives = false;  // ... by which the host that the frame comes to receives
  };

  explicit TcpNet(Net& net) : net_(net), inbox_(static_cast<std::size_t>(net.config().hosts)) {}

  void connect(HostId from, HostId to);
  void send(HostId from, HostId to, Frame frame);
  void close(HostId one, HostId other);
  // Connections for bulk frames: the one that connects receives.
  void connect_bulk(HostId from, HostId to);
  void send_bulk(HostId from, HostId to, std::span<const std::byte> bytes);
  void close_bulk(HostId receiver, HostId sender);
  bool may_send(HostId from, HostId to) const;  // the socket has room
  Instant may_send_at(HostId from, HostId to) const;
  bool is_bulk_open(HostId receiver, HostId sender) const { return bulk_.contains({receiver, sender}); }
  bool is_open(HostId one, HostId other) const { return open_.contains(std::minmax(one, other)); }
  // True: the next frame for the host that has arrived.
  bool take(HostId host, Frame& frame);
  Instant next_arrival(HostId host) const;

  // Faults.
  void cut_all();
  void set_silent(bool silent) { silent_ = silent; }  // frames vanish, and nothing says so
  void set_refusing(bool refusing) { refuses_ = refusing; }
  void corrupt_next() { corrupts_ = true; }
  std::uint64_t frames() const noexcept { return frames_; }
  std::uint64_t datagrams() const noexcept { return datagrams_; }
  void count_resumed(std::uint64_t more) noexcept { bulk_resumed_ += more; }
  std::uint64_t bulk_resumed() const noexcept { return bulk_resumed_; }
  std::uint64_t bulk_bytes() const noexcept { return bulk_bytes_; }

 private:
  using Pair = std::pair<HostId, HostId>;
  void put(HostId to, Frame frame, std::size_t bytes);
  bool is_lost(HostId host, const Frame& frame) const;

  Net& net_;
  std::vector<std::deque<Frame>> inbox_;
  std::map<Pair, std::uint32_t> open_;  // with the number of the connection
  std::map<Pair, std::uint32_t> bulk_;  // likewise, by receiver and sender
  std::map<Pair, Instant> line_free_;   // by direction
  std::uint32_t last_epoch_ = 0;
  bool silent_ = false, refuses_ = false, corrupts_ = false;
  std::uint64_t frames_ = 0, datagrams_ = 0, bulk_bytes_ = 0, bulk_resumed_ = 0;
};

class TcpEnd {
 public:
  TcpEnd(TcpNet& tcp, Net& net, node::Node& node, HostId me, const wire::Seal& seal,
         const node::SecurityConfig& security, bool bulk)
      : tcp_(tcp), net_(net), node_(node), me_(me), seal_(seal), security_(security) {
    if (bulk) node.core().bulk().receives.choice().enable(true);
  }

  bool uses(HostId peer) const noexcept { return choice_.uses_tcp(peer); }
  void send(const rel::Tx& tx);
  bool take_probe(Instant now, std::span<const std::byte> datagram);
  // True if something came.
  bool turn(Instant now);
  // Bulk frames, while the program does not compute. True if anything moved.
  bool turn_bulk();
  Instant next_deadline() const {
    return std::min({choice_.is_idle() ? kNever : choice_.next_deadline(), tcp_.next_arrival(me_), bulk_at_});
  }

 private:
  void on_frame(Instant now, const TcpNet::Frame& frame);
  void on_bulk_frame(Instant now, const TcpNet::Frame& frame);
  bool read_bulk(HostId from, std::vector<std::byte>& unread);
  bool write_bulk(HostId to);
  void act(Instant now);
  wire::BulkSession bulk_session(HostId receiver, HostId sender, std::uint32_t epoch) const;
  wire::StreamSession session(HostId peer) const noexcept {
    const auto [low, high] = std::minmax(me_, peer);
    return {seal_, static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high), {}, {}};
  }

  TcpNet& tcp_;
  Net& net_;
  node::Node& node_;
  const HostId me_;
  const wire::Seal seal_;
  const node::SecurityConfig security_;
  node::PathChoice choice_;
  std::map<HostId, std::vector<std::byte>> unread_;  // of bulk frames, by sender
  std::uint64_t counted_ = 0;                        // pulls resumed
  Instant bulk_at_ = kNever;                         // when a socket that is full has room
};

}  // namespace herald::sim
