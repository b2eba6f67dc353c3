// SPDX-License-Identifier: BSD-3-Clause
// rel/lane.hpp: what is remembered of one lane: our stream with a cursor for each member, and one receiving
// half for each member that has cast. The code stands in lane_source.cpp, lane_repair.cpp, lane_receiver.cpp,
// lane_ack.cpp, lane_timers.cpp and lane_transmit.cpp.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "base/instant.hpp"
#include "rel/cursor.hpp"
#include "rel/deadline_heap.hpp"
#include "rel/deferred_timers.hpp"
#include "rel/lane_queue.hpp"
#include "rel/lanes.hpp"
#include "rel/link.hpp"
#include "rel/reorder.hpp"
#include "rel/rtt.hpp"
#include "rel/send_log.hpp"
#include "rel/seq.hpp"

namespace herald::rel {

constexpr Seq kFirstCast = 0xffffff80;  // of every stream; so every long one wraps around
constexpr std::int32_t kAllMembers = -1;
constexpr std::uint32_t kFirstPipe = 32;

// gone: lost, forgotten, has closed the lane, or is ourselves. The others: see lanes.hpp.
enum class Hearing : std::uint8_t { unknown, hears, deaf, gone };

// Where one member stands in our stream.
struct LaneMember {
  Cursor cursor;
  Rtt rtt;
  Instant judged_at{};           // its last ack that told whether it hears
  Instant asked_since = kNever;  // asked by unicast, nothing heard since
  Seq seen = kFirstCast;         // after the highest that is known to have come
  Seq uni_next = kFirstCast;     // deaf: the first that did not go to it by unicast
  Hearing hearing = Hearing::unknown;
  std::uint8_t misses = 0;     // acks in a row without a sign of the group
  std::uint8_t uni_burst = 0;  // deaf: packets since it was asked
  bool ask_due = false;        // to be asked by unicast
  bool silent = false;         // lost: nothing comes from it, either
  bool again = false;          // gets all from uni_next to again_end() by unicast (go-back-n)
  std::uint8_t again_to = 0;   // the last bits of that

  // What leaves from here on comes behind that, and goes to the group. A window is much shorter than 128.
  Seq again_end() const noexcept {
    const auto ahead = static_cast<std::int8_t>(again_to - static_cast<std::uint8_t>(cursor.next));
    return cursor.next + static_cast<Seq>(std::int32_t{ahead});
  }
};
static_assert(sizeof(LaneMember) <= 64, "the budget of one more receiver of a log");

// A packet of ours that somebody misses: none -> waiting (for others who miss it too) -> sent.
struct Mend {
  enum class State : std::uint8_t { none, waiting, sent };
  Instant at{};  // waiting: when it is due; sent: when it was sent
  Seq seq = 0;
  Seq mark = 0;                       // sent: whoever has this one should have got the repair before
  std::int32_t member = kAllMembers;  // who asked; kAllMembers: several
  State state = State::none;
};

// Something that has deadlines and datagrams to send: our stream of a lane, the stream of another member, or
// the fused exchanges of a lane.
enum class ActorKind : std::uint8_t { source, receiver, fused };
struct LaneActor {
  explicit LaneActor(ActorKind kind_) noexcept : kind(kind_) {}
  std::uint32_t heap_place = DeadlineHeap<LaneActor>::kOut;
  LaneActor* next_sending = nullptr;
  const ActorKind kind;
};

struct Lane;
struct FusedExchange;

// The stream of another member.
struct LaneIn final : LaneActor {
  LaneIn(Lane& lane_, std::uint16_t member_) noexcept
      : LaneActor(ActorKind::receiver), lane(lane_), member(member_) {}
  struct Below {
    Seq next = kFirstCast, limit = kFirstCast;
  };

