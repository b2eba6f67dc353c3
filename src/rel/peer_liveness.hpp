// SPDX-License-Identifier: BSD-3-Clause
// rel/peer_liveness.hpp: what transports other than the connections of a mesh tell and ask about a peer:
// lanes, and the idle probe. So that each peer has one failure detector and one choice of links.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "rel/peer_table.hpp"
#include "rel/timers.hpp"

namespace herald::rel {

class PeerLiveness {
 public:
  PeerLiveness(MeshContext& mesh, PeerTable& peers, Sender& sender, Timers& timers) noexcept
      : mesh_(mesh), peers_(peers), sender_(sender), timers_(timers) {}

  // Something new came from the peer, with a valid tag. A replay is not new.
  void on_news(Instant now, PeerId peer) noexcept {
    Connection* const ch = peers_.obtain(peer);
    if (ch != nullptr && !ch->gone) on_news(now, *ch);
  }
  void on_news(Instant now, Connection& ch) noexcept;
  // A question to the peer had no answer in its time: the peer is probed unless it sends news, and another
  // link is tried.
  void on_unanswered(Instant now, PeerId peer) noexcept;
  // The peer's host refused a TCP connection, and `port_closed`: a datagram.
  void on_refused(Instant now, PeerId peer, bool port_closed) noexcept;
  // Of a peer that was lost: for this reason, not for its silence.
  bool was_refused(PeerId peer) const noexcept {
    const Connection* const ch = peers_.find(peer);
    return ch != nullptr && ch->detector.is_refused();
  }
  // Sends a numbered probe to a peer without recent news: if it does not answer within give_up it is lost,
  // also if nothing was sent to it. Cheap enough for 64 peers at a time.
  void probe(Instant now, PeerId peer) noexcept;
  // A datagram of a lane came from the peer by this link.
  void on_lane_datagram(PeerId peer, LinkId link) noexcept {
    Connection* const ch = peers_.find(peer);
    if (ch != nullptr && link < ch->links.size()) ch->lane_link = link;
  }
  // The link for a datagram of a lane: the one that the peer uses, as long as it works. `wants_answer`:
  // on_unanswered() holds it against this link.
  LinkId link_to(Instant now, PeerId peer, bool wants_answer) noexcept;
  // The largest datagram for the peer by this link; for all peers by all links.
  std::uint16_t segment_to(PeerId peer, LinkId link) const noexcept {
    const Connection* const ch = peers_.find(peer);
    const bool known = ch != nullptr && link < ch->links.all().size();
    return known ? ch->links[link].segment.bytes : static_cast<std::uint16_t>(mesh_.config.datagram_bytes);
  }
  const wire::Seal& seal_to(PeerId peer) const noexcept {
    const Connection* const ch = peers_.find(peer);
    return ch != nullptr ? *ch->seal : mesh_.config.seal;
  }
  std::uint16_t least_segment() const noexcept { return mesh_.least_segment; }
  // A datagram of this size was sent to the peer several times, and it still asks for it.
  void suspect_segment(Instant now, PeerId peer, std::size_t bytes) noexcept;
  // Null: no peer. Its deadlines are read again at the next call of Mesh::next_deadline() or on_deadline().
  FailureDetector* detector(Instant now, PeerId peer) noexcept;
  // Peers that owed an answer and have sent news: repair for which timers backed off resumes.
  std::vector<PeerId> take_answered() noexcept { return std::exchange(answered_, {}); }
  bool has_answered() const noexcept { return !answered_.empty(); }
  // Peers that have owed an answer for try_after: another path may reach them. Named again while it lasts.
  void note_silent(PeerId peer) {
    if (std::find(silent_.begin(), silent_.end(), peer) == silent_.end()) silent_.push_back(peer);
  }
  std::vector<PeerId> take_silent() noexcept { return std::exchange(silent_, {}); }
  bool has_silent() const noexcept { return !silent_.empty(); }

 private:
  Connection* obtain(Instant now, PeerId peer) noexcept;

  MeshContext& mesh_;
  PeerTable& peers_;
  Sender& sender_;
  Timers& timers_;
  std::vector<PeerId> answered_, silent_;
};

}  // namespace herald::rel
