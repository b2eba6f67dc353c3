// SPDX-License-Identifier: BSD-3-Clause
#include "rel/peer_liveness.hpp"

#include "rel/segment_sizes.hpp"

namespace herald::rel {

Connection* PeerLiveness::obtain(Instant now, PeerId peer) noexcept {
  Connection* const ch = peers_.obtain(peer);
  if (ch == nullptr || ch->gone) return nullptr;
  mesh_.start(*ch, now);
  timers_.rearm_later(*ch, now);
  return ch;
}

void PeerLiveness::on_news(Instant now, Connection& ch) noexcept {
  if (!ch.detector.on_news(now)) return;
  ch.links.restart_backoff(now);
  timers_.rearm_later(ch, now);
  answered_.push_back(ch.peer);
  if (ch.detector.take_recovery()) mesh_.listener.peer_answers(ch.peer);
}

void PeerLiveness::on_unanswered(Instant now, PeerId peer) noexcept {
  Connection* const ch = obtain(now, peer);
  if (ch == nullptr) return;
  if (!ch->detector.is_probing()) {  // unless news comes, a probe leaves in a moment
    ch->detector.on_asked(now);
    ch->detector.on_probe(now);
  }
  sender_.on_unanswered(*ch, now, ch->lane_tx_link);
}

void PeerLiveness::on_refused(Instant now, PeerId peer, bool port_closed) noexcept {
  Connection* const ch = obtain(now, peer);
  if (ch != nullptr) ch->detector.on_refused(port_closed);
}

void PeerLiveness::probe(Instant now, PeerId peer) noexcept {
  const Connection* const known = peers_.find(peer);
  if (known != nullptr &&
      (known->detector.is_probing() || (known->links.is_started() && !known->detector.is_silent(now))))
    return;
  Connection* const ch = obtain(now, peer);
  if (ch == nullptr) return;
  ch->detector.on_asked(now);
  sender_.probe(*ch, now);
}

LinkId PeerLiveness::link_to(Instant now, PeerId peer, bool wants_answer) noexcept {
  const Connection* const known = peers_.find(peer);
  if (known != nullptr && known->links.size() == 1) return 0;
  Connection* const ch = obtain(now, peer);
  if (ch == nullptr || ch->links.size() == 1) return 0;
  ch->links.on_sent(now);
  const LinkId link = ch->links.best(ch->lane_link);
  if (wants_answer) ch->lane_tx_link = link;
  return link;
}

void PeerLiveness::suspect_segment(Instant now, PeerId peer, std::size_t bytes) noexcept {
  Connection* const ch = obtain(now, peer);
  if (ch == nullptr) return;
  const LinkId link = ch->links.size() == 1 ? LinkId{0} : ch->links.best(ch->lane_link);
  if (rel::suspect_segment(ch->links, now, link, bytes)) mesh_.wake(*ch);
}

FailureDetector* PeerLiveness::detector(Instant now, PeerId peer) noexcept {
  Connection* const ch = obtain(now, peer);
  return ch == nullptr ? nullptr : &ch->detector;
}

}  // namespace herald::rel
