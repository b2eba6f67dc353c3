// SPDX-License-Identifier: BSD-3-Clause
// coll/make/cells.hpp: trees where only the root knows the block sizes. A message of the tree has one cell of
// fixed size for each rank of the subtree, so inner ranks need no sizes. A block larger than a cell goes
// directly between its rank and the root.
#pragma once
#include <algorithm>

#include "coll/make/makers.hpp"
#include "coll/make/tree.hpp"

namespace herald::coll {

constexpr std::uint64_t kCellBytes = 128;
constexpr int kTreeRound = 0, kAloneRound = 1;

inline bool in_cell(const Piece& block) noexcept { return block.bytes != 0 && block.bytes <= kCellBytes; }
inline bool goes_alone(const Piece& block) noexcept { return block.bytes > kCellBytes; }

// Cells [begin, end) of `all`.
inline Piece cells(const Piece& all, int begin, int end) noexcept {
  return blocks_of(all, kCellBytes, begin, end);
}
inline Piece cell_of(const Piece& all, int i, const Piece& block) noexcept {
  return bytes_of(all, kCellBytes * static_cast<std::uint64_t>(i), block.bytes);
}
inline Piece room_for_cells(Builder& b, int count) noexcept {
  return b.scratch(kCellBytes * static_cast<std::uint64_t>(count));
}

// Sizes are not known. The root handles few messages instead of one per rank; but separate messages overlap
// and take it a twelfth of a hop each, while those of a tree are serial. On one host each hop also waits
// until its receiver is scheduled.
inline double cells_ns(const Shape& shape) noexcept {
  constexpr double kApart = 12;
  const int rounds = log2_up(shape.ranks);
  const double messages = shape.hosts == 1 ? shape.ranks + rounds : kApart * rounds;
  return transfer_ns(shape, messages, static_cast<double>(kCellBytes) * (shape.ranks - 1));
}

}  // namespace herald::coll
