// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter by recursive halving: log2(n) rounds, each with half of the data of the one before. If n is
// no power of two the first ranks go in pairs: one folds for both and gives the other its block. The order of
// ranks is not kept.
#include "coll/make/blocks_together.hpp"
#include "coll/make/fold.hpp"
#include "coll/make/halving.hpp"
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const int places = power_below(shape.ranks);
  const double rounds = log2_up(places), size = static_cast<double>(bytes);
  const double share = static_cast<double>(places - 1) / places, aside = is_power(shape.ranks) ? 0 : 1;
  return transfer_ns(shape, rounds + 2 * aside, (share + aside) * size) +
         (share + aside) * size * shape.cost.reduce_byte_ns + size / shape.ranks * shape.cost.copy_byte_ns;
}

// A part is what a place answers for: the blocks of one rank, or of two.
struct PlaceParts {
  const CollSpec& ask;
  const Fold& fold;

  std::int64_t at(int place) const noexcept {
    return block_begin(ask, place < fold.pairs ? 2 * place : place + fold.pairs);
  }
  Piece piece(const Piece& whole, int begin, int end) const noexcept {
    return items_of(whole, at(begin), at(end) - at(begin));
  }
};

void make(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const Fold fold(ask.size);
  const Piece own = blocks_together(ask), result = ask.result();
  if (ask.size == 1) {
    if (!ask.in_place) b.copy(own, result);
    return;
  }
  if (fold.stands_aside(ask.rank)) {
    b.round(kFoldRound);
    const StepId sent = b.send(ask.rank + 1, own);
    b.round(kUnfoldRound);
    if (result.bytes != 0) b.recv(ask.rank + 1, result, {ask.in_place ? sent : kNone});
    return;
  }
  const Piece area = b.scratch_items(*own.layout, own.count);
  StepId ready = kNone;
  const bool paired = fold.paired(ask.rank);
  if (paired) {
    b.round(kFoldRound);
    ready = b.reduce(own, area, {b.recv(ask.rank - 1, area)});
  }
  const PlaceParts parts{ask, fold};
  const auto rank_of = [&](int place) { return fold.rank(place); };
  Halving halving(b, parts, rank_of, own, area, paired, ready);
  halving.run(fold.places, fold.place(ask.rank));
  const auto block = [&](int rank) {
    const std::int64_t at = block_begin(ask, rank);
    return items_of(area, at, block_begin(ask, rank + 1) - at);
  };
  if (paired && block(ask.rank - 1).bytes != 0) {
    b.round(kUnfoldRound);
    b.send(ask.rank - 1, block(ask.rank - 1), {halving.ready()});
  }
  // In place the result lies over the input, which was sent in the first round.
  const StepId copied = b.copy(block(ask.rank), result, {halving.ready()});
  if (ask.in_place && halving.rounds() > 0) b.also(copied, halving.sent(0));
}

bool fits(const Shape& shape) noexcept { return shape.commutes; }

constexpr const char* kText = "recursive halving; keeps no rank order";

}  // namespace

const Algorithm kReduceScatterHalving{Op::reduce_scatter, "halving", kText, fits, estimate, make};
const Algorithm kReduceScatterBlockHalving{Op::reduce_scatter_block, "halving", kText, fits, estimate, make};

}  // namespace herald::coll
