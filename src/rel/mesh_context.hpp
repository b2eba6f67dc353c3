// SPDX-License-Identifier: BSD-3-Clause
// rel/mesh_context.hpp: what all connections of a process share: configuration, packet memory, credit, the
// queues of connections with work, counters. Sender, Receiver, Transmitter and LogWriter work on it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>

#include "rel/connection.hpp"
#include "rel/credit_book.hpp"
#include "rel/mesh.hpp"
#include "rel/packet_pool.hpp"
#include "wire/datagram.hpp"

namespace herald::rel {

// Offset of a body in its slot: head, ack part, and the length field that a first record needs if a second
// packet joins it.
constexpr std::size_t kBodyRecords = wire::kLargestDatagramHead;
constexpr std::size_t kBodySingle = kBodyRecords + wire::kRecordHead;

struct MeshContext {
  MeshContext(const MeshConfig& config_, Prng& prng_, Listener& listener_) noexcept
      : config(config_),
        prng(prng_),
        listener(listener_),
        body_most(config.datagram_bytes - sizeof(wire::DatagramHead)),
        least_segment(static_cast<std::uint16_t>(config.datagram_bytes)),
        log_pool(kBodySingle + body_most, config.log_bytes),
        reorder_pool(std::max(config.datagram_bytes, config.largest_bytes) - sizeof(wire::DatagramHead),
                     config.log_bytes),
        book(config.budget_bytes / config.datagram_bytes, config.eager_packets,
             std::min(config.socket_bytes / config.datagram_bytes, kMostBudget)) {}

  void wake(Connection& ch) noexcept { sending.push(ch); }
  void start(Connection& ch, Instant now) noexcept {
    if (!ch.links.is_started() && ch.links.start(config, now, ch.seal->segment)) wake(ch);
  }
  // The part of the body that is in its slot.
  std::span<std::byte> body_of(const Entry& entry) const noexcept {
    const bool records = (entry.flags & wire::kFlagRecords) != 0;
    return {log_pool.at(entry.slot) + (records ? kBodyRecords : kBodySingle), entry.body_bytes};
  }
  // Most bytes of a packet that is written now.
  std::size_t body_most_of(const Connection& ch) const noexcept {
    return (ch.links.is_started() ? ch.links.segment() : ch.seal->segment) - sizeof(wire::DatagramHead);
  }
  bool holds_buffers() const noexcept {
    return log_pool.held_bytes() + reorder_pool.held_bytes() != 0 || !buffered.empty();
  }
  bool is_go_back() const noexcept { return config.repair == Repair::go_back_n; }

  const MeshConfig config;
  Prng& prng;
  Listener& listener;
  MeshCounters counters;
  const std::size_t body_most;
  std::uint16_t least_segment;    // of all links to all peers: what multicast may use
  bool segments_changed = false;  // so that least_segment is to be found again
  PacketPool log_pool;
  PacketPool reorder_pool;
  CreditBook book;
  PeerQueue<&Connection::next_sending> sending;
  PeerQueue<&Connection::next_writable> writable;
  PeerQueue<&Connection::next_starved> starved;
  PeerQueue<&Connection::next_buffered> buffered;
};

}  // namespace herald::rel
