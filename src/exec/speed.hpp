// SPDX-License-Identifier: BSD-3-Clause
// exec/speed.hpp: how fast the long collectives of a team run, so that all ranks choose the same algorithms
// by it. In: the duration of each long blocking call. Out: when the ranks are to compare; the answer.
// A rank that is late finds its data there and seems fast, so the slowest rank of one call counts. A call
// for which ranks wait seems slow, so the fastest of several calls counts.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "base/instant.hpp"

namespace herald::exec {

class Speed {
 public:
  // Of a call that tells the speed: several times what buffers hold for a rank that comes late.
  static constexpr std::uint64_t kLongBytes = 8 << 20;

  bool is_fast() const noexcept { return fast_; }
  // A call of so many bytes took so long. True: all ranks compare now, at the same call.
  bool on_run(Duration took, std::uint64_t bytes) noexcept {
    rate_ = static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e9 /
                                       static_cast<double>(std::max<std::int64_t>(took.ns, 1)));
    return !fast_ && ++runs_ > 1 && std::has_single_bit(runs_) && runs_ <= kMostRuns;
  }
  std::uint64_t rate() const noexcept { return rate_; }  // bytes per second of the last call
  void compare(std::span<const std::uint64_t> rates) noexcept {
    fast_ = *std::min_element(rates.begin(), rates.end()) >= kFastRate;
  }

 private:
  static constexpr std::uint64_t kFastRate = 160'000'000;  // no link of 1 Gbit/s has it
  static constexpr std::uint32_t kMostRuns = 1 << 16;
  std::uint64_t rate_ = 0;
  std::uint32_t runs_ = 0;
  bool fast_ = false;
};

}  // namespace herald::exec
