// SPDX-License-Identifier: BSD-3-Clause
// rel/sender.hpp: the sender half of connections: what an ack or its absence tells about packets in flight.
// In:  acks, deadlines, links that fail.
// Out: entries that are acknowledged or lost, credit, round trip and rate; keep-alive and credit probes due.
// A packet is lost when `threshold` later packets by the same link were acknowledged, when a later one was
// and 9/8 of a round trip passed, or when no ack came for a timeout.
#pragma once
#include <span>

#include "rel/mesh_context.hpp"

namespace herald::rel {

constexpr int kMostCopies = wire::kFlagCopies >> wire::kCopiesShift;

class Sender {
 public:
  explicit Sender(MeshContext& mesh) noexcept : mesh_(mesh) {}

  // True: the ack tells something that no ack before it told.
  bool on_ack(Connection& ch, Instant now, const wire::AckPart& ack) noexcept;
  void on_deadline(Connection& ch, Instant now) noexcept;
  Instant deadline(const Connection& ch) const noexcept;
  // Starts or stops the timers that depend on whether anything is outstanding.
  void update_timers(Connection& ch, Instant now) noexcept;
  // Postpones overdue timeouts; false: there are none that may be postponed.
  bool defer(Connection& ch, Instant now, Duration time) noexcept;
  // The link seems to fail: what it carried is lost, and other links take over.
  void suspect_link(Connection& ch, Instant now, std::uint8_t link) noexcept;
  // A probe or another question had no answer in its time: maybe the link that it took is the reason.
  void on_unanswered(Connection& ch, Instant now, std::uint8_t link) noexcept;
  // A keep-alive probe is to leave, which the peer has to answer.
  void probe(Connection& ch, Instant now) noexcept;

 private:
  // Earlier transmissions of the copy that came; kAnyCopy: not known.
  static constexpr int kAnyCopy = -1;

  bool take_acked(Connection& ch, Instant now, const wire::AckPart& ack) noexcept;
  void newest_acked(Connection& ch, Instant now, const wire::AckPart& ack,
                    std::span<std::uint32_t> by_link) noexcept;
  static void entry_acked(Connection& ch, Entry& entry, int copies,
                          std::span<std::uint32_t> by_link) noexcept;
  bool take_credit(Connection& ch, const wire::AckPart& ack) const noexcept;
  void find_losses(Connection& ch, Instant now, bool without_news) noexcept;
  void lose(Connection& ch, Seq seq) noexcept;
  void lose_link(Connection& ch, Instant now, std::uint8_t link) noexcept;
  void lose_oldest(Connection& ch, std::uint8_t link) noexcept;
  void lose_all(Connection& ch) noexcept;
  void on_link_timeout(Connection& ch, Instant now, std::uint8_t link) noexcept;
  Instant credit_probe_at(const Connection& ch) const noexcept;

  MeshContext& mesh_;
};

}  // namespace herald::rel
