// SPDX-License-Identifier: BSD-3-Clause
// rel/transmit.cpp: what leaves: data as window and pace allow, repairs first; acks on data that leaves
// anyway, or on their own; probes.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fatal.hpp"
#include "rel/inner.hpp"

namespace herald::rel {
namespace {

constexpr Duration kQueueTime = milliseconds(4);   // of packets on their way, where packets get lost
constexpr Duration kLossyFor = milliseconds(200);  // after a loss
constexpr Duration kLeastDepth = milliseconds(2);  // of packets that may leave in one go
constexpr float kPaceOver = 0.8F;                  // of the time that the links take for a packet
constexpr float kFaster = 0.5F;                    // guessed at once when the pace was too slow
constexpr float kPaceStep = 4;                     // packets that are worth a wake-up
constexpr std::uint32_t kLeastLossy = 32;          // packets on their way, where packets get lost
constexpr std::uint32_t kLittle = 16;      // packets that wait: fewer are not worth asking for more credit
constexpr std::uint32_t kQuickUs = 50;     // since the last ack
constexpr std::uint32_t kSmallWindow = 8;  // packets; the receiver would wait for more before it acks

}  // namespace

// Most packets that may be on their way. Where packets get lost, a long queue only delays their repair.
std::uint32_t Mesh::Inner::window_of(const Connection& ch, Instant now) const noexcept {
  const Sender& tx = ch.tx;
  std::uint32_t window = tx.cap;
  if (is_go_back()) return std::min(window, kGoBackWindow);
  if (tx.last_loss.ns != 0 && tx.packet_ns > 0 && now - tx.last_loss < kLossyFor) {
    const float time = static_cast<float>(rtt_of(ch).least_ns) + static_cast<float>(kQueueTime.ns);
    const auto useful = static_cast<std::uint32_t>(std::min(time / tx.packet_ns, 65536.F));
    window = std::min(window, std::max(kLeastLossy, useful));
  }
  return window;
}

// True if the next packet has to wait for its time.
bool Mesh::Inner::is_paced(Connection& ch, Instant now) noexcept {
  Sender& tx = ch.tx;
  if (tx.packet_ns <= 0) return false;
  const float step = tx.packet_ns * kPaceOver;
  const auto depth =
      std::max(kLeastDepth.ns, static_cast<std::int64_t>(step * static_cast<float>(config.burst_packets)));
  if ((tx.pace_at - now).ns <= depth) return false;
  // Were the links as slow as they seem, all that was sent ahead of its time would be on its way. If it is
  // less than half, and nothing was lost, they are faster, which could not be measured any more at this pace.
  const float ahead = static_cast<float>(tx.in_flight) * step * 2;
  if (tx.in_flight == 0 || (!tx.recovering && ahead <= static_cast<float>(depth))) {
    if (tx.lost == 0) {
      for (Link& link : ch.all_links()) link.packet_ns *= kFaster;
      measure_rate(ch);
      tx.pace_at = now;
    }
    return false;
  }
  tx.pace_wake = {tx.pace_at.ns - depth + static_cast<std::int64_t>(kPaceStep * step)};
  return true;
}

bool Mesh::Inner::next_to_send(Connection& ch, Instant now, Seq& seq) noexcept {
  Sender& tx = ch.tx;
  tx.pace_wake = kNever;
  if (tx.lost > 0) {
    if (tx.ask_data || tx.in_flight < window_of(ch, now)) {
      while (tx.log[tx.lost_from].state != EntryState::lost) ++tx.lost_from;
      seq = tx.lost_from;
      return tx.ask_data || !is_paced(ch, now);
    }
    return false;
  }
  if (tx.next_tx == tx.log.end() || tx.in_flight >= window_of(ch, now) || is_paced(ch, now)) return false;
  seq = tx.next_tx;
  return true;
}

void Mesh::Inner::sum_up(Entry& entry) const noexcept {
  entry.body_crc = wire::crc32c(body_of(entry));
  if (entry.borrowed != nullptr)
    entry.body_crc = wire::crc32c({entry.borrowed, entry.borrowed_bytes}, entry.body_crc);
}

// What is decided once, at the first transmission.
void Mesh::Inner::first_time(Connection& ch, Seq seq, Entry& entry) noexcept {
  Sender& tx = ch.tx;
  sum_up(entry);
  tx.next_tx = seq + 1;
  ++counters.sent;
  counters.sent_bytes += entry.body_bytes + entry.borrowed_bytes;
  if (Sender::is_small(entry)) ++tx.small;
  if (tx.backlog || tx.refused || tx.log.end() - tx.next_tx > std::min(config.eager_packets, kLittle)) {
    entry.flags |= wire::kFlagBacklog;
    return;
  }
  // No more than this: all credit but the eager window goes back to the receiver, who gives it to others.
  tx.promised = true;
  tx.promise = seq + 1;
  if (before(tx.promise + config.eager_packets, tx.cursor.limit))
    tx.cursor.limit = tx.promise + config.eager_packets;
}

// Of acks that ride on data: those that are owed; but where small packets go to and fro quickly, one now and
// then is enough, and the others cost more than all else that is done with such a packet.
bool Mesh::Inner::carries_ack(const Receiver& rx, Instant now, std::size_t body_bytes) noexcept {
  if (rx.ack_now) return true;
  if (rx.unacked == 0) return false;
  if (body_bytes > kSmallBody || rx.unacked + 1u >= ack_every(rx)) return true;
  return Receiver::clock(now) - rx.acked_at >= kQuickUs;
}

Tx Mesh::Inner::emit_data(Connection& ch, Instant now, Seq seq, bool alone) noexcept {
  Sender& tx = ch.tx;
  Entry& entry = tx.log[seq];
  if (entry.state == EntryState::lost) {
    --tx.lost;
    ++counters.resent;
    if (entry.borrowed != nullptr) sum_up(entry);  // whoever changed what it lent gets what it asked for
  } else {
    first_time(ch, seq, entry);
  }
  const LinkId by = choose_link(ch.all_links());
  Link& link = ch.link[by];
  const std::span<std::byte> body = body_of(entry);
  const std::uint32_t window = window_of(ch, now);
  const int copies = std::min<int>(entry.transmissions, kMostCopies);
  auto flags = static_cast<std::uint8_t>(entry.flags | copies << wire::kCopiesShift);
  if (tx.ask_data || (window < kSmallWindow && tx.in_flight + 1 >= window)) flags |= wire::kFlagAskAck;
  tx.ask_data = false;

  const std::size_t body_bytes = body.size() + entry.borrowed_bytes;
  const bool carries =
      body_bytes + wire::kLargestDatagramHead <= config.datagram_bytes && carries_ack(ch.rx, now, body_bytes);
  std::size_t head_bytes = sizeof(wire::DatagramHead);
  if (carries) {
    const wire::AckBytes ack = write_ack(ch, now);
    flags |= ack.flags;
    head_bytes += ack.size;
    std::memcpy(body.data() - ack.size, ack.room.data(), ack.size);
  }
  std::byte* const at = body.data() - head_bytes;
  wire::write_head(at, wire::DatagramKind::data, flags, config.seal, config.me, seq);
  if (carries || alone)
    wire::seal(config.seal, static_cast<std::uint32_t>(ch.peer), entry.body_crc, {at, head_bytes});
  else
    seal_later(at, ch, entry.body_crc);

  entry.state = EntryState::in_flight;
  entry.sent_at = now;
  entry.link = by;
  entry.order = link.next_order++;
  if (entry.transmissions < 255) ++entry.transmissions;
  ++tx.in_flight;
  // Acks may be held back while packets come; who is in trouble counts from the first.
  if (link.in_flight++ == 0 || link.timeouts == 0) link.since = now;
  tx.pace_at = std::max(tx.pace_at, now) + Duration{static_cast<std::int64_t>(tx.packet_ns * kPaceOver)};
  probe_doubtful(ch, now);
  ch.last_used = now;
  return {ch.peer, by, {at, head_bytes + body.size()}, {entry.borrowed, entry.borrowed_bytes}};
}

void Mesh::Inner::seal_later(std::byte* head, const Connection& ch, std::uint32_t body_crc) noexcept {
  if (unsealed_count == unsealed.size()) seal_now();
  unsealed[unsealed_count] = {head, static_cast<std::uint32_t>(ch.peer), body_crc};
  unsealed_at[unsealed_count++] = head;
}

void Mesh::Inner::seal_now() noexcept {
  if (unsealed_count == 0) return;
  const wire::Tags tags = wire::tags_of(config.seal, {unsealed.data(), unsealed_count});
  for (std::size_t i = 0; i < unsealed_count; ++i) wire::set_tag(unsealed_at[i], tags[i]);
  unsealed_count = 0;
}

void Mesh::Inner::emit_ack(Connection& ch, Instant now, TxBatch& out) noexcept {
  Sender& tx = ch.tx;
  std::uint8_t flags = 0;
  if (tx.backlog || tx.refused) flags |= wire::kFlagBacklog;
  if (tx.ask) flags |= wire::kFlagAskAck;
  const bool answers = !tx.ask && ch.rx.link < ch.links && ch.link[ch.rx.link].state != LinkState::dead;
  const LinkId by = answers ? ch.rx.link : choose_link(ch.all_links());
  tx.ask = false;
  const wire::AckBytes ack = write_ack(ch, now);
  flags |= ack.flags;
  auto& room = out.shorts[out.count];
  wire::write_head(room.data(), wire::DatagramKind::ack, flags, config.seal, config.me, tx.next_tx);
  std::memcpy(room.data() + sizeof(wire::DatagramHead), ack.room.data(), ack.size);
  const std::span<std::byte> bytes(room.data(), sizeof(wire::DatagramHead) + ack.size);
  wire::seal(config.seal, static_cast<std::uint32_t>(ch.peer), 0, bytes);
  out.entries[out.count++] = {ch.peer, by, bytes};
  ++counters.acks_sent;
}

void Mesh::Inner::emit_probes(Connection& ch, Instant now, TxBatch& out) noexcept {
  const auto emit = [&](LinkId by, wire::DatagramKind kind, wire::ProbeBody body) {
    constexpr std::size_t kHead = sizeof(wire::DatagramHead);
    auto& room = out.shorts[out.count];
    wire::write_head(room.data(), kind, 0, config.seal, config.me, ch.tx.next_tx);
    std::memcpy(room.data() + kHead, &body, sizeof body);
    wire::seal(config.seal, static_cast<std::uint32_t>(ch.peer),
               wire::crc32c({room.data() + kHead, sizeof body}), {room.data(), kHead});
    out.entries[out.count++] = {ch.peer, by, {room.data(), kHead + sizeof body}};
  };
  for (LinkId i = 0; i < ch.links; ++i) {
    Link& link = ch.link[i];
    if (link.reply_due && !out.full()) {
      link.reply_due = false;
      emit(i, wire::DatagramKind::probe_reply, {link.reply_link, link.reply_number});
    }
    if (link.probe_due && !out.full()) {
      link.probe_due = false;
      link.probed_at = now;
      emit(i, wire::DatagramKind::probe, {i, ++link.probe_number});
    }
  }
}

// How many may leave in one go. While more waits for credit, and so much is on its way that an ack is to
// come, that is whole rows only: the rest goes with what the ack brings.
std::uint32_t Mesh::Inner::burst_of(const Connection& ch) const noexcept {
  const Sender& tx = ch.tx;
  const std::uint32_t queued = tx.log.end() - tx.next_tx;
  if (config.row_packets == 1 || !tx.refused || tx.lost != 0 || tx.in_flight < config.row_packets ||
      tx.in_flight < queued)
    return config.burst_packets;
  return std::min(queued, config.burst_packets) / config.row_packets * config.row_packets;
}

// Fills in what the channel has to send; true if it has more for another turn.
bool Mesh::Inner::fill(Connection& ch, Instant now, TxBatch& out) noexcept {
  start(ch, now);
  Seq seq = 0;
  bool more = false;
  if (!ch.gone) {
    emit_probes(ch, now, out);
    if (out.full()) return true;
    const std::uint32_t most = burst_of(ch);
    more = most != 0 && next_to_send(ch, now, seq);
    for (std::uint32_t n = 0; more && n < most && !out.full(); ++n) {
      out.entries[out.count++] = emit_data(ch, now, seq, false);
      more = next_to_send(ch, now, seq);
    }
  }
  const bool ack = ch.rx.ack_now || ch.tx.ask;
  if (!ack) return more;
  if (out.full()) return true;
  emit_ack(ch, now, out);
  return more;
}

std::span<std::byte> Mesh::room_now(Instant now, PeerId to) noexcept {
  Inner& in = *inner_;
  Connection* const ch = in.find(to);
  if (ch == nullptr || ch->gone || ch->link == nullptr || ch->next_sending != nullptr) return {};
  const Sender& tx = ch->tx;
  if (tx.next_tx != tx.log.end() || tx.lost != 0 || tx.refused || tx.in_flight >= in.window_of(*ch, now) ||
      in.is_paced(*ch, now))
    return {};
  return in.room(*ch, 1);
}

Tx Mesh::send_now(Instant now, PeerId to, std::size_t bytes) noexcept {
  Inner& in = *inner_;
  HERALD_ASSERT(in.open_peer == to && !in.open_shares && bytes != 0 && bytes <= in.open_bytes);
  in.open_peer = -1;
  Connection& ch = *in.find(to);
  ch.tx.backlog = false;
  const Seq seq = ch.tx.log.end();
  Entry& entry = ch.tx.log.append();
  entry.slot = std::exchange(in.spare, PacketPool::kNone);
  entry.body_bytes = static_cast<std::uint16_t>(bytes);
  const Tx left = in.emit_data(ch, now, seq, true);
  in.rearm_later(ch, now);
  return left;
}

}  // namespace herald::rel
