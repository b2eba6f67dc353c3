// SPDX-License-Identifier: BSD-3-Clause
// Linear gather: the root keeps a window of receives posted. Also for gatherv: only the root needs to know
// the sizes.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

// Inside a host both sides of a long message copy it, if both have a core: the root copies half of all data.
constexpr std::uint64_t kLong = 48 * 1024;
constexpr double kHalf = 0.6;

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1;
  const bool helped = shape.hosts == 1 && shape.reads_peers && !shape.oversubscribed && bytes >= kLong;
  return transfer_ns(shape, others, others * static_cast<double>(bytes) * (helped ? kHalf : 1));
}

void make(const CollSpec& spec, Builder& b) noexcept {
  if (spec.rank != spec.root) {
    const Piece own = spec.send.range(0, 1);
    if (own.bytes != 0) b.send(spec.root, own);
    return;
  }
  b.window(0, kWindow);
  for (int i = 1; i < spec.size; ++i) {
    const int from = spec.absolute(i);
    const Piece block = spec.recv.block(from);
    if (block.bytes != 0) b.recv(from, block);
  }
  if (!spec.in_place) b.copy(spec.send.range(0, 1), spec.recv.block(spec.rank));
}

}  // namespace

const Algorithm kGatherLinear{Op::gather, "linear", "every rank sends to the root", fits_any, estimate, make};
const Algorithm kGathervLinear{Op::gatherv, "linear", "every rank sends to the root",
                               fits_any,    estimate, make};

}  // namespace herald::coll
