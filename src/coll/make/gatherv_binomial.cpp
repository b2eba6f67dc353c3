// SPDX-License-Identifier: BSD-3-Clause
// Gatherv up a binomial tree, in cells: for many ranks that have little each.
#include "coll/make/cells.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t, const Shape& shape) noexcept { return cells_ns(shape); }

void make_root(const CollSpec& ask, Builder& b) noexcept {
  const Tree tree{ask.size};
  b.window(0, kWindow);
  b.round(kTreeRound);
  for (int child = 1; child < ask.size; child *= 2) {
    const int blocks = tree.end(child) - child;
    const Piece all = room_for_cells(b, blocks);
    const StepId got = b.recv(ask.absolute(child), all);
    for (int i = 0; i < blocks; ++i) {
      const Piece block = ask.recv.block(ask.absolute(child + i));
      if (in_cell(block)) b.copy(cell_of(all, i, block), block, {got});
    }
  }
  b.round(kAloneRound);
  for (int i = 1; i < ask.size; ++i) {
    const Piece block = ask.recv.block(ask.absolute(i));
    if (goes_alone(block)) b.recv(ask.absolute(i), block);
  }
  if (!ask.in_place) b.copy(ask.send.range(0, 1), ask.recv.block(ask.rank));
}

void make(const CollSpec& ask, Builder& b) noexcept {
  const Tree tree{ask.size};
  const int v = ask.relative(ask.rank);
  if (v == 0) return make_root(ask, b);
  const Piece own = ask.send.range(0, 1);
  const Piece all = room_for_cells(b, tree.end(v) - v);
  StepId have[kMaxRounds + 1];
  int known = 0;
  b.round(kTreeRound);
  for (int distance = 1; tree.has_child(v, distance); distance *= 2)
    have[known++] = b.recv(ask.absolute(v + distance), cells(all, distance, tree.end(v + distance) - v));
  if (in_cell(own)) have[known++] = b.copy(own, cell_of(all, 0, own));
  const StepId sent = b.send(ask.absolute(tree.parent(v)), all);
  for (int i = 0; i < known; ++i) b.also(sent, have[i]);
  b.round(kAloneRound);
  if (goes_alone(own)) b.send(ask.root, own);
}

}  // namespace

const Algorithm kGathervBinomial{
    Op::gatherv, "binomial", "short blocks up a binomial tree, in cells; long ones straight to the root",
    fits_any,    estimate,   make};

}  // namespace herald::coll
