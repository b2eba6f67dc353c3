// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_inner.hpp: the lanes from inside. lanes.cpp: the verbs; lane_open.cpp: lanes that come and go;
// lane_source.cpp: what acks tell our stream; lane_repair.cpp: what NAKs ask of it; lane_receiver.cpp: what
// casts bring; lane_ack.cpp: what is told the sources; lane_paper.cpp: the two ways of paper 000;
// lane_timers.cpp: deadlines; lane_transmit.cpp: what leaves; fused exchange*.cpp: fused exchanges.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "rel/fused_exchange.hpp"
#include "rel/lane.hpp"
#include "rel/lane_strays.hpp"
#include "rel/lane_table.hpp"
#include "rel/lane_tree.hpp"
#include "rel/failure_detector.hpp"
#include "wire/lane.hpp"

namespace herald::rel {

// For how long an ack is held back: about a round trip after the last packet; for so many since the first.
// Small packets that follow on each other are short calls: no window fills, and an ack costs those who wait
// for the next one as much as a packet does. They are acknowledged more seldom.
constexpr Duration kLeastAckDelay = microseconds(200), kMostAckDelay = milliseconds(4);
constexpr Duration kSmallHold = microseconds(3200);
constexpr std::size_t kSmallPacket = 512;
constexpr std::uint32_t kLeastWindow = 4;    // credit that a source has whatever memory there is
constexpr std::size_t kCompactLanes = 1024;  // that may be known by a number, of those open at once
constexpr Duration longest_hold(Duration rtt, std::int64_t trips, bool small) noexcept {
  return {small ? std::max(trips * rtt.ns, kSmallHold.ns) : trips * rtt.ns};
}

struct Lanes::Inner {
  Inner(const LanesConfig& config, Prng& prng, LaneListener& listener) noexcept;

  // lane_open.cpp
  LaneId open(std::uint64_t name, std::span<const PeerId> members) noexcept;
  void close(Lane& lane) noexcept;
  void bury() noexcept;  // those that were closed while the listener was called, or have drained
  void on_drain(Instant now, bool by_group, const wire::DatagramView& view, Lane& lane) noexcept;
  bool on_compact(Instant now, std::span<const std::byte> datagram) noexcept;
  bool is_good(Instant now, wire::Opened opened, const wire::DatagramView& view) noexcept;
  void hand_to(Instant now, bool by_group, const wire::DatagramView& view, Lane& lane) noexcept;
  void on_stray(Instant now, bool by_group, const wire::DatagramView& view, std::uint64_t name) noexcept;
  void replay(Instant now) noexcept;
  LaneIn& in_of(Lane& lane, std::uint32_t place) noexcept;
  Lane* find(LaneId id) const noexcept;
  std::uint16_t next_known_as(LaneId id) noexcept;
  Lane* find_known_as(std::uint32_t known_as) const noexcept;

  // lanes.cpp
  std::span<std::byte> room(Lane& lane, std::size_t least) noexcept;
  void commit(Lane& lane, std::size_t bytes) noexcept;
  void dispatch(Instant now, bool by_group, const wire::DatagramView& view, Lane& lane) noexcept;
  void set_move(Lane& lane, std::uint8_t move) noexcept;
  static std::uint8_t move_flags(const Lane& lane) noexcept {
    return static_cast<std::uint8_t>(lane.move << wire::kMovedShift);
  }
  std::size_t add_rows(Lane& lane, std::byte* at, std::size_t most) noexcept;

  // lane_source.cpp
  void on_ack(Lane& lane, Instant now, std::uint32_t place, const wire::DatagramView& view) noexcept;
  void on_rows(Lane& lane, Instant now, std::uint32_t place, std::span<const wire::AckRow> rows) noexcept;
  bool advance(Lane& lane, LaneMember& member, Seq next, Seq limit) noexcept;
  void judge(Lane& lane, Instant now, std::uint32_t place, bool heard) noexcept;
  void set_hearing(Lane& lane, std::uint32_t place, Hearing hearing) noexcept;
  void sample_rtt(Lane& lane, LaneMember& member, Instant now, const wire::CastAck& ack) noexcept;
  void note_seen(LaneMember& member, Seq seen) noexcept;
  void fit_pipe(Lane& lane) noexcept;
  void survey(Lane& lane, Instant now) noexcept;                       // after cursors moved
  void remove(Lane& lane, Instant now, std::uint32_t place) noexcept;  // wants nothing more
  void lose(Lane& lane, Instant now, std::uint32_t place) noexcept;    // and sends nothing more

  // lane_repair.cpp
  void on_nak(Lane& lane, Instant now, std::uint32_t place, const wire::DatagramView& view) noexcept;
  void want_repair(Lane& lane, Instant now, std::uint32_t place, Seq seq, Seq end) noexcept;
  Duration repair_time(const Lane& lane, const Mend& mend) const noexcept;
  bool next_repair(Lane& lane, Instant now, Mend*& mend) noexcept;
  Duration gather_time(const Lane& lane) const noexcept;

