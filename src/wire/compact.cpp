// SPDX-License-Identifier: BSD-3-Clause
#include "wire/compact.hpp"

#include <array>
#include <cstring>

namespace herald::wire {
namespace {

constexpr std::size_t kPlain = offsetof(CompactHead, tag);
static_assert(kPlain == offsetof(DatagramHead, seq));

// The tag of a whole head: the bytes before the tag, then the whole number; the CRC begins with the name.
std::uint64_t tag_of(const Seal& seal, std::uint32_t to, std::uint64_t name, std::uint64_t number,
                     std::span<const std::byte> datagram) noexcept {
  std::array<std::byte, sizeof(DatagramHead)> whole{};
  const Le<std::uint32_t> seq = static_cast<std::uint32_t>(number);
  std::memcpy(whole.data(), datagram.data(), kPlain);
  std::memcpy(whole.data() + kPlain, &seq, sizeof seq);
  const Le<std::uint64_t> first = name;
  const std::uint32_t crc = crc32c(datagram.subspan(sizeof(CompactHead)),
                                   crc32c({reinterpret_cast<const std::byte*>(&first), sizeof first}));
  wire::seal(seal, to, crc, whole, {static_cast<std::uint32_t>(number >> 32), 0});
  return reinterpret_cast<const DatagramHead*>(whole.data())->tag;
}

}  // namespace

void write_compact(const Seal& seal, std::uint32_t to, std::uint64_t name, const Compact& compact,
                   std::span<std::byte> all) noexcept {
  auto& head = *reinterpret_cast<CompactHead*>(all.data());
  head.version = kDatagramVersion;
  head.kind = static_cast<std::uint8_t>(DatagramKind::compact_contribution);
  head.flags = compact.flags;
  head.epoch = static_cast<std::uint8_t>(seal.epoch);
  head.lane_index = compact.lane_index;
  head.place = compact.place;
  head.number = static_cast<std::uint8_t>(compact.number);
  head.tag = tag_of(seal, to, name, compact.number, all);
}

std::uint16_t lane_index(std::span<const std::byte> datagram) noexcept {
  if (datagram.size() < sizeof(CompactHead)) return 0;
  return reinterpret_cast<const CompactHead*>(datagram.data())->lane_index;
}

Opened open_compact(const Seal& seal, std::uint32_t me, std::uint64_t name, std::uint64_t about,
                    std::span<const std::byte> datagram, DatagramView& view) noexcept {
  if (datagram.size() < sizeof(CompactHead)) return Opened::malformed;
  const auto& head = *reinterpret_cast<const CompactHead*>(datagram.data());
  if (head.version != kDatagramVersion ||
      head.kind != static_cast<std::uint8_t>(DatagramKind::compact_contribution) ||
      (head.flags & ~(kFlagMulticastSeen | kFlagAddress)) != 0)
    return Opened::malformed;
  if (head.epoch != (seal.epoch & 0xff)) return Opened::stale_epoch;
  const auto off = static_cast<std::int8_t>(static_cast<std::uint8_t>(head.number - about));
  const std::uint64_t number = about + static_cast<std::uint64_t>(std::int64_t{off});
  if (head.tag != tag_of(seal, me, name, number, datagram)) return Opened::bad_tag;
  view.kind = DatagramKind::compact_contribution;
  view.flags = head.flags;
  view.from = head.place;
  view.seq = static_cast<std::uint32_t>(number);
  view.ack = {};
  view.body = datagram.subspan(sizeof(CompactHead));
  return Opened::good;
}

}  // namespace herald::wire
