// SPDX-License-Identifier: BSD-3-Clause
// engine/local_traffic.hpp: counts what goes to ranks of this host. A rank that only sends to them and polls
// takes no turns: every few hundred packets it looks whether a tool wants its counters, and at what peers
// answer.
#pragma once
#include <cstdint>

#include "engine/rank_state.hpp"

namespace herald::engine {

class LocalTraffic {
 public:
  explicit LocalTraffic(RankState& state) noexcept : state_(state) {}
  // Of a packet; true if it is time for on_many(). Inline: a call would cost more than all counters.
  bool add(std::uint64_t bytes) noexcept {
    ++packets_;
    bytes_ += bytes;
    since_look_ += 1 + bytes / kWeightBytes;
    return since_look_ > kMany;
  }
  void on_look() noexcept { since_look_ = 0; }  // at what all peers answer
  void on_many() noexcept {
    since_look_ = 0;
    if (state_.is_wanted()) [[unlikely]]
      state_.write_counters();
  }
  std::uint64_t packets() const noexcept { return packets_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::uint64_t kMany = 256, kWeightBytes = 1024;  // so many bytes count as a packet more
  RankState& state_;
  std::uint64_t packets_ = 0, bytes_ = 0, since_look_ = 0;
};

}  // namespace herald::engine
