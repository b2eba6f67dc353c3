// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_context.hpp: what all lanes of a process share: configuration, memory, counters, deadlines, and
// the queue of those that have datagrams to send.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/instant.hpp"
#include "rel/deadline_heap.hpp"
#include "rel/fragments.hpp"
#include "rel/lane_info.hpp"
#include "rel/lane_queue.hpp"
#include "rel/lanes.hpp"
#include "rel/link.hpp"
#include "rel/packet_pool.hpp"
#include "rel/seq.hpp"

namespace herald::rel {

constexpr std::uint32_t kMinWindow = 4;  // credit of a source, however little memory there is

// An ack is held back for about a round trip after the last packet, and no longer than longest_hold() after
// the first. Small packets in a row are short calls: they fill no window, so their acks are held longer.
constexpr Duration kMinAckDelay = microseconds(200), kMaxAckDelay = milliseconds(4);
constexpr Duration kSmallHold = microseconds(3200);
constexpr std::size_t kSmallPacket = 512;
constexpr Duration longest_hold(Duration rtt, std::int64_t trips, bool small) noexcept {
  return {small ? std::max(trips * rtt.ns, kSmallHold.ns) : trips * rtt.ns};
}

// A part of a lane with a deadline and with datagrams to send. The kind selects its class, so that no packet
// costs a virtual call.
enum class ActorKind : std::uint8_t { source, receiver, fused_member, fused_root };
struct LaneActor {
  explicit LaneActor(ActorKind kind_) noexcept : kind(kind_) {}
  std::uint32_t heap_place = DeadlineHeap<LaneActor>::kOut;
  LaneActor* next_sending = nullptr;
  const ActorKind kind;
};

class LaneScheduler {
 public:
  using Queue = LaneQueue<LaneActor, &LaneActor::next_sending>;

  void wake(LaneActor& actor) noexcept { sending_.push(actor); }
  void set_deadline(LaneActor& actor, Instant at) noexcept {
    if (at == kNever) {
      heap_.remove(actor);
    } else {
      heap_.set(actor, at);
    }
  }
  void remove(LaneActor& actor) noexcept {
    heap_.remove(actor);
    sending_.remove(actor);
  }
  LaneActor* next_sender() noexcept { return sending_.pop(); }
  bool has_senders() const noexcept { return !sending_.empty(); }
  LaneActor* next_due(Instant now) const noexcept {
    return !heap_.empty() && heap_.top().at <= now ? heap_.top().who : nullptr;
  }
  Instant first_deadline() const noexcept { return heap_.empty() ? kNever : heap_.top().at; }

 private:
  DeadlineHeap<LaneActor> heap_;
  Queue sending_;
};

// A source that waits for room(): for credit, or for memory.
struct WindowWaiter {
  WindowWaiter* next_waiting = nullptr;
};

// The listener may close lanes from inside its callbacks; such a lane is reaped later.
class GuardedListener {
 public:
  explicit GuardedListener(LaneListener& listener) noexcept : listener_(listener) {}
  bool is_calling() const noexcept { return calling_; }
  template <class F>
  auto call(F&& what) noexcept {
    struct Reset {
      bool& flag;
      ~Reset() { flag = false; }
    } reset{calling_};
    calling_ = true;
    return what(listener_);
  }

 private:
  LaneListener& listener_;
  bool calling_ = false;
};

struct LaneContext {
  LaneContext(const LanesConfig& config, Prng& prng, LaneListener& listener, PeerLiveness* peers) noexcept;

  bool is_go_back_n() const noexcept { return config.mode != LaneMode::streaming; }
  std::uint32_t first_window() const noexcept { return std::min(window, config.first_packets); }
  Duration known_or_first(Duration rtt) const noexcept { return rtt.ns != 0 ? rtt : config.first_rtt; }
  void on_arrival(PeerId peer) noexcept;
  // Something new came from a member.
  void on_news(Instant now, PeerId peer) noexcept;
  // A question to the member is repeated, because it had no answer.
  void on_unanswered(Instant now, PeerId peer) noexcept;
  void push(const Destination& to, std::span<const std::byte> datagram, TxBatch& out) noexcept;
  // Most bytes of a cast that is written now: all links to all members carry it.
  std::size_t datagram_bytes() const noexcept;
  // A member still asks for a cast of this size that left several times.
  void suspect_segment(Instant now, PeerId peer, std::size_t bytes) noexcept;
  // A datagram short enough for the room of the batch itself. Numbers are whole (rel/lane_numbers.hpp).
  void emit_bytes(const Destination& to, wire::DatagramKind kind, unsigned flags, std::uint64_t number,
                  std::span<const std::byte> body, TxBatch& out) noexcept;
  template <class Body>
  void emit(const Destination& to, wire::DatagramKind kind, unsigned flags, std::uint64_t number,
            const Body& body, TxBatch& out) noexcept {
    emit_bytes(to, kind, flags, number, {reinterpret_cast<const std::byte*>(&body), sizeof body}, out);
  }
  // Writes head and tag of a datagram whose body is complete.
  void seal(const Destination& to, wire::DatagramKind kind, unsigned flags, std::uint64_t number,
            std::span<std::byte> datagram) const noexcept;
  void release_reservation() noexcept;

  const LanesConfig config;
  Prng& prng;
  GuardedListener listener;
  LaneCounters counters;
  const std::uint32_t window;   // of our stream, at most
  const std::uint32_t granted;  // to each source, at most
  PacketPool log_pool;
  PacketPool reorder_pool;
  LaneScheduler scheduler;
  LaneQueue<WindowWaiter, &WindowWaiter::next_waiting> ready, starved;
  PeerLiveness* const peers;  // null: none
  Splitter splitter{Splitter::Of::lanes};
  Joiner joiner;  // of datagrams to groups
  std::uint8_t arrival_link = UINT8_MAX;
  Instant clock{};              // of the last call
  std::uint32_t receivers = 0;  // of all lanes
  bool some_closing = false;
  PacketPool::Slot reserved = PacketPool::kNone;  // by room()
  LaneId reserved_by = -1;
};

}  // namespace herald::rel
