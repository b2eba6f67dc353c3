// SPDX-License-Identifier: BSD-3-Clause
// Recursive-doubling allreduce: in round k places 2^k apart exchange their partial results and reduce them.
// Each place then holds the result of an aligned group of neighbors, so rank order is kept for operations
// that do not commute.
// Two areas alternate, the receive buffer (0) and scratch (1): a message is received into the area that does
// not hold the partial result.
#include "coll/make/makers.hpp"
#include "coll/make/power_of_two.hpp"

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
  Maker(const CollSpec& spec, Builder& b) noexcept : spec_(spec), b_(b), pof2_(spec.size) {}

  void make() noexcept {
    if (pof2_.is_extra(spec_.rank)) return make_aside();
    const int place = pof2_.place(spec_.rank);
    const bool paired = pof2_.paired(spec_.rank);
    const int reductions = log2_up(pof2_.places) + (paired ? 1 : 0);
    area_[0] = spec_.result();
    if (reductions > 0) area_[1] = b_.scratch_items(*area_[0].layout, area_[0].count);
    acc_ = spec_.own();
    if (spec_.in_place || !spec_.commutes) {
      if (!spec_.in_place) ready_ = b_.copy(acc_, area_[0]);
      acc_ = area_[0];
      next_ = 1;
    } else {
      next_ = reductions % 2 == 1 ? 0 : 1;  // the last message must be received into the receive buffer
    }
    if (paired) {
      b_.round(kExtraRound);
      reduce(b_.recv(spec_.rank - 1, area_[next_]), kNone, false);
    }
    for (int bit = 1, k = 0; bit < pof2_.places; bit *= 2, ++k) {
      const int partner = pof2_.rank(place ^ bit);
      b_.round(k);
      const StepId got = b_.recv(partner, area_[next_], {read_[next_], sent_[next_]});
      const StepId sent = b_.send(partner, acc_, {ready_});
      reduce(got, sent, (place & bit) == 0);
    }
    if (acc_.buffer != Buffer::recv) ready_ = b_.copy(acc_, area_[0], {ready_, read_[0], sent_[0]});
    if (paired) {
      b_.round(kResultRound);
      b_.send(spec_.rank - 1, area_[0], {ready_});
    }
  }

 private:
  void make_aside() noexcept {
    b_.round(kExtraRound);
    const StepId sent = b_.send(spec_.rank + 1, spec_.own());
    b_.round(kResultRound);
    b_.recv(spec_.rank + 1, spec_.result(), {spec_.in_place ? sent : kNone});
  }

  // The received data is in area_[next_]; `ours_left`: it is the right operand.
  void reduce(StepId got, StepId sent, bool ours_left) noexcept {
    const bool land = spec_.commutes ? !spec_.in_place : ours_left;
    if (land) {  // the area of the received data takes the result
      const StepId reduced = b_.reduce(acc_, area_[next_], {got, ready_});
      const int before = next_;
      const int old = 1 - next_;  // held the partial result, unless that was the user's own data
      read_[old] = reduced;
      sent_[old] = sent;
      acc_ = area_[before];
      next_ = old;
      ready_ = reduced;
    } else {
      ready_ = b_.reduce(area_[next_], acc_, {got, ready_, sent});
      read_[next_] = ready_;
    }
  }

  const CollSpec& spec_;
  Builder& b_;
  const PowerOfTwo pof2_;
  Piece area_[2], acc_;
  int next_ = 1;
  StepId ready_ = kNone;             // the partial result is complete
  StepId read_[2] = {kNone, kNone};  // the area has been read by a reduction
  StepId sent_[2] = {kNone, kNone};  // the area has been sent from
};

void make(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes != 0) Maker(spec, b).make();
}

}  // namespace

const Algorithm kAllreduceDoubling{Op::allreduce, "doubling", "recursive doubling, whole messages",
                                   fits_any,      estimate,   make};

}  // namespace herald::coll
