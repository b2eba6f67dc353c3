// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/plan.hpp"

#include <algorithm>
#include <utility>

#include "base/trace.hpp"
#include "mpi/coll/choice.hpp"
#include "mpi/coll/state.hpp"

namespace herald::mpi {
namespace {

constexpr std::size_t kKeyHead = 7;

void write_key_head(coll::Key& key, const coll::CollSpec& spec) noexcept {
  std::int64_t* words = key.data();
  words[0] = static_cast<std::int64_t>(spec.op) | (spec.in_place ? 256 : 0) | (spec.commutes ? 512 : 0) |
             (spec.streams ? 1024 : 0) | (spec.sides != nullptr ? 2048 : 0) | (spec.in_order ? 4096 : 0) |
             static_cast<std::int64_t>(spec.shared_bytes) << 13 | static_cast<std::int64_t>(spec.root) << 32;
  words[1] = spec.send.count;
  words[2] = spec.recv.count;
  coll::Key::write_layout(spec.send.layout, words + 3);
  coll::Key::write_layout(spec.recv.layout, words + 5);
}

// The key owns the counts, and may have moved since they were written.
void point_to_rows(CollCall& call, const coll::Key& key) noexcept {
  const std::int64_t* words = key.words().data();
  const auto point = [&](coll::Blocks& blocks, const CollCall::Rows& rows,
                         const std::vector<const type::Layout*>& layouts) {
    if (!rows.used) return;
    blocks.counts = words + rows.at;
    blocks.displacements = words + rows.at + rows.count;
    if (!layouts.empty()) blocks.layouts = layouts.data();
  };
  point(call.spec.send, call.send_rows, call.send_layouts);
  point(call.spec.recv, call.recv_rows, call.recv_layouts);
}

// Bytes that the busiest link carries in the best case, if the call is long enough to tell its speed; else 0.
std::uint64_t timed_bytes(const coll::CollSpec& spec, const coll::Shape& shape) noexcept {
  const auto others = static_cast<std::uint64_t>(spec.size - 1);
  if (shape.hosts != shape.ranks) return 0;
  switch (spec.op) {
    case coll::Op::bcast:
    case coll::Op::reduce: return spec.bytes;
    case coll::Op::allreduce: return spec.bytes * 2 / static_cast<std::uint64_t>(spec.size) * others;
    case coll::Op::gather:
    case coll::Op::scatter:
    case coll::Op::allgather:
    case coll::Op::alltoall: return spec.bytes * others;
    default: return 0;
  }
}

// For timelines. A v-collective whose sizes not every rank knows: the mean block of this rank.
void describe_call(const coll::CollSpec& spec, coll::Plan& plan) noexcept {
  plan.root = spec.sides == nullptr ? coll::facts_of(spec).root : -1;
  plan.call_bytes = spec.bytes;
  if (spec.bytes != 0 || spec.neighbors != nullptr || spec.send.layout == nullptr) return;
  const bool one_block = spec.op == coll::Op::gatherv;
  const int blocks = one_block ? 1 : spec.size;
  if (!one_block && spec.send.counts == nullptr) return;
  for (int i = 0; i < blocks; ++i) plan.call_bytes += spec.send.bytes(i) / static_cast<std::uint64_t>(blocks);
}

coll::Plan make_plan(CommColl& state, const coll::CollSpec& spec) noexcept {
  if (spec.sides != nullptr) return coll::make_plan_between(spec);
  if (spec.neighbors != nullptr) {
    coll::CollSpec placed = spec;
    placed.cluster = &state.team.cluster();
    return coll::make_plan(coll::kNeighborhood, placed, checks_collectives());
  }
  const coll::Shape shape = state.team.shape_for(spec);
  coll::Trials::Id trial = 0;
  const coll::Algorithm& chosen = choose_algorithm(spec, shape, state, trial);
  coll::Plan plan = coll::make_plan(chosen, state.team.place(spec, shape), checks_collectives());
  plan.trial = trial;
  const std::uint64_t timed = timed_bytes(spec, shape);
  if (timed >= exec::Speed::kLongBytes) plan.timed_bytes = timed;
  return plan;
}

}  // namespace

coll::Key& new_key(Comm& comm) noexcept {
  coll::Key& key = coll_state(comm).key;
  key.clear();
  key.grow(kKeyHead);
  return key;
}

coll::CachedPlan* find_plan(Comm& comm, CollCall& call, coll::Key& key) noexcept {
  write_key_head(key, call.spec);
  CommColl& state = coll_state(comm);
  const std::uint64_t hash = key.hash();
  if (coll::CachedPlan* cached = state.plans.find(key, hash)) return cached;
  point_to_rows(call, key);
  std::vector<const type::Layout*> named = {call.spec.send.layout, call.spec.recv.layout};
  named.insert(named.end(), call.send_layouts.begin(), call.send_layouts.end());
  named.insert(named.end(), call.recv_layouts.begin(), call.recv_layouts.end());
  coll::Plan plan = make_plan(state, call.spec);
  if (process_trace.is_recording()) {
    describe_call(call.spec, plan);
    process_trace.add(TraceEvent::coll_comm, std::uint64_t{0}, state.team.trace_id(), state.team.rank(),
                      state.team.size());
  }
  coll::CachedPlan* cached = state.plans.add(std::move(plan), key, hash, named);
  const std::int64_t count = std::max(call.spec.send.count, call.spec.recv.count);
  process_trace.add(TraceEvent::plan, std::uint64_t{0}, Trace::text(cached->plan.operation),
                    Trace::text(cached->plan.algorithm),
                    static_cast<std::int32_t>(std::min<std::int64_t>(count, INT32_MAX)));
  if (cached->plan.checked) cached->facts = coll::facts_of(call.spec);
  return cached;
}

}  // namespace herald::mpi
