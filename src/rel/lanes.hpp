// SPDX-License-Identifier: BSD-3-Clause
// rel/lanes.hpp: one packet for all members of a lane, sent once: each member gets the packets of each source
// once and in order, whatever the network and the switch do with multicast.
// In:  packets to cast; datagrams that came, by multicast or not; the time.
// Out: datagrams, to one peer or to the group of a lane, pulled by poll_transmit(); packets for the listener,
// in order per source; which members receive our multicast.
// Timer: one, next_deadline().
//
// EQA (paper 000): a source keeps each packet once, in one log for all members; a member is a cursor in it.
// An entry goes when the last cursor has passed. Acknowledgements come from each member of a small lane, and
// are combined up a tree of members in a large one; they are amortised over several packets (paper 003).
// Receivers find holes and ask the source (NAK, delayed by a random part of the round trip when others may
// ask for the same); the source finds a lost tail and asks. A repair goes to one member by unicast, to
// several by multicast. Times are multiples of the measured round trip.
//
// A member that receives no multicast is served by unicast from the same log (fail-over, paper 003): the
// stream goes on, only its carrier changes. The first packets of a source are its probes, so no member waits
// for a group. The group is probed again with back-off (states: rel/lane_audience.hpp).
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
#include "wire/lane.hpp"

namespace herald::rel {

using PeerId = std::int32_t;
using LaneId = std::int32_t;  // this process's number for a lane

// How a source casts. simple and push_pull are those of paper 000, as baselines: a window of 16, receivers
// keep nothing that is out of order, and a member with a hole gets all from there on again, by unicast.
//   streaming  within the window; holes are asked for one by one
//   simple     within the window; members send no NAKs: without an ack in time the source goes back
//   push_pull  one packet, then a pause until one designated member has it, then the rest; a member with a
//              hole asks, and the cast is suspended until it has caught up
enum class LaneMode : std::uint8_t { streaming, simple, push_pull };
constexpr std::uint32_t kPaperWindow = 16;

struct LanesConfig {
  PeerId me = 0;
  std::int32_t peers = 1;
  wire::Seal seal{};
  std::uint32_t datagram_bytes = 1472;
  std::uint32_t largest_bytes = 0;      // of a datagram that may come; 0: datagram_bytes
  std::uint32_t window_packets = 192;   // of one source, ahead of the slowest member that receives multicast
  std::uint32_t first_packets = 128;    // the window until members grant more. The same on all members
  std::uint32_t held_packets = 192;     // that our socket buffers between two calls: the most that we grant
  std::uint32_t log_bytes = 8 << 20;    // all lanes together
  std::uint32_t kept_bytes = 8 << 20;   // packets out of order, or not taken by the listener yet
  std::uint32_t first_upper = 0;        // half of the first numbers of every stream
  std::uint32_t flat_members = 16;      // up to so many acknowledge to the source itself, more by a tree
  LaneMode mode = LaneMode::streaming;  // the same on all members
  Duration first_rtt = microseconds(500);
  Duration least_timeout = microseconds(300);
  Duration longest_backoff = milliseconds(100);  // of what is repeated
  std::uint8_t interfaces = 1;                   // that multicast may leave by
};

struct LaneCounters {
  std::uint64_t cast = 0, received = 0;                        // packets, first time
  std::uint64_t repaired_unicast = 0, repaired_multicast = 0;  // packets sent again
  std::uint64_t naks_sent = 0, naks_received = 0, naks_suppressed = 0;
  std::uint64_t acks_sent = 0, acks_received = 0;
  std::uint64_t duplicates = 0, forged = 0, malformed = 0;
  std::uint64_t multicast_lost = 0, multicast_regained = 0;  // times, by a member
  std::uint64_t foreign = 0;          // forged or malformed ones to a group: another job uses its address
  std::uint64_t address_changes = 0;  // of lanes
  std::uint64_t go_backs = 0;         // times that all from a hole on was sent to a member again
  std::uint64_t suspended = 0;        // times that a cast waited for members
  std::uint64_t group_probes = 0;     // of groups that no member receives
  std::uint64_t contributions = 0, results = 0;  // of fused exchanges, first time
  std::uint64_t fused_resent = 0;                // datagrams of them sent again, or in answer to those
  std::uint64_t late_contributions = 0;          // compact ones, for lanes that are not open
  std::uint64_t proven_rate = 0;                 // bytes per second that our casts have reached; 0: not known
  std::uint64_t missed = 0;  // packets of others that multicast should have brought and did not
};

class PeerLiveness;

class LaneListener {
 public:
  // A packet as the source committed it. Anything but ok: it is handed in again by redeliver() or after a
  // while, and the source gets no more credit from us than what fits into our memory.
  virtual Status deliver(LaneId lane, PeerId source, std::span<const std::byte> packet) noexcept = 0;
  // Whether a member receives our multicast has changed.
  virtual void reachability_changed(LaneId lane, PeerId member, bool receives_multicast) noexcept = 0;
  // We receive the multicast of this member and lose much of it: so many percent, for a while now.
  virtual void losing_multicast(LaneId /*lane*/, PeerId /*source*/, std::uint32_t /*percent*/) noexcept {}
  // A member has taken the lane to another address (see set_address_index()).
  virtual void address_changed(LaneId /*lane*/, std::uint8_t /*index*/) noexcept {}

