// SPDX-License-Identifier: BSD-3-Clause
#include "rel/mesh.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/fatal.hpp"
#include "rel/fragments.hpp"
#include "rel/log_writer.hpp"
#include "rel/peer_liveness.hpp"
#include "rel/transmitter.hpp"
#include "wire/lane.hpp"

namespace herald::rel {

struct Mesh::Inner {
  Inner(const MeshConfig& config, Prng& prng, Listener& listener) noexcept
      : mesh(config, prng, listener),
        peers(mesh.config),
        writer(mesh),
        sender(mesh),
        receiver(mesh),
        transmitter(mesh),
        timers(sender, receiver),
        liveness(mesh, peers, sender, timers) {}

  PeerId take(Instant now, LinkId link, wire::Opened opened, const wire::DatagramView& view) noexcept;
  void dispatch(Connection& ch, Instant now, LinkId link, const wire::DatagramView& view) noexcept;
  void serve(Connection& ch, Instant now) noexcept;
  void forget(Connection& ch) noexcept;
  void sweep(Instant now) noexcept;
  void split_long(TxBatch& out) noexcept;
  void join(Instant now, LinkId link, const wire::DatagramView& fragment) noexcept;
  void find_least_segment() noexcept;
  Connection* obtain_live(PeerId peer) noexcept {
    Connection* const ch = peers.obtain(peer);
    return ch == nullptr || ch->gone ? nullptr : ch;
  }

