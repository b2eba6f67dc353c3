// SPDX-License-Identifier: BSD-3-Clause
// rel/segment_search.hpp: the largest datagram that a link carries, after packets of full size were lost
// again and again (RFC 8899, datagram packetization layer path MTU discovery, section 5.2).
// In:  a suspicion, replies to numbered probes of several sizes, deadlines. Out: probes; the segment size.
//
//   checking: probes of the present and of smaller sizes. The present one is answered: a false alarm. Only
//             smaller ones are, so often that losses at random do not explain it: the segment shrinks, then
//   searching: probes between the size that passes and the one that does not, until both are close;
//   settled: after kRaiseAfter, doubled each time, the full size is probed again.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "base/instant.hpp"
#include "rel/deadline_heap.hpp"

namespace herald::rel {

// Sealed, such a datagram is a UDP payload that every IPv4 path carries.
constexpr std::uint16_t kLeastSegment = 500;  // bytes

class SegmentSearch {
 public:
  enum class Verdict : std::uint8_t {
    none,
    resized,  // segment() has changed; the search goes on
    settled,  // it goes on no longer
  };

  explicit SegmentSearch(std::uint16_t segment) noexcept
      : full_(segment), segment_(segment), reported_(segment) {}

  std::uint16_t full() const noexcept { return full_; }
  std::uint16_t segment() const noexcept { return segment_; }
  bool is_active() const noexcept { return state_ != State::settled; }
  bool is_due() const noexcept { return due_; }  // probes are to leave
  Instant deadline() const noexcept { return is_active() ? at_ : kNever; }

  // True once after each change that was found: for a report.
  bool take_change() noexcept { return std::exchange(reported_, segment_) != segment_; }

  // A packet of this size was lost several times.
  void suspect(Instant now, std::size_t bytes) noexcept {
    if (is_active() || now < quiet_until_ || bytes <= kLeastSegment) return;
    start(State::checking);
  }
  // The link is in use: time to find out whether it carries more than it did.
  void on_use(Instant now) noexcept {
    if (!is_active() && segment_ < full_ && now >= raise_at_) {
      high_ = static_cast<std::uint16_t>(full_ + 1);
      start(State::searching);
    }
  }
  // Sizes to probe now, the smallest first; `first`: the number of the first of these probes.
  std::span<const std::uint16_t> take_probes(Instant now, Duration wait, std::uint32_t first) noexcept {
    first_number_ = first;
    best_ = 0;
    answered_ = 0;
    due_ = false;
    asked_at_ = now;
    // `wait` has backed off with the losses that raised the suspicion; the replies that came tell better.
    if (took_.ns != 0) wait = std::min(wait, Duration{4 * took_.ns});
    // Replies may be queued behind the packets whose loss raised the suspicion.
    at_ = now + std::min(Duration{std::max(wait, kLeastWait).ns << std::min<int>(silent_, 4)}, kMostWait);
    return {sizes_.data(), count_};
  }
  // True: a reply to one of the probes.
  bool on_reply(Instant now, std::uint32_t number) noexcept {
    const std::uint32_t index = number - first_number_;
    if (!is_active() || due_ || index >= count_) return false;
    best_ = std::max(best_, sizes_[index]);
    took_ = std::max(took_, now - asked_at_);
    answered_ |= static_cast<std::uint8_t>(1u << index);
    if (index + 1 == count_) at_ = now;  // the largest passed
    return true;
  }
  // The time for replies is over.
  Verdict on_deadline(Instant now) noexcept {
    return state_ == State::checking ? judge_check(now) : judge_search(now);
  }

 private:
  enum class State : std::uint8_t { checking, searching, settled };
  static constexpr int kVerdict = 4;     // rounds in which smaller probes alone were answered, at least
  static constexpr int kMostSilent = 8;  // rounds in a row without any answer: this is no matter of sizes
  static constexpr int kMostRounds = 64;
  static constexpr double kChance = 0.0003;     // of mere losses that look like a size
  static constexpr int kTries = 3;              // for a size between two others
  static constexpr std::uint16_t kBase = 1232;  // RFC 8899: what most paths carry, IPv6 included
  static constexpr std::uint16_t kClose = 16;
  static constexpr Duration kLeastWait = milliseconds(4), kMostWait = milliseconds(64);
  static constexpr Duration kQuiet = milliseconds(1000);  // after a false alarm
  static constexpr Duration kRaiseAfter = milliseconds(30'000), kMostRaise = milliseconds(600'000);

