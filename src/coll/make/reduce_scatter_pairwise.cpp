// SPDX-License-Identifier: BSD-3-Clause
// Pairwise reduce-scatter: in round k every rank sends its contribution to the block of the rank k further
// on, and reduces the data it receives into its own block. Rank order is not kept.
#include <vector>
#include "coll/make/makers.hpp"

#include "coll/make/reduce_chain.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, part = static_cast<double>(bytes) / shape.ranks;
  return transfer_ns(shape, others, others * part) + others * part * shape.cost.reduce_byte_ns;
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const int n = spec.size;
  const Piece own = spec.send.block(spec.rank), result = spec.result();
  b.window(kWindow, kWindow);
  // In place the result overwrites the input, so it is copied there at the end.
  ReduceChain chain(b, own, spec.in_place ? Piece{} : result, own.bytes == 0 ? 0 : n - 1);
  std::vector<StepId> sent;
  for (int k = 1; k < n; ++k) {
    const int to = (spec.rank + k) % n, from = (spec.rank - k + n) % n;
    if (own.bytes != 0) chain.reduce_message(from);
    const Piece gone = spec.send.block(to);
    if (gone.bytes != 0) sent.push_back(b.send(to, gone));
  }
  if (chain.result().buffer == result.buffer && chain.result().offset == result.offset) return;
  const StepId copied = b.copy(chain.result(), result, {chain.ready()});
  if (spec.in_place)
    for (StepId step : sent) b.depend(copied, step);
}

bool fits(const Shape& shape) noexcept { return shape.commutes; }

constexpr const char* kText = "directly between each pair of ranks; keeps no rank order";

}  // namespace

const Algorithm kReduceScatterPairwise{Op::reduce_scatter, "pairwise", kText, fits, estimate, make};
const Algorithm kReduceScatterBlockPairwise{
    Op::reduce_scatter_block, "pairwise", kText, fits, estimate, make};

}  // namespace herald::coll
