// SPDX-License-Identifier: BSD-3-Clause
#include "exec/runner.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/trace.hpp"
#include "coll/block_list.hpp"
#include "exec/wait.hpp"
#include "type/pack.hpp"

namespace herald::exec {
namespace {

// Cached runners: memory that all teams together keep for later runs.
constexpr std::size_t kIdleBytes = 32u << 20, kLargestIdle = 4u << 20;
std::size_t idle_bytes = 0;

// The last byte of a tag is for the messages within a run. Persistent runs are matched by the order in which
// their runners were made, so that they may be started in any order; agreements count down from the top.
constexpr std::uint32_t kPersistentTag = 1u << 30, kTagCounts = (1u << 22) - 1;
constexpr std::uint32_t tag_of(std::uint64_t number) noexcept {
  return (static_cast<std::uint32_t>(number) & kTagCounts) << 8;
}

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) noexcept {
  return (bytes + to - 1) / to * to;
}
constexpr std::align_val_t kBlockAlign{64};

// False if there is less room than data.
bool copy(const coll::Step& step, const coll::Places& places) noexcept {
  if (step.a.block != coll::kNoBlock || step.b.block != coll::kNoBlock)
    return coll::copy_block(step.a, step.b, places);
  type::Cursor from = cursor(step.a, places), to = cursor(step.b, places);
  const bool fits = from.total() <= to.total();
  if (step.cold && step.a.layout == nullptr && step.b.layout == nullptr)
    copy_cold(places.of(step.b), places.of(step.a), std::min(step.a.bytes, step.b.bytes));
  else
    type::copy(from, to);
  return fits;
}

void note_prepared(coll::CachedPlan& cached) noexcept {
  ++counters.prepared_runs;
  process_trace.add(TraceEvent::prepared_hit, std::uint64_t{0}, Trace::text(cached.plan.operation),
                    Trace::text(cached.plan.algorithm), static_cast<std::int32_t>(++cached.prepared_runs));
}

}  // namespace

struct Runner::Slot {
  enum class Live : std::uint8_t { nothing, send, recv, fused };
  union {
    p2p::SendOp send;
    p2p::RecvOp recv;
    p2p::FusedOp fused;
  };
  Runner* owner = nullptr;
  coll::StepId step = coll::kNone;
  Live live = Live::nothing;

  explicit Slot(Runner* runner) noexcept : owner(runner) {}
  ~Slot() { clear(); }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  void clear() noexcept {
    switch (std::exchange(live, Live::nothing)) {
      case Live::nothing: break;
      case Live::send: send.~SendOp(); break;
      case Live::recv: recv.~RecvOp(); break;
      case Live::fused: fused.~FusedOp(); break;
    }
  }
};

Runner* Runner::allocate(coll::CachedPlan* cached, Team& team) noexcept {
  const coll::Plan& plan = cached->plan;
  const std::size_t slots_at = round_up(sizeof(Runner), alignof(Slot));
  const std::size_t words_at = slots_at + plan.slots * sizeof(Slot);
  const std::size_t waiting_at =
      round_up(words_at + coll::Run::words(plan) * sizeof(std::uint32_t), alignof(WaitingStep));
  const std::size_t waiting_bytes = plan.shared ? plan.size() * sizeof(WaitingStep) : 0;
  const std::size_t scratch_at = round_up(waiting_at + waiting_bytes, 64);
  const std::size_t bytes = scratch_at + plan.scratch_bytes;
  auto* block = static_cast<std::byte*>(::operator new(bytes, kBlockAlign, std::nothrow));
  if (block == nullptr) return nullptr;
  auto* self = ::new (block) Runner(cached, team);
  self->block_ = {bytes, reinterpret_cast<Slot*>(block + slots_at),
                  reinterpret_cast<std::uint32_t*>(block + words_at),
                  reinterpret_cast<WaitingStep*>(block + waiting_at)};
  for (std::uint32_t i = 0; i < plan.slots; ++i) ::new (self->block_.slots + i) Slot(self);
  self->places_.at[2] = reinterpret_cast<std::uintptr_t>(block + scratch_at);
  return self;
}

Runner* Runner::make(Team& team, coll::CachedPlan* cached, const Binding& binding) noexcept {
  auto* self = static_cast<Runner*>(std::exchange(cached->idle, nullptr));
  if (self != nullptr) {
    idle_bytes -= self->block_.bytes;
  } else if (self = allocate(cached, team); self == nullptr) {
    release(cached);
    return nullptr;
  }
  self->team_ = &team;
  self->places_.at[0] = reinterpret_cast<std::uintptr_t>(binding.send);
  self->places_.at[1] = reinterpret_cast<std::uintptr_t>(binding.recv);
  self->reduction_ = binding.reduction;
  self->matching_ = binding.matching;
  const coll::Plan& plan = cached->plan;
  if (plan.checked) [[unlikely]] {
    self->mismatch_.clear();
    std::memcpy(reinterpret_cast<void*>(self->places_.at[2]), binding.facts, sizeof *binding.facts);
  }
  std::uint32_t channel = 0;
  if (binding.matching.persistent) {
    self->persistent_id_ = team.persistent_count++;
    self->bundle_lane_ = team.lane_for(plan.members, true, self->own_lane_);
    channel = 1 + self->persistent_id_;
  }
  self->channel_ = plan.shared ? &team.segment.channel(channel) : nullptr;
  return self;
}

