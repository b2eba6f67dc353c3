// SPDX-License-Identifier: BSD-3-Clause
// coll/make/blocks_together.hpp: the input of a reduce-scatter: contiguous blocks.
#pragma once
#include "coll/coll_spec.hpp"

namespace herald::coll {

// All blocks as one run of items. The data is not empty.
inline Piece blocks_together(const CollSpec& spec) noexcept {
  const Piece first = spec.send.block(0);
  return items_of(first, 0,
                  static_cast<std::int64_t>(spec.bytes / static_cast<std::uint64_t>(first.layout->size())));
}
// The item at which block `rank` begins; rank may be the number of ranks.
inline std::int64_t block_begin(const CollSpec& spec, int rank) noexcept {
  if (spec.send.counts == nullptr) return rank * spec.send.count;
  if (rank == 0) return 0;
  return spec.send.displacements[rank - 1] + spec.send.counts[rank - 1];
}

}  // namespace herald::coll
