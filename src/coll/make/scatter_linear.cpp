// SPDX-License-Identifier: BSD-3-Clause
// Scatter straight from the root, which keeps a window of sends under way. Serves scatterv too.
#include <algorithm>

#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

// Of long blocks one fills the link, and the next one is to begin at once; more only get into its way.
constexpr std::uint64_t kLongBlock = 64 << 10;

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1;
  return transfer_ns(shape, others, others * static_cast<double>(bytes));
}

void make(const CollSpec& ask, Builder& b) noexcept {
  if (ask.rank != ask.root) {
    const Piece own = ask.recv.range(0, 1);
    if (own.bytes != 0) b.recv(ask.root, own);
    return;
  }
  std::uint64_t bytes = 0;
  for (int to = 0; to < ask.size; ++to) bytes = std::max(bytes, ask.send.bytes(to));
  b.window(bytes < kLongBlock ? kWindow : 2, 0);
  for (int i = 1; i < ask.size; ++i) {
    const int to = ask.absolute(i);
    const Piece block = ask.send.block(to);
    if (block.bytes != 0) b.send(to, block);
  }
  if (!ask.in_place) b.copy(ask.send.block(ask.rank), ask.recv.range(0, 1));
}

}  // namespace

const Algorithm kScatterLinear{Op::scatter, "linear", "the root sends to every rank",
                               fits_any,    estimate, make};
const Algorithm kScattervLinear{Op::scatterv, "linear", "the root sends to every rank",
                                fits_any,     estimate, make};

}  // namespace herald::coll
