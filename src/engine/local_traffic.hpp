// SPDX-License-Identifier: BSD-3-Clause
// engine/local_traffic.hpp: counts what goes to ranks of this host: messages of one packet, which nothing
// else counts, and other packets. A rank that only sends to them and polls takes no turns: every few hundred
// packets it looks whether a tool wants its counters, and at what peers answer.
#pragma once
#include <cstdint>

#include "engine/rank_state.hpp"
#include "path/inbox.hpp"

namespace herald::engine {

// A number of packets and the sum of their bytes. The latest are in one word, so that a packet costs one
// addition: the high bits count packets, the low bits bytes. It must not get far beyond kManyBytes.
class PacketTally {
 public:
  // True if many have come since settle(). Inline: a call would cost more than all counters.
  bool add(std::uint64_t bytes) noexcept {
    fresh_ += kPacket + static_cast<std::uint32_t>(bytes);
    return (fresh_ & ~(kPacket * (kManyPackets - 1) | (kManyBytes - 1))) != 0;
  }
  void settle() noexcept {
    packets_ = packets();
    bytes_ = bytes();
    fresh_ = 0;
  }
  std::uint64_t packets() const noexcept { return packets_ + fresh_ / kPacket; }
  std::uint64_t bytes() const noexcept { return bytes_ + fresh_ % kPacket; }

 private:
  static constexpr std::uint32_t kManyPackets = 256, kManyBytes = 1u << 18;
  static constexpr std::uint32_t kPacket = 1u << 23;
  static_assert(kPacket * std::uint64_t{kManyPackets} == std::uint64_t{1} << 31);
  static_assert(kManyBytes + path::InboxShape::kMostCellBytes < kPacket);

  std::uint32_t fresh_ = 0;
  std::uint64_t packets_ = 0, bytes_ = 0;
};

class LocalTraffic {
 public:
  explicit LocalTraffic(RankState& state) noexcept : state_(state) {}
  // True if it is time for on_many().
  bool add_message(std::uint64_t bytes) noexcept { return messages_.add(bytes); }
  bool add_packet(std::uint64_t bytes) noexcept { return packets_.add(bytes); }
  void on_many() noexcept {
    messages_.settle();
    packets_.settle();
    if (state_.is_wanted()) [[unlikely]]
      state_.write_counters();
  }
  // Messages that Sender::send_now() wrote.
  const PacketTally& messages() const noexcept { return messages_; }
  const PacketTally& packets() const noexcept { return packets_; }

 private:
  RankState& state_;
  PacketTally messages_, packets_;
};

}  // namespace herald::engine
