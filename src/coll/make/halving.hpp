// SPDX-License-Identifier: BSD-3-Clause
// coll/make/halving.hpp: reduce-scatter by recursive halving over a power of two of places: in each round a
// place keeps one half of its parts, sends the other half to its partner, and reduces the data it receives.
// At the end place p has part p. Rank order is not kept.
#pragma once
#include "coll/builder.hpp"
#include "coll/make/tree.hpp"

namespace herald::coll {

// Parts: piece(whole, begin, end) gives the items of some parts. RankOf maps a place to a rank.
template <class Parts, class RankOf>
class Halving {
 public:
  // The contribution is in `own`; the sums are accumulated in `area`, which has the same items. Both are the
  // same memory if `in_area` (after `ready`).
  Halving(Builder& b, const Parts& parts, const RankOf& rank_of, const Piece& own, const Piece& area,
          bool in_area, StepId ready) noexcept
      : b_(b), parts_(parts), rank_of_(rank_of), own_(own), area_(area), in_area_(in_area), ready_(ready) {}

  void run(int places, int place) noexcept {
    for (int bit = places / 2; bit > 0; bit /= 2) halve(place, bit);
  }
  StepId ready() const noexcept { return ready_; }
  int rounds() const noexcept { return rounds_; }
  // The send of a round: after it the half that was sent away may be overwritten.
  StepId sent(int round) const noexcept { return sent_[round]; }

 private:
  void halve(int place, int bit) noexcept {
    const int keep = place & ~(bit - 1), give = keep ^ bit, partner = rank_of_(place ^ bit);
    const Piece mine = parts_.piece(area_, keep, keep + bit);
    const Piece theirs = parts_.piece(in_area_ ? area_ : own_, give, give + bit);
    b_.round(rounds_);
    StepId got = kNone;
    Piece arrives = mine;
    if (mine.bytes != 0) {
      if (in_area_) arrives = b_.scratch_items(*mine.layout, mine.count);
      got = b_.recv(partner, arrives);
    }
    sent_[rounds_++] = theirs.bytes == 0 ? kNone : b_.send(partner, theirs, {ready_});
    if (mine.bytes != 0)
      ready_ = in_area_ ? b_.reduce(arrives, mine, {got, ready_})
                        : b_.reduce(parts_.piece(own_, keep, keep + bit), mine, {got, ready_});
    in_area_ = true;
  }

  Builder& b_;
  const Parts& parts_;
  const RankOf& rank_of_;
  const Piece own_, area_;
  bool in_area_;
  StepId ready_;
  int rounds_ = 0;
  StepId sent_[kMaxRounds];
};

}  // namespace herald::coll
