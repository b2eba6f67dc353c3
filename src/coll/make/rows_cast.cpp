// SPDX-License-Identifier: BSD-3-Clause
// Scatter and all-to-all of little data over the lane: what one rank has for all others goes out in one cast,
// and each takes its part.
#include "coll/make/cast.hpp"

namespace herald::coll {
namespace {

// More than a few packets that are for others are not worth hearing.
constexpr std::uint64_t kMostRow = 16 << 10;

double estimate_scatter(std::uint64_t bytes, const Shape& shape) noexcept {
  const std::uint64_t row = bytes * static_cast<std::uint64_t>(shape.ranks);
  return row > kMostRow ? kNeverNs : transfer_ns(shape, 1.2, static_cast<double>(row));
}

void make_scatter(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  if (ask.rank == ask.root) {
    b.cast(ask.send.range(0, ask.size));
    if (!ask.in_place) b.copy(ask.send.block(ask.rank), ask.recv.range(0, 1));
    return;
  }
  const Piece row = b.scratch(ask.bytes * static_cast<std::uint64_t>(ask.size));
  const StepId here = b.recv(ask.root, row);
  b.copy(bytes_of(row, ask.bytes * static_cast<std::uint64_t>(ask.rank), ask.bytes), ask.recv.range(0, 1),
         {here});
}

double estimate_alltoall(std::uint64_t bytes, const Shape& shape) noexcept {
  const std::uint64_t row = bytes * static_cast<std::uint64_t>(shape.ranks);
  if (row > kMostRow || row * static_cast<std::uint64_t>(shape.ranks) > kCastTogether) return kNeverNs;
  return all_cast_ns(shape, static_cast<double>(row));
}

void make_alltoall(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const std::uint64_t bytes = ask.bytes, row = bytes * static_cast<std::uint64_t>(ask.size);
  const Piece own = (ask.in_place ? ask.recv : ask.send).range(0, ask.size);
  const Piece rows = b.scratch(row * static_cast<std::uint64_t>(ask.size));
  std::vector<StepId> here;
  for (int from = 0; from < ask.size; ++from)
    if (from != ask.rank)
      here.push_back(b.recv(from, bytes_of(rows, row * static_cast<std::uint64_t>(from), row)));
  const StepId cast = b.cast(own);
  for (int from = 0, k = 0; from < ask.size; ++from) {
    if (from == ask.rank) continue;
    const Piece mine = bytes_of(
        rows, row * static_cast<std::uint64_t>(from) + bytes * static_cast<std::uint64_t>(ask.rank), bytes);
    b.copy(mine, ask.recv.block(from), {here[static_cast<std::size_t>(k++)], ask.in_place ? cast : kNone});
  }
  if (!ask.in_place) b.copy(ask.send.block(ask.rank), ask.recv.block(ask.rank));
}

}  // namespace

const Algorithm kScatterCast{Op::scatter, "cast",           "the root multicasts all blocks together",
                             fits_lane,   estimate_scatter, make_scatter};
const Algorithm kAlltoallCast{
    Op::alltoall,      "cast",       "each rank multicasts all that it has for others", fits_lane,
    estimate_alltoall, make_alltoall};

}  // namespace herald::coll
