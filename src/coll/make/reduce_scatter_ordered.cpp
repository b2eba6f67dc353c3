// SPDX-License-Identifier: BSD-3-Clause
// Direct reduce-scatter that keeps rank order: every rank sends its contributions to rank 0, 1, 2 ... and
// reduces those it receives from rank 0, 1, 2 ... Windows are safe because both sides go upward.
#include <vector>
#include "coll/make/makers.hpp"

#include "coll/make/reduce_chain.hpp"

namespace herald::coll {
namespace {

// All ranks send to the same rank at the same time: the start-up does not overlap.
double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, part = static_cast<double>(bytes) / shape.ranks;
  return transfer_ns(shape, 2 * others, others * part) + others * part * shape.cost.reduce_byte_ns;
}

// Reduces the contributions to this rank's block; returns where the result is and when.
ReduceChain reduce_all(const CollSpec& spec, Builder& b, const Piece& own, const Piece& target) noexcept {
  Piece first = own;
  StepId got = kNone;
  if (spec.rank != 0) {
    first = b.scratch_items(*own.layout, own.count);
    got = b.recv(0, first);
  }
  ReduceChain chain(b, first, target, spec.size - 1, got);
  for (int from = 1; from < spec.size; ++from) {
    if (from == spec.rank)
      chain.reduce_copy(own);
    else
      chain.reduce_message(from);
  }
  return chain;
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const Piece own = spec.send.block(spec.rank), result = spec.result();
  b.window(kWindow, kWindow);
  Piece there = result;
  StepId ready = kNone;
  if (own.bytes != 0) {
    // In place the result overwrites the input, so it is copied there at the end.
    const ReduceChain chain = reduce_all(spec, b, own, spec.in_place ? Piece{} : result);
    there = chain.result();
    ready = chain.ready();
  }
  std::vector<StepId> sent;
  for (int to = 0; to < spec.size; ++to) {
    const Piece gone = spec.send.block(to);
    if (to != spec.rank && gone.bytes != 0) sent.push_back(b.send(to, gone));
  }
  if (there.buffer == result.buffer && there.offset == result.offset) return;
  const StepId copied = b.copy(there, result, {ready});
  if (spec.in_place)
    for (StepId step : sent) b.depend(copied, step);
}

constexpr const char* kText = "directly between each pair of ranks, in rank order";

}  // namespace

const Algorithm kReduceScatterOrdered{Op::reduce_scatter, "ordered", kText, fits_any, estimate, make};
const Algorithm kReduceScatterBlockOrdered{
    Op::reduce_scatter_block, "ordered", kText, fits_any, estimate, make};

}  // namespace herald::coll
