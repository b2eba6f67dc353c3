// SPDX-License-Identifier: BSD-3-Clause
// Gather and allgather among ranks that share memory, of long data, through chunks of shared memory: who has
// copied in what is its own need not wait until the others have read it.
#include "coll/make/stream.hpp"

namespace herald::coll {
namespace {

// Before the root can read, the first chunks must be there.
double estimate_gather(std::uint64_t bytes, const Shape& shape) noexcept {
  const double blocks = shape.ranks - 1 + (shape.oversubscribed ? 0 : 0.5);
  return 2 * barrier_ns(shape) + stream_ns(shape, static_cast<double>(bytes) * blocks);
}

void make_gather(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  if (ask.rank != ask.root) {
    b.stream_write(ask.root, ask.send.range(0, 1));
    return;
  }
  for (int i = 1; i < ask.size; ++i) b.draw(ask.absolute(i), ask.recv.block(ask.absolute(i)));
  if (!ask.in_place) b.copy(ask.send.range(0, 1), ask.recv.block(ask.rank));
}

// What all ranks get together, from so many bytes on, does not stay in the caches. It is then written past
// them; the kernel, where ranks read each other's memory, does not.
constexpr std::uint64_t kColdBytes = 32u << 20;
constexpr double kColdGain = 0.7;
bool is_cold(std::uint64_t bytes, int ranks) noexcept {
  const auto n = static_cast<std::uint64_t>(ranks);
  return bytes >= kColdBytes / (n * n);
}

// Where each rank has a processor, the chunks go from one to the other twice: reading once is better.
double estimate_allgather(std::uint64_t bytes, const Shape& shape) noexcept {
  const double stream_written = shape.oversubscribed ? 1 : shape.ranks;
  const double gain = shape.oversubscribed && is_cold(bytes, shape.ranks) ? kColdGain : 1;
  return 2 * barrier_ns(shape) +
         crowd(shape) * gain *
             stream_ns(shape, static_cast<double>(bytes) * (shape.ranks - 1 + stream_written));
}

void make_allgather(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const bool cold = is_cold(ask.bytes, ask.size);
  const Piece place = ask.recv.block(ask.rank), mine = ask.in_place ? place : ask.send.range(0, 1);
  b.stream_write(kEverybody, mine);
  for (int i = 1; i < ask.size; ++i) {
    const int from = (ask.rank + i) % ask.size;
    b.draw(from, ask.recv.block(from), 1, cold);
  }
  if (!ask.in_place) b.copy(mine, place, {}, cold);
}

}  // namespace

const Algorithm kGatherStream{
    Op::gather,  "stream",        "each fills chunks of shared memory, the root reads them",
    fits_stream, estimate_gather, make_gather};
const Algorithm kAllgatherStream{
    Op::allgather, "stream",           "each fills chunks of shared memory while all others read them",
    fits_stream,   estimate_allgather, make_allgather};

}  // namespace herald::coll
