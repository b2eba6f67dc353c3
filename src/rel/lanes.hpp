// SPDX-License-Identifier: BSD-3-Clause
// rel/lanes.hpp: one packet for all members of a lane, sent once: each member gets the packets of each source
// once and in order, whatever the network and the switch do with multicast. In:  packets to cast; datagrams
// that came, by multicast or not; the time. Out: datagrams (to one peer, or to the group of a lane), pulled
// by poll_transmit(); packets, handed to the listener
//      in order per source; which members hear the group and which do not.
// Timer: one, next_deadline().
//
// EQA (paper 000): a source keeps each packet once, in one log for all members; a member is a cursor in it.
// An entry goes when the last cursor has passed. Acknowledgements come from each member of a small lane, and
// are combined up a tree of members in a large one; they are amortised over several packets (paper 003).
// Holes are found by receivers, who ask the source (NAK, delayed by a random part of the round trip when
// others may ask for the same); a lost tail by the source, who asks. Repair goes to one loser by unicast, to
// many by multicast. Times are multiples of the measured round trip.
//
// A member that does not hear the group is served by unicast from the same log (fail-over, paper 003): the
// stream does not break, its carrier changes. The first packets of a source are its probes: nobody waits for
// a group. A member that was served by unicast for a while is tried again with back-off, and hears the group
// again when it answers to it.
//
//   unknown --acked a multicast--> hears --several repairs in a row, all by unicast--> deaf --probe
//   answered--> hears unknown --no ack of a multicast, ack of its unicast repair--> deaf
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/instant.hpp"
#include "base/prng.hpp"
#include "base/status.hpp"
#include "rel/tx_batch.hpp"
#include "wire/datagram.hpp"

namespace herald::rel {

using PeerId = std::int32_t;
using LaneId = std::int32_t;  // this process's number for a lane

// How a source casts. simple and push_pull are those of paper 000, to compare: a window of 16, receivers keep
// nothing that is out of order, and who misses something gets all from there on again, point to point.
//   streaming  within the window; holes are asked for one by one
//   simple     within the window; nobody asks: an ack that does not come makes the source go back
//   push_pull  one packet, then a pause until one designated member has it, then the rest; who finds a hole
//              asks, and the cast is suspended until it has caught up
enum class LaneMode : std::uint8_t { streaming, simple, push_pull };
constexpr std::uint32_t kPaperWindow = 16;

struct LanesConfig {
  PeerId me = 0;
  std::int32_t peers = 1;
  wire::Seal seal{};
  std::uint32_t datagram_bytes = 1472;
  std::uint32_t largest_bytes = 0;      // that may come; 0: the same
  std::uint32_t window_packets = 192;   // of one source, ahead of the slowest member that hears ...
  std::uint32_t first_packets = 128;    // ... at first; then as members grant. The same on all members
  std::uint32_t held_packets = 192;     // that our socket holds while we are away: nobody is granted more
  std::uint32_t log_bytes = 8 << 20;    // all lanes together
  std::uint32_t kept_bytes = 8 << 20;   // packets out of order, or not taken by the listener yet
  std::uint32_t flat_members = 16;      // up to so many acknowledge to the source itself, more by a tree
  LaneMode mode = LaneMode::streaming;  // the same on all members
  Duration first_rtt = microseconds(500);
  Duration least_timeout = microseconds(300);
  Duration give_up = milliseconds(5000);  // a member that answers neither way for so long is lost
};

struct LaneCounters {
  std::uint64_t cast = 0, heard = 0;                 // packets, first time
  std::uint64_t repaired_one = 0, repaired_all = 0;  // sent again to one, to the group
  std::uint64_t naks_sent = 0, naks_received = 0, naks_spared = 0;
  std::uint64_t acks_sent = 0, acks_received = 0;
  std::uint64_t duplicates = 0, forged = 0, malformed = 0;
  std::uint64_t went_deaf = 0, heard_again = 0;
  std::uint64_t foreign = 0;    // forged, or malformed, that came to a group: somebody else uses it
  std::uint64_t moved = 0;      // lanes, to another address
  std::uint64_t went_back = 0;  // times that all from a hole on was sent to a member again
  std::uint64_t suspended = 0;  // times that a cast waited for members
  std::uint64_t tried = 0;      // a group that nobody hears
  std::uint64_t reports = 0, result_of_all = 0;  // sent, first time
  std::uint64_t fused_resent = 0;                // sent again, or to answer who did
  std::uint64_t late = 0;                        // brief reports for lanes that are not there
  std::uint64_t missed = 0;  // packets of others that the group should have brought and did not
};

class LaneListener {
 public:
  // A packet as the source committed it. Anything but ok: it is handed in again by redeliver() or after a
  // while, and the source gets no more credit from us than what is kept anyway.
  virtual Status heard(LaneId lane, PeerId source, std::span<const std::byte> packet) noexcept = 0;
  // Whether a member hears our multicasts; told when it changes.
  virtual void hearing_changed(LaneId lane, PeerId member, bool hears) noexcept = 0;
  virtual void member_lost(LaneId lane, PeerId member) noexcept = 0;
  // We hear the multicast of this member and lose much of it: so many in a hundred, for a while now.
  virtual void losing(LaneId /*lane*/, PeerId /*source*/, std::uint32_t /*percent*/) noexcept {}
  // The lane moves to another address (see set_move()), because a member has moved.
  virtual void moved(LaneId /*lane*/, std::uint8_t /*move*/) noexcept {}

