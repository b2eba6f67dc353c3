// SPDX-License-Identifier: BSD-3-Clause
// coll/make/fold.hpp: from any number of ranks to a power of two: of the first pairs of ranks the even one
// hands its data to the odd one and waits for the result. The order of ranks is kept.
#pragma once
#include "coll/shape.hpp"

namespace herald::coll {

struct Fold {
  int places;  // a power of two
  int pairs;   // this many pairs of ranks share a place

  explicit Fold(int ranks) noexcept : places(power_below(ranks)), pairs(ranks - places) {}
  bool paired(int rank) const noexcept { return rank < 2 * pairs; }
  bool stands_aside(int rank) const noexcept { return paired(rank) && rank % 2 == 0; }
  int place(int rank) const noexcept { return paired(rank) ? rank / 2 : rank - pairs; }
  int rank(int place) const noexcept { return place < pairs ? 2 * place + 1 : place + pairs; }
};

// Round numbers of the messages to and from those who stand aside.
constexpr int kFoldRound = 254, kUnfoldRound = 255;

}  // namespace herald::coll
