// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_dispatcher.hpp"

#include "wire/compact.hpp"

namespace herald::rel {

// Counts what is refused; `view` is filled if it was opened.
bool LaneDispatcher::is_good(Instant now, wire::Opened opened, const wire::DatagramView& view) noexcept {
  switch (opened) {
    case wire::Opened::good: break;
    case wire::Opened::malformed: ++context_.counters.malformed; return false;
    case wire::Opened::stale_epoch:
    case wire::Opened::bad_tag: ++context_.counters.forged; return false;
  }
  if (view.from >= static_cast<std::uint32_t>(context_.config.peers)) {
    ++context_.counters.malformed;
    return false;
  }
  context_.clock = now;
  context_.on_arrival(static_cast<PeerId>(view.from));
  return true;
}

void LaneDispatcher::hand_to(Instant now, bool by_group, const wire::DatagramView& view,
                             Lane& lane) noexcept {
  if (lane.on_datagram(now, by_group, view))
    closed_.reply({lane.info().name, static_cast<PeerId>(view.from), true});
  table_.reap();
}

// A compact contribution to a lane that is closed is not answered: a member that wants something repeats it,
// with the lane's name.
bool LaneDispatcher::on_compact(Instant now, std::span<const std::byte> datagram) noexcept {
  Lane* const lane = table_.find_index(wire::lane_index(datagram));
  if (lane == nullptr) {
    ++context_.counters.late_contributions;
    return false;
  }
  wire::DatagramView view;
  const LaneInfo& info = lane->info();
  const FusedRoot* const root = lane->find_fused_root();
  const Seq about = root != nullptr ? root->next_number() : 0;
  const auto me = static_cast<std::uint32_t>(context_.config.me);
  wire::Opened opened = wire::open_compact(context_.config.seal, me, info.name, about, datagram, view);
  if (opened == wire::Opened::good && view.from >= info.members.size()) opened = wire::Opened::malformed;
  if (opened == wire::Opened::good) view.from = static_cast<std::uint32_t>(info.members[view.from]);
  if (!is_good(now, opened, view)) return false;
  hand_to(now, false, view, *lane);
  return true;
}

bool LaneDispatcher::on_datagram(Instant now, bool by_group, std::span<const std::byte> datagram) noexcept {
  if (wire::is_compact(datagram) && !by_group) return on_compact(now, datagram);
  if (datagram.size() < wire::kMinLaneDatagram ||
      !wire::is_lane_kind(static_cast<wire::DatagramKind>(std::to_integer<std::uint8_t>(datagram[1])))) {
    if (by_group) ++context_.counters.foreign;
    return false;
  }
  const std::uint64_t name = wire::lane_name(datagram);
  wire::DatagramView view;
  const std::uint32_t to = by_group ? wire::group_seal(name) : static_cast<std::uint32_t>(context_.config.me);
  const wire::Opened opened = wire::open_datagram(context_.config.seal, to, datagram, view);
  if (by_group && opened != wire::Opened::good) ++context_.counters.foreign;
  if (!is_good(now, opened, view)) return false;
  Lane* const lane = table_.find_name(name);
  if (lane != nullptr && !lane->info().closing)
    hand_to(now, by_group, view, *lane);
  else if (static_cast<PeerId>(view.from) != context_.config.me)
    on_unopened(now, by_group, view, name);
  return true;
}

// A member may be early: its casts are kept. A source that asks is answered, so that it knows us to be alive.
void LaneDispatcher::on_unopened(Instant now, bool by_group, const wire::DatagramView& view,
                                 std::uint64_t name) noexcept {
  const bool closed = closed_.contains(name);
  const bool contribution = view.kind == wire::DatagramKind::contribution;
  const bool result = view.kind == wire::DatagramKind::result;
  if (view.kind != wire::DatagramKind::cast && view.kind != wire::DatagramKind::cast_ask && !contribution &&
      !result)
    return;
  if (!by_group && !contribution && ((view.flags & wire::kFlagAskAck) != 0 || closed))
    closed_.reply({name, static_cast<PeerId>(view.from), closed});
  if (!closed && !result) early_.keep(now, by_group, view, name);
}

void LaneDispatcher::replay(Instant now) noexcept {
  early_.end_replay();
  for (std::size_t i = 0; i < table_.size(); ++i) {
    EarlyCasts::Cast cast;
    for (Lane* lane = table_.at(i); lane != nullptr && lane->is_open(); lane = table_.at(i)) {
      if (!early_.take(lane->info().name, cast)) break;
      (void)lane->on_datagram(now, cast.by_group, cast.view);
      context_.reorder_pool.give(cast.slot);
    }
  }
}

}  // namespace herald::rel
