// SPDX-License-Identifier: BSD-3-Clause
// p2p/bulk_choice.hpp: whether a receiver has the rest of a long message sent as datagrams or as bulk frames
// of a TCP connection: by what both took from this peer.
// In:  how fast bytes came while a pull was under way, by all pulls together; connections that opened, closed
// or failed. Out: peers to connect to; the way of a pull.
// Invariant: a peer from which datagrams come no faster than a link of 1 Gbit/s carries gets no connection:
// frames cannot be faster there, and would fill the buffer of the switch.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "base/instant.hpp"
#include "p2p/ops.hpp"

namespace herald::p2p {

class BulkChoice {
 public:
  static constexpr std::uint64_t kLeastTimed = 128 << 10;  // bytes that tell a speed
  static constexpr std::uint64_t kFastBytesPerSecond = 160'000'000;
  static constexpr std::uint32_t kFirstTimed = 2;  // pulls of each way before they are compared
  static constexpr std::uint32_t kTryOther = 256;  // pulls after which the other way is tried again
  static constexpr std::size_t kMostConnections = 64;
  static constexpr Duration kFirstRetry = milliseconds(100), kMostRetry = milliseconds(10'000);

  // `always`: connect at once, and use frames wherever there is a connection.
  void enable(bool always) noexcept {
    enabled_ = true;
    always_ = always;
  }
  bool is_enabled() const noexcept { return enabled_; }

  // The way of the next pull.
  bool picks_bulk(Instant now, PeerId from);
  void on_timed(PeerId from, bool by_bulk, std::uint64_t bytes, Duration took);

  PeerId take_wanted() noexcept;  // a connection to open; -1: none
  void on_connected(PeerId from);
  void on_closed(Instant now, PeerId from);  // or it did not come about

 private:
  enum class State : std::uint8_t { none, wanted, connecting, open };
  struct Way {
    std::uint64_t ns_per_mib = 0;  // the least, forgotten slowly
    std::uint32_t count = 0;
  };
  struct From {
    State state = State::none;
    std::array<Way, 2> ways;  // datagrams, bulk
    std::uint32_t pulls = 0;  // since the other way was tried
    std::uint32_t failures = 0;
    Instant retry_at{};
  };
  bool is_fast(const From& from) const noexcept;

  bool enabled_ = false, always_ = false;
  std::map<PeerId, From> peers_;  // those that sent long messages
  std::vector<PeerId> wanted_;
  std::size_t connections_ = 0;  // wanted, connecting or open
};

}  // namespace herald::p2p
