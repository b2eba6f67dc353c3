// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter of short vectors over the lane: rank 0 reduces and multicasts everything; each rank copies
// its part out.
#include "coll/make/reduce_fan.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double size = static_cast<double>(bytes);
  return reduce_fan_ns(shape, size) + transfer_ns(shape, 1, size) + size * shape.cost.copy_byte_ns;
}

void make(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const Piece first = spec.send.block(0), result = spec.result();
  // The blocks are contiguous: together they are one run of items.
  const Piece own = items_of(
      first, 0, static_cast<std::int64_t>(spec.bytes / static_cast<std::uint64_t>(first.layout->size())));
  const FanResult up = reduce_fan(spec, b, own, Piece{});
  Piece all = up.piece;
  StepId here = up.ready;
  if (spec.rank == 0) {
    here = b.cast(all, {up.ready});
  } else {
    all = b.scratch_items(*own.layout, own.count);
    here = b.recv(0, all);
  }
  std::int64_t at = 0;
  for (int r = 0; r < spec.rank; ++r) at += spec.send.block(r).count;
  b.copy(items_of(all, at, result.count), result, {here, up.ready});
}

constexpr const char* kText = "reduced to one rank, which multicasts everything; each takes its part";

}  // namespace

const Algorithm kReduceScatterCast{Op::reduce_scatter, "gather_cast", kText, fits_lane, estimate, make};
const Algorithm kReduceScatterBlockCast{
    Op::reduce_scatter_block, "gather_cast", kText, fits_lane, estimate, make};

}  // namespace herald::coll
