// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll_run.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "coll/table.hpp"
#include "mpi/coll_choice.hpp"
#include "mpi/op.hpp"
#include "mpi/request_complete.hpp"
#include "type/pack.hpp"

namespace herald::mpi {
namespace {

// Runners at rest: memory that all communicators together keep for the next run.
constexpr std::size_t kIdleBytes = 32u << 20, kLargestIdle = 4u << 20;
std::size_t idle_bytes = 0;

// Of the tags of persistent calls, which are matched by the order of their init calls, so they may be started
// in any order.
constexpr std::uint32_t kPersistentTag = 1u << 30;

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) noexcept {
  return (bytes + to - 1) / to * to;
}
constexpr std::align_val_t kBlockAlign{64};

}  // namespace

struct Execution::Slot {
  enum class Live : std::uint8_t { nothing, send, recv, fused };
  union {
    p2p::SendOp send;
    p2p::RecvOp recv;
    p2p::FusedOp fused;
  };
  Execution* owner = nullptr;
  coll::StepId step = coll::kNone;
  Live live = Live::nothing;

  explicit Slot(Execution* execution) noexcept : owner(execution) {}
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

Execution* Execution::make(Comm& comm, coll::CachedPlan* cached, const Binding& binding) noexcept {
  Execution* self = static_cast<Execution*>(std::exchange(cached->idle, nullptr));
  if (self != nullptr) {
    idle_bytes -= self->block_bytes_;
  } else {
    const coll::Plan& plan = cached->plan;
    const std::size_t slots_at = round_up(sizeof(Execution), alignof(Slot));
    const std::size_t words_at = slots_at + plan.slots * sizeof(Slot);
    const std::size_t waiting_at =
        round_up(words_at + coll::Run::words(plan) * sizeof(std::uint32_t), alignof(Waiting));
    const std::size_t waiting_bytes = plan.shared ? plan.size() * sizeof(Waiting) : 0;
    const std::size_t scratch_at = round_up(waiting_at + waiting_bytes, 64);
    const std::size_t bytes = scratch_at + plan.scratch_bytes;
    auto* block = static_cast<std::byte*>(::operator new(bytes, kBlockAlign, std::nothrow));
    if (block == nullptr) {
      release(cached);
      return nullptr;
    }
    self = ::new (block) Execution(cached, bytes);
    self->slots_ = reinterpret_cast<Slot*>(block + slots_at);
    for (std::uint32_t i = 0; i < plan.slots; ++i) ::new (self->slots_ + i) Slot(self);
    self->words_ = reinterpret_cast<std::uint32_t*>(block + words_at);
    self->waiting_ = reinterpret_cast<Waiting*>(block + waiting_at);
    self->places_.at[2] = reinterpret_cast<std::uintptr_t>(block + scratch_at);
  }
  self->comm_ = &comm;
  self->places_.at[0] = reinterpret_cast<std::uintptr_t>(binding.send);
  self->places_.at[1] = reinterpret_cast<std::uintptr_t>(binding.recv);
  self->op_ = binding.op;
  self->datatype_ = binding.datatype;
  if (binding.op != nullptr) retain(binding.op);
  if (binding.datatype != nullptr) retain(binding.datatype);
  if (cached->plan.checked) [[unlikely]]
    self->write_facts(binding);
  self->persistent_ = binding.persistent;
  self->agreement_ = binding.agreement;
  CommColl& state = coll_state(comm);
  if (binding.persistent) {
    self->persistent_id_ = state.persistent_count++;
    // The runs of a persistent call are told apart by their order only: all of them go the same way.
    self->own_lane_ = false;
    self->deals_by_ =
        cached->plan.members.empty() ? state.lane : state.part_lane(comm, cached->plan.members, true);
  }
  self->channel_ =
      cached->plan.shared ? &state.channels[binding.persistent ? 1 + self->persistent_id_ : 0] : nullptr;
  return self;
}

void Execution::recycle(Execution* self) noexcept {
  HERALD_ASSERT(self->done_);
  self->clear_slots();
  if (self->op_ != nullptr) release(std::exchange(self->op_, nullptr));
  if (self->datatype_ != nullptr) release(std::exchange(self->datatype_, nullptr));
  self->then_ = nullptr;
  self->request_ = nullptr;
  coll::CachedPlan* cached = self->cached_;
  if (cached->idle == nullptr && self->block_bytes_ <= kLargestIdle &&
      idle_bytes + self->block_bytes_ <= kIdleBytes) {
    idle_bytes += self->block_bytes_;
    cached->idle = self;
    cached->drop_idle = [](void* idle) {
      idle_bytes -= static_cast<Execution*>(idle)->block_bytes_;
      destroy(idle);
    };
  } else {
    destroy(self);
  }
  release(cached);
}

void Execution::destroy(void* execution) noexcept {
  auto* self = static_cast<Execution*>(execution);
  for (std::uint32_t i = 0; i < self->cached_->plan.slots; ++i) self->slots_[i].~Slot();
  self->~Execution();
  ::operator delete(execution, kBlockAlign);
}

void Execution::clear_slots() noexcept {
  for (std::uint32_t i = 0; i < cached_->plan.slots; ++i) slots_[i].clear();
}

int Execution::run() noexcept {
  spinning_ = true;
  begin();
  look_out();
  if (done_) return error_;
  if (waiting_count_ != 0) enlist();
  wait_until([this] { return done_; });
  return error_;
}

void Execution::begin() noexcept {
  std::uint32_t tag = kPersistentTag;
  if (agreement_ >= 0) {
    tag |= (kTagCounts - static_cast<std::uint32_t>(agreement_)) << 8;
  } else if (persistent_) {
    tag |= (persistent_id_ & kTagCounts) << 8;
    if (channel_ != nullptr) number_ = channel_->take_number();
  } else {
    number_ = comm_->collective_count++;
    tag = static_cast<std::uint32_t>(tag_of_run(number_));
  }
  tag_ = static_cast<std::int32_t>(tag);
  error_ = MPI_SUCCESS;
  done_ = false;
  waiting_count_ = 0;
  ++coll_counters.runs;
  if (channel_ != nullptr) {
    ++coll_counters.shared_runs;
    channel_->begin(number_, cached_->plan.stream_writes);
  }
  if (process_trace.on()) [[unlikely]]
    process_trace.add(TraceEvent::coll_start, this, Trace::text(cached_->plan.operation),
                      Trace::text(cached_->plan.algorithm), tag_ >> 8);
  if (!persistent_) choose_lane();
  if (cached_->plan.has_fused) fused_ = static_cast<CommColl&>(*comm_->coll).fused_count++;
  run_.begin(cached_->plan, words_);
  advance();
}

void Execution::choose_lane() noexcept {
  CommColl& state = coll_state(*comm_);
  own_lane_ = false;
  deals_by_ = state.lane;
  if (cached_->plan.members.empty()) return;
  const std::string& groups = runtime().knobs().groups;
  own_lane_ = groups == "dynamic";
  deals_by_ = own_lane_ ? state.open_part(*comm_, cached_->plan.members)
                        : state.part_lane(*comm_, cached_->plan.members, groups != "auto");
}

void Execution::advance() noexcept {
  advancing_ = true;  // what completes at once is taken up by this loop, not by a deeper one
  for (;;) {
    for (coll::StepId id = run_.next(); id != coll::kNone; id = run_.next()) perform(id);
    if (bundles_ < 0) break;
    runtime().engine().flush_lane(std::exchange(bundles_, -1));
  }
  advancing_ = false;
  if (run_.done()) return finish();
  if (spinning_ || channel_ == nullptr) return;
  channel_->ring_wanted();
  if (waiting_count_ != 0) enlist();
}

void Execution::perform(coll::StepId id) noexcept {
  const coll::Step& step = cached_->plan.steps[id];
  switch (step.kind) {
    case coll::StepKind::send:
    case coll::StepKind::cast:
    case coll::StepKind::recv: post(step, id); return;
    case coll::StepKind::contribute:
    case coll::StepKind::gather:
    case coll::StepKind::announce: fused(step, id); return;
    case coll::StepKind::copy: {
      type::Cursor from = cursor(step.a, places_), to = cursor(step.b, places_);
      if (from.total() > to.total()) note(MPI_ERR_TRUNCATE);
      if (step.cold && step.a.layout == nullptr && step.b.layout == nullptr)
        copy_cold(places_.of(step.b), places_.of(step.a), std::min(step.a.bytes, step.b.bytes));
      else
        type::copy(from, to);
      break;
    }
    case coll::StepKind::reduce:
      note(reduce_into(*op_, *datatype_, places_.of(step.a), places_.of(step.b), step.a.count));
      break;
    case coll::StepKind::check:
      if (!check_facts(step)) return run_.abandon();
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
      int error = MPI_SUCCESS;
      Waiting waiting{id, 0};
      if (!channel_->attempt(number_, step, places_, {op_, datatype_}, waiting.progress, error)) {
        note(error);
        waiting_[waiting_count_++] = waiting;
        return;
      }
      note(error);
      break;
    }
  }
  run_.complete(id);
}

