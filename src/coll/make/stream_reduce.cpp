// SPDX-License-Identifier: BSD-3-Clause
// Reduce and allreduce among ranks that share memory, of long data: all others copy theirs into chunks of
// shared memory, one rank reduces them there, chunk by chunk, and hands the result round the same way. One
// rank does all the arithmetic: that is for few ranks, and for ranks that outnumber the processors, where
// dividing the work would only make them wait for each other more often.
#include "coll/make/stream.hpp"

namespace herald::coll {
namespace {

// Items with gaps, or that do not fit into a chunk, go by messages. The same at every rank.
bool streams(const Piece& own) noexcept {
  return own.layout->dense() && own.layout->size() <= static_cast<std::int64_t>(kStreamChunk);
}

// A chunk is read and reduced in one go.
double fold_ns(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = static_cast<double>(bytes) * (shape.ranks - 1);
  return 2 * barrier_ns(shape) + stream_ns(shape, others) + others * shape.cost.reduce_byte_ns / 4;
}

double estimate_reduce(std::uint64_t bytes, const Shape& shape) noexcept { return fold_ns(bytes, shape); }

void make_reduce(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const Piece own = ask.own();
  if (!streams(own)) return kReduceBinomial.make(ask, b);
  if (ask.rank == ask.root)
    b.fold(own, ask.result(), kNobody);
  else
    b.stream_write(ask.root, own, static_cast<std::uint32_t>(own.layout->size()));
}

double estimate_allreduce(std::uint64_t bytes, const Shape& shape) noexcept {
  // The first chunks of the result are read while the last ones are reduced.
  return fold_ns(bytes, shape) + stream_ns(shape, static_cast<double>(bytes)) * 0.7;
}

void make_allreduce(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const Piece own = ask.own();
  if (!streams(own)) return kAllreduceDoubling.make(ask, b);
  const auto unit = static_cast<std::uint32_t>(own.layout->size());
  if (ask.rank == 0) {
    b.fold(own, ask.result(), kEverybody);
    return;
  }
  b.stream_write(0, own, unit);
  b.draw(0, ask.result(), unit);
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
