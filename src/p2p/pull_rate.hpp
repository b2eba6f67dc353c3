// SPDX-License-Identifier: BSD-3-Clause
// p2p/pull_rate.hpp: how fast pulled bytes come from all other hosts together, while any pull is under way.
// In:  pulls that left and ended, bytes that came. Out: bytes and time of the present period.
// Invariant: a byte that counts was requested after the period began, so buffers cannot make a slow link seem
// fast; and pulls from many peers at a time, which share the link, do not make a fast one seem slow.
#pragma once
#include <cstdint>

#include "base/instant.hpp"

namespace herald::p2p {

class PullRate {
 public:
  void on_left(Instant now) noexcept {
    if (under_way_++ != 0) return;
    begin_ = now;
    bytes_ = 0;
  }
  void on_bytes(std::uint64_t bytes) noexcept { bytes_ += bytes; }
  void on_ended() noexcept { --under_way_; }

  std::uint64_t bytes() const noexcept { return bytes_; }
  Duration took(Instant now) const noexcept { return now - begin_; }

 private:
  std::uint32_t under_way_ = 0;
  std::uint64_t bytes_ = 0;
  Instant begin_{};
};

}  // namespace herald::p2p
