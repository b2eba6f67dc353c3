// SPDX-License-Identifier: BSD-3-Clause
// Alltoall in shared memory: each rank posts all of its blocks and reads its own out of the others' posts.
// Every byte is copied once, without messages; oversubscribed ranks are scheduled twice each.
#include "coll/make/shared.hpp"

namespace herald::coll {
namespace {

std::uint64_t all_of(std::uint64_t block, int ranks) noexcept {
  return block * static_cast<std::uint64_t>(ranks);
}

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const int others = shape.ranks - 1;
  return shared_ns(shape, all_of(bytes, shape.ranks), 1, 1, static_cast<double>(bytes) * others, others);
}

void make(const CollSpec& spec, Builder& b) noexcept {
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

}  // namespace

const Algorithm kAlltoallShared{
    Op::alltoall, "shared", "all post their blocks in shared memory, each reads its own",
    fits_shared,  estimate, make};

}  // namespace herald::coll
