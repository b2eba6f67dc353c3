// SPDX-License-Identifier: BSD-3-Clause
#include "wire/p2p_packet.hpp"

namespace herald::wire {
namespace {

template <class Packet>
bool fits(std::span<const std::byte> packet, std::uint16_t known_flags) noexcept {
  return packet.size() == sizeof(Packet) && (as<P2pPrefix>(packet).flags & ~known_flags) == 0;
}

template <class Packet>
bool fits_with_payload(std::span<const std::byte> packet, std::uint16_t known_flags) noexcept {
  return packet.size() >= sizeof(Packet) && (as<P2pPrefix>(packet).flags & ~known_flags) == 0;
}

bool eager_fits(std::span<const std::byte> packet) noexcept {
  const auto& header = as<EagerPacket>(packet);
  const std::size_t behind = packet.size() - sizeof header;
  if ((header.prefix.flags & kFlagInPlace) == 0) return behind <= header.push_bytes;
  return header.push_bytes == 0 && behind % sizeof(RunPart) == 0 && behind != 0 &&
         behind <= kMaxRuns * sizeof(RunPart);
}

bool service_fits(std::span<const std::byte> packet) noexcept {
  const auto& header = as<ServicePacket>(packet);
  const std::size_t behind = packet.size() - sizeof header;
  if (header.header_bytes > kMaxServiceHeader || header.header_bytes > behind) return false;
  if ((header.prefix.flags & kFlagBulk) != 0)
    return behind == header.header_bytes && header.bulk_bytes != 0 && header.bulk_tag >= 0;
  return header.bulk_bytes == 0 && header.bulk_tag == 0;
}

// Removes the first part from `rest`; false: none fits.
bool next_part(std::span<const std::byte>& rest, std::uint32_t& to,
               std::span<const std::byte>& packet) noexcept {
  if (rest.size() < sizeof(BundlePart)) return false;
  const auto& part = as<BundlePart>(rest);
  const std::size_t bytes = part.bytes;
  if (bytes < sizeof(P2pPrefix) || bytes > rest.size() - sizeof part) return false;
  to = part.to;
  packet = rest.subspan(sizeof part, bytes);
  rest = rest.subspan(sizeof part + bytes);
  return true;
}

bool bundle_fits(std::span<const std::byte> bundle) noexcept {
  std::span<const std::byte> rest = bundle.subspan(sizeof(BundlePacket)), packet;
  if (rest.empty()) return false;
  for (std::uint32_t to = 0; !rest.empty();)
    if (!next_part(rest, to, packet)) return false;
  return true;
}

}  // namespace

std::span<const std::byte> part_for(std::uint32_t member, std::span<const std::byte> bundle) noexcept {
  std::span<const std::byte> rest = bundle.subspan(sizeof(BundlePacket)), packet;
  for (std::uint32_t to = 0; next_part(rest, to, packet);)
    if (to == member) return packet;
  return {};
}

bool decode(std::span<const std::byte> packet, P2pKind& kind) noexcept {
  if (packet.size() < sizeof(P2pPrefix)) return false;
  const auto& prefix = as<P2pPrefix>(packet);
  if (prefix.version != kP2pVersion) return false;
  const auto claimed = static_cast<P2pKind>(static_cast<std::uint8_t>(prefix.kind));
  bool good = false;
  switch (claimed) {
    case P2pKind::eager:
      good = fits_with_payload<EagerPacket>(
                 packet, kFlagSynchronous | kFlagCast | kFlagInPlace | kFlagIncompleteData) &&
             eager_fits(packet);
      break;
    case P2pKind::eager_compact: good = packet.size() >= sizeof(CompactPacket); break;  // has no flags
    case P2pKind::pull:
      good = fits<PullPacket>(packet, kFlagByBulk | kFlagResume) &&
             as<P2pPrefix>(packet).flags != (kFlagByBulk | kFlagResume);
      break;
    case P2pKind::bulk_lost: good = fits<BulkLostPacket>(packet, 0); break;
    case P2pKind::data:
      good = fits_with_payload<DataPacket>(packet, kFlagPushed | kFlagCast) &&
             packet.size() > sizeof(DataPacket);
      break;
    case P2pKind::ack: good = fits<AckPacket>(packet, 0); break;
    case P2pKind::goodbye: good = fits<GoodbyePacket>(packet, 0); break;
    case P2pKind::allowance: good = fits<AllowancePacket>(packet, 0); break;
    case P2pKind::split_copy: good = fits<SplitCopyPacket>(packet, 0); break;
    case P2pKind::split_copy_done: good = fits<SplitCopyDonePacket>(packet, 0); break;
    case P2pKind::bundle: good = fits_with_payload<BundlePacket>(packet, 0) && bundle_fits(packet); break;
    case P2pKind::service:
      good = fits_with_payload<ServicePacket>(packet, kFlagBulk) && service_fits(packet);
      break;
  }
  if (good) kind = claimed;
  return good;
}

}  // namespace herald::wire
