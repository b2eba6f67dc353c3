// SPDX-License-Identifier: BSD-3-Clause
#include "node/node.hpp"

#include <algorithm>
#include <array>

namespace herald::node {
namespace {

using Gate = p2p::Carrier::Door;

constexpr int kTurnsPerDeadline = 8;  // while arrivals keep the node busy

// Datagrams of lanes that came in parts.
void deliver_joined(rel::Mesh& mesh, LaneSide& lanes, Instant now) noexcept {
  for (const rel::Mesh::Joined& whole : mesh.take_joined())
    (void)lanes.on_datagram(now, false, whole.datagram, whole.link);
}

bool take(rel::Mesh& mesh, LaneSide& lanes, Instant now, std::span<const rel::Mesh::Rx> arrivals) noexcept {
  if (arrivals.size() == 1 && !wire::is_lane_datagram(arrivals[0].datagram)) {
    const bool good = mesh.on_datagram(now, arrivals[0].link, arrivals[0].datagram) >= 0;
    if (wire::is_fragment(arrivals[0].datagram)) [[unlikely]]
      deliver_joined(mesh, lanes, now);
    return good;
  }
  bool parts = false;
  bool good = false;
  std::size_t first = 0;
  const auto flush = [&](std::size_t end) {
    while (first < end) {
      const std::size_t count = std::min(end - first, rel::Mesh::kMostAtOnce);
      good = mesh.on_datagrams(now, arrivals.subspan(first, count)) || good;
      first += count;
    }
  };
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    if (!wire::is_lane_datagram(arrivals[i].datagram)) {
      parts = parts || wire::is_fragment(arrivals[i].datagram);
      continue;
    }
    flush(i);
    good = lanes.on_datagram(now, false, arrivals[i].datagram, arrivals[i].link) || good;
    first = i + 1;
  }
  flush(arrivals.size());
  if (parts) [[unlikely]]
    deliver_joined(mesh, lanes, now);
  return good;
}

}  // namespace

Node::Remote::Remote(const NodeConfig& node, p2p::Core& core, PacketTap* tap,
                     std::vector<NodeEvent>& events) noexcept
    : prng(node.mesh_seed),
      carrier(core),
      mesh(node.mesh, prng, tap != nullptr ? tap->unicast(carrier) : carrier),
      lanes(node, core, tap, mesh.liveness(), events) {
  carrier.join(mesh);
  if (node.security.level != wire::Security::tag) envelope.emplace(node.security, node.mesh);
}

void Node::connect(const NodeConfig& config, PacketTap* tap) noexcept {
  remote_ = std::make_unique<Remote>(config, core_, tap, events_);
  idle_probe_.start(config.mesh.pace());
}

void Node::add_peer(PeerId peer, rel::LinkId links, const rel::PairIdentity* pair,
                    const wire::SecretKey& secret) noexcept {
  remote_->mesh.add_peer(peer, links, pair != nullptr ? std::optional(*pair) : std::nullopt);
  if (pair != nullptr && remote_->envelope) remote_->envelope->add_foreign(peer, *pair, secret);
  core_.set_remote(peer);
  idle_probe_.add_peer(peer);
}

void Node::set_gate(Gate gate) noexcept {
  remote_->carrier.set_open(gate);
  remote_->lanes.set_gate(gate);
}

// Peers are not judged by a silence in which this process could not receive.
void Node::on_clock_gap(Instant now) noexcept { remote_->mesh.on_clock_gap(now); }

bool Node::pump(Instant now, PeerId peer) noexcept {
  if (clock_.notice_gap(now)) [[unlikely]]
    on_clock_gap(now);
  core_.bulk().receives.set_time(now);
  return remote_->carrier.pump(peer);
}

bool Node::pump_lane(Instant now, rel::LaneId lane) noexcept {
  if (clock_.notice_gap(now)) [[unlikely]]
    on_clock_gap(now);
  return remote_->lanes.pump(lane);
}

void Node::start(Instant now, p2p::FusedOp& op) noexcept {
  if (clock_.notice_gap(now)) [[unlikely]]
    on_clock_gap(now);
  remote_->lanes.start(now, op);
}

void Node::begin_turn(Instant now, Caller caller) noexcept {
  const Gate gate = remote_->carrier.door();
  if (caller == Caller::keep_alive) {
    clock_.on_keep_alive(now);
    on_clock_gap(now);
    if (gate == Gate::open) set_gate(Gate::later);
    return;
  }
  if (clock_.notice_gap(now)) [[unlikely]]
    on_clock_gap(now);
  away_ = clock_.begin_turn(now);
  core_.bulk().receives.set_time(now);
  if (gate == Gate::later) {
    set_gate(Gate::open);
    remote_->mesh.redeliver();
  }
  remote_->lanes.redeliver();
}

