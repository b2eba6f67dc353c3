// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_context.hpp"

#include <cstring>

#include "rel/reorder.hpp"

namespace herald::rel {
namespace {

constexpr std::size_t kHead = sizeof(wire::DatagramHead);

}  // namespace

LaneContext::LaneContext(const LanesConfig& config_, Prng& prng_, LaneListener& listener_) noexcept
    : config(config_),
      prng(prng_),
      listener(listener_),
      window(is_go_back_n() ? kPaperWindow
                            : std::clamp<std::uint32_t>(config.window_packets, kMinWindow, Reorder::kMost)),
      granted(std::clamp(config.held_packets, kMinWindow, window)),
      log_pool(config.datagram_bytes, config.log_bytes),
      reorder_pool(std::max(config.datagram_bytes, config.largest_bytes), config.kept_bytes),
      heard_at(static_cast<std::size_t>(config.peers)) {}

void LaneContext::emit_bytes(const Destination& to, wire::DatagramKind kind, unsigned flags, Seq seq,
                             std::span<const std::byte> body, TxBatch& out) noexcept {
  static_assert(kHead + sizeof(wire::CastAck) <= TxBatch::kShort);
  static_assert(kHead + sizeof(wire::CastNak) + wire::kMaxNakRanges * sizeof(wire::NakRange) <=
                TxBatch::kShort);
  auto& room = out.shorts[out.count];
  const std::span<std::byte> datagram{room.data(), kHead + body.size()};
  std::memcpy(room.data() + kHead, body.data(), body.size());
  seal(to, kind, flags, seq, datagram);
  out.entries[out.count++] = {to.to, 0, datagram};
}

void LaneContext::seal(const Destination& to, wire::DatagramKind kind, unsigned flags, Seq seq,
                       std::span<std::byte> datagram) const noexcept {
  wire::write_head(datagram.data(), kind, static_cast<std::uint8_t>(flags), config.seal, config.me, seq);
  wire::seal(config.seal, to.seal, wire::crc32c(datagram.subspan(kHead)), datagram.first(kHead));
}

void LaneContext::release_reservation() noexcept {
  if (reserved != PacketPool::kNone) log_pool.give(reserved);
  reserved = PacketPool::kNone;
  reserved_by = -1;
}

}  // namespace herald::rel
