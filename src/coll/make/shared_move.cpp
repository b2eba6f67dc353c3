// SPDX-License-Identifier: BSD-3-Clause
// Collectives in shared memory that move data.
#include "coll/make/makers.hpp"
#include "coll/make/shared.hpp"

namespace herald::coll {
namespace {

// Barrier, broadcast, gather and allgather in shared memory.
double estimate_barrier(std::uint64_t, const Shape& shape) noexcept { return barrier_ns(shape); }

void make_barrier(const CollSpec& spec, Builder& b) noexcept {
  if (spec.size != 2) {
    wait_for_all(b, 0, {});
    return;
  }
  b.post(0, Piece{}, true, 1 - spec.rank);
  b.fetch(1 - spec.rank, 0, Piece{}, 0, true);
}

double estimate_bcast(std::uint64_t bytes, const Shape& shape) noexcept {
  return shared_ns(shape, bytes, 1, 1, static_cast<double>(bytes), 1);
}

void make_bcast(const CollSpec& spec, Builder& b) noexcept {
  const Piece data = spec.recv.range(0, 1);
  if (data.bytes == 0) return;
  if (spec.rank == spec.root) {
    const StepId posted = b.post(0, data, copied(spec), kAllRanks);
    if (!copied(spec)) b.wait_arrived(0, {b.arrive(0, kNoRank, {posted})});
    return;
  }
  const StepId got = b.fetch(spec.root, 0, data, 0, true);
  if (!copied(spec)) b.arrive(0, spec.root, {got});
}

double estimate_gather(std::uint64_t bytes, const Shape& shape) noexcept {
  const int others = shape.ranks - 1;
  Shape one = shape;  // only the root reads
  one.oversubscribed = false;
  return shared_ns(one, bytes, 1, 1, static_cast<double>(bytes) * others, others) +
         (bytes > shape.shared_bytes && shape.oversubscribed ? 2 * oversubscription(shape) * kSharedSwitchNs
                                                             : 0);
}

void make_gather(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const bool two = spec.size == 2;
  if (spec.rank != spec.root) {
    const StepId posted = b.post(0, spec.send.range(0, 1), copied(spec), two ? spec.root : kNoRank);
    if (!two) b.arrive(0, spec.root, {posted});
    if (!copied(spec)) b.fetch(spec.root, 1, Piece{}, 0, true);  // the root has read our block
    return;
  }
  const StepId here = two ? kNone : b.wait_arrived(0, {b.arrive(0, kNoRank)});
  StepId got = here;
  for (int i = 1; i < spec.size; ++i) {
    const int from = spec.absolute(i);
    got = b.fetch(from, 0, spec.recv.block(from), 0, true, {got});
  }
  if (!spec.in_place) b.copy(spec.send.range(0, 1), spec.recv.block(spec.rank));
  if (!copied(spec)) b.post(1, Piece{}, true, kAllRanks, {got});
}

double estimate_allgather(std::uint64_t bytes, const Shape& shape) noexcept {
  const int others = shape.ranks - 1;
  return shared_ns(shape, bytes, 1, 1, static_cast<double>(bytes) * others, others);
}

// Each rank writes into the other's memory: it reads from its cache the data that it has just copied to its
// own result.
void exchange(const CollSpec& spec, Builder& b) noexcept {
  const int other = 1 - spec.rank;
  const Piece place = spec.recv.block(spec.rank), mine = spec.in_place ? place : spec.send.range(0, 1);
  const Piece theirs = spec.recv.block(other);
  const bool direct = is_one_run(theirs);
  const Piece room = direct ? theirs : b.scratch(theirs.bytes);
  b.post(0, room, false, other);
  if (!spec.in_place) b.copy(mine, place);
  const StepId here = wait_for_all(b, 1, {b.put(other, 0, mine)});
  if (!direct) b.copy(room, theirs, {here});
}

void make_allgather(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  if (spec.size == 2 && !copied(spec)) return exchange(spec, b);
  const Piece place = spec.recv.block(spec.rank), mine = spec.in_place ? place : spec.send.range(0, 1);
  StepId got = post_to_all(spec, b, 0, mine, copied(spec));
  for (int i = 1; i < spec.size; ++i) {
    const int from = (spec.rank + i) % spec.size;
    got = b.fetch(from, 0, spec.recv.block(from), 0, true, {got});
  }
  if (!spec.in_place) b.copy(mine, place);
  if (!copied(spec)) wait_for_all(b, 1, {got});
}

// Alltoall in shared memory: each rank posts all of its blocks and reads its own out of the others' posts.
// Every byte is copied once, without messages; oversubscribed ranks are scheduled twice each.
std::uint64_t all_of(std::uint64_t block, int ranks) noexcept {
  return block * static_cast<std::uint64_t>(ranks);
}

double estimate_alltoall(std::uint64_t bytes, const Shape& shape) noexcept {
  const int others = shape.ranks - 1;
  return shared_ns(shape, all_of(bytes, shape.ranks), 1, 1, static_cast<double>(bytes) * others, others);
}

void make_alltoall(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const std::uint64_t all = all_of(spec.bytes, spec.size);
  const bool by_copy = all <= spec.shared_bytes;
  Piece out = spec.in_place ? spec.recv.range(0, spec.size) : spec.send.range(0, spec.size);
  StepId ready = kNone;
  if (spec.in_place && !by_copy) {  // receives would overwrite data that the others still read
    const Piece room = b.scratch(all);
    ready = b.copy(out, room);
    out = room;
  }
  StepId got = post_to_all(spec, b, 0, out, by_copy, {ready});
  for (int i = 1; i < spec.size; ++i) {
    const int from = (spec.rank + i) % spec.size;
    got = b.fetch(from, 0, spec.recv.block(from), spec.bytes * static_cast<std::uint64_t>(spec.rank), false,
                  {got});
  }
  if (!spec.in_place) b.copy(spec.send.block(spec.rank), spec.recv.block(spec.rank));
  if (!by_copy) wait_for_all(b, 1, {got});
}

constexpr Algorithm kRows[] = {
    {Op::barrier, "shared", "flags in shared memory", fits_shared, estimate_barrier, make_barrier},
    {Op::bcast, "shared", "the root posts in shared memory, all read; long data directly from the root",
     fits_shared, estimate_bcast, make_bcast},
    {Op::gather, "shared", "all post in shared memory, the root reads; long data directly from its owner",
     fits_shared, estimate_gather, make_gather},
    {Op::allgather, "shared", "all post in shared memory, all read; long data directly from its owner",
     fits_shared, estimate_allgather, make_allgather},
    {Op::alltoall, "shared", "all post their blocks in shared memory, each reads its own", fits_shared,
     estimate_alltoall, make_alltoall},
};

}  // namespace

constinit const std::span<const Algorithm> kSharedMoveAlgorithms = kRows;

}  // namespace herald::coll
