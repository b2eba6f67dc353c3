// SPDX-License-Identifier: BSD-3-Clause
// Linear scatter: the root keeps a window of sends outstanding. Also for scatterv.
#include <algorithm>

#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

// One long block fills the link, and the next must begin at once; more of them would compete for it.
constexpr std::uint64_t kLongBlock = 64 << 10;

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1;
  return transfer_ns(shape, others, others * static_cast<double>(bytes));
}

void make(const CollSpec& spec, Builder& b) noexcept {
  if (spec.rank != spec.root) {
    const Piece own = spec.recv.range(0, 1);
    if (own.bytes != 0) b.recv(spec.root, own);
    return;
  }
  std::uint64_t bytes = 0;
  for (int to = 0; to < spec.size; ++to) bytes = std::max(bytes, spec.send.bytes(to));
  b.window(bytes < kLongBlock ? kWindow : 2, 0);
  for (int i = 1; i < spec.size; ++i) {
    const int to = spec.absolute(i);
    const Piece block = spec.send.block(to);
    if (block.bytes != 0) b.send(to, block);
  }
  if (!spec.in_place) b.copy(spec.send.block(spec.rank), spec.recv.range(0, 1));
}

}  // namespace

const Algorithm kScatterLinear{Op::scatter, "linear", "the root sends to every rank",
                               fits_any,    estimate, make};
const Algorithm kScattervLinear{Op::scatterv, "linear", "the root sends to every rank",
                                fits_any,     estimate, make};

}  // namespace herald::coll
