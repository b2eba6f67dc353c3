// SPDX-License-Identifier: BSD-3-Clause
#include "wire/datagram.hpp"

#include <cstring>

#include "wire/lane.hpp"
#include "wire/siphash.hpp"
#include "wire/tags.hpp"

namespace herald::wire {
namespace {

constexpr std::size_t kUnsent = 12;  // bytes under the tag that are not sent: rank, epoch, CRC

template <class T>
T load(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::uint64_t pair(std::uint32_t low, std::uint32_t high) noexcept {
  return low | static_cast<std::uint64_t>(high) << 32;
}

// SipHash-2-4 of head, ack part, rank, epoch and CRC, which is always a whole number of words.
std::uint64_t tag_of(const Seal& seal, std::uint32_t to, std::uint32_t body_crc, const std::byte* head,
                     std::size_t ack_bytes, const UpperHalves& upper) noexcept {
  SipHash hash(seal.key);
  hash.add(load<std::uint64_t>(head));
  hash.add(pair(load<std::uint32_t>(head + 8), upper.seq));
  const std::byte* const ack = head + sizeof(DatagramHead);
  std::uint32_t odd = 0;  // precedes the rank: zeros, or the end of the ack part
  if (ack_bytes != 0) {
    hash.add(pair(upper.next, load<std::uint32_t>(ack)));
    for (std::size_t at = 4; at + 4 < ack_bytes; at += 8) hash.add(load<std::uint64_t>(ack + at));
    odd = load<std::uint32_t>(ack + ack_bytes - 4);
  }
  hash.add(pair(odd, to));
  hash.add(pair(seal.epoch, body_crc));
  return hash.finish(0, sizeof(DatagramHead) + kUnsent + ack_bytes);
}

// The flags that a kind may have.
std::uint8_t known_flags(DatagramKind kind) noexcept {
  switch (kind) {
    case DatagramKind::data:
      return kFlagAck | kFlagShort | kFlagRecords | kFlagBacklog | kFlagAskAck | kFlagCopies;
    case DatagramKind::ack: return kFlagAck | kFlagShort | kFlagBacklog | kFlagAskAck;
    case DatagramKind::probe:
    case DatagramKind::probe_reply: return kFlagAck;
    case DatagramKind::cast: return kFlagAskAck | kFlagDirect | kFlagRows | kFlagAddress;
    case DatagramKind::cast_ack: return kFlagMulticastSeen | kFlagNotOpen | kFlagClosed | kFlagAddress;
    case DatagramKind::cast_nak: return kFlagMulticastSeen | kFlagAddress;
    case DatagramKind::cast_ask: return kFlagAskAck | kFlagDirect | kFlagAddress;
    case DatagramKind::contribution:
      return kFlagAskAck | kFlagNoContribution | kFlagIncomplete | kFlagMulticastSeen | kFlagAddress;
    case DatagramKind::result: return kFlagAskAck | kFlagIncomplete | kFlagAddress;
    case DatagramKind::contribution_ack: return kFlagAddress;
    case DatagramKind::fragment:
    case DatagramKind::compact_contribution: break;  // see open_compact()
  }
  return 0;
}

bool is_row_of_records(std::span<const std::byte> body) noexcept {
  std::size_t at = 0;
  while (body.size() - at >= kRecordHead) {
    const std::size_t end = at + kRecordHead + load<std::uint16_t>(body.data() + at);
    if (end > body.size()) return false;
    at = end;
  }
  return at == body.size();
}

bool is_part(std::span<const std::byte> body) noexcept {
  if (body.size() <= sizeof(FragmentPart)) return false;
  const auto part = load<FragmentPart>(body.data());
  return part.offset % kFragmentUnit == 0 && part.offset + body.size() - sizeof part <= part.total;
}

bool body_fits(DatagramKind kind, std::uint8_t flags, std::span<const std::byte> body) noexcept {
  switch (kind) {
    case DatagramKind::data: return (flags & kFlagRecords) == 0 || is_row_of_records(body);
    case DatagramKind::ack: return body.empty();
    case DatagramKind::fragment: return is_part(body);
    case DatagramKind::probe: return body.size() >= sizeof(ProbeBody);
    case DatagramKind::probe_reply: return body.size() == sizeof(ProbeBody);
    case DatagramKind::cast:
    case DatagramKind::cast_ack:
    case DatagramKind::cast_nak:
    case DatagramKind::cast_ask:
    case DatagramKind::contribution:
    case DatagramKind::result:
    case DatagramKind::contribution_ack: return lane_body_fits(kind, flags, body);
    case DatagramKind::compact_contribution: break;
  }
  return false;
}

}  // namespace

std::uint64_t siphash24(const JobKey& key, std::span<const std::byte> bytes) noexcept {
  SipHash hash(key);
  std::size_t at = 0;
  for (; bytes.size() - at >= 8; at += 8) hash.add(load<std::uint64_t>(bytes.data() + at));
  std::uint64_t rest = 0;
  if (at < bytes.size()) std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
  return hash.finish(rest, bytes.size());
}

AckBytes write_ack(const AckPart& ack) noexcept {
  AckBytes out;
  const std::uint32_t credit = ack.credit - ack.next, delay_us = ack.delay_us;  // copies above the delay
  if (ack.holes == 0 && ack.newest + 1 == ack.next && credit <= UINT16_MAX && delay_us <= UINT16_MAX) {
    const ShortAck compact{ack.next, static_cast<std::uint16_t>(credit),
                           static_cast<std::uint16_t>(delay_us)};
    std::memcpy(out.room.data(), &compact, sizeof compact);
    out.size = sizeof compact;
    out.flags = kFlagAck | kFlagShort;
  } else {
    std::memcpy(out.room.data(), &ack, sizeof ack);
    out.size = sizeof ack;
  }
  return out;
}

AckPart read_ack(std::span<const std::byte> bytes) noexcept {
  AckPart ack;
  if (bytes.size() == sizeof ack) {
    std::memcpy(&ack, bytes.data(), sizeof ack);
    return ack;
  }
  const auto& compact = *reinterpret_cast<const ShortAck*>(bytes.data());
  const std::uint32_t next = compact.next;
  return {next, next + compact.credit, 0, next - 1, std::uint32_t{compact.delay_us}};
}

void seal(const Seal& seal, std::uint32_t to, std::uint32_t body_crc, std::span<std::byte> head,
          const UpperHalves& upper) noexcept {
  set_tag(head.data(), tag_of(seal, to, body_crc, head.data(), head.size() - sizeof(DatagramHead), upper));
}

namespace {

bool has_short_flag_without_ack(DatagramKind kind, std::uint8_t flags) noexcept {
  return (kind == DatagramKind::data || kind == DatagramKind::ack) &&
         (flags & (kFlagAck | kFlagShort)) == kFlagShort;
}

// Checks all but the tag. `view` is filled if good.
Opened parse(const Seal& seal, std::span<const std::byte> datagram, DatagramView& view) noexcept {
  if (datagram.size() < sizeof(DatagramHead)) return Opened::malformed;
  const auto& head = *reinterpret_cast<const DatagramHead*>(datagram.data());
  const auto kind = static_cast<DatagramKind>(static_cast<std::uint8_t>(head.kind));
  const std::uint8_t flags = head.flags;
  const std::size_t before_body = head_bytes(flags);
  if (head.version != kDatagramVersion || (flags & ~known_flags(kind)) != 0 ||
      datagram.size() < before_body || has_short_flag_without_ack(kind, flags))
    return Opened::malformed;
  const auto body = datagram.subspan(before_body);
  if (!body_fits(kind, flags, body)) return Opened::malformed;
  if (head.epoch != (seal.epoch & 0xff)) return Opened::stale_epoch;
  view.kind = kind;
  view.flags = flags;
  view.from = head.from;
  view.seq = head.seq;
  view.ack = datagram.subspan(sizeof(DatagramHead), before_body - sizeof(DatagramHead));
  view.body = body;
  return Opened::good;
}

bool has_tag(std::span<const std::byte> datagram, std::uint64_t tag) noexcept {
  return reinterpret_cast<const DatagramHead*>(datagram.data())->tag == tag;
}

}  // namespace

Opened open_datagram(const Seal& seal, std::uint32_t me, std::span<const std::byte> datagram,
                     DatagramView& view, const UpperHalves& upper) noexcept {
  DatagramView seen;
  const Opened opened = parse(seal, datagram, seen);
  if (opened != Opened::good) return opened;
  if (!has_tag(datagram, tag_of(seal, me, seal.body_crc(seen.body), datagram.data(), seen.ack.size(), upper)))
    return Opened::bad_tag;
  view = seen;
  return Opened::good;
}

void open_datagrams(const Seal& seal, std::uint32_t me, std::span<OpenedDatagram> all) noexcept {
  std::array<TagAsked, kTagsAtOnce> asked;
  std::array<OpenedDatagram*, kTagsAtOnce> of{};
  std::size_t count = 0;
  const auto judge = [&] {
    const Tags tags = tags_of(seal, {asked.data(), count});
    for (std::size_t i = 0; i < count; ++i)
      if (!has_tag(of[i]->datagram, tags[i])) of[i]->opened = Opened::bad_tag;
    count = 0;
  };
  for (OpenedDatagram& one : all) {
    one.opened = parse(seal, one.datagram, one.view);
    if (one.opened != Opened::good) continue;
    if (!one.view.ack.empty()) {
      const std::uint32_t crc = seal.body_crc(one.view.body);
      if (!has_tag(one.datagram, tag_of(seal, me, crc, one.datagram.data(), one.view.ack.size(), one.upper)))
        one.opened = Opened::bad_tag;
      continue;
    }
    asked[count] = {one.datagram.data(), me, seal.body_crc(one.view.body), one.upper.seq};
    of[count++] = &one;
    if (count == kTagsAtOnce) judge();
  }
  if (count != 0) judge();
}

}  // namespace herald::wire
