// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lanes.hpp"

#include <algorithm>

#include "base/fatal.hpp"
#include "rel/lane_dispatcher.hpp"

namespace herald::rel {
namespace {

template <class F>
auto visit(LaneActor& actor, F&& what) noexcept {
  switch (actor.kind) {
    case ActorKind::source: return what(static_cast<LaneSource&>(actor));
    case ActorKind::receiver: return what(static_cast<LaneReceiver&>(actor));
    case ActorKind::fused_member: return what(static_cast<FusedMember&>(actor));
    case ActorKind::fused_root: break;
  }
  return what(static_cast<FusedRoot&>(actor));
}

}  // namespace

struct Lanes::Inner {
  Inner(const LanesConfig& config, Prng& prng, LaneListener& listener, PeerLiveness* peers) noexcept
      : context(config, prng, listener, peers),
        early(context),
        table(context, early, closed),
        dispatcher(context, table, early, closed) {}

  bool is_at_rest() const noexcept {  // but for deadlines
    return !context.scheduler.has_senders() && !closed.has_replies() && !early.is_replay_due() &&
           !redeliver_due && context.splitter.empty();
  }
  void sweep(Instant now) noexcept;

  LaneContext context;
  EarlyCasts early;
  ClosedLanes closed;
  LaneTable table;
  LaneDispatcher dispatcher;
  Instant sweep_at{};
  bool redeliver_due = false;
};

Lanes::Lanes(const LanesConfig& config, Prng& prng, LaneListener& listener, PeerLiveness* peers) noexcept
    : inner_(std::make_unique<Inner>(config, prng, listener, peers)) {}
Lanes::~Lanes() = default;

LaneId Lanes::open(std::uint64_t name, std::span<const PeerId> members) noexcept {
  return inner_->table.open(name, members);
}

void Lanes::close(LaneId id) noexcept {
  if (Lane* const lane = inner_->table.find(id)) inner_->table.close(*lane);
}

void Lanes::set_address_index(LaneId id, std::uint8_t index) noexcept {
  if (Lane* const lane = inner_->table.find(id)) lane->set_address_index(index);
}

void Lanes::use_next_address(LaneId id) noexcept {
  if (Lane* const lane = inner_->table.find(id))
    lane->set_address_index(static_cast<std::uint8_t>(lane->info().address_index + 1));
}

std::span<std::byte> Lanes::room(LaneId id, std::size_t least) noexcept {
  Lane* const lane = inner_->table.find(id);
  return lane == nullptr ? std::span<std::byte>{} : lane->source().room(least);
}

void Lanes::commit(LaneId id, std::size_t bytes) noexcept {
  if (Lane* const lane = inner_->table.find(id)) lane->source().commit(bytes);
}

LaneId Lanes::next_ready() noexcept {
  LaneContext& context = inner_->context;
  while (const WindowWaiter* const waiter = context.ready.pop()) {
    const auto& source = static_cast<const LaneSource&>(*waiter);
    if (source.is_open()) return source.id();
  }
  while (!context.log_pool.full()) {
    WindowWaiter* const waiter = context.starved.pop();
    if (waiter == nullptr) break;
    auto& source = static_cast<LaneSource&>(*waiter);
    source.clear_starving();
    if (source.is_open()) return source.id();
  }
  return -1;
}

bool Lanes::contribute(LaneId id, std::uint32_t number, std::span<const std::byte> data,
                       bool incomplete) noexcept {
  Lane* const lane = inner_->table.find(id);
  return lane != nullptr && lane->fused_member().contribute(number, data, incomplete);
}

Lanes::FusedState Lanes::result(LaneId id, std::uint32_t number,
                                std::span<const std::byte>& bytes) const noexcept {
  const Lane* const lane = inner_->table.find(id);
  if (lane == nullptr) return FusedState::lost;
  if (const FusedMember* const member = lane->find_fused_member()) {
    if (const auto* const result = member->result(number)) {
      bytes = *result;
      return member->is_incomplete(number) ? FusedState::lost : FusedState::complete;
    }
  }
  // A root that has closed the lane announces until all members have the result.
  return lane->audience()[0].silent ? FusedState::lost : FusedState::pending;
}

void Lanes::take_result(LaneId id, std::uint32_t number) noexcept {
  Lane* const lane = inner_->table.find(id);
  if (lane != nullptr && lane->find_fused_member() != nullptr) lane->fused_member().take_result(number);
}

Lanes::FusedState Lanes::gather(LaneId id, std::uint32_t number) noexcept {
  Lane* const lane = inner_->table.find(id);
  if (lane == nullptr) return FusedState::lost;
  HERALD_ASSERT(lane->info().me == 0 && lane->info().members.size() <= wire::kMaxFusedMembers);
  return lane->fused_root().gather(number);
}

std::span<const std::byte> Lanes::contribution(LaneId id, std::uint32_t number,
                                               std::size_t place) const noexcept {
  const Lane* const lane = inner_->table.find(id);
  const FusedRoot* const root = lane == nullptr ? nullptr : lane->find_fused_root();
  return root == nullptr ? std::span<const std::byte>{} : root->contribution(number, place);
}

void Lanes::announce(Instant now, LaneId id, std::uint32_t number, std::span<const std::byte> result,
                     bool incomplete) noexcept {
  if (Lane* const lane = inner_->table.find(id)) lane->fused_root().announce(now, number, result, incomplete);
}

bool Lanes::on_datagram(Instant now, bool by_group, std::span<const std::byte> datagram,
                        std::uint8_t link) noexcept {
  inner_->context.arrival_link = by_group ? UINT8_MAX : link;
  return inner_->dispatcher.on_datagram(now, by_group, datagram);
}

std::uint32_t Lanes::on_group_datagrams(Instant now,
                                        std::span<const std::span<const std::byte>> came) noexcept {
  HERALD_ASSERT(came.size() <= kMostTogether);
  inner_->context.arrival_link = UINT8_MAX;
  return inner_->dispatcher.on_group_datagrams(now, came);
}

void Lanes::on_answer(Instant now, PeerId peer) noexcept {
  inner_->table.for_each([&](Lane& lane) {
    const std::int32_t place = lane.info().place_of(static_cast<std::uint32_t>(peer));
    if (place >= 0) lane.on_answer(now, static_cast<std::uint32_t>(place));
  });
}

void Lanes::on_resume(Instant now, Duration away) noexcept {
  LaneContext& context = inner_->context;
  context.clock = now;
  for (int i = 0; i < kMostTimersPerCall; ++i) {
    LaneActor* const due = context.scheduler.next_due(now);
    if (due == nullptr) break;
    visit(*due, [&](auto& actor) {
      if (!actor.defer(now, DeferredTimers::time(away))) actor.on_timers(now);
      actor.rearm();
    });
  }
}

void Lanes::Inner::sweep(Instant now) noexcept {
  if (now < sweep_at) return;
  sweep_at = now + kSweepEvery;
  early.expire(now);
  context.log_pool.sweep();
  context.reorder_pool.sweep();
  table.for_each([](Lane& lane) { lane.shrink(); });
}

void Lanes::on_deadline(Instant now) noexcept {
  Inner& in = *inner_;
  in.context.clock = now;
  if (in.early.is_replay_due()) in.dispatcher.replay(now);
  if (in.redeliver_due) {
    in.redeliver_due = false;
    in.table.for_each([&](Lane& lane) { lane.redeliver(now); });
  }
  for (int i = 0; i < kMostTimersPerCall; ++i) {
    LaneActor* const due = in.context.scheduler.next_due(now);
    if (due == nullptr) break;
    visit(*due, [&](auto& actor) {
      actor.on_timers(now);
      actor.rearm();
    });
  }
  in.sweep(now);
  in.table.reap();
}

std::optional<Instant> Lanes::next_deadline() const noexcept {
  const Inner& in = *inner_;
  if (!in.is_at_rest()) return Instant{};
  const LaneContext& context = in.context;
  const bool holds_memory = context.log_pool.held_bytes() + context.reorder_pool.held_bytes() != 0;
  const Instant at = std::min(holds_memory ? in.sweep_at : kNever, context.scheduler.first_deadline());
  if (at == kNever) return std::nullopt;
  return at;
}

std::size_t Lanes::poll_transmit(Instant now, TxBatch& out) noexcept {
  LaneContext& context = inner_->context;
  context.clock = now;
  out.clear();
  context.release_reservation();
  if (!context.splitter.empty()) {
    context.splitter.fill(out);
    return out.count;
  }
  inner_->closed.fill(context, out);
  LaneScheduler::Queue later;  // those for which the batch had no room
  while (!out.full()) {
    LaneActor* const sender = context.scheduler.next_sender();
    if (sender == nullptr) break;
    const bool more = visit(*sender, [&](auto& actor) {
      const bool some = actor.fill(now, out);
      actor.rearm();
      return some;
    });
    if (more) later.push(*sender);
  }
  while (LaneActor* const actor = later.pop()) context.scheduler.wake(*actor);
  if (!context.splitter.empty()) context.splitter.fill(out);
  return out.count;
}

bool Lanes::wants_to_send() const noexcept {
  return inner_->context.scheduler.has_senders() || inner_->closed.has_replies() ||
         !inner_->context.splitter.empty();
}

void Lanes::redeliver() noexcept { inner_->redeliver_due = true; }

void Lanes::forget_peer(PeerId peer) noexcept { inner_->table.forget_peer(peer); }

bool Lanes::is_flushed(LaneId id) const noexcept {
  if (id >= 0) {
    const Lane* const lane = inner_->table.find(id);
    return lane == nullptr || lane->is_flushed();
  }
  bool all = true;
  inner_->table.for_each([&](const Lane& lane) { all = all && lane.is_flushed(); });
  return all;
}

bool Lanes::receives_multicast(LaneId id, PeerId member) const noexcept {
  const Lane* const lane = inner_->table.find(id);
  const std::int32_t place = lane == nullptr ? -1 : lane->info().place_of(static_cast<std::uint32_t>(member));
  return place >= 0 &&
         lane->audience()[static_cast<std::uint32_t>(place)].reachability == Reachability::multicast;
}

const LaneCounters& Lanes::counters() const noexcept { return inner_->context.counters; }

std::uint64_t Lanes::buffered_bytes() const noexcept {
  const LaneContext& context = inner_->context;
  const std::uint64_t reserved = context.reserved == PacketPool::kNone ? 0 : context.log_pool.slot_bytes();
  return context.log_pool.used_bytes() + context.reorder_pool.used_bytes() - reserved;
}

}  // namespace herald::rel
