// SPDX-License-Identifier: BSD-3-Clause
#include "engine/tcp_links.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "path/random.hpp"
#include "rel/peer_liveness.hpp"

namespace herald::engine {
namespace {

using Action = node::PathChoice::Action;

constexpr Duration kHandshake = milliseconds(1000);  // then a connection that has proven nothing is closed
constexpr Duration kCrossing = milliseconds(1000);   // two connections within it have crossed
constexpr Duration kLookEvery = milliseconds(2);     // for connections, while none is there
constexpr Duration kReportAfter = milliseconds(500);
constexpr int kPolls = 8;  // of one turn

wire::StreamNonce make_nonce() noexcept { return {path::random_number(), path::random_number()}; }

template <class Body>
bool read_body(std::span<const std::byte> bytes, Body& body) noexcept {
  if (bytes.size() != sizeof body) return false;
  std::memcpy(&body, bytes.data(), sizeof body);
  return true;
}

}  // namespace

TcpLinks::TcpLinks(const Config& config, std::unique_ptr<path::TcpPath> path, path::UdpPath& udp,
                   node::Node& node)
    : config_(config),
      path_(std::move(path)),
      udp_(udp),
      node_(node),
      choice_(config.tcp_only),
      bulk_(node.core()) {
  if (config.bulk) node.core().bulk().receives.choice().enable(false);
}

void TcpLinks::print_refused() const noexcept {
  if (config_.verbose && refused_ != 0)
    std::fprintf(stderr, "herald: rank %d: TCP connections and probes refused: %llu\n", config_.rank,
                 static_cast<unsigned long long>(refused_));
  const p2p::Bulk& bulk = node_.core().bulk();
  if (config_.verbose && bulk.sends.frames() + bulk.receives.resumed() != 0)
    std::fprintf(stderr, "herald: rank %d: bulk frames sent: %llu, pulls resumed: %llu\n", config_.rank,
                 static_cast<unsigned long long>(bulk.sends.frames()),
                 static_cast<unsigned long long>(bulk.receives.resumed()));
}

bool TcpLinks::is_peer(std::uint32_t rank) const noexcept {
  const auto peer = static_cast<p2p::PeerId>(rank);
  return rank < static_cast<std::uint32_t>(config_.size) && peer != config_.rank &&
         udp_.ends_of(peer, 0).length != 0;
}

template <class Body>
void TcpLinks::send_frame(path::TcpId id, wire::StreamKind kind, const Body& body) {
  const path::TcpFrame frame{
      static_cast<std::uint8_t>(kind), 0, {reinterpret_cast<const std::byte*>(&body), sizeof body}};
  (void)path_->send(id, {&frame, 1});
}

void TcpLinks::send(Instant now, std::span<const path::UdpSend> datagrams) {
  std::array<path::TcpFrame, rel::TxBatch::kMost> frames;
  for (std::size_t at = 0; at < datagrams.size();) {
    const p2p::PeerId peer = datagrams[at].to;
    std::size_t count = 0;
    for (; at < datagrams.size() && datagrams[at].to == peer && count < frames.size(); ++at)
      frames[count++] = {static_cast<std::uint8_t>(wire::StreamKind::datagram), datagrams[at].link,
                         datagrams[at].bytes, datagrams[at].rest};
    const auto by = current_.find(peer);
    if (by != current_.end())
      (void)path_->send(by->second, {frames.data(), count});
    else
      choice_.on_silent(now, peer);  // UDP is not permitted
  }
}

bool TcpLinks::take_probe(Instant now, const path::UdpArrival& arrival) {
  if (!wire::is_udp_probe(arrival.bytes)) return false;
  const auto by = current_.find(static_cast<p2p::PeerId>(wire::probe_sender(arrival.bytes)));
  wire::UdpProbe probe;
  if (by == current_.end()) return true;  // of a connection that is gone
  if (connections_[by->second].session.read_probe(arrival.bytes, probe))
    choice_.on_probe(now, by->first, probe.number);
  else
    ++refused_;
  return true;
}

bool TcpLinks::turn(Instant now, bool ready) {
  if (!config_.on) return false;
  rel::PeerLiveness& liveness = node_.mesh().liveness();
  if (liveness.has_silent()) [[unlikely]]
    for (const p2p::PeerId peer : liveness.take_silent())
      if (is_peer(static_cast<std::uint32_t>(peer))) choice_.on_silent(now, peer);
  for (p2p::PeerId peer = bulk_.take_wanted(); peer >= 0; peer = bulk_.take_wanted())
    connect(now, peer, wire::StreamUse::bulk);
  if (!ready && choice_.is_idle() && connections_.empty() && now < look_at_) return false;
  look_at_ = now + kLookEvery;
  row_was_good_ = false;
  for (int i = 0; i < kPolls && take_events(now); ++i) {
  }
  if (!connections_.empty()) expire(now);
  if (!choice_.is_idle()) act(now);
  note_changes(now);
  return row_was_good_;
}

bool TcpLinks::take_events(Instant now) {
  const std::span<const path::TcpEvent> events = path_->poll();
  for (const path::TcpEvent& event : events) {
    using Kind = path::TcpEvent::Kind;
    switch (event.kind) {
      case Kind::opened: break;  // the other end begins
      case Kind::accepted: on_accepted(now, event.id); break;
      case Kind::frame: on_frame(now, event.id, event.frame); break;
      case Kind::closed: on_closed(now, event.id, event.refused); break;
    }
  }
  flush_row(now);
  return !events.empty();
}

void TcpLinks::flush_row(Instant now) {
  if (in_row_ != 0) row_was_good_ = node_.on_datagrams(now, {row_.data(), in_row_}) || row_was_good_;
  in_row_ = 0;
}

void TcpLinks::on_accepted(Instant now, path::TcpId id) {
  Connection& connection = connections_[id];
  connection.nonce = make_nonce();
  connection.limit = now + kHandshake;
  wire::StreamChallenge challenge;
  challenge.version = wire::kStreamVersion;
  challenge.nonce[0] = connection.nonce[0];
  challenge.nonce[1] = connection.nonce[1];
  send_frame(id, wire::StreamKind::challenge, challenge);
}

void TcpLinks::on_connect_failed(Instant now, p2p::PeerId peer, wire::StreamUse use, bool refused) {
  if (refused && use == wire::StreamUse::datagrams)
    node_.mesh().liveness().on_refused(now, peer, config_.tcp_only || udp_.take_no_port(peer));
  if (use == wire::StreamUse::bulk)
    bulk_.on_failed(peer, now);
  else
    choice_.on_connect_failed(now, peer);
}

void TcpLinks::connect(Instant now, p2p::PeerId peer, wire::StreamUse use) {
  std::uint8_t links = 0;
  while (udp_.ends_of(peer, links).length != 0) ++links;
  const path::UdpEnds ends = udp_.ends_of(peer, static_cast<std::uint8_t>(ways_++ % std::max<int>(links, 1)));
  const path::TcpId id = ends.length == 0
                             ? 0
                             : path_->connect(reinterpret_cast<const sockaddr&>(ends.ours),
                                              reinterpret_cast<const sockaddr&>(ends.theirs), ends.length);
  if (id == 0) return on_connect_failed(now, peer, use, ends.length != 0 && errno == ECONNREFUSED);
  Connection& connection = connections_[id];
  connection.peer = peer;
  connection.ours = true;
  connection.use = use;
  connection.nonce = make_nonce();
  connection.limit = now + kHandshake;
}

void TcpLinks::on_frame(Instant now, path::TcpId id, const path::TcpFrame& frame) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return;
  Connection& connection = at->second;
  bool good = false;
  switch (static_cast<wire::StreamKind>(frame.kind)) {
    case wire::StreamKind::challenge: good = on_challenge(id, connection, frame.bytes); break;
    case wire::StreamKind::hello:
    case wire::StreamKind::hello_bulk: good = on_hello(now, id, connection, frame); break;
    case wire::StreamKind::welcome: good = on_welcome(now, id, connection, frame.bytes); break;
    case wire::StreamKind::datagram:
      if (!connection.proven) break;
      choice_.on_datagram(now, connection.peer);
      row_[in_row_++] = {frame.link, frame.bytes};
      if (in_row_ == row_.size()) flush_row(now);
      return;
    case wire::StreamKind::report: {
      wire::StreamReport report;
      const auto from = static_cast<std::uint32_t>(connection.peer);
      good = connection.proven && connection.session.read_report(from, frame.bytes, report);
      if (good) choice_.on_report(now, connection.peer, report.number, report.heard, report.by_tcp != 0);
      break;
    }
  }
  if (!good) refuse(now, id);
}

