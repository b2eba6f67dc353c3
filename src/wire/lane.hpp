// SPDX-License-Identifier: BSD-3-Clause
// wire/lane.hpp: bodies of the datagrams of a lane (kinds from cast on). docs/wire.md describes them byte by
// byte. Each but a compact contribution begins with the name of the lane, and is under the CRC that the tag
// covers. A datagram to the group is sealed for the low 32 bits of the name in place of a rank.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>

#include "wire/datagram.hpp"
#include "wire/le.hpp"

namespace herald::wire {

// Limits of a fused exchange (rel/fused_exchange.hpp).
constexpr std::size_t kMaxFusedMembers = 16;
constexpr std::size_t kMaxContribution = 256, kMaxResult = 1024;  // bytes

// cast: before the packet. cast_ask: the whole body; contribution_ack: likewise, with times of 0.
struct LanePart {
  Le<std::uint64_t> name;
  Le<std::uint16_t> rtt_us;   // the source's round trip to the farthest member; 0: not known
  Le<std::uint16_t> base_us;  // the same when nothing is queued
};

// cast, flag kFlagRows: behind the packet, before one byte that counts them. An ack that rides.
struct AckRow {
  Le<std::uint32_t> next;    // all casts of that member before this one have come
  Le<std::uint16_t> member;  // its place in the lane
  Le<std::uint16_t> credit;  // it may send so many beyond `next`; kRowMulticastSeen
};
constexpr std::uint16_t kRowMulticastSeen = 0x8000;  // its multicast came since the last ack

struct CastAck {  // the head's seq: all casts of the source before this one have come
  Le<std::uint64_t> name;
  Le<std::uint32_t> source;
  Le<std::uint32_t> credit;    // the source may cast those before this one
  Le<std::uint64_t> holes;     // bit i: seq + 1 + i has come
  Le<std::uint32_t> newest;    // the cast that came last ...
  Le<std::uint32_t> delay_us;  // ... so long ago
  Le<std::uint32_t> all_next;  // as seq and credit, of all below the sender in the tree as well
  Le<std::uint32_t> all_credit;
};

struct NakRange {
  Le<std::uint16_t> first;  // counted from the head's seq
  Le<std::uint16_t> count;  // not 0
};

struct CastNak {  // then 1 to kMaxNakRanges ranges; the head's seq: all before this one have come
  Le<std::uint64_t> name;
  Le<std::uint32_t> source;
  Le<std::uint32_t> end;  // after the highest that has come
};
constexpr std::size_t kMaxNakRanges = 7;

// contribution: before the data.
struct ContributionPart {
  Le<std::uint64_t> name;
  std::uint8_t behind;  // the results of all fused exchanges before number seq - behind have come
};

// result: before the data.
struct ResultPart {
  Le<std::uint64_t> name;
  Le<std::uint16_t> lane_index;  // of the lane at the root, for compact contributions; 0: none
  Le<std::uint16_t> reserved;    // 0
};

static_assert(sizeof(ContributionPart) == 9 && sizeof(ResultPart) == 12);
static_assert(sizeof(LanePart) == 12 && sizeof(AckRow) == 8 && sizeof(CastAck) == 40);
static_assert(sizeof(CastNak) == 16 && sizeof(NakRange) == 4 && alignof(CastAck) == 1);
constexpr std::size_t kCastHead = sizeof(DatagramHead) + sizeof(LanePart);
static_assert(kCastHead == 32);
constexpr std::size_t kMinLaneDatagram = sizeof(DatagramHead) + sizeof(ContributionPart);

constexpr bool is_lane_kind(DatagramKind kind) noexcept {
  return kind >= DatagramKind::cast && kind <= DatagramKind::contribution_ack;
}

// For which receiver a datagram to the group of a lane is sealed.
constexpr std::uint32_t group_seal(std::uint64_t lane) noexcept { return static_cast<std::uint32_t>(lane); }

// Whether the body of a lane's datagram has the parts that kind and flags promise.
bool lane_body_fits(DatagramKind kind, std::uint8_t flags, std::span<const std::byte> body) noexcept;

template <class T>
const T& part_at(std::span<const std::byte> body, std::size_t at = 0) noexcept {
  return *reinterpret_cast<const T*>(body.data() + at);
}

// Of a datagram of at least kMinLaneDatagram bytes.
inline std::uint64_t lane_name(std::span<const std::byte> datagram) noexcept {
  return part_at<Le<std::uint64_t>>(datagram, sizeof(DatagramHead));
}

// The rank that it claims to come from, likewise.
inline std::uint32_t sender_of(std::span<const std::byte> datagram) noexcept {
  return part_at<DatagramHead>(datagram).from;
}

// The parts of a cast that was opened.
struct CastView {
  const LanePart* lane = nullptr;
  std::span<const std::byte> packet;
  std::span<const AckRow> rows;
};
CastView view_cast(std::uint8_t flags, std::span<const std::byte> body) noexcept;

// The parts of a contribution, compact or not.
struct ContributionView {
  std::uint8_t behind = 0;
  std::span<const std::byte> data;
};
ContributionView view_contribution(DatagramKind kind, std::span<const std::byte> body) noexcept;

}  // namespace herald::wire
