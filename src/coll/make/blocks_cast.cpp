// SPDX-License-Identifier: BSD-3-Clause
// Scatter and alltoall of short blocks over the lane: a rank multicasts the blocks for all others together,
// and each receiver copies its own block out.
#include "coll/make/cast.hpp"

namespace herald::coll {
namespace {

// Receivers discard the blocks of others: more than a few packets of these cost more than separate messages.
constexpr std::uint64_t kMostBytes = 16 << 10;

double estimate_scatter(std::uint64_t bytes, const Shape& shape) noexcept {
  const std::uint64_t row = bytes * static_cast<std::uint64_t>(shape.ranks);
  return row > kMostBytes ? kNeverNs : transfer_ns(shape, 1.2, static_cast<double>(row));
}

void make_scatter(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  if (spec.rank == spec.root) {
    b.cast(spec.send.range(0, spec.size));
    if (!spec.in_place) b.copy(spec.send.block(spec.rank), spec.recv.range(0, 1));
    return;
  }
  const Piece row = b.scratch(spec.bytes * static_cast<std::uint64_t>(spec.size));
  const StepId here = b.recv(spec.root, row);
  b.copy(bytes_of(row, spec.bytes * static_cast<std::uint64_t>(spec.rank), spec.bytes), spec.recv.range(0, 1),
         {here});
}

double estimate_alltoall(std::uint64_t bytes, const Shape& shape) noexcept {
  const std::uint64_t row = bytes * static_cast<std::uint64_t>(shape.ranks);
  if (row > kMostBytes || row * static_cast<std::uint64_t>(shape.ranks) > kCastTogether) return kNeverNs;
  return all_cast_ns(shape, static_cast<double>(row));
}

void make_alltoall(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const std::uint64_t bytes = spec.bytes, row = bytes * static_cast<std::uint64_t>(spec.size);
  const Piece own = (spec.in_place ? spec.recv : spec.send).range(0, spec.size);
  const Piece received = b.scratch(row * static_cast<std::uint64_t>(spec.size));
  std::vector<StepId> here;
  for (int from = 0; from < spec.size; ++from)
    if (from != spec.rank)
      here.push_back(b.recv(from, bytes_of(received, row * static_cast<std::uint64_t>(from), row)));
  const StepId cast = b.cast(own);
  for (int from = 0, k = 0; from < spec.size; ++from) {
    if (from == spec.rank) continue;
    const Piece mine = bytes_of(
        received, row * static_cast<std::uint64_t>(from) + bytes * static_cast<std::uint64_t>(spec.rank),
        bytes);
    b.copy(mine, spec.recv.block(from), {here[static_cast<std::size_t>(k++)], spec.in_place ? cast : kNone});
  }
  if (!spec.in_place) b.copy(spec.send.block(spec.rank), spec.recv.block(spec.rank));
}

}  // namespace

const Algorithm kScatterCast{Op::scatter, "cast",           "the root multicasts all blocks together",
                             fits_lane,   estimate_scatter, make_scatter};
const Algorithm kAlltoallCast{
    Op::alltoall,      "cast",       "each rank multicasts its blocks for all others", fits_lane,
    estimate_alltoall, make_alltoall};

}  // namespace herald::coll
