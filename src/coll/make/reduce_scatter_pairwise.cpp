// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter straight between each two ranks: in round k every rank sends its contribution to the block
// of the rank k further on, and folds what comes for its own block. The order of ranks is not kept.
#include <vector>
#include "coll/make/makers.hpp"

#include "coll/make/reduce_chain.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, part = static_cast<double>(bytes) / shape.ranks;
  return transfer_ns(shape, others, others * part) + others * part * shape.cost.reduce_byte_ns;
}

void make(const CollSpec& ask, Builder& b) noexcept {
  const int n = ask.size;
  const Piece own = ask.send.block(ask.rank), result = ask.result();
  b.window(kWindow, kWindow);
  // In place the result lies over the input, so it is brought there at the end.
  Chain chain(b, own, ask.in_place ? Piece{} : result, own.bytes == 0 ? 0 : n - 1);
  std::vector<StepId> sent;
  for (int k = 1; k < n; ++k) {
    const int to = (ask.rank + k) % n, from = (ask.rank - k + n) % n;
    if (own.bytes != 0) chain.fold_message(from);
    const Piece gone = ask.send.block(to);
    if (gone.bytes != 0) sent.push_back(b.send(to, gone));
  }
  if (chain.result().buffer == result.buffer && chain.result().offset == result.offset) return;
  const StepId copied = b.copy(chain.result(), result, {chain.ready()});
  if (ask.in_place)
    for (StepId step : sent) b.also(copied, step);
}

bool fits(const Shape& shape) noexcept { return shape.commutes; }

constexpr const char* kText = "straight between each two ranks; keeps no rank order";

}  // namespace

const Algorithm kReduceScatterPairwise{Op::reduce_scatter, "pairwise", kText, fits, estimate, make};
const Algorithm kReduceScatterBlockPairwise{
    Op::reduce_scatter_block, "pairwise", kText, fits, estimate, make};

}  // namespace herald::coll
