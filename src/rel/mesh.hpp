// SPDX-License-Identifier: BSD-3-Clause
// rel/mesh.hpp: all unicast connections of one process: packets to and from each peer, each once and in
// order, whatever the network loses, duplicates, delays or corrupts.
// In:  packets to send; datagrams that came; the time.
// Out: datagrams, pulled by poll_transmit(); packets, delivered in order per peer; peers and links lost.
// Timer: one, next_deadline().
// Invariants: credit granted to all peers together never exceeds the budget (plus the eager window of each
// peer without backlog); an idle peer holds no buffer, and an unused peer no connection.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/instant.hpp"
#include "base/prng.hpp"
#include "base/status.hpp"
#include "rel/failure_detector.hpp"
#include "rel/tx_batch.hpp"
#include "wire/datagram.hpp"

namespace herald::rel {

using PeerId = std::int32_t;
using LinkId = std::uint8_t;

constexpr LinkId kMostLinks = 8;  // to one peer

// A process of another job, which numbers its peers by itself. Key and names are of this pair of processes.
struct PairIdentity {
  PairIdentity() = default;
  PairIdentity(const wire::JobKey& pair_key) noexcept : key(pair_key) {}  // of two ranks of one job

  wire::JobKey key{};
  PeerId from = -1;      // -1: both are ranks of our job, and the rest has no meaning. Our id in the peer's
                         // table: heads of our datagrams carry it
  std::uint32_t to = 0;  // names under the tags: of the peer ...
  std::uint32_t me = 0;  // ... and ours; they differ, so that a reflected datagram is refused
  std::uint32_t datagram_bytes = UINT32_MAX;  // that the peer takes ...
  std::uint32_t eager_packets = 0;            // ... and the window that it always leaves us
  std::uint32_t epoch = 0;
};

enum class Repair : std::uint8_t { selective, go_back_n };  // go_back_n: window 16, the papers' baseline

// The window that each of `peers` always has. All may use theirs at once, and leave half of the budget to
// backlogged senders (credit_book.hpp). A single peer has most of the budget, so a long message starts at
// once.
constexpr std::uint32_t kLeastEager = 2, kMostEager = 128;  // packets
constexpr std::uint32_t eager_window(std::uint32_t budget_bytes, std::uint32_t datagram_bytes,
                                     std::uint32_t peers) noexcept {
  const std::uint32_t shares = peers > 1 ? 2 * peers : 1;
  return std::clamp(budget_bytes / datagram_bytes / shares, kLeastEager, kMostEager);
}

struct MeshConfig {
  PeerId me = 0;
  std::int32_t peers = 1;  // in the job, this process included
  wire::Seal seal{};
  std::uint32_t datagram_bytes = 1472;  // largest UDP payload that all links carry
  std::uint32_t probe_extra = 0;     // bytes by which a sealed datagram to a group is longer than to a peer
  std::uint32_t largest_bytes = 0;   // largest that peers may send; 0: datagram_bytes
  std::uint32_t eager_packets = 16;  // window that every peer always has
  std::uint32_t budget_bytes = 192 << 10;  // of receive buffer and switch: credit for all peers together
  std::uint32_t socket_bytes = 0;          // that our sockets hold: the budget may grow so far on a fast link
  std::uint32_t log_bytes = 8 << 20;       // most memory of the send log, all peers together
  std::uint32_t burst_packets = 32;        // to one peer before the next one has its turn
  std::uint32_t row_packets = 1;           // that cost the path little more than one (segmentation)
  Repair repair = Repair::selective;
  Duration first_rtt = microseconds(500);  // before any measurement
  Duration least_timeout = microseconds(300);
  Duration warn_after = milliseconds(5000);  // a peer that does not answer for this long is reported
  Duration give_up = milliseconds(60'000);   // ... and for this long is lost
  std::uint32_t first_seq = 0xffffff00;      // of every connection; so every long job wraps around
  std::uint32_t first_upper = 0;             // half of it

  Duration pace() const noexcept { return std::min(warn_after, give_up); }  // of probes and back-off
};

struct MeshCounters {
  std::uint64_t sent = 0, received = 0;  // data packets, first time
  std::uint64_t sent_bytes = 0, received_bytes = 0;
  std::uint64_t resent = 0, duplicates = 0, out_of_order = 0;
  std::uint64_t acks_sent = 0, acks_received = 0;
  std::uint64_t probes = 0;                            // sent, whether a peer answers
  std::uint64_t malformed = 0, stale = 0, forged = 0;  // dropped
  std::uint64_t links_lost = 0, links_found = 0, peers_lost = 0;
  std::uint64_t segment_changes = 0;  // links that carry less, or more again
};

// Events for the owner of the mesh. Called from within on_datagram() and on_deadline() only.
class Listener {
 public:
  // A packet as the peer committed it. Anything but ok: the mesh keeps it and delivers it again later.
  virtual Status deliver(PeerId from, std::span<const std::byte> packet) noexcept = 0;
  // The oldest packets to the peer with borrowed memory, this many of them, do not need that memory any more.
  virtual void returned(PeerId peer, std::uint32_t packets) noexcept = 0;
  virtual void peer_lost(PeerId peer) noexcept = 0;
  // The peer has not answered for warn_after; `heard`: something came from it before. Then: it has answered.
  virtual void peer_silent(PeerId /*peer*/, bool /*heard*/) noexcept {}
  virtual void peer_answers(PeerId /*peer*/) noexcept {}
  virtual void link_changed(PeerId peer, LinkId link, bool live) noexcept = 0;
  // The link carries datagrams of this size and no longer ones, of `full` bytes; or all again.
  virtual void segment_changed(PeerId /*peer*/, LinkId /*link*/, std::uint16_t /*bytes*/,
                               std::uint16_t /*full*/) noexcept {}