  // lane_paper.cpp
  bool keeps_order() const noexcept { return config.mode != LaneMode::streaming; }  // go-back-n
  void go_back(Lane& lane, Instant now, LaneMember& member) noexcept;
  void caught_up(Lane& lane, LaneMember& member) noexcept;
  std::uint32_t designated(const Lane& lane, std::uint32_t source) const noexcept;
  bool may_cast(Lane& lane) noexcept;
  bool answers(const LaneIn& in, bool by_group) const noexcept;

  // lane_receiver.cpp
  void on_cast(Lane& lane, Instant now, bool by_group, std::uint32_t place,
               const wire::DatagramView& view) noexcept;
  void on_ask(Lane& lane, Instant now, bool by_group, std::uint32_t place,
              const wire::DatagramView& view) noexcept;
  void note_source(LaneIn& in, bool by_group, std::uint8_t flags, const wire::LanePart& part) noexcept;
  bool accept(LaneIn& in, Instant now, Seq seq, std::span<const std::byte> packet) noexcept;
  bool hand_in(LaneIn& in, Instant now, std::span<const std::byte> packet) noexcept;
  void drain(LaneIn& in, Instant now) noexcept;
  void find_holes(LaneIn& in, Instant now) noexcept;
  Duration grace(const LaneIn& in) noexcept;
  void judge_loss(LaneIn& in, bool missed) noexcept;

  // lane_ack.cpp
  void grant(LaneIn& in) noexcept;
  void owe_ack(LaneIn& in, Instant now) noexcept;
  void ack_at_once(LaneIn& in, bool to_source) noexcept;
  void on_child_ack(Lane& lane, Instant now, std::uint32_t place, const wire::DatagramView& view) noexcept;
  LaneIn::Below all_below(const LaneIn& in) const noexcept;
  bool uses_tree(const LaneIn& in) const noexcept { return in.lane.tree && !in.direct; }
  LaneTree tree_of(const Lane& lane, std::uint32_t source) const noexcept {
    return {static_cast<std::uint32_t>(lane.members.size()), source};
  }
  void acked(LaneIn& in) noexcept;  // an ack has left
  void emit_ack(LaneIn& in, Instant now, TxBatch& out) noexcept;
  void emit_nak(LaneIn& in, Instant now, TxBatch& out) noexcept;

  // lane_timers.cpp
  Duration rtt_of(const Lane& lane) const noexcept { return lane.rtt.ns != 0 ? lane.rtt : config.first_rtt; }
  Duration base_of(const Lane& lane) const noexcept {
    return lane.base.ns != 0 ? lane.base : config.first_rtt;
  }
  Duration rtt_of(const LaneIn& in) const noexcept { return in.rtt.ns != 0 ? in.rtt : config.first_rtt; }
  Duration base_of(const LaneIn& in) const noexcept { return in.base.ns != 0 ? in.base : config.first_rtt; }
  Instant deadline_of(const LaneActor& actor) const noexcept;
  void rearm(LaneActor& actor) noexcept;
  void arm_tail(Lane& lane, Instant now) noexcept;
  void on_timers(LaneActor& actor, Instant now) noexcept;
  bool deferral(LaneActor& actor, Instant now, Duration time) noexcept;  // false: nothing that can wait
  void on_tail(Lane& lane, Instant now) noexcept;
  void on_in_timers(LaneIn& in, Instant now) noexcept;

  // lane_transmit.cpp
  void wake(LaneActor& actor) noexcept { sending.push(actor); }
  bool fill(LaneActor& actor, Instant now, TxBatch& out) noexcept;
  bool fill_lane(Lane& lane, Instant now, TxBatch& out) noexcept;
  bool fill_first(Lane& lane, Instant now, TxBatch& out) noexcept;
  bool fill_repairs(Lane& lane, Instant now, TxBatch& out) noexcept;
  bool fill_deaf(Lane& lane, Instant now, TxBatch& out) noexcept;
  bool fill_asks(Lane& lane, Instant now, TxBatch& out) noexcept;
  bool fill_in(LaneIn& in, Instant now, TxBatch& out) noexcept;
  void fill_replies(TxBatch& out) noexcept;
  bool emit_cast(Lane& lane, Instant now, Seq seq, std::int32_t place, bool ask, TxBatch& out) noexcept;
  void emit_ask(Lane& lane, Instant now, std::int32_t place, bool answer, TxBatch& out) noexcept;
  void emit_short(std::int32_t to, std::uint32_t seal_for, wire::DatagramKind kind, std::uint8_t flags,
                  Seq seq, std::span<const std::byte> body, TxBatch& out) noexcept;
  // That every source begins with.
  std::uint32_t first_window() const noexcept { return std::min(window, config.first_packets); }
  // Where packets may have to go several times, to those who are deaf, it is not more, whatever they grant.
  std::uint32_t window_of(const Lane& lane) const noexcept { return lane.all_hear ? window : first_window(); }
  std::uint32_t pipe_of(const Lane& lane) const noexcept {
    return lane.tree ? window_of(lane) : std::min(lane.pipe, window_of(lane));
  }
  void note_group(Lane& lane, Instant now) noexcept;
  void try_group(Lane& lane, Instant now) noexcept;

