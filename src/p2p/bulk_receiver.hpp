// SPDX-License-Identifier: BSD-3-Clause
// p2p/bulk_receiver.hpp: bulk frames from TCP connections, straight into the memory of receives.
// In:  pulls of Receiver; connections that opened and closed; bytes that came. Out: where the next bytes of a
// connection are to be put; receives that have all; pulls again, as datagrams, of what a connection lost.
// Invariants: a receive's position moves by whole frames whose checksum, or cipher, is right; memory that
// room() names is looked up anew for each read, so a receive that is over is not written.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "p2p/bulk_choice.hpp"
#include "p2p/config.hpp"
#include "p2p/ops.hpp"
#include "p2p/pull_rate.hpp"
#include "wire/bulk_session.hpp"
#include "wire/p2p_packet.hpp"

namespace herald::p2p {

class Receiver;

class BulkReceiver {
 public:
  using Parts = std::array<std::span<std::byte>, 3>;

  BulkReceiver(const CoreConfig& config, Receiver& receiver) noexcept
      : config_(config), receiver_(receiver) {}

  // By Receiver. Flags of the pull that the receive is about to send; the pulled bytes are there; the sender
  // says that its connection broke.
  std::uint16_t flags_of_pull(RecvOp& op) noexcept;
  void on_pulled(const RecvOp& op) noexcept;
  // Of a pull that is timed (pull_at is not 0): bytes that came; it is over, or repeated.
  void on_bytes(std::uint32_t bytes) noexcept { rate_.on_bytes(bytes); }
  void end_timing(RecvOp& op) noexcept {
    op.pull_at = {};
    rate_.on_ended();
  }
  bool on_lost(PeerId from, const wire::BulkLostPacket& packet) noexcept;

  // By the node, with the time of a turn.
  void set_time(Instant now) noexcept {
    now_ = now;
    if (!unstamped_.empty()) [[unlikely]]
      stamp();
  }

  // By the driver, which permits frames.
  BulkChoice& choice() noexcept { return choice_; }
  void on_connected(PeerId from, wire::BulkSession session);
  void on_closed(PeerId from) noexcept;
  bool has_connections() const noexcept { return !connections_.empty(); }
  // Where the next bytes go, in so many parts; 0: nothing can be taken before more datagrams have come.
  std::size_t room(PeerId from, Parts& parts) noexcept;
  bool on_read(PeerId from, std::size_t bytes) noexcept;  // false: a wrong frame; close the connection
  // A connection that the sender has given up: close it; -1: none.
  PeerId take_broken() noexcept;
  std::uint64_t resumed() const noexcept { return resumed_; }
  std::uint64_t refused() const noexcept { return refused_; }  // frames

 private:
  struct Connection {
    wire::BulkSession session;
    std::uint64_t number = 0;  // of the next frame
    wire::BulkHead head{};
    wire::BulkHead next{};  // its first bytes, if they came with the end of the frame
    std::array<std::byte, wire::kCipherTag> trailer{};  // of a sealed frame
    std::size_t have = 0;                               // of the frame, with its head
    std::uint32_t checksum = 0;
    bool drops = false;  // nobody waits for this frame any more
  };
  enum class Target : std::uint8_t { none, later, ready };
  Target find(PeerId from, const Connection& one, RecvOp*& op) const noexcept;
  bool begin_frame(Connection& one) const noexcept;
  bool take_head(PeerId from, Connection& one, std::size_t bytes) noexcept;
  bool take_body(PeerId from, Connection& one, std::size_t bytes) noexcept;
  static bool is_whole(Connection& one, std::byte* text) noexcept;
  void stamp() noexcept;

  const CoreConfig& config_;
  Receiver& receiver_;
  BulkChoice choice_;
  PullRate rate_;
  std::map<PeerId, Connection> connections_;
  std::vector<PeerId> broken_;
  std::vector<std::uint32_t> unstamped_;  // ids of receives whose pull has not left
  std::vector<std::byte> dropped_;        // memory for frames that nobody waits for
  Instant now_{};
  std::uint64_t resumed_ = 0, refused_ = 0;
};

}  // namespace herald::p2p
