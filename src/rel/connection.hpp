// SPDX-License-Identifier: BSD-3-Clause
// rel/connection.hpp: what is remembered of one peer: the sending half, the receiving half, the links. The
// code stands in sender.cpp, receiver.cpp, links.cpp, timers.cpp and transmit.cpp. Invariant: a peer that is
// idle has no buffer: rings are made on demand and given back by sweeps.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "base/instant.hpp"
#include "rel/credit_book.hpp"
#include "rel/cursor.hpp"
#include "rel/deadline_heap.hpp"
#include "rel/deferred_timers.hpp"
#include "rel/link.hpp"
#include "rel/reorder.hpp"
#include "rel/send_log.hpp"
#include "rel/seq.hpp"

namespace herald::rel {

constexpr std::uint32_t kMostInFlight = 1024;
constexpr std::uint32_t kGoBackWindow = 16;  // papers' baseline
constexpr std::uint8_t kFirstThreshold = 3;  // later ones acknowledged before one counts as lost
constexpr std::uint8_t kMostThreshold = 64;

// Credit is counted in packets, because any of them may be a large one. Four small ones take no more room in
// buffers than one of those, and are counted so by both sides: they need fewer acks.
constexpr std::uint32_t kSmallBody = 256;  // bytes, at most
constexpr std::uint32_t kSmallPerCredit = 4;

struct Sender {
  SendLog log;
  Cursor cursor;
  Seq next_tx = 0;    // the first that was never transmitted
  Seq lost_from = 0;  // no packet before this one is lost
  Seq recover = 0;    // recovering: until all before this one are acknowledged
  Seq promise = 0;    // promised: acks that do not know of this one's predecessor grant no more than eager
  std::uint32_t in_flight = 0;
  std::uint32_t lost = 0;             // entries in state lost
  std::uint32_t cap = kMostInFlight;  // shrinks while timeouts follow each other
  float packet_ns = 0;                // that all links together take for one packet; 0: not known
  Instant loss_at = kNever;           // when the next packet counts as lost by time
  Instant last_loss{};                // 0: none yet
  Instant pace_at{};                  // when the last packet sent is due at the paced rate
  Instant pace_wake = kNever;
  Instant blocked_since = kNever;  // no credit, nothing on its way: ask after a while
  DeferredTimers deferral;         // of timeouts, since the last ack; see Mesh::on_return()
  std::uint16_t small = 0;         // packets, of those sent and not acknowledged
  std::uint8_t threshold = kFirstThreshold;
  std::uint8_t blocked_asks = 0;
  bool backlog = false;  // told by set_backlog()
  bool refused = false;  // room() said no for want of credit
  bool promised = false;
  bool recovering = false;
  bool ask_data = false;  // the next data packet asks for an ack, whatever the window
  bool asked = false;     // a timeout asked, and no answer came yet
  bool ask = false;       // an ack datagram that asks is to leave

  static bool is_small(const Entry& entry) noexcept {
    return entry.body_bytes + entry.borrowed_bytes <= kSmallBody;
  }
  Seq limit() const noexcept { return cursor.limit + small - small / kSmallPerCredit; }
};

struct Receiver {
  Reorder reorder;
  Seq next = 0;       // all before this one have come
  Seq delivered = 0;  // all before this one were delivered
  Seq end = 0;        // after the highest that has come
  Seq newest = 0;     // came last ...
  Instant newest_at{};
  Seq limit = 0;  // credit granted
  CreditBook::Account credit;
  std::uint32_t acked_at = 0;  // the last ack, by clock()
  Instant ack_due = kNever;
  Instant again_at = kNever;    // deliver what the listener did not want
  Instant asks_until = kNever;  // who asks and sends nothing does not ask any more
  std::uint16_t window = 0;     // that it would get if the budget allows
  std::uint16_t told = 0;       // of it, in the last ack
  std::uint16_t record_at = 0;  // of the packet at `delivered`: records before this byte were delivered
  std::uint16_t unacked = 0;    // data packets since the last ack ...
  std::uint16_t used = 0;       // ... and the credit that they took, by kSmallPerCredit
  DeferredTimers deferral;      // of the ack that is owed
  std::uint8_t link = 0;        // by which the newest came
  std::uint8_t copies = 0;      // how often the newest had been sent before
  bool ack_now = false;
  bool came = false;  // any data at all

  // Microseconds, modulo 2^32, for what is compared within seconds.
  static std::uint32_t clock(Instant now) noexcept { return static_cast<std::uint32_t>(now.ns / 1000); }
};

struct Connection {
  std::int32_t peer = 0;
  std::uint32_t heap_place = DeadlineHeap<Connection>::kOut;
  // Places in the mesh's queues (PeerQueue).
  Connection* next_sending = nullptr;  // has something to transmit
  Connection* next_roomy = nullptr;    // was refused by room(), may try again
  Connection* next_starved = nullptr;  // was refused for want of memory
  Connection* next_warm = nullptr;     // has a ring
  Instant last_heard{};
  Instant last_used{};
  Instant asked_since = kNever;  // since then nothing was heard, though asked
  Instant watch_at = kNever;     // asked for a sign of life: when to ask again
  std::unique_ptr<Link[]> link;
  std::uint8_t links = 0;
  bool gone = false;
  bool resting = false;  // rings were empty at the last sweep
  Sender tx;
  Receiver rx;

  std::span<Link> all_links() noexcept { return {link.get(), link == nullptr ? 0 : std::size_t{links}}; }
  std::span<const Link> all_links() const noexcept {
    return {link.get(), link == nullptr ? 0 : std::size_t{links}};
  }
};
static_assert(sizeof(Connection) <= 312, "the budget of an idle peer");

// First in, first out; a channel is in it at most once. Nothing is allocated.
template <Connection* Connection::*Next>
class PeerQueue {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  Connection* front() const noexcept { return head_; }
  void push(Connection& channel) noexcept {
    if (channel.*Next != nullptr) return;
    channel.*Next = &channel;  // the last one names itself
    if (head_ == nullptr) {
      head_ = &channel;
    } else {
      tail_->*Next = &channel;
    }
    tail_ = &channel;
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
