// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/tcp.hpp"

#include <algorithm>

#include "rel/peer_liveness.hpp"

namespace herald::sim {
namespace {

constexpr std::size_t kSmall = 64;  // bytes of a frame without a datagram
constexpr Duration kUserTimeout = milliseconds(2000);
constexpr Duration kSocket = milliseconds(1);  // of the line: what a socket holds
constexpr std::size_t kMostWritten = 24'000;   // bytes in one call

}  // namespace

void TcpNet::put(HostId to, Frame frame, std::size_t bytes) {
  ++frames_;
  const NetConfig& config = net_.config();
  Instant& free = line_free_[{frame.from, to}];
  const auto line_ns = static_cast<std::int64_t>(static_cast<double>(bytes + kSmall) * 8e9 /
                                                 static_cast<double>(config.shape.bits_per_second));
  free = std::max(free, net_.now()) + Duration{line_ns};
  frame.at = free + config.shape.delay + config.shape.delay;
  auto& queue = inbox_[static_cast<std::size_t>(to)];
  auto at = queue.end();
  while (at != queue.begin() && frame.at < std::prev(at)->at) --at;
  const Instant arrives = frame.at;
  queue.insert(at, std::move(frame));
  net_.poke(to, arrives);
}

// Both ends find it open after the round trips of a handshake. A second one of the same pair takes the place
// of the first, as the loser of two that crossed is closed.
void TcpNet::connect(HostId from, HostId to) {
  if (refuses_ || silent_) {
    put(from, {Frame::Kind::closed, to}, 0);
    return;
  }
  const std::uint32_t epoch = ++last_epoch_;
  open_[std::minmax(from, to)] = epoch;
  put(to, {Frame::Kind::connected, from, {}, epoch}, 2 * kSmall);
  put(from, {Frame::Kind::connected, to, {}, epoch}, 3 * kSmall);
}

void TcpNet::send(HostId from, HostId to, Frame frame) {
  const auto at = open_.find(std::minmax(from, to));
  if (at == open_.end() || silent_) return;
  frame.from = from;
  frame.epoch = at->second;
  if (frame.kind == Frame::Kind::datagram) ++datagrams_;
  const std::size_t bytes = frame.bytes.size();
  put(to, std::move(frame), bytes);
}

void TcpNet::close(HostId one, HostId other) {
  const auto at = open_.find(std::minmax(one, other));
  if (at == open_.end()) return;
  const std::uint32_t epoch = at->second;
  open_.erase(at);
  put(one, {Frame::Kind::closed, other, {}, epoch}, 0);
  put(other, {Frame::Kind::closed, one, {}, epoch}, 0);
}

void TcpNet::connect_bulk(HostId from, HostId to) {
  Frame frame{Frame::Kind::closed, to};
  frame.of_bulk = frame.receives = true;
  if (refuses_ || silent_) return put(from, std::move(frame), 0);
  frame.kind = Frame::Kind::connected;
  frame.epoch = bulk_[{from, to}] = ++last_epoch_;
  Frame other = frame;
  other.from = from;
  other.receives = false;
  put(to, std::move(other), 2 * kSmall);
  put(from, std::move(frame), 3 * kSmall);
}

// Bytes that vanish in silence are not acknowledged: the system of the sender finds that out
// (TCP_USER_TIMEOUT).
void TcpNet::send_bulk(HostId from, HostId to, std::span<const std::byte> bytes) {
  const auto at = bulk_.find({to, from});
  if (at == bulk_.end()) return;
  if (silent_) {
    const std::uint32_t epoch = at->second;
    net_.at(net_.now() + kUserTimeout, "TCP_USER_TIMEOUT", [this, from, to, epoch](Net&) {
      if (const auto now = bulk_.find({to, from}); now != bulk_.end() && now->second == epoch)
        close_bulk(to, from);
    });
    return;
  }
  Frame frame{Frame::Kind::bulk, from};
  frame.epoch = at->second;
  frame.of_bulk = frame.receives = true;
  frame.bytes.assign(bytes.begin(), bytes.end());
  if (std::exchange(corrupts_, false)) frame.bytes[bytes.size() / 2] ^= std::byte{4};
  bulk_bytes_ += bytes.size();
  put(to, std::move(frame), bytes.size());
}

void TcpNet::close_bulk(HostId receiver, HostId sender) {
  const auto at = bulk_.find({receiver, sender});
  if (at == bulk_.end()) return;
  bulk_.erase(at);
  Frame frame{Frame::Kind::closed, sender};
  frame.of_bulk = frame.receives = true;
  put(receiver, frame, 0);
  frame.from = receiver;
  frame.receives = false;
  put(sender, std::move(frame), 0);
}

Instant TcpNet::may_send_at(HostId from, HostId to) const {
  const auto at = line_free_.find({from, to});
  return at == line_free_.end() ? Instant{} : Instant{at->second.ns - kSocket.ns};
}

bool TcpNet::may_send(HostId from, HostId to) const { return may_send_at(from, to) <= net_.now(); }

void TcpNet::cut_all() {
  while (!bulk_.empty()) close_bulk(bulk_.begin()->first.first, bulk_.begin()->first.second);
  while (!open_.empty()) close(open_.begin()->first.first, open_.begin()->first.second);
}

// Frames of a connection that is closed by now are lost.
bool TcpNet::is_lost(HostId host, const Frame& frame) const {
  if (frame.kind == Frame::Kind::closed) return false;
  if (frame.of_bulk) {
    const auto at = bulk_.find(frame.receives ? Pair{host, frame.from} : Pair{frame.from, host});
    return at == bulk_.end() || at->second != frame.epoch;
  }
  const auto at = open_.find(std::minmax(host, frame.from));
  return at == open_.end() || at->second != frame.epoch;
}

bool TcpNet::take(HostId host, Frame& frame) {
  auto& queue = inbox_[static_cast<std::size_t>(host)];
  while (!queue.empty() && queue.front().at <= net_.now()) {
    frame = std::move(queue.front());
    queue.pop_front();
    if (!is_lost(host, frame)) return true;
  }
  return false;
}

// Lost frames wake nobody.
Instant TcpNet::next_arrival(HostId host) const {
  const auto& queue = inbox_[static_cast<std::size_t>(host)];
  const auto next =
      std::find_if(queue.begin(), queue.end(), [&](const Frame& each) { return !is_lost(host, each); });
  return next == queue.end() ? kNever : next->at;
}

void TcpEnd::send(const rel::Tx& tx) {
  TcpNet::Frame frame{TcpNet::Frame::Kind::datagram, me_};
  frame.link = tx.link;
  frame.bytes.assign(tx.datagram.begin(), tx.datagram.end());
  frame.bytes.insert(frame.bytes.end(), tx.rest.begin(), tx.rest.end());
  tcp_.send(me_, tx.to, std::move(frame));
}

bool TcpEnd::take_probe(Instant now, std::span<const std::byte> datagram) {
  if (!wire::is_udp_probe(datagram)) return false;
  const auto from = static_cast<HostId>(wire::probe_sender(datagram));
  wire::UdpProbe probe;
  if (!session(from).read_probe(datagram, probe)) return false;
  choice_.on_probe(now, from, probe.number);
  return true;
}

void TcpEnd::on_frame(Instant now, const TcpNet::Frame& frame) {
  using Kind = TcpNet::Frame::Kind;
  if (frame.of_bulk) return on_bulk_frame(now, frame);
  switch (frame.kind) {
    case Kind::connected: choice_.on_connected(now, frame.from); break;
    case Kind::closed:
      if (tcp_.is_open(me_, frame.from)) break;  // an older one
      if (choice_.is_connected(frame.from))
        choice_.on_disconnected(now, frame.from);
      else
        choice_.on_connect_failed(now, frame.from);
      break;
    case Kind::report:
      choice_.on_report(now, frame.from, frame.report.number, frame.report.heard, frame.report.by_tcp);
      break;
    case Kind::datagram: {
      choice_.on_datagram(now, frame.from);
      const rel::Mesh::Rx one{frame.link, frame.bytes};
      (void)node_.on_datagrams(now, {&one, 1});
      break;
    }
    case Kind::bulk: break;
  }
}

// The number of the connection stands for the nonces of a handshake.
wire::BulkSession TcpEnd::bulk_session(HostId receiver, HostId sender, std::uint32_t epoch) const {
  const wire::StreamSession tags{seal_,
                                 static_cast<std::uint32_t>(receiver),
                                 static_cast<std::uint32_t>(sender),
                                 {epoch, 0},
                                 {},
                                 wire::StreamUse::bulk};
  return security_.protect(tags);
}

void TcpEnd::on_bulk_frame(Instant now, const TcpNet::Frame& frame) {
  using Kind = TcpNet::Frame::Kind;
  p2p::Bulk& bulk = node_.core().bulk();
  if (frame.kind == Kind::bulk) {
    std::vector<std::byte>& unread = unread_[frame.from];
    unread.insert(unread.end(), frame.bytes.begin(), frame.bytes.end());
    return;
  }
  const bool opened = frame.kind == Kind::connected;
  if (!frame.receives) {
    if (opened)
      bulk.sends.on_connected(frame.from, bulk_session(frame.from, me_, frame.epoch));
    else if (!tcp_.is_bulk_open(frame.from, me_))
      bulk.sends.on_closed(frame.from);
    return;
  }
  if (opened) {
    unread_[frame.from].clear();
    bulk.receives.on_connected(frame.from, bulk_session(me_, frame.from, frame.epoch));
  } else if (!tcp_.is_bulk_open(me_, frame.from)) {
    unread_.erase(frame.from);
    bulk.receives.on_closed(frame.from);
    bulk.receives.choice().on_closed(now, frame.from);
  }
}

bool TcpEnd::read_bulk(HostId from, std::vector<std::byte>& unread) {
  p2p::BulkReceiver& receives = node_.core().bulk().receives;
  std::size_t at = 0;
  for (p2p::BulkReceiver::Parts parts; at < unread.size();) {
    const std::size_t count = receives.room(from, parts);
    if (count == 0) break;
    const std::size_t begin = at;
    for (std::size_t i = 0; i < count && at < unread.size(); ++i) {
      const std::size_t bytes = std::min(parts[i].size(), unread.size() - at);
      std::copy_n(unread.begin() + static_cast<std::ptrdiff_t>(at), bytes, parts[i].begin());
      at += bytes;
    }
    if (receives.on_read(from, at - begin)) continue;
    tcp_.close_bulk(me_, from);
    unread.clear();
    return true;
  }
  unread.erase(unread.begin(), unread.begin() + static_cast<std::ptrdiff_t>(at));
  return at != 0;
}

bool TcpEnd::write_bulk(HostId to) {
  p2p::BulkSender& sends = node_.core().bulk().sends;
  p2p::BulkSender::Parts parts;
  bool moved = false;
  while (tcp_.may_send(me_, to)) {
    const std::size_t count = sends.gather(to, parts);
    if (count == 0) return moved;
    const auto part = parts[0].first(std::min(parts[0].size(), kMostWritten));
    tcp_.send_bulk(me_, to, part);
    sends.on_written(to, part.size());
    moved = true;
  }
  if (sends.wants_to_send(to)) bulk_at_ = std::min(bulk_at_, tcp_.may_send_at(me_, to));
  return moved;
}

bool TcpEnd::turn_bulk() {
  p2p::Bulk& bulk = node_.core().bulk();
  bool moved = false;
  bulk_at_ = kNever;
  tcp_.count_resumed(bulk.receives.resumed() - std::exchange(counted_, bulk.receives.resumed()));
  for (HostId peer = bulk.receives.choice().take_wanted(); peer >= 0;
       peer = bulk.receives.choice().take_wanted())
    tcp_.connect_bulk(me_, peer);
  for (auto& [from, unread] : unread_) moved = read_bulk(from, unread) || moved;
  for (HostId to = 0; to < net_.config().hosts; ++to)
    if (bulk.sends.wants_to_send(to)) moved = write_bulk(to) || moved;
  for (HostId peer = bulk.receives.take_broken(); peer >= 0; peer = bulk.receives.take_broken())
    tcp_.close_bulk(me_, peer);
  for (HostId peer = bulk.sends.take_broken(); peer >= 0; peer = bulk.sends.take_broken())
    tcp_.close_bulk(peer, me_);
  return moved;
}

bool TcpEnd::turn(Instant now) {
  for (const rel::PeerId peer : node_.mesh().liveness().take_silent()) choice_.on_silent(now, peer);
  TcpNet::Frame frame;
  bool came = false;
  while (tcp_.take(me_, frame)) {
    on_frame(now, frame);
    came = true;
  }
  act(now);
  (void)choice_.take_changes();
  return came;
}

void TcpEnd::act(Instant now) {
  using Kind = node::PathChoice::Action::Kind;
  for (auto action = choice_.poll(now); action.kind != Kind::none; action = choice_.poll(now)) {
    switch (action.kind) {
      case Kind::connect: tcp_.connect(me_, action.peer); break;
      case Kind::report: {
        TcpNet::Frame frame{TcpNet::Frame::Kind::report, me_};
        frame.report = action;
        tcp_.send(me_, action.peer, std::move(frame));
        break;
      }
      case Kind::probe: {
        const wire::UdpProbe probe =
            session(action.peer).make_probe(static_cast<std::uint32_t>(me_), action.number);
        const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(&probe), sizeof probe};
        for (std::uint8_t link = 0; link < net_.config().links; ++link)
          net_.send(me_, link, action.peer, bytes);
        break;
      }
      case Kind::close:
        tcp_.close(me_, action.peer);
        choice_.on_disconnected(now, action.peer);
        break;
      case Kind::none: break;
    }
  }
}

}  // namespace herald::sim