bool Node::on_datagrams(Instant now, std::span<const rel::Mesh::Rx> arrivals) noexcept {
  if (!remote_->envelope) return take(remote_->mesh, remote_->lanes, now, arrivals);
  bool good = false;
  while (!arrivals.empty()) {
    const auto row = arrivals.first(std::min(arrivals.size(), rel::Mesh::kMostAtOnce));
    std::array<rel::Mesh::Rx, rel::Mesh::kMostAtOnce> opened;
    std::size_t count = 0;
    for (const rel::Mesh::Rx& one : row) {
      const auto datagram = remote_->envelope->open(false, count, one.datagram);
      if (!datagram.empty()) opened[count++] = {one.link, datagram};
    }
    if (count != 0) good = take(remote_->mesh, remote_->lanes, now, {opened.data(), count}) || good;
    arrivals = arrivals.subspan(row.size());
  }
  return good;
}

std::uint32_t Node::on_group_datagrams(Instant now,
                                       std::span<const std::span<const std::byte>> came) noexcept {
  static_assert(rel::Lanes::kMostTogether <= rel::Mesh::kMostAtOnce);  // slots of the envelope
  if (!remote_->envelope) return remote_->lanes.on_group_datagrams(now, came);
  std::array<std::span<const std::byte>, rel::Lanes::kMostTogether> opened;
  std::array<std::size_t, rel::Lanes::kMostTogether> place{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < came.size(); ++i) {
    opened[count] = remote_->envelope->open(true, count, came[i]);
    if (!opened[count].empty()) place[count++] = i;
  }
  const std::uint32_t good = remote_->lanes.on_group_datagrams(now, {opened.data(), count});
  std::uint32_t result = 0;
  for (std::size_t k = 0; k < count; ++k) result |= (good >> k & 1u) << place[k];
  return result;
}

// While arrivals keep the program busy, timers wait for a later turn, which is soon.
bool Node::end_turn(Instant now, Caller caller, bool received) noexcept {
  Remote& remote = *remote_;
  if (remote.mesh.liveness().has_answered()) [[unlikely]]
    for (const PeerId peer : remote.mesh.liveness().take_answered()) remote.lanes.on_answer(now, peer);
  if (caller == Caller::program) {
    if (remote.lanes.complete_fused()) core_.run_finished();
    if (away_.ns != 0) {
      remote.mesh.on_resume(now, away_);
      remote.lanes.on_resume(now, away_);
    }
    const bool busy = received && ++turns_without_timers_ < kTurnsPerDeadline;
    if (busy && !remote.mesh.has_work() && remote.lanes.is_idle()) return false;
    if (!busy) turns_without_timers_ = 0;
  }
  // The program may compute after a busy turn: then only the keep-alive thread serves its timers.
  if (caller == Caller::keep_alive || turns_without_timers_ == 0) {
    const std::optional<Instant> due = remote.mesh.next_deadline();
    if (due && *due <= now) remote.mesh.on_deadline(now);
  }
  bool moved = caller == Caller::program && remote.carrier.pump_ready();
  moved = remote.lanes.end_turn(now) || moved;
  idle_probe_.on_time(now, core_, remote.mesh);
  return moved;
}

std::size_t Node::poll_transmit(Instant now, rel::TxBatch& out) noexcept {
  out.clear();
  if (remote_->mesh.poll_transmit(now, out) == 0) (void)remote_->lanes.poll_transmit(now, out);
  if (remote_->envelope && out.count != 0) remote_->envelope->seal(out);
  return out.count;
}

std::optional<Instant> Node::next_deadline() const noexcept {
  const std::optional<Instant> one = remote_->mesh.next_deadline();
  const std::optional<Instant> other = remote_->lanes.next_deadline();
  const Instant at =
      std::min({one.value_or(rel::kNever), other.value_or(rel::kNever),
                remote_->lanes.reports().next_deadline(), idle_probe_.next_deadline().value_or(rel::kNever)});
  if (at == rel::kNever) return std::nullopt;
  return at;
}

void Node::on_peer_gone(PeerId peer) noexcept {
  core_.on_peer_gone(peer);
  if (!remote_) return;
  remote_->mesh.forget_peer(peer);
  remote_->lanes.forget(peer);
}

std::vector<NodeEvent> Node::take_events() noexcept {
  for (const p2p::Carrier::LinkNews& news : remote_->carrier.take_links())
    events_.push_back(
        {news.live ? NodeEvent::Kind::link_up : NodeEvent::Kind::link_down, news.peer, news.link});
  for (const p2p::Carrier::Silence& news : remote_->carrier.take_silences())
    events_.push_back({news.ends ? NodeEvent::Kind::peer_answers : NodeEvent::Kind::peer_silent, news.peer,
                       news.heard ? 1u : 0u});
  for (const p2p::Carrier::SegmentNews& news : remote_->carrier.take_segments())
    events_.push_back(
        {news.bytes < news.full ? NodeEvent::Kind::segment_shrunk : NodeEvent::Kind::segment_grown, news.peer,
         news.bytes, news.link, news.full});
  return std::exchange(events_, {});
}

void Node::detach() noexcept {
  set_gate(Gate::discard);
  remote_->mesh.redeliver();
  remote_->lanes.redeliver();
  remote_->mesh.hurry_acks();
}

}  // namespace herald::node
