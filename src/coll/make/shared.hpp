// SPDX-License-Identifier: BSD-3-Clause
// coll/make/shared.hpp: what the algorithms over shared memory have in common.
// Short data is copied onto the collective segment. Long data stays where it is: its owner posts the address,
// the others read it from there, and nobody leaves before all have read. Two ranks watch each other's posts;
// more count themselves at a split copy, so that only the last one to come wakes the others.
#pragma once
#include "coll/make/makers.hpp"

namespace herald::coll {

inline bool fits_shared(const Shape& shape) noexcept {
  return shape.shared_bytes != 0 && shape.ranks > 1 && shape.hosts == 1;
}

// What waiting once for all ranks costs, and moving bytes by reading another process's memory.
constexpr double kSharedFlagNs = 120, kSharedRankNs = 40, kSharedCallNs = 500;
constexpr double barrier_ns(const Shape& shape) noexcept {
  return kSharedFlagNs + shape.ranks * kSharedRankNs;
}
inline bool copied(const CollSpec& ask) noexcept { return ask.bytes <= ask.shared_bytes; }
// Where ranks outnumber processors (taken to be two), they run one after another.
constexpr double crowd(const Shape& shape) noexcept { return shape.oversubscribed ? shape.ranks / 2.0 : 1; }
constexpr double kSharedSwitchNs = 1500;
// Short: `barrier_words` and the copies; long: `more` split copies in addition, and `calls` that read what is
// moved; or never.
inline double shared_ns(const Shape& shape, std::uint64_t bytes, double barrier_words, double more,
                        double moved, double calls) noexcept {
  if (bytes <= shape.shared_bytes)
    return barrier_words * barrier_ns(shape) + moved * 2 * shape.cost.copy_byte_ns;
  if (!shape.reads_peers) return kNeverNs;
  const double barrier_word =
      barrier_ns(shape) + kSharedCallNs + (shape.oversubscribed ? crowd(shape) * kSharedSwitchNs : 0);
  return (barrier_words + more) * barrier_word +
         crowd(shape) *
             ((shape.oversubscribed ? calls * kSharedCallNs : 0) + moved * shape.cost.copy_byte_ns * 1.5);
}

// Nobody goes on before all are here.
inline StepId meet_all(Builder& b, int barrier_word, Builder::After after) noexcept {
  return b.meet(barrier_word, {b.arrive(barrier_word, kEverybody, after)});
}
// Posts `piece` as number `number`; what comes back is complete when the others' posts are there, or, with
// two ranks, at once: a fetch waits for the post itself.
inline StepId post_to_all(const CollSpec& ask, Builder& b, int number, const Piece& piece, bool by_copy,
                          Builder::After after = {}) noexcept {
  if (ask.size == 2) return b.post(number, piece, by_copy, 1 - ask.rank, after);
  const StepId posted = b.post(number, piece, by_copy, kNobody, after);
  return meet_all(b, number, {posted});
}

}  // namespace herald::coll
