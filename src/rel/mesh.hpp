// SPDX-License-Identifier: BSD-3-Clause
// rel/mesh.hpp: all unicast channels of one process: packets to and from each peer, each once and in order,
// whatever the network does.
// In:  packets to send; datagrams that came; the time.
// Out: datagrams, pulled by poll_transmit(); packets, handed to `deliver` in order per peer; peers and links
//      that are lost.
// Timer: one, next_deadline().
// Invariants: credit granted to all peers together is never more than the budget (plus the small window that
// each peer has who does not ask for more); an idle peer holds no buffer.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/instant.hpp"
#include "base/prng.hpp"
#include "base/status.hpp"
#include "rel/silence.hpp"
#include "rel/tx_batch.hpp"
#include "wire/datagram.hpp"

namespace herald::rel {

using PeerId = std::int32_t;
using LinkId = std::uint8_t;

constexpr LinkId kMostLinks = 8;  // to one peer

enum class Repair : std::uint8_t { selective, go_back_n };  // go_back_n: window 16, the papers' baseline

// The window that each of `peers` always has. All may use theirs at once, and leave half of the budget to
// those who ask for more (credit_book.hpp); one alone has most of it, and a long message finds the way open.
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
  std::uint32_t datagram_bytes = 1472;     // largest UDP payload that all links carry
  std::uint32_t largest_bytes = 0;         // that may come, of peers whose links carry more; 0: the same
  std::uint32_t eager_packets = 16;        // window that a peer always has
  std::uint32_t budget_bytes = 192 << 10;  // what receive buffer and switch hold: credit for all together
  std::uint32_t log_bytes = 8 << 20;       // most memory of the send log, all peers together
  std::uint32_t burst_packets = 32;        // to one peer in one go
  std::uint32_t row_packets = 1;           // that cost the path little more than one
  Repair repair = Repair::selective;
  Duration first_rtt = microseconds(500);  // before anything was measured
  Duration least_timeout = microseconds(300);
  Duration give_up = milliseconds(5000);  // a peer that says nothing for so long, though asked, is lost
  std::uint32_t first_seq = 0xffffff00;   // of every channel; so every long job wraps around
};

struct MeshCounters {
  std::uint64_t sent = 0, received = 0;  // data packets, first time
  std::uint64_t sent_bytes = 0, received_bytes = 0;
  std::uint64_t resent = 0, duplicates = 0, out_of_order = 0;
  std::uint64_t acks_sent = 0, acks_received = 0;
  std::uint64_t malformed = 0, stale = 0, forged = 0;  // dropped
  std::uint64_t links_lost = 0, links_found = 0, peers_lost = 0;
};

// What the mesh tells whoever drives it. Called from within on_datagram() and on_deadline() only.
class Listener {
 public:
  // A packet as the peer committed it. Anything but ok: hand it in again later (the mesh keeps it).
  virtual Status deliver(PeerId from, std::span<const std::byte> packet) noexcept = 0;
  // So many packets to the peer whose memory was lent, the oldest, are not looked at any more.
  virtual void returned(PeerId peer, std::uint32_t packets) noexcept = 0;
  virtual void peer_lost(PeerId peer) noexcept = 0;
  virtual void link_changed(PeerId peer, LinkId link, bool live) noexcept = 0;

 protected:
  ~Listener() = default;
};

class Mesh {
 public:
  Mesh(const MeshConfig& config, Prng& prng, Listener& listener) noexcept;
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  // `links` ways to reach the peer, best first; 0: not a peer of ours (it shares our memory).
  void add_peer(PeerId peer, LinkId links) noexcept;

