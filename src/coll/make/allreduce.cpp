// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by messages.
#include <vector>

#include "coll/make/halving.hpp"
#include "coll/make/items.hpp"
#include "coll/make/makers.hpp"
#include "coll/make/power_of_two.hpp"

namespace herald::coll {
namespace {

// A rank without a place gives its data to its neighbor, which returns the result.
void make_extra(const CollSpec& spec, Builder& b) noexcept {
  b.round(kExtraRound);
  const StepId sent = b.send(spec.rank + 1, spec.own());
  b.round(kResultRound);
  b.recv(spec.rank + 1, spec.result(), {spec.in_place ? sent : kNone});
}

// Recursive-doubling allreduce: in round k places 2^k apart exchange their partial results and reduce them.
// Each place then holds the result of an aligned group of neighbors, so rank order is kept for operations
// that do not commute.
// Two areas alternate, the receive buffer (0) and scratch (1): a message is received into the area that does
// not hold the partial result.
double estimate_doubling(std::uint64_t bytes, const Shape& shape) noexcept {
  const double rounds = log2_up(power_below(shape.ranks)), size = static_cast<double>(bytes);
  const double aside = is_power(shape.ranks) ? 0 : 2;
  return transfer_ns(shape, rounds + aside, (rounds + aside) * size) +
         (rounds + aside / 2) * size * shape.cost.reduce_byte_ns;
}

class DoublingMaker {
 public:
  DoublingMaker(const CollSpec& spec, Builder& b) noexcept : spec_(spec), b_(b), pof2_(spec.size) {}

