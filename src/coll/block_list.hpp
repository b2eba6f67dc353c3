// SPDX-License-Identifier: BSD-3-Clause
// coll/block_list.hpp: blocks of any length in one message, so that a rank that forwards them need not know
// how long they are: only the ends of an edge do.
// In memory: where each block ends, as 32-bit numbers from the start of the list; then the blocks. Blocks are
// added in order. A block that travels by itself is marked, so that a receiver that expects a shorter one
// learns of it. A list that another rank sent is checked before its blocks are used.
#pragma once
#include <cstdint>

#include "coll/builder.hpp"

namespace herald::coll {

// Room for a list of blocks that have at most `bytes` bytes together.
inline Piece scratch_list(Builder& builder, std::size_t blocks, std::uint64_t bytes) noexcept {
  Piece list = builder.scratch(blocks * sizeof(std::uint32_t) + bytes);
  list.count = static_cast<std::int64_t>(blocks);
  return list;
}

// Block `index` of a list, as a source or a target of Builder::copy.
inline Piece list_block(Piece list, std::size_t index) noexcept {
  list.block = static_cast<std::int32_t>(index);
  return list;
}

// As much of a list as it holds, to be sent.
inline Piece filled_part(Piece list) noexcept {
  list.block = kFilledPart;
  return list;
}

// In place of a block that is not in the list.
inline Piece left_out() noexcept {
  Piece block;
  block.block = kLeftOut;
  return block;
}

// Copies `from` to `to`, one of which is a block of a list. False: there is less room than data, the block
// was left out, or the list is damaged.
bool copy_block(const Piece& from, const Piece& to, const Places& places) noexcept;

}  // namespace herald::coll
