// SPDX-License-Identifier: BSD-3-Clause
// Gather, gatherv, scatter and scatterv by messages.
#include <algorithm>

#include "coll/make/makers.hpp"
#include "coll/make/start_signals.hpp"
#include "coll/make/tree.hpp"

namespace herald::coll {
namespace {

// Trees where only the root knows the block sizes. A message of the tree has one cell of
// fixed size for each rank of the subtree, so inner ranks need no sizes. A block larger than a cell goes
// directly between its rank and the root.
constexpr std::uint64_t kCellBytes = 128;
constexpr int kTreeRound = 0, kAloneRound = 1;

bool in_cell(const Piece& block) noexcept { return block.bytes != 0 && block.bytes <= kCellBytes; }
bool goes_alone(const Piece& block) noexcept { return block.bytes > kCellBytes; }

// Cells [begin, end) of `all`.
Piece cells(const Piece& all, int begin, int end) noexcept { return blocks_of(all, kCellBytes, begin, end); }
Piece cell_of(const Piece& all, int i, const Piece& block) noexcept {
  return bytes_of(all, kCellBytes * static_cast<std::uint64_t>(i), block.bytes);
}
Piece room_for_cells(Builder& b, int count) noexcept {
  return b.scratch(kCellBytes * static_cast<std::uint64_t>(count));
}

// Sizes are not known. The root handles few messages instead of one per rank; but separate messages overlap
// and take it a twelfth of a hop each, while those of a tree are serial. On one host each hop also waits
// until its receiver is scheduled.
double cells_ns(const Shape& shape) noexcept {
  constexpr double kApart = 12;
  const int rounds = log2_up(shape.ranks);
  const double messages = shape.hosts == 1 ? shape.ranks + rounds : kApart * rounds;
  return transfer_ns(shape, messages, static_cast<double>(kCellBytes) * (shape.ranks - 1));
}

// Linear gather: the root keeps a window of receives posted. Also for gatherv: only the root needs to know
// the sizes.
// Inside a host both sides of a long message copy it, if both have a core: the root copies half of all data.
constexpr std::uint64_t kLong = 48 * 1024;
constexpr double kHalf = 0.6;

double estimate_gather_linear(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1;
  const bool helped = shape.hosts == 1 && shape.reads_peers && !shape.oversubscribed && bytes >= kLong;
  return transfer_ns(shape, others, others * static_cast<double>(bytes) * (helped ? kHalf : 1));
}

void make_gather_linear(const CollSpec& spec, Builder& b) noexcept {
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

// Linear gather in which as many ranks send at a time as the port of the root bears (start_signals.hpp).
constexpr int kDataRound = 0, kSignalRound = 1;

double estimate_gather_coordinated(std::uint64_t bytes, const Shape& shape) noexcept {
  return estimate_gather_linear(bytes, shape);
}

void make_gather_coordinated(const CollSpec& spec, Builder& b) noexcept {
  if (spec.rank == spec.root || spec.bytes == 0) return make_gather_linear(spec, b);
  const auto rank_of = [&](int index) { return spec.absolute(index + 1); };
  const StartSignals signals(spec.incast, spec.bytes, spec.relative(spec.rank) - 1, spec.size - 1,
                             kSignalRound, rank_of);
  signals.send(b, spec.root, spec.send.range(0, 1), kNone, kDataRound);
}

// Gather up a binomial tree: inner ranks receive the packed blocks of their subtree and send them in one
// message. Relative to the root the blocks of a subtree are contiguous; in rank order they may wrap around.
void make_root_gather_binomial(const CollSpec& spec, Builder& b) noexcept {
  const Tree tree{spec.size};
  for (int child = 1; child < spec.size; child *= 2) {
    const int blocks = tree.end(child) - child, first = spec.absolute(child);
    if (first + blocks <= spec.size) {
      b.recv(first, spec.recv.range(first, first + blocks));
      continue;
    }
    const Piece packed = b.scratch(spec.bytes * static_cast<std::uint64_t>(blocks));
    const StepId got = b.recv(first, packed);
    const int before = spec.size - first;
    b.copy(blocks_of(packed, spec.bytes, 0, before), spec.recv.range(first, spec.size), {got});
    b.copy(blocks_of(packed, spec.bytes, before, blocks), spec.recv.range(0, blocks - before), {got});
  }
  if (!spec.in_place) b.copy(spec.send.range(0, 1), spec.recv.block(spec.rank));
}

void make_gather_binomial(const CollSpec& spec, Builder& b) noexcept {
  const Tree tree{spec.size};
  const int v = spec.relative(spec.rank);
  if (spec.bytes == 0) return;
  if (v == 0) return make_root_gather_binomial(spec, b);
  const Piece own = spec.send.range(0, 1);
  const int parent = spec.absolute(tree.parent(v));
  if (tree.leaf(v)) {
    b.send(parent, own);
    return;
  }
  const Piece all = b.scratch(spec.bytes * static_cast<std::uint64_t>(tree.end(v) - v));
  StepId have[kMaxRounds + 1];
  int known = 0;
  for (int distance = 1; tree.has_child(v, distance); distance *= 2) {
    const int child = v + distance;
    have[known++] = b.recv(spec.absolute(child), blocks_of(all, spec.bytes, distance, tree.end(child) - v));
  }
  have[known++] = b.copy(own, blocks_of(all, spec.bytes, 0, 1));
  const StepId sent = b.send(parent, all);
  for (int i = 0; i < known; ++i) b.depend(sent, have[i]);
}

// Gatherv up a binomial tree, in cells: for many ranks with short blocks.
double estimate_gatherv_binomial(std::uint64_t, const Shape& shape) noexcept { return cells_ns(shape); }

void make_root_gatherv_binomial(const CollSpec& spec, Builder& b) noexcept {
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

void make_gatherv_binomial(const CollSpec& spec, Builder& b) noexcept {
  const Tree tree{spec.size};
  const int v = spec.relative(spec.rank);
  if (v == 0) return make_root_gatherv_binomial(spec, b);
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

// Linear scatter: the root keeps a window of sends outstanding. Also for scatterv.
// One long block fills the link, and the next must begin at once; more of them would compete for it.
constexpr std::uint64_t kLongBlock = 64 << 10;

double estimate_scatter_linear(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1;
  return transfer_ns(shape, others, others * static_cast<double>(bytes));
}

void make_scatter_linear(const CollSpec& spec, Builder& b) noexcept {
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

// Scatter down a binomial tree: a rank receives the packed blocks of its subtree and forwards those of its
// children.
void make_root_scatter_binomial(const CollSpec& spec, Builder& b) noexcept {
  const Tree tree{spec.size};
  for (int child = tree.span(0) / 2; child > 0; child /= 2) {
    const int blocks = tree.end(child) - child, first = spec.absolute(child);
    if (first + blocks <= spec.size) {
      b.send(first, spec.send.range(first, first + blocks));
      continue;
    }
    const Piece packed = b.scratch(spec.bytes * static_cast<std::uint64_t>(blocks));
    const int before = spec.size - first;
    const StepId head = b.copy(spec.send.range(first, spec.size), blocks_of(packed, spec.bytes, 0, before));
    const StepId tail =
        b.copy(spec.send.range(0, blocks - before), blocks_of(packed, spec.bytes, before, blocks));
    b.send(first, packed, {head, tail});
  }
  if (!spec.in_place) b.copy(spec.send.block(spec.rank), spec.recv.range(0, 1));
}

void make_scatter_binomial(const CollSpec& spec, Builder& b) noexcept {
  const Tree tree{spec.size};
  const int v = spec.relative(spec.rank);
  if (spec.bytes == 0) return;
  if (v == 0) return make_root_scatter_binomial(spec, b);
  const Piece own = spec.recv.range(0, 1);
  const int parent = spec.absolute(tree.parent(v));
  if (tree.leaf(v)) {
    b.recv(parent, own);
    return;
  }
  const Piece all = b.scratch(spec.bytes * static_cast<std::uint64_t>(tree.end(v) - v));
  const StepId got = b.recv(parent, all);
  for (int distance = tree.span(v) / 2; distance > 0; distance /= 2) {
    const int child = v + distance;
    if (child < spec.size)
      b.send(spec.absolute(child), blocks_of(all, spec.bytes, distance, tree.end(child) - v), {got});
  }
  b.copy(blocks_of(all, spec.bytes, 0, 1), own, {got});
}

// Scatterv down a binomial tree, in cells: for many ranks with short blocks.
// Where there is a lane, packed_cast needs no tree.
double estimate_scatterv_binomial(std::uint64_t bytes, const Shape& shape) noexcept {
  return std::max(cells_ns(shape), shape.lane ? estimate_scatter_linear(bytes, shape) : 0);
}

void make_root_scatterv_binomial(const CollSpec& spec, Builder& b) noexcept {
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

void make_scatterv_binomial(const CollSpec& spec, Builder& b) noexcept {
  const Tree tree{spec.size};
  const int v = spec.relative(spec.rank);
  if (v == 0) return make_root_scatterv_binomial(spec, b);
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

constexpr Algorithm kRows[] = {
    {Op::gather, "linear", "every rank sends to the root", fits_any, estimate_gather_linear,
     make_gather_linear},
    {Op::gatherv, "linear", "every rank sends to the root", fits_any, estimate_gather_linear,
     make_gather_linear},
    {Op::gather, "coordinated", "every rank sends to the root, as many at a time as the switch bears",
     fits_incast, estimate_gather_coordinated, make_gather_coordinated},
    {Op::gather, "binomial", "up a binomial tree, packed on the way", fits_any, packed_tree_ns,
     make_gather_binomial},
    {Op::gatherv, "binomial", "short blocks up a binomial tree, in cells; long ones directly to the root",
     fits_any, estimate_gatherv_binomial, make_gatherv_binomial},
    {Op::scatter, "linear", "the root sends to every rank", fits_any, estimate_scatter_linear,
     make_scatter_linear},
    {Op::scatterv, "linear", "the root sends to every rank", fits_any, estimate_scatter_linear,
     make_scatter_linear},
    {Op::scatter, "binomial", "down a binomial tree, packed on the way", fits_any, packed_tree_ns,
     make_scatter_binomial},
    {Op::scatterv, "binomial",
     "short blocks down a binomial tree, in cells; long ones directly from the root", fits_any,
     estimate_scatterv_binomial, make_scatterv_binomial},
};

}  // namespace

constinit const std::span<const Algorithm> kGatherScatterAlgorithms = kRows;

}  // namespace herald::coll
