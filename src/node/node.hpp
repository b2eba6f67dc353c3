// SPDX-License-Identifier: BSD-3-Clause
// node/node.hpp: one rank's protocol, whole. engine/ and sim/ drive the same object.
// In:  operations of the program; datagrams and packets from shared memory; the time; peers that died.
// Out: datagrams, pulled by poll_transmit(); operations that complete; lost peers; events for a person.
// Timer: one, next_deadline().
// Invariant: nothing here reads a clock or touches a socket; a driver that repeats the same calls gets the
// same answers.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/prng.hpp"
#include "node/config.hpp"
#include "node/envelope.hpp"
#include "node/idle_probe.hpp"
#include "node/lane_side.hpp"
#include "node/turn_clock.hpp"
#include "p2p/carrier.hpp"
#include "p2p/core.hpp"
#include "rel/mesh.hpp"

namespace herald::node {

// Whose thread drives the node.
enum class Caller : std::uint8_t {
  program,     // arrivals reach Core
  keep_alive,  // the program computes: arrivals are acknowledged and kept, up to service calls at their head
};

class Node {
 public:
  explicit Node(const p2p::CoreConfig& config) noexcept : core_(config) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Matching and push-pull. Drivers of shared memory use it directly.
  p2p::Core& core() noexcept { return core_; }
  const p2p::Core& core() const noexcept { return core_; }

  // At the beginning of each turn: runs the service calls that waited and may run. True if there were any.
  bool serve_calls(bool computing) noexcept {
    p2p::Services& services = core_.services();
    return services.needs_poll(computing) && services.poll(computing);
  }

  // Some peers are on other hosts; then add_peer() for each of them. `tap` may be null.
  void connect(const NodeConfig& config, PacketTap* tap) noexcept;
  // A process of another job has `pair`, and may come at any time; Core has the peer already
  // (PeerTable::add()).
  void add_peer(PeerId peer, rel::LinkId links, const rel::PairIdentity* pair = nullptr,
                const wire::SecretKey& secret = {}) noexcept;

  // The rest needs connect().
  LaneSide& lanes() noexcept { return remote_->lanes; }
  const LaneSide& lanes() const noexcept { return remote_->lanes; }
  const rel::Mesh& mesh() const noexcept { return remote_->mesh; }
  // Datagrams that were refused before mesh and lanes saw them.
  EnvelopeCounters refused() const noexcept {
    return remote_->envelope ? remote_->envelope->counters() : EnvelopeCounters{};
  }

  // Moves packets from Core towards the peer or the lane, as far as windows go; false: none moved. Transmit
  // then, and pump again: a push that needs an answer leaves before the rest follows.
  bool pump(Instant now, PeerId peer) noexcept;
  bool pump_lane(Instant now, rel::LaneId lane) noexcept;
  void start(Instant now, p2p::FusedOp& op) noexcept;

  // A turn. The driver calls on_block() when it blocked since the last one.
  void begin_turn(Instant now, Caller caller) noexcept;
  bool on_datagrams(Instant now, std::span<const rel::Mesh::Rx> arrivals) noexcept;
  // At most rel::Lanes::kMostTogether. Bit i of the result: the one at i was good.
  std::uint32_t on_group_datagrams(Instant now, std::span<const std::span<const std::byte>> came) noexcept;
  bool end_turn(Instant now, Caller caller, bool received) noexcept;
  void on_block() noexcept { clock_.on_block(); }
  // Entries with `to` >= 0 go to that peer, others to the group of lane rel::Lanes::lane_of(to). Send them
  // before anything else is called.
  std::size_t poll_transmit(Instant now, rel::TxBatch& out) noexcept;
  void on_link_error(Instant now, PeerId peer, rel::LinkId link) noexcept {
    remote_->mesh.on_link_error(now, peer, link);
  }
  std::optional<Instant> next_deadline() const noexcept;
  Instant last_turn() const noexcept { return clock_.last_turn(); }

  // The peer has left or died; it has no part in anything any more.
  void on_peer_gone(PeerId peer) noexcept;
  // The next peer that does not answer any more; -1: none.
  PeerId take_lost() noexcept { return remote_->carrier.take_lost(); }
  bool has_news() const noexcept { return remote_->carrier.has_news() || remote_->lanes.has_news(); }
  std::vector<NodeEvent> take_events() noexcept;
  // Everything that was sent is acknowledged.
  bool is_flushed() const noexcept {
    return remote_->mesh.is_flushed() && remote_->lanes.lanes().is_flushed();
  }
  // The program reads no more: what arrives from now on is acknowledged and thrown away.
  void detach() noexcept;

 private:
  struct Remote {
    Remote(const NodeConfig& node, p2p::Core& core, PacketTap* tap, std::vector<NodeEvent>& events) noexcept;
    Prng prng;
    p2p::Carrier carrier;
    rel::Mesh mesh;
    LaneSide lanes;
    std::optional<Envelope> envelope;  // of auth and encrypt
  };
  void set_gate(p2p::Carrier::Door gate) noexcept;
  void on_clock_gap(Instant now) noexcept;

  p2p::Core core_;
  std::unique_ptr<Remote> remote_;
  std::vector<NodeEvent> events_;
  TurnClock clock_;
  IdleProbe idle_probe_;
  Duration away_{};  // of the program, before this turn
  int turns_without_timers_ = 0;
};

}  // namespace herald::node