 protected:
  ~LaneListener() = default;
};

class Lanes {
 public:
  // `peers`: judges whether members are alive, and chooses links to them; null: none are lost, one link each.
  Lanes(const LanesConfig& config, Prng& prng, LaneListener& listener,
        PeerLiveness* peers = nullptr) noexcept;
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // `name` is the same on all members and no other lane's; `members` the same on all, in the same order, we
  // among them. Packets of a lane that is not open yet are kept for a while, bounded (a member may be early).
  LaneId open(std::uint64_t name, std::span<const PeerId> members) noexcept;
  // The lane has an address for each index from 0 to kLastAddressIndex; all members go to the highest that a
  // member has chosen. A member that has not followed yet is served by unicast. A lower index does nothing.
  static constexpr std::uint8_t kLastAddressIndex = 3;
  void set_address_index(LaneId lane, std::uint8_t index) noexcept;
  void use_next_address(LaneId lane) noexcept;  // if there is one
  // The caller wants nothing more of the lane. What we cast goes on until all have it; is_flushed() tells.
  void close(LaneId lane) noexcept;

  // As rel::Mesh. room() is empty when the window is closed; next_ready() names the lane when it opens again.
  std::span<std::byte> room(LaneId lane, std::size_t least) noexcept;
  void commit(LaneId lane, std::size_t bytes) noexcept;
  LaneId next_ready() noexcept;

  // Fused exchanges (rel/fused_exchange.hpp). All members count them alike, from 0. A member that is not the
  // root, the lane's first member, contributes (false: not now, older exchanges are open); its result() is
  // complete when it has come, until it is taken. The root gathers the contributions of the others, in any
  // number of exchanges at once, and announces the result. Data of a lost rank is missing in what is
  // `incomplete`: the gather or result that it becomes part of is lost.
  enum class FusedState : std::uint8_t { pending, complete, lost };
  bool contribute(LaneId lane, std::uint32_t number, std::span<const std::byte> data,
                  bool incomplete = false) noexcept;
  FusedState result(LaneId lane, std::uint32_t number, std::span<const std::byte>& bytes) const noexcept;
  void take_result(LaneId lane, std::uint32_t number) noexcept;
  FusedState gather(LaneId lane, std::uint32_t number) noexcept;
  std::span<const std::byte> contribution(LaneId lane, std::uint32_t number,
                                          std::size_t place) const noexcept;
  void announce(Instant now, LaneId lane, std::uint32_t number, std::span<const std::byte> result,
                bool incomplete = false) noexcept;

  // `by_group`: it came to the group's address. True if it was a good datagram of ours. Anything that is no
  // lane's datagram (kinds of wire/datagram.hpp that belong to the mesh) is refused without being counted.
  // `link`: that brought it to us alone, if known.
  bool on_datagram(Instant now, bool by_group, std::span<const std::byte> datagram,
                   std::uint8_t link = UINT8_MAX) noexcept;
  // Several that came together to groups, at most kMostTogether, which is faster. Bit i of the result: the
  // one at i was good.
  static constexpr std::size_t kMostTogether = 8;
  std::uint32_t on_group_datagrams(Instant now, std::span<const std::span<const std::byte>> came) noexcept;
  void on_deadline(Instant now) noexcept;
  void on_resume(Instant now, Duration away) noexcept;  // as the mesh's
  // The peer owed an answer and has sent news: timers that backed off are due again.
  void on_answer(Instant now, PeerId peer) noexcept;
  std::optional<Instant> next_deadline() const noexcept;
  // Entries with `to` >= 0 go to that peer; others to the group of lane lane_of(to), where `link` is the
  // interface.
  std::size_t poll_transmit(Instant now, TxBatch& out) noexcept;
  bool wants_to_send() const noexcept;
  static constexpr LaneId lane_of(std::int32_t to) noexcept { return -1 - to; }
  void redeliver() noexcept;
  void forget_peer(PeerId peer) noexcept;

  bool is_flushed(LaneId lane = -1) const noexcept;  // -1: all lanes
  bool receives_multicast(LaneId lane, PeerId member) const noexcept;
  const LaneCounters& counters() const noexcept;
  std::uint64_t buffered_bytes() const noexcept;

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

}  // namespace herald::rel
