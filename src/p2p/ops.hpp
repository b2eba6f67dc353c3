// SPDX-License-Identifier: BSD-3-Clause
// p2p/ops.hpp: a send or a receive under way. The caller owns the structure and keeps it in place until
// `done`; p2p::Core links it into its queues meanwhile. Nothing is allocated per operation.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/instant.hpp"
#include "base/list.hpp"
#include "base/status.hpp"
#include "type/cursor.hpp"

namespace herald::p2p {

struct Message;
struct RecvOp;
struct SplitCopy;
struct DirectRead;
using Borrowed = std::span<const std::byte>;  // bytes in user memory that follow a packet's header
using PeerId = std::int32_t;                  // index of a process in the job: its rank in the world

constexpr std::int32_t kAnySource = -1;
constexpr std::int32_t kAnyTag = -2;

enum class SendMode : std::uint8_t { standard, synchronous, ready };

struct Op : ListLink {
  // Called under the engine's lock when `done` becomes true; may start further operations, and may free the
  // operation's memory. Once for each start, and once more if cancel() reopens a send that was done. May be
  // null.
  void (*on_done)(Op&) = nullptr;
  void* owner = nullptr;  // for on_done
  std::uint64_t context = 0;
  std::int32_t tag = 0;
  bool done = false;
  bool cancelled = false;
  Status status = Status::ok;
  type::Cursor data;  // the message, or the memory that it is received into
};

// The states of a send.
//   idle -> queued -> sent                             short: all bytes left in one packet, match not known
//                  -> pushed -> finished               short, synchronous: ack; long, no room for more: ack
//                  -> pushed -> streaming -> finished  long: pull
//                  -> pushed -> sent                   all of it pushed, in more packets than one
//   sent, pushed -> cancelling -> finished             cancel() of a send that awaits no answer
enum class SendPhase : std::uint8_t { idle, queued, sent, pushed, streaming, cancelling, finished };

struct SendOp : Op {
  PeerId to = 0;
  std::int32_t lane = -1;   // not -1: to all members of that lane; `to` has no meaning ...
  bool bundled = false;     // ... but here: to `to` over that lane, in packets with others
  std::int32_t source = 0;  // the sender's rank in the communicator: what the receiver matches
  SendMode mode = SendMode::standard;
  bool at_once = false;     // its caller blocks until it is done
  bool is_service = false;  // it is a ServiceOp
  bool incomplete = false;  // data of a lost rank is missing: the receive ends with peer_lost
  // Core's own
  bool announced = false;  // service: its call has left, and its payload goes as a message
  SendPhase phase = SendPhase::idle;
  std::uint32_t id = 0;             // names this operation in answers from the receiver; 0: none
  std::uint32_t seq = 0;            // counts messages from here to `to`
  std::uint32_t receive_id = 0;     // names the receive that pulls
  std::uint64_t push_end = 0;       // where the bytes end that go without a pull
  std::uint64_t end = 0;            // where the pulled bytes end
  std::uint32_t borrowed_end = 0;   // Peer::borrowed after the last packet that refers to `data`
  bool borrows = false;             // there was one
  bool held_back = false;           // fewer bytes were pushed than without flow control
  bool answered = false;            // matched, and the receiver needs no more than is pushed
  bool by_bulk = false;             // it is pulled by bulk frames, and the receiver acknowledges them
  bool direct = false;              // the eager packet said where the message lies
  SplitCopy* split_copy = nullptr;  // of the receiver, while we write to its memory
  std::uint64_t there = 0;          // where the first byte goes in the receiver's memory
};

// A standard send of contiguous bytes that fit into one packet: it leaves at once or not at all.
struct ShortSend {
  std::uint64_t context = 0;
  const void* data = nullptr;
  std::uint64_t bytes = 0;
  PeerId to = 0;
  std::int32_t tag = 0;
  std::int32_t source = 0;  // as in SendOp
  static constexpr bool incomplete = false;
};

// A message of whose push more is to come, linked under its sender: unexpected, or in a receive.
struct Arriving : ListLink {
  std::uint32_t seq = 0;
  std::uint32_t end = 0;  // where the push ends
  bool cast = false;
  Message* message = nullptr;  // one of the two
  RecvOp* op = nullptr;
};

// The states of a receive: idle -> posted -> pulling -> finished; short messages skip pulling.
enum class RecvPhase : std::uint8_t { idle, posted, pulling, finished };

struct RecvOp : Op {
  std::int32_t source = kAnySource;  // rank in the communicator, or kAnySource
  PeerId awaited = -1;               // the peer that `source` is, if it is one: when it is lost, so is this
  std::uint8_t unit = 1;             // bytes of one element: a message is a whole number of them
  bool at_once = false;              // its caller blocks until it is done
  // Filled in when it matched
  std::int32_t from_source = kAnySource;
  std::int32_t from_tag = kAnyTag;
  std::uint64_t bytes = 0;  // received (at most the room in `data`); status is `truncated` if more were sent
  std::uint64_t sent_bytes = 0;  // of a message that is truncated
  // Core's own
  RecvPhase phase = RecvPhase::idle;
  std::uint32_t id = 0;         // names this operation in data packets
  PeerId from_peer = -1;        // the sender of what is being pulled
  std::uint64_t expected = 0;   // where the pulled bytes end
  std::uint64_t order = 0;      // its position among the posted receives of the context
  std::uint64_t pull_from = 0;  // where they begin
  std::uint32_t send_id = 0;    // of what is being pulled
  std::uint32_t send_seq = 0;
  Instant pull_at{};     // when the pull left; 0: it is not timed
  bool by_bulk = false;  // the pull permits bulk frames
  Arriving arriving;
  DirectRead* direct = nullptr;  // it reads the sender's memory, or is advertised
};

// A step of a fused exchange (p2p/fused_ops.hpp).
enum class FusedStep : std::uint8_t {
  contribute,  // `data` goes to the root, and its result comes to `into`
  gather,      // the contributions of all others go to `data`, which has room for each member's, in order
  announce,    // `data` goes to all others
};

struct FusedOp : Op {
  FusedStep step = FusedStep::contribute;
  std::int32_t lane = -1;
  std::uint32_t number = 0;
  std::uint32_t members = 0;
  bool left = false;        // contribute: it has left
  bool incomplete = false;  // as in SendOp: contribute, announce
  type::Cursor into;
};

// The result of a probe: an unexpected message. A message that a matched probe removed from the queue belongs
// to its caller until start_matched().
struct Found {
  std::int32_t source = kAnySource;
  std::int32_t tag = kAnyTag;
  std::uint64_t bytes = 0;
  Message* message = nullptr;
};

}  // namespace herald::p2p
