// SPDX-License-Identifier: BSD-3-Clause
// Rabenseifner allreduce for long vectors: reduce-scatter by recursive halving, then allgather by recursive
// doubling. Each rank sends and receives about twice the data and reduces it once. Rank order is not kept.
#include "coll/make/items.hpp"
#include "coll/make/makers.hpp"
#include "coll/make/power_of_two.hpp"
#include "coll/make/tree.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const int places = power_below(shape.ranks);
  const double rounds = log2_up(places), size = static_cast<double>(bytes);
  const double share = static_cast<double>(places - 1) / places, aside = is_power(shape.ranks) ? 0 : 1;
  return transfer_ns(shape, 2 * (rounds + aside), 2 * (share + aside) * size) +
         (share + aside) * size * shape.cost.reduce_byte_ns;
}

class Maker {
 public:
  Maker(const CollSpec& spec, Builder& b) noexcept
      : spec_(spec), b_(b), pof2_(spec.size), parts_{spec.recv.count, pof2_.places}, result_(spec.result()) {}

  void make() noexcept {
    if (pof2_.is_extra(spec_.rank)) {
      b_.round(kExtraRound);
      const StepId sent = b_.send(spec_.rank + 1, spec_.own());
      b_.round(kResultRound);
      b_.recv(spec_.rank + 1, result_, {spec_.in_place ? sent : kNone});
      return;
    }
    place_ = pof2_.place(spec_.rank);
    if (pof2_.paired(spec_.rank)) take_pair();
    int round = 0;
    for (int bit = pof2_.places / 2; bit > 0; bit /= 2) halve(bit, round++);
    if (pof2_.places == 1 && !spec_.in_place && !reduced_) have(b_.copy(spec_.own(), result_));
    for (int bit = 1; bit < pof2_.places; bit *= 2) gather(bit, --given_, round++);
    if (pof2_.paired(spec_.rank)) {
      b_.round(kResultRound);
      needing_all(b_.send(spec_.rank - 1, result_));
    }
  }

 private:
  void have(StepId step) noexcept { have_[known_++] = step; }
  void needing_all(StepId step) noexcept {
    for (int i = 0; i < known_; ++i) b_.depend(step, have_[i]);
  }

  void take_pair() noexcept {
    b_.round(kExtraRound);
    const Piece area = spec_.in_place ? b_.scratch_items(*result_.layout, result_.count) : result_;
    const StepId got = b_.recv(spec_.rank - 1, area);
    ready_ = spec_.in_place ? b_.reduce(area, result_, {got}) : b_.reduce(spec_.own(), result_, {got});
    reduced_ = true;
  }

  // This place keeps one half of its parts and sends the other half to its partner.
  void halve(int bit, int round) noexcept {
    const int keep = place_ & ~(bit - 1), give = keep ^ bit;
    const int partner = pof2_.rank(place_ ^ bit);
    const bool from_user = !spec_.in_place && !reduced_ && bit == pof2_.places / 2;
    const Piece mine = parts_.piece(result_, keep, keep + bit);
    const Piece theirs = parts_.piece(from_user ? spec_.own() : result_, give, give + bit);
    b_.round(round);
    StepId got = kNone, sent = kNone;
    Piece area = mine;
    if (mine.bytes != 0) {
      if (!from_user) area = b_.scratch_items(*mine.layout, mine.count);
      got = b_.recv(partner, area);
    }
    if (theirs.bytes != 0) sent = b_.send(partner, theirs, {ready_});
    if (mine.bytes != 0)
      ready_ = from_user ? b_.reduce(parts_.piece(spec_.own(), keep, keep + bit), mine, {got})
                         : b_.reduce(area, mine, {got, ready_});
    sent_[given_++] = sent;
    if (bit == 1) have(ready_);
  }

  void gather(int bit, int halving, int round) noexcept {
    const int mine = place_ & ~(bit - 1), theirs = mine ^ bit;
    const int partner = pof2_.rank(place_ ^ bit);
    const Piece in = parts_.piece(result_, theirs, theirs + bit),
                out = parts_.piece(result_, mine, mine + bit);
    b_.round(round);
    // The received half overwrites the half that was sent away when it was cut off.
    const StepId got = in.bytes == 0 ? kNone : b_.recv(partner, in, {sent_[halving]});
    if (out.bytes != 0) needing_all(b_.send(partner, out));
    have(got);
  }

  const CollSpec& spec_;
  Builder& b_;
  const PowerOfTwo pof2_;
  const ItemParts parts_;
  const Piece result_;
  int place_ = 0, given_ = 0, known_ = 0;
  bool reduced_ = false;
  StepId ready_ = kNone;
  StepId sent_[kMaxRounds];
  StepId have_[kMaxRounds + 2];
};

void make(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes != 0) Maker(spec, b).make();
}

bool fits(const Shape& shape) noexcept { return shape.commutes; }

}  // namespace

const Algorithm kAllreduceRabenseifner{
    Op::allreduce, "rabenseifner", "recursive halving, then doubling; keeps no rank order",
    fits,          estimate,       make};

}  // namespace herald::coll