bool TcpLinks::on_challenge(path::TcpId id, Connection& connection, std::span<const std::byte> body) {
  wire::StreamChallenge challenge;
  if (!connection.ours || std::exchange(connection.said_hello, true) || !read_body(body, challenge) ||
      challenge.version != wire::kStreamVersion)
    return false;
  const auto me = static_cast<std::uint32_t>(config_.rank),
             peer = static_cast<std::uint32_t>(connection.peer);
  connection.session = {config_.seal,  me, peer, connection.nonce, {challenge.nonce[0], challenge.nonce[1]},
                        connection.use};
  wire::StreamHello hello;
  hello.version = wire::kStreamVersion;
  hello.from = me;
  hello.to = peer;
  hello.nonce[0] = connection.nonce[0];
  hello.nonce[1] = connection.nonce[1];
  hello.tag = connection.session.hello_tag();
  const bool bulk = connection.use == wire::StreamUse::bulk;
  send_frame(id, bulk ? wire::StreamKind::hello_bulk : wire::StreamKind::hello, hello);
  return true;
}

bool TcpLinks::on_hello(Instant now, path::TcpId id, Connection& connection, const path::TcpFrame& frame) {
  const bool bulk = frame.kind == static_cast<std::uint8_t>(wire::StreamKind::hello_bulk);
  wire::StreamHello hello;
  if (connection.ours || connection.proven || !read_body(frame.bytes, hello) || (bulk && !config_.bulk) ||
      hello.version != wire::kStreamVersion || hello.to != static_cast<std::uint32_t>(config_.rank) ||
      !is_peer(hello.from))
    return false;
  connection.use = bulk ? wire::StreamUse::bulk : wire::StreamUse::datagrams;
  connection.session = {config_.seal,     hello.from,    hello.to, {hello.nonce[0], hello.nonce[1]},
                        connection.nonce, connection.use};
  if (hello.tag != connection.session.hello_tag()) return false;
  connection.peer = static_cast<p2p::PeerId>(std::uint32_t{hello.from});
  wire::StreamWelcome welcome;
  welcome.tag = connection.session.welcome_tag();
  send_frame(id, wire::StreamKind::welcome, welcome);
  prove(now, id, connection);
  return true;
}

