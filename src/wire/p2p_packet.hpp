// SPDX-License-Identifier: BSD-3-Clause
// wire/p2p_packet.hpp: the packets of point-to-point messages. docs/wire.md describes them byte by byte and
// tests/unit/wire holds them with golden bytes.
// A packet is one of the structures below; eager, eager_compact, data and service carry bytes behind it, to
// the end of the packet. The path tells how long a packet is and which peer sent it. decode() checks lengths
// and constants only: p2p::Core judges whether the ids and offsets mean anything.
#pragma once
#include <cstdint>
#include <span>

#include "wire/le.hpp"

namespace herald::wire {

constexpr std::uint8_t kP2pVersion = 4;

enum class P2pKind : std::uint8_t {
  eager = 1,            // the first bytes of a message, or all of it
  eager_compact = 2,    // all of a message of the same communicator and source as the message before it
  pull = 3,             // the receiver has matched the message and requests more of it
  data = 4,             // bytes that a pull requested, or that are pushed beyond the first packet
  ack = 5,              // the receiver has matched the message and needs no more of it
  goodbye = 6,          // the last packet from this process: it no longer reads nor writes
  allowance = 7,        // how much the peer may push
  split_copy = 8,       // the receiver copies the message itself and tells where the sender may help
  split_copy_done = 9,  // the sender no longer accesses the split copy
  bundle = 10,          // casts that are each for one member of the lane, in one packet
  service = 11,         // a call of a service of the peer (an active message)
  bulk_lost = 12,       // the connection broke by which the sender sent what a pull requested
};

constexpr std::uint16_t kFlagSynchronous = 1;  // eager: answer with ack or pull when matched
constexpr std::uint16_t kFlagCast =
    2;  // eager, data: to all members of a lane; seq counts the sender's casts
constexpr std::uint16_t kFlagInPlace = 4;  // eager: no payload, but where the message lies
constexpr std::uint16_t kFlagIncompleteData =
    8;                                    // eager: of a collective, data of a lost rank is missing in it
constexpr std::uint16_t kFlagPushed = 1;  // data: belongs to the push
constexpr std::uint16_t kFlagByBulk =
    1;  // pull: may be served by bulk frames; the receiver acknowledges them
constexpr std::uint16_t kFlagResume =
    2;                                  // pull: bulk frames from `offset` on did not come; send them as data
constexpr std::uint16_t kFlagBulk = 1;  // service: the payload follows as a message

struct P2pPrefix {
  Le<std::uint8_t> version;
  Le<std::uint8_t> kind;
  Le<std::uint16_t> flags;
};

struct EagerPacket {
  P2pPrefix prefix;
  Le<std::uint32_t> seq;      // counts messages from this sender to this receiver
  Le<std::uint64_t> context;  // the communicator
  Le<std::int32_t> source;    // the sender's rank in it
  Le<std::int32_t> tag;
  Le<std::uint64_t> message_bytes;  // of the whole message
  Le<std::uint32_t> send_id;        // to be named in pull and ack; 0 when the sender awaits neither
  Le<std::uint32_t> push_bytes;     // that come without a pull, in this packet and in data after it
};

// Then the message. Context and source are those of the message before it from this sender to this receiver,
// seq is the next: packets come in order. Of short messages the header is most of what the wire carries.
struct CompactPacket {
  Le<std::uint8_t> version;
  Le<std::uint8_t> kind;
  Le<std::int32_t> tag;
};

struct PullPacket {
  P2pPrefix prefix;
  Le<std::uint32_t> send_id;
  Le<std::uint32_t> seq;
  Le<std::uint32_t> receive_id;  // to be named in data
  Le<std::uint64_t> offset;      // first byte requested
  Le<std::uint64_t> bytes;       // how many; the receiver has no room for the rest, if any
};

struct DataPacket {
  P2pPrefix prefix;
  Le<std::uint32_t> id;  // receive_id of the pull; pushed: seq of the eager packet
  Le<std::uint64_t> offset;
};

struct AckPacket {
  P2pPrefix prefix;
  Le<std::uint32_t> send_id;
  Le<std::uint32_t> seq;
};

struct BulkLostPacket {
  P2pPrefix prefix;
  Le<std::uint32_t> receive_id;  // of the pull
};

struct GoodbyePacket {
  P2pPrefix prefix;
};

struct AllowancePacket {
  P2pPrefix prefix;
  Le<std::uint32_t> bytes;  // between hosts: that may be pushed in addition; inside a host: 0 pause, 1 resume
};

// Behind an eager packet with kFlagInPlace, 1 to kMaxRuns of them: the message in the sender's memory, in
// order.
struct RunPart {
  Le<std::uint64_t> address;
  Le<std::uint64_t> bytes;
};
constexpr std::size_t kMaxRuns = 64;

struct SplitCopyPacket {
  P2pPrefix prefix;
  Le<std::uint32_t> send_id;
  Le<std::uint32_t> seq;
  Le<std::uint32_t> split_copy;  // which of the receiver's
  Le<std::uint64_t> bytes;       // of the message that the receiver has room for
  Le<std::uint64_t> address;     // of the first byte in the receiver's memory
};

struct SplitCopyDonePacket {
  P2pPrefix prefix;
  Le<std::uint32_t> split_copy;
};

// Behind it, to the end of the packet: parts, each followed by an eager or data packet that is a cast, of
// `bytes` bytes. No member has more than one part.
struct BundlePacket {
  P2pPrefix prefix;
};
struct BundlePart {
  Le<std::uint32_t> to;  // rank in the job
  Le<std::uint16_t> bytes;
};

// Behind it: header_bytes of header, then the payload to the end of the packet. With kFlagBulk the payload,
// of bulk_bytes, follows as a message in kServiceContext with the tag bulk_tag.
struct ServicePacket {
  P2pPrefix prefix;
  Le<std::uint16_t> service;
  Le<std::uint16_t> header_bytes;
  Le<std::int32_t> bulk_tag;
  Le<std::uint64_t> bulk_bytes;
};
constexpr std::size_t kMaxServiceHeader = 64;
constexpr std::uint64_t kServiceContext = ~std::uint64_t{0};  // no communicator has it

// Headers of the services that this library uses itself; their numbers are p2p::ServiceId.
struct CancelHeader {  // the sender requests its message back
  Le<std::uint32_t> send_id;
  Le<std::uint32_t> seq;
  Le<std::uint64_t> context;
};
struct CancelReplyHeader {
  Le<std::uint32_t> send_id;
  Le<std::uint32_t> seq;
  Le<std::uint32_t> removed;  // 1: the message was removed, no receive gets it
};
struct NoticeHeader {  // about the network, for the rank that prints such notices
  Le<std::uint32_t> what;
  Le<std::uint32_t> member;  // its rank in the job
  Le<std::uint32_t> amount;
};
constexpr std::uint32_t kNoticeUnreachable = 1;  // the sender's multicast does not reach the member
constexpr std::uint32_t kNoticeLoses = 2;        // the member loses `amount` percent of a sender's multicast
constexpr std::uint32_t kNoticeNoUdp = 3;        // UDP does not pass between the sender and the member

// Over a lane; the payload is the members of a new lane, by rank in the job (Le<std::uint32_t>).
struct LaneInviteHeader {
  Le<std::uint64_t> name;  // of the new lane; the top bit is set
};

static_assert(sizeof(P2pPrefix) == 4 && alignof(P2pPrefix) == 1);
static_assert(sizeof(EagerPacket) == 40 && alignof(EagerPacket) == 1);
static_assert(sizeof(CompactPacket) == 6 && alignof(CompactPacket) == 1);
static_assert(sizeof(PullPacket) == 32 && sizeof(DataPacket) == 16 && sizeof(AckPacket) == 12);
static_assert(sizeof(RunPart) == 16 && sizeof(SplitCopyPacket) == 32 && sizeof(SplitCopyDonePacket) == 8);
static_assert(sizeof(BulkLostPacket) == 8 && sizeof(GoodbyePacket) == 4 && sizeof(AllowancePacket) == 8);
static_assert(sizeof(BundlePacket) == 4 && sizeof(BundlePart) == 6 && alignof(BundlePart) == 1);
static_assert(sizeof(ServicePacket) == 20 && sizeof(CancelHeader) == 16 && sizeof(CancelReplyHeader) == 12);
static_assert(sizeof(NoticeHeader) == 12 && sizeof(LaneInviteHeader) == 8);

// The smallest packet size a path must be able to carry: every packet without payload fits.
constexpr std::size_t kLargestHeader = sizeof(ServicePacket) + kMaxServiceHeader;

// The smallest room in which a lane can go on with any cast.
constexpr std::size_t kMinCast = sizeof(BundlePacket) + sizeof(BundlePart) + sizeof(EagerPacket) + 1;

inline P2pPrefix p2p_prefix(P2pKind kind, std::uint16_t flags = 0) noexcept {
  return {kP2pVersion, static_cast<std::uint8_t>(kind), flags};
}

// True and `kind` set if the packet has our version, a known kind, known flags, and the length that its kind
// requires. Only then may it be read as the structure of its kind.
bool decode(std::span<const std::byte> packet, P2pKind& kind) noexcept;

// What decode() says of most packets, without a call.
inline bool is_eager_compact(std::span<const std::byte> packet) noexcept {
  return packet.size() >= sizeof(CompactPacket) && packet[0] == std::byte{kP2pVersion} &&
         packet[1] == static_cast<std::byte>(P2pKind::eager_compact);
}

inline bool is_service(std::span<const std::byte> packet) noexcept {
  return packet.size() >= sizeof(ServicePacket) && packet[0] == std::byte{kP2pVersion} &&
         packet[1] == static_cast<std::byte>(P2pKind::service);
}

// The part of a decoded bundle for this member; empty: none.
std::span<const std::byte> part_for(std::uint32_t member, std::span<const std::byte> bundle) noexcept;

// The packet as the structure of its kind, after decode() has accepted it.
template <class Packet>
const Packet& as(std::span<const std::byte> packet) noexcept {
  static_assert(alignof(Packet) == 1);
  return *reinterpret_cast<const Packet*>(packet.data());
}

}  // namespace herald::wire