void Execution::post(const coll::Step& step, coll::StepId id) noexcept {
  Slot& slot = slots_[step.slot];
  slot.clear();
  slot.step = id;
  const auto fill = [&](p2p::Op& op) {
    op.on_done = on_done;
    op.owner = &slot;
    op.context = comm_->context | kCollective;
    op.tag = tag_ | step.tag;
    op.data = cursor(step.a, places_);
  };
  engine::Engine& engine = runtime().engine();
  if (step.kind != coll::StepKind::recv) {
    slot.live = Slot::Live::send;
    p2p::SendOp& op = *::new (&slot.send) p2p::SendOp();
    fill(op);
    if (step.kind == coll::StepKind::cast) op.lane = static_cast<CommColl&>(*comm_->coll).lane;
    if (step.kind == coll::StepKind::send) op.to = comm_->peer(step.partner);
    if (step.bundled && deals_by_ >= 0) {
      op.lane = bundles_ = deals_by_;
      op.bundled = true;
    }
    op.source = comm_->rank;
    engine.start(op);
  } else {
    slot.live = Slot::Live::recv;
    p2p::RecvOp& op = *::new (&slot.recv) p2p::RecvOp();
    fill(op);
    op.source = step.partner;
    op.awaited = comm_->peer(step.partner);
    engine.start(op);
  }
}

