// SPDX-License-Identifier: BSD-3-Clause
// Scatterv down a binomial tree, in cells: for many ranks with short blocks.
#include "coll/make/cells.hpp"

namespace herald::coll {
namespace {

// Where there is a lane, packed_cast needs no tree.
double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  return std::max(cells_ns(shape), shape.lane ? kScattervLinear.estimate(bytes, shape) : 0);
}

void make_root(const CollSpec& spec, Builder& b) noexcept {
  const Tree tree{spec.size};
  b.window(kWindow, 0);
  b.round(kTreeRound);
  for (int child = tree.span(0) / 2; child > 0; child /= 2) {
    const int blocks = tree.end(child) - child;
    const Piece all = room_for_cells(b, blocks);
    std::vector<StepId> packed;
    for (int i = 0; i < blocks; ++i) {
      const Piece block = spec.send.block(spec.absolute(child + i));
      if (in_cell(block)) packed.push_back(b.copy(block, cell_of(all, i, block)));
    }
    const StepId sent = b.send(spec.absolute(child), all);
    for (const StepId step : packed) b.depend(sent, step);
  }
  b.round(kAloneRound);
  for (int i = 1; i < spec.size; ++i) {
    const Piece block = spec.send.block(spec.absolute(i));
    if (goes_alone(block)) b.send(spec.absolute(i), block);
  }
  if (!spec.in_place) b.copy(spec.send.block(spec.rank), spec.recv.range(0, 1));
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const Tree tree{spec.size};
  const int v = spec.relative(spec.rank);
  if (v == 0) return make_root(spec, b);
  const Piece own = spec.recv.range(0, 1);
  const Piece all = room_for_cells(b, tree.end(v) - v);
  b.round(kAloneRound);
  if (goes_alone(own)) b.recv(spec.root, own);
  b.round(kTreeRound);
  const StepId got = b.recv(spec.absolute(tree.parent(v)), all);
  for (int distance = tree.span(v) / 2; distance > 0; distance /= 2) {
    const int child = v + distance;
    if (child < spec.size) b.send(spec.absolute(child), cells(all, distance, tree.end(child) - v), {got});
  }
  if (in_cell(own)) b.copy(cell_of(all, 0, own), own, {got});
}

}  // namespace

const Algorithm kScattervBinomial{
    Op::scatterv, "binomial", "short blocks down a binomial tree, in cells; long ones directly from the root",
    fits_any,     estimate,   make};

}  // namespace herald::coll
