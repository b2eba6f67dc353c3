// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_audience.hpp"

#include <algorithm>

#include "rel/lane_source.hpp"
#include "rel/reorder.hpp"

namespace herald::rel {
namespace {

constexpr std::uint8_t kMissesUnknown = 2;
constexpr std::uint8_t kMissesKnown = 4;
constexpr Duration kMaxTimeout = milliseconds(60);
constexpr Duration kMaxProbeInterval = milliseconds(1000);

}  // namespace

Audience::Audience(LaneContext& context, LaneInfo& info, LaneSource& source) noexcept
    : context_(context),
      info_(info),
      source_(source),
      live_(static_cast<std::uint16_t>(info.members.size() - 1)),
      multicast_members_(live_),
      probe_after_{16 * context.config.first_rtt.ns} {
  LaneMember fresh;
  fresh.cursor.next = kFirstCast;
  fresh.cursor.limit = kFirstCast + context.first_window();
  members_.assign(info.members.size(), fresh);
  members_[info.me].reachability = Reachability::gone;
  timing_.timeout = Rtt{}.timeout(context.config.first_rtt, context.config.least_timeout);
}

void Audience::set_reachability(std::uint32_t place, Reachability reachability) noexcept {
  LaneMember& member = members_[place];
  if (member.reachability == reachability || member.is_gone()) return;
  const bool counted = !member.is_unicast();
  const bool counts = reachability == Reachability::unknown || reachability == Reachability::multicast;
  all_multicast_ = all_multicast_ && reachability == Reachability::multicast;
  if (counted && !counts) --multicast_members_;
  if (!counted && counts) ++multicast_members_;
  const bool regained = member.is_unicast() && reachability == Reachability::multicast;
  member.reachability = reachability;
  member.misses = 0;
  if (reachability == Reachability::unicast) {
    ++context_.counters.multicast_lost;
    member.unicast_next = member.cursor.next;
    context_.scheduler.wake(source_);
  } else if (regained) {
    ++context_.counters.multicast_regained;
  }
  if (reachability == Reachability::gone) return;
  context_.listener.call([&](LaneListener& listener) {
    listener.reachability_changed(info_.id, info_.members[place], reachability == Reachability::multicast);
  });
}

// An ack without a sign of the multicast counts only if one left since the last ack, and had time to arrive
// and to be answered.
void Audience::judge(Instant now, std::uint32_t place, bool multicast_seen) noexcept {
  LaneMember& member = members_[place];
  if (multicast_seen) {
    member.misses = 0;
    member.judged_at = now;
    set_reachability(place, Reachability::multicast);
    return;
  }
  const Instant due{now.ns - 5 * rtt().ns / 4};
  const auto counts = [&](Instant sent) { return member.judged_at < sent && sent <= due; };
  if (!counts(group_old_) && !counts(group_recent_)) return;
  member.judged_at = now;
  if (member.is_unicast()) return;
  ++member.misses;
  const bool known = member.reachability == Reachability::multicast;
  if (member.misses >= (known ? kMissesKnown : kMissesUnknown))
    set_reachability(place, Reachability::unicast);
}

void Audience::remove(std::uint32_t place) noexcept {
  set_reachability(place, Reachability::gone);
  members_[place].ask_due = false;
  --live_;
  lost_members_ = true;
}

void Audience::note_multicast(Instant now) noexcept {
  if (now - group_recent_ < rtt()) return;
  group_old_ = group_recent_;
  group_recent_ = now;
}

bool Audience::is_group_probe_due(Instant now) noexcept {
  if (now < probe_at_) return false;
  probe_at_ = now + probe_after_;
  probe_after_ = std::min(Duration{2 * probe_after_.ns}, kMaxProbeInterval);
  info_.interface = static_cast<std::uint8_t>((info_.interface + 1) % context_.config.interfaces);
  ++context_.counters.group_probes;
  return true;
}

Audience::Survey Audience::survey(Seq next_tx) noexcept {
  Survey all{next_tx, next_tx, next_tx + Reorder::kMost};
  Timing timing;
  bool all_multicast = true;
  const LaneTree tree = info_.tree_of(info_.me);
  for (std::uint32_t place = 0; place < members_.size(); ++place) {
    const LaneMember& member = members_[place];
    if (member.is_gone()) continue;
    all_multicast = all_multicast && member.reachability == Reachability::multicast;
    if (before(member.cursor.next, all.lowest)) all.lowest = member.cursor.next;
    if (before(member.cursor.limit, all.limit)) all.limit = member.cursor.limit;
    // Members deeper in the tree seldom acknowledge to us: their times are old, and a loss of one of them
    // would look as if packets queued.
    if (uses_tree() && tree.parent(place) != info_.me) continue;
    if (!member.is_unicast() && before(member.seen, all.seen)) all.seen = member.seen;
    const LanesConfig& config = context_.config;
    timing.timeout = std::max(timing.timeout, member.rtt.timeout(config.first_rtt, config.least_timeout));
    if (!member.rtt.known()) continue;
    timing.rtt = std::max(timing.rtt, Duration{member.rtt.smooth_ns});
    timing.base = std::max(timing.base, Duration{member.rtt.least_ns});
    timing.queue = std::max(timing.queue, Duration{std::int64_t{member.rtt.latest_ns} - member.rtt.least_ns});
  }
  timing.timeout = std::min(timing.timeout, kMaxTimeout);
  all_multicast_ = all_multicast;
  timing_ = timing;
  return all;
}

}  // namespace herald::rel
