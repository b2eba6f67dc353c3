// SPDX-License-Identifier: BSD-3-Clause
// Reduce of much data after Rabenseifner: reduce-scatter by recursive halving, then a binomial gather of the
// parts to the root. The ranks are counted from the one after the root, so that the root is never one that
// stands aside. The order of ranks is not kept.
#include "coll/make/fold.hpp"
#include "coll/make/halving.hpp"
#include "coll/make/items.hpp"
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const int places = power_below(shape.ranks);
  const double rounds = log2_up(places), size = static_cast<double>(bytes);
  const double share = static_cast<double>(places - 1) / places, aside = is_power(shape.ranks) ? 0 : 1;
  return transfer_ns(shape, 2 * rounds + aside, (2 * share + aside) * size) +
         (share + aside) * size * shape.cost.reduce_byte_ns;
}

void make(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const int n = ask.size, u = (ask.rank - ask.root - 1 + n) % n;  // the root is n - 1
  const bool root = ask.rank == ask.root;
  const Piece own = ask.own();
  if (n == 1) {
    if (!ask.in_place) b.copy(own, ask.result());
    return;
  }
  const Fold fold(n);
  const auto rank_at = [&](int v) { return (v + ask.root + 1) % n; };
  const auto rank_of = [&](int place) { return rank_at(fold.rank(place)); };
  b.round(kFoldRound);
  if (fold.stands_aside(u)) {
    b.send(rank_at(u + 1), own);
    return;
  }
  const Piece area = root ? ask.result() : b.scratch_items(*own.layout, own.count);
  StepId ready = kNone;
  bool in_area = ask.in_place;
  if (fold.paired(u)) {
    ready = b.reduce(own, area, {b.recv(rank_at(u - 1), area)});
    in_area = true;
  }
  const ItemParts parts{own.count, fold.places};
  Halving halving(b, parts, rank_of, own, area, in_area, ready);
  const int place = fold.place(u), top = fold.place(n - 1);
  halving.run(fold.places, place);

  StepId have[kMaxRounds + 1] = {halving.ready()};
  int known = 1, round = halving.rounds();
  for (int bit = 1; bit < fold.places; bit *= 2, ++round) {
    const int mine = place & ~(bit - 1), theirs = mine ^ bit, partner = rank_of(place ^ bit);
    b.round(round);
    if (((place ^ top) & bit) != 0) {
      const Piece out = parts.piece(area, mine, mine + bit);
      if (out.bytes == 0) return;
      const StepId sent = b.send(partner, out);
      for (int i = 0; i < known; ++i) b.also(sent, have[i]);
      return;
    }
    const Piece in = parts.piece(area, theirs, theirs + bit);
    // What comes overwrites what was given away when this half was cut off.
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