bool TcpLinks::on_welcome(Instant now, path::TcpId id, Connection& connection,
                          std::span<const std::byte> body) {
  wire::StreamWelcome welcome;
  if (!connection.ours || !connection.said_hello || connection.proven || !read_body(body, welcome) ||
      welcome.tag != connection.session.welcome_tag())
    return false;
  prove(now, id, connection);
  return true;
}

// The loser of two that crossed is closed here; the other end finds the same, or learns of it.
void TcpLinks::prove(Instant now, path::TcpId id, Connection& connection) {
  if (connection.use == wire::StreamUse::bulk) return prove_bulk(now, id, connection);
  connection.proven = true;
  connection.proven_at = now;
  path_->trust(id);
  const auto other = current_.find(connection.peer);
  if (other != current_.end()) {
    const Connection& old = connections_[other->second];
    const bool lower_is_us = config_.rank < connection.peer;
    const bool crossed = old.ours != connection.ours && now - old.proven_at < kCrossing;
    if (crossed && old.ours == lower_is_us) {
      connections_.erase(id);
      return path_->close(id);
    }
    path_->close(other->second);
    connections_.erase(other->second);
  }
  current_[connection.peer] = id;
  choice_.on_connected(now, connection.peer);
}

// The opener receives; the two directions of a pair have a connection each.
void TcpLinks::prove_bulk(Instant now, path::TcpId id, const Connection& connection) {
  const Connection proven = connection;
  connections_.erase(id);
  const int fd = path_->release(id);
  if (fd >= 0)
    bulk_.adopt(proven.peer, fd, config_.security.protect(proven.session), proven.ours);
  else if (proven.ours)
    bulk_.on_failed(proven.peer, now);
}

