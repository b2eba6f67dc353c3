// SPDX-License-Identifier: BSD-3-Clause
// rel/connection.hpp: the state of one peer: sender half (Sender, Transmitter), receiver half (Receiver),
// links and failure detector. Allocated when the peer is first used.
// Invariant: an idle connection holds no buffer; rings are allocated on demand and freed by sweeps.
#pragma once
#include <cstdint>

#include "base/instant.hpp"
#include "rel/credit_book.hpp"
#include "rel/cursor.hpp"
#include "rel/deadline_heap.hpp"
#include "rel/deferred_timers.hpp"
#include "rel/failure_detector.hpp"
#include "rel/link_set.hpp"
#include "rel/reorder.hpp"
#include "rel/send_log.hpp"
#include "rel/seq.hpp"

namespace herald::rel {

constexpr std::uint32_t kMostInFlight = 1024;
constexpr std::uint32_t kMostBudget = 704;   // packets in flight to us from all peers, on the fastest link
constexpr std::uint32_t kGoBackWindow = 16;  // the papers' baseline
constexpr std::uint8_t kFirstThreshold = 3;  // later packets acknowledged before a packet counts as lost
constexpr std::uint8_t kMostThreshold = 64;

// Credit counts packets, because any of them may be a large one. Four small packets take no more buffer than
// a large one; both sides count them as one, and so need fewer acks.
constexpr std::uint32_t kSmallBody = 256;  // bytes, at most
constexpr std::uint32_t kSmallPerCredit = 4;

struct Pacer {
  Instant at{};           // when the last packet sent is due at the paced rate
  Instant wake = kNever;  // when the next packet may leave, if pacing holds it back
  float packet_ns = 0;    // time that all links together take for one packet; 0: not known
};

struct SendState {
  SendLog log;
  Cursor cursor;
  [[no_unique_address]] Pacer pacer;  // the numbers use its padding
  Seq next_tx = 0;                    // the first packet that was never transmitted
  UpperHalf upper;                    // of next_tx
  Seq lost_from = 0;                  // no packet before this one is lost
  Seq recovery_end = 0;               // in_recovery: until all before this one are acknowledged
  Seq credit_return = 0;  // credit_returned: acks that do not cover its predecessor grant eager credit only
  std::uint32_t in_flight = 0;
  std::uint32_t lost = 0;             // entries in state lost
  std::uint32_t cap = kMostInFlight;  // of packets in flight; shrinks while timeouts follow each other
  Instant loss_at = kNever;           // when the next packet counts as lost by its age
  Instant last_loss{};                // 0: none yet
  Instant blocked_since = kNever;     // no credit and nothing in flight: probe for credit after a while
  DeferredTimers deferral;            // of timeouts, since the last ack; see Mesh::on_resume()
  std::uint16_t small = 0;            // small packets sent and not acknowledged
  std::uint8_t threshold = kFirstThreshold;
  std::uint8_t credit_probes = 0;  // in a row
  bool backlog = false;            // set by Mesh::set_backlog()
  bool refused = false;            // reserve() failed for want of credit
  bool credit_returned = false;
  bool in_recovery = false;
  bool request_ack = false;         // the next data packet requests an ack, whatever the window
  bool timeout_unanswered = false;  // since the last timeout no ack came
  bool probe_due = false;           // an ack datagram that requests an ack is to leave