  Lane& lane;
  const std::uint16_t member;
  std::uint16_t unacked = 0;           // packets since the last ack
  std::uint16_t took = 0, missed = 0;  // new ones since losses were last judged; of those, not by the group
  Reorder reorder;
  Seq next = kFirstCast;        // all before this one have come
  Seq delivered = kFirstCast;   // all before this one were delivered
  Seq top = kFirstCast;         // after the highest that has come
  Seq end = kFirstCast;         // after the highest that is known to exist
  Seq limit = kFirstCast;       // credit granted
  Seq told = kFirstCast;        // `next` of the last ack
  Seq naked_end = kFirstCast;   // holes before this one were asked for
  Seq armed_end = kFirstCast;   // those before this one are asked for at grace_at
  Seq newest = kFirstCast - 1;  // came last ...
  Instant newest_at{};
  Instant unacked_since = kNever;
  Instant ack_due = kNever;
  Instant tree_due = kNever;  // tree: the ack that waits for those below us, or tells more of them
  Instant grace_at = kNever;  // ask for holes that are new
  Instant renak_at = kNever;  // ask again
  Instant again_at = kNever;  // hand in what the listener did not want
  Seq nak_from = kFirstCast, nak_to = kFirstCast;  // holes to be asked for now
  Seq all_told = kFirstCast;                       // tree: what was told of all below us
  Duration rtt{};                                  // as told by the source; 0: not known
  Duration base{};
  std::unique_ptr<Below[]> below;  // tree: children
  std::uint8_t renaks = 0;
  Instant naked_at{};           // when we asked last
  Seq renak_next = kFirstCast;  // `next` when we asked again
  Seq goal = kFirstCast;        // tree: the ack leaves when all below us have those before this one
  bool ack_now = false;
  DeferredTimers deferral;  // of the ack that is owed
  bool answer = false;      // ack_now: to the source itself, whatever the tree
  bool heard = false;       // its multicast, since the last ack
  bool direct = false;      // acknowledge to the source itself
  bool waited = false;      // tree: for those below us
  bool rides = false;       // the last ack went with a cast of ours
  bool refused = false;     // by the listener, since the last ack
  bool lossy = false;       // of the last packets that were judged, many were missed
  bool small = false;       // the last one was
};

struct Lane final : LaneActor {
  Lane() noexcept;
  ~Lane();

  std::uint64_t name = 0;
  LaneId id = -1;
  std::uint16_t known_as = 0;   // in brief reports (wire/compact.hpp); 0: there are none
  std::uint16_t me = 0;         // our place among the members
  std::uint16_t living = 0;     // others that are not gone
  std::uint16_t listening = 0;  // of those, not deaf: the group is worth a multicast
  bool tree = false;
  bool all_hear = false;      // those who are not gone, and this is known
  std::uint8_t move = 0;      // see Lanes::set_move()
  bool direct = false;        // a member is gone: the tree has a hole
  bool closing = false;       // to be buried
  bool draining = false;      // closed; somebody has not got all that we cast
  bool refused = false;       // room() said no
  bool starving = false;      // likewise, for want of memory
  bool held = false;          // packets wait for the pipe
  bool small = false;         // the last packet was
  DeferredTimers deferral;    // since `lowest` has moved
  bool some_asks = false;     // a member is to be asked by unicast
  bool group_ask = false;     // a cast_ask is to go to the group ...
  bool group_answer = false;  // ... that wants answers
  std::vector<PeerId> members;
  std::vector<std::uint16_t> by_rank;  // places, ordered by rank
  std::vector<std::unique_ptr<LaneIn>> in;

  // Our stream.
  SendLog log;
  std::vector<LaneMember> cursors;  // by place
  std::unique_ptr<Mend[]> mends;    // by seq; made when the first is needed
  LaneFifo<Seq> mend_queue;         // those that wait, oldest first
  Seq next_tx = kFirstCast;         // the first that never left
  Seq lowest = kFirstCast;          // all living members have all before this one
  Seq limit = kFirstCast;           // the least credit
  Seq seen = kFirstCast;            // what all who listen have seen, holes or not
  Seq pipe_mark = kFirstCast;       // when this one is seen, the pipe is measured again
  std::uint32_t pipe = kFirstPipe;  // packets that may be on their way to the group
  Duration rtt{};                   // of the farthest member; 0: nothing measured
  Duration base{};
  Duration timeout{};
  Duration queue{};            // by which packets were held up when last measured
  Instant oldest_at = kNever;  // since then something is unacknowledged and `lowest` has not moved
  Instant last_tx{};
  Instant tail_at = kNever;             // ask those who have not acknowledged
  Instant deferred_until{};             // not before
  Instant asked_at{};                   // when they were asked last
  Instant notice_at = kNever;           // show the end of a burst
  Instant group_old{}, group_recent{};  // two multicasts, a round trip apart or more
  Instant retry_at{};                   // nobody hears: when the group is tried again
  Duration retry_after{};
  std::uint32_t burst = 0;      // packets that followed closely on each other
  std::uint32_t since_ask = 0;  // packets
  std::uint32_t next_uni = 0;   // whose turn it is among the deaf
  std::uint8_t asks = 0;        // in a row without progress
  // go-back-n:
  std::uint16_t behind = 0;   // members that are served again
  bool pushed = false;        // push_pull: the push is out, and was not acknowledged yet
  bool waiting = false;       // push_pull: the cast is held, and that was counted
  Seq push_end = kFirstCast;  // push_pull: of the push; when that is acknowledged, of the burst
  Lane* next_roomy = nullptr;
  std::unique_ptr<FusedExchange> fused;  // made when the first is needed

  std::int32_t place_of(std::uint32_t rank) const noexcept;
};

}  // namespace herald::rel