void Execution::fused(const coll::Step& step, coll::StepId id) noexcept {
  Slot& slot = slots_[step.slot];
  slot.clear();
  slot.step = id;
  slot.live = Slot::Live::fused;
  p2p::FusedOp& op = *::new (&slot.fused) p2p::FusedOp();
  op.on_done = on_done;
  op.owner = &slot;
  fill_fused(op, *comm_, step, places_, fused_);
  runtime().engine().start(op);
}

void Execution::on_done(p2p::Op& op) noexcept {
  Slot& slot = *static_cast<Slot*>(op.owner);
  Execution& self = *slot.owner;
  if (op.status != Status::ok) self.note(error_of(op.status));
  self.run_.complete(slot.step);
  if (!self.advancing_) self.advance();
}

void Execution::finish() noexcept {
  delist();
  if (channel_ != nullptr) {
    channel_->end(number_);
    if (!spinning_) channel_->ring_wanted();
  }
  if (own_lane_ && deals_by_ >= 0) runtime().engine().close_part(deals_by_);
  if (then_ != nullptr) note(then_(argument_));
  done_ = true;
  process_trace.add(TraceEvent::coll_done, this, error_);
  // A request that the user let go destroys this object: nothing may follow.
  if (request_ != nullptr) finish_work(*std::exchange(request_, nullptr), error_);
}

static coll::Groups groups_wanted() noexcept {
  const std::string& groups = runtime().knobs().groups;
  if (groups == "auto") return coll::Groups::pick;
  return groups == "static" ? coll::Groups::whole : coll::Groups::part;
}

CommColl& make_coll_state(Comm& comm) noexcept {
  comm.coll = std::make_shared<CommColl>();
  return static_cast<CommColl&>(*comm.coll);
}

void write_key_head(coll::Key& key, const coll::CollSpec& ask) noexcept {
  std::int64_t* words = key.data();
  words[0] = static_cast<std::int64_t>(ask.op) | (ask.in_place ? 256 : 0) | (ask.commutes ? 512 : 0) |
             (ask.streams ? 1024 : 0) | (ask.sides != nullptr ? 2048 : 0) | (ask.in_order ? 4096 : 0) |
             static_cast<std::int64_t>(ask.shared_bytes) << 13 | static_cast<std::int64_t>(ask.root) << 32;
  words[1] = ask.send.count;
  words[2] = ask.recv.count;
  coll::Key::write_layout(ask.send.layout, words + 3);
  coll::Key::write_layout(ask.recv.layout, words + 5);
}

coll::CachedPlan* find_plan(Comm& comm, const coll::CollSpec& ask, const coll::Key& key,
                            std::span<const type::Layout* const> more) noexcept {
  coll::PlanCache& plans = coll_state(comm).plans;
  const std::uint64_t hash = key.hash();
  if (coll::CachedPlan* cached = plans.find(key, hash)) return cached;
  std::vector<const type::Layout*> named = {ask.send.layout, ask.recv.layout};
  named.insert(named.end(), more.begin(), more.end());
  if (ask.sides != nullptr) return plans.add(make_plan_between(ask), key, hash, named);
  const coll::Shape shape = coll_state(comm).shape_for(comm, ask);
  coll::CollSpec placed = ask;
  placed.groups = groups_wanted();
  if (shape.hosts > 1 && shape.hosts < shape.ranks) placed.cluster = coll_state(comm).cluster.get();
  coll::CachedPlan* cached =
      plans.add(make_plan(choose_algorithm(ask, shape), placed, checks_collectives()), key, hash, named);
  cached->facts = coll::facts_of(ask);
  return cached;
}

}  // namespace herald::mpi
