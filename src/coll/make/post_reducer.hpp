// SPDX-License-Identifier: BSD-3-Clause
// coll/make/post_reducer.hpp: one rank reduces a range of items of what all ranks posted as number 0.
// Rank order, from the right, so that every rank that reduces gets the same result; if only one rank reduces
// these items and the operation commutes, its own part may come first.
#pragma once
#include <algorithm>

#include "coll/make/items.hpp"
#include "coll/make/shared.hpp"

namespace herald::coll {

class PostReducer {
 public:
  // `own`: this rank's contribution. `alone`: no other rank reduces the same items.
  PostReducer(const CollSpec& spec, Builder& b, const Piece& own, bool alone) noexcept
      : spec_(spec), b_(b), own_(own), free_order_(spec.commutes && (alone || spec.size == 2)) {}

  // Items [begin, begin + count) into `to`, which holds them already if `in_place`. After `start`.
  StepId reduce(std::int64_t begin, std::int64_t count, const Piece& to, bool in_place,
                StepId start) noexcept {
    StepId done = start;
    const std::int64_t step = chunk(count);
    if (count > 0) incoming_ = b_.scratch_items(*own_.layout, step);
    if (count > 0 && in_place && !free_order_) temp_ = b_.scratch_items(*own_.layout, step);
    for (std::int64_t at = 0; at < count; at += step) {
      const std::int64_t n = std::min(step, count - at);
      const Piece place = items_of(to, at, n);
      if (!in_place) {
        done = free_order_ ? from_other(begin + at, n, place, done) : in_order(begin + at, n, place, done);
      } else if (free_order_) {
        done = onto_own(begin + at, n, place, done);
      } else {
        const Piece aside = items_of(temp_, 0, n);
        done = b_.copy(aside, place, {in_order(begin + at, n, aside, done)});
      }
    }
    return done;
  }

 private:
  // The data that was read must still be cached when it is reduced; and plans stay short.
  static constexpr std::int64_t kChunkBytes = 128 * 1024, kMostChunks = 64;
  std::int64_t chunk(std::int64_t count) const noexcept {
    const std::int64_t items = kChunkBytes / std::max<std::int64_t>(own_.layout->size(), 1);
    return std::max({items, (count + kMostChunks - 1) / kMostChunks, std::int64_t{1}});
  }
  Piece mine(std::int64_t begin, std::int64_t count) const noexcept { return items_of(own_, begin, count); }
  StepId get(int rank, std::int64_t begin, const Piece& to, StepId after) noexcept {
    const auto first = static_cast<std::uint64_t>(begin * own_.layout->size());
    return b_.fetch(rank, 0, to, first, false, {after});
  }
  StepId add(int rank, std::int64_t begin, std::int64_t count, const Piece& to, StepId after) noexcept {
    const Piece incoming = items_of(incoming_, 0, count);
    return b_.reduce(incoming, to, {get(rank, begin, incoming, after)});
  }

  StepId in_order(std::int64_t begin, std::int64_t count, const Piece& to, StepId done) noexcept {
    for (int rank = spec_.size - 1; rank >= 0; --rank) {
      const bool own = rank == spec_.rank;
      if (rank == spec_.size - 1)
        done = own ? b_.copy(mine(begin, count), to, {done}) : get(rank, begin, to, done);
      else
        done = own ? b_.reduce(mine(begin, count), to, {done}) : add(rank, begin, count, to, done);
    }
    return done;
  }
  StepId from_other(std::int64_t begin, std::int64_t count, const Piece& to, StepId done) noexcept {
    done = b_.reduce(mine(begin, count), to, {get((spec_.rank + 1) % spec_.size, begin, to, done)});
    for (int i = 2; i < spec_.size; ++i) done = add((spec_.rank + i) % spec_.size, begin, count, to, done);
    return done;
  }
  StepId onto_own(std::int64_t begin, std::int64_t count, const Piece& to, StepId done) noexcept {
    for (int i = 1; i < spec_.size; ++i) done = add((spec_.rank + i) % spec_.size, begin, count, to, done);
    return done;
  }

  const CollSpec& spec_;
  Builder& b_;
  const Piece own_;
  const bool free_order_;
  Piece incoming_, temp_;
};

}  // namespace herald::coll
