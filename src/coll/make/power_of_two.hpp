// SPDX-License-Identifier: BSD-3-Clause
// coll/make/power_of_two.hpp: maps any number of ranks to a power of two of places: of the first pairs of
// ranks the even one (the extra rank) sends its data to the odd one and waits for the result. Rank order is
// kept.
#pragma once
#include "coll/shape.hpp"

namespace herald::coll {

struct PowerOfTwo {
  int places;  // a power of two
  int pairs;   // so many pairs of ranks share a place

  explicit PowerOfTwo(int ranks) noexcept : places(power_below(ranks)), pairs(ranks - places) {}
  bool paired(int rank) const noexcept { return rank < 2 * pairs; }
  bool is_extra(int rank) const noexcept { return paired(rank) && rank % 2 == 0; }
  int place(int rank) const noexcept { return paired(rank) ? rank / 2 : rank - pairs; }
  int rank(int place) const noexcept { return place < pairs ? 2 * place + 1 : place + pairs; }
};

// Round numbers of the messages to and from extra ranks.
constexpr int kExtraRound = 254, kResultRound = 255;

}  // namespace herald::coll
