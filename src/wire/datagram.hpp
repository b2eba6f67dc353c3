// SPDX-License-Identifier: BSD-3-Clause
// wire/datagram.hpp: the datagram between hosts: one datagram is one packet of a connection. docs/wire.md
// describes it byte by byte, and golden bytes in tests/unit/wire check it.
//
//   DatagramHead | AckPart or ShortAck, if kFlagAck | body
//
// The tag is SipHash-2-4 over the head with the upper halves of its numbers in place of the tag, the ack
// part, the receiver's rank, the whole epoch, and the CRC32C of the body, under the key of the job or of the
// pair. Upper halves, rank, epoch and CRC are not sent: both sides know them. One comparison refuses corrupt
// bodies, other jobs, old epochs, wrong receivers, and copies from before a sequence wrapped around.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "wire/le.hpp"

namespace herald::wire {

constexpr std::uint8_t kDatagramVersion = 1;

enum class DatagramKind : std::uint8_t {
  fragment = 0,     // a part of a datagram that is too long for a link; body: FragmentPart, bytes
  data = 1,         // numbered, kept until acknowledged; body: one packet of p2p, or records
  ack = 2,          // not numbered; `seq` is that of the next data packet: shows a lost tail. No body
  probe = 3,        // asks whether the link works; body: ProbeBody, padded to the size that is probed
  probe_reply = 4,  // body: the ProbeBody of the probe
  // Of lanes; bodies in wire/lane.hpp. No ack part.
  cast = 5,      // numbered packet of a lane, to the group or to one member
  cast_ack = 6,  // to the source, or up the tree
  cast_nak = 7,  // to the source: these are missing
  cast_ask = 8,  // from the source: `seq` is the number of its next cast
  // Of fused exchanges (rel/fused_exchange.hpp): `seq` is the number of the exchange.
  contribution = 9,           // from a member to the root
  result = 10,                // from the root to the group or to one member
  contribution_ack = 11,      // from the root to one member: the contribution came, the result is not known
  compact_contribution = 12,  // a contribution with a head of its own (wire/compact.hpp)
};

constexpr std::uint8_t kFlagAck = 1;  // an ack part follows the head
constexpr std::uint8_t kFlagRecords =
    2;  // data: the body is a row of records, each 2 bytes of length and a packet
constexpr std::uint8_t kFlagBacklog = 4;    // data, ack: the sender has more than its credit lets it send
constexpr std::uint8_t kFlagAskAck = 8;     // data, ack, cast, cast_ask, contribution, result: answer now
constexpr std::uint8_t kFlagShort = 16;     // data, ack, with kFlagAck: the ack part is a ShortAck
constexpr std::uint8_t kFlagCopies = 0xe0;  // data: how often it was sent before (at most 7), in these bits
constexpr int kCopiesShift = 5;
constexpr std::uint8_t kFlagAddress = 6;  // of lanes: the index of the lane's address, in these bits
constexpr int kAddressShift = 1;
constexpr std::uint8_t kFlagDirect = 16;  // cast, cast_ask: acknowledge to the source itself, not up a tree
constexpr std::uint8_t kFlagRows = 32;    // cast: acks of other members' casts stand behind the packet
// cast_ack, cast_nak, contributions: a multicast of the source or root came since the last.
constexpr std::uint8_t kFlagMulticastSeen = 64;
constexpr std::uint8_t kFlagNoContribution = 16;  // contribution: no data; it tells which results have come
constexpr std::uint8_t kFlagIncomplete = 32;  // contribution, result: data of a lost rank is missing in it
constexpr std::uint8_t kFlagNotOpen = 32;     // cast_ack: the lane is not open here yet
constexpr std::uint8_t kFlagClosed = 128;     // cast_ack: the lane is closed here; nothing is wanted any more

struct DatagramHead {
  Le<std::uint8_t> version;
  Le<std::uint8_t> kind;
  Le<std::uint8_t> flags;
  Le<std::uint8_t> epoch;  // lowest byte
  Le<std::uint32_t> from;  // rank of the sender in the job
  Le<std::uint32_t> seq;
  Le<std::uint64_t> tag;
};

struct AckPart {
  Le<std::uint32_t> next;      // all data packets before this one have come
  Le<std::uint32_t> credit;    // the peer may send those before this one
  Le<std::uint64_t> holes;     // bit i: next + 1 + i has come
  Le<std::uint32_t> newest;    // the data packet that came last ...
  Le<std::uint32_t> delay_us;  // ... so long ago (kDelayBits); above them the copies that it had in its flags
};

constexpr int kDelayBits = 28;

// The common ack: no holes, and the newest packet, sent once, is the last before `next`.
struct ShortAck {
  Le<std::uint32_t> next;    // these as in an AckPart ...
  Le<std::uint16_t> credit;  // ... but counted from `next`
  Le<std::uint16_t> delay_us;
};

struct ProbeBody {
  Le<std::uint32_t> link;    // the sender's number for this link to the receiver
  Le<std::uint32_t> number;  // of the probe
};

// `seq` of the head numbers the datagrams that the sender has split. Parts begin at multiples of
// kFragmentUnit.
struct FragmentPart {
  Le<std::uint16_t> total;   // bytes of the whole datagram
  Le<std::uint16_t> offset;  // of this part
};
constexpr std::size_t kFragmentUnit = 64;
constexpr std::size_t kFragmentHead = sizeof(DatagramHead) + sizeof(FragmentPart);
// A fragment to a group is sealed for this receiver: the lane is not known before the whole is.
constexpr std::uint32_t kGroupFragment = 0xffffffff;

static_assert(sizeof(FragmentPart) == 4);
static_assert(sizeof(DatagramHead) == 20 && alignof(DatagramHead) == 1);
static_assert(sizeof(AckPart) == 24 && sizeof(ShortAck) == 8 && sizeof(ProbeBody) == 8);
constexpr std::size_t kLargestDatagramHead = sizeof(DatagramHead) + sizeof(AckPart);
constexpr std::size_t kRecordHead = 2;

// By its kind alone: the kinds of lanes' datagrams begin at 5.
inline bool is_lane_datagram(std::span<const std::byte> datagram) noexcept {
  return datagram.size() > 1 && std::to_integer<std::uint8_t>(datagram[1]) >= 5;
}

inline bool has_kind(std::span<const std::byte> datagram, DatagramKind kind) noexcept {
  return datagram.size() > 1 && std::to_integer<std::uint8_t>(datagram[1]) == static_cast<std::uint8_t>(kind);
}
inline bool is_fragment(std::span<const std::byte> datagram) noexcept {
  return has_kind(datagram, DatagramKind::fragment);
}

// By its kind alone: of a fused exchange.
inline bool is_fused(std::span<const std::byte> datagram) noexcept {
  return datagram.size() > 1 && std::to_integer<std::uint8_t>(datagram[1]) >= 9;
}

inline bool is_compact(std::span<const std::byte> datagram) noexcept {
  return datagram.size() > 1 && std::to_integer<std::uint8_t>(datagram[1]) ==
                                    static_cast<std::uint8_t>(DatagramKind::compact_contribution);
}

// An ack part as it is sent, of 8 or 24 bytes, with the flags that announce it; and its decoder.
struct AckBytes {
  std::array<std::byte, sizeof(AckPart)> room;
  std::uint8_t size = 0;
  std::uint8_t flags = kFlagAck;
  std::span<const std::byte> bytes() const noexcept { return {room.data(), size}; }
};
AckBytes write_ack(const AckPart& ack) noexcept;
AckPart read_ack(std::span<const std::byte> bytes) noexcept;

// Of data, ack, probe and probe_reply: bytes before the body, with the ack part if the flags announce it.
inline std::size_t head_bytes(std::uint8_t flags) noexcept {
  if ((flags & kFlagAck) == 0) return sizeof(DatagramHead);
  return sizeof(DatagramHead) + ((flags & kFlagShort) != 0 ? sizeof(ShortAck) : sizeof(AckPart));
}

using JobKey = std::array<std::uint64_t, 2>;

// Both ends know it, and the datagram does not contain it.
struct Seal {
  JobKey key{};
  std::uint32_t epoch = 0;  // counts the openings of the engine in the processes of the job
  bool enveloped = false;   // a cipher proves every byte (wire/sealed.hpp): bodies count as CRC 0
  // Of a body, or of its rest after `before`.
  std::uint32_t body_crc(std::span<const std::byte> body, std::uint32_t before = 0) const noexcept;
};

// Numbers have 64 bits, of which a datagram carries the lower half. Both ends know the upper halves.
struct UpperHalves {
  std::uint32_t seq = 0;   // of the head's seq
  std::uint32_t next = 0;  // of the ack part's next, if there is one
};

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0) noexcept;
inline std::uint32_t Seal::body_crc(std::span<const std::byte> body, std::uint32_t before) const noexcept {
  return enveloped || body.empty() ? before : crc32c(body, before);
}
std::uint64_t siphash24(const JobKey& key, std::span<const std::byte> bytes) noexcept;

