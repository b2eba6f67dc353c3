// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_dispatcher.hpp"

#include <array>

#include "wire/compact.hpp"

namespace herald::rel {
namespace {

// The whole number of a datagram of a lane, before it is opened; 0: of no stream.
std::uint64_t number_of(const LaneInfo& lane, const wire::DatagramHead& head,
                        std::span<const std::byte> datagram) noexcept {
  std::uint32_t source = head.from;
  switch (static_cast<wire::DatagramKind>(std::uint8_t{head.kind})) {
    case wire::DatagramKind::cast:
    case wire::DatagramKind::cast_ask: break;
    case wire::DatagramKind::cast_ack:
    case wire::DatagramKind::cast_nak:
      if (datagram.size() < sizeof head + sizeof(wire::CastNak)) return 0;
      source = wire::part_at<wire::CastNak>(datagram, sizeof head).source;
      break;
    default: return lane.numbers.exchange(head.seq);
  }
  const std::int32_t place = lane.place_of(source);
  return place < 0 ? 0 : lane.numbers.cast(static_cast<std::size_t>(place), head.seq);
}

bool is_answer_without_lane(const wire::DatagramHead& head) noexcept {
  return head.kind == static_cast<std::uint8_t>(wire::DatagramKind::cast_ack) &&
         (head.flags & (wire::kFlagNotOpen | wire::kFlagClosed)) != 0;
}

}  // namespace

// The upper half of the number of a datagram that is not opened yet. `open`: its lane, or null.
std::uint32_t LaneDispatcher::upper_of(std::uint64_t name, const Lane* open,
                                       std::span<const std::byte> datagram) const noexcept {
  const auto& head = wire::part_at<wire::DatagramHead>(datagram);
  if (is_answer_without_lane(head)) return 0;
  const LaneInfo* const lane = open != nullptr ? &open->info() : closed_.find_far(name);
  if (lane != nullptr) return upper_half(number_of(*lane, head, datagram));
  const std::uint32_t first = context_.config.first_upper;
  const bool of_cast = head.kind <= static_cast<std::uint8_t>(wire::DatagramKind::cast_ask);
  return upper_half(of_cast ? LaneNumbers::new_cast(first, head.seq)
                            : LaneNumbers::new_exchange(first, head.seq));
}

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
  const std::uint64_t about = info.numbers.exchange(root != nullptr ? root->next_number() : 0);
  const auto me = static_cast<std::uint32_t>(context_.config.me);
  wire::Opened opened = wire::open_compact(context_.config.seal, me, info.name, about, datagram, view);
  if (opened == wire::Opened::good && view.from >= info.members.size()) opened = wire::Opened::malformed;
  if (opened == wire::Opened::good) view.from = static_cast<std::uint32_t>(info.members[view.from]);
  if (!is_good(now, opened, view)) return false;
  hand_to(now, false, view, *lane);
  return true;
}

// A part of a cast to the group; the mesh joins those that came to this process alone.
bool LaneDispatcher::on_fragment(Instant now, std::span<const std::byte> datagram) noexcept {
  wire::DatagramView view;
  const wire::Opened opened = wire::open_datagram(context_.config.seal, wire::kGroupFragment, datagram, view);
  if (opened != wire::Opened::good) ++context_.counters.foreign;
  if (!is_good(now, opened, view)) return false;
  const std::span<const std::byte> whole = context_.joiner.add(view, true);
  return whole.empty() || on_datagram(now, true, whole);
}

bool LaneDispatcher::on_datagram(Instant now, bool by_group, std::span<const std::byte> datagram) noexcept {
  if (wire::is_compact(datagram) && !by_group) return on_compact(now, datagram);
  if (by_group && wire::is_fragment(datagram)) return on_fragment(now, datagram);
  if (datagram.size() < wire::kMinLaneDatagram ||
      !wire::is_lane_kind(static_cast<wire::DatagramKind>(std::to_integer<std::uint8_t>(datagram[1])))) {
    if (by_group) ++context_.counters.foreign;
    return false;
  }
  const std::uint64_t name = wire::lane_name(datagram);
  Lane* const lane = table_.find_name(name);
  wire::DatagramView view;
  const std::uint32_t to = by_group ? wire::group_seal(name) : static_cast<std::uint32_t>(context_.config.me);
  const wire::Opened opened =
      wire::open_datagram(context_.config.seal, to, datagram, view, {upper_of(name, lane, datagram), 0});
  if (by_group && opened != wire::Opened::good) ++context_.counters.foreign;
  if (!is_good(now, opened, view)) return false;
  if (lane != nullptr && !lane->info().closing)
    hand_to(now, by_group, view, *lane);
  else if (static_cast<PeerId>(view.from) != context_.config.me)
    on_unopened(now, by_group, view, name);
  return true;
}

// Casts of one member in one lane are opened and delivered together; all others one by one.
std::uint32_t LaneDispatcher::on_group_datagrams(Instant now,
                                                 std::span<const std::span<const std::byte>> came) noexcept {
  const auto is_cast = [](std::span<const std::byte> one) {
    return one.size() >= wire::kMinLaneDatagram && one[1] == static_cast<std::byte>(wire::DatagramKind::cast);
  };
  std::uint32_t good = 0;
  for (std::size_t first = 0, end = 0; first < came.size(); first = end) {
    end = first + 1;
    const std::uint64_t name = is_cast(came[first]) ? wire::lane_name(came[first]) : 0;
    while (is_cast(came[first]) && end < came.size() && is_cast(came[end]) &&
           wire::lane_name(came[end]) == name && wire::sender_of(came[end]) == wire::sender_of(came[first]))
      ++end;
    if (end - first == 1) {
      if (on_datagram(now, true, came[first])) good |= 1u << first;
    } else {
      good |= on_train(now, name, came.subspan(first, end - first)) << first;
    }
  }
  return good;
}

std::uint32_t LaneDispatcher::on_train(Instant now, std::uint64_t name,
                                       std::span<const std::span<const std::byte>> train) noexcept {
  Lane* const lane = table_.find_name(name);
  std::array<wire::OpenedDatagram, kMostTogether> all;
  for (std::size_t i = 0; i < train.size(); ++i) {
    all[i].datagram = train[i];
    all[i].upper.seq = upper_of(name, lane, train[i]);
  }
  wire::open_datagrams(context_.config.seal, wire::group_seal(name), {all.data(), train.size()});
  std::uint32_t good = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < train.size(); ++i) {
    if (all[i].opened != wire::Opened::good) ++context_.counters.foreign;
    if (!is_good(now, all[i].opened, all[i].view)) continue;
    good |= 1u << i;
    all[count++] = all[i];
  }
  if (count == 0) return good;
  const std::span<const wire::OpenedDatagram> opened(all.data(), count);
  if (lane != nullptr && !lane->info().closing) {
    lane->on_train(now, opened);
    table_.reap();
  } else if (static_cast<PeerId>(all[0].view.from) != context_.config.me) {
    for (const wire::OpenedDatagram& one : opened) on_unopened(now, true, one.view, name);
  }
  return good;
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
      (void)lane->on_datagram(now, cast.by_group, cast.view, true);
      context_.reorder_pool.give(cast.slot);
    }
  }
}

}  // namespace herald::rel
