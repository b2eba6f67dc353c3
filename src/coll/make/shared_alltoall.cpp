// SPDX-License-Identifier: BSD-3-Clause
// All-to-all among ranks that share memory: each posts all of its blocks, each reads its own out of them.
// Every byte is moved once, with no message and no answer; where ranks outnumber processors each needs two
// turns.
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

void make(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const std::uint64_t all = all_of(ask.bytes, ask.size);
  const bool by_copy = all <= ask.shared_bytes;
  Piece out = ask.in_place ? ask.recv.range(0, ask.size) : ask.send.range(0, ask.size);
  StepId ready = kNone;
  if (ask.in_place && !by_copy) {  // what the others are to read would be overwritten
    const Piece room = b.scratch(all);
    ready = b.copy(out, room);
    out = room;
  }
  StepId got = post_to_all(ask, b, 0, out, by_copy, {ready});
  for (int i = 1; i < ask.size; ++i) {
    const int from = (ask.rank + i) % ask.size;
    got = b.fetch(from, 0, ask.recv.block(from), ask.bytes * static_cast<std::uint64_t>(ask.rank), false,
                  {got});
  }
  if (!ask.in_place) b.copy(ask.send.block(ask.rank), ask.recv.block(ask.rank));
  if (!by_copy) meet_all(b, 1, {got});
}

}  // namespace

const Algorithm kAlltoallShared{
    Op::alltoall, "shared", "all post their blocks in shared memory, each reads its own",
    fits_shared,  estimate, make};

}  // namespace herald::coll