  void make() noexcept {
    if (pof2_.is_extra(spec_.rank)) return make_extra(spec_, b_);
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

void make_doubling(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes != 0) DoublingMaker(spec, b).make();
}

// Rabenseifner allreduce for long vectors: reduce-scatter by recursive halving, then allgather by recursive
// doubling. Each rank sends and receives about twice the data and reduces it once. Rank order is not kept.
double estimate_rabenseifner(std::uint64_t bytes, const Shape& shape) noexcept {
  const int places = power_below(shape.ranks);
  const double rounds = log2_up(places), size = static_cast<double>(bytes);
  const double share = static_cast<double>(places - 1) / places, aside = is_power(shape.ranks) ? 0 : 1;
  return transfer_ns(shape, 2 * (rounds + aside), 2 * (share + aside) * size) +
         (share + aside) * size * shape.cost.reduce_byte_ns;
}

void make_rabenseifner(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const PowerOfTwo pof2(spec.size);
  const Piece own = spec.own(), result = spec.result();
  if (pof2.is_extra(spec.rank)) return make_extra(spec, b);
  const bool paired = pof2.paired(spec.rank);
  StepId ready = kNone;
  if (paired) {
    b.round(kExtraRound);
    const Piece area = spec.in_place ? b.scratch_items(*result.layout, result.count) : result;
    const StepId got = b.recv(spec.rank - 1, area);
    ready = b.reduce(spec.in_place ? area : own, result, {got});
  }
  const ItemParts parts{result.count, pof2.places};
  const auto rank_of = [&](int place) { return pof2.rank(place); };
  const int place = pof2.place(spec.rank);
  Halving halving(b, parts, rank_of, own, result, paired || spec.in_place, ready);
  halving.run(pof2.places, place);
  StepId have[kMaxRounds + 2] = {halving.ready()};
  if (spec.size == 1 && !spec.in_place) have[0] = b.copy(own, result);
  int known = 1;
  const auto send_all = [&](int to, const Piece& out) {
    const StepId sent = b.send(to, out);
    for (int i = 0; i < known; ++i) b.depend(sent, have[i]);
  };
  for (int bit = 1, round = halving.rounds(); bit < pof2.places; bit *= 2, ++round) {
    const int mine = place & ~(bit - 1), theirs = mine ^ bit, partner = rank_of(place ^ bit);
    const Piece in = parts.piece(result, theirs, theirs + bit), out = parts.piece(result, mine, mine + bit);
    b.round(round);
    // The received half overwrites the half that was sent away when it was cut off.
    const StepId given = halving.sent(halving.rounds() - known);
    const StepId got = in.bytes == 0 ? kNone : b.recv(partner, in, {given});
    if (out.bytes != 0) send_all(partner, out);
    have[known++] = got;
  }
  b.round(kResultRound);
  if (paired) send_all(spec.rank - 1, result);
}

// Ring allreduce for long vectors and any number of ranks: n - 1 rounds of reduce-scatter, then n - 1 rounds
// of allgather. Rank order is not kept.
double estimate_ring(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, part = static_cast<double>(bytes) / shape.ranks;
  return transfer_ns(shape, 2 * others, 2 * others * part) + others * part * shape.cost.reduce_byte_ns;
}

void make_ring(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const int n = spec.size, right = (spec.rank + 1) % n, left = (spec.rank - 1 + n) % n;
  const ItemParts parts{spec.recv.count, n};
  const Piece own = spec.own(), result = spec.result();
  const auto part = [&](const Piece& whole, int i) { return parts.piece(whole, i, i + 1); };
  if (n == 1) {
    if (!spec.in_place) b.copy(own, result);
    return;
  }
  b.window(kWindow, kWindow);
  Piece area[2];  // only if the contribution lies in the result buffer
  if (spec.in_place)
    for (Piece& one : area) one = b.scratch_items(*result.layout, parts.count(0, 1));

  std::vector<StepId> sent(static_cast<std::size_t>(n), kNone);  // by part
  StepId reduced = kNone;                                        // the last reduction
  StepId area_free[2] = {kNone, kNone};                          // the last reduction that read it
  for (int k = 0; k < n - 1; ++k) {
    const int out = (spec.rank - k + n) % n, in = (spec.rank - k - 1 + n) % n;
    b.round(k);
    const Piece mine = part(own, in), sum = part(result, in);
    const Piece arrives = spec.in_place ? items_of(area[k % 2], 0, sum.count) : sum;
    StepId got = kNone;
    if (sum.bytes != 0) got = b.recv(left, arrives, {area_free[k % 2]});
    const Piece gone = part(k == 0 ? own : result, out);
    if (gone.bytes != 0) sent[static_cast<std::size_t>(out)] = b.send(right, gone, {reduced});
    if (sum.bytes == 0) continue;
    reduced = spec.in_place ? b.reduce(arrives, sum, {got, reduced}) : b.reduce(mine, sum, {got, reduced});
    if (spec.in_place) area_free[k % 2] = reduced;
  }
  StepId have = reduced;
  for (int k = 0; k < n - 1; ++k) {
    const int out = (spec.rank + 1 - k + n) % n, in = (spec.rank - k + n) % n;
    b.round(n - 1 + k);
    const Piece arrives = part(result, in), gone = part(result, out);
    // The received part overwrites the partial sum that was sent in the first half.
    const StepId got =
        arrives.bytes == 0 ? kNone : b.recv(left, arrives, {sent[static_cast<std::size_t>(in)]});
    if (gone.bytes != 0) b.send(right, gone, {have});
    have = got;
  }
}

constexpr Algorithm kRows[] = {
    {Op::allreduce, "doubling", "recursive doubling, whole messages", fits_any, estimate_doubling,
     make_doubling},
    {Op::allreduce, "rabenseifner", "recursive halving, then doubling; keeps no rank order", fits_commuting,
     estimate_rabenseifner, make_rabenseifner},
    {Op::allreduce, "ring", "parts go round a ring twice; keeps no rank order", fits_commuting, estimate_ring,
     make_ring},
};

}  // namespace

constinit const std::span<const Algorithm> kAllreduceAlgorithms = kRows;

}  // namespace herald::coll
