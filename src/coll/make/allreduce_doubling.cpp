// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by recursive doubling: in round k places 2^k apart exchange what they have and both fold it. Each
// place then holds the result of an aligned group of neighbours, so the order of ranks is kept for operations
// that do not commute.
// Two areas take turns, the receive buffer (0) and scratch (1): a message lands in the one that does not hold
// the partial result.
#include "coll/make/fold.hpp"
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double rounds = log2_up(power_below(shape.ranks)), size = static_cast<double>(bytes);
  const double aside = is_power(shape.ranks) ? 0 : 2;
  return transfer_ns(shape, rounds + aside, (rounds + aside) * size) +
         (rounds + aside / 2) * size * shape.cost.reduce_byte_ns;
}

class Maker {
 public:
  Maker(const CollSpec& ask, Builder& b) noexcept : spec_(ask), b_(b), fold_(ask.size) {}

  void make() noexcept {
    if (fold_.stands_aside(spec_.rank)) return make_aside();
    const int place = fold_.place(spec_.rank);
    const bool paired = fold_.paired(spec_.rank);
    const int folds = log2_up(fold_.places) + (paired ? 1 : 0);
    area_[0] = spec_.result();
    if (folds > 0) area_[1] = b_.scratch_items(*area_[0].layout, area_[0].count);
    acc_ = spec_.own();
    if (spec_.in_place || !spec_.commutes) {
      if (!spec_.in_place) ready_ = b_.copy(acc_, area_[0]);
      acc_ = area_[0];
      next_ = 1;
    } else {
      next_ = folds % 2 == 1 ? 0 : 1;  // so that the last message lands in the receive buffer
    }
    if (paired) {
      b_.round(kFoldRound);
      fold(b_.recv(spec_.rank - 1, area_[next_]), kNone, false);
    }
    for (int bit = 1, k = 0; bit < fold_.places; bit *= 2, ++k) {
      const int partner = fold_.rank(place ^ bit);
      b_.round(k);
      const StepId got = b_.recv(partner, area_[next_], {read_[next_], sent_[next_]});
      const StepId sent = b_.send(partner, acc_, {ready_});
      fold(got, sent, (place & bit) == 0);
    }
    if (acc_.buffer != Buffer::recv) ready_ = b_.copy(acc_, area_[0], {ready_, read_[0], sent_[0]});
    if (paired) {
      b_.round(kUnfoldRound);
      b_.send(spec_.rank - 1, area_[0], {ready_});
    }
  }

 private:
  void make_aside() noexcept {
    b_.round(kFoldRound);
    const StepId sent = b_.send(spec_.rank + 1, spec_.own());
    b_.round(kUnfoldRound);
    b_.recv(spec_.rank + 1, spec_.result(), {spec_.in_place ? sent : kNone});
  }

  // The newcomer is in area_[next_]; `ours_left`: it belongs to the right of what we have.
  void fold(StepId got, StepId sent, bool ours_left) noexcept {
    const bool land = spec_.commutes ? !spec_.in_place : ours_left;
    if (land) {  // the newcomer's area takes the result
      const StepId folded = b_.reduce(acc_, area_[next_], {got, ready_});
      const int before = next_;
      const int old = 1 - next_;  // held the partial result, unless that was the user's own data
      read_[old] = folded;
      sent_[old] = sent;
      acc_ = area_[before];
      next_ = old;
      ready_ = folded;
    } else {
      ready_ = b_.reduce(area_[next_], acc_, {got, ready_, sent});
      read_[next_] = ready_;
    }
  }

  const CollSpec& spec_;
  Builder& b_;
  const Fold fold_;
  Piece area_[2], acc_;
  int next_ = 1;
  StepId ready_ = kNone;             // the partial result is complete
  StepId read_[2] = {kNone, kNone};  // the area has been folded from
  StepId sent_[2] = {kNone, kNone};  // the area has been sent from
};

void make(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes != 0) Maker(ask, b).make();
}

}  // namespace

const Algorithm kAllreduceDoubling{Op::allreduce, "doubling", "recursive doubling, whole messages",
                                   fits_any,      estimate,   make};

}  // namespace herald::coll
