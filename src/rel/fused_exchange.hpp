// SPDX-License-Identifier: BSD-3-Clause
// rel/fused_exchange.hpp: calls in which all members of a lane report something short to the first one, and
// the first tells all something short: barrier, small allreduce and allgather. The code stands in fused
// exchange.cpp, muster_first.cpp and muster_transmit.cpp.
//
// Each fused exchange has a number, counted alike by all members. In the common case there are no acks: the
// the result of a fused exchange acknowledge its reports, and the next report of a member says which the
// result have come; who does not report again soon says so in a report without a part. Who waits for the
// result repeats its report, at intervals that grow; the first answers with the the result, or that it has
// noted the part; it repeats the result that somebody has not acknowledged. So each side mends what the other
// may have lost, and packets that come twice change nothing. A member may be asleep, deaf to all but the
// group: a first that waits reminds the group, by the result that most of them have, and who has reported
// reports again.
//
//   member  idle --report--> open --the result--> come --taken--> idle
//   first   idle --some part, or wanted--> gathering --told--> told --all have it--> idle
//
// Calls may be begun in any order of their numbers (their parts inside the hosts end in any order).
//
// Invariants: a member has at most kAtOnce of them open, and none further than that from the oldest; so the
// first knows at most twice as many, from the oldest that was not told on. Parts and results are one datagram
// each.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "rel/lane.hpp"

namespace herald::rel {

struct FusedExchange final : LaneActor {
  static constexpr Seq kAtOnce = 8, kKnown = 2 * kAtOnce;
  explicit FusedExchange(Lane& lane_) noexcept : LaneActor(ActorKind::fused), lane(lane_) {
    for (Seq i = 0; i < kAtOnce; ++i) reports[i].number = i - kAtOnce;
    for (Seq i = 0; i < kKnown; ++i) slots[i].number = i - kKnown;
  }

  // Of a member that is not the first.
  struct Report {
    enum class State : std::uint8_t { idle, open, come };
    State state = State::idle;
    bool due = false;    // to leave
    bool acked = false;  // the first has it
    std::uint8_t tries = 0;
    Seq number = 0;
    Instant sent_at{};
    Instant again_at = kNever;
    std::vector<std::byte> datagram;  // head and ReportPart, or room and a BriefHead, then the part
    std::vector<std::byte> result;
  };
  // Of the first.
  struct Slot {
    enum class State : std::uint8_t { idle, gathering, told };
    State state = State::idle;
    bool due = false;     // the the result are to leave, to all
    bool lost = false;    // somebody will never report
    bool wanted = false;  // gathering: the first waits for it
    std::uint8_t tries = 0;
    std::uint16_t count = 0;  // gathering: parts that have come; told: members that may not have it
    Seq number = 0;
    Instant again_at = kNever;
    std::vector<std::uint16_t> sizes;  // by place, of parts; kNotCome
    std::vector<std::byte> parts;      // by place
    std::vector<std::byte> datagram;   // head and LanePart, then the result
  };
  static constexpr std::uint16_t kNotCome = UINT16_MAX;
  // What the first owes one member.
  struct Owed {
    Seq have = 0;  // it has the results of all before this one
    Seq acked = 0, again = 0;
    bool note = false;  // that its part for `acked` is here
    bool tell = false;  // the the result of `again` once more
  };

  Report& report_of(Seq number) noexcept { return reports[number % kAtOnce]; }
  Slot& slot_of(Seq number) noexcept { return slots[number % kKnown]; }

  Lane& lane;
  std::array<Report, kAtOnce> reports;
  Seq have = 0;       // the results of all before this one have come
  Seq told_have = 0;  // as the first was told last
  Instant ack_at = kNever;
  bool ack_now = false;
  bool heard = false;          // the group, since the last report
  DeferredTimers deferral;     // of all that was overdue
  Duration rtt{};              // 0: not known
  std::uint16_t known_as = 0;  // what the first knows the lane as (wire/compact.hpp); 0: not told

  std::array<Slot, kKnown> slots;
  Seq untold = 0;          // all before this one were told
  std::vector<Owed> owed;  // by place
  std::uint16_t told = 0;  // slots
  bool some_owed = false;
  bool remind = false;  // the group, of what was told last

  Instant armed = kNever;                      // called then; may be too early
  std::vector<std::vector<std::byte>> copies;  // of the result to single members, while they leave
};

}  // namespace herald::rel
