// SPDX-License-Identifier: BSD-3-Clause
// Barrier, broadcast, gather and allgather among ranks that share memory.
#include "coll/make/shared.hpp"

namespace herald::coll {
namespace {

double estimate_barrier(std::uint64_t, const Shape& shape) noexcept { return barrier_ns(shape); }

void make_barrier(const CollSpec& ask, Builder& b) noexcept {
  if (ask.size != 2) {
    meet_all(b, 0, {});
    return;
  }
  b.post(0, Piece{}, true, 1 - ask.rank);
  b.fetch(1 - ask.rank, 0, Piece{}, 0, true);
}

double estimate_bcast(std::uint64_t bytes, const Shape& shape) noexcept {
  return shared_ns(shape, bytes, 1, 1, static_cast<double>(bytes), 1);
}

void make_bcast(const CollSpec& ask, Builder& b) noexcept {
  const Piece data = ask.recv.range(0, 1);
  if (data.bytes == 0) return;
  if (ask.rank == ask.root) {
    const StepId posted = b.post(0, data, copied(ask), kEverybody);
    if (!copied(ask)) b.meet(0, {b.arrive(0, kNobody, {posted})});
    return;
  }
  const StepId got = b.fetch(ask.root, 0, data, 0, true);
  if (!copied(ask)) b.arrive(0, ask.root, {got});
}

double estimate_gather(std::uint64_t bytes, const Shape& shape) noexcept {
  const int others = shape.ranks - 1;
  Shape one = shape;  // the root alone reads
  one.oversubscribed = false;
  return shared_ns(one, bytes, 1, 1, static_cast<double>(bytes) * others, others) +
         (bytes > shape.shared_bytes && shape.oversubscribed ? 2 * crowd(shape) * kSharedSwitchNs : 0);
}

void make_gather(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const bool two = ask.size == 2;
  if (ask.rank != ask.root) {
    const StepId posted = b.post(0, ask.send.range(0, 1), copied(ask), two ? ask.root : kNobody);
    if (!two) b.arrive(0, ask.root, {posted});
    if (!copied(ask)) b.fetch(ask.root, 1, Piece{}, 0, true);  // it has read ours
    return;
  }
  const StepId here = two ? kNone : b.meet(0, {b.arrive(0, kNobody)});
  StepId got = here;
  for (int i = 1; i < ask.size; ++i) {
    const int from = ask.absolute(i);
    got = b.fetch(from, 0, ask.recv.block(from), 0, true, {got});
  }
  if (!ask.in_place) b.copy(ask.send.range(0, 1), ask.recv.block(ask.rank));
  if (!copied(ask)) b.post(1, Piece{}, true, kEverybody, {got});
}

double estimate_allgather(std::uint64_t bytes, const Shape& shape) noexcept {
  const int others = shape.ranks - 1;
  return shared_ns(shape, bytes, 1, 1, static_cast<double>(bytes) * others, others);
}

// Each writes into the other's memory: what it wrote to its own result just before, it reads out of its
// cache.
void exchange(const CollSpec& ask, Builder& b) noexcept {
  const int other = 1 - ask.rank;
  const Piece place = ask.recv.block(ask.rank), mine = ask.in_place ? place : ask.send.range(0, 1);
  const Piece theirs = ask.recv.block(other);
  const bool direct = Builder::is_one_run(theirs);
  const Piece room = direct ? theirs : b.scratch(theirs.bytes);
  b.post(0, room, false, other);
  if (!ask.in_place) b.copy(mine, place);
  const StepId here = meet_all(b, 1, {b.put(other, 0, mine)});
  if (!direct) b.copy(room, theirs, {here});
}

void make_allgather(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  if (ask.size == 2 && !copied(ask)) return exchange(ask, b);
  const Piece place = ask.recv.block(ask.rank), mine = ask.in_place ? place : ask.send.range(0, 1);
  StepId got = post_to_all(ask, b, 0, mine, copied(ask));
  for (int i = 1; i < ask.size; ++i) {
    const int from = (ask.rank + i) % ask.size;
    got = b.fetch(from, 0, ask.recv.block(from), 0, true, {got});
  }
  if (!ask.in_place) b.copy(mine, place);
  if (!copied(ask)) meet_all(b, 1, {got});
}

}  // namespace

const Algorithm kBarrierShared{Op::barrier, "shared",         "flags in shared memory",
                               fits_shared, estimate_barrier, make_barrier};
const Algorithm kBcastShared{Op::bcast,
                             "shared",
                             "the root posts in shared memory, all read; long data straight from the root",
                             fits_shared,
                             estimate_bcast,
                             make_bcast};
const Algorithm kGatherShared{Op::gather,
                              "shared",
                              "all post in shared memory, the root reads; long data straight from its owner",
                              fits_shared,
                              estimate_gather,
                              make_gather};
const Algorithm kAllgatherShared{Op::allgather,
                                 "shared",
                                 "all post in shared memory, all read; long data straight from its owner",
                                 fits_shared,
                                 estimate_allgather,
                                 make_allgather};

}  // namespace herald::coll
