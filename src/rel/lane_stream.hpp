// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_stream.hpp: the packets that we cast on one lane, kept once for all members, and how far they got.
#pragma once
#include <cstdint>

#include "rel/lane_audience.hpp"
#include "rel/proven_rate.hpp"
#include "rel/send_log.hpp"

namespace herald::rel {

struct LaneStream {
  SendLog log;
  Seq next_tx = kFirstCast;  // the first that never left
  Seq lowest = kFirstCast;   // all live members have all before this one
  Seq limit = kFirstCast;    // the least credit
  Seq seen = kFirstCast;     // all members with multicast have seen those before this one, holes or not
  ProvenRate rate;
  Instant last_tx{};
  Instant oldest_at = kNever;  // since then something is outstanding and `lowest` has not moved
  bool refused = false;        // room() said no
  bool small = false;          // the last packet was

  bool has_unsent() const noexcept { return next_tx != log.end(); }
  bool is_outstanding() const noexcept { return lowest != next_tx; }
  bool is_blocked() const noexcept { return refused && !before(log.end(), limit); }
};

// How many packets may be on their way to the group: as many as make packets wait for kShortQueue to
// kLongQueue, mostly in our own interface. So the link does not run dry between two acks, and a repair is not
// held up behind its own stream. A fast link empties even a long pipe in less; then only the window of the
// members bounds it, and losses.
class LanePipe {
 public:
  std::uint32_t packets(const LaneInfo& info, const Audience& audience) const noexcept {
    return std::min(info.tree ? kUsualPackets : packets_, audience.window());
  }
  // Once for each pipe's length that the members have seen.
  void adjust(const LaneStream& stream, const Audience& audience) noexcept {
    if (before(stream.seen, mark_)) return;
    mark_ = stream.next_tx;
    const Duration queue = audience.timing().queue;
    if (queue > kLongQueue) packets_ = std::max(kMinPackets, packets_ * 3 / 4);
    if (queue < kShortQueue) {
      const std::uint32_t more = queue < kNoQueue ? packets_ * 2 : packets_ * 5 / 4 + 1;
      packets_ = std::min(audience.window(), more);
    }
  }
  // A member asks for a repair. Once for each pipe's length.
  void on_loss(const LaneStream& stream) noexcept {
    if (packets_ <= kUsualPackets || before(stream.lowest, loss_mark_)) return;
    loss_mark_ = stream.next_tx;
    packets_ = std::max(kUsualPackets, packets_ / 2);
  }

 private:
  static constexpr std::uint32_t kMinPackets = 16, kFirstPackets = 32;
  static constexpr std::uint32_t kUsualPackets = 192;  // more only while nothing is lost
  static constexpr Duration kNoQueue = microseconds(500);
  static constexpr Duration kShortQueue = milliseconds(2), kLongQueue = milliseconds(4);

  Seq mark_ = kFirstCast;
  Seq loss_mark_ = kFirstCast;
  std::uint32_t packets_ = kFirstPackets;
};

}  // namespace herald::rel
