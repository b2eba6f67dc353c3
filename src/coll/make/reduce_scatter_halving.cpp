// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter by recursive halving: log2(n) rounds, each with half of the data of the one before. If n is
// no power of two, each extra rank sends its data to its partner, which sends it its block at the end. Rank
// order is not kept.
#include "coll/make/blocks_together.hpp"
#include "coll/make/halving.hpp"
#include "coll/make/makers.hpp"
#include "coll/make/power_of_two.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const int places = power_below(shape.ranks);
  const double rounds = log2_up(places), size = static_cast<double>(bytes);
  const double share = static_cast<double>(places - 1) / places, aside = is_power(shape.ranks) ? 0 : 1;
  return transfer_ns(shape, rounds + 2 * aside, (share + aside) * size) +
         (share + aside) * size * shape.cost.reduce_byte_ns + size / shape.ranks * shape.cost.copy_byte_ns;
}

// The part of a place: the block of one rank, or of two.
struct PlaceParts {
  const CollSpec& spec;
  const PowerOfTwo& pof2;

  std::int64_t at(int place) const noexcept {
    return block_begin(spec, place < pof2.pairs ? 2 * place : place + pof2.pairs);
  }
  Piece piece(const Piece& whole, int begin, int end) const noexcept {
    return items_of(whole, at(begin), at(end) - at(begin));
  }
};

void make(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const PowerOfTwo pof2(spec.size);
  const Piece own = blocks_together(spec), result = spec.result();
  if (spec.size == 1) {
    if (!spec.in_place) b.copy(own, result);
    return;
  }
  if (pof2.is_extra(spec.rank)) {
    b.round(kExtraRound);
    const StepId sent = b.send(spec.rank + 1, own);
    b.round(kResultRound);
    if (result.bytes != 0) b.recv(spec.rank + 1, result, {spec.in_place ? sent : kNone});
    return;
  }
  const Piece area = b.scratch_items(*own.layout, own.count);
  StepId ready = kNone;
  const bool paired = pof2.paired(spec.rank);
  if (paired) {
    b.round(kExtraRound);
    ready = b.reduce(own, area, {b.recv(spec.rank - 1, area)});
  }
  const PlaceParts parts{spec, pof2};
  const auto rank_of = [&](int place) { return pof2.rank(place); };
  Halving halving(b, parts, rank_of, own, area, paired, ready);
  halving.run(pof2.places, pof2.place(spec.rank));
  const auto block = [&](int rank) {
    const std::int64_t at = block_begin(spec, rank);
    return items_of(area, at, block_begin(spec, rank + 1) - at);
  };
  if (paired && block(spec.rank - 1).bytes != 0) {
    b.round(kResultRound);
    b.send(spec.rank - 1, block(spec.rank - 1), {halving.ready()});
  }
  // In place the result overwrites the input, which was sent in the first round.
  const StepId copied = b.copy(block(spec.rank), result, {halving.ready()});
  if (spec.in_place && halving.rounds() > 0) b.depend(copied, halving.sent(0));
}

bool fits(const Shape& shape) noexcept { return shape.commutes; }

constexpr const char* kText = "recursive halving; keeps no rank order";

}  // namespace

const Algorithm kReduceScatterHalving{Op::reduce_scatter, "halving", kText, fits, estimate, make};
const Algorithm kReduceScatterBlockHalving{Op::reduce_scatter_block, "halving", kText, fits, estimate, make};

}  // namespace herald::coll
