// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_audience.hpp: the members that receive our stream: where each stands, which of them the multicast
// reaches, and how far away they are.
//
//   unknown --acked a multicast--> multicast --kMissesKnown acks without one--> unicast
//   unknown --kMissesUnknown acks without one--> unicast --acked a multicast--> multicast
//   each of them --closed the lane, lost, forgotten--> gone
#pragma once
#include <cstdint>
#include <vector>

#include "rel/cursor.hpp"
#include "rel/lane_context.hpp"
#include "rel/rtt.hpp"

namespace herald::rel {

enum class Reachability : std::uint8_t { unknown, multicast, unicast, gone };  // gone: ourselves, too

struct LaneMember {
  Cursor cursor;
  Rtt rtt;
  Instant judged_at{};            // its last ack from which reachability was judged
  Seq seen = kFirstCast;          // after the highest that is known to have come
  Seq unicast_next = kFirstCast;  // the first that was not sent to it by unicast
  Reachability reachability = Reachability::unknown;
  std::uint8_t misses = 0;         // acks in a row without a sign of the multicast
  std::uint8_t unicast_burst = 0;  // packets since it was asked
  bool ask_due = false;            // to be asked by unicast
  bool asked = false;              // by unicast, and no datagram came from it since
  bool silent = false;             // lost: nothing comes from it, either
  bool going_back = false;         // gets all from unicast_next to go_back_end() by unicast
  std::uint8_t go_back_to = 0;     // the low bits of go_back_end()

  bool is_gone() const noexcept { return reachability == Reachability::gone; }
  bool is_unicast() const noexcept { return reachability == Reachability::unicast; }
  void note_seen(Seq end) noexcept {
    if (before(seen, end)) seen = end;
  }
  // Later packets go to the group. A window is much shorter than 128.
  Seq go_back_end() const noexcept {
    const auto ahead = static_cast<std::int8_t>(go_back_to - static_cast<std::uint8_t>(cursor.next));
    return cursor.next + static_cast<Seq>(std::int32_t{ahead});
  }
};
static_assert(sizeof(LaneMember) <= 64, "the budget of one more receiver of a log");

class LaneSource;

class Audience {
 public:
  struct Timing {
    Duration rtt{}, base{};  // to the farthest member, smoothed and least; 0: not measured
    Duration timeout{};
    Duration queue{};  // by which packets were held up when last measured
  };
  struct Survey {
    Seq lowest, seen, limit;  // of the slowest member; `seen` only of those that receive multicast
  };

  Audience(LaneContext& context, LaneInfo& info, LaneSource& source) noexcept;

  LaneMember& operator[](std::uint32_t place) noexcept { return members_[place]; }
  const LaneMember& operator[](std::uint32_t place) const noexcept { return members_[place]; }
  std::vector<LaneMember>& members() noexcept { return members_; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(members_.size()); }
  std::uint16_t live() const noexcept { return live_; }
  std::uint16_t multicast_members() const noexcept { return multicast_members_; }
  bool needs_unicast() const noexcept { return multicast_members_ != live_; }
  bool has_lost_members() const noexcept { return lost_members_; }
  bool uses_tree() const noexcept { return info_.tree && !lost_members_; }

  const Timing& timing() const noexcept { return timing_; }
  Duration rtt() const noexcept { return context_.known_or_first(timing_.rtt); }
  Duration base() const noexcept { return context_.known_or_first(timing_.base); }
  // Packets for members without multicast leave several times: then members' grants beyond the first window
  // are not used.
  std::uint32_t window() const noexcept { return all_multicast_ ? context_.window : context_.first_window(); }

  // A member says whether a multicast reached it since it last said so.
  void judge(Instant now, std::uint32_t place, bool multicast_seen) noexcept;
  void set_reachability(std::uint32_t place, Reachability reachability) noexcept;
  void remove(std::uint32_t place) noexcept;
  void note_multicast(Instant now) noexcept;
  // No member receives multicast: true if it is time to probe the group again, by the next interface.
  bool is_group_probe_due(Instant now) noexcept;
  void restart_group_probes() noexcept { probe_after_ = {16 * rtt().ns}; }
  Survey survey(Seq next_tx) noexcept;

 private:
  LaneContext& context_;
  LaneInfo& info_;
  LaneSource& source_;
  std::vector<LaneMember> members_;       // by place
  std::uint16_t live_;                    // others that are not gone
  std::uint16_t multicast_members_;       // of those, not served by unicast
  bool all_multicast_ = false;            // all live members, and this is known
  bool lost_members_ = false;             // the tree has a hole
  Instant group_old_{}, group_recent_{};  // two multicasts, a round trip apart or more
  Instant probe_at_{};
  Duration probe_after_{};
  Timing timing_;
};

}  // namespace herald::rel
