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

// SipHash-2-4 of head with tag 0, ack part, rank, epoch and CRC; that is always a row of whole words.
std::uint64_t tag_of(const Seal& seal, std::uint32_t to, std::uint32_t body_crc, const std::byte* head,
                     bool has_ack) noexcept {
  SipHash hash(seal.key);
  hash.add(load<std::uint64_t>(head));
  hash.add(load<std::uint32_t>(head + 8));  // seq, and the first half of the tag
  std::size_t length = sizeof(DatagramHead) + kUnsent;
  if (has_ack) {
    const std::byte* ack = head + sizeof(DatagramHead);
    hash.add(pair(0, load<std::uint32_t>(ack)));
    hash.add(load<std::uint64_t>(ack + 4));
    hash.add(load<std::uint64_t>(ack + 12));
    hash.add(pair(load<std::uint32_t>(ack + 20), to));
    length += sizeof(AckPart);
  } else {
    hash.add(pair(0, to));
  }
  hash.add(pair(seal.epoch, body_crc));
  return hash.finish(0, length);
}

// The flags that a kind may have.
std::uint8_t known_flags(DatagramKind kind) noexcept {
  switch (kind) {
    case DatagramKind::data: return kFlagAck | kFlagRecords | kFlagBacklog | kFlagAskAck | kFlagCopies;
    case DatagramKind::ack: return kFlagAck | kFlagBacklog | kFlagAskAck;
    case DatagramKind::probe:
    case DatagramKind::probe_reply: return kFlagAck;
    case DatagramKind::cast: return kFlagAskAck | kFlagDirect | kFlagRows | kFlagMoved;
    case DatagramKind::cast_ack: return kFlagHeard | kFlagNotOpen | kFlagClosed | kFlagMoved;
    case DatagramKind::cast_nak: return kFlagHeard | kFlagMoved;
    case DatagramKind::cast_ask: return kFlagAskAck | kFlagDirect | kFlagMoved;
    case DatagramKind::report: return kFlagAskAck | kFlagNoPart | kFlagHeard | kFlagMoved;
    case DatagramKind::tidings: return kFlagAskAck | kFlagMoved;
    case DatagramKind::noted: return kFlagMoved;
    case DatagramKind::brief: break;  // see open_brief()
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

bool body_fits(DatagramKind kind, std::uint8_t flags, std::span<const std::byte> body) noexcept {
  switch (kind) {
    case DatagramKind::data: return (flags & kFlagRecords) == 0 || is_row_of_records(body);
    case DatagramKind::ack: return body.empty();
    case DatagramKind::probe:
    case DatagramKind::probe_reply: return body.size() == sizeof(ProbeBody);
    case DatagramKind::cast:
    case DatagramKind::cast_ack:
    case DatagramKind::cast_nak:
    case DatagramKind::cast_ask:
    case DatagramKind::report:
    case DatagramKind::tidings:
    case DatagramKind::noted: return lane_body_fits(kind, flags, body);
    case DatagramKind::brief: break;
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

void seal(const Seal& seal, std::uint32_t to, std::uint32_t body_crc, std::span<std::byte> head) noexcept {
  set_tag(head.data(), tag_of(seal, to, body_crc, head.data(), head.size() >= kLargestDatagramHead));
}

namespace {

// All but the tag. `view` is filled if good.
Opened look_at(const Seal& seal, std::span<const std::byte> datagram, DatagramView& view) noexcept {
  if (datagram.size() < sizeof(DatagramHead)) return Opened::malformed;
  const auto& head = *reinterpret_cast<const DatagramHead*>(datagram.data());
  const auto kind = static_cast<DatagramKind>(static_cast<std::uint8_t>(head.kind));
  const std::uint8_t flags = head.flags;
  const bool has_ack = (flags & kFlagAck) != 0;
  const std::size_t head_bytes = has_ack ? kLargestDatagramHead : sizeof(DatagramHead);
  if (head.version != kDatagramVersion || (flags & ~known_flags(kind)) != 0 || datagram.size() < head_bytes)
    return Opened::malformed;
  const auto body = datagram.subspan(head_bytes);
  if (!body_fits(kind, flags, body)) return Opened::malformed;
  if (head.epoch != (seal.epoch & 0xff)) return Opened::stale_epoch;
  view.kind = kind;
  view.flags = flags;
  view.from = head.from;
  view.seq = head.seq;
  view.ack = has_ack ? reinterpret_cast<const AckPart*>(datagram.data() + sizeof(DatagramHead)) : nullptr;
  view.body = body;
  return Opened::good;
}

std::uint32_t body_crc_of(const DatagramView& view) noexcept {
  return view.body.empty() ? 0 : crc32c(view.body);
}

bool has_tag(std::span<const std::byte> datagram, std::uint64_t tag) noexcept {
  return reinterpret_cast<const DatagramHead*>(datagram.data())->tag == tag;
}

}  // namespace

Opened open_datagram(const Seal& seal, std::uint32_t me, std::span<const std::byte> datagram,
                     DatagramView& view) noexcept {
  DatagramView seen;
  const Opened opened = look_at(seal, datagram, seen);
  if (opened != Opened::good) return opened;
  if (!has_tag(datagram, tag_of(seal, me, body_crc_of(seen), datagram.data(), seen.ack != nullptr)))
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
    one.opened = look_at(seal, one.datagram, one.view);
    if (one.opened != Opened::good) continue;
    if (one.view.ack != nullptr) {
      if (!has_tag(one.datagram, tag_of(seal, me, body_crc_of(one.view), one.datagram.data(), true)))
        one.opened = Opened::bad_tag;
      continue;
    }
    asked[count] = {one.datagram.data(), me, body_crc_of(one.view)};
    of[count++] = &one;
    if (count == kTagsAtOnce) judge();
  }
  if (count != 0) judge();
}

}  // namespace herald::wire
