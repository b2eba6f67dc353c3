// SPDX-License-Identifier: BSD-3-Clause
// rel/failure_detector.hpp: decides whether a peer is silent or dead. There is one object per peer, which
// every transport to that peer feeds.
// In:  news from the peer, questions that await an answer, refusals by its host, gaps in the local clock.
// Out: when the next keep-alive probe is due; when to warn of the peer's silence; when it counts as dead.
// Invariants: only a peer that owes an answer can be dead, and none that was not probed or refused. Only news
// counts as life: a new sequence number, an ack that advances, the answer to a numbered probe. A replay is
// none of them.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/instant.hpp"
#include "rel/deadline_heap.hpp"

namespace herald::rel {

// The time beyond the detection time leaves a peer that was unreachable for all of it, and no longer is, time
// to answer one more question.
constexpr Duration give_up_after(Duration detect) noexcept {
  return {detect.ns + std::min(detect.ns / 10, milliseconds(300).ns)};
}
// A process that serves a deadline this late was stopped, and could not receive; its peers may have been
// stopped with it. Such time does not count as their silence.
constexpr Duration most_late(Duration pace) noexcept {
  return {std::max(pace.ns / 16, milliseconds(200).ns)};
}
// No timer backs off beyond this: a cable that is out and in again must not meet retransmissions only while
// it is out.
constexpr Duration longest_backoff(Duration pace) noexcept {
  return std::min(milliseconds(100), Duration{pace.ns / 32});
}

// A peer that owes an answer for so long is tried by another path.
constexpr Duration try_after(Duration pace) noexcept {
  return std::min(milliseconds(250), Duration{pace.ns / 8});
}

class FailureDetector {
 public:
  // `warn`: after so long without an answer the silence is reported. Probes are paced by the shorter time.
  explicit FailureDetector(Duration give_up = {}, Duration warn = {INT64_MAX}) noexcept
      : give_up_ms_(in_ms(give_up)), warn_ms_(in_ms(warn)) {}

  // True: the peer had owed an answer, so that timers which backed off are due again.
  bool on_news(Instant now) noexcept {
    const bool owed = asked_since_ != kNever;
    last_news_ = now;
    heard_ = true;
    withdraw();
    return owed;
  }
  // The peer is alive according to another source. Open questions stay open, but have all their time again.
  void on_sign_of_life(Instant now) noexcept { last_news_ = now; }
  // The peer has owed an answer since then. Of several open questions the oldest counts.
  void on_asked(Instant since) noexcept {
    if (asked_since_ != kNever) return;
    asked_since_ = since;
    probe_at_ = std::max(since, last_news_) + Duration{pace().ns / kSilentPart};
  }
  // No packet awaits an answer; a keep-alive probe still may.
  void on_nothing_outstanding() noexcept {
    if (!probing_) withdraw();
  }
  void on_probe(Instant now) noexcept {
    probing_ = true;
    probe_at_ = now + Duration{pace().ns / kProbes};
  }
  // The peer's host has refused a TCP connection, and by now a datagram too (`port_closed`): no process has
  // the peer's ports. Only a host that sees our packets can refuse a connection. A firewall that rejects both
  // while its rules are loaded does so too: one refusal is not enough. node/path_choice.hpp paces them.
  void on_refused(bool port_closed) noexcept {
    if (asked_since_ == kNever) return;
    port_closed_ = port_closed_ || port_closed;
    if (refusals_ < kRefusals) ++refusals_;
  }
  bool is_refused() const noexcept { return refusals_ == kRefusals && port_closed_; }
  void on_clock_gap(Instant now, Duration late) noexcept {
    if (asked_since_ != kNever) asked_since_ = std::min(asked_since_ + late, now);
    last_news_ = std::min(last_news_ + late, now);
  }

  bool is_probing() const noexcept { return probing_; }
  // No news for so long that a keep-alive probe is worth a packet.
  bool is_silent(Instant now) const noexcept { return (now - last_news_).ns >= pace().ns / kSilentPart; }
  // How long the peer has owed an answer; 0: it owes none.
  Duration unanswered(Instant now) const noexcept {
    return asked_since_ == kNever ? Duration{} : now - std::max(asked_since_, last_news_);
  }
  bool was_heard() const noexcept { return heard_; }
  Instant next_probe() const noexcept { return probe_at_; }
  // When the silence of the peer is to be reported, once.
  Instant warning() const noexcept {
    return warned_ || warn_ms_ >= give_up_ms_ ? kNever : after(milliseconds(warn_ms_));
  }
  // True the first time after each warning that the peer has answered.
  bool take_recovery() noexcept {
    if (!warned_ || asked_since_ != kNever) return false;
    warned_ = false;
    return true;
  }
  void on_warned() noexcept { warned_ = true; }
  // When the peer counts as dead unless it answers.
  Instant deadline() const noexcept {
    return is_refused() ? last_news_ : after(give_up_after(milliseconds(give_up_ms_)));
  }
  bool is_dead(Instant now) const noexcept { return deadline() <= now; }

 private:
  static constexpr std::int64_t kProbes = 32;     // within the shorter time
  static constexpr std::int64_t kSilentPart = 8;  // of the shorter time
  static constexpr std::uint8_t kRefusals = 3;

  static std::uint32_t in_ms(Duration time) noexcept {
    return static_cast<std::uint32_t>(std::min<std::int64_t>(time.ns / 1'000'000, INT32_MAX));
  }
  Duration pace() const noexcept { return milliseconds(std::min(give_up_ms_, warn_ms_)); }
  Instant after(Duration time) const noexcept {
    return asked_since_ == kNever ? kNever : std::max(asked_since_, last_news_) + time;
  }
  void withdraw() noexcept {
    asked_since_ = probe_at_ = kNever;
    probing_ = false;
    port_closed_ = false;
    refusals_ = 0;
  }

  Instant last_news_{};
  Instant asked_since_ = kNever;
  Instant probe_at_ = kNever;
  std::uint32_t give_up_ms_, warn_ms_;
  std::uint8_t refusals_ : 4 = 0;  // since the last news
  bool port_closed_ : 1 = false;   // the host refused a datagram since then
  bool probing_ : 1 = false;       // a probe has left since then
  bool warned_ : 1 = false;
  bool heard_ : 1 = false;  // at least once
};

}  // namespace herald::rel
