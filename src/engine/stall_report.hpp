// SPDX-License-Identifier: BSD-3-Clause
// engine/stall_report.hpp: tells the user that a send waits because its receiver holds as many messages of
// ours as it may. Once for each receiver: what looks like a hang has a reason and a cure.
#pragma once
#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/instant.hpp"
#include "base/knobs.hpp"
#include "p2p/ops.hpp"

namespace herald::engine {

class StallReport {
 public:
  StallReport(int rank, const Knobs& knobs) noexcept
      : rank_(rank), after_(milliseconds(knobs.warn_ms)), warn_ms_(knobs.warn_ms) {}

  bool is_due(Instant now) noexcept {
    if (now < next_) return false;
    next_ = now + std::min(milliseconds(1000), Duration{after_.ns / 4});
    return true;
  }
  // `op`: the oldest send that is held back now; null: none.
  void check(Instant now, const p2p::SendOp* op, const char* host) noexcept {
    if (op == nullptr || op->to != to_ || op->seq != seq_) {
      to_ = op == nullptr ? -1 : op->to;
      seq_ = op == nullptr ? 0 : op->seq;
      since_ = now;
      return;
    }
    if (now - since_ < after_ || std::find(reported_.begin(), reported_.end(), to_) != reported_.end())
      return;
    reported_.push_back(to_);
    std::fprintf(
        stderr,
        "herald: rank %d: a message to rank %d on %s has waited %g s to be received: rank %d holds as "
        "many messages of ours that it has not received as it may (HERALD_UNEXPECTED_BYTES). If it "
        "receives in another order than rank %d sends, raise that setting\n",
        rank_, to_, host, static_cast<double>(warn_ms_) / 1000, to_, rank_);
  }

 private:
  const int rank_;
  const Duration after_;
  const std::int64_t warn_ms_;
  Instant next_{}, since_{};
  p2p::PeerId to_ = -1;
  std::uint32_t seq_ = 0;
  std::vector<p2p::PeerId> reported_;
};

}  // namespace herald::engine
