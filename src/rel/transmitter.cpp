// SPDX-License-Identifier: BSD-3-Clause
#include "rel/transmitter.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "rel/receiver.hpp"
#include "rel/segment_sizes.hpp"
#include "rel/sender.hpp"

namespace herald::rel {
namespace {

constexpr Duration kQueueTime = milliseconds(4);   // of packets in flight, where packets get lost
constexpr Duration kLossyFor = milliseconds(200);  // after a loss
constexpr Duration kLeastDepth = milliseconds(2);  // of packets that may leave in one burst
constexpr float kPaceOver = 0.8F;                  // of the time that the links take for a packet
constexpr float kFaster = 0.5F;                    // first guess when the pace was too slow
constexpr float kPaceStep = 4;                     // packets that are worth a wake-up
constexpr std::uint32_t kLeastLossy = 32;          // packets in flight, where packets get lost
constexpr std::uint32_t kLittle = 16;         // queued packets: fewer are not worth a request for more credit
constexpr std::uint32_t kSmallWindow = 8;     // packets; the receiver would wait for more before it acks
constexpr std::uint8_t kCopiesToSuspect = 3;  // transmissions: maybe the packet is too long for the link
constexpr std::array<std::byte, UINT16_MAX> kPadding{};  // of probes
constexpr std::size_t kProbeHead = sizeof(wire::DatagramHead);
constexpr std::size_t kProbeBytes = kProbeHead + sizeof(wire::ProbeBody);

}  // namespace

// Most packets in flight. Where packets get lost, a long queue only delays their repair.
std::uint32_t Transmitter::window_of(const Connection& ch, Instant now) const noexcept {
  const SendState& tx = ch.tx;
  std::uint32_t window = tx.cap;
  if (mesh_.is_go_back()) return std::min(window, kGoBackWindow);
  if (tx.last_loss.ns != 0 && tx.pacer.packet_ns > 0 && now - tx.last_loss < kLossyFor) {
    const float time = static_cast<float>(ch.links.rtt().least_ns) + static_cast<float>(kQueueTime.ns);
    const auto useful = static_cast<std::uint32_t>(std::min(time / tx.pacer.packet_ns, 65536.F));
    window = std::min(window, std::max(kLeastLossy, useful));
  }
  return window;
}

// True if the next packet has to wait for its time.
bool Transmitter::is_paced(Connection& ch, Instant now) noexcept {
  SendState& tx = ch.tx;
  Pacer& pacer = tx.pacer;
  if (pacer.packet_ns <= 0) return false;
  const float step = pacer.packet_ns * kPaceOver;
  const auto depth = std::max(
      kLeastDepth.ns, static_cast<std::int64_t>(step * static_cast<float>(mesh_.config.burst_packets)));
  if ((pacer.at - now).ns <= depth) return false;
  // Were the links as slow as measured, all that was sent ahead of its time would be in flight. If less than
  // half is, and nothing was lost, they are faster, which this pace would never show.
  const float ahead = static_cast<float>(tx.in_flight) * step * 2;
  if (tx.in_flight == 0 || (!tx.in_recovery && ahead <= static_cast<float>(depth))) {
    if (tx.lost == 0) {
      for (Link& link : ch.links.all()) link.packet_ns *= kFaster;
      pacer.packet_ns = ch.links.packet_ns();
      pacer.at = now;
    }
    return false;
  }
  pacer.wake = {pacer.at.ns - depth + static_cast<std::int64_t>(kPaceStep * step)};
  return true;
}

bool Transmitter::next_to_send(Connection& ch, Instant now, Seq& seq) noexcept {
  SendState& tx = ch.tx;
  tx.pacer.wake = kNever;
  if (tx.lost > 0) {
    if (!tx.request_ack && tx.in_flight >= window_of(ch, now)) return false;
    while (tx.log[tx.lost_from].state != EntryState::lost) ++tx.lost_from;
    seq = tx.lost_from;
    return tx.request_ack || !is_paced(ch, now);
  }
  if (tx.next_tx == tx.log.end() || tx.in_flight >= window_of(ch, now) || is_paced(ch, now)) return false;
  seq = tx.next_tx;
  return true;
}

void Transmitter::update_crc(const Connection& ch, Entry& entry) const noexcept {
  entry.body_crc = ch.seal->body_crc(mesh_.body_of(entry));
  if (entry.borrowed != nullptr)
    entry.body_crc = ch.seal->body_crc({entry.borrowed, entry.borrowed_bytes}, entry.body_crc);
}

void Transmitter::on_first_transmission(Connection& ch, Seq seq, Entry& entry) noexcept {
  SendState& tx = ch.tx;
  const std::uint32_t eager = ch.seal->eager_packets;
  update_crc(ch, entry);
  tx.upper.on_growth(tx.next_tx, seq + 1);
  tx.next_tx = seq + 1;
  ++mesh_.counters.sent;
  mesh_.counters.sent_bytes += entry.body_bytes + entry.borrowed_bytes;
  if (SendState::is_small(entry)) ++tx.small;
  if (tx.backlog || tx.refused || tx.log.end() - tx.next_tx > std::min(eager, kLittle)) {
    entry.flags |= wire::kFlagBacklog;
    return;
  }
  // No backlog: all credit but the eager window returns to the receiver, which grants it to other senders.
  tx.credit_returned = true;
  tx.credit_return = seq + 1;
  if (before(tx.credit_return + eager, tx.cursor.limit)) tx.cursor.limit = tx.credit_return + eager;
}

Tx Transmitter::emit_data(Connection& ch, Instant now, Seq seq) noexcept {
  SendState& tx = ch.tx;
  Entry& entry = tx.log[seq];
  if (entry.state == EntryState::lost) {
    --tx.lost;
    ++mesh_.counters.resent;
    if (entry.borrowed != nullptr)
      update_crc(ch, entry);  // the owner may have changed the bytes that it lent
  } else {
    on_first_transmission(ch, seq, entry);
  }
  const LinkId by = ch.links.choose();
  Link& link = ch.links[by];
  const std::span<std::byte> body = mesh_.body_of(entry);
  if (entry.transmissions >= kCopiesToSuspect || link.segment.search != nullptr) [[unlikely]]
    check_segment(ch, now, by, entry);
  const std::uint32_t window = window_of(ch, now);
  const int copies = std::min<int>(entry.transmissions, kMostCopies);
  auto flags = static_cast<std::uint8_t>(entry.flags | copies << wire::kCopiesShift);
  if (tx.request_ack || (window < kSmallWindow && tx.in_flight + 1 >= window)) flags |= wire::kFlagAskAck;
  tx.request_ack = false;

  const std::size_t body_bytes = body.size() + entry.borrowed_bytes;
  std::size_t head_bytes = sizeof(wire::DatagramHead);
  wire::UpperHalves upper{upper_half(tx.whole().nearest(seq)), 0};
  const bool carries_ack = body_bytes + wire::kLargestDatagramHead <= mesh_.config.datagram_bytes &&
                           Receiver::rides_on_data(ch.rx, now, body_bytes);
  if (carries_ack) {
    const wire::AckBytes ack = Receiver::write_ack(ch.rx, now);
    flags |= ack.flags;
    head_bytes += ack.size;
    upper.next = upper_half(ch.rx.whole().value());
    std::memcpy(body.data() - ack.size, ack.room.data(), ack.size);
  }
  std::byte* const at = body.data() - head_bytes;
  wire::write_head(at, wire::DatagramKind::data, flags, *ch.seal, ch.seal->from, seq);
  if (carries_ack)
    wire::seal(*ch.seal, ch.name(), entry.body_crc, {at, head_bytes}, upper);
  else
    unsealed_.add(*ch.seal, at, ch.name(), entry.body_crc, upper.seq);

  entry.state = EntryState::in_flight;
  entry.sent_at = now;
  entry.link = by;
  entry.order = link.next_order++;
  if (entry.transmissions < 255) ++entry.transmissions;
  ++tx.in_flight;
  // Acks may be held back while packets come; after a timeout the time counts from the first packet.
  if (link.in_flight++ == 0 || link.timeouts == 0) link.since = now;
  tx.pacer.at =
      std::max(tx.pacer.at, now) + Duration{static_cast<std::int64_t>(tx.pacer.packet_ns * kPaceOver)};
  ch.links.on_sent(now);
  return {ch.peer, by, {at, head_bytes + body.size()}, {entry.borrowed, entry.borrowed_bytes}};
}

// Packets that are lost again and again may be too long for the link; a link that became short may carry
// longer ones again.
void Transmitter::check_segment(Connection& ch, Instant now, LinkId by, const Entry& entry) noexcept {
  const std::size_t bytes = sizeof(wire::DatagramHead) + entry.body_bytes + entry.borrowed_bytes;
  if (entry.transmissions >= kCopiesToSuspect) suspect_segment(ch.links, now, by, bytes);
  const LinkSegment& segment = ch.links[by].segment;
  if (segment.search != nullptr) segment.search->on_use(now);
  if (segment.is_probe_due()) mesh_.wake(ch);
}

void Transmitter::emit_ack(Connection& ch, Instant now, TxBatch& out) noexcept {
  SendState& tx = ch.tx;
  std::uint8_t flags = 0;
  if (tx.backlog || tx.refused) flags |= wire::kFlagBacklog;
  if (tx.probe_due) flags |= wire::kFlagAskAck;
  const LinkId by = tx.probe_due ? ch.links.choose() : ch.links.choose_for_ack(ch.rx.link);
  tx.probe_due = false;
  const wire::AckBytes ack = Receiver::write_ack(ch.rx, now);
  flags |= ack.flags;
  auto& room = out.shorts[out.count];
  wire::write_head(room.data(), wire::DatagramKind::ack, flags, *ch.seal, ch.seal->from, tx.next_tx);
  std::memcpy(room.data() + sizeof(wire::DatagramHead), ack.room.data(), ack.size);
  const std::span<std::byte> bytes(room.data(), sizeof(wire::DatagramHead) + ack.size);
  wire::seal(*ch.seal, ch.name(), 0, bytes,
             {upper_half(tx.whole().value()), upper_half(ch.rx.whole().value())});
  out.entries[out.count++] = {ch.peer, by, bytes};
  ++mesh_.counters.acks_sent;
}

void Transmitter::emit_probes(Connection& ch, Instant now, TxBatch& out) noexcept {
  const auto emit = [&](LinkId by, wire::DatagramKind kind, wire::ProbeBody body,
                        std::size_t bytes = kProbeBytes) {
    auto& room = out.shorts[out.count];
    const std::span<const std::byte> padding{kPadding.data(), bytes - kProbeBytes};
    wire::write_head(room.data(), kind, 0, *ch.seal, ch.seal->from, ch.tx.next_tx);
    std::memcpy(room.data() + kProbeHead, &body, sizeof body);
    wire::seal(*ch.seal, ch.name(),
               ch.seal->body_crc(padding, ch.seal->body_crc({room.data() + kProbeHead, sizeof body})),
               {room.data(), kProbeHead});
    out.entries[out.count++] = {ch.peer, by, {room.data(), kProbeBytes}, padding};
  };
  for (LinkId i = 0; i < ch.links.size(); ++i) {
    Link& link = ch.links[i];
    if (link.reply_due && !out.full()) {
      link.reply_due = false;
      emit(i, wire::DatagramKind::probe_reply, {link.reply_link, link.reply_number});
    }
    if (link.probe_due && !out.full()) {
      link.probe_due = false;
      link.probed_at = now;
      link.probe_number = ch.links.next_probe_number();
      emit(i, wire::DatagramKind::probe, {i, link.probe_number});
      ++mesh_.counters.probes;
    }
    if (!link.segment.is_probe_due() || out.count + 3 > out.entries.size()) continue;
    // A reply to the last of several probes tells that the largest has come.
    const Duration wait{2 * LinkSet::timeout(mesh_.config, link).ns};
    std::uint32_t number = ch.links.next_probe_number();
    for (const std::uint16_t bytes : link.segment.search->take_probes(now, wait, number)) {
      link.probe_number = number;
      emit(i, wire::DatagramKind::probe, {i, number}, bytes + mesh_.config.probe_extra);
      number = ch.links.next_probe_number();
    }
  }
}

// How many packets may leave in one burst. While more wait for credit, and so many are in flight that an ack
// is to come, only whole rows leave: the rest goes with what the ack allows.
std::uint32_t Transmitter::burst_of(const SendState& tx) const noexcept {
  const MeshConfig& config = mesh_.config;
  const std::uint32_t queued = tx.log.end() - tx.next_tx;
  if (config.row_packets == 1 || !tx.refused || tx.lost != 0 || tx.in_flight < config.row_packets ||
      tx.in_flight < queued)
    return config.burst_packets;
  return std::min(queued, config.burst_packets) / config.row_packets * config.row_packets;
}

bool Transmitter::fill(Connection& ch, Instant now, TxBatch& out) noexcept {
  mesh_.start(ch, now);
  Seq seq = 0;
  bool more = false;
  if (!ch.gone) {
    if (ch.links.has_probes_due()) {
      emit_probes(ch, now, out);
      if (ch.links.has_probes_due()) return true;  // the batch has no space for them
    }
    if (out.full()) return true;
    const std::uint32_t most = burst_of(ch.tx);
    more = most != 0 && next_to_send(ch, now, seq);
    for (std::uint32_t n = 0; more && n < most && !out.full(); ++n) {
      out.entries[out.count++] = emit_data(ch, now, seq);
      more = next_to_send(ch, now, seq);
    }
  }
  if (!ch.rx.ack_now && !ch.tx.probe_due) return more;
  if (out.full()) return true;
  emit_ack(ch, now, out);
  return more;
}

}  // namespace herald::rel