 protected:
  ~Listener() = default;
};

class PeerLiveness;

class Mesh {
 public:
  Mesh(const MeshConfig& config, Prng& prng, Listener& listener) noexcept;
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  // `links` to reach the peer, best first; 0: not a peer of ours (it shares our memory). At any time, and for
  // ids beyond MeshConfig::peers too. With the job's key, or a key of this pair of processes.
  void add_peer(PeerId peer, LinkId links, std::optional<PairIdentity> pair = {}) noexcept;
  // Another source knows that the peer is dead or has left: its packets and timers go.
  void forget_peer(PeerId peer) noexcept;

  // Sending. reserve(): where the next packet for the peer is to be written, at least `least` bytes long;
  // empty if the window is closed or the log is full: next_ready() names the peer when another try is
  // worthwhile.
  std::span<std::byte> reserve(PeerId to, std::size_t least) noexcept;
  // Hands over the first `bytes` of the reservation. Small packets committed before poll_transmit() share a
  // datagram. `borrowed`, if may_borrow(): the packet goes on there, in bytes that stay in place, unchanged,
  // until Listener::returned() (or the peer is lost). Both together fit into the reservation.
  void commit(PeerId to, std::size_t bytes, std::span<const std::byte> borrowed = {}) noexcept;
  bool may_borrow() const noexcept;
  PeerId next_ready() noexcept;  // -1: none
  // More packets wait above than could be committed: the receiver grants such a sender more credit.
  void set_backlog(PeerId to, bool more) noexcept;
  // Fills `out` with the datagrams that leave now; call again until it fills nothing. The batch refers to the
  // log: send it before any other call.
  std::size_t poll_transmit(Instant now, TxBatch& out) noexcept;

  // `link`: that brought it, as numbered by add_peer(), or kMostLinks if the address is not known.
  // Returns the sender if the datagram was good, -1 otherwise.
  PeerId on_datagram(Instant now, LinkId link, std::span<const std::byte> datagram) noexcept;
  // The same for several, in order, which is faster. True if any was good.
  struct Rx {
    LinkId link;
    std::span<const std::byte> datagram;
  };
  static constexpr std::size_t kMostAtOnce = 8;
  bool on_datagrams(Instant now, std::span<const Rx> came) noexcept;
  // Datagrams of lanes that came in parts, for rel::Lanes. Valid until the next call of on_datagram().
  struct Joined {
    LinkId link;
    std::vector<std::byte> datagram;
  };
  std::vector<Joined> take_joined() noexcept;
  // The path could not send by this link (no route, interface down).
  void on_link_error(Instant now, PeerId peer, LinkId link) noexcept;
  // Acknowledge at once what has come: the process may not call again for long.
  void hurry_acks() noexcept;
  // Delivers again what `deliver` did not take.
  void redeliver() noexcept;

  void on_deadline(Instant now) noexcept;
  // Before any other call after a pause. If a deadline is far overdue, the process was stopped and could not
  // receive: that time does not count as silence of peers.
  void on_clock_gap(Instant now) noexcept;
  // The process did not call for so long, and has just handed in what came meanwhile. Acks and
  // retransmissions that are overdue get a little more time (rel/deferred_timers.hpp); all else is served as
  // by on_deadline().
  void on_resume(Instant now, Duration away) noexcept;
  std::optional<Instant> next_deadline() const noexcept;
  // poll_transmit() or next_ready() has something.
  bool has_work() const noexcept;
  bool is_idle() const noexcept;  // nothing is in flight, owed or to be probed

  // Failure detectors and links of peers, for other transports to them (rel/peer_liveness.hpp).
  PeerLiveness& liveness() const noexcept;

  // A packet went to the peer or came from it.
  bool is_used(PeerId peer) const noexcept;
  // Every packet that we sent is acknowledged.
  bool is_flushed(PeerId peer = -1) const noexcept;  // -1: to all peers
  bool is_live(PeerId peer, LinkId link) const noexcept;
  Duration round_trip(PeerId peer) const noexcept;
  const MeshCounters& counters() const noexcept;
  const MeshConfig& config() const noexcept;
  // Memory in use for all peers together: send log, packets out of order.
  std::uint64_t buffered_bytes() const noexcept;

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

}  // namespace herald::rel
