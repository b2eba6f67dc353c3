// SPDX-License-Identifier: BSD-3-Clause
// node/lane_side.hpp: the lanes of a node: joins p2p::Core to rel::Lanes, with the addresses of lanes and the
// fused exchanges over them.
// In:  lanes to open and close; datagrams of lanes; turns. Out: datagrams; packets for Core; events.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "base/prng.hpp"
#include "node/config.hpp"
#include "node/reports.hpp"
#include "p2p/fused_ops.hpp"
#include "p2p/lane_carrier.hpp"
#include "p2p/lane_registry.hpp"

namespace herald::node {

// Joins groups through the driver, and turns the news of the registry into events.
class GroupBridge final : public p2p::LaneGroups {
 public:
  explicit GroupBridge(std::vector<NodeEvent>& events) noexcept : events_(events) {}
  void use(GroupMembership& groups) noexcept { groups_ = &groups; }
  bool join(const group::Address& group) noexcept override { return groups_->join(group); }
  void leave(const group::Address& group) noexcept override { groups_->leave(group); }
  void on_shared() noexcept override { events_.push_back({NodeEvent::Kind::group_shared}); }
  void on_moved(std::uint8_t move) noexcept override {
    events_.push_back({NodeEvent::Kind::lane_moved, -1, move});
  }
  void on_strangers() noexcept override { events_.push_back({NodeEvent::Kind::group_foreign}); }

 private:
  GroupMembership* groups_ = nullptr;
  std::vector<NodeEvent>& events_;
};

class LaneSide {
 public:
  LaneSide(const NodeConfig& config, p2p::Core& core, PacketTap* tap, rel::PeerLiveness& peers,
           std::vector<NodeEvent>& events) noexcept;
  LaneSide(const LaneSide&) = delete;
  LaneSide& operator=(const LaneSide&) = delete;
  // Until then all goes to single members.
  void use_groups(GroupMembership& groups) noexcept;

  // See p2p/lane_registry.hpp.
  rel::LaneId open(std::uint64_t name, std::span<const PeerId> members) noexcept {
    return registry_.open(name, members);
  }
  void close(rel::LaneId lane) noexcept;
  rel::LaneId open_sub_lane(rel::LaneId whole, std::span<const PeerId> members) noexcept {
    return registry_.open_sub_lane(whole, members);
  }
  void close_sub_lane(rel::LaneId lane) noexcept { registry_.close_sub_lane(lane); }
  const group::Address& group_of(rel::LaneId lane) const noexcept { return registry_.group_of(lane); }

  // Moves casts from Core into the lane's window.
  bool pump(rel::LaneId lane) noexcept;
  void start(Instant now, p2p::FusedOp& op) noexcept { fused_.start(now, op); }
  // Fused exchanges that may have ended, because something arrived since the last call. True if one has.
  bool complete_fused() noexcept;

  bool on_datagram(Instant now, bool by_group, std::span<const std::byte> datagram,
                   rel::LinkId link = UINT8_MAX) noexcept;
  std::uint32_t on_group_datagrams(Instant now, std::span<const std::span<const std::byte>> came) noexcept;
  // A datagram that is not ours came to this group.
  void on_foreign(Instant now, const group::Address& group) noexcept {
    touched_ = true;
    registry_.on_foreign(now, group);
  }
  void on_answer(Instant now, PeerId peer) noexcept {
    touched_ = true;
    lanes_.on_answer(now, peer);
  }
  void on_resume(Instant now, Duration away) noexcept { lanes_.on_resume(now, away); }
  bool end_turn(Instant now) noexcept;  // invitations, timers, windows that opened
  void set_gate(p2p::Carrier::Door gate) noexcept { carrier_.set_open(gate); }
  void redeliver() noexcept {
    if (carrier_.holds()) carrier_.redeliver();
  }
  void forget(PeerId peer) noexcept;

  std::size_t poll_transmit(Instant now, rel::TxBatch& out) noexcept {
    return lanes_.wants_to_send() ? lanes_.poll_transmit(now, out) : 0;
  }
  bool is_idle() const noexcept { return !touched_ && !carrier_.holds() && !(arrived_ && fused_.waits()); }
  std::optional<Instant> next_deadline() const noexcept;

  // News of members for reports().
  bool has_news() const noexcept { return carrier_.has_news(); }
  Reports& reports() noexcept { return reports_; }
  const Reports& reports() const noexcept { return reports_; }

  const rel::Lanes& lanes() const noexcept { return lanes_; }
  const p2p::LaneRegistry& registry() const noexcept { return registry_; }

 private:
  Prng prng_;
  p2p::LaneCarrier carrier_;
  rel::Lanes lanes_;
  p2p::LaneRegistry registry_;
  p2p::FusedOps fused_;
  group::Pool pool_;
  GroupBridge groups_;
  Reports reports_;
  bool touched_ = true;   // something happened since the last end_turn()
  bool arrived_ = false;  // something came since complete_fused()
};

}  // namespace herald::node
