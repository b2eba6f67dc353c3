// SPDX-License-Identifier: BSD-3-Clause
// rel/proven_rate.hpp: a rate that the links to all members of a lane have, at least.
// In: packets of a stream as they leave; how far all members have it. Out: bytes per second.
// Bytes that all members have acknowledged left after the first packet of a run and came before now, so no
// buffer makes a link seem faster than it is. Members that are busy make it seem slower: the best run counts.
// Some bytes do not count, which a shaper may let through at once.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "base/instant.hpp"
#include "rel/seq.hpp"

namespace herald::rel {

class ProvenRate {
 public:
  std::uint64_t bytes_per_second() const noexcept { return best_; }

  void on_sent(Instant now, Seq seq, std::size_t bytes) noexcept {
    if (marks_ == kMarks.size()) return;  // full: what follows waits behind this run
    if (sent_ == 0) begun_at_ = now;
    sent_ += static_cast<std::uint32_t>(bytes);
    last_ = seq + 1;
    if (sent_ >= kMarks[marks_]) reached_[marks_++] = {last_, sent_};
  }
  // All members have everything before `lowest`.
  void on_arrived(Instant now, Seq lowest) noexcept {
    for (; judged_ < marks_ && !before(lowest, reached_[judged_].end); ++judged_)
      judge(now, reached_[judged_]);
    if (sent_ == 0 || (judged_ != kMarks.size() && before(lowest, last_))) return;
    sent_ = 0;
    marks_ = judged_ = 0;
  }

 private:
  // Bytes of a run after which its time is looked at: short calls and long ones.
  static constexpr std::uint32_t kAheadBytes = 32 << 10;
  static constexpr std::array<std::uint32_t, 3> kMarks = {60'000, 240'000, 960'000};
  struct Mark {
    Seq end;
    std::uint32_t bytes;
  };
  void judge(Instant now, const Mark& mark) noexcept {
    const auto ns = static_cast<double>(std::max<std::int64_t>((now - begun_at_).ns, 1));
    best_ = std::max(best_, static_cast<std::uint64_t>((mark.bytes - kAheadBytes) * 1e9 / ns));
  }

  std::uint64_t best_ = 0;
  Instant begun_at_{};
  std::array<Mark, kMarks.size()> reached_{};
  std::size_t marks_ = 0, judged_ = 0;
  std::uint32_t sent_ = 0;  // bytes of this run; 0: none
  Seq last_ = 0;            // after the last packet of this run
};

}  // namespace herald::rel
