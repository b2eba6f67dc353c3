// SPDX-License-Identifier: BSD-3-Clause
// Gatherv up a binomial tree, in cells: for many ranks with short blocks.
#include "coll/make/cells.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t, const Shape& shape) noexcept { return cells_ns(shape); }

void make_root(const CollSpec& spec, Builder& b) noexcept {
  const Tree tree{spec.size};
  b.window(0, kWindow);
  b.round(kTreeRound);
  for (int child = 1; child < spec.size; child *= 2) {
    const int blocks = tree.end(child) - child;
    const Piece all = room_for_cells(b, blocks);
    const StepId got = b.recv(spec.absolute(child), all);
    for (int i = 0; i < blocks; ++i) {
      const Piece block = spec.recv.block(spec.absolute(child + i));
      if (in_cell(block)) b.copy(cell_of(all, i, block), block, {got});
    }
  }
  b.round(kAloneRound);
  for (int i = 1; i < spec.size; ++i) {
    const Piece block = spec.recv.block(spec.absolute(i));
    if (goes_alone(block)) b.recv(spec.absolute(i), block);
  }
  if (!spec.in_place) b.copy(spec.send.range(0, 1), spec.recv.block(spec.rank));
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const Tree tree{spec.size};
  const int v = spec.relative(spec.rank);
  if (v == 0) return make_root(spec, b);
  const Piece own = spec.send.range(0, 1);
  const Piece all = room_for_cells(b, tree.end(v) - v);
  StepId have[kMaxRounds + 1];
  int known = 0;
  b.round(kTreeRound);
  for (int distance = 1; tree.has_child(v, distance); distance *= 2)
    have[known++] = b.recv(spec.absolute(v + distance), cells(all, distance, tree.end(v + distance) - v));
  if (in_cell(own)) have[known++] = b.copy(own, cell_of(all, 0, own));
  const StepId sent = b.send(spec.absolute(tree.parent(v)), all);
  for (int i = 0; i < known; ++i) b.depend(sent, have[i]);
  b.round(kAloneRound);
  if (goes_alone(own)) b.send(spec.root, own);
}

}  // namespace

const Algorithm kGathervBinomial{
    Op::gatherv, "binomial", "short blocks up a binomial tree, in cells; long ones directly to the root",
    fits_any,    estimate,   make};

}  // namespace herald::coll
