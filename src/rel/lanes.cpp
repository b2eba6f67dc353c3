// SPDX-License-Identifier: BSD-3-Clause
// rel/lanes.cpp: the verbs of the lanes; packets on their way in from above.
#include "rel/lanes.hpp"

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "rel/lane_inner.hpp"
#include "wire/compact.hpp"

namespace herald::rel {
namespace {

constexpr Duration kKeepStrays = milliseconds(3000);
constexpr std::size_t kMostRows = 32;  // acks that ride on one cast

}  // namespace

Lanes::Inner::Inner(const LanesConfig& config_, Prng& prng_, LaneListener& listener_) noexcept
    : config(config_),
      prng(prng_),
      listener(listener_),
      window(keeps_order() ? kPaperWindow
                           : std::clamp<std::uint32_t>(config.window_packets, kLeastWindow, Reorder::kMost)),
      granted(std::clamp(config.held_packets, kLeastWindow, window)),
      log_pool(config.datagram_bytes, config.log_bytes),
      kept_pool(std::max(config.datagram_bytes, config.largest_bytes), config.kept_bytes),
      heard_at(static_cast<std::size_t>(config.peers)),
      lost(static_cast<std::size_t>(config.peers)) {}

std::span<std::byte> Lanes::Inner::room(Lane& lane, std::size_t least) noexcept {
  const std::size_t most = config.datagram_bytes - wire::kCastHead;
  HERALD_ASSERT(least <= most);
  open_lane = -1;
  if (!before(lane.log.end(), lane.limit) || lane.log.end() - lane.lowest >= window_of(lane) ||
      !lane.log.reserve()) {
    lane.refused = true;
    arm_tail(lane, clock);  // nothing may be under way whose ack would bring credit
    rearm(lane);
    return {};
  }
  // The log may be full of what those who have not opened another lane yet do not take, and they may wait for
  // this: a packet of each lane has room always.
  if (spare == PacketPool::kNone) spare = log_pool.take(lane.log.empty());
  if (spare == PacketPool::kNone) {
    starved.push(lane);
    lane.starving = true;
    return {};
  }
  lane.refused = false;
  open_lane = lane.id;
  return {log_pool.at(spare) + wire::kCastHead, most};
}

// Acks of what others have cast ride on our packet: those who cast to each other in turn (barrier, allgather)
// need no others.
std::size_t Lanes::Inner::add_rows(Lane& lane, std::byte* at, std::size_t most) noexcept {
  std::size_t rows = 0;
  for (const auto& in : lane.in) {
    if (in == nullptr || in->unacked == 0 || in->answer || in->next != in->end) continue;
    if ((rows + 1) * sizeof(wire::AckRow) + 1 > most || rows == kMostRows) break;
    grant(*in);
    wire::AckRow row;
    row.next = in->next;
    row.member = in->member;
    row.credit = static_cast<std::uint16_t>((in->limit - in->next) | (in->heard ? wire::kRowHeard : 0u));
    std::memcpy(at + rows * sizeof row, &row, sizeof row);
    ++rows;
    acked(*in);
    in->rides = true;
    rearm(*in);
  }
  if (rows == 0) return 0;
  at[rows * sizeof(wire::AckRow)] = static_cast<std::byte>(rows);
  return rows * sizeof(wire::AckRow) + 1;
}

void Lanes::Inner::commit(Lane& lane, std::size_t bytes) noexcept {
  HERALD_ASSERT(open_lane == lane.id && bytes <= config.datagram_bytes - wire::kCastHead);
  open_lane = -1;
  if (bytes == 0) return;
  ++counters.cast;
  if (lane.living == 0) return;  // nobody is there to hear it
  std::byte* const at = log_pool.at(spare);
  std::size_t body = sizeof(wire::LanePart) + bytes;
  Entry& entry = lane.log.append();
  if (!lane.tree) {
    const std::size_t rows =
        add_rows(lane, at + wire::kCastHead + bytes, config.datagram_bytes - wire::kCastHead - bytes);
    if (rows != 0) entry.flags = wire::kFlagRows;
    body += rows;
  }
  const auto us = [](Duration d) {
    return static_cast<std::uint16_t>(std::clamp<std::int64_t>((d.ns + 999) / 1000, 0, UINT16_MAX));
  };
  wire::LanePart part;
  part.name = lane.name;
  part.rtt_us = us(lane.rtt);
  part.base_us = us(lane.base);
  std::memcpy(at + sizeof(wire::DatagramHead), &part, sizeof part);
  entry.slot = spare;
  entry.body_bytes = static_cast<std::uint16_t>(body);
  entry.body_crc = wire::crc32c({at + sizeof(wire::DatagramHead), body});
  spare = PacketPool::kNone;
  wake(lane);
}

void Lanes::Inner::set_move(Lane& lane, std::uint8_t move) noexcept {
  if (move <= lane.move || move > kLastMove) return;
  lane.move = move;
  ++counters.moved;
  calling = true;
  listener.moved(lane.id, move);
  calling = false;
}

void Lanes::Inner::dispatch(Instant now, bool by_group, const wire::DatagramView& view, Lane& lane) noexcept {
  const std::int32_t place = lane.place_of(view.from);
  if (place < 0) return;
  if (place == lane.me) return;  // our own multicast
  const auto from = static_cast<std::uint32_t>(place);
  lane.cursors[from].asked_since = kNever;
  set_move(lane, (view.flags & wire::kFlagMoved) >> wire::kMovedShift);
  switch (view.kind) {
    case wire::DatagramKind::cast: on_cast(lane, now, by_group, from, view); break;
    case wire::DatagramKind::cast_ask: on_ask(lane, now, by_group, from, view); break;
    case wire::DatagramKind::cast_ack:
      if (wire::part_at<wire::CastAck>(view.body).source == static_cast<std::uint32_t>(config.me)) {
        on_ack(lane, now, from, view);
      } else {
        on_child_ack(lane, now, from, view);
      }
      break;
    case wire::DatagramKind::cast_nak: on_nak(lane, now, from, view); break;
    case wire::DatagramKind::report:
    case wire::DatagramKind::compact: on_report(lane, now, from, view); break;
    case wire::DatagramKind::result_of_all: on_result(lane, now, by_group, from, view); break;
    case wire::DatagramKind::acked: on_contribution_ack(lane, now, from, view); break;
    case wire::DatagramKind::data:
    case wire::DatagramKind::ack:
    case wire::DatagramKind::probe:
    case wire::DatagramKind::probe_reply: break;  // refused before
  }
}

Lanes::Lanes(const LanesConfig& config, Prng& prng, LaneListener& listener) noexcept
    : inner_(std::make_unique<Inner>(config, prng, listener)) {}
Lanes::~Lanes() = default;

LaneId Lanes::open(std::uint64_t name, std::span<const PeerId> members) noexcept {
  return inner_->open(name, members);
}

void Lanes::close(LaneId lane) noexcept {
  if (Lane* const one = inner_->find(lane)) inner_->close(*one);
}

void Lanes::set_move(LaneId lane, std::uint8_t move) noexcept {
  if (Lane* const one = inner_->find(lane)) inner_->set_move(*one, move);
}

void Lanes::move_on(LaneId lane) noexcept {
  if (Lane* const one = inner_->find(lane)) inner_->set_move(*one, static_cast<std::uint8_t>(one->move + 1));
}

std::span<std::byte> Lanes::room(LaneId lane, std::size_t least) noexcept {
  Lane* const one = inner_->find(lane);
  return one == nullptr ? std::span<std::byte>{} : inner_->room(*one, least);
}

void Lanes::commit(LaneId lane, std::size_t bytes) noexcept {
  if (Lane* const one = inner_->find(lane)) inner_->commit(*one, bytes);
}

LaneId Lanes::next_ready() noexcept {
  while (const Lane* one = inner_->roomy.pop())
    if (!one->closing && !one->draining) return one->id;
  while (!inner_->log_pool.full()) {
    Lane* const one = inner_->starved.pop();
    if (one == nullptr) break;
    one->starving = false;
    if (!one->closing && !one->draining) return one->id;
  }
  return -1;
}

// Counts what is refused; `view` is filled if it was opened.
bool Lanes::Inner::is_good(Instant now, wire::Opened opened, const wire::DatagramView& view) noexcept {
  switch (opened) {
    case wire::Opened::good: break;
    case wire::Opened::malformed: ++counters.malformed; return false;
    case wire::Opened::stale_epoch:
    case wire::Opened::bad_tag: ++counters.forged; return false;
  }
  if (view.from >= static_cast<std::uint32_t>(config.peers)) {
    ++counters.malformed;
    return false;
  }
  clock = now;
  heard_at[view.from] = now;
  return true;
}

void Lanes::Inner::hand_to(Instant now, bool by_group, const wire::DatagramView& view, Lane& lane) noexcept {
  if (lane.draining)
    on_drain(now, by_group, view, lane);
  else
    dispatch(now, by_group, view, lane);
  bury();
}

// Of a lane that is not there any more: it is not answered. Who wants something repeats it, with the name.
bool Lanes::Inner::on_compact(Instant now, std::span<const std::byte> datagram) noexcept {
  Lane* const lane = find_known_as(wire::known_as(datagram));
  if (lane == nullptr) {
    ++counters.late;
    return false;
  }
  wire::DatagramView view;
  const auto me = static_cast<std::uint32_t>(config.me);
  const Seq about = lane->fused != nullptr ? lane->fused->untold : 0;
  wire::Opened opened = wire::open_compact(config.seal, me, lane->name, about, datagram, view);
  if (opened == wire::Opened::good && view.from >= lane->members.size()) opened = wire::Opened::malformed;
  if (opened == wire::Opened::good) view.from = static_cast<std::uint32_t>(lane->members[view.from]);
  if (!is_good(now, opened, view)) return false;
  hand_to(now, false, view, *lane);
  return true;
}

bool Lanes::on_datagram(Instant now, bool by_group, std::span<const std::byte> datagram) noexcept {
  Inner& in = *inner_;
  if (wire::is_compact(datagram) && !by_group) return in.on_compact(now, datagram);
  if (datagram.size() < wire::kLeastLane ||
      !wire::is_lane_kind(static_cast<wire::DatagramKind>(std::to_integer<std::uint8_t>(datagram[1])))) {
    if (by_group) ++in.counters.foreign;
    return false;
  }
  const std::uint64_t name =
      wire::part_at<wire::ReportPart>(datagram, sizeof(wire::DatagramHead)).name;  // all bodies begin so
  wire::DatagramView view;
  const std::uint32_t to = by_group ? wire::group_seal(name) : static_cast<std::uint32_t>(in.config.me);
  const wire::Opened opened = wire::open_datagram(in.config.seal, to, datagram, view);
  if (by_group && opened != wire::Opened::good) ++in.counters.foreign;
  if (!in.is_good(now, opened, view)) return false;
  Lane* const lane = in.table.find(name);
  if (lane != nullptr && !lane->closing)
    in.hand_to(now, by_group, view, *lane);
  else if (static_cast<PeerId>(view.from) != in.config.me)
    in.on_stray(now, by_group, view, name);
  return true;
}

void Lanes::on_resume(Instant now, Duration away) noexcept {
  Inner& in = *inner_;
  in.clock = now;
  for (int i = 0; i < kMostTimersPerCall && !in.heap.empty() && in.heap.top().at <= now; ++i) {
    LaneActor& actor = *in.heap.top().who;
    if (!in.deferral(actor, now, DeferredTimers::time(away))) in.on_timers(actor, now);
    in.rearm(actor);
  }
}

void Lanes::on_deadline(Instant now) noexcept {
  Inner& in = *inner_;
  in.clock = now;
  if (in.replay_due) in.replay(now);
  if (in.redeliver_due) {
    in.redeliver_due = false;
    for (std::size_t i = 0; i < in.lanes.size(); ++i) {
      if (in.lanes[i] == nullptr) continue;
      for (const auto& one : in.lanes[i]->in)
        if (one != nullptr && one->again_at != kNever) in.drain(*one, now);
    }
  }
  for (int i = 0; i < kMostTimersPerCall && !in.heap.empty() && in.heap.top().at <= now; ++i) {
    LaneActor& actor = *in.heap.top().who;
    in.on_timers(actor, now);
    in.rearm(actor);
  }
  if (now >= in.sweep_at) {
    in.sweep_at = now + kSweepEvery;
    in.strays.expire(Instant{now.ns - kKeepStrays.ns}, in.kept_pool);
    in.log_pool.sweep();
    in.kept_pool.sweep();
    for (const auto& lane : in.lanes) {
      if (lane == nullptr) continue;
      lane->log.shrink();
      for (const auto& one : lane->in)
        if (one != nullptr) one->reorder.shrink();
    }
  }
  in.bury();
}

std::optional<Instant> Lanes::next_deadline() const noexcept {
  const Inner& in = *inner_;
  if (!in.sending.empty() || !in.strays.replies().empty() || in.replay_due || in.redeliver_due)
    return Instant{};
  Instant at = in.log_pool.held_bytes() + in.kept_pool.held_bytes() != 0 ? in.sweep_at : kNever;
  if (!in.heap.empty()) at = std::min(at, in.heap.top().at);
  if (at == kNever) return std::nullopt;
  return at;
}

bool Lanes::has_only_fused() const noexcept {
  const Inner& in = *inner_;
  return in.sending.empty() && in.strays.replies().empty() && !in.replay_due && !in.redeliver_due &&
         std::all_of(in.heap.items().begin(), in.heap.items().end(),
                     [](const auto& item) { return item.who->kind == ActorKind::fused; });
}

std::size_t Lanes::poll_transmit(Instant now, TxBatch& out) noexcept {
  Inner& in = *inner_;
  in.clock = now;
  out.clear();
  if (in.spare != PacketPool::kNone) in.log_pool.give(in.spare);
  in.spare = PacketPool::kNone;
  in.open_lane = -1;
  in.fill_replies(out);
  // One that could not put all into this batch comes again in the next one.
  LaneQueue<LaneActor, &LaneActor::next_sending> later;
  while (!out.full()) {
    LaneActor* const actor = in.sending.pop();
    if (actor == nullptr) break;
    const bool more = in.fill(*actor, now, out);
    in.rearm(*actor);
    if (more) later.push(*actor);
  }
  while (LaneActor* const actor = later.pop()) in.sending.push(*actor);
  return out.count;
}

bool Lanes::wants_to_send() const noexcept {
  return !inner_->sending.empty() || !inner_->strays.replies().empty();
}

void Lanes::redeliver() noexcept { inner_->redeliver_due = true; }

void Lanes::forget_peer(PeerId peer) noexcept {
  Inner& in = *inner_;
  in.lost[static_cast<std::size_t>(peer)] = true;
  for (const auto& lane : in.lanes) {
    if (lane == nullptr) continue;
    const std::int32_t place = lane->place_of(static_cast<std::uint32_t>(peer));
    if (place < 0 || place == lane->me) continue;
    in.lose(*lane, in.clock, static_cast<std::uint32_t>(place));
  }
  in.bury();
}

bool Lanes::is_flushed() const noexcept {
  return std::all_of(inner_->lanes.begin(), inner_->lanes.end(), [](const auto& lane) {
    return lane == nullptr || (lane->log.empty() && Inner::is_settled(*lane));
  });
}

bool Lanes::is_flushed(LaneId lane) const noexcept {
  const Lane* const one = inner_->find(lane);
  return one == nullptr || (one->log.empty() && Inner::is_settled(*one));
}

bool Lanes::hears(LaneId lane, PeerId member) const noexcept {
  const Lane* const one = inner_->find(lane);
  const std::int32_t place = one == nullptr ? -1 : one->place_of(static_cast<std::uint32_t>(member));
  return place >= 0 && one->cursors[static_cast<std::size_t>(place)].hearing == Hearing::hears;
}

const LaneCounters& Lanes::counters() const noexcept { return inner_->counters; }

std::uint64_t Lanes::buffered_bytes() const noexcept {
  const std::uint64_t spare = inner_->spare == PacketPool::kNone ? 0 : inner_->log_pool.slot_bytes();
  return inner_->log_pool.used_bytes() + inner_->kept_pool.used_bytes() - spare;
}

}  // namespace herald::rel
