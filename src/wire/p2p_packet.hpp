// SPDX-License-Identifier: BSD-3-Clause
// wire/p2p_packet.hpp: the packets of point-to-point messages. docs/wire.md describes them byte by byte and
// tests/unit/wire holds them with golden bytes.
// A packet is one of the structures below; push and data carry payload behind it, to the end of the packet.
// The path tells how long a packet is and who sent it. decode() looks at lengths and constants only: whether
// the ids and offsets mean anything is for p2p::Core to judge.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>

#include "wire/le.hpp"

namespace herald::wire {

constexpr std::uint8_t kP2pVersion = 3;

enum class P2pKind : std::uint8_t {
  push = 1,          // the first bytes of a message, or all of it
  pull = 2,          // the receiver has matched the message and asks for more of it
  data = 3,          // some of what was asked for, or of what is pushed beyond the first packet
  ack = 4,           // the receiver has matched the message and wants no more of it
  cancel = 5,        // the sender asks for its message back
  cancel_reply = 6,  // whether it got it
  goodbye = 7,       // the last packet from this process: it no longer reads nor writes
  allowance = 8,     // how much the peer may push
  meet = 9,          // the receiver moves the message itself and tells where the sender may help
  moved = 10,        // the sender helps no more
  notice = 11,       // something about the network that a person should know, for whoever prints it
  bundle = 12,       // casts that are each for one member of the lane, together
  invite = 13,       // by a lane: some of its members are to open another one
  dismiss = 14,      // by such a lane: nothing more comes by it
  whole = 15,        // between hosts: a push that is all of a message and awaits no answer, shorter
  again = 16,        // the same of one that follows another of the same communicator, shorter still
};

constexpr std::uint16_t kFlagSynchronous = 1;  // push: answer with ack or pull when matched
constexpr std::uint16_t kFlagInPlace = 4;      // push: no payload, but where the message lies
constexpr std::uint16_t kFlagUnasked = 1;      // data: belongs to the push
constexpr std::uint16_t kFlagCast =
    2;  // push, whole, data: to all members of a lane; seq counts the sender's casts
constexpr std::uint16_t kFlagRemoved = 1;  // cancel_reply: the message was taken out, nobody receives it

struct P2pPrefix {
  Le<std::uint8_t> version;
  Le<std::uint8_t> kind;
  Le<std::uint16_t> flags;
};

struct PushPacket {
  P2pPrefix prefix;
  Le<std::uint32_t> seq;      // counts messages from this sender to this receiver
  Le<std::uint64_t> context;  // the communicator
  Le<std::int32_t> source;    // the sender's rank in it
  Le<std::int32_t> tag;
  Le<std::uint64_t> message_bytes;  // of the whole message
  Le<std::uint32_t> send_id;        // to be named in pull and ack; 0 when neither is awaited
  Le<std::uint32_t> push_bytes;     // that come unasked, in this packet and in data after it
};

// Then the message, to the end of the packet. Of short messages the header is most of what the wire carries.
struct WholePacket {
  P2pPrefix prefix;
  Le<std::uint32_t> seq;  // these as in a push
  Le<std::uint64_t> context;
  Le<std::int32_t> source;
  Le<std::int32_t> tag;
};

// Then the message. Context and source are those of the message before it from this sender to this receiver,
// seq is the next: packets come in order.
struct AgainPacket {
  Le<std::uint8_t> version;
  Le<std::uint8_t> kind;
  Le<std::int32_t> tag;
};

struct PullPacket {
  P2pPrefix prefix;
  Le<std::uint32_t> send_id;
  Le<std::uint32_t> seq;
  Le<std::uint32_t> receive_id;  // to be named in data
  Le<std::uint64_t> offset;      // first byte that is wanted
  Le<std::uint64_t> bytes;       // how many are wanted; the rest, if any, is not
};

struct DataPacket {
  P2pPrefix prefix;
  Le<std::uint32_t> id;  // receive_id of the pull; unasked: seq of the push
  Le<std::uint64_t> offset;
};

struct AckPacket {
  P2pPrefix prefix;
  Le<std::uint32_t> send_id;
  Le<std::uint32_t> seq;
};

struct CancelPacket {
  P2pPrefix prefix;
  Le<std::uint32_t> send_id;
  Le<std::uint32_t> seq;
  Le<std::uint64_t> context;
};

struct CancelReplyPacket {
  P2pPrefix prefix;
  Le<std::uint32_t> send_id;
  Le<std::uint32_t> seq;
};

struct GoodbyePacket {
  P2pPrefix prefix;
};

struct AllowancePacket {
  P2pPrefix prefix;
  Le<std::uint32_t> limit;  // bytes pushed since the beginning, modulo 2^32, that the sender may reach
};

// Behind a push with kFlagInPlace, 1 to kMostRuns of them: the message in the sender's memory, in order.
struct RunPart {
  Le<std::uint64_t> address;
  Le<std::uint64_t> bytes;
};
constexpr std::size_t kMostRuns = 64;

struct MeetPacket {
  P2pPrefix prefix;
  Le<std::uint32_t> send_id;
  Le<std::uint32_t> seq;
  Le<std::uint32_t> split_copy;  // which of the receiver's
  Le<std::uint64_t> bytes;       // of the message that are wanted
  Le<std::uint64_t> address;     // of the first byte in the receiver's memory
};

struct MovedPacket {
  P2pPrefix prefix;
  Le<std::uint32_t> split_copy;
};

constexpr std::uint32_t kNoticeDeaf = 1;   // the member does not hear the sender's multicast
constexpr std::uint32_t kNoticeLoses = 2;  // it loses `amount` in a hundred of somebody's

struct NoticePacket {
  P2pPrefix prefix;
  Le<std::uint32_t> what;
  Le<std::uint32_t> member;  // its rank in the job
  Le<std::uint32_t> amount;
};

// Behind it, to the end of the packet: parts, each followed by a push or data that is a cast, of `bytes`
// bytes. For no member there is more than one.
struct BundlePacket {
  P2pPrefix prefix;
};
struct BundlePart {
  Le<std::uint32_t> to;  // rank in the job
  Le<std::uint16_t> bytes;
};

// Behind it, to the end of the packet: the members, by rank in the job (Le<std::uint32_t>).
struct InvitePacket {
  P2pPrefix prefix;
  Le<std::uint64_t> name;  // of the new lane; the top bit is set
};
struct DismissPacket {
  P2pPrefix prefix;
};

static_assert(sizeof(InvitePacket) == 12 && sizeof(DismissPacket) == 4);
static_assert(sizeof(BundlePacket) == 4 && sizeof(BundlePart) == 6 && alignof(BundlePart) == 1);
static_assert(sizeof(P2pPrefix) == 4 && alignof(P2pPrefix) == 1);
static_assert(sizeof(PushPacket) == 40 && alignof(PushPacket) == 1);
static_assert(sizeof(WholePacket) == 24 && alignof(WholePacket) == 1);
static_assert(sizeof(AgainPacket) == 6 && alignof(AgainPacket) == 1);
static_assert(sizeof(PullPacket) == 32 && sizeof(DataPacket) == 16);
static_assert(sizeof(AckPacket) == 12 && sizeof(CancelPacket) == 20 && sizeof(CancelReplyPacket) == 12);
static_assert(sizeof(RunPart) == 16 && sizeof(MeetPacket) == 32 && sizeof(MovedPacket) == 8);
static_assert(sizeof(GoodbyePacket) == 4 && sizeof(AllowancePacket) == 8 && sizeof(NoticePacket) == 16);

// The smallest packet size a path must be able to carry: every packet without payload fits.
constexpr std::size_t kLargestHeader = sizeof(PushPacket);

// The smallest room in which a lane can go on with any cast.
constexpr std::size_t kLeastCast = sizeof(BundlePacket) + sizeof(BundlePart) + kLargestHeader + 1;

inline P2pPrefix p2p_prefix(P2pKind kind, std::uint16_t flags = 0) noexcept {
  return {kP2pVersion, static_cast<std::uint8_t>(kind), flags};
}

// True and `kind` set if the packet has our version, a known kind, known flags, and the length that its kind
// asks for. Only then may it be read as the structure of its kind.
bool decode(std::span<const std::byte> packet, P2pKind& kind) noexcept;

// What a bundle, after decode() said so, holds for this member; empty: nothing.
std::span<const std::byte> part_for(std::uint32_t member, std::span<const std::byte> bundle) noexcept;

// The packet as the structure of its kind, after decode() said so.
template <class Packet>
const Packet& as(std::span<const std::byte> packet) noexcept {
  static_assert(alignof(Packet) == 1);
  return *reinterpret_cast<const Packet*>(packet.data());
}

// A push that is the whole message and asks for no answer. decode() would say so, too.
inline bool is_whole(const PushPacket& header, std::size_t behind) noexcept {
  const P2pPrefix plain = p2p_prefix(P2pKind::push);
  return std::memcmp(&header.prefix, &plain, sizeof plain) == 0 && header.message_bytes == behind &&
         header.push_bytes == behind && header.send_id == 0;
}
inline bool is_whole_push(std::span<const std::byte> packet) noexcept {
  return packet.size() >= sizeof(PushPacket) &&
         is_whole(as<PushPacket>(packet), packet.size() - sizeof(PushPacket));
}

}  // namespace herald::wire
