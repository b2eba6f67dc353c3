// SPDX-License-Identifier: BSD-3-Clause
#include "rel/segment_sizes.hpp"

#include <algorithm>

namespace herald::rel {

bool suspect_segment(LinkSet& links, Instant now, std::uint8_t link, std::size_t bytes) noexcept {
  LinkSegment& segment = links[link].segment;
  bytes = std::min<std::size_t>(bytes, segment.bytes);
  if (bytes <= kLeastSegment) return false;
  if (segment.search == nullptr) segment.search = std::make_unique<SegmentSearch>(segment.bytes);
  segment.search->suspect(now, bytes);
  return segment.search->is_due();
}

// Packets are written before their link is known, and casts for all peers.
void update_segment(MeshContext& mesh, LinkSet& links) noexcept {
  links.segment_ = static_cast<std::uint16_t>(mesh.config.datagram_bytes);
  for (const Link& link : links.all()) links.segment_ = std::min(links.segment_, link.segment.bytes);
  mesh.segments_changed = true;
  ++mesh.counters.segment_changes;
}

bool on_segment_time(MeshContext& mesh, Connection& ch, Instant now, std::uint8_t link) noexcept {
  LinkSegment& segment = ch.links[link].segment;
  const SegmentSearch::Verdict verdict = segment.search->on_deadline(now);
  if (verdict != SegmentSearch::Verdict::none && segment.search->segment() != segment.bytes) {
    segment.bytes = segment.search->segment();
    update_segment(mesh, ch.links);
  }
  if (verdict == SegmentSearch::Verdict::settled && segment.search->take_change())
    mesh.listener.segment_changed(ch.peer, link, segment.bytes, segment.search->full());
  return segment.search->is_due();
}

}  // namespace herald::rel