  // Sending. room(): where the next packet for the peer is to be written, at least `least` bytes long; empty
  // if the window is closed or the log is full: the peer is then remembered, and next_ready() names it when
  // it is worth another try. commit() hands over the first `bytes` of it. Small packets committed before the
  // next poll_transmit() share a datagram.
  std::span<std::byte> room(PeerId to, std::size_t least) noexcept;
  void commit(PeerId to, std::size_t bytes) noexcept { commit(to, bytes, {}); }
  // The same with further bytes that stay where they are, and as they are, until Listener::returned() (or
  // the peer is lost): all of it together fits into the room. Only if may_lend() after room().
  void commit(PeerId to, std::size_t bytes, std::span<const std::byte> borrowed) noexcept;
  bool may_borrow() const noexcept;
  PeerId next_ready() noexcept;  // -1: none
  // The short way of a packet to a peer for whom nothing waits here, and who may be sent one just now.
  // room_now(): where it is to be written; empty: only room() can tell. send_now() hands over the first
  // `bytes`, at least one, and says what is to leave: before anything else is called.
  std::span<std::byte> room_now(Instant now, PeerId to) noexcept;
  Tx send_now(Instant now, PeerId to, std::size_t bytes) noexcept;
  // More waits above than could be committed (true), or no more (false): tells the receiver, who divides
  // credit.
  void set_backlog(PeerId to, bool more) noexcept;

  // `link`: by which it came, as numbered by add_peer(), or kMostLinks if the address is not known.
  // Returns the sender if the datagram was good, -1 otherwise.
  PeerId on_datagram(Instant now, LinkId link, std::span<const std::byte> datagram) noexcept;
  // The same for several, in their order, which is quicker. True if any was good.
  struct Rx {
    LinkId link;
    std::span<const std::byte> datagram;
  };
  static constexpr std::size_t kMostAtOnce = 8;
  bool on_datagrams(Instant now, std::span<const Rx> came) noexcept;
  void on_deadline(Instant now) noexcept;
  // The driver was elsewhere, maybe for long: to be called before anything else then. If it missed a
  // deadline by much, it could not hear, and peers are not silent for that.
  void on_clock_gap(Instant now) noexcept;
  // Nobody has called for so long, and what had come meanwhile was just handed in. What is overdue since then
  // has a little more time (rel/deferred_timers.hpp). All else that is due is served as by on_deadline().
  void on_resume(Instant now, Duration away) noexcept;
  std::optional<Instant> next_deadline() const noexcept;
  // poll_transmit() or next_ready() has something.
  bool has_work() const noexcept;
  bool is_idle() const noexcept;  // nothing is under way, owed or to be asked
  // Fills `out` with what is to leave now; call again until it fills nothing. The batch refers to the log:
  // send it before anything else is called.
  std::size_t poll_transmit(Instant now, TxBatch& out) noexcept;
  // The path could not send by this link (no route, interface gone).
  void on_link_error(Instant now, PeerId peer, LinkId link) noexcept;
  // Someone else knows that the peer is dead, or that it said goodbye: its packets and timers go.
  void forget_peer(PeerId peer) noexcept;
  // Ask the peer for a sign of life (an ack with kFlagAskAck), unless it was heard lately: if none comes
  // within give_up it is lost, also if nothing was sent to it. Cheap enough for 64 peers at a time.
  void ask(Instant now, PeerId peer) noexcept;
  // Acknowledge at once what has come: we may not be here for long.
  void hurry_acks() noexcept;
  // Hands in again what `deliver` did not take.
  void redeliver() noexcept;
  // Anything went to the peer or came from it.
  bool is_used(PeerId peer) const noexcept;
  // The peer was heard of by other means (its pulse): it computes, and has not died.
  void on_sign_of_life(Instant now, PeerId peer) noexcept;

  // Nothing that we sent is unacknowledged.
  bool is_flushed() const noexcept;
  bool is_flushed(PeerId peer) const noexcept;
  bool is_live(PeerId peer, LinkId link) const noexcept;
  Duration round_trip(PeerId peer) const noexcept;
  const MeshCounters& counters() const noexcept;
  // Bytes held for all peers together: send log, packets that came out of order.
  std::uint64_t buffered_bytes() const noexcept;

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

}  // namespace herald::rel
