// SPDX-License-Identifier: BSD-3-Clause
// rel/links.cpp: which links to a peer live. A peer with one link is never probed: there is no choice.
#include <algorithm>
#include <cstring>

#include "rel/inner.hpp"

namespace herald::rel {
namespace {

constexpr std::uint8_t kDoublings = 3;         // of the timeout, so that half the packets lost still flows
constexpr std::uint8_t kPatientTimeouts = 16;  // in a row; then the peer computes, or is away: ask less often
constexpr float kDrainOver = 1.25F;
// Nothing is measured yet: a burst may wait behind those of others for as long as all that is granted takes
// on a line of 100 Mbit/s. To send it again would make the port of the switch overflow.
constexpr std::int64_t kSlowByteNs = 80;
constexpr std::uint32_t kFew = 2;  // packets that are no burst
constexpr Duration kLongestAsk = milliseconds(100);
constexpr Duration kLongestProbe = milliseconds(1000);
constexpr Duration kLeastSilence = milliseconds(50), kMostSilence = milliseconds(300);
constexpr Duration kProbeWhile = milliseconds(10'000);  // after the last use of the peer

}  // namespace

const Rtt& Mesh::Inner::rtt_of(const Connection& ch) const noexcept {
  const std::span<const Link> links = ch.all_links();
  for (const Link& link : links)
    if (link.state == LinkState::live && link.rtt.known()) return link.rtt;
  for (const Link& link : links)
    if (link.rtt.known()) return link.rtt;
  return links[0].rtt;
}

Duration Mesh::Inner::timeout_of(const Link& link) const noexcept {
  std::int64_t base = link.rtt.timeout(config.first_rtt, config.least_timeout).ns;
  if (!link.rtt.known() && link.in_flight > kFew) base = std::max(base, kSlowByteNs * config.budget_bytes);
  if (link.timeouts < kDoublings) base = std::min(base, drain_time(link).ns);
  std::int64_t ns = base << std::min(link.timeouts, kDoublings);
  if (link.timeouts > kPatientTimeouts) ns <<= std::min((link.timeouts - kPatientTimeouts) / 2, 10);
  ns = std::min(ns, std::max(base, kLongestAsk.ns));
  return {ns + ns * link.jitter / 1024};
}

// At the rate of the last acks, all that is on its way should have come in this time. When the queue was long
// and is no more, that is far less than the round trip that it made.
Duration Mesh::Inner::drain_time(const Link& link) const noexcept {
  if (link.packet_ns <= 0) return {INT64_MAX};
  const float queue_ns = static_cast<float>(link.in_flight) * link.packet_ns * kDrainOver;
  const std::int64_t ack_delay = std::max(config.first_rtt.ns, config.least_timeout.ns);
  return {static_cast<std::int64_t>(queue_ns) + link.rtt.least_ns + link.rtt.varies_ns + ack_delay};
}

void Mesh::Inner::heard(Connection& ch, Instant now, LinkId link) noexcept {
  ch.last_heard = now;
  ch.last_used = now;
  ch.asked_since = kNever;
  ch.watch_at = kNever;
  if (link >= ch.links) return;
  Link& by = ch.link[link];
  switch (by.state) {
    case LinkState::live: return;
    case LinkState::unproven: prove(ch, link); return;
    case LinkState::suspect:
    case LinkState::dead:
      // It brings packets; does it take ours?
      if ((now - by.probed_at).ns > timeout_of(by).ns) by.probe_at = std::min(by.probe_at, now);
      return;
  }
}

void Mesh::Inner::prove(Connection& ch, LinkId link) noexcept {
  Link& by = ch.link[link];
  const LinkState was = by.state;
  by.state = LinkState::live;
  by.timeouts = 0;
  by.probes = 0;
  by.probe_at = kNever;
  if (was == LinkState::dead) ++counters.links_found;
  if (was == LinkState::dead || was == LinkState::unproven) listener.link_changed(ch.peer, link, true);
}

// One that is better than this one: a link that failed once long ago, and carried nothing since, is no reason
// to stay with one that fails all the time.
bool Mesh::Inner::has_other(const Connection& ch, LinkId link) const noexcept {
  for (LinkId i = 0; i < ch.links; ++i)
    if (i != link && ch.link[i].usable() &&
        (ch.link[i].timeouts == 0 || ch.link[i].timeouts < ch.link[link].timeouts))
      return true;
  return false;
}

void Mesh::Inner::suspect(Connection& ch, Instant now, LinkId link) noexcept {
  Link& by = ch.link[link];
  if (by.state == LinkState::live) {
    by.state = LinkState::suspect;
    by.silent_since = now;
  }
  if (by.state != LinkState::dead) by.probe_at = now;
  lose_link(ch, now, link);
}

// Questions have no timeouts of their own, as data has: maybe it is the link by which they left.
void Mesh::Inner::ask_elsewhere(Connection& ch, Instant now) noexcept {
  if (ch.links == 1) return;
  const LinkId link = choose_link(ch.all_links());
  Link& by = ch.link[link];
  if (by.timeouts < 255) ++by.timeouts;
  if (has_other(ch, link)) suspect(ch, now, link);
}

void Mesh::Inner::on_probe(Connection& ch, LinkId link, const wire::DatagramView& view) noexcept {
  if (link >= ch.links) return;  // no way to answer by the same link
  wire::ProbeBody body;
  std::memcpy(&body, view.body.data(), sizeof body);
  ch.link[link].reply_link = static_cast<std::uint8_t>(body.link);
  ch.link[link].reply_number = body.number;
  ch.link[link].reply_due = true;
  wake(ch);
}

void Mesh::Inner::on_probe_reply(Connection& ch, Instant now, const wire::DatagramView& view) noexcept {
  wire::ProbeBody body;
  std::memcpy(&body, view.body.data(), sizeof body);
  if (body.link >= ch.links) return;
  Link& by = ch.link[body.link];
  if (body.number != by.probe_number) return;  // an old one
  by.on_round_trip(now - by.probed_at);
  prove(ch, static_cast<LinkId>(static_cast<std::uint32_t>(body.link)));
}

void Mesh::Inner::on_probe_time(Connection& ch, Instant now, LinkId link) noexcept {
  Link& by = ch.link[link];
  if ((now - ch.last_used).ns > kProbeWhile.ns) {
    by.probe_at = kNever;
    return;
  }
  const Duration base = by.rtt.timeout(config.first_rtt, config.least_timeout);
  const Duration silence{std::clamp(8 * base.ns, kLeastSilence.ns, kMostSilence.ns)};
  if (by.state != LinkState::dead && now - by.silent_since > silence && has_other(ch, link)) {
    if (by.state == LinkState::suspect) ++counters.links_lost;
    by.state = LinkState::dead;
    lose_link(ch, now, link);
    listener.link_changed(ch.peer, link, false);
  }
  by.probe_due = true;
  by.probe_at = now + Duration{std::min(base.ns << std::min<int>(by.probes, 12), kLongestProbe.ns)};
  if (by.probes < 255) ++by.probes;
  wake(ch);
}

// The peer is used again after a while.
void Mesh::Inner::probe_doubtful(Connection& ch, Instant now) noexcept {
  if (ch.links == 1 || (now - ch.last_used).ns <= kProbeWhile.ns) return;
  for (Link& link : ch.all_links())
    if (link.state != LinkState::live) link.probe_at = now;
}

}  // namespace herald::rel
