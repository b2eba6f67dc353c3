// SPDX-License-Identifier: BSD-3-Clause
// p2p/services.hpp: active messages: calls of handlers in a peer, each once, in order with each other and
// with messages of the pair. A call has a short header and a payload. A payload that does not fit into the
// packet of the call follows as a message in kServiceContext, into memory that the handler supplies. In:
// calls to post; service packets. Out: handlers that run inside on_packet() or poll(). Invariant: calls of a
// peer run in order; at most kMaxQueued calls wait, further packets are not taken.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "p2p/completions.hpp"
#include "p2p/ops.hpp"
#include "wire/p2p_packet.hpp"

namespace herald::p2p {

class Receiver;
class Sender;

enum class ServiceId : std::uint16_t {
  none = 0,
  cancel = 1,        // wire::CancelHeader
  cancel_reply = 2,  // wire::CancelReplyHeader
  notice = 3,        // wire::NoticeHeader
  lane_invite = 4,   // over a lane: wire::LaneInviteHeader, ranks of the members
  lane_dismiss = 5,  // over a lane: no header; no more packets come over it
  rma = 6,           // wire::RmaHeader
  partitioned = 7,   // wire::PartHeader
  file = 8,          // wire::FileHeader
  first_free = 16,
  count = 64,
};

struct ServiceCall {
  PeerId from = -1;
  std::span<const std::byte> header, payload;
  std::uint64_t bulk_bytes = 0;  // not 0: the payload follows
};

// Handlers may post calls and start operations; completions run later. They hold no reference to the call.
struct ServiceHandler {
  // False: the call is malformed, it is counted. A bulk payload goes to `into`, as far as it has room; the
  // memory stays there until on_bulk.
  bool (*on_call)(void* owner, const ServiceCall& call, type::Cursor& into) = nullptr;
  // The bulk payload has come, or (status) not all of it. May be null.
  void (*on_bulk)(void* owner, const ServiceCall& call, Status status, std::uint64_t bytes) = nullptr;
  void* owner = nullptr;
  bool may_run_while_computing = false;  // the program need not be in the library
};

// A call that the caller keeps in place until it is done: its payload has left. The header is copied.
struct ServiceOp : SendOp {
  ServiceOp() noexcept { is_service = true; }
  void set(ServiceId what,
           std::span<const std::byte> bytes) noexcept;  // at most wire::kMaxServiceHeader bytes
  ServiceId service = ServiceId::none;
  std::uint8_t header_bytes = 0;
  std::array<std::byte, wire::kMaxServiceHeader> header;
};

class Services {
 public:
  static constexpr std::size_t kMaxQueued = 256;
  static constexpr std::size_t kMaxQueuedBytes = std::size_t{1} << 20;

  Services(Completions& done, Sender& sender, Receiver& receiver) noexcept
      : done_(done), sender_(sender), receiver_(receiver) {}

  void register_handler(ServiceId id, const ServiceHandler& handler) noexcept {
    handlers_[static_cast<std::size_t>(id)] = handler;
  }
  void post(ServiceOp& op) noexcept;
  // A call without payload that nobody waits for.
  template <class Header>
  void call(PeerId to, ServiceId id, const Header& header) noexcept {
    static_assert(sizeof header <= wire::kMaxServiceHeader && alignof(Header) == 1);
    call_with(to, id, std::as_bytes(std::span(&header, 1)));
  }
  // Says whether the program computes from now on, and runs the calls that waited and may run. True if any.
  bool poll(bool computing) noexcept;
  std::uint64_t taken() const noexcept { return taken_; }  // calls of peers
  // False: poll() would change nothing.
  bool needs_poll(bool computing) const noexcept { return computing != computing_ || !queued_.empty(); }

  // For Sender: the packet of a call. The op is done, or goes on as a message.
  std::size_t write_call(ServiceOp& op, std::span<std::byte> room) noexcept;
  // For paths that carry calls without a Sender (lanes): the packet; 0: `room` is too short.
  static std::size_t write_packet(ServiceId id, std::span<const std::byte> header,
                                  std::span<const std::byte> payload, std::span<std::byte> room) noexcept;
  // Anything but `ok`: the packet was not taken.
  Status on_packet(PeerId from, std::span<const std::byte> packet) noexcept;

 private:
  struct Queued {
    PeerId from;
    std::vector<std::byte> packet;
  };
  struct BulkRecv : RecvOp {
    Services* services = nullptr;
    ServiceId service = ServiceId::none;
    std::uint8_t header_bytes = 0;
    std::uint64_t bulk_bytes = 0;
    std::array<std::byte, wire::kMaxServiceHeader> header;
  };
  void call_with(PeerId to, ServiceId id, std::span<const std::byte> header) noexcept;
  bool must_wait(PeerId from, const ServiceHandler& handler) const noexcept;
  void run(PeerId from, std::span<const std::byte> packet) noexcept;
  void receive_bulk(ServiceId id, const ServiceCall& call, std::int32_t tag,
                    const type::Cursor& into) noexcept;
  void end_bulk(BulkRecv& op) noexcept;
  const ServiceHandler* find(std::uint16_t id) const noexcept {
    return id < handlers_.size() && handlers_[id].on_call != nullptr ? &handlers_[id] : nullptr;
  }

  Completions& done_;
  Sender& sender_;
  Receiver& receiver_;
  std::array<ServiceHandler, static_cast<std::size_t>(ServiceId::count)> handlers_;
  bool computing_ = false;
  std::uint64_t taken_ = 0;
  std::deque<Queued> queued_;
  std::size_t queued_bytes_ = 0;
  std::uint32_t next_bulk_ = 0;
  std::deque<ServiceOp> calls_;  // those of call(); the free ones are linked
  List<Op> free_calls_;
  std::deque<BulkRecv> bulks_;
  List<Op> free_bulks_;
};

}  // namespace herald::p2p