  static bool is_small(const Entry& entry) noexcept {
    return entry.body_bytes + entry.borrowed_bytes <= kSmallBody;
  }
  WholeSeq whole() const noexcept { return upper.with(next_tx); }
  Seq limit() const noexcept { return cursor.limit + small - small / kSmallPerCredit; }
  // The caller was refused, nothing in flight will bring credit.
  bool is_blocked() const noexcept { return refused && log.empty() && !before(log.end(), limit()); }
};

struct RecvState {
  Reorder reorder;
  Seq next = 0;       // all before this one have come
  UpperHalf upper;    // of next
  Seq delivered = 0;  // all before this one were delivered
  Seq end = 0;        // after the highest that has come
  Seq newest = 0;     // came last ...
  Instant newest_at{};
  Seq limit = 0;  // credit granted
  CreditBook::Account credit;
  std::uint32_t acked_at = 0;  // the last ack, by clock()
  Instant ack_due = kNever;
  Instant redeliver_at = kNever;     // packets that the listener did not take
  Instant backlog_until = kNever;    // then a backlogged sender that stays silent loses its extra credit
  std::uint16_t window = 0;          // that the sender would get if the budget allows
  std::uint16_t advertised = 0;      // of it, in the last ack
  std::uint16_t record_at = 0;       // of the packet at `delivered`: records before this byte were delivered
  std::uint16_t unacked = 0;         // data packets since the last ack ...
  std::uint16_t unacked_credit = 0;  // ... and the credit that they took, in parts of kSmallPerCredit
  DeferredTimers deferral;           // of the ack that is owed
  std::uint8_t link = 0;             // that brought the newest
  std::uint8_t newest_copies = 0;    // earlier transmissions of the newest
  bool ack_now = false;
  bool has_received = false;

  WholeSeq whole() const noexcept { return upper.with(next); }
  bool owes_ack() const noexcept { return unacked != 0 || ack_now; }
  // Microseconds, modulo 2^32, for times that are compared within seconds.
  static std::uint32_t clock(Instant now) noexcept { return static_cast<std::uint32_t>(now.ns / 1000); }
};

// Key, names and limits of datagrams to and from a peer. The ranks of a job are named by their ids.
struct PeerSeal : wire::Seal {
  static constexpr std::uint32_t kById = UINT32_MAX;
  std::int32_t from = 0;            // our id in the peer's table
  std::uint32_t me = 0;             // names under the tags: ours ...
  std::uint32_t to = kById;         // ... and the peer's
  std::uint16_t segment = 0;        // largest datagram to the peer
  std::uint32_t eager_packets = 0;  // window that the peer always leaves us
};

struct Connection {
  std::uint32_t name() const noexcept {
    return seal->to == PeerSeal::kById ? static_cast<std::uint32_t>(peer) : seal->to;
  }

  std::int32_t peer = 0;
  std::uint32_t heap_place = DeadlineHeap<Connection>::kOut;
  // Links of the mesh's queues (PeerQueue).
  Connection* next_sending = nullptr;              // has something to transmit
  Connection* next_writable = nullptr;             // was refused by reserve(), may try again
  Connection* next_starved = nullptr;              // was refused for want of memory
  Connection* next_buffered = nullptr;             // holds a ring
  const PeerSeal* seal = nullptr;                  // the job's, or of this pair
  [[no_unique_address]] FailureDetector detector;  // the flags use its padding
  bool gone = false;
  bool resting = false;           // rings were empty at the last sweep
  std::uint8_t lane_link = 0;     // that brought the last datagram of a lane to us alone
  std::uint8_t lane_tx_link = 0;  // that took our last that wants an answer
  LinkSet links;
  SendState tx;
  RecvState rx;
};
static_assert(sizeof(Connection) <= 352, "the state of an idle peer that was used");

// First in, first out; a connection is in it at most once. Nothing is allocated.
template <Connection* Connection::*Next>
class PeerQueue {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  void push(Connection& connection) noexcept {
    if (connection.*Next != nullptr) return;
    connection.*Next = &connection;  // the last one points to itself
    if (head_ == nullptr) {
      head_ = &connection;
    } else {
      tail_->*Next = &connection;
    }
    tail_ = &connection;
  }
  Connection* pop() noexcept {
    Connection* const first = head_;
    if (first == nullptr) return nullptr;
    head_ = first->*Next == first ? nullptr : first->*Next;
    first->*Next = nullptr;
    return first;
  }

 private:
  Connection* head_ = nullptr;
  Connection* tail_ = nullptr;
};

}  // namespace herald::rel
