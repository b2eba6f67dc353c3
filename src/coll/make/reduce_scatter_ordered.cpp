// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter straight between each two ranks, keeping rank order: contributions are sent to rank 0, 1, 2
// ... and folded as they come from rank 0, 1, 2 ... Both sides going upward is what makes the windows safe.
#include <vector>
#include "coll/make/makers.hpp"

#include "coll/make/reduce_chain.hpp"

namespace herald::coll {
namespace {

// Everybody sends to the same rank at the same time: the start-up does not overlap.
double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, part = static_cast<double>(bytes) / shape.ranks;
  return transfer_ns(shape, 2 * others, others * part) + others * part * shape.cost.reduce_byte_ns;
}

// Folds the contributions to this rank's block; returns where the result is and when.
Chain fold_all(const CollSpec& ask, Builder& b, const Piece& own, const Piece& target) noexcept {
  Piece first = own;
  StepId got = kNone;
  if (ask.rank != 0) {
    first = b.scratch_items(*own.layout, own.count);
    got = b.recv(0, first);
  }
  Chain chain(b, first, target, ask.size - 1, got);
  for (int from = 1; from < ask.size; ++from) {
    if (from == ask.rank)
      chain.fold_copy(own);
    else
      chain.fold_message(from);
  }
  return chain;
}

void make(const CollSpec& ask, Builder& b) noexcept {
  const Piece own = ask.send.block(ask.rank), result = ask.result();
  b.window(kWindow, kWindow);
  Piece there = result;
  StepId ready = kNone;
  if (own.bytes != 0) {
    // In place the result lies over the input, so it is brought there at the end.
    const Chain chain = fold_all(ask, b, own, ask.in_place ? Piece{} : result);
    there = chain.result();
    ready = chain.ready();
  }
  std::vector<StepId> sent;
  for (int to = 0; to < ask.size; ++to) {
    const Piece gone = ask.send.block(to);
    if (to != ask.rank && gone.bytes != 0) sent.push_back(b.send(to, gone));
  }
  if (there.buffer == result.buffer && there.offset == result.offset) return;
  const StepId copied = b.copy(there, result, {ready});
  if (ask.in_place)
    for (StepId step : sent) b.also(copied, step);
}

constexpr const char* kText = "straight between each two ranks, in rank order";

}  // namespace

const Algorithm kReduceScatterOrdered{Op::reduce_scatter, "ordered", kText, fits_any, estimate, make};
const Algorithm kReduceScatterBlockOrdered{
    Op::reduce_scatter_block, "ordered", kText, fits_any, estimate, make};

}  // namespace herald::coll
