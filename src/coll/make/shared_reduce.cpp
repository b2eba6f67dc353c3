// SPDX-License-Identifier: BSD-3-Clause
// Reduce and allreduce among ranks that share memory. Short: everybody (or the root, or the last to come,
// where processors are few) reduces all that was posted. Long: each rank reduces its share of the items,
// reading the others' memory; then the shares are read from their owners.
#include "coll/make/shared_fold.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double size = static_cast<double>(bytes), others = shape.ranks - 1;
  if (bytes <= shape.shared_bytes)
    return shared_ns(shape, bytes, 1, 0, size * others, 0) + size * others * shape.cost.reduce_byte_ns;
  const double share = size * others / shape.ranks;
  return shared_ns(shape, bytes, 1, 2, 2 * share, 2 * others) +
         crowd(shape) * share * shape.cost.reduce_byte_ns;
}

// Reduces this rank's share of the items, which all have posted when `start` is complete.
StepId fold_share(const CollSpec& ask, Builder& b, const ItemParts& parts, const Piece& own, const Piece& to,
                  bool in_place, StepId start) noexcept {
  return SharedFold(ask, b, own, true)
      .fold(parts.at(ask.rank), parts.count(ask.rank, ask.rank + 1), to, in_place, start);
}

// Reads the others' shares, posted as number 1.
StepId fetch_shares(const CollSpec& ask, Builder& b, const ItemParts& parts, StepId start) noexcept {
  StepId got = start;
  for (int i = 1; i < ask.size; ++i) {
    const int from = (ask.rank + i) % ask.size;
    const Piece share = parts.piece(ask.result(), from, from + 1);
    if (share.bytes != 0) got = b.fetch(from, 1, share, 0, true, {got});
  }
  return got;
}

void make_allreduce(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const Piece own = ask.own(), result = ask.result();
  if (copied(ask) && ask.oversubscribed && ask.size > 2 && own.layout->dense()) {
    const StepId reduced = b.combine(0, own, {b.post(0, own, true, kNobody)});
    b.fetch(ask.size - 1, 0, result, 0, true, {b.meet(1, {reduced})});
    return;
  }
  const StepId here = post_to_all(ask, b, 0, own, copied(ask));
  if (copied(ask)) {
    SharedFold(ask, b, own, false).fold(0, own.count, result, ask.in_place, here);
    return;
  }
  const ItemParts parts{own.count, ask.size};
  const Piece share = parts.piece(result, ask.rank, ask.rank + 1);
  const StepId folded = fold_share(ask, b, parts, own, share, ask.in_place, here);
  const StepId all = post_to_all(ask, b, 1, share, false, {folded});
  StepId got = all;
  // With two ranks a share that is empty is not fetched, yet the other must have read ours.
  if (ask.size == 2 && parts.count(1 - ask.rank, 2 - ask.rank) == 0)
    got = b.fetch(1 - ask.rank, 1, Piece{}, 0, true, {got});
  got = fetch_shares(ask, b, parts, got);
  meet_all(b, 2, {got});
}

void make_reduce_short(const CollSpec& ask, Builder& b, const Piece& own) noexcept {
  const bool two = ask.size == 2;
  if (ask.rank != ask.root) {
    const StepId posted = b.post(0, own, true, two ? ask.root : kNobody);
    if (!two) b.arrive(0, ask.root, {posted});
    return;
  }
  const StepId here = two ? kNone : b.meet(0, {b.arrive(0, kNobody)});
  SharedFold(ask, b, own, true).fold(0, own.count, ask.result(), ask.in_place, here);
}

void make_reduce(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const Piece own = ask.own();
  if (copied(ask)) return make_reduce_short(ask, b, own);
  const bool root = ask.rank == ask.root;
  const ItemParts parts{own.count, ask.size};
  const StepId here = post_to_all(ask, b, 0, own, false);
  const Piece share = root ? parts.piece(ask.result(), ask.rank, ask.rank + 1)
                           : b.scratch_items(*own.layout, parts.count(ask.rank, ask.rank + 1));
  const StepId folded = fold_share(ask, b, parts, own, share, root && ask.in_place, here);
  const StepId posted = b.post(1, root ? Piece{} : share, root, kNobody, {folded});
  StepId got = meet_all(b, 1, {posted});
  if (root) got = fetch_shares(ask, b, parts, got);
  meet_all(b, 2, {got});
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
