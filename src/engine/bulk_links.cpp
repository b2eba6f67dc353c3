// SPDX-License-Identifier: BSD-3-Clause
#include "engine/bulk_links.hpp"

#include <utility>

namespace herald::engine {
namespace {

constexpr int kReads = 16, kWrites = 8;  // of one connection in one turn

}  // namespace

void BulkLinks::adopt(p2p::PeerId peer, int fd, wire::BulkSession session, bool receives) {
  if (receives)
    drop_incoming(peer);
  else
    drop_outgoing(peer);
  const int id = raw_.add(fd);
  if (id < 0) return;
  (receives ? incoming_ : outgoing_)[peer] = id;
  if (receives)
    core_.bulk().receives.on_connected(peer, std::move(session));
  else
    core_.bulk().sends.on_connected(peer, std::move(session));
}

void BulkLinks::drop_incoming(p2p::PeerId peer) {
  const auto at = incoming_.find(peer);
  if (at == incoming_.end()) return;
  raw_.close(at->second);
  incoming_.erase(at);
  core_.bulk().receives.on_closed(peer);
}

void BulkLinks::drop_outgoing(p2p::PeerId peer) {
  const auto at = outgoing_.find(peer);
  if (at == outgoing_.end()) return;
  raw_.close(at->second);
  outgoing_.erase(at);
  core_.bulk().sends.on_closed(peer);
}

bool BulkLinks::read(p2p::PeerId peer, int id, bool& broken) {
  p2p::BulkReceiver& receives = core_.bulk().receives;
  p2p::BulkReceiver::Parts parts;
  bool moved = false;
  for (int i = 0; i < kReads && raw_.may_read(id); ++i) {
    const std::size_t count = receives.room(peer, parts);
    if (count == 0) break;
    const std::ptrdiff_t came = raw_.read(id, {parts.data(), count});
    if (came == 0) break;
    moved = true;
    broken = came < 0 || !receives.on_read(peer, static_cast<std::size_t>(came));
    if (broken) break;
  }
  return moved;
}

bool BulkLinks::write(p2p::PeerId peer, int id, bool& broken) {
  p2p::BulkSender& sends = core_.bulk().sends;
  p2p::BulkSender::Parts parts;
  bool moved = false;
  for (int i = 0; i < kWrites && raw_.may_write(id); ++i) {
    const std::size_t count = sends.gather(peer, parts);
    if (count == 0) break;
    const std::ptrdiff_t left = raw_.write(id, {parts.data(), count}, sends.has_more(peer));
    if (left == 0) break;
    moved = true;
    broken = left < 0;
    if (broken) break;
    sends.on_written(peer, static_cast<std::size_t>(left));
  }
  // Nothing comes by it: what is readable is its end.
  if (!broken && raw_.may_read(id)) {
    std::byte nothing;
    const std::span<std::byte> one{&nothing, 1};
    broken = raw_.read(id, {&one, 1}) != 0;
  }
  return moved;
}

bool BulkLinks::turn(bool quiet) {
  if (raw_.is_empty()) return false;
  if (!quiet) raw_.look();
  bool moved = false;
  const auto run = [&](const Connections& connections, auto move, auto drop) {
    for (auto at = connections.begin(); at != connections.end();) {
      const auto [peer, id] = *at++;
      bool broken = false;
      moved = (this->*move)(peer, id, broken) || moved;
      if (broken) (this->*drop)(peer);
    }
  };
  run(incoming_, &BulkLinks::read, &BulkLinks::drop_incoming);
  run(outgoing_, &BulkLinks::write, &BulkLinks::drop_outgoing);
  p2p::Bulk& bulk = core_.bulk();
  for (p2p::PeerId peer = bulk.receives.take_broken(); peer >= 0; peer = bulk.receives.take_broken())
    drop_incoming(peer);
  for (p2p::PeerId peer = bulk.sends.take_broken(); peer >= 0; peer = bulk.sends.take_broken())
    drop_outgoing(peer);
  return moved;
}

void BulkLinks::close() {
  while (!incoming_.empty()) drop_incoming(incoming_.begin()->first);
  while (!outgoing_.empty()) drop_outgoing(outgoing_.begin()->first);
}

}  // namespace herald::engine
