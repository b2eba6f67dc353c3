// SPDX-License-Identifier: BSD-3-Clause
// exec/speed.hpp: whether the links of a team are fast, so that all ranks choose the same algorithms by it.
// In: the duration of each long blocking call; what our casts have proven (rel/proven_rate.hpp). Out: when
// the ranks are to compare; the answer. A rank that is late finds its data there and seems fast, so the
// slowest rank of one call counts, and only calls of kTellingBytes tell. A call for which ranks wait seems
// slow, so the fastest of several calls counts. A proven rate is never too high, whatever the length of the
// call: that of one rank suffices. Where busy processors delay the acks that prove it, the interfaces of the
// ranks tell (path/mcast), beside acks that are faster than a link of 100 Mbit/s permits.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "base/instant.hpp"

namespace herald::exec {

class Speed {
 public:
  // Calls of so many bytes are counted, and ranks compare after some of them.
  static constexpr std::uint64_t kLongBytes = 64 << 10;
  // The duration of such a call tells the speed: several times what buffers hold for a rank that comes late.
  static constexpr std::uint64_t kTellingBytes = 8 << 20;
  // A cast only to measure: an eighth of the call, within these bounds. Calls for which the least is more
  // make one only if no cast has proven anything.
  static constexpr std::uint64_t kLeastProbe = 64 << 10, kMostProbe = 1 << 20;

  // Bytes per second.
  struct Rates {
    std::uint64_t call = 0;    // of the last call; 0: it was too short to tell
    std::uint64_t proven = 0;  // by acks of our casts; 0: there were none that tell
    std::uint64_t uplink = 0;  // of our own interface; 0: not known
  };

  bool is_fast() const noexcept { return fast_; }
  // Of links that are not fast, in bytes per second: a power of two, so that it seldom changes. 0: not known.
  std::uint64_t link_rate() const noexcept { return link_rate_; }
  // A call of so many bytes took so long. True: all ranks compare now, at the same call.
  bool on_run(Duration took, std::uint64_t bytes) noexcept {
    bytes_ = bytes;
    rate_ = bytes < kTellingBytes
                ? 0
                : static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e9 /
                                             static_cast<double>(std::max<std::int64_t>(took.ns, 1)));
    return !fast_ && ++runs_ > 1 && std::has_single_bit(runs_) && runs_ <= kMostRuns;
  }
  std::uint64_t rate() const noexcept { return rate_; }
  // Not 0: all ranks make a cast of so many bytes, which may prove more, and compare once more. Turns of
  // 24 KiB on a fast link prove little more than the round trip.
  std::uint64_t compare(std::span<const Rates> rates) noexcept {
    const auto by_call = [](const Rates& a, const Rates& b) { return a.call < b.call; };
    const auto by_proof = [](const Rates& a, const Rates& b) { return a.proven < b.proven; };
    const std::uint64_t slowest = std::min_element(rates.begin(), rates.end(), by_call)->call;
    const std::uint64_t proven = std::max_element(rates.begin(), rates.end(), by_proof)->proven;
    fast_ = std::max(slowest, proven) >= kFastRate;
    const bool slow = next_probe_ != 0 && proven < kSlowRate;  // even by the first such cast
    std::uint64_t uplink = UINT64_MAX;                         // the slowest that is known
    for (const Rates& each : rates)
      if (each.uplink != 0) uplink = std::min(uplink, each.uplink);
    fast_ = fast_ || (uplink != UINT64_MAX && uplink >= kFastRate && proven >= kSlowRate);
    link_rate_ = fast_ || proven == 0 ? 0 : std::bit_floor(std::max(proven + proven / 3, kLeastLinkRate));
    const bool worth_it = proven == 0 || bytes_ >= 8 * kLeastProbe;
    if (fast_ || slow || runs_ < next_probe_ || !worth_it) return 0;
    next_probe_ = runs_ < kLastProbe ? kLastProbe : UINT32_MAX;
    return std::clamp(bytes_ / 8, kLeastProbe, kMostProbe);
  }

 private:
  static constexpr std::uint64_t kFastRate = 160'000'000;   // no link of 1 Gbit/s has it
  static constexpr std::uint64_t kSlowRate = 20'000'000;    // a link of 100 Mbit/s has less
  static constexpr std::uint64_t kLeastLinkRate = 1 << 23;  // slower casts were held up by something else
  static constexpr std::uint32_t kMostRuns = 1 << 16;
  static constexpr std::uint32_t kLastProbe = 8;
  std::uint64_t rate_ = 0, bytes_ = 0;  // of the last call
  std::uint64_t link_rate_ = 0;
  std::uint32_t runs_ = 0;
  std::uint32_t next_probe_ = 0;  // by runs_
  bool fast_ = false;
};

}  // namespace herald::exec
