// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_baselines.cpp: Simple and Push-Pull Broadcast of paper 000, beside the way that lanes cast by
// default. Both go back: a member that misses a packet is sent all from there on, by unicast, from the same
// log.
#include "rel/lane_inner.hpp"

namespace herald::rel {
namespace {

constexpr std::uint32_t kPushPackets = 1;  // the paper pushes 860 bytes

}  // namespace

// All that the member has not got goes to it again, unless it is on its way already.
void Lanes::Inner::go_back(Lane& lane, Instant now, LaneMember& member) noexcept {
  if (member.hearing == Hearing::gone || member.cursor.next == lane.next_tx) return;
  if (member.again && member.uni_next != member.cursor.next &&
      now - lane.log[member.cursor.next].sent_at < lane.timeout)
    return;
  member.uni_next = member.cursor.next;
  ++counters.went_back;
  if (!member.again) ++lane.behind;
  member.again = true;
  member.again_to = static_cast<std::uint8_t>(lane.next_tx);
  wake(lane);
}

// After its cursor moved, or it left.
void Lanes::Inner::caught_up(Lane& lane, LaneMember& member) noexcept {
  if (!member.again || (member.hearing != Hearing::gone && before(member.cursor.next, member.again_end())))
    return;
  member.again = false;
  --lane.behind;
}

// The one member that acknowledges the push: the first after the source that is there.
std::uint32_t Lanes::Inner::designated(const Lane& lane, std::uint32_t source) const noexcept {
  const auto count = static_cast<std::uint32_t>(lane.members.size());
  for (std::uint32_t i = 1; i < count; ++i) {
    const std::uint32_t place = (source + i) % count;
    if (place == lane.me || lane.cursors[place].hearing != Hearing::gone) return place;
  }
  return source;
}

// Whether the next packet of ours may leave for the group.
bool Lanes::Inner::may_cast(Lane& lane) noexcept {
  if (config.mode != LaneMode::push_pull) return true;
  // A burst begins when all of the last one is out, and acknowledged.
  if (!lane.pushed && lane.lowest == lane.next_tx && !before(lane.next_tx, lane.push_end)) {
    lane.push_end = lane.next_tx + kPushPackets;
    lane.pushed = true;
  }
  const std::uint32_t who = designated(lane, lane.me);
  if (lane.pushed && (who == lane.me || !before(lane.cursors[who].cursor.next, lane.push_end))) {
    lane.pushed = false;
    lane.push_end = lane.log.end();  // the rest goes without another pause
  }
  const bool held = (lane.pushed && !before(lane.next_tx, lane.push_end)) || lane.behind != 0;
  if (held && !lane.waiting) ++counters.suspended;
  lane.waiting = held;
  return !held;
}

// Whether a question to the group is answered at once: by all, or by the designated one.
bool Lanes::Inner::answers(const LaneIn& in, bool by_group) const noexcept {
  return config.mode != LaneMode::push_pull || !by_group || designated(in.lane, in.member) == in.lane.me;
}

}  // namespace herald::rel
