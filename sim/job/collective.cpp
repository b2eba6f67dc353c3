// SPDX-License-Identifier: BSD-3-Clause
// sim/job/collective.cpp: see collective.hpp.
#include "sim/job/collective.hpp"

#include <string_view>

#include "type/pack.hpp"

namespace herald::sim {

using coll::Op;

bool is_rare(coll::Op op) noexcept {
  return op == Op::alltoallw || op == Op::reduce_scatter || op == Op::scan || op == Op::exscan;
}

bool is_deal(const coll::Algorithm& algorithm) noexcept {
  return algorithm.name == std::string_view("packed_cast");
}

bool is_fused(const coll::Algorithm& algorithm) noexcept {
  return algorithm.name == std::string_view("fused");
}

Collective::Collective(const Script& script, std::uint32_t index, std::int32_t place, std::int32_t lane_id,
                       std::uint64_t seed, p2p::Core& core, StartFused start_fused)
    : spec_(script.collectives[index]),
      lane_(script.lanes[spec_.lane]),
      place_(place),
      lane_id_(lane_id),
      deals_by_(lane_id),
      core_(core),
      start_fused_(std::move(start_fused)),
      data_(script, index, place, seed) {
  plan_ = coll::make_plan(*spec_.algorithm, data_.coll_spec());
  scratch_.resize(plan_.scratch_bytes + 64);
  places_.at[0] = reinterpret_cast<std::uintptr_t>(data_.send());
  places_.at[1] = reinterpret_cast<std::uintptr_t>(data_.recv());
  places_.at[2] = (reinterpret_cast<std::uintptr_t>(scratch_.data()) + 63) / 64 * 64;
  words_.resize(coll::Run::words(plan_) + 1);
  slots_ = std::vector<Slot>(plan_.slots);
  for (Slot& slot : slots_) slot.owner = this;
}

std::string Collective::awaited() const {
  std::string out;
  for (const Slot& slot : slots_) {
    if (slot.recv != nullptr && !slot.recv->done)
      out += " from " + std::to_string(slot.recv->awaited) +
             (slot.recv->phase == p2p::RecvPhase::posted ? "" : "+");
    if (slot.send != nullptr && !slot.send->done)
      out += slot.send->lane >= 0 ? " to all" : " to " + std::to_string(slot.send->to);
    if (slot.fused != nullptr && !slot.fused->done)
      out += (slot.fused->step == p2p::FusedStep::contribute ? " result of fused exchange "
                                                             : " contributions of fused exchange ") +
             std::to_string(fused_);
  }
  return out;
}

void Collective::start(Instant now) {
  started_at = now;
  run_.begin(plan_, words_.data());
  advance();
}

void Collective::advance() {
  advancing_ = true;
  for (coll::StepId id = run_.next(); id != coll::kNone; id = run_.next()) perform(id);
  advancing_ = false;
}

void Collective::perform(coll::StepId id) {
  const coll::Step& step = plan_.steps[id];
  switch (step.kind) {
    case coll::StepKind::send:
    case coll::StepKind::recv:
    case coll::StepKind::cast: return post(step, id);
    case coll::StepKind::contribute:
    case coll::StepKind::gather:
    case coll::StepKind::announce: return fused(step, id);
    case coll::StepKind::copy: {
      type::Cursor from = cursor(step.a, places_), to = cursor(step.b, places_);
      type::copy(from, to);
      break;
    }
    case coll::StepKind::reduce: {
      const auto* left = static_cast<const std::uint32_t*>(places_.of(step.a));
      auto* sum = static_cast<std::uint32_t*>(places_.of(step.b));
      for (std::int64_t i = 0; i < step.a.count; ++i) sum[i] += left[i];
      break;
    }
    default: HERALD_ASSERT(!"a step that needs shared memory");
  }
  run_.complete(id);
}

void Collective::post(const coll::Step& step, coll::StepId id) {
  Slot& slot = slots_[step.slot];
  slot.step = id;
  const auto fill = [&](p2p::Op& op) {
    op.on_done = on_done;
    op.owner = &slot;
    op.context = lane_.context;
    op.tag = static_cast<std::int32_t>(spec_.number << 8 | step.tag);
    op.data = cursor(step.a, places_);
  };
  if (step.kind == coll::StepKind::recv) {
    slot.recv = std::make_unique<p2p::RecvOp>();
    fill(*slot.recv);
    slot.recv->source = step.partner;
    slot.recv->awaited = lane_.members[static_cast<std::size_t>(step.partner)];
    core_.start(*slot.recv);
    return;
  }
  slot.send = std::make_unique<p2p::SendOp>();
  fill(*slot.send);
  slot.send->bundled = step.bundled && deals_by_ >= 0;
  if (step.kind == coll::StepKind::cast) slot.send->lane = lane_id_;
  if (slot.send->bundled) slot.send->lane = deals_by_;
  if (step.kind == coll::StepKind::send)
    slot.send->to = lane_.members[static_cast<std::size_t>(step.partner)];
  slot.send->incomplete = lost_a_peer(status_);
  slot.send->source = place_;
  core_.start(*slot.send);
}

void Collective::fused(const coll::Step& step, coll::StepId id) {
  Slot& slot = slots_[step.slot];
  slot.step = id;
  slot.fused = std::make_unique<p2p::FusedOp>();
  p2p::FusedOp& op = *slot.fused;
  op.on_done = on_done;
  op.owner = &slot;
  op.step = step.kind == coll::StepKind::contribute ? p2p::FusedStep::contribute
            : step.kind == coll::StepKind::gather   ? p2p::FusedStep::gather
                                                    : p2p::FusedStep::announce;
  op.lane = lane_id_;
  op.number = fused_;
  op.incomplete = lost_a_peer(status_);
  op.members = static_cast<std::uint32_t>(step.partner);
  op.data = cursor(step.a, places_);
  if (step.kind == coll::StepKind::contribute) op.into = cursor(step.b, places_);
  start_fused_(op);
}

// A failed step counts as complete, as in the library: other members may wait for the steps after it. They
// are told that data is missing.
void Collective::on_done(p2p::Op& op) {
  Slot& slot = *static_cast<Slot*>(op.owner);
  Collective& self = *slot.owner;
  if (op.status != Status::ok && self.status_ == Status::ok) self.status_ = op.status;
  self.run_.complete(slot.step);
  if (!self.advancing_) self.advance();
}

}  // namespace herald::sim
