// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/core.hpp"

namespace herald::p2p {

using namespace wire;

Core::Core(const CoreConfig& config) noexcept
    : config_(config),
      peers_(config.peers),
      flow_(config_, peers_),
      matcher_(flow_, done_.counters),
      services_(done_, sender_, receiver_),
      partitioned_(services_),
      casts_(config_, done_, sender_),
      direct_(config_, peers_, done_, sender_, receiver_),
      ads_(config_, peers_, headers_, direct_),
      bulk_(config_, peers_, receiver_),
      sender_(config_, peers_, flow_, headers_, direct_, casts_, services_, bulk_.sends, done_),
      receiver_(config_, peers_, flow_, headers_, matcher_, direct_, ads_, services_, bulk_.receives, done_) {
  services_.register_handler(ServiceId::cancel, {Receiver::on_cancel, nullptr, &receiver_, true});
  services_.register_handler(ServiceId::cancel_reply, {Sender::on_cancel_reply, nullptr, &sender_, true});
}

void Core::set_remote(PeerId id) noexcept {
  peers_[id].remote = true;
  peers_[id].push_left = static_cast<std::int32_t>(config_.remote_allowance);
}

std::size_t Core::poll_transmit(PeerId id, std::span<std::byte> room, Borrowed* borrowed) noexcept {
  Peer& to = peers_[id];
  std::size_t size = peers_.take_control(to, room);
  if (size == 0) size = sender_.write_next(to, room, borrowed);
  peers_.stop_wanting_if_idle(to);
  return size;
}

Status Core::on_packet(PeerId from, std::span<const std::byte> packet) noexcept {
  P2pKind kind{};
  bool good = peers_.has(from);
  if (good && is_eager_compact(packet)) [[likely]]
    return receiver_.on_eager(from, true, packet);
  good = good && decode(packet, kind);
  if (!good) return done_.bad_packet();
  switch (kind) {
    case P2pKind::eager: return receiver_.on_eager(from, false, packet);
    case P2pKind::eager_compact: return receiver_.on_eager(from, true, packet);
    case P2pKind::data: return receiver_.on_data(from, packet);
    case P2pKind::bundle: return receiver_.on_bundle(from, packet);
    case P2pKind::service: return services_.on_packet(from, packet);
    case P2pKind::pull: good = sender_.on_pull(from, as<PullPacket>(packet)); break;
    case P2pKind::ack: good = sender_.on_ack(from, as<AckPacket>(packet)); break;
    case P2pKind::allowance: good = flow_.on_allowance(from, as<AllowancePacket>(packet)); break;
    case P2pKind::split_copy: good = direct_.on_split_copy(from, as<SplitCopyPacket>(packet)); break;
    case P2pKind::split_copy_done:
      good = direct_.on_split_copy_done(from, as<SplitCopyDonePacket>(packet).split_copy);
      break;
    case P2pKind::bulk_lost: good = bulk_.receives.on_lost(from, as<BulkLostPacket>(packet)); break;
    case P2pKind::goodbye: on_peer_gone(from); break;
  }
  return good ? Status::ok : done_.bad_packet();
}

void Core::on_peer_gone(PeerId id) noexcept {
  Peer& lost = peers_[id];
  if (lost.gone) return;
  lost.gone = true;
  ++done_.counters.peers_gone;
  peers_.drop_controls(lost);
  direct_.on_peer_gone(id);
  sender_.on_peer_gone(id);
  peers_.stop_wanting_if_idle(lost);
  receiver_.on_peer_gone(id);
}

}  // namespace herald::p2p
