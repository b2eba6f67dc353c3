// SPDX-License-Identifier: BSD-3-Clause
// Broadcast among ranks that share memory, of long data: the root copies chunks in while the others copy out.
#include "coll/make/shared.hpp"

namespace herald::coll {
namespace {

bool fits(const Shape& shape) noexcept { return fits_shared(shape) && shape.streams; }

// Both copies go on at once; a chunk that another processor just wrote is slower to read than one's own.
double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  return 2 * meeting_ns(shape) + static_cast<double>(bytes) * shape.cost.copy_byte_ns * 1.4;
}

void make(const Ask& ask, Builder& b) noexcept {
  const Piece data = ask.recv.range(0, 1);
  if (data.bytes == 0) return;
  if (ask.rank == ask.root)
    b.pour(data);
  else
    b.draw(ask.root, data);
}

}  // namespace

const Algorithm kBcastStream{
    Op::bcast, "stream", "the root fills chunks of shared memory while all others read them",
    fits,      estimate, make};

}  // namespace herald::coll
