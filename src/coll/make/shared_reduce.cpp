// SPDX-License-Identifier: BSD-3-Clause
// Reduce and allreduce in shared memory. Short vectors: every rank (or the root, or the last to arrive if
// oversubscribed) reduces all posts. Long vectors: each rank reduces its share of the items from the others'
// memory, then all read the shares from their owners.
#include "coll/make/post_reducer.hpp"

namespace herald::coll {
namespace {

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

}  // namespace

const Algorithm kReduceShared{
    Op::reduce,
    "shared",
    "posts in shared memory; long data: each rank reduces its share, the root collects",
    fits_shared,
    estimate,
    make_reduce};
const Algorithm kAllreduceShared{
    Op::allreduce, "shared", "posts in shared memory; long data: each rank reduces its share, all collect",
    fits_shared,   estimate, make_allreduce};

}  // namespace herald::coll