void allocate_ahead(Team& team, coll::CachedPlan* cached) noexcept {
  if (cached->idle != nullptr || cached->plan.scratch_bytes > kLargestIdle) return;
  Runner* self = Runner::allocate(cached, team);
  if (self == nullptr) return;
  constexpr std::size_t kPage = 4096;
  auto* scratch = reinterpret_cast<volatile std::byte*>(self->places_.at[2]);
  for (std::size_t at = 0; at < cached->plan.scratch_bytes; at += kPage) scratch[at] = std::byte{0};
  coll::retain(cached);
  Runner::recycle(self);
}

void Runner::recycle(Runner* self) noexcept {
  HERALD_ASSERT(self->done_);
  coll::CachedPlan* cached = self->cached_;
  for (std::uint32_t i = 0; i < cached->plan.slots; ++i) self->block_.slots[i].clear();
  if (cached->idle == nullptr && self->block_.bytes <= kLargestIdle &&
      idle_bytes + self->block_.bytes <= kIdleBytes) {
    idle_bytes += self->block_.bytes;
    cached->idle = self;
    cached->drop_idle = [](void* idle) {
      idle_bytes -= static_cast<Runner*>(idle)->block_.bytes;
      destroy(idle);
    };
  } else {
    destroy(self);
  }
  release(cached);
}

void Runner::destroy(void* runner) noexcept {
  auto* self = static_cast<Runner*>(runner);
  for (std::uint32_t i = 0; i < self->cached_->plan.slots; ++i) self->block_.slots[i].~Slot();
  self->~Runner();
  ::operator delete(runner, kBlockAlign);
}

Status Runner::run() noexcept {
  then_ = {};
  blocking_ = polls_ = true;
  begin();
  if (!done_) {
    poll_briefly();
    if (!done_ && waiting_count_ != 0) enlist();
    wait_until(
        team_->engine(), [this] { return done_; },
        [](ShownWait& wait) {
          engine::add_op(wait, {WaitedKind::collective, false, -1, -1, 0});
        });
  } else if (channel_ != nullptr) {
    channel_->ring_noted();
  }
  blocking_ = polls_ = false;
  return status_;
}

std::uint32_t Runner::next_tag() noexcept {
  if (matching_.agreement >= 0)
    return kPersistentTag | (kTagCounts - static_cast<std::uint32_t>(matching_.agreement)) << 8;
  if (!matching_.persistent) return tag_of(number_ = team_->run_count++);
  if (channel_ != nullptr) number_ = channel_->take_number();
  return kPersistentTag | tag_of(persistent_id_);
}

void Runner::begin() noexcept {
  const coll::Plan& plan = cached_->plan;
  tag_ = static_cast<std::int32_t>(next_tag());
  status_ = Status::ok;
  done_ = false;
  waiting_count_ = 0;
  ++counters.runs;
  if (channel_ != nullptr) {
    ++counters.shared_runs;
    channel_->begin(number_, plan.stream_writes);
  }
  if (process_trace.on()) [[unlikely]] {
    process_trace.add(TraceEvent::coll_start, this, Trace::text(plan.operation), Trace::text(plan.algorithm),
                      tag_ >> 8);
    process_trace.add(TraceEvent::coll_facts, std::uint64_t{0}, static_cast<std::int64_t>(plan.call_bytes),
                      team_->trace_id(), plan.root < 0 ? -1 : team_->peer(plan.root));
  }
  if (cached_->prepared) [[unlikely]]
    note_prepared(*cached_);
  if (!matching_.persistent) bundle_lane_ = team_->lane_for(plan.members, false, own_lane_);
  if (plan.has_fused) fused_number_ = team_->fused_count++;
  run_.begin(plan, block_.words);
  advance();
}

void Runner::advance() noexcept {
  advancing_ = true;  // an operation that completes at once is handled by this loop, not by a nested one
  for (;;) {
    for (coll::StepId id = run_.next(); id != coll::kNone; id = run_.next()) perform(id);
    if (to_flush_ < 0) break;
    team_->engine().lanes().flush(std::exchange(to_flush_, -1));
  }
  advancing_ = false;
  if (run_.done()) return finish();
  if (polls_ || channel_ == nullptr) return;
  channel_->ring_noted();
  if (waiting_count_ != 0) enlist();
}

