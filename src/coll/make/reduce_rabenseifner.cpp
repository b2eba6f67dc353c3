// SPDX-License-Identifier: BSD-3-Clause
// Rabenseifner reduce for long vectors: reduce-scatter by recursive halving, then a binomial gather of the
// parts. Ranks are counted from the one after the root, so that the root is never an extra rank. Rank order
// is not kept.
#include "coll/make/halving.hpp"
#include "coll/make/items.hpp"
#include "coll/make/makers.hpp"
#include "coll/make/power_of_two.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const int places = power_below(shape.ranks);
  const double rounds = log2_up(places), size = static_cast<double>(bytes);
  const double share = static_cast<double>(places - 1) / places, aside = is_power(shape.ranks) ? 0 : 1;
  return transfer_ns(shape, 2 * rounds + aside, (2 * share + aside) * size) +
         (share + aside) * size * shape.cost.reduce_byte_ns;
}

void make(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const int n = spec.size, u = (spec.rank - spec.root - 1 + n) % n;  // the root is n - 1
  const bool root = spec.rank == spec.root;
  const Piece own = spec.own();
  if (n == 1) {
    if (!spec.in_place) b.copy(own, spec.result());
    return;
  }
  const PowerOfTwo pof2(n);
  const auto rank_at = [&](int v) { return (v + spec.root + 1) % n; };
  const auto rank_of = [&](int place) { return rank_at(pof2.rank(place)); };
  b.round(kExtraRound);
  if (pof2.is_extra(u)) {
    b.send(rank_at(u + 1), own);
    return;
  }
  const Piece area = root ? spec.result() : b.scratch_items(*own.layout, own.count);
  StepId ready = kNone;
  bool in_area = spec.in_place;
  if (pof2.paired(u)) {
    ready = b.reduce(own, area, {b.recv(rank_at(u - 1), area)});
    in_area = true;
  }
  const ItemParts parts{own.count, pof2.places};
  Halving halving(b, parts, rank_of, own, area, in_area, ready);
  const int place = pof2.place(u), top = pof2.place(n - 1);
  halving.run(pof2.places, place);

  StepId have[kMaxRounds + 1] = {halving.ready()};
  int known = 1, round = halving.rounds();
  for (int bit = 1; bit < pof2.places; bit *= 2, ++round) {
    const int mine = place & ~(bit - 1), theirs = mine ^ bit, partner = rank_of(place ^ bit);
    b.round(round);
    if (((place ^ top) & bit) != 0) {
      const Piece out = parts.piece(area, mine, mine + bit);
      if (out.bytes == 0) return;
      const StepId sent = b.send(partner, out);
      for (int i = 0; i < known; ++i) b.depend(sent, have[i]);
      return;
    }
    const Piece in = parts.piece(area, theirs, theirs + bit);
    // The received half overwrites the half that was sent away when it was cut off.
    const StepId given = halving.sent(halving.rounds() - known);
    have[known++] = in.bytes == 0 ? kNone : b.recv(partner, in, {given});
  }
}

bool fits(const Shape& shape) noexcept { return shape.commutes; }

}  // namespace

const Algorithm kReduceRabenseifner{
    Op::reduce, "rabenseifner", "recursive halving, then a gather to the root; keeps no rank order",
    fits,       estimate,       make};

}  // namespace herald::coll
