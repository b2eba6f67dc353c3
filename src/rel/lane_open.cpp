// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_open.cpp: lanes that are opened and closed, and what comes for those that are not open.
#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "rel/lane_inner.hpp"
#include "wire/compact.hpp"

namespace herald::rel {

Lane::Lane() noexcept : LaneActor(ActorKind::source) {}
Lane::~Lane() = default;

std::int32_t Lane::place_of(std::uint32_t rank) const noexcept {
  const auto wanted = static_cast<PeerId>(rank);
  const std::int64_t guess = std::int64_t{wanted} - members.front();
  const auto count = static_cast<std::int64_t>(members.size());
  if (guess >= 0 && guess < count && members[static_cast<std::size_t>(guess)] == wanted)
    return static_cast<std::int32_t>(guess);
  const auto found = std::lower_bound(by_rank.begin(), by_rank.end(), wanted,
                                      [&](std::uint16_t place, PeerId r) { return members[place] < r; });
  return found != by_rank.end() && members[*found] == wanted ? *found : -1;
}

Lane* Lanes::Inner::find(LaneId id) const noexcept {
  if (id < 0 || id >= static_cast<LaneId>(lanes.size())) return nullptr;
  Lane* const lane = lanes[static_cast<std::size_t>(id)].get();
  return lane == nullptr || lane->closing || lane->draining ? nullptr : lane;
}

// Where the lane lies, and how often that place was taken: a datagram that comes when another one has it is
// known to be late.
std::uint16_t Lanes::Inner::next_known_as(LaneId id) noexcept {
  const auto at = static_cast<std::size_t>(id);
  if (at >= kCompactLanes) return 0;
  if (at >= openings.size()) openings.resize(at + 1);
  return static_cast<std::uint16_t>(at | (1 + openings[at]++ % (wire::kMostKnownAs / kCompactLanes)) *
                                             kCompactLanes);
}

Lane* Lanes::Inner::find_known_as(std::uint32_t known_as) const noexcept {
  const std::size_t at = known_as % kCompactLanes;
  Lane* const lane = at < lanes.size() ? lanes[at].get() : nullptr;
  return lane == nullptr || lane->closing || lane->known_as != known_as ? nullptr : lane;
}

LaneId Lanes::Inner::open(std::uint64_t name, std::span<const PeerId> members) noexcept {
  HERALD_ASSERT(!members.empty() && members.size() < UINT16_MAX);
  HERALD_ASSERT(table.find(name) == nullptr);
  auto lane = std::make_unique<Lane>();
  lane->name = name;
  lane->members.assign(members.begin(), members.end());
  const auto mine = std::find(members.begin(), members.end(), config.me);
  HERALD_ASSERT(mine != members.end());
  lane->me = static_cast<std::uint16_t>(mine - members.begin());
  lane->by_rank.resize(members.size());
  for (std::uint16_t i = 0; i < members.size(); ++i) lane->by_rank[i] = i;
  std::sort(lane->by_rank.begin(), lane->by_rank.end(),
            [&](std::uint16_t a, std::uint16_t b) { return members[a] < members[b]; });
  lane->in.resize(members.size());
  lane->tree = members.size() > config.flat_members && !keeps_order();
  lane->living = lane->listening = static_cast<std::uint16_t>(members.size() - 1);
  lane->log.start_at(kFirstCast);
  lane->log.set_cursors(lane->living);
  LaneMember fresh;
  fresh.cursor.next = kFirstCast;
  fresh.cursor.limit = lane->limit = kFirstCast + first_window();
  lane->cursors.assign(members.size(), fresh);
  lane->cursors[lane->me].hearing = Hearing::gone;
  lane->timeout = Rtt{}.timeout(config.first_rtt, config.least_timeout);
  lane->retry_after = {16 * config.first_rtt.ns};

  const auto gap = std::find(lanes.begin(), lanes.end(), nullptr);
  lane->id = static_cast<LaneId>(gap - lanes.begin());
  lane->known_as = next_known_as(lane->id);
  table.insert(name, lane.get());
  strays.note_opened(name);
  replay_due = replay_due || strays.waits_for(name);
  for (std::uint32_t i = 0; i < members.size(); ++i)
    if (lost[static_cast<std::size_t>(members[i])]) lose(*lane, clock, i);
  const LaneId id = lane->id;
  if (gap == lanes.end()) {
    lanes.push_back(std::move(lane));
  } else {
    *gap = std::move(lane);
  }
  return id;
}

void Lanes::Inner::close(Lane& lane) noexcept {
  if (calling) {
    lane.closing = some_closing = true;
    return;
  }
  for (auto& in : lane.in) {
    if (in == nullptr) continue;
    if (in->unacked != 0) strays.reply({lane.name, lane.members[in->member], true});
    in->reorder.clear(kept_pool);
    heap.remove(*in);
    sending.remove(*in);
    --sources;
    in.reset();
  }
  if (lane.fused != nullptr && lane.me != 0 && lane.fused->have != lane.fused->told_have)
    strays.reply({lane.name, lane.members.front(), true});
  // Who has closed has got all from the others, but they may want something of ours again.
  if ((!lane.log.empty() || (lane.me == 0 && !is_settled(lane))) && lane.living != 0) {
    lane.draining = true;
    lane.closing = false;
    return;
  }
  lane.log.clear(log_pool);
  if (lane.fused != nullptr) {
    heap.remove(*lane.fused);
    sending.remove(*lane.fused);
  }
  heap.remove(lane);
  sending.remove(lane);
  roomy.remove(lane);
  starved.remove(lane);
  strays.drop(lane.name, kept_pool);
  strays.note_closed(lane.name);
  table.erase(lane.name);
  lanes[static_cast<std::size_t>(lane.id)].reset();
}

void Lanes::Inner::bury() noexcept {
  if (!some_closing) return;
  some_closing = false;
  for (const auto& lane : lanes)
    if (lane != nullptr && lane->closing) close(*lane);
}

// What comes to a lane that is closed and has not drained: news of our stream.
void Lanes::Inner::on_drain(Instant now, bool by_group, const wire::DatagramView& view, Lane& lane) noexcept {
  const std::int32_t place = lane.place_of(view.from);
  if (place < 0 || place == lane.me) return;
  const auto from = static_cast<std::uint32_t>(place);
  lane.cursors[from].asked_since = kNever;
  switch (view.kind) {
    case wire::DatagramKind::cast: {
      const wire::CastView cast = wire::view_cast(view.flags, view.body);
      if (!cast.rows.empty()) on_rows(lane, now, from, cast.rows);
      [[fallthrough]];
    }
    case wire::DatagramKind::result_of_all:
    case wire::DatagramKind::cast_ask:
      if (!by_group) strays.reply({lane.name, static_cast<std::int32_t>(view.from), true});
      break;
    case wire::DatagramKind::cast_ack:
      if (wire::part_at<wire::CastAck>(view.body).source == static_cast<std::uint32_t>(config.me))
        on_ack(lane, now, from, view);
      break;
    case wire::DatagramKind::cast_nak: on_nak(lane, now, from, view); break;
    case wire::DatagramKind::report:
    case wire::DatagramKind::compact: on_report(lane, now, from, view); break;
    case wire::DatagramKind::acked: break;
    case wire::DatagramKind::data:
    case wire::DatagramKind::ack:
    case wire::DatagramKind::probe:
    case wire::DatagramKind::probe_reply: break;  // refused before
  }
}

LaneIn& Lanes::Inner::in_of(Lane& lane, std::uint32_t place) noexcept {
  auto& in = lane.in[place];
  if (in == nullptr) {
    in = std::make_unique<LaneIn>(lane, static_cast<std::uint16_t>(place));
    ++sources;
    in->limit = kFirstCast + first_window();
    const LaneTree tree = tree_of(lane, place);
    if (lane.tree && tree.children(lane.me) != 0)
      in->below = std::make_unique<LaneIn::Below[]>(tree.children(lane.me));
  }
  return *in;
}

// A member may be early: what it casts is kept; the source repairs what is not. A source that asks is
// answered, so that it knows us to be alive.
void Lanes::Inner::on_stray(Instant now, bool by_group, const wire::DatagramView& view,
                            std::uint64_t name) noexcept {
  const bool closed = strays.was_closed(name);
  const bool reports = view.kind == wire::DatagramKind::report,
             tells = view.kind == wire::DatagramKind::result_of_all;
  if (view.kind != wire::DatagramKind::cast && view.kind != wire::DatagramKind::cast_ask && !reports &&
      !tells)
    return;
  if (!by_group && !reports && ((view.flags & wire::kFlagAskAck) != 0 || closed))
    strays.reply({name, static_cast<std::int32_t>(view.from), closed});
  if (closed || tells || !strays.has_room(kept_pool, config.kept_bytes) ||
      view.body.size() > kept_pool.slot_bytes())
    return;
  const PacketPool::Slot slot = kept_pool.take();
  if (slot == PacketPool::kNone) return;
  std::memcpy(kept_pool.at(slot), view.body.data(), view.body.size());
  LaneStrays::Stray stray;
  stray.name = name;
  stray.at = now;
  stray.from = view.from;
  stray.seq = view.seq;
  stray.slot = slot;
  stray.bytes = static_cast<std::uint16_t>(view.body.size());
  stray.kind = static_cast<std::uint8_t>(view.kind);
  stray.flags = view.flags;
  stray.by_group = by_group;
  strays.keep(stray);
}

void Lanes::Inner::replay(Instant now) noexcept {
  replay_due = false;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    LaneStrays::Stray stray;
    while (lanes[i] != nullptr && !lanes[i]->closing && !lanes[i]->draining &&
           strays.take(lanes[i]->name, stray)) {
      wire::DatagramView view;
      view.kind = static_cast<wire::DatagramKind>(stray.kind);
      view.flags = stray.flags | wire::kFlagAskAck;  // the source does not know yet that we are here
      view.from = stray.from;
      view.seq = stray.seq;
      view.body = {kept_pool.at(stray.slot), stray.bytes};
      dispatch(now, stray.by_group, view, *lanes[i]);
      kept_pool.give(stray.slot);
    }
  }
}

}  // namespace herald::rel
