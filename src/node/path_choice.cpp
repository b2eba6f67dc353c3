// SPDX-License-Identifier: BSD-3-Clause
#include "node/path_choice.hpp"

#include <algorithm>

namespace herald::node {

bool PathChoice::is_connected(PeerId peer) const noexcept {
  const auto at = peers_.find(peer);
  return at != peers_.end() && at->second.connected;
}

bool PathChoice::is_blocked(PeerId peer) const noexcept {
  const auto at = peers_.find(peer);
  return at != peers_.end() && at->second.connected && at->second.misses >= kBlockedReports;
}

void PathChoice::set_path(PeerId id, bool tcp) {
  const auto at = static_cast<std::size_t>(id);
  if (by_tcp_.size() <= at) by_tcp_.resize(at + 1);
  if (by_tcp_[at] == tcp) return;
  by_tcp_[at] = tcp;
  changes_.push_back({id, tcp});
}

void PathChoice::use_tcp(Instant now, PeerId id, Peer& peer) {
  if (uses_tcp(id)) return;
  // UDP that fails again soon after it was found to work must work for longer the next time.
  if (std::exchange(peer.returned, false)) peer.needed = std::min(2 * peer.needed, kMostRow);
  peer.row = 0;
  peer.probe_at = now;
  peer.report_due = true;
  set_path(id, true);
}

void PathChoice::use_udp(Instant now, PeerId id, Peer& peer) {
  peer.returned = true;
  peer.udp_since = now;
  peer.report_due = true;
  set_path(id, false);
}

void PathChoice::back_off(Instant now, Peer& peer) noexcept {
  const std::int64_t ns = kFirstBackoff.ns << std::min<int>(peer.failures, 8);
  peer.connect_at = now + std::min(Duration{ns}, kMostBackoff);
  if (peer.failures < 255) ++peer.failures;
}

void PathChoice::on_silent(Instant now, PeerId id) {
  Peer& peer = peers_[id];
  if (peer.connected)
    use_tcp(now, id, peer);
  else if (!peer.connecting && peer.connect_at <= now)
    peer.wanted = true;
}

void PathChoice::on_connected(Instant now, PeerId id) {
  Peer& peer = peers_[id];
  peer.connected = true;
  peer.connecting = peer.wanted = peer.peer_by_tcp = false;
  peer.failures = 0;
  peer.reports = peer.peer_reports = peer.probes = peer.arrived = peer.heard = peer.probes_before =
      peer.misses = 0;
  peer.heard_at = peer.udp_since = now;
  use_tcp(now, id, peer);
  peer.row = 0;
  peer.probe_at = now;
  peer.report_due = true;
}

void PathChoice::on_disconnected(Instant now, PeerId id) {
  const auto at = peers_.find(id);
  if (at == peers_.end() || !std::exchange(at->second.connected, false)) return;
  Peer& peer = at->second;
  // A connection that was in use is opened again at once; after a failure, with back-off.
  peer.wanted = uses_tcp(id);
  back_off(now, peer);
  set_path(id, false);
}

void PathChoice::on_connect_failed(Instant now, PeerId id) {
  const auto at = peers_.find(id);
  if (at == peers_.end()) return;
  at->second.connecting = false;
  if (!at->second.connected) back_off(now, at->second);
}

void PathChoice::on_datagram(Instant now, PeerId id) {
  const auto at = peers_.find(id);
  if (at == peers_.end() || !at->second.connected) return;
  at->second.heard_at = now;
}

void PathChoice::on_report(Instant now, PeerId id, std::uint32_t number, std::uint32_t heard, bool by_tcp) {
  const auto at = peers_.find(id);
  if (at == peers_.end() || !at->second.connected || number <= at->second.peer_reports) return;
  Peer& peer = at->second;
  peer.heard_at = now;
  peer.peer_reports = number;
  if (heard <= peer.probes) peer.arrived = std::max(peer.arrived, heard);
  peer.misses = peer.arrived < peer.probes_before ? peer.misses + 1 : 0;
  peer.probes_before = peer.probes;
  // A peer that went to TCP has no answer by UDP: our direction may be the one that is blocked.
  if (by_tcp && !peer.peer_by_tcp) use_tcp(now, id, peer);
  if (!by_tcp && peer.peer_by_tcp) peer.udp_since = now;
  peer.peer_by_tcp = by_tcp;
}

void PathChoice::on_probe(Instant /*now*/, PeerId id, std::uint32_t number) {
  const auto at = peers_.find(id);
  if (at == peers_.end() || !at->second.connected || number <= at->second.heard) return;
  at->second.heard = number;
  at->second.report_due = true;
}

bool PathChoice::poll_connected(Instant now, PeerId id, Peer& peer, Action& action) {
  using Kind = Action::Kind;
  const bool tcp = uses_tcp(id);
  const bool unused = !tcp && !peer.peer_by_tcp && now - peer.udp_since >= kUnused;
  if (unused || now - peer.heard_at >= kSilentConnection) {
    action = {Kind::close, id};
    return true;
  }
  if (tcp && !tcp_only_ && peer.probe_at <= now) {
    peer.row = peer.probes != 0 && peer.arrived == peer.probes ? peer.row + 1 : 0;
    if (peer.row >= peer.needed) {
      use_udp(now, id, peer);
    } else {
      peer.probe_at = now + kProbeEvery;
      action = {Kind::probe, id, ++peer.probes};
      return true;
    }
  }
  if (!peer.report_due && now < peer.report_at) return false;
  peer.report_due = false;
  peer.report_at = now + kReportEvery;
  action = {Kind::report, id, ++peer.reports, peer.heard, uses_tcp(id)};
  return true;
}

PathChoice::Action PathChoice::poll(Instant now) {
  Action action;
  for (auto at = peers_.begin(); at != peers_.end();) {
    auto& [id, peer] = *at;
    if (peer.connected) {
      if (poll_connected(now, id, peer, action)) return action;
    } else if (peer.wanted && !peer.connecting) {
      peer.wanted = false;
      peer.connecting = true;
      return {Action::Kind::connect, id};
    } else if (!peer.connecting && now - peer.connect_at >= kUnused) {
      at = peers_.erase(at);
      continue;
    }
    ++at;
  }
  return action;
}

Instant PathChoice::deadline_of(PeerId id, const Peer& peer) const noexcept {
  if (!peer.connected) return peer.wanted && !peer.connecting ? Instant{} : rel::kNever;
  if (peer.report_due) return {};
  const bool probes = uses_tcp(id) && !tcp_only_;
  return std::min({peer.report_at, peer.heard_at + kSilentConnection, probes ? peer.probe_at : rel::kNever});
}

Instant PathChoice::next_deadline() const noexcept {
  Instant at = rel::kNever;
  for (const auto& [id, peer] : peers_) at = std::min(at, deadline_of(id, peer));
  return at;
}

}  // namespace herald::node
