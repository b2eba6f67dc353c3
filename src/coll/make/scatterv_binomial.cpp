// SPDX-License-Identifier: BSD-3-Clause
// Scatterv down a binomial tree, in cells: for many ranks that get little each.
#include "coll/make/cells.hpp"

namespace herald::coll {
namespace {

// Where there is a lane, dealing over it (make/deal.cpp) needs no tree.
double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  return std::max(cells_ns(shape), shape.lane ? kScattervLinear.estimate(bytes, shape) : 0);
}

void make_root(const CollSpec& ask, Builder& b) noexcept {
  const Tree tree{ask.size};
  b.window(kWindow, 0);
  b.round(kTreeRound);
  for (int child = tree.span(0) / 2; child > 0; child /= 2) {
    const int blocks = tree.end(child) - child;
    const Piece all = room_for_cells(b, blocks);
    std::vector<StepId> packed;
    for (int i = 0; i < blocks; ++i) {
      const Piece block = ask.send.block(ask.absolute(child + i));
      if (in_cell(block)) packed.push_back(b.copy(block, cell_of(all, i, block)));
    }
    const StepId sent = b.send(ask.absolute(child), all);
    for (const StepId step : packed) b.also(sent, step);
  }
  b.round(kAloneRound);
  for (int i = 1; i < ask.size; ++i) {
    const Piece block = ask.send.block(ask.absolute(i));
    if (goes_alone(block)) b.send(ask.absolute(i), block);
  }
  if (!ask.in_place) b.copy(ask.send.block(ask.rank), ask.recv.range(0, 1));
}

void make(const CollSpec& ask, Builder& b) noexcept {
  const Tree tree{ask.size};
  const int v = ask.relative(ask.rank);
  if (v == 0) return make_root(ask, b);
  const Piece own = ask.recv.range(0, 1);
  const Piece all = room_for_cells(b, tree.end(v) - v);
  b.round(kAloneRound);
  if (goes_alone(own)) b.recv(ask.root, own);
  b.round(kTreeRound);
  const StepId got = b.recv(ask.absolute(tree.parent(v)), all);
  for (int distance = tree.span(v) / 2; distance > 0; distance /= 2) {
    const int child = v + distance;
    if (child < ask.size) b.send(ask.absolute(child), cells(all, distance, tree.end(child) - v), {got});
  }
  if (in_cell(own)) b.copy(cell_of(all, 0, own), own, {got});
}

}  // namespace

const Algorithm kScattervBinomial{
    Op::scatterv, "binomial", "short blocks down a binomial tree, in cells; long ones straight from the root",
    fits_any,     estimate,   make};

}  // namespace herald::coll
