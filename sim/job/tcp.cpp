// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/tcp.hpp"

#include <algorithm>

#include "rel/peer_liveness.hpp"

namespace herald::sim {
namespace {

constexpr std::size_t kSmall = 64;  // bytes of a frame without a datagram

}  // namespace

void TcpNet::put(HostId to, Frame frame, std::size_t bytes) {
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

void TcpNet::cut_all() {
  while (!open_.empty()) close(open_.begin()->first.first, open_.begin()->first.second);
}

// Frames of a connection that is closed by now are lost.
bool TcpNet::take(HostId host, Frame& frame) {
  auto& queue = inbox_[static_cast<std::size_t>(host)];
  while (!queue.empty() && queue.front().at <= net_.now()) {
    frame = std::move(queue.front());
    queue.pop_front();
    if (frame.kind == Frame::Kind::closed) return true;
    const auto at = open_.find(std::minmax(host, frame.from));
    if (at != open_.end() && at->second == frame.epoch) return true;
  }
  return false;
}

Instant TcpNet::next_arrival(HostId host) const {
  const auto& queue = inbox_[static_cast<std::size_t>(host)];
  return queue.empty() ? kNever : queue.front().at;
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
  }
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
