// SPDX-License-Identifier: BSD-3-Clause
// coll/make/shared.hpp: cost terms and steps that the algorithms over shared memory share.
// Short data is copied into the collective segment. Long data stays in place: its owner posts the address,
// the others read it there, and no rank returns before all have read. Two ranks poll each other's posts; more
// of them count arrivals in a barrier word, so that only the last one wakes the others.
#pragma once
#include "coll/make/makers.hpp"

namespace herald::coll {

inline bool fits_shared(const Shape& shape) noexcept {
  return shape.shared_bytes != 0 && shape.ranks > 1 && shape.hosts == 1;
}

// Cost of one barrier, and of a read of another process's memory.
constexpr double kSharedFlagNs = 120, kSharedRankNs = 40, kSharedCallNs = 500;
constexpr double barrier_ns(const Shape& shape) noexcept {
  return kSharedFlagNs + shape.ranks * kSharedRankNs;
}
inline bool copied(const CollSpec& spec) noexcept { return spec.bytes <= spec.shared_bytes; }
// Oversubscribed ranks run one after another (two cores are assumed).
constexpr double oversubscription(const Shape& shape) noexcept {
  return shape.oversubscribed ? shape.ranks / 2.0 : 1;
}
constexpr double kSharedSwitchNs = 1500;
// Short data: `barrier_words` barriers and the copies. Long data: `more` barriers in addition, and `calls`
// reads of another process; kNeverNs if those are not permitted.
inline double shared_ns(const Shape& shape, std::uint64_t bytes, double barrier_words, double more,
                        double moved, double calls) noexcept {
  if (bytes <= shape.shared_bytes)
    return barrier_words * barrier_ns(shape) + moved * 2 * shape.cost.copy_byte_ns;
  if (!shape.reads_peers) return kNeverNs;
  const double barrier_word = barrier_ns(shape) + kSharedCallNs +
                              (shape.oversubscribed ? oversubscription(shape) * kSharedSwitchNs : 0);
  return (barrier_words + more) * barrier_word +
         oversubscription(shape) *
             ((shape.oversubscribed ? calls * kSharedCallNs : 0) + moved * shape.cost.copy_byte_ns * 1.5);
}

// A barrier: no rank passes before all have arrived.
inline StepId wait_for_all(Builder& b, int barrier_word, Builder::After after) noexcept {
  return b.wait_arrived(barrier_word, {b.arrive(barrier_word, kAllRanks, after)});
}
// Posts `piece` as number `number`. The returned step completes when the others have posted too; with two
// ranks at once, as a fetch waits for the post itself.
inline StepId post_to_all(const CollSpec& spec, Builder& b, int number, const Piece& piece, bool by_copy,
                          Builder::After after = {}) noexcept {
  if (spec.size == 2) return b.post(number, piece, by_copy, 1 - spec.rank, after);
  const StepId posted = b.post(number, piece, by_copy, kNoRank, after);
  return wait_for_all(b, number, {posted});
}

}  // namespace herald::coll
