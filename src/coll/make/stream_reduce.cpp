// SPDX-License-Identifier: BSD-3-Clause
// Reduce and allreduce of long vectors through chunks of shared memory: all others write their vectors into
// chunks, one rank reduces them chunk by chunk and streams the result back. One rank does all the arithmetic:
// for few ranks, and for oversubscribed ones, which would wait for each other more often if they shared it.
#include "coll/make/stream.hpp"

namespace herald::coll {
namespace {

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
  if (!streams(own)) return kReduceBinomial.make(spec, b);
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
  if (!streams(own)) return kAllreduceDoubling.make(spec, b);
  const auto unit = static_cast<std::uint32_t>(own.layout->size());
  if (spec.rank == 0) {
    b.stream_reduce(own, spec.result(), kAllRanks);
    return;
  }
  b.stream_write(0, own, unit);
  b.stream_read(0, spec.result(), unit);
}

}  // namespace

const Algorithm kReduceStream{
    Op::reduce,  "stream",        "all others fill chunks of shared memory, the root reduces them",
    fits_stream, estimate_reduce, make_reduce};
const Algorithm kAllreduceStream{Op::allreduce,
                                 "stream",
                                 "all others fill chunks of shared memory, one "
                                 "reduces them, all read the result",
                                 fits_stream,
                                 estimate_allreduce,
                                 make_allreduce};

}  // namespace herald::coll
