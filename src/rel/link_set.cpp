// SPDX-License-Identifier: BSD-3-Clause
#include "rel/link_set.hpp"

#include <algorithm>

#include "rel/mesh_context.hpp"

namespace herald::rel {
namespace {

constexpr std::uint32_t kStripeAt = 8;  // packets in flight by the best link before others are used too
constexpr float kGuessNs = 12'000;      // for a packet, before any measurement
constexpr float kComparable = 8;        // a link this many times slower than the best is not used
constexpr std::uint32_t kComparableRttNs = 1'000'000;

constexpr std::uint8_t kDoublings = 3;  // of the timeout: half of all packets lost still makes progress
constexpr std::uint8_t kPatientTimeouts = 16;  // in a row; the peer computes or is stopped: back off further
constexpr float kDrainOver = 1.25F;
// Before any measurement a burst may queue behind those of others for as long as all granted credit takes on
// a line of 100 Mbit/s. A retransmission would make the port of the switch overflow.
constexpr std::int64_t kSlowByteNs = 80;
constexpr std::uint32_t kFew = 2;          // packets that are no burst
constexpr std::int64_t kLongestPart = 16;  // of the pace of the failure detector: the longest timeout
constexpr Duration kLeastSilence = milliseconds(50), kMostSilence = milliseconds(300);
constexpr Duration kProbeWhile = milliseconds(10'000);  // after the last use of the peer

// Lower is better.
int rank_of(const Link& link) noexcept {
  switch (link.state) {
    case LinkState::live: return 0;
    case LinkState::unproven: return link.timeouts == 0 ? 1 : 2;
    case LinkState::suspect: return 3;
    case LinkState::dead: return 4;
  }
  return 5;
}

std::uint8_t best_of(std::span<const Link> links) noexcept {
  std::size_t best = 0;
  for (std::size_t i = 1; i < links.size(); ++i) {
    const int a = rank_of(links[i]), b = rank_of(links[best]);
    // Links that do not answer take turns.
    if (a < b || (a == b && a >= 2 && links[i].timeouts < links[best].timeouts)) best = i;
  }
  return static_cast<std::uint8_t>(best);
}

// Expected delivery time of a packet given to the link now.
float cost(const Link& link, float guess_ns) noexcept {
  const float packet_ns = link.packet_ns > 0 ? link.packet_ns : guess_ns;
  return static_cast<float>(link.in_flight + 1) * packet_ns + static_cast<float>(link.rtt.least_ns) / 2;
}

// At the rate of the last acks, all packets in flight should have arrived in this time. After a long queue
// has drained, that is far less than the round trip measured while it was long.
Duration drain_time(const MeshConfig& config, const Link& link) noexcept {
  if (link.packet_ns <= 0) return {INT64_MAX};
  const float queue_ns = static_cast<float>(link.in_flight) * link.packet_ns * kDrainOver;
  const std::int64_t ack_delay = std::max(config.first_rtt.ns, config.least_timeout.ns);
  return {static_cast<std::int64_t>(queue_ns) + link.rtt.least_ns + link.rtt.varies_ns + ack_delay};
}

}  // namespace

std::uint8_t choose_link(std::span<const Link> links) noexcept {
  if (links.size() == 1) return 0;
  std::uint8_t best = best_of(links);
  if (links[best].state != LinkState::live || links[best].in_flight < kStripeAt) return best;
  const Link& first = links[best];
  const float guess = first.packet_ns > 0 ? first.packet_ns : kGuessNs;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    if (link.state != LinkState::live || link.packet_ns > kComparable * guess) continue;
    if (link.rtt.least_ns > 4 * first.rtt.least_ns + kComparableRttNs) continue;
    if (cost(link, guess) < cost(links[best], guess)) best = static_cast<std::uint8_t>(i);
  }
  return best;
}

std::uint8_t LinkSet::best(std::uint8_t preferred) const noexcept {
  return links_[preferred].state == LinkState::live ? preferred : best_of(all());
}

bool LinkSet::start(const MeshConfig& config, Instant now, std::uint16_t segment) noexcept {
  links_ = std::make_unique<Link[]>(size_);
  last_used_ = now;
  segment_ = segment;
  for (Link& link : all()) link.segment.bytes = segment_;
  if (size_ == 1) return false;
  for (Link& link : all()) {
    link.probe_due = true;
    link.probes = 1;
    link.probe_at = now + timeout(config, link);
    link.silent_since = now;
  }
  return true;
}

bool LinkSet::has_alternative(std::uint8_t link) const noexcept {
  for (std::uint8_t i = 0; i < size_; ++i)
    if (i != link && links_[i].usable() &&
        (links_[i].timeouts == 0 || links_[i].timeouts < links_[link].timeouts))
      return true;
  return false;
}

const Rtt& LinkSet::rtt() const noexcept {
  for (const Link& link : all())
    if (link.state == LinkState::live && link.rtt.known()) return link.rtt;
  for (const Link& link : all())
    if (link.rtt.known()) return link.rtt;
  return links_[0].rtt;
}

float LinkSet::packet_ns() const noexcept {
  float packets_per_ns = 0;
  for (const Link& link : all())
    if (link.state == LinkState::live && link.packet_ns > 0) packets_per_ns += 1 / link.packet_ns;
  return packets_per_ns > 0 ? 1 / packets_per_ns : 0;
}

Duration LinkSet::timeout(const MeshConfig& config, const Link& link) noexcept {
  std::int64_t base = link.rtt.timeout(config.first_rtt, config.least_timeout).ns;
  if (!link.rtt.known() && link.in_flight > kFew) base = std::max(base, kSlowByteNs * config.budget_bytes);
  if (link.timeouts < kDoublings) base = std::min(base, drain_time(config, link).ns);
  std::int64_t ns = base << std::min(link.timeouts, kDoublings);
  if (link.timeouts > kPatientTimeouts) ns <<= std::min((link.timeouts - kPatientTimeouts) / 2, 10);
  // A round trip that an outage made long must not make timeouts as long as the next outage.
  const std::int64_t pace = config.pace().ns;
  ns = std::min({ns, std::max(base, longest_backoff({pace}).ns), pace / kLongestPart});
  return {ns + ns * link.jitter / 1024};
}

Instant LinkSet::deadline(const MeshConfig& config) const noexcept {
  Instant at = kNever;
  for (const Link& link : all()) {
    if (link.in_flight > 0) at = std::min(at, link.since + timeout(config, link));
    at = std::min(at, link.probe_at);
    at = std::min(at, link.segment.deadline());
  }
  return at;
}

void LinkSet::on_packet(MeshContext& mesh, std::int32_t peer, Instant now, std::uint8_t link) noexcept {
  last_used_ = now;
  if (link >= size_) return;
  Link& by = links_[link];
  switch (by.state) {
    case LinkState::live: return;
    case LinkState::unproven: prove(mesh, peer, link); return;
    case LinkState::suspect:
    case LinkState::dead:
      // The link works in one direction; a probe tells whether it works in the other.
      if ((now - by.probed_at).ns > timeout(mesh.config, by).ns) by.probe_at = std::min(by.probe_at, now);
      return;
  }
}

void LinkSet::on_sent(Instant now) noexcept {
  if (size_ != 1 && (now - last_used_).ns > kProbeWhile.ns)
    for (Link& link : all())
      if (link.state != LinkState::live) link.probe_at = now;
  last_used_ = now;
}

void LinkSet::on_acked(MeshContext& mesh, std::int32_t peer, std::uint8_t link) noexcept {
  if (links_[link].state != LinkState::live) prove(mesh, peer, link);
}

void LinkSet::prove(MeshContext& mesh, std::int32_t peer, std::uint8_t link) noexcept {
  Link& by = links_[link];
  const LinkState was = by.state;
  by.state = LinkState::live;
  by.timeouts = 0;
  by.probes = 0;
  by.probe_at = kNever;
  if (was == LinkState::dead) ++mesh.counters.links_found;
  if (was == LinkState::dead || was == LinkState::unproven) mesh.listener.link_changed(peer, link, true);
}

void LinkSet::restart_backoff(Instant now) noexcept {
  for (Link& link : all()) {
    if (link.timeouts <= kDoublings || link.in_flight == 0) continue;
    link.timeouts = 1;
    link.since = now;
  }
}

void LinkSet::suspect(Instant now, std::uint8_t link) noexcept {
  Link& by = links_[link];
  if (by.state == LinkState::live) {
    by.state = LinkState::suspect;
    by.silent_since = now;
  }
  if (by.state != LinkState::dead) by.probe_at = now;
}

bool LinkSet::on_probe(std::uint8_t link, const wire::ProbeBody& probe) noexcept {
  if (link >= size_ && size_ != 1) return false;  // no way to answer by the same link
  Link& by = links_[size_ == 1 ? 0 : link];
  if (distance(by.reply_number, probe.number) <= 0) return false;
  by.reply_link = static_cast<std::uint8_t>(probe.link);
  by.reply_number = probe.number;
  by.reply_due = true;
  return true;
}

bool LinkSet::on_probe_reply(MeshContext& mesh, std::int32_t peer, Instant now,
                             const wire::ProbeBody& probe) noexcept {
  const std::uint32_t link = probe.link;
  if (link >= size_) return false;
  Link& by = links_[link];
  if (distance(by.answered_number, probe.number) <= 0 || distance(probe.number, by.probe_number) < 0)
    return false;
  by.answered_number = probe.number;
  if (by.segment.search != nullptr && by.segment.search->on_reply(now, probe.number)) return true;
  // The reply of a peer that computes comes late: a live link is measured by data only.
  const bool measures = size_ > 1 && by.state != LinkState::live && probe.number == by.probe_number;
  if (measures) by.on_round_trip(now - by.probed_at);
  if (size_ > 1 || by.state != LinkState::live) prove(mesh, peer, static_cast<std::uint8_t>(link));
  return true;
}

bool LinkSet::on_probe_time(MeshContext& mesh, std::int32_t peer, Instant now, std::uint8_t link) noexcept {
  Link& by = links_[link];
  if ((now - last_used_).ns > kProbeWhile.ns) {
    by.probe_at = kNever;
    return false;
  }
  const Duration base = by.rtt.timeout(mesh.config.first_rtt, mesh.config.least_timeout);
  const Duration silence{std::clamp(8 * base.ns, kLeastSilence.ns, kMostSilence.ns)};
  if (by.state != LinkState::dead && now - by.silent_since > silence && has_alternative(link)) {
    if (by.state == LinkState::suspect) ++mesh.counters.links_lost;
    by.state = LinkState::dead;
    mesh.listener.link_changed(peer, link, false);
  }
  by.probe_due = true;
  by.probe_at =
      now + Duration{std::min(base.ns << std::min<int>(by.probes, 12), mesh.config.pace().ns / kLongestPart)};
  if (by.probes < 255) ++by.probes;
  return true;
}

void LinkSet::on_clock_gap(Instant now, Duration late) noexcept {
  for (Link& link : all()) {
    if (link.since != kNever) link.since = std::min(link.since + late, now);
    if (link.silent_since != kNever) link.silent_since = std::min(link.silent_since + late, now);
  }
}

}  // namespace herald::rel
