// SPDX-License-Identifier: BSD-3-Clause
// rel/failure_detector.hpp: decides whether a peer is silent or dead. There is one object per peer, which
// every transport to that peer feeds.
// In:  news from the peer, questions that await an answer, gaps in the local clock.
// Out: when the next keep-alive probe is due; when the peer counts as dead.
// Invariant: only a peer that owes an answer can be dead, never a peer that has nothing to say.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/instant.hpp"
#include "rel/deadline_heap.hpp"

namespace herald::rel {

// The tenth beyond the detection time leaves a peer that was unreachable for all of it, and no longer is,
// time to answer one more question.
constexpr Duration give_up_after(Duration detect) noexcept { return {detect.ns + detect.ns / 10}; }
// A process that serves a deadline this late was stopped, and could not receive; its peers may have been
// stopped with it. Such time does not count as their silence.
constexpr Duration most_late(Duration detect) noexcept {
  return {std::max(detect.ns / 16, milliseconds(200).ns)};
}

class FailureDetector {
 public:
  explicit FailureDetector(Duration detect = {}) noexcept : detect_(detect) {}

  // A packet with a valid tag came from the peer: no question is open any more.
  void on_news(Instant now) noexcept {
    last_news_ = now;
    asked_since_ = kNever;
    probe_at_ = kNever;
  }
  // The peer is alive according to another source. Open questions stay open, but have all their time again.
  void on_sign_of_life(Instant now) noexcept { last_news_ = now; }
  // The peer has owed an answer since then. Of several open questions the oldest counts.
  void on_asked(Instant since) noexcept {
    if (asked_since_ == kNever) asked_since_ = since;
  }
  // No packet awaits an answer; a keep-alive probe still may.
  void on_nothing_outstanding() noexcept {
    if (!is_probing()) asked_since_ = kNever;
  }
  void on_probe(Instant now) noexcept { probe_at_ = now + Duration{detect_.ns / kProbes}; }
  void on_clock_gap(Instant now, Duration late) noexcept {
    if (asked_since_ != kNever) asked_since_ = std::min(asked_since_ + late, now);
    last_news_ = std::min(last_news_ + late, now);
  }

  bool is_probing() const noexcept { return probe_at_ != kNever; }
  // No news for so long that a keep-alive probe is worth a packet.
  bool is_silent(Instant now) const noexcept { return (now - last_news_).ns >= detect_.ns / kSilentPart; }
  Instant next_probe() const noexcept { return probe_at_; }
  // When the peer counts as dead unless it answers.
  Instant deadline() const noexcept {
    if (asked_since_ == kNever) return kNever;
    return std::max(asked_since_, last_news_) + give_up_after(detect_);
  }
  bool is_dead(Instant now) const noexcept { return deadline() <= now; }

 private:
  static constexpr std::int64_t kProbes = 32;     // within the detection time
  static constexpr std::int64_t kSilentPart = 8;  // of the detection time

  Instant last_news_{};
  Instant asked_since_ = kNever;
  Instant probe_at_ = kNever;
  Duration detect_;
};

}  // namespace herald::rel
