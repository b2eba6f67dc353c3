// SPDX-License-Identifier: BSD-3-Clause
// Broadcast of long data in shared memory: the root copies chunks in while the other ranks copy them out.
#include "coll/make/stream.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  return 2 * barrier_ns(shape) + oversubscription(shape) * stream_ns(shape, static_cast<double>(bytes));
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const Piece data = spec.recv.range(0, 1);
  if (data.bytes == 0) return;
  if (spec.rank == spec.root)
    b.stream_write(kAllRanks, data);
  else
    b.stream_read(spec.root, data);
}

}  // namespace

const Algorithm kBcastStream{
    Op::bcast,   "stream", "the root fills chunks of shared memory while all others read them",
    fits_stream, estimate, make};

}  // namespace herald::coll
