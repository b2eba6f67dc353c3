// SPDX-License-Identifier: BSD-3-Clause
// rel/transmitter.hpp: what leaves next: repairs before data, as window and pace allow; acks on data that
// leaves anyway, or on their own; probes. Every datagram is sealed with the key of its connection.
#pragma once
#include "rel/mesh_context.hpp"
#include "rel/tag_queue.hpp"

namespace herald::rel {

class Transmitter {
 public:
  explicit Transmitter(MeshContext& mesh) noexcept : mesh_(mesh) {}

  // Appends what the connection has to send; true if more is left for another turn.
  bool fill(Connection& ch, Instant now, TxBatch& out) noexcept;
  // Seals datagrams that have no tag yet: before the batch leaves.
  void flush_tags() noexcept { unsealed_.flush(); }

 private:
  std::uint32_t burst_of(const SendState& tx) const noexcept;
  bool next_to_send(Connection& ch, Instant now, Seq& seq) noexcept;
  std::uint32_t window_of(const Connection& ch, Instant now) const noexcept;
  bool is_paced(Connection& ch, Instant now) noexcept;
  Tx emit_data(Connection& ch, Instant now, Seq seq) noexcept;
  void on_first_transmission(Connection& ch, Seq seq, Entry& entry) noexcept;
  void check_segment(Connection& ch, Instant now, std::uint8_t by, const Entry& entry) noexcept;
  void update_crc(const Connection& ch, Entry& entry) const noexcept;
  void emit_ack(Connection& ch, Instant now, TxBatch& out) noexcept;
  void emit_probes(Connection& ch, Instant now, TxBatch& out) noexcept;

  MeshContext& mesh_;
  TagQueue unsealed_;
};

}  // namespace herald::rel
