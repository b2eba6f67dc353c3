// SPDX-License-Identifier: BSD-3-Clause
// engine/local_traffic.hpp: counts what goes to ranks of this host. A rank that only sends to them and polls
// takes no turns: every few hundred packets it looks whether a tool wants its counters.
#pragma once
#include <cstdint>

#include "engine/rank_state.hpp"

namespace herald::engine {

class LocalTraffic {
 public:
  explicit LocalTraffic(RankState& state) noexcept : state_(state) {}
  void add(std::uint64_t bytes) noexcept {
    ++packets_;
    bytes_ += bytes;
  }
  void on_many() noexcept {
    if (state_.is_wanted()) [[unlikely]]
      state_.write_counters();
  }
  std::uint64_t packets() const noexcept { return packets_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  RankState& state_;
  std::uint64_t packets_ = 0, bytes_ = 0;
};

}  // namespace herald::engine
