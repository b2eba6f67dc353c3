// SPDX-License-Identifier: BSD-3-Clause
// Broadcast among ranks that share memory, of long data: the root copies chunks in while the others copy out.
#include "coll/make/stream.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  return 2 * barrier_ns(shape) + crowd(shape) * stream_ns(shape, static_cast<double>(bytes));
}

void make(const CollSpec& ask, Builder& b) noexcept {
  const Piece data = ask.recv.range(0, 1);
  if (data.bytes == 0) return;
  if (ask.rank == ask.root)
    b.stream_write(kEverybody, data);
  else
    b.draw(ask.root, data);
}

}  // namespace

const Algorithm kBcastStream{
    Op::bcast,   "stream", "the root fills chunks of shared memory while all others read them",
    fits_stream, estimate, make};

}  // namespace herald::coll
