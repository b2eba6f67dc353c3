// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_context.hpp"

#include <cstring>

#include "rel/peer_liveness.hpp"
#include "rel/reorder.hpp"

namespace herald::rel {
namespace {

constexpr std::size_t kHead = sizeof(wire::DatagramHead);

}  // namespace

LaneContext::LaneContext(const LanesConfig& config_, Prng& prng_, LaneListener& listener_,
                         PeerLiveness* peers_) noexcept
    : config(config_),
      prng(prng_),
      listener(listener_),
      window(is_go_back_n() ? kPaperWindow
                            : std::clamp<std::uint32_t>(config.window_packets, kMinWindow, Reorder::kMost)),
      granted(std::clamp(config.held_packets, kMinWindow, window)),
      log_pool(config.datagram_bytes, config.log_bytes),
      reorder_pool(std::max(config.datagram_bytes, config.largest_bytes), config.kept_bytes),
      peers(peers_) {}

void LaneContext::on_arrival(PeerId peer) noexcept {
  if (peers != nullptr && arrival_link != UINT8_MAX) peers->on_lane_datagram(peer, arrival_link);
}

void LaneContext::on_news(Instant now, PeerId peer) noexcept {
  if (peers != nullptr) peers->on_news(now, peer);
}

void LaneContext::on_unanswered(Instant now, PeerId peer) noexcept {
  if (peers != nullptr) peers->on_unanswered(now, peer);
}

void LaneContext::push(const Destination& to, std::span<const std::byte> datagram, TxBatch& out) noexcept {
  const bool direct = to.to >= 0 && peers != nullptr;
  // Nobody answers an ack, so its link is not to blame for what stays unanswered.
  const auto link_to_peer = [&] {
    return peers->link_to(clock, to.to, !wire::has_kind(datagram, wire::DatagramKind::cast_ack));
  };
  const Tx one{to.to, direct ? link_to_peer() : to.interface, datagram};
  if (peers != nullptr && datagram.size() > peers->least_segment()) [[unlikely]] {
    const std::size_t segment = direct ? peers->segment_to(one.to, one.link) : peers->least_segment();
    const wire::Seal& seal_of_parts = direct ? peers->seal_to(one.to) : config.seal;
    if (datagram.size() > segment)
      return splitter.split(one, segment, seal_of_parts, config.me, direct ? to.seal : wire::kGroupFragment);
  }
  out.entries[out.count++] = one;
}

std::size_t LaneContext::datagram_bytes() const noexcept {
  return peers == nullptr ? config.datagram_bytes
                          : std::min<std::size_t>(config.datagram_bytes, peers->least_segment());
}

void LaneContext::suspect_segment(Instant now, PeerId peer, std::size_t bytes) noexcept {
  if (peers != nullptr) peers->suspect_segment(now, peer, bytes);
}

void LaneContext::emit_bytes(const Destination& to, wire::DatagramKind kind, unsigned flags,
                             std::uint64_t number, std::span<const std::byte> body, TxBatch& out) noexcept {
  static_assert(kHead + sizeof(wire::CastAck) <= TxBatch::kShort);
  static_assert(kHead + sizeof(wire::CastNak) + wire::kMaxNakRanges * sizeof(wire::NakRange) <=
                TxBatch::kShort);
  auto& room = out.shorts[out.count];
  const std::span<std::byte> datagram{room.data(), kHead + body.size()};
  std::memcpy(room.data() + kHead, body.data(), body.size());
  seal(to, kind, flags, number, datagram);
  push(to, datagram, out);
}

void LaneContext::seal(const Destination& to, wire::DatagramKind kind, unsigned flags, std::uint64_t number,
                       std::span<std::byte> datagram) const noexcept {
  wire::write_head(datagram.data(), kind, static_cast<std::uint8_t>(flags), config.seal, config.me,
                   static_cast<Seq>(number));
  wire::seal(config.seal, to.seal, config.seal.body_crc(datagram.subspan(kHead)), datagram.first(kHead),
             {upper_half(number), 0});
}

void LaneContext::release_reservation() noexcept {
  if (reserved != PacketPool::kNone) log_pool.give(reserved);
  reserved = PacketPool::kNone;
  reserved_by = -1;
}

}  // namespace herald::rel