void Runner::perform(coll::StepId id) noexcept {
  const coll::Step& step = cached_->plan.steps[id];
  switch (step.kind) {
    case coll::StepKind::send:
    case coll::StepKind::cast:
    case coll::StepKind::recv: return start_message(step, id);
    case coll::StepKind::contribute:
    case coll::StepKind::gather:
    case coll::StepKind::announce: return start_fused(step, id);
    case coll::StepKind::copy:
      if (!copy(step, places_)) note(Status::truncated);
      break;
    case coll::StepKind::reduce:
      reduction_.apply(places_.of(step.a), places_.of(step.b), step.a.count);
      break;
    case coll::StepKind::check:
      if (!check(step)) return run_.abandon();
      break;
    case coll::StepKind::post:
    case coll::StepKind::fetch:
    case coll::StepKind::put:
    case coll::StepKind::arrive:
    case coll::StepKind::wait_arrived:
    case coll::StepKind::combine:
    case coll::StepKind::stream_write:
    case coll::StepKind::stream_read:
    case coll::StepKind::stream_reduce: {
      WaitingStep waiting{id, 0};
      if (attempt(step, waiting.progress)) break;
      block_.waiting[waiting_count_++] = waiting;
      return;
    }
  }
  run_.complete(id);
}

bool Runner::attempt(const coll::Step& step, std::uint64_t& progress) noexcept {
  Status error = Status::ok;
  const bool done =
      channel_->attempt({number_, lost_a_peer(status_), places_, reduction_}, step, progress, error);
  note(error);
  return done;
}

bool Runner::check(const coll::Step& step) noexcept {
  const auto* records = static_cast<const coll::Facts*>(places_.of(step.a));
  const coll::Mismatch found = coll::find_mismatch(records, team_->rank(), team_->size());
  if (found.one == nullptr) return true;
  mismatch_ = text_of(found);
  note(Status::bad_argument);
  return false;
}

Runner::Slot& Runner::take_slot(const coll::Step& step, coll::StepId id) noexcept {
  Slot& slot = block_.slots[step.slot];
  slot.clear();
  slot.step = id;
  return slot;
}

void Runner::start_message(const coll::Step& step, coll::StepId id) noexcept {
  Slot& slot = take_slot(step, id);
  const auto fill = [&](p2p::Op& op) {
    op.on_done = on_done;
    op.owner = &slot;
    op.context = team_->context();
    op.tag = tag_ | step.tag;
    op.data = cursor(step.a, places_);
  };
  if (step.kind == coll::StepKind::recv) {
    slot.live = Slot::Live::recv;
    p2p::RecvOp& op = *::new (&slot.recv) p2p::RecvOp;
    fill(op);
    op.source = step.partner;
    op.awaited = team_->peer(step.partner);
    op.at_once = blocking_ && cached_->plan.slots == 1;
    return team_->engine().messages().start(op);
  }
  slot.live = Slot::Live::send;
  p2p::SendOp& op = *::new (&slot.send) p2p::SendOp;
  fill(op);
  op.source = team_->rank();
  if (step.kind == coll::StepKind::cast)
    op.lane = team_->lane();
  else
    op.to = team_->peer(step.partner);
  op.incomplete = lost_a_peer(status_);
  if (step.acknowledged) op.mode = p2p::SendMode::synchronous;
  if (step.bundled && bundle_lane_ >= 0) {
    op.lane = to_flush_ = bundle_lane_;
    op.bundled = true;
  }
  team_->engine().messages().start(op);
}

void Runner::start_fused(const coll::Step& step, coll::StepId id) noexcept {
  Slot& slot = take_slot(step, id);
  slot.live = Slot::Live::fused;
  p2p::FusedOp& op = *::new (&slot.fused) p2p::FusedOp;
  op.on_done = on_done;
  op.owner = &slot;
  op.step = step.kind == coll::StepKind::contribute ? p2p::FusedStep::contribute
            : step.kind == coll::StepKind::gather   ? p2p::FusedStep::gather
                                                    : p2p::FusedStep::announce;
  op.lane = team_->lane();
  op.number = fused_number_;
  op.incomplete = lost_a_peer(status_);
  op.members = static_cast<std::uint32_t>(step.partner);
  op.data = cursor(step.a, places_);
  if (step.kind == coll::StepKind::contribute) op.into = cursor(step.b, places_);
  team_->engine().lanes().start(op);
}

void Runner::on_done(p2p::Op& op) noexcept {
  Slot& slot = *static_cast<Slot*>(op.owner);
  Runner& self = *slot.owner;
  self.note(op.status);
  self.run_.complete(slot.step);
  if (!self.advancing_) self.advance();
}

void Runner::finish() noexcept {
  delist();
  if (channel_ != nullptr) {
    channel_->end(number_);
    if (!polls_) channel_->ring_noted();
  }
  if (own_lane_ && bundle_lane_ >= 0) team_->engine().lanes().close_sub_lane(bundle_lane_);
  done_ = true;
  process_trace.add(TraceEvent::coll_done, this, static_cast<int>(status_));
  // The callback may recycle this object: nothing may follow.
  if (then_.function != nullptr) then_();
}

}  // namespace herald::exec
