// SPDX-License-Identifier: BSD-3-Clause
// rel/mesh.cpp: the verbs of the mesh; packets on their way in from above.
#include "rel/mesh.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/fatal.hpp"
#include "rel/inner.hpp"
#include "wire/lane.hpp"

namespace herald::rel {
namespace {

constexpr std::size_t kLeastShare = 128;  // bytes left in a datagram that are worth sharing

}  // namespace

Mesh::Inner::Inner(const MeshConfig& config_, Prng& prng_, Listener& listener_) noexcept
    : config(config_),
      prng(prng_),
      listener(listener_),
      body_most(config.datagram_bytes - sizeof(wire::DatagramHead)),
      log_pool(kBodySingle + body_most, config.log_bytes),
      kept_pool(std::max(config.datagram_bytes, config.largest_bytes) - sizeof(wire::DatagramHead),
                config.log_bytes),
      book(config.budget_bytes / config.datagram_bytes, config.eager_packets),
      connections(static_cast<std::size_t>(config.peers)) {}

Connection* Mesh::Inner::find(std::int64_t peer) noexcept {
  if (peer < 0 || peer >= static_cast<std::int64_t>(connections.size())) return nullptr;
  return connections[static_cast<std::size_t>(peer)];
}

const Connection* Mesh::Inner::find(std::int64_t peer) const noexcept {
  return const_cast<Inner*>(this)->find(peer);
}

Connection* Mesh::Inner::make_connection() noexcept {
  const std::size_t place = made++ % kBlock;
  if (place == 0) blocks.push_back(std::make_unique<Connection[]>(kBlock));
  return &blocks.back()[place];
}

void Mesh::Inner::start(Connection& ch, Instant now) noexcept {
  if (ch.link != nullptr) return;
  ch.link = std::make_unique<Link[]>(ch.links);
  ch.last_used = now;
  if (ch.links == 1) return;
  for (Link& link : ch.all_links()) {
    link.probe_due = true;
    link.probes = 1;
    link.probe_at = now + timeout_of(link);
    link.silent_since = now;
  }
  wake(ch);
}

void Mesh::Inner::forget(Connection& ch) noexcept {
  if (ch.gone) return;
  ch.gone = true;
  ch.tx.log.clear(log_pool);
  ch.tx.small = 0;
  ch.tx.log.shrink();
  ch.rx.reorder.clear(kept_pool);
  book.set_asks(ch.rx.credit, false);
  book.set_outstanding(ch.rx.credit, 0);
  heap.remove(ch);
  ch.rx.again_at = kNever;
  // Its last packets may still want their ack: it waits for that before it goes.
  if (ch.rx.unacked != 0 || ch.rx.ack_now) {
    ch.rx.ack_now = true;
    wake(ch);
  }
  ch.tx.ask = false;
}

std::span<std::byte> Mesh::Inner::share_room(Connection& ch, std::size_t least) noexcept {
  Sender& tx = ch.tx;
  if (tx.next_tx == tx.log.end()) return {};
  const Entry& tail = tx.log[tx.log.end() - 1];
  if (tail.borrowed != nullptr) return {};
  const bool records = (tail.flags & wire::kFlagRecords) != 0;
  const std::size_t used = tail.body_bytes + (records ? 0 : wire::kRecordHead) + wire::kRecordHead;
  const std::size_t spared = ch.rx.unacked != 0 || ch.rx.ack_now ? sizeof(wire::AckPart) : 0;
  if (used + spared + std::max(least, kLeastShare) > body_most) return {};
  open_shares = true;
  return {log_pool.at(tail.slot) + kBodyRecords + used, body_most - spared - used};
}

std::span<std::byte> Mesh::Inner::room(Connection& ch, std::size_t least) noexcept {
  HERALD_ASSERT(least <= body_most);
  Sender& tx = ch.tx;
  open_peer = ch.peer;
  open_shares = false;
  std::span<std::byte> found = share_room(ch, least);
  if (found.empty()) {
    if (!before(tx.log.end(), tx.limit()) || tx.log.size() >= Reorder::kMost || !tx.log.reserve()) {
      tx.refused = true;
      return {};
    }
    if (spare == PacketPool::kNone) spare = log_pool.take();
    if (spare == PacketPool::kNone) {
      starved.push(ch);
      return {};
    }
    warm.push(ch);
    const std::size_t ack = ch.rx.unacked != 0 || ch.rx.ack_now ? sizeof(wire::AckPart) : 0;
    found = {log_pool.at(spare) + kBodySingle, body_most - (least + ack <= body_most ? ack : 0)};
  }
  tx.refused = false;
  open_bytes = found.size();
  return found;
}

void Mesh::Inner::commit(Connection& ch, std::size_t bytes, std::span<const std::byte> borrowed) noexcept {
  HERALD_ASSERT(open_peer == ch.peer && bytes + borrowed.size() <= open_bytes);
  HERALD_ASSERT(borrowed.empty() || !open_shares);
  open_peer = -1;
  if (bytes == 0) return;
  SendLog& log = ch.tx.log;
  if (open_shares) {
    Entry& tail = log[log.end() - 1];
    std::byte* const body = log_pool.at(tail.slot) + kBodyRecords;
    if ((tail.flags & wire::kFlagRecords) == 0) {
      const wire::Le<std::uint16_t> first(tail.body_bytes);
      std::memcpy(body, &first, sizeof first);
      tail.flags |= wire::kFlagRecords;
      tail.body_bytes += wire::kRecordHead;
    }
    const wire::Le<std::uint16_t> length(static_cast<std::uint16_t>(bytes));
    std::memcpy(body + tail.body_bytes, &length, sizeof length);
    tail.body_bytes = static_cast<std::uint16_t>(tail.body_bytes + wire::kRecordHead + bytes);
  } else {
    Entry& entry = log.append();
    entry.slot = spare;
    entry.body_bytes = static_cast<std::uint16_t>(bytes);
    entry.borrowed = borrowed.data();
    entry.borrowed_bytes = static_cast<std::uint16_t>(borrowed.size());
    spare = PacketPool::kNone;
  }
  wake(ch);
}

bool Mesh::Inner::wants_sweep() const noexcept {
  return log_pool.held_bytes() + kept_pool.held_bytes() != 0 || !warm.empty();
}

void Mesh::Inner::sweep(Instant now) noexcept {
  if (now < sweep_at) return;
  sweep_at = now + kSweepEvery;
  log_pool.sweep();
  kept_pool.sweep();
  PeerQueue<&Connection::next_warm> still;
  while (Connection* ch = warm.pop()) {
    const bool idle = ch->tx.log.empty() && ch->rx.reorder.count() == 0;
    if (idle && ch->resting) {
      ch->tx.log.shrink();
      ch->rx.reorder.shrink();
      continue;
    }
    ch->resting = idle;
    still.push(*ch);
  }
  warm = still;
}

Mesh::Mesh(const MeshConfig& config, Prng& prng, Listener& listener) noexcept
    : inner_(std::make_unique<Inner>(config, prng, listener)) {}
Mesh::~Mesh() = default;

void Mesh::add_peer(PeerId peer, LinkId links) noexcept {
  HERALD_ASSERT(peer >= 0 && peer < inner_->config.peers && links <= kMostLinks);
  if (links == 0) return;
  Connection* const ch = inner_->make_connection();
  const Seq first = inner_->config.first_seq;
  ch->peer = peer;
  ch->links = links;
  ch->tx.log.start_at(first);
  ch->tx.next_tx = ch->tx.lost_from = ch->tx.cursor.next = first;
  ch->rx.next = ch->rx.delivered = ch->rx.end = first;
  ch->rx.newest = first - 1;
  ch->rx.window = ch->rx.told = static_cast<std::uint16_t>(inner_->config.eager_packets);
  ch->tx.cursor.limit = ch->rx.limit = first + inner_->config.eager_packets;
  inner_->connections[static_cast<std::size_t>(peer)] = ch;
  inner_->book.add_peer();
}

std::span<std::byte> Mesh::room(PeerId to, std::size_t least) noexcept {
  Connection* const ch = inner_->find(to);
  return ch == nullptr || ch->gone ? std::span<std::byte>{} : inner_->room(*ch, least);
}

void Mesh::commit(PeerId to, std::size_t bytes, std::span<const std::byte> borrowed) noexcept {
  Connection* const ch = inner_->find(to);
  if (ch != nullptr && !ch->gone) inner_->commit(*ch, bytes, borrowed);
}

bool Mesh::may_borrow() const noexcept { return !inner_->open_shares; }

PeerId Mesh::next_ready() noexcept {
  while (const Connection* ch = inner_->roomy.pop())
    if (!ch->gone) return ch->peer;
  while (!inner_->log_pool.full()) {
    const Connection* const ch = inner_->starved.pop();
    if (ch == nullptr) break;
    if (!ch->gone) return ch->peer;
  }
  return -1;
}

void Mesh::set_backlog(PeerId to, bool more) noexcept {
  if (Connection* const ch = inner_->find(to)) ch->tx.backlog = more;
}

PeerId Mesh::on_datagram(Instant now, LinkId link, std::span<const std::byte> datagram) noexcept {
  const wire::Seal& seal = inner_->config.seal;
  wire::DatagramView view;
  const wire::Opened opened =
      wire::open_datagram(seal, static_cast<std::uint32_t>(inner_->config.me), datagram, view);
  return inner_->take(now, link, opened, view);
}

bool Mesh::on_datagrams(Instant now, std::span<const Rx> came) noexcept {
  HERALD_ASSERT(came.size() <= kMostAtOnce);
  std::array<wire::OpenedDatagram, kMostAtOnce> all;
  for (std::size_t i = 0; i < came.size(); ++i) all[i].datagram = came[i].datagram;
  wire::open_datagrams(inner_->config.seal, static_cast<std::uint32_t>(inner_->config.me),
                       {all.data(), came.size()});
  bool good = false;
  for (std::size_t i = 0; i < came.size(); ++i)
    good = inner_->take(now, came[i].link, all[i].opened, all[i].view) >= 0 || good;
  return good;
}

PeerId Mesh::Inner::take(Instant now, LinkId link, wire::Opened opened,
                         const wire::DatagramView& view) noexcept {
  switch (opened) {
    case wire::Opened::good: break;
    case wire::Opened::malformed: ++counters.malformed; return -1;
    case wire::Opened::stale_epoch: ++counters.stale; return -1;
    case wire::Opened::bad_tag: ++counters.forged; return -1;
  }
  Connection* const ch = wire::is_lane_kind(view.kind) ? nullptr : find(view.from);
  if (ch == nullptr) {
    ++counters.stale;
    return -1;
  }
  start(*ch, now);
  if (ch->gone) {
    if (view.kind == wire::DatagramKind::data && before(view.seq, ch->rx.next)) {
      ch->rx.ack_now = true;
      wake(*ch);
    }
    return ch->peer;
  }
  heard(*ch, now, link);
  if (!view.ack.empty()) on_ack(*ch, now, wire::read_ack(view.ack));
  switch (view.kind) {
    case wire::DatagramKind::data: on_data(*ch, now, link, view); break;
    case wire::DatagramKind::ack:
      note_backlog(*ch, now, view);
      grant(*ch);
      break;
    case wire::DatagramKind::probe: on_probe(*ch, link, view); break;
    case wire::DatagramKind::probe_reply: on_probe_reply(*ch, now, view); break;
    case wire::DatagramKind::cast:
    case wire::DatagramKind::cast_ack:
    case wire::DatagramKind::cast_nak:
    case wire::DatagramKind::cast_ask:
    case wire::DatagramKind::contribution:
    case wire::DatagramKind::result:
    case wire::DatagramKind::contribution_ack:
    case wire::DatagramKind::compact_contribution: break;  // refused above
  }
  rearm_later(*ch, now);
  return ch->peer;
}

void Mesh::on_deadline(Instant now) noexcept {
  Inner& in = *inner_;
  in.rearm_changed();
  for (int i = 0; i < kMostTimersPerCall && !in.heap.empty() && in.heap.top().at <= now; ++i) {
    Connection& ch = *in.heap.top().who;
    in.on_timers(ch, now);
    if (!ch.gone) in.rearm(ch, now);
  }
  if (now >= in.sweep_at) in.sweep(now);
}

void Mesh::on_resume(Instant now, Duration away) noexcept {
  Inner& in = *inner_;
  in.rearm_changed();
  for (int i = 0; i < kMostTimersPerCall && !in.heap.empty() && in.heap.top().at <= now; ++i) {
    Connection& ch = *in.heap.top().who;
    if (!in.deferral(ch, now, DeferredTimers::time(away))) in.on_timers(ch, now);
    if (!ch.gone) in.rearm(ch, now);
  }
}

std::optional<Instant> Mesh::next_deadline() const noexcept {
  Inner& in = *inner_;
  in.rearm_changed();
  if (!in.sending.empty()) return Instant{};  // something is to leave at once
  Instant at = in.wants_sweep() ? in.sweep_at : kNever;
  if (!in.heap.empty()) at = std::min(at, in.heap.top().at);
  if (at == kNever) return std::nullopt;
  return at;
}

bool Mesh::is_idle() const noexcept {
  inner_->rearm_changed();
  return inner_->heap.empty() && !has_work();
}

bool Mesh::has_work() const noexcept {
  const Inner& in = *inner_;
  return !in.sending.empty() || !in.roomy.empty() || (!in.starved.empty() && !in.log_pool.full());
}

std::size_t Mesh::poll_transmit(Instant now, TxBatch& out) noexcept {
  Inner& in = *inner_;
  out.clear();
  if (in.spare != PacketPool::kNone) in.log_pool.give(in.spare);
  in.spare = PacketPool::kNone;
  in.open_peer = -1;
  while (!out.full()) {
    Connection* const ch = in.sending.pop();
    if (ch == nullptr) break;
    if (in.fill(*ch, now, out)) in.sending.push(*ch);
    in.rearm_later(*ch, now);
  }
  in.seal_now();
  return out.count;
}

void Mesh::on_link_error(Instant now, PeerId peer, LinkId link) noexcept {
  Connection* const ch = inner_->find(peer);
  if (ch == nullptr || ch->gone || ch->link == nullptr || link >= ch->links) return;
  Link& by = ch->link[link];
  if (by.timeouts == 0) by.timeouts = 1;      // others that have not failed yet are better, proven or not
  if (!inner_->has_other(*ch, link)) return;  // timers try again
  inner_->suspect(*ch, now, link);
  by.silent_since = {now.ns - inner_->config.give_up.ns};
  inner_->rearm(*ch, now);
}

void Mesh::forget_peer(PeerId peer) noexcept {
  if (Connection* const ch = inner_->find(peer)) inner_->forget(*ch);
}

void Mesh::on_sign_of_life(Instant now, PeerId peer) noexcept {
  Connection* const ch = inner_->find(peer);
  if (ch == nullptr || ch->gone) return;
  ch->last_heard = now;
  inner_->rearm(*ch, now);
}

bool Mesh::is_flushed() const noexcept { return buffered_bytes() == inner_->kept_pool.used_bytes(); }

bool Mesh::is_flushed(PeerId peer) const noexcept {
  const Connection* const ch = inner_->find(peer);
  return ch == nullptr || ch->tx.log.empty();
}

bool Mesh::is_live(PeerId peer, LinkId link) const noexcept {
  const Connection* const ch = inner_->find(peer);
  if (ch == nullptr || ch->gone || ch->link == nullptr || link >= ch->links) return false;
  return ch->link[link].state == LinkState::live || ch->link[link].state == LinkState::suspect;
}

Duration Mesh::round_trip(PeerId peer) const noexcept {
  const Connection* const ch = inner_->find(peer);
  if (ch == nullptr || ch->link == nullptr) return inner_->config.first_rtt;
  return inner_->rtt_of(*ch).smooth(inner_->config.first_rtt);
}

const MeshCounters& Mesh::counters() const noexcept { return inner_->counters; }

std::uint64_t Mesh::buffered_bytes() const noexcept {
  const std::uint64_t spare = inner_->spare == PacketPool::kNone ? 0 : inner_->log_pool.slot_bytes();
  return inner_->log_pool.used_bytes() + inner_->kept_pool.used_bytes() - spare;
}

}  // namespace herald::rel
