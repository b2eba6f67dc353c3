// SPDX-License-Identifier: BSD-3-Clause
// Pipelined reduce of long vectors along a chain that ends at the root: each rank reduces a segment and
// forwards it while the next one arrives. Every rank receives, reduces and sends the data once. Rank order is
// not kept.
#include "coll/make/items.hpp"
#include "coll/make/makers.hpp"
#include "coll/make/segments.hpp"

namespace herald::coll {
namespace {

constexpr int kAreas = 4;  // segments that an inner rank has in flight

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double count = segments_of(bytes), each = static_cast<double>(bytes) / count;
  const double stages = shape.ranks - 1 + count - 1;
  return pipeline_ns(bytes, shape, shape.ranks - 1, 1) + stages * each * shape.cost.reduce_byte_ns;
}

void make(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const Piece own = spec.own();
  const int n = spec.size, v = spec.relative(spec.rank);
  const auto items = static_cast<std::int64_t>(segments_of(spec.bytes));
  const ItemParts parts{own.count, static_cast<int>(std::min(own.count, items))};
  const bool last = v == n - 1, root = v == 0;
  if (n == 1) {
    if (!spec.in_place) b.copy(own, spec.result());
    return;
  }
  b.window(kWindow, kWindow);
  Piece area[kAreas];
  StepId sent[kAreas] = {kNone, kNone, kNone, kNone};  // at the root: reduced; then the area may be reused
  for (int i = 0; i < parts.parts; ++i) {
    const Piece mine = parts.piece(own, i, i + 1);
    b.round(i);
    if (last) {
      b.send(spec.absolute(v - 1), mine);
      continue;
    }
    StepId& free = sent[i % kAreas];
    Piece in;
    if (root && !spec.in_place) {
      in = parts.piece(spec.result(), i, i + 1);
    } else {
      Piece& one = area[i % kAreas];
      if (one.layout == nullptr) one = b.scratch_items(*own.layout, parts.count(0, 1));
      in = items_of(one, 0, mine.count);
    }
    const StepId got = b.recv(spec.absolute(v + 1), in, {root && !spec.in_place ? kNone : free});
    if (root && spec.in_place)
      free = b.reduce(in, mine, {got});
    else if (root)
      b.reduce(mine, in, {got});
    else
      free = b.send(spec.absolute(v - 1), in, {b.reduce(mine, in, {got})});
  }
}

bool fits(const Shape& shape) noexcept { return shape.commutes; }

}  // namespace

const Algorithm kReducePipeline{
    Op::reduce, "pipeline", "segments along a chain that ends at the root; keeps no rank order",
    fits,       estimate,   make};

}  // namespace herald::coll
