// SPDX-License-Identifier: BSD-3-Clause
// Gather and allgather of long data through chunks of shared memory: a rank that has copied its own data in
// need not wait until the others have read it.
#include "coll/make/stream.hpp"

namespace herald::coll {
namespace {

// The root can read only after the first chunks have been written.
double estimate_gather(std::uint64_t bytes, const Shape& shape) noexcept {
  const double blocks = shape.ranks - 1 + (shape.oversubscribed ? 0 : 0.5);
  return 2 * barrier_ns(shape) + stream_ns(shape, static_cast<double>(bytes) * blocks);
}

void make_gather(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  if (spec.rank != spec.root) {
    b.stream_write(spec.root, spec.send.range(0, 1));
    return;
  }
  for (int i = 1; i < spec.size; ++i) b.stream_read(spec.absolute(i), spec.recv.block(spec.absolute(i)));
  if (!spec.in_place) b.copy(spec.send.range(0, 1), spec.recv.block(spec.rank));
}

// A result of at least so many bytes does not stay in the caches, so it is written with non-temporal stores;
// the kernel does not do so when ranks read each other's memory.
constexpr std::uint64_t kColdBytes = 32u << 20;
constexpr double kColdGain = 0.7;
bool is_cold(std::uint64_t bytes, int ranks) noexcept {
  const auto n = static_cast<std::uint64_t>(ranks);
  return bytes >= kColdBytes / (n * n);
}

// If each rank has a core, chunks cross between cores twice: a single read is better.
double estimate_allgather(std::uint64_t bytes, const Shape& shape) noexcept {
  const double stream_written = shape.oversubscribed ? 1 : shape.ranks;
  const double gain = shape.oversubscribed && is_cold(bytes, shape.ranks) ? kColdGain : 1;
  return 2 * barrier_ns(shape) +
         oversubscription(shape) * gain *
             stream_ns(shape, static_cast<double>(bytes) * (shape.ranks - 1 + stream_written));
}

void make_allgather(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const bool cold = is_cold(spec.bytes, spec.size);
  const Piece place = spec.recv.block(spec.rank), mine = spec.in_place ? place : spec.send.range(0, 1);
  b.stream_write(kAllRanks, mine);
  for (int i = 1; i < spec.size; ++i) {
    const int from = (spec.rank + i) % spec.size;
    b.stream_read(from, spec.recv.block(from), 1, cold);
  }
  if (!spec.in_place) b.copy(mine, place, {}, cold);
}

}  // namespace

const Algorithm kGatherStream{
    Op::gather,  "stream",        "each fills chunks of shared memory, the root reads them",
    fits_stream, estimate_gather, make_gather};
const Algorithm kAllgatherStream{
    Op::allgather, "stream",           "each fills chunks of shared memory while all others read them",
    fits_stream,   estimate_allgather, make_allgather};

}  // namespace herald::coll
