// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a peer that has the key but is faulty makes the mesh read out of bounds, store more
// than its limits, or never become idle. The input is a sequence of steps: a kind, two bytes, and for a
// datagram its length and bytes. Datagrams get a right tag; their numbers count from the first that a channel
// has, so that small ones are valid.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "rel/mesh.hpp"
#include "rel/seq.hpp"

using namespace herald;

namespace {

constexpr int kPeers = 4;
constexpr rel::LinkId kLinks = 2;

struct Above final : rel::Listener {
  int refusals = 0;
  Status deliver(rel::PeerId from, std::span<const std::byte> packet) noexcept override {
    if (from <= 0 || from >= kPeers || packet.size() > 4096) std::abort();
    return refusals > 0 && refusals-- > 0 ? Status::again : Status::ok;
  }
  void returned(rel::PeerId, std::uint32_t) noexcept override {}
  void peer_lost(rel::PeerId peer) noexcept override {
    if (peer <= 0 || peer >= kPeers) std::abort();
  }
  void link_changed(rel::PeerId, rel::LinkId link, bool) noexcept override {
    if (link >= kLinks) std::abort();
  }
};

rel::MeshConfig make_config() {
  rel::MeshConfig config;
  config.peers = kPeers;
  config.seal = {{1, 2}, 3};
  config.log_bytes = 64 << 10;
  config.budget_bytes = 32 << 10;
  return config;
}

// As a peer would have sent it, except for the fields of the input.
void make_plausible(const rel::MeshConfig& config, rel::PeerId from, std::vector<std::byte>& datagram) {
  if (datagram.size() < sizeof(wire::DatagramHead)) return;
  auto& head = *reinterpret_cast<wire::DatagramHead*>(datagram.data());
  head.version = wire::kDatagramVersion;
  head.epoch = static_cast<std::uint8_t>(config.seal.epoch);
  head.from = static_cast<std::uint32_t>(from);
  head.seq = head.seq + config.first_seq;
  wire::Le<std::uint32_t> next = config.first_seq;
  std::size_t head_bytes = wire::head_bytes(head.flags);
  if (head_bytes > datagram.size()) head_bytes = sizeof head;
  if (head_bytes == wire::kLargestDatagramHead) {
    auto& ack = *reinterpret_cast<wire::AckPart*>(datagram.data() + sizeof head);
    ack.next = ack.next + config.first_seq;
    ack.credit = ack.credit + config.first_seq;
    ack.newest = ack.newest + config.first_seq;
    next = ack.next;
  } else if (head_bytes > sizeof head) {
    auto& ack = *reinterpret_cast<wire::ShortAck*>(datagram.data() + sizeof head);
    ack.next = ack.next + config.first_seq;
    next = ack.next;
  }
  const std::span<std::byte> all(datagram);
  const rel::WholeSeq first(config.first_seq);
  wire::UpperHalves upper;
  if (head.kind == static_cast<std::uint8_t>(wire::DatagramKind::data) ||
      head.kind == static_cast<std::uint8_t>(wire::DatagramKind::ack))
    upper = {rel::upper_half(first.nearest(head.seq)), rel::upper_half(first.nearest(next))};
  if (head_bytes == sizeof head) upper.next = 0;
  wire::seal(config.seal, 0, wire::crc32c(all.subspan(head_bytes)), all.first(head_bytes), upper);
}

void transmit(rel::Mesh& mesh, Instant now) {
  rel::TxBatch batch;
  // Each call must do something, or report that there is nothing to do.
  for (int i = 0; i < 10000; ++i) {
    batch.clear();
    if (mesh.poll_transmit(now, batch) == 0) return;
    for (std::size_t k = 0; k < batch.count; ++k)
      if (batch.entries[k].datagram.size() > 1472 || batch.entries[k].link >= kLinks) std::abort();
  }
  std::abort();
}

void commit(rel::Mesh& mesh, rel::PeerId peer, std::size_t bytes) {
  const std::span<std::byte> room = mesh.reserve(peer, bytes);
  if (room.size() < bytes) return;
  std::fill_n(room.begin(), bytes, std::byte{7});
  mesh.commit(peer, bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const rel::MeshConfig config = make_config();
  Prng chance(1);
  Above above;
  rel::Mesh mesh(config, chance, above);
  for (rel::PeerId peer = 1; peer < kPeers; ++peer) mesh.add_peer(peer, kLinks);
  Instant now{1000000};
  while (size >= 3) {
    const std::uint8_t what = data[0] & 7, a = data[1], b = data[2];
    data += 3, size -= 3;
    const rel::PeerId peer = 1 + a % (kPeers - 1);
    if (what < 4 && size > 0) {
      const std::size_t bytes = std::min<std::size_t>(data[0], size - 1);
      std::vector<std::byte> datagram(bytes);
      if (bytes > 0) std::memcpy(datagram.data(), data + 1, bytes);
      data += 1 + bytes, size -= 1 + bytes;
      if (what == 2) datagram.resize(bytes + 8 * b);  // perhaps longer than local links carry
      make_plausible(config, peer, datagram);
      above.refusals = what == 3 ? b % 4 : 0;
      (void)mesh.on_datagram(now, b % (kLinks + 1) == kLinks ? rel::kMostLinks : b % kLinks, datagram);
      mesh.redeliver();
    } else if (what == 4) {
      now = now + microseconds(1 + a * b * 8);
      mesh.on_deadline(now);
    } else if (what == 5) {
      commit(mesh, peer, 1 + b * 5);
    } else if (what == 6) {
      mesh.on_link_error(now, peer, b % kLinks);
    } else if (what == 7) {
      transmit(mesh, now);
    }
    if (mesh.buffered_bytes() > 16 * (config.log_bytes + config.budget_bytes)) std::abort();
  }
  transmit(mesh, now);
  return 0;
}
