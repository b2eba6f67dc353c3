// SPDX-License-Identifier: BSD-3-Clause
// Gather straight to the root, which keeps a window of receives posted. Serves gatherv too: only the root
// needs to know the sizes.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

// Inside a host both sides of a long message move it, if both have a processor: the root half of everything.
constexpr std::uint64_t kLong = 48 * 1024;
constexpr double kHalf = 0.6;

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1;
  const bool helped = shape.hosts == 1 && shape.reads_peers && !shape.oversubscribed && bytes >= kLong;
  return transfer_ns(shape, others, others * static_cast<double>(bytes) * (helped ? kHalf : 1));
}

void make(const CollSpec& ask, Builder& b) noexcept {
  if (ask.rank != ask.root) {
    const Piece own = ask.send.range(0, 1);
    if (own.bytes != 0) b.send(ask.root, own);
    return;
  }
  b.window(0, kWindow);
  for (int i = 1; i < ask.size; ++i) {
    const int from = ask.absolute(i);
    const Piece block = ask.recv.block(from);
    if (block.bytes != 0) b.recv(from, block);
  }
  if (!ask.in_place) b.copy(ask.send.range(0, 1), ask.recv.block(ask.rank));
}

}  // namespace

const Algorithm kGatherLinear{Op::gather, "linear", "every rank sends to the root", fits_any, estimate, make};
const Algorithm kGathervLinear{Op::gatherv, "linear", "every rank sends to the root",
                               fits_any,    estimate, make};

}  // namespace herald::coll
