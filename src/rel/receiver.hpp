// SPDX-License-Identifier: BSD-3-Clause
// rel/receiver.hpp: the receiver half of connections: in-order delivery, credit for the sender, acks owed.
// In:  data packets, deadlines.
// Out: packets to Listener::deliver(); ack parts, written when they leave.
#pragma once
#include <span>

#include "rel/mesh_context.hpp"

namespace herald::rel {

class Receiver {
 public:
  explicit Receiver(MeshContext& mesh) noexcept : mesh_(mesh) {}

  // True: a packet that had not come before.
  bool on_data(Connection& ch, Instant now, std::uint8_t link, const wire::DatagramView& view) noexcept;
  void on_ack_datagram(Connection& ch, Instant now, const wire::DatagramView& view) noexcept;
  void on_deadline(Connection& ch, Instant now) noexcept;
  static Instant deadline(const RecvState& rx) noexcept {
    return std::min({rx.ack_due, rx.redeliver_at, rx.backlog_until});
  }
  // Postpones an ack that is overdue; false: there is none that may be postponed.
  bool defer(Connection& ch, Instant now, Duration time) noexcept;
  // Delivers packets that the listener did not take before.
  void redeliver(Connection& ch, Instant now) noexcept;

  // Whether the ack that is owed leaves on a data packet of this size.
  static bool rides_on_data(const RecvState& rx, Instant now, std::size_t body_bytes) noexcept;
  static wire::AckBytes write_ack(RecvState& rx, Instant now) noexcept;

 private:
  bool accept(Connection& ch, Instant now, const wire::DatagramView& view) noexcept;
  bool deliver_body(Connection& ch, std::uint8_t flags, std::span<const std::byte> body) noexcept;
  void drain(Connection& ch, Instant now) noexcept;
  void note_backlog(Connection& ch, Instant now, const wire::DatagramView& view) noexcept;
  void grant(RecvState& rx) noexcept;
  void owe_ack(Connection& ch, Instant now) noexcept;
  Duration ack_delay(const Connection& ch) const noexcept {
    return ch.links.rtt().ack_delay(mesh_.config.first_rtt, mesh_.config.least_timeout);
  }

  MeshContext& mesh_;
};

}  // namespace herald::rel
