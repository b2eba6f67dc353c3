// SPDX-License-Identifier: BSD-3-Clause
// Broadcast over the lane: the root sends once, for any number of hosts (paper 000).
#include "coll/make/cast.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  return transfer_ns(shape, 1, static_cast<double>(bytes));
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const Piece data = spec.recv.range(0, 1);
  if (data.bytes == 0) return;
  if (spec.rank == spec.root)
    b.cast(data);
  else
    b.recv(spec.root, data);
}

}  // namespace

const Algorithm kBcastCast{Op::bcast, "cast", "one multicast by the root", fits_lane, estimate, make};

}  // namespace herald::coll
