// SPDX-License-Identifier: BSD-3-Clause
// Reduce and allreduce in shared memory. Short vectors: every rank (or the root, or the last to arrive if
// oversubscribed) reduces all posts. Long vectors: each rank reduces its share of the items from the others'
// memory, then all read the shares from their owners.
#include <algorithm>

#include "coll/make/items.hpp"
#include "coll/make/makers.hpp"
#include "coll/make/shared.hpp"

namespace herald::coll {
namespace {

// One rank reduces a range of items of what all ranks posted as number 0.
// Rank order, from the right, so that every rank that reduces gets the same result; if only one rank reduces
// these items and the operation commutes, its own part may come first.
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

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double size = static_cast<double>(bytes), others = shape.ranks - 1;
  if (bytes <= shape.shared_bytes)
    return shared_ns(shape, bytes, 1, 0, size * others, 0) + size * others * shape.cost.reduce_byte_ns;
  const double share = size * others / shape.ranks;
  return shared_ns(shape, bytes, 1, 2, 2 * share, 2 * others) +
         oversubscription(shape) * share * shape.cost.reduce_byte_ns;
}

// Reduces this rank's share of the items, which all ranks have posted when `start` is complete.
StepId reduce_share(const CollSpec& spec, Builder& b, const ItemParts& parts, const Piece& own,
                    const Piece& to, bool in_place, StepId start) noexcept {
  return PostReducer(spec, b, own, true)
      .reduce(parts.at(spec.rank), parts.count(spec.rank, spec.rank + 1), to, in_place, start);
}

// Reads the others' shares, posted as number 1.
StepId fetch_shares(const CollSpec& spec, Builder& b, const ItemParts& parts, StepId start) noexcept {
  StepId got = start;
  for (int i = 1; i < spec.size; ++i) {
    const int from = (spec.rank + i) % spec.size;
    const Piece share = parts.piece(spec.result(), from, from + 1);
    if (share.bytes != 0) got = b.fetch(from, 1, share, 0, true, {got});
  }
  return got;
}

void make_allreduce(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const Piece own = spec.own(), result = spec.result();
  if (copied(spec) && spec.oversubscribed && spec.size > 2 && own.layout->dense()) {
    const StepId reduced = b.combine(0, own, {b.post(0, own, true, kNoRank)});
    b.fetch(spec.size - 1, 0, result, 0, true, {b.wait_arrived(1, {reduced})});
    return;
  }
  const StepId here = post_to_all(spec, b, 0, own, copied(spec));
  if (copied(spec)) {
    PostReducer(spec, b, own, false).reduce(0, own.count, result, spec.in_place, here);
    return;
  }
  const ItemParts parts{own.count, spec.size};
  const Piece share = parts.piece(result, spec.rank, spec.rank + 1);
  const StepId reduced = reduce_share(spec, b, parts, own, share, spec.in_place, here);
  const StepId all = post_to_all(spec, b, 1, share, false, {reduced});
  StepId got = all;
  // With two ranks an empty share is not fetched, yet the peer must have read ours.
  if (spec.size == 2 && parts.count(1 - spec.rank, 2 - spec.rank) == 0)
    got = b.fetch(1 - spec.rank, 1, Piece{}, 0, true, {got});
  got = fetch_shares(spec, b, parts, got);
  wait_for_all(b, 2, {got});
}

void make_reduce_short(const CollSpec& spec, Builder& b, const Piece& own) noexcept {
  const bool two = spec.size == 2;
  if (spec.rank != spec.root) {
    const StepId posted = b.post(0, own, true, two ? spec.root : kNoRank);
    if (!two) b.arrive(0, spec.root, {posted});
    return;
  }
  const StepId here = two ? kNone : b.wait_arrived(0, {b.arrive(0, kNoRank)});
  PostReducer(spec, b, own, true).reduce(0, own.count, spec.result(), spec.in_place, here);
}

void make_reduce(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const Piece own = spec.own();
  if (copied(spec)) return make_reduce_short(spec, b, own);
  const bool root = spec.rank == spec.root;
  const ItemParts parts{own.count, spec.size};
  const StepId here = post_to_all(spec, b, 0, own, false);
  const Piece share = root ? parts.piece(spec.result(), spec.rank, spec.rank + 1)
                           : b.scratch_items(*own.layout, parts.count(spec.rank, spec.rank + 1));
  const StepId reduced = reduce_share(spec, b, parts, own, share, root && spec.in_place, here);
  const StepId posted = b.post(1, root ? Piece{} : share, root, kNoRank, {reduced});
  StepId got = wait_for_all(b, 1, {posted});
  if (root) got = fetch_shares(spec, b, parts, got);
  wait_for_all(b, 2, {got});
}

constexpr Algorithm kRows[] = {
    {Op::reduce, "shared",
     "posts in shared memory; long data: each rank reduces its share, the root collects", fits_shared,
     estimate, make_reduce},
    {Op::allreduce, "shared", "posts in shared memory; long data: each rank reduces its share, all collect",
     fits_shared, estimate, make_allreduce},
};

}  // namespace

constinit const std::span<const Algorithm> kSharedReduceAlgorithms = kRows;

}  // namespace herald::coll