void TcpLinks::refuse(Instant now, path::TcpId id) {
  path_->close(id);
  on_closed(now, id);
}

// A connection that came and ends without a proof is a stranger's, or a forgery.
void TcpLinks::on_closed(Instant now, path::TcpId id, bool refused) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return;
  const Connection gone = at->second;
  connections_.erase(at);
  if (!gone.proven && !gone.ours) ++refused_;
  if (!gone.proven && gone.ours) on_connect_failed(now, gone.peer, gone.use, refused);
  const auto used = current_.find(gone.peer);
  if (!gone.proven || used == current_.end() || used->second != id) return;
  current_.erase(used);
  choice_.on_disconnected(now, gone.peer);
}

void TcpLinks::expire(Instant now) {
  for (auto at = connections_.begin(); at != connections_.end();) {
    const auto [id, connection] = *at++;
    if (!connection.proven && connection.limit <= now) refuse(now, id);
  }
}

void TcpLinks::act(Instant now) {
  const auto me = static_cast<std::uint32_t>(config_.rank);
  for (Action action = choice_.poll(now); action.kind != Action::Kind::none; action = choice_.poll(now)) {
    if (action.kind == Action::Kind::connect) {
      connect(now, action.peer, wire::StreamUse::datagrams);
      continue;
    }
    const auto by = current_.find(action.peer);
    if (by == current_.end()) {
      choice_.on_disconnected(now, action.peer);
      continue;
    }
    const wire::StreamSession& session = connections_[by->second].session;
    switch (action.kind) {
      case Action::Kind::report:
        send_frame(by->second, wire::StreamKind::report,
                   session.make_report(me, action.number, action.heard, action.by_tcp));
        break;
      case Action::Kind::probe: {
        const wire::UdpProbe probe = session.make_probe(me, action.number);
        const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(&probe), sizeof probe};
        std::ptrdiff_t failed = -1;
        for (std::uint8_t link = 0; udp_.ends_of(action.peer, link).length != 0; ++link) {
          const path::UdpSend one{action.peer, link, bytes};
          (void)udp_.send({&one, 1}, failed);
        }
        break;
      }
      case Action::Kind::close: refuse(now, by->second); break;
      case Action::Kind::connect:
      case Action::Kind::none: break;
    }
  }
}

// A peer that is back on UDP within a moment, or is only slow, is not reported.
void TcpLinks::note_changes(Instant now) {
  for (const node::PathChoice::Change& change : choice_.take_changes()) {
    if (config_.verbose)
      std::fprintf(stderr, "herald: rank %d: datagrams to rank %d go by %s\n", config_.rank, change.peer,
                   change.to_tcp ? "TCP: UDP has no answer" : "UDP again");
    if (!change.to_tcp)
      since_.erase(change.peer);
    else if (std::find(reported_.begin(), reported_.end(), change.peer) == reported_.end())
      since_.try_emplace(change.peer, now);
  }
  if (config_.tcp_only) return;
  std::erase_if(since_, [&](const auto& entry) {
    if (now - entry.second < kReportAfter || !choice_.is_blocked(entry.first)) return false;
    reported_.push_back(entry.first);
    node_.lanes().reports().on_no_udp(entry.first);
    return true;
  });
}

Instant TcpLinks::next_deadline() const noexcept {
  Instant at = choice_.next_deadline();
  for (const auto& [id, connection] : connections_)
    if (!connection.proven) at = std::min(at, connection.limit);
  return at;
}

}  // namespace herald::engine
