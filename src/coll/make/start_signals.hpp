// SPDX-License-Identifier: BSD-3-Clause
// coll/make/start_signals.hpp: the senders of a many-to-one step take turns, so that the switch drops nothing
// (section 5.3 of the paper): sender j starts when sender j - window has delivered its data, and tells so by
// an empty message. The receiver is busy enough and takes no part in it.
#pragma once
#include "coll/builder.hpp"
#include "coll/incast.hpp"

namespace herald::coll {

class StartSignals {
 public:
  // Sender `index` of 0 .. senders-1; `rank_of(index)` is its rank. Messages have the tag `round`.
  template <class RankOf>
  StartSignals(const Incast& incast, std::uint64_t bytes, int index, int senders, int round,
               RankOf rank_of) noexcept
      : round_(round) {
    const int window = incast_window(incast, bytes, senders);
    if (index >= window) from_ = rank_of(index - window);
    if (index + window < senders) to_ = rank_of(index + window);
  }

  // Sends `data` to the receiver in its turn; returns the step after which it may be overwritten.
  StepId send(Builder& b, int to, const Piece& data, StepId ready, int data_round) const noexcept {
    b.round(round_);
    const StepId start = from_ < 0 ? kNone : b.recv(from_, Piece{});
    b.round(data_round);
    if (to_ < 0) return b.send(to, data, {ready, start});
    const StepId sent = b.send(to, data, {ready, start}, Builder::How::acknowledged);
    b.round(round_);
    b.send(to_, Piece{}, {sent});
    b.round(data_round);
    return sent;
  }

 private:
  int round_;
  int from_ = -1, to_ = -1;  // ranks that send and receive the signal; -1: none
};

}  // namespace herald::coll