  MeshContext mesh;
  PeerTable peers;
  LogWriter writer;
  Sender sender;
  Receiver receiver;
  Transmitter transmitter;
  Timers timers;
  PeerLiveness liveness;
  Splitter splitter{Splitter::Of::mesh};
  Joiner joiner;
  std::vector<Mesh::Joined> joined;
  Instant sweep_at{};
};

Mesh::Mesh(const MeshConfig& config, Prng& prng, Listener& listener) noexcept
    : inner_(std::make_unique<Inner>(config, prng, listener)) {}
Mesh::~Mesh() = default;

void Mesh::add_peer(PeerId peer, LinkId links, std::optional<PairIdentity> pair) noexcept {
  if (links == 0) return;
  inner_->peers.add(peer, links, pair);
  inner_->mesh.book.add_peer();
}

void Mesh::forget_peer(PeerId peer) noexcept {
  if (Connection* const ch = inner_->peers.find(peer))
    inner_->forget(*ch);
  else
    inner_->peers.forget(peer);
}

void Mesh::Inner::forget(Connection& ch) noexcept {
  if (ch.gone) return;
  ch.gone = true;
  ch.tx.log.clear(mesh.log_pool);
  ch.tx.small = 0;
  ch.tx.log.shrink();
  ch.rx.reorder.clear(mesh.reorder_pool);
  mesh.book.set_backlogged(ch.rx.credit, false);
  mesh.book.set_outstanding(ch.rx.credit, 0);
  timers.remove(ch);
  ch.rx.redeliver_at = kNever;
  // The peer may wait for the ack of its last packets before it exits.
  if (ch.rx.owes_ack()) {
    ch.rx.ack_now = true;
    mesh.wake(ch);
  }
  ch.tx.probe_due = false;
}

std::span<std::byte> Mesh::reserve(PeerId to, std::size_t least) noexcept {
  Connection* const ch = inner_->obtain_live(to);
  return ch == nullptr ? std::span<std::byte>{} : inner_->writer.reserve(*ch, least);
}

void Mesh::commit(PeerId to, std::size_t bytes, std::span<const std::byte> borrowed) noexcept {
  Connection* const ch = inner_->peers.find(to);
  if (ch != nullptr && !ch->gone) inner_->writer.commit(*ch, bytes, borrowed);
}

bool Mesh::may_borrow() const noexcept { return inner_->writer.may_borrow(); }

PeerId Mesh::next_ready() noexcept {
  MeshContext& mesh = inner_->mesh;
  while (const Connection* const ch = mesh.writable.pop())
    if (!ch->gone) return ch->peer;
  while (!mesh.log_pool.full()) {
    const Connection* const ch = mesh.starved.pop();
    if (ch == nullptr) break;
    if (!ch->gone) return ch->peer;
  }
  return -1;
}

void Mesh::set_backlog(PeerId to, bool more) noexcept {
  if (Connection* const ch = inner_->peers.find(to)) ch->tx.backlog = more;
}

std::size_t Mesh::poll_transmit(Instant now, TxBatch& out) noexcept {
  Inner& in = *inner_;
  out.clear();
  in.writer.release();
  if (!in.splitter.empty()) return in.splitter.fill(out), out.count;
  while (!out.full()) {
    Connection* const ch = in.mesh.sending.pop();
    if (ch == nullptr) break;
    const std::size_t before = out.count;
    const bool more = in.transmitter.fill(*ch, now, out);
    if (more) in.mesh.wake(*ch);
    in.timers.rearm_later(*ch, now);
    if (more && out.count == before) break;  // a probe of a size needs several places: in the next batch
  }
  in.transmitter.flush_tags();
  if (in.mesh.least_segment < in.mesh.config.datagram_bytes) [[unlikely]]
    in.split_long(out);
  return out.count;
}

void Mesh::Inner::split_long(TxBatch& out) noexcept {
  splitter.replace(
      out,
      [&](const Tx& one) -> std::size_t {  // a probe tells whether the link carries more
        const auto kind = static_cast<wire::DatagramKind>(std::to_integer<std::uint8_t>(one.datagram[1]));
        return kind == wire::DatagramKind::data ? liveness.segment_to(one.to, one.link) : SIZE_MAX;
      },
      [&](const Tx& one) {
        const Connection& ch = *peers.find(one.to);
        return Splitter::Sealing{*ch.seal, ch.seal->from, ch.name()};
      });
}

void Mesh::Inner::join(Instant now, LinkId link, const wire::DatagramView& fragment) noexcept {
  const std::span<const std::byte> whole = joiner.add(fragment, false);
  if (whole.empty()) return;
  if (wire::is_lane_datagram(whole)) {
    joined.push_back({link, {whole.begin(), whole.end()}});
    return;
  }
  wire::DatagramView view;
  const wire::Opened opened = peers.open(whole, view);
  take(now, link, opened, view);
}

std::vector<Mesh::Joined> Mesh::take_joined() noexcept { return std::exchange(inner_->joined, {}); }

void Mesh::Inner::find_least_segment() noexcept {
  mesh.segments_changed = false;
  mesh.least_segment = static_cast<std::uint16_t>(mesh.config.datagram_bytes);
  for (const Connection* const ch : peers.all())
    if (ch != nullptr && !ch->gone && ch->links.is_started())
      mesh.least_segment = std::min(mesh.least_segment, ch->links.segment());
}

PeerId Mesh::on_datagram(Instant now, LinkId link, std::span<const std::byte> datagram) noexcept {
  wire::DatagramView view;
  const wire::Opened opened = inner_->peers.open(datagram, view);
  return inner_->take(now, link, opened, view);
}

bool Mesh::on_datagrams(Instant now, std::span<const Rx> came) noexcept {
  HERALD_ASSERT(came.size() <= kMostAtOnce);
  std::array<wire::OpenedDatagram, kMostAtOnce> all;
  for (std::size_t i = 0; i < came.size(); ++i) all[i].datagram = came[i].datagram;
  inner_->peers.open({all.data(), came.size()});
  bool good = false;
  for (std::size_t i = 0; i < came.size(); ++i)
    good = inner_->take(now, came[i].link, all[i].opened, all[i].view) >= 0 || good;
  return good;
}

PeerId Mesh::Inner::take(Instant now, LinkId link, wire::Opened opened,
                         const wire::DatagramView& view) noexcept {
  switch (opened) {
    case wire::Opened::good: break;
    case wire::Opened::malformed: ++mesh.counters.malformed; return -1;
    case wire::Opened::stale_epoch: ++mesh.counters.stale; return -1;
    case wire::Opened::bad_tag: ++mesh.counters.forged; return -1;
  }
  Connection* const ch = wire::is_lane_kind(view.kind) ? nullptr : peers.obtain(view.from);
  if (ch == nullptr) {
    if (peers.is_forgotten(view.from)) return static_cast<PeerId>(view.from);
    ++mesh.counters.stale;
    return -1;
  }
  mesh.start(*ch, now);
  if (!ch->gone) {
    const Seq next = ch->rx.next;
    dispatch(*ch, now, link, view);
    if (view.kind == wire::DatagramKind::data) ch->rx.upper.on_growth(next, ch->rx.next);
  } else if (view.kind == wire::DatagramKind::data && before(view.seq, ch->rx.next)) {
    ch->rx.ack_now = true;
    mesh.wake(*ch);
  }
  return ch->peer;
}

void Mesh::Inner::dispatch(Connection& ch, Instant now, LinkId link,
                           const wire::DatagramView& view) noexcept {
  bool news = !view.ack.empty() && sender.on_ack(ch, now, wire::read_ack(view.ack));
  wire::ProbeBody body;
  switch (view.kind) {
    case wire::DatagramKind::fragment: return join(now, link, view);
    case wire::DatagramKind::data: news = receiver.on_data(ch, now, link, view) || news; break;
    case wire::DatagramKind::ack: receiver.on_ack_datagram(ch, now, view); break;
    case wire::DatagramKind::probe:
      std::memcpy(&body, view.body.data(), sizeof body);
      if (!ch.links.on_probe(link, body)) break;
      mesh.wake(ch);
      news = true;
      break;
    case wire::DatagramKind::probe_reply:
      std::memcpy(&body, view.body.data(), sizeof body);
      news = ch.links.on_probe_reply(mesh, ch.peer, now, body) || news;
      break;
    default: break;  // kinds of lanes: refused by take()
  }
  timers.rearm_later(ch, now);
  if (!news || ch.gone) return;
  ch.links.on_packet(mesh, ch.peer, now, link);
  liveness.on_news(now, ch);
}

void Mesh::on_link_error(Instant now, PeerId peer, LinkId link) noexcept {
  Inner& in = *inner_;
  Connection* const ch = in.peers.find(peer);
  if (ch == nullptr || ch->gone || link >= ch->links.all().size()) return;
  Link& by = ch->links[link];
  if (by.timeouts == 0) by.timeouts = 1;         // links that have not failed yet are better, proven or not
  if (!ch->links.has_alternative(link)) return;  // timers try again
  in.sender.suspect_link(*ch, now, link);
  by.silent_since = {now.ns - in.mesh.config.pace().ns};
  in.timers.rearm(*ch, now);
}

void Mesh::hurry_acks() noexcept {
  for (Connection* const ch : inner_->peers.all())
    if (ch != nullptr && ch->rx.unacked != 0) {
      ch->rx.ack_now = true;
      inner_->mesh.wake(*ch);
    }
}

void Mesh::redeliver() noexcept {
  for (Connection* const ch : inner_->peers.all())
    if (ch != nullptr && !ch->gone && ch->rx.redeliver_at != kNever) inner_->timers.redeliver_now(*ch);
}

void Mesh::Inner::serve(Connection& ch, Instant now) noexcept {
  if (ch.detector.is_dead(now)) {
    forget(ch);
    ++mesh.counters.peers_lost;
    mesh.listener.peer_lost(ch.peer);
    return;
  }
  if (ch.detector.warning() <= now) {
    ch.detector.on_warned();
    mesh.listener.peer_silent(ch.peer, ch.detector.was_heard());
  }
  if (ch.detector.unanswered(now) >= try_after(mesh.config.pace())) liveness.note_silent(ch.peer);
  timers.serve(ch, now);
  if (mesh.segments_changed) find_least_segment();
}

void Mesh::on_deadline(Instant now) noexcept {
  Inner& in = *inner_;
  in.timers.flush();
  for (int i = 0; i < kMostTimersPerCall; ++i) {
    Connection* const ch = in.timers.next_due(now);
    if (ch == nullptr) break;
    in.serve(*ch, now);
    if (!ch->gone) in.timers.rearm(*ch, now);
  }
  in.sweep(now);
}

void Mesh::on_resume(Instant now, Duration away) noexcept {
  Inner& in = *inner_;
  in.timers.flush();
  for (int i = 0; i < kMostTimersPerCall; ++i) {
    Connection* const ch = in.timers.next_due(now);
    if (ch == nullptr) break;
    if (!in.timers.defer(*ch, now, DeferredTimers::time(away))) in.serve(*ch, now);
    if (!ch->gone) in.timers.rearm(*ch, now);
  }
}

void Mesh::on_clock_gap(Instant now) noexcept {
  Inner& in = *inner_;
  in.timers.flush();
  const Instant due = in.timers.next();
  if (due == kNever || now - due < most_late(in.mesh.config.pace())) return;
  const Duration late = now - due;
  for (Connection* const ch : in.peers.all()) {
    if (ch == nullptr || ch->gone || !ch->links.is_started()) continue;
    ch->detector.on_clock_gap(now, late);
    ch->links.on_clock_gap(now, late);
    Instant& blocked = ch->tx.blocked_since;
    if (blocked != kNever) blocked = std::min(blocked + late, now);
  }
}

std::optional<Instant> Mesh::next_deadline() const noexcept {
  Inner& in = *inner_;
  in.timers.flush();
  if (!in.mesh.sending.empty() || !in.splitter.empty()) return Instant{};  // a datagram leaves at once
  Instant at = in.timers.next();
  if (in.mesh.holds_buffers()) at = std::min(at, in.sweep_at);
  if (at == kNever) return std::nullopt;
  return at;
}

void Mesh::Inner::sweep(Instant now) noexcept {
  if (now < sweep_at) return;
  sweep_at = now + kSweepEvery;
  mesh.log_pool.sweep();
  mesh.reorder_pool.sweep();
  PeerQueue<&Connection::next_buffered> still;
  while (Connection* const ch = mesh.buffered.pop()) {
    const bool idle = ch->tx.log.empty() && ch->rx.reorder.count() == 0;
    if (idle && ch->resting) {
      ch->tx.log.shrink();
      ch->rx.reorder.shrink();
      continue;
    }
    ch->resting = idle;
    still.push(*ch);
  }
  mesh.buffered = still;
}

bool Mesh::has_work() const noexcept {
  const MeshContext& mesh = inner_->mesh;
  return !mesh.sending.empty() || !inner_->splitter.empty() || !mesh.writable.empty() ||
         (!mesh.starved.empty() && !mesh.log_pool.full());
}

bool Mesh::is_idle() const noexcept {
  inner_->timers.flush();
  return inner_->timers.next() == kNever && !has_work();
}

PeerLiveness& Mesh::liveness() const noexcept { return inner_->liveness; }

bool Mesh::is_used(PeerId peer) const noexcept {
  const Connection* const ch = inner_->peers.find(peer);
  return ch != nullptr && (ch->rx.has_received || ch->tx.log.end() != inner_->mesh.config.first_seq);
}

bool Mesh::is_flushed(PeerId peer) const noexcept {
  if (peer < 0) return buffered_bytes() == inner_->mesh.reorder_pool.used_bytes();
  const Connection* const ch = inner_->peers.find(peer);
  return ch == nullptr || ch->tx.log.empty();
}

bool Mesh::is_live(PeerId peer, LinkId link) const noexcept {
  const Connection* const ch = inner_->peers.find(peer);
  if (ch == nullptr || ch->gone || link >= ch->links.all().size()) return false;
  const LinkState state = ch->links[link].state;
  return state == LinkState::live || state == LinkState::suspect;
}

Duration Mesh::round_trip(PeerId peer) const noexcept {
  const Connection* const ch = inner_->peers.find(peer);
  const Duration first = inner_->mesh.config.first_rtt;
  return ch == nullptr || !ch->links.is_started() ? first : ch->links.rtt().smooth(first);
}

const MeshCounters& Mesh::counters() const noexcept { return inner_->mesh.counters; }
const MeshConfig& Mesh::config() const noexcept { return inner_->mesh.config; }

std::uint64_t Mesh::buffered_bytes() const noexcept {
  const MeshContext& mesh = inner_->mesh;
  return mesh.log_pool.used_bytes() + mesh.reorder_pool.used_bytes() - inner_->writer.reserved_bytes();
}

}  // namespace herald::rel
