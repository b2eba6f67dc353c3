// SPDX-License-Identifier: BSD-3-Clause
// coll/make/cells.hpp: trees where only the root knows how long each block is. A message of the tree has a
// cell of one size for each rank below, so that who passes it on need not know; a block that does not fit in
// its cell goes between its rank and the root by itself, and the cell stays unused.
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

// How much is to be moved is not known. What counts is that the root deals with few messages instead of one
// of each rank. But those come close together: they take it about a twelfth of the time that a message takes
// from one rank to the next, and those of a tree follow each other. On one host each message of the tree also
// waits until its receiver runs.
inline double cells_ns(const Shape& shape) noexcept {
  constexpr double kApart = 12;
  const int rounds = log2_up(shape.ranks);
  const double messages = shape.hosts == 1 ? shape.ranks + rounds : kApart * rounds;
  return transfer_ns(shape, messages, static_cast<double>(kCellBytes) * (shape.ranks - 1));
}

}  // namespace herald::coll