  // fused exchange.cpp: of a member
  static FusedExchange& fused_of(Lane& lane) noexcept;
  bool report(Lane& lane, Seq number, std::span<const std::byte> part) noexcept;
  void on_result(Lane& lane, Instant now, bool by_group, std::uint32_t place,
                 const wire::DatagramView& view) noexcept;
  bool report_again(FusedExchange& fused, Instant now) noexcept;
  void on_contribution_ack(Lane& lane, Instant now, std::uint32_t place,
                           const wire::DatagramView& view) noexcept;
  Duration patience(const FusedExchange& fused) const noexcept;  // until something is repeated
  void arm_fused(FusedExchange& fused, Instant at) noexcept;
  void on_fused_timers(FusedExchange& fused, Instant now) noexcept;
  bool defer_fused(FusedExchange& fused, Instant now, Duration time) noexcept;
  static bool is_settled(const Lane& lane) noexcept;  // nothing is owed to others

  // muster_first.cpp: of the first
  FusedExchange::Slot* open_slot(FusedExchange& fused,
                                 Seq number) noexcept;  // null: not one that can be gathered
  void on_report(Lane& lane, Instant now, std::uint32_t place, const wire::DatagramView& view) noexcept;
  void confirm(FusedExchange& fused, std::uint32_t place, Seq have) noexcept;
  void take_part(FusedExchange& fused, Instant now, std::uint32_t place, const wire::DatagramView& view,
                 std::span<const std::byte> part) noexcept;
  void tell(Lane& lane, Instant now, Seq number, std::span<const std::byte> result) noexcept;
  void fused_without(Lane& lane, std::uint32_t place) noexcept;  // it is gone

  // muster_transmit.cpp
  bool fill_fused(FusedExchange& fused, Instant now, TxBatch& out) noexcept;
  bool fill_reports(FusedExchange& fused, Instant now, TxBatch& out) noexcept;
  std::span<std::byte> write_report(const FusedExchange& fused, FusedExchange::Report& one,
                                    std::uint8_t flags) const noexcept;
  std::span<std::byte> write_compact(const FusedExchange& fused, FusedExchange::Report& one,
                                     std::uint8_t flags) const noexcept;
  void emit_report(FusedExchange& fused, Instant now, FusedExchange::Report& report, TxBatch& out) noexcept;
  void emit_to_group(Lane& lane, Instant now, FusedExchange::Slot& slot, std::uint8_t flags,
                     TxBatch& out) noexcept;
  bool fill_result(FusedExchange& fused, Instant now, FusedExchange::Slot& slot, TxBatch& out) noexcept;
  bool fill_owed(FusedExchange& fused, TxBatch& out) noexcept;
  bool fill_reminder(FusedExchange& fused, Instant now, TxBatch& out) noexcept;
  void emit_result(FusedExchange& fused, const FusedExchange::Slot& slot, std::uint32_t place,
                   TxBatch& out) noexcept;

  const LanesConfig config;
  Prng& prng;
  LaneListener& listener;
  LaneCounters counters;
  const std::uint32_t window;   // of our stream, at most
  const std::uint32_t granted;  // to each source, at most
  PacketPool log_pool;
  PacketPool kept_pool;
  LaneTable table;
  LaneStrays strays;
  std::vector<std::unique_ptr<Lane>> lanes;  // by LaneId
  std::vector<std::uint8_t> openings;        // by LaneId: how often it was given
  std::vector<Instant> heard_at;             // by peer: any datagram of a lane
  std::vector<bool> lost;                    // by peer
  DeadlineHeap<LaneActor> heap;
  LaneQueue<LaneActor, &LaneActor::next_sending> sending;
  LaneQueue<Lane, &Lane::next_roomy> roomy;
  LaneQueue<Lane, &Lane::next_roomy> starved;
  Instant sweep_at{};
  Instant clock{};            // when we were last called
  std::uint32_t sources = 0;  // receiving halves of all lanes
  bool replay_due = false;    // a lane was opened that strays wait for
  bool redeliver_due = false;
  bool calling = false;  // the listener is being called
  bool some_closing = false;
  PacketPool::Slot spare = PacketPool::kNone;
  LaneId open_lane = -1;  // of room()
};

}  // namespace herald::rel
