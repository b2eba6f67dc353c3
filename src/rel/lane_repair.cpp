// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_repair.cpp: what NAKs ask of our stream. A repair waits a moment for others who miss the same: it
// goes to one by unicast, to several by multicast.
#include <algorithm>
#include <bit>

#include "rel/lane_inner.hpp"

namespace herald::rel {

// Long enough for the NAKs of all who lost the same packet, whose grace varies by as much.
Duration Lanes::Inner::gather_time(const Lane& lane) const noexcept {
  if (lane.living < 2) return {};
  return {base_of(lane).ns / 4};
}

void Lanes::Inner::on_nak(Lane& lane, Instant now, std::uint32_t place,
                          const wire::DatagramView& view) noexcept {
  const auto& nak = wire::part_at<wire::CastNak>(view.body);
  LaneMember& member = lane.cursors[place];
  if (nak.source != static_cast<std::uint32_t>(config.me) || member.hearing == Hearing::gone) return;
  ++counters.naks_received;
  advance(lane, member, view.seq, member.cursor.limit);
  if (!before(lane.next_tx, nak.end)) note_seen(member, nak.end);
  judge(lane, now, place, (view.flags & wire::kFlagHeard) != 0);
  if (keeps_order()) {
    go_back(lane, now, member);
    survey(lane, now);
    return;
  }
  const std::size_t count = (view.body.size() - sizeof nak) / sizeof(wire::NakRange);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& range = wire::part_at<wire::NakRange>(view.body, sizeof nak + i * sizeof(wire::NakRange));
    const Seq first = view.seq + range.first;
    for (Seq seq = first; seq != first + range.count; ++seq) {
      if (before(seq, lane.log.first())) continue;
      if (!before(seq, lane.next_tx)) break;
      want_repair(lane, now, place, seq, nak.end);
    }
  }
  survey(lane, now);
}

// How long a repair may take that no later packet overtakes: what lies in the interface before it goes first.
Duration Lanes::Inner::repair_time(const Lane& lane, const Mend& mend) const noexcept {
  if (mend.mark != lane.next_tx) return {2 * lane.timeout.ns};  // there is a later one to tell
  if (lane.base.ns == 0) return lane.timeout;
  const std::int64_t queued = std::max<std::int64_t>(0, (lane.last_tx + lane.queue - mend.at).ns);
  return {lane.base.ns * 5 / 4 + queued};
}

void Lanes::Inner::want_repair(Lane& lane, Instant now, std::uint32_t place, Seq seq, Seq end) noexcept {
  const LaneMember& member = lane.cursors[place];
  if (member.cursor.has(seq)) return;
  const bool deaf = member.hearing == Hearing::deaf;
  if (deaf && !before(seq, member.uni_next)) return;  // is on its way to it anyway
  if (lane.mends == nullptr) lane.mends = std::make_unique<Mend[]>(std::bit_ceil(window));
  Mend& mend = lane.mends[seq & (std::bit_ceil(window) - 1)];
  const auto who = static_cast<std::int32_t>(place);
  if (mend.seq != seq) {
    // One that waits for its turn has not left the log, so nothing else can have its place.
    mend = {};
    mend.seq = seq;
  }
  switch (mend.state) {
    case Mend::State::waiting:
      if (mend.member != who) mend.member = kAllMembers;
      return;
    case Mend::State::sent:
      // It asked before the repair could have come: nothing that left after the repair has come yet.
      if ((mend.member == kAllMembers || mend.member == who) && !before(mend.mark, end) &&
          now - mend.at < repair_time(lane, mend))
        return;
      break;
    case Mend::State::none: break;
  }
  mend.state = Mend::State::waiting;
  mend.member = who;
  mend.at = deaf ? now : now + gather_time(lane);
  lane.mend_queue.push(seq);
  wake(lane);
}

// The next repair that is due. False: none now.
bool Lanes::Inner::next_repair(Lane& lane, Instant now, Mend*& mend) noexcept {
  while (!lane.mend_queue.empty()) {
    const Seq seq = lane.mend_queue.front();
    mend = &lane.mends[seq & (std::bit_ceil(window) - 1)];
    const bool wanted = mend->seq == seq && mend->state == Mend::State::waiting &&
                        !before(seq, lane.log.first()) && before(seq, lane.next_tx) &&
                        (mend->member == kAllMembers ||
                         !lane.cursors[static_cast<std::size_t>(mend->member)].cursor.has(seq));
    if (wanted) return mend->at <= now;
    if (mend->seq == seq) mend->state = Mend::State::none;
    lane.mend_queue.pop();
  }
  return false;
}

}  // namespace herald::rel
