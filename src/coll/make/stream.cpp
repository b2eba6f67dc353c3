// SPDX-License-Identifier: BSD-3-Clause
// Collectives of long data through chunks of shared memory.
#include "coll/make/makers.hpp"
#include "coll/make/shared.hpp"

namespace herald::coll {
namespace {

bool fits_stream(const Shape& shape) noexcept { return fits_shared(shape) && shape.streams; }
// Both copies overlap; a chunk that another core has just written is slower to read.
double stream_ns(const Shape& shape, double bytes) noexcept { return bytes * shape.cost.copy_byte_ns * 1.4; }

// Broadcast of long data in shared memory: the root copies chunks in while the other ranks copy them out.
double estimate_bcast(std::uint64_t bytes, const Shape& shape) noexcept {
  return 2 * barrier_ns(shape) + oversubscription(shape) * stream_ns(shape, static_cast<double>(bytes));
}

void make_bcast(const CollSpec& spec, Builder& b) noexcept {
  const Piece data = spec.recv.range(0, 1);
  if (data.bytes == 0) return;
  if (spec.rank == spec.root)
    b.stream_write(kAllRanks, data);
  else
    b.stream_read(spec.root, data);
}

// Gather and allgather of long data through chunks of shared memory: a rank that has copied its own data in
// need not wait until the others have read it.
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

// Reduce and allreduce of long vectors through chunks of shared memory: all others write their vectors into
// chunks, one rank reduces them chunk by chunk and streams the result back. One rank does all the arithmetic:
// for few ranks, and for oversubscribed ones, which would wait for each other more often if they shared it.
// Items with gaps, or larger than a chunk, go by messages. The same at every rank.
bool streams(const Piece& own) noexcept {
  return own.layout->dense() && own.layout->size() <= static_cast<std::int64_t>(kStreamChunk);
}

// A chunk is read and reduced in one pass.
double stream_reduce_ns(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = static_cast<double>(bytes) * (shape.ranks - 1);
  return 2 * barrier_ns(shape) + stream_ns(shape, others) + others * shape.cost.reduce_byte_ns / 4;
}

double estimate_reduce(std::uint64_t bytes, const Shape& shape) noexcept {
  return stream_reduce_ns(bytes, shape);
}

void make_reduce(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const Piece own = spec.own();
  if (!streams(own)) return find_algorithm(Op::reduce, "binomial")->make(spec, b);
  if (spec.rank == spec.root)
    b.stream_reduce(own, spec.result(), kNoRank);
  else
    b.stream_write(spec.root, own, static_cast<std::uint32_t>(own.layout->size()));
}

double estimate_allreduce(std::uint64_t bytes, const Shape& shape) noexcept {
  // The first chunks of the result are read while the last ones are reduced.
  return stream_reduce_ns(bytes, shape) + stream_ns(shape, static_cast<double>(bytes)) * 0.7;
}

void make_allreduce(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const Piece own = spec.own();
  if (!streams(own)) return find_algorithm(Op::allreduce, "doubling")->make(spec, b);
  const auto unit = static_cast<std::uint32_t>(own.layout->size());
  if (spec.rank == 0) {
    b.stream_reduce(own, spec.result(), kAllRanks);
    return;
  }
  b.stream_write(0, own, unit);
  b.stream_read(0, spec.result(), unit);
}

constexpr Algorithm kRows[] = {
    {Op::bcast, "stream", "the root fills chunks of shared memory while all others read them", fits_stream,
     estimate_bcast, make_bcast},
    {Op::gather, "stream", "each fills chunks of shared memory, the root reads them", fits_stream,
     estimate_gather, make_gather},
    {Op::allgather, "stream", "each fills chunks of shared memory while all others read them", fits_stream,
     estimate_allgather, make_allgather},
    {Op::reduce, "stream", "all others fill chunks of shared memory, the root reduces them", fits_stream,
     estimate_reduce, make_reduce},
    {Op::allreduce, "stream",
     "all others fill chunks of shared memory, one reduces them, all read the result", fits_stream,
     estimate_allreduce, make_allreduce},
};

}  // namespace

constinit const std::span<const Algorithm> kStreamAlgorithms = kRows;

}  // namespace herald::coll