  void start(State state) noexcept {
    state_ = state;
    smaller_ = tries_ = 0;
    count_ = 0;
    if (state == State::checking) {
      silent_ = rounds_ = 0;
      took_ = {};
      replies_ = {};
      for (const std::uint16_t size : {kLeastSegment, kBase})
        if (size < segment_) sizes_[count_++] = size;
      sizes_[count_++] = segment_;
    } else {
      choose_size();
    }
    ask();
  }
  void ask() noexcept {
    due_ = true;
    at_ = kNever;
  }
  // The full size first: it is the likeliest after a repair.
  void choose_size() noexcept {
    const bool untried = high_ > full_;
    sizes_[0] = untried ? full_ : static_cast<std::uint16_t>((segment_ + high_) / 2);
    count_ = 1;
  }
  Verdict judge_check(Instant now) noexcept {
    if (best_ == segment_) {
      quiet_until_ = now + kQuiet;
      return stop();
    }
    ++rounds_;
    silent_ = best_ == 0 ? static_cast<std::uint8_t>(silent_ + 1) : std::uint8_t{0};
    if (silent_ == kMostSilent || rounds_ == kMostRounds) {
      quiet_until_ = now + Duration{kQuiet.ns / 4};
      return stop();
    }
    if (best_ == 0) return repeat();
    for (std::uint32_t i = 0; i + 1 < count_; ++i) replies_[i] += (answered_ >> i & 1u) != 0 ? 1 : 0;
    passed_ = smaller_ == 0 ? best_ : std::max(passed_, best_);
    if (++smaller_ < kVerdict || is_explained_by_loss()) return repeat();
    high_ = segment_;
    segment_ = passed_;
    raise_after_ = kRaiseAfter;
    start(State::searching);
    return Verdict::resized;
  }
  // Whether all probes of the present size may have been lost as those of the best smaller size were.
  bool is_explained_by_loss() const noexcept {
    const double lost = 1 - std::max(replies_[0], replies_[1]) / (rounds_ + 1.0);  // careful after few rounds
    double chance = 1;
    for (int i = 0; i < rounds_; ++i) chance *= lost;
    return chance > kChance;
  }
  Verdict judge_search(Instant now) noexcept {
    if (best_ != 0) {
      segment_ = best_;
      if (best_ == full_) return settle(now);
    } else if (++tries_ < kTries) {
      return repeat();
    } else {
      high_ = sizes_[0];
    }
    const bool changed = best_ != 0;
    tries_ = 0;
    if (high_ - segment_ <= kClose) return settle(now);
    choose_size();
    ask();
    return changed ? Verdict::resized : Verdict::none;
  }
  Verdict repeat() noexcept {
    ask();
    return Verdict::none;
  }
  // A false alarm does not put off the next try of the full size.
  Verdict stop() noexcept {
    state_ = State::settled;
    return Verdict::settled;
  }
  Verdict settle(Instant now) noexcept {
    state_ = State::settled;
    raise_at_ = now + raise_after_;
    raise_after_ = std::min(Duration{2 * raise_after_.ns}, kMostRaise);
    return Verdict::settled;
  }

  Instant at_ = kNever;
  Instant asked_at_{};  // when the last probes left
  Duration took_{};     // the longest until a reply in this check
  Instant quiet_until_{}, raise_at_{};
  Duration raise_after_ = kRaiseAfter;
  std::uint32_t first_number_ = 0;
  std::uint32_t count_ = 0;
  std::array<std::uint16_t, 3> sizes_{};
  std::uint16_t full_, segment_, reported_;
  std::uint16_t high_ = 0;    // the smallest size that does not pass, as far as known
  std::uint16_t best_ = 0;    // the largest that was answered in this round
  std::uint16_t passed_ = 0;  // ... in all rounds of the check
  std::uint8_t smaller_ = 0, silent_ = 0, tries_ = 0;
  std::uint8_t rounds_ = 0;                   // of this check
  std::array<std::uint8_t, 2> replies_ = {};  // to its smaller probes
  std::uint8_t answered_ = 0;                 // bits of the probes of this round
  State state_ = State::settled;
  bool due_ = false;
};

}  // namespace herald::rel