// Writes a head without its tag. In whole words: the tag and the kernel read whole words next, and would
// stall on smaller stores.
inline void write_head(std::byte* at, DatagramKind kind, std::uint8_t flags, const Seal& seal,
                       std::int32_t from, std::uint32_t seq) noexcept {
  static_assert(std::endian::native == std::endian::little);
  const std::uint64_t first = kDatagramVersion | std::uint64_t{static_cast<std::uint8_t>(kind)} << 8 |
                              std::uint64_t{flags} << 16 | std::uint64_t{seal.epoch & 0xff} << 24 |
                              std::uint64_t{static_cast<std::uint32_t>(from)} << 32;
  const std::uint64_t second = seq;
  const std::uint32_t third = 0;
  std::memcpy(at, &first, sizeof first);
  std::memcpy(at + sizeof first, &second, sizeof second);
  std::memcpy(at + sizeof first + sizeof second, &third, sizeof third);
}

// Sets the tag of a datagram that is complete otherwise. `head`: head, and ack part if there is one.
void seal(const Seal& seal, std::uint32_t to, std::uint32_t body_crc, std::span<std::byte> head,
          const UpperHalves& upper = {}) noexcept;

enum class Opened : std::uint8_t { good, malformed, stale_epoch, bad_tag };

struct DatagramView {
  DatagramKind kind{};
  std::uint8_t flags = 0;
  std::uint32_t from = 0;
  std::uint32_t seq = 0;
  std::span<const std::byte> ack;  // for read_ack(); empty: none
  std::span<const std::byte> body;
};

// Checks lengths and constants, then epoch and tag. `view` is filled only if good.
Opened open_datagram(const Seal& seal, std::uint32_t me, std::span<const std::byte> datagram,
                     DatagramView& view, const UpperHalves& upper = {}) noexcept;

// The same for several, which is faster. `view` is valid only if good.
struct OpenedDatagram {
  std::span<const std::byte> datagram;
  DatagramView view;
  Opened opened = Opened::malformed;
  UpperHalves upper;
};
void open_datagrams(const Seal& seal, std::uint32_t me, std::span<OpenedDatagram> all) noexcept;

}  // namespace herald::wire