 protected:
  ~LaneListener() = default;
};

class Lanes {
 public:
  Lanes(const LanesConfig& config, Prng& prng, LaneListener& listener) noexcept;
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // `name` is the same on all members and no other lane's; `members` the same on all, in the same order, we
  // among them. Packets of a lane that is not open yet are kept for a while, bounded (a member may be early).
  // -1: no memory.
  LaneId open(std::uint64_t name, std::span<const PeerId> members) noexcept;
  // The lane has an address for each number from 0 to kLastMove; all members go to the highest that one of
  // them has chosen. Nobody waits: who has not followed yet is served as one that does not hear. Lower ones:
  // nothing.
  static constexpr std::uint8_t kLastMove = 3;
  void set_move(LaneId lane, std::uint8_t move) noexcept;
  void move_on(LaneId lane) noexcept;  // to the next one, if there is one
  // We want nothing more of it. What we cast goes on until all have it; is_flushed() tells.
  void close(LaneId lane) noexcept;

  // As rel::Mesh. room() is empty when the window is closed; next_ready() names the lane when it opens again.
  std::span<std::byte> room(LaneId lane, std::size_t least) noexcept;
  void commit(LaneId lane, std::size_t bytes) noexcept;
  LaneId next_ready() noexcept;

  // Fused exchanges (rel/fused_exchange.hpp). All members count them alike, from 0. A member that is not the
  // first of the lane reports its part, false: not now, older ones are open; its result() is there when it
  // has come, and is taken. The first gathers the parts of the others, in any number of fused exchanges at
  // once, and tells the result.
  static constexpr std::size_t kMostPart = 256, kMostResult = 1024;
  static constexpr std::size_t kMaxFusedMembers = 32;  // members
  enum class FusedState : std::uint8_t { not_yet, all, lost };
  bool report(LaneId lane, std::uint32_t number, std::span<const std::byte> part) noexcept;
  FusedState result(LaneId lane, std::uint32_t number, std::span<const std::byte>& bytes) const noexcept;
  void take_result(LaneId lane, std::uint32_t number) noexcept;
  FusedState gather(LaneId lane, std::uint32_t number) noexcept;
  std::span<const std::byte> part(LaneId lane, std::uint32_t number, std::size_t place) const noexcept;
  void tell(Instant now, LaneId lane, std::uint32_t number, std::span<const std::byte> result) noexcept;

  // `by_group`: it came to the group's address. True if it was a good datagram of ours. Anything that is no
  // lane's datagram (kinds of wire/datagram.hpp that belong to the mesh) is refused without being counted.
  bool on_datagram(Instant now, bool by_group, std::span<const std::byte> datagram) noexcept;
  void on_deadline(Instant now) noexcept;
  void on_resume(Instant now, Duration away) noexcept;  // as the mesh's
  void on_clock_gap(Instant now) noexcept;              // as the mesh's
  std::optional<Instant> next_deadline() const noexcept;
  bool has_only_fused() const noexcept;  // nothing else has a time of its own, or is to leave
  // Entries with `to` >= 0 go to that peer; others to the group of lane lane_of(to).
  std::size_t poll_transmit(Instant now, TxBatch& out) noexcept;
  bool wants_to_send() const noexcept;
  static constexpr LaneId lane_of(std::int32_t to) noexcept { return -1 - to; }
  void redeliver() noexcept;
  void forget_peer(PeerId peer) noexcept;

  bool is_flushed() const noexcept;
  bool is_flushed(LaneId lane) const noexcept;
  bool hears(LaneId lane, PeerId member) const noexcept;
  const LaneCounters& counters() const noexcept;
  std::uint64_t buffered_bytes() const noexcept;

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

}  // namespace herald::rel
