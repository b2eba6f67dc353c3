// SPDX-License-Identifier: BSD-3-Clause
#include "rel/peer_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/fatal.hpp"

namespace herald::rel {

PeerTable::PeerTable(const MeshConfig& config) noexcept
    : config_(config),
      connections_(static_cast<std::size_t>(config.peers)),
      links_(static_cast<std::size_t>(config.peers)),
      job_seal_{config.seal,
                config.me,
                static_cast<std::uint32_t>(config.me),
                PeerSeal::kById,
                static_cast<std::uint16_t>(config.datagram_bytes),
                config.eager_packets} {}

void PeerTable::add(PeerId peer, LinkId links, const std::optional<PairIdentity>& pair) noexcept {
  HERALD_ASSERT(peer >= 0 && links > 0 && links <= kMostLinks);
  const auto at = static_cast<std::size_t>(peer);
  if (at >= connections_.size()) {
    connections_.resize(at + 1);
    links_.resize(at + 1);
  }
  HERALD_ASSERT(links_[at] == 0);
  links_[at] = links;
  if (!pair) return;
  PeerSeal seal = job_seal_;
  seal.key = pair->key;
  if (pair->from >= 0) {
    seal.epoch = pair->epoch;
    seal.from = pair->from;
    seal.me = pair->me;
    seal.to = pair->to;
    seal.segment = static_cast<std::uint16_t>(std::min(config_.datagram_bytes, pair->datagram_bytes));
    seal.eager_packets = pair->eager_packets;
  }
  pair_seals_.push_back(seal);
  make(peer, pair_seals_.back());
}

Connection* PeerTable::make(PeerId peer, const PeerSeal& seal) noexcept {
  const std::size_t place = made_++ % kBlock;
  if (place == 0) blocks_.push_back(std::make_unique<Connection[]>(kBlock));
  Connection* const ch = &blocks_.back()[place];
  const Seq first = config_.first_seq;
  ch->peer = peer;
  ch->seal = &seal;
  ch->detector = FailureDetector(config_.give_up, config_.warn_after);
  ch->links.set_size(links_[static_cast<std::size_t>(peer)]);
  ch->tx.log.start_at(first);
  ch->tx.upper = ch->rx.upper = UpperHalf(config_.first_upper);
  ch->tx.next_tx = ch->tx.lost_from = ch->tx.cursor.next = first;
  ch->rx.next = ch->rx.delivered = ch->rx.end = first;
  ch->rx.newest = first - 1;
  ch->rx.window = ch->rx.advertised = static_cast<std::uint16_t>(config_.eager_packets);
  ch->tx.cursor.limit = first + seal.eager_packets;
  ch->rx.limit = first + config_.eager_packets;
  connections_[static_cast<std::size_t>(peer)] = ch;
  return ch;
}

const PeerSeal& PeerTable::seal_of(std::span<const std::byte> datagram) const noexcept {
  if (pair_seals_.empty() || datagram.size() < sizeof(wire::DatagramHead)) return job_seal_;
  wire::Le<std::uint32_t> from;
  std::memcpy(&from, datagram.data() + offsetof(wire::DatagramHead, from), sizeof from);
  const Connection* const ch = find(std::uint32_t{from});
  return ch == nullptr ? job_seal_ : *ch->seal;
}

// Of the numbers of a datagram that is not opened yet.
wire::UpperHalves PeerTable::upper_halves(std::span<const std::byte> datagram) const noexcept {
  if (datagram.size() < sizeof(wire::DatagramHead)) return {};
  wire::DatagramHead head;
  std::memcpy(&head, datagram.data(), sizeof head);
  const auto kind = static_cast<wire::DatagramKind>(std::uint8_t{head.kind});
  if (kind != wire::DatagramKind::data && kind != wire::DatagramKind::ack) return {};
  const Connection* const ch = find(std::uint32_t{head.from});
  wire::UpperHalves upper;
  upper.seq = upper_half((ch == nullptr ? first_number() : ch->rx.whole()).nearest(head.seq));
  wire::Le<std::uint32_t> next;
  if ((head.flags & wire::kFlagAck) == 0 || datagram.size() < sizeof head + sizeof next) return upper;
  std::memcpy(&next, datagram.data() + sizeof head, sizeof next);
  upper.next = upper_half((ch == nullptr ? first_number() : ch->tx.whole()).nearest(next));
  return upper;
}

wire::Opened PeerTable::open(std::span<const std::byte> datagram, wire::DatagramView& view) const noexcept {
  const PeerSeal& seal = seal_of(datagram);
  return wire::open_datagram(seal, seal.me, datagram, view, upper_halves(datagram));
}

// Each row of datagrams under the same key together.
void PeerTable::open(std::span<wire::OpenedDatagram> all) const noexcept {
  for (std::size_t first = 0, end = 0; first < all.size(); first = end) {
    const PeerSeal& seal = seal_of(all[first].datagram);
    for (end = first; end < all.size() && &seal_of(all[end].datagram) == &seal; ++end)
      all[end].upper = upper_halves(all[end].datagram);
    wire::open_datagrams(seal, seal.me, all.subspan(first, end - first));
  }
}

}  // namespace herald::rel
